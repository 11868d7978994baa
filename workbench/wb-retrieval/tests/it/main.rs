//! What holds across the crate's parts: golden metrics, exact search, real data.

#[cfg(test)]
mod flat;
#[cfg(test)]
mod golden_metrics;
#[cfg(test)]
mod permutation;
#[cfg(test)]
mod real_data;
