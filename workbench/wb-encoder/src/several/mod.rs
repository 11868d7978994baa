//! Several devices that compute one batch: each has the whole model and takes a part of the texts.
//!
//! The loss sees the whole batch, as it does with gradient caching: two devices with 16 pairs each learn what one learns
//! with 32. Each device adds up its own gradients; once a step these are added to each other in the order in which the
//! devices are named, so that the same devices give the same sums, wherever they stand.

mod resident;

use std::{
    ops::Range,
    sync::{Mutex, PoisonError},
    thread,
};

use ndarray::{Array2, ArrayView2, Axis, concatenate, s};
use wb_core::GroupMaxima;

use crate::{
    backbone::{Backbone, BackboneTape, Dropout, Padding, Upstream},
    batch::TokenBatch,
    error::{Error, Result},
    parameters::{Gradients, Parameter, Parameters},
    precision::Precision,
    resident::Resident,
    stop::Stop,
    values::Values,
};

/// A model on several devices.
pub struct SeveralBackbones {
    /// Models with the same weights, at least one.
    list: Vec<Box<dyn Backbone>>,
    /// Gradients of each since the last sum; empty before a pass, for the first, whose passes add to the sum itself, and for
    /// those that keep them.
    apart: Vec<Mutex<Gradients>>,
    /// True for weights whose state lives with the first; none before a training has settled there.
    lives: Vec<bool>,
    /// Gradients of the others since the first measured its own, where weights live there.
    of_others: Mutex<Option<Gradients>>,
}

/// Each device's part of a batch, and its tape.
struct Tapes(Vec<(TokenBatch, BackboneTape)>);

impl SeveralBackbones {
    /// Puts devices that have the same model side by side; an error without any.
    pub fn new(mut list: Vec<Box<dyn Backbone>>) -> Result<Self> {
        if list.is_empty() {
            return Err(Error::value("device", "an empty list, expected at least one device"));
        }
        // Each reads its gradients back once a step, however many parts a batch has.
        list.iter_mut().for_each(|backbone| backbone.keep_gradients());
        let apart = list.iter().map(|_| Mutex::default()).collect();
        Ok(Self { list, apart, lives: Vec::new(), of_others: Mutex::default() })
    }

    fn first(&self) -> &dyn Backbone {
        &*self.list[0]
    }

    /// Neighbouring texts for each device, with about as many tokens as the others have.
    fn deal(&self, batch: &TokenBatch) -> Vec<Range<usize>> {
        let (devices, offsets) = (self.list.len(), batch.offsets());
        let all = batch.ids().len();
        let end = |device: usize| match device == devices {
            true => batch.len(),
            // The text boundary that is nearest to the share.
            false => {
                let share = all * device / devices;
                let after = offsets.partition_point(|offset| *offset < share);
                let before = after.saturating_sub(1);
                if share - offsets[before] < offsets[after] - share { before } else { after }
            }
        };
        let ends: Vec<usize> = (0..=devices).map(end).collect();
        ends.windows(2).map(|ends| ends[0]..ends[1]).collect()
    }

    /// Lets every device work on its part at the same time; results are in the devices' order.
    fn each<P: Send, T: Send>(
        &self,
        parts: Vec<P>,
        work: impl Fn(&dyn Backbone, P) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let work = &work;
        thread::scope(|scope| {
            let backbones = self.list.iter().map(|backbone| &**backbone);
            let running: Vec<_> =
                backbones.zip(parts).map(|(backbone, part)| scope.spawn(move || work(backbone, part))).collect();
            let end = |running: thread::ScopedJoinHandle<'_, Result<T>>| {
                running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            // All are waited for, also where one failed.
            let ended: Vec<Result<T>> = running.into_iter().map(end).collect();
            ended.into_iter().collect()
        })
    }

    fn parts(&self, batch: &TokenBatch) -> Vec<TokenBatch> {
        self.deal(batch).into_iter().map(|texts| batch.part(texts)).collect()
    }

    /// Adds the gradients of the devices from this one on.
    fn collect(&self, from: usize, gradients: &mut Gradients) -> Result<()> {
        for (backbone, apart) in self.list.iter().zip(&self.apart).skip(from) {
            backbone.collect_gradients(gradients)?;
            let of_device = std::mem::take(&mut *apart.lock().unwrap_or_else(PoisonError::into_inner));
            gradients.iter_mut().zip(of_device.iter()).for_each(|(sum, found)| add(sum, found));
        }
        Ok(())
    }

