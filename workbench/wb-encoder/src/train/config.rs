//! The `train:` section: what is lowered, in which batches, for how long, and what is kept.

use std::fmt::Display;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::Result;

use super::{
    curriculum::{self, StageConfig},
    micro_tokens::MicroTokens,
    mix::MixConfig,
    objectives::ObjectivesConfig,
    optimizer::OptimizerConfig,
    refresh::RefreshConfig,
    sampler::SamplerConfig,
    schedule::ScheduleConfig,
    views::PromptsConfig,
};
use crate::{error::expect_value, losses::LossConfig, precision::Precision, similarities::SimilarityConfig};

/// Training of an encoder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TrainConfig {
    /// Similarity by which embeddings are compared in training: `cosine` or `dot`; with `encoder.late_interaction`,
    /// `maxsim` or `xtr`. Benchmarks always use the cosine, or MaxSim.
    pub similarity: SimilarityConfig,
    /// Loss that training lowers.
    pub loss: LossConfig,
    /// Batches: their size, and the pairs that share one.
    pub batch: BatchConfig,
    /// Share of each data set in an epoch.
    pub mix: MixConfig,
    /// Put before texts in training and validation, by column and by data set; without it, the encoder's own prompts.
    pub prompts: PromptsConfig,
    /// Stages with their own data sets, negatives, temperature, learning rate and lengths; empty for none.
    pub curriculum: Vec<StageConfig>,
    /// The most hard negatives of each pair, those that it lists first; a pair with fewer brings fewer. Each one that
    /// is there makes a batch longer by one document per pair.
    pub negatives: usize,
    /// Mines hard negatives again with the weights of the moment; without it, never.
    pub refresh: Option<RefreshConfig>,
    /// Rule by which weights change.
    pub optimizer: OptimizerConfig,
    /// Course of the learning rate.
    pub schedule: ScheduleConfig,
    /// Passes over all training pairs.
    pub epochs: u64,
    /// Ends after so many steps, and plans the schedule for that; `0` for no limit.
    pub max_steps: u64,
    /// Gradients whose Euclidean norm is above this are scaled down to it; `0` for off.
    pub clip_norm: f64,
    /// Keeps only the inputs of layers between the two passes and computes the rest again: a tenth of the memory of a
    /// batch's activations or less, the same gradients (on the processor bit for bit), and a third to a half more time. For
    /// transformers.
    pub gradient_checkpointing: bool,
    /// Numbers in which a device multiplies matrices: `fp32`; `bf16`, where it has them (CUDA since Ampere), faster and in
    /// less memory; `f16`, with the loss scaled and steps that overflow left out. Validation while training is in them too,
    /// what comes after in 32 bits. For transformers; the processor trains in `fp32`.
    pub precision: Precision,
    /// Further objectives that training lowers, on the tokens of code.
    pub objectives: ObjectivesConfig,
    /// Turns dropout on while training: the model's and the adapters'.
    pub dropout: bool,
    /// Each different token is left out of a text with this probability, all its occurrences together and anew in every
    /// batch, so that single texts are not learned by heart; `0` for off, below 1.
    pub token_dropout: f64,
    /// Decay of a moving average that follows the weights, as in `0.999`, the greater the slower; what is validated,
    /// kept and exported is then the average. Below 1; `0` for off. In the first steps t it follows faster, by (1 +
    /// t)/(10 + t), so that short runs are not held back by the untrained weights. Costs one more copy of the trained
    /// weights, and two exchanges of them per validation.
    pub ema: f64,
    /// Validation while training: how often, and on how much.
    pub validate: ValidateConfig,
    /// Weights that are left at the end: `best` by validation MRR, or `last`.
    pub keep: Keep,
    /// Share of the training that is left at the end: the weights that `keep` chose are taken back to this share of
    /// their way from those before training ([WiSE-FT](https://arxiv.org/abs/2109.01903)); of adapters, B is scaled.
    /// Less keeps more of what a pretrained encoder knew and gives up some of what it learned: half keeps most of both
    /// in `reports/LOG.md`. Validation figures are those of the weights before. `1` for off.
    pub interpolate: f64,
}

impl Default for TrainConfig {
    fn default() -> Self {
        Self {
            similarity: SimilarityConfig::default(),
            loss: LossConfig::default(),
            batch: BatchConfig::default(),
            mix: MixConfig::default(),
            prompts: PromptsConfig::default(),
            curriculum: Vec::new(),
            negatives: 15,
            refresh: None,
            optimizer: OptimizerConfig::default(),
            schedule: ScheduleConfig::default(),
            epochs: 1,
            max_steps: 0,
            clip_norm: 1.0,
            gradient_checkpointing: false,
            precision: Precision::default(),
            objectives: ObjectivesConfig::default(),
            dropout: true,
            token_dropout: 0.0,
            ema: 0.0,
            validate: ValidateConfig::default(),
            keep: Keep::default(),
            interpolate: 1.0,
        }
    }
}

