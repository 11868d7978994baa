//! Progress as text: the stage under way in one plain line, or in a few lines that fit a terminal.
//!
//! Nothing here has a clock or a terminal: both the time and the size are told.

mod drawn;
mod lines;
mod losses;
mod pace;
mod screen;
mod stage;
mod text;
mod watch;

pub use drawn::{Drawn, Steady};
pub use text::width;
pub use watch::StageWatch;
