//! Operations that are one kernel each on a GPU: normalization, attention's probabilities, dropout and AdamW's update.
//!
//! In burn's own operations each is a chain of a dozen, which read and write all numbers again and again, and of which each
//! is a kernel to be made before the first step. Numbers are read in the type that they have; sums are of 32-bit floats, in
//! an order that depends on nothing but the row's length.

mod attending;
mod dropping;
mod gradients;
mod joining;
mod normalizing;
#[cfg(feature = "refusals")]
pub(super) mod refusing;
mod rows;
mod updating;
mod vouching;
mod weighing;

use burn::{
    backend::{
        Backend, Dispatch, DispatchDevice, backend_extension,
        tensor::{FloatTensor, IntTensor},
    },
    tensor::{DType, Device, FloatDType, Int, Shape, Tensor},
};
use burn_cubecl::CubeBackend;

use super::{
    bias::Added,
    masks::{MaskLayout, SiteMasks},
};
use crate::{dropout, kernel_settings, resident::AdamwStep};

/// The numbers that dropout gives the elements of a tensor `[texts, heads, rows, columns]`, in any shape with the same rows
/// one after the other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Elements {
    /// Heads of a text, each with a mask of its own; none where a text has one mask.
    pub(super) heads: Option<usize>,
    /// Rows of a head, or of a text.
    pub(super) rows: usize,
    /// The first element's number.
    pub(super) first: u32,
    /// From the number of a row's first element to that of the next row.
    pub(super) step: u32,
}

/// Elements that are dropped, and what becomes of the others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Drops {
    elements: Elements,
    layout: MaskLayout,
    /// Elements with numbers drawn below this are dropped.
    limit: u32,
    /// The others are multiplied by this.
    factor: f32,
}

/// Attention of queries `[texts, heads, places, size]` over keys and values of the same sizes, in numbers of their own type.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attention {
    /// The scores' factor, before something is added to them.
    pub(super) factor: f32,
    /// True where padding is added to the bias.
    pub(super) padded: bool,
    /// Probabilities that are dropped; none where none are.
    pub(super) drops: Option<Drops>,
}

/// Normalization of rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Norm {
    /// Added to the mean square before its root.
    pub(super) epsilon: f32,
    /// True where a row's mean is taken from it first.
    pub(super) centered: bool,
    /// True where there is something to add at the end.
    pub(super) shifted: bool,
}

/// The operations, on a backend.
#[backend_extension(Cube, Autodiff, Fusion: cfg(feature = "fusion"))]
pub(crate) trait Fused: Backend {
    /// Elements that are dropped become 0, and the others grow; words are those of [`super::masks::Masks`].
    #[fusion(dtype = x, shape = x)]
    fn dropped(x: FloatTensor<Self>, words: IntTensor<Self>, drops: Drops) -> FloatTensor<Self>;

    /// Two tensors one after the other in a dimension.
    #[fusion(dtype = first, shape = joined_shape(first, second, *dimension))]
    fn joined(first: FloatTensor<Self>, second: FloatTensor<Self>, dimension: usize) -> FloatTensor<Self>;

    /// Numbers as they are, which are from now on taken for such as could be computed.
    #[fusion(dtype = numbers, shape = numbers)]
    fn vouched(numbers: FloatTensor<Self>) -> FloatTensor<Self>;

    /// Means of values by attention's probabilities, some of them dropped; all four dimensions are as [`Attention`] says.
    /// On the way back the probabilities are computed again.
    #[fusion(dtype = query, shape = query)]
    fn attended(
        query: FloatTensor<Self>,
        key: FloatTensor<Self>,
        value: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        padding: FloatTensor<Self>,
        words: IntTensor<Self>,
        attention: Attention,
    ) -> FloatTensor<Self>;

    /// Rows of 32-bit floats, normalized, times `scale`, plus `shift` where something is to be added.
    #[fusion(dtype = x, shape = x)]
    fn normalized(
        x: FloatTensor<Self>,
        scale: FloatTensor<Self>,
        shift: FloatTensor<Self>,
        norm: Norm,
    ) -> FloatTensor<Self>;

