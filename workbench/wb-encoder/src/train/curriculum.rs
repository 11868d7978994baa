//! The curriculum: stages of a training, one after the other, each with its own data sets, negatives, temperature,
//! learning rate and lengths.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::{Error, Result};

use super::{config::TrainConfig, mix::check_name};
use crate::{error::expect_value, folder::MaxTokens, losses::LossConfig};

/// One stage. What is left out is as in the rest of `train:`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("required" = ["name"]))]
pub struct StageConfig {
    /// Name of the stage in the journal, the report and errors.
    pub name: String,
    /// End of the stage, counted from the beginning of training: `{ share: 0.5 }` of all steps, `{ epochs: 1 }`, or `{
    /// steps: 500 }`; without it, the end of training. Only the last stage may be without.
    pub until: Option<Until>,
    /// The data sets that its batches come from; empty for all.
    pub datasets: Vec<String>,
    /// The most hard negatives of each pair; without it, `train.negatives`.
    pub negatives: Option<usize>,
    /// Divisor of scores before the softmax, in the stage; the loss's `scale` is 1 / temperature. Without it, the
    /// loss's own.
    pub temperature: Option<f64>,
    /// Factor of scores before the softmax, in place of `temperature`. Without it, the loss's own.
    pub scale: Option<f64>,
    /// Factor of the scheduled learning rate.
    pub learning_rate_factor: f64,
    /// Longer texts are cut in this stage, special tokens included: `{ query: N, document: N }`, not more than the
    /// encoder's own, which holds without it.
    pub max_tokens: Option<MaxTokens>,
}

impl Default for StageConfig {
    fn default() -> Self {
        Self {
            name: String::new(),
            until: None,
            datasets: Vec::new(),
            negatives: None,
            temperature: None,
            scale: None,
            learning_rate_factor: 1.0,
            max_tokens: None,
        }
    }
}

/// The end of a stage, counted from the beginning of training.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Until {
    /// A share of all steps, above 0 and at most 1. All steps are `max_steps`, or fewer where `epochs` passes over
    /// all data sets have fewer.
    Share(f64),
    /// Passes over the data sets of the stages at hand, with a fraction.
    Epochs(f64),
    /// Steps.
    Steps(u64),
}

/// A stage with everything filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainStage {
    /// Its name; empty where there is no curriculum.
    pub name: String,
    /// End of the stage; none for the end of training.
    pub until: Option<Until>,
    /// Its data sets, as positions in the table's list, ascending.
    pub datasets: Vec<usize>,
    /// Most hard negatives of each pair.
    pub negatives: usize,
    /// Loss that is lowered.
    pub loss: LossConfig,
    /// Factor of the scheduled learning rate.
    pub rate_factor: f64,
    /// Limits of its own.
    pub max_tokens: Option<MaxTokens>,
}

/// The stages of a training on data sets of these names; one for everything where there is no curriculum.
pub fn stages(config: &TrainConfig, datasets: &[String]) -> Result<Vec<TrainStage>> {
    if config.curriculum.is_empty() {
        return Ok(vec![TrainStage {
            name: String::new(),
            until: None,
            datasets: (0..datasets.len()).collect(),
            negatives: config.negatives,
            loss: config.loss.suited(config.similarity),
            rate_factor: 1.0,
            max_tokens: None,
        }]);
    }
    let stages = config.curriculum.iter().enumerate();
    stages.map(|(at, stage)| stage.fill_in(&format!("train.curriculum[{at}]"), config, datasets)).collect()
}

/// The most hard negatives that any stage asks for.
pub fn most_negatives(config: &TrainConfig) -> usize {
    let of_stages = config.curriculum.iter().map(|stage| stage.negatives.unwrap_or(config.negatives));
    of_stages.max().unwrap_or(config.negatives)
}

/// The fewest hard negatives that any stage asks for.
pub fn fewest_negatives(config: &TrainConfig) -> usize {
    let of_stages = config.curriculum.iter().map(|stage| stage.negatives.unwrap_or(config.negatives));
    of_stages.min().unwrap_or(config.negatives)
}

impl StageConfig {
    /// Scores are multiplied by this, where the stage says so.
    pub fn own_scale(&self) -> Option<f64> {
        self.scale.or_else(|| self.temperature.map(|temperature| 1.0 / temperature))
    }

    fn fill_in(&self, key: &str, config: &TrainConfig, known: &[String]) -> Result<TrainStage> {
        for (at, name) in self.datasets.iter().enumerate() {
            check_name(&format!("{key}.datasets[{at}]"), name, known)?;
        }
        let is_used = |at: &usize| self.datasets.is_empty() || self.datasets.contains(&known[*at]);
        Ok(TrainStage {
            name: self.name.clone(),
            until: self.until,
            datasets: (0..known.len()).filter(is_used).collect(),
            negatives: self.negatives.unwrap_or(config.negatives),
            loss: self.loss(key, &config.loss)?.suited(config.similarity),
            rate_factor: self.learning_rate_factor,
            max_tokens: self.max_tokens,
        })
    }

    fn loss(&self, key: &str, loss: &LossConfig) -> Result<LossConfig> {
        let Some(scale) = self.own_scale() else { return Ok(loss.clone()) };
        loss.with_scale(scale).ok_or_else(|| {
            let field = if self.scale.is_some() { "scale" } else { "temperature" };
            Error::value(format!("{key}.{field}"), "the loss has no scale that could change")
                .with_hint("take it away, or choose another train.loss")
        })
    }

