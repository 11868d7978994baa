//! One batch to its loss and gradients: at once, or in parts with cached gradients.

use std::{borrow::Cow, ops::Range};

use ndarray::{Array2, s};
use wb_core::{Embeddings, Seed, Side};

use super::{meeting::Meeting, pair_step, prefetch::TrainBatch};
use crate::{
    backbone::{Backbone, BackboneTape, Dropout, Upstream},
    batch::TokenBatch,
    error::Result,
    late_interaction::Projected,
    losses::LossOnEmbeddings,
    parameters::Gradients,
    stop::Stop,
};

/// Settings of one batch's gradients.
#[derive(Clone, Copy)]
pub struct StepOptions<'a> {
    /// Draws dropout masks; `None` for no dropout.
    pub dropout: Option<Seed>,
    /// Parts of at most so many tokens with cached gradients; 0 for no limit.
    pub micro_tokens: usize,
    /// Parts of at most so many texts with cached gradients; 0 for no limit. Without either, the batch at once.
    pub micro_texts: usize,
    /// Factor of the gradients: 1 / batches of the step.
    pub weight: f32,
    /// Looked at before every pass: once it is set, the batch ends with [`crate::error::Error::Stopped`], and `gradients` are
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
///
/// With late interaction the vectors are those of tokens: between the two passes of a part only these are kept, and
/// neither its states nor its tape.
pub fn accumulate(
    backbone: &dyn Backbone,
    meeting: Meeting<'_>,
    loss: &LossOnEmbeddings,
    batch: &TrainBatch,
    number: u64,
    options: StepOptions<'_>,
    gradients: &mut Gradients,
) -> Result<f64> {
    let dropout = options.dropout.map(|seed| Dropout { seed: seed.number_at("dropout", number) });
    if let Meeting::Together(reading, max_tokens) = meeting {
        return pair_step::accumulate(backbone, (reading, max_tokens), loss, batch, dropout, options, gradients);
    }
    let late = meeting.late_interaction();
    let parts = parts(&batch.tokens, options.micro_tokens, options.micro_texts);
    let cached = parts.len() > 1;
    let anchors = batch.pairs.len();
    let forward = |texts: &Range<usize>| -> Result<Part> {
        options.stop.check()?;
        let tokens = if cached { Cow::Owned(batch.tokens.part(texts.clone())) } else { Cow::Borrowed(&batch.tokens) };
        let Some(late) = late else {
            let (vectors, tape) = backbone.embed_tracked(&tokens, dropout)?;
            return Ok(Part { vectors: Vectors::OfTexts(vectors), tape });
        };
        let side = |text: usize| if texts.start + text < anchors { Side::Query } else { Side::Document };
        let tokens = late.attending(tokens.into_owned(), side);
        let (_, states, tape) = backbone.embed_tokens_tracked(&tokens, dropout)?;
        let projected = late.project(backbone.parameters(), &tokens, states.view(), side)?;
        Ok(Part { vectors: Vectors::OfTokens { states, projected }, tape })
    };
    let room = if late.is_none() { batch.tokens.len() * backbone.dim() } else { 0 };
    let (mut values, mut offsets) = (Vec::with_capacity(room), vec![0]);
    let mut kept = None;
    for texts in &parts {
        let part = forward(texts)?;
        match &part.vectors {
            Vectors::OfTexts(vectors) => values.extend(vectors),
            Vectors::OfTokens { projected, .. } => {
                if projected.not_finite().is_some() {
                    return Ok(f64::NAN);
                }
                let first = offsets[offsets.len() - 1];
                values.extend(projected.view().iter());
                offsets.extend(projected.offsets()[1..].iter().map(|offset| first + offset));
            }
        }
        kept = (!cached).then_some(part);
    }
    let all = match late {
        Some(late) => Embeddings::of_values(values, late.dim(), Some(offsets)),
        None => Embeddings::of_values(values, backbone.dim(), None),
    }?;

    let rows: Vec<Range<usize>> = parts.iter().map(|texts| all.rows(texts.clone())).collect();
    let [of_anchors, of_documents] = [0..anchors, anchors..all.texts()].map(|texts| all.part(texts));
    // The vectors of a large batch are not held twice.
    drop(all);
    let found = loss.forward_backward(&of_anchors, &of_documents, &batch.labels)?;
    drop((of_anchors, of_documents));
    if !found.loss.is_finite() {
        return Ok(found.loss);
    }
    let mut at_vectors = stack(&found.at_anchors, &found.at_documents);
    if options.weight != 1.0 {
        at_vectors.mapv_inplace(|g| g * options.weight);
    }

    for (texts, rows) in parts.iter().zip(rows) {
        let at = at_vectors.slice(s![rows, ..]);
        let part = match (kept.take(), late) {
            (Some(part), _) => part,
            (None, Some(_)) => forward(texts)?,
            (None, None) => {
                options.stop.check()?;
                let tape = backbone.track_again(&batch.tokens.part(texts.clone()), dropout)?;
                options.stop.check()?;
                backbone.backward(tape, at, gradients)?;
                continue;
            }
        };
        options.stop.check()?;
        let Part { vectors, tape } = part;
        match (late, vectors) {
            (Some(late), Vectors::OfTokens { states, projected }) => {
                let at_states = late.backward(backbone.parameters(), states.view(), &projected, at, gradients)?;
                backbone.backward_tokens(tape, Upstream::states(at_states.view()), gradients)?;
            }
            _ => backbone.backward(tape, at, gradients)?,
        }
    }
    Ok(found.loss)
}

