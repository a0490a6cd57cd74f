//! When jobs arrive.

use std::time::Duration;

use mapa_sched::Time;
use rand::RngExt;
use rand_distr::{Distribution, Exp};
use rand_pcg::Pcg64;

use super::run_times::{duration, positive};

/// When jobs arrive. Gaps are drawn in seconds; each is rounded to a nanosecond.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Arrivals {
    /// All at the beginning.
    AtOnce,
    /// One at a time with exponential gaps: a Poisson process. The first arrives after a gap.
    Poisson {
        /// Jobs an hour, on average.
        per_hour: f64,
    },
    /// A Poisson process with the rate load · devices / (mean size · mean run time). At a load of 1
    /// the jobs keep this many devices in use on average, if they run at full speed.
    Load {
        /// The mean share of the devices that is in use.
        load: f64,
        /// How many devices.
        devices: usize,
    },
    /// Several jobs at one moment, then an exponential gap. The first burst is at the beginning.
    Bursts {
        /// How many at once.
        jobs: usize,
        /// The mean gap, s.
        gap_s: f64,
    },
    /// A Poisson process that is on and off in turn, each for an exponential time. It begins on.
    OnOff {
        /// Jobs an hour while it is on, on average.
        per_hour: f64,
        /// For how long it is on, on average, s.
        on_s: f64,
        /// For how long it is off, on average, s.
        off_s: f64,
    },
    /// Arrivals as the released generator writes them: whole seconds below `seconds_per_job` times
    /// the number of jobs, drawn uniformly and sorted.
    Spread {
        /// Seconds a job.
        seconds_per_job: f64,
    },
}

impl Arrivals {
    /// Draws the arrivals of this many jobs, in order. `work` is the mean size of a job times its
    /// mean run time, in device-seconds.
    pub(super) fn draw(
        &self,
        jobs: usize,
        work: f64,
        stream: &mut Pcg64,
    ) -> Result<Vec<Time>, String> {
        match self {
            Self::AtOnce => Ok(vec![Time::ZERO; jobs]),
            Self::Poisson { per_hour } => {
                poisson(jobs, positive("a rate of", *per_hour)? / 3600.0, stream)
            }
            Self::Load { load, devices } => {
                let work = positive("jobs of a mean of devices times seconds of", work)?;
                let (load, devices) = (
                    positive("a load of", *load)?,
                    positive("devices of", *devices as f64)?,
                );
                poisson(jobs, load * devices / work, stream)
            }
            Self::Bursts {
                jobs: together,
                gap_s,
            } => bursts(jobs, *together, *gap_s, stream),
            Self::OnOff {
                per_hour,
                on_s,
                off_s,
            } => {
                let rate = positive("a rate of", *per_hour)? / 3600.0;
                on_off(
                    jobs,
                    rate,
                    [
                        exponential("on for", *on_s)?,
                        exponential("off for", *off_s)?,
                    ],
                    stream,
                )
            }
            Self::Spread { seconds_per_job } => spread(jobs, *seconds_per_job, stream),
        }
    }
}

fn exponential(what: &str, mean: f64) -> Result<Exp<f64>, String> {
    Exp::new(1.0 / positive(what, mean)?).map_err(|error| error.to_string())
}

/// The moment after a gap, unless that is beyond 584 years.
fn after(now: Time, gap: Duration) -> Result<Time, String> {
    let gap = u64::try_from(gap.as_nanos()).ok();
    let later = gap.and_then(|gap| now.0.checked_add(gap)).map(Time);
    later.ok_or_else(|| {
        "arrivals would go on for more than 584 years: expected fewer jobs, or shorter gaps"
            .to_owned()
    })
}

fn poisson(jobs: usize, per_second: f64, stream: &mut Pcg64) -> Result<Vec<Time>, String> {
    let gaps = exponential("a mean gap of", 1.0 / per_second)?;
    let (mut now, mut arrivals) = (Time::ZERO, Vec::new());
    for _ in 0..jobs {
        now = after(now, duration(gaps.sample(stream))?)?;
        arrivals.push(now);
    }
    Ok(arrivals)
}

fn bursts(
    jobs: usize,
    together: usize,
    gap_s: f64,
    stream: &mut Pcg64,
) -> Result<Vec<Time>, String> {
    if together == 0 {
        return Err("bursts of 0 jobs: expected at least 1".to_owned());
    }
    let gaps = exponential("a mean gap of", gap_s)?;
    let (mut now, mut arrivals) = (Time::ZERO, Vec::new());
    for job in 0..jobs {
        if job > 0 && job.is_multiple_of(together) {
            now = after(now, duration(gaps.sample(stream))?)?;
        }
        arrivals.push(now);
    }
    Ok(arrivals)
}

/// The number of switches after which an on-off process counts as never on for long enough to bring
/// a job.
const MAX_SWITCHES: usize = 10_000_000;

/// Draws the gaps in the time that the process is on, and inserts the times that it is off.
fn on_off(
    jobs: usize,
    per_second: f64,
    [on, off]: [Exp<f64>; 2],
    stream: &mut Pcg64,
) -> Result<Vec<Time>, String> {
    let gaps = exponential("a mean gap of", 1.0 / per_second)?;
    let (mut now, mut arrivals) = (Time::ZERO, Vec::new());
    let (mut left, mut switches) = (duration(on.sample(stream))?, 0);
    for _ in 0..jobs {
        // A gap counts only the time that the process is on. If it is longer than the rest of that
        // time, the off time is inserted, and the gap continues after it.
        let mut gap = duration(gaps.sample(stream))?;
        while gap > left {
            switches += 1;
            if switches > MAX_SWITCHES {
                return Err(
                    "on for too short a time to bring the jobs: expected a longer time on, or a \
                     higher rate"
                        .to_owned(),
                );
            }
            now = after(after(now, left)?, duration(off.sample(stream))?)?;
            gap -= left;
            left = duration(on.sample(stream))?;
        }
        left -= gap;
        now = after(now, gap)?;
        arrivals.push(now);
    }
    Ok(arrivals)
}

fn spread(jobs: usize, seconds_per_job: f64, stream: &mut Pcg64) -> Result<Vec<Time>, String> {
    let end = positive("seconds a job of", seconds_per_job)? * jobs as f64;
    let end = duration(end.ceil())?.as_secs().max(1);
    let mut arrivals: Vec<Time> = (0..jobs)
        .map(|_| Time::from_secs(stream.random_range(0..end)))
        .collect();
    arrivals.sort_unstable();
    Ok(arrivals)
}
