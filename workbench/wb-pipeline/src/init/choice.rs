//! The choice of the recipe that fits the time, and of how long it trains.

use anyhow::Result;
use wb_core::quantities::about_duration;

use super::recipe::Recipe;

/// The share of the time that is spent: reckoned from a probe, a time may be off by a quarter.
const SPENT: f64 = 0.8;
/// Epochs where pairs are many.
const EPOCHS: f64 = 3.0;
/// Steps that pairs are trained on for where they are few: as many epochs as make so many.
const STEPS: f64 = 200.0;

/// Seconds that one epoch of a recipe takes on this machine.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reckoned {
    /// Reading and cleaning.
    pub data: f64,
    /// One epoch of training.
    pub epoch: f64,
    /// Measuring.
    pub bench: f64,
    /// Steps of an epoch.
    pub steps: f64,
    /// The machine's speed, in a sentence.
    pub speed: String,
}

/// A recipe with its length.
#[derive(Debug, Clone, PartialEq)]
pub struct RecipeChoice {
    /// The recipe.
    pub recipe: Recipe,
    /// Passes over the pairs.
    pub epochs: u64,
    /// Steps after which training ends; 0 where the epochs say so.
    pub max_steps: u64,
    /// Seconds that an epoch of it takes.
    pub reckoned: Reckoned,
}

impl RecipeChoice {
    /// One pass, to be reckoned.
    pub fn one_epoch(recipe: Recipe) -> Self {
        Self { recipe, epochs: 1, max_steps: 0, reckoned: Reckoned::default() }
    }

    /// Seconds of training.
    pub fn training(&self) -> f64 {
        let Reckoned { epoch, steps, .. } = self.reckoned;
        if self.max_steps == 0 { epoch * self.epochs as f64 } else { epoch * self.max_steps as f64 / steps.max(1.0) }
    }

    /// Seconds in all.
    pub fn seconds(&self) -> f64 {
        self.reckoned.data + self.training() + self.reckoned.bench
    }

    /// Time in all, for people.
    pub fn time(&self) -> String {
        format!("{} here", about_duration(self.seconds()))
    }
}

/// The first recipe that fits, for as many epochs as there is time for; an epoch that is too long is cut to the steps that
/// fit. Where nothing fits, one epoch of the last recipe, whose head then says what it takes.
pub fn choose(
    minutes: u32,
    recipes: Vec<Recipe>,
    reckon: &mut dyn FnMut(Recipe) -> Result<Reckoned>,
) -> Result<RecipeChoice> {
    let mut last = RecipeChoice::one_epoch(Recipe::Bag);
    for recipe in recipes {
        last = RecipeChoice { reckoned: reckon(recipe.clone())?, ..RecipeChoice::one_epoch(recipe) };
        if let Some((epochs, max_steps)) = fitting(&last.recipe, &last.reckoned, f64::from(minutes) * 60.0) {
            return Ok(RecipeChoice { epochs, max_steps, ..last });
        }
    }
    Ok(last)
}

/// Epochs and steps that fit into so many seconds.
fn fitting(recipe: &Recipe, reckoned: &Reckoned, seconds: f64) -> Option<(u64, u64)> {
    let room = SPENT * seconds - reckoned.data - reckoned.bench;
    let epochs = (room / reckoned.epoch.max(1e-9)).floor();
    if epochs >= 1.0 {
        let wanted = (STEPS / reckoned.steps.max(1.0)).ceil().clamp(EPOCHS, recipe.most_epochs());
        return Some((epochs.min(wanted) as u64, 0));
    }
    let steps = one_digit(reckoned.steps * room / reckoned.epoch.max(1e-9));
    (steps >= recipe.least_steps()).then_some((1, steps as u64))
}

/// A number cut to its first digit, so that small differences of speed do not show in the file.
fn one_digit(number: f64) -> f64 {
    if number < 1.0 {
        return 0.0;
    }
    let unit = 10f64.powf(number.log10().floor());
    (number / unit).floor() * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine on which LoRA's epoch takes so long and a bag's a hundredth of that; data and bench 60 s together.
    fn chosen(minutes: u32, epoch: f64) -> (Recipe, u64, u64) {
        let mut reckon = |recipe: Recipe| {
            let epoch = if recipe == Recipe::Bag { epoch / 100.0 } else { epoch };
            Ok(Reckoned { data: 20.0, bench: 40.0, epoch, steps: 1000.0, speed: String::new() })
        };
        let choice = choose(minutes, vec![Recipe::Lora, Recipe::Bag], &mut reckon).unwrap();
        (choice.recipe, choice.epochs, choice.max_steps)
    }

    /// 10 minutes: 480 s are spent, 420 of them on training.
    #[test]
    fn epochs_fill_the_time() {
        assert_eq!(chosen(10, 420.0), (Recipe::Lora, 1, 0));
        assert_eq!(chosen(10, 200.0), (Recipe::Lora, 2, 0));
        // No more than three.
        assert_eq!(chosen(10, 1.0), (Recipe::Lora, 3, 0));
    }

    #[test]
    fn few_steps_are_made_more_by_epochs() {
        let epochs = |recipe: &Recipe, steps| {
            let reckoned = Reckoned { epoch: 1e-3, steps, ..Reckoned::default() };
            fitting(recipe, &reckoned, 600.0).unwrap().0
        };
        assert_eq!([1000.0, 50.0, 30.0, 5.0].map(|steps| epochs(&Recipe::Bag, steps)), [3, 4, 7, 20]);
        assert_eq!([50.0, 5.0].map(|steps| epochs(&Recipe::Lora, steps)), [4, 5]);
    }

    #[test]
    fn a_long_epoch_is_cut_and_a_hopeless_one_passed_over() {
        // 420 of 1,000 seconds: 420 of 1,000 steps, of which the first digit counts.
        assert_eq!(chosen(10, 1000.0), (Recipe::Lora, 1, 400));
        // 42 steps are fewer than 50; the bag has 420 of 100 seconds.
        assert_eq!(chosen(10, 10_000.0), (Recipe::Bag, 3, 0));
        // Not even the bag: 420 of 1,000 seconds.
        assert_eq!(chosen(10, 100_000.0), (Recipe::Bag, 1, 400));
    }

    #[test]
    fn where_nothing_fits_the_last_recipe_is_taken_for_an_epoch() {
        // A minute is less than data and bench take.
        assert_eq!(chosen(1, 420.0), (Recipe::Bag, 1, 0));
    }

    #[test]
    fn seconds_are_those_of_what_was_chosen() {
        let reckoned = Reckoned { data: 20.0, bench: 40.0, epoch: 100.0, steps: 50.0, speed: String::new() };
        let choice = RecipeChoice { recipe: Recipe::Bag, epochs: 3, max_steps: 0, reckoned };
        assert_eq!((choice.training(), choice.seconds()), (300.0, 360.0));
        let cut = RecipeChoice { epochs: 1, max_steps: 20, ..choice };
        assert_eq!((cut.training(), cut.seconds()), (40.0, 100.0));
        assert_eq!(cut.time(), "about 1.7 minutes here");
    }

    #[test]
    fn a_cut_has_one_digit() {
        for (number, expected) in [(0.5, 0.0), (7.9, 7.0), (42.0, 40.0), (999.0, 900.0), (1000.0, 1000.0)] {
            assert_eq!(one_digit(number), expected);
        }
    }
}
