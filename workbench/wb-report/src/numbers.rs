//! Numbers as people read them: three or four digits, never more than they are worth.

use wb_core::{quantities, statistics::Interval};

/// A fraction with three digits and no leading zero: `.495`, `1.000`; `–` where it is not a number.
pub fn fraction(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let text = format!("{:.3}", value.abs());
    let text = text.strip_prefix('0').map(str::to_owned).unwrap_or(text);
    if value < 0.0 && text.chars().any(|c| c.is_ascii_digit() && c != '0') { format!("−{text}") } else { text }
}

/// A difference of fractions, always with its sign: `+.124`, `−.012`.
pub fn difference(value: f64) -> String {
    let text = fraction(value);
    if value.is_finite() && !text.starts_with('−') { format!("+{text}") } else { text }
}

/// An interval of fractions: `[.480, .511]`.
pub fn interval(interval: Interval) -> String {
    format!("[{}, {}]", fraction(interval.low), fraction(interval.high))
}

/// A count with thousands set apart: `83,445`.
pub fn count(value: u64) -> String {
    quantities::grouped(&value.to_string())
}

/// A count shortened where it is large: `83,445`, `1.25 million`.
pub fn large(value: u64) -> String {
    match value {
        0..=999_999 => count(value),
        1_000_000..=999_999_999 => format!("{} million", significant(value as f64 / 1e6, 3)),
        _ => format!("{} billion", significant(value as f64 / 1e9, 3)),
    }
}

/// A share in percent: `12.3 %`, `0 %`, `< 0.1 %`; `–` of nothing.
pub fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "–".to_owned();
    }
    let share = 100.0 * part as f64 / whole as f64;
    match part {
        0 => "0 %".to_owned(),
        _ if part == whole => "100 %".to_owned(),
        _ if share < 0.1 => "< 0.1 %".to_owned(),
        _ if share > 99.9 && share < 100.0 => "> 99.9 %".to_owned(),
        _ => format!("{share:.1} %"),
    }
}

/// A number with so many significant digits: losses, learning rates, axis labels. Exponents as `2·10⁻⁵`.
pub fn significant(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let size = value.abs().log10().floor();
    if !(-4.0..9.0).contains(&size) {
        return scientific(value, digits);
    }
    let decimals = (digits as f64 - 1.0 - size).max(0.0) as usize;
    format!("{value:.decimals$}").replace('-', "−")
}

fn scientific(value: f64, digits: usize) -> String {
    let text = format!("{:.*e}", digits.saturating_sub(1), value);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let mantissa = if mantissa.contains('.') { mantissa.trim_end_matches('0').trim_end_matches('.') } else { mantissa };
    let exponent: String = exponent.chars().map(superscript).collect();
    format!("{}·10{exponent}", mantissa.replace('-', "−"))
}

fn superscript(c: char) -> char {
    match c {
        '-' => '⁻',
        '0' => '⁰',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        '4'..='9' => char::from_u32('⁴' as u32 + (c as u32 - '4' as u32)).unwrap_or(c),
        other => other,
    }
}

/// A probability under the null hypothesis: `p = .012`, `p < .001`.
pub fn p_value(p: f64) -> String {
    if !p.is_finite() {
        "p unknown".to_owned()
    } else if p < 0.001 {
        "p < .001".to_owned()
    } else {
        format!("p = {}", fraction(p))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_have_three_digits() {
        let rows =
            [(0.4951, ".495"), (0.0, ".000"), (1.0, "1.000"), (-0.0123, "−.012"), (-0.00001, ".000"), (f64::NAN, "–")];
        for (value, text) in rows {
            assert_eq!(fraction(value), text, "{value}");
        }
        assert_eq!(difference(0.124), "+.124");
        assert_eq!(difference(-0.124), "−.124");
        assert_eq!(interval(Interval { low: 0.48, high: 0.511 }), "[.480, .511]");
    }

    #[test]
    fn counts_and_shares() {
        assert_eq!(
            ["0", "999", "1,000", "83,445", "1,234,567"].map(str::to_owned),
            [0, 999, 1000, 83445, 1234567].map(count)
        );
        assert_eq!(large(83_445), "83,445");
        assert_eq!(large(12_345_678), "12.3 million");
        assert_eq!(percent(1, 8), "12.5 %");
        assert_eq!(percent(1, 100_000), "< 0.1 %");
        assert_eq!(percent(99_999, 100_000), "> 99.9 %");
        assert_eq!(percent(5, 5), "100 %");
        assert_eq!(percent(0, 0), "–");
    }

    #[test]
    fn significant_digits() {
        let rows = [
            (2.56789, "2.57"),
            (0.00123, "0.00123"),
            (2e-5, "2·10⁻⁵"),
            (1.25e-5, "1.25·10⁻⁵"),
            (123.4, "123"),
            (1e300, "1·10³⁰⁰"),
        ];
        for (value, text) in rows {
            assert_eq!(significant(value, 3), text, "{value}");
        }
        assert_eq!(p_value(0.0002), "p < .001");
        assert_eq!(p_value(0.0121), "p = .012");
    }
}
