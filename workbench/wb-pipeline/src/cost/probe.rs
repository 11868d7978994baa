//! A measurement of this machine in about five seconds: the speeds of embedding and of training with the experiment's
//! own encoder.
//!
//! Texts are made-up token ids of the lengths that are expected of the real ones. A pass is what training does with a
//! small batch: dropout, the loss, adapters, late interaction and gradient checkpointing are in it. A machine on which the
//! smallest pass takes longer than its share of the five seconds is measured by that pass alone.

use std::time::Instant;

use anyhow::Result;
use ndarray::Array2;
use wb_core::{Embeddings, Reranker, Seed, Side, progress::silent};
use wb_encoder::{
    BATCH_TOKENS, BiEncoder, Folder, Gradients, OpenDevice, Stop, TokenBatch,
    losses::{Labels, ListNetConfig, LossConfig, LossOnEmbeddings},
    train::{
        Meeting, TrainConfig,
        prefetch::TrainBatch,
        state::TrainState,
        step::{StepOptions, accumulate},
    },
};
use wb_retrieval::Flat;

use super::{
    lengths::Lengths,
    rate::{RateLimits, TimedPass, rate},
};
use crate::{config::Experiment, mine};

/// Seconds for each speed; together, with the few steps of the optimizer, about five.
const EMBED: f64 = 1.2;
const TRAIN: f64 = 1.8;
const LOSS: f64 = 0.4;
const SEARCH: f64 = 0.4;
const RERANK: f64 = 1.0;
/// Tokens of a pass for each thread: what the processor's path gives one at a time.
const THREAD_TOKENS: usize = 256;
/// Products in the scores of the batch that the loss is measured on.
const LOSS_PRODUCTS: usize = 100_000_000;

/// Speeds of this machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Rates {
    /// The device, in words.
    pub device: String,
    /// True for the processor.
    pub is_cpu: bool,
    /// Seconds that it took to measure them.
    pub took: f64,
    /// Tokens a second that are embedded.
    pub embed: f64,
    /// Tokens a second that go forward, through the loss, and backward.
    pub train: f64,
    /// Seconds of an optimizer step.
    pub update: f64,
    /// Seconds of the loss for each anchor with each document of its batch.
    pub loss: f64,
    /// Multiplications a second of exact search on the processor.
    pub search: f64,
    /// Pairs a second that the cross-encoder of a mining reads, where there is one.
    pub rerank: Option<f64>,
    /// Tokens a second that the loss's guide or teacher embeds, where there is one: those of the model's own lengths, of which
    /// it may read fewer.
    pub guide: Option<f64>,
}

/// Measures the device with an encoder, and with the one that the loss asks.
pub fn measure(
    experiment: &Experiment,
    folder: Folder,
    guide: Option<Folder>,
    device: &OpenDevice,
    lengths: Lengths,
) -> Result<Rates> {
    let started = Instant::now();
    let train = &experiment.train;
    let mut encoder = BiEncoder::open_to_train(folder, device, train.precision)?;
    if train.gradient_checkpointing {
        // A backbone that cannot is told of elsewhere, and is measured as it is.
        let _ = encoder.backbone_mut().set_gradient_checkpointing(true);
    }
    let loss = LossOnEmbeddings::new(train.similarity, &loss_to_measure(train, experiment.reads_pairs()));
    let embed = embedding(&encoder, lengths)?;
    let mut state = TrainState::new(train, encoder.backbone().parameters())?;
    state.settle(encoder.backbone_mut())?;
    let trained = training(&encoder, &loss, train, lengths, &mut state.gradients)?;
    let update = update(&mut encoder, train, &mut state)?;
    state.leave(encoder.backbone_mut())?;
    let loss = loss_alone(&encoder, &loss, train, lengths)?;
    let cross = experiment.negatives.as_ref().and_then(|negatives| negatives.rescore.as_ref());
    let cross = cross.and_then(wb_retrieval::mining::RescoreConfig::cross_encoder);
    let rerank =
        cross.map(|config| reranking(&mine::cross_encoder(config, experiment.device.first())?, lengths)).transpose()?;
    Ok(Rates {
        device: device.description.clone(),
        is_cpu: device.is_cpu(),
        embed,
        train: trained,
        update,
        loss,
        search: search()?,
        rerank,
        guide: guide.map(|guide| guiding(guide, device, lengths)).transpose()?,
        took: started.elapsed().as_secs_f64(),
    })
}

