//! Definitions that belong with a place of the code: what it calls, who uses it, its tests, its neighbours, and what is alike.

use std::collections::BTreeMap;

use serde::Serialize;
use wb_code::items;
use wb_code::structure::{EdgeClass, FileSymbols, file::BindingKind};

use super::{
    asked::{FilePlace, GraphAnswer, SymbolQuestion},
    graph::{ProjectGraph, SymbolPlace},
    users::Followed,
};
use crate::{Error, RankingWeights, Result, SearchQuestion};

/// Units alike that are looked at.
const ALIKE: usize = 20;
/// Letters of a place's text that are asked for at most.
const MOST_ASKED: usize = 2_000;

/// A way in which a definition belongs with a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// Definition that is called, or used, there.
    Used,
    /// User of what stands there.
    User,
    /// Test of what stands there.
    Test,
    /// Member of the same class.
    Sibling,
    /// Definition of the same file.
    Neighbour,
    /// Definition of the same name elsewhere: another implementation.
    Namesake,
    /// Definition that shares its words.
    Alike,
}

impl Relation {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Used => "used",
            Self::User => "user",
            Self::Test => "test",
            Self::Sibling => "sibling",
            Self::Neighbour => "neighbour",
            Self::Namesake => "namesake",
            Self::Alike => "alike",
        }
    }

    /// Weight of the relation, fitted to functions that were changed together in 454 commits of scrapy and flask.
    fn weight(self) -> f32 {
        match self {
            Self::Sibling | Self::Neighbour | Self::Alike => 1.0,
            Self::User | Self::Test => 0.5,
            Self::Used => 0.35,
            Self::Namesake => 0.2,
        }
    }
}

/// A definition that belongs with a place.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RelatedSymbol {
    /// The definition.
    #[serde(flatten)]
    pub symbol: SymbolPlace,
    /// The ways in which it does, the strongest first.
    pub relations: Vec<Relation>,
    /// The greater, the nearer; comparable within one answer alone.
    pub score: f32,
}

impl ProjectGraph {
    /// The definition that a line of a file stands in: the innermost function or class, else what is defined at the line.
    ///
    /// # Errors
    ///
    /// If the project has no such file, or its language is not known.
    pub fn symbol_at(&self, path: &str, line: u32) -> Result<Option<SymbolPlace>> {
        let file = self.file_named(path)?;
        let text = self.text(path);
        let items = items(&text, self.project.files()[file].language).unwrap_or_default();
        let symbols = FileSymbols::of(&self.project.files()[file].structure);
        let binding = self.innermost(file, &symbols, &items, [line; 2]);
        self.whole(binding.map(|binding| self.place_by(&symbols, file, binding)))
    }

