//! One batch to its loss and gradients for late interaction: one vector a token, at once or in parts with cached gradients.

use std::ops::Range;

use ndarray::{Array2, s};
use wb_core::{Side, TokenEmbeddings};

use super::{
    prefetch::TrainBatch,
    step::{StepOptions, parts},
};
use crate::{
    Backbone, Dropout, Gradients, Result, Tape, Upstream,
    late_interaction::{LateInteraction, Projected},
    losses::LossOnEmbeddings,
};

/// A part of a batch, gone forward.
struct Part {
    states: Array2<f32>,
    projected: Projected,
    tape: Tape,
}

/// As [`accumulate`](super::step::accumulate), with the vectors of tokens in place of those of texts: between the two
/// passes of a part only its vectors are kept, and neither its states nor its tape.
pub fn accumulate_tokens(
    backbone: &dyn Backbone,
    late: &LateInteraction,
    loss: &LossOnEmbeddings,
    batch: &TrainBatch,
    number: u64,
    options: StepOptions<'_>,
    gradients: &mut Gradients,
) -> Result<f64> {
    let parts = parts(&batch.tokens, options.micro_tokens, options.micro_texts);
    let cached = parts.len() > 1;
    let dropout = options.dropout.map(|seed| Dropout { seed: seed.number_at("dropout", number) });
    let anchors = batch.pairs.len();
    let forward = |texts: &Range<usize>| -> Result<Part> {
        options.stop.check()?;
        let side = |text: usize| if texts.start + text < anchors { Side::Query } else { Side::Document };
        let part = late.attending(batch.tokens.part(texts.clone()), side);
        let (_, states, tape) = backbone.embed_tokens_tracked(&part, dropout)?;
        let projected = late.project(backbone.parameters(), &part, states.view(), side)?;
        Ok(Part { states, projected, tape })
    };
    let (mut values, mut offsets) = (Vec::new(), vec![0]);
    let mut kept = None;
    for texts in &parts {
        let part = forward(texts)?;
        if part.projected.not_finite().is_some() {
            return Ok(f64::NAN);
        }
        let first = offsets[offsets.len() - 1];
        values.extend(part.projected.view().iter());
        offsets.extend(part.projected.offsets()[1..].iter().map(|offset| first + offset));
        kept = (!cached).then_some(part);
    }
    let tokens = offsets[offsets.len() - 1];
    let vectors = Array2::from_shape_vec((tokens, late.dim()), values)
        .map_err(|error| wb_core::Error::data("token embeddings of a batch", error.to_string()))?;
    let all = TokenEmbeddings::new(vectors, offsets)?;
    let (of_anchors, of_documents) = (all.part(0..anchors), all.part(anchors..all.len()));

    let found = loss.forward_backward_tokens(&of_anchors, &of_documents, &batch.labels)?;
    if !found.loss.is_finite() {
        return Ok(found.loss);
    }
    let mut at_vectors = Array2::zeros((tokens, late.dim()));
    let split = found.at_anchors.nrows();
    at_vectors.slice_mut(s![..split, ..]).assign(&found.at_anchors);
    at_vectors.slice_mut(s![split.., ..]).assign(&found.at_documents);
    if options.weight != 1.0 {
        at_vectors.mapv_inplace(|g| g * options.weight);
    }

    for texts in &parts {
        let Part { states, projected, tape } = match kept.take() {
            Some(part) => part,
            None => forward(texts)?,
        };
        options.stop.check()?;
        let rows = all.offsets()[texts.start]..all.offsets()[texts.end];
        let at = at_vectors.slice(s![rows, ..]);
        let at_states = late.backward(backbone.parameters(), states.view(), &projected, at, gradients)?;
        backbone.backward_tokens(tape, Upstream::states(at_states.view()), gradients)?;
    }
    Ok(found.loss)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use burn::tensor::Device;
    use wb_core::Seed;

    use super::*;
    use crate::{
        BurnBackbone, LateInteractionConfig, Stop, TokenBatch, Tokenizer,
        late_interaction::WEIGHT,
        losses::tests::{config, mixed_labels},
        native,
        similarities::SimilarityConfig,
        train::step::tests::dropping,
    };

    /// Loss and gradients with dropout on, however the batch is cut, on the processor and by burn.
    #[test]
    fn cached_gradients_equal_those_of_the_whole_batch() {
        cached_gradients(LateInteractionConfig { dim: 12, ..LateInteractionConfig::default() });
    }

    /// The same with queries that end in mask tokens which no token attends to.
    #[test]
    fn cached_gradients_with_unattended_tokens() {
        let late = LateInteractionConfig { dim: 12, expansion: 9, ..LateInteractionConfig::default() };
        let attended = cached_gradients(late.clone());
        assert_ne!(cached_gradients(LateInteractionConfig { attend: false, ..late }), attended);
    }

    /// Gives the first loss.
    fn cached_gradients(late: LateInteractionConfig) -> f64 {
        let tokenizer = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/tiny-bert/tokenizer.json");
        let tokenizer = Tokenizer::read(&tokenizer).unwrap();
        let mask = tokenizer.mask_token().unwrap();
        let late = LateInteraction::new(&late, &tokenizer, "late").unwrap();
        let mut model = dropping();
        model.parameters.insert(late.fresh(24, Seed(3)));
        let burn: Box<dyn Backbone> = Box::new(BurnBackbone::new(model.clone(), &Device::flex(), "flex").unwrap());
        let mut of_backbones = Vec::new();
        for backbone in [native::open(model).unwrap(), burn] {
            for (similarity, json) in [
                (r#""maxsim""#, r#"{"mnrl": {}}"#),
                (r#"{"xtr": {"top_k": 40}}"#, r#"{"mnrl": {}}"#),
                (r#""maxsim""#, r#"{"distill_kl": {}}"#),
            ] {
                let similarity: SimilarityConfig = serde_json::from_str(similarity).unwrap();
                let labels = mixed_labels(11, 2);
                let mut texts: Vec<Vec<u32>> = (0..labels.pairs() + labels.owners().len())
                    .map(|text| (0..1 + text * 7 % 19).map(|at| ((text * 13 + at * at * 5 + at) % 50) as u32).collect())
                    .collect();
                for query in &mut texts[..labels.pairs()] {
                    query.resize(query.len().max(late.config().expansion), mask);
                }
                let tokens = TokenBatch::new(texts.iter().map(Vec::as_slice));
                let batch = TrainBatch { pairs: (0..11).collect(), tokens, labels };
                let loss = LossOnEmbeddings::new(similarity, &config(json));
                let stop = Stop::default();
                let run = |micro_tokens, micro_texts, seed: Option<u64>| {
                    let mut gradients = Gradients::zeros(backbone.parameters());
                    let dropout = seed.map(Seed);
                    let options = StepOptions { dropout, micro_tokens, micro_texts, weight: 0.5, stop: &stop };
                    let found = accumulate_tokens(&*backbone, &late, &loss, &batch, 3, options, &mut gradients);
                    (found.unwrap(), gradients)
                };
                let (whole, expected) = run(0, 0, Some(9));
                assert_ne!(run(0, 0, Some(10)).0, whole, "{json}: dropout is off");
                let of_matrix = backbone.parameters().position(WEIGHT).unwrap();
                assert!(expected.at(of_matrix).iter().any(|g| g.abs() > 1e-3), "{json}: the matrix has no gradient");
                let largest = expected.iter().flatten().fold(0.0f32, |largest, g| largest.max(g.abs()));
                for (micro_tokens, micro_texts) in [(0, batch.tokens.len() - 1), (0, 4), (60, 0), (50, 7)] {
                    let (found, gradients) = run(micro_tokens, micro_texts, Some(9));
                    assert!((found - whole).abs() < 1e-5 * whole.max(1.0), "{json}: {found} is not {whole}");
                    let pairs = gradients.iter().flatten().zip(expected.iter().flatten());
                    let apart = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                    assert!(apart < 1e-5 * largest.max(1.0), "{json}: gradients differ by {apart} of {largest}");
                }
                of_backbones.push(run(0, 0, None));
            }
        }
        // Without dropout, whose masks may differ, both backbones give the same.
        let (native, burn) = of_backbones.split_at(of_backbones.len() / 2);
        for ((a, of_native), (b, of_burn)) in native.iter().zip(burn) {
            assert!((a - b).abs() < 1e-4 * a.max(1.0), "{a} is not {b}");
            let apart = of_native.iter().flatten().zip(of_burn.iter().flatten()).map(|(a, b)| (a - b).abs());
            let largest = of_native.iter().flatten().fold(0.0f32, |largest, g| largest.max(g.abs()));
            assert!(apart.fold(0.0, f32::max) < 1e-3 * largest.max(1.0));
        }
        native[0].0
    }
}