/// Batches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BatchConfig {
    /// Pairs in a batch. Each anchor is told apart from all documents of the batch, so more is harder and usually
    /// better; memory grows with it unless `micro_tokens` or `micro_texts` is set.
    pub pairs: usize,
    /// Batches whose gradients are averaged into one step. Each keeps its own negatives: 8 batches of 8 are not one
    /// batch of 64. For that, set `micro_tokens` or `micro_texts`.
    pub accumulate: usize,
    /// `no_duplicates`: no text stands twice among the anchors and positives of a batch. `shuffle`: any order. All
    /// batches are planned before the first step, and counted exactly.
    pub sampler: SamplerConfig,
    /// Data sets of one batch, where there are several: `one_dataset` fills each batch from one of them, as
    /// sentence-transformers does, so that negatives cannot be told apart by where they come from; `all_datasets` mixes
    /// them within batches.
    pub from: BatchFrom,
    /// Leaves out the last batch of an epoch where it is not full.
    pub drop_last: bool,
    /// Gradient caching: a batch is embedded in parts of at most so many tokens, once for the loss and once more for
    /// the gradients. About a third more time, and memory no longer grows with `pairs`. `0` for no limit; `auto` halves
    /// the parts whenever a device's memory runs out, and does the step again: gradients are the same but for rounding.
    pub micro_tokens: MicroTokens,
    /// Gradient caching in parts of at most so many texts, anchors and documents counted alike; together with
    /// `micro_tokens`, a part ends where the first of the two says. `0` for no limit; with neither, a batch is embedded
    /// at once. Parts change neither the loss nor the gradients, dropout included.
    pub micro_texts: usize,
}

impl Default for BatchConfig {
    fn default() -> Self {
        Self {
            pairs: 64,
            accumulate: 1,
            sampler: SamplerConfig::default(),
            from: BatchFrom::default(),
            drop_last: true,
            micro_tokens: MicroTokens::Most(0),
            micro_texts: 0,
        }
    }
}

/// Data sets that the pairs of a batch come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BatchFrom {
    /// Each batch from one, as in sentence-transformers: negatives are then of the same kind as the positive,
    /// and cannot be told apart by where they come from.
    #[default]
    OneDataset,
    /// From all of the stage together.
    AllDatasets,
}

/// Validation while training; also before the first step and after the last. A checkpoint is written at each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ValidateConfig {
    /// Distance between validations: `{ share: 0.1 }` of all steps, or `{ steps: 100 }`.
    pub every: Every,
    /// The most validation pairs, drawn once by the seed; each anchor ranks the positives of all of them.
    pub pairs: usize,
}

impl Default for ValidateConfig {
    fn default() -> Self {
        Self { every: Every::default(), pairs: 1000 }
    }
}

/// A distance between validations, or between other things that come again.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Every {
    /// A share of all steps, above 0 and at most 1.
    Share(f64),
    /// A number of steps.
    Steps(u64),
}

impl Default for Every {
    fn default() -> Self {
        Self::Share(0.1)
    }
}

impl Every {
    /// Refuses values that make no sense.
    pub fn validate(self, key: &str) -> Result<()> {
        match self {
            Self::Share(share) => {
                let (fine, expected) = (share > 0.0 && share <= 1.0, "a share of all steps above 0 and at most 1");
                expect_value(format!("{key}.share"), share, fine, expected)
                    .map_err(|error| error.with_hint("for a number of steps: every: {steps: 100}"))
            }
            Self::Steps(steps) => expect_value(format!("{key}.steps"), steps, steps > 0, "at least 1"),
        }
    }

    /// The distance in steps, at least 1.
    pub fn steps(self, total: u64) -> u64 {
        match self {
            Self::Share(share) => ((share * total as f64).round() as u64).max(1),
            Self::Steps(steps) => steps.max(1),
        }
    }
}

/// Weights that are left at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Keep {
    /// The weights with the highest validation MRR, the earliest of equals.
    #[default]
    Best,
    /// The weights after the last step.
    Last,
}

impl TrainConfig {
    /// The config by which a training is told from others when it is gone on with: one word for what gives the same bytes until
    /// memory runs out, so that who was told to write `micro_tokens: auto` then can go on.
    #[must_use]
    pub fn as_begun(&self) -> Self {
        let mut begun = self.clone();
        begun.batch.micro_tokens = MicroTokens::Most(self.batch.micro_tokens.at_first());
        begun
    }

    /// Refuses names of data sets that are not among the known ones, and known ones that have no weight where they need one.
    pub fn check_datasets(&self, known: &[String]) -> Result<()> {
        self.mix.check_names(known)?;
        self.check_present(known)
    }

    /// [`TrainConfig::check_datasets`] for the data sets that have pairs: others may have a weight too, since an optional
    /// source may have given none.
    pub fn check_present(&self, known: &[String]) -> Result<()> {
        self.prompts.check_names(known)?;
        for stage in curriculum::stages(self, known)? {
            for set in stage.datasets {
                self.mix.weight(&known[set], 1)?;
            }
        }
        Ok(())
    }

