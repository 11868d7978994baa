//! A device of another process, perhaps on another machine, as one of those that train a model together.

use std::{fmt::Debug, sync::Arc};

use super::DeviceConfig;
use crate::{backbone::Backbone, error::Result, models::Model};

/// A device of a process that computes for this one.
pub trait FarDevice: Debug + Send + Sync {
    /// The name that it has there, which is not `auto`.
    fn config(&self) -> DeviceConfig;

    /// Its name for people; see [`super::OpenDevice::description`].
    fn description(&self) -> &str;

    /// Brings a model there. Its backward passes keep their gradients ([`Backbone::keeps_gradients`]).
    fn open(self: Arc<Self>, model: Model) -> Result<Box<dyn Backbone>>;
}
