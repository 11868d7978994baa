//! A model computed by burn on any of its devices.

mod backward;
mod recovering;

use std::sync::{
    Mutex, PoisonError, RwLock,
    atomic::{AtomicUsize, Ordering},
};

use burn::tensor::{Device, Tensor};
use ndarray::Array2;
use wb_core::GroupMaxima;

use super::{
    bag,
    gradients::Sums,
    masks::{Masks, Sites},
    maxima::DeviceMaxima,
    padded::{Padded, groups},
    pass::Pass,
    resident::Residence,
    results::{Results, Wanted},
    traffic::{Link, Traffic},
    transformer::Network,
    weights::{NetworkWeights, Products, TrackedWeights, Weights},
};
use crate::{
    backbone::{Backbone, BackboneTape, Dropout, Padding, Upstream, no_layers},
    batch::{BATCH_TOKENS, TokenBatch},
    error::{Result, is_out_of_memory},
    lora::Adapter,
    models::{Architecture, Model, Stack},
    parameters::{Gradients, Parameters},
    pooling::Pooling,
    precision::Precision,
    resident::Resident,
    stop::Stop,
};
pub(super) use recovering::unlocked;

/// A model on a burn device.
pub struct BurnBackbone {
    architecture: Architecture,
    /// The network, where it is a transformer.
    stack: Option<Stack>,
    pooling: Pooling,
    adapter: Option<Adapter>,
    pub(in crate::on_device) parameters: Parameters,
    pub(in crate::on_device) weights: RwLock<Weights>,
    pub(in crate::on_device) link: Link,
    /// Tokens computed at once, padding included: bounds the memory of a pass that keeps nothing.
    budget: AtomicUsize,
    stop: Stop,
    /// True where a tracked pass keeps the inputs of layers alone; only with a network.
    checkpointing: bool,
    /// Places where something may be dropped.
    sites: Sites,
    /// Set where products are in 16 bits; only with a network.
    products: Option<Products>,
    network: NetworkWeights,
    /// Gradients that wait to be collected, where they are to.
    kept: Option<Mutex<Sums>>,
    /// State of a training that is kept on the device.
    pub(in crate::on_device) residence: Option<Residence>,
}

/// The graphs of a tracked pass.
struct Graphs {
    groups: Vec<GroupGraph>,
    batch: TokenBatch,
    /// The weights as the pass saw them, those that train tracked.
    weights: TrackedWeights,
    dropout: Option<Dropout>,
}

/// Some texts of a batch: their positions in it, and their embeddings and token states with all that led to them, or with
/// gradient checkpointing the inputs of the layers alone.
struct GroupGraph {
    texts: Vec<usize>,
    padded: Padded,
    embeddings: Tensor<2>,
    states: Tensor<3>,
    inputs: Vec<Tensor<2>>,
}

impl BurnBackbone {
    /// Brings a model to a device; `name` is the device's, for messages.
    pub fn new(model: Model, device: &Device, name: &str) -> Result<Self> {
        Self::with_precision(model, device, name, Precision::Fp32)
    }

    /// [`BurnBackbone::new`] with products in this precision, so that layers that do not train are never there in another.
    pub fn with_precision(model: Model, device: &Device, name: &str, precision: Precision) -> Result<Self> {
        let link = Link::new(device, name);
        let network = NetworkWeights::of(&model.architecture);
        let Model { architecture, parameters, pooling, adapter } = model;
        let stack = architecture.stack();
        let products = Products::of(precision, stack.as_ref(), &link)?;
        let weights = link.guarded(|| Weights::upload(&parameters, &link, &network, None, products.as_ref()))?;
        Ok(Self {
            sites: Sites::of(stack.as_ref(), &parameters),
            stack,
            architecture,
            pooling,
            adapter,
            parameters,
            weights: RwLock::new(weights),
            link,
            budget: AtomicUsize::new(BATCH_TOKENS),
            stop: Stop::default(),
            checkpointing: false,
            products,
            network,
            kept: None,
            residence: None,
        })
    }

    /// True where the device has the numbers of a precision.
    pub(crate) fn has(&self, precision: Precision) -> bool {
        self.link.has(precision.weight_type())
    }

    /// Counts of what has crossed between this machine's memory and the device's since the model was brought there.
    pub fn traffic(&self) -> Traffic {
        self.link.traffic()
    }

    /// Brings the weights to the device again, but for those that are there as they are.
    fn upload(&mut self) -> Result<()> {
        let brought = self.link.guarded(|| self.brought(Some((&self.weights(), &self.lives()))))?;
        *unlocked(&mut self.weights) = brought;
        self.sites = Sites::of(self.stack.as_ref(), &self.parameters);
        Ok(())
    }

