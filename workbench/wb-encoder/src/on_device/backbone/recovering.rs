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

    /// Reads what lives on the device, if anything does: once more, where that is refused and the weights are right again
    /// after that.
    pub(in crate::on_device) fn read_guarded(
        &mut self,
        mut read: impl FnMut(&Residence, &Link, &mut Parameters) -> Result<()>,
    ) -> Result<()> {
        let mut once = |backbone: &mut Self| match &backbone.residence {
            Some(residence) => backbone.link.guarded(|| read(residence, &backbone.link, &mut backbone.parameters)),
            None => Ok(()),
        };
        match once(self) {
            Err(error) if is_out_of_memory(&error) => {
                self.recover()?;
                once(self)
            }
            done => done,
        }
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

    /// Marks weights as missing, or the moments of those that live on the device, as a refused product by TMA marks what it
    /// reads: for tests.
    #[cfg(feature = "refusals")]
    pub fn mark_as_missing(&self, moments: bool) {
        use crate::on_device::{fused::refusing::mark_as_missing, weights::Weight};
        match (&self.residence, moments) {
            (Some(residence), true) => residence.moments().for_each(mark_as_missing),
            (None, true) => {}
            (_, false) => self.weights().iter().flatten().for_each(|weight| match weight {
                Weight::Vector(numbers) => mark_as_missing(numbers),
                Weight::Matrix(numbers) => mark_as_missing(numbers),
            }),
        }
    }
}
