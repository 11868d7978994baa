//! Markdown pages: prose cut to pieces under its headings, fenced code apart.

use std::path::PathBuf;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::{Origin, Progress};

use super::{
    Result, Snippet,
    cut::CutConfig,
    files::{self, FileGroup, TextFile},
    page::{Block, BlockKind, Page, PageCode, pieces},
    source::{SnippetSource, Take},
};

/// Pages to read, and how they are cut.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MarkdownSnippets {
    /// A file, or a folder of files that end in `.md` or `.markdown`, subfolders too.
    #[serde(deserialize_with = "wb_core::paths::typed")]
    pub path: PathBuf,
    /// Larger files are left out.
    pub max_file_bytes: u64,
    /// Unit that must not be split between training and test.
    pub group: FileGroup,
    /// Pieces that pages are cut to.
    pub cut: CutConfig,
    /// Treatment of code.
    pub code: PageCode,
}

impl Default for MarkdownSnippets {
    fn default() -> Self {
        Self {
            path: PathBuf::new(),
            max_file_bytes: 4 << 20,
            group: FileGroup::File,
            cut: CutConfig::default(),
            code: PageCode::Apart,
        }
    }
}

impl SnippetSource for MarkdownSnippets {
    fn kind(&self) -> &'static str {
        "markdown"
    }

    fn place(&self) -> String {
        format!("markdown {}", self.path.display())
    }

    fn validate(&self, key: &str) -> wb_core::Result<()> {
        files::validate(&self.path, self.max_file_bytes, key)?;
        self.cut.validate(&format!("{key}.cut"))
    }

    fn each(&self, take: &mut Take<'_>, progress: &mut dyn FnMut(Progress)) -> Result<()> {
        let files = files::list(&self.path, &[".md", ".markdown"], take)?;
        for (done, file) in files.iter().enumerate() {
            progress(Progress::new("reading snippets", done, files.len()));
            let Some(text) = file.read(self.max_file_bytes, take)? else { continue };
            let origin = file.origin(self.group, &self.path);
            give(file, &page(&text), self.code, self.cut, &origin, take);
        }
        Ok(())
    }
}

/// Gives the pieces of a page.
pub(super) fn give(file: &TextFile, page: &Page, code: PageCode, cut: CutConfig, origin: &Origin, take: &mut Take<'_>) {
    let pieces = pieces(page, code, cut, take.tokens);
    take.leave_out("code block", pieces.code_dropped);
    if pieces.pieces.is_empty() {
        take.leave_out("page without text", 1);
    }
    for piece in pieces.pieces {
        take.snippet(Snippet {
            id: format!("{}#L{}-L{}", file.relative, piece.lines[0], piece.lines[1]),
            language: piece.language,
            text: piece.text,
            context: piece.context,
            origin: Origin { lines: piece.lines, ..origin.clone() },
        });
    }
}

/// The parts of a page; front matter, HTML and pictures are no text.
pub(super) fn page(text: &str) -> Page {
    let newlines: Vec<usize> = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect();
    let line = |at: usize| u32::try_from(1 + newlines.partition_point(|newline| *newline < at)).unwrap_or(u32::MAX);
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    let mut reader = Reader::default();
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        let trimmed = range.start + text.get(range.clone()).unwrap_or_default().trim_end().len();
        reader.event(event, [line(range.start), line(trimmed.max(range.start + 1) - 1)]);
    }
    reader.end_block();
    reader.page
}

#[derive(Default)]
struct Reader {
    page: Page,
    text: String,
    lines: Option<[u32; 2]>,
    code: Option<String>,
    /// Inside of what is no text: front matter, HTML, the words that stand for a picture.
    hidden: usize,
    /// Numbers of the lists that are open; nothing for one with bullets.
    lists: Vec<Option<u64>>,
}

