//! Weights in and out of safetensors files, and out of torch's own, strictly: what does not fit the architecture
//! is an error, not a guess.

mod dtype;
mod file;
mod memory_type;
mod tensor;
mod torch;
mod write;

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
};

use safetensors::{SafeTensors, tensor::TensorView};
use wb_core::suggest;

pub use self::{
    dtype::WeightType,
    memory_type::MemoryType,
    write::{write, write_as},
};
use self::{file::Visitor, tensor::Tensor};
use crate::{
    error::{Error, Result},
    lora,
    models::WeightSpec,
    parameters::{Parameter, Parameters},
    values::Values,
};

/// Tensors that hub files carry and an encoder does not use.
const IGNORED: [&str; 6] = ["embeddings.position_ids", "pooler.", "cls.", "lm_head.", "decoder.", "head."];

/// Content of a weights file.
#[derive(Debug)]
pub struct Loaded {
    /// The weights in the architecture's order, all of them to be trained.
    pub parameters: Parameters,
    /// Tensors that an encoder does not use: heads, poolers, buffers.
    pub ignored: Vec<String>,
}

/// Reads the weights `expected` from files of 32- or 16-bit floats, each of which has some of them: files of safetensors,
/// or such that `torch.save` wrote, of which nothing but tensors is read. `rename` gives our name for a file's,
/// or those of its parts, which have as many of its rows each. Matrices of 16-bit floats stay that in memory.
pub fn read<P: AsRef<Path>>(
    paths: &[P],
    expected: &[WeightSpec],
    rename: &dyn Fn(&str) -> Vec<String>,
) -> Result<Loaded> {
    let mut picker = Picker::new(expected, rename);
    paths.iter().try_for_each(|path| file::visit(path.as_ref(), &mut picker))?;
    let place = match paths {
        [one] => one.as_ref().to_owned(),
        several => several.first().and_then(|first| first.as_ref().parent()).unwrap_or(Path::new("")).to_owned(),
    };
    picker.finish(&place)
}

/// Our name for a file's tensor where a file was written with ours.
pub fn as_named(name: &str) -> Vec<String> {
    vec![name.to_owned()]
}

/// Takes the expected weights out of all tensors of some files, a file at a time.
struct Picker<'a> {
    expected: &'a [WeightSpec],
    rename: &'a dyn Fn(&str) -> Vec<String>,
    /// Places of the expected weights, by our names.
    places: HashMap<&'a str, usize>,
    taken: Vec<Option<Taken>>,
    /// Errors of weights that were found, by their places.
    wrong: BTreeMap<usize, Error>,
    ignored: Vec<String>,
    /// Tensors that nothing expects, by our names: their file, name and shape.
    strange: BTreeMap<String, (PathBuf, String, Vec<usize>)>,
}

/// Our names for a tensor's parts, and the shape of each. One that cannot be parted is left whole.
fn parts(shape: &[usize], mut ours: Vec<String>) -> (Vec<String>, Vec<usize>) {
    let n = ours.len();
    if n > 1 && shape.first().is_some_and(|rows| rows.is_multiple_of(n)) {
        return (ours, [&[shape[0] / n], &shape[1..]].concat());
    }
    ours.truncate(1);
    (ours, shape.to_vec())
}

/// A weight that was found.
struct Taken {
    /// Its name in the file.
    name: String,
    values: Values,
}

impl<'a> Picker<'a> {
    fn new(expected: &'a [WeightSpec], rename: &'a dyn Fn(&str) -> Vec<String>) -> Self {
        let places = expected.iter().enumerate().map(|(at, spec)| (spec.name.as_str(), at)).collect();
        let taken = expected.iter().map(|_| None).collect();
        let (wrong, strange) = (BTreeMap::new(), BTreeMap::new());
        Self { expected, rename, places, taken, wrong, ignored: Vec::new(), strange }
    }

