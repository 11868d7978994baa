//! The ways in which a text may be tokenized in a training: by side, prompt and limit.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::{Result, Side};

use super::{curriculum::TrainStage, mix::check_name};

/// Put before texts in training; what is left out has the encoder's own prompt.
///
/// Like sentence-transformers' `prompts` argument: one for each column, for each data set, or for both.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PromptsConfig {
    /// Put before anchors; without it, the encoder's own prompt.
    pub query: Option<String>,
    /// Put before positives and hard negatives; without it, the encoder's own prompt.
    pub document: Option<String>,
    /// Prompts by name of a data set, as in `{ conala: { query: "Question: " } }`: a map of `query` and `document`,
    /// which come before `query` and `document` here.
    pub datasets: BTreeMap<String, ColumnPrompts>,
}

/// The prompts of one data set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ColumnPrompts {
    /// Before anchors.
    pub query: Option<String>,
    /// Before positives and hard negatives.
    pub document: Option<String>,
}

impl PromptsConfig {
    /// The prompt of a side of a data set; none for the encoder's own.
    pub fn of(&self, dataset: &str, side: Side) -> Option<&str> {
        let own = self.datasets.get(dataset);
        let own = match side {
            Side::Query => own.and_then(|own| own.query.as_deref()),
            Side::Document => own.and_then(|own| own.document.as_deref()),
        };
        own.or_else(|| self.of_column(side))
    }

    /// The prompt of a side where no data set is meant; none for the encoder's own.
    pub fn of_column(&self, side: Side) -> Option<&str> {
        match side {
            Side::Query => self.query.as_deref(),
            Side::Document => self.document.as_deref(),
        }
    }

    /// Refuses names that no data set has.
    pub fn check_names(&self, known: &[String]) -> Result<()> {
        let names = self.datasets.keys();
        names.into_iter().try_for_each(|name| check_name(&format!("train.prompts.datasets.{name}"), name, known))
    }
}

/// One way to tokenize a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// The side.
    pub side: Side,
    /// Put before the text; none for the encoder's own prompt.
    pub prompt: Option<String>,
    /// Cut to so many tokens; none for the encoder's own limit.
    pub max_tokens: Option<usize>,
}

/// The views of all stages, data sets and sides, each once.
#[derive(Debug)]
pub struct Views {
    list: Vec<View>,
    /// The view of each stage, data set and side.
    places: Vec<u32>,
    datasets: usize,
}

impl Views {
    /// Views of the stages of a training on these data sets.
    pub fn new(stages: &[TrainStage], datasets: &[String], prompts: &PromptsConfig) -> Self {
        let mut views = Self { list: Vec::new(), places: Vec::new(), datasets: datasets.len() };
        for stage in stages {
            for name in datasets {
                for side in [Side::Query, Side::Document] {
                    let prompt = prompts.of(name, side).map(str::to_owned);
                    let view = View { side, prompt, max_tokens: stage.max_tokens.map(|most| most.of(side)) };
                    let at = views.list.iter().position(|other| *other == view).unwrap_or_else(|| {
                        views.list.push(view);
                        views.list.len() - 1
                    });
                    views.places.push(at as u32);
                }
            }
        }
        views
    }

    /// The number of a view.
    pub fn number(&self, stage: usize, dataset: usize, side: Side) -> u32 {
        self.places[2 * (stage * self.datasets + dataset) + usize::from(side == Side::Document)]
    }

    /// A view by its number.
    pub fn view(&self, number: u32) -> &View {
        &self.list[number as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        folder::MaxTokens,
        train::{config::TrainConfig, curriculum::stages},
    };

    #[test]
    fn a_data_sets_prompt_comes_before_the_columns_and_that_before_the_encoders() {
        let prompts: PromptsConfig =
            serde_json::from_str(r#"{"query": "q: ", "datasets": {"sql": {"query": "", "document": "schema: "}}}"#)
                .unwrap();
        assert_eq!(prompts.of("csn", Side::Query), Some("q: "));
        assert_eq!(prompts.of("csn", Side::Document), None);
        assert_eq!(prompts.of("sql", Side::Query), Some(""));
        assert_eq!(prompts.of("sql", Side::Document), Some("schema: "));
        assert!(prompts.check_names(&["sql".into()]).is_ok());
        let error = prompts.check_names(&["sqll".into()]).unwrap_err().to_string();
        assert!(error.starts_with("train.prompts.datasets.sql: there is no data set `sql`"), "{error}");
    }

    #[test]
    fn equal_views_are_one() {
        let names = ["csn".to_owned(), "sql".to_owned(), "conala".to_owned()];
        let config = TrainConfig::default();
        let mut stages = stages(&config, &names).unwrap();
        stages.push(stages[0].clone());
        stages.push(stages[0].clone());
        stages[1].max_tokens = Some(MaxTokens { query: 8, document: 16 });
        let prompts: PromptsConfig = serde_json::from_str(r#"{"datasets": {"sql": {"query": "as SQL: "}}}"#).unwrap();
        let views = Views::new(&stages, &names, &prompts);
        // Queries with and without the prompt, and documents; each with and without the limit.
        assert_eq!(views.list.len(), 6);
        assert_eq!(views.number(0, 0, Side::Query), views.number(2, 2, Side::Query));
        assert_ne!(views.number(0, 0, Side::Query), views.number(0, 1, Side::Query));
        let limited = views.view(views.number(1, 1, Side::Document));
        assert_eq!((limited.side, limited.prompt.as_deref(), limited.max_tokens), (Side::Document, None, Some(16)));
        assert_eq!(views.view(views.number(1, 1, Side::Query)).prompt.as_deref(), Some("as SQL: "));
    }
}
