//! Attention inside each text, head by head, forward and backward: all its tokens ask, and those that are attended to
//! ([`keys`](crate::batch::TokenBatch::keys) of them) and in reach answer.

use std::ops::Range;

use rayon::prelude::*;

use super::{
    distances::Distances, dropout_mask::Mask, linear::GroupPass, pool::sized, sharing::may_share, states::rows_of,
};
use crate::{
    dropout::attention_element,
    kernels::{Mat, MatMut, matmul, softmax},
    models::stack::{HeadSizes, Reach},
};

/// Number of tokens up to which a text is taken as a whole. Longer ones are asked about in blocks of [`BLOCK`] queries, and their probabilities are not kept but
/// computed again in the backward pass (Dao et al. 2022, arXiv 2205.14135, without its blocks of keys): memory does not
/// grow with the square of their length, and queries of a short reach cost what they look at.
pub const WHOLE: usize = 512;

/// Queries of a long text that are computed together.
pub const BLOCK: usize = 256;

/// A layer's heads: their sizes, what they see, and what is done to their scores and probabilities. Their parts stand in
/// rows of all queries, keys and values of a token.
#[derive(Debug, Clone, Copy)]
pub struct Heads {
    pub sizes: HeadSizes,
    pub reach: Reach,
    /// Dropout on the probabilities.
    pub mask: Option<Mask>,
}

/// Buffers of attention.
#[derive(Debug, Default)]
pub struct AttentionScratch {
    /// Probabilities of one head.
    pub probabilities: Vec<f32>,
    /// Attention probabilities after dropout.
    pub dropped: Vec<f32>,
    /// Gradients at one head's scores.
    pub d_scores: Vec<f32>,
}

/// A text of a group.
#[derive(Debug, Clone, Copy)]
struct Text {
    /// Its place in the whole batch.
    place: u64,
    /// Its first row in the group.
    first: usize,
    /// Its tokens.
    n: usize,
    /// Tokens of them that are attended to.
    keys: usize,
}

impl Text {
    fn of(pass: GroupPass<'_>, text: usize) -> Self {
        let (first, n) = rows_of(pass.batch, pass.group, text);
        Self { place: pass.batch.place(text), first, n, keys: pass.batch.keys(text) }
    }

    /// Number of one head's probabilities that a tape keeps.
    fn kept(self) -> usize {
        if self.n > WHOLE { 0 } else { self.n * self.keys }
    }
}

/// Some neighbouring queries of a text, and the keys that any of them sees.
#[derive(Debug, Clone)]
struct Block {
    queries: Range<usize>,
    keys: Range<usize>,
}

impl Block {
    /// Number of scores.
    fn len(&self) -> usize {
        self.queries.len() * self.keys.len()
    }
}

/// Columns of a head's query, key and value.
#[derive(Debug, Clone, Copy)]
struct Columns {
    query: usize,
    key: usize,
    value: usize,
    /// Columns of a row.
    width: usize,
}

impl Heads {
    fn columns(self, head: usize) -> Columns {
        let HeadSizes { count, shared, size, .. } = self.sizes;
        let (queries, keys) = self.sizes.widths();
        let key = queries + head / (count / shared) * size;
        Columns { query: head * size, key, value: key + keys, width: queries + 2 * keys }
    }

    /// Number of probabilities that a tape keeps of a group.
    fn n_kept(&self, pass: GroupPass<'_>) -> usize {
        pass.group.texts.clone().map(|text| Text::of(pass, text).kept()).sum::<usize>() * self.sizes.count
    }

    /// A text in blocks: as a whole, unless it is long.
    fn blocks(self, text: Text) -> impl Iterator<Item = Block> {
        let size = if text.n > WHOLE { BLOCK } else { text.n.max(1) };
        (0..text.n).step_by(size).map(move |start| {
            let queries = start..(start + size).min(text.n);
            let keys = if text.n > WHOLE { self.seen(queries.clone(), text.keys) } else { 0..text.keys };
            Block { queries, keys }
        })
    }

    /// The keys that any of these queries sees, of so many; all of them where one would see none.
    fn seen(self, queries: Range<usize>, keys: usize) -> Range<usize> {
        let Reach { before, after } = self.reach;
        match self.sees(queries.end - 1, keys) {
            None => 0..keys,
            Some(_) => queries.start.saturating_sub(before)..queries.end.saturating_add(after).min(keys),
        }
    }