    fn finish(mut self, place: &Path) -> Result<Loaded> {
        if let Some((_, error)) = self.wrong.pop_first() {
            return Err(error);
        }
        self.ignored.sort();
        let missing: Vec<&WeightSpec> =
            self.expected.iter().zip(&self.taken).filter(|(_, taken)| taken.is_none()).map(|(spec, _)| spec).collect();
        if let Some(spec) = missing.first() {
            let more = more(missing.len() - 1, "missing");
            let hint = suggest::nearest(&spec.name, self.strange.keys().map(String::as_str))
                .map(|near| format!("the file has `{near}`, which nothing expects"));
            let message = format!("is missing, expected shape {:?}{more}", spec.shape);
            return Err(tensor_error(place, &spec.name, message, hint));
        }
        if let Some((path, name, shape)) = self.strange.values().next() {
            let more = more(self.strange.len() - 1, "not expected");
            let message = format!("with shape {shape:?} is not a weight of this architecture{more}");
            return Err(tensor_error(path, name, message, None));
        }
        let mut parameters = Parameters::default();
        for (spec, taken) in self.expected.iter().zip(self.taken) {
            let values = taken.map(|taken| taken.values).unwrap_or_default();
            parameters.insert(Parameter {
                name: spec.name.clone(),
                shape: spec.shape.clone(),
                values,
                trainable: true,
            });
        }
        Ok(Loaded { parameters, ignored: self.ignored })
    }
}

impl Visitor for Picker<'_> {
    fn wants(&mut self, path: &Path, name: &str, shape: &[usize]) -> bool {
        let (ours, shape) = parts(shape, (self.rename)(name));
        let mut wanted = false;
        for ours in ours {
            if self.places.contains_key(ours.as_str()) {
                wanted = true;
            } else if is_ignored(&ours) {
                self.ignored.push(name.to_owned());
            } else {
                self.strange.insert(ours, (path.to_owned(), name.to_owned(), shape.clone()));
            }
        }
        wanted
    }

    fn take(&mut self, mut tensor: Tensor<'_>) -> Result<()> {
        let (path, name) = (tensor.path, tensor.name);
        let (all, found) = parts(tensor.shape, (self.rename)(name));
        let of_part = tensor.len() / all.len().max(1);
        for ours in &all {
            let Some(place) = self.places.get(ours.as_str()).copied() else {
                tensor.skip(of_part)?;
                continue;
            };
            let shape = &self.expected[place].shape;
            if found != *shape {
                let message = format!("has shape {found:?}, expected {shape:?} by the config beside it");
                self.wrong.entry(place).or_insert_with(|| tensor_error(path, name, message, None));
                tensor.skip(of_part)?;
                continue;
            }
            let values = tensor.values(shape)?;
            // Tied weights may be there twice, under both of their names.
            match &self.taken[place] {
                None => self.taken[place] = Some(Taken { name: name.to_owned(), values }),
                Some(before) if before.values == values => self.ignored.push(name.to_owned()),
                Some(before) => {
                    let message = format!("is the same weight as `{}`, expected one of them", before.name);
                    return Err(tensor_error(path, name, message, None));
                }
            }
        }
        Ok(())
    }
}

/// The shape of one tensor of a file.
pub fn shape(path: &Path, name: &str) -> Result<Vec<usize>> {
    let mut seen = Seen { name, shape: None };
    file::visit(path, &mut seen)?;
    seen.shape.ok_or_else(|| tensor_error(path, name, "is missing".into(), None))
}

/// Looks for a tensor and reads none.
struct Seen<'a> {
    name: &'a str,
    shape: Option<Vec<usize>>,
}

impl Visitor for Seen<'_> {
    fn wants(&mut self, _: &Path, name: &str, shape: &[usize]) -> bool {
        if name == self.name {
            self.shape = Some(shape.to_vec());
        }
        false
    }

    fn take(&mut self, _: Tensor<'_>) -> Result<()> {
        Ok(())
    }
}

