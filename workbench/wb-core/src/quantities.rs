//! Bytes, times and counts as people read them: exact where they were counted, two digits and `about` where they were
//! reckoned.

/// Seconds of a minute, an hour, a day.
const MINUTE: f64 = 60.0;
const HOUR: f64 = 3600.0;
/// Seconds of a day.
pub const DAY: f64 = 86_400.0;

/// `812 B`, `14 kB`, `90.9 MB`, `3 GB`: decimal units, as disks and networks are sold.
pub fn bytes(count: u64) -> String {
    let (unit, name) = match count {
        0..1_000 => return format!("{count} B"),
        1_000..1_000_000 => return format!("{:.0} kB", count as f64 / 1e3),
        1_000_000..1_000_000_000 => (1e6, "MB"),
        _ => (1e9, "GB"),
    };
    let number = format!("{:.1}", count as f64 / unit);
    format!("{} {name}", number.strip_suffix(".0").unwrap_or(&number))
}

/// `1.2 GB`: bytes that were reckoned.
pub fn about_bytes(count: f64) -> String {
    bytes(two_digits(count) as u64)
}

/// A time in the two units that matter: `34 s`, `12 min 3 s`, `2 h 5 min`, `3 d 4 h`.
pub fn duration(seconds: f64) -> String {
    let all = seconds.max(0.0).round() as u64;
    let (days, hours, minutes, seconds) = (all / 86_400, all / 3600 % 24, all / 60 % 60, all % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min {seconds} s"),
        (0, ..) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

/// `about 90 days`: seconds that were reckoned, in the unit in which they are from about 1.5 to 90.
pub fn about_duration(seconds: f64) -> String {
    let (number, unit) = match seconds {
        s if s < 1.0 => return "under a second".to_owned(),
        s if s < 90.0 => (s, "second"),
        s if s < 90.0 * MINUTE => (s / MINUTE, "minute"),
        s if s < 36.0 * HOUR => (s / HOUR, "hour"),
        s => (s / DAY, "day"),
    };
    let number = short(number);
    let s = if number == "1" { "" } else { "s" };
    format!("about {number} {unit}{s}")
}

/// `9.9 billion`, `12 million`, and below a million all digits: `12,345`.
pub fn count(number: f64) -> String {
    match number {
        n if n >= 1e9 => format!("{} billion", short(n / 1e9)),
        n if n >= 1e6 => format!("{} million", short(n / 1e6)),
        n => grouped(&format!("{n:.0}")),
    }
}

/// A number that was measured or assumed, with two digits that count: `1,300`.
pub fn about(number: f64) -> String {
    if number >= 1e6 { count(number) } else { grouped(&short(number)) }
}

/// A number rounded to two digits that count; 0 for none, and for what is no number above 0.
fn two_digits(number: f64) -> f64 {
    if !(number.is_finite() && number > 0.0) {
        return 0.0;
    }
    let unit = 10f64.powi(number.log10().floor() as i32 - 1);
    (number / unit).round() * unit
}

/// A number with two digits that count, without zeros behind a point.
fn short(number: f64) -> String {
    let rounded = two_digits(number);
    let decimals = if rounded > 0.0 { 1.0 - number.log10().floor() } else { 0.0 };
    let text = format!("{rounded:.*}", decimals.max(0.0) as usize);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Digits in groups of three, those behind a point as they are: `83,445.5`.
pub fn grouped(digits: &str) -> String {
    let (whole, rest) = digits.split_once('.').map_or((digits, None), |(whole, rest)| (whole, Some(rest)));
    let mut text = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    match rest {
        Some(rest) => format!("{text}.{rest}"),
        None => text,
    }
}

/// A probability as it is typed; else what was expected.
pub fn probability(text: &str) -> Result<f32, String> {
    let probability = text.parse().ok().filter(|number| (0.0..=1.0).contains(number));
    probability.ok_or_else(|| "expected a probability from 0 to 1: 0.5".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_a_unit_that_suits() {
        for (number, expected) in [
            (0, "0 B"),
            (999, "999 B"),
            (1_000, "1 kB"),
            (90_868_376, "90.9 MB"),
            (3_000_000_000, "3 GB"),
            (3_087_467_144, "3.1 GB"),
        ] {
            assert_eq!(bytes(number), expected);
        }
        for (number, expected) in
            [(0.0, "0 B"), (1234.0, "1 kB"), (56.4e6, "56 MB"), (564e6, "560 MB"), (1.26e9, "1.3 GB"), (3e10, "30 GB")]
        {
            assert_eq!(about_bytes(number), expected);
        }
    }

    #[test]
    fn times_by_hand() {
        let rows = [(0.0, "0 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (723.0, "12 min 3 s"), (3600.0, "1 h 0 min")];
        let more = [(7530.0, "2 h 5 min"), (86_399.0, "23 h 59 min"), (273_600.0, "3 d 4 h"), (-5.0, "0 s")];
        for (seconds, expected) in rows.into_iter().chain(more) {
            assert_eq!(duration(seconds), expected);
        }
    }

    #[test]
    fn reckoned_times_have_a_unit_that_suits() {
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
            assert_eq!(about_duration(seconds), expected, "{seconds} s");
        }
    }

    #[test]
    fn counts_are_short() {
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
            assert_eq!(about(number), expected);
        }
    }

    #[test]
    fn probabilities_are_read_and_other_numbers_are_not() {
        assert_eq!((probability("0"), probability("0.25"), probability("1")), (Ok(0.0), Ok(0.25), Ok(1.0)));
        for text in ["3", "-0.1", "nan", "half", ""] {
            assert!(probability(text).unwrap_err().contains("0.5"), "{text}");
        }
    }
}