    fn together(&self, parts: &[Array2<f32>]) -> Result<Array2<f32>> {
        let views: Vec<ArrayView2<'_, f32>> = parts.iter().map(|part| part.view()).collect();
        concatenate(Axis(0), &views).map_err(|error| Error::data("devices' results", error.to_string()))
    }
}

fn add(sum: &mut [f32], found: &[f32]) {
    sum.iter_mut().zip(found).for_each(|(sum, found)| *sum += found);
}

/// Gives devices the weights of another, but for those that are the same as they were.
fn follow(others: &mut [Box<dyn Backbone>], first: &Parameters, is_same: &dyn Fn(usize) -> bool) -> Result<()> {
    let mut copy = |parameters: &mut Parameters| {
        let alike = |(a, b): (&Parameter, &Parameter)| a.name == b.name && a.trainable == b.trainable;
        if parameters.len() != first.len() || !parameters.iter().zip(first.iter()).all(alike) {
            *parameters = first.clone();
            return;
        }
        let changed = parameters.iter_mut().zip(first.iter()).enumerate().filter(|(at, _)| !is_same(*at));
        for (_, (to, from)) in changed {
            match from.trainable && to.values.len() == from.values.len() {
                true => to.values.floats_mut().copy_from_slice(&from.values.floats()),
                false => to.values = from.values.clone(),
            }
        }
    };
    others.iter_mut().try_for_each(|other| other.update(&mut copy))
}

impl Backbone for SeveralBackbones {
    fn dim(&self) -> usize {
        self.first().dim()
    }

    fn parameters(&self) -> &Parameters {
        self.first().parameters()
    }

    fn update(&mut self, change: &mut dyn FnMut(&mut Parameters)) -> Result<()> {
        let Some((first, others)) = self.list.split_first_mut() else { return Ok(()) };
        let frozen = |p: &Parameter| (!p.trainable).then(|| p.values.clone());
        let before: Vec<Option<Values>> = first.parameters().iter().map(frozen).collect();
        first.update(change)?;
        let after = first.parameters();
        let is_same = |at: usize| before[at].as_ref().is_some_and(|before| before.shares(&after.at(at).values));
        follow(others, after, &is_same)
    }

    fn set_gradient_checkpointing(&mut self, on: bool) -> Result<()> {
        self.list.iter_mut().try_for_each(|backbone| backbone.set_gradient_checkpointing(on))
    }

    fn set_precision(&mut self, precision: Precision) -> Result<()> {
        self.list.iter_mut().try_for_each(|backbone| backbone.set_precision(precision))
    }

    fn padding(&self) -> Option<Padding> {
        self.list.iter().map(|backbone| backbone.padding()).sum()
    }

    fn resident(&mut self) -> Option<&mut dyn Resident> {
        self.list[0].resident()?;
        Some(self)
    }

    fn collect_gradients(&self, gradients: &mut Gradients) -> Result<()> {
        if self.lives.is_empty() {
            return self.collect(0, gradients);
        }
        self.first().collect_gradients(gradients)?;
        let mut of_others = self.of_others.lock().unwrap_or_else(PoisonError::into_inner);
        let of_others = of_others.get_or_insert_with(|| Gradients::zeros(self.parameters()));
        self.collect(1, of_others)?;
        let at_home = gradients.iter_mut().zip(of_others.iter_mut()).zip(&self.lives).filter(|(_, lives)| !**lives);
        at_home.for_each(|((sum, found), _)| {
            add(sum, found);
            found.fill(0.0);
        });
        Ok(())
    }

