//! Memory while training, reckoned from sizes: weights and what learning adds to them, activations, a batch's vectors and scores.
//!
//! The processor's way (`wb-encoder/src/native`) is reckoned array by array, as its tapes keep them. What a device keeps
//! is reckoned by the operations of burn's graph and is an upper bound: fused kernels keep less.

use std::collections::HashSet;

use wb_encoder::{
    Architecture, BATCH_TOKENS, Folder, Parameter, Precision, lora,
    native::{BLOCK, WHOLE},
    train::TrainConfig,
};

use super::lengths::Lengths;

/// Bytes of a number.
const FLOAT: f64 = 4.0;
/// Tokens that one thread of the processor takes together, before the text that reaches over.
const GROUP_TOKENS: f64 = 256.0;
/// Sums of gradients that are kept apart on the processor.
const LANES: f64 = 8.0;
/// Tokens up to which a device keeps attention's probabilities of a text, and queries of a block of longer ones.
const KEPT_ON_DEVICE: f64 = 256.0;
const BLOCK_ON_DEVICE: f64 = 512.0;

/// Lengths are padded to multiples of this on a device.
const BUCKET: f64 = 16.0;

/// Bytes, by what they hold.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MemoryCost {
    /// Weights in host memory, gradients, the optimizer's two moments, an average where there is one.
    pub weights: f64,
    /// Weights as the kernels read them, and sums of gradients apart; or all that a device keeps of weights, with the
    /// gradients, moments and average of those that train.
    pub copies: f64,
    /// Kept between the passes of a part of a batch.
    pub kept: f64,
    /// Buffers of the threads.
    pub buffers: f64,
    /// Vectors, scores and their gradients of a whole batch.
    pub batch: f64,
    /// Tokens of the part of a batch that is gone through at once.
    pub part_tokens: f64,
    /// True where `copies`, `kept` and `buffers` are a device's memory, and not this machine's.
    pub on_device: bool,
}

/// Facts that decide the memory of a training beside its config.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// Lengths of the texts.
    pub lengths: Lengths,
    /// Hard negatives that a pair brings.
    pub negatives: usize,
    /// Threads of the processor.
    pub threads: usize,
    /// True where the processor trains.
    pub is_cpu: bool,
    /// True where the encoder before training is kept, to be measured too.
    pub untrained: bool,
}

/// The memory of training an encoder.
pub fn memory(folder: &Folder, train: &TrainConfig, setting: Setting) -> MemoryCost {
    let parameters: Vec<&Parameter> = folder.model.parameters.iter().collect();
    let (all, trainable) = folder.model.parameters.counts();
    // What does not train is the same memory before training and after it.
    let moments =
        3 + usize::from(train.ema > 0.0) + usize::from(train.interpolate < 1.0) + usize::from(setting.untrained);
    let layers = Layers::of(&folder.model.architecture, &parameters);
    let Lengths { query, document, .. } = setting.lengths;
    let (pairs, documents) = (train.batch.pairs as f64, (train.batch.pairs * (1 + setting.negatives)) as f64);
    let together = folder.pair_reading.is_some();
    let tokens = if together { documents * (query + document) } else { pairs * query + documents * document };
    let part = part_tokens(train, tokens, (pairs + documents).max(1.0));
    // A token's attention reaches over its own text: the mean over tokens, not over texts.
    let mean_of = |of: &dyn Fn(f64) -> f64| match together {
        true => of(query + document),
        false => (pairs * query * of(query) + documents * document * of(document)) / tokens.max(1.0),
    };
    let (copies, kept, buffers) = match setting.is_cpu {
        true => {
            let kept = part * layers.kept_on_cpu(mean_of(&kept_keys), train.gradient_checkpointing);
            let longest = query.max(document);
            // Not more groups at once than there are; a long one's blocks are the work of all threads.
            let groups = (setting.threads as f64).min((part / GROUP_TOKENS).ceil().max(1.0));
            let in_blocks = if longest > WHOLE as f64 { setting.threads as f64 } else { groups };
            let group = GROUP_TOKENS + document;
            (
                bytes_of_copies_on_cpu(&folder.model.architecture, &parameters),
                kept,
                groups * group * layers.buffer(train.gradient_checkpointing) + in_blocks * layers.scores(longest),
            )
        }
        false => {
            let length = mean_of(&|length| length);
            let padded = (length / BUCKET).ceil() * BUCKET;
            let share = if length > 0.0 { padded / length } else { 1.0 };
            let moments = 3 + usize::from(train.ema > 0.0);
            let saved = match train.precision {
                Precision::Fp32 => 0.0,
                // Matrices of linear layers that do not train are there in 16 bits.
                Precision::Bf16 | Precision::F16 => FLOAT / 2.0 * frozen(&folder.model.architecture, &parameters),
            };
            let weights = FLOAT * (all + moments * trainable) as f64 - saved;
            let (layer, checkpointing) = (layers.on_device(padded), train.gradient_checkpointing);
            let kept = if checkpointing { layers.hidden } else { layer };
            // With checkpointing a layer of one group of texts is computed again at a time.
            let of_layer = layers.scores_on_device(padded) + if checkpointing { layer } else { 0.0 };
            let again = (part * share).min(BATCH_TOKENS as f64) * of_layer;
            (weights, part * share * (2.0 * layers.hidden + layers.count * kept), again)
        }
    };
    let batch = match &folder.late_interaction {
        // The vectors as made, gathered and prepared, their gradient and that at the states; each query token's maximum
        // over each document, with its place.
        Some(late) => tokens * late.dim() as f64 * 5.0 + pairs * query * documents * 2.0,
        // Embeddings, their gradient and both stacked; scores and their gradient.
        None => (pairs + documents) * folder.dim() as f64 * 3.0 + pairs * documents * 2.0,
    };
    MemoryCost {
        weights: parameters.iter().map(|p| p.bytes() as f64).sum::<f64>() + FLOAT * (moments * trainable) as f64,
        copies,
        kept: FLOAT * kept,
        buffers: FLOAT * buffers,
        batch: FLOAT * batch,
        part_tokens: part,
        on_device: !setting.is_cpu,
    }
}

