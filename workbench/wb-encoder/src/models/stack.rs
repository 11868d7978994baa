//! A transformer, described: what one forward and one backward pass have to know of an architecture.

use std::fmt::Display;

use super::Activation;
use crate::error::{Result, expect_value};

/// A transformer of layers with self-attention and a feed-forward part, whose weights are named as in its files.
#[derive(Debug, Clone, PartialEq)]
pub struct Stack {
    /// Rows of the table of token vectors.
    pub vocab_size: usize,
    /// Width of the stream.
    pub width: usize,
    /// The longest text, in tokens; `None` where any length works.
    pub max_tokens: Option<usize>,
    /// Heads of each layer.
    pub heads: HeadSizes,
    /// Width of the feed-forward part.
    pub wide: usize,
    /// True where the feed-forward part is `activation(gate) · up` (Shazeer 2020, arXiv 2002.05202), else
    /// `activation(up)`.
    pub gated: bool,
    /// Activation of the feed-forward part.
    pub activation: Activation,
    /// Normalization of the stream.
    pub norm: NormKind,
    /// Added to the variance, or to the mean square, in normalization.
    pub epsilon: f64,
    /// Place of the layers' normalizations.
    pub order: NormOrder,
    /// The table of token vectors.
    pub words: String,
    /// Factor of token vectors.
    pub word_scale: f64,
    /// The table of vectors of places, where there is one.
    pub positions: Option<PositionTable>,
    /// The table of vectors of token types, where there is one, and its rows. Outside of pairs, all tokens have type 0.
    pub token_types: Option<(String, usize)>,
    /// Normalization of the sum of the tables' vectors.
    pub embedding_norm: Option<String>,
    /// Learned numbers that all layers add to their scores.
    pub distances: Option<DistanceTable>,
    /// The layers, from below.
    pub layers: Vec<StackLayer>,
    /// Normalization of the last layer's output.
    pub final_norm: Option<String>,
    /// Dropout while training.
    pub dropout: StackDropout,
}

impl Stack {
    /// Refuses sizes that cannot be: zeros, heads that do not share evenly, a rate of dropout that leaves nothing.
    pub fn validate(&self, key: &str) -> Result<()> {
        let expect = |name: &str, value: &dyn Display, fine: bool, expected: &str| {
            expect_value(format!("{key}.{name}"), value, fine, expected)
        };
        let HeadSizes { count, shared, size, .. } = self.heads;
        for (name, value) in [
            ("vocab_size", self.vocab_size),
            ("hidden_size", self.width),
            ("num_hidden_layers", self.layers.len()),
            ("num_attention_heads", count),
            ("num_key_value_heads", shared),
            ("head_dim", size),
            ("intermediate_size", self.wide),
            ("max_position_embeddings", self.max_tokens.unwrap_or(1)),
        ] {
            expect(name, &value, value > 0, "at least 1")?;
        }
        let expected = format!("a divisor of the {count} heads that ask");
        expect("num_key_value_heads", &shared, count.is_multiple_of(shared), &expected)?;
        let fine = self.epsilon > 0.0 && self.epsilon.is_finite();
        expect("norm_eps", &self.epsilon, fine, "a small positive number")?;
        let bases = self.layers.iter().filter_map(|layer| layer.rotary).map(|rotary| rotary.base);
        for base in bases {
            expect("rope_theta", &base, base > 0.0 && base.is_finite(), "a positive number")?;
        }
        let StackDropout { embeddings, attention, attention_output, inner, output, states } = self.dropout;
        for rate in [embeddings, attention, attention_output, inner, output, states] {
            expect("dropout", &rate, (0.0..1.0).contains(&rate), "at least 0 and less than 1")?;
        }
        Ok(())
    }
}

/// Heads of a layer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeadSizes {
    /// Heads that ask.
    pub count: usize,
    /// Heads that answer, each of them to `count / shared` that ask (Ainslie et al. 2023, arXiv 2305.13245).
    pub shared: usize,
    /// Numbers of a head.
    pub size: usize,
    /// Factor of the scores.
    pub scale: f64,
}

impl HeadSizes {
    /// Heads of which as many answer as ask, with scores over the root of their size.
    pub fn plain(count: usize, size: usize) -> Self {
        Self { count, shared: count, size, scale: 1.0 / (size as f64).sqrt() }
    }

    /// Numbers of all queries of a token, and of its keys, which are as many as those of its values.
    pub fn widths(&self) -> (usize, usize) {
        (self.count * self.size, self.shared * self.size)
    }
}

/// Normalization.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NormKind {
    /// Normalization by mean and variance, with a weight and, where `shift` says so, something to add.
    Layer {
        /// Something is added.
        shift: bool,
    },
    /// Normalization by the mean square, with a weight.
    Rms {
        /// Weights are kept as differences from one.
        from_one: bool,
    },
}

/// Place of a layer's normalizations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NormOrder {
    /// Each part of a layer reads the normalized stream, and adds to the stream as it is.
    Before,
    /// Each part of a layer reads the stream, which is normalized after the part was added.
    After,
}

/// A table of vectors of places.
#[derive(Debug, Clone, PartialEq)]
pub struct PositionTable {
    /// Name of the weight.
    pub name: String,
    /// Number of rows.
    pub rows: usize,
    /// Row of a text's first token.
    pub first: usize,
}

/// A learned number for each head and bucket of distances (T5, Raffel et al. 2020, arXiv 1910.10683).
#[derive(Debug, Clone, PartialEq)]
pub struct DistanceTable {
    /// Name of the weight, `[buckets, heads]`.
    pub name: String,
    /// Number of buckets; a multiple of 4.
    pub buckets: usize,
    /// Distance from which on all share a bucket.
    pub furthest: usize,
}

