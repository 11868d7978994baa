//! Definitions, usages, callers and calls of a project, told on a terminal or as JSON.

use std::{collections::HashMap, fmt::Write, path::Path};

use anyhow::Result;
use serde::Serialize;
use wb_code::{ChunkKind, Language, items, structure::EdgeClass};
use wb_core::{Error, Progress, suggest};
use wb_search::{
    CodeIndex, FolderFiles, IndexPlace,
    answer::clean,
    files::language_and_role,
    structure::{CalledSymbol, Caller, ProjectGraph, SymbolPlace, SymbolUsage},
};

use crate::output;

/// A question about a symbol, and the form of the answer.
pub struct SymbolQuestion {
    /// `name`, `Class.method`, `module::function`; or a place where it is used, `path:line` or `path:line:column`.
    pub symbol: String,
    /// Answers at most.
    pub most: usize,
    /// Answers that are left out before them.
    pub skip: usize,
    /// Tells them as JSON.
    pub json: bool,
}

/// Answers of which some are told.
#[derive(Debug, Serialize)]
struct SymbolAnswer<'a, T> {
    symbol: &'a str,
    commit: Option<&'a str>,
    changed: Vec<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    definitions: Vec<SymbolPlace>,
    total: usize,
    skipped: usize,
    answers: Vec<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    empty: Option<String>,
}

/// A definition with its line.
#[derive(Debug, Clone, Serialize)]
struct DefinedAt {
    #[serde(flatten)]
    place: SymbolPlace,
    #[serde(skip_serializing_if = "Option::is_none")]
    edge: Option<EdgeClass>,
    text: String,
}

/// A usage with its line.
#[derive(Debug, Serialize)]
struct UsedAt {
    #[serde(flatten)]
    usage: SymbolUsage,
    text: String,
}

/// Opens the graph of a project, which is indexed where it was not.
fn open(place: &IndexPlace, progress: &mut (dyn FnMut(Progress) + Send)) -> Result<ProjectGraph> {
    let index = place.open(progress)?;
    if !place.structures_file().is_file() {
        place.bring_up_structures(&index, progress)?;
    }
    Ok(ProjectGraph::open(place, index)?)
}

/// Lines of files as they are now.
#[derive(Default)]
struct NowLines(HashMap<String, Vec<String>>);

impl NowLines {
    fn of(&mut self, root: &Path, path: &str, line: u32) -> String {
        let lines = self.0.entry(path.to_owned()).or_insert_with(|| {
            let text = std::fs::read_to_string(root.join(path)).unwrap_or_default();
            text.lines().map(|line| clean(line.trim())).collect()
        });
        lines.get((line as usize).saturating_sub(1)).cloned().unwrap_or_default()
    }
}

impl SymbolQuestion {
    /// Tells where a symbol is defined; true where it is.
    pub fn definitions(&self, place: &IndexPlace, progress: &mut (dyn FnMut(Progress) + Send)) -> Result<bool> {
        let graph = open(place, progress)?;
        let mut lines = NowLines::default();
        let root = graph.index().root().to_owned();
        let with_line = |(edge, place): (Option<EdgeClass>, SymbolPlace), lines: &mut NowLines| {
            let text = lines.of(&root, &place.path, place.line);
            DefinedAt { place, edge, text }
        };
        let found: Vec<(Option<EdgeClass>, SymbolPlace)> = match self.used_at(&graph)? {
            Some(found) => found.into_iter().map(|(edge, place)| (Some(edge), place)).collect(),
            None => graph.definitions(&self.symbol)?.into_iter().map(|place| (None, place)).collect(),
        };
        let told: Vec<DefinedAt> = self.page(&found).iter().cloned().map(|one| with_line(one, &mut lines)).collect();
        let line = |one: &DefinedAt| format!("{}:{}: {}", one.place.path, one.place.line, one.text);
        self.tell(&graph, Vec::new(), found.len(), told, line)
    }