/// A part of a batch, gone forward.
struct Part {
    vectors: Vectors,
    tape: BackboneTape,
}

/// The vectors of a part, and what their backward pass needs beside the backbone's tape.
enum Vectors {
    OfTexts(Array2<f32>),
    OfTokens { states: Array2<f32>, projected: Projected },
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
pub(crate) mod tests {
    use std::path::Path;

    use burn::tensor::Device;

    use super::*;
    use crate::{
        late_interaction::{LateInteraction, LateInteractionConfig, WEIGHT},
        lora::{self, LoraConfig},
        losses::tests::{ALL, config, mixed_labels},
        models::{Architecture, BertConfig, Model},
        native,
        on_device::BurnBackbone,
        pooling::Pooling,
        similarities::SimilarityConfig,
        tokenizer::Tokenizer,
    };

    /// A small transformer in which everything drops: the model, its attention, its adapters.
    pub(crate) fn dropping() -> Model {
        let architecture = Architecture::Bert(BertConfig::tiny(0.2));
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
            parameter.values.floats_mut().iter_mut().enumerate().for_each(spread);
        }
        Model { architecture, parameters, pooling: Pooling::Mean, adapter: Some(adapter) }
    }

    /// Loss and gradients with dropout on, however the batch is cut: also with one text in the last part.
    #[test]
    fn cached_gradients_equal_those_of_the_whole_batch_for_every_loss() {
        for (backbone, some) in on_both(dropping()).into_iter().zip([1, 5]) {
            for (json, negatives) in ALL.into_iter().step_by(some) {
                let (_, expected) = check_parts(&*backbone, None, SimilarityConfig::Cosine, json, negatives);
                assert!(largest_of(&expected) > 1e-3, "{json}: no gradients");
            }
        }
    }

    /// A model on the processor and on burn.
    fn on_both(model: Model) -> [Box<dyn Backbone>; 2] {
        let burn = Box::new(BurnBackbone::new(model.clone(), &Device::flex(), "flex").unwrap());
        [native::open(model).unwrap(), burn]
    }

    fn largest_of(gradients: &Gradients) -> f32 {
        gradients.iter().flatten().fold(0.0f32, |largest, g| largest.max(g.abs()))
    }

    fn largest_difference(a: &Gradients, b: &Gradients) -> f32 {
        a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
    }

