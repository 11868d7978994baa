//! The list of charts.

mod ab_queries;
mod canvas;
mod chart;
mod learning_curve;
mod metric_bars;
mod plot;
mod rag_arms;
mod rank_histogram;
mod validation_curve;

pub use ab_queries::ab_queries;
pub use chart::{Chart, Figure, FigurePlace};
pub use rag_arms::rag_arms;

use crate::{
    Result,
    contestants::{Contestant, PALETTE},
    run_tables::RunTables,
};

/// Every chart, in the order of the page.
const CHARTS: [&dyn Chart; 4] = [
    &learning_curve::LearningCurve,
    &validation_curve::ValidationCurve,
    &metric_bars::MetricBars,
    &rank_histogram::RankHistogram,
];

/// Draws every figure that the run has material for. Names are unique.
pub fn figures(
    tables: &RunTables,
    contestants: &[Contestant],
    progress: &mut dyn FnMut(wb_core::Progress),
) -> Result<Vec<Figure>> {
    let mut figures: Vec<Figure> = Vec::new();
    for (done, chart) in CHARTS.iter().enumerate() {
        progress(wb_core::Progress::new("drawing charts", done, CHARTS.len()));
        for mut figure in chart.figures(tables, contestants)? {
            let plain = figure.name.clone();
            let mut copy = 2;
            while figures.iter().any(|other| other.name == figure.name) {
                figure.name = format!("{plain}-{copy}");
                copy += 1;
            }
            figures.push(figure);
        }
    }
    progress(wb_core::Progress::new("drawing charts", CHARTS.len(), CHARTS.len()));
    Ok(figures)
}

fn color(contestant: &Contestant) -> plotters::style::RGBColor {
    PALETTE[contestant.color % PALETTE.len()]
}

/// A color mixed with white: `share` of it stays.
fn pale(color: plotters::style::RGBColor, share: f64) -> plotters::style::RGBColor {
    let mix = |channel: u8| (255.0 - (255.0 - f64::from(channel)) * share).round() as u8;
    plotters::style::RGBColor(mix(color.0), mix(color.1), mix(color.2))
}

/// A legend: a square and a name each, in one or more rows from `(x, y)`; returns the base line of the last row.
fn legend(canvas: &canvas::Canvas, x: f64, y: f64, right: f64, contestants: &[&Contestant]) -> Result<f64> {
    let (mut at, mut base) = (x, y);
    for contestant in contestants {
        let name = canvas.fitted(&contestant.label, 11.0, false, (right - x - 16.0).min(220.0))?;
        let width = 16.0 + canvas.width(&name, 11.0, false)?;
        if at > x && at + width > right {
            at = x;
            base += 17.0;
        }
        canvas.rectangle(at, base - 9.0, at + 10.0, base + 1.0, color(contestant))?;
        canvas.text(at + 15.0, base, &name, canvas::Pen(11.0, canvas::INK, false), canvas::Align::Left)?;
        at += width + 16.0;
    }
    Ok(base)
}
