//! Backfilling: a later job starts before an earlier one if that does not delay the earlier one.
//!
//! Published backfilling counts processors. Here "fits" means that the job's policy has a decision,
//! so a reservation is of devices. What the counts allow is checked on copies of machines as they
//! will be at that moment. Where all devices are alike, the schedules are those of the published
//! rules.

mod conservative;
mod easy;
mod moments;
mod plan;

pub use conservative::Conservative;
pub use easy::Easy;

use mapa_core::{DeviceSet, Policy, Reason, Refusal, Request, View};

use crate::fleet::Fleet;
use crate::job::Job;

/// Makes the policy of a job.
type MakePolicy = Box<dyn FnMut(&Job) -> Box<dyn Policy> + Send>;

/// Which policy places a job.
enum Policies {
    /// One policy for all jobs.
    One(Box<dyn Policy>),
    /// A policy for each job, made whenever one is needed.
    PerJob(MakePolicy),
}

impl Policies {
    /// Calls `question` with the policy of a job.
    fn ask<T>(&mut self, job: &Job, question: impl FnOnce(&dyn Policy) -> T) -> T {
        match self {
            Self::One(policy) => question(policy),
            Self::PerJob(make) => question(&make(job)),
        }
    }

    /// Whether one policy places all jobs, so that equal requests get equal answers.
    fn is_one(&self) -> bool {
        matches!(self, Self::One(_))
    }
}

/// The reason for rejecting a job that no single machine can ever hold. Reservations are on one
/// machine: jobs that span several are not planned, even where a network joins the machines.
fn rejection(why: Refusal, fleet: &Fleet) -> Refusal {
    match why {
        Refusal::Infeasible(Reason::TooFewDevices { wanted, allowed })
            if fleet.network_gbps().is_some() =>
        {
            // The plain reason would mislead here: the fleet may have enough devices, only not on
            // one machine.
            let rule = format!(
                "one machine for all {wanted} devices, as backfilling plans for ({allowed} at most)"
            );
            Refusal::Infeasible(Reason::Rule(rule.into()))
        }
        why => why,
    }
}

/// The devices of a machine that a request could use now: those that are free, and those with room
/// for its ranks that share a device.
fn open(view: &View<'_>, request: &Request) -> DeviceSet {
    let shared = request
        .pattern
        .demands()
        .iter()
        .filter(|demand| demand.is_shared());
    // A device with tenants is not free, but a rank that shares may join them.
    shared.fold(view.free().clone(), |all, demand| {
        &all | &view.room_for(demand)
    })
}

/// How many devices a job needs for itself: its ranks that share a device are not counted.
pub(super) fn need(job: &Job) -> i64 {
    job.request
        .pattern
        .demands()
        .iter()
        .filter(|demand| !demand.is_shared())
        .count() as i64
}
