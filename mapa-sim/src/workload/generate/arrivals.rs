//! When jobs come.

use std::time::Duration;

use mapa_sched::Time;
use rand::RngExt;
use rand_distr::{Distribution, Exp};
use rand_pcg::Pcg64;

use super::Generator;
use super::run_times::{duration, positive};

/// When jobs come. Gaps are drawn in seconds and rounded to a nanosecond each.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Arrivals {
    /// All at the beginning.
    AtOnce,
    /// One at a time, gaps exponential: a Poisson process. The first comes after a gap.
    Poisson {
        /// So many an hour on average.
        per_hour: f64,
    },
    /// A Poisson process whose rate is load · devices / (mean size · mean run time): at a load of 1 the jobs that come keep so many devices busy
    /// on average, if they run at full speed.
    Load {
        /// Of what the devices can do.
        load: f64,
        /// How many devices.
        devices: usize,
    },
    /// So many at one moment, then an exponential gap. The first come at the beginning.
    Bursts {
        /// How many at once.
        jobs: usize,
        /// The mean gap, s.
        gap_s: f64,
    },
    /// A Poisson process that is switched on and off, each for an exponential time; it begins switched on.
    OnOff {
        /// So many an hour on average while it is on.
        per_hour: f64,
        /// For how long it is on, on average, s.
        on_s: f64,
        /// For how long it is off, on average, s.
        off_s: f64,
    },
    /// As the released generator writes them: whole seconds, uniform below so many seconds a job, sorted.
    Spread {
        /// Seconds a job.
        seconds_per_job: f64,
    },
}

impl Arrivals {
    /// The arrivals of the generator's jobs, in order.
    pub(super) fn draw(&self, generator: &Generator, stream: &mut Pcg64) -> Result<Vec<Time>, String> {
        let jobs = generator.jobs;
        match self {
            Self::AtOnce => Ok(vec![Time::ZERO; jobs]),
            Self::Poisson { per_hour } => poisson(jobs, positive("a rate of", *per_hour)? / 3600.0, stream),
            Self::Load { load, devices } => {
                let work = generator.sizes.compile()?.mean * generator.run_times.mean_s();
                let work = positive("jobs of a mean of devices times seconds of", work)?;
                let (load, devices) = (positive("a load of", *load)?, positive("devices of", *devices as f64)?);
                poisson(jobs, load * devices / work, stream)
            }
            Self::Bursts { jobs: together, gap_s } => bursts(jobs, *together, *gap_s, stream),
            Self::OnOff { per_hour, on_s, off_s } => {
                let rate = positive("a rate of", *per_hour)? / 3600.0;
                on_off(jobs, rate, [exponential("on for", *on_s)?, exponential("off for", *off_s)?], stream)
            }
            Self::Spread { seconds_per_job } => spread(jobs, *seconds_per_job, stream),
        }
    }
}

fn exponential(what: &str, mean: f64) -> Result<Exp<f64>, String> {
    Exp::new(1.0 / positive(what, mean)?).map_err(|error| error.to_string())
}

/// A gap later, unless that is beyond all time.
fn after(now: Time, gap: Duration) -> Result<Time, String> {
    let gap = u64::try_from(gap.as_nanos()).ok();
    let later = gap.and_then(|gap| now.0.checked_add(gap)).map(Time);
    later.ok_or_else(|| "arrivals would go on for more than 584 years: expected fewer jobs, or shorter gaps".to_owned())
}

fn poisson(jobs: usize, per_second: f64, stream: &mut Pcg64) -> Result<Vec<Time>, String> {
    let gaps = exponential("a mean gap of", 1.0 / per_second)?;
    let mut now = Time::ZERO;
    let mut next = || {
        now = after(now, duration(gaps.sample(stream))?)?;
        Ok(now)
    };
    (0..jobs).map(|_| next()).collect()
}

fn bursts(jobs: usize, together: usize, gap_s: f64, stream: &mut Pcg64) -> Result<Vec<Time>, String> {
    if together == 0 {
        return Err("bursts of 0 jobs: expected at least 1".to_owned());
    }
    let gaps = exponential("a mean gap of", gap_s)?;
    let mut now = Time::ZERO;
    let mut next = |job: usize| {
        if job > 0 && job % together == 0 {
            now = after(now, duration(gaps.sample(stream))?)?;
        }
        Ok(now)
    };
    (0..jobs).map(&mut next).collect()
}

/// Draws the time that passes while it is on, and puts the times between in which it is off.
fn on_off(jobs: usize, per_second: f64, [on, off]: [Exp<f64>; 2], stream: &mut Pcg64) -> Result<Vec<Time>, String> {
    let gaps = exponential("a mean gap of", 1.0 / per_second)?;
    let mut now = Time::ZERO;
    let mut left = duration(on.sample(stream))?;
    let mut switches = 0;
    let mut next = || {
        let mut gap = duration(gaps.sample(stream))?;
        while gap > left {
            switches += 1;
            if switches > Generator::MAX_JOBS {
                return Err("on for too short a time to bring the jobs: expected a longer one".to_owned());
            }
            now = after(after(now, left)?, duration(off.sample(stream))?)?;
            gap -= left;
            left = duration(on.sample(stream))?;
        }
        left -= gap;
        now = after(now, gap)?;
        Ok(now)
    };
    (0..jobs).map(|_| next()).collect()
}

fn spread(jobs: usize, seconds_per_job: f64, stream: &mut Pcg64) -> Result<Vec<Time>, String> {
    let end = positive("seconds a job of", seconds_per_job)? * jobs as f64;
    let end = duration(end.ceil())?.as_secs().max(1);
    let mut arrivals: Vec<Time> = (0..jobs).map(|_| Time::from_secs(stream.random_range(0..end))).collect();
    arrivals.sort_unstable();
    Ok(arrivals)
}
