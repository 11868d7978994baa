//! The weights of a backbone in host memory, by name, and their gradients.

use std::collections::{BTreeSet, HashMap};

use crate::{values::Values, weights::WeightType};

/// One weight.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Name as in the model's `model.safetensors` (`encoder.layer.0.attention.self.query.weight`),
    /// or that plus `.lora_A.weight` / `.lora_B.weight` / `.lora_magnitude_vector` for an adapter.
    pub name: String,
    /// Shape as in `model.safetensors`: a linear weight is `[out, in]`; `lora_A` is `[rank, in]`, `lora_B` `[out, rank]`.
    pub shape: Vec<usize>,
    /// Row-major values.
    pub values: Values,
    /// True where training may change it.
    pub trainable: bool,
}

impl Parameter {
    /// Bytes of its numbers in memory while training: those that training changes are 32-bit floats.
    pub fn bytes(&self) -> usize {
        let each = if self.trainable { WeightType::F32 } else { self.values.weight_type() };
        self.values.len() * each.bytes()
    }
}

/// All weights of a backbone in a fixed order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parameters {
    list: Vec<Parameter>,
    position: HashMap<String, usize>,
}

impl Parameters {
    /// Adds a weight; a name that is there already is replaced.
    pub fn insert(&mut self, parameter: Parameter) -> usize {
        assert_eq!(parameter.shape.iter().product::<usize>(), parameter.values.len(), "{}", parameter.name);
        if let Some(&at) = self.position.get(&parameter.name) {
            self.list[at] = parameter;
            return at;
        }
        self.position.insert(parameter.name.clone(), self.list.len());
        self.list.push(parameter);
        self.list.len() - 1
    }

    /// Takes out the weights that are not to be kept; the others stay in order.
    pub fn retain(&mut self, keep: impl FnMut(&Parameter) -> bool) {
        self.list.retain(keep);
        self.position = self.list.iter().enumerate().map(|(at, parameter)| (parameter.name.clone(), at)).collect();
    }

    /// The weights in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Parameter> {
        self.list.iter()
    }

    /// The weights in order, to change.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, Parameter> {
        self.list.iter_mut()
    }

    /// One weight by its place.
    pub fn at(&self, position: usize) -> &Parameter {
        &self.list[position]
    }

    /// Position of a weight.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.position.get(name).copied()
    }

    /// One weight by its name.
    pub fn get(&self, name: &str) -> Option<&Parameter> {
        self.position(name).map(|at| &self.list[at])
    }

    /// The numbers of a weight that [`Parameters::widen`] made 32-bit floats, or that were never others; any other is a
    /// defect of the caller and panics.
    pub(crate) fn floats(&self, position: usize) -> &[f32] {
        let floats = self.list[position].values.as_floats();
        assert!(floats.is_some(), "{} was not widened", self.list[position].name);
        floats.unwrap_or_default()
    }

    /// Says of all weights that they do not train.
    pub fn freeze(&mut self) {
        self.list.iter_mut().for_each(|parameter| parameter.trainable = false);
    }

    /// Makes 32-bit floats of all weights but those at these places.
    pub(crate) fn widen(&mut self, but: &BTreeSet<usize>) {
        for (_, parameter) in self.list.iter_mut().enumerate().filter(|(place, _)| !but.contains(place)) {
            parameter.values.widen();
        }
    }

    /// Number of weights (tensors).
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// True where there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Number of numbers, and number of those that training may change.
    pub fn counts(&self) -> (usize, usize) {
        let all = self.list.iter().map(|p| p.values.len()).sum();
        let trainable = self.list.iter().filter(|p| p.trainable).map(|p| p.values.len()).sum();
        (all, trainable)
    }
}

/// Gradients, in the parameters' order: empty for a weight that does not train.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Gradients {
    list: Vec<Vec<f32>>,
}

impl Gradients {
    /// Zeros for every weight that trains.
    pub fn zeros(parameters: &Parameters) -> Self {
        let zeros = |p: &Parameter| if p.trainable { vec![0.0; p.values.len()] } else { Vec::new() };
        Self { list: parameters.iter().map(zeros).collect() }
    }

    /// Zeros for every weight that trains, but for those that are away.
    pub fn zeros_but(parameters: &Parameters, away: &[bool]) -> Self {
        let zeros =
            |(p, away): (&Parameter, &bool)| if p.trainable && !away { vec![0.0; p.values.len()] } else { Vec::new() };
        Self { list: parameters.iter().zip(away).map(zeros).collect() }
    }

    /// The gradient of the weight at a place.
    pub fn at(&self, position: usize) -> &[f32] {
        &self.list[position]
    }

    /// The gradient of the weight at a place, to add to.
    pub fn at_mut(&mut self, position: usize) -> &mut Vec<f32> {
        &mut self.list[position]
    }

    /// All gradients in the parameters' order.
    pub fn iter(&self) -> std::slice::Iter<'_, Vec<f32>> {
        self.list.iter()
    }

    /// All gradients in the parameters' order, to change.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, Vec<f32>> {
        self.list.iter_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Short;

    #[test]
    #[should_panic(expected = "table was not widened")]
    fn a_weight_of_16_bits_is_not_taken_for_an_empty_one() {
        let mut parameters = Parameters::default();
        let values = Values::of_short(vec![0; 6], Short::F16);
        let at = parameters.insert(Parameter { name: "table".into(), shape: vec![2, 3], values, trainable: false });
        parameters.floats(at);
    }
}
