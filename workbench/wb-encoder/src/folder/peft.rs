//! Adapters that PEFT saved, put onto the model that they belong to.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use wb_core::Seed;

use super::{Folder, model_error, note_names, peft_config, peft_config::PeftConfig};
use crate::{
    error::Result,
    lora::{self, Targets},
    models::Architecture,
    parameters::{Parameter, Parameters},
    weights::{self, tensor_error},
};

/// The weights' file.
pub(crate) const WEIGHTS: &str = "adapter_model.safetensors";
/// Before every tensor's name.
pub(crate) const PREFIX: &str = "base_model.model.";
/// A classifier is no part of an encoder; neither is what `weights` passes over.
const HEADS: [&str; 2] = ["classifier.", "score."];

/// The tensors of one layer's adapter.
#[derive(Default)]
struct Parts {
    a: Option<Parameter>,
    b: Option<Parameter>,
    magnitude: Option<Parameter>,
}

/// The folder of the base model that `adapter_config.json` names.
pub(super) fn base_of(place: &Path) -> Result<PathBuf> {
    let file = place.join(peft_config::FILE);
    let Some(id) = peft_config::read(&file)?.base.filter(|id| !id.is_empty()) else {
        return Err(model_error(&file, "names no base model, expected base_model_name_or_path", &hint("BASE", place)));
    };
    let home = id.strip_prefix("~/").and_then(|rest| Some(std::env::home_dir()?.join(rest)));
    let found =
        [home, Some(PathBuf::from(&id)), Some(place.join(&id))].into_iter().flatten().find(|path| path.is_dir());
    found.ok_or_else(|| model_error(&file, format!("belongs to `{id}`, which is no folder here"), &hint(&id, place)))
}

fn hint(base: &str, place: &Path) -> String {
    format!("name both: encoder.model={{pretrained: {{id: {base}, adapter: {}}}}}", place.display())
}

impl Folder {
    /// Puts the adapters that PEFT saved in a folder onto this encoder; they can be trained further.
    pub fn add_peft(&mut self, place: &Path) -> Result<()> {
        if self.lora.is_some() {
            let message = format!("{} has adapters already, expected a model without", self.name);
            return Err(model_error(place, message, ""));
        }
        let config_file = place.join(peft_config::FILE);
        let mut config = peft_config::read(&config_file)?;
        let file = place.join(WEIGHTS);
        if !file.is_file() {
            return Err(model_error(place, format!("has no {WEIGHTS}, expected it beside {}", peft_config::FILE), ""));
        }
        let (mut adapters, mut saved, ignored) = sorted(&file, &self.model.architecture)?;
        let mut notes = Vec::new();
        note_names(&mut notes, "adapter tensors not used", &ignored);
        if config.fan_in_fan_out {
            notes.push("fan_in_fan_out means nothing for these layers and is not used, as in PEFT".to_owned());
        }
        let layers = fit(&mut config, self, &config_file, &file, &adapters, &mut notes)?;

        let parameters = &mut self.model.parameters;
        let adapter = lora::attach(parameters, &self.model.architecture, &config.lora, Seed(0), &self.name)?;
        for parameter in parameters.iter_mut().filter(|p| !lora::is_adapter(&p.name) && config.lora.saves(&p.name)) {
            fill(parameter, saved.remove(&parameter.name), &file)?;
        }
        if let Some((name, _)) = saved.pop_first() {
            return Err(tensor_error(&file, &name, "belongs to no adapter and to no module to save".into(), None));
        }
        for layer in &layers {
            let Parts { a, b, magnitude } = adapters.remove(layer).unwrap_or_default();
            for (part, found) in [("lora_A", a), ("lora_B", b)] {
                let mut parameter = named(parameters, &format!("{layer}.{part}.weight"))?;
                fill(&mut parameter, found, &file)?;
                parameters.insert(parameter);
            }
            match (config.lora.use_dora, magnitude) {
                (true, magnitude) => {
                    let mut parameter = named(parameters, &lora::magnitude(layer))?;
                    // Older versions keep it as a column.
                    let flat = magnitude.map(|m| Parameter { shape: vec![m.values.len()], ..m });
                    fill(&mut parameter, flat, &file)?;
                    parameters.insert(parameter);
                }
                (false, Some(m)) => {
                    let message = "is a magnitude vector, and use_dora is false".into();
                    return Err(tensor_error(&file, &m.name, message, None));
                }
                (false, None) => {}
            }
        }
        self.model.adapter = Some(adapter);
        self.lora = Some(config.lora);
        self.notes.extend(notes);
        Ok(())
    }
}

