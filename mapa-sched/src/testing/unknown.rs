//! Events of jobs that a scheduler never heard of.

use std::sync::Arc;
use std::time::Duration;

use mapa_core::{HardwareGraph, Pattern, Request, greedy};

use super::driver::TestDriver;
use crate::event::{Action, Event};
use crate::first_fit::LinkModel;
use crate::job::{Job, JobId, RunTime};
use crate::named::NamedScheduler;
use crate::time::Time;

/// Checks that the end or the withdrawal of unknown jobs changes nothing of what this scheduler does
/// with rings, each given by its arrival in seconds, its devices and its seconds. An event is its second
/// and whether the unknown job has ended rather than withdrawn.
///
/// # Panics
/// If they do.
pub fn check_unknown_jobs(
    row: &NamedScheduler,
    graphs: &[Arc<HardwareGraph>],
    jobs: &[(u64, usize, u64)],
    events: &[(u64, bool)],
) {
    let run = |events: &[(u64, bool)]| {
        let mut driver = TestDriver::new(graphs.iter().cloned());
        for (id, &(arrived, devices, seconds)) in (0..).zip(jobs) {
            let mut job = Job::new(JobId(id), Request::new(Pattern::ring(devices)));
            job.arrived = Time::from_secs(arrived);
            job.run_time = RunTime::Fixed(Duration::from_secs(seconds));
            driver.at(job.arrived, Event::Arrived(job));
        }
        for &(second, ended) in events {
            // No job of the run has a number as large.
            let unknown = JobId(1_000_000 + second);
            let event = if ended {
                Event::Finished(unknown)
            } else {
                Event::Cancelled(unknown)
            };
            driver.at(Time::from_secs(second), event);
        }
        let mut scheduler = row
            .scheduler(row.name, Box::new(greedy()), LinkModel::Usual)
            .unwrap();
        driver.run(&mut *scheduler);
        let mut log = driver.log;
        log.retain(|(_, action)| matches!(action, Action::Place { .. } | Action::Reject { .. }));
        log
    };
    assert_eq!(run(events), run(&[]), "{}", row.name);
}
