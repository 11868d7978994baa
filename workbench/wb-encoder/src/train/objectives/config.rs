//! The `train.objectives` section.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::{Result, Seed};

use super::{
    ast_nodes::{AstNodes, AstNodesConfig},
    code_tokens::CodeTokens,
    mlm::{Mlm, MlmConfig},
    objective::Objective,
    types::{Types, TypesConfig},
};
use crate::{error::expect_value, parameters::Parameters, train::table::PairTable};

/// Objectives that are lowered while an encoder is trained, beside the loss on pairs; none unless named.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ObjectivesConfig {
    /// Masked language modelling: some tokens are hidden, and are to be told.
    pub mlm: Option<MlmConfig>,
    /// The kind of the syntax node around each token.
    pub ast_nodes: Option<AstNodesConfig>,
    /// The types of names with a declared type, while the declaration is hidden.
    pub types: Option<TypesConfig>,
}

impl ObjectivesConfig {
    /// Refuses values that make no sense.
    pub fn validate(&self, key: &str) -> Result<()> {
        self.mlm.as_ref().map_or(Ok(()), |mlm| mlm.validate(&format!("{key}.mlm")))?;
        self.ast_nodes.as_ref().map_or(Ok(()), |ast| ast.validate(&format!("{key}.ast_nodes")))?;
        self.types.as_ref().map_or(Ok(()), |types| types.validate(&format!("{key}.types")))
    }

    /// Names and weights of the objectives that count.
    pub fn weights(&self) -> Vec<(&'static str, f64)> {
        let all = [
            ("types", self.types.as_ref().map(|types| types.weight)),
            ("ast_nodes", self.ast_nodes.as_ref().map(|ast| ast.weight)),
            ("mlm", self.mlm.as_ref().map(|mlm| mlm.weight)),
        ];
        all.into_iter().filter_map(|(name, weight)| Some((name, weight?))).filter(|(_, weight)| *weight > 0.0).collect()
    }

    /// The objectives in the order in which they ask: what hides tokens that all others must not see comes first.
    pub(super) fn init<'a>(
        &self,
        code: &CodeTokens<'a>,
        parameters: &Parameters,
        table: &PairTable<'_>,
        seed: Seed,
    ) -> Result<Vec<Box<dyn Objective + 'a>>> {
        let mut objectives: Vec<Box<dyn Objective + 'a>> = Vec::new();
        if let Some(types) = self.types.as_ref().filter(|types| types.weight > 0.0) {
            objectives.push(Box::new(Types::open(types, code, table, seed)?));
        }
        if let Some(ast) = self.ast_nodes.as_ref().filter(|ast| ast.weight > 0.0) {
            objectives.push(Box::new(AstNodes::open(ast, code)));
        }
        if let Some(mlm) = self.mlm.as_ref().filter(|mlm| mlm.weight > 0.0) {
            objectives.push(Box::new(Mlm::open(mlm, code, parameters)?));
        }
        Ok(objectives)
    }
}

/// Refuses a weight that makes no sense.
pub(super) fn weight_is_fine(key: &str, weight: f64) -> Result<()> {
    expect_value(format!("{key}.weight"), weight, weight.is_finite() && weight >= 0.0, "0 or more")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_values_are_named_and_weight_zero_is_none() {
        let typed = |json: &str| serde_json::from_str::<ObjectivesConfig>(json).unwrap();
        let error = |json: &str| typed(json).validate("train.objectives").unwrap_err().to_string();
        assert!(error(r#"{"mlm": {"weight": -1}}"#).starts_with("train.objectives.mlm.weight: got -1"));
        assert!(error(r#"{"mlm": {"mask_share": 1.0}}"#).starts_with("train.objectives.mlm.mask_share: got 1"));
        assert!(error(r#"{"types": {"classes": 0}}"#).starts_with("train.objectives.types.classes: got 0"));
        assert!(serde_json::from_str::<ObjectivesConfig>(r#"{"ast": {}}"#).is_err());
        let config = typed(r#"{"mlm": {"weight": 0}, "ast_nodes": {}, "types": {"weight": 0.5}}"#);
        config.validate("train.objectives").unwrap();
        assert_eq!(config.weights(), [("types", 0.5), ("ast_nodes", 0.1)]);
        assert!(ObjectivesConfig::default().weights().is_empty());
    }
}
