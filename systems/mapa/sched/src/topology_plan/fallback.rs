//! Where a list schedules instead of the plan.

use mapa_core::{DeviceSet, MachineId};

use super::goal::Trust;
use super::{PlannedJob, TopologyPlan};
use mapa_sched::Event;
use mapa_sched::Scheduler;
use mapa_sched::Tenant;
use mapa_sched::Turn;
use mapa_sched::length;
use mapa_sched::{Time, seconds};

impl TopologyPlan {
    /// Whether a list schedules instead of the plan: run times are not to be trusted, a job waits
    /// that cannot be planned, or there is a machine of whose sets a plan knows too little.
    pub(super) fn must_fall_back(&self) -> bool {
        let vague = |lane| self.plan.physics().is_vague(self.runs.kind(lane));
        !self.others.is_empty()
            || self.trust_now() == Trust::ClassMeans
            || (0..self.runs.lanes()).any(vague)
    }

    /// Lets the list start jobs, and takes note of those that it starts.
    pub(super) fn fall_back(&mut self, now: Time, turn: &mut Turn<'_>) {
        if !self.falls_back {
            self.falls_back = true;
            let mut all: Vec<&PlannedJob> =
                self.held.values().chain(self.others.values()).collect();
            all.sort_by_key(|held| held.serial);
            for held in all {
                let job = (*held.job).clone();
                self.fallback.on_event(now, Event::Arrived(job));
            }
        }
        self.fallback.act(now, turn);
        let all = self.held.values().chain(self.others.values());
        let left = all.filter(|held| !self.fallback.is_waiting(held.job.id));
        let left: Vec<PlannedJob> = left.cloned().collect();
        for held in left {
            self.leaves(&held, seconds(now), turn);
        }
    }

    /// Takes note of a job that the list has started, or rejected.
    pub(super) fn leaves(&mut self, held: &PlannedJob, now: f64, turn: &Turn<'_>) {
        let id = held.job.id;
        let is_other = self.others.remove(&held.serial).is_some();
        let tenant = Tenant::Job(id);
        let leases: Vec<(MachineId, DeviceSet)> = turn
            .fleet()
            .leases_of(tenant)
            .map(|(machine, lease)| (machine, lease.placement.set()))
            .collect();
        for (machine, devices) in &leases {
            let Some(lane) = self.runs.lane_of_machine(*machine) else {
                continue;
            };
            let set = self.runs.set_of(&self.plan, lane, devices);
            if is_other {
                let takes = length(&held.job).as_secs_f64();
                self.runs.start(id, lane, set, now, takes);
            } else {
                let kind = self.runs.kind(lane);
                let loss = self.plan.physics().loss(kind, held.own.shape, set);
                let takes = held
                    .own
                    .seconds(loss.filter(|loss| loss.is_finite()).unwrap_or(0.0));
                self.started(held, lane, set, now, takes);
            }
        }
        if leases.is_empty() {
            self.plan.remove(id);
            self.forget(id);
        }
    }
}
