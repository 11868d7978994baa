//! Progress as text: the stage under way in one line, plain or of JSON, or in a few lines that fit a terminal.
//!
//! None of these lines has a clock or a terminal: both the time and the size are told.

mod drawn;
mod interval;
mod json;
mod lines;
mod losses;
mod pace;
mod screen;
mod stage;
mod text;
mod watch;

pub use drawn::{Drawn, Steady};
pub use interval::{interval, seconds};
pub use json::JsonLines;
pub use text::width;
pub use watch::StageWatch;
