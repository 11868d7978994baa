//! Validation MRR over the steps, with the untrained start and the best step marked.

use plotters::style::RGBColor;

use super::{
    canvas::{Align, Canvas, MUTED, Pen, picture},
    chart::{Chart, Figure, FigurePlace, WIDE},
    plot::{LEVEL, Plot, axis_fraction, axis_number, range, to_ticks},
};
use crate::{
    Result,
    contestants::{Contestant, PALETTE},
    numbers::{count, fraction},
    run_tables::RunTables,
    stages::Begin,
};

const BLUE: RGBColor = PALETTE[2];
const SKY: RGBColor = PALETTE[6];
const HEIGHT: u32 = 278;

/// MRR and Recall@1 of the validation pairs.
pub struct ValidationCurve;

struct Curve {
    steps: Vec<f64>,
    mrr: Vec<f64>,
    recall: Vec<f64>,
    /// Index of the best validation by MRR; the earliest of equals.
    best: usize,
    /// Index of the validation before training.
    start: Option<usize>,
}

impl Chart for ValidationCurve {
    fn figures(&self, tables: &RunTables, _: &[Contestant]) -> Result<Vec<Figure>> {
        let records = tables.validations;
        let steps: Vec<f64> = records.iter().map(|record| record.step as f64).collect();
        let mrr: Vec<f64> = records.iter().map(|record| record.mrr).collect();
        let best = (0..mrr.len())
            .filter(|index| mrr[*index].is_finite())
            .reduce(|best, index| if mrr[index] > mrr[best] { index } else { best });
        let Some(best) = best else { return Ok(Vec::new()) };
        let start = steps.iter().position(|step| *step == 0.0);
        let recall = records.iter().map(|record| record.recall_at_1).collect();
        let curve = Curve { recall, steps, mrr, best, start };
        let picture = picture("validation_curve", WIDE, HEIGHT, |canvas| draw(canvas, &curve, &tables.stages))?;
        let at_best = format!("{} at step {}", fraction(curve.mrr[best]), count(curve.steps[best] as u64));
        let from =
            start.map(|index| format!(", from {} before training", fraction(curve.mrr[index]))).unwrap_or_default();
        Ok(vec![Figure {
            name: "validation_curve".to_owned(),
            place: FigurePlace::Training,
            wide: true,
            size: picture.size,
            alt: format!("Validation MRR over the steps of training{from}; the best is {at_best}."),
            caption: "Each validation anchor ranks the positives of all validation pairs. The checkpoint of the best step is the one that is measured, or with `train.keep: last` that of the last.".to_owned(),
            png: picture.png,
        }])
    }
}

fn draw(canvas: &Canvas, curve: &Curve, stages: &[Begin]) -> Result<()> {
    let Some(x) = range(curve.steps.iter().copied()) else { return Ok(()) };
    let Some((low, high)) = range(curve.mrr.iter().chain(&curve.recall).copied()) else { return Ok(()) };
    let y = to_ticks((low, high + (high - low) * 0.1), 190.0 / LEVEL);
    let plot = Plot { left: 52.0, top: 52.0, right: f64::from(WIDE) - 110.0, bottom: 242.0, x, y };
    canvas.heading(0.0, plot.right, "Validation MRR and Recall@1", "over the validation pairs, while training")?;
    plot.axes(canvas, axis_number, axis_fraction)?;
    plot.name_x(canvas, "step")?;
    plot.stages(canvas, stages)?;
    if let Some(start) = curve.start {
        let (_, y) = plot.place(0.0, curve.mrr[start]);
        canvas.dashes((plot.left, y), (plot.right, y), 1.2, MUTED)?;
        let above = if y < plot.top + 30.0 { y + 14.0 } else { y - 6.0 };
        canvas.text(
            plot.right,
            above,
            &format!("untrained: MRR {}", fraction(curve.mrr[start])),
            Pen(11.0, MUTED, false),
            Align::Right,
        )?;
    }
    let ends =
        [series(canvas, &plot, curve, &curve.recall, SKY, 1.6)?, series(canvas, &plot, curve, &curve.mrr, BLUE, 2.2)?];
    name_ends(canvas, &plot, ends)?;
    if let Some(start) = curve.start {
        let (x, y) = plot.place(0.0, curve.mrr[start]);
        canvas.disc(x, y, 5.0, MUTED)?;
        canvas.disc(x, y, 3.0, RGBColor(255, 255, 255))?;
    }
    let (x, y) = plot.place(curve.steps[curve.best], curve.mrr[curve.best]);
    canvas.disc(x, y, 5.5, BLUE)?;
    canvas.disc(x, y, 2.5, RGBColor(255, 255, 255))?;
    let text = format!("best: {} at step {}", fraction(curve.mrr[curve.best]), count(curve.steps[curve.best] as u64));
    let half = canvas.width(&text, 11.5, true)? / 2.0;
    let middle = x.clamp(plot.left + half, (plot.right - half).max(plot.left + half));
    canvas.text(middle, y - 11.0, &text, Pen(11.5, BLUE, true), Align::Center)?;
    Ok(())
}

/// Draws one line with its points; returns where it ends.
fn series(
    canvas: &Canvas,
    plot: &Plot,
    curve: &Curve,
    values: &[f64],
    color: RGBColor,
    width: f64,
) -> Result<Option<f64>> {
    let points: Vec<(f64, f64)> = curve
        .steps
        .iter()
        .zip(values)
        .filter(|(_, value)| value.is_finite())
        .map(|(step, value)| plot.place(*step, *value))
        .collect();
    canvas.line(&points, width, color)?;
    if points.len() <= 60 {
        for (x, y) in &points {
            canvas.disc(*x, *y, width + 0.6, color)?;
        }
    }
    Ok(points.last().map(|point| point.1))
}

/// Names both lines at their right ends, apart from one another.
fn name_ends(canvas: &Canvas, plot: &Plot, [recall, mrr]: [Option<f64>; 2]) -> Result<()> {
    let (Some(recall), Some(mrr)) = (recall, mrr) else { return Ok(()) };
    let apart = (14.0 - (recall - mrr).abs()).max(0.0) / 2.0;
    let sign = if mrr <= recall { -1.0 } else { 1.0 };
    canvas.text(plot.right + 10.0, mrr + 4.0 + sign * apart, "MRR", Pen(11.5, BLUE, true), Align::Left)?;
    canvas.text(
        plot.right + 10.0,
        recall + 4.0 - sign * apart,
        "Recall@1",
        Pen(11.5, RGBColor(38, 126, 176), false),
        Align::Left,
    )?;
    Ok(())
}