/// The experiment's loss; in the place of one that asks a teacher or a guide, of which there is none here, a usual one.
fn loss_to_measure(train: &TrainConfig, reads_pairs: bool) -> LossConfig {
    let needs = train.loss.needs();
    let loss = match (needs.guide || needs.scores, reads_pairs) {
        (false, _) => train.loss.clone(),
        (true, true) => LossConfig::ListNet(ListNetConfig::default()),
        (true, false) => LossConfig::default(),
    };
    loss.suited(train.similarity)
}

/// Tokens a second of a guide, which cuts texts at its own lengths.
fn guiding(guide: Folder, device: &OpenDevice, lengths: Lengths) -> Result<f64> {
    let most = guide.max_tokens;
    let own = Lengths {
        query: lengths.query.min(most.query as f64),
        document: lengths.document.min(most.document as f64),
        ..lengths
    };
    let read = embedding(&BiEncoder::open_frozen(guide, device)?, own)?;
    Ok(read * (lengths.query + lengths.document) / (own.query + own.document))
}

fn embedding(encoder: &BiEncoder, lengths: Lengths) -> Result<f64> {
    let backbone = encoder.backbone();
    let tokens = tokens(lengths.document);
    let limits = RateLimits {
        seconds: EMBED,
        first: (THREAD_TOKENS * rayon::current_num_threads()).div_ceil(tokens),
        most: BATCH_TOKENS.div_ceil(tokens),
    };
    rate(limits, &mut |texts| {
        let batch = batch(encoder, 0, texts, lengths);
        timed(batch.ids().len(), || {
            match encoder.token_vectors() {
                None => drop(backbone.embed(&batch)?),
                Some(late) => {
                    let states = backbone.embed_tokens(&batch)?;
                    late.project(backbone.parameters(), &batch, states.view(), |_| Side::Document)?;
                }
            }
            Ok(())
        })
    })
}

fn training(
    encoder: &BiEncoder,
    loss: &LossOnEmbeddings,
    train: &TrainConfig,
    lengths: Lengths,
    gradients: &mut Gradients,
) -> Result<f64> {
    let negatives = usize::from(loss.needs().negatives);
    let a_pair = tokens(lengths.query) + (1 + negatives) * tokens(lengths.document);
    let enough = (THREAD_TOKENS * rayon::current_num_threads()).div_ceil(a_pair);
    let (most, stop) = (train.batch.pairs.clamp(2, BATCH_TOKENS.div_ceil(a_pair).max(2)), Stop::default());
    let options = StepOptions {
        dropout: train.dropout.then_some(Seed(0)),
        micro_tokens: 0,
        micro_texts: 0,
        weight: 1.0,
        stop: &stop,
    };
    let backbone = encoder.backbone();
    rate(RateLimits { seconds: TRAIN, first: enough.max(2), most }, &mut |pairs| {
        let tokens = batch(encoder, pairs, pairs * (1 + negatives), lengths);
        let labels = Labels::distinct(pairs, negatives);
        let batch = TrainBatch { pairs: (0..pairs as u32).collect(), tokens, labels };
        let tokens = match Meeting::of(encoder.settings()) {
            // Each document is read with its anchor before it.
            Meeting::Together(..) => {
                pairs * (1 + negatives) * (self::tokens(lengths.query) + self::tokens(lengths.document))
            }
            _ => batch.tokens.ids().len(),
        };
        timed(tokens, || {
            accumulate(backbone, Meeting::of(encoder.settings()), loss, &batch, 0, options, gradients)?;
            Ok(())
        })
    })
}

/// Seconds of a step of the optimizer, the second of two: the first one touches fresh memory. The norm of the gradients is
/// what a step waits for on a device.
fn update(encoder: &mut BiEncoder, train: &TrainConfig, state: &mut TrainState) -> Result<f64> {
    let mut seconds = 0.0;
    for step in [1, 2] {
        let started = Instant::now();
        state.gradient_norm(encoder.backbone_mut())?;
        state.update(encoder.backbone_mut(), train.optimizer.learning_rate(), 1.0, step)?;
        seconds = started.elapsed().as_secs_f64();
    }
    Ok(seconds)
}

