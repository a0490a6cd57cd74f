//! What days have, as a plan sees it.

use mapa_system_energy::{
    EnergyPlan, NO_DEADLINE, Rule, SliceJob, SlicedGpus, Start, State, TunedFor,
};

use super::objective::TuneDay;
use crate::error::Error;

/// Minutes over which the work that arrives is averaged.
const HOUR: f64 = 60.0;

/// The range of what a plan sees on days: the work that arrives in an hour, the time that jobs have,
/// and how many wait at most.
///
/// # Errors
/// As [`run_as`](super::super::run_as).
///
/// # Complexity
/// That of a run of each day.
pub fn seen_on(
    days: &[TuneDay],
    machine: &SlicedGpus,
    plan: &EnergyPlan,
) -> Result<TunedFor, Error> {
    let gpus = machine.gpu_count() as f64;
    let mut load = [f64::INFINITY, 0.0_f64];
    let mut slack = [f64::INFINITY, 0.0_f64];
    let mut waiting = 0;
    for day in days {
        for value in hours(&day.told) {
            load = [load[0].min(value / gpus), load[1].max(value / gpus)];
        }
        for job in day
            .told
            .iter()
            .filter(|slice_job| slice_job.deadline() < NO_DEADLINE)
        {
            let own = (job.deadline() - job.arrives()) / job.fastest();
            slack = [slack[0].min(own), slack[1].max(own)];
        }
        let mut watched = QueueProbe {
            plan: plan.clone(),
            waiting: 0,
        };
        day.under(machine, &mut watched)?;
        waiting = waiting.max(watched.waiting);
    }
    let known = |[low, high]: [f64; 2]| {
        if low <= high {
            [low, high]
        } else {
            [0.0, high]
        }
    };
    Ok(TunedFor {
        load: known(load),
        slack: known(slack),
        waiting: waiting as f64 / gpus,
    })
}

/// The work that arrives in each whole hour between the first and the last arrival, minutes on a
/// whole GPU a minute. Jobs of less than an hour are one.
fn hours(jobs: &[SliceJob]) -> Vec<f64> {
    let first = jobs
        .iter()
        .map(SliceJob::arrives)
        .fold(f64::INFINITY, f64::min);
    let last = jobs.iter().map(SliceJob::arrives).fold(0.0, f64::max);
    let count = ((last - first) / HOUR).floor().max(1.0) as usize;
    let mut work = vec![0.0; count];
    for job in jobs {
        if let Some(own) = work.get_mut(((job.arrives() - first) / HOUR) as usize) {
            *own += job.fastest() / HOUR;
        }
    }
    work
}

/// A plan that notes how many jobs wait at most.
struct QueueProbe {
    plan: EnergyPlan,
    waiting: usize,
}

impl Rule for QueueProbe {
    fn name(&self) -> &str {
        self.plan.name()
    }

    fn choose(&mut self, state: &State) -> Option<Start> {
        self.waiting = self.waiting.max(state.queue().len());
        self.plan.choose(state)
    }
}
