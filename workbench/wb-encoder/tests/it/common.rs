//! What the tests share: golden files, both ways to compute, and comparisons.

use std::{
    fmt::Debug,
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use ndarray::{Array2, ArrayView2};
use serde::de::DeserializeOwned;
use wb_core::Seed;
use wb_encoder::{
    Backbone, BiEncoder, BurnBackbone, DeviceConfig, Folder, Gradients, LoraConfig, Model, OpenDevice, Parameters,
};

pub fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

pub fn golden_json<T: DeserializeOwned>(name: &str) -> T {
    read_json(&golden().join(name))
}

pub fn read_json<T: DeserializeOwned>(file: &Path) -> T {
    serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
}

/// An encoder of the golden ones.
pub fn tiny(name: &str) -> Folder {
    Folder::read(&golden().join(name)).unwrap()
}

/// An encoder on the CPU.
pub fn cpu(folder: Folder) -> BiEncoder {
    BiEncoder::open(folder, &DeviceConfig::Cpu.open().unwrap()).unwrap()
}

/// An encoder with adapters that do something.
pub fn adapted(mut folder: Folder, config: &str) -> Folder {
    folder.attach(&serde_json::from_str::<LoraConfig>(config).unwrap(), Seed(4)).unwrap();
    for (at, p) in folder.model.parameters.iter_mut().enumerate().filter(|(_, p)| p.trainable) {
        p.values.floats_mut().iter_mut().enumerate().for_each(|(i, v)| *v += ((i * 3 + at) as f32 * 0.7).sin() * 0.1);
    }
    folder
}

/// A golden encoder with fresh adapters whose B is not zero.
pub fn with_lora(name: &str, config: &LoraConfig) -> Folder {
    let mut folder = tiny(name);
    folder.attach(config, Seed(5)).unwrap();
    for p in folder.model.parameters.iter_mut().filter(|p| p.name.contains("lora_B")) {
        p.values.floats_mut().iter_mut().enumerate().for_each(|(i, v)| *v = (i as f32 * 0.3).sin() * 0.3);
    }
    folder
}

/// A copy of a golden folder, to break.
pub fn copy(name: &str) -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    copy_into(&golden().join(name), place.path());
    place
}

/// Copies what lies in a folder into another.
pub fn copy_into(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(|entry| entry.unwrap().path()) {
        let to = to.join(entry.file_name().unwrap());
        if entry.is_dir() {
            copy_into(&entry, &to);
        } else {
            fs::copy(&entry, to).unwrap();
        }
    }
}

/// Puts `to` in the place of the first `from` of a file.
pub fn edit(file: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(file).unwrap();
    assert!(text.contains(from), "{from} in {text}");
    fs::write(file, text.replacen(from, to, 1)).unwrap();
}

#[track_caller]
pub fn refused(folder: &Path, expected: &str) {
    let text = Folder::read(folder).unwrap_err().to_string();
    assert!(text.contains(expected), "{text}");
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

/// Rows of the same directions, with elements at most `most` apart.
#[track_caller]
pub fn same(found: ArrayView2<'_, f32>, expected: ArrayView2<'_, f32>, most: f64, what: impl Debug) {
    let (cosine, difference) = compare(found, expected);
    assert!(cosine >= 0.99999 && difference <= most, "{what:?}: {cosine} {difference}");
}

/// Compares the gradient of every weight along one direction with the change of `loss` along it, and returns the number of
/// gradients. Rounding of the loss is allowed to make `allowed` of it.
pub fn check_differences(
    what: &str,
    mut backbone: Box<dyn Backbone>,
    gradients: &Gradients,
    allowed: f64,
    loss: impl Fn(&dyn Backbone) -> f64,
) -> usize {
    let names: Vec<String> = backbone.parameters().iter().map(|p| p.name.clone()).collect();
    let mut checked = 0;
    for (place, (name, gradient)) in names.iter().zip(gradients.iter()).enumerate() {
        if gradient.is_empty() {
            continue;
        }
        let direction: Vec<f32> = (0..gradient.len()).map(|i| ((i * 7 + 1) as f32 * 0.9).cos()).collect();
        let slope: f64 = gradient.iter().zip(&direction).map(|(g, d)| f64::from(*g) * f64::from(*d)).sum();
        let length = gradient.iter().map(|g| f64::from(*g).powi(2)).sum::<f64>().sqrt();
        let shift = |backbone: &mut dyn Backbone, step: f32| {
            let mut change = |parameters: &mut Parameters| {
                let values = parameters.iter_mut().nth(place).unwrap().values.floats_mut();
                values.iter_mut().zip(&direction).for_each(|(v, d)| *v += step * d);
            };
            backbone.update(&mut change).unwrap();
        };
        let mut moved = |step: f32| {
            shift(backbone.as_mut(), step);
            let found = loss(backbone.as_ref());
            shift(backbone.as_mut(), -step);
            found
        };
        // Large enough that the rounding of the loss is small beside the change.
        let h = 4e-3;
        // Fourth-order central difference.
        let difference = (8.0 * (moved(h) - moved(-h)) - (moved(2.0 * h) - moved(-2.0 * h))) / (12.0 * f64::from(h));
        let error = (difference - slope).abs() / (slope.abs() + 0.05 * length + allowed);
        assert!(error < 2e-2, "{what} {name}: {slope} by the backward pass, {difference} by differences");
        checked += 1;
    }
    checked
}

/// Largest difference between a gradient's length, and its product with a fixed vector, and those that a script found;
/// in lengths of the gradient.
pub fn gradient_error(name: &str, found: &[f32], [norm, projection]: [f64; 2]) -> f64 {
    let length = found.iter().map(|g| f64::from(*g).powi(2)).sum::<f64>().sqrt();
    let along: f64 = found.iter().enumerate().map(|(i, g)| f64::from(*g) * (0.7 * i as f64).sin()).sum();
    // A key's bias moves all scores of a row alike: its gradient is zero but for rounding.
    let scale = if name.ends_with("key.bias") { 1.0 } else { norm };
    ((length - norm).abs() / scale).max((along - projection).abs() / scale)
}

pub fn matrix(rows: &[Vec<f32>]) -> Array2<f32> {
    let columns = rows.first().map_or(0, Vec::len);
    Array2::from_shape_vec((rows.len(), columns), rows.concat()).unwrap()
}
