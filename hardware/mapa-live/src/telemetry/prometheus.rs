//! The text format of Prometheus, as exporters print it (version 0.0.4, and what OpenMetrics adds to it).
//!
//! None of the crates that exist reads what exporters print: `prometheus-parse` 0.2.5 and `prometheus-scrape` 0.1.1
//! miss names with a colon, which are vLLM's, and split labels at commas within quotes; `nom-openmetrics` 0.3.0 reads
//! neither times nor empty lines; `prom_text_format_parser` 0.1.0 neither exemplars nor a comma after the last label;
//! `openmetrics-parser` 0.5.1 is under the LGPL. So this is one of our own: one pass, no regular expressions, and an
//! end to everything.

use std::collections::BTreeMap;

/// The longest text that is read.
pub(crate) const MOST_BYTES: usize = 16 << 20;
/// The most metrics of one text.
const MOST_METRICS: usize = 200_000;
/// The most labels of one metric.
const MOST_LABELS: usize = 64;

/// One line: a name, labels and a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// The name: `vllm:num_requests_running`.
    pub name: String,
    /// The values of its labels, unescaped, by their names.
    pub labels: BTreeMap<String, String>,
    /// The value. It may be infinite, or not a number.
    pub value: f64,
}

/// Reads a text. Comments are left out; a line that is not understood is an error, because a text that is cut
/// off, or of another format, must not look like one with little in it.
///
/// # Errors
/// The line, and what was expected there.
pub fn read_metrics(text: &str) -> Result<Vec<Metric>, String> {
    if text.len() > MOST_BYTES {
        let bytes = text.len();
        return Err(format!("{bytes} bytes: expected at most {MOST_BYTES}"));
    }
    let mut metrics = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if metrics.len() == MOST_METRICS {
            return Err(format!(
                "line {}: expected at most {MOST_METRICS} metrics",
                at + 1
            ));
        }
        let metric = read_line(line).map_err(|expected| {
            let start: String = line.chars().take(60).collect();
            let what = format!("line {}: `{start}`: expected {expected}", at + 1);
            mapa_core::shortened(&what).into_owned()
        })?;
        metrics.push(metric);
    }
    Ok(metrics)
}

fn read_line(line: &str) -> Result<Metric, &'static str> {
    let named = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    let end = line.find(|c| !named(c)).unwrap_or(line.len());
    let (name, rest) = line.split_at(end);
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return Err("the name of a metric");
    }
    let (labels, rest) = match rest.trim_start().strip_prefix('{') {
        Some(rest) => read_labels(rest)?,
        None => (BTreeMap::new(), rest),
    };
    // A time, and an exemplar of OpenMetrics, may follow the value.
    let value = rest.split_ascii_whitespace().next();
    let value = value.ok_or("a value")?;
    let value = match value {
        "NaN" | "Nan" | "nan" => f64::NAN,
        "+Inf" => f64::INFINITY,
        "-Inf" => f64::NEG_INFINITY,
        number => number.parse().map_err(|_| "a number")?,
    };
    Ok(Metric {
        name: name.to_owned(),
        labels,
        value,
    })
}

/// Reads `key="value",...}`; the rest of the line is the second part of the answer.
fn read_labels(mut rest: &str) -> Result<(BTreeMap<String, String>, &str), &'static str> {
    let mut labels = BTreeMap::new();
    loop {
        rest = rest.trim_start();
        // Also behind a comma: the format allows one after the last label.
        if let Some(after) = rest.strip_prefix('}') {
            return Ok((labels, after));
        }
        let (key, after) = rest.split_once('=').ok_or("a label, key=\"value\"")?;
        let after = after.trim_start();
        let after = after.strip_prefix('"').ok_or("a quote after `=`")?;
        let (value, after) = read_quoted(after)?;
        if labels.len() == MOST_LABELS {
            return Err("at most 64 labels");
        }
        labels.insert(key.trim().to_owned(), value);
        rest = after.trim_start();
        match rest.strip_prefix(',') {
            Some(after) => rest = after,
            None if rest.starts_with('}') => {}
            None => return Err("`,` or `}` after a label"),
        }
    }
}

/// Reads up to the quote that ends a value; `\\`, `\"` and `\n` stand for themselves, a quote, a line break.
fn read_quoted(text: &str) -> Result<(String, &str), &'static str> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => return Ok((value, &text[at + 1..])),
            '\\' => match chars.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, other)) => value.push(other),
                None => break,
            },
            other => value.push(other),
        }
    }
    Err("a quote at the end of a label's value")
}
