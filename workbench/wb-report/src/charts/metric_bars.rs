//! Metrics of every contestant under one protocol, with 95 % intervals.

use wb_core::{distinct, statistics::Interval};

use super::{
    canvas::{Align, Canvas, INK, Pen, picture},
    chart::{Chart, Figure, FigurePlace, HALF},
    color, legend,
    plot::{Plot, ticks},
};
use crate::{
    Result,
    contestants::Contestant,
    numbers::{count, fraction, interval},
    run_tables::{RunTables, ScoreEntry},
    words,
};

/// One figure a protocol: a group of bars for each metric, or for each language where there are several.
pub struct MetricBars;

/// Groups that fit in one figure; the tables have all.
const MOST_GROUPS: usize = 12;
const BAR: f64 = 13.0;
const GAP: f64 = 3.0;
const BETWEEN: f64 = 15.0;

struct Group {
    name: String,
    /// Contestant, value and its interval.
    bars: Vec<(usize, f64, Interval)>,
}

struct Sheet {
    title: String,
    subtitle: String,
    groups: Vec<Group>,
}

impl Chart for MetricBars {
    fn figures(&self, tables: &RunTables, contestants: &[Contestant]) -> Result<Vec<Figure>> {
        let mut figures = Vec::new();
        for under in distinct(tables.scores.iter().map(|entry| entry.under)) {
            let rows: Vec<&ScoreEntry> = tables.scores.iter().filter(|entry| entry.under == under).collect();
            let (sheet, left_out) = sheet(&rows, contestants, under[1]);
            if sheet.groups.is_empty() {
                continue;
            }
            let height = height(&sheet, contestants);
            let name = format!("metric_bars-{}", under.map(words::slug).join("-"));
            let picture = picture(&name, HALF, height, |canvas| draw(canvas, &sheet, contestants))?;
            let mut caption = String::new();
            if left_out > 0 {
                caption = format!("{} more groups of numbers stand in the tables below.", count(left_out as u64));
            }
            figures.push(Figure {
                name,
                place: FigurePlace::Scores,
                wide: false,
                size: picture.size,
                alt: alt(&sheet, contestants),
                caption,
                png: picture.png,
            });
        }
        Ok(figures)
    }
}

fn sheet(rows: &[&ScoreEntry], contestants: &[Contestant], protocol: &str) -> (Sheet, usize) {
    let languages = distinct(rows.iter().map(|row| row.score.language.as_str()));
    let all = distinct(rows.iter().map(|row| row.score.metric.as_str()));
    let metrics = words::headline(&all);
    let main = metrics.first().copied().unwrap_or_default();
    let keys: Vec<(String, &str, &str)> = match languages[..] {
        [only] => metrics.iter().map(|metric| (words::metric(metric), *metric, only)).collect(),
        _ => languages.iter().map(|language| ((*language).to_owned(), main, *language)).collect(),
    };
    let left_out = all.len() * languages.len() - keys.len().min(MOST_GROUPS);
    let mut groups = Vec::new();
    for (name, metric, language) in keys.into_iter().take(MOST_GROUPS) {
        let mut bars = Vec::new();
        for (index, contestant) in contestants.iter().enumerate() {
            let mut group = rows.iter().filter(|row| row.score.metric == metric && row.score.language == language);
            if let Some(ScoreEntry { score, .. }) = group.find(|row| row.contestant == contestant.key)
                && score.value.is_finite()
            {
                bars.push((index, score.value, score.interval));
            }
        }
        if !bars.is_empty() {
            groups.push(Group { name, bars });
        }
    }
    let pools = spread(rows.iter().map(|row| row.score.pool));
    let title = if languages.len() > 1 {
        format!("{} by language, {protocol}", words::metric(main))
    } else {
        format!("Scores, {protocol}")
    };
    let queries = spread(rows.iter().map(|row| row.score.n_queries));
    let subtitle = format!("pool of {pools} documents, {queries} queries; whiskers: 95 % intervals");
    (Sheet { title, subtitle, groups }, left_out)
}

