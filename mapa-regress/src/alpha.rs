//! How a job is slowed down by others on its PCIe link: the slope of Eq. 1 of Tang et al., fitted to measured runs.
//!
//! n copies of a job run side by side on one GPU, each with the n-th part of its link. Where these parts are smaller than what a copy
//! wants, its time over that of one copy alone is α x, x = n x demand / capacity: a line through the origin. Where they suffice it is
//! 1, whatever n. So only points beyond the knee, n = capacity / (α x demand), belong to the line; those below it would bend it towards 1.

use std::collections::{BTreeMap, BTreeSet};

use csv::{ReaderBuilder, Trim};
use mapa_core::mig::Size;
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::error::{Error, ErrorKind};

/// Runs of one job: how many copies ran side by side, and how long one of them took, s. Repetitions are runs of their own.
pub type Runs = Vec<(u32, f64)>;

/// What was measured of one job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeasuredJob {
    /// The runs on the one size of slice on which copies ran side by side; all of them, if none or no sizes are told.
    pub runs: Runs,
    /// Tokens (or whatever was counted) a second of a copy alone, by size of slice: all its tokens over all its time there.
    pub throughput: BTreeMap<Size, f64>,
}

/// What is known of the job and its link, and which points count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AlphaConfig {
    /// What a copy alone sends, decimal GB/s.
    pub demand_gbps: f64,
    /// What the link carries in all, decimal GB/s.
    pub max_gbps: f64,
    /// Runs of so many copies and more belong to the line. Default: those of all numbers of copies whose mean slowdown is above
    /// [`SLOWED`](Self::SLOWED).
    pub from_copies: Option<u32>,
}

impl AlphaConfig {
    /// A slowdown above which a link is taken to be short, by default: what is measured of copies that do not disturb each other
    /// differs by less.
    pub const SLOWED: f64 = 1.05;

    /// A job that sends so much alone over a link of so much, GB/s.
    #[must_use]
    pub fn new(demand_gbps: f64, max_gbps: f64) -> Self {
        Self { demand_gbps, max_gbps, from_copies: None }
    }
}

/// The runs of one number of copies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AlphaPoint {
    /// How many ran side by side.
    pub copies: u32,
    /// How many runs there are.
    pub runs: usize,
    /// Their mean time over that of one copy alone.
    pub slowdown: f64,
    /// What Eq. 2 makes of the slope: the line, or 1.
    pub predicted: f64,
    /// Whether the slope is fitted to it.
    pub on_line: bool,
}

/// The slope of a job, and how far it can be trusted.
#[derive(Clone, Debug, PartialEq)]
pub struct Alpha {
    /// The slope.
    pub alpha: f64,
    /// The lower bound of its 95 % confidence interval; NaN where there are too few runs for any, or runs of one copy are on the line.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
    /// So many copies the link serves before any is slowed down, as a fraction: the knee.
    pub knee: f64,
    /// The mean time of a copy alone, s.
    pub base_s: f64,
    /// By number of copies.
    pub points: Vec<AlphaPoint>,
}

