//! The weights of a backbone in host memory, by name, and their gradients.

use std::collections::HashMap;

/// One weight.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Name as in the model's `model.safetensors` (`encoder.layer.0.attention.self.query.weight`),
    /// or that plus `.lora_A.weight` / `.lora_B.weight` for an adapter.
    pub name: String,
    /// Shape as in `model.safetensors`: a linear weight is `[out, in]`; `lora_A` is `[rank, in]`, `lora_B` `[out, rank]`.
    pub shape: Vec<usize>,
    /// Row-major values.
    pub values: Vec<f32>,
    /// True where training may change it.
    pub trainable: bool,
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
        debug_assert_eq!(parameter.shape.iter().product::<usize>(), parameter.values.len(), "{}", parameter.name);
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
