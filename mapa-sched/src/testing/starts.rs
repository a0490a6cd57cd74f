//! When a scheduler starts three small jobs, one of which must wait.

use std::collections::BTreeMap;
use std::time::Duration;

use mapa_core::{Pattern, Policy, Request, lowest_id};

use super::driver::TestDriver;
use super::machines::joined;
use crate::event::{Action, Event};
use crate::first_fit::LinkModel;
use crate::job::{Job, JobId, RunTime};
use crate::named::NamedScheduler;

/// The seconds at which a scheduler starts jobs 0, 1 and 2 of three, two and one devices, which run
/// for 10, 9 and 8 s with priorities 0, 1 and 2, on a machine of four devices. The second does not
/// fit beside the first, the third does. The scheduler carries its name, and rejects a job of five
/// devices.
///
/// # Panics
/// If its name differs, or if it does not reject that job.
#[must_use]
pub fn starts_of_three(row: &NamedScheduler) -> BTreeMap<u64, u64> {
    let policy: Box<dyn Policy> = Box::new(lowest_id());
    let mut scheduler = row.scheduler(row.name, policy, LinkModel::Usual).unwrap();
    let with_policy = format!("{}, lowest-id", row.name);
    let name = if row.policy.is_some() {
        row.name
    } else {
        &with_policy
    };
    assert_eq!(scheduler.name(), name);
    // Later jobs are shorter and more important, so each order of a queue shows in who starts
    // first.
    let job = |id: u64, devices| {
        let mut job = Job::new(JobId(id), Request::new(Pattern::ring(devices)));
        job.run_time = RunTime::Fixed(Duration::from_secs(10 - id));
        job.priority = id as i64;
        job
    };
    let mut driver = TestDriver::new([joined(&[1.0; 4])]);
    for job in [job(0, 3), job(1, 2), job(2, 1), job(3, 5)] {
        driver.at(job.arrived, Event::Arrived(job));
    }
    driver.run(&mut *scheduler);
    let rejected = driver
        .log
        .iter()
        .filter(|(_, action)| matches!(action, Action::Reject { job: JobId(3), .. }));
    assert_eq!(rejected.count(), 1, "{}", row.name);
    let placed = driver.log.iter().filter_map(|(at, action)| match action {
        Action::Place { tenant, .. } => Some((tenant.job().0, at.0 / 1_000_000_000)),
        _ => None,
    });
    placed.collect()
}
