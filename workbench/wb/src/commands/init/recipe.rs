//! The recipes that `wb init` chooses from, and what each of them is good for.

use std::path::PathBuf;

use wb_encoder::DeviceConfig;

use super::{choice::Choice, material::Material};
use crate::{
    config::PretrainedConfig,
    output,
    pipeline::{cost, encoder},
};

/// Where other recipes expect all-MiniLM-L6-v2.
const FOLDER: &str = "~/.cache/wb/models/all-MiniLM-L6-v2";
/// Its name on the hub, with a commit.
const ID: &str = "sentence-transformers/all-MiniLM-L6-v2";
const REVISION: &str = "c9745ed1d9f207416be6d2e6f8de32d1f16199bf";

/// A small transformer from scratch is no better than a bag with fewer pairs (reports/LOG.md, 2026-11-22).
const TRANSFORMER_PAIRS: f64 = 100_000.0;
/// In less time than this none but the bag is worth a try.
const LEAST_MINUTES: u32 = 5;

/// A kind of encoder with the way to train it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recipe {
    /// all-MiniLM-L6-v2 with adapters, at this place.
    Lora(Place),
    /// Two layers from scratch.
    Transformer,
    /// A bag of token vectors from scratch.
    Bag,
}

/// Where a pretrained model is: a folder, or an id of the hub with its commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The folder or the id.
    pub id: String,
    /// Empty for a folder.
    pub revision: String,
}

/// What a file is written for.
#[derive(Debug, Clone)]
pub struct Draft {
    /// The experiment's name.
    pub name: String,
    /// Where it will stand.
    pub file: PathBuf,
    /// Where to compute.
    pub device: DeviceConfig,
    /// How long a run may take.
    pub minutes: u32,
    /// The code or pairs.
    pub material: Material,
}

impl Draft {
    /// The recipes that may fit, the best first; the bag is always the last. `pretrained` looks for all-MiniLM-L6-v2.
    pub fn candidates(&self, pretrained: impl FnOnce() -> Option<Place>) -> Vec<Recipe> {
        let mut recipes = Vec::new();
        if self.minutes >= LEAST_MINUTES {
            match pretrained() {
                Some(place) => recipes.push(Recipe::Lora(place)),
                None => output::note(format!(
                    "{ID} is neither in {FOLDER} nor to be had from the hub; a model from scratch is taken"
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
            Recipe::Lora(_) => 64,
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
    pub fn summary(&self, choice: &Choice) -> String {
        format!("{} on {}", choice.recipe.name(), self.material.what)
    }

    /// The data in a few words, with its size.
    pub fn data(&self) -> String {
        let Material { what, pairs, counted, .. } = &self.material;
        let pairs = if *counted { format!("{pairs:.0}") } else { format!("about {}", cost::rough(*pairs)) };
        format!("{what}: {pairs} pairs before any gate")
    }
}

impl Recipe {
    /// In words.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Lora(_) => "all-MiniLM-L6-v2 with LoRA",
            Self::Transformer => "a small transformer from scratch",
            Self::Bag => "a bag of token vectors from scratch",
        }
    }

    /// More epochs than these only learn the pairs by heart, also where few pairs make few steps.
    pub fn most_epochs(&self) -> f64 {
        match self {
            Self::Lora(_) => 5.0,
            Self::Transformer | Self::Bag => 20.0,
        }
    }

    /// Fewer steps than these teach nothing; what cannot take them is not chosen.
    pub fn least_steps(&self) -> f64 {
        match self {
            Self::Lora(_) => 50.0,
            Self::Transformer => 300.0,
            Self::Bag => 1.0,
        }
    }
}

/// all-MiniLM-L6-v2 where it is at hand: in the folder of the other recipes, in the hub's cache, or downloaded into that.
pub fn minilm() -> Option<Place> {
    let places = [(FOLDER, ""), (ID, REVISION)];
    let place = |(id, revision): (&str, &str)| Place { id: id.to_owned(), revision: revision.to_owned() };
    places.into_iter().map(place).find(|Place { id, revision }| {
        let config = PretrainedConfig { id: id.clone(), revision: revision.clone(), adapter: None, lowercase: false };
        encoder::pretrained_folder(&config).is_ok()
    })
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
            material: Material {
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
        let lora = Recipe::Lora(Place { id: FOLDER.to_owned(), revision: String::new() });
        assert_eq!(draft(1e6, 1).batch(&lora), 64);
        assert_eq!(draft(1e6, 1).batch(&Recipe::Transformer), 256);
    }

    #[test]
    fn a_few_minutes_leave_the_bag_alone() {
        let place = || Some(Place { id: FOLDER.to_owned(), revision: String::new() });
        let lora = || Recipe::Lora(place().unwrap());
        assert_eq!(draft(1e6, 4).candidates(place), [Recipe::Bag]);
        assert_eq!(draft(1e6, 60).candidates(place), [lora(), Recipe::Transformer, Recipe::Bag]);
        assert_eq!(draft(1e4, 60).candidates(place), [lora(), Recipe::Bag]);
        assert_eq!(draft(1e4, 60).candidates(|| None), [Recipe::Bag]);
    }
}
