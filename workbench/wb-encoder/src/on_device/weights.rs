//! A model's weights as tensors on a device.

use std::{
    collections::{HashMap, HashSet},
    ops::Deref,
    sync::Arc,
};

use burn::tensor::{FloatDType, Tensor};

use super::traffic::{Link, Reading, float_of};
use crate::{
    device::guarded,
    error::{Error, Result},
    lora,
    models::{Architecture, Stack},
    parameters::{Parameter, Parameters},
    precision::Precision,
    values::Values,
    weights::WeightType,
};

/// A weight on a device, laid out as in the model's file.
#[derive(Debug, Clone)]
pub(crate) enum Weight {
    /// A bias, a scale, or a weight per token.
    Vector(Tensor<1>),
    /// An embedding or a linear layer, `[out, in]`.
    Matrix(Tensor<2>),
}

/// All weights of a model on a device, in the parameters' order.
#[derive(Debug, Clone)]
pub(crate) struct Weights {
    /// None for what the network does not read, such as a head behind it.
    list: Vec<Option<Weight>>,
    position: Arc<HashMap<String, usize>>,
    /// The numbers that frozen weights were copied from: what still has the same memory need not be copied again.
    from: Arc<Vec<Option<Values>>>,
}

impl Weights {
    /// Copies the weights of the network and its adapters to a device, but for frozen ones that are there as they are, and
    /// those that live there. Frozen ones that `products` names are kept there in its type, and a frozen table of tokens in
    /// that of its file.
    pub(crate) fn upload(
        parameters: &Parameters,
        link: &Link,
        network: &NetworkWeights,
        there: Option<(&Self, &[bool])>,
        products: Option<&Products>,
    ) -> Result<Self> {
        let kept = |parameter: &Parameter| -> Option<Weight> {
            let (there, lives) = there?;
            let at = *there.position.get(&parameter.name)?;
            let same = || !parameter.trainable && there.from[at].as_ref().is_some_and(|v| v.shares(&parameter.values));
            there.list[at].clone().filter(|_| lives.get(at).is_some_and(|lives| *lives) || same())
        };
        let kind = |parameter: &Parameter| match products.filter(|products| products.takes(&parameter.name)) {
            _ if parameter.trainable => WeightType::F32,
            Some(products) => products.kind,
            None if network.tokens.as_ref() == Some(&parameter.name) => {
                let own = parameter.values.weight_type();
                if link.has(own) { own } else { WeightType::F32 }
            }
            None => WeightType::F32,
        };
        let weight = |parameter: &Parameter| match kept(parameter) {
            Some(weight) => Ok(Some(weight)),
            None if network.all.contains(&parameter.name) || lora::is_adapter(&parameter.name) => {
                Weight::upload(parameter, kind(parameter), link).map(Some)
            }
            None => Ok(None),
        };
        let list = parameters.iter().map(weight).collect::<Result<_>>()?;
        let position = parameters.iter().enumerate().map(|(at, p)| (p.name.clone(), at)).collect();
        let from = parameters.iter().map(|p| (!p.trainable).then(|| p.values.clone())).collect();
        Ok(Self { list, position: Arc::new(position), from: Arc::new(from) })
    }

    /// Wants gradients for the weights that train and for no others.
    pub(crate) fn tracked(&self, parameters: &Parameters) -> TrackedWeights {
        let track = |(weight, parameter): (&Option<Weight>, &Parameter)| match (weight, parameter.trainable) {
            (Some(Weight::Vector(tensor)), true) => Some(Weight::Vector(tensor.clone().autodiff().require_grad())),
            (Some(Weight::Matrix(tensor)), true) => Some(Weight::Matrix(tensor.clone().autodiff().require_grad())),
            (other, _) => other.clone(),
        };
        TrackedWeights(Self { list: self.list.iter().zip(parameters.iter()).map(track).collect(), ..self.clone() })
    }

    /// The weights in the parameters' order.
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Option<Weight>> {
        self.list.iter()
    }

    /// True where the network reads the weight at this place.
    pub(crate) fn has(&self, at: usize) -> bool {
        self.list[at].is_some()
    }

    /// Drops those that do not train of the layers that products are named for.
    pub(crate) fn drop_frozen(&mut self, parameters: &Parameters, products: &Products) {
        for (weight, parameter) in self.list.iter_mut().zip(parameters.iter()) {
            if !parameter.trainable && products.takes(&parameter.name) {
                *weight = None;
            }
        }
    }

    /// Reads a row of each: an error where one could not be computed.
    pub(crate) fn are_there(&self, link: &Link) -> Result<()> {
        let mut reading = Reading::default();
        self.list.iter().flatten().for_each(|weight| match weight {
            Weight::Vector(numbers) => reading.add_first(numbers),
            Weight::Matrix(numbers) => reading.add_first(numbers),
        });
        link.read(reading).map(drop)
    }

    /// Drops all weights but those that live on the device.
    pub(crate) fn drop_but(&mut self, lives: &[bool]) {
        for (at, weight) in self.list.iter_mut().enumerate() {
            if !lives.get(at).is_some_and(|lives| *lives) {
                *weight = None;
            }
        }
    }

