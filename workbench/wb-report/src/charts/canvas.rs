//! A white sheet to draw on, in CSS pixels: drawn four times as large, averaged down to twice as large.
//!
//! Averaging smooths lines, bars and letters alike, and twice the size keeps text sharp on fine screens.

use std::sync::OnceLock;

use plotters::{
    prelude::*,
    style::{FontFamily, FontStyle, RGBColor, TextStyle, register_font},
};

use crate::{Error, Result};

/// Pixels of the file in a CSS pixel.
pub const DENSITY: u32 = 2;
/// Drawn pixels in a pixel of the file, each way.
const OVERSAMPLING: u32 = 2;
const SCALE: f64 = (DENSITY * OVERSAMPLING) as f64;
const FAMILY: &str = "DejaVu Sans";
/// Empty space around every picture, in CSS pixels.
const MARGIN: u32 = 16;
/// DejaVu Sans: ascent plus descent, in ems. The font library measures sizes by it.
const LINE_EMS: f64 = 1.164;

/// Text color.
pub const INK: RGBColor = RGBColor(27, 31, 36);
/// Color of what explains: axis labels, notes.
pub const MUTED: RGBColor = RGBColor(87, 96, 106);
/// Color of grid lines.
pub const GRID: RGBColor = RGBColor(230, 233, 236);
/// Color of the axis line.
pub const AXIS: RGBColor = RGBColor(150, 158, 167);

/// Side of a text's point that the text is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Begins there.
    Left,
    /// Has its middle there.
    Center,
    /// Ends there.
    Right,
}

/// Look of a text: size in CSS pixels, color, and true where it is bold.
#[derive(Debug, Clone, Copy)]
pub struct Pen(pub f64, pub RGBColor, pub bool);

/// The sheet. All lengths are CSS pixels; texts stand on their base line.
pub struct Canvas<'a> {
    area: DrawingArea<BitMapBackend<'a>, plotters::coord::Shift>,
    chart: &'a str,
}

/// A drawn picture.
pub struct Picture {
    /// The PNG file's bytes.
    pub png: Vec<u8>,
    /// Width and height with the margin, in CSS pixels.
    pub size: (u32, u32),
}

/// Draws a picture of a size without its margin.
pub fn picture(chart: &str, width: u32, height: u32, draw: impl FnOnce(&Canvas) -> Result<()>) -> Result<Picture> {
    register_fonts().map_err(|message| cannot_draw(chart, message))?;
    let size = (width + 2 * MARGIN, height + 2 * MARGIN);
    let (out_width, out_height) = (size.0 * DENSITY, size.1 * DENSITY);
    let (wide, high) = (out_width * OVERSAMPLING, out_height * OVERSAMPLING);
    let mut pixels = vec![255u8; wide as usize * high as usize * 3];
    {
        let area = BitMapBackend::with_buffer(&mut pixels, (wide, high)).into_drawing_area();
        let canvas = Canvas { area, chart };
        draw(&canvas)?;
        canvas.area.present().map_err(|error| cannot_draw(chart, error))?;
    }
    let pixels = averaged(&pixels, out_width as usize, out_height as usize);
    let png = encode(&pixels, out_width, out_height).map_err(|error| cannot_draw(chart, error))?;
    Ok(Picture { png, size })
}

/// The fonts stand in the binary, so that pictures are the same on every machine.
fn register_fonts() -> Result<(), &'static str> {
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    let registered = REGISTERED.get_or_init(|| {
        let regular = register_font(FAMILY, FontStyle::Normal, dejavu::sans::regular());
        let bold = register_font(FAMILY, FontStyle::Bold, dejavu::sans::bold());
        regular.is_ok() && bold.is_ok()
    });
    if *registered { Ok(()) } else { Err("the font in the binary cannot be read") }
}

fn averaged(pixels: &[u8], width: usize, height: usize) -> Vec<u8> {
    let n = OVERSAMPLING as usize;
    let stride = width * n * 3;
    let mut out = vec![0u8; width * height * 3];
    for (y, row) in out.chunks_exact_mut(width * 3).enumerate() {
        for (x, byte) in row.iter_mut().enumerate() {
            let (column, channel) = (x / 3, x % 3);
            let mut sum = 0usize;
            for dy in 0..n {
                for dx in 0..n {
                    let at = (y * n + dy) * stride + (column * n + dx) * 3 + channel;
                    sum += usize::from(pixels.get(at).copied().unwrap_or(255));
                }
            }
            *byte = ((sum + n * n / 2) / (n * n)) as u8;
        }
    }
    out
}

fn encode(pixels: &[u8], width: u32, height: u32) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Best);
    // Flat areas and thin lines: the rows above say more than any arithmetic on neighbors.
    encoder.set_filter(png::FilterType::Up);
    let dots_a_meter = (96.0 * f64::from(DENSITY) / 0.0254).round() as u32;
    encoder.set_pixel_dims(Some(png::PixelDimensions {
        xppu: dots_a_meter,
        yppu: dots_a_meter,
        unit: png::Unit::Meter,
    }));
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(bytes)
}

