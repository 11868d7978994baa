//! The text of a page: tags and characters read as the HTML standard says, what they mean by a stack of open elements.
//!
//! The tokens are those of the standard; the tree is not built. That keeps the time linear in the length of the page
//! (a tree builder can be made to walk all open elements for each tag) and costs nothing here, since the misnested
//! markup for which trees differ has the same text in either of them.

use std::{collections::HashMap, ops::Range};

use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};

use super::super::page::{Block, BlockKind, Page};

/// A cleaned page.
#[derive(Debug, Default)]
pub(super) struct Cleaned {
    pub(super) page: Page,
    /// Paragraphs that were mostly links.
    pub(super) links_dropped: u64,
}

/// Elements deeper than this are read as if they were not there, as browsers do.
const MAX_DEPTH: usize = 512;
/// A `<main>` with less text than this is not what the page is about.
const MIN_MAIN: usize = 200;

const VOID: &[&str] =
    &["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"];
/// Elements whose content is no text of the page.
const DROP: &[&str] = &[
    "script", "style", "noscript", "template", "svg", "math", "iframe", "object", "canvas", "nav", "footer", "aside",
    "form", "button", "select", "textarea", "dialog", "audio", "video", "map", "noembed", "noframes", "datalist",
];
/// Roles of elements that are left out, where `role` says them.
const DROP_ROLES: &[&str] = &["navigation", "banner", "contentinfo", "search", "complementary", "menu", "dialog"];
/// Elements that stand in a line of text; all others end a block.
const INLINE: &[&str] = &[
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins",
    "kbd", "label", "mark", "q", "rp", "rt", "ruby", "s", "samp", "small", "span", "strike", "strong", "sub", "sup",
    "time", "tt", "u", "var", "wbr", "img", "input", "td", "th", "title",
];

pub(super) fn clean(html: &str, drop_classes: &[String], max_link_share: f64) -> Cleaned {
    let newlines: Vec<usize> = html.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect();
    let mut emitter = DefaultEmitter::<usize>::new_with_span();
    emitter.naively_switch_states(true);
    let mut reader = Reader { drop_classes, max_link_share, newlines, ..Reader::default() };
    for token in Tokenizer::new_with_emitter(html, emitter) {
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => reader.start(&tag),
            Token::EndTag(tag) => reader.end(&lossy(&tag.name)),
            Token::String(text) => reader.text(&lossy(&text.value), text.span.start..text.span.end),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
    }
    reader.finish()
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

struct Open {
    name: String,
    /// Its content is no text of the page.
    drops: bool,
    is_main: bool,
    /// The language that was in force before this element named one.
    language_before: Option<String>,
}

#[derive(Default)]
struct Reader<'c> {
    drop_classes: &'c [String],
    max_link_share: f64,
    newlines: Vec<usize>,
    stack: Vec<Open>,
    /// Number of open elements of each name.
    open: HashMap<String, usize>,
    /// Numbers of open elements that drop, are links, are the main part.
    dropping: usize,
    links: usize,
    mains: usize,
    /// An element too deep for the stack whose text is dropped until its end.
    skip_until: Option<String>,
    /// The language that the elements around say, and that of the code block at hand.
    language: String,
    code_language: String,
    title: String,
    text: String,
    /// Letters of the block, and those of them that are links.
    letters: [usize; 2],
    span: Option<[usize; 2]>,
    /// Each with whether it stands in the main part, and whether it is an entry of a list.
    blocks: Vec<(Block, bool, bool)>,
    links_dropped: u64,
}

