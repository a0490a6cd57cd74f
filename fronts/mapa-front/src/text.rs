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
    fn numbers_are_as_long_as_they_need_be() {
        let read = [0.0775, 12.0, 0.000_123_456, 98_765.4, 0.0, f64::INFINITY].map(seconds);
        assert_eq!(read, ["0.0775", "12", "0.0001235", "98765", "0", "inf"]);
    }
}