impl DistanceTable {
    /// The bucket of a key that stands `distance` tokens after the query (before it where negative).
    ///
    /// Half of the buckets are for keys after the query. Of each half, the lower half is for single distances, and the
    /// upper one for ranges that grow by a constant factor up to the furthest.
    pub fn bucket(&self, distance: isize) -> usize {
        let half = self.buckets / 2;
        let side = if distance > 0 { half } else { 0 };
        let (distance, exact) = (distance.unsigned_abs(), half / 2);
        if distance < exact {
            return side + distance;
        }
        // In single precision, as transformers computes it: at the ranges' ends the rounding decides.
        let octaves = (distance as f32 / exact as f32).ln();
        let all = (self.furthest as f64 / exact as f64).ln() as f32;
        let range = (octaves / all * (half - exact) as f32) as usize;
        side + (exact + range).min(half - 1)
    }
}

/// A layer's weights by name, and what its attention sees.
#[derive(Debug, Clone, PartialEq)]
pub struct StackLayer {
    /// Normalization before attention, or after it; none where attention reads what the normalized embeddings are.
    pub attention_norm: Option<String>,
    /// Query, key and value, whose outputs stand side by side in this order; they may be one matrix.
    pub projections: Vec<LinearSpec>,
    /// Normalization of each head's query and key by its mean square, where there is one.
    pub head_norms: Option<[String; 2]>,
    /// Turning of queries and keys by their places.
    pub rotary: Option<Rotary>,
    /// Keys that a query sees.
    pub reach: Reach,
    /// From the heads' outputs to the stream.
    pub attention_output: LinearSpec,
    /// Normalization of what attention adds to the stream, where there is one.
    pub attention_update_norm: Option<String>,
    /// Normalization before the feed-forward part, or after it.
    pub feed_forward_norm: String,
    /// Into the feed-forward part: gate and up side by side, where it is gated; they may be one matrix.
    pub inner: Vec<LinearSpec>,
    /// Out of the feed-forward part.
    pub output: LinearSpec,
    /// Normalization of what the feed-forward part adds to the stream, where there is one.
    pub feed_forward_update_norm: Option<String>,
}

impl StackLayer {
    /// Its linear layers, in the order in which they are computed.
    pub fn linear(&self) -> impl Iterator<Item = &LinearSpec> {
        self.projections.iter().chain([&self.attention_output]).chain(&self.inner).chain([&self.output])
    }
}

/// A linear layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinearSpec {
    /// Its name, without `.weight`.
    pub name: String,
    /// Numbers that it takes.
    pub inputs: usize,
    /// Numbers that it gives.
    pub outputs: usize,
    /// True where it adds a bias.
    pub bias: bool,
}

/// Rotary positions (Su et al. 2021, arXiv 2104.09864): number `i` of a head and number `i + size / 2` turn together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rotary {
    /// Numbers of a head that turn, from its first.
    pub size: usize,
    /// Pair `i` turns by `place / base^(2i / size)`.
    pub base: f64,
}

impl Rotary {
    /// Cosines and sines of so many places, `[places, size / 2]` each.
    pub fn table(&self, places: usize) -> (Vec<f32>, Vec<f32>) {
        // In single precision where transformers computes in it, the exponent too: at far places its rounding is what a
        // model has learned, at the 8,192nd up to 5e-4 of an angle.
        let exponent = |pair: usize| f64::from((2 * pair) as f32 / self.size as f32);
        let turns = (0..self.size / 2).map(|pair| 1.0 / self.base.powf(exponent(pair)) as f32);
        let turns: Vec<f32> = turns.collect();
        let angles = (0..places).flat_map(|place| turns.iter().map(move |turn| f64::from(place as f32 * turn)));
        angles.map(|angle| (angle.cos() as f32, angle.sin() as f32)).unzip()
    }
}

/// Keys that a query sees, beside its own: so many tokens before it, and after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reach {
    /// Tokens before the query.
    pub before: usize,
    /// Tokens after the query.
    pub after: usize,
}

impl Reach {
    /// All tokens of a text.
    pub const ALL: Self = Self { before: usize::MAX, after: usize::MAX };
    /// All tokens before the query: a decoder's.
    pub const BEFORE: Self = Self { before: usize::MAX, after: 0 };
}

/// Probabilities of dropout.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct StackDropout {
    /// Rate on the embeddings.
    pub embeddings: f64,
    /// Rate on the attention's probabilities.
    pub attention: f64,
    /// Rate on the attention's output.
    pub attention_output: f64,
    /// Rate between the products of the feed-forward part.
    pub inner: f64,
    /// Rate on the feed-forward part's output.
    pub output: f64,
    /// Rate on the states after the last normalization.
    pub states: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 32 buckets up to 128: 8 single distances, then ranges that begin at 8 · 16^(k/8) = 8, 11.3, 16, 22.6, 32, 45.3, 64, 90.5.
    #[test]
    fn buckets_by_hand() {
        let table = DistanceTable { name: String::new(), buckets: 32, furthest: 128 };
        for (distance, bucket) in [
            (0, 0),
            (1, 17),
            (-1, 1),
            (7, 23),
            (-7, 7),
            (-8, 8),
            (-11, 8),
            (-12, 9),
            (-15, 9),
            (-16, 10),
            (-22, 10),
            (-23, 11),
            (-31, 11),
            (-32, 12),
            (-45, 12),
            (-46, 13),
            (-63, 13),
            (-64, 14),
            (-90, 14),
            (-91, 15),
            (-1000, 15),
            (8, 24),
            (127, 31),
            (1000, 31),
        ] {
            assert_eq!(table.bucket(distance), bucket, "{distance}");
        }
    }
}
