//! Occurrences as bytes of a text.

use std::ops::Range;

use super::{ColumnUnit, ScipDocument, ScipIndex};

/// A place of a text that names a symbol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolSpan {
    /// Bytes of the name; none at the begin of a file for the file itself.
    pub span: Range<u32>,
    /// Line of its begin, from 1.
    pub line: u32,
    /// Number of the symbol.
    pub symbol: u32,
    /// True where the symbol is defined there.
    pub is_definition: bool,
}

impl ScipDocument {
    /// The occurrences as bytes of the file's text, in order; none where it cannot be the text that was indexed: one
    /// lies outside of it, or a symbol is defined where its name is not.
    pub fn spans(&self, index: &ScipIndex, text: &str) -> Option<Vec<SymbolSpan>> {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let mut starts = vec![0_usize];
        starts.extend(lines.iter().scan(0, |start, line| {
            *start += line.len();
            Some(*start)
        }));
        let byte = |[line, column]: [u32; 2]| {
            let (line, start) = (lines.get(line as usize).copied(), starts.get(line as usize)?);
            Some((start + self.unit.bytes(line.unwrap_or_default(), column as usize)?) as u32)
        };
        let mut all = Vec::with_capacity(self.occurrences.len());
        for occurrence in &self.occurrences {
            let span = byte(occurrence.from)?..byte(occurrence.to)?;
            let name = text.get(span.start as usize..span.end as usize)?;
            let is_definition = occurrence.is_definition;
            if is_definition && is_another(name, &index.symbols[occurrence.symbol as usize].name) {
                return None;
            }
            all.push(SymbolSpan { span, line: occurrence.from[0] + 1, symbol: occurrence.symbol, is_definition });
        }
        all.sort_by_key(|it| (it.span.start, it.span.end, it.symbol, !it.is_definition));
        all.dedup();
        Some(all)
    }
}

/// True for two names of which one cannot stand for the other.
fn is_another(written: &str, name: &str) -> bool {
    let is_name = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_');
    is_name(name) && !written.is_empty() && written != name
}

impl ColumnUnit {
    /// Bytes before a column of a line; none where the line is shorter, or a character lies across it.
    fn bytes(self, line: &str, column: usize) -> Option<usize> {
        let length = |c: char| match self {
            Self::Utf8 => c.len_utf8(),
            Self::Utf16 => c.len_utf16(),
            Self::Utf32 => 1,
        };
        let (mut bytes, mut units) = (0, 0);
        for c in line.chars().take_while(|c| *c != '\n') {
            if units >= column {
                break;
            }
            (bytes, units) = (bytes + c.len_utf8(), units + length(c));
        }
        (units == column).then_some(bytes)
    }
}
