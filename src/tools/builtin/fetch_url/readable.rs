//! From HTML to a text for reading: its title, its text with a line for each block, and where its links go. The rewriter
//! reads tags one after the other and builds no tree, so that nesting costs nothing, however deep.

use std::{cell::RefCell, rc::Rc};

use lol_html::{HtmlRewriter, MemorySettings, Settings, doc_text, element, end_tag, html_content::TextType};
use url::Url;

/// Bytes that the rewriter may hold: tags and attributes that don't end.
const MEMORY: usize = 8 << 20;
const TITLE_LIMIT: usize = 300;
/// Characters of one link's target; longer ones are mostly state.
const LINK_LIMIT: usize = 300;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Readable {
    pub title: Option<String>,
    pub text: String,
    /// What came behind could not be read.
    pub is_cut: bool,
}

/// What could be read, up to where the page can't be read on.
pub fn of_html(html: &str, base: &Url) -> Readable {
    let page = Rc::new(RefCell::new(Writing::default()));
    let (of_text, of_tags) = (Rc::clone(&page), Rc::clone(&page));
    let settings = Settings::new()
        .append_document_content_handler(doc_text!(|chunk| {
            let mut page = of_text.borrow_mut();
            match chunk.text_type() {
                TextType::Data | TextType::PlainText | TextType::CDataSection => page.pending.push_str(chunk.as_str()),
                TextType::RCData if page.in_title => page.title.push_str(chunk.as_str()),
                TextType::RCData | TextType::RawText | TextType::ScriptData => {}
            }
            if chunk.last_in_text_node() {
                page.settle();
            }
            Ok(())
        }))
        .append_element_content_handler(element!("*", |tag| {
            let name = tag.tag_name();
            of_tags.borrow_mut().begin(&name);
            let link = tag.get_attribute("href").filter(|_| name == "a").and_then(|href| target(&href, base));
            if tag.can_have_content() && (link.is_some() || minds_its_end(&name)) {
                let page = Rc::clone(&of_tags);
                tag.on_end_tag(end_tag!(move |_| {
                    page.borrow_mut().end(&name, link.as_deref());
                    Ok(())
                }))?;
            }
            Ok(())
        }))
        .with_memory_settings(MemorySettings::new().with_max_allowed_memory_usage(MEMORY))
        .with_strict(false);
    let mut rewriter = HtmlRewriter::new(settings, |_: &[u8]| {});
    let read = rewriter.write(html.as_bytes()).and_then(|()| rewriter.end());
    if let Err(error) = &read {
        tracing::debug!(%error, "a page was read up to here");
    }
    Readable { is_cut: read.is_err(), ..page.take().finished() }
}

fn target(href: &str, base: &Url) -> Option<String> {
    let href = html_escape::decode_html_entities(href.trim());
    // Within the page there is nowhere to go.
    if href.starts_with('#') {
        return None;
    }
    let url = base.join(&href).ok()?;
    (matches!(url.scheme(), "http" | "https") && url.as_str().len() <= LINK_LIMIT).then(|| url.into())
}

fn minds_its_end(name: &str) -> bool {
    matches!(name, "title" | "pre" | "head") || is_block(name)
}

fn is_block(name: &str) -> bool {
    matches!(
        name,
        "address"
            | "article"
            | "aside"
            | "blockquote"
            | "body"
            | "caption"
            | "dd"
            | "details"
            | "dialog"
            | "div"
            | "dl"
            | "dt"
            | "fieldset"
            | "figcaption"
            | "figure"
            | "footer"
            | "form"
            | "h1"
            | "h2"
            | "h3"
            | "h4"
            | "h5"
            | "h6"
            | "header"
            | "hgroup"
            | "hr"
            | "legend"
            | "li"
            | "main"
            | "menu"
            | "nav"
            | "ol"
            | "optgroup"
            | "option"
            | "p"
            | "pre"
            | "search"
            | "section"
            | "summary"
            | "table"
            | "tbody"
            | "tfoot"
            | "thead"
            | "tr"
            | "ul"
    )
}

#[derive(Default)]
struct Writing {
    text: String,
    title: String,
    /// Text whose end has not come: an entity may be cut in two.
    pending: String,
    in_title: bool,
    has_title: bool,
    /// Within how many `pre`.
    kept_as_is: usize,
}

