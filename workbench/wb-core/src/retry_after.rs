//! Time that a server asks to wait: `Retry-After`, in seconds or as a date.

use std::time::{Duration, SystemTime};

use jiff::{Timestamp, fmt::rfc2822::DateTimeParser};

/// Longest time, a day: more is taken for this.
const LONGEST: Duration = Duration::from_secs(86_400);

/// The wait that a header's value asks for at a time, at most a day; none where it is neither seconds nor a date. A date
/// that is over asks for none.
pub fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    let seconds = match value.parse::<f64>() {
        Ok(seconds) if seconds >= 0.0 => seconds,
        Ok(_) => return None,
        Err(_) => {
            let at = DateTimeParser::new().parse_timestamp(value).ok()?;
            at.duration_since(Timestamp::try_from(now).ok()?).as_secs_f64().max(0.0)
        }
    };
    Some(Duration::try_from_secs_f64(seconds).map_or(LONGEST, |wait| wait.min(LONGEST)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates_are_read_bounded_and_the_rest_is_not() {
        // Sun, 06 Nov 1994 08:49:37 GMT, the example of RFC 9110.
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let seconds = |value: &str| retry_after(value, now).map(|wait| wait.as_secs_f64());
        for (value, expected) in [
            ("0", Some(0.0)),
            (" 3 ", Some(3.0)),
            ("0.25", Some(0.25)),
            ("86400", Some(86_400.0)),
            ("99999999999999999999999999", Some(86_400.0)),
            ("1e400", Some(86_400.0)),
            ("inf", Some(86_400.0)),
            ("-1", None),
            ("nan", None),
            ("", None),
            ("soon", None),
            ("3 s", None),
            ("Sun, 06 Nov 1994 08:49:47 GMT", Some(10.0)),
            ("Sun, 06 Nov 1994 08:49:27 GMT", Some(0.0)),
            ("Mon, 06 Nov 2094 08:49:27 GMT", None),
            ("Sat, 06 Nov 2094 08:49:27 GMT", Some(86_400.0)),
            ("Sun, 99 Nov 1994 08:49:47 GMT", None),
        ] {
            assert_eq!(seconds(value), expected, "{value:?}");
        }
    }
}