/// Seconds of the loss for each anchor with each document, on vectors of a batch that is as large as there is time for.
fn loss_alone(encoder: &BiEncoder, loss: &LossOnEmbeddings, train: &TrainConfig, lengths: Lengths) -> Result<f64> {
    let negatives = usize::from(loss.needs().negatives);
    let (query, document) = match encoder.token_vectors() {
        None => (1, 1),
        Some(_) => (tokens(lengths.query), tokens(lengths.document)),
    };
    let dim = encoder.token_vectors().map_or(encoder.backbone().dim(), |late| late.dim());
    let of_pair = query * (1 + negatives) * document * dim;
    let pairs = (LOSS_PRODUCTS / of_pair.max(1)).isqrt().clamp(2, train.batch.pairs.max(2));
    let documents = pairs * (1 + negatives);
    let labels = Labels::distinct(pairs, negatives);
    let texts = |count: usize, tokens: usize, shift| -> Result<Embeddings> {
        let vectors = vectors(count * tokens, dim, shift);
        match encoder.token_vectors() {
            None => Ok(Embeddings::dense(vectors)),
            Some(_) => Ok(Embeddings::ragged(vectors, (0..=count).map(|text| text * tokens).collect())?),
        }
    };
    let (anchors, positives) = (texts(pairs, query, 0)?, texts(documents, document, 1)?);
    let limits = RateLimits { seconds: LOSS, first: 1, most: 1 };
    let a_second = rate(limits, &mut |_| {
        timed(pairs * documents, || {
            loss.forward_backward(&anchors, &positives, &labels)?;
            Ok(())
        })
    })?;
    Ok(a_second.recip())
}

/// Multiplications a second of exact search, which is on the processor whatever embeds.
fn search() -> Result<f64> {
    let (dim, documents, queries) = (256, 4096, 256);
    let index = Flat::new(Embeddings::dense(vectors(documents, dim, 1)))?;
    let queries = Embeddings::dense(vectors(queries, dim, 0));
    rate(RateLimits { seconds: SEARCH, first: 1, most: 1 }, &mut |_| {
        timed(dim * documents * queries.texts(), || {
            index.search(&queries, 100)?;
            Ok(())
        })
    })
}

/// Pairs a second that a cross-encoder reads, of made-up words.
fn reranking(model: &dyn Reranker, lengths: Lengths) -> Result<f64> {
    let words = |tokens: f64| vec!["list"; self::tokens(tokens)].join(" ");
    let (query, document) = (words(lengths.query), words(lengths.document));
    rate(RateLimits { seconds: RERANK, first: rayon::current_num_threads(), most: 64 }, &mut |pairs| {
        let texts = vec![(query.as_str(), document.as_str()); pairs];
        timed(pairs, || {
            model.score(&texts, &mut silent).map_err(|error| anyhow::anyhow!("{error}"))?;
            Ok(())
        })
    })
}

fn timed(amount: usize, work: impl FnOnce() -> Result<()>) -> Result<TimedPass> {
    let started = Instant::now();
    work()?;
    Ok(TimedPass { amount: amount as f64, seconds: started.elapsed().as_secs_f64() })
}

/// A mean length as that of a text.
fn tokens(mean: f64) -> usize {
    mean.round().max(1.0) as usize
}

/// Queries and then documents of made-up token ids, the same every time.
fn batch(encoder: &BiEncoder, queries: usize, documents: usize, lengths: Lengths) -> TokenBatch {
    let vocabulary = encoder.settings().model.architecture.vocab_size() as u64;
    let lengths = std::iter::repeat_n(tokens(lengths.query), queries)
        .chain(std::iter::repeat_n(tokens(lengths.document), documents));
    let text = |(text, length): (usize, usize)| -> Vec<u32> {
        (0..length as u64).map(|at| ((text as u64 * 8191 + at) * 2_654_435_761 % vocabulary) as u32).collect()
    };
    let texts: Vec<Vec<u32>> = lengths.enumerate().map(text).collect();
    TokenBatch::new(texts.iter().map(Vec::as_slice))
}

/// Vectors of length about 1, the same every time and no two alike.
fn vectors(rows: usize, dim: usize, shift: usize) -> Array2<f32> {
    let scale = (dim as f32 / 2.0).sqrt().recip();
    Array2::from_shape_fn((rows, dim), |(row, column)| {
        ((row * 31 + column * 7 + shift * 13) as f32 * 0.37 + (row * column) as f32 * 0.011).sin() * scale
    })
}
