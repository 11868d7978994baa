//! Fields of a record that make a pair.

use std::{collections::BTreeMap, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use wb_core::{Pair, Task};

use super::{
    record::{Found, Mapped, Record, find_text, left_out, lookup, negatives, optional, place_of, roots, validate_only},
    scores::scores,
};
use crate::{Error, Result, text};

/// Names of the fields that make a pair.
///
/// A name is a key, or a dotted path (`meta.doc`). `a|b` takes `b` where `a` is absent or null;
/// `a+b` joins both without anything between (`declaration+canonical_solution`).
/// A field that holds an array of strings (`code_tokens`) is joined by single spaces.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Fields {
    /// The query side.
    pub anchor: String,
    /// The document side. `null`: there is none, and the anchor is a text without a label. Negatives and scores are not read
    /// then either, and texts are for training alone, by a loss that needs no pairs.
    pub positive: Option<String>,
    /// Hard negatives, one string or an array; may be absent.
    pub negatives: String,
    /// A teacher's or a person's scores, for losses that learn from them: one number for the positive, or an array with
    /// the positive's and one for each hard negative; may be absent.
    pub scores: String,
    /// The id; `null`, or a record without it, is named by file and line.
    pub id: Option<String>,
    /// The programming language; may be absent.
    pub language: String,
    /// Unit that must not stand on both sides of a split; may be absent.
    pub group: String,
    /// The file inside the group; may be absent.
    pub path: String,
    /// The license; may be absent.
    pub license: String,
    /// The data set; may be absent, and is not asked for where the source has a `dataset` of its own.
    pub dataset: String,
}

impl Default for Fields {
    fn default() -> Self {
        Self {
            anchor: "anchor|query".into(),
            positive: Some("positive|pos".into()),
            negatives: "negatives|negative|neg".into(),
            scores: "scores".into(),
            id: Some("id".into()),
            language: "language".into(),
            group: "origin.group|group|repo".into(),
            path: "origin.path|path".into(),
            license: "origin.license|license".into(),
            dataset: "origin.dataset|dataset".into(),
        }
    }
}

/// Part of a field that is the anchor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnchorPart {
    /// All of it.
    #[default]
    Whole,
    /// Up to the first blank line: a docstring's summary without its parameters.
    FirstParagraph,
}

/// Part of a field that is the positive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PositivePart {
    /// All of it.
    #[default]
    Whole,
    /// A Python function without its docstring, so that the answer does not hold the question.
    WithoutDocstring,
}

/// Treatment of a record whose anchor or positive is null.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Nulls {
    /// Takes the record for a bad one.
    #[default]
    Refuse,
    /// Leaves the record out and counts it.
    Drop,
}

/// Declares a config of records: keys of its own, then those that say how a record becomes a pair.
///
/// This is no `serde(flatten)`, which holds keys back until it has seen all of them: an unknown one would have neither
/// its line and column nor the names that it may have meant.
macro_rules! config_of_records {
    ($(#[$about:meta])* $name:ident { $($own:tt)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($own)*
            /// The data set that its pairs belong to; without it, the record's own, or the source's kind and position.
            #[serde(default)]
            pub dataset: String,
            /// Names of the fields that make a pair.
            #[serde(default)]
            pub fields: $crate::sources::Fields,
            /// Only records whose field has this value, as in `{ label: 1 }`; the others are counted.
            #[serde(default)]
            pub only: std::collections::BTreeMap<String, serde_json::Value>,
            /// The task of every pair: `text2code`, `code2text`, `code2code`, `hybrid`; null for the record's own
            /// `task`, or `text2code`.
            #[serde(default)]
            pub task: Option<wb_core::Task>,
            /// The language of pairs whose record names none.
            #[serde(default)]
            pub language: String,
            /// The part of the anchor's field that is read: `whole`, or `first_paragraph`, which leaves a docstring's
            /// parameters out.
            #[serde(default)]
            pub anchor_part: $crate::sources::AnchorPart,
            /// The part of the positive's field that is read: `whole`, or `without_docstring` for Python functions, so
            /// that the answer does not hold the question.
            #[serde(default)]
            pub positive_part: $crate::sources::PositivePart,
            /// Records with a null in the anchor or the positive: `refuse` takes them for bad records, `drop` leaves
            /// them out and counts them.
            #[serde(default)]
            pub nulls: $crate::sources::Nulls,
        }

        impl $name {
            pub(crate) fn shape(&self) -> $crate::sources::Shape<'_> {
                $crate::sources::Shape {
                    fields: &self.fields,
                    only: &self.only,
                    task: self.task,
                    language: &self.language,
                    anchor_part: self.anchor_part,
                    positive_part: self.positive_part,
                    nulls: self.nulls,
                }
            }
        }
    };
}
pub(super) use config_of_records;

