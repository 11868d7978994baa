//! Answers of a project's graph, told on a terminal or as JSON.

use std::{fmt::Write, mem::ManuallyDrop, path::Path};

use anyhow::Result;
use serde::Serialize;
use wb_code::structure::EdgeClass;
use wb_core::{Progress, untrusted::clean};
use wb_search::{
    CodeIndex, IndexPlace, RankingWeights,
    structure::{
        CalledSymbol, ChangeImpact, DefinedAt, GraphAnswer, OutlineItem, ProjectChange, ProjectGraph, ReachingTest,
        RelatedSymbol, SymbolQuestion, SymbolUser, UsedAt, diff_since, diffed_files,
    },
};

use crate::{output, search::kept_or_told};

/// Relations that a symbol is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SymbolRelation {
    /// Places that define it.
    Definitions,
    /// Places that use it.
    Usages,
    /// Functions that call it, and those that call these, so many calls away.
    Callers(usize),
    /// Functions that it calls.
    Calls,
    /// Tests that reach it, or are named after it.
    Tests,
    /// Definitions that belong with it.
    Related,
    /// Users whom a change of it affects, so many steps away.
    Impact(usize),
}

/// A change whose impact is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AskedChange {
    /// Differences from a commit.
    Since(String),
    /// A unified diff.
    Diff(String),
}

/// Form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerForm {
    /// Lines for people.
    Lines,
    /// One JSON object.
    Json,
}