/// Tokens of a part of a batch: all of it without gradient caching.
fn part_tokens(train: &TrainConfig, tokens: f64, texts: f64) -> f64 {
    let limit = |most: usize| if most == 0 { f64::INFINITY } else { most as f64 };
    tokens.min(limit(train.batch.micro_tokens.at_first())).min(limit(train.batch.micro_texts) * tokens / texts)
}

/// Probabilities of one head that the processor keeps of a token of a text of this length.
fn kept_keys(length: f64) -> f64 {
    if length > WHOLE as f64 { 0.0 } else { length }
}

/// The sizes of a transformer's layers, as numbers to count with.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Layers {
    count: f64,
    /// Width of the stream.
    hidden: f64,
    /// Width of queries, and of the heads' outputs.
    queries: f64,
    /// Width of queries, keys and values together.
    projections: f64,
    heads: f64,
    /// Numbers before the activation; with a gate, twice the feed-forward part's width.
    wide: f64,
    /// Numbers of the heads' outputs that the backward pass needs: where the layer after them learns.
    context: f64,
    /// Normalizations before the first layer and after the last.
    norm: f64,
    /// Numbers of the normalizations of the heads, and of what is added to the stream.
    other_norms: f64,
}

impl Layers {
    fn of(architecture: &Architecture, parameters: &[&Parameter]) -> Self {
        let Some(stack) = architecture.stack() else { return Self::default() };
        let Some(layer) = stack.layers.first() else { return Self::default() };
        let outputs: Vec<&str> = stack.layers.iter().map(|layer| layer.attention_output.name.as_str()).collect();
        let learns = parameters.iter().any(|p| {
            let of_layer = |name: &&str| p.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
            p.trainable && p.shape.len() == 2 && outputs.iter().any(of_layer)
        });
        let (queries, keys) = stack.heads.widths();
        let norms = [&stack.embedding_norm, &stack.final_norm].into_iter().flatten().count();
        let of_updates = [&layer.attention_update_norm, &layer.feed_forward_update_norm].into_iter().flatten().count();
        let of_heads = |_: &[String; 2]| queries + keys + stack.heads.count + stack.heads.shared;
        Self {
            count: stack.layers.len() as f64,
            hidden: stack.width as f64,
            queries: queries as f64,
            projections: (queries + 2 * keys) as f64,
            heads: stack.heads.count as f64,
            wide: (stack.wide * if stack.gated { 2 } else { 1 }) as f64,
            context: if learns { queries as f64 } else { 0.0 },
            norm: (norms * (stack.width + 1)) as f64,
            other_norms: (layer.head_norms.as_ref().map_or(0, of_heads) + of_updates * (stack.width + 1)) as f64,
        }
    }