impl Reader {
    fn event(&mut self, event: Event<'_>, lines: [u32; 2]) {
        match event {
            Event::Start(tag) => self.start(tag, lines),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.hidden == 0 => self.push(&text, lines),
            Event::Code(text) if self.hidden == 0 => {
                self.push("`", lines);
                self.push(&text, lines);
                self.push("`", lines);
            }
            Event::SoftBreak | Event::HardBreak if self.hidden == 0 => self.push("\n", lines),
            Event::TaskListMarker(done) if self.hidden == 0 => self.push(if done { "[x] " } else { "[ ] " }, lines),
            Event::Rule => self.end_block(),
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>, lines: [u32; 2]) {
        match tag {
            Tag::Heading { .. } | Tag::Table(_) | Tag::BlockQuote(_) | Tag::FootnoteDefinition(_) => self.end_block(),
            Tag::Paragraph if self.lists.is_empty() => self.end_block(),
            Tag::CodeBlock(kind) => {
                self.end_block();
                self.code = Some(match kind {
                    CodeBlockKind::Fenced(info) => info_language(&info),
                    CodeBlockKind::Indented => String::new(),
                });
                self.lines = Some(lines);
            }
            Tag::List(first) => {
                if self.lists.is_empty() {
                    self.end_block();
                }
                self.lists.push(first);
            }
            Tag::Item => {
                let depth = self.lists.len().saturating_sub(1).min(16);
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number = number.saturating_add(1);
                        format!("{}. ", *number - 1)
                    }
                    _ => "- ".to_owned(),
                };
                if !self.text.is_empty() && !self.text.ends_with('\n') {
                    self.text.push('\n');
                }
                self.push(&"  ".repeat(depth), lines);
                self.push(&mark, lines);
            }
            Tag::TableCell if !self.text.is_empty() && !self.text.ends_with('\n') => self.push(" | ", lines),
            Tag::HtmlBlock | Tag::MetadataBlock(_) | Tag::Image { .. } => self.hidden += 1,
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(level) => {
                let text = std::mem::take(&mut self.text).split_whitespace().collect::<Vec<_>>().join(" ");
                if let Some(lines) = self.lines.take().filter(|_| !text.is_empty()) {
                    self.page.blocks.push(Block { kind: BlockKind::Heading(level as u8), text, lines });
                }
            }
            TagEnd::CodeBlock => {
                let text = std::mem::take(&mut self.text).trim_end().trim_start_matches('\n').to_owned();
                let name = self.code.take().unwrap_or_default();
                if let Some(lines) = self.lines.take().filter(|_| !text.trim().is_empty()) {
                    self.page.blocks.push(Block { kind: BlockKind::Code(name), text, lines });
                }
            }
            TagEnd::List(_) => {
                self.lists.pop();
                if self.lists.is_empty() {
                    self.end_block();
                }
            }
            TagEnd::TableHead | TagEnd::TableRow => self.text.push('\n'),
            TagEnd::Paragraph if self.lists.is_empty() => self.end_block(),
            TagEnd::Table | TagEnd::BlockQuote(_) | TagEnd::FootnoteDefinition => self.end_block(),
            TagEnd::HtmlBlock | TagEnd::MetadataBlock(_) | TagEnd::Image => self.hidden = self.hidden.saturating_sub(1),
            _ => {}
        }
    }

    fn push(&mut self, text: &str, lines: [u32; 2]) {
        self.text.push_str(text);
        let known = self.lines.get_or_insert(lines);
        known[1] = known[1].max(lines[1]);
    }

    fn end_block(&mut self) {
        let text = std::mem::take(&mut self.text).trim().to_owned();
        if let Some(lines) = self.lines.take().filter(|_| !text.is_empty()) {
            self.page.blocks.push(Block { kind: BlockKind::Prose, text, lines });
        }
    }
}

/// The language in the line that opens a fence: ```` ```python title="a" ````, ```` ```{r, echo=FALSE} ````, ```` ```rust,ignore ````.
pub(super) fn info_language(info: &str) -> String {
    let first = info.trim().trim_start_matches('{').split(|c: char| c.is_whitespace() || matches!(c, ',' | '}' | ':'));
    match first.into_iter().next().unwrap_or_default().trim_start_matches('.') {
        // What Rust's documentation writes instead of the language that goes without saying.
        "ignore" | "no_run" | "should_panic" | "compile_fail" => "rust".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outline(text: &str) -> Vec<String> {
        let kind = |block: &Block| match &block.kind {
            BlockKind::Heading(level) => format!("h{level}"),
            BlockKind::Prose => "p".into(),
            BlockKind::Code(name) => format!("code {name}"),
        };
        page(text)
            .blocks
            .iter()
            .map(|block| format!("{} {}-{}: {}", kind(block), block.lines[0], block.lines[1], block.text))
            .collect()
    }

    #[test]
    fn parts_with_their_lines() {
        let text = "---\ntitle: x\n---\n# A *b*\n\nOne `two`\nthree.\n\n```python title=\"q\"\ndef f():\n\n    pass\n```\n\n\
                    - a\n  - b\n- c\n\n1. x\n2. y\n\n<div>no</div>\n\n![pic](p.png) end\n\n| h | i |\n|---|---|\n| 1 | 2 |\n\n    indented\n";
        let expected = [
            "h1 4-4: A b",
            "p 6-7: One `two`\nthree.",
            "code python 9-13: def f():\n\n    pass",
            "p 15-17: - a\n  - b\n- c",
            "p 19-20: 1. x\n2. y",
            "p 24-24: end",
            "p 26-28: h | i\n1 | 2",
            "code  30-30: indented",
        ];
        assert_eq!(outline(text), expected);
    }

    #[test]
    fn languages_of_fences() {
        for (info, expected) in [
            ("python", "python"),
            ("{r, echo=FALSE}", "r"),
            ("rust,ignore", "rust"),
            ("{.js}", "js"),
            ("", ""),
            ("no_run", "rust"),
            ("py:main", "py"),
        ] {
            assert_eq!(info_language(info), expected, "{info}");
        }
    }

    #[test]
    fn hostile_pages_end() {
        for text in [
            "> ".repeat(50_000),
            "- ".repeat(50_000),
            "[".repeat(50_000),
            "*a".repeat(50_000),
            "```".to_owned(),
            "\u{0}\u{fffd}".repeat(1000),
            "`".repeat(50_000),
            format!("{}\n", "|".repeat(20_000)).repeat(3),
        ] {
            let started = std::time::Instant::now();
            let _ = page(&text);
            assert!(started.elapsed().as_secs() < 20, "{}", &text[..4]);
        }
    }
}
