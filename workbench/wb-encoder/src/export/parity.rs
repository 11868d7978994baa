//! Equality of a folder that was written with the encoder that it was made of, by their embeddings.

use std::path::Path;

use ndarray::ArrayView1;
use wb_core::{Embeddings, Side, progress::silent};

use super::texts::TEXTS;
use crate::{
    bi_encoder::BiEncoder,
    cross_encoder::CrossEncoder,
    device::{DeviceConfig, OpenDevice},
    error::{Error, Result},
    folder::Folder,
    weights::WeightType,
};

/// The least cosine of a text's embedding and of what was read back.
const LEAST: f64 = 0.99999;
/// The least cosine of an embedding and of the one by rounded weights: below, the type does not suit the weights.
const LEAST_ROUNDED: f64 = 0.99;

/// The embeddings that were compared, and how equal they are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parity {
    /// Number of texts, each as a query and as a document.
    pub texts: usize,
    /// The least cosine between what the folder gives and what the encoder gives by weights of the type written.
    pub cosine: f64,
    /// The largest difference between elements of those.
    pub difference: f64,
    /// The least cosine to the encoder in 32-bit floats, where the weights were rounded.
    pub rounded: Option<f64>,
}

impl Parity {
    /// Embeds the texts by the source (with the written folder's lengths), by what was to be written, and by what was read back.
    pub(super) fn measure(source: &Folder, written: &Folder, again: &Folder, dtype: WeightType) -> Result<Self> {
        let device = DeviceConfig::Cpu.open()?;
        let embed = |folder: Folder| -> Result<[Embeddings; 2]> {
            if folder.pair_reading.is_some() {
                return scored(folder, &device);
            }
            let encoder = BiEncoder::open_frozen(folder, &device)?;
            Ok([encoder.embed(&TEXTS, Side::Query, &mut silent)?, encoder.embed(&TEXTS, Side::Document, &mut silent)?])
        };
        // A length of its own for each side is what some formats cannot hold; the account of the export says so.
        let mut exact = source.clone();
        exact.max_tokens = written.max_tokens;
        exact.prompts = written.prompts.clone();
        let exact = embed(exact)?;
        let found = embed(again.clone())?;
        let (expected, rounded) = match dtype {
            WeightType::F32 => (exact, None),
            _ => {
                let mut meant = written.clone();
                for value in meant.model.parameters.iter_mut().flat_map(|p| p.values.floats_mut()) {
                    *value = dtype.rounded(*value);
                }
                meant.dense.iter_mut().for_each(|dense| dense.round(dtype));
                (embed(meant)?, Some(compare(&exact, &found).0))
            }
        };
        let (cosine, difference) = compare(&expected, &found);
        Ok(Self { texts: TEXTS.len(), cosine, difference, rounded })
    }

    /// Refuses a folder that is not equal.
    pub(super) fn require(&self, path: &Path) -> Result<()> {
        let refuse = |message: String, hint: &str| Err(Error::file(path, message).with_hint(hint.to_owned()));
        // A cosine that is no number reaches nothing.
        let reaches = |cosine: f64, least: f64| cosine >= least;
        if !reaches(self.cosine, LEAST) {
            let message = format!(
                "was not written: read back, it gives other embeddings (least cosine {:.6} on {} texts, expected at least {LEAST})",
                self.cosine, self.texts
            );
            return refuse(message, "--format safetensors keeps everything that wb computes with");
        }
        if self.rounded.is_some_and(|rounded| !reaches(rounded, LEAST_ROUNDED)) {
            let message = format!(
                "was not written: the rounded weights give other embeddings (least cosine {:.6} on {} texts, expected at least {LEAST_ROUNDED})",
                self.rounded.unwrap_or_default(),
                self.texts
            );
            return refuse(message, "--dtype f32");
        }
        Ok(())
    }
}

