//! A rectangle with two axes: where a value stands, round ticks, level grid lines.

use wb_core::statistics::Interval;

use super::canvas::{AXIS, Align, Canvas, GRID, INK, MUTED, Pen};
use crate::{Result, numbers, stages::Begin};

/// About how far apart level grid lines are, in CSS pixels.
pub const LEVEL: f64 = 42.0;

/// A plotting rectangle and the values at its edges.
#[derive(Debug, Clone)]
pub struct Plot {
    /// Left edge, in CSS pixels.
    pub left: f64,
    /// Upper edge.
    pub top: f64,
    /// Right edge.
    pub right: f64,
    /// Lower edge.
    pub bottom: f64,
    /// Values at the left and right edges.
    pub x: (f64, f64),
    /// Values at the lower and upper edges.
    pub y: (f64, f64),
}

impl Plot {
    /// A point's place, kept inside the rectangle.
    pub fn place(&self, x: f64, y: f64) -> (f64, f64) {
        (
            self.left + share(x, self.x) * (self.right - self.left),
            self.bottom - share(y, self.y) * (self.bottom - self.top),
        )
    }

    /// Draws level grid lines with their values, the base line, and the values below it. Values are written by `write_x`, `write_y`.
    pub fn axes(
        &self,
        canvas: &Canvas,
        write_x: impl Fn(f64) -> String,
        write_y: impl Fn(f64) -> String,
    ) -> Result<()> {
        for tick in ticks(self.y, ((self.bottom - self.top) / LEVEL).clamp(2.0, 8.0)) {
            let (_, y) = self.place(self.x.0, tick);
            canvas.line(&[(self.left, y), (self.right, y)], 1.0, GRID)?;
            canvas.text(self.left - 8.0, y + 4.0, &write_y(tick), Pen(11.0, MUTED, false), Align::Right)?;
        }
        for tick in ticks(self.x, ((self.right - self.left) / 90.0).clamp(2.0, 8.0)) {
            let (x, _) = self.place(tick, self.y.0);
            canvas.line(&[(x, self.bottom), (x, self.bottom + 4.0)], 1.0, AXIS)?;
            canvas.text(x, self.bottom + 17.0, &write_x(tick), Pen(11.0, MUTED, false), Align::Center)?;
        }
        canvas.line(&[(self.left, self.bottom), (self.right, self.bottom)], 1.0, AXIS)
    }

    /// Draws upright grid lines at these values, from the base line at 0 on, with the values as fractions below them.
    pub fn fractions(&self, canvas: &Canvas, values: impl IntoIterator<Item = f64>) -> Result<()> {
        for value in values {
            let (x, _) = self.place(value, 0.0);
            canvas.line(&[(x, self.top), (x, self.bottom)], 1.0, if value == 0.0 { AXIS } else { GRID })?;
            canvas.text(x, self.bottom + 17.0, &axis_fraction(value), Pen(11.0, MUTED, false), Align::Center)?;
        }
        Ok(())
    }

    /// Draws a level whisker over an interval, if it is one; returns its right end, or else `end`.
    pub fn whisker(&self, canvas: &Canvas, y: f64, Interval { low, high }: Interval, end: f64) -> Result<f64> {
        if !(low.is_finite() && high.is_finite() && high > low) {
            return Ok(end);
        }
        let [low, high] = [low, high].map(|value| self.place(value, 0.0).0);
        canvas.line(&[(low, y), (high, y)], 1.2, INK)?;
        for edge in [low, high] {
            canvas.line(&[(edge, y - 3.0), (edge, y + 3.0)], 1.2, INK)?;
        }
        Ok(end.max(high))
    }

    /// Draws where stages begin, as dashed lines with the stages' names beside them where there is room.
    pub fn stages(&self, canvas: &Canvas, begins: &[Begin]) -> Result<()> {
        for (at, begin) in begins.iter().enumerate() {
            let (x, _) = self.place(begin.step, self.y.0);
            if at > 0 {
                canvas.dashes((x, self.top), (x, self.bottom), 1.0, MUTED)?;
            }
            let end = begins.get(at + 1).map_or(self.right, |next| self.place(next.step, self.y.0).0);
            if canvas.width(&begin.name, 10.5, false)? + 6.0 <= end - x {
                canvas.text(x + 4.0, self.top - 3.0, &begin.name, Pen(10.5, MUTED, false), Align::Left)?;
            }
        }
        Ok(())
    }

    /// Names the axis below, at the right end.
    pub fn name_x(&self, canvas: &Canvas, name: &str) -> Result<()> {
        canvas.text(self.right, self.bottom + 33.0, name, Pen(11.0, MUTED, false), Align::Right).map(|_| ())
    }
}

