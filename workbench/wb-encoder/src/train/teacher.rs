//! The teacher of a training that distills embeddings, fitted to the model: its vectors are made as long as the model's.

use std::{collections::BinaryHeap, path::Path};

use ndarray::{Array2, Axis};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use wb_core::{Pair, Progress, Seed, Side};

use super::{TrainConfig, TrainPairs, curriculum};
use crate::{
    bi_encoder::BiEncoder,
    dense::{DenseActivation, DenseLayer},
    error::{Error, Result},
    losses::LossConfig,
    static_from_teacher::components,
    weights,
};

/// Texts that principal components are found of, at most.
pub const SAMPLE: usize = 20_000;
/// Name of the layer in its file.
const LAYER: &str = "linear";

/// The training that a teacher is fitted to.
pub struct FittedTeacher<'a> {
    /// Settings of the training.
    pub config: &'a TrainConfig,
    /// The pairs to learn from; components are those of a sample of their texts.
    pub pairs: TrainPairs<'a>,
    /// Decides the sample.
    pub seed: Seed,
    /// Length of the model's embeddings.
    pub dim: usize,
    /// Place of the components, which are read where they are there: a training that goes on has the same.
    pub file: &'a Path,
}

impl FittedTeacher<'_> {
    /// Puts a layer after the teacher where its vectors are longer than the model's, or where Matryoshka compares their first
    /// numbers alone: y = P·x, with P the first principal components of the vectors of at most 20,000 texts, drawn by the
    /// seed, each embedded on its side. The components are those of vectors less their mean, and the vectors that are
    /// shortened keep it. A teacher that normalizes does so after the layer too.
    ///
    /// Time is that of the sample, and of about 13·width³ operations on one thread: a minute for vectors of 1,536 numbers.
    ///
    /// As sentence-transformers' example `model_distillation.py` shortens a teacher, where nothing is normalized after it.
    ///
    /// # Errors
    ///
    /// If the teacher's vectors are shorter than the model's, or there are no more texts than components.
    pub fn fit(&self, teacher: BiEncoder, progress: &mut dyn FnMut(Progress)) -> Result<BiEncoder> {
        let (loss, width) = (&self.config.loss, teacher.settings().dim());
        check_width(width, self.dim, loss)?;
        if width == self.dim && !loss.orders_guide() {
            return Ok(teacher);
        }
        let shape = [self.dim, width];
        if !self.file.is_file() {
            let layer = self.layer(&teacher, progress)?;
            weights::write(self.file, layer.parameters(LAYER).iter())?;
        }
        let layer = DenseLayer::read_weights(self.file, LAYER, shape, false, DenseActivation::Identity)?;
        Ok(teacher.followed_by(layer))
    }

    fn layer(&self, teacher: &BiEncoder, progress: &mut dyn FnMut(Progress)) -> Result<DenseLayer> {
        let sides = self.sample()?;
        let mut vectors = Array2::zeros((0, teacher.settings().dim()));
        for (side, texts) in [Side::Query, Side::Document].into_iter().zip(&sides) {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let embedded = teacher.embed(&texts, side, progress)?;
            vectors.append(Axis(0), embedded.view()).map_err(|error| Error::data("a sample", error.to_string()))?;
        }
        if vectors.nrows() <= self.dim {
            let message = format!(
                "its vectors are taken to {} principal components, which more than {} texts have, and there are {}",
                self.dim,
                self.dim,
                vectors.nrows()
            );
            return Err(Error::value(key(&self.config.loss), message)
                .with_hint("train on more texts, or begin with a model of shorter embeddings"));
        }
        progress(Progress::new("finding principal components", 0, 1));
        let weight = components::axes(&vectors, self.dim)?;
        progress(Progress::new("finding principal components", 1, 1));
        Ok(DenseLayer { weight, bias: None, activation: DenseActivation::Identity })
    }

    /// Texts among anchors and among documents, in their order; a text that stands in several places counts in each.
    fn sample(&self) -> Result<[Vec<String>; 2]> {
        let negatives = curriculum::most_negatives(self.config);
        let mut sample = Sample::new(self.seed);
        let mut take = |pair: &Pair| {
            sample.offer(Side::Query, &pair.anchor);
            if !pair.is_text() {
                let documents = std::iter::once(pair.positive.as_str())
                    .chain(pair.negatives.iter().take(negatives).map(|text| &**text));
                documents.for_each(|text| sample.offer(Side::Document, text));
            }
        };
        match self.pairs {
            TrainPairs::Memory(pairs) => pairs.pairs().iter().for_each(take),
            TrainPairs::Stream(pairs) => pairs.each(&mut |pair| {
                take(&pair);
                Ok(())
            })?,
        }
        Ok(sample.finish())
    }
}