/// The way from records to pairs, whatever file they stand in: the keys of every config of records.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape<'a> {
    pub(super) fields: &'a Fields,
    pub(super) only: &'a BTreeMap<String, Value>,
    pub(super) task: Option<Task>,
    pub(super) language: &'a str,
    pub(super) anchor_part: AnchorPart,
    pub(super) positive_part: PositivePart,
    pub(super) nulls: Nulls,
}

impl Shape<'_> {
    /// Refuses values that make no sense; `key` is the config path of the source.
    pub(crate) fn validate(&self, key: &str) -> wb_core::Result<()> {
        let positive = self.fields.positive.iter().map(|value| ("positive", value));
        for (name, value) in std::iter::once(("anchor", &self.fields.anchor)).chain(positive) {
            if value.split(['|', '+']).any(|part| part.trim().is_empty()) {
                let message = format!("got `{value}`, expected a field name, `a|b` or `a+b`");
                return Err(Error::value(format!("{key}.fields.{name}"), message));
            }
        }
        validate_only(self.only, key)
    }

    /// Top-level names that a reader of tables must fetch.
    pub(crate) fn roots(&self) -> Vec<String> {
        let fields = self.fields;
        let names = [&fields.anchor, &fields.language, &fields.group, &fields.path, &fields.license, &fields.dataset];
        let of_label = fields.positive.iter().flat_map(|positive| [positive, &fields.negatives, &fields.scores]);
        let names = names.into_iter().chain(of_label).chain(&fields.id);
        roots(names.chain(self.only.keys()).map(String::as_str).chain(["task", "origin"]))
    }

    /// Makes the pair of a record; its id is empty where the record has none.
    pub(crate) fn pick(&self, record: &Record<'_>) -> Result<Mapped<Pair>> {
        if let Some(reason) = left_out(self.only, record)? {
            return Ok(Mapped::LeftOut(reason));
        }
        let anchor = match find_text(record, &self.fields.anchor)? {
            Found::Text(text) => text,
            Found::Null(name) => return self.null(record, &name),
        };
        let positive = match &self.fields.positive {
            None => String::new(),
            Some(field) => match find_text(record, field)? {
                Found::Text(text) => text,
                Found::Null(name) => return self.null(record, &name),
            },
        };
        let anchor = match self.anchor_part {
            AnchorPart::Whole => anchor,
            AnchorPart::FirstParagraph => text::first_paragraph(&anchor).to_owned(),
        };
        let positive = match self.positive_part {
            PositivePart::Whole => positive,
            PositivePart::WithoutDocstring => wb_code::split_docstring(&positive).map_or(positive, |(_, rest)| rest),
        };
        let fields = self.fields;
        let mut pair = Pair { anchor, positive, ..Pair::default() };
        if let Some(name) = &fields.id {
            pair.id = optional(record, name)?;
        }
        pair.language = Some(optional(record, &fields.language)?.to_lowercase())
            .filter(|language| !language.is_empty())
            .unwrap_or_else(|| self.language.to_owned());
        pair.origin.group = optional(record, &fields.group)?;
        pair.origin.path = optional(record, &fields.path)?;
        pair.origin.license = optional(record, &fields.license)?;
        pair.origin.dataset = optional(record, &fields.dataset)?;
        if let Some(lines) = lookup(&record.fields, "origin.lines") {
            pair.origin.lines = serde_json::from_value(lines.clone()).unwrap_or_default();
        }
        pair.task = match self.task {
            Some(task) => task,
            None => {
                record.fields.get("task").and_then(|task| serde_json::from_value(task.clone()).ok()).unwrap_or_default()
            }
        };
        if fields.positive.is_some() {
            pair.negatives = negatives(record, &fields.negatives)?.into_iter().map(Arc::from).collect();
            pair.scores = scores(record, &fields.scores, pair.negatives.len())?;
        }
        Ok(Mapped::To(Box::new(pair)))
    }

    fn null(&self, record: &Record<'_>, name: &str) -> Result<Mapped<Pair>> {
        match self.nulls {
            Nulls::Drop => Ok(Mapped::LeftOut(format!("null `{name}`"))),
            Nulls::Refuse => Err(Error::record(
                place_of(record, name),
                "null",
                format!("field `{name}` is null, expected a string or an array of strings"),
            )
            .with_hint("`nulls: drop` leaves such records out")),
        }
    }
}
