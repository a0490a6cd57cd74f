//! Numbers and tables as people read them.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

/// A Markdown table whose columns of `numbers` are right-aligned.
pub fn table<'h>(
    header: impl IntoIterator<Item = &'h str>,
    numbers: impl IntoIterator<Item = usize>,
) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::ASCII_MARKDOWN)
        // Without wrapping, the output does not depend on the width of a terminal.
        .set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header);
    for column in numbers {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// GB/s with two decimals, or none where both are zero.
pub fn gbps(value: f64) -> String {
    let text = format!("{value:.2}");
    text.strip_suffix(".00").map_or(text.clone(), str::to_owned)
}

/// Seconds, to four significant digits.
pub fn seconds(value: f64) -> String {
    let decimals = if value > 0.0 {
        // Three decimals behind the leading digit make four digits; an `f64` has fifteen that count.
        (3.0 - value.log10().floor()).clamp(0.0, 15.0) as usize
    } else {
        0
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// A time of this many seconds, in the unit that fits it, to three significant digits: `95.3 s` below
/// two minutes, `34.7 min` below two hours, `5.22 h` below two days, then `3.47 days`. `-` for what
/// is not a number.
#[must_use]
pub fn duration(seconds: f64) -> String {
    if !seconds.is_finite() {
        return "-".to_owned();
    }
    let (scale, unit) = unit_of(seconds);
    let value = seconds / scale;
    format!("{value:.*} {unit}", decimals(value))
}

/// A mean time and what it may be off, in the unit of the mean: `35.6 ± 2.1 min`.
#[must_use]
pub fn duration_within(mean: f64, half: f64) -> String {
    if !(mean.is_finite() && half.is_finite()) {
        return duration(mean);
    }
    let (scale, unit) = unit_of(mean);
    let decimals = decimals(mean / scale);
    format!(
        "{:.decimals$} ± {:.decimals$} {unit}",
        mean / scale,
        half / scale
    )
}

/// The unit that fits a time: how many seconds it has, and its name.
fn unit_of(seconds: f64) -> (f64, &'static str) {
    match seconds {
        s if s < 120.0 => (1.0, "s"),
        s if s < 7_200.0 => (60.0, "min"),
        s if s < 172_800.0 => (3_600.0, "h"),
        _ => (86_400.0, "days"),
    }
}

/// The decimals that make three significant digits.
fn decimals(value: f64) -> usize {
    match value {
        // 99.95 would be rounded to 100.0, which has four digits.
        v if v >= 99.95 || v == 0.0 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    }
}

/// A count with its noun in the singular or plural.
#[must_use]
pub fn counted(n: usize, what: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{n} {what}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_the_unit_that_fits_them() {
        let seconds = [0.0, 0.5, 95.26, 119.0, 2082.0, 7_199.0, 18_800.0, 300_002.0];
        let read = [
            "0 s",
            "0.50 s",
            "95.3 s",
            "119 s",
            "34.7 min",
            "120 min",
            "5.22 h",
            "3.47 days",
        ];
        assert_eq!(seconds.map(duration), read);
        assert_eq!(
            (duration(f64::NAN), duration(31_536_000.0)),
            ("-".into(), "365 days".into())
        );
    }

    #[test]
    fn numbers_are_as_long_as_they_need_be() {
        let read = [0.0775, 12.0, 0.000_123_456, 98_765.4, 0.0, f64::INFINITY].map(seconds);
        assert_eq!(read, ["0.0775", "12", "0.0001235", "98765", "0", "inf"]);
    }
}