    fn forget_gradients(&self) {
        self.list.iter().for_each(|backbone| backbone.forget_gradients());
        self.apart
            .iter()
            .for_each(|apart| *apart.lock().unwrap_or_else(PoisonError::into_inner) = Gradients::default());
        *self.of_others.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Help of the first device.
    fn group_maxima(&self) -> Option<Box<dyn GroupMaxima>> {
        self.first().group_maxima()
    }

    fn watch(&mut self, stop: Stop) {
        self.list.iter_mut().for_each(|backbone| backbone.watch(stop.clone()));
    }

    fn embed(&self, batch: &TokenBatch) -> Result<Array2<f32>> {
        self.together(&self.each(self.parts(batch), |backbone, part| backbone.embed(&part))?)
    }

    fn embed_tracked(&self, batch: &TokenBatch, dropout: Option<Dropout>) -> Result<(Array2<f32>, BackboneTape)> {
        let found = self.each(self.parts(batch), |backbone, part| {
            let (embeddings, tape) = backbone.embed_tracked(&part, dropout)?;
            Ok((embeddings, (part, tape)))
        })?;
        let (embeddings, tapes): (Vec<_>, Vec<_>) = found.into_iter().unzip();
        Ok((self.together(&embeddings)?, Box::new(Tapes(tapes))))
    }

    fn track_again(&self, batch: &TokenBatch, dropout: Option<Dropout>) -> Result<BackboneTape> {
        let tapes = self.each(self.parts(batch), |backbone, part| {
            let tape = backbone.track_again(&part, dropout)?;
            Ok((part, tape))
        })?;
        Ok(Box::new(Tapes(tapes)))
    }

    fn embed_tokens(&self, batch: &TokenBatch) -> Result<Array2<f32>> {
        self.together(&self.each(self.parts(batch), |backbone, part| backbone.embed_tokens(&part))?)
    }

    fn embed_tokens_tracked(
        &self,
        batch: &TokenBatch,
        dropout: Option<Dropout>,
    ) -> Result<(Array2<f32>, Array2<f32>, BackboneTape)> {
        let found = self.each(self.parts(batch), |backbone, part| {
            let (embeddings, states, tape) = backbone.embed_tokens_tracked(&part, dropout)?;
            Ok(((embeddings, states), (part, tape)))
        })?;
        let (results, tapes): (Vec<_>, Vec<_>) = found.into_iter().unzip();
        let (embeddings, states): (Vec<_>, Vec<_>) = results.into_iter().unzip();
        Ok((self.together(&embeddings)?, self.together(&states)?, Box::new(Tapes(tapes))))
    }

    fn backward_tokens(&self, tape: BackboneTape, at: Upstream<'_>, gradients: &mut Gradients) -> Result<()> {
        let Ok(tapes) = tape.downcast::<Tapes>() else {
            return Err(Error::data("backward pass", "got the tape of another backbone, expected its own"));
        };
        let (mut text, mut token) = (0, 0);
        let mut of_first = Some(gradients);
        let parts = tapes.0.into_iter().zip(&self.apart).map(|((part, tape), apart)| {
            let (texts, tokens) = (text..text + part.len(), token..token + part.ids().len());
            (text, token) = (texts.end, tokens.end);
            (tape, texts, tokens, of_first.take(), apart)
        });
        self.each(parts.collect(), |backbone, (tape, texts, tokens, of_first, apart)| {
            let of_part = Upstream {
                embeddings: at.embeddings.as_ref().map(|at| at.slice(s![texts, ..])),
                states: at.states.as_ref().map(|at| at.slice(s![tokens, ..])),
            };
            if let Some(sum) = of_first {
                return backbone.backward_tokens(tape, of_part, sum);
            }
            let mut apart = apart.lock().unwrap_or_else(PoisonError::into_inner);
            if apart.iter().len() == 0 && !backbone.keeps_gradients() {
                *apart = Gradients::zeros(backbone.parameters());
            }
            backbone.backward_tokens(tape, of_part, &mut apart)
        })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;
    use wb_core::Seed;

    use super::*;
    use crate::{
        losses::{
            LossOnEmbeddings,
            tests::{ALL, config, mixed_labels},
        },
        native,
        on_device::BurnBackbone,
        similarities::SimilarityConfig,
        train::{
            Meeting,
            prefetch::TrainBatch,
            step::{StepOptions, accumulate, tests::dropping},
        },
    };

    fn native() -> Box<dyn Backbone> {
        native::open(dropping()).unwrap()
    }

    fn burn() -> Box<dyn Backbone> {
        Box::new(BurnBackbone::new(dropping(), &Device::flex(), "flex").unwrap())
    }

    fn several(list: Vec<Box<dyn Backbone>>) -> SeveralBackbones {
        SeveralBackbones::new(list).unwrap()
    }

    fn texts(lengths: &[usize]) -> TokenBatch {
        let text =
            |(at, n): (usize, &usize)| (0..*n).map(|k| ((at * 13 + k * k * 5 + k) % 50) as u32).collect::<Vec<_>>();
        let texts: Vec<Vec<u32>> = lengths.iter().enumerate().map(text).collect();
        TokenBatch::new(texts.iter().map(Vec::as_slice))
    }

    #[test]
    fn texts_are_dealt_by_their_tokens() {
        let two = several(vec![native(), native()]);
        assert_eq!(two.deal(&texts(&[3, 3, 3, 3])), [0..2, 2..4]);
        assert_eq!(two.deal(&texts(&[9, 1, 1, 1])), [0..1, 1..4]);
        assert_eq!(two.deal(&texts(&[1, 1, 1, 9])), [0..3, 3..4]);
        assert_eq!(two.deal(&texts(&[7])), [0..0, 0..1]);
        assert_eq!(two.deal(&texts(&[])), [0..0, 0..0]);
        let three = several(vec![native(), native(), native()]);
        assert_eq!(three.deal(&texts(&[4, 4, 4, 4, 4, 4])), [0..2, 2..4, 4..6]);
        assert_eq!(three.deal(&texts(&[30, 1])), [0..0, 0..1, 1..2]);
        assert!(SeveralBackbones::new(Vec::new()).is_err());
    }

    /// Some 16 pairs each of 32, every loss with hard negatives and dropout; whole batches, and in parts with cached
    /// gradients.
    #[test]
    fn two_devices_learn_what_one_learns() {
        let (one, stop) = (native(), Stop::default());
        for (list, some) in [(vec![native(), native()], 1), (vec![burn(), native()], 4)] {
            let two = several(list);
            for (json, negatives) in ALL.into_iter().step_by(some) {
                let labels = mixed_labels(32, negatives);
                let lengths: Vec<usize> =
                    (0..labels.pairs() + labels.owners().len()).map(|at| 1 + at * 7 % 19).collect();
                let batch = TrainBatch { pairs: (0..32).collect(), tokens: texts(&lengths), labels };
                let loss = LossOnEmbeddings::new(SimilarityConfig::Cosine, &config(json));
                let run = |backbone: &dyn Backbone, micro_texts| {
                    let mut gradients = Gradients::zeros(backbone.parameters());
                    let options =
                        StepOptions { dropout: Some(Seed(9)), micro_tokens: 0, micro_texts, weight: 0.5, stop: &stop };
                    let found =
                        accumulate(backbone, Meeting::Vectors, &loss, &batch, 3, options, &mut gradients).unwrap();
                    backbone.collect_gradients(&mut gradients).unwrap();
                    (found, gradients)
                };
                let (expected, of_one) = run(&*one, 0);
                let largest = of_one.iter().flatten().fold(1e-3f32, |largest, g| largest.max(g.abs()));
                for micro_texts in [0, 7] {
                    let (found, of_two) = run(&two, micro_texts);
                    assert!((found - expected).abs() < 1e-5 * expected.max(1.0), "{json}: {found}, {expected}");
                    let pairs = of_two.iter().flatten().zip(of_one.iter().flatten());
                    let apart = pairs.map(|(a, b)| (a - b).abs()).fold(0f32, f32::max);
                    assert!(apart < 1e-5 * largest, "{json}: gradients differ by {apart} of {largest}");
                }
            }
        }
    }

    #[test]
    fn the_same_devices_give_the_same_bits_and_all_have_what_was_changed() {
        let mut two = several(vec![native(), native()]);
        let batch = texts(&[5, 9, 1, 14, 3]);
        let run = |backbone: &dyn Backbone| {
            let (embeddings, states, tape) = backbone.embed_tokens_tracked(&batch, Some(Dropout { seed: 4 })).unwrap();
            let mut gradients = Gradients::zeros(backbone.parameters());
            let at = Upstream { embeddings: Some(embeddings.view()), states: Some(states.view()) };
            backbone.backward_tokens(tape, at, &mut gradients).unwrap();
            backbone.collect_gradients(&mut gradients).unwrap();
            (embeddings.clone(), states.clone(), gradients)
        };
        assert!(run(&two) == run(&two));
        let change = |parameters: &mut Parameters| {
            parameters.iter_mut().for_each(|p| p.values.floats_mut().iter_mut().for_each(|value| *value *= 0.9));
        };
        two.update(&mut { change }).unwrap();
        let mut one = native();
        one.update(&mut { change }).unwrap();
        assert_eq!(two.embed(&batch).unwrap(), one.embed(&batch).unwrap());
        assert_eq!(two.embed_tokens(&batch).unwrap(), one.embed_tokens(&batch).unwrap());
        let (_, tape) = two.embed_tracked(&batch, None).unwrap();
        let wrong = Array2::zeros((5, two.dim() + 1));
        assert!(two.backward(tape, wrong.view(), &mut Gradients::zeros(two.parameters())).is_err());
    }
}
