//! Dense layers after the pooling, as sentence-transformers' folders have them: `2_Dense/config.json` and its weights.
//!
//! They are computed on the host, after the backbone, and are not trained: a training's gradients begin at the backbone.

use std::path::Path;

use ndarray::{Array1, Array2};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use wb_core::run_dir::write_json;

use crate::{
    error::Result,
    folder::{json as read_json, model_error},
    models::{WeightInit, WeightSpec},
    parameters::Parameter,
    values::Values,
    weights::{self, WeightType},
};

/// The function after a dense layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DenseActivation {
    /// None.
    Identity,
    /// tanh(x), sentence-transformers' default.
    Tanh,
    /// max(x, 0).
    Relu,
}

/// y = f(x·Wᵀ + b), on pooled embeddings.
#[derive(Debug, Clone, PartialEq)]
pub struct DenseLayer {
    /// `[out, in]`.
    pub weight: Array2<f32>,
    /// `[out]`; none where there is no bias.
    pub bias: Option<Array1<f32>>,
    /// Function applied to the product.
    pub activation: DenseActivation,
}

/// torch's names of the functions.
const NAMES: [(DenseActivation, &str); 3] = [
    (DenseActivation::Identity, "torch.nn.modules.linear.Identity"),
    (DenseActivation::Tanh, "torch.nn.modules.activation.Tanh"),
    (DenseActivation::Relu, "torch.nn.modules.activation.ReLU"),
];

impl DenseLayer {
    /// Length of what comes out.
    pub fn dim(&self) -> usize {
        self.weight.nrows()
    }

    /// Bytes of memory that its numbers take.
    pub fn memory(&self) -> usize {
        4 * (self.weight.len() + self.bias.as_ref().map_or(0, Array1::len))
    }

    /// Embeddings `[texts, in]` to `[texts, out]`.
    pub fn forward(&self, embeddings: &Array2<f32>) -> Array2<f32> {
        let mut out = embeddings.dot(&self.weight.t());
        if let Some(bias) = &self.bias {
            out += bias;
        }
        match self.activation {
            DenseActivation::Identity => {}
            DenseActivation::Tanh => out.mapv_inplace(f32::tanh),
            DenseActivation::Relu => out.mapv_inplace(|x| x.max(0.0)),
        }
        out
    }

    /// Reads a module's folder; `inside` is the length of what comes in. What it cannot compute is an error.
    pub(crate) fn read(folder: &Path, inside: usize) -> Result<Self> {
        Self::read_of(folder, inside, "sentence_embedding")
    }

    /// Reads a layer on sentence-transformers' `sentence_embedding` or `token_embeddings`.
    pub(crate) fn read_of(folder: &Path, inside: usize, of: &str) -> Result<Self> {
        let file = folder.join("config.json");
        let config: Value = read_json(&file)?;
        let refuse = |message: String| Err(model_error(&file, message, "models with such a layer cannot be loaded"));
        if config["use_residual"] == Value::Bool(true) {
            return refuse("has use_residual true, expected false".into());
        }
        for key in ["module_input_name", "module_output_name"] {
            if !config[key].is_null() && config[key] != of {
                return refuse(format!("has {key} {}, expected \"{of}\"", config[key]));
            }
        }
        let activation = match &config["activation_function"] {
            Value::Null => DenseActivation::Tanh,
            Value::String(name) => match NAMES.iter().find(|(_, known)| known == name) {
                Some((activation, _)) => *activation,
                None => {
                    return refuse(format!(
                        "has activation_function `{name}`, expected Identity, Tanh or ReLU of torch"
                    ));
                }
            },
            other => return refuse(format!("has activation_function {other}, expected a name")),
        };
        let number = |key: &str| config[key].as_u64().map(|n| n as usize);
        if number("in_features") != Some(inside) {
            return refuse(format!(
                "has in_features {}, expected {inside}, the length of what comes in",
                config["in_features"]
            ));
        }
        let Some(dim) = number("out_features").filter(|dim| *dim > 0) else {
            return refuse(format!("has out_features {}, expected a number above 0", config["out_features"]));
        };
        let with_bias = config["bias"].as_bool().unwrap_or(true);
        let found = ["model.safetensors", "pytorch_model.bin"].map(|name| folder.join(name));
        let Some(weights) = found.iter().find(|file| file.is_file()) else {
            let message = "has no model.safetensors and no pytorch_model.bin, expected the layer's weights";
            return Err(model_error(folder, message, "fetch the whole model folder"));
        };
        Self::read_weights(weights, "linear", [dim, inside], with_bias, activation)
    }

