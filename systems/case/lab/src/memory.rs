//! Memory in use over time.

use mapa_sched::Time;
use mapa_sim::{Outcome, Workload};

/// Memory in use as steps: from each second on, so many bytes.
pub(super) struct MemorySteps(Vec<(f64, f64)>);

/// The memory of a worker's context where contexts count, bytes.
pub(super) const CONTEXT: f64 = 0.5e9;

fn s(time: Time) -> f64 {
    time.0 as f64 / 1e9
}

impl MemorySteps {
    /// What jobs and tasks held, and `context` bytes for each worker from its launch to its end.
    pub(super) fn of(outcome: &Outcome, workload: &Workload, context: f64) -> Self {
        let mut changes = Vec::new();
        let mut hold = |from: f64, until: f64, bytes: f64| {
            changes.extend([(from, bytes), (until, -bytes)]);
        };
        for run in &outcome.runs {
            let submission = &workload.jobs[run.index];
            let of_job = submission.job.request.pattern.demands().first();
            let bytes = of_job.map_or(0.0, |demand| demand.memory_bytes as f64);
            for stay in &run.stays {
                hold(s(stay.from), s(stay.until), bytes);
            }
            for (task, plan) in run.tasks.iter().zip(&submission.tasks) {
                let demand = plan.request.pattern.demands().first();
                let bytes = demand.map_or(0.0, |demand| demand.memory_bytes as f64);
                for stay in &task.stays {
                    hold(s(stay.from), s(stay.until), bytes);
                }
            }
            if let Some(ran) = &run.launched {
                hold(s(ran.start), s(ran.end), context);
            }
        }
        changes.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut steps: Vec<(f64, f64)> = Vec::new();
        let mut held = 0.0;
        for (at, change) in changes {
            held += change;
            match steps.last_mut() {
                Some(last) if last.0 == at => last.1 = held,
                _ => steps.push((at, held)),
            }
        }
        Self(steps)
    }

    /// The mean over the time from 0 to `until`, bytes.
    pub(super) fn mean(&self, until: f64) -> f64 {
        let ends = self.0.iter().skip(1).map(|pair| pair.0).chain([until]);
        let each = self.0.iter().zip(ends);
        let sum: f64 = each
            .map(|(&(from, held), to)| held * (to.min(until) - from.min(until)).max(0.0))
            .sum();
        sum / until
    }

    /// The most at any time, bytes.
    pub(super) fn peak(&self) -> f64 {
        self.0.iter().map(|pair| pair.1).fold(0.0, f64::max)
    }

    /// Corners of the curve, for a picture: seconds, and a share of `capacity` in percent.
    pub(super) fn curve(&self, capacity: f64) -> Vec<(f64, f64)> {
        let mut points = Vec::new();
        let mut before = 0.0;
        for &(at, held) in &self.0 {
            let share = 100.0 * held / capacity;
            points.extend([(at, before), (at, share)]);
            before = share;
        }
        points
    }
}
