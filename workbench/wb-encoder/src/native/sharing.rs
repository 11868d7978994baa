//! Threads among groups of texts: each takes one after the other, or all of them the rows of a long one.
//!
//! A thread that waits for parts of its work takes other work in the meantime. Of groups side by side that would be
//! another group, with buffers of its own, and so on: so parts are handed out by threads alone that are none of the
//! pool's, which wait and do nothing else.

use rayon::prelude::*;

use crate::error::Result;

/// Rows of one product that a thread takes at a time, where they are shared.
pub const ROWS: usize = 512;

/// True where the calling thread may hand parts of its work to the pool.
pub fn may_share() -> bool {
    rayon::current_thread_index().is_none()
}

/// Works on all, and gives what was found in their order, which does not depend on what is done where. Where there are
/// `few` of them or less, those of many tokens come one after the other on the calling thread, which shares each with
/// the pool; the others, and all where there are more, side by side.
pub fn each<T: Send, R: Send>(
    all: impl IntoIterator<Item = T>,
    few: usize,
    tokens: impl Fn(&T) -> usize,
    work: impl Fn(T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let all: Vec<T> = all.into_iter().collect();
    let shares = may_share() && all.len() <= few;
    let (shared, others): (Vec<_>, Vec<_>) =
        all.into_iter().enumerate().partition(|(_, one)| shares && tokens(one) >= 2 * ROWS);
    let done = |(at, one): (usize, T)| Ok((at, work(one)?));
    let mut found: Vec<(usize, R)> = shared.into_iter().map(done).collect::<Result<_>>()?;
    found.extend(others.into_par_iter().map(done).collect::<Result<Vec<_>>>()?);
    found.sort_unstable_by_key(|(at, _)| *at);
    Ok(found.into_iter().map(|(_, one)| one).collect())
}

/// The number of groups up to which the forward passes of long ones are shared: with more, no thread is without one.
pub fn few_groups() -> usize {
    rayon::current_num_threads() - 1
}