    /// Embeddings and token states of some texts; with `keep` also the inputs of a transformer's layers.
    fn forward(
        &self,
        batch: &TokenBatch,
        group: Vec<usize>,
        weights: &Weights,
        dropout: Option<Dropout>,
        keep: bool,
    ) -> Result<GroupGraph> {
        let texts: Vec<&[u32]> = group.iter().map(|at| batch.text(*at)).collect();
        let limit = self.architecture.max_tokens();
        let keys: Vec<usize> = group.iter().map(|at| batch.keys(*at)).collect();
        let padded = Padded::new(&texts, &keys, self.architecture.vocab_size(), limit, &self.link)?;
        let known = self.stack.as_ref().and_then(|stack| stack.token_types.as_ref()).map_or(1, |(_, rows)| *rows);
        let types: Vec<&[u32]> = group.iter().map(|at| batch.types_of(*at)).collect();
        let padded = padded.with_types(&types, known, &self.link)?;
        let pass = self.pass(batch, &group, weights, dropout);
        let mut inputs = Vec::new();
        let (embeddings, states) = match (&self.stack, &self.architecture) {
            (Some(stack), _) => {
                let network = Network { stack, pass: &pass, batch: &padded };
                let states = network.forward(keep.then_some(&mut inputs))?;
                (padded.pool(states.clone(), self.pooling), states)
            }
            (None, Architecture::StaticEmbedding(config)) => bag::forward(config, &pass, &padded)?,
            (None, _) => return Err(wb_core::Error::data("encoder", "is neither a transformer nor a bag")),
        };
        Ok(GroupGraph { texts: group, padded, embeddings, states, inputs })
    }

    fn pass<'a>(
        &'a self,
        batch: &TokenBatch,
        group: &[usize],
        weights: &'a Weights,
        dropout: Option<Dropout>,
    ) -> Pass<'a> {
        let places: Vec<u64> = group.iter().map(|at| batch.place(*at)).collect();
        let products = self.products.as_ref().map(|products| products.float);
        let masks = dropout.map(|dropout| Masks::new(dropout, &self.sites, &places, &self.link));
        Pass { link: &self.link, weights, adapter: self.adapter.as_ref(), masks, products }
    }

    /// Computes the groups of a batch, one after the other.
    fn launch<'a>(
        &'a self,
        batch: &'a TokenBatch,
        weights: &'a Weights,
        dropout: Option<Dropout>,
        keep: bool,
    ) -> impl Iterator<Item = Result<GroupGraph>> + 'a {
        groups(batch, self.budget.load(Ordering::Relaxed)).into_iter().map(move |group| {
            self.stop.check()?;
            self.forward(batch, group, weights, dropout, keep)
        })
    }

    /// The pass without gradients, in smaller groups from now on where the device's memory runs out.
    fn plain(&self, batch: &TokenBatch, wanted: Wanted) -> Result<(Array2<f32>, Array2<f32>)> {
        loop {
            let budget = self.budget.load(Ordering::Relaxed);
            match self.pass_guarded(|| self.plain_at_once(batch, wanted)) {
                // A group is one text at least.
                Err(error) if is_out_of_memory(&error) && budget > batch.longest() => {
                    self.budget.store(budget / 2, Ordering::Relaxed);
                }
                found => return found,
            }
        }
    }

    /// Keeps of each group only what is wanted on the device, until all are read back.
    fn plain_at_once(&self, batch: &TokenBatch, wanted: Wanted) -> Result<(Array2<f32>, Array2<f32>)> {
        let mut results = Results::new(wanted);
        for graph in self.launch(batch, &self.weights(), None, false) {
            let GroupGraph { texts, embeddings, states, .. } = graph?;
            results.add(&texts, &embeddings, &states);
        }
        results.read(batch, self.dim(), &self.link)
    }

    /// The tracked pass.
    fn tracked(
        &self,
        batch: &TokenBatch,
        dropout: Option<Dropout>,
        wanted: Wanted,
    ) -> Result<(Array2<f32>, Array2<f32>, BackboneTape)> {
        let untracked = self.weights();
        let weights = untracked.tracked(&self.parameters);
        // Layers whose inputs are kept are computed once more, with what leads to their outputs.
        let seen: &Weights = if self.checkpointing { &untracked } else { &weights };
        let groups = self.launch(batch, seen, dropout, self.checkpointing).collect::<Result<Vec<_>>>()?;
        let mut results = Results::new(wanted);
        groups.iter().for_each(|graph| results.add(&graph.texts, &graph.embeddings, &graph.states));
        let (embeddings, states) = results.read(batch, self.dim(), &self.link)?;
        Ok((embeddings, states, Box::new(Graphs { groups, batch: batch.clone(), weights, dropout })))
    }
}

impl Backbone for BurnBackbone {
    fn dim(&self) -> usize {
        self.architecture.dim()
    }

    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    fn update(&mut self, change: &mut dyn FnMut(&mut Parameters)) -> Result<()> {
        change(&mut self.parameters);
        self.upload()
    }