    /// Tells where a symbol is used; true where it is.
    pub fn usages(&self, place: &IndexPlace, progress: &mut (dyn FnMut(Progress) + Send)) -> Result<bool> {
        let graph = open(place, progress)?;
        let symbols = self.symbols(&graph)?;
        let found = graph.usages(&symbols)?;
        let (mut lines, root) = (NowLines::default(), graph.index().root().to_owned());
        let told = self.page(&found).iter().cloned().map(|usage| {
            let text = lines.of(&root, &usage.path, usage.line);
            UsedAt { usage, text }
        });
        let told: Vec<UsedAt> = told.collect();
        let line = |UsedAt { usage, text }: &UsedAt| {
            let within = if usage.within.is_empty() { String::new() } else { format!("  [{}]", usage.within) };
            format!("{}:{}: {text}{within}{}", usage.path, usage.line, doubt(usage.edge))
        };
        self.tell(&graph, symbols, found.len(), told, line)
    }

    /// Tells who calls a symbol; true where somebody does.
    pub fn callers(
        &self,
        depth: usize,
        place: &IndexPlace,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<bool> {
        let graph = open(place, progress)?;
        let symbols = self.symbols(&graph)?;
        let found = graph.callers(&symbols, depth)?;
        let line = |Caller { symbol, edge, lines, depth }: &Caller| {
            let name = if symbol.name.is_empty() { "(top of the file)" } else { &symbol.name };
            let lines: Vec<String> = lines.iter().map(u32::to_string).collect();
            let (indent, lines) = ("  ".repeat(depth - 1), lines.join(", "));
            format!("{indent}{}:{}: {name}, at {lines}{}", symbol.path, symbol.line, doubt(*edge))
        };
        self.tell(&graph, symbols, found.len(), self.page(&found).to_vec(), line)
    }

    /// Tells what a symbol calls; true where it calls something.
    pub fn calls(&self, place: &IndexPlace, progress: &mut (dyn FnMut(Progress) + Send)) -> Result<bool> {
        let graph = open(place, progress)?;
        let symbols = self.symbols(&graph)?;
        let mut found = Vec::new();
        for symbol in &symbols {
            found.extend(graph.calls(symbol)?);
        }
        let line = |CalledSymbol { name, line, definitions }: &CalledSymbol| {
            let mut text = format!("{line}: {name}");
            match definitions.first() {
                Some((edge, place)) => _ = write!(text, " -> {}:{}{}", place.path, place.line, doubt(*edge)),
                None => text.push_str(" -> not known here"),
            }
            text
        };
        self.tell(&graph, symbols, found.len(), self.page(&found).to_vec(), line)
    }

    /// The definitions that a symbol or a place means.
    fn symbols(&self, graph: &ProjectGraph) -> Result<Vec<SymbolPlace>> {
        Ok(match self.used_at(graph)? {
            Some(found) => found.into_iter().map(|(_, place)| place).collect(),
            None => graph.definitions(&self.symbol)?,
        })
    }

    /// Definitions of what is used at a place; none where a name was asked for.
    fn used_at(&self, graph: &ProjectGraph) -> Result<Option<Vec<(EdgeClass, SymbolPlace)>>> {
        let mut parts = self.symbol.rsplitn(3, ':').collect::<Vec<_>>();
        parts.reverse();
        let number = |text: &str| text.parse::<u32>().ok().filter(|number| *number > 0);
        Ok(match parts.as_slice() {
            [path, line] => number(line).map(|line| graph.definitions_at(path, line, None)).transpose()?,
            [path, line, column] => match (number(line), number(column)) {
                (Some(line), Some(column)) => Some(graph.definitions_at(path, line, Some(column as usize))?),
                // A path with a colon in it, or a name with two.
                (None, Some(line)) if path.contains('.') => {
                    Some(graph.definitions_at(&format!("{path}:{}", parts[1]), line, None)?)
                }
                _ => None,
            },
            _ => None,
        })
    }

    fn page<'a, T>(&self, all: &'a [T]) -> &'a [T] {
        let from = self.skip.min(all.len());
        &all[from..all.len().min(from.saturating_add(self.most))]
    }

    fn tell<T: Serialize>(
        &self,
        graph: &ProjectGraph,
        definitions: Vec<SymbolPlace>,
        total: usize,
        answers: Vec<T>,
        line: impl Fn(&T) -> String,
    ) -> Result<bool> {
        let index = graph.index();
        let is_empty = total == 0;
        let empty = is_empty.then(|| match definitions.is_empty() {
            true => self.unknown(index),
            false => "it is defined here, and nothing that is known of the project's code leads to it".to_owned(),
        });
        let (changed, told) = (graph.changed(), answers.len());
        if self.json {
            let (symbol, commit, skipped) = (self.symbol.as_str(), index.commit(), self.skip);
            let answer = SymbolAnswer { symbol, commit, changed, definitions, total, skipped, answers, empty };
            output::line(serde_json::to_string_pretty(&answer)?);
            return Ok(!is_empty);
        }
        // Paths and names are others' texts, too.
        answers.iter().for_each(|one| output::line(clean(&line(one))));
        if let Some(empty) = empty {
            output::line(format!("nothing found: {empty}"));
        }
        if told + self.skip < total {
            output::note(format!("{told} of {total}; the next: --skip {}", self.skip + told));
        }
        Ok(!is_empty)
    }

    /// Reason that nothing is defined by a name.
    fn unknown(&self, index: &CodeIndex) -> String {
        let name = self.symbol.rsplit(['.', ':', '#', '/']).next().unwrap_or_default();
        let all = (0..index.units().len()).flat_map(|unit| index.names(unit).own);
        match suggest::nearest(name, all) {
            Some(near) => format!("`{}` is defined nowhere here; `{near}` is", self.symbol),
            None => format!("`{}` is defined nowhere in {}", self.symbol, index.root().display()),
        }
    }
}

