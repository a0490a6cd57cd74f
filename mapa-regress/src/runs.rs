//! Tables of measured runs of jobs.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use mapa_core::mig::Size;
use mapa_table::{Comments, Sheet, columns, optional_text, text};
use serde::Deserialize;

use crate::error::{Error, ErrorKind};

/// Runs of one job: how many copies ran side by side, and how long one of them took, s. Repetitions
/// are runs of their own.
pub type Runs = Vec<(u32, f64)>;

/// The measurements of one job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeasuredJob {
    /// The runs on the size of slice on which copies ran side by side. All runs, if no copies ran
    /// side by side or the table has no sizes.
    pub runs: Runs,
    /// Throughput of a copy alone, by size of slice: all its tokens over all its time there. The
    /// unit is tokens a second, or that of whatever was counted.
    pub throughput: BTreeMap<Size, f64>,
}

/// Reads a table of measured runs. Its columns are, in any order, `job`, `copies` and `runtime_s`;
/// and, if they were measured, `slice` (the size, such as `1g.1m`) and `tokens` (the tokens, or
/// whatever is counted, of the run). Lines that begin with `#` are comments. Several rows of one
/// job, size and number of copies are repetitions. Returns the measurements by job, with runs in
/// the order of rows. O(n log n) for n rows.
///
/// # Examples
///
/// ```
/// let text = "job,slice,copies,runtime_s,tokens\nBloom7b1,1g.1m,1,50,1000\nBloom7b1,1g.1m,2,62.8,1000\nBloom7b1,2g.2m,1,40,1000\n";
/// let measured = &mapa_regress::read_runs(text)?["Bloom7b1"];
/// assert_eq!(measured.runs, [(1, 50.0), (2, 62.8)]);
/// assert_eq!(measured.throughput[&"2g.2m".parse()?], 25.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// - A column is missing, unknown or occurs twice, or the table has no rows.
/// - Copies of a job ran side by side on several sizes.
/// - With the line: a row has too few or too many fields, or a quote that does not close on its
///   line; a name is empty; a number of copies is not from 1 to 1,000,000; a time or a number of tokens is not positive; a size is malformed; or
///   tokens have no size.
pub fn read_runs(text: &str) -> Result<BTreeMap<String, MeasuredJob>, Error> {
    let sheet = Sheet::read(text, Comments::Anywhere, "a header and runs")?;
    sheet.check(&["job", "copies", "runtime_s"], &columns::<RunRow>())?;
    let mut jobs: BTreeMap<String, Vec<RunRow>> = BTreeMap::new();
    for row in sheet.rows() {
        let measured: RunRow = row.read()?;
        if measured.tokens.is_some() && measured.slice.is_none() {
            return Err(row
                .error("tokens without a slice: expected its size")
                .into());
        }
        jobs.entry(measured.job.clone()).or_default().push(measured);
    }
    if jobs.is_empty() {
        return Err(refused(
            "no rows: expected runs below the header".to_owned(),
        ));
    }
    jobs.into_iter()
        .map(|(name, rows)| match MeasuredJob::of(&rows) {
            Ok(job) => Ok((name, job)),
            Err(what) => Err(refused(format!("job `{name}`: {what}"))),
        })
        .collect()
}

/// An error of a table of runs, without a line.
fn refused(what: String) -> Error {
    ErrorKind::BadFile { line: None, what }.into()
}

/// A row.
#[derive(Deserialize)]
struct RunRow {
    job: String,
    #[serde(with = "text")]
    copies: Copies,
    #[serde(with = "text")]
    runtime_s: Positive,
    #[serde(default, with = "optional_text")]
    slice: Option<Size>,
    #[serde(default, with = "optional_text")]
    tokens: Option<Positive>,
}

/// How many copies ran side by side.
struct Copies(u32);

impl FromStr for Copies {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(copies @ 1..=1_000_000) => Ok(Self(copies)),
            _ => Err(format!(
                "`{text}`: expected a whole number from 1 to 1000000"
            )),
        }
    }
}

/// A finite number above 0.
struct Positive(f64);

impl FromStr for Positive {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() && number > 0.0 => Ok(Self(number)),
            _ => Err(format!("`{text}`: expected a positive number")),
        }
    }
}

impl MeasuredJob {
    fn of(rows: &[RunRow]) -> Result<Self, String> {
        let beside: BTreeSet<Option<Size>> = rows
            .iter()
            .filter(|row| row.copies.0 > 1)
            .map(|row| row.slice)
            .collect();
        if beside.len() > 1 {
            let sizes: Vec<String> = beside
                .iter()
                .map(|size| size.map_or("no size".to_owned(), |size| size.to_string()))
                .collect();
            return Err(format!(
                "copies side by side on {}: expected one size",
                sizes.join(", ")
            ));
        }
        let on = |row: &&RunRow| beside.first().is_none_or(|slice| row.slice == *slice);
        let runs = rows
            .iter()
            .filter(on)
            .map(|row| (row.copies.0, row.runtime_s.0))
            .collect();
        let mut done: BTreeMap<Size, (f64, f64)> = BTreeMap::new();
        for (size, tokens, seconds) in rows
            .iter()
            .filter(|row| row.copies.0 == 1)
            .filter_map(|row| Some((row.slice?, row.tokens.as_ref()?.0, row.runtime_s.0)))
        {
            let sum = done.entry(size).or_default();
            *sum = (sum.0 + tokens, sum.1 + seconds);
        }
        let throughput = done
            .into_iter()
            .map(|(size, (tokens, seconds))| (size, tokens / seconds))
            .collect();
        Ok(Self { runs, throughput })
    }
}