    /// The gradient of the rows that were normalized, from that of the result.
    #[fusion(dtype = x, shape = x)]
    fn normalized_gradient(
        x: FloatTensor<Self>,
        scale: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        norm: Norm,
    ) -> FloatTensor<Self>;

    /// Softmax over the last of four dimensions of `scores · factor + bias`, where `bias` spreads over `scores`, in numbers
    /// of this type.
    #[fusion(dtype = DType::from(*numbers), shape = scores)]
    fn weighed(
        scores: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        factor: f32,
        numbers: FloatDType,
    ) -> FloatTensor<Self>;

    /// The gradient of the scores times `factor`, in numbers of this type, from the probabilities and their gradient.
    #[fusion(dtype = DType::from(*numbers), shape = probabilities)]
    fn weighed_gradient(
        probabilities: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        factor: f32,
        numbers: FloatDType,
    ) -> FloatTensor<Self>;

    /// Weights and their two moments after a step of AdamW. What changes from step to step is a tensor: the share of the
    /// weights that is kept, the gradient's factor, the correction of the root, and the length of the step.
    #[fusion(meta = |weights, first, second, _, _, _| (weights.clone(), first.clone(), second.clone()))]
    fn updated(
        weights: FloatTensor<Self>,
        first: FloatTensor<Self>,
        second: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        changing: FloatTensor<Self>,
        step: AdamwStep,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>);
}

impl Fused for CubeBackend {
    fn dropped(x: FloatTensor<Self>, words: IntTensor<Self>, drops: Drops) -> FloatTensor<Self> {
        dropping::launch(x, words, drops)
    }

    fn joined(first: FloatTensor<Self>, second: FloatTensor<Self>, dimension: usize) -> FloatTensor<Self> {
        joining::launch([first, second], dimension)
    }

    fn vouched(numbers: FloatTensor<Self>) -> FloatTensor<Self> {
        vouching::launch(numbers)
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
        attending::forward::<Self>([query, key, value, bias, padding], words, attention)
    }

    fn normalized(
        x: FloatTensor<Self>,
        scale: FloatTensor<Self>,
        shift: FloatTensor<Self>,
        norm: Norm,
    ) -> FloatTensor<Self> {
        normalizing::launch(x, scale, shift, norm)
    }

    fn normalized_gradient(
        x: FloatTensor<Self>,
        scale: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        norm: Norm,
    ) -> FloatTensor<Self> {
        normalizing::launch_gradient(x, scale, gradient, norm)
    }

    fn weighed(
        scores: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        factor: f32,
        numbers: FloatDType,
    ) -> FloatTensor<Self> {
        weighing::launch(scores, bias, factor, numbers.into())
    }

    fn weighed_gradient(
        probabilities: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        factor: f32,
        numbers: FloatDType,
    ) -> FloatTensor<Self> {
        weighing::launch_gradient(probabilities, gradient, factor, numbers.into())
    }

    fn updated(
        weights: FloatTensor<Self>,
        first: FloatTensor<Self>,
        second: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        changing: FloatTensor<Self>,
        step: AdamwStep,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        let [weights, first, second] = updating::launch([weights, first, second, gradient], changing, step);
        (weights, first, second)
    }
}

impl Drops {
    /// Drops by the masks of a site, with this probability, and the words that they are drawn by.
    fn of(masks: SiteMasks<'_>, elements: Elements, probability: f64) -> (Tensor<1, Int>, Self) {
        let (words, layout) = masks.words();
        let (limit, factor) = (dropout::limit(probability), (1.0 / (1.0 - probability)) as f32);
        (words, Self { elements, layout, limit, factor })
    }
}

/// The shape of two tensors that stand one after the other.
fn joined_shape(first: &Shape, second: &Shape, dimension: usize) -> Shape {
    let mut shape = first.clone();
    shape.as_mut_slice()[dimension] += second.as_slice()[dimension];
    shape
}

/// True for a device that has these kernels.
pub(super) fn can_be_on(device: &Device) -> bool {
    matches!(device.as_dispatch(), DispatchDevice::Cube(_))
}

/// True for a device that has these kernels and is to use them.
pub(super) fn are_on(device: &Device) -> bool {
    can_be_on(device) && kernel_settings::fuses()
}

