//! A first YAML: code or pairs looked at, a recipe that fits this machine and the time, and the text with its cost.

mod answers;
mod choice;
mod material;
mod questions;
mod recipe;
mod typed;
mod yaml;

use std::path::Path;

use anyhow::{Context, Result};

use self::choice::{Reckoned, choose};
use crate::{
    config::Experiment,
    cost::{self, KnownData},
};

pub use self::{
    answers::{InitAnswers, InitFlags},
    choice::RecipeChoice,
    material::{DataChoice, InitMaterial, as_name},
    questions::ask,
    recipe::{Draft, Recipe},
    typed::DEFAULT_MINUTES,
    yaml::shell,
};

impl Draft {
    /// The text of the file with the recipe that fits, reckoned from a few seconds of measuring for each that may.
    ///
    /// # Errors
    ///
    /// If this machine cannot be measured, or the text is no experiment.
    pub fn chosen(&self) -> Result<(String, RecipeChoice)> {
        let recipes = self.candidates(recipe::minilm);
        let chosen = choose(self.minutes, recipes, &mut |recipe| reckon(self, recipe))?;
        let text = yaml::text(self, &chosen);
        checked(&text, &self.file)?;
        Ok((text, chosen))
    }
}

/// Measures what one epoch of a recipe takes on this machine.
fn reckon(draft: &Draft, recipe: Recipe) -> Result<Reckoned> {
    let one_epoch = yaml::text(draft, &RecipeChoice::one_epoch(recipe));
    let experiment = checked(&one_epoch, &draft.file)?;
    let known = KnownData { folder: Path::new(""), steps: None, pairs: Some(draft.material.pairs) };
    let cost = cost::reckon(&experiment, known, true)?;
    let (speed, stages) = (cost.speed()?, cost.stages());
    let seconds = |name: &str| -> f64 {
        stages.iter().filter(|stage| stage.name.starts_with(name)).filter_map(|stage| stage.seconds).sum()
    };
    Ok(Reckoned {
        data: seconds("data"),
        epoch: seconds("train"),
        bench: seconds("bench"),
        steps: cost.work().training.as_ref().map_or(1.0, cost::TrainingWork::steps),
        speed,
    })
}

/// The experiment that a text is; a text that is none is an error before anything is written.
fn checked(text: &str, file: &Path) -> Result<Experiment> {
    Experiment::of_text("wb init", text, file).with_context(|| format!("cannot put {} together", file.display()))
}
