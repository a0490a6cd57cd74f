//! Generators of random workloads.
//!
//! Each property has a [stream](crate::stream) of its own: `sizes`, `tasks`, `run times`,
//! `arrivals`, `patterns`. So a change of the run times leaves the sizes as they were. The first
//! hundred jobs of a longer workload are those of a shorter one, unless arrivals are
//! [spread](Arrivals::Spread), since those are sorted. A [`Generator`] can be parsed from words:
//! see `docs/workloads.md`.

use std::sync::Arc;

use mapa_core::{Request, Shape};
use mapa_sched::{Job, JobId};

use super::file_errors::bad_workload;
use super::patterns::Patterns;
use super::submission::{Submission, Workload};
use super::tasks;
use crate::error::Error;
use crate::random::{GENERATOR, stream};

mod arrivals;
mod choice;
mod row;
mod run_times;
mod words;

pub use arrivals::Arrivals;
pub use choice::Sizes;
pub use row::{Generate, GeneratorRow};
pub use run_times::RunTimes;

use choice::WeightedChoice;

/// A generator of jobs: the distribution of each property. Properties are drawn independently.
///
/// # Examples
/// ```
/// use mapa_sim::{Arrivals, Generator};
///
/// let mut generator = Generator::mapa();
/// generator.jobs = 1000;
/// generator.arrivals = Arrivals::Poisson { per_hour: 120.0 };
/// assert_eq!(generator.to_string(), "mapa,jobs=1000,arrivals=poisson:120/h");
/// assert_eq!("mapa,jobs=1000,arrivals=poisson:120/h".parse::<Generator>()?, generator);
/// # Ok::<(), mapa_sim::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Generator {
    /// How many jobs, at most [`Generator::MAX_JOBS`].
    pub jobs: usize,
    /// How many devices they have.
    pub sizes: Sizes,
    /// What they run, and whether that is sensitive to bandwidth.
    pub tasks: Vec<Task>,
    /// How long they run at full speed.
    pub run_times: RunTimes,
    /// When they arrive.
    pub arrivals: Arrivals,
    /// Their communication patterns, by weight: shapes, and `None` for ranks that do not
    /// communicate.
    pub patterns: Vec<(Option<Shape>, f64)>,
}

/// A program that jobs run, such as the training of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Its name.
    pub name: Arc<str>,
    /// Whether its speed depends on its links.
    pub sensitive: bool,
    /// How often it is drawn, relative to the weights of the others.
    pub weight: f64,
}

impl Task {
    /// A task of weight 1.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>, sensitive: bool) -> Self {
        Self {
            name: name.into(),
            sensitive,
            weight: 1.0,
        }
    }
}

impl Generator {
    /// The most jobs of a workload. More would not fit into memory.
    pub const MAX_JOBS: usize = 10_000_000;

    /// `mapa`: the paper's mix (section 4): 300 rings of one to five devices over its nine
    /// workloads, all arriving at the beginning. Run times are those of the released generator, 5
    /// to 24 seconds, as the paper has none.
    #[must_use]
    pub fn mapa() -> Self {
        Self {
            jobs: 300,
            sizes: Sizes::Uniform(1..=5),
            tasks: tasks::MAPA
                .map(|(name, sensitive)| Task::new(name, sensitive))
                .to_vec(),
            run_times: RunTimes::Uniform(5..=24),
            arrivals: Arrivals::AtOnce,
            patterns: vec![(Some(Shape::Ring), 1.0)],
        }
    }

    /// `mapa-six`: the paper's mix over its six networks, without Cusimann, GMM and Jacobi.
    #[must_use]
    pub fn mapa_six() -> Self {
        let mut generator = Self::mapa();
        generator.tasks.truncate(6);
        generator
    }

    /// `mapa-released`: 300 jobs as socal-ucr/jobGenerator draws them by default: six networks, two
    /// to five devices, 5 to 24 s. It also writes arrivals (`arrivals=spread:14.5`), which the
    /// released simulator sets to 0; here they are 0.
    #[must_use]
    pub fn mapa_released() -> Self {
        Self {
            sizes: Sizes::Uniform(2..=5),
            ..Self::mapa_six()
        }
    }

    /// Draws the jobs. O(n log t) for n jobs and t tasks.
    ///
    /// # Errors
    /// - A property has nothing to draw from: an empty range, or no task.
    /// - A size is 0 or above [`MAX_DEVICES`](mapa_core::MAX_DEVICES).
    /// - A rate, mean or load is not a finite number above 0, or a weight not one of at least 0, or
    ///   all weights are 0.
    /// - An arrival or a run time is beyond 584 years.
    /// - There are more than [`Generator::MAX_JOBS`] jobs.
    pub fn generate(&self, seed: u64) -> Result<Workload, Error> {
        let jobs = self
            .draw(seed)
            .map_err(|what| bad_workload(format_args!("generator {self}: {what}")))?;
        Ok(Workload::new(
            format!("generator {self}, seed {seed}, {GENERATOR}"),
            jobs,
        ))
    }

    fn draw(&self, seed: u64) -> Result<Vec<Submission>, String> {
        if self.jobs > Self::MAX_JOBS {
            return Err(format!(
                "jobs={}: expected at most {}",
                self.jobs,
                Self::MAX_JOBS
            ));
        }
        let choose = |what: &str, weights: &mut dyn Iterator<Item = f64>| {
            WeightedChoice::new(weights).map_err(|error| format!("{what}: {error}"))
        };
        let sizes = self.sizes.compile()?;
        let tasks = choose("tasks", &mut self.tasks.iter().map(|task| task.weight))?;
        let patterns = choose(
            "pattern",
            &mut self.patterns.iter().map(|(_, weight)| *weight),
        )?;
        let run_times = self.run_times.compile()?;
        let work = sizes.mean * self.run_times.mean_s();
        let arrivals = self
            .arrivals
            .draw(self.jobs, work, &mut stream(seed, "arrivals"))?;
        let [mut size, mut task, mut run_time, mut pattern] =
            ["sizes", "tasks", "run times", "patterns"].map(|name| stream(seed, name));
        let mut made = Patterns::default();
        let mut jobs = Vec::with_capacity(self.jobs);
        for (id, arrived) in (0..).zip(arrivals) {
            let devices = sizes.draw(&mut size);
            let task = &self.tasks[tasks.draw(&mut task)];
            let (shape, _) = self.patterns[patterns.draw(&mut pattern)];
            let work = run_times.draw(&mut run_time)?;
            let pattern = made.get(shape, devices)?;
            let request = Request::new(pattern).sensitive(task.sensitive);
            let mut job = Job::new(JobId(id), request);
            job.arrived = arrived;
            jobs.push(Submission::new(job, work).task(task.name.clone()));
        }
        Ok(jobs)
    }
}