    /// The keys that a query sees, of so many; `None` where there are none in its reach.
    fn sees(self, query: usize, keys: usize) -> Option<Range<usize>> {
        let Reach { before, after } = self.reach;
        let seen = query.saturating_sub(before)..query.saturating_add(1).saturating_add(after).min(keys);
        (!seen.is_empty()).then_some(seen)
    }

    /// Scores of keys out of reach become those that no softmax sees. A query that would see no key sees all of them, as
    /// in transformers.
    fn hide(self, scores: &mut [f32], queries: Range<usize>, columns: &Range<usize>, keys: usize) {
        if self.reach == Reach::ALL {
            return;
        }
        for (row, query) in scores.chunks_exact_mut(columns.len()).zip(queries) {
            let Some(seen) = self.sees(query, keys) else { continue };
            row[..seen.start - columns.start].fill(f32::NEG_INFINITY);
            row[seen.end - columns.start..].fill(f32::NEG_INFINITY);
        }
    }

    /// One head's probabilities of a block, out of its part of a text's projections.
    fn probabilities(
        self,
        head: usize,
        block: &Block,
        text: Text,
        bias: Option<&Distances>,
        projections: &[f32],
        p: &mut [f32],
    ) {
        let (at, Block { queries, keys }) = (self.columns(head), block);
        let part = |column: usize, rows: &Range<usize>| {
            let first = (text.first + rows.start) * at.width + column;
            Mat::strided(&projections[first..], rows.len(), self.sizes.size, at.width)
        };
        let scores = MatMut::new(p, queries.len(), keys.len());
        matmul(scores, false, part(at.query, queries), part(at.key, keys).t(), self.scale());
        if let Some(bias) = bias {
            bias.add_to(head, p, queries.start, keys);
        }
        self.hide(p, queries.clone(), keys, text.keys);
        softmax::softmax_rows(p, keys.len());
    }

    /// Dropout on one head's probabilities of a block, or on their gradients.
    fn drop(mask: Mask, head: usize, block: &Block, text: Text, x: &mut [f32]) {
        let Block { queries, keys } = block;
        let element = |row: usize| attention_element(queries.start + row) + keys.start as u32;
        mask.apply_to_rows(x, keys.len(), mask.of_text(text.place).of(head as u32), element);
    }

    /// One head's probabilities of a block after dropout: in `dropped`, or as they are where there is none.
    fn dropped<'p>(self, head: usize, block: &Block, text: Text, p: &'p [f32], dropped: &'p mut Vec<f32>) -> &'p [f32] {
        let Some(mask) = self.mask else { return p };
        let dropped = sized(dropped, block.len());
        dropped.copy_from_slice(p);
        Self::drop(mask, head, block, text, dropped);
        dropped
    }

    /// `context = softmax(scale · q·kᵀ + bias)·v` for each text and head, where there is a bias.
    ///
    /// With `keep`, the probabilities of texts that are not long are left there, text by text, head by head. Blocks of
    /// long ones are the work of all threads, where they may be shared.
    pub fn attend(
        self,
        pass: GroupPass<'_>,
        bias: Option<&Distances>,
        projections: &[f32],
        context: &mut [f32],
        keep: Option<&mut Vec<f32>>,
        scratch: &mut AttentionScratch,
    ) {
        let inner = self.sizes.count * self.sizes.size;
        let mut kept: &mut [f32] = match keep {
            Some(kept) => sized(kept, self.n_kept(pass)),
            None => &mut [],
        };
        for text in pass.group.texts.clone().map(|text| Text::of(pass, text)).filter(|text| text.n > 0) {
            let context = &mut context[text.first * inner..][..text.n * inner];
            if text.n > WHOLE && may_share() {
                let blocks: Vec<Block> = self.blocks(text).collect();
                context.par_chunks_mut(BLOCK * inner).zip(blocks).for_each_init(
                    AttentionScratch::default,
                    |scratch, (context, block)| {
                        for head in 0..self.sizes.count {
                            self.attend_block(head, &block, text, bias, projections, context, None, scratch);
                        }
                    },
                );
                continue;
            }
            for head in 0..self.sizes.count {
                for block in self.blocks(text) {
                    let kept = if text.kept() > 0 { kept.split_off_mut(..block.len()) } else { None };
                    let context = &mut context[block.queries.start * inner..];
                    self.attend_block(head, &block, text, bias, projections, context, kept, scratch);
                }
            }
        }
    }

