//! What is compared: schedulers, and what they are told.

use std::time::Duration;

use mapa_sched::{Event, RunTime, Scheduler, Time, Turn};
use mapa_sim::stream;
use mapa_system_pcie::{PcieAware, PciePlan, PortModel};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

use super::super::setting::PcieSetting;

/// A scheduler of the comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum BeyondScheduler {
    /// The paper's baseline.
    First,
    /// The paper's scheduler.
    Aware,
    /// The same, shortest job first.
    AwareSjf,
    /// A plan per port.
    Plan(PlanVariant),
    /// The same, told how much of each running job is done.
    Seen(PlanVariant),
}

/// A variant of the plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PlanVariant {
    pub(super) moves: usize,
    pub(super) model: PortModel,
    /// Patience and pace of ageing, seconds.
    pub(super) ageing: Option<[u64; 2]>,
    pub(super) repartition: bool,
}

/// The plan by default.
pub(super) const PLAN: PlanVariant = PlanVariant {
    moves: 300,
    model: PortModel::EqualShare,
    ageing: Some([300, 100]),
    repartition: true,
};

impl BeyondScheduler {
    pub(super) fn is_told_progress(self) -> bool {
        matches!(self, Self::Seen(_))
    }

    pub(super) fn scheduler(self, setting: &PcieSetting) -> Box<dyn Scheduler> {
        let aware = || {
            PcieAware::new()
                .delay_threshold(setting.delay)
                .wait_threshold(Duration::from_secs(setting.wait_s))
        };
        match self {
            Self::First => Box::new(PcieAware::first_gpu()),
            Self::Aware => Box::new(aware()),
            Self::AwareSjf => Box::new(aware().shortest_first()),
            Self::Plan(way) | Self::Seen(way) => {
                let mut plan = PciePlan::new().moves(way.moves).model(way.model);
                if !way.repartition {
                    plan = plan.repartition(None);
                }
                plan = match way.ageing {
                    Some([patience, pace]) => {
                        plan.ageing(Duration::from_secs(patience), Duration::from_secs(pace))
                    }
                    None => plan.ageing(Duration::MAX, Duration::from_secs(100)),
                };
                Box::new(plan)
            }
        }
    }
}

/// How wrong what schedulers are told is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct WorkErrors {
    /// The sigma of a log-normal factor of each run time, whose median is 1.
    pub(super) sigma: f64,
    /// Whether demands are wrong by a factor between a half and two, one for each kind and file.
    pub(super) demand: bool,
}

/// A scheduler that is told wrong run times and demands.
pub(super) struct MisledByErrors {
    inner: Box<dyn Scheduler>,
    told: WorkErrors,
    seed: u64,
}

impl MisledByErrors {
    pub(super) fn new(inner: Box<dyn Scheduler>, told: WorkErrors, seed: u64) -> Self {
        Self { inner, told, seed }
    }
}

impl Scheduler for MisledByErrors {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn on_event(&mut self, now: Time, event: Event) {
        let Event::Arrived(mut job) = event else {
            return self.inner.on_event(now, event);
        };
        if self.told.demand {
            let demands = job.request.pattern.demands().iter();
            let mb_s = demands.map(|demand| demand.pcie_mb_s).max().unwrap_or(0);
            let mut draws = stream(self.seed, &format!("demand of {mb_s} MB/s"));
            job.pcie_alpha *= 2_f64.powf(2.0 * draws.random::<f64>() - 1.0);
        }
        if self.told.sigma > 0.0 {
            let mut draws = stream(self.seed, &format!("run time of job {}", job.id));
            let normal: f64 = StandardNormal.sample(&mut draws);
            if let RunTime::Fixed(length) = &mut job.run_time {
                *length = length.mul_f64((self.told.sigma * normal).exp());
            }
        }
        self.inner.on_event(now, Event::Arrived(job));
    }

    fn act(&mut self, now: Time, turn: &mut Turn<'_>) {
        self.inner.act(now, turn);
    }
}
