//! Bounds on numbers that options name. Above them a number is a mistake, and would take all threads or the memory.

use std::fmt::Display;
use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// The most threads.
const MOST_THREADS: usize = 1024;

/// Reads a number of threads.
///
/// # Errors
/// What was expected.
pub fn threads(text: &str) -> Result<NonZeroUsize, String> {
    within(text, 1..=MOST_THREADS)
        .map(|threads| NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN))
}

/// Reads a number within a range.
///
/// # Errors
/// What was expected.
pub fn within<T: FromStr + PartialOrd + Display>(
    text: &str,
    range: RangeInclusive<T>,
) -> Result<T, String> {
    let number = text.parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| {
        format!(
            "expected a whole number from {} to {}",
            range.start(),
            range.end()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_outside_a_range_are_refused_with_the_range() {
        let expected = Err("expected a whole number from 1 to 1024".to_owned());
        for text in ["0", "1025", "-1", "", "18446744073709551616", "1.5", "x"] {
            assert_eq!(threads(text), expected, "{text}");
        }
        assert_eq!(threads("1024").map(NonZeroUsize::get), Ok(1024));
    }
}
