//! Settings: machines, judges and arrivals, what schedulers are told and what is true.

use std::sync::Arc;
use std::time::Duration;

use mapa_core::{HardwareGraph, Pattern, SetScores};
use mapa_front::Error;
use mapa_sched::{Event, RunTime, Scheduler, Time, Turn};
use mapa_sim::{Arrivals, ByBandwidth, Generator, Submission, Workload, stream};
use rand_distr::{Distribution, StandardNormal};

use crate::foresight::{Judge, MACHINES, by_bandwidth, graph};

/// When jobs arrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum PlanArrivals {
    AtOnce,
    /// A Poisson process of this load, counting work at full speed.
    Load(f64),
    /// [`BURST`] jobs at a time, with exponential gaps, at load .7.
    Bursts,
}

/// The jobs of a burst.
const BURST: usize = 30;

/// The mean device-seconds of a job at full speed: 3 devices for 14.5 s.
const MEAN_AREA: f64 = 3.0 * MEAN_S;

/// The mean run time of a job at full speed, seconds.
pub(super) const MEAN_S: f64 = 14.5;

impl PlanArrivals {
    pub(super) const ALL: [Self; 4] =
        [Self::AtOnce, Self::Load(0.7), Self::Load(0.9), Self::Bursts];

    pub(super) fn name(self) -> String {
        match self {
            Self::AtOnce => "all at once".to_owned(),
            Self::Load(load) => format!("load {}", load.to_string().trim_start_matches('0')),
            Self::Bursts => "bursts".to_owned(),
        }
    }
}

/// What schedulers are told of run times.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum ToldRunTimes {
    /// The truth.
    #[default]
    Exact,
    /// The truth times a log-normal factor of this sigma, whose median is 1.
    Wrong(f64),
    /// The mean of all jobs.
    Means,
}

/// An experiment's conditions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PlanSetting {
    pub(super) machine: &'static str,
    pub(super) judge: Judge,
    pub(super) coming: PlanArrivals,
    pub(super) told: ToldRunTimes,
    /// The part of the gain by bandwidth that is true; schedulers are told all of it.
    pub(super) gain: f64,
}

impl PlanSetting {
    /// Every machine, judge and arrival pattern, nothing wrong.
    pub(super) fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for coming in PlanArrivals::ALL {
            for machine in MACHINES {
                for judge in Judge::ALL {
                    all.push(Self {
                        machine,
                        judge,
                        coming,
                        told: ToldRunTimes::Exact,
                        gain: 1.0,
                    });
                }
            }
        }
        all
    }

    /// The machine and its judge.
    pub(super) fn place(&self) -> String {
        format!("{}, {}", self.machine, self.judge.name())
    }

    /// The key in `results.json`, which the name of a scheduler follows.
    pub(super) fn id(&self) -> String {
        let wrong = match self.told {
            ToldRunTimes::Exact => String::new(),
            ToldRunTimes::Wrong(sigma) => format!(", run times wrong by {sigma}"),
            ToldRunTimes::Means => ", class means".to_owned(),
        };
        let gain = if self.gain < 1.0 {
            format!(", {} of the gain", self.gain)
        } else {
            String::new()
        };
        format!("{}, {}{wrong}{gain}", self.place(), self.coming.name())
    }
}

/// A setting with what all its simulations share.
pub(super) struct PlanInputs {
    pub(super) setting: PlanSetting,
    pub(super) graph: Arc<HardwareGraph>,
    pub(super) execution: ByBandwidth,
    /// The most bandwidth of a ring on the idle machine, GB/s, by number of devices.
    best: Vec<f64>,
}