/// Reads adapters written by [`write()`] into the weights that they stand beside.
pub fn read_adapters(path: &Path, parameters: &mut Parameters) -> Result<()> {
    let bytes = std::fs::read(path).map_err(Error::io("read", path))?;
    let tensors = open(path, &bytes)?;
    let mut found: BTreeMap<&str, TensorView<'_>> = tensors.iter().collect();
    let wanted: Vec<usize> = (0..parameters.len()).filter(|at| lora::is_adapter(&parameters.at(*at).name)).collect();
    for at in wanted {
        let (name, shape) = (parameters.at(at).name.clone(), parameters.at(at).shape.clone());
        let Some(view) = found.remove(name.as_str()) else {
            return Err(tensor_error(path, &name, format!("is missing, expected shape {shape:?}"), None));
        };
        if view.shape() != shape {
            let message = format!("has shape {:?}, expected {shape:?} by the adapter's config", view.shape());
            return Err(tensor_error(path, &name, message, None));
        }
        let values = Tensor::of_view(path, &name, &view).floats(shape.iter().product())?.into();
        parameters.insert(Parameter { name, shape, values, trainable: true });
    }
    match found.into_iter().next() {
        Some((name, _)) => Err(tensor_error(path, name, "is not an adapter weight of this encoder".into(), None)),
        None => Ok(()),
    }
}

/// All tensors of a file, by name.
pub fn read_all(path: &Path) -> Result<Vec<Parameter>> {
    let bytes = std::fs::read(path).map_err(Error::io("read", path))?;
    let tensors = open(path, &bytes)?;
    let parameter = |(name, view): (&str, TensorView<'_>)| {
        let mut tensor = Tensor::of_view(path, name, &view);
        let values = tensor.floats(tensor.len())?.into();
        Ok(Parameter { name: name.to_owned(), shape: view.shape().to_vec(), values, trainable: false })
    };
    let mut all = tensors.iter().map(parameter).collect::<Result<Vec<_>>>()?;
    all.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(all)
}

/// True where a tensor, by our name for it, is one that an encoder does not use.
pub(crate) fn is_ignored(name: &str) -> bool {
    IGNORED.iter().any(|ignored| if ignored.ends_with('.') { name.starts_with(ignored) } else { name == *ignored })
}

fn open<'a>(path: &Path, bytes: &'a [u8]) -> Result<SafeTensors<'a>> {
    SafeTensors::deserialize(bytes).map_err(|error| file::not_whole(path, bytes.len() as u64, bytes, &error))
}

fn more(count: usize, what: &str) -> String {
    if count == 0 { String::new() } else { format!(" ({count} more {what})") }
}

pub(crate) fn tensor_error(path: &Path, tensor: &str, message: String, hint: Option<String>) -> Error {
    Error::data(format!("{}: tensor `{tensor}`", path.display()), message).with_hint_if(hint)
}

#[cfg(test)]
mod tests {
    use safetensors::Dtype;

    use super::*;
    use crate::models::{Architecture, StaticConfig};
    use wb_core::Seed;

    fn bag() -> Architecture {
        Architecture::StaticEmbedding(StaticConfig { vocab_size: 5, dim: 3, weighted: true, positions: 0 })
    }

    fn parameter(name: &str, shape: &[usize], value: f32) -> Parameter {
        let values = vec![value; shape.iter().product()].into();
        Parameter { name: name.into(), shape: shape.to_vec(), values, trainable: true }
    }