/// Opens the graph of a project, which is indexed where it was not. It is asked once and left to the end of the process: to
/// take it apart lasts longer than the answer.
pub(super) fn open(
    place: &IndexPlace,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<ManuallyDrop<ProjectGraph>> {
    let index = match place.read()? {
        Some(index) => index,
        None => kept_or_told(place.update_unless_busy(progress)?),
    };
    Ok(ManuallyDrop::new(open_with(place, index, progress)?))
}

/// Opens the graph of a project with its index.
pub(crate) fn open_with(
    place: &IndexPlace,
    index: CodeIndex,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<ProjectGraph> {
    if index.has_structures() {
        return Ok(ProjectGraph::open(index)?);
    }
    let mut update = place.update_of(index)?;
    update.structures(progress)?;
    Ok(ProjectGraph::open(kept_or_told(update))?)
}

/// Asks for a relation of a symbol and tells the answer; true where there is one.
pub fn ask(
    question: &SymbolQuestion,
    relation: SymbolRelation,
    form: AnswerForm,
    place: &IndexPlace,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<bool> {
    let graph = open(place, progress)?;
    match relation {
        SymbolRelation::Definitions => tell(&question.definitions(&graph)?, form, definition_line),
        SymbolRelation::Usages => tell(&question.usages(&graph)?, form, usage_line),
        SymbolRelation::Callers(depth) => tell(&question.callers(depth, &graph)?, form, caller_line),
        SymbolRelation::Calls => tell(&question.calls(&graph)?, form, call_line),
        SymbolRelation::Tests => tell(&question.tests(&graph)?, form, test_line),
        SymbolRelation::Related => tell(&question.related(&graph, &RankingWeights::shipped()?)?, form, related_line),
        SymbolRelation::Impact(depth) => {
            let symbols = question.symbols(&graph)?;
            let change = ProjectChange { symbols, ..ProjectChange::default() };
            tell_impact(&question.impact(change, depth, &graph)?, form)
        }
    }
}

/// Tells whom a change of the project's files affects; true where there is somebody.
pub fn impact(
    question: &SymbolQuestion,
    change: &AskedChange,
    depth: usize,
    form: AnswerForm,
    place: &IndexPlace,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<bool> {
    let graph = open(place, progress)?;
    let files = match change {
        AskedChange::Since(revision) => diffed_files(&diff_since(&place.root, revision)?)?,
        AskedChange::Diff(text) => diffed_files(text)?,
    };
    tell_impact(&question.impact(graph.change(&files)?, depth, &graph)?, form)
}

fn tell_impact(impact: &ChangeImpact, form: AnswerForm) -> Result<bool> {
    let ChangeImpact { answer, change } = impact;
    if form == AnswerForm::Json {
        output::line(serde_json::to_string_pretty(impact)?);
        return Ok(answer.total > 0);
    }
    for symbol in &answer.definitions {
        output::note(clean(&format!("changed: {}:{}: {}", symbol.path, symbol.line, symbol.name)));
    }
    change.removed.iter().for_each(|(path, name)| output::note(clean(&format!("gone: {path}: {name}"))));
    change.elsewhere.iter().for_each(|path| output::note(clean(&format!("changed in no definition: {path}"))));
    tell(answer, form, |user| {
        let kind = if user.is_test { "test  " } else { "      " };
        let through = if user.depth == 1 { String::new() } else { format!("  (by {})", user.through) };
        format!("{kind}{}{through}", user_line(user))
    })
}

/// Tells the most used definitions of a project, as many as a budget of tokens holds.
pub fn map(
    focus: &[String],
    budget: usize,
    form: AnswerForm,
    place: &IndexPlace,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<bool> {
    let map = open(place, progress)?.map(budget, focus)?;
    if form == AnswerForm::Json {
        output::line(serde_json::to_string_pretty(&map)?);
        return Ok(!map.answer.answers.is_empty());
    }
    tell_outline(&map.answer.answers);
    match map.answer.empty {
        Some(empty) => output::line(format!("nothing found: {empty}")),
        None => output::note(format!(
            "{} of {} definitions in {} tokens",
            map.answer.answers.len(),
            map.answer.total,
            map.tokens
        )),
    }
    Ok(!map.answer.answers.is_empty())
}

fn definition_line(DefinedAt { place, text, .. }: &DefinedAt) -> String {
    format!("{}:{}: {text}", place.path, place.line)
}

fn usage_line(UsedAt { usage, text }: &UsedAt) -> String {
    let within = if usage.within.is_empty() { String::new() } else { format!("  [{}]", usage.within) };
    format!("{}:{}: {text}{within}{}", usage.path, usage.line, doubt(usage.edge))
}

fn caller_line(caller: &SymbolUser) -> String {
    format!("{}{}", "  ".repeat(caller.depth - 1), user_line(caller))
}

/// A user with the lines of its usages.
pub(super) fn user_line(SymbolUser { symbol, edge, lines, .. }: &SymbolUser) -> String {
    let name = if symbol.name.is_empty() { "(top of the file)" } else { &symbol.name };
    let lines: Vec<String> = lines.iter().map(u32::to_string).collect();
    format!("{}:{}: {name}, at {}{}", symbol.path, symbol.line, lines.join(", "), doubt(*edge))
}

fn call_line(CalledSymbol { name, line, definitions }: &CalledSymbol) -> String {
    let mut text = format!("{line}: {name}");
    match definitions.first() {
        Some((edge, place)) => _ = write!(text, " -> {}:{}{}", place.path, place.line, doubt(*edge)),
        None => text.push_str(" -> not known here"),
    }
    text
}

fn test_line(ReachingTest { user, is_named_after }: &ReachingTest) -> String {
    let named = if *is_named_after { "  (named after it)" } else { "" };
    match user.lines.is_empty() {
        true => format!("{}{named}", user.symbol.path),
        false => format!("{}{named}", user_line(user)),
    }
}

fn related_line(RelatedSymbol { symbol, relations, .. }: &RelatedSymbol) -> String {
    let words: Vec<&str> = relations.iter().map(|relation| relation.name()).collect();
    format!("{}:{}: {}  ({})", symbol.path, symbol.line, symbol.name, words.join(", "))
}

/// Words behind an answer that is not sure.
fn doubt(edge: EdgeClass) -> &'static str {
    if edge == EdgeClass::NameOnly { "  (by its name alone)" } else { "" }
}

/// Tells an answer; true where there is one.
pub(super) fn tell<T: Serialize>(
    answer: &GraphAnswer<T>,
    form: AnswerForm,
    line: impl Fn(&T) -> String,
) -> Result<bool> {
    if form == AnswerForm::Json {
        output::line(serde_json::to_string_pretty(answer)?);
        return Ok(answer.total > 0);
    }
    // Paths and names are others' texts, too.
    let lines: Vec<String> = answer.answers.iter().map(|one| clean(&line(one))).collect();
    if !lines.is_empty() {
        output::line(lines.join("\n"));
    }
    if let Some(empty) = &answer.empty {
        output::line(format!("nothing found: {}", clean(empty)));
    }
    let told = answer.answers.len() + answer.skipped;
    if told < answer.total {
        output::note(format!("{} of {}; the next: --skip {told}", answer.answers.len(), answer.total));
    }
    Ok(answer.total > 0)
}

/// Tells the functions and classes of a file, or of all files below a folder, by the lines that define them.
pub fn outline(place: &Path, form: AnswerForm) -> Result<bool> {
    let all = wb_search::structure::outline(place)?;
    if form == AnswerForm::Json {
        output::line(serde_json::to_string_pretty(&all)?);
        return Ok(!all.is_empty());
    }
    tell_outline(&all);
    Ok(!all.is_empty())
}

fn tell_outline(all: &[OutlineItem]) {
    let mut path = "";
    for item in all {
        if item.path != path {
            path = &item.path;
            output::line(clean(path));
        }
        output::line(format!("{:>5}  {}{}", item.lines[0], "  ".repeat(item.depth), clean(&item.signature)));
    }
}
