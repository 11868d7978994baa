//! Files of Hugging Face repositories, and of plain addresses: found where other programs cached them, else fetched.
//!
//! A name becomes a commit once, which a lock file keeps. A download goes on where it was cut, and counts only when its
//! size and its hash are those that the repository lists. The layout on the disk is that of `huggingface_hub`, so that
//! nothing is fetched by `wb` that Python has, and the other way round.
//!
//! `hf-hub` gives the names of repositories and of the cache's folders. Its downloads are not used: they append to a
//! part whatever a server sends (also a whole file, where it ignores ranges), compare neither size nor hash, know
//! neither `HF_TOKEN` nor `Retry-After`, and do not tell sizes before.

mod cache;
mod digest;
mod error;
mod hub;
mod listing;
mod lock_file;
mod place;
mod repo;
mod room;
mod settings;

#[cfg(feature = "network")]
mod answers;
#[cfg(feature = "network")]
mod client;
#[cfg(feature = "network")]
mod online;
#[cfg(feature = "network")]
mod patience;
#[cfg(feature = "network")]
mod transfer;

pub use digest::Digest;
pub use error::Why;
pub use hub::{Fetched, Hub, Look};
pub use listing::{Listing, RemoteFile};
pub use lock_file::{LOCK_FILE, LockFile, Locked};
pub use place::WebFile;
pub use repo::{Pinned, RepoKind, RepoRef};
pub use settings::{Patience, Settings};
pub use wb_core::{Error, Result};