fn share(value: f64, (low, high): (f64, f64)) -> f64 {
    let share = (value - low) / (high - low);
    if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
}

/// The smallest and the largest finite value, opened a little where they are equal.
pub fn range(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    let finite = values.into_iter().filter(|value| value.is_finite() && value.abs() < 1e12);
    let (low, high) =
        finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    if low > high {
        return None;
    }
    let least = low.abs().max(high.abs()).max(1e-9) * 1e-6;
    Some(if high - low < least {
        (low - least.max(low.abs() * 0.1), high + least.max(high.abs() * 0.1))
    } else {
        (low, high)
    })
}

/// Round values (1, 2 or 5 times a power of ten apart) inside a range, about `wanted` of them.
pub fn ticks((low, high): (f64, f64), wanted: f64) -> Vec<f64> {
    let span = high - low;
    if !span.is_finite() || span <= 0.0 {
        return Vec::new();
    }
    let rough = span / wanted;
    let step = step(rough);
    let first = (low / step - 1e-9).ceil();
    let last = (high / step + 1e-9).floor();
    // At most a handful by construction; the bound guards against a range that swallows its own step.
    (0..64)
        .map(|index| first + f64::from(index))
        .take_while(|multiple| *multiple <= last)
        .map(|multiple| multiple * step)
        .collect()
}

/// The round number nearest to `rough`, by ratio.
fn step(rough: f64) -> f64 {
    let power = 10f64.powf(rough.log10().floor());
    let away = |step: &f64| (step / rough).ln().abs();
    [1.0, 2.0, 5.0, 10.0]
        .map(|factor| factor * power)
        .into_iter()
        .min_by(|a, b| away(a).total_cmp(&away(b)))
        .unwrap_or(rough)
}

/// A range widened to the ticks below and above it.
pub fn to_ticks((mut low, mut high): (f64, f64), wanted: f64) -> (f64, f64) {
    // The wider range may have coarser ticks, to which it is widened again.
    for _ in 0..4 {
        let span = high - low;
        if !span.is_finite() || span <= 0.0 {
            break;
        }
        let step = step(span / wanted);
        (low, high) = ((low / step + 1e-9).floor() * step, (high / step - 1e-9).ceil() * step);
    }
    (low, high)
}

/// Writes a fraction without idle zeros: `.2`, `1`.
pub fn axis_fraction(value: f64) -> String {
    let text = format!("{:.3}", value.abs());
    let text = text.trim_end_matches('0').trim_end_matches('.');
    let text = if text == "0" { text } else { text.strip_prefix('0').unwrap_or(text) };
    if value < 0.0 && text != "0" { format!("−{text}") } else { text.to_owned() }
}

/// Writes a value of an axis: whole numbers with thousands apart, others with up to four digits and no idle zeros.
pub fn axis_number(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if value.fract() == 0.0 && value.abs() < 1e9 {
        let sign = if value < 0.0 { "−" } else { "" };
        return format!("{sign}{}", numbers::count(value.abs() as u64));
    }
    let text = numbers::significant(value, 4);
    if text.contains('.') && !text.contains('·') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(ticks((0.0, 1.0), 5.0), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]);
        assert_eq!(ticks((3.0, 97.0), 4.0), [20.0, 40.0, 60.0, 80.0]);
        assert_eq!(to_ticks((3.0, 97.0), 4.0), (0.0, 100.0));
        assert_eq!(to_ticks((0.0, 0.6), 3.0), (0.0, 0.6000000000000001));
        assert_eq!(ticks((0.0, 2400.0), 5.0), [0.0, 500.0, 1000.0, 1500.0, 2000.0]);
        assert!(ticks((1.0, 1.0), 5.0).is_empty());
        assert!(ticks((f64::NAN, 1.0), 5.0).is_empty());
        assert!(ticks((1e15, 1e15 + 0.25), 5.0).len() <= 64);
    }

    #[test]
    fn ranges_are_never_empty() {
        assert_eq!(range([f64::NAN, 2.0, 1.0, f64::INFINITY]), Some((1.0, 2.0)));
        assert_eq!(range([f64::NAN]), None);
        let (low, high) = range([3.0, 3.0]).unwrap();
        assert!(low < 3.0 && high > 3.0);
        let (low, high) = range([0.0]).unwrap();
        assert!(low < high);
    }

    #[test]
    fn axis_numbers_are_short() {
        assert_eq!([0.0, 0.6000000000000001, 1.0, -0.25, 0.005].map(axis_fraction), ["0", ".6", "1", "−.25", ".005"]);
        let rows = [(0.6000000000000001, "0.6"), (1500.0, "1,500"), (0.00002, "2·10⁻⁵"), (-2.5, "−2.5")];
        for (value, text) in rows {
            assert_eq!(axis_number(value), text);
        }
    }
}
