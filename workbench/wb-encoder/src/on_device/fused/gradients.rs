//! The way back through the operations of this module.

use burn::{
    backend::{
        Autodiff, AutodiffBackend, Backend, TensorMetadata,
        autodiff::{
            NodeId,
            checkpoint::{base::Checkpointer, strategy::CheckpointStrategy},
            grads::Gradients,
            ops::{Backward, Ops, OpsKind, broadcast_shape},
        },
        tensor::{FloatTensor, IntTensor},
    },
    tensor::{FloatDType, Shape, Slice},
};

use super::{Attention, Drops, Fused, Norm, attending};
use crate::resident::AdamwStep;

#[derive(Debug)]
struct Dropping;

impl<B: Fused> Backward<B, 1> for Dropping {
    type State = (IntTensor<B>, Drops);

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let ([parent], (words, drops)) = (ops.parents, ops.state);
        let gradient = grads.consume::<B>(&ops.node);
        if let Some(parent) = parent {
            grads.register::<B>(parent.id, B::dropped(gradient, words, drops));
        }
    }
}

#[derive(Debug)]
struct Normalizing;

impl<B: Fused> Backward<B, 3> for Normalizing {
    type State = (NodeId, FloatTensor<B>, Norm);

    fn backward(self, ops: Ops<Self::State, 3>, grads: &mut Gradients, checkpointer: &mut Checkpointer) {
        let ([of_x, of_scale, of_shift], (x, scale, norm)) = (ops.parents, ops.state);
        let gradient = grads.consume::<B>(&ops.node);
        let x: FloatTensor<B> = checkpointer.retrieve_node_output(x);
        let sum_of_rows = |rows: FloatTensor<B>| B::float_reshape(B::float_sum_dim(rows, 0), scale.shape());
        if let Some(parent) = of_shift.filter(|_| norm.shifted) {
            grads.register::<B>(parent.id, sum_of_rows(gradient.clone()));
        }
        if let Some(parent) = of_scale {
            let ones = B::float_ones(scale.shape(), &scale.device(), FloatDType::F32);
            let plain = B::normalized(x.clone(), ones.clone(), ones, Norm { shifted: false, ..norm });
            grads.register::<B>(parent.id, sum_of_rows(B::float_mul(plain, gradient.clone())));
        }
        if let Some(parent) = of_x {
            grads.register::<B>(parent.id, B::normalized_gradient(x, scale, gradient, norm));
        }
    }
}

#[derive(Debug)]
struct Weighing;

/// The probabilities, the factor, and the type of scores and the shape of the bias.
type Weighed<B> = (FloatTensor<B>, f32, FloatDType, Shape);

impl<B: Fused> Backward<B, 2> for Weighing {
    type State = Weighed<B>;

    fn backward(self, ops: Ops<Self::State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let ([of_scores, of_bias], (probabilities, factor, numbers, shape)) = (ops.parents, ops.state);
        let gradient = grads.consume::<B>(&ops.node);
        if let Some(parent) = of_bias {
            let whole = B::weighed_gradient(probabilities.clone(), gradient.clone(), 1.0, FloatDType::F32);
            grads.register::<B>(parent.id, broadcast_shape::<B>(whole, &shape));
        }
        if let Some(parent) = of_scores {
            grads.register::<B>(parent.id, B::weighed_gradient(probabilities, gradient, factor, numbers));
        }
    }
}

#[derive(Debug)]
struct Joining;

impl<B: Fused> Backward<B, 2> for Joining {
    /// Shapes of both, and the dimension.
    type State = ([Shape; 2], usize);

    fn backward(self, ops: Ops<Self::State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (parents, (shapes, dimension)) = (ops.parents, ops.state);
        let gradient = grads.consume::<B>(&ops.node);
        let mut start = 0;
        for (parent, shape) in parents.into_iter().zip(shapes) {
            let mut places: Vec<Slice> = shape.as_slice().iter().map(|size| (0..*size).into()).collect();
            let end = start + shape.as_slice()[dimension];
            places[dimension] = (start..end).into();
            start = end;
            if let Some(parent) = parent {
                grads.register::<B>(parent.id, B::float_slice(gradient.clone(), &places));
            }
        }
    }
}

#[derive(Debug)]
struct Attending;

/// Queries, keys, values, the bias and padding, words of masks, and the numbers.
type Attended<B> = ([FloatTensor<B>; 5], IntTensor<B>, Attention);

impl<B: Fused> Backward<B, 4> for Attending {
    type State = Attended<B>;

    fn backward(self, ops: Ops<Self::State, 4>, grads: &mut Gradients, _: &mut Checkpointer) {
        let ([of_query, of_key, of_value, of_bias], (tensors, words, attention)) = (ops.parents, ops.state);
        let (gradient, shape) = (grads.consume::<B>(&ops.node), tensors[3].shape());
        let (found, of_scores) = attending::backward::<B>(tensors, words, attention, gradient, of_bias.is_some());
        for (parent, gradient) in [of_query, of_key, of_value].into_iter().zip(found) {
            if let Some(parent) = parent {
                grads.register::<B>(parent.id, gradient);
            }
        }
        if let (Some(parent), Some(of_scores)) = (of_bias, of_scores) {
            grads.register::<B>(parent.id, broadcast_shape::<B>(of_scores, &shape));
        }
    }
}

