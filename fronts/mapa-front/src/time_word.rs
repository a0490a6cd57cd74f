//! A time limit in a word.

use std::str::FromStr;
use std::time::Duration;

/// The longest limit: a year.
const LONGEST: Duration = Duration::from_secs(365 * 86_400);

/// A time limit as options write it: `10`, `10s`, `500ms`, `2m`, `1h` or `1d`; `None` for `none` and `0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeWord(pub Option<Duration>);

impl FromStr for TimeWord {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" || text == "0" {
            return Ok(Self(None));
        }
        let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = match &text[number.len()..] {
            "ms" => Some(0.001),
            "" | "s" => Some(1.0),
            "m" => Some(60.0),
            "h" => Some(3600.0),
            "d" => Some(86_400.0),
            _ => None,
        };
        let is_plain = number.bytes().all(|c| c.is_ascii_digit() || c == b'.');
        let number = number.parse::<f64>().ok().filter(|_| is_plain);
        let seconds = number.zip(unit).map(|(number, unit)| number * unit);
        seconds
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .filter(|limit| (Duration::from_millis(1)..=LONGEST).contains(limit))
            .map(|limit| Self(Some(limit)))
            .ok_or_else(|| {
                "expected a time from 1ms to 365d such as 10, 10s, 500ms, 2m or 1h, or none"
                    .to_owned()
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_times_or_none() {
        let read = |text: &str| {
            text.parse::<TimeWord>()
                .map(|given| given.0.map(|limit| limit.as_millis()))
        };
        for (text, millis) in [
            ("10", 10_000),
            ("10s", 10_000),
            ("0.3", 300),
            ("500ms", 500),
            ("2m", 120_000),
            ("1h", 3_600_000),
            ("365d", 365 * 86_400_000),
        ] {
            assert_eq!(read(text), Ok(Some(millis)), "{text}");
        }
        assert_eq!((read("none"), read("0")), (Ok(None), Ok(None)));
        for text in [
            "",
            "s",
            "-1",
            "+1",
            "1e3",
            "nan",
            "inf",
            "1.5.2",
            "366d",
            "0s",
            "0.1ms",
            "10 s",
            "10µs",
            "99999999999999999999999d",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
