//! Downloads as a person sees them, wherever the files come from: asked for, watched, told.

mod meter;
mod observer;

pub use self::{
    meter::Meter,
    observer::{Demand, Observer, Silent},
};