impl<B: Backend + Fused, C: CheckpointStrategy> Fused for Autodiff<B, C> {
    fn dropped(x: FloatTensor<Self>, words: IntTensor<Self>, drops: Drops) -> FloatTensor<Self> {
        match Dropping.prepare::<C>([x.node()]).compute_bound().stateful() {
            OpsKind::Tracked(prep) => prep.finish((words.clone(), drops), B::dropped(x.into_primitive(), words, drops)),
            OpsKind::UnTracked(prep) => prep.finish(B::dropped(x.into_primitive(), words, drops)),
        }
    }

    fn joined(first: FloatTensor<Self>, second: FloatTensor<Self>, dimension: usize) -> FloatTensor<Self> {
        let (nodes, shapes) = ([first.node(), second.node()], [first.shape(), second.shape()]);
        let found = B::joined(first.into_primitive(), second.into_primitive(), dimension);
        match Joining.prepare::<C>(nodes).compute_bound().stateful() {
            OpsKind::Tracked(prep) => prep.finish((shapes, dimension), found),
            OpsKind::UnTracked(prep) => prep.finish(found),
        }
    }

    fn attended(
        query: FloatTensor<Self>,
        key: FloatTensor<Self>,
        value: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        padding: FloatTensor<Self>,
        words: IntTensor<Self>,
        attention: Attention,
    ) -> FloatTensor<Self> {
        let nodes = [query.node(), key.node(), value.node(), bias.node()];
        let tensors = [query, key, value, bias, padding].map(|tensor| tensor.into_primitive());
        let [query, key, value, bias, padding] = tensors.clone();
        let found = B::attended(query, key, value, bias, padding, words.clone(), attention);
        match Attending.prepare::<C>(nodes).compute_bound().stateful() {
            OpsKind::Tracked(prep) => prep.finish((tensors, words, attention), found),
            OpsKind::UnTracked(prep) => prep.finish(found),
        }
    }

    fn normalized(
        x: FloatTensor<Self>,
        scale: FloatTensor<Self>,
        shift: FloatTensor<Self>,
        norm: Norm,
    ) -> FloatTensor<Self> {
        match Normalizing.prepare::<C>([x.node(), scale.node(), shift.node()]).compute_bound().stateful() {
            OpsKind::Tracked(mut prep) => {
                let kept = prep.checkpoint(&x);
                let [x, scale, shift] = [x, scale, shift].map(|tensor| tensor.into_primitive());
                prep.finish((kept, scale.clone(), norm), B::normalized(x, scale, shift, norm))
            }
            OpsKind::UnTracked(prep) => {
                let [x, scale, shift] = [x, scale, shift].map(|tensor| tensor.into_primitive());
                prep.finish(B::normalized(x, scale, shift, norm))
            }
        }
    }

    /// A gradient has no gradient of its own here.
    fn normalized_gradient(
        x: FloatTensor<Self>,
        scale: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        norm: Norm,
    ) -> FloatTensor<Self> {
        let [x, scale, gradient] = [x, scale, gradient].map(|tensor| tensor.into_primitive());
        Self::from_inner(B::normalized_gradient(x, scale, gradient, norm))
    }

    fn weighed(
        scores: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        factor: f32,
        numbers: FloatDType,
    ) -> FloatTensor<Self> {
        let (of_scores, shape) = (scores.dtype().into(), bias.shape());
        match Weighing.prepare::<C>([scores.node(), bias.node()]).compute_bound().stateful() {
            OpsKind::Tracked(prep) => {
                let found = B::weighed(scores.into_primitive(), bias.into_primitive(), factor, numbers);
                prep.finish((found.clone(), factor, of_scores, shape), found)
            }
            OpsKind::UnTracked(prep) => {
                prep.finish(B::weighed(scores.into_primitive(), bias.into_primitive(), factor, numbers))
            }
        }
    }

    /// A gradient has no gradient of its own here.
    fn weighed_gradient(
        probabilities: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        factor: f32,
        numbers: FloatDType,
    ) -> FloatTensor<Self> {
        let [probabilities, gradient] = [probabilities, gradient].map(|tensor| tensor.into_primitive());
        Self::from_inner(B::weighed_gradient(probabilities, gradient, factor, numbers))
    }

    /// Nothing is computed here, and so nothing goes back.
    fn vouched(numbers: FloatTensor<Self>) -> FloatTensor<Self> {
        Self::from_inner(B::vouched(numbers.into_primitive()))
    }

    /// A step has no gradient.
    fn updated(
        weights: FloatTensor<Self>,
        first: FloatTensor<Self>,
        second: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        changing: FloatTensor<Self>,
        step: AdamwStep,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        let [weights, first, second, gradient, changing] =
            [weights, first, second, gradient, changing].map(|tensor| tensor.into_primitive());
        let (weights, first, second) = B::updated(weights, first, second, gradient, changing, step);
        (Self::from_inner(weights), Self::from_inner(first), Self::from_inner(second))
    }
}
