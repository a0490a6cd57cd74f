//! Generators as words: `mapa,jobs=1000,arrivals=poisson:120/h`.
//!
//! The first word names a built-in generator; each `KEY=VALUE` replaces one of its settings.
//! `Display` begins with the name that needs the fewest settings.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use mapa_core::{Settings, Shape};

use super::{Arrivals, Generator, RunTimes, Sizes, Task};
use crate::error::Error;
use crate::workload::file_errors::bad_workload;
use crate::workload::{numbers, patterns, tasks};

/// A built-in generator: its name, one line on what it draws, and its constructor.
type NamedGenerator = (&'static str, &'static str, fn() -> Generator);

const NAMES: [NamedGenerator; 3] = [
    (
        "mapa",
        "the paper's mix: 300 rings of 1 to 5 devices over its nine workloads",
        Generator::mapa,
    ),
    (
        "mapa-six",
        "as mapa, over its six networks",
        Generator::mapa_six,
    ),
    (
        "mapa-released",
        "as the released generator draws them: six networks, 2 to 5 devices",
        Generator::mapa_released,
    ),
];

/// The settings, and the form of their values.
const SETTINGS: [&str; 6] = [
    "jobs=NUMBER",
    "sizes=SIZES",
    "tasks=TASKS",
    "times=TIMES",
    "arrivals=ARRIVALS",
    "pattern=PATTERNS",
];

/// The key of a setting, if the word is a known one.
fn key(word: &str) -> Option<&'static str> {
    SETTINGS
        .iter()
        .filter_map(|form| form.split('=').next())
        .find(|key| *key == word)
}

impl Generator {
    /// The names with which words of generators begin.
    #[must_use]
    pub fn names() -> [&'static str; 3] {
        NAMES.map(|(name, ..)| name)
    }

    /// The names, each with one line on what the generator draws.
    #[must_use]
    pub fn summaries() -> [(&'static str, &'static str); 3] {
        NAMES.map(|(name, summary, _)| (name, summary))
    }
}

/// Parses the words that `docs/workloads.md` describes.
impl FromStr for Generator {
    type Err = Error;

    /// # Errors
    /// The name or a key is unknown, or a value is malformed. The message says what was expected.
    fn from_str(words: &str) -> Result<Self, Error> {
        read(words).map_err(|what| bad_workload(format_args!("generator `{words}`: {what}")))
    }
}

fn read(words: &str) -> Result<Generator, String> {
    let mut parts = words.split(',');
    let name = parts.next().unwrap_or_default().trim();
    let Some((.., make)) = NAMES.iter().find(|(candidate, ..)| *candidate == name) else {
        let known = NAMES.map(|(name, ..)| name).join(", ");
        return Err(format!("no generator is called `{name}`: expected {known}"));
    };
    let settings = Settings::read(parts, &SETTINGS.join(", "), key);
    let mut generator = make();
    for (key, setting) in settings.map_err(|error| error.to_string())?.iter() {
        generator
            .set(key, setting.value())
            .map_err(|what| format!("{key}={}: {what}", setting.value()))?;
    }
    Ok(generator)
}

impl Generator {
    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "jobs" => self.jobs = number(value)?,
            "sizes" => self.sizes = sizes(value)?,
            "tasks" => self.tasks = value.split('+').map(task).collect::<Result<_, _>>()?,
            "times" => self.run_times = run_times(value)?,
            "arrivals" => self.arrivals = arrivals(value)?,
            // `pattern`: there is no other key.
            _ => self.patterns = value.split('+').map(pattern).collect::<Result<_, _>>()?,
        }
        Ok(())
    }
}

/// `SHAPE` or `SHAPE:WEIGHT`.
fn pattern(part: &str) -> Result<(Option<Shape>, f64), String> {
    let (word, weight) = weighted(part)?;
    Ok((patterns::shape(word)?, weight))
}

fn number<T: FromStr>(text: &str) -> Result<T, String> {
    text.trim()
        .parse()
        .map_err(|_| format!("`{text}`: expected a whole number"))
}

fn positive(text: &str) -> Result<f64, String> {
    let value = text
        .trim()
        .parse()
        .ok()
        .filter(|value: &f64| value.is_finite() && *value > 0.0);
    value.ok_or_else(|| format!("`{text}`: expected a number above 0"))
}

/// Reads seconds, with or without the unit `s`.
fn seconds(text: &str) -> Result<f64, String> {
    positive(text.strip_suffix('s').unwrap_or(text))
}

