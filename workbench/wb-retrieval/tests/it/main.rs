//! What holds across the crate's parts: golden metrics, exact search, mining, real data.

#[cfg(test)]
mod flat;
#[cfg(test)]
mod golden_metrics;
#[cfg(test)]
mod golden_mining;
#[cfg(test)]
mod mining;
#[cfg(test)]
mod permutation;
#[cfg(test)]
mod real_data;