    /// Numbers of a layer's tape for a token of which each head keeps so many probabilities: query, key and value, those
    /// probabilities, the heads' outputs, two normalizations and the input of the activation.
    fn tape(&self, keys: f64) -> f64 {
        let norms = 2.0 * (self.hidden + 1.0) + self.other_norms;
        self.projections + self.heads * keys + self.context + norms + self.wide
    }

    /// Numbers that the processor keeps of a token, `keys` probabilities of each head among them. A bag keeps each
    /// token's id and share.
    fn kept_on_cpu(&self, keys: f64, checkpointing: bool) -> f64 {
        if self.count == 0.0 {
            return 2.0;
        }
        let layer = if checkpointing { self.hidden } else { self.tape(keys) };
        self.norm + self.count * layer
    }

    /// Numbers of one thread's buffers for a token of its group: two streams, update, input, projections, context and the
    /// wide layer twice; with checkpointing the tape of a layer too.
    fn buffer(&self, checkpointing: bool) -> f64 {
        let tape = if checkpointing { self.tape(GROUP_TOKENS) } else { 0.0 };
        3.0 * self.hidden + self.projections + self.queries + 2.0 * self.wide + tape
    }

    /// Numbers of one thread's buffers for the scores of one head: probabilities, those after dropout and their gradient,
    /// of a text as a whole or of a block of it.
    fn scores(&self, length: f64) -> f64 {
        let queries = if length > WHOLE as f64 { BLOCK as f64 } else { length };
        if self.count == 0.0 { 0.0 } else { 3.0 * queries * length }
    }

    /// Numbers that burn's graph keeps of a padded token in a layer: the results of its operations, sixteen as wide as the
    /// stream, four of scores where texts are short, four of the wide layer.
    fn on_device(&self, padded: f64) -> f64 {
        let scores = if padded > KEPT_ON_DEVICE { 0.0 } else { 4.0 * self.heads * padded };
        16.0 * self.hidden.max(self.queries) + scores + 4.0 * self.wide
    }

    /// Numbers of a token's scores that are there on the way back, of one layer and group at a time, where none are kept.
    fn scores_on_device(&self, padded: f64) -> f64 {
        if padded > KEPT_ON_DEVICE { 4.0 * self.heads * padded.min(BLOCK_ON_DEVICE) } else { 0.0 }
    }
}

/// Names of the matrices of linear layers.
pub(super) fn linear(architecture: &Architecture) -> HashSet<String> {
    architecture.linear_layers().into_iter().map(|name| name + ".weight").collect()
}

/// Numbers of linear layers that do not train.
fn frozen(architecture: &Architecture, parameters: &[&Parameter]) -> f64 {
    let linear = linear(architecture);
    let frozen = parameters.iter().filter(|p| !p.trainable && linear.contains(&p.name));
    frozen.map(|p| p.shape.iter().product::<usize>() as f64).sum()
}

/// Bytes that the processor holds beside the weights: linear layers packed for both passes, or for the backward pass
/// alone where they do not train and are themselves packed for the other, and once more for that where DoRA learns their
/// rows' lengths; and eight sums of gradients of all that trains but the tables. A bag has neither.
fn bytes_of_copies_on_cpu(architecture: &Architecture, parameters: &[&Parameter]) -> f64 {
    if architecture.stack().is_none() {
        return 0.0;
    }
    let bytes = |of: &dyn Fn(&Parameter) -> f64| parameters.iter().map(|p| of(p)).sum::<f64>();
    let linear = linear(architecture);
    let is_adapter = |p: &Parameter| lora::is_adapter(&p.name);
    let layers_of_dora: HashSet<&str> = parameters.iter().filter_map(|p| lora::layer_of_magnitude(&p.name)).collect();
    let has_magnitudes =
        |p: &Parameter| p.name.strip_suffix(".weight").is_some_and(|layer| layers_of_dora.contains(layer));
    let is_linear = |p: &Parameter| linear.contains(&p.name);
    let is_table = |p: &Parameter| {
        p.shape.len() == 2 && !is_linear(p) && !is_adapter(p) && !p.name.starts_with("late_interaction.")
    };
    let of_packs = |p: &Parameter| match (is_linear(p), p.trainable) {
        (false, _) => 0.0,
        (true, trainable) => p.bytes() as f64 * if trainable || has_magnitudes(p) { 2.0 } else { 1.0 },
    };
    let of_sums = |p: &Parameter| if p.trainable && !is_table(p) { LANES * p.bytes() as f64 } else { 0.0 };
    bytes(&of_packs) + bytes(&of_sums)
}

#[cfg(test)]
pub(super) mod tests;
