//! Precision@3 of both arms of an A/B experiment, query by query.

use plotters::style::RGBColor;
use wb_core::records::ab::{AbRecord, AbRow};

use super::{
    canvas::{Align, Canvas, INK, Pen, Picture, picture},
    chart::WIDE,
    plot::Plot,
};
use crate::{Result, contestants::PALETTE, numbers::fraction};

const BAR: f64 = 13.0;
const GAP: f64 = 2.0;
const BETWEEN: f64 = 13.0;
const TOP: f64 = 62.0;
const BOTTOM: f64 = 26.0;
/// A bar of nothing is a line, so that it is seen whose it is.
const LEAST: f64 = 2.0;
/// Baseline and candidate: orange and blue.
const COLORS: [usize; 2] = [0, 2];
/// Queries in one picture; the page's list has all.
const MOST: usize = 60;

/// Draws the queries in the experiment's order.
pub fn ab_queries(ab: &AbRecord) -> Result<Picture> {
    let rows = &ab.queries[..ab.queries.len().min(MOST)];
    let height = TOP + BOTTOM + rows.len() as f64 * (2.0 * BAR + GAP + BETWEEN);
    picture("ab_queries", WIDE, height.ceil() as u32, |canvas| draw(canvas, ab, rows, height))
}

fn draw(canvas: &Canvas, ab: &AbRecord, rows: &[AbRow], height: f64) -> Result<()> {
    let width = f64::from(WIDE);
    canvas.text(0.0, 16.0, "Precision@3, query by query", Pen(13.5, INK, true), Align::Left)?;
    let mut at = 0.0;
    let means = ab.metrics.first().map_or([f64::NAN; 2], |metric| metric.means);
    for (arm, (name, mean)) in ab.arms.iter().zip(means).enumerate() {
        canvas.rectangle(at, 33.0, at + 10.0, 43.0, color(arm))?;
        let words = canvas.fitted(&format!("{name}, mean {}", fraction(mean)), 11.0, false, width / 2.0 - 40.0)?;
        at += 31.0 + canvas.text(at + 15.0, 42.0, &words, Pen(11.0, INK, false), Align::Left)?;
    }
    let plot =
        Plot { left: 380.0, top: TOP, right: width - 44.0, bottom: height - BOTTOM, x: (0.0, 1.0), y: (0.0, 1.0) };
    plot.fractions(canvas, (0..=3).map(|third| f64::from(third) / 3.0))?;
    let mut y = plot.top + BETWEEN / 2.0;
    for row in rows {
        let name = canvas.fitted(&row.text, 11.5, false, plot.left - 12.0)?;
        canvas.text(plot.left - 10.0, y + BAR + GAP / 2.0 + 4.0, &name, Pen(11.5, INK, false), Align::Right)?;
        for (arm, value) in row.precision_3.iter().enumerate() {
            let end = plot.place(*value, 0.0).0.max(plot.left + LEAST);
            canvas.rectangle(plot.left, y, end, y + BAR, color(arm))?;
            y += BAR + GAP;
        }
        y += BETWEEN - GAP;
    }
    Ok(())
}

fn color(arm: usize) -> RGBColor {
    PALETTE[COLORS[arm.min(1)]]
}
