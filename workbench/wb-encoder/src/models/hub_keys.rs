//! The keys of a hub's `config.json`, each asked for by name, with errors that say what is wrong with the file.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Activation;
use crate::{
    error::{Error, Result},
    weights::WeightType,
};

/// A hub's `config.json`.
#[derive(Debug)]
pub struct HubKeys {
    path: PathBuf,
    keys: Value,
}

impl HubKeys {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self> {
        Ok(Self { path: path.to_owned(), keys: wb_core::run_dir::read_json(path)? })
    }

    /// The file's place, for messages about what it says.
    pub fn place(&self) -> String {
        self.path.display().to_string()
    }

    /// An error about the file.
    pub fn refuse(&self, message: impl Into<String>, hint: &str) -> Error {
        let hint = (!hint.is_empty()).then(|| hint.to_owned());
        Error::file(&self.path, message).with_hint_if(hint)
    }

    /// A key's value; none where it is null or not there.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.keys.get(key).filter(|value| !value.is_null())
    }

    /// A whole number that has to be there.
    pub fn size(&self, key: &str) -> Result<usize> {
        self.size_if(key)?.ok_or_else(|| self.refuse(format!("has no `{key}`, expected a number"), ""))
    }

    /// A whole number, where it is there.
    pub fn size_if(&self, key: &str) -> Result<Option<usize>> {
        let number = |value: &Value| value.as_u64().and_then(|number| usize::try_from(number).ok());
        self.typed(key, number, "a whole number")
    }

    /// A number, or a default.
    pub fn real(&self, key: &str, default: f64) -> Result<f64> {
        Ok(self.typed(key, Value::as_f64, "a number")?.unwrap_or(default))
    }

    /// True or false, or a default.
    pub fn flag(&self, key: &str, default: bool) -> Result<bool> {
        Ok(self.typed(key, Value::as_bool, "true or false")?.unwrap_or(default))
    }

    /// A text, or a default.
    pub fn text(&self, key: &str, default: &str) -> Result<String> {
        Ok(self.typed(key, |value| value.as_str().map(str::to_owned), "a text")?.unwrap_or_else(|| default.to_owned()))
    }

    /// An activation by its name in transformers.
    pub fn activation(&self, key: &str, default: &str) -> Result<Activation> {
        let name = self.text(key, default)?;
        Activation::of_hub(&name).ok_or_else(|| {
            let known = Activation::HUB_NAMES.map(|(name, _)| name).join(", ");
            self.refuse(format!("has {key} `{name}`, expected one of {known}"), "")
        })
    }

    /// The type that the file says the weights beside it are of, under either of its names; floats where it does not.
    pub fn weight_type(&self) -> Result<WeightType> {
        let name = match self.text("dtype", "")? {
            older if older.is_empty() => self.text("torch_dtype", "")?,
            newer => newer,
        };
        let types = [WeightType::F16, WeightType::Bf16];
        Ok(types.into_iter().find(|kind| kind.torch_name() == name).unwrap_or_default())
    }

    /// The base of rotary positions: of `rope_parameters`, as newer files have it (of a `kind` of layers where each has
    /// its own), or under a key of older ones. Positions that are scaled for longer texts are refused.
    pub fn rotary_base(&self, kind: Option<&str>, older: &str, default: f64) -> Result<f64> {
        let section = self.get("rope_parameters").map(|all| kind.and_then(|kind| all.get(kind)).unwrap_or(all));
        for (name, section) in [("rope_parameters", section), ("rope_scaling", self.get("rope_scaling"))] {
            let Some(section) = section else { continue };
            let scaled = section.get("rope_type").or(section.get("type")).and_then(Value::as_str);
            if let Some(scaled) = scaled.filter(|name| *name != "default") {
                let message = format!("has {name} of type `{scaled}`, expected default");
                return Err(self.refuse(message, "positions that are scaled for longer texts are not computed"));
            }
        }
        match section.and_then(|section| section.get("rope_theta")).and_then(Value::as_f64) {
            Some(base) => Ok(base),
            None => self.real(older, default),
        }
    }

    /// Refuses a folder that brings its own code along, which may compute something else than its `model_type` says.
    pub fn refuse_remote_code(&self) -> Result<()> {
        let code = ["AutoModel", "AutoModelForCausalLM"];
        let named = self.get("auto_map").and_then(|map| code.iter().find_map(|name| map.get(name)?.as_str()));
        match named {
            None => Ok(()),
            Some(named) => Err(self.refuse(
                format!("asks for code of its own, `{named}`, expected a model that transformers itself computes"),
                "what such code does is not known here; a model card may name a repository without it",
            )),
        }
    }

    fn typed<T>(&self, key: &str, read: impl Fn(&Value) -> Option<T>, expected: &str) -> Result<Option<T>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        match read(value) {
            Some(found) => Ok(Some(found)),
            None => Err(self.refuse(format!("has `{key}` {value}, expected {expected}"), "")),
        }
    }
}
