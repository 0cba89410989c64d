// Markdown to HTML text. Raw HTML in the source is text like any other, images are told by their words and a link (the
// page never fetches what a model names), and only web and mail addresses become links.

import { Marked, type Token, type Tokens } from "marked";

export const marked = new Marked({
  gfm: true,
  renderer: {
    html({ text, block }: Tokens.HTML | Tokens.Tag) {
      return block ? `<p class="raw">${escape(text.trimEnd())}</p>` : escape(text);
    },
    link({ href, title, tokens }: Tokens.Link) {
      return anchor(href, title, this.parser.parseInline(tokens));
    },
    image({ href, title, text }: Tokens.Image) {
      return anchor(href, title, `[image: ${escape(text || "without a description")}]`);
    },
    code({ text, lang }: Tokens.Code) {
      const language = /^[\w+#.-]+/.exec(lang ?? "")?.[0];
      const name = language ? ` class="language-${escape(language)}"` : "";
      return `<pre><code${name}>${escape(text)}</code></pre>`;
    },
    checkbox({ checked }: Tokens.Checkbox) {
      return checked ? "☑ " : "☐ ";
    },
  },
});

/** One block to HTML, independent of every other block. */
export function toHtml(raw: string): string {
  return marked.parse(raw, { async: false });
}

export function tokensOf(text: string): Token[] {
  return marked.lexer(text);
}

/** The address when it is one that a page may lead to. Relative ones are not: they would lead into Hamlet itself. */
export function safeAddress(href: string): string | null {
  if (!/^(https?|mailto):/i.test(href)) return null;
  try {
    return new URL(href).href;
  } catch {
    return null;
  }
}

function anchor(href: string, title: string | null | undefined, inner: string): string {
  const address = safeAddress(href);
  if (address === null) return inner;
  const hint = title ? ` title="${escape(title)}"` : "";
  return `<a href="${escape(address)}"${hint} target="_blank" rel="noopener noreferrer nofollow">${inner}</a>`;
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