/// The least-squares slope through the origin of slowdown over n x demand / capacity, over the runs beyond the knee; each repetition is
/// a point.
///
/// Its 95 % interval is by Student's t, with the errors of both: of the runs beyond the knee about the line, and of those of a copy alone,
/// by whose mean all others are divided. It takes runs for independent, and their errors for normal and alike. O(n log n) for n runs.
///
/// ```
/// use mapa_regress::{AlphaConfig, fit_alpha};
///
/// // A job that wants 18.89 GB/s of 30.08: two copies take 1.256 times as long, three 1.884 times.
/// let runs = vec![(1, 100.0), (2, 125.7), (2, 125.5), (3, 188.2), (3, 188.6)];
/// let fit = fit_alpha(&runs, &AlphaConfig::new(17.65, 30.08))?;
/// assert!((fit.alpha - 1.07).abs() < 1e-3 && fit.low < 1.07 && 1.07 < fit.high);
/// assert!((fit.knee - 1.59).abs() < 0.01);
/// # Ok::<(), mapa_regress::Error>(())
/// ```
///
/// # Errors
/// Times, a demand or a capacity that are no positive numbers; no copies; no run of one copy alone; none beyond the knee.
pub fn fit_alpha(runs: &[(u32, f64)], config: &AlphaConfig) -> Result<Alpha, Error> {
    let bad = |what: String| Err(ErrorKind::BadConfig(what).into());
    for (name, value) in [("demand", config.demand_gbps), ("capacity", config.max_gbps)] {
        if !(value.is_finite() && value > 0.0) {
            return bad(format!("a {name} of {value} GB/s: expected a positive number"));
        }
    }
    let mut by_copies: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for &(copies, seconds) in runs {
        if copies == 0 || !(seconds.is_finite() && seconds > 0.0) {
            return bad(format!("{copies} copies in {seconds} s: expected at least one, and a positive number"));
        }
        by_copies.entry(copies).or_default().push(seconds);
    }
    let Some(alone) = by_copies.get(&1) else {
        return bad("no run of one copy: expected at least one, by which the others are divided".to_owned());
    };
    let base_s = mean(alone);
    let slowdown = |seconds: &[f64]| mean(seconds) / base_s;
    let is_on_line = |(&copies, seconds): (&u32, &Vec<f64>)| match config.from_copies {
        Some(from) => copies >= from,
        None => copies > 1 && slowdown(seconds) > AlphaConfig::SLOWED,
    };
    let x = |copies: u32| f64::from(copies) * config.demand_gbps / config.max_gbps;
    let line = by_copies.iter().filter(|own| is_on_line(*own));
    let line: Vec<(f64, f64)> = line.flat_map(|(&n, times)| times.iter().map(move |s| (x(n), s / base_s))).collect();
    if line.is_empty() {
        let most = by_copies.keys().next_back().copied().unwrap_or(1);
        return bad(match config.from_copies {
            Some(from) => format!("no run of {from} copies or more, the most are {most}: expected some"),
            None => format!("the link was never short with up to {most} copies: expected runs of more"),
        });
    }
    let sum = |of: fn(&(f64, f64)) -> f64| line.iter().map(of).sum::<f64>();
    let squares = sum(|(x, _)| x * x);
    let alpha = sum(|(x, y)| x * y) / squares;
    // The error of a run in units of the base, from all runs whose mean is estimated.
    let about_line = line.iter().map(|(x, y)| (y - alpha * x).powi(2)).sum::<f64>();
    let about_base = alone.iter().map(|s| (s / base_s - 1.0).powi(2)).sum::<f64>();
    let freedom = (line.len() - 1 + alone.len() - 1) as f64;
    let variance = (about_line + about_base) / freedom * (1.0 / squares + alpha * alpha / alone.len() as f64);
    // Runs alone that are on the line would be counted twice.
    let apart = config.from_copies.is_none_or(|from| from > 1);
    let t = StudentsT::new(0.0, 1.0, freedom).ok().filter(|_| apart);
    let half = t.map_or(f64::NAN, |t| t.inverse_cdf(0.975) * variance.sqrt());
    let predicted = |copies: u32| (alpha * x(copies)).max(1.0);
    let point = |(&copies, seconds): (&u32, &Vec<f64>)| AlphaPoint {
        copies,
        runs: seconds.len(),
        slowdown: slowdown(seconds),
        predicted: predicted(copies),
        on_line: is_on_line((&copies, seconds)),
    };
    let points = by_copies.iter().map(point).collect();
    let knee = config.max_gbps / (alpha * config.demand_gbps);
    Ok(Alpha { alpha, low: alpha - half, high: alpha + half, knee, base_s, points })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Reads a table of measured runs with the columns `job`, `copies` and `runtime_s`, and if they were measured `slice` (the size, such as
/// `1g.1m`) and `tokens` (what the run did of whatever is counted), in any order; lines that begin with `#` are comments. Several rows
/// of one job, size and number of copies are repetitions. By job, rows in their order. O(n log n).
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
/// Columns that are missing, unknown or there twice; a table without rows; a job whose copies ran side by side on several sizes; and
/// the line of: too few or too many fields, no name, a number of copies that is not from 1 to 1,000,000, a time or tokens that are no
/// positive number, what is no size, tokens without a size.
pub fn read_runs(text: &str) -> Result<BTreeMap<String, MeasuredJob>, Error> {
    const COLUMNS: [&str; 5] = ["job", "copies", "runtime_s", "slice", "tokens"];
    const NEEDED: usize = 3;
    let refused = |line: Option<usize>, what: String| Error::from(ErrorKind::BadFile { line, what });
    let malformed = |error: csv::Error| refused(error.position().map(|at| at.line() as usize), error.to_string());
    let mut reader =
        ReaderBuilder::new().flexible(true).trim(Trim::All).comment(Some(b'#')).from_reader(text.as_bytes());
    let header: Vec<String> = reader.headers().map_err(malformed)?.iter().map(str::to_ascii_lowercase).collect();
    let mut places = [None; COLUMNS.len()];
    for (i, (place, name)) in places.iter_mut().zip(COLUMNS).enumerate() {
        let found: Vec<usize> = (0..header.len()).filter(|&i| header[i] == name).collect();
        *place = match found[..] {
            [only] => Some(only),
            [] if i >= NEEDED => None,
            _ => return Err(refused(None, format!("{} columns `{name}`: expected one", found.len()))),
        };
    }
    if let Some(strange) = header.iter().find(|name| !COLUMNS.contains(&name.as_str())) {
        return Err(refused(None, format!("column `{strange}`: expected {}", COLUMNS.join(", "))));
    }
    let mut jobs: BTreeMap<String, Vec<Measured>> = BTreeMap::new();
    for record in reader.records() {
        let record = record.map_err(malformed)?;
        let line = record.position().map(|at| at.line() as usize);
        let wrong = |what: String| refused(line, what);
        if record.len() != header.len() {
            return Err(wrong(format!("{} fields: expected {}", record.len(), header.len())));
        }
        let [job, copies, seconds, slice, tokens] = places.map(|at| at.and_then(|at| record.get(at)).unwrap_or(""));
        if job.is_empty() {
            return Err(wrong("no job: expected its name".to_owned()));
        }
        let count = copies.parse().ok().filter(|copies| (1..=1_000_000).contains(copies));
        let positive = |text: &str| text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
        let told = |text: &str| !text.is_empty();
        let measured = Measured {
            copies: count
                .ok_or_else(|| wrong(format!("copies `{copies}`: expected a whole number from 1 to 1000000")))?,
            seconds: positive(seconds)
                .ok_or_else(|| wrong(format!("runtime_s `{seconds}`: expected a positive number of seconds")))?,
            slice: told(slice)
                .then(|| slice.parse())
                .transpose()
                .map_err(|error: mapa_core::Error| wrong(error.to_string()))?,
            tokens: told(tokens)
                .then(|| {
                    positive(tokens).ok_or_else(|| wrong(format!("tokens `{tokens}`: expected a positive number")))
                })
                .transpose()?,
        };
        if measured.tokens.is_some() && measured.slice.is_none() {
            return Err(wrong("tokens without a slice: expected its size".to_owned()));
        }
        jobs.entry(job.to_owned()).or_default().push(measured);
    }
    if jobs.is_empty() {
        return Err(refused(None, "a table without rows: expected runs".to_owned()));
    }
    let job = |(name, rows): (String, Vec<Measured>)| {
        let job = MeasuredJob::of(&rows).map_err(|what| refused(None, format!("job `{name}`: {what}")))?;
        Ok((name, job))
    };
    jobs.into_iter().map(job).collect()
}

/// A row.
struct Measured {
    copies: u32,
    seconds: f64,
    slice: Option<Size>,
    tokens: Option<f64>,
}

impl MeasuredJob {
    fn of(rows: &[Measured]) -> Result<Self, String> {
        let beside: BTreeSet<Option<Size>> = rows.iter().filter(|row| row.copies > 1).map(|row| row.slice).collect();
        if beside.len() > 1 {
            let sizes: Vec<String> =
                beside.iter().map(|size| size.map_or("no size".to_owned(), |size| size.to_string())).collect();
            return Err(format!("copies side by side on {}: expected one size", sizes.join(", ")));
        }
        let on = |row: &&Measured| beside.first().is_none_or(|slice| row.slice == *slice);
        let runs = rows.iter().filter(on).map(|row| (row.copies, row.seconds)).collect();
        let mut done: BTreeMap<Size, (f64, f64)> = BTreeMap::new();
        for (size, tokens, seconds) in
            rows.iter().filter(|row| row.copies == 1).filter_map(|row| Some((row.slice?, row.tokens?, row.seconds)))
        {
            let sum = done.entry(size).or_default();
            *sum = (sum.0 + tokens, sum.1 + seconds);
        }
        let throughput = done.into_iter().map(|(size, (tokens, seconds))| (size, tokens / seconds)).collect();
        Ok(Self { runs, throughput })
    }
}