impl PlanInputs {
    /// Prepares settings. Those on one machine share its graph, and with it its tables; those of
    /// one judge and gain share the known bandwidths of placements.
    pub(super) fn all(settings: &[PlanSetting]) -> Result<Vec<Self>, Error> {
        let mut all: Vec<Self> = Vec::new();
        for &setting in settings {
            let known = all
                .iter()
                .find(|ready| ready.setting.machine == setting.machine);
            let graph =
                known.map_or_else(|| graph(setting.machine), |ready| Ok(ready.graph.clone()))?;
            let alike = |ready: &&Self| {
                let other = &ready.setting;
                (other.place(), other.gain) == (setting.place(), setting.gain)
            };
            let execution = all.iter().find(alike).map(|ready| ready.execution.clone());
            all.push(Self {
                best: best(&graph, setting.judge),
                setting,
                graph,
                execution: execution.unwrap_or_else(|| by_bandwidth(setting.judge, setting.gain)),
            });
        }
        Ok(all)
    }

    /// The jobs of a file.
    pub(super) fn jobs(&self, seed: u64) -> Result<Workload, Error> {
        let devices = self.graph.len();
        let mut jobs = Generator::mapa_six();
        jobs.arrivals = match self.setting.coming {
            PlanArrivals::AtOnce => Arrivals::AtOnce,
            PlanArrivals::Load(load) => Arrivals::Load { load, devices },
            PlanArrivals::Bursts => Arrivals::Bursts {
                jobs: BURST,
                gap_s: BURST as f64 * MEAN_AREA / (0.7 * devices as f64),
            },
        };
        jobs.generate(seed).map_err(Error::malformed)
    }

    /// The ideal time of a job: its true run time on the best set of the idle machine, seconds.
    pub(super) fn ideal(&self, job: &Submission) -> f64 {
        let work = job.work.as_secs_f64();
        let Some(&gbps) = self.best.get(job.devices()).filter(|best| best.is_finite()) else {
            return work;
        };
        let slowdown = job.job.slowdown_at(gbps);
        work * (1.0 + (slowdown - 1.0) * self.setting.gain)
    }
}

/// The most bandwidth of a ring on the idle machine, GB/s, by number of devices; infinite below
/// two.
fn best(graph: &HardwareGraph, judge: Judge) -> Vec<f64> {
    let mut best = vec![f64::INFINITY; 2];
    for devices in 2..=5 {
        let scores = SetScores::of(graph, &judge.model(), &Pattern::ring(devices));
        let scores = scores.iter().flat_map(|score| score.iter());
        best.push(scores.filter_map(|(_, gbps)| gbps).fold(0.0, f64::max));
    }
    best
}

/// A scheduler that is told what a setting says of run times.
pub(super) struct MisledScheduler {
    inner: Box<dyn Scheduler>,
    told: ToldRunTimes,
    /// Whether it is told run times over slow links, not those at full speed.
    longest: bool,
    seed: u64,
}

impl MisledScheduler {
    pub(super) fn new(
        inner: Box<dyn Scheduler>,
        (told, longest): (ToldRunTimes, bool),
        seed: u64,
    ) -> Self {
        Self {
            inner,
            told,
            longest,
            seed,
        }
    }
}

impl Scheduler for MisledScheduler {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn on_event(&mut self, now: Time, event: Event) {
        let Event::Arrived(mut job) = event else {
            return self.inner.on_event(now, event);
        };
        let ratio = job.link_ratio();
        if let RunTime::Fixed(length) = &mut job.run_time {
            match self.told {
                ToldRunTimes::Exact => {}
                ToldRunTimes::Wrong(sigma) => {
                    let mut draws = stream(self.seed, &format!("run time of job {}", job.id));
                    let normal: f64 = StandardNormal.sample(&mut draws);
                    *length = length.mul_f64((sigma * normal).exp());
                }
                ToldRunTimes::Means => *length = Duration::from_secs_f64(MEAN_S),
            }
            if self.longest {
                *length = length.mul_f64(ratio);
            }
        }
        self.inner.on_event(now, Event::Arrived(job));
    }

    fn act(&mut self, now: Time, turn: &mut Turn<'_>) {
        self.inner.act(now, turn);
    }
}