impl Reader<'_> {
    fn start(&mut self, tag: &StartTag<usize>) {
        let name = lossy(&tag.name);
        let name = name.as_str();
        self.close_implied(name);
        self.boundary(name);
        match name {
            "br" => self.push("\n", tag.span.start..tag.span.start),
            _ if self.dropping > 0 || self.is_open("pre") => {}
            "li" => self.text.push_str("- "),
            "td" | "th" if !self.text.is_empty() && !self.text.ends_with('\n') => self.text.push_str(" | "),
            _ => {}
        }
        let in_svg = self.is_open("svg") || self.is_open("math");
        if VOID.contains(&name) || tag.self_closing && in_svg || self.skip_until.is_some() {
            return;
        }
        if self.stack.len() >= MAX_DEPTH {
            self.skip_until = DROP.contains(&name).then(|| name.to_owned());
            return;
        }
        let attribute = |key: &str| tag.attributes.get(key.as_bytes()).map(|value| lossy(value)).unwrap_or_default();
        let (classes, role) = (attribute("class"), attribute("role"));
        let drops = DROP.contains(&name)
            || name == "header" && !self.is_open("article") && !self.is_open("main")
            || !matches!(name, "html" | "body" | "main" | "article")
                && (tag.attributes.contains_key("hidden".as_bytes())
                    || attribute("aria-hidden") == "true"
                    || DROP_ROLES.contains(&role.as_str())
                    || self.is_boilerplate(&classes, &attribute("id")));
        let is_main = name == "main" || role == "main";
        let language_before = class_language(&classes).map(|language| std::mem::replace(&mut self.language, language));
        self.dropping += usize::from(drops);
        self.links += usize::from(name == "a");
        self.mains += usize::from(is_main);
        *self.open.entry(name.to_owned()).or_default() += 1;
        self.stack.push(Open { name: name.to_owned(), drops, is_main, language_before });
    }

    fn end(&mut self, name: &str) {
        if self.skip_until.as_deref() == Some(name) {
            self.skip_until = None;
            return;
        }
        if !self.is_open(name) {
            return;
        }
        self.boundary(name);
        if name == "li" && self.text.trim() == "-" {
            self.text.clear();
        }
        let Some(at) = self.stack.iter().rposition(|open| open.name == name) else { return };
        // The end of a link or of bold text does not end the paragraphs that began in it.
        if INLINE.contains(&name) && self.stack[at + 1..].iter().any(|open| !INLINE.contains(&open.name.as_str())) {
            let open = self.stack.remove(at);
            return self.closed(open);
        }
        while self.stack.len() > at {
            let Some(open) = self.stack.pop() else { return };
            self.closed(open);
        }
    }

    fn closed(&mut self, open: Open) {
        self.dropping -= usize::from(open.drops);
        self.links -= usize::from(open.name == "a");
        self.mains -= usize::from(open.is_main);
        if let Some(language) = open.language_before {
            self.language = language;
        }
        if let Some(count) = self.open.get_mut(&open.name) {
            *count -= 1;
        }
    }

    fn is_open(&self, name: &str) -> bool {
        self.open.get(name).is_some_and(|count| *count > 0)
    }

    fn is_boilerplate(&self, classes: &str, id: &str) -> bool {
        let is_one = |word: &str| self.drop_classes.iter().any(|class| class.eq_ignore_ascii_case(word));
        classes.split_whitespace().chain([id]).any(is_one)
    }

    /// Closes what need not be closed by hand: a paragraph before the next block, an entry before the next.
    fn close_implied(&mut self, name: &str) {
        let closes = |top: &str| match top {
            "p" => !INLINE.contains(&name) && name != "br",
            "li" => name == "li",
            "dt" | "dd" => matches!(name, "dt" | "dd"),
            "tr" => name == "tr",
            "td" | "th" => matches!(name, "td" | "th" | "tr"),
            "option" => matches!(name, "option" | "optgroup"),
            _ => false,
        };
        while let Some(top) = self.stack.last().map(|open| open.name.clone()).filter(|top| closes(top)) {
            self.end(&top);
        }
        if name == "a" && self.is_open("a") {
            self.end("a");
        }
    }

    /// The beginning or end of an element ends the block at hand, or the row of a table.
    fn boundary(&mut self, name: &str) {
        let in_pre = self.is_open("pre");
        match name {
            "br" => {}
            "tr" | "thead" | "tbody" | "tfoot" | "caption" if !in_pre => {
                if !self.text.is_empty() && !self.text.ends_with('\n') {
                    self.text.push('\n');
                }
            }
            "pre" => self.end_block(),
            _ if in_pre || INLINE.contains(&name) => {}
            _ => self.end_block(),
        }
    }

    fn text(&mut self, text: &str, span: Range<usize>) {
        if self.skip_until.is_some() || self.dropping > 0 {
            return;
        }
        if self.is_open("title") {
            if self.title.is_empty() {
                self.title = text.split_whitespace().collect::<Vec<_>>().join(" ");
            }
            return;
        }
        self.push(text, span);
    }

    fn push(&mut self, text: &str, span: Range<usize>) {
        if self.dropping > 0 {
            return;
        }
        if self.is_open("pre") {
            self.text.push_str(text);
            if !self.language.is_empty() {
                self.code_language.clone_from(&self.language);
            }
        } else if text == "\n" && span.is_empty() {
            self.text.push('\n');
        } else {
            for c in text.chars() {
                if !c.is_whitespace() {
                    self.text.push(c);
                    let is_letter = usize::from(c.is_alphanumeric());
                    self.letters[0] += is_letter;
                    self.letters[1] += if self.links > 0 { is_letter } else { 0 };
                } else if !self.text.ends_with([' ', '\n']) && !self.text.is_empty() {
                    self.text.push(' ');
                }
            }
        }
        if !text.trim().is_empty() {
            let known = self.span.get_or_insert([span.start, span.end]);
            known[1] = known[1].max(span.end);
        }
    }

    fn end_block(&mut self) {
        // The mark of an entry waits for its text.
        if self.text.trim() == "-" {
            return;
        }
        let text = std::mem::take(&mut self.text);
        let [letters, links] = std::mem::take(&mut self.letters);
        let language = std::mem::take(&mut self.code_language);
        let Some([from, to]) = self.span.take() else { return };
        let line =
            |at: usize| u32::try_from(1 + self.newlines.partition_point(|newline| *newline < at)).unwrap_or(u32::MAX);
        let lines = [line(from), line(to.max(from + 1) - 1)];
        let level = (1..=6).find(|level| self.is_open(&format!("h{level}")));
        let (kind, text) = match level {
            _ if self.is_open("pre") => {
                let code = text.trim_end().trim_start_matches(['\n', '\r']).replace("\r\n", "\n");
                (BlockKind::Code(language), code)
            }
            Some(level) => (BlockKind::Heading(level), text.split_whitespace().collect::<Vec<_>>().join(" ")),
            None if links as f64 > self.max_link_share * letters as f64 => {
                self.links_dropped += 1;
                return;
            }
            None => (BlockKind::Prose, tidy(&text)),
        };
        if !text.trim().is_empty() {
            let is_entry = kind == BlockKind::Prose && text.starts_with("- ");
            self.blocks.push((Block { kind, text, lines }, self.mains > 0, is_entry));
        }
    }

    fn finish(mut self) -> Cleaned {
        self.end_block();
        let in_main: usize =
            self.blocks.iter().filter(|(_, in_main, _)| *in_main).map(|(block, ..)| block.text.len()).sum();
        let mut page = Page { title: self.title, blocks: Vec::new() };
        let mut before_is_entry = false;
        for (block, main, is_entry) in self.blocks {
            if in_main >= MIN_MAIN && !main {
                continue;
            }
            match page.blocks.last_mut().filter(|_| is_entry && before_is_entry) {
                Some(list) => {
                    list.text.push('\n');
                    list.text.push_str(&block.text);
                    list.lines[1] = list.lines[1].max(block.lines[1]);
                }
                None => page.blocks.push(block),
            }
            before_is_entry = is_entry;
        }
        Cleaned { page, links_dropped: self.links_dropped }
    }
}

/// The text without white space around its lines, and without lines that hold nothing.
fn tidy(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// `language-rust`, `lang-js`, `highlight-python3`, `brush: java`, `sourceCode python`.
fn class_language(classes: &str) -> Option<String> {
    let words: Vec<&str> = classes.split_whitespace().collect();
    let by_prefix = words.iter().find_map(|word| {
        let name =
            ["language-", "lang-", "highlight-source-", "highlight-"].iter().find_map(|p| word.strip_prefix(p))?;
        (!name.is_empty() && name != "default" && name != "none").then(|| name.to_owned())
    });
    let by_pair = || {
        let at = words.iter().position(|word| matches!(*word, "brush:" | "sourceCode"))?;
        words.get(at + 1).map(|name| name.trim_end_matches(';').to_owned())
    };
    by_prefix.or_else(by_pair)
}
