//! One batch to its loss and gradients: at once, or in parts with cached gradients.

use std::ops::Range;

use ndarray::{Array2, s};
use wb_core::Seed;

use super::prefetch::TrainBatch;
use crate::{Backbone, Dropout, Gradients, Result, Stop, Tape, TokenBatch, losses::LossOnEmbeddings};

/// How a batch's gradients are computed.
#[derive(Clone, Copy)]
pub struct StepOptions<'a> {
    /// Draws dropout masks; `None` for no dropout.
    pub dropout: Option<Seed>,
    /// Parts of at most so many tokens with cached gradients; 0 for no limit.
    pub micro_tokens: usize,
    /// Parts of at most so many texts with cached gradients; 0 for no limit. Without either, the batch at once.
    pub micro_texts: usize,
    /// What the gradients are multiplied by: 1 / batches of the step.
    pub weight: f32,
    /// Looked at before every pass: once it is set, the batch ends with [`crate::Error::Stopped`], and `gradients` are
    /// those of some of its parts.
    pub stop: &'a Stop,
}

/// Adds a batch's gradients to `gradients` and returns its loss. `number` counts batches over the whole training,
/// and with the seed decides the dropout masks. A loss that is not a finite number leaves `gradients` alone.
///
/// In parts this is Gao et al. 2021: every part is embedded without keeping what its backward pass needs;
/// the loss of the whole batch gives the gradient at each embedding; then every part is embedded again
/// with the same dropout masks, and its own rows of that gradient go back through it.
/// A text's masks depend on its place in the batch and not on the parts, so that loss and gradients are those of the whole batch.
pub fn accumulate(
    backbone: &dyn Backbone,
    loss: &LossOnEmbeddings,
    batch: &TrainBatch,
    number: u64,
    options: StepOptions<'_>,
    gradients: &mut Gradients,
) -> Result<f64> {
    let parts = parts(&batch.tokens, options.micro_tokens, options.micro_texts);
    let cached = parts.len() > 1;
    let dropout = options.dropout.map(|seed| Dropout { seed: seed.number_at("dropout", number) });
    let embed = |part: usize| -> Result<(Array2<f32>, Tape)> {
        options.stop.check()?;
        if !cached {
            return backbone.embed_tracked(&batch.tokens, dropout);
        }
        backbone.embed_tracked(&batch.tokens.part(parts[part].clone()), dropout)
    };
    let mut embeddings = Array2::zeros((batch.tokens.len(), backbone.dim()));
    let mut kept = None;
    for (part, texts) in parts.iter().enumerate() {
        let (rows, tape) = embed(part)?;
        embeddings.slice_mut(s![texts.clone(), ..]).assign(&rows);
        kept = (!cached).then_some(tape);
    }

    let anchors = batch.pairs.len();
    let (of_anchors, of_documents) = (embeddings.slice(s![..anchors, ..]), embeddings.slice(s![anchors.., ..]));
    let found = loss.forward_backward(of_anchors, of_documents, &batch.labels)?;
    if !found.loss.is_finite() {
        return Ok(found.loss);
    }
    let mut at_embeddings = stack(&found.at_anchors, &found.at_documents);
    if options.weight != 1.0 {
        at_embeddings.mapv_inplace(|g| g * options.weight);
    }

    for (part, texts) in parts.iter().enumerate() {
        let tape = match kept.take() {
            Some(tape) => tape,
            None => embed(part)?.1,
        };
        options.stop.check()?;
        backbone.backward(tape, at_embeddings.slice(s![texts.clone(), ..]), gradients)?;
    }
    Ok(found.loss)
}

fn stack(anchors: &Array2<f32>, documents: &Array2<f32>) -> Array2<f32> {
    let mut all = Array2::zeros((anchors.nrows() + documents.nrows(), anchors.ncols()));
    all.slice_mut(s![..anchors.nrows(), ..]).assign(anchors);
    all.slice_mut(s![anchors.nrows().., ..]).assign(documents);
    all
}

/// Neighbouring texts, together at most so many tokens (or one text that is longer) and so many texts; 0 for no limit.
pub(super) fn parts(tokens: &TokenBatch, most_tokens: usize, most_texts: usize) -> Vec<Range<usize>> {
    let limit = |most: usize| if most == 0 { usize::MAX } else { most };
    let (most_tokens, most_texts) = (limit(most_tokens), limit(most_texts));
    let mut parts = Vec::new();
    let (mut start, mut sum) = (0, 0);
    for (text, ends) in tokens.offsets().windows(2).enumerate() {
        let length = ends[1] - ends[0];
        if text > start && (sum + length > most_tokens || text - start == most_texts) {
            parts.push(start..text);
            (start, sum) = (text, 0);
        }
        sum += length;
    }
    parts.push(start..tokens.len());
    parts
}

#[cfg(test)]
pub(super) mod tests {
    use burn::tensor::Device;

    use super::*;
    use crate::{
        Architecture, BurnBackbone, LoraConfig, Model, Pooling, lora,
        losses::tests::{ALL, config, mixed_labels},
        models::{BertConfig, bert_config::Activation},
        native,
        similarities::SimilarityConfig,
    };

