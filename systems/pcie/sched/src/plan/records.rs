//! The jobs that run: what is left of each by the model, corrected by what is observed.

use std::collections::BTreeMap;

use super::port::{PortJob, slowdown};
use mapa_sched::JobId;

/// The least share of its estimate that a job is thought to have left, however long it has run.
const LEAST_LEFT: f64 = 0.03;
/// The least share of a job's work that an observation must have seen done to be believed.
const LEAST_SEEN: f64 = 0.02;

/// A job that runs on a lane.
#[derive(Clone, Debug)]
pub(super) struct LaneJob {
    pub(super) id: JobId,
    pub(super) job: PortJob,
    /// How much it counts.
    pub(super) weight: f64,
    /// Seconds at full speed that are left, by the model.
    left: f64,
    /// Seconds at full speed that are done, by the model.
    done: f64,
}

impl LaneJob {
    /// Seconds at full speed that are left.
    pub(super) fn left(&self) -> f64 {
        self.left.max(LEAST_LEFT * self.job.work)
    }
}

/// The jobs that run, by lane, each lane with the moment of its account.
#[derive(Clone, Debug, Default)]
pub(super) struct LaneRecords {
    lanes: Vec<(f64, Vec<LaneJob>)>,
    lane_of: BTreeMap<JobId, usize>,
}

impl LaneRecords {
    /// Makes room for this many lanes.
    pub(super) fn resize(&mut self, lanes: usize) {
        self.lanes.resize_with(lanes, Default::default);
    }

    pub(super) fn lane_of(&self, job: JobId) -> Option<usize> {
        self.lane_of.get(&job).copied()
    }

    pub(super) fn on(&self, lane: usize) -> &[LaneJob] {
        self.lanes.get(lane).map_or(&[], |(_, there)| there)
    }

    /// Brings the account of a lane up to a moment, seconds, where bound jobs need this rate not to
    /// be slowed down. Returns whether time has passed.
    pub(super) fn settle(&mut self, lane: usize, now: f64, level: f64) -> bool {
        let Some((since, there)) = self.lanes.get_mut(lane) else {
            return false;
        };
        let passed = now - std::mem::replace(since, now);
        for record in there {
            let done = passed / slowdown(record.job.wants, level);
            record.left -= done;
            record.done += done;
        }
        passed > 0.0
    }

    /// Enters a job that starts on a lane whose account is up to date.
    pub(super) fn start(&mut self, lane: usize, id: JobId, job: PortJob, weight: f64) {
        self.lane_of.insert(id, lane);
        if let Some((_, there)) = self.lanes.get_mut(lane) {
            there.push(LaneJob {
                id,
                job,
                weight,
                left: job.work,
                done: 0.0,
            });
        }
    }

    /// Removes a job.
    pub(super) fn end(&mut self, job: JobId) -> Option<LaneJob> {
        let lane = self.lane_of.remove(&job)?;
        let (_, there) = self.lanes.get_mut(lane)?;
        let at = there.iter().position(|record| record.id == job)?;
        Some(there.remove(at))
    }

    /// A share of a job's work is seen to be done. What is left is what was done, by an account
    /// that is up to date, times the quotient of the shares: this corrects a wrong run time, and a
    /// wrong model of its speed alike.
    pub(super) fn observe(&mut self, job: JobId, share: f64) {
        let lane = self.lane_of(job).and_then(|lane| self.lanes.get_mut(lane));
        let own = lane.and_then(|(_, there)| there.iter_mut().find(|record| record.id == job));
        if let Some(own) = own.filter(|_| share > LEAST_SEEN && share <= 1.0) {
            own.left = own.done * (1.0 - share) / share;
            own.job.work = own.done + own.left;
        }
    }
}