    /// One head of a block's queries, whose rows of the context are given; its probabilities go to `kept`, if it is there.
    #[expect(clippy::too_many_arguments, reason = "the place, what is read, and what is written")]
    fn attend_block(
        self,
        head: usize,
        block: &Block,
        text: Text,
        bias: Option<&Distances>,
        projections: &[f32],
        context: &mut [f32],
        kept: Option<&mut [f32]>,
        scratch: &mut AttentionScratch,
    ) {
        let AttentionScratch { probabilities, dropped, .. } = scratch;
        let HeadSizes { count, size, .. } = self.sizes;
        let (at, Block { queries, keys }) = (self.columns(head), block);
        let p = kept.unwrap_or_else(|| sized(probabilities, block.len()));
        self.probabilities(head, block, text, bias, projections, p);
        let p = self.dropped(head, block, text, p, dropped);
        let value = &projections[(text.first + keys.start) * at.width + at.value..];
        let value = Mat::strided(value, keys.len(), size, at.width);
        let out = MatMut::strided(&mut context[head * size..], queries.len(), size, count * size);
        matmul(out, false, Mat::new(p, queries.len(), keys.len()), value, 1.0);
    }

    /// From the gradient at the context to the gradient at query, key and value, rows as those of the projections;
    /// adds the gradient at the bias where it is wanted.
    #[expect(clippy::too_many_arguments, reason = "the pass, what it kept, the gradients in and out")]
    pub fn attend_backward(
        self,
        pass: GroupPass<'_>,
        bias: Option<&Distances>,
        projections: &[f32],
        mut kept: &[f32],
        d_context: &[f32],
        d_projections: &mut [f32],
        mut d_bias: Option<&mut Distances>,
        scratch: &mut AttentionScratch,
    ) {
        let AttentionScratch { probabilities, dropped, d_scores } = scratch;
        let HeadSizes { count, shared, size, .. } = self.sizes;
        let inner = count * size;
        for text in pass.group.texts.clone().map(|text| Text::of(pass, text)).filter(|text| text.n > 0) {
            for head in 0..count {
                let at = self.columns(head);
                let part = |column: usize, rows: &Range<usize>| {
                    let first = (text.first + rows.start) * at.width + column;
                    Mat::strided(&projections[first..], rows.len(), size, at.width)
                };
                // Heads that share a key and a value add their gradients there, and so do the blocks of a long text.
                let (again, is_long) = (!head.is_multiple_of(count / shared), text.kept() == 0);
                let d_rows = &mut d_projections[text.first * at.width..];
                // Keys and values that nobody asks, or that are yet to be added to.
                let written = if is_long && !again { 0 } else { text.keys };
                for row in d_rows.chunks_mut(at.width).take(text.n).skip(written) {
                    row[at.key..][..size].fill(0.0);
                    row[at.value..][..size].fill(0.0);
                }
                for block in self.blocks(text) {
                    let p: &[f32] = match is_long {
                        true => {
                            let p = sized(probabilities, block.len());
                            self.probabilities(head, &block, text, bias, projections, p);
                            p
                        }
                        false => kept.split_off(..block.len()).unwrap_or_default(),
                    };
                    let used = self.dropped(head, &block, text, p, dropped);
                    let Block { queries, keys } = &block;
                    let (m, columns) = (queries.len(), keys.len());
                    let d_out = &d_context[(text.first + queries.start) * inner + head * size..];
                    let d_out = Mat::strided(d_out, m, size, inner);
                    let d_value = &mut d_rows[keys.start * at.width + at.value..];
                    let d_value = MatMut::strided(d_value, columns, size, at.width);
                    matmul(d_value, again || is_long, Mat::new(used, m, columns).t(), d_out, 1.0);
                    let d_scores = sized(d_scores, block.len());
                    matmul(MatMut::new(d_scores, m, columns), false, d_out, part(at.value, keys).t(), 1.0);
                    if let Some(mask) = self.mask {
                        Self::drop(mask, head, &block, text, d_scores);
                    }
                    softmax::softmax_backward_rows(d_scores, p, columns);
                    if let Some(d_bias) = d_bias.as_deref_mut() {
                        d_bias.add(head, d_scores, queries.start, keys);
                    }
                    let d_scores = Mat::new(d_scores, m, columns);
                    let d_query = &mut d_rows[queries.start * at.width + at.query..];
                    let d_query = MatMut::strided(d_query, m, size, at.width);
                    matmul(d_query, false, d_scores, part(at.key, keys), self.scale());
                    let d_key = &mut d_rows[keys.start * at.width + at.key..];
                    let d_key = MatMut::strided(d_key, columns, size, at.width);
                    matmul(d_key, again || is_long, d_scores.t(), part(at.query, queries), self.scale());
                }
            }
        }
    }

    fn scale(self) -> f32 {
        self.sizes.scale as f32
    }
}