    /// A small transformer in which everything drops: the model, its attention, its adapters.
    pub(in crate::train) fn dropping() -> Model {
        let architecture = Architecture::Bert(BertConfig {
            vocab_size: 50,
            hidden_size: 24,
            num_hidden_layers: 2,
            num_attention_heads: 3,
            intermediate_size: 40,
            max_position_embeddings: 40,
            type_vocab_size: 2,
            layer_norm_eps: 1e-5,
            first_position: 0,
            activation: Activation::Gelu,
            hidden_dropout: 0.2,
            attention_dropout: 0.2,
        });
        let adapters = LoraConfig {
            rank: 3,
            alpha: 6.0,
            dropout: 0.3,
            targets: vec!["query".to_owned()].into(),
            ..LoraConfig::default()
        };
        let mut parameters = architecture.fresh(Seed(5));
        let adapter = lora::attach(&mut parameters, &architecture, &adapters, Seed(6), "tiny").unwrap();
        for parameter in parameters.iter_mut() {
            // Fresh weights give embeddings that are nearly alike; and all weights train.
            parameter.trainable = true;
            let spread = |(at, value): (usize, &mut f32)| *value = *value * 4.0 + ((at * 7 % 13) as f32 - 6.0) / 60.0;
            parameter.values.iter_mut().enumerate().for_each(spread);
        }
        Model { architecture, parameters, pooling: Pooling::Mean, adapter: Some(adapter) }
    }

    /// Loss and gradients with dropout on, however the batch is cut: also with one text in the last part.
    #[test]
    fn cached_gradients_equal_those_of_the_whole_batch_for_every_loss() {
        let on_burn: Box<dyn Backbone> = Box::new(BurnBackbone::new(dropping(), &Device::flex(), "flex").unwrap());
        for (backbone, some) in [(native::open(dropping()).unwrap(), 1), (on_burn, 5)] {
            for (json, negatives) in ALL.into_iter().step_by(some) {
                let labels = mixed_labels(11, negatives);
                let texts: Vec<Vec<u32>> = (0..labels.pairs() + labels.owners().len())
                    .map(|text| (0..1 + text * 7 % 19).map(|at| ((text * 13 + at * at * 5 + at) % 50) as u32).collect())
                    .collect();
                let tokens = TokenBatch::new(texts.iter().map(Vec::as_slice));
                let batch = TrainBatch { pairs: (0..11).collect(), tokens, labels };
                let loss = LossOnEmbeddings::new(SimilarityConfig::Cosine, &config(json));
                let stop = Stop::default();
                let run = |micro_tokens, micro_texts, seed: u64| {
                    let mut gradients = Gradients::zeros(backbone.parameters());
                    let dropout = Some(Seed(seed));
                    let options = StepOptions { dropout, micro_tokens, micro_texts, weight: 0.5, stop: &stop };
                    (accumulate(&*backbone, &loss, &batch, 3, options, &mut gradients).unwrap(), gradients)
                };
                let (whole, expected) = run(0, 0, 9);
                assert_ne!(run(0, 0, 10).0, whole, "{json}: dropout is off");
                let largest = expected.iter().flatten().fold(0.0f32, |largest, g| largest.max(g.abs()));
                assert!(largest > 1e-3, "{json}: no gradients");
                let one_over = batch.tokens.len() - 1;
                for (micro_tokens, micro_texts) in [(0, one_over), (0, 4), (60, 0), (50, 7)] {
                    let (found, gradients) = run(micro_tokens, micro_texts, 9);
                    assert!((found - whole).abs() < 1e-5 * whole.max(1.0), "{json}: {found} is not {whole}");
                    let pairs = gradients.iter().flatten().zip(expected.iter().flatten());
                    let apart = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                    assert!(apart < 1e-5 * largest.max(1.0), "{json}: gradients differ by {apart} of {largest}");
                }
            }
        }
    }

    #[test]
    fn parts_hold_neighbours_up_to_the_limit() {
        let lengths = [3usize, 3, 3, 9, 1, 1];
        let texts: Vec<Vec<u32>> = lengths.iter().map(|n| vec![0; *n]).collect();
        let tokens = TokenBatch::new(texts.iter().map(Vec::as_slice));
        assert_eq!(parts(&tokens, 0, 0), vec![0..6]);
        assert_eq!(parts(&tokens, 6, 0), [0..2, 2..3, 3..4, 4..6]);
        assert_eq!(parts(&tokens, 100, 0), vec![0..6]);
        assert_eq!(parts(&tokens, 1, 0), [0..1, 1..2, 2..3, 3..4, 4..5, 5..6]);
        assert_eq!(parts(&tokens, 0, 4), [0..4, 4..6]);
        assert_eq!(parts(&tokens, 9, 2), [0..2, 2..3, 3..4, 4..6]);
        assert_eq!(parts(&tokens, 0, 6), vec![0..6]);
    }
}
