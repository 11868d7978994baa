//! A map of a project: its most used definitions, as many as a budget of tokens holds.
//!
//! Files are ranked by PageRank over the names that one uses and another defines, as aider's repository map does it
//! (aider/repomap.py); a file's rank goes to the definitions by which it was reached. Where we differ: names that a file
//! defines itself lead nowhere else, and definitions of tests, examples and what is generated count a tenth.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rayon::prelude::*;
use serde::Serialize;
use wb_code::structure::{FileStructure, FileSymbols, file::BindingKind};

use super::{
    asked::{GraphAnswer, SymbolQuestion},
    graph::ProjectGraph,
    outline::{OutlineItem, outline_of},
    page_rank::{WeightedEdge, leaving, page_rank},
};
use crate::{FileRole, Result, answer::CHARS};

/// Weight of a name that was asked for, and of one that is long and of several words.
const MENTIONED: f64 = 10.0;
/// Weight of the names that a file uses which was asked for.
const FOCUSED: f64 = 50.0;
/// Weight of a name that is private, that many files define, or that is of tests.
const SELDOM: f64 = 0.1;
/// Files that define a name, above which it says little.
const COMMON: usize = 5;
/// Letters of a name that is long.
const LONG: usize = 8;
/// Bytes around an item's line: its number, margins, the end of the line.
const AROUND: usize = 8;
/// Definitions in a row that do not fit, after which the map is full.
const MISSES: usize = 40;

/// A map of a project.
#[derive(Debug, Clone, Serialize)]
pub struct ProjectMap {
    /// The definitions, file by file, the most used file first; `total` counts all that are ranked.
    #[serde(flatten)]
    pub answer: GraphAnswer<OutlineItem>,
    /// Tokens of it: a quarter of its characters.
    pub tokens: usize,
}

/// Names that a file defines and uses.
struct FileNames {
    defined: BTreeSet<String>,
    used: BTreeMap<String, u32>,
}

impl FileNames {
    fn of(structure: &FileStructure) -> Self {
        let symbols = FileSymbols::of(structure);
        let defines = |kind| matches!(kind, BindingKind::Function | BindingKind::Class | BindingKind::Variable);
        let defined = symbols.all().map(|id| structure.binding(id)).filter(|binding| defines(binding.kind));
        let defined = defined.map(|binding| binding.name.to_string());
        let mut used = BTreeMap::new();
        for reference in &structure.references {
            if let Some(name) = structure.name(reference.value) {
                *used.entry(name.to_owned()).or_default() += 1;
            }
        }
        Self { defined: defined.collect(), used }
    }
}

/// True for a name that people made of several words.
fn is_telling(name: &str) -> bool {
    let has = |of: fn(char) -> bool| name.chars().any(of);
    let is_composed = name.contains(['_', '-']) || (has(char::is_uppercase) && has(char::is_lowercase));
    name.chars().count() >= LONG && is_composed && has(char::is_alphabetic)
}

impl ProjectGraph {
    /// A map of the project within `budget` tokens; files and names of the focus, and those that they use, come first.
    pub fn map(&self, budget: usize, focus: &[String]) -> Result<ProjectMap> {
        let ranked = self.ranked(focus)?;
        let total = ranked.len();
        let mut by_file: HashMap<usize, Vec<OutlineItem>> = HashMap::new();
        let mut order: Vec<usize> = Vec::new();
        let mut outlines: HashMap<usize, Vec<OutlineItem>> = HashMap::new();
        let mut left = budget.saturating_mul(CHARS);
        let mut told: BTreeSet<(usize, u32)> = BTreeSet::new();
        let mut misses = 0;
        for (file, name) in ranked {
            if misses == MISSES {
                break;
            }
            let structured = &self.project.files()[file];
            let outline = outlines
                .entry(file)
                .or_insert_with(|| outline_of(&structured.path, &self.text(&structured.path), structured.language));
            for item in outline.iter().filter(|item| item.name == name) {
                // A method is told below its class.
                let around = outline.iter().filter(|it| it.depth < item.depth && it.lines[0] <= item.lines[0]);
                let mut new: Vec<&OutlineItem> =
                    around.filter(|it| it.lines[1] >= item.lines[1]).chain([item]).collect();
                new.retain(|it| !told.contains(&(file, it.lines[0])));
                let head = if by_file.contains_key(&file) { 0 } else { structured.path.len() + 1 };
                let width = |it: &&OutlineItem| it.signature.len() + 2 * it.depth + AROUND;
                let cost = head + new.iter().map(width).sum::<usize>();
                if new.is_empty() || cost > left {
                    misses += usize::from(!new.is_empty());
                    continue;
                }
                misses = 0;
                left -= cost;
                told.extend(new.iter().map(|it| (file, it.lines[0])));
                let items = by_file.entry(file).or_insert_with(|| {
                    order.push(file);
                    Vec::new()
                });
                items.extend(new.into_iter().cloned());
            }
        }
        let mut items = Vec::new();
        for file in order {
            let mut of_file = by_file.remove(&file).unwrap_or_default();
            of_file.sort_by_key(|item| (item.lines[0], item.depth));
            items.extend(of_file);
        }
        let question = SymbolQuestion { symbol: focus.join(" "), most: usize::MAX, skip: 0 };
        let mut answer = question.answer(self, Vec::new(), items, |item| item);
        answer.total = total;
        answer.empty = answer.answers.is_empty().then(|| match total {
            0 => "no function or class is defined here in a language that is known".to_owned(),
            _ => format!("{budget} tokens hold none of its {total} definitions"),
        });
        self.whole(ProjectMap { answer, tokens: (budget.saturating_mul(CHARS) - left).div_ceil(CHARS) })
    }

