//! Adapters as PEFT saves them, with sentence-transformers' modules beside them, so that both open the folder.

use std::path::Path;

use wb_core::run_dir::write_json;

use super::{ExportConfig, layout::Layout};
use crate::{
    error::Result,
    folder::{Folder, multi_vector, peft, peft_config, sentence_transformers},
    late_interaction::WEIGHT,
    lora,
    parameters::{Parameter, Parameters},
    weights,
};

/// `adapter_config.json`, `adapter_model.safetensors`, and everything of a transformer's folder but its config and weights.
pub(super) fn write(folder: &Folder, config: &ExportConfig, to: &Path) -> Result<()> {
    let (Some(lora), Some(base)) = (&folder.lora, &config.base) else {
        return Err(wb_core::Error::data(folder.name.as_str(), "has no adapters, or none whose base model is known"));
    };
    let architecture = &folder.model.architecture;
    let layers = lora.layers(architecture, &folder.name)?;
    let revision = config.base_revision.as_deref();
    write_json(&to.join(peft_config::FILE), &peft_config::to_json(lora, architecture, &layers, base, revision))?;
    let ours = folder.model.parameters.iter().filter(|p| lora::is_adapter(&p.name) || lora.saves(&p.name));
    let named = ours.map(|p| (format!("{}{}", peft::PREFIX, p.name), p));
    weights::write_as(&to.join(peft::WEIGHTS), named, Some(config.dtype))?;
    Layout::Legacy.write_around(folder, config, to)
}

/// The folder's adapters on the weights that they were trained on.
pub(super) fn read_back(folder: &Folder, from: &Path) -> Result<Folder> {
    let mut base = folder.clone();
    let mut parameters = Parameters::default();
    for parameter in folder.model.parameters.iter().filter(|p| !lora::is_adapter(&p.name)) {
        // What trains whole has to come from the folder too.
        let saved = folder.lora.as_ref().is_some_and(|lora| lora.saves(&parameter.name));
        let values = if saved { vec![0.0; parameter.values.len()].into() } else { parameter.values.clone() };
        parameters.insert(Parameter { values, ..parameter.clone() });
    }
    base.model.parameters = parameters;
    base.model.adapter = None;
    base.lora = None;
    if folder.late_interaction.is_some() {
        let modules = multi_vector::Modules { dense: from.join("1_Dense"), mask: Some(from.join("2_MultiVectorMask")) };
        base.model.parameters.retain(|parameter| parameter.name != WEIGHT);
        base.late_interaction = None;
        base.prompts = sentence_transformers::prompts(from)?;
        multi_vector::add(&mut base, from, from, &modules)?;
    }
    base.add_peft(from)?;
    Ok(base)
}
