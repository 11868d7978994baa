//! One training by several processes, *ranks*, which a launcher started: `mpirun`, `srun`, `torchrun`'s variables.
//!
//! [`Placement`] says who this process is. Rank 0 does everything that a training is, alone: it reads pairs, computes the
//! loss, changes the weights, writes the run. The others ([`serve`]) are devices to it: they get the model once, then
//! token ids and gradients at embeddings, and give embeddings, and once a step the sum of their gradients. So the others
//! need no data, no common folder and no state of their own, and a training by four ranks of one device each gives the bytes
//! of one process with four devices.
//!
//! Data-parallel training elsewhere gives every rank a loop of its own (S. Li et al., "PyTorch Distributed", 2020), which
//! agree as long as all of them compute the same: on machines that differ, weights drift apart unseen. Contrastive losses see
//! the whole batch anyway, so that each step has a place where everything meets.
//!
//! Ranks speak over TCP, without encryption: networks of a cluster, as for PyTorch. `WB_RANKS_SECRET` keeps others out.

mod answer;
mod exchange;
mod far_rank;
mod frame;
mod group;
mod hello;
mod link;
mod placement;
mod request;
mod serve;
mod share;

#[cfg(test)]
mod tests;

pub use self::{
    group::{OtherRanks, Place, join},
    hello::Member,
    placement::{Launcher, Placement},
    serve::serve,
    share::share_processor,
};