/// Tensors one after the other in a dimension, at least one: by halves, so that each number is copied as often as the
/// logarithm of their count.
pub(super) fn join<const D: usize>(mut tensors: Vec<Tensor<D>>, dimension: usize) -> Tensor<D> {
    while tensors.len() > 1 {
        let mut rest = tensors.into_iter();
        let mut halved = Vec::new();
        while let Some(first) = rest.next() {
            halved.push(match rest.next() {
                Some(second) => {
                    let (first, second) = (first.into_dispatch(), second.into_dispatch());
                    Tensor::from_dispatch(<Dispatch as Fused>::joined(first, second, dimension))
                }
                None => first,
            });
        }
        tensors = halved;
    }
    // As burn says it of none.
    tensors.pop().unwrap_or_else(|| Tensor::cat(Vec::new(), dimension))
}

/// Has numbers that are right taken for such as could be computed, once the result is read.
pub(super) fn vouch<const D: usize>(numbers: Tensor<D>) -> Tensor<D> {
    Tensor::from_dispatch(<Dispatch as Fused>::vouched(numbers.into_dispatch()))
}

/// Elements dropped by the masks of a site, with this probability.
pub(super) fn drop<const D: usize>(
    x: Tensor<D>,
    masks: SiteMasks<'_>,
    elements: Elements,
    probability: f64,
) -> Tensor<D> {
    let (words, drops) = Drops::of(masks, elements, probability);
    Tensor::from_dispatch(<Dispatch as Fused>::dropped(x.into_dispatch(), words.into_dispatch(), drops))
}

/// Means of values, each by what softmax makes of `query · key · factor`, and what is `added`, over the keys, some of them
/// dropped.
pub(super) fn attend(
    [query, key, value]: [Tensor<4>; 3],
    Added { numbers, padding }: Added,
    factor: f64,
    drops: Option<(SiteMasks<'_>, Elements, f64)>,
) -> Tensor<4> {
    let (words, drops) = match drops {
        Some((masks, elements, probability)) => {
            let (words, drops) = Drops::of(masks, elements, probability);
            (words, Some(drops))
        }
        None => (Tensor::empty([1], (&query.device().without_autodiff(), DType::I32)), None),
    };
    let attention = Attention { factor: factor as f32, padded: padding.is_some(), drops };
    let padding = padding.unwrap_or_else(|| numbers.clone().detach());
    let [query, key, value, bias, padding] = [query, key, value, numbers, padding].map(|tensor| tensor.into_dispatch());
    let words = words.into_dispatch();
    Tensor::from_dispatch(<Dispatch as Fused>::attended(query, key, value, bias, padding, words, attention))
}

/// Rows normalized, times a scale, plus something.
pub(super) fn normalize(
    x: Tensor<2>,
    scale: Tensor<1>,
    shift: Option<Tensor<1>>,
    epsilon: f64,
    centered: bool,
) -> Tensor<2> {
    let norm = Norm { epsilon: epsilon as f32, centered, shifted: shift.is_some() };
    let shift = shift.unwrap_or_else(|| scale.clone());
    let found = <Dispatch as Fused>::normalized(x.into_dispatch(), scale.into_dispatch(), shift.into_dispatch(), norm);
    Tensor::from_dispatch(found)
}

/// Softmax of `scores · factor + bias` over keys, in numbers of this type.
pub(super) fn weigh(scores: Tensor<4>, bias: Tensor<4>, factor: f64, numbers: FloatDType) -> Tensor<4> {
    let found = <Dispatch as Fused>::weighed(scores.into_dispatch(), bias.into_dispatch(), factor as f32, numbers);
    Tensor::from_dispatch(found)
}

/// Weights and their two moments after a step with this gradient; `changing` are the step's `keep`, `gradient_factor`,
/// `root_correction` and `step`.
pub(super) fn update(
    [weights, first, second]: [Tensor<1>; 3],
    gradient: Tensor<1>,
    changing: Tensor<1>,
    step: AdamwStep,
) -> [Tensor<1>; 3] {
    let (weights, first, second) = <Dispatch as Fused>::updated(
        weights.into_dispatch(),
        first.into_dispatch(),
        second.into_dispatch(),
        gradient.into_dispatch(),
        changing.into_dispatch(),
        step,
    );
    [weights, first, second].map(Tensor::from_dispatch)
}