/// The file's tensors by layer, those of modules that were trained whole, and names of those without a use.
#[expect(clippy::type_complexity, reason = "the three kinds of tensors, taken apart at once")]
fn sorted(
    file: &Path,
    architecture: &Architecture,
) -> Result<(BTreeMap<String, Parts>, BTreeMap<String, Parameter>, Vec<String>)> {
    let (mut adapters, mut saved, mut ignored) = (BTreeMap::<String, Parts>::new(), BTreeMap::new(), Vec::new());
    for tensor in weights::read_all(file)? {
        let Some(inner) = tensor.name.strip_prefix(PREFIX) else {
            let message = format!("expected a name that begins with `{PREFIX}`");
            return Err(tensor_error(file, &tensor.name, message, None));
        };
        let ours = architecture.our_name(inner);
        if weights::is_ignored(&ours) || HEADS.iter().any(|head| ours.starts_with(head)) {
            ignored.push(tensor.name);
            continue;
        }
        let layer = |suffix: &str| ours.strip_suffix(suffix).map(str::to_owned);
        if let Some(layer) = layer(".lora_A.weight") {
            adapters.entry(layer).or_default().a = Some(tensor);
        } else if let Some(layer) = layer(".lora_B.weight") {
            adapters.entry(layer).or_default().b = Some(tensor);
        } else if let Some(layer) = layer(".lora_magnitude_vector").or_else(|| layer(".lora_magnitude_vector.weight")) {
            adapters.entry(layer).or_default().magnitude = Some(tensor);
        } else if ours.contains(".lora_") {
            let message = "is a part of an adapter that is not read, expected lora_A, lora_B or lora_magnitude_vector";
            return Err(tensor_error(file, &tensor.name, message.into(), None));
        } else {
            saved.insert(ours, tensor);
        }
    }
    Ok((adapters, saved, ignored))
}

/// Compares the layers that the config names with those that the file has, and gives them in the model's order.
/// The config then names them and nothing that an encoder does not have.
fn fit(
    config: &mut PeftConfig,
    folder: &Folder,
    config_file: &Path,
    file: &Path,
    adapters: &BTreeMap<String, Parts>,
    notes: &mut Vec<String>,
) -> Result<Vec<String>> {
    let all = folder.model.architecture.linear_layers();
    if let Some((layer, _)) = adapters.iter().find(|(layer, _)| !all.contains(layer)) {
        let message = format!("is no linear layer of {}", folder.name);
        return Err(tensor_error(file, layer, message, Some("is this the model that the adapters belong to?".into())));
    }
    // What this encoder does not have (poolers, heads) is not looked for in it.
    let modules = lora::modules(&folder.model.architecture);
    let mut dropped = Vec::new();
    config
        .lora
        .modules_to_save
        .retain(|saved| keep(modules.iter().any(|m| m.ends_with(saved.as_str())), saved, &mut dropped));
    if let Targets::Names(names) = &mut config.lora.targets {
        names.retain(|name| keep(all.iter().any(|layer| lora::ends_with(layer, name)), name, &mut dropped));
        if names.is_empty() {
            return Err(model_error(config_file, format!("has target_modules that {} does not have", folder.name), ""));
        }
    }
    note_names(notes, "names of adapted modules that are not in an encoder", &dropped);
    let excluded = |layer: &String| config.exclude.as_ref().is_some_and(|exclude| exclude.name(layer));
    let without_patterns =
        lora::LoraConfig { rank_pattern: Default::default(), alpha_pattern: Default::default(), ..config.lora.clone() };
    let mut layers = without_patterns.layers(&folder.model.architecture, &folder.name)?;
    layers.retain(|layer| !excluded(layer) && (!config.some_layers || adapters.contains_key(layer)));
    if let Some(layer) = layers.iter().find(|layer| !adapters.contains_key(*layer)) {
        return Err(tensor_error(
            file,
            &format!("{layer}.lora_A.weight"),
            "is missing, target_modules names its layer".into(),
            None,
        ));
    }
    if let Some((layer, _)) = adapters.iter().find(|(layer, _)| !layers.contains(layer)) {
        return Err(tensor_error(
            file,
            &format!("{layer}.lora_A.weight"),
            "is not expected: target_modules does not name its layer".into(),
            None,
        ));
    }
    if config.exclude.is_some() || config.some_layers {
        config.lora.targets = Targets::Names(layers.clone());
    }
    let unused =
        config.lora.rank_pattern.keep_useful(&layers).into_iter().chain(config.lora.alpha_pattern.keep_useful(&layers));
    let unused: Vec<String> = unused.collect();
    note_names(notes, "patterns of ranks and alphas that fit no layer", &unused);
    Ok(layers)
}

fn keep(useful: bool, name: &str, dropped: &mut Vec<String>) -> bool {
    if !useful {
        dropped.push(name.to_owned());
    }
    useful
}

/// Takes a tensor's values over, if the shapes agree.
fn fill(parameter: &mut Parameter, found: Option<Parameter>, file: &Path) -> Result<()> {
    let Some(found) = found else {
        let message = format!("is missing, expected shape {:?}", parameter.shape);
        return Err(tensor_error(file, &format!("{PREFIX}{}", parameter.name), message, None));
    };
    if found.shape != parameter.shape {
        let message = format!("has shape {:?}, expected {:?} by {}", found.shape, parameter.shape, peft_config::FILE);
        return Err(tensor_error(file, &found.name, message, None));
    }
    parameter.values = found.values;
    Ok(())
}

fn named(parameters: &Parameters, name: &str) -> Result<Parameter> {
    let missing = || wb_core::Error::data(name, "is not among the model's weights");
    parameters.get(name).cloned().ok_or_else(missing)
}