    /// Definitions that belong with one, the nearest first.
    pub fn related(&self, symbol: &SymbolPlace, weights: &RankingWeights) -> Result<Vec<RelatedSymbol>> {
        let mut found: BTreeMap<SymbolPlace, BTreeMap<Relation, f32>> = BTreeMap::new();
        let mut add = |place: SymbolPlace, relation: Relation, strength: f32| {
            if place != *symbol {
                let of_place = found.entry(place).or_default().entry(relation).or_default();
                *of_place = of_place.max(strength);
            }
        };
        for call in self.calls(symbol)? {
            for (_, place) in call.definitions.into_iter().filter(|(edge, _)| *edge < EdgeClass::NameOnly) {
                let strength = self.seldom(place.own_name())?;
                add(place, Relation::Used, strength);
            }
        }
        let one = std::slice::from_ref(symbol);
        for user in self.users(one, 1, Followed::Usages)? {
            let known = if user.edge == EdgeClass::NameOnly { 0.2 } else { 1.0 };
            let relation = if user.is_test { Relation::Test } else { Relation::User };
            add(user.symbol, relation, known);
        }
        let structure = &self.project.files()[symbol.file].structure;
        let symbols = FileSymbols::of(structure);
        let own_path = symbols.path(symbol.binding);
        for binding in symbols.all() {
            if !matches!(structure.binding(binding).kind, BindingKind::Function | BindingKind::Class) {
                continue;
            }
            let path = symbols.path(binding);
            let is_sibling = own_path.len() > 1 && path[..path.len() - 1] == own_path[..own_path.len() - 1];
            let relation = if is_sibling { Relation::Sibling } else { Relation::Neighbour };
            let place = self.place_by(&symbols, symbol.file, binding);
            let far = place.line.abs_diff(symbol.line) as f32;
            add(place, relation, 1.0 / (1.0 + far / 50.0));
        }
        for place in self.definitions(symbol.own_name())? {
            let strength = self.seldom(place.own_name())?;
            add(place, Relation::Namesake, strength);
        }
        let text = self.own_text(symbol);
        let alike = self.index().search(&SearchQuestion::new(&text), weights, ALIKE)?;
        for (rank, unit) in alike.iter().enumerate() {
            let Some(file) = self.project.file_at(&unit.path) else { continue };
            if let Some(place) = self.first_in(file, unit.lines) {
                add(place, Relation::Alike, 1.0 / (1.0 + rank as f32 / 5.0));
            }
        }
        let mut all: Vec<RelatedSymbol> = found
            .into_iter()
            .map(|(symbol, relations)| {
                let mut relations: Vec<(Relation, f32)> = relations
                    .into_iter()
                    .map(|(relation, strength)| (relation, relation.weight() * strength))
                    .collect();
                relations.sort_by(|(_, one), (_, other)| other.total_cmp(one));
                let score = relations.iter().map(|(_, part)| part).sum();
                RelatedSymbol {
                    symbol,
                    relations: relations.into_iter().map(|(relation, _)| relation).collect(),
                    score,
                }
            })
            .collect();
        all.sort_by(|one, other| other.score.total_cmp(&one.score).then_with(|| one.symbol.cmp(&other.symbol)));
        self.whole(all)
    }

    /// Strength of a relation by a name: the fewer files have it, the more it says.
    fn seldom(&self, name: &str) -> Result<f32> {
        Ok(1.0 / (1.0 + (1.0 + self.n_files_with(name)? as f32).ln() / 3.0))
    }

    /// The lines of a definition, or its own line.
    fn own_text(&self, symbol: &SymbolPlace) -> String {
        let text = self.text(&symbol.path);
        let language = self.project.files()[symbol.file].language;
        let items = items(&text, language).unwrap_or_default();
        let item = items
            .iter()
            .rev()
            .find(|item| item.name == symbol.own_name() && (item.lines[0]..=item.lines[1]).contains(&symbol.line));
        let [first, last] = item.map_or([symbol.line; 2], |item| item.lines);
        let lines: Vec<&str> = text.lines().skip(first as usize - 1).take((last - first) as usize + 1).collect();
        lines.join("\n").chars().take(MOST_ASKED).collect()
    }

    /// The first function or class that is defined within some lines.
    fn first_in(&self, file: usize, [first, last]: [u32; 2]) -> Option<SymbolPlace> {
        let structure = &self.project.files()[file].structure;
        let symbols = FileSymbols::of(structure);
        let all = symbols.all().filter(|id| {
            let binding = structure.binding(*id);
            let defines = matches!(binding.kind, BindingKind::Function | BindingKind::Class);
            defines && (first..=last).contains(&binding.line)
        });
        let binding = all.min_by_key(|id| structure.binding(*id).line)?;
        Some(self.place_by(&symbols, file, binding))
    }
}

impl SymbolQuestion {
    /// Definitions that belong with the symbol, or with what stands at the place that is asked for.
    pub fn related(&self, graph: &ProjectGraph, weights: &RankingWeights) -> Result<GraphAnswer<RelatedSymbol>> {
        let symbols: Vec<SymbolPlace> = match FilePlace::of(&self.symbol) {
            Some(place) => graph.symbol_at(&place.path, place.line)?.into_iter().collect(),
            None => graph.definitions(&self.symbol)?.into_iter().take(1).collect(),
        };
        let found = match symbols.first() {
            Some(symbol) => graph.related(symbol, weights)?,
            None if FilePlace::of(&self.symbol).is_some() => {
                let what = format!("no function and no class stands at {}", self.symbol);
                return Err(Error::failed(what).with_hint("wb outline FILE shows the lines that have one"));
            }
            None => Vec::new(),
        };
        Ok(self.answer(graph, symbols, found, |related| related))
    }
}