    /// Loss and gradients of 11 pairs without dropout and with it; with it they are the same in any parts.
    fn check_parts(
        backbone: &dyn Backbone,
        late: Option<&LateInteraction>,
        similarity: SimilarityConfig,
        json: &str,
        negatives: usize,
    ) -> ((f64, Gradients), Gradients) {
        let labels = mixed_labels(11, negatives);
        let mut texts: Vec<Vec<u32>> = (0..labels.pairs() + labels.owners().len())
            .map(|text| (0..1 + text * 7 % 19).map(|at| ((text * 13 + at * at * 5 + at) % 50) as u32).collect())
            .collect();
        if let Some(late) = late {
            let mask = tokenizer().mask_token().unwrap();
            for query in &mut texts[..labels.pairs()] {
                query.resize(query.len().max(late.config().expansion), mask);
            }
        }
        let tokens = TokenBatch::new(texts.iter().map(Vec::as_slice));
        let batch = TrainBatch { pairs: (0..11).collect(), tokens, labels };
        let (loss, stop) = (LossOnEmbeddings::new(similarity, &config(json)), Stop::default());
        let run = |micro_tokens, micro_texts, seed: Option<u64>| {
            let mut gradients = Gradients::zeros(backbone.parameters());
            let dropout = seed.map(Seed);
            let options = StepOptions { dropout, micro_tokens, micro_texts, weight: 0.5, stop: &stop };
            let meeting = late.map_or(Meeting::Vectors, Meeting::Tokens);
            (accumulate(backbone, meeting, &loss, &batch, 3, options, &mut gradients).unwrap(), gradients)
        };
        let (whole, expected) = run(0, 0, Some(9));
        assert_ne!(run(0, 0, Some(10)).0, whole, "{json}: dropout is off");
        let largest = largest_of(&expected);
        for (micro_tokens, micro_texts) in [(0, batch.tokens.len() - 1), (0, 4), (60, 0), (50, 7)] {
            let (found, gradients) = run(micro_tokens, micro_texts, Some(9));
            assert!((found - whole).abs() < 1e-5 * whole.max(1.0), "{json}: {found} is not {whole}");
            let apart = largest_difference(&gradients, &expected);
            assert!(apart < 1e-5 * largest.max(1.0), "{json}: gradients differ by {apart} of {largest}");
        }
        (run(0, 0, None), expected)
    }

    #[test]
    fn parts_hold_neighbours_up_to_the_limit() {
        let tokens = TokenBatch::of_lengths(&[3, 3, 3, 9, 1, 1]);
        assert_eq!(parts(&tokens, 0, 0), vec![0..6]);
        assert_eq!(parts(&tokens, 6, 0), [0..2, 2..3, 3..4, 4..6]);
        assert_eq!(parts(&tokens, 100, 0), vec![0..6]);
        assert_eq!(parts(&tokens, 1, 0), [0..1, 1..2, 2..3, 3..4, 4..5, 5..6]);
        assert_eq!(parts(&tokens, 0, 4), [0..4, 4..6]);
        assert_eq!(parts(&tokens, 9, 2), [0..2, 2..3, 3..4, 4..6]);
        assert_eq!(parts(&tokens, 0, 6), vec![0..6]);
    }

    /// Loss and gradients with dropout on, however the batch is cut, on the processor and by burn.
    #[test]
    fn cached_gradients_of_tokens_equal_those_of_the_whole_batch() {
        cached_gradients(LateInteractionConfig { dim: 12, ..LateInteractionConfig::default() });
    }

    /// Tests queries that end in mask tokens which no token attends to.
    #[test]
    fn cached_gradients_with_unattended_tokens() {
        let late = LateInteractionConfig { dim: 12, expansion: 9, ..LateInteractionConfig::default() };
        let attended = cached_gradients(late.clone());
        assert_ne!(cached_gradients(LateInteractionConfig { attend: false, ..late }), attended);
    }

    fn tokenizer() -> Tokenizer {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/tiny-bert/tokenizer.json");
        Tokenizer::read(&golden).unwrap()
    }

    /// Gives the first loss.
    fn cached_gradients(late: LateInteractionConfig) -> f64 {
        let late = LateInteraction::new(&late, &tokenizer(), "late").unwrap();
        let mut model = dropping();
        model.parameters.insert(late.fresh(24, Seed(3)));
        let mut of_backbones = Vec::new();
        for backbone in on_both(model) {
            for (similarity, json) in [
                (r#""maxsim""#, r#"{"mnrl": {}}"#),
                (r#"{"xtr": {"top_k": 40}}"#, r#"{"mnrl": {}}"#),
                (r#""maxsim""#, r#"{"distill_kl": {}}"#),
            ] {
                let similarity: SimilarityConfig = serde_json::from_str(similarity).unwrap();
                let (without_dropout, expected) = check_parts(&*backbone, Some(&late), similarity, json, 2);
                let of_matrix = backbone.parameters().position(WEIGHT).unwrap();
                assert!(expected.at(of_matrix).iter().any(|g| g.abs() > 1e-3), "{json}: the matrix has no gradient");
                of_backbones.push(without_dropout);
            }
        }
        // Without dropout, whose masks may differ, both backbones give the same.
        let (native, burn) = of_backbones.split_at(of_backbones.len() / 2);
        for ((a, of_native), (b, of_burn)) in native.iter().zip(burn) {
            assert!((a - b).abs() < 1e-4 * a.max(1.0), "{a} is not {b}");
            assert!(largest_difference(of_native, of_burn) < 1e-3 * largest_of(of_native).max(1.0));
        }
        native[0].0
    }
}
