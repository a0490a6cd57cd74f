//! Backfilling: later jobs start before earlier ones where they are not in their way.
//!
//! Published backfilling counts processors. Here "fits" means that the job's policy has a decision, so a reservation is of
//! devices, and what counts says is checked on an image of the fleet as it will be. Where all devices are alike the schedules
//! are those of the counts.

mod conservative;
mod easy;
mod plan;

pub use conservative::Conservative;
pub use easy::Easy;

use mapa_core::{DeviceSet, Policy, Reason, Refusal, Request, View};

use crate::fleet::Fleet;
use crate::job::Job;

/// Makes a job's policy.
type Make = Box<dyn FnMut(&Job) -> Box<dyn Policy> + Send>;

/// Which policy places a job.
enum Policies {
    One(Box<dyn Policy>),
    PerJob(Make),
}

impl Policies {
    fn ask<T>(&mut self, job: &Job, question: impl FnOnce(&dyn Policy) -> T) -> T {
        match self {
            Self::One(policy) => question(policy),
            Self::PerJob(make) => question(&make(job)),
        }
    }

    /// Whether jobs that ask for the same get the same answer.
    fn is_one(&self) -> bool {
        matches!(self, Self::One(_))
    }
}

/// Why a job is rejected that no machine can ever hold. Reservations are on one machine: jobs over several are not planned.
fn rejection(why: Refusal, fleet: &Fleet) -> Refusal {
    match why {
        Refusal::Infeasible(Reason::TooFewDevices { wanted, allowed }) if fleet.network_gbps().is_some() => {
            let rule = format!("one machine for all {wanted} devices, as backfilling plans for ({allowed} at most)");
            Refusal::Infeasible(Reason::Rule(rule.into()))
        }
        why => why,
    }
}

/// What a request could get on a machine now: what is free, and what has room for those of its ranks that share.
fn open(view: &View<'_>, request: &Request) -> DeviceSet {
    let shared = request.pattern.demands().iter().filter(|demand| demand.is_shared());
    shared.fold(view.free().clone(), |all, demand| &all | &view.room_for(demand))
}
