//! Attention that keeps no probabilities: on the way back they are computed again, from queries and keys (as in Dao et al.
//! 2022, "FlashAttention", section 3.1), so that of a long text nothing is kept whose size is the square of its length.

use burn::{
    backend::{
        Backend, TensorMetadata,
        tensor::{FloatTensor, IntTensor},
    },
    tensor::FloatDType,
};

use super::{Attention, Fused};

/// Means of values; the tensors are queries, keys, values, the bias and padding.
pub(super) fn forward<B: Fused>(
    [query, key, value, bias, padding]: [FloatTensor<B>; 5],
    words: IntTensor<B>,
    attention: Attention,
) -> FloatTensor<B> {
    let probabilities = probabilities::<B>([query, key, bias, padding], attention);
    B::float_matmul(dropped::<B>(probabilities, words, attention), value)
}

/// Gradients of queries, keys and values, and of the scores where something was added to them, from that of the result.
pub(super) fn backward<B: Fused>(
    [query, key, value, bias, padding]: [FloatTensor<B>; 5],
    words: IntTensor<B>,
    attention: Attention,
    gradient: FloatTensor<B>,
    of_bias: bool,
) -> ([FloatTensor<B>; 3], Option<FloatTensor<B>>) {
    let numbers: FloatDType = query.dtype().into();
    let probabilities = probabilities::<B>([query.clone(), key.clone(), bias, padding], attention);
    let kept = dropped::<B>(probabilities.clone(), words.clone(), attention);
    let of_value = B::float_matmul(transposed::<B>(kept), gradient.clone());
    let of_kept = B::float_matmul(gradient, transposed::<B>(value));
    let of_probabilities = dropped::<B>(of_kept, words, attention);
    let of_bias =
        of_bias.then(|| B::weighed_gradient(probabilities.clone(), of_probabilities.clone(), 1.0, FloatDType::F32));
    let of_scores = B::weighed_gradient(probabilities, of_probabilities, attention.factor, numbers);
    let of_query = B::float_matmul(of_scores.clone(), key);
    let of_key = B::float_matmul(transposed::<B>(of_scores), query);
    ([of_query, of_key, of_value], of_bias)
}

fn probabilities<B: Fused>([query, key, bias, padding]: [FloatTensor<B>; 4], attention: Attention) -> FloatTensor<B> {
    let bias = if attention.padded { B::float_add(bias, padding) } else { bias };
    let numbers: FloatDType = query.dtype().into();
    let scores = B::float_matmul(query, transposed::<B>(key));
    B::weighed(scores, bias, attention.factor, numbers)
}

/// Probabilities, or their gradient, without what is dropped.
fn dropped<B: Fused>(x: FloatTensor<B>, words: IntTensor<B>, attention: Attention) -> FloatTensor<B> {
    match attention.drops {
        Some(drops) => B::dropped(x, words, drops),
        None => x,
    }
}

fn transposed<B: Backend>(x: FloatTensor<B>) -> FloatTensor<B> {
    B::float_swap_dims(x, 2, 3)
}