    fn check(weights: &[Parameter], expected: &str) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        write(&path, weights.iter()).unwrap();
        let error = read(&[&path], &bag().weights(), &as_named).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(expected) && text.contains("model.safetensors"), "{text}");
    }

    #[test]
    fn what_is_written_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        let fresh = bag().fresh(Seed(3));
        let pooler = parameter("pooler.dense.weight", &[2, 2], 1.0);
        write(&path, fresh.iter().chain([&pooler])).unwrap();
        let loaded = read(&[&path], &bag().weights(), &as_named).unwrap();
        assert_eq!(loaded.parameters, fresh);
        assert_eq!(loaded.ignored, ["pooler.dense.weight"]);
    }

    #[test]
    fn what_does_not_fit_is_named_with_both_sides() {
        let vectors = parameter("embeddings.weight", &[5, 3], 1.0);
        let weights = parameter("token_weights", &[5], 0.0);
        check(std::slice::from_ref(&vectors), "tensor `token_weights`: is missing, expected shape [5]");
        check(&[vectors.clone(), parameter("token_weights", &[4], 0.0)], "has shape [4], expected [5]");
        let extra = parameter("other.weight", &[7], 0.0);
        check(&[vectors.clone(), weights.clone(), extra], "tensor `other.weight`: with shape [7] is not a weight");
        let mut broken = vectors.clone();
        broken.values.floats_mut()[4] = f32::NAN;
        check(&[broken, weights], "has NaN at position 4 of 15");
    }

    #[test]
    fn broken_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        write(&path, bag().fresh(Seed(3)).iter()).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for bytes in [&whole[..whole.len() - 3], &whole[..20], b"", b"version https://git-lfs.github.com/spec/v1\n"] {
            std::fs::write(&path, bytes).unwrap();
            let error = read(&[&path], &bag().weights(), &as_named).unwrap_err();
            assert!(error.to_string().contains("is not a whole safetensors file"), "{error}");
            assert!(error.hint().is_some());
        }
        let error = read(&[folder.path().join("none.safetensors")], &bag().weights(), &as_named).unwrap_err();
        assert!(error.to_string().contains("cannot read"), "{error}");
    }

    #[test]
    fn sixteen_bit_floats_are_exact() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        // 1.0, -2.5, the smallest subnormal 2⁻²⁴, the largest 65504, -0.0.
        let half: Vec<u8> = [0x3c00u16, 0xc100, 0x0001, 0x7bff, 0x8000].iter().flat_map(|h| h.to_le_bytes()).collect();
        // 1.0, -2.5, 2⁻¹³³ (a subnormal), the largest finite, 0.0.
        let brain: Vec<u8> = [0x3f80u16, 0xc020, 0x0001, 0x7f7f, 0].iter().flat_map(|h| h.to_le_bytes()).collect();
        for (dtype, bytes, expected) in [
            (Dtype::F16, half, [1.0, -2.5, 2f32.powi(-24), 65504.0, -0.0]),
            (Dtype::BF16, brain, [1.0, -2.5, f32::from_bits(0x0001_0000), f32::from_bits(0x7f7f_0000), 0.0]),
        ] {
            let view = TensorView::new(dtype, vec![5], &bytes).unwrap();
            std::fs::write(&path, safetensors::serialize([("w", view)], None).unwrap()).unwrap();
            let spec = WeightSpec { name: "w".into(), shape: vec![5], init: crate::models::WeightInit::Zeros };
            let loaded = read(&[&path], &[spec], &as_named).unwrap();
            assert_eq!(loaded.parameters.at(0).values.floats(), expected.as_slice());
        }
        let view = TensorView::new(Dtype::I64, vec![1], &[0; 8]).unwrap();
        std::fs::write(&path, safetensors::serialize([("w", view)], None).unwrap()).unwrap();
        let spec = WeightSpec { name: "w".into(), shape: vec![1], init: crate::models::WeightInit::Zeros };
        let error = read(&[&path], &[spec], &as_named).unwrap_err();
        assert!(error.to_string().contains("has type I64, expected F32, F16 or BF16"), "{error}");
    }

    #[test]
    fn sixteen_bit_files_hold_the_nearest_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        let fresh = bag().fresh(Seed(3));
        for dtype in [WeightType::F16, WeightType::Bf16] {
            write_as(&path, fresh.iter().map(|p| (p.name.clone(), p)), Some(dtype)).unwrap();
            let loaded = read(&[&path], &bag().weights(), &as_named).unwrap();
            let rounded = |p: &Parameter| p.values.floats().iter().map(|v| dtype.rounded(*v)).collect::<Vec<f32>>();
            for (found, before) in loaded.parameters.iter().zip(fresh.iter()) {
                assert_eq!(found.values.floats(), rounded(before), "{dtype} {}", before.name);
                let matrix = if before.shape.len() > 1 { dtype } else { WeightType::F32 };
                assert_eq!(found.values.weight_type(), matrix, "{}", before.name);
            }
            assert_ne!(loaded.parameters, fresh);
        }
        let large = parameter("embeddings.weight", &[5, 3], 1e6);
        let error = write_as(&path, [("w".to_owned(), &large)].into_iter(), Some(WeightType::F16)).unwrap_err();
        assert!(
            error.to_string().contains("tensor `w`: has 1000000 at position 0, which is beyond the range of f16"),
            "{error}"
        );
        assert_eq!(error.hint(), Some("write it as bf16 or f32"));
    }
}
