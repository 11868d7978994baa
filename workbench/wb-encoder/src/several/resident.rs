//! Training by several devices of which the first has a memory of its own: the state of what trains lives there.
//!
//! Once a step the others' gradients are brought there and the weights are brought to the others, which have no moments. So
//! all have the same weights to the last bit, whatever each of them is.

use std::sync::PoisonError;

use super::{SeveralBackbones, follow};
use crate::{
    error::{Error, Result},
    parameters::Gradients,
    resident::{AdamwStep, Resident},
};

impl SeveralBackbones {
    fn first_resident(&mut self) -> Result<&mut dyn Resident> {
        let missing = || Error::data("device", "the first of several has no memory of its own, expected one");
        self.list[0].resident().ok_or_else(missing)
    }

    /// Brings the first's weights to host memory, where they live there, and to the others where they all do: else an update
    /// of those at home follows, which brings all.
    fn share_weights(&mut self) -> Result<()> {
        if self.lives.is_empty() {
            return Ok(());
        }
        self.first_resident()?.bring_weights()?;
        let Some((first, others)) = self.list.split_first_mut() else { return Ok(()) };
        let lives = &self.lives;
        if !first.parameters().iter().zip(lives).all(|(parameter, lives)| *lives || !parameter.trainable) {
            return Ok(());
        }
        follow(others, first.parameters(), &|at| !lives[at])
    }
}

impl Resident for SeveralBackbones {
    fn settle(
        &mut self,
        alike: &dyn Fn(usize, usize) -> bool,
        first: &[Vec<f32>],
        second: &[Vec<f32>],
        average: Option<&[Vec<f32>]>,
    ) -> Result<Vec<bool>> {
        self.lives = self.first_resident()?.settle(alike, first, second, average)?;
        Ok(self.lives.clone())
    }

    fn add_gradients(&mut self, gradients: &Gradients) -> Result<()> {
        self.first_resident()?.add_gradients(gradients)
    }

    fn gradient_squares(&mut self) -> Result<f64> {
        let of_others = self.of_others.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        let first = self.first_resident()?;
        if let Some(of_others) = of_others {
            first.add_gradients(&of_others)?;
        }
        first.gradient_squares()
    }

    fn step(&mut self, steps: &[AdamwStep], follow: Option<f32>) -> Result<()> {
        self.first_resident()?.step(steps, follow)?;
        self.share_weights()
    }

    fn verify(&mut self) -> Result<()> {
        self.first_resident()?.verify()
    }

    fn forget_gradients(&mut self) {
        *self.of_others.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
        if let Ok(first) = self.first_resident() {
            first.forget_gradients();
        }
    }

    fn swap_average(&mut self) -> Result<()> {
        self.first_resident()?.swap_average()?;
        self.share_weights()
    }

    fn bring_weights(&mut self) -> Result<()> {
        self.first_resident()?.bring_weights()
    }

    fn bring_home(
        &mut self,
        first: &mut [Vec<f32>],
        second: &mut [Vec<f32>],
        average: Option<&mut [Vec<f32>]>,
    ) -> Result<()> {
        self.first_resident()?.bring_home(first, second, average)
    }