/// Words behind an answer that is not sure.
fn doubt(edge: EdgeClass) -> &'static str {
    if edge == EdgeClass::NameOnly { "  (by its name alone)" } else { "" }
}

/// An item of a file's outline.
#[derive(Debug, Serialize)]
struct OutlineItem {
    path: String,
    lines: [u32; 2],
    kind: ChunkKind,
    name: String,
    depth: usize,
    signature: String,
}

/// Tells the functions and classes of a file, or of all files below a folder, by the lines that define them.
pub fn outline(place: &Path, json: bool) -> Result<bool> {
    let is_file = place.is_file();
    let found = if is_file { FolderFiles::of_file(place)? } else { FolderFiles::of(place)? };
    let mut all = Vec::new();
    for file in &found.files {
        let Ok(text) = found.read(file) else { continue };
        let language = language_and_role(&file.path, &text).and_then(|(language, _)| Language::named(language));
        let Some(language) = language else {
            if is_file {
                let what = format!("{} is in no language whose functions can be found", place.display());
                return Err(Error::failed(what).into());
            }
            continue;
        };
        let lines: Vec<&str> = text.lines().collect();
        let mut around: Vec<u32> = Vec::new();
        for item in items(&text, language).unwrap_or_default() {
            around.retain(|end| *end >= item.lines[1]);
            let signature = lines.get(item.code_line as usize - 1).map_or("", |line| line.trim()).to_owned();
            let path = file.path.clone();
            all.push(OutlineItem {
                path,
                lines: item.lines,
                kind: item.kind,
                name: item.name,
                depth: around.len(),
                signature,
            });
            around.push(item.lines[1]);
        }
    }
    if json {
        output::line(serde_json::to_string_pretty(&all)?);
        return Ok(!all.is_empty());
    }
    let mut path = "";
    for item in &all {
        if item.path != path {
            path = &item.path;
            output::line(clean(path));
        }
        output::line(format!("{:>5}  {}{}", item.lines[0], "  ".repeat(item.depth), clean(&item.signature)));
    }
    Ok(!all.is_empty())
}
