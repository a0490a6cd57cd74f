//! Days of jobs with deadlines on MIG instances, as workloads.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use mapa_core::mig::Size;
use mapa_core::{Demand, Pattern, Request, Settings};
use mapa_sched::{Job, JobId, RunTime, Time};
use mapa_system_energy::{SIZES, SliceJob};

use crate::error::{Error, ErrorKind};
use crate::{Draw, PUBLISHED_SEEDS, published_day};
use mapa_sim::{GENERATOR, GeneratorRow};
use mapa_sim::{Submission, Workload};

/// The sizes of instances of an A100, H100 and the like for each of [`SIZES`]: compute and memory
/// slices.
const INSTANCES: [(u8, u8); 5] = [(1, 1), (2, 2), (3, 4), (4, 4), (7, 8)];

/// A generator of days of jobs with deadlines, `energy-day`: see [the days](crate). Each job
/// requests one device or instance of any size, and tells its run time on each.
///
/// # Examples
/// ```
/// use mapa_system_energy_sim::EnergyDay;
///
/// let morning: EnergyDay = "energy-day,from=540,jobs=300".parse()?;
/// let workload = morning.generate(1)?;
/// assert_eq!(workload.jobs.len(), 300);
/// // The first of the ten days that were published.
/// let published: EnergyDay = "energy-day,published=1".parse()?;
/// assert_eq!(published.generate(1)?.jobs.len(), 4150);
/// # Ok::<(), mapa_system_energy_sim::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct EnergyDay {
    /// How the day is drawn.
    pub draw: Draw,
    /// One of the published days, counted from 1, in place of a drawn one. No seed changes it.
    pub published: Option<usize>,
}

/// A drawn day with the published parameters.
impl Default for EnergyDay {
    fn default() -> Self {
        Self {
            draw: Draw::default(),
            published: None,
        }
    }
}

/// The generators that this system adds to those of `mapa-sim`.
pub const GENERATORS: [GeneratorRow; 1] = [GeneratorRow::new(
    EnergyDay::NAME,
    "a day of jobs with deadlines on MIG slices of any size",
    |words, seed| {
        let day = words.parse::<EnergyDay>();
        day.and_then(|day| day.generate(seed))
            .map_err(mapa_sim::Error::malformed)
    },
)];

const SETTINGS: [&str; 5] = [
    "rate=JOBS_A_MINUTE",
    "slack=LOW..HIGH",
    "from=MINUTE",
    "jobs=NUMBER",
    "published=DAY",
];

impl EnergyDay {
    /// The name of the generator.
    pub const NAME: &'static str = "energy-day";

    /// Whether words name this generator.
    #[must_use]
    pub fn is_named(words: &str) -> bool {
        words.split(',').next().map(str::trim) == Some(Self::NAME)
    }

    /// Draws the day of this seed.
    ///
    /// # Errors
    /// As [`Draw::jobs`].
    pub fn generate(&self, seed: u64) -> Result<Workload, Error> {
        let day = self.published.and_then(|day| day.checked_sub(1));
        let jobs = match day.and_then(|day| PUBLISHED_SEEDS.get(day)) {
            Some(&seed) => published_day(seed)?,
            None => self.draw.jobs(seed)?,
        };
        let source = match self.published {
            Some(_) => format!("generator {self}"),
            None => format!("generator {self}, seed {seed}, {GENERATOR}"),
        };
        Ok(slice_jobs(source, &jobs))
    }
}

/// Jobs of [the days](crate) as a workload: numbered by their positions, times rounded to
/// nanoseconds. A job's work is its run time on the largest size.
pub fn slice_jobs(source: impl Into<String>, jobs: &[SliceJob]) -> Workload {
    let pattern = Pattern::ring(1).each(Demand::any());
    let submissions = (0..).zip(jobs).map(|(id, slice_job)| {
        let mut job = Job::new(JobId(id), Request::new(pattern.clone()).sensitive(false));
        job.arrived = Time(nanoseconds(slice_job.arrives()));
        job.deadline = Some(Time(nanoseconds(slice_job.deadline())));
        let sizes = INSTANCES.map(|(compute, memory)| Size::new(compute, memory));
        let lengths = slice_job
            .minutes()
            .map(|minutes| Duration::from_nanos(nanoseconds(minutes).max(1)));
        let mut submission = Submission::new(job, lengths[SIZES.len() - 1]);
        submission.job.run_time = RunTime::BySize(sizes.into_iter().zip(lengths).collect());
        submission
    });
    Workload::new(source, submissions)
}

