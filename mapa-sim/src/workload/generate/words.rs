//! Generators as words: `mapa,jobs=1000,arrivals=poisson:120/h`.
//!
//! A name says what to begin with, `KEY=VALUE` what is different. Display begins with the name that leaves least to say.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use super::{Arrivals, Generator, RunTimes, Sizes, Task};
use crate::error::Error;
use crate::workload::{bad_workload, numbers, patterns, tasks};

const NAMES: [(&str, fn() -> Generator); 3] =
    [("mapa", Generator::mapa), ("mapa-six", Generator::mapa_six), ("mapa-released", Generator::mapa_released)];

const KEYS: [&str; 6] = ["jobs", "sizes", "tasks", "times", "arrivals", "pattern"];

/// The words, see `docs/job-files.md`.
impl FromStr for Generator {
    type Err = Error;

    /// # Errors
    /// An unknown name or key, or a value that is not as expected; the message says what is.
    fn from_str(words: &str) -> Result<Self, Error> {
        let wrong = |what: &str| bad_workload(format_args!("generator `{words}`: {what}"));
        let mut parts = words.split(',').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let known = || NAMES.map(|(name, _)| name).join(", ");
        let found = NAMES.iter().find(|(own, _)| *own == name);
        let (_, make) =
            found.ok_or_else(|| wrong(&format!("no generator is called `{name}`: expected {}", known())))?;
        let mut generator = make();
        let mut said = Vec::new();
        for part in parts {
            let (key, value) = part
                .split_once('=')
                .ok_or_else(|| wrong(&format!("`{part}`: expected KEY=VALUE with a key of {}", KEYS.join(", "))))?;
            if said.contains(&key) {
                return Err(wrong(&format!("{key} is said twice: expected once")));
            }
            generator.set(key, value).map_err(|what| wrong(&format!("{key}={value}: {what}")))?;
            said.push(key);
        }
        Ok(generator)
    }
}

impl Generator {
    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "jobs" => self.jobs = number(value)?,
            "sizes" => self.sizes = sizes(value)?,
            "tasks" => self.tasks = value.split('+').map(task).collect::<Result<_, _>>()?,
            "times" => self.run_times = run_times(value)?,
            "arrivals" => self.arrivals = arrivals(value)?,
            "pattern" => {
                let pattern = |(word, weight)| Ok((patterns::shape(word)?, weight));
                self.patterns =
                    value.split('+').map(|part| weighted(part).and_then(pattern)).collect::<Result<_, _>>()?;
            }
            _ => return Err(format!("expected a key of {}", KEYS.join(", "))),
        }
        Ok(())
    }
}

fn number<T: FromStr>(text: &str) -> Result<T, String> {
    text.trim().parse().map_err(|_| format!("`{text}`: expected a whole number"))
}

fn positive(text: &str) -> Result<f64, String> {
    let value = text.trim().parse().ok().filter(|value: &f64| value.is_finite() && *value > 0.0);
    value.ok_or_else(|| format!("`{text}`: expected a number above 0"))
}

/// Seconds; the unit may be said.
fn seconds(text: &str) -> Result<f64, String> {
    positive(text.strip_suffix('s').unwrap_or(text))
}

/// `WHAT` or `WHAT:WEIGHT`.
fn weighted(part: &str) -> Result<(&str, f64), String> {
    let (what, weight) = part.split_once(':').map_or((part, None), |(what, weight)| (what, Some(weight)));
    let weight = weight.map_or(Ok(1.0), |text| {
        let weight = text.parse().ok().filter(|weight: &f64| weight.is_finite() && *weight >= 0.0);
        weight.ok_or_else(|| format!("`{text}`: expected a weight, at least 0"))
    });
    Ok((what.trim(), weight?))
}

/// `LOW..HIGH`, both included.
fn range<T: FromStr>(text: &str) -> Option<Result<RangeInclusive<T>, String>> {
    let (low, high) = text.split_once("..")?;
    let high = high.strip_prefix('=').unwrap_or(high);
    Some(number(low).and_then(|low| Ok(low..=number(high)?)))
}

fn sizes(value: &str) -> Result<Sizes, String> {
    if let Some(range) = range(value) {
        return range.map(Sizes::Uniform);
    }
    let size = |part| weighted(part).and_then(|(size, weight)| Ok((numbers::devices(size)?, weight)));
    let sizes: Vec<_> = value.split('+').map(size).collect::<Result<_, String>>()?;
    match sizes[..] {
        [(size, 1.0)] => Ok(Sizes::Uniform(size..=size)),
        _ => Ok(Sizes::Weighted(sizes)),
    }
}

/// Sensitive as the paper has it, else not; `!` turns that round.
fn task(part: &str) -> Result<Task, String> {
    let (name, weight) = weighted(part)?;
    let (name, is_turned) = name.strip_suffix('!').map_or((name, false), |name| (name, true));
    let name = tasks::published(name);
    let sensitive = tasks::is_sensitive(name).unwrap_or(false) != is_turned;
    Ok(Task { weight, ..Task::new(name, sensitive) })
}