impl Canvas<'_> {
    /// Writes a title and the line below it from `left` to `right`.
    pub fn heading(&self, left: f64, right: f64, title: &str, subtitle: &str) -> Result<()> {
        let lines = [(16.0, title, Pen(13.5, INK, true)), (34.0, subtitle, Pen(11.0, MUTED, false))];
        for (y, text, pen) in lines {
            self.text(left, y, &self.fitted(text, pen.0, pen.2, right - left)?, pen, Align::Left)?;
        }
        Ok(())
    }

    /// Writes a text on its base line at `(x, y)`; returns its width.
    pub fn text(&self, x: f64, y: f64, text: &str, Pen(size, color, bold): Pen, align: Align) -> Result<f64> {
        let size_drawn = size * LINE_EMS * SCALE;
        let style = self.style(size_drawn, color, bold);
        let width = self.width(text, size, bold)?;
        let left = match align {
            Align::Left => x,
            Align::Center => x - width / 2.0,
            Align::Right => x - width,
        };
        // The library puts the base line half a size below the point.
        let (x, y) = pixel(left, y);
        let point = (x, y - (size_drawn / 2.0).round() as i32);
        self.area.draw_text(text, &style, point).map_err(|error| self.failed(error))?;
        Ok(width)
    }

    /// Measures the width of a text.
    pub fn width(&self, text: &str, size: f64, bold: bool) -> Result<f64> {
        let style = self.style(size * LINE_EMS * SCALE, INK, bold);
        let (width, _) = self.area.estimate_text_size(text, &style).map_err(|error| self.failed(error))?;
        Ok(f64::from(width) / SCALE)
    }

    /// The text, cut at its end with `…` where it is wider than `room`.
    pub fn fitted(&self, text: &str, size: f64, bold: bool, room: f64) -> Result<String> {
        if self.width(text, size, bold)? <= room {
            return Ok(text.to_owned());
        }
        let mut letters: Vec<char> = text.chars().take(200).collect();
        while !letters.is_empty() {
            letters.pop();
            let cut: String = letters.iter().chain(&['…']).collect();
            if self.width(&cut, size, bold)? <= room {
                return Ok(cut);
            }
        }
        Ok("…".to_owned())
    }

    /// Fills a rectangle.
    pub fn rectangle(&self, left: f64, top: f64, right: f64, bottom: f64, color: RGBColor) -> Result<()> {
        let corners = [pixel(left, top), pixel(right, bottom)];
        let (width, height) = (corners[1].0 - corners[0].0, corners[1].1 - corners[0].1);
        if width <= 0 || height <= 0 {
            return Ok(());
        }
        let corners = [corners[0], (corners[1].0 - 1, corners[1].1 - 1)];
        self.area.draw(&Rectangle::new(corners, color.filled())).map_err(|error| self.failed(error))
    }

    /// Fills a disc.
    pub fn disc(&self, x: f64, y: f64, radius: f64, color: RGBColor) -> Result<()> {
        self.area
            .draw(&Circle::new(pixel(x, y), (radius * SCALE).round() as i32, color.filled()))
            .map_err(|error| self.failed(error))
    }

    /// Draws a line through points, with round joints.
    pub fn line(&self, points: &[(f64, f64)], width: f64, color: RGBColor) -> Result<()> {
        for pair in points.windows(2) {
            let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
            let length = (x1 - x0).hypot(y1 - y0);
            if length == 0.0 {
                continue;
            }
            let (nx, ny) = ((y0 - y1) / length * width / 2.0, (x1 - x0) / length * width / 2.0);
            let corners = vec![
                pixel(x0 + nx, y0 + ny),
                pixel(x1 + nx, y1 + ny),
                pixel(x1 - nx, y1 - ny),
                pixel(x0 - nx, y0 - ny),
            ];
            self.area.draw(&Polygon::new(corners, color.filled())).map_err(|error| self.failed(error))?;
            if width > 1.2 {
                self.disc(x1, y1, width / 2.0, color)?;
            }
        }
        Ok(())
    }

    /// Draws a level or upright line of dashes.
    pub fn dashes(&self, from: (f64, f64), to: (f64, f64), width: f64, color: RGBColor) -> Result<()> {
        const DASH: f64 = 4.0;
        const GAP: f64 = 3.0;
        let length = (to.0 - from.0).hypot(to.1 - from.1);
        let at = |distance: f64| {
            let share = (distance / length).min(1.0);
            (from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share)
        };
        let mut start = 0.0;
        while start < length {
            self.line(&[at(start), at(start + DASH)], width, color)?;
            start += DASH + GAP;
        }
        Ok(())
    }

    fn style(&self, size_drawn: f64, color: RGBColor, bold: bool) -> TextStyle<'static> {
        let style = if bold { FontStyle::Bold } else { FontStyle::Normal };
        let mut style = TextStyle::from(FontDesc::new(FontFamily::Name(FAMILY), size_drawn, style));
        style.color = color.to_backend_color();
        style
    }

    fn failed(&self, error: impl std::fmt::Display) -> Error {
        cannot_draw(self.chart, error)
    }
}

fn cannot_draw(chart: &str, error: impl std::fmt::Display) -> Error {
    Error::failed(format!("cannot draw the chart `{chart}`: {error}"))
}

fn pixel(x: f64, y: f64) -> (i32, i32) {
    let place = |at: f64| ((at + f64::from(MARGIN)) * SCALE).round() as i32;
    (place(x), place(y))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averaging_takes_the_mean_of_four() {
        // 2 × 1 pixels out of 4 × 2: grey levels 0 and 255 alternate in the first block, the second is white.
        let mut pixels = vec![255u8; 4 * 2 * 3];
        pixels[..3].fill(0);
        pixels[12..15].fill(0);
        assert_eq!(averaged(&pixels, 2, 1), [128, 128, 128, 255, 255, 255]);
    }

    #[test]
    fn texts_have_a_width_and_can_be_cut() {
        picture("test", 60, 20, |canvas| {
            let width = canvas.width("MRR .495", 12.0, false)?;
            assert!((45.0..70.0).contains(&width), "{width}");
            assert!(canvas.fitted("a long label that does not fit", 12.0, false, 50.0)?.ends_with('…'));
            assert_eq!(canvas.fitted("ok", 12.0, false, 50.0)?, "ok");
            Ok(())
        })
        .unwrap();
    }
}
