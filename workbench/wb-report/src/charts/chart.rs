//! The interface of charts: figures out of the run's tables.

use crate::{Result, contestants::Contestant, run_tables::RunTables};

/// A family member: draws as many figures as the run has material for, none where it has none.
pub trait Chart {
    /// Its figures.
    fn figures(&self, tables: &RunTables, contestants: &[Contestant]) -> Result<Vec<Figure>>;
}

/// The part of the page that a figure belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FigurePlace {
    /// Course of training.
    Training,
    /// Measured values.
    Scores,
    /// Ranks of the answers.
    Ranks,
}

/// A drawn chart.
#[derive(Debug, Clone)]
pub struct Figure {
    /// Name of its file, without an ending.
    pub name: String,
    /// Part of the page that shows it.
    pub place: FigurePlace,
    /// True where it takes the page's whole width.
    pub wide: bool,
    /// Width and height in CSS pixels.
    pub size: (u32, u32),
    /// Description for readers who do not see it.
    pub alt: String,
    /// Text below it.
    pub caption: String,
    /// The PNG file.
    pub png: Vec<u8>,
}

/// Width of a figure over the whole page, without its margin: with it, the page's 1100 pixels less a border.
pub const WIDE: u32 = 1066;
/// Width of a figure beside another, without its margin.
pub const HALF: u32 = 509;
