//! Numbers in files: seconds to the nanosecond, whole numbers, words for yes and no.
//!
//! Seconds are read digit by digit. A binary fraction would move 0.1 s, and 31 years have more nanoseconds than its 53 bits.

use mapa_core::MAX_DEVICES;
use mapa_core::mig::Size;

/// Nanoseconds of decimal seconds, exactly. An exponent may follow, as in `4.62824e+06`.
pub(super) fn nanoseconds(text: &str) -> Result<u64, String> {
    let malformed = || format!("`{text}`: expected seconds as a decimal number, not negative, such as 12.5");
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent: i32 = exponent.parse().map_err(|_| malformed())?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    let are_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !are_digits(whole) || !are_digits(fraction) {
        return Err(malformed());
    }
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        return Ok(0);
    }
    let shift = i64::from(exponent) + 9 - fraction.len() as i64 + (digits.len() - significant.len()) as i64;
    if shift < 0 {
        return Err(format!("`{text}`: expected whole nanoseconds, so at most nine digits after the point"));
    }
    let power = u32::try_from(shift).ok().and_then(|shift| 10_u64.checked_pow(shift));
    let nanoseconds = significant.parse::<u64>().ok().zip(power).and_then(|(digits, power)| digits.checked_mul(power));
    nanoseconds.ok_or_else(|| format!("`{text}`: expected at most 18446744073.709551615 s, some 584 years"))
}

/// Decimal seconds of nanoseconds, without needless zeros.
pub(super) fn seconds(nanoseconds: u64) -> String {
    let (whole, fraction) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
    if fraction == 0 {
        return whole.to_string();
    }
    format!("{whole}.{}", format!("{fraction:09}").trim_end_matches('0'))
}

/// How many devices a job asks for.
pub(super) fn devices(text: &str) -> Result<usize, String> {
    let fits = |devices: &usize| (1..=MAX_DEVICES).contains(devices);
    let devices = text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit())).filter(fits);
    devices.ok_or_else(|| format!("`{text}`: expected a number of devices from 1 to {MAX_DEVICES}"))
}

/// MB/s of decimal GB/s, exactly.
pub(super) fn pcie_mb_s(text: &str) -> Result<u32, String> {
    // As seconds are read: nine digits after the point, of which the last six must be zeros here.
    let exact = nanoseconds(text).ok().filter(|nano| nano % 1_000_000 == 0);
    let mb_s = exact.and_then(|nano| u32::try_from(nano / 1_000_000).ok());
    mb_s.ok_or_else(|| format!("`{text}`: expected GB/s from 0 to 4294967.295, at most three digits after the point"))
}

/// The same of a number: 0, or what is not rounded to it and can be counted.
pub(super) fn is_pcie_gbps(gbps: f64) -> bool {
    gbps == 0.0 && gbps.is_sign_positive() || (0.001..=f64::from(u32::MAX) / 1000.0).contains(&gbps)
}

/// Whether it is one that can be read: it has slices of both kinds.
pub(super) fn is_size(size: Size) -> bool {
    size.covers(Size::new(1, 1))
}

/// Whether it can be the slope of Eq. 1.
pub(super) fn is_slope(number: f64) -> bool {
    number.is_finite() && number >= 0.0
}

/// Yes or no.
pub(super) fn flag(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" => Ok(true),
        "0" | "false" | "no" => Ok(false),
        _ => Err(format!("`{text}`: expected true or false")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_exact_to_the_nanosecond() {
        for (text, expected) in [
            ("0", 0),
            ("0.1", 100_000_000),
            ("12.5", 12_500_000_000),
            ("000.000000001", 1),
            ("1.50000000000000", 1_500_000_000),
            ("18446744073.709551615", u64::MAX),
            ("4.62824e+06", 4_628_240_000_000_000),
            ("12e-9", 12),
            ("0e999999999", 0),
        ] {
            assert_eq!(nanoseconds(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_length_of_time_is_refused_with_the_expected_form() {
        for (text, expected) in [
            ("-1", "not negative"),
            ("nan", "not negative"),
            ("inf", "not negative"),
            ("", "such as 12.5"),
            ("1.", "such as 12.5"),
            (".5", "such as 12.5"),
            ("1e", "such as 12.5"),
            ("+1", "such as 12.5"),
            ("0.0000000001", "nine digits"),
            ("1e-10", "nine digits"),
            ("18446744073.709551616", "584 years"),
            ("1e2147483647", "584 years"),
            ("99999999999999999999999", "584 years"),
        ] {
            let error = nanoseconds(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn written_seconds_are_read_back() {
        for nanos in [0, 1, 10, 999_999_999, 1_000_000_000, 1_234_567_890_123_456_789, u64::MAX] {
            assert_eq!(nanoseconds(&seconds(nanos)), Ok(nanos));
        }
        assert_eq!(seconds(12_500_000_000), "12.5");
    }
}
