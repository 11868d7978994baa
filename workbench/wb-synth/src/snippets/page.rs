//! Pages of HTML and Markdown: headings, prose and code in order, and how they become snippets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_code::canonical_name;

use super::{
    cut::{CutConfig, cut},
    tokens::TokenRule,
};

/// A page in parts.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Page {
    /// The page's own title; empty where it has none.
    pub(super) title: String,
    /// Its parts in order.
    pub(super) blocks: Vec<Block>,
}

/// One part of a page.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Block {
    pub(super) kind: BlockKind,
    pub(super) text: String,
    /// First and last line in the file, from 1.
    pub(super) lines: [u32; 2],
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum BlockKind {
    /// A heading with its level, from 1.
    Heading(u8),
    Prose,
    /// Code with its language as the page says it; empty where it says nothing.
    Code(String),
}

/// Treatment of code in a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PageCode {
    /// Keeps code between the prose, fenced.
    InText,
    /// Each block is a snippet of its own, with the headings and the paragraph before it as its context.
    Apart,
    /// Leaves code out.
    Drop,
}

/// A snippet of a page.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Piece {
    pub(super) language: String,
    pub(super) text: String,
    pub(super) context: String,
    pub(super) lines: [u32; 2],
}

/// Snippets of a page.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    pub(super) pieces: Vec<Piece>,
    pub(super) code_dropped: u64,
}

/// Cuts a page. Prose (with its headings) is one text that is cut; the context of each piece is the title and the
/// headings in force where it begins. Pieces come in the order of their first lines, prose before code.
pub(super) fn pieces(page: &Page, code: PageCode, config: CutConfig, tokens: &dyn TokenRule) -> Pieces {
    let mut found = Pieces::default();
    let mut text = String::new();
    // Where each block stands in the text, and the headings in force before it.
    let mut places: Vec<(usize, [u32; 2], String)> = Vec::new();
    let mut headings: Vec<(u8, &str)> = Vec::new();
    let mut last_prose = "";
    for block in &page.blocks {
        let context = path(&page.title, &headings);
        let part = match &block.kind {
            BlockKind::Heading(level) => {
                headings.retain(|(above, _)| above < level);
                headings.push((*level, &block.text));
                last_prose = "";
                format!("{} {}", "#".repeat(usize::from(*level)), block.text)
            }
            BlockKind::Prose => {
                last_prose = &block.text;
                block.text.clone()
            }
            BlockKind::Code(_) if code == PageCode::Drop => {
                found.code_dropped += 1;
                continue;
            }
            BlockKind::Code(name) if code == PageCode::InText => {
                // The fence is longer than any in the code.
                let ticks = block.text.split(|c| c != '`').map(str::len).max().unwrap_or(0).max(2) + 1;
                let fence = "`".repeat(ticks);
                format!("{fence}{name}\n{}\n{fence}", block.text)
            }
            BlockKind::Code(name) => {
                let context = [context.as_str(), last_prose];
                let context: Vec<&str> = context.into_iter().filter(|part| !part.is_empty()).collect();
                code_pieces(block, name, context.join("\n\n"), config, tokens, &mut found.pieces);
                continue;
            }
        };
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        places.push((text.len(), block.lines, context));
        text.push_str(&part);
    }
    for range in cut(&text, tokens, config) {
        let first = places.partition_point(|(at, ..)| *at <= range.start).saturating_sub(1);
        let last = places.partition_point(|(at, ..)| *at < range.end).saturating_sub(1);
        let (Some((_, from, context)), Some((_, to, _))) = (places.get(first), places.get(last)) else { continue };
        found.pieces.push(Piece {
            language: String::new(),
            text: text[range].to_owned(),
            context: context.clone(),
            lines: [from[0], to[1]],
        });
    }
    found.pieces.sort_by_key(|piece| (piece.lines[0], !piece.language.is_empty()));
    found
}

fn code_pieces(
    block: &Block,
    name: &str,
    context: String,
    config: CutConfig,
    tokens: &dyn TokenRule,
    pieces: &mut Vec<Piece>,
) {
    for range in cut(&block.text, tokens, config) {
        pieces.push(Piece {
            language: match canonical_name(name).as_str() {
                // `text` is what snippets without a language are called.
                "" | "text" | "txt" | "plain" | "plaintext" | "none" | "output" => "code".to_owned(),
                named => named.to_owned(),
            },
            text: block.text[range].to_owned(),
            context: context.clone(),
            lines: block.lines,
        });
    }
}

/// `Title > Heading > Heading`; a heading that repeats the title stands once.
fn path(title: &str, headings: &[(u8, &str)]) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in [title].into_iter().chain(headings.iter().map(|(_, text)| *text)) {
        if !part.is_empty() && parts.last() != Some(&part) {
            parts.push(part);
        }
    }
    parts.join(" > ")
}

#[cfg(test)]
mod tests {
    use super::{super::tokens::WordsAndMarks, *};

    fn page() -> Page {
        let block = |kind, text: &str, line| Block { kind, text: text.into(), lines: [line, line + 1] };
        Page {
            title: "Guide".into(),
            blocks: vec![
                block(BlockKind::Heading(1), "Guide", 1),
                block(BlockKind::Prose, "Intro.", 3),
                block(BlockKind::Heading(2), "Sort", 5),
                block(BlockKind::Prose, "Lists are sorted so.", 7),
                block(BlockKind::Code("py".into()), "xs.sort()", 9),
                block(BlockKind::Heading(2), "Map", 11),
                block(BlockKind::Code(String::new()), "map(f)", 13),
            ],
        }
    }

    #[test]
    fn code_apart_has_headings_and_the_paragraph_before() {
        let pieces = pieces(&page(), PageCode::Apart, CutConfig::default(), &WordsAndMarks).pieces;
        let short: Vec<(&str, &str, &str, [u32; 2])> =
            pieces.iter().map(|p| (p.language.as_str(), p.text.as_str(), p.context.as_str(), p.lines)).collect();
        let expected = [
            ("", "# Guide\n\nIntro.\n\n## Sort\n\nLists are sorted so.\n\n## Map", "Guide", [1, 12]),
            ("python", "xs.sort()", "Guide > Sort\n\nLists are sorted so.", [9, 10]),
            ("code", "map(f)", "Guide > Map", [13, 14]),
        ];
        assert_eq!(short, expected);
    }

    #[test]
    fn code_in_the_text_and_pieces_under_their_headings() {
        // 12 tokens up to the first blank line of the second half, 12 of the fenced code, 13 of the rest.
        let config = CutConfig { max_tokens: 13, overlap: 0 };
        let pieces = pieces(&page(), PageCode::InText, config, &WordsAndMarks).pieces;
        let short: Vec<(&str, &str)> = pieces.iter().map(|p| (p.text.as_str(), p.context.as_str())).collect();
        let expected = [
            ("# Guide\n\nIntro.\n\n## Sort\n\nLists are sorted so.", "Guide"),
            ("```py\nxs.sort()\n```", "Guide > Sort"),
            ("## Map\n\n```\nmap(f)\n```", "Guide > Sort"),
        ];
        assert_eq!(short, expected);
    }
}