/// `1,000`, or `1,000 to 14,918` where there are several.
fn spread(values: impl Iterator<Item = u64>) -> String {
    let (low, high) = values.fold((u64::MAX, 0), |(low, high), value| (low.min(value), high.max(value)));
    if low < high { format!("{} to {}", count(low), count(high)) } else { count(high) }
}

fn shown<'a>(sheet: &Sheet, contestants: &'a [Contestant]) -> Vec<&'a Contestant> {
    let there = |index: usize| sheet.groups.iter().any(|group| group.bars.iter().any(|bar| bar.0 == index));
    contestants.iter().enumerate().filter(|(index, _)| there(*index)).map(|(_, contestant)| contestant).collect()
}

fn top(sheet: &Sheet, contestants: &[Contestant]) -> f64 {
    // A second row of names where the first is full: about four names a row.
    70.0 + 17.0 * (shown(sheet, contestants).len().saturating_sub(1) / 4) as f64
}

fn height(sheet: &Sheet, contestants: &[Contestant]) -> u32 {
    let bars: usize = sheet.groups.iter().map(|group| group.bars.len()).sum();
    let groups = sheet.groups.len() as f64;
    (top(sheet, contestants) + bars as f64 * (BAR + GAP) + groups * BETWEEN + 26.0).ceil() as u32
}

fn draw(canvas: &Canvas, sheet: &Sheet, contestants: &[Contestant]) -> Result<()> {
    let width = f64::from(HALF);
    canvas.heading(0.0, width, &sheet.title, &sheet.subtitle)?;
    legend(canvas, 0.0, 56.0, width, &shown(sheet, contestants))?;
    let bottom = f64::from(height(sheet, contestants)) - 26.0;
    let plot = Plot {
        left: 78.0,
        top: top(sheet, contestants),
        right: width - 44.0,
        bottom,
        x: (0.0, axis_end(sheet)),
        y: (0.0, 1.0),
    };
    plot.fractions(canvas, ticks(plot.x, 5.0))?;
    let mut y = plot.top + BETWEEN / 2.0;
    for group in &sheet.groups {
        let tall = group.bars.len() as f64 * (BAR + GAP) - GAP;
        let name = canvas.fitted(&group.name, 11.5, true, plot.left - 10.0)?;
        canvas.text(plot.left - 10.0, y + tall / 2.0 + 4.0, &name, Pen(11.5, INK, true), Align::Right)?;
        for (index, value, interval) in &group.bars {
            draw_bar(canvas, &plot, y, &contestants[*index], (*value, *interval))?;
            y += BAR + GAP;
        }
        y += BETWEEN;
    }
    Ok(())
}

fn draw_bar(
    canvas: &Canvas,
    plot: &Plot,
    y: f64,
    contestant: &Contestant,
    (value, interval): (f64, Interval),
) -> Result<()> {
    let (end, _) = plot.place(value, 0.0);
    canvas.rectangle(plot.left, y, end, y + BAR, color(contestant))?;
    let end = plot.whisker(canvas, y + BAR / 2.0, interval, end)?;
    canvas.text(end + 6.0, y + BAR - 2.5, &fraction(value), Pen(11.0, INK, false), Align::Left)?;
    Ok(())
}

fn axis_end(sheet: &Sheet) -> f64 {
    let ends = sheet.groups.iter().flat_map(|group| {
        group.bars.iter().map(|bar| bar.1.max(if bar.2.high.is_finite() { bar.2.high } else { 0.0 }))
    });
    let most = ends.fold(0.05, f64::max);
    (most * 10.0).ceil() / 10.0
}

fn alt(sheet: &Sheet, contestants: &[Contestant]) -> String {
    let mut text = format!("{}. {}.", sheet.title, sheet.subtitle);
    for group in &sheet.groups {
        let bars: Vec<String> = group
            .bars
            .iter()
            .map(|(index, value, own)| format!("{} {} {}", contestants[*index].label, fraction(*value), interval(*own)))
            .collect();
        text.push_str(&format!(" {}: {}.", group.name, bars.join(", ")));
    }
    text
}
