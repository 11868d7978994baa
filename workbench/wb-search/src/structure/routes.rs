//! Units of the index that the graph has for a question about a symbol; a search puts them first.

use std::collections::HashSet;

use super::{
    aim::{AimedQuestion, QuestionAim},
    graph::{ProjectGraph, SymbolPlace},
    related::Relation,
};
use crate::{AnswerRequest, FileRole, RankingWeights, Result};

impl AnswerRequest {
    /// True where a question may be about a symbol, by its form: [`ProjectGraph::route`] says more.
    pub fn may_be_aimed(&self) -> bool {
        self.parted.has_words() && AimedQuestion::of(self.question.text(), |_| true).is_some()
    }
}

impl ProjectGraph {
    /// Gives a question about a symbol of the project the units that its structure has for it.
    pub fn route(&self, request: &mut AnswerRequest, weights: &RankingWeights) -> Result<()> {
        if let Some(asked) = self.aim_of(request.question.text())?.filter(|_| request.parted.has_words()) {
            request.routed = Some((asked.aim, self.units_for(&asked, weights)?));
        }
        Ok(())
    }

    /// The aim of a question, where it names a symbol that the project defines.
    pub fn aim_of(&self, text: &str) -> Result<Option<AimedQuestion>> {
        let is_symbol = |name: &str| self.definitions(name).is_ok_and(|found| !found.is_empty());
        self.whole(AimedQuestion::of(text, is_symbol))
    }

    /// Units that the graph has for a question, the likeliest first: where the symbol is defined, who uses it, what is like
    /// it, or what belongs with it.
    pub fn units_for(&self, asked: &AimedQuestion, weights: &RankingWeights) -> Result<Vec<usize>> {
        let symbols = self.definitions(&asked.symbol)?;
        let places: Vec<(String, u32)> = match asked.aim {
            QuestionAim::Definition | QuestionAim::Implementation => symbols.iter().map(place).collect(),
            QuestionAim::Usage => {
                let (imports, usages): (Vec<_>, Vec<_>) =
                    self.usages(&symbols)?.into_iter().partition(|usage| usage.is_import);
                let (tests, work): (Vec<_>, Vec<_>) =
                    usages.into_iter().partition(|usage| self.role_of(&usage.path) == Some(FileRole::Test));
                work.into_iter().chain(tests).chain(imports).map(|usage| (usage.path, usage.line)).collect()
            }
            QuestionAim::Similar => {
                let Some(symbol) = symbols.first() else { return Ok(Vec::new()) };
                let related = self.related(symbol, weights)?;
                let of = |wanted: Relation| related.iter().filter(move |one| one.relations.contains(&wanted));
                of(Relation::Namesake).chain(of(Relation::Alike)).map(|one| place(&one.symbol)).collect()
            }
            QuestionAim::Change => {
                let Some(symbol) = symbols.first() else { return Ok(Vec::new()) };
                let related = self.related(symbol, weights)?;
                symbols.iter().map(place).chain(related.iter().map(|one| place(&one.symbol))).collect()
            }
        };
        let mut seen = HashSet::new();
        let units = places.iter().filter_map(|(path, line)| self.unit_at(path, *line));
        Ok(units.filter(|unit| seen.insert(*unit)).collect())
    }
}

fn place(symbol: &SymbolPlace) -> (String, u32) {
    (symbol.path.clone(), symbol.line)
}
