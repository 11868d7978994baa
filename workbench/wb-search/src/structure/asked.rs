//! Questions about a symbol, answered from a project's graph in pages.

use rayon::prelude::*;
use serde::Serialize;
use wb_code::structure::EdgeClass;
use wb_core::suggest;

use super::{
    graph::{ProjectGraph, SymbolPlace},
    now_lines::NowLines,
    usages::{CalledSymbol, SymbolUsage},
    users::SymbolUser,
};
use crate::{Error, Result};

/// A question about a symbol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolQuestion {
    /// `name`, `Class.method`, `module::function`; or a place where it is used, `path:line` or `path:line:column`.
    pub symbol: String,
    /// Answers at most.
    pub most: usize,
    /// Answers that are left out before them.
    pub skip: usize,
}

/// Answers of a project's graph, of which one page is told.
#[derive(Debug, Clone, Serialize)]
pub struct GraphAnswer<T> {
    /// The question, as it was asked.
    pub symbol: String,
    /// Commit that the project is at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Files that differ from those that were indexed; they were read as they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// Definitions that the question means.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub definitions: Vec<SymbolPlace>,
    /// All answers.
    pub total: usize,
    /// Answers that are left out before those that are told.
    pub skipped: usize,
    /// The page.
    pub answers: Vec<T>,
    /// Reason that there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub empty: Option<String>,
}

/// A definition with its line.
#[derive(Debug, Clone, Serialize)]
pub struct DefinedAt {
    /// The definition.
    #[serde(flatten)]
    pub place: SymbolPlace,
    /// Class of the reason to believe it, where the question was a place that uses it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edge: Option<EdgeClass>,
    /// The line, without its margin.
    pub text: String,
}

/// A usage with its line.
#[derive(Debug, Clone, Serialize)]
pub struct UsedAt {
    /// The usage.
    #[serde(flatten)]
    pub usage: SymbolUsage,
    /// The line, without its margin.
    pub text: String,
}

impl SymbolQuestion {
    /// Places where the symbol is defined, with their lines.
    pub fn definitions(&self, graph: &ProjectGraph) -> Result<GraphAnswer<DefinedAt>> {
        let found: Vec<(Option<EdgeClass>, SymbolPlace)> = match self.used_at(graph)? {
            Some(found) => found.into_iter().map(|(edge, place)| (Some(edge), place)).collect(),
            None => graph.definitions(&self.symbol)?.into_iter().map(|place| (None, place)).collect(),
        };
        let lines = NowLines::of(graph);
        let with_line = |(edge, place): (Option<EdgeClass>, SymbolPlace)| {
            let text = lines.line(&place.path, place.line);
            DefinedAt { place, edge, text }
        };
        Ok(self.answer(graph, Vec::new(), found, with_line))
    }

    /// Places that use the symbol, with their lines.
    pub fn usages(&self, graph: &ProjectGraph) -> Result<GraphAnswer<UsedAt>> {
        let symbols = self.symbols(graph)?;
        let found = graph.usages(&symbols)?;
        let lines = NowLines::of(graph);
        let with_line = |usage: SymbolUsage| {
            let text = lines.line(&usage.path, usage.line);
            UsedAt { usage, text }
        };
        Ok(self.answer(graph, symbols, found, with_line))
    }

    /// Functions that call the symbol, up to `depth` calls away.
    pub fn callers(&self, depth: usize, graph: &ProjectGraph) -> Result<GraphAnswer<SymbolUser>> {
        let symbols = self.symbols(graph)?;
        let found = graph.callers(&symbols, depth)?;
        Ok(self.answer(graph, symbols, found, |caller| caller))
    }

    /// Calls of the symbol.
    pub fn calls(&self, graph: &ProjectGraph) -> Result<GraphAnswer<CalledSymbol>> {
        let symbols = self.symbols(graph)?;
        let mut found = Vec::new();
        for symbol in &symbols {
            found.extend(graph.calls(symbol)?);
        }
        Ok(self.answer(graph, symbols, found, |call| call))
    }

