//! What the tests share: golden files, both ways to compute, and comparisons.

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use ndarray::{Array2, ArrayView2};
use serde::de::DeserializeOwned;
use wb_encoder::{Backbone, BurnBackbone, DeviceConfig, Model, OpenDevice};

pub fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

pub fn golden_json<T: DeserializeOwned>(name: &str) -> T {
    serde_json::from_slice(&std::fs::read(golden().join(name)).unwrap()).unwrap()
}

/// Real data beside the checkout; counted as skipped where it is not there.
pub fn shared(test: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let path = std::env::var_os("WB_SHARED").map_or_else(beside, PathBuf::from);
    if path.join("data").is_dir() {
        return Some(path);
    }
    // Past the capture of test output, so that skipped tests are seen and counted.
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: no shared data at {}", path.display());
    None
}

/// The real MiniLM; counted as skipped where it is not there.
pub fn minilm(test: &str) -> Option<PathBuf> {
    let default = || Path::new(&std::env::var_os("HOME").unwrap_or_default()).join(".cache/wb/models/all-MiniLM-L6-v2");
    let path = std::env::var_os("WB_MINILM").map_or_else(default, PathBuf::from);
    if path.join("model.safetensors").is_file() {
        return Some(path);
    }
    // Past the capture of test output, so that skipped tests are seen and counted.
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: no all-MiniLM-L6-v2 at {}", path.display());
    None
}

/// Burn's way and the CPU's own: every numeric test runs on both. Burn's is on the CPU too,
/// or on the device that `WB_TEST_DEVICE` names.
pub fn both(model: &Model) -> [(&'static str, Box<dyn Backbone>); 2] {
    let burn = BurnBackbone::new(model.clone(), test_device().burn(), "test device").unwrap();
    let cpu = DeviceConfig::Cpu.open().unwrap().open_backbone(model.clone()).unwrap();
    [("burn", Box::new(burn)), ("cpu", cpu)]
}

/// The device that burn's way is tested on.
pub fn test_device() -> OpenDevice {
    let name = std::env::var("WB_TEST_DEVICE").unwrap_or_else(|_| "cpu".into());
    name.parse::<DeviceConfig>().unwrap().open().unwrap()
}

/// Least cosine of rows, and largest difference of elements.
pub fn compare(found: ArrayView2<'_, f32>, expected: ArrayView2<'_, f32>) -> (f64, f64) {
    assert_eq!(found.dim(), expected.dim());
    let (mut least, mut largest) = (1f64, 0f64);
    for (a, b) in found.rows().into_iter().zip(expected.rows()) {
        let dot = |x: ndarray::ArrayView1<'_, f32>, y: ndarray::ArrayView1<'_, f32>| {
            x.iter().zip(y).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>()
        };
        let cosine = dot(a, b) / (dot(a, a) * dot(b, b)).sqrt();
        assert!(cosine.is_finite());
        least = least.min(cosine);
        largest = a.iter().zip(b).map(|(x, y)| f64::from((x - y).abs())).fold(largest, f64::max);
    }
    (least, largest)
}

pub fn matrix(rows: &[Vec<f32>]) -> Array2<f32> {
    let columns = rows.first().map_or(0, Vec::len);
    Array2::from_shape_vec((rows.len(), columns), rows.concat()).unwrap()
}