/// Texts as they come in: those with the lowest draws.
struct Sample {
    draws: ChaCha8Rng,
    count: usize,
    /// Draw, position, whether it is a document, and the text.
    kept: BinaryHeap<(u64, usize, bool, String)>,
}

impl Sample {
    fn new(seed: Seed) -> Self {
        Self { draws: seed.stream("texts for a teacher's components"), count: 0, kept: BinaryHeap::new() }
    }

    fn offer(&mut self, side: Side, text: &str) {
        let (draw, at) = (self.draws.random::<u64>(), self.count);
        self.count += 1;
        let is_full = self.kept.len() == SAMPLE;
        if is_full && self.kept.peek().is_some_and(|last| last.0 < draw) {
            return;
        }
        self.kept.push((draw, at, side == Side::Document, text.to_owned()));
        if is_full {
            self.kept.pop();
        }
    }

    /// The queries and the documents, each in their order.
    fn finish(self) -> [Vec<String>; 2] {
        let mut kept = self.kept.into_vec();
        kept.sort_unstable_by_key(|kept| kept.1);
        let (documents, queries): (Vec<_>, Vec<_>) = kept.into_iter().partition(|kept| kept.2);
        [queries, documents].map(|side| side.into_iter().map(|kept| kept.3).collect())
    }
}

/// The key of the teacher in errors.
fn key(loss: &LossConfig) -> String {
    format!("train.loss.{}", loss.guide_key())
}

/// Refuses a teacher whose vectors are shorter than the model's.
pub fn check_width(width: usize, dim: usize, loss: &LossConfig) -> Result<()> {
    if !loss.needs().guide_dim || width >= dim {
        return Ok(());
    }
    let message = format!(
        "its vectors have {width} numbers, and the model's have {dim}: longer ones are shortened, and shorter ones cannot be followed"
    );
    Err(Error::value(key(loss), message).with_hint(format!(
        "name a teacher with {dim} numbers or more, or begin with a model of {width}, as in `static_embedding: {{ dim: {width} }}`"
    )))
}

/// Refuses a teacher whose vectors are not as long as the model's.
pub(super) fn check_dim(found: usize, dim: usize, loss: &LossConfig) -> Result<()> {
    check_width(found, dim, loss)?;
    match found == dim {
        true => Ok(()),
        false => Err(Error::value(key(loss), format!("its vectors have {found} numbers, and the model's have {dim}"))
            .with_hint("`FittedTeacher::fit` shortens them")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_drawn_by_the_seed_and_keeps_the_order() {
        let sample = |seed, n: usize| {
            let mut sample = Sample::new(Seed(seed));
            (0..n).for_each(|at| sample.offer([Side::Query, Side::Document][at % 2], &format!("{at:06}")));
            sample.finish()
        };
        let [queries, documents] = sample(1, 50);
        assert_eq!((queries.len(), documents.len(), documents[24].as_str()), (25, 25, "000049"));
        let of = |seed| sample(seed, SAMPLE + 500);
        let [queries, documents] = of(1);
        assert_eq!(queries.len() + documents.len(), SAMPLE);
        assert!(queries.is_sorted() && documents.is_sorted());
        assert_eq!(of(1), [queries.clone(), documents]);
        assert_ne!(of(2)[0], queries);
        // Whatever is drawn stands among all, and not at one end.
        assert!(queries.iter().filter(|text| text.as_str() < "010000").count().abs_diff(4878) < 100);
    }
}
