//! Execution and exact match of each arm of a text-to-SQL experiment, with 95 % intervals.

use plotters::style::RGBColor;
use wb_core::records::rag::{Rag, RagArm, RagShare};

use super::{
    canvas::{Align, Canvas, INK, MUTED, Pen, Picture, picture},
    chart::WIDE,
    pale,
    plot::{Plot, ticks},
};
use crate::{
    Result,
    contestants::PALETTE,
    numbers::{count, fraction},
    rag::is_ceiling,
};

const BAR: f64 = 15.0;
const GAP: f64 = 3.0;
const BETWEEN: f64 = 18.0;
const TOP: f64 = 68.0;
const BOTTOM: f64 = 28.0;
/// A bar of nothing is a line, so that it is seen whose it is.
const LEAST: f64 = 2.0;
/// Execution and exact match: blue and orange.
const COLORS: [usize; 2] = [2, 0];
const METRICS: [&str; 2] = ["EX, execution", "EM, exact match"];
/// Arms in one picture; the page's table has all.
const MOST: usize = 24;

/// Draws the arms in the experiment's order; the ceiling's bars are pale.
pub fn rag_arms(rag: &Rag) -> Result<Picture> {
    let arms = &rag.arms[..rag.arms.len().min(MOST)];
    let height = TOP + BOTTOM + arms.len() as f64 * (2.0 * BAR + GAP + BETWEEN);
    picture("rag_arms", WIDE, height.ceil() as u32, |canvas| draw(canvas, rag, arms, height))
}

fn draw(canvas: &Canvas, rag: &Rag, arms: &[RagArm], height: f64) -> Result<()> {
    let width = f64::from(WIDE);
    let subtitle = format!("{} questions, whiskers: 95 % intervals", count(rag.questions.len() as u64));
    canvas.heading(0.0, width, "Right queries by arm", &subtitle)?;
    let mut at = 0.0;
    for (metric, name) in METRICS.into_iter().enumerate() {
        canvas.rectangle(at, 45.0, at + 10.0, 55.0, color(metric, false))?;
        at += 31.0 + canvas.text(at + 15.0, 54.0, name, Pen(11.0, INK, false), Align::Left)?;
    }
    if arms.iter().any(is_ceiling) {
        for metric in 0..METRICS.len() {
            canvas.rectangle(
                at + 11.0 * metric as f64,
                45.0,
                at + 10.0 + 11.0 * metric as f64,
                55.0,
                color(metric, true),
            )?;
        }
        canvas.text(
            at + 26.0,
            54.0,
            "pale: the ceiling, which reads the gold query",
            Pen(11.0, INK, false),
            Align::Left,
        )?;
    }
    let left = left(canvas, arms)?;
    let plot =
        Plot { left, top: TOP, right: width - 60.0, bottom: height - BOTTOM, x: (0.0, end(arms)), y: (0.0, 1.0) };
    plot.fractions(canvas, ticks(plot.x, 8.0))?;
    let mut y = plot.top + BETWEEN / 2.0;
    for arm in arms {
        let name = canvas.fitted(&arm.name, 11.5, true, plot.left - 12.0)?;
        canvas.text(plot.left - 10.0, y + BAR + GAP / 2.0 + 4.0, &name, Pen(11.5, INK, true), Align::Right)?;
        for (metric, share) in [arm.ex, arm.em].iter().enumerate() {
            bar(canvas, &plot, y, share, color(metric, is_ceiling(arm)))?;
            y += BAR + GAP;
        }
        y += BETWEEN - GAP;
    }
    Ok(())
}

/// Room for the longest name, within bounds.
fn left(canvas: &Canvas, arms: &[RagArm]) -> Result<f64> {
    let mut widest = 60.0f64;
    for arm in arms {
        let name: String = arm.name.chars().take(80).collect();
        widest = widest.max(canvas.width(&name, 11.5, true)?);
    }
    Ok(widest.min(320.0) + 14.0)
}

fn bar(canvas: &Canvas, plot: &Plot, y: f64, share: &RagShare, color: RGBColor) -> Result<()> {
    if share.of == 0 {
        canvas.text(plot.left + 6.0, y + BAR - 3.5, "not measured", Pen(11.0, MUTED, false), Align::Left)?;
        return Ok(());
    }
    let end = plot.place(share.value, 0.0).0.max(plot.left + LEAST);
    canvas.rectangle(plot.left, y, end, y + BAR, color)?;
    let end = plot.whisker(canvas, y + BAR / 2.0, share.interval, end)?;
    canvas.text(end + 6.0, y + BAR - 3.5, &fraction(share.value), Pen(11.0, INK, false), Align::Left)?;
    Ok(())
}

fn end(arms: &[RagArm]) -> f64 {
    let ends = arms.iter().flat_map(|arm| [arm.ex, arm.em]).map(|share| share.value.max(share.interval.high));
    let most = ends.filter(|end| end.is_finite()).fold(0.1, f64::max).min(1.0);
    (most * 10.0 - 1e-9).ceil() / 10.0
}

fn color(metric: usize, ceiling: bool) -> RGBColor {
    let color = PALETTE[COLORS[metric.min(1)]];
    if ceiling { pale(color, 0.45) } else { color }
}
