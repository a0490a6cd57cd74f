//! Workloads that are drawn.

use std::ops::RangeInclusive;
use std::time::Duration;

use mapa_core::{Pattern, Request};
use mapa_sched::{Job, JobId};
use rand::RngExt;

use super::{Submission, Workload};
use crate::error::Error;
use crate::random::{GENERATOR, stream};

/// What jobs are drawn from.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Generator {
    /// How many jobs.
    pub jobs: usize,
    /// Of how many devices: uniform.
    pub sizes: RangeInclusive<usize>,
    /// What they run, and whether that is sensitive: uniform.
    pub tasks: Vec<(&'static str, bool)>,
    /// How long, seconds: uniform integers.
    pub seconds: RangeInclusive<u64>,
}

impl Generator {
    /// The paper's mix (section 4): 300 rings of one to five devices over its nine workloads, all there from the beginning. Run times are
    /// those of the released generator, 5 to 24 seconds, as the paper tells none.
    #[must_use]
    pub fn mapa() -> Self {
        let sensitive = ["AlexNet", "Inception-v3", "VGG-16", "ResNet-50"].map(|name| (name, true));
        let insensitive = ["CaffeNet", "GoogleNet", "Cusimann", "GMM", "Jacobi"].map(|name| (name, false));
        let tasks = sensitive.into_iter().chain(insensitive).collect();
        Self { jobs: 300, sizes: 1..=5, tasks, seconds: 5..=24 }
    }

    /// Draws them, each property from a [stream](crate::stream) of its own.
    ///
    /// # Errors
    /// If there is nothing to draw from.
    pub fn generate(&self, seed: u64) -> Result<Workload, Error> {
        let [mut sizes, mut tasks, mut seconds] = ["sizes", "tasks", "run times"].map(|name| stream(seed, name));
        let draw = |id| {
            let size = sizes.random_range(self.sizes.clone());
            let (task, sensitive) = self.tasks[tasks.random_range(0..self.tasks.len())];
            let work = Duration::from_secs(seconds.random_range(self.seconds.clone()));
            let request = Request::new(Pattern::ring(size)).sensitive(sensitive);
            Submission::new(Job::new(JobId(id), request), work).task(task)
        };
        Ok(Workload::new(format!("the paper's mix, seed {seed}, {GENERATOR}"), (0..self.jobs as u64).map(draw)))
    }
}
