//! Everything that a step changes: weights, moments, average, gradients, the scaling of the loss.

use super::{
    TrainConfig,
    ema::Ema,
    loss_scale::LossScale,
    optimizer::{AdamW, gradient_squares},
};
use crate::{
    backbone::Backbone,
    error::Result,
    parameters::{Gradients, Parameters},
};

/// State of a training beside the weights. Where the backbone can, the state of the weights that its network reads
/// lives on its device; that of all others, such as a matrix behind the network, is here.
#[derive(Debug)]
pub struct TrainState {
    /// The rule, and the moments.
    pub optimizer: AdamW,
    /// The average of the weights, where there is one.
    pub average: Option<Ema>,
    /// Scaling of the loss, where there is one.
    pub loss_scale: Option<LossScale>,
    /// Gradients since the last update, of weights that are at home.
    pub gradients: Gradients,
    /// Most tokens of a part of a batch; 0 for no limit.
    pub micro_tokens: usize,
    /// True for weights that live on the device.
    away: Vec<bool>,
    /// True where nothing may: objectives read weights of the network in host memory, and find gradients of them there.
    stays: bool,
}

impl TrainState {
    /// Before the first step, everything at home.
    pub fn new(config: &TrainConfig, parameters: &Parameters) -> Result<Self> {
        Ok(Self {
            optimizer: AdamW::new(&config.optimizer, parameters)?,
            average: Ema::new(config.ema, parameters),
            loss_scale: LossScale::of(config.precision),
            gradients: Gradients::zeros(parameters),
            micro_tokens: config.batch.micro_tokens.at_first(),
            away: vec![false; parameters.len()],
            stays: !config.objectives.weights().is_empty(),
        })
    }

    /// The limit of parts, where it is no longer that of the config.
    pub fn halved_micro_tokens(&self, config: &TrainConfig) -> Option<usize> {
        (self.micro_tokens != config.batch.micro_tokens.at_first()).then_some(self.micro_tokens)
    }

    /// Moves to the backbone's device, where it has one of its own. Nothing but the network may read those weights or
    /// find gradients of them until [`TrainState::leave`].
    pub fn settle(&mut self, backbone: &mut dyn Backbone) -> Result<()> {
        if let Some(resident) = backbone.resident().filter(|_| !self.stays) {
            let average = self.average.as_ref().map(|average| average.values.as_slice());
            let optimizer = &self.optimizer;
            let alike = |one, other| optimizer.alike(one, other);
            self.away = resident.settle(&alike, &optimizer.first, &optimizer.second, average)?;
        }
        // Those of a training before, on the same backbone, too.
        self.forget_gradients(backbone);
        Ok(())
    }

    /// Brings the gradients since the last update together, and gives their Euclidean norm, before they are divided by the
    /// loss's scale.
    pub fn gradient_norm(&mut self, backbone: &mut dyn Backbone) -> Result<f64> {
        backbone.collect_gradients(&mut self.gradients)?;
        let there = backbone.resident().map_or(Ok(0.0), |resident| resident.gradient_squares())?;
        Ok((gradient_squares(&self.gradients) + there).sqrt())
    }

    /// Changes the weights by the gradients times a factor, after [`TrainState::gradient_norm`]; the gradients are then
    /// zeros. `step` counts from 1.
    pub fn update(&mut self, backbone: &mut dyn Backbone, learning_rate: f64, factor: f64, step: u64) -> Result<()> {
        let follow = self.average.as_ref().map(|average| average.share(step));
        let steps = self.optimizer.next_steps(learning_rate, factor);
        if let Some(resident) = backbone.resident() {
            resident.step(&steps, follow)?;
        }
        if self.all_away(backbone.parameters()) {
            return Ok(());
        }
        let (optimizer, gradients) = (&mut self.optimizer, &mut self.gradients);
        backbone.update(&mut |parameters| optimizer.run(&steps, parameters, gradients))?;
        if let (Some(average), Some(follow)) = (&mut self.average, follow) {
            average.follow(backbone.parameters(), &self.away, follow);
        }
        Ok(())
    }

    /// Sets the gradients to zero, wherever they are.
    pub fn forget_gradients(&mut self, backbone: &mut dyn Backbone) {
        self.gradients = Gradients::zeros_but(backbone.parameters(), &self.away);
        backbone.forget_gradients();
        if let Some(resident) = backbone.resident() {
            resident.forget_gradients();
        }
    }

    /// Exchanges the weights and their average, where there is one.
    pub fn swap_average(&mut self, backbone: &mut dyn Backbone) -> Result<()> {
        let all_away = self.all_away(backbone.parameters());
        let Some(average) = &mut self.average else { return Ok(()) };
        if let Some(resident) = backbone.resident() {
            resident.swap_average()?;
        }
        if all_away {
            return Ok(());
        }
        let away = &self.away;
        backbone.update(&mut |parameters| average.swap(parameters, away))
    }

    /// Brings everything up to date in host memory.
    pub fn bring_home(&mut self, backbone: &mut dyn Backbone) -> Result<()> {
        let Some(resident) = backbone.resident() else { return Ok(()) };
        let average = self.average.as_mut().map(|average| average.values.as_mut_slice());
        resident.bring_home(&mut self.optimizer.first, &mut self.optimizer.second, average)
    }

    /// Trains in host memory from now on.
    pub fn leave(&mut self, backbone: &mut dyn Backbone) -> Result<()> {
        self.bring_home(backbone)?;
        self.away.fill(false);
        self.gradients = Gradients::zeros(backbone.parameters());
        backbone.resident().map_or(Ok(()), |resident| resident.leave())
    }

    /// True where nothing trains in host memory.
    fn all_away(&self, parameters: &Parameters) -> bool {
        parameters.iter().zip(&self.away).all(|(parameter, away)| *away || !parameter.trainable)
    }
}