    fn set_gradient_checkpointing(&mut self, on: bool) -> Result<()> {
        if on && self.stack.is_none() {
            return Err(no_layers());
        }
        self.checkpointing = on;
        Ok(())
    }

    fn set_precision(&mut self, precision: Precision) -> Result<()> {
        let products = Products::of(precision, self.stack.as_ref(), &self.link)?;
        let float = |products: &Option<Products>| products.as_ref().map(|products| products.float);
        if float(&products) == float(&self.products) {
            return Ok(());
        }
        // What is to be there in other numbers is dropped before it is copied again.
        if let Some(changing) = products.as_ref().or(self.products.as_ref()) {
            unlocked(&mut self.weights).drop_frozen(&self.parameters, changing);
        }
        let before = std::mem::replace(&mut self.products, products);
        let set = self.upload();
        if set.is_err() {
            self.products = before;
        }
        set
    }

    fn resident(&mut self) -> Option<&mut dyn Resident> {
        Some(self)
    }

    fn padding(&self) -> Option<Padding> {
        Some(self.link.padding())
    }

    fn keep_gradients(&mut self) {
        self.kept = Some(Mutex::default());
    }

    fn keeps_gradients(&self) -> bool {
        self.residence.is_some() || self.kept.is_some()
    }

    fn collect_gradients(&self, gradients: &mut Gradients) -> Result<()> {
        let Some(kept) = &self.kept else { return Ok(()) };
        let sums = std::mem::take(&mut *kept.lock().unwrap_or_else(PoisonError::into_inner));
        self.pass_guarded(|| sums.read(&self.link, gradients))
    }

    fn forget_gradients(&self) {
        if let Some(kept) = &self.kept {
            *kept.lock().unwrap_or_else(PoisonError::into_inner) = Sums::default();
        }
    }

    fn group_maxima(&self) -> Option<Box<dyn GroupMaxima>> {
        Some(Box::new(DeviceMaxima::new(self.link.device(), self.link.name())))
    }

    fn watch(&mut self, stop: Stop) {
        self.stop = stop;
    }

    fn embed(&self, batch: &TokenBatch) -> Result<Array2<f32>> {
        Ok(self.plain(batch, Wanted { embeddings: true, states: false })?.0)
    }

    fn embed_tracked(&self, batch: &TokenBatch, dropout: Option<Dropout>) -> Result<(Array2<f32>, BackboneTape)> {
        self.pass_guarded(|| {
            let (embeddings, _, tape) = self.tracked(batch, dropout, Wanted { embeddings: true, states: false })?;
            Ok((embeddings, tape))
        })
    }

    fn track_again(&self, batch: &TokenBatch, dropout: Option<Dropout>) -> Result<BackboneTape> {
        self.pass_guarded(|| Ok(self.tracked(batch, dropout, Wanted { embeddings: false, states: false })?.2))
    }

    fn embed_tokens(&self, batch: &TokenBatch) -> Result<Array2<f32>> {
        Ok(self.plain(batch, Wanted { embeddings: false, states: true })?.1)
    }

    fn embed_tokens_tracked(
        &self,
        batch: &TokenBatch,
        dropout: Option<Dropout>,
    ) -> Result<(Array2<f32>, Array2<f32>, BackboneTape)> {
        self.pass_guarded(|| self.tracked(batch, dropout, Wanted { embeddings: true, states: true }))
    }

    fn backward_tokens(&self, tape: BackboneTape, at: Upstream<'_>, gradients: &mut Gradients) -> Result<()> {
        let Ok(graphs) = tape.downcast::<Graphs>() else {
            return Err(wb_core::Error::data("backward pass", "got the tape of another backbone, expected its own"));
        };
        at.check(&graphs.batch, self.dim())?;
        self.stop.check()?;
        self.pass_guarded(|| {
            let mut sums = Sums::default();
            match &self.stack {
                Some(stack) if graphs.groups.iter().all(|group| !group.inputs.is_empty()) => {
                    for group in &graphs.groups {
                        self.backward_by_layers(&graphs, group, stack, at, &mut sums)?;
                    }
                    graphs.weights.gone_back();
                }
                _ => {
                    let Graphs { groups, batch, weights, .. } = *graphs;
                    let of_group =
                        |group: GroupGraph| self.surrogate(&batch, &group.texts, group.embeddings, group.states, at);
                    if let Some(sum) = groups.into_iter().filter_map(of_group).reduce(|one, other| one + other) {
                        sums.backward(sum, &weights);
                        weights.gone_back();
                    }
                }
            }
            match (&self.residence, &self.kept) {
                (Some(residence), _) => residence.add(sums),
                (None, Some(kept)) => kept.lock().unwrap_or_else(PoisonError::into_inner).add(sums),
                (None, None) => sums.read(&self.link, gradients)?,
            }
            Ok(())
        })
    }
}