    /// Puts another weight of the same shape at a place.
    pub(crate) fn put(&mut self, at: usize, weight: Weight) {
        self.list[at] = Some(weight);
    }

    fn get(&self, name: &str) -> Option<&Weight> {
        self.position.get(name).and_then(|at| self.list[*at].as_ref())
    }

    /// A weight of one dimension.
    pub(crate) fn vector(&self, name: &str) -> Result<Tensor<1>> {
        match self.get(name) {
            Some(Weight::Vector(tensor)) => Ok(tensor.clone()),
            _ => Err(absent(name)),
        }
    }

    /// A weight of two dimensions.
    pub(crate) fn matrix(&self, name: &str) -> Result<Tensor<2>> {
        match self.get(name) {
            Some(Weight::Matrix(tensor)) => Ok(tensor.clone()),
            _ => Err(absent(name)),
        }
    }
}

/// Weights of which those that train are tracked. Dropped, they take with them whatever was computed of them: burn keeps a
/// graph that nothing goes back through, with all tensors in it, until something goes back through a part of it.
#[derive(Debug)]
pub(crate) struct TrackedWeights(Weights);

impl TrackedWeights {
    /// Spares what dropping them costs, after a way back that left nothing of their graphs.
    pub(crate) fn gone_back(mut self) {
        self.0.list.clear();
    }
}

impl Deref for TrackedWeights {
    type Target = Weights;

    fn deref(&self) -> &Weights {
        &self.0
    }
}

impl Drop for TrackedWeights {
    fn drop(&mut self) {
        let forget = |weight: &Weight| match weight.clone() {
            Weight::Vector(tensor) => drop(tensor.sum().backward()),
            Weight::Matrix(tensor) => drop(tensor.sum().backward()),
        };
        let numbers = |weight: &&Weight| match weight {
            Weight::Vector(tensor) => tensor.dims()[0],
            Weight::Matrix(tensor) => tensor.dims().into_iter().product(),
        };
        let part = self.list.iter().flatten().filter(|weight| weight.is_tracked()).min_by_key(numbers);
        // A device that failed may fail here too, which changes nothing of what it is said to have failed at.
        drop(guarded("device", || {
            part.into_iter().for_each(forget);
            Ok(())
        }));
    }
}

/// Names of the weights that a network reads.
#[derive(Debug)]
pub(crate) struct NetworkWeights {
    all: HashSet<String>,
    /// The table of tokens, of which a pass reads rows.
    tokens: Option<String>,
}

impl NetworkWeights {
    /// The weights of a model's network; adapters are read too.
    pub(crate) fn of(architecture: &Architecture) -> Self {
        Self {
            all: architecture.weights().into_iter().map(|spec| spec.name).collect(),
            tokens: architecture.stack().map(|stack| stack.words),
        }
    }
}

/// The type of numbers in products of 16 bits, and the linear layers whose weights stand in them.
#[derive(Debug, Clone)]
pub(crate) struct Products {
    pub(crate) float: FloatDType,
    kind: WeightType,
    pub(crate) layers: HashSet<String>,
}

impl Products {
    /// The products of a precision; none where it is 32 bits. An error where the network or the device has no others.
    pub(crate) fn of(precision: Precision, stack: Option<&Stack>, link: &Link) -> Result<Option<Self>> {
        if precision == Precision::Fp32 {
            return Ok(None);
        }
        let kind = precision.weight_type();
        let Some(stack) = stack else { return Err(precision.refused("this encoder", "it is no transformer")) };
        if !link.has(kind) {
            return Err(precision.refused(link.name(), "the device has no such numbers"));
        }
        let layers = stack.layers.iter().flat_map(|layer| layer.linear()).map(|layer| layer.name.clone());
        Ok(Some(Self { float: float_of(kind), kind, layers: layers.collect() }))
    }

    fn takes(&self, weight: &str) -> bool {
        weight.strip_suffix(".weight").is_some_and(|layer| self.layers.contains(layer))
    }
}

fn absent(name: &str) -> Error {
    Error::data(name, "is not among the model's weights, expected it there")
}

impl Weight {
    /// Copies a weight as it is, a matrix in numbers of this type.
    fn upload(parameter: &Parameter, kind: WeightType, link: &Link) -> Result<Self> {
        let values = &parameter.values;
        let floats = || values.floats().into_owned();
        match *parameter.shape.as_slice() {
            [n] => Ok(Self::Vector(link.floats(floats(), [n]))),
            [m, n] if kind == WeightType::F32 => Ok(Self::Matrix(link.floats(floats(), [m, n]))),
            [m, n] => {
                let bytes = match kind == values.weight_type() {
                    true => values.to_bytes(),
                    false => kind.to_bytes(&values.floats()),
                };
                Ok(Self::Matrix(link.shorts(bytes, [m, n], kind)))
            }
            _ => {
                let message = format!("has shape {:?}, expected one or two dimensions", parameter.shape);
                Err(Error::data(parameter.name.as_str(), message))
            }
        }
    }

    /// True where gradients flow to it.
    pub(crate) fn is_tracked(&self) -> bool {
        match self {
            Self::Vector(tensor) => tensor.is_tracked(),
            Self::Matrix(tensor) => tensor.is_tracked(),
        }
    }
}
