//! Loss and learning rate over the steps of training.

use plotters::style::RGBColor;
use polars::prelude::*;

use super::{
    canvas::{Align, Canvas, INK, MUTED, Pen, picture},
    chart::{Chart, Figure, Place, WIDE},
    pale,
    plot::{LEVEL, Plot, axis_number, range, to_ticks},
};
use crate::{
    Error, Result,
    contestants::Contestant,
    frames::{Frames, numbers},
    numbers::{count, significant},
};

const BLUE: RGBColor = RGBColor(0, 114, 178);
const VERMILLION: RGBColor = RGBColor(213, 94, 0);
const HEIGHT: u32 = 288;

/// Loss (as it is and smoothed) on the left, learning rate on the right.
pub struct LearningCurve;

impl Chart for LearningCurve {
    fn figures(&self, frames: &Frames, _: &[Contestant]) -> Result<Vec<Figure>> {
        let steps = numbers(&frames.steps, "step");
        let Some(x) = range(steps.iter().copied()) else { return Ok(Vec::new()) };
        let smooth = numbers(&frames.steps, "smooth");
        let losses = numbers(&frames.steps, "loss");
        let picture = picture("learning_curve", WIDE, HEIGHT, |canvas| {
            draw_loss(canvas, frames, x)?;
            draw_rate(canvas, frames, x)
        })?;
        let last = |values: &[f64]| significant(values.last().copied().unwrap_or(f64::NAN), 3);
        let unreadable = losses.iter().filter(|loss| !loss.is_finite()).count();
        let mut caption = format!(
            "Pale: the mean loss of each batch{}. Line: its exponential moving average over {} steps.",
            if steps.len() > BUCKETS { ", from the lowest to the highest of neighboring steps" } else { "" },
            count(frames.smoothing as u64),
        );
        if !frames.stages.is_empty() {
            caption.push_str(" Dashed: a new stage of the curriculum begins.");
        }
        if unreadable > 0 {
            caption.push_str(&format!(" {} steps whose loss is no number are left out.", count(unreadable as u64)));
        }
        Ok(vec![Figure {
            name: "learning_curve".to_owned(),
            place: Place::Training,
            wide: true,
            size: picture.size,
            alt: format!(
                "Training loss over {} steps, from {} to {} (smoothed), and the learning rate.",
                count(steps.len() as u64),
                significant(smooth.first().copied().unwrap_or(f64::NAN), 3),
                last(&smooth),
            ),
            caption,
            png: picture.png,
        }])
    }
}

/// About as many buckets as the panel has pixels.
const BUCKETS: usize = 560;

fn draw_loss(canvas: &Canvas, frames: &Frames, x: (f64, f64)) -> Result<()> {
    let (low, high) = envelope(&frames.steps)?;
    let (steps, smooth) = (numbers(&frames.steps, "step"), numbers(&frames.steps, "smooth"));
    let Some(y) = range(low.iter().chain(&high).map(|point| point.1).chain(smooth.iter().copied())) else {
        return Ok(());
    };
    // The axis starts at nothing where the loss comes near it.
    let y = to_ticks((if y.0 > 0.0 && y.0 < 0.5 * y.1 { 0.0 } else { y.0 }, y.1), 200.0 / LEVEL);
    let plot = Plot { left: 52.0, top: 52.0, right: 672.0, bottom: 252.0, x, y };
    canvas.text(0.0, 16.0, "Training loss", Pen(13.5, INK, true), Align::Left)?;
    canvas.text(0.0, 34.0, "mean of the batch, as it is and smoothed", Pen(11.0, MUTED, false), Align::Left)?;
    plot.axes(canvas, axis_number, axis_number)?;
    plot.name_x(canvas, "step")?;
    plot.stages(canvas, &frames.stages)?;
    let raw = pale(BLUE, 0.35);
    for (from, to) in low.iter().zip(&high) {
        canvas.line(&[plot.place(from.0, from.1), plot.place(to.0, to.1)], 1.0, raw)?;
    }
    let tops: Vec<(f64, f64)> =
        low.iter().zip(&high).map(|(from, to)| plot.place(from.0, (from.1 + to.1) / 2.0)).collect();
    canvas.line(&tops, 1.0, raw)?;
    let line: Vec<(f64, f64)> = thinned(&steps, &smooth)
        .into_iter()
        .filter(|(_, value)| value.is_finite())
        .map(|(step, value)| plot.place(step, value))
        .collect();
    canvas.line(&line, 2.0, BLUE)
}

fn draw_rate(canvas: &Canvas, frames: &Frames, x: (f64, f64)) -> Result<()> {
    let (steps, rates) = (numbers(&frames.steps, "step"), numbers(&frames.steps, "learning_rate"));
    let Some((_, high)) = range(rates.iter().copied()) else { return Ok(()) };
    let plot = Plot {
        left: 776.0,
        top: 52.0,
        right: f64::from(WIDE),
        bottom: 252.0,
        x,
        y: to_ticks((0.0, high.max(f64::MIN_POSITIVE)), 200.0 / LEVEL),
    };
    canvas.text(720.0, 16.0, "Learning rate", Pen(13.5, INK, true), Align::Left)?;
    canvas.text(720.0, 34.0, "of the first parameter group", Pen(11.0, MUTED, false), Align::Left)?;
    plot.axes(canvas, axis_number, axis_number)?;
    plot.name_x(canvas, "step")?;
    plot.stages(canvas, &frames.stages)?;
    let line: Vec<(f64, f64)> = thinned(&steps, &rates)
        .into_iter()
        .filter(|(_, rate)| rate.is_finite())
        .map(|(step, rate)| plot.place(step, rate))
        .collect();
    canvas.line(&line, 2.0, VERMILLION)
}

/// Steps with values.
type Points = Vec<(f64, f64)>;

/// The lowest and the highest loss of each bucket of neighboring steps, as points.
fn envelope(steps: &DataFrame) -> Result<(Points, Points)> {
    let failed = Error::frame("loss buckets");
    let finite: BooleanChunked = numbers(steps, "loss").iter().map(|loss| Some(loss.is_finite())).collect();
    let finite = steps.filter(&finite).map_err(&failed)?;
    let column = |name: &str| finite.column(name).and_then(|column| column.f64().cloned()).map_err(&failed);
    let (at, loss) = (column("step")?, column("loss")?);
    let per_bucket = finite.height().div_ceil(BUCKETS).max(1);
    let (mut low, mut high) = (Vec::new(), Vec::new());
    for start in (0..finite.height()).step_by(per_bucket) {
        let bucket = loss.slice(start as i64, per_bucket);
        if let (Some(step), Some(least), Some(most)) =
            (at.slice(start as i64, per_bucket).mean(), bucket.min(), bucket.max())
        {
            low.push((step, least));
            high.push((step, most));
        }
    }
    Ok((low, high))
}

/// At most about twice as many points as the panel has pixels, the last one among them.
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
        let frame = df!("step" => [1.0, 2.0, 3.0], "loss" => [4.0, f64::NAN, 2.0]).unwrap();
        let (low, high) = envelope(&frame).unwrap();
        assert_eq!(low, [(1.0, 4.0), (3.0, 2.0)]);
        assert_eq!(high, low);
    }
}