    fn leave(&mut self) -> Result<()> {
        self.lives.clear();
        self.first_resident()?.leave()
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;
    use ndarray::Array2;

    use super::*;
    use crate::{
        backbone::{Backbone, Dropout},
        batch::TokenBatch,
        native,
        on_device::BurnBackbone,
        train::{TrainConfig, state::TrainState, step::tests::dropping},
    };

    fn burn() -> Box<dyn Backbone> {
        Box::new(BurnBackbone::new(dropping(), &Device::flex(), "flex").unwrap())
    }

    /// Weights that train.
    fn trained(backbone: &dyn Backbone) -> Vec<Vec<f32>> {
        let trained = backbone.parameters().iter().filter(|parameter| parameter.trainable);
        trained.map(|parameter| parameter.values.floats().into_owned()).collect()
    }

    /// Differences over all weights but keys' biases, whose gradients are zeros but for rounding, which Adam makes as great as
    /// any.
    fn furthest(backbone: &dyn Backbone, a: &[Vec<f32>], b: &[Vec<f32>]) -> f32 {
        let named = backbone.parameters().iter().filter(|parameter| parameter.trainable).cycle();
        let lists = a.iter().zip(b).zip(named).filter(|(_, parameter)| !parameter.name.ends_with("key.bias"));
        let pairs = lists.flat_map(|((a, b), _)| a.iter().zip(b));
        pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
    }

    /// Steps of a made-up loss with dropout and an average, in several parts each.
    #[test]
    fn devices_of_any_kind_have_the_same_weights_after_every_step() {
        let texts: Vec<Vec<u32>> = (1..=9u32).map(|n| (0..n * 2).map(|k| (n * 13 + k * k) % 50).collect()).collect();
        let batch = TokenBatch::new(texts.iter().map(Vec::as_slice));
        let config = TrainConfig { ema: 0.5, ..TrainConfig::default() };
        let run = |backbone: &mut dyn Backbone, settles: bool| {
            let mut state = TrainState::new(&config, backbone.parameters()).unwrap();
            if settles {
                state.settle(backbone).unwrap();
            }
            for number in 1..=4 {
                for part in [0..5, 5..9] {
                    let part = batch.part(part);
                    let (embeddings, tape) = backbone.embed_tracked(&part, Some(Dropout { seed: number })).unwrap();
                    let at = Array2::from_shape_fn(embeddings.dim(), |(i, j)| ((i * 13 + j * 5) as f32).sin());
                    backbone.backward(tape, at.view(), &mut state.gradients).unwrap();
                }
                let norm = state.gradient_norm(backbone).unwrap();
                state.update(backbone, 1e-3, 1.0 / norm, number).unwrap();
            }
            // Gradients that are forgotten change nothing, on no device.
            let (embeddings, tape) = backbone.embed_tracked(&batch, None).unwrap();
            backbone.backward(tape, embeddings.view(), &mut state.gradients).unwrap();
            state.forget_gradients(backbone);
            assert_eq!(state.gradient_norm(backbone).unwrap(), 0.0);
            state.swap_average(backbone).unwrap();
            let of_average = backbone.embed(&batch).unwrap();
            state.swap_average(backbone).unwrap();
            state.leave(backbone).unwrap();
            let moments = [state.optimizer.first, state.optimizer.second].concat();
            let moments: Vec<Vec<f32>> = moments.into_iter().filter(|values| !values.is_empty()).collect();
            (trained(backbone), moments, of_average)
        };
        let mut one = native::open(dropping()).unwrap();
        let before = trained(&*one);
        let (weights, moments, average) = run(&mut *one, true);
        assert!(furthest(&*one, &weights, &before) > 1e-3);
        for (list, has_memory, settles) in [
            (vec![burn(), native::open(dropping()).unwrap()], true, true),
            (vec![burn(), native::open(dropping()).unwrap()], true, false),
            (vec![burn(), burn(), burn()], true, true),
            (vec![native::open(dropping()).unwrap(), burn()], false, true),
        ] {
            let mut several = SeveralBackbones::new(list).unwrap();
            assert_eq!(several.resident().is_some(), has_memory);
            let found = run(&mut several, settles);
            let [first, others @ ..] = &several.list[..] else { panic!("no device") };
            others.iter().for_each(|other| assert!(trained(&**other) == trained(&**first)));
            assert_eq!((found.0.len(), found.1.len()), (weights.len(), 2 * weights.len()));
            let apart = [(&found.0, &weights), (&found.1, &moments)].map(|(a, b)| furthest(&several, a, b));
            assert!(apart.iter().all(|apart| *apart < 1e-5), "weights and moments are {apart:?} apart");
            let apart = (&found.2 - &average).iter().fold(0f32, |worst, x| worst.max(x.abs()));
            assert!(apart < 1e-4, "embeddings of the average are {apart} apart");
        }
    }
}
