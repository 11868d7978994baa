//! Times, bytes and counts as people read them: two digits that count, and a unit that suits.

/// Seconds of a minute, an hour, a day.
const MINUTE: f64 = 60.0;
const HOUR: f64 = 3600.0;
/// Seconds of a day.
pub const DAY: f64 = 86_400.0;

/// `about 90 days`: seconds in the unit in which they are from about 1.5 to 90.
pub fn duration(seconds: f64) -> String {
    let (number, unit) = match seconds {
        s if s < 1.0 => return "under a second".to_owned(),
        s if s < 90.0 => (s, "second"),
        s if s < 90.0 * MINUTE => (s / MINUTE, "minute"),
        s if s < 36.0 * HOUR => (s / HOUR, "hour"),
        s => (s / DAY, "day"),
    };
    let number = two_digits(number);
    let s = if number == "1" { "" } else { "s" };
    format!("about {number} {unit}{s}")
}

/// `1.2 GB`, in powers of ten.
pub fn bytes(bytes: f64) -> String {
    let (number, unit) = match bytes {
        b if b < 1e6 => (b / 1e3, "KB"),
        b if b < 1e9 => (b / 1e6, "MB"),
        b => (b / 1e9, "GB"),
    };
    format!("{} {unit}", two_digits(number))
}

/// `9.9 billion`, `12 million`, and below a million all digits: `12,345`.
pub fn count(number: f64) -> String {
    match number {
        n if n >= 1e9 => format!("{} billion", two_digits(n / 1e9)),
        n if n >= 1e6 => format!("{} million", two_digits(n / 1e6)),
        n => grouped(&format!("{n:.0}")),
    }
}

/// A number that was measured or assumed, with two digits that count: `1,300`.
pub fn rough(number: f64) -> String {
    if number >= 1e6 { count(number) } else { grouped(&two_digits(number)) }
}

/// A number rounded to two digits that count, without zeros behind a point.
fn two_digits(number: f64) -> String {
    if !(number.is_finite() && number > 0.0) {
        return "0".to_owned();
    }
    let exponent = number.log10().floor() as i32;
    let unit = 10f64.powi(exponent - 1);
    let rounded = (number / unit).round() * unit;
    if exponent >= 1 {
        return format!("{rounded:.0}");
    }
    let decimals = 1 - exponent;
    let text = format!("{rounded:.*}", usize::try_from(decimals).unwrap_or(0));
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Digits in groups of three.
fn grouped(digits: &str) -> String {
    let (whole, rest) = digits.split_once('.').map_or((digits, None), |(whole, rest)| (whole, Some(rest)));
    let mut text = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    rest.map_or(text.clone(), |rest| format!("{text}.{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_unit_that_suits() {
        let rows = [
            (0.3, "under a second"),
            (1.0, "about 1 second"),
            (1.26, "about 1.3 seconds"),
            (59.6, "about 60 seconds"),
            (89.0, "about 89 seconds"),
            (120.0, "about 2 minutes"),
            (135.0, "about 2.3 minutes"),
            (3600.0, "about 60 minutes"),
            (7200.0, "about 2 hours"),
            (86_400.0, "about 24 hours"),
            (90.0 * DAY, "about 90 days"),
            (91.4 * DAY, "about 91 days"),
            (1234.0 * DAY, "about 1200 days"),
        ];
        for (seconds, expected) in rows {
            assert_eq!(duration(seconds), expected, "{seconds} s");
        }
    }

    #[test]
    fn bytes_and_counts_are_short() {
        for (number, expected) in
            [(0.0, "0 KB"), (1234.0, "1.2 KB"), (56e6, "56 MB"), (560e6, "560 MB"), (1.26e9, "1.3 GB"), (3e10, "30 GB")]
        {
            assert_eq!(bytes(number), expected);
        }
        for (number, expected) in [
            (0.0, "0"),
            (12.0, "12"),
            (12_345.0, "12,345"),
            (999_999.0, "999,999"),
            (1.25e7, "13 million"),
            (9.9e9, "9.9 billion"),
        ] {
            assert_eq!(count(number), expected);
        }
        for (number, expected) in
            [(0.052, "0.052"), (1.0, "1"), (12_345.0, "12,000"), (1349.0, "1,300"), (2.5e6, "2.5 million")]
        {
            assert_eq!(rough(number), expected);
        }
    }
}
