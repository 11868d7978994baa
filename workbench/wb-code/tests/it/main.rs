//! The crate as others use it: sources in, functions and pairs out.

// `cfg(test)` also tells clippy that helpers here may unwrap.
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod languages;
#[cfg(test)]
mod trees;