/// The scores of each text with itself and with the next, in either order, as two rows.
fn scored(folder: Folder, device: &OpenDevice) -> Result<[Embeddings; 2]> {
    let reader = CrossEncoder::open(folder, device)?;
    let next = |at: usize| TEXTS[(at + 1) % TEXTS.len()];
    let pairs = |turned: bool| -> Vec<(&str, &str)> {
        let both = TEXTS.iter().enumerate().flat_map(|(at, text)| [(*text, *text), (*text, next(at))]);
        both.map(|(a, b)| if turned { (b, a) } else { (a, b) }).collect()
    };
    let row = |turned| -> Result<Embeddings> {
        let scores = reader.scores(&pairs(turned), &mut silent)?;
        Embeddings::of_values(scores, 2 * TEXTS.len(), None)
    };
    Ok([row(false)?, row(true)?])
}

/// Least cosine of rows, and largest difference of elements, over both sides.
fn compare(expected: &[Embeddings; 2], found: &[Embeddings; 2]) -> (f64, f64) {
    let (mut least, mut largest) = (1f64, 0f64);
    for (expected, found) in expected.iter().zip(found) {
        if expected.offsets() != found.offsets() || expected.view().dim() != found.view().dim() {
            // Other tokens have a vector.
            return (0.0, f64::INFINITY);
        }
        for (a, b) in expected.view().rows().into_iter().zip(found.view().rows()) {
            let cosine = cosine(a, b);
            // `min` would pass over what is no number; once there is one, it stays.
            least = if cosine < least || cosine.is_nan() { cosine } else { least };
            largest = a.iter().zip(b).map(|(x, y)| f64::from((x - y).abs())).fold(largest, f64::max);
        }
    }
    (least, largest)
}

/// Two vectors of zeros (a text without tokens) are equal; one alone is like nothing.
fn cosine(a: ArrayView1<'_, f32>, b: ArrayView1<'_, f32>) -> f64 {
    let dot = |x: ArrayView1<'_, f32>, y: ArrayView1<'_, f32>| {
        x.iter().zip(y).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>()
    };
    let (aa, bb) = (dot(a, a), dot(b, b));
    match (aa == 0.0, bb == 0.0) {
        (true, true) => 1.0,
        (true, false) | (false, true) => 0.0,
        (false, false) => dot(a, b) / (aa * bb).sqrt(),
    }
}

#[cfg(test)]
mod tests {
    use ndarray::arr2;

    use super::*;

    #[test]
    fn the_worst_row_counts() {
        let two = |rows: [[f32; 2]; 2]| [Embeddings::dense(arr2(&rows)), Embeddings::dense(arr2(&rows))];
        let (cosine, difference) = compare(&two([[3.0, 4.0], [1.0, 0.0]]), &two([[3.0, 4.0], [1.0, 1.0]]));
        assert!((cosine - 0.5f64.sqrt()).abs() < 1e-7 && difference == 1.0);
        assert_eq!(compare(&two([[0.0, 0.0], [1.0, 0.0]]), &two([[0.0, 0.0], [1.0, 0.0]])), (1.0, 0.0));
        assert_eq!(compare(&two([[0.0, 0.0], [1.0, 0.0]]), &two([[1.0, 0.0], [1.0, 0.0]])).0, 0.0);
        assert!(compare(&two([[f32::NAN, 0.0], [1.0, 0.0]]), &two([[1.0, 0.0], [1.0, 0.0]])).0.is_nan());
        let parity = |cosine, rounded| Parity { texts: 32, cosine, difference: 0.0, rounded };
        parity(0.99999, None).require(Path::new("x")).unwrap();
        for refused in
            [parity(0.99998, None), parity(f64::NAN, None), parity(1.0, Some(0.98)), parity(1.0, Some(f64::NAN))]
        {
            assert!(refused.require(Path::new("x")).unwrap_err().to_string().starts_with("x: was not written"));
        }
    }
}
