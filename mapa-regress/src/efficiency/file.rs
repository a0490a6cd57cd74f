//! The file of shares: TOML, versioned.

use std::fmt::Write as _;

use mapa_core::{Efficiency, Factor, MAX_TOML_BYTES, Spread, check_size};
use serde::Deserialize;
use toml::Spanned;

use super::fit::FittedEfficiency;
use crate::error::{Error, ErrorKind};

const FORMAT: &str = "mapa-efficiency";
const VERSION: i64 = 1;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: Spanned<String>,
    version: Spanned<i64>,
    source: String,
    shared_root: Spanned<f64>,
    /// Older files have none: nothing is lost then.
    shared_memory: Option<Spanned<f64>>,
    #[serde(default)]
    factor: Vec<FactorOfFile>,
    #[serde(default)]
    spread: Vec<SpreadOfFile>,
    #[serde(default)]
    exponent: Vec<ExponentOfFile>,
    /// For readers: what the fit leaves unexplained.
    #[serde(default, rename = "residual")]
    _residual: Vec<ResidualOfFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FactorOfFile {
    part: Spanned<String>,
    #[serde(rename = "use")]
    using: Spanned<String>,
    generation: Option<String>,
    value: Spanned<f64>,
    machines: u32,
    #[serde(default, rename = "rows")]
    _rows: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SpreadOfFile {
    class: Spanned<String>,
    log: Spanned<f64>,
    machines: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExponentOfFile {
    generation: String,
    power: Spanned<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ResidualOfFile {
    #[serde(rename = "row")]
    _row: String,
    #[serde(rename = "log")]
    _log: f64,
}

/// Reads shares from a file that [`write_efficiency`] wrote.
///
/// # Examples
///
/// ```
/// use mapa_core::Efficiency;
/// use mapa_regress::{fit_efficiency, read_efficiency, write_efficiency};
///
/// // Without measurements, what is set by hand stays.
/// let fitted = fit_efficiency(&[], &Efficiency::shipped());
/// let read = read_efficiency(&write_efficiency(&fitted))?;
/// assert_eq!(read, fitted.efficiency);
/// # Ok::<(), mapa_regress::Error>(())
/// ```
///
/// # Errors
/// More than [`MAX_TOML_BYTES`]; or, with the line: another format or version; an unknown key, part, use or class; a share that is not
/// from 0.01 to 100, or a spread that is not from 0 to 5.
///
/// # Complexity
/// O(length).
pub fn read_efficiency(text: &str) -> Result<Efficiency, Error> {
    let bad = |at: Option<usize>, what: String| -> Error {
        let before = at.and_then(|byte| text.as_bytes().get(..byte));
        let line = before.map(|before| before.iter().filter(|byte| **byte == b'\n').count() + 1);
        ErrorKind::BadFile { line, what }.into()
    };
    check_size(text.len(), MAX_TOML_BYTES).map_err(|what| bad(None, what))?;
    let file: File = toml::from_str(text).map_err(|error| {
        let at = error.span().map(|span| span.start);
        bad(at, error.message().to_owned())
    })?;
    if file.format.get_ref() != FORMAT {
        let what = format!("format = `{}`: expected `{FORMAT}`", file.format.get_ref());
        return Err(bad(Some(file.format.span().start), what));
    }
    if *file.version.get_ref() != VERSION {
        let what = format!("version = {}: expected {VERSION}", file.version.get_ref());
        return Err(bad(Some(file.version.span().start), what));
    }
    let number = |name: &str, value: &Spanned<f64>, low: f64, high: f64| {
        let own = *value.get_ref();
        if (low..=high).contains(&own) {
            return Ok(own);
        }
        let what = format!("{name} = {own}: expected a number from {low} to {high}");
        Err(bad(Some(value.span().start), what))
    };
    fn word<T: std::str::FromStr<Err = mapa_core::Error>>(
        value: &Spanned<String>,
        bad: impl Fn(Option<usize>, String) -> Error,
    ) -> Result<T, Error> {
        let parsed = value.get_ref().parse();
        parsed.map_err(|error: mapa_core::Error| bad(Some(value.span().start), error.to_string()))
    }
    let factors = file.factor.iter().map(|factor| {
        Ok(Factor {
            part: word(&factor.part, bad)?,
            using: word(&factor.using, bad)?,
            generation: factor.generation.clone(),
            value: number("value", &factor.value, 0.01, 100.0)?,
            machines: factor.machines,
        })
    });
    let spreads = file.spread.iter().map(|spread| {
        Ok(Spread {
            class: word(&spread.class, bad)?,
            log: number("log", &spread.log, 0.0, 5.0)?,
            machines: spread.machines,
        })
    });
    let exponents = file.exponent.iter().map(|exponent| {
        Ok((
            exponent.generation.clone(),
            number("power", &exponent.power, 0.0, 1.0)?,
        ))
    });
    let shared_memory = file.shared_memory.as_ref();
    let shared_memory = shared_memory.map(|share| number("shared_memory", share, 0.01, 1.0));
    Ok(Efficiency {
        source: file.source,
        factors: factors.collect::<Result<_, Error>>()?,
        spreads: spreads.collect::<Result<_, Error>>()?,
        shared_root: number("shared_root", &file.shared_root, 0.01, 1.0)?,
        shared_memory: shared_memory.transpose()?.unwrap_or(1.0),
        exponents: exponents.collect::<Result<_, Error>>()?,
    })
}

/// Writes shares, with what their fit leaves unexplained.
///
/// # Complexity
/// O(length).
#[must_use]
pub fn write_efficiency(fitted: &FittedEfficiency) -> String {
    let Efficiency {
        source,
        factors,
        spreads,
        shared_root,
        shared_memory,
        exponents,
    } = &fitted.efficiency;
    let quoted = |text: &str| toml::Value::from(text).to_string();
    // Numbers with a point, as TOML tells floats.
    let float = |value: f64| format!("{value:?}");
    let mut text = format!(
        "# The share of its nominal bandwidth that each part of a machine's links reaches, by kind of traffic, and on how many machines\n\
         # that was measured: 0 for a share that is set by hand. A spread is the error, ln(measured / expected), that nine of ten\n\
         # measurements of machines left out of the fit do not exceed. A residual is that error within the fit.\n\n\
         format = \"{FORMAT}\"\nversion = {VERSION}\nsource = {}\nshared_root = {}\nshared_memory = {}\n",
        quoted(source),
        float(*shared_root),
        float(*shared_memory),
    );
    for (factor, rows) in factors.iter().zip(&fitted.rows) {
        let _ = write!(
            text,
            "\n[[factor]]\npart = \"{}\"\nuse = \"{}\"\n",
            factor.part, factor.using
        );
        if let Some(generation) = &factor.generation {
            let _ = writeln!(text, "generation = {}", quoted(generation));
        }
        let _ = writeln!(
            text,
            "value = {}\nmachines = {}\nrows = {rows}",
            float(factor.value),
            factor.machines
        );
    }
    for spread in spreads {
        let _ = writeln!(
            text,
            "\n[[spread]]\nclass = \"{}\"\nlog = {}\nmachines = {}",
            spread.class,
            float(spread.log),
            spread.machines
        );
    }
    for (generation, power) in exponents {
        let _ = writeln!(
            text,
            "\n[[exponent]]\ngeneration = {}\npower = {}",
            quoted(generation),
            float(*power)
        );
    }
    for (row, log) in &fitted.residuals {
        let log = (log * 1e4).round() / 1e4;
        let _ = writeln!(
            text,
            "\n[[residual]]\nrow = {}\nlog = {}",
            quoted(row),
            float(log)
        );
    }
    text
}