    /// Reads `<name>.weight` and `<name>.bias`.
    pub(crate) fn read_weights(
        file: &Path,
        name: &str,
        [dim, inside]: [usize; 2],
        with_bias: bool,
        activation: DenseActivation,
    ) -> Result<Self> {
        let spec = |part: &str, shape: Vec<usize>| WeightSpec {
            name: format!("{name}.{part}"),
            shape,
            init: WeightInit::Zeros,
        };
        let mut expected = vec![spec("weight", vec![dim, inside])];
        expected.extend(with_bias.then(|| spec("bias", vec![dim])));
        let loaded = weights::read(&[file], &expected, &weights::as_named)?;
        let weight = loaded.parameters.at(0).values.floats().into_owned();
        let weight = Array2::from_shape_vec((dim, inside), weight)
            .map_err(|error| wb_core::Error::data(file.display().to_string(), error.to_string()))?;
        let bias = with_bias.then(|| Array1::from_vec(loaded.parameters.at(1).values.floats().into_owned()));
        Ok(Self { weight, bias, activation })
    }

    /// Its weights as `<name>.weight` and `<name>.bias`.
    pub(crate) fn parameters(&self, name: &str) -> Vec<Parameter> {
        let parameter = |part: &str, shape: Vec<usize>, values: Values| Parameter {
            name: format!("{name}.{part}"),
            shape,
            values,
            trainable: false,
        };
        let mut all = vec![parameter("weight", self.weight.shape().to_vec(), self.weight.iter().copied().collect())];
        all.extend(self.bias.as_ref().map(|bias| parameter("bias", vec![bias.len()], bias.to_vec().into())));
        all
    }

    /// Writes a module's folder.
    pub(crate) fn write(&self, folder: &Path, dtype: WeightType) -> Result<()> {
        let name = NAMES.iter().find(|(activation, _)| *activation == self.activation).map(|(_, name)| *name);
        let config = json!({
            "in_features": self.weight.ncols(),
            "out_features": self.weight.nrows(),
            "bias": self.bias.is_some(),
            "activation_function": name,
        });
        write_json(&folder.join("config.json"), &config)?;
        let parameters = self.parameters("linear");
        weights::write_as(
            &folder.join("model.safetensors"),
            parameters.iter().map(|p| (p.name.clone(), p)),
            Some(dtype),
        )
    }

    /// Its weights as they are read back from a type.
    pub(crate) fn round(&mut self, dtype: WeightType) {
        self.weight.mapv_inplace(|x| dtype.rounded(x));
        self.bias.iter_mut().for_each(|bias| bias.mapv_inplace(|x| dtype.rounded(x)));
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{arr1, arr2};

    use super::*;

    #[test]
    fn a_small_layer_by_hand() {
        let mut dense = DenseLayer {
            weight: arr2(&[[1.0, 2.0], [0.0, -1.0], [3.0, 0.5]]),
            bias: Some(arr1(&[0.5, 0.0, -1.0])),
            activation: DenseActivation::Identity,
        };
        let x = arr2(&[[1.0, 1.0], [-2.0, 0.0]]);
        assert_eq!(dense.forward(&x), arr2(&[[3.5, -1.0, 2.5], [-1.5, 0.0, -7.0]]));
        dense.activation = DenseActivation::Relu;
        assert_eq!(dense.forward(&x), arr2(&[[3.5, 0.0, 2.5], [0.0, 0.0, 0.0]]));
        (dense.activation, dense.bias) = (DenseActivation::Tanh, None);
        assert_eq!(dense.forward(&x)[[0, 0]], 3f32.tanh());
        assert_eq!(dense.dim(), 3);
    }
}
