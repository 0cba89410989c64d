// One Markdown block as DOM: parsed, sanitised, code highlighted. Sanitising is the second lock: the parser lets no HTML
// of the text through to begin with.

import DOMPurify from "dompurify";
import { highlight } from "./highlight";
import { safeAddress, toHtml } from "./parse";

const ALLOWED_TAGS = [
  ..."a b blockquote br code del em h1 h2 h3 h4 h5 h6 hr li ol p pre s strong table tbody td th thead tr ul".split(" "),
  "#text",
];
const ALLOWED_ATTR = ["align", "class", "href", "rel", "start", "target", "title"];

DOMPurify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName !== "A") return;
  const address = safeAddress(node.getAttribute("href") ?? "");
  if (address === null) node.removeAttribute("href");
  node.setAttribute("target", "_blank");
  node.setAttribute("rel", "noopener noreferrer nofollow");
});

export function toDom(raw: string): DocumentFragment {
  const fragment = DOMPurify.sanitize(toHtml(raw), {
    ALLOWED_TAGS,
    ALLOWED_ATTR,
    ALLOW_ARIA_ATTR: false,
    ALLOW_DATA_ATTR: false,
    ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
    RETURN_DOM_FRAGMENT: true,
  });
  for (const pre of fragment.querySelectorAll("pre")) frameCode(pre);
  // A wide table scrolls by itself instead of widening the page.
  for (const table of fragment.querySelectorAll("table")) {
    const box = element("div", "table");
    box.tabIndex = 0;
    table.replaceWith(box);
    box.append(table);
  }
  return fragment;
}

/** Puts a bar with the language and a copy button above the code. The button is handled by whoever shows the block. */
function frameCode(pre: HTMLPreElement): void {
  const code = pre.querySelector("code");
  if (!code) return;
  const language = /(?:^| )language-(\S+)/.exec(code.className)?.[1] ?? "";
  highlight(code, language);
  const bar = element("div", "bar");
  const name = element("span", "language");
  name.textContent = language;
  const copy = element("button", "copy");
  copy.type = "button";
  copy.textContent = "Copy";
  bar.append(name, copy);
  const box = element("div", "code");
  pre.tabIndex = 0;
  pre.replaceWith(box);
  box.append(bar, pre);
}

function element<K extends keyof HTMLElementTagNameMap>(tag: K, className: string): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  made.className = className;
  return made;
}
