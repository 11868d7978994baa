//! Ranks of the right answers: shares of queries by bins of ranks.

use wb_core::distinct;

use super::{
    canvas::{AXIS, Align, Canvas, GRID, INK, MUTED, Pen, picture},
    chart::{Chart, Figure, FigurePlace, HALF},
    color, legend,
    plot::{Plot, ticks, to_ticks},
};
use crate::{
    Result,
    contestants::Contestant,
    numbers::count,
    run_tables::{RANK_BINS, RankCounts, RunTables},
    words,
};

const HEIGHT: u32 = 320;

/// One figure a protocol that keeps its ranks.
pub struct RankHistogram;

struct Histogram<'a> {
    protocol: String,
    /// Contestants, each with the share of queries in each bin.
    series: Vec<(&'a Contestant, Vec<f64>)>,
    queries: u64,
    bins: Vec<String>,
}

impl Chart for RankHistogram {
    fn figures(&self, tables: &RunTables, contestants: &[Contestant]) -> Result<Vec<Figure>> {
        let mut figures = Vec::new();
        for under in distinct(tables.ranks.iter().map(|counts| counts.under)) {
            let rows: Vec<&RankCounts> = tables.ranks.iter().filter(|counts| counts.under == under).collect();
            let histogram = histogram(&rows, contestants, under[1]);
            let name = format!("rank_histogram-{}", under.map(words::slug).join("-"));
            let picture = picture(&name, HALF, HEIGHT, |canvas| draw(canvas, &histogram))?;
            figures.push(Figure {
                name,
                place: FigurePlace::Ranks,
                wide: false,
                size: picture.size,
                alt: alt(&histogram),
                caption: String::new(),
                png: picture.png,
            });
        }
        Ok(figures)
    }
}

fn histogram<'a>(rows: &[&RankCounts], contestants: &'a [Contestant], protocol: &str) -> Histogram<'a> {
    let mut bins = bin_names();
    if rows.iter().all(|counts| counts.bins[RANK_BINS.len()] == 0) {
        bins.pop();
    }
    let mut series = Vec::new();
    let mut queries = 0;
    for contestant in contestants {
        let Some(counts) = rows.iter().find(|counts| counts.contestant == contestant.key) else { continue };
        let total: u64 = counts.bins.iter().sum();
        queries = queries.max(total);
        let shares = counts.bins[..bins.len()].iter().map(|count| *count as f64 / (total as f64).max(1.0)).collect();
        series.push((contestant, shares));
    }
    Histogram { protocol: protocol.to_owned(), series, queries, bins }
}

/// `1`, `2–3`, …, `>300`, `not found`.
fn bin_names() -> Vec<String> {
    let mut names = Vec::new();
    let mut from = 1;
    for end in RANK_BINS {
        names.push(match end {
            u64::MAX => format!(">{}", from - 1),
            _ if end == from => end.to_string(),
            _ => format!("{from}–{end}"),
        });
        from = end.saturating_add(1);
    }
    names.push("not found".to_owned());
    names
}

fn draw(canvas: &Canvas, histogram: &Histogram) -> Result<()> {
    let width = f64::from(HALF);
    let title = format!("Rank of the right answer, {}", histogram.protocol);
    let subtitle = format!("share of {} queries, by rank", count(histogram.queries));
    canvas.heading(0.0, width, &title, &subtitle)?;
    let contestants: Vec<&Contestant> = histogram.series.iter().map(|(contestant, _)| *contestant).collect();
    let names_end = legend(canvas, 0.0, 56.0, width, &contestants)?;
    let most = histogram.series.iter().flat_map(|(_, shares)| shares.iter().copied()).fold(0.05, f64::max);
    let bins = histogram.bins.len() as f64;
    let plot = Plot {
        left: 40.0,
        top: names_end + 20.0,
        right: width,
        bottom: f64::from(HEIGHT) - 40.0,
        x: (0.0, bins),
        y: to_ticks((0.0, most), 5.0),
    };
    for tick in ticks(plot.y, 5.0) {
        let (_, y) = plot.place(0.0, tick);
        canvas.line(&[(plot.left, y), (plot.right, y)], 1.0, GRID)?;
        canvas.text(
            plot.left - 6.0,
            y + 4.0,
            &format!("{:.0} %", tick * 100.0),
            Pen(11.0, MUTED, false),
            Align::Right,
        )?;
    }
    let slot = (plot.right - plot.left) / bins;
    let bar = ((slot - 12.0) / histogram.series.len().max(1) as f64).clamp(2.0, 26.0);
    let group = bar * histogram.series.len() as f64;
    for (bin, name) in histogram.bins.iter().enumerate() {
        let middle = plot.left + (bin as f64 + 0.5) * slot;
        for (index, (contestant, shares)) in histogram.series.iter().enumerate() {
            let left = middle - group / 2.0 + index as f64 * bar;
            let (_, y) = plot.place(0.0, shares[bin]);
            canvas.rectangle(left + 0.5, y, left + bar - 0.5, plot.bottom, color(contestant))?;
        }
        canvas.text(middle, plot.bottom + 17.0, name, Pen(11.0, INK, false), Align::Center)?;
    }
    canvas.line(&[(plot.left, plot.bottom), (plot.right, plot.bottom)], 1.0, AXIS)?;
    canvas.text(plot.right, plot.bottom + 35.0, "rank", Pen(11.0, MUTED, false), Align::Right)?;
    Ok(())
}

fn alt(histogram: &Histogram) -> String {
    let mut text = format!(
        "Shares of {} queries by the rank of the right answer, {}.",
        count(histogram.queries),
        histogram.protocol
    );
    for (contestant, shares) in &histogram.series {
        let bins: Vec<String> =
            histogram.bins.iter().zip(shares).map(|(name, share)| format!("{name}: {:.1} %", share * 100.0)).collect();
        text.push_str(&format!(" {}: {}.", contestant.label, bins.join(", ")));
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn bins_are_named_by_their_ends() {
        assert_eq!(super::bin_names(), ["1", "2–3", "4–10", "11–30", "31–100", "101–300", ">300", "not found"]);
    }
}
