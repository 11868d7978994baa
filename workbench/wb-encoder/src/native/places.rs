//! Places of weights among the parameters: found by name, with their shapes checked.

use crate::{error::Result, lora, models::stack::LinearSpec, parameters::Parameters};

/// Places of a linear layer's weights.
#[derive(Debug, Clone)]
pub struct LinearPlaces {
    /// The layer's name, which decides its adapter's dropout.
    pub name: String,
    pub weight: usize,
    pub bias: Option<usize>,
    /// `lora_A` and `lora_B`.
    pub adapter: Option<(usize, usize)>,
    /// `lora_magnitude_vector`, where the adapter is DoRA's.
    pub magnitude: Option<usize>,
    pub inputs: usize,
    pub outputs: usize,
}

/// Places of a normalization's weights.
#[derive(Debug, Clone)]
pub struct NormPlaces {
    pub weight: usize,
    /// None where nothing is added.
    pub shift: Option<usize>,
}

impl NormPlaces {
    /// Both.
    pub fn all(&self) -> impl Iterator<Item = usize> + use<> {
        [self.weight].into_iter().chain(self.shift)
    }
}

/// Looks for weights among these.
pub struct Finder<'a> {
    pub parameters: &'a Parameters,
}

impl Finder<'_> {
    /// A weight of this shape.
    pub fn weight(&self, name: &str, shape: &[usize]) -> Result<usize> {
        let refuse = |message: String| wb_core::Error::data(format!("weight {name}"), message);
        let place = self.parameters.position(name).ok_or_else(|| refuse("is missing".into()))?;
        let found = &self.parameters.at(place).shape;
        if found != shape {
            return Err(refuse(format!("has shape {found:?}, expected {shape:?}")));
        }
        Ok(place)
    }

    /// A normalization.
    pub fn norm(&self, name: &str, width: usize, with_shift: bool) -> Result<NormPlaces> {
        let weight = self.weight(&format!("{name}.weight"), &[width])?;
        let shift = match with_shift {
            true => Some(self.weight(&format!("{name}.bias"), &[width])?),
            false => None,
        };
        Ok(NormPlaces { weight, shift })
    }

    /// A linear layer with its adapter, if it has one.
    pub fn linear(&self, spec: &LinearSpec) -> Result<LinearPlaces> {
        let LinearSpec { name, inputs, outputs, bias: with_bias } = spec.clone();
        let a = format!("{name}.lora_A.weight");
        let adapter = match self.parameters.get(&a).map(|a| a.shape.clone()) {
            None => None,
            Some(shape) => {
                let rank = shape.first().copied().unwrap_or_default();
                Some((
                    self.weight(&a, &[rank, inputs])?,
                    self.weight(&format!("{name}.lora_B.weight"), &[outputs, rank])?,
                ))
            }
        };
        let magnitude = lora::magnitude(&name);
        let magnitude = match adapter.is_some() && self.parameters.position(&magnitude).is_some() {
            true => Some(self.weight(&magnitude, &[outputs])?),
            false => None,
        };
        let bias = match with_bias {
            true => Some(self.weight(&format!("{name}.bias"), &[outputs])?),
            false => None,
        };
        Ok(LinearPlaces {
            weight: self.weight(&format!("{name}.weight"), &[outputs, inputs])?,
            bias,
            name,
            adapter,
            magnitude,
            inputs,
            outputs,
        })
    }
}