    /// The definitions that a symbol or a place means.
    pub fn symbols(&self, graph: &ProjectGraph) -> Result<Vec<SymbolPlace>> {
        Ok(match self.used_at(graph)? {
            Some(found) => found.into_iter().map(|(_, place)| place).collect(),
            None => graph.definitions(&self.symbol)?,
        })
    }

    /// Definitions of what is used at a place; none where a name was asked for.
    fn used_at(&self, graph: &ProjectGraph) -> Result<Option<Vec<(EdgeClass, SymbolPlace)>>> {
        let place = FilePlace::of(&self.symbol);
        place.map(|it| graph.definitions_at(&it.path, it.line, it.column)).transpose()
    }

    /// The page of what was found.
    pub(super) fn answer<F: Send, T: Send>(
        &self,
        graph: &ProjectGraph,
        definitions: Vec<SymbolPlace>,
        found: Vec<F>,
        told: impl Fn(F) -> T + Sync + Send,
    ) -> GraphAnswer<T> {
        let total = found.len();
        let empty = (total == 0).then(|| match definitions.is_empty() {
            true => self.unknown(graph),
            false => "it is defined here, and nothing that is known of the project's code leads to it".to_owned(),
        });
        let page: Vec<F> = found.into_iter().skip(self.skip).take(self.most).collect();
        let answers = page.into_par_iter().map(told).collect();
        let (symbol, skipped) = (self.symbol.clone(), self.skip);
        let commit = graph.index().commit().map(str::to_owned);
        let changed = graph.changed().into_iter().map(str::to_owned).collect();
        GraphAnswer { symbol, commit, changed, definitions, total, skipped, answers, empty }
    }

    /// Reason that nothing is defined by a name.
    pub(super) fn unknown(&self, graph: &ProjectGraph) -> String {
        let index = graph.index();
        let name = self.symbol.rsplit(['.', ':', '#', '/']).next().unwrap_or_default();
        let all = (0..index.units().len()).flat_map(|unit| index.names(unit).own);
        match suggest::nearest(name, all) {
            Some(near) => format!("`{}` is defined nowhere here; `{near}` is", self.symbol),
            None => format!("`{}` is defined nowhere in {}", self.symbol, index.root().display()),
        }
    }
}

/// A place of a file, as it is typed: `path:line` or `path:line:column`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePlace {
    /// The path.
    pub path: String,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: Option<usize>,
}

impl FilePlace {
    /// The place that a text says; `None` where it is a name.
    pub fn of(text: &str) -> Option<Self> {
        let number = |text: &str| text.parse::<u32>().ok().filter(|number| *number > 0);
        let (before, last) = text.rsplit_once(':')?;
        let last = number(last)?;
        if let Some((path, line)) = before.rsplit_once(':')
            && let Some(line) = number(line)
        {
            return Some(Self { path: path.to_owned(), line, column: Some(last as usize) });
        }
        // A name with two colons is none.
        let is_path = !before.ends_with(':') && !before.is_empty();
        is_path.then(|| Self { path: before.to_owned(), line: last, column: None })
    }

    /// The place that a text has to say.
    ///
    /// # Errors
    ///
    /// If it is none.
    pub fn required(text: &str) -> Result<Self> {
        Self::of(text).ok_or_else(|| {
            let what = format!("`{text}` is no place of a file");
            Error::failed(what).with_hint("expected FILE:LINE, as in src/main.rs:12")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::FilePlace;

    #[test]
    fn places_are_told_from_names() {
        let place = |text| FilePlace::of(text).map(|it| (it.path, it.line, it.column));
        assert_eq!(place("a/b.py:3"), Some(("a/b.py".to_owned(), 3, None)));
        assert_eq!(place("a/b.py:3:14"), Some(("a/b.py".to_owned(), 3, Some(14))));
        assert_eq!(place("C:/b.py:3"), Some(("C:/b.py".to_owned(), 3, None)));
        for name in ["parse", "Parser::parse", "Parser::3", ":3", "a.py:0", "a.py:-1", "a.py:", "a.py:99999999999"] {
            assert_eq!(place(name), None, "{name}");
        }
    }
}
