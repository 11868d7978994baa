//! Loss and learning rate over the steps of training.

use plotters::style::RGBColor;

use super::{
    canvas::{Canvas, picture},
    chart::{Chart, Figure, FigurePlace, WIDE},
    pale,
    plot::{LEVEL, Plot, axis_number, range, to_ticks},
};
use crate::{
    Result,
    contestants::{Contestant, PALETTE},
    numbers::{count, significant},
    run_tables::{RunTables, StepColumns},
    stages::Begin,
};

const BLUE: RGBColor = PALETTE[2];
const VERMILLION: RGBColor = PALETTE[4];
const HEIGHT: u32 = 288;

/// Loss (as it is and smoothed) on the left, learning rate on the right.
pub struct LearningCurve;

impl Chart for LearningCurve {
    fn figures(&self, tables: &RunTables, _: &[Contestant]) -> Result<Vec<Figure>> {
        let RunTables { steps: columns, stages, .. } = tables;
        let StepColumns { step: steps, loss, smooth, .. } = columns;
        let Some(x) = range(steps.iter().copied()) else { return Ok(Vec::new()) };
        let picture = picture("learning_curve", WIDE, HEIGHT, |canvas| {
            draw_loss(canvas, columns, stages, x)?;
            draw_rate(canvas, columns, stages, x)
        })?;
        let told = |value: Option<&f64>| significant(value.copied().unwrap_or(f64::NAN), 3);
        let unreadable = loss.iter().filter(|loss| !loss.is_finite()).count();
        let mut caption = format!(
            "Pale: the mean loss of each batch{}. Line: its exponential moving average over {} steps.",
            if steps.len() > BUCKETS { ", from the lowest to the highest of neighboring steps" } else { "" },
            count(columns.smoothing as u64),
        );
        if !stages.is_empty() {
            caption.push_str(" Dashed: a new stage of the curriculum begins.");
        }
        if unreadable > 0 {
            caption.push_str(&format!(" {} steps whose loss is no number are left out.", count(unreadable as u64)));
        }
        Ok(vec![Figure {
            name: "learning_curve".to_owned(),
            place: FigurePlace::Training,
            wide: true,
            size: picture.size,
            alt: format!(
                "Training loss over {} steps, from {} to {} (smoothed), and the learning rate.",
                count(steps.len() as u64),
                told(smooth.first()),
                told(smooth.last()),
            ),
            caption,
            png: picture.png,
        }])
    }
}

/// About as many buckets as the panel has pixels.
const BUCKETS: usize = 560;

fn draw_loss(canvas: &Canvas, columns: &StepColumns, stages: &[Begin], x: (f64, f64)) -> Result<()> {
    let StepColumns { step: steps, loss, smooth, .. } = columns;
    let (low, high) = envelope(steps, loss);
    let Some(y) = range(low.iter().chain(&high).map(|point| point.1).chain(smooth.iter().copied())) else {
        return Ok(());
    };
    // The axis starts at nothing where the loss comes near it.
    let y = to_ticks((if y.0 > 0.0 && y.0 < 0.5 * y.1 { 0.0 } else { y.0 }, y.1), 200.0 / LEVEL);
    let plot = Plot { left: 52.0, top: 52.0, right: 672.0, bottom: 252.0, x, y };
    canvas.heading(0.0, plot.right, "Training loss", "mean of the batch, as it is and smoothed")?;
    plot.axes(canvas, axis_number, axis_number)?;
    plot.name_x(canvas, "step")?;
    plot.stages(canvas, stages)?;
    let raw = pale(BLUE, 0.35);
    for (from, to) in low.iter().zip(&high) {
        canvas.line(&[plot.place(from.0, from.1), plot.place(to.0, to.1)], 1.0, raw)?;
    }
    let tops: Vec<(f64, f64)> =
        low.iter().zip(&high).map(|(from, to)| plot.place(from.0, (from.1 + to.1) / 2.0)).collect();
    canvas.line(&tops, 1.0, raw)?;
    canvas.line(&line(&plot, steps, smooth), 2.0, BLUE)
}

fn draw_rate(canvas: &Canvas, columns: &StepColumns, stages: &[Begin], x: (f64, f64)) -> Result<()> {
    let StepColumns { step: steps, learning_rate: rates, .. } = columns;
    let Some((_, high)) = range(rates.iter().copied()) else { return Ok(()) };
    let plot = Plot {
        left: 776.0,
        top: 52.0,
        right: f64::from(WIDE),
        bottom: 252.0,
        x,
        y: to_ticks((0.0, high.max(f64::MIN_POSITIVE)), 200.0 / LEVEL),
    };
    canvas.heading(720.0, plot.right, "Learning rate", "of the first parameter group")?;
    plot.axes(canvas, axis_number, axis_number)?;
    plot.name_x(canvas, "step")?;
    plot.stages(canvas, stages)?;
    canvas.line(&line(&plot, steps, rates), 2.0, VERMILLION)
}

/// The places of the values over the steps, without those that are no numbers.
fn line(plot: &Plot, steps: &[f64], values: &[f64]) -> Points {
    let points = thinned(steps, values).into_iter().filter(|(_, value)| value.is_finite());
    points.map(|(step, value)| plot.place(step, value)).collect()
}

/// Steps with values.
type Points = Vec<(f64, f64)>;

/// The lowest and the highest loss of each bucket of neighboring steps, as points.
fn envelope(steps: &[f64], losses: &[f64]) -> (Points, Points) {
    let finite: Points =
        steps.iter().copied().zip(losses.iter().copied()).filter(|(_, loss)| loss.is_finite()).collect();
    let bucket = |points: &[(f64, f64)]| {
        let step = points.iter().map(|(step, _)| step).sum::<f64>() / points.len() as f64;
        let losses = || points.iter().map(|(_, loss)| *loss);
        ((step, losses().fold(f64::INFINITY, f64::min)), (step, losses().fold(f64::NEG_INFINITY, f64::max)))
    };
    finite.chunks(finite.len().div_ceil(BUCKETS).max(1)).map(bucket).unzip()
}

/// Thins points to about twice as many as the panel has pixels at most, the last one among them.
fn thinned(x: &[f64], y: &[f64]) -> Vec<(f64, f64)> {
    let every = x.len().div_ceil(2 * BUCKETS).max(1);
    let last = x.len().saturating_sub(1);
    x.iter()
        .zip(y)
        .enumerate()
        .filter(|(index, _)| index % every == 0 || *index == last)
        .map(|(_, (x, y))| (*x, *y))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_both_ends() {
        let x: Vec<f64> = (0..10_000).map(f64::from).collect();
        let thin = thinned(&x, &x);
        assert!(thin.len() <= 2 * BUCKETS + 1);
        assert_eq!((thin[0].0, thin[thin.len() - 1].0), (0.0, 9999.0));
    }

    #[test]
    fn the_envelope_skips_what_is_no_number() {
        let (low, high) = envelope(&[1.0, 2.0, 3.0], &[4.0, f64::NAN, 2.0]);
        assert_eq!(low, [(1.0, 4.0), (3.0, 2.0)]);
        assert_eq!(high, low);
    }
}
