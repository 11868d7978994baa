//! Adapters added into the layers that they stand beside, so that nothing of them is left to compute.

use super::{Adapter, is_adapter, magnitude, row_length};
use crate::{
    error::Result,
    parameters::{Parameter, Parameters},
};

/// Adds every adapter into its layer and removes it: what remains computes the same without adapters.
///
/// W += s·B·A, whose rows then get the lengths that DoRA learned.
pub fn merge(parameters: &Parameters, adapter: &Adapter) -> Result<Parameters> {
    let mut merged = Parameters::default();
    for parameter in parameters.iter().filter(|p| !is_adapter(&p.name)) {
        let mut parameter = parameter.clone();
        if let Some(layer) = parameter.name.strip_suffix(".weight").map(str::to_owned) {
            let part = |part: &str| parameters.get(&format!("{layer}.{part}.weight"));
            if let (Some(a), Some(b)) = (part("lora_A"), part("lora_B")) {
                add_product(&mut parameter, a, b, adapter.scale_of(&layer))?;
                if let Some(magnitude) = parameters.get(&magnitude(&layer)) {
                    scale_rows(&mut parameter, &magnitude.values.floats());
                }
            }
        }
        merged.insert(parameter);
    }
    Ok(merged)
}

/// W += s·B·A, in double precision.
fn add_product(weight: &mut Parameter, a: &Parameter, b: &Parameter, scale: f32) -> Result<()> {
    let (rank, inside, out) = (a.shape[0], a.shape[1], b.shape[0]);
    if b.shape[1] != rank || weight.shape != [out, inside] {
        let message =
            format!("has shape {:?} with adapters {:?} and {:?}, which do not fit", weight.shape, a.shape, b.shape);
        return Err(wb_core::Error::data(weight.name.as_str(), message));
    }
    let mut sums = vec![0.0f64; inside];
    let (a, b) = (a.values.floats(), b.values.floats());
    for (row, b) in weight.values.floats_mut().chunks_exact_mut(inside).zip(b.chunks_exact(rank)) {
        sums.fill(0.0);
        for (b, a) in b.iter().zip(a.chunks_exact(inside)) {
            for (sum, a) in sums.iter_mut().zip(a) {
                *sum += f64::from(*b) * f64::from(*a);
            }
        }
        for (weight, sum) in row.iter_mut().zip(&sums) {
            *weight += (f64::from(scale) * sum) as f32;
        }
    }
    Ok(())
}

/// Gives each row of a weight the length that a DoRA adapter's magnitude vector says (Liu et al. 2024, arXiv 2402.09353):
/// row ← magnitude · row / ‖row‖, after [`add_product`]. PEFT computes the same without merging.
fn scale_rows(weight: &mut Parameter, magnitude: &[f32]) {
    let inside = weight.shape[1];
    for (row, magnitude) in weight.values.floats_mut().chunks_exact_mut(inside).zip(magnitude) {
        let norm = row_length(row);
        // A row of zeros has no direction, and stays.
        let factor = if norm > 0.0 { f64::from(*magnitude) / norm } else { 0.0 };
        row.iter_mut().for_each(|w| *w = (f64::from(*w) * factor) as f32);
    }
}
