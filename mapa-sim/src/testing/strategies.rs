//! Workloads to simulate.

use std::ops::RangeInclusive;
use std::time::Duration;

use mapa_core::Request;
use mapa_sched::JobId;
use mapa_sched::testing::jobs;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::workload::{Submission, Workload};

/// Workloads whose number of jobs is in `number`, with the jobs of [`mapa_sched::testing::jobs`], numbered from 0. Each
/// works for up to twenty whole seconds, whatever its owner expects, so that many arrive and end at one moment.
///
/// ```
/// use mapa_core::testing::requests;
/// use mapa_sim::testing::workloads;
/// use proptest::prelude::*;
///
/// proptest!(|(workload in workloads(1..=5, requests(4, 1..=3)))| {
///     prop_assert!((1..=5).contains(&workload.jobs.len()));
/// });
/// ```
pub fn workloads(
    number: RangeInclusive<usize>,
    requests: impl Strategy<Value = Request>,
) -> impl Strategy<Value = Workload> {
    vec((jobs(requests), 0u64..=20), number).prop_map(|drawn| {
        let submission = |(id, (mut job, work)): (u64, (mapa_sched::Job, u64))| {
            job.id = JobId(id);
            let expected = job.run_time.clone();
            let mut submission = Submission::new(job, Duration::from_secs(work));
            submission.job.run_time = expected;
            submission
        };
        Workload::new("drawn", (0u64..).zip(drawn).map(submission))
    })
}