/// `WHAT` or `WHAT:WEIGHT`.
fn weighted(part: &str) -> Result<(&str, f64), String> {
    let (what, weight) = part
        .split_once(':')
        .map_or((part, None), |(what, weight)| (what, Some(weight)));
    let weight = weight.map_or(Ok(1.0), |text| {
        let weight = text
            .parse()
            .ok()
            .filter(|weight: &f64| weight.is_finite() && *weight >= 0.0);
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
    let size =
        |part| weighted(part).and_then(|(size, weight)| Ok((numbers::devices(size)?, weight)));
    let sizes: Vec<_> = value.split('+').map(size).collect::<Result<_, String>>()?;
    match sizes[..] {
        [(size, 1.0)] => Ok(Sizes::Uniform(size..=size)),
        _ => Ok(Sizes::Weighted(sizes)),
    }
}

/// Reads a task. It is sensitive if the paper says so, and not otherwise; `!` reverses that.
fn task(part: &str) -> Result<Task, String> {
    let (name, weight) = weighted(part)?;
    let (name, is_turned) = name
        .strip_suffix('!')
        .map_or((name, false), |name| (name, true));
    let name = tasks::published(name);
    let sensitive = tasks::is_sensitive(name).unwrap_or(false) != is_turned;
    Ok(Task {
        weight,
        ..Task::new(name, sensitive)
    })
}

fn run_times(value: &str) -> Result<RunTimes, String> {
    let expected =
        || format!("`{value}`: expected such as 5..24s, exponential:60s or lognormal:60s:1.5");
    if let Some(range) = range(value.strip_suffix('s').unwrap_or(value)) {
        return range.map(RunTimes::Uniform);
    }
    let (kind, rest) = value.split_once(':').ok_or_else(expected)?;
    match kind {
        "exponential" => Ok(RunTimes::Exponential {
            mean_s: seconds(rest)?,
        }),
        "lognormal" => {
            let (median, sigma) = rest.split_once(':').ok_or_else(expected)?;
            Ok(RunTimes::LogNormal {
                median_s: seconds(median)?,
                sigma: positive(sigma)?,
            })
        }
        _ => Err(expected()),
    }
}

fn arrivals(value: &str) -> Result<Arrivals, String> {
    let expected = || {
        format!(
            "`{value}`: expected at-once, poisson:120/h, load:0.8@8 (of 8 devices), bursts:10@60s, \
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
        ("poisson", [rate]) => Ok(Arrivals::Poisson {
            per_hour: per_hour(rate)?,
        }),
        ("load", [load, devices]) => Ok(Arrivals::Load {
            load: positive(load)?,
            devices: number(devices)?,
        }),
        ("bursts", [jobs, gap]) => Ok(Arrivals::Bursts {
            jobs: number(jobs)?,
            gap_s: seconds(gap)?,
        }),
        ("on-off", [rate, on, off]) => Ok(Arrivals::OnOff {
            per_hour: per_hour(rate)?,
            on_s: seconds(on)?,
            off_s: seconds(off)?,
        }),
        ("spread", [gap]) => Ok(Arrivals::Spread {
            seconds_per_job: seconds(gap)?,
        }),
        _ => Err(expected()),
    }
}

/// Writes words that can be read back, except for run times from a file (`times=empirical(n)`) and
/// tasks whose names contain `,`, `+`, `:` or `!`.
impl fmt::Display for Generator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words =
            NAMES.map(|(name, _, make)| [vec![name.to_owned()], self.beside(&make())].concat());
        let shortest = words.iter().min_by_key(|words| words.len());
        f.write_str(&shortest.map(|words| words.join(",")).unwrap_or_default())
    }
}

impl Generator {
    /// The settings that differ from those of `other`, as words.
    fn beside(&self, other: &Self) -> Vec<String> {
        let patterns = || {
            self.patterns
                .iter()
                .map(|(shape, weight)| format!("{}{}", patterns::word(*shape), suffix(*weight)))
        };
        [
            (self.jobs != other.jobs).then(|| format!("jobs={}", self.jobs)),
            (self.sizes != other.sizes).then(|| format!("sizes={}", self.sizes)),
            (self.tasks != other.tasks)
                .then(|| format!("tasks={}", joined(self.tasks.iter().map(Task::to_string)))),
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
    if weight == 1.0 {
        String::new()
    } else {
        format!(":{weight}")
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_turned = tasks::is_sensitive(&self.name).unwrap_or(false) != self.sensitive;
        write!(
            f,
            "{}{}{}",
            self.name,
            if is_turned { "!" } else { "" },
            suffix(self.weight)
        )
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform(range) if range.start() == range.end() => range.start().fmt(f),
            Self::Uniform(range) => write!(f, "{}..{}", range.start(), range.end()),
            Self::Weighted(sizes) => f.write_str(&joined(
                sizes
                    .iter()
                    .map(|(size, weight)| format!("{size}:{weight}")),
            )),
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
            Self::OnOff {
                per_hour,
                on_s,
                off_s,
            } => write!(f, "on-off:{per_hour}/h@{on_s}s@{off_s}s"),
            Self::Spread { seconds_per_job } => write!(f, "spread:{seconds_per_job}s"),
        }
    }
}
