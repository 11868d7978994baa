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
        self.parted.has_words() && AimedQuestion::by_form(self.question.text()).next().is_some()
    }
}

impl ProjectGraph {
    /// Gives a question about a symbol of the project the units that its structure has for it.
    pub fn route(&self, request: &mut AnswerRequest, weights: &RankingWeights) -> Result<()> {
        if request.parted.has_words() {
            request.routed = self.units_for(request.question.text(), weights)?;
        }
        Ok(())
    }

    /// The aim of a question about a symbol that the project defines, and the units that the graph has for it, the likeliest
    /// first: where the symbol is defined, who uses it, what is like it, or what belongs with it.
    pub fn units_for(&self, text: &str, weights: &RankingWeights) -> Result<Option<(QuestionAim, Vec<usize>)>> {
        for asked in AimedQuestion::by_form(text) {
            let symbols = self.definitions(&asked.symbol)?;
            if !symbols.is_empty() {
                return Ok(Some((asked.aim, self.units_of(asked.aim, &symbols, weights)?)));
            }
        }
        Ok(None)
    }

    fn units_of(&self, aim: QuestionAim, symbols: &[SymbolPlace], weights: &RankingWeights) -> Result<Vec<usize>> {
        let places: Vec<(String, u32)> = match aim {
            QuestionAim::Definition | QuestionAim::Implementation => symbols.iter().map(place).collect(),
            QuestionAim::Usage => {
                let (imports, usages): (Vec<_>, Vec<_>) =
                    self.usages(symbols)?.into_iter().partition(|usage| usage.is_import);
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
