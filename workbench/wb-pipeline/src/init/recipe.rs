//! The recipes that `wb init` chooses from, and what each of them is good for.

use std::path::PathBuf;

use crate::encoder;
use anyhow::Result;
use wb_core::quantities;
use wb_encoder::DeviceConfig;

use super::{choice::RecipeChoice, material::InitMaterial};
use crate::output;

/// all-MiniLM-L6-v2 on the hub.
pub const MINILM: &str = "sentence-transformers/all-MiniLM-L6-v2";

/// A small transformer from scratch is no better than a bag with fewer pairs (reports/LOG.md, 2026-11-22).
const TRANSFORMER_PAIRS: f64 = 100_000.0;
/// Minutes below which none but the bag is worth a try.
const LEAST_MINUTES: u32 = 5;

/// A kind of encoder with the way to train it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recipe {
    /// all-MiniLM-L6-v2 with adapters.
    Lora,
    /// Two layers from scratch.
    Transformer,
    /// A bag of token vectors from scratch.
    Bag,
}

/// Answers that a file is written for.
#[derive(Debug, Clone)]
pub struct Draft {
    /// The experiment's name.
    pub name: String,
    /// Path of the file to be.
    pub file: PathBuf,
    /// The device.
    pub device: DeviceConfig,
    /// Minutes that a run may take.
    pub minutes: u32,
    /// The code or pairs.
    pub material: InitMaterial,
}

impl Draft {
    /// The recipes that may fit, the best first; the bag is always the last. `pretrained` looks for all-MiniLM-L6-v2,
    /// and tells why it cannot be had.
    pub fn candidates(&self, pretrained: impl FnOnce() -> Result<()>) -> Vec<Recipe> {
        let mut recipes = Vec::new();
        if self.minutes >= LEAST_MINUTES {
            match pretrained() {
                Ok(()) => recipes.push(Recipe::Lora),
                Err(error) => output::note(format!(
                    "a model from scratch is taken, as {MINILM} cannot be had: {}",
                    output::in_one_line(&error)
                )),
            }
            if self.material.pairs >= TRANSFORMER_PAIRS {
                recipes.push(Recipe::Transformer);
            }
        }
        recipes.push(Recipe::Bag);
        recipes
    }

    /// Pairs of a batch: as many as the recipe likes, and few enough for eight batches in an epoch.
    pub fn batch(&self, recipe: &Recipe) -> u32 {
        let most = match recipe {
            Recipe::Lora => 64,
            Recipe::Transformer => 256,
            Recipe::Bag => 1024,
        };
        let mut pairs = 8;
        while pairs < most && f64::from(2 * pairs * 8) <= self.material.pairs {
            pairs *= 2;
        }
        pairs
    }

    /// The recipe and its data in a few words.
    pub fn summary(&self, choice: &RecipeChoice) -> String {
        format!("{} on {}", choice.recipe.name(), self.material.what)
    }

    /// The data in a few words, with its size.
    pub fn data(&self) -> String {
        let InitMaterial { what, pairs, counted, .. } = &self.material;
        let pairs = if *counted { format!("{pairs:.0}") } else { format!("about {}", quantities::about(*pairs)) };
        format!("{what}: {pairs} pairs before any gate")
    }
}

impl Recipe {
    /// The recipe in words.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Lora => "all-MiniLM-L6-v2 with LoRA",
            Self::Transformer => "a small transformer from scratch",
            Self::Bag => "a bag of token vectors from scratch",
        }
    }

    /// More epochs than these only learn the pairs by heart, also where few pairs make few steps.
    pub fn most_epochs(&self) -> f64 {
        match self {
            Self::Lora => 5.0,
            Self::Transformer | Self::Bag => 20.0,
        }
    }

    /// Fewer steps than these teach nothing; what cannot take them is not chosen.
    pub fn least_steps(&self) -> f64 {
        match self {
            Self::Lora => 50.0,
            Self::Transformer => 300.0,
            Self::Bag => 1.0,
        }
    }
}

/// all-MiniLM-L6-v2 in the hub's cache, fetched into it where it is not there: the machine is measured with it.
pub fn minilm() -> Result<()> {
    encoder::locate(&MINILM.into()).map(|_| ())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn draft(pairs: f64, minutes: u32) -> Draft {
        Draft {
            name: "mine".to_owned(),
            file: PathBuf::from("mine.yaml"),
            device: DeviceConfig::Cpu,
            minutes,
            material: InitMaterial {
                pairs,
                counted: true,
                by_pair: true,
                name: "code".to_owned(),
                what: "the code in ../code".to_owned(),
                source: "code: { path: \"../code\" }".to_owned(),
            },
        }
    }

    #[test]
    fn batches_leave_several_to_an_epoch() {
        let rows = [(50.0, 8), (300.0, 32), (1000.0, 64), (5000.0, 512), (1e6, 1024)];
        for (pairs, expected) in rows {
            assert_eq!(draft(pairs, 1).batch(&Recipe::Bag), expected, "{pairs} pairs");
        }
        assert_eq!(draft(1e6, 1).batch(&Recipe::Lora), 64);
        assert_eq!(draft(1e6, 1).batch(&Recipe::Transformer), 256);
    }

    #[test]
    fn a_few_minutes_leave_the_bag_alone() {
        let there = || Ok(());
        assert_eq!(draft(1e6, 4).candidates(there), [Recipe::Bag]);
        assert_eq!(draft(1e6, 60).candidates(there), [Recipe::Lora, Recipe::Transformer, Recipe::Bag]);
        assert_eq!(draft(1e4, 60).candidates(there), [Recipe::Lora, Recipe::Bag]);
        assert_eq!(draft(1e4, 60).candidates(|| anyhow::bail!("no network")), [Recipe::Bag]);
    }
}
