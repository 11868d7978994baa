//! A model's weights after its device's memory ran out: a matrix product that was refused may have marked them as missing,
//! and every later pass would be refused for it (see [`crate::on_device::traffic::Link::vouch`]).

use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use super::BurnBackbone;
use crate::{
    error::{Result, cannot_use, is_out_of_memory},
    on_device::{resident::Residence, traffic::Link, weights::Weights},
    parameters::Parameters,
};

/// The weights, where nothing else sees them.
pub(in crate::on_device) fn unlocked(weights: &mut RwLock<Weights>) -> &mut Weights {
    weights.get_mut().unwrap_or_else(PoisonError::into_inner)
}

impl BurnBackbone {
    /// The weights as passes see them.
    pub(super) fn weights(&self) -> RwLockReadGuard<'_, Weights> {
        self.weights.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs what the device may refuse. Where memory ran out, the weights are right again for a smaller part.
    pub(super) fn pass_guarded<T>(&self, pass: impl FnOnce() -> Result<T>) -> Result<T> {
        self.recovered(self.link.guarded(pass))
    }

    /// The result of what the device may have refused.
    pub(in crate::on_device) fn recovered<T>(&self, done: Result<T>) -> Result<T> {
        if done.as_ref().is_err_and(is_out_of_memory) {
            self.recover()?;
        }
        done
    }

    /// Runs what reads from the device: once more, where it is refused and the weights are right again after that.
    pub(in crate::on_device) fn read_guarded<T>(
        &mut self,
        mut read: impl FnMut(&Residence, &Link, &mut Parameters) -> Result<T>,
    ) -> Option<Result<T>> {
        let residence = self.residence.as_ref()?;
        let done = self.link.guarded(|| read(residence, &self.link, &mut self.parameters));
        if !done.as_ref().is_err_and(is_out_of_memory) {
            return Some(done);
        }
        if let Err(error) = self.recover() {
            return Some(Err(error));
        }
        let residence = self.residence.as_ref()?;
        Some(self.link.guarded(|| read(residence, &self.link, &mut self.parameters)))
    }

    /// Brings weights again that are the host's, and vouches for those that live on the device and are known to be right,
    /// where any are marked as missing.
    fn recover(&self) -> Result<()> {
        let mut weights = self.weights.write().unwrap_or_else(PoisonError::into_inner);
        if self.link.guarded(|| weights.are_there(&self.link)).is_ok() {
            return Ok(());
        }
        let lives = self.lives();
        weights.drop_but(&lives);
        let brought = self.link.guarded(|| {
            let mut again = self.brought(Some((&weights, &lives)))?;
            if let Some(residence) = &self.residence {
                #[cfg(feature = "fused")]
                residence.vouch(&self.link)?;
                residence.show(&mut again);
            }
            Ok(again)
        });
        *weights = brought.map_err(|error| {
            let what = "its memory ran out, and the weights could not be brought there again";
            cannot_use(self.link.name(), what).with_cause(error).with_hint("run with device=cpu")
        })?;
        Ok(())
    }

    /// True for each parameter that lives on the device.
    pub(super) fn lives(&self) -> Vec<bool> {
        self.residence.as_ref().map(|residence| residence.lives(self.parameters.len())).unwrap_or_default()
    }

    /// The weights on the device, copied there but for those that are there as they are.
    pub(super) fn brought(&self, there: Option<(&Weights, &[bool])>) -> Result<Weights> {
        Weights::upload(&self.parameters, &self.link, &self.network, there, self.products.as_ref())
    }
}

#[cfg(all(test, feature = "fused"))]
mod tests {
    use super::*;
    use crate::{
        backbone::Backbone,
        batch::TokenBatch,
        on_device::{
            fused::{device, mark_as_missing},
            results::Wanted,
            weights::Weight,
        },
        parameters::Gradients,
        resident::{AdamwStep, Resident},
        train::step::tests::dropping,
    };

    fn mark_all(backbone: &BurnBackbone) {
        backbone.weights().iter().flatten().for_each(|weight| match weight {
            Weight::Vector(numbers) => mark_as_missing(numbers),
            Weight::Matrix(numbers) => mark_as_missing(numbers),
        });
    }

    /// Weights marked by a product that found no memory, which happens on Hopper.
    #[test]
    fn passes_and_steps_go_on_after_weights_were_marked_as_missing() {
        let Some(device) = device("passes_and_steps_go_on_after_weights_were_marked_as_missing") else { return };
        let mut backbone = BurnBackbone::new(dropping(), &device, "test device").unwrap();
        let texts: [&[u32]; 2] = [&[3, 1, 4, 1, 5], &[2, 7]];
        let batch = TokenBatch::new(texts);
        let refused = |backbone: &BurnBackbone| {
            let wanted = Wanted { embeddings: true, states: false };
            let error = backbone.link.guarded(|| backbone.plain_at_once(&batch, wanted)).unwrap_err();
            assert!(is_out_of_memory(&error), "{error}");
        };
        let expected = backbone.embed(&batch).unwrap();
        mark_all(&backbone);
        refused(&backbone);
        assert_eq!(backbone.embed(&batch).unwrap(), expected);

        // Weights that live on the device have changed there, and are nowhere else.
        let zeros: Vec<Vec<f32>> = backbone.parameters.iter().map(|p| vec![0.0; p.values.len()]).collect();
        backbone.settle(&|_, _| true, &zeros, &zeros, None).unwrap();
        let mut gradients = Gradients::zeros(&backbone.parameters);
        (0..backbone.parameters.len()).for_each(|at| gradients.at_mut(at).iter_mut().for_each(|g| *g = 0.5));
        backbone.add_gradients(&gradients).unwrap();
        backbone.gradient_squares().unwrap();
        let step = AdamwStep {
            keep: 0.9,
            gradient_factor: 1.0,
            follow1: 0.1,
            beta2: 0.999,
            follow2: 0.001,
            root_correction: 1.0,
            eps: 1e-8,
            step: 0.01,
        };
        backbone.step(&vec![step; backbone.parameters.len()], None).unwrap();
        let after = backbone.embed(&batch).unwrap();
        assert_ne!(after, expected);
        mark_all(&backbone);
        refused(&backbone);
        assert_eq!(backbone.embed(&batch).unwrap(), after);
        // A pass that nothing was read of has marked them.
        mark_all(&backbone);
        backbone.verify().unwrap();
        mark_all(&backbone);
        backbone.bring_weights().unwrap();

        // An update that was itself refused is no pass.
        backbone.add_gradients(&gradients).unwrap();
        backbone.gradient_squares().unwrap();
        let moments = backbone.residence.as_ref().unwrap().moments().cloned().collect::<Vec<_>>();
        moments.iter().for_each(mark_as_missing);
        backbone.step(&vec![step; backbone.parameters.len()], None).unwrap();
        assert!(is_out_of_memory(&backbone.verify().unwrap_err()));
    }
}