    /// Refuses values that make no sense.
    pub fn validate(&self, key: &str) -> Result<()> {
        let expect = |field: &str, value: &dyn Display, fine: bool, expected: &str| {
            expect_value(format!("{key}.{field}"), value, fine, expected)
        };
        let at_least_one = |field: &str, value: usize| expect(field, &value, value > 0, "at least 1");
        let below_one =
            |field: &str, value: f64| expect(field, &value, (0.0..1.0).contains(&value), "at least 0 and less than 1");
        self.similarity.validate(&format!("{key}.similarity"))?;
        self.loss.validate(&format!("{key}.loss"))?;
        self.loss.check_similarity(&format!("{key}.loss"), self.similarity)?;
        at_least_one("batch.pairs", self.batch.pairs)?;
        let others = self.batch.pairs > 1 || curriculum::fewest_negatives(self) > 0 || self.loss.needs().texts;
        let expected = "at least 2: the other pairs of a batch are the negatives";
        expect("batch.pairs", &self.batch.pairs, others, expected)?;
        at_least_one("batch.accumulate", self.batch.accumulate)?;
        below_one("token_dropout", self.token_dropout)?;
        let hint = "0.5 is half of the way from before training to after it; 1 keeps all of the training";
        expect("interpolate", &self.interpolate, (0.0..=1.0).contains(&self.interpolate), "0 to 1")
            .map_err(|error| error.with_hint(hint))?;
        below_one("ema", self.ema).map_err(|error| error.with_hint("0.99 to 0.9999, or 0 for off"))?;
        self.mix.validate(&format!("{key}.mix"))?;
        curriculum::validate(self, &format!("{key}.curriculum"))?;
        self.objectives.validate(&format!("{key}.objectives"))?;
        self.optimizer.validate(&format!("{key}.optimizer"))?;
        self.schedule.validate(&format!("{key}.schedule"))?;
        expect("epochs", &self.epochs, self.epochs > 0, "at least 1")?;
        let clips = self.clip_norm.is_finite() && self.clip_norm >= 0.0;
        expect("clip_norm", &self.clip_norm, clips, "a number above 0, or 0 for no clipping")?;
        at_least_one("validate.pairs", self.validate.pairs)?;
        if let Some(refresh) = &self.refresh {
            refresh.validate(&format!("{key}.refresh"))?;
        }
        self.validate.every.validate(&format!("{key}.validate.every"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_values_are_named_by_their_key() {
        let check = |change: fn(&mut TrainConfig), expected: &str| {
            let mut config = TrainConfig::default();
            change(&mut config);
            let error = config.validate("train").unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        };
        TrainConfig::default().validate("train").unwrap();
        check(|c| c.batch.pairs = 0, "train.batch.pairs: got 0");
        check(|c| (c.batch.pairs, c.negatives) = (1, 0), "train.batch.pairs: got 1");
        let alone = r#"{"distill_embeddings": {"teacher": {"id": "x"}}}"#;
        let alone = TrainConfig { loss: serde_json::from_str(alone).unwrap(), negatives: 0, ..TrainConfig::default() };
        TrainConfig { batch: BatchConfig { pairs: 1, ..BatchConfig::default() }, ..alone }.validate("train").unwrap();
        check(|c| c.batch.accumulate = 0, "train.batch.accumulate: got 0");
        check(|c| c.interpolate = 1.5, "train.interpolate: got 1.5");
        check(|c| c.ema = 1.0, "train.ema: got 1");
        check(|c| c.epochs = 0, "train.epochs: got 0");
        check(|c| c.clip_norm = -1.0, "train.clip_norm: got -1");
        check(|c| c.clip_norm = f64::NAN, "train.clip_norm: got NaN");
        check(|c| c.validate.pairs = 0, "train.validate.pairs: got 0");
        check(|c| c.validate.every = Every::Share(1.5), "train.validate.every.share: got 1.5");
        check(|c| c.validate.every = Every::Steps(0), "train.validate.every.steps: got 0");
        let loss = LossConfig::Mnrl(crate::losses::MnrlConfig { scale: Some(0.0), ..Default::default() });
        let error = loss.validate("train.loss").unwrap_err();
        assert_eq!(error.to_string(), "train.loss.mnrl.scale: got 0, expected a number above 0");
    }

    #[test]
    fn a_config_survives_json_and_refuses_unknown_keys() {
        let config = TrainConfig::default();
        let json = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<TrainConfig>(&json).unwrap(), config);
        let typed: TrainConfig =
            serde_json::from_str(r#"{"schedule": {"linear": {"warmup": 0.2}}, "validate": {"every": {"steps": 5}}}"#)
                .unwrap();
        assert_eq!(typed.validate.every, Every::Steps(5));
        assert!(
            serde_json::from_str::<TrainConfig>(r#"{"epoch": 1}"#)
                .unwrap_err()
                .to_string()
                .contains("unknown field `epoch`")
        );
    }
}
