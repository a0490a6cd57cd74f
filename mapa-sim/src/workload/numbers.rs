//! Numbers in files: seconds to the nanosecond, whole numbers, words for yes and no.
//!
//! Seconds are read digit by digit. As a binary fraction, 0.1 s would be rounded, and times beyond
//! 104 days would lose nanoseconds, as a 64-bit float has only 53 bits of precision.

use mapa_core::MAX_DEVICES;
use mapa_core::mig::Size;

/// Reads decimal seconds as nanoseconds, exactly. An exponent may follow, as in `4.62824e+06`.
pub(super) fn nanoseconds(text: &str) -> Result<u64, String> {
    let malformed =
        || format!("`{text}`: expected seconds as a decimal number, not negative, such as 12.5");
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent: i32 = exponent.parse().map_err(|_| malformed())?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    let are_digits =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !are_digits(whole) || !are_digits(fraction) {
        return Err(malformed());
    }
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        return Ok(0);
    }
    // The number is `significant` times ten to the power of `shift`, in nanoseconds.
    let shift =
        i64::from(exponent) + 9 - fraction.len() as i64 + (digits.len() - significant.len()) as i64;
    if shift < 0 {
        return Err(format!(
            "`{text}`: expected whole nanoseconds, so at most nine digits after the point"
        ));
    }
    let power = u32::try_from(shift)
        .ok()
        .and_then(|shift| 10_u64.checked_pow(shift));
    let nanoseconds = significant
        .parse::<u64>()
        .ok()
        .zip(power)
        .and_then(|(digits, power)| digits.checked_mul(power));
    nanoseconds.ok_or_else(|| {
        format!("`{text}`: expected at most 18446744073.709551615 s, some 584 years")
    })
}

/// Writes nanoseconds as decimal seconds, without trailing zeros.
pub(super) fn seconds(nanoseconds: u64) -> String {
    let (whole, fraction) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
    if fraction == 0 {
        return whole.to_string();
    }
    format!("{whole}.{}", format!("{fraction:09}").trim_end_matches('0'))
}

/// Reads how many devices a job requests.
pub(super) fn devices(text: &str) -> Result<usize, String> {
    // `parse` alone would accept a sign.
    let are_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(devices @ 1..=MAX_DEVICES) if are_digits => Ok(devices),
        _ => Err(format!(
            "`{text}`: expected a number of devices from 1 to {MAX_DEVICES}"
        )),
    }
}

/// Reads decimal GB/s as MB/s, exactly.
pub(super) fn pcie_mb_s(text: &str) -> Result<u32, String> {
    // As seconds are read: nine digits after the point, of which the last six must be zeros here.
    let exact = nanoseconds(text).ok().filter(|nano| nano % 1_000_000 == 0);
    let mb_s = exact.and_then(|nano| u32::try_from(nano / 1_000_000).ok());
    mb_s.ok_or_else(|| {
        format!(
            "`{text}`: expected GB/s from 0 to 4294967.295, at most three digits after the point"
        )
    })
}

/// Units of memory in files, bytes.
const MEMORY: [(&str, u128); 4] = [
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
];

/// Reads memory with its unit, as bytes, exactly.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    let expected = || {
        let units = MEMORY.map(|(unit, _)| unit).join(", ");
        format!("`{text}`: expected memory of whole bytes with its unit ({units}), such as 2.5GB")
    };
    let mut units = MEMORY.iter();
    let unit = units.find_map(|(unit, size)| Some((text.strip_suffix(unit)?, *size)));
    let (number, size) = unit.ok_or_else(expected)?;
    // As seconds are read: in units of 10⁻⁹.
    let nano = nanoseconds(number).map_err(|_| expected())?;
    let bytes = u128::from(nano) * size;
    if bytes % 1_000_000_000 != 0 {
        return Err(expected());
    }
    u64::try_from(bytes / 1_000_000_000).map_err(|_| expected())
}

/// Reads decimal GB as bytes, exactly.
pub(super) fn gigabytes(text: &str) -> Result<u64, String> {
    let expected = |_| {
        format!(
            "`{text}`: expected GB from 0 to 18446744073.709551615, at most nine digits after the \
             point"
        )
    };
    nanoseconds(text).map_err(expected)
}

/// Whether a file can hold this bandwidth in GB/s: 0 (not -0), or a number from 0.001 to
/// 4294967.295.
pub(super) fn is_pcie_gbps(gbps: f64) -> bool {
    gbps == 0.0 && gbps.is_sign_positive() || (0.001..=f64::from(u32::MAX) / 1000.0).contains(&gbps)
}

/// Whether a size can be read from a file: it has compute and memory slices.
pub(super) fn is_size(size: Size) -> bool {
    size.covers(Size::new(1, 1))
}

/// Whether a number can be the slope of Eq. 1.
pub(super) fn is_slope(number: f64) -> bool {
    number.is_finite() && number >= 0.0
}

/// Reads a slope of Eq. 1.
pub(super) fn slope(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(slope) if is_slope(slope) => Ok(slope),
        _ => Err(format!(
            "`{text}`: expected a number such as 0.5, finite and not below 0"
        )),
    }
}

/// Whether a number can be a job's run time over slow links, over that at full speed.
pub(super) fn is_ratio(number: f64) -> bool {
    number.is_finite() && number >= 1.0
}

/// Reads a job's run time over slow links, over that at full speed.
pub(super) fn ratio(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(ratio) if is_ratio(ratio) => Ok(ratio),
        _ => Err(format!(
            "`{text}`: expected a number such as 1.6, finite and not below 1"
        )),
    }
}

/// Reads thousandths of a GPU.
pub(super) fn milli(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(milli @ 1..=1000) => Ok(milli),
        _ => Err(format!(
            "`{text}`: expected thousandths of a GPU, from 1 to 1000"
        )),
    }
}

/// Reads yes or no.
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
    fn memory_is_exact_to_the_byte() {
        for (text, expected) in [
            ("2GB", Some(2_000_000_000)),
            ("0.000000001GB", Some(1)),
            ("1.5MB", Some(1_500_000)),
            ("1.5GiB", Some(3 << 29)),
            ("512MiB", Some(512 << 20)),
            ("18446744073.709551615GB", Some(u64::MAX)),
            ("18446744073.709551615GiB", None),
            ("0.0000001MB", None),
            ("0.3GiB", None),
            ("2", None),
            ("2gb", None),
            ("2 GB", None),
            ("-2GB", None),
            ("GB", None),
        ] {
            assert_eq!(bytes(text).ok(), expected, "{text}");
        }
        assert!(bytes("x").unwrap_err().contains("such as 2.5GB"));
        assert_eq!(gigabytes("2.5"), Ok(2_500_000_000));
        assert!(gigabytes("2GB").unwrap_err().contains("expected GB from 0"));
    }

    #[test]
    fn written_seconds_are_read_back() {
        for nanos in [
            0,
            1,
            10,
            999_999_999,
            1_000_000_000,
            1_234_567_890_123_456_789,
            u64::MAX,
        ] {
            assert_eq!(nanoseconds(&seconds(nanos)), Ok(nanos));
        }
        assert_eq!(seconds(12_500_000_000), "12.5");
    }
}
