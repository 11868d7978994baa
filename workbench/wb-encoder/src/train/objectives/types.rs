//! Types: for each name with a declared type, which type it is, while the declaration of the type is hidden.

use std::collections::HashMap;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::{Error, Result, Seed};

use super::{
    code_sides,
    code_tokens::{CodeTokens, TypesOf},
    objective::{CodeText, Objective, TokenQuestion},
    weight_is_fine,
};
use crate::{error::expect_value, train::table::PairTable};

/// The class of all types that are too rare to have one.
const OTHER: &str = "other";
/// Pairs in which types are counted.
const COUNTED: usize = 20_000;

/// Prediction of types.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TypesConfig {
    /// Factor of the loss; `0` is as if the objective was not there.
    pub weight: f64,
    /// Types with a class of their own: the most common ones in the training pairs (of 20,000 pairs at most). All
    /// others are one class.
    pub classes: usize,
}

impl Default for TypesConfig {
    fn default() -> Self {
        Self { weight: 0.1, classes: 100 }
    }
}

impl TypesConfig {
    /// Refuses values that make no sense.
    pub fn validate(&self, key: &str) -> Result<()> {
        weight_is_fine(key, self.weight)?;
        expect_value(format!("{key}.classes"), self.classes, (1..=60_000).contains(&self.classes), "1 to 60000")
    }
}

/// One linear layer at the states of every token of a name where it is declared (a parameter, a variable, a field,
/// a function by what it returns). All tokens of all written types become mask tokens first, so the answer is to be
/// found in the name and in what is done with it; how many tokens the type has is still seen.
pub struct Types<'a> {
    config: TypesConfig,
    types: &'a TypesOf<'a>,
    mask_token: u32,
    /// Names by class; the last is [`OTHER`].
    names: Vec<String>,
    classes: HashMap<String, u32>,
}

impl<'a> Types<'a> {
    /// Counts the types of the training pairs: of all, or of 20,000 drawn by seed.
    pub fn open(config: &TypesConfig, code: &CodeTokens<'a>, table: &PairTable<'_>, seed: Seed) -> Result<Self> {
        let key = "train.objectives.types";
        let mask_token = code.mask_token(key)?;
        let mut chosen = seed.permutation_at("types", 0, table.len());
        chosen.truncate(COUNTED);
        let types_of = |at: &usize| -> Result<Vec<String>> {
            let pair = *at as u32;
            let mut names = Vec::new();
            for (text, _) in code_sides(table, pair) {
                let typed = (code.types)(&table.text(text)?, table.language(pair));
                names.extend(typed.into_iter().map(|typed| typed.type_name));
            }
            Ok(names)
        };
        let mut counts: HashMap<String, usize> = HashMap::new();
        let names: Vec<Vec<String>> = chosen.par_iter().map(types_of).collect::<Result<_>>()?;
        for name in names.into_iter().flatten() {
            *counts.entry(name).or_default() += 1;
        }
        if counts.is_empty() {
            let message = format!("no declared type was found in the code of {} training pairs", chosen.len());
            return Err(Error::value(key, message).with_hint(
                "take it out; it needs pairs with a language that declares types: rust, python, java, typescript, go, php, c, cpp",
            ));
        }
        let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
        counts.sort_unstable_by(|(a, m), (b, n)| n.cmp(m).then(a.cmp(b)));
        let names: Vec<String> =
            counts.into_iter().map(|(name, _)| name).take(config.classes).chain([OTHER.to_owned()]).collect();
        let classes = names[..names.len() - 1].iter().zip(0..).map(|(name, class)| (name.clone(), class)).collect();
        Ok(Self { config: config.clone(), types: code.types, mask_token, names, classes })
    }
}

impl Objective for Types<'_> {
    fn name(&self) -> &'static str {
        "types"
    }

    fn weight(&self) -> f64 {
        self.config.weight
    }

    fn classes(&self) -> Vec<String> {
        self.names.clone()
    }

    fn ask(&self, text: &mut CodeText<'_>) -> Vec<TokenQuestion> {
        let mut asked: Vec<Option<u32>> = vec![None; text.ids.len()];
        let mut hidden = vec![false; text.ids.len()];
        for typed in (self.types)(text.text, text.language) {
            let class = self.classes.get(&typed.type_name).copied().unwrap_or(self.classes.len() as u32);
            for (token, place) in text.places.iter().enumerate() {
                let Some(place) = place else { continue };
                if place.start < typed.annotation.end && typed.annotation.start < place.end {
                    hidden[token] = true;
                }
                if typed.name.start <= place.start && place.end <= typed.name.end {
                    asked[token] = Some(class);
                }
            }
        }
        let mut questions = Vec::new();
        for token in 0..text.ids.len() {
            if hidden[token] {
                (text.ids[token], text.taken[token]) = (self.mask_token, true);
            } else if let Some(class) = asked[token] {
                text.taken[token] = true;
                questions.push(TokenQuestion { token, class });
            }
        }
        questions
    }
}
