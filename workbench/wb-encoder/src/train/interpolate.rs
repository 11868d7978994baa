//! Weights between those before training and those after, which keep more of what the encoder knew.

use std::collections::HashMap;

use wb_core::{Error, Result};

use crate::{
    lora::{is_adapter, layer_of_magnitude},
    parameters::Parameters,
};

/// The weights before training, of which a share is to come back.
///
/// WiSE-FT (Wortsman et al. 2022, "Robust fine-tuning of zero-shot models", arXiv 2109.01903): w = w₀ + share·(w₁ − w₀).
/// A layer with an adapter that began at zero has w₁ − w₀ = s·B·A, so its B alone is scaled, which up to rounding is
/// the same as interpolating the merged weights.
#[derive(Debug)]
pub struct Before {
    share: f32,
    values: HashMap<String, Vec<f32>>,
}

impl Before {
    /// Remembers the weights that train; nothing where all of the training is to be kept.
    ///
    /// Refuses adapters that were trained before: between two of them lies no adapter of their rank.
    pub fn of(share: f64, parameters: &Parameters) -> Result<Option<Self>> {
        if share >= 1.0 {
            return Ok(None);
        }
        let trains = || parameters.iter().filter(|parameter| parameter.trainable);
        if let Some(magnitude) = trains().find(|p| layer_of_magnitude(&p.name).is_some()) {
            return Err(refused_with_dora(share, &magnitude.name));
        }
        let begun = trains()
            .find(|p| p.name.ends_with(".lora_B.weight") && p.values.floats().iter().any(|value| *value != 0.0));
        if let Some(begun) = begun {
            let message = format!(
                "the adapter `{}` was trained before, and between two adapters lies none of their rank",
                begun.name
            );
            return Err(Error::value("train.interpolate", message).with_hint(
                "train.interpolate=1; or merge the adapters first, which `wb export` does, and train on what it writes",
            ));
        }
        let values = trains()
            .filter(|p| !is_adapter(&p.name))
            .map(|p| (p.name.clone(), p.values.floats().into_owned()))
            .collect();
        Ok(Some(Self { share: share as f32, values }))
    }

    /// Takes the weights back by so much. Weights that were not there before, heads of objectives, stay.
    pub fn apply(&self, parameters: &mut Parameters) {
        for parameter in parameters.iter_mut().filter(|parameter| parameter.trainable) {
            if parameter.name.ends_with(".lora_B.weight") {
                parameter.values.floats_mut().iter_mut().for_each(|b| *b *= self.share);
            } else if let Some(before) = self.values.get(&parameter.name) {
                let pairs = parameter.values.floats_mut().iter_mut().zip(before);
                pairs.for_each(|(after, before)| *after = before + self.share * (*after - before));
            }
        }
    }
}

/// An error: rows whose lengths were learned are not between those of before and after where B is scaled. `by` is what
/// scales them.
pub fn refused_with_dora(share: f64, by: &str) -> Error {
    let message =
        format!("got {share}, expected 1 with DoRA: the rows that `{by}` scales are not interpolated by scaling B");
    Error::value("train.interpolate", message)
        .with_hint("train.interpolate=1, or use_dora: false; use_rslora: true is interpolated as others are")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::Parameter;

    fn parameters(values: [f32; 4]) -> Parameters {
        let mut parameters = Parameters::default();
        let names = [("w", true), ("frozen", false), ("q.lora_A.weight", true), ("q.lora_B.weight", true)];
        for ((name, trainable), value) in names.into_iter().zip(values) {
            let (name, shape) = (name.to_owned(), vec![2]);
            parameters.insert(Parameter { name, shape, values: vec![value, -value].into(), trainable });
        }
        parameters
    }

    #[test]
    fn half_way_by_hand() {
        let before = Before::of(0.5, &parameters([1.0, 2.0, 3.0, 0.0])).unwrap().unwrap();
        let mut after = parameters([4.0, 2.0, 5.0, 6.0]);
        before.apply(&mut after);
        assert_eq!(after, parameters([2.5, 2.0, 5.0, 3.0]));
    }

    #[test]
    fn all_of_it_remembers_nothing_and_none_of_it_is_the_beginning() {
        assert!(Before::of(1.0, &parameters([1.0; 4])).unwrap().is_none());
        let begin = parameters([1.0, 2.0, 3.0, 0.0]);
        let before = Before::of(0.0, &begin).unwrap().unwrap();
        let mut after = parameters([4.0, 2.0, 3.0, 6.0]);
        before.apply(&mut after);
        assert_eq!(after.get("w"), begin.get("w"));
        assert!(after.get("q.lora_B.weight").unwrap().values.floats().iter().all(|b| *b == 0.0));
    }

    #[test]
    fn adapters_that_were_trained_before_are_refused() {
        let error = Before::of(0.5, &parameters([1.0; 4])).unwrap_err().to_string();
        assert!(error.contains("train.interpolate") && error.contains("q.lora_B.weight"), "{error}");
        let mut dora = parameters([1.0, 2.0, 3.0, 0.0]);
        let name = "q.lora_magnitude_vector".to_owned();
        dora.insert(Parameter { name, shape: vec![1], values: vec![1.0].into(), trainable: true });
        let error = Before::of(0.5, &dora).unwrap_err().to_string();
        assert!(error.contains("train.interpolate: got 0.5, expected 1 with DoRA"), "{error}");
        assert!(Before::of(1.0, &dora).unwrap().is_none());
    }
}
