//! Adapters put beside the layers that a config names, and everything else frozen.

use rand::RngExt;
use wb_core::Seed;

use super::{Adapter, config::LoraConfig, row_length};
use crate::{
    error::Result,
    late_interaction,
    models::{Architecture, score_head::is_of_head},
    parameters::{Parameter, Parameters},
};

/// Adds an adapter to every target and freezes everything else but the modules to save and the matrix of late interaction.
/// `name` is the model's, for messages. Gives what a forward pass needs to know.
pub fn attach(
    parameters: &mut Parameters,
    architecture: &Architecture,
    config: &LoraConfig,
    seed: Seed,
    name: &str,
) -> Result<Adapter> {
    config.validate("lora")?;
    let layers = config.layers(architecture, name)?;
    for parameter in parameters.iter_mut() {
        // Late interaction's matrix is as much a part of what is learned as the adapters are.
        let is_after = parameter.name == late_interaction::WEIGHT || is_of_head(&parameter.name);
        parameter.trainable = config.saves(&parameter.name) || is_after;
    }
    for layer in &layers {
        let Some(weight) = parameters.get(&format!("{layer}.weight")) else {
            return Err(wb_core::Error::data(name, format!("has no weight `{layer}.weight`, expected one")));
        };
        let (out, inside) = (weight.shape[0], weight.shape[1]);
        let rank = config.rank_of(layer);
        if rank > out.min(inside) {
            return Err(wb_core::Error::value(
                "lora.rank",
                format!("got {rank}, expected at most {} for `{layer}` of {name}", out.min(inside)),
            ));
        }
        // ‖W‖ of each row: B is zero.
        let length = |row: &[f32]| row_length(row) as f32;
        let lengths =
            config.use_dora.then(|| weight.values.floats().chunks_exact(inside).map(length).collect::<Vec<f32>>());
        let bound = 1.0 / (inside as f32).sqrt();
        let mut rng = seed.stream(&format!("lora {layer}"));
        let a = (0..rank * inside).map(|_| rng.random_range(-bound..bound)).collect();
        let adapter = |part: &str, shape: Vec<usize>, values| Parameter {
            name: format!("{layer}.{part}.weight"),
            shape,
            values,
            trainable: true,
        };
        parameters.insert(adapter("lora_A", vec![rank, inside], a));
        parameters.insert(adapter("lora_B", vec![out, rank], vec![0.0; out * rank].into()));
        if let Some(lengths) = lengths {
            let name = super::magnitude(layer);
            parameters.insert(Parameter { name, shape: vec![out], values: lengths.into(), trainable: true });
        }
    }
    Ok(Adapter::new(config, &layers))
}

impl LoraConfig {
    /// The layers that get an adapter, in the model's order. What names none is an error.
    pub fn layers(&self, architecture: &Architecture, name: &str) -> Result<Vec<String>> {
        let all = architecture.linear_layers();
        self.targets.check(&all, name)?;
        let modules = modules(architecture);
        for module in &self.modules_to_save {
            if !modules.iter().any(|known| known.ends_with(module.as_str())) {
                let known: Vec<&str> =
                    modules.iter().map(String::as_str).filter(|m| !m.starts_with("encoder")).collect();
                let message = format!("`{module}` is no module of {name}, expected one such as {}", known.join(", "));
                return Err(wb_core::Error::value("lora.modules_to_save", message));
            }
        }
        // As in PEFT, a module that is trained whole gets no adapter.
        let layers: Vec<String> =
            all.into_iter().filter(|layer| self.targets.name(layer) && !self.saves_around(layer)).collect();
        let useless = [
            ("rank_pattern", self.rank_pattern.useless(&layers)),
            ("alpha_pattern", self.alpha_pattern.useless(&layers)),
        ];
        if let Some((key, pattern)) = useless.into_iter().find_map(|(key, pattern)| Some((key, pattern?))) {
            let message = format!("fits no layer of {name} that gets an adapter and that no earlier pattern fits");
            return Err(wb_core::Error::value(format!("lora.{key}.{pattern}"), message));
        }
        Ok(layers)
    }

    /// True where a weight belongs to a module that is trained whole.
    pub fn saves(&self, weight: &str) -> bool {
        let Some((module, _)) = weight.rsplit_once('.') else { return false };
        // The module itself, and every module around it.
        let mut around = module.match_indices('.').map(|(at, _)| &module[..at]).chain([module]);
        around.any(|module| self.modules_to_save.iter().any(|saved| module.ends_with(saved.as_str())))
    }

    /// PEFT's rule for what no adapter may stand in: a saved module is the layer, or around it.
    fn saves_around(&self, layer: &str) -> bool {
        let parts: Vec<&str> = layer.split('.').collect();
        self.modules_to_save.iter().any(|saved| {
            let saved: Vec<&str> = saved.split('.').collect();
            parts.windows(saved.len()).any(|window| window == saved)
        })
    }
}

/// Every module with weights and every module around one, by name.
pub(crate) fn modules(architecture: &Architecture) -> Vec<String> {
    let mut names = Vec::new();
    for spec in architecture.weights() {
        let Some((module, _)) = spec.name.rsplit_once('.') else { continue };
        names.extend(module.match_indices('.').map(|(at, _)| module[..at].to_owned()));
        names.push(module.to_owned());
    }
    names.sort();
    names.dedup();
    names
}
