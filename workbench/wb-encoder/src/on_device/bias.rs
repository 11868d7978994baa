//! Numbers that are added to attention's scores: of padding, of distances, of what a layer does not reach.

use std::{cell::RefCell, ops::Range};

use burn::tensor::{Tensor, module};

use super::{
    distances::Part,
    padded::Padded,
    pass::{KEPT, Pass},
    weights::Weight,
};
use crate::{
    error::Result,
    models::{
        Stack,
        stack::{DistanceTable, Reach},
    },
};

/// Added to the scores of keys out of a query's reach, as to those of padding.
const OUT_OF_REACH: f32 = -1e9;

/// Numbers that a pass adds to scores, made once for all layers that add the same.
pub(super) struct Bias<'a> {
    stack: &'a Stack,
    pass: &'a Pass<'a>,
    batch: &'a Padded,
    /// True where something goes back through the pass.
    is_taped: bool,
    known: RefCell<Vec<(Reach, Part, Tensor<4>)>>,
}

impl<'a> Bias<'a> {
    /// Nothing is made yet.
    pub(super) fn new(stack: &'a Stack, pass: &'a Pass<'a>, batch: &'a Padded) -> Self {
        let is_taped = pass.weights.iter().flatten().any(Weight::is_tracked);
        Self { stack, pass, batch, is_taped, known: RefCell::default() }
    }

    /// Numbers for the scores of these queries and keys.
    pub(super) fn of(&self, reach: Reach, queries: &Range<usize>, keys: &Range<usize>) -> Result<Added> {
        let (batch, part) = (self.batch, Part::new(queries, keys));
        let padding = || batch.attention_bias.clone().narrow(3, keys.start, keys.len());
        // Of a whole text the sum is kept, if a tape does not keep it of each text; of blocks what all texts have alike: of
        // a window, most of whose blocks have the same distances, and of all where a tape keeps it, so that it is there once
        // for all layers. Of others nothing, as together they are the square that blocks are there to spare.
        let is_kept = !self.is_taped || batch.tokens <= KEPT;
        let whole = queries.len() == batch.tokens && keys.len() == batch.tokens && is_kept;
        let again = whole || self.is_taped || (reach.before != usize::MAX && reach.after != usize::MAX);
        let added = |kept: Tensor<4>| match whole {
            true => Added { numbers: kept, padding: None },
            false => Added { numbers: kept, padding: Some(padding()) },
        };
        let kept =
            self.known.borrow().iter().find(|(of, at, _)| (*of, *at) == (reach, part)).map(|kept| kept.2.clone());
        if let Some(kept) = kept {
            return Ok(added(kept));
        }
        let far = out_of_reach(reach, part, self.pass);
        let near =
            self.stack.distances.as_ref().map(|table| of_table(table, self.stack, part, self.pass)).transpose()?;
        let Some(own) = [near, far].into_iter().flatten().reduce(|near, far| near + far) else {
            return Ok(Added { numbers: padding(), padding: None });
        };
        let kept = if whole { own + padding() } else { own };
        if again {
            self.known.borrow_mut().push((reach, part, kept.clone()));
        }
        Ok(added(kept))
    }
}

/// Numbers that are added to scores, of shapes that spread over `[texts, heads, queries, keys]`.
pub(super) struct Added {
    /// Numbers that may have a gradient.
    pub(super) numbers: Tensor<4>,
    /// Numbers of padding, where they are not among the others.
    pub(super) padding: Option<Tensor<4>>,
}

impl Added {
    /// The sum of both.
    pub(super) fn sum(self) -> Tensor<4> {
        match self.padding {
            Some(padding) => self.numbers + padding,
            None => self.numbers,
        }
    }
}

/// Numbers of a table of distances, `[1, heads, queries, keys]`.
fn of_table(table: &DistanceTable, stack: &Stack, part: Part, pass: &Pass<'_>) -> Result<Tensor<4>> {
    let buckets = part.ints(|distance| table.bucket(distance) as i32, pass.link);
    let numbers = module::embedding(pass.weights.matrix(&table.name)?, buckets);
    let [_, distances, heads] = numbers.dims();
    debug_assert_eq!(heads, stack.heads.count);
    Ok(part.between(numbers.reshape([distances, heads]).transpose()).unsqueeze::<4>())
}

/// Numbers that take keys away that a layer does not reach, `[1, 1, queries, keys]`; none where it reaches all.
fn out_of_reach(reach: Reach, part: Part, pass: &Pass<'_>) -> Option<Tensor<4>> {
    let is_far = |distance: isize| {
        let most = if distance > 0 { reach.after } else { reach.before };
        distance.unsigned_abs() > most
    };
    let any = part.distances().into_iter().any(is_far);
    let number = |distance| if is_far(distance) { OUT_OF_REACH } else { 0.0 };
    any.then(|| part.between(part.floats(number, pass.link)).unsqueeze::<4>())
}