    /// Definitions by file and name, the most used first.
    fn ranked(&self, focus: &[String]) -> Result<Vec<(usize, String)>> {
        let files = self.project.files();
        let names: Vec<FileNames> = (0..files.len())
            .into_par_iter()
            .map(|file| self.read(file).map(|it| FileNames::of(&it)))
            .collect::<Result<_>>()?;
        let mut definers: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (file, of_file) in names.iter().enumerate() {
            of_file.defined.iter().for_each(|name| definers.entry(name).or_default().push(file));
        }
        let is_focus = |text: &str| focus.iter().any(|one| one == text);
        let mut restart = vec![0.0; files.len()];
        for (file, structured) in files.iter().enumerate() {
            let is_below = |one: &String| {
                structured.path.strip_prefix(one.trim_end_matches('/')).is_some_and(|rest| rest.starts_with('/'))
            };
            let is_mentioned = names[file].defined.iter().any(|name| is_focus(name));
            if is_focus(&structured.path) || focus.iter().any(is_below) || is_mentioned {
                restart[file] = 1.0;
            }
        }
        let weight_of = |name: &str, definer: usize| {
            let role = self.role_of(&files[definer].path);
            let beside = matches!(role, Some(FileRole::Test | FileRole::Example | FileRole::Generated));
            let factors = [
                (is_focus(name), MENTIONED),
                (is_telling(name), MENTIONED),
                (name.starts_with('_'), SELDOM),
                (definers[name].len() > COMMON, SELDOM),
                (beside, SELDOM),
            ];
            factors.into_iter().filter(|(holds, _)| *holds).map(|(_, factor)| factor).product::<f64>()
        };
        let mut edges: Vec<WeightedEdge> = Vec::new();
        let mut reached: Vec<&str> = Vec::new();
        for (file, of_file) in names.iter().enumerate() {
            let own = if restart[file] > 0.0 { FOCUSED } else { 1.0 };
            for (name, count) in of_file.used.iter().filter(|(name, _)| !of_file.defined.contains(*name)) {
                for definer in definers.get(name.as_str()).into_iter().flatten() {
                    let weight = own * weight_of(name, *definer) * f64::from(*count).sqrt();
                    edges.push((file as u32, *definer as u32, weight));
                    reached.push(name);
                }
            }
        }
        let ranks = page_rank(&restart, &edges);
        let leaving = leaving(files.len(), &edges);
        let mut of_names: BTreeMap<(usize, &str), f64> = BTreeMap::new();
        // What nobody else uses comes last, by the rank of its file.
        for (file, of_file) in names.iter().enumerate() {
            of_file.defined.iter().for_each(|name| _ = of_names.insert((file, name), 1e-6 * ranks[file]));
        }
        for ((from, to, weight), name) in edges.iter().zip(&reached) {
            *of_names.entry((*to as usize, name)).or_default() +=
                ranks[*from as usize] * weight / leaving[*from as usize];
        }
        let mut ranked: Vec<((usize, &str), f64)> = of_names.into_iter().collect();
        ranked.sort_by(|(one, first), (other, second)| second.total_cmp(first).then_with(|| one.cmp(other)));
        Ok(ranked.into_iter().map(|((file, name), _)| (file, name.to_owned())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::is_telling;

    #[test]
    fn names_of_several_words_tell_something() {
        assert!(["parse_tree", "ParseTree", "kebab-case"].into_iter().all(is_telling));
        assert!(!["parse", "PARSETREE", "parsetree", "________", "a_b"].into_iter().any(is_telling));
    }
}