fn run_times(value: &str) -> Result<RunTimes, String> {
    let expected = || format!("`{value}`: expected such as 5..24s, exponential:60s or lognormal:60s:1.5");
    if let Some(range) = range(value.strip_suffix('s').unwrap_or(value)) {
        return range.map(RunTimes::Uniform);
    }
    let (kind, rest) = value.split_once(':').ok_or_else(expected)?;
    match kind {
        "exponential" => Ok(RunTimes::Exponential { mean_s: seconds(rest)? }),
        "lognormal" => {
            let (median, sigma) = rest.split_once(':').ok_or_else(expected)?;
            Ok(RunTimes::LogNormal { median_s: seconds(median)?, sigma: positive(sigma)? })
        }
        _ => Err(expected()),
    }
}

fn arrivals(value: &str) -> Result<Arrivals, String> {
    let expected = || {
        format!(
            "`{value}`: expected at-once, poisson:120/h, load:0.8@8 (of so many devices), bursts:10@60s, \
             on-off:120/h@600s@1800s or spread:14.5s"
        )
    };
    if value == "at-once" {
        return Ok(Arrivals::AtOnce);
    }
    let (kind, rest) = value.split_once(':').ok_or_else(expected)?;
    let parts: Vec<&str> = rest.split('@').collect();
    let per_hour = |text: &str| positive(text.strip_suffix("/h").ok_or_else(expected)?);
    match (kind, &parts[..]) {
        ("poisson", [rate]) => Ok(Arrivals::Poisson { per_hour: per_hour(rate)? }),
        ("load", [load, devices]) => Ok(Arrivals::Load { load: positive(load)?, devices: number(devices)? }),
        ("bursts", [jobs, gap]) => Ok(Arrivals::Bursts { jobs: number(jobs)?, gap_s: seconds(gap)? }),
        ("on-off", [rate, on, off]) => {
            Ok(Arrivals::OnOff { per_hour: per_hour(rate)?, on_s: seconds(on)?, off_s: seconds(off)? })
        }
        ("spread", [gap]) => Ok(Arrivals::Spread { seconds_per_job: seconds(gap)? }),
        _ => Err(expected()),
    }
}

/// The words that are read back, save run times from a file (`times=empirical(n)`), and tasks whose names hold `,`, `+`, `:` or `!`.
impl fmt::Display for Generator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = NAMES.map(|(name, make)| [vec![name.to_owned()], self.beside(&make())].concat());
        let shortest = words.iter().min_by_key(|words| words.len());
        f.write_str(&shortest.map(|words| words.join(",")).unwrap_or_default())
    }
}

impl Generator {
    /// What is different.
    fn beside(&self, other: &Self) -> Vec<String> {
        let patterns =
            || self.patterns.iter().map(|(shape, weight)| format!("{}{}", patterns::word(*shape), suffix(*weight)));
        [
            (self.jobs != other.jobs).then(|| format!("jobs={}", self.jobs)),
            (self.sizes != other.sizes).then(|| format!("sizes={}", self.sizes)),
            (self.tasks != other.tasks).then(|| format!("tasks={}", joined(self.tasks.iter().map(Task::to_string)))),
            (self.run_times != other.run_times).then(|| format!("times={}", self.run_times)),
            (self.arrivals != other.arrivals).then(|| format!("arrivals={}", self.arrivals)),
            (self.patterns != other.patterns).then(|| format!("pattern={}", joined(patterns()))),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

fn joined(words: impl Iterator<Item = String>) -> String {
    words.collect::<Vec<_>>().join("+")
}

fn suffix(weight: f64) -> String {
    if weight == 1.0 { String::new() } else { format!(":{weight}") }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_turned = tasks::is_sensitive(&self.name).unwrap_or(false) != self.sensitive;
        write!(f, "{}{}{}", self.name, if is_turned { "!" } else { "" }, suffix(self.weight))
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform(range) if range.start() == range.end() => range.start().fmt(f),
            Self::Uniform(range) => write!(f, "{}..{}", range.start(), range.end()),
            Self::Weighted(sizes) => {
                f.write_str(&joined(sizes.iter().map(|(size, weight)| format!("{size}:{weight}"))))
            }
        }
    }
}

impl fmt::Display for RunTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform(range) => write!(f, "{}..{}s", range.start(), range.end()),
            Self::Exponential { mean_s } => write!(f, "exponential:{mean_s}s"),
            Self::LogNormal { median_s, sigma } => write!(f, "lognormal:{median_s}s:{sigma}"),
            Self::Empirical(times) => write!(f, "empirical({})", times.len()),
        }
    }
}

impl fmt::Display for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtOnce => f.write_str("at-once"),
            Self::Poisson { per_hour } => write!(f, "poisson:{per_hour}/h"),
            Self::Load { load, devices } => write!(f, "load:{load}@{devices}"),
            Self::Bursts { jobs, gap_s } => write!(f, "bursts:{jobs}@{gap_s}s"),
            Self::OnOff { per_hour, on_s, off_s } => write!(f, "on-off:{per_hour}/h@{on_s}s@{off_s}s"),
            Self::Spread { seconds_per_job } => write!(f, "spread:{seconds_per_job}s"),
        }
    }
}