/// Minutes in nanoseconds, rounded.
fn nanoseconds(minutes: f64) -> u64 {
    // Casts from floats saturate.
    (minutes * 60e9).round() as u64
}

/// Parses `energy-day`, followed by settings.
impl FromStr for EnergyDay {
    type Err = Error;

    /// # Errors
    /// Another name, an unknown key or a malformed value. The message says what was expected.
    fn from_str(words: &str) -> Result<Self, Error> {
        read(words)
            .map_err(|what| Error::from(ErrorKind::BadDay(format!("generator `{words}`: {what}"))))
    }
}

fn read(words: &str) -> Result<EnergyDay, String> {
    if !EnergyDay::is_named(words) {
        return Err(format!("expected {}", EnergyDay::NAME));
    }
    let keys = SETTINGS.map(|form| form.split('=').next().unwrap_or_default());
    let known = |word: &str| keys.into_iter().find(|key| *key == word);
    let settings = Settings::read(words.split(',').skip(1), &SETTINGS.join(", "), known);
    let mut energy_day = EnergyDay::default();
    let settings = settings.map_err(|error| error.to_string())?;
    for (&key, setting) in settings.iter() {
        let value = setting.value();
        let told = energy_day.set(key, value);
        told.map_err(|expected| format!("{key}={value}: expected {expected}"))?;
    }
    if energy_day.published.is_some() && settings.iter().len() > 1 {
        return Err(
            "published=DAY: expected no other setting, as the day is what it is".to_owned(),
        );
    }
    Ok(energy_day)
}

impl EnergyDay {
    /// Sets one property. The error is what was expected.
    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let number = |text: &str| text.parse().ok().filter(|value: &f64| value.is_finite());
        match key {
            "rate" => {
                let rate = number(value).filter(|&value| value > 0.0);
                self.draw.per_minute = rate.ok_or("jobs a minute above 0")?;
            }
            "slack" => {
                let ends = value.split_once("..");
                let ends = ends.and_then(|(low, high)| Some([number(low)?, number(high)?]));
                let ends = ends.filter(|[low, high]| 1.0 <= *low && low <= high);
                self.draw.slack = ends.ok_or("two numbers of 1 or more, such as 2..4")?;
            }
            "from" => {
                let from = number(value).filter(|value| (0.0..1440.0).contains(value));
                self.draw.from = from.ok_or("a minute of the day, from 0 to below 1440")?;
            }
            "jobs" => {
                let most = value.parse().ok().filter(|&number| number > 0);
                self.draw.most = most.ok_or("a number of jobs of 1 or more")?;
            }
            // `published`: there is no other key.
            _ => {
                let days = 1..=PUBLISHED_SEEDS.len();
                let day = value.parse().ok().filter(|number| days.contains(number));
                let day = day.ok_or_else(|| format!("a day from 1 to {}", days.end()))?;
                self.published = Some(day);
            }
        }
        Ok(())
    }
}

/// Writes words that can be read back.
impl fmt::Display for EnergyDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::NAME)?;
        if let Some(day) = self.published {
            return write!(f, ",published={day}");
        }
        let (own, usual) = (self.draw, Draw::default());
        if own.per_minute != usual.per_minute {
            write!(f, ",rate={}", own.per_minute)?;
        }
        if own.slack != usual.slack {
            write!(f, ",slack={}..{}", own.slack[0], own.slack[1])?;
        }
        if own.from != usual.from {
            write!(f, ",from={}", own.from)?;
        }
        if own.most != usual.most {
            write!(f, ",jobs={}", own.most)?;
        }
        Ok(())
    }
}