impl Writing {
    fn begin(&mut self, name: &str) {
        match name {
            "title" if !self.has_title => self.in_title = true,
            "br" => self.break_line(),
            "td" | "th" => self.text.push_str(if self.at_line_start() { "" } else { " | " }),
            _ if is_block(name) => {
                self.break_line();
                match name {
                    "h1" => self.text.push_str("# "),
                    "h2" => self.text.push_str("## "),
                    "h3" | "h4" | "h5" | "h6" => self.text.push_str("### "),
                    "li" => self.text.push_str("- "),
                    "pre" => self.kept_as_is += 1,
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, name: &str, link: Option<&str>) {
        if let Some(link) = link {
            self.text.push_str(&format!(" ({link})"));
        }
        match name {
            "title" => {
                self.has_title |= self.in_title;
                self.in_title = false;
            }
            "pre" => {
                self.kept_as_is = self.kept_as_is.saturating_sub(1);
                self.break_line();
            }
            _ if is_block(name) => self.break_line(),
            _ => {}
        }
    }

    fn settle(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        let text = html_escape::decode_html_entities(&pending);
        if self.kept_as_is > 0 {
            self.text.push_str(&text);
            return;
        }
        for char in text.chars() {
            if !char.is_whitespace() {
                self.text.push(char);
            } else if !self.at_line_start() && !self.text.ends_with(' ') {
                self.text.push(' ');
            }
        }
    }

    fn at_line_start(&self) -> bool {
        self.text.is_empty() || self.text.ends_with('\n')
    }

    fn break_line(&mut self) {
        while self.text.ends_with(' ') {
            self.text.pop();
        }
        if !self.at_line_start() {
            self.text.push('\n');
        }
    }

    fn finished(mut self) -> Readable {
        self.settle();
        let title = html_escape::decode_html_entities(&self.title);
        let title: String = title.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(TITLE_LIMIT).collect();
        // A list item or heading without a text is a mark alone.
        let says = |line: &&str| !matches!(line.trim(), "" | "-" | "#" | "##" | "###" | "|");
        let text = if self.text.contains("\n\n") {
            self.text.trim().to_owned()
        } else {
            self.text.lines().filter(says).collect::<Vec<_>>().join("\n")
        };
        Readable { title: (!title.is_empty()).then_some(title), text, is_cut: false }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn check(html: &str) -> Readable {
        of_html(html, &Url::parse("https://example.com/a/").unwrap())
    }

    #[test]
    fn a_page_becomes_its_title_and_its_text() {
        let read = check(
            "<!doctype html><html><head><title> The\n Mill &amp; Co </title><style>p{}</style></head><body>\
             <script>alert('<p>no</p>')</script><h1>Opening   hours</h1><p>From <b>nine</b> to&nbsp;five, says \
             <a href='../bo?a=1&amp;b=2'>Bo</a>.<br>Or <a href='#x'>later</a>.<ul><li>one<li>two <a href=\"javascript:x\">x</a>\
             </ul><table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table><textarea>no</textarea>\
             <svg><title>icon</title></svg><pre>  x\n y</pre><noscript>no</noscript>&#x1F408; &copy; &unknown;",
        );
        assert_eq!(read.title.as_deref(), Some("The Mill & Co"));
        assert_eq!(
            read.text,
            "# Opening hours\nFrom nine to five, says Bo (https://example.com/bo?a=1&b=2).\nOr later.\n- one\n- two x\na | b\n\
             c\nicon\n  x\n y\n🐈 © &unknown;"
        );
    }

    #[test]
    fn a_page_that_is_meant_to_harm_is_read_in_short_time() {
        let n = 150_000;
        for html in [
            "<div>".repeat(n),
            "<ul><li>".repeat(n),
            "<table><tr><td>".repeat(n),
            "<p><b>".repeat(n),
            "<a href=x>".repeat(n),
            "<blockquote>x".repeat(n),
            format!("<p {}>x", "a=1 ".repeat(n)),
            "<".repeat(n),
            "&".repeat(n),
            "<!--".repeat(n),
            format!("<title>{}", "x".repeat(n)),
            "<svg><math>".repeat(n),
            "</p>".repeat(n),
            "x ".repeat(n),
        ] {
            let begun = Instant::now();
            check(&html);
            assert!(begun.elapsed() < Duration::from_secs(5), "{} {:?}", &html[..20], begun.elapsed());
        }
    }

    #[test]
    fn what_is_no_html_is_its_text() {
        assert_eq!(check("just a line"), Readable { title: None, text: "just a line".into(), is_cut: false });
        assert_eq!(check(""), Readable::default());
    }
}
