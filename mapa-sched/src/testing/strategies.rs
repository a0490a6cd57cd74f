//! Fleets and jobs to try things on.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use mapa_core::testing::machines;
use mapa_core::{Pattern, Request, lowest_id};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::driver::in_turn;
use crate::fleet::Fleet;
use crate::job::{Job, JobId, RunTime, Tenant};
use crate::time::Time;

/// Idle fleets whose number of machines is in `number`, of up to three kinds, whose number of devices is in `devices`.
///
/// # Panics
/// As [`machines`].
pub fn fleets(
    number: RangeInclusive<usize>,
    devices: RangeInclusive<usize>,
) -> impl Strategy<Value = Fleet> {
    let kinds = vec(machines(devices).prop_map(Arc::new), 1..=3);
    (kinds, vec(any::<Index>(), number))
        .prop_map(|(kinds, places)| Fleet::new(places.iter().map(|kind| kind.get(&kinds).clone())))
}

/// Fleets like those of [`fleets`], on which up to six jobs hold devices. Their ids count down from the highest.
///
/// # Panics
/// As [`machines`].
pub fn fleets_in_use(
    number: RangeInclusive<usize>,
    devices: RangeInclusive<usize>,
) -> impl Strategy<Value = Fleet> {
    (fleets(number, devices), vec(1usize..=4, 0..=6)).prop_map(|(mut fleet, before)| {
        for (at, ranks) in (0u64..).zip(before) {
            let tenant = Tenant::Job(JobId(u64::MAX - at));
            let request = Request::new(Pattern::independent(ranks));
            in_turn(&mut fleet, |turn| {
                // Those for which there is no room hold nothing.
                let _ = turn.start(tenant, lowest_id(), &request);
            });
        }
        fleet
    })
}

/// Jobs whose requests are drawn from `requests`, which arrive within ten seconds. Some run times are unknown, some
/// jobs have a deadline, a priority, or must be alone on their instance.
pub fn jobs(requests: impl Strategy<Value = Request>) -> impl Strategy<Value = Job> {
    let run_time = proptest::option::weighted(0.8, 0u64..=20);
    let deadline = proptest::option::weighted(0.3, 0u64..=40);
    let rest = (any::<u16>(), 0u64..=9, run_time, deadline, -2i64..=2);
    let isolated = proptest::bool::weighted(0.2);
    (requests, rest, isolated).prop_map(
        |(request, (id, arrived, run, deadline, priority), alone)| {
            let mut job = Job::new(JobId(id.into()), request);
            job.arrived = Time::from_secs(arrived);
            job.run_time = run.map_or(RunTime::Unknown, |run| {
                RunTime::Fixed(Duration::from_secs(run))
            });
            job.deadline = deadline.map(|after| Time::from_secs(arrived + after));
            (job.priority, job.isolated) = (priority, alone);
            job
        },
    )
}