    fn validate(&self, key: &str, config: &TrainConfig) -> Result<()> {
        if self.name.trim().is_empty() {
            return Err(Error::value(format!("{key}.name"), "is empty, expected a name for journals and reports"));
        }
        let above_zero = |field: &str, value: f64| {
            expect_value(format!("{key}.{field}"), value, value.is_finite() && value > 0.0, "a number above 0")
        };
        self.temperature.map_or(Ok(()), |temperature| above_zero("temperature", temperature))?;
        self.scale.map_or(Ok(()), |scale| above_zero("scale", scale))?;
        if self.temperature.is_some() && self.scale.is_some() {
            let message = "stands beside `scale`, expected one of them: scale is 1 / temperature";
            return Err(Error::value(format!("{key}.temperature"), message));
        }
        self.loss(key, &config.loss)?.validate(&format!("{key}.loss"))?;
        above_zero("learning_rate_factor", self.learning_rate_factor)?;
        match self.until {
            Some(Until::Share(share)) => {
                let (fine, expected) = (share > 0.0 && share <= 1.0, "a share of all steps above 0 and at most 1");
                expect_value(format!("{key}.until.share"), share, fine, expected)
            }
            Some(Until::Epochs(epochs)) => above_zero("until.epochs", epochs),
            Some(Until::Steps(steps)) => expect_value(format!("{key}.until.steps"), steps, steps > 0, "at least 1"),
            None => Ok(()),
        }
    }
}

/// Refuses curricula that make no sense.
pub fn validate(config: &TrainConfig, key: &str) -> Result<()> {
    for (at, stage) in config.curriculum.iter().enumerate() {
        let key = format!("{key}[{at}]");
        stage.validate(&key, config)?;
        let before = &config.curriculum[..at];
        if before.iter().any(|other| other.name == stage.name) {
            return Err(Error::value(format!("{key}.name"), format!("`{}` stands there twice", stage.name)));
        }
        if stage.until.is_none() && at + 1 < config.curriculum.len() {
            return Err(Error::value(format!("{key}.until"), "is missing: only the last stage may go on to the end")
                .with_hint("until: { share: 0.5 }, until: { epochs: 1 }, or until: { steps: 1000 }"));
        }
        let Some((last, until)) = before.last().and_then(|last| last.until).zip(stage.until) else { continue };
        let later = match (last, until) {
            (Until::Share(a), Until::Share(b)) | (Until::Epochs(a), Until::Epochs(b)) => a < b,
            (Until::Steps(a), Until::Steps(b)) => a < b,
            // Known when the steps are planned.
            _ => true,
        };
        if !later {
            let message = "is not after the end of the stage before; ends are counted from the beginning of training";
            return Err(Error::value(format!("{key}.until"), message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(json: &str) -> TrainConfig {
        serde_json::from_str(&format!(r#"{{"curriculum": {json}}}"#)).unwrap()
    }

    #[test]
    fn what_is_left_out_is_as_in_the_rest() {
        let names = ["text".to_owned(), "code".to_owned()];
        let config = config(
            r#"[{"name": "easy", "until": {"epochs": 1}, "negatives": 3, "temperature": 0.1, "datasets": ["code"]},
                {"name": "hard", "scale": 14.0, "learning_rate_factor": 0.1}]"#,
        );
        validate(&config, "train.curriculum").unwrap();
        let [easy, hard] = &stages(&config, &names).unwrap()[..] else { panic!() };
        assert_eq!((easy.negatives, easy.loss.scale(), easy.rate_factor), (3, Some(10.0), 1.0));
        assert_eq!((hard.negatives, hard.loss.scale(), hard.rate_factor), (15, Some(14.0), 0.1));
        assert_eq!((easy.datasets.as_slice(), hard.datasets.as_slice()), (&[1][..], &[0, 1][..]));
        assert_eq!(most_negatives(&config), 15);
        let error = stages(&config, &names[..1]).unwrap_err();
        assert!(error.to_string().starts_with("train.curriculum[0].datasets[0]: there is no data set `code`"));
    }

    #[test]
    fn impossible_stages_are_refused() {
        let check = |json: &str, expected: &str| {
            let error = validate(&config(json), "train.curriculum").unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        };
        check(r#"[{}]"#, "train.curriculum[0].name: is empty");
        check(r#"[{"name": "a"}, {"name": "b"}]"#, "train.curriculum[0].until: is missing");
        let end = r#""until": {"steps": 9}"#;
        check(&format!(r#"[{{"name": "a", {end}}}, {{"name": "a"}}]"#), "train.curriculum[1].name: `a` stands");
        check(&format!(r#"[{{"name": "a", {end}}}, {{"name": "b", {end}}}]"#), "train.curriculum[1].until: is not");
        check(r#"[{"name": "a", "scale": 1, "temperature": 1}]"#, "train.curriculum[0].temperature: stands beside");
        check(r#"[{"name": "a", "temperature": 0}]"#, "train.curriculum[0].temperature: got 0");
        check(r#"[{"name": "a", "learning_rate_factor": 0}]"#, "train.curriculum[0].learning_rate_factor: got 0");
        check(r#"[{"name": "a", "until": {"share": 1.5}}]"#, "train.curriculum[0].until.share: got 1.5");
        check(r#"[{"name": "a", "until": {"epochs": 0}}]"#, "train.curriculum[0].until.epochs: got 0");
        check(r#"[{"name": "a", "until": {"steps": 0}}]"#, "train.curriculum[0].until.steps: got 0");
    }
}
