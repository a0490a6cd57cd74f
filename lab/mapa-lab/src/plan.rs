//! What is to be run, and how the simulations of an experiment are spread over threads.

use std::collections::BTreeMap;

use crate::progress::Progress;
use rayon::prelude::*;

use mapa_front::Error;

/// Rows of measurements that a caller gives in place of those that are shipped.
#[derive(Clone, Debug, Default)]
pub struct GivenRows {
    /// The name of their file, for messages.
    pub name: String,
    /// The table.
    pub rows: String,
    /// The topologies that the rows name, by file name.
    pub topologies: BTreeMap<String, Vec<u8>>,
}

/// The conditions of one run of an experiment, as the caller states them.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The number of job files.
    pub files: usize,
    /// The seed of the first job file; the others follow it one by one.
    pub seed: u64,
    /// The number of threads for simulations, and for the timing of concurrent decisions.
    pub threads: usize,
    /// Whether to include the sections that measure wall-clock time.
    pub timed: bool,
    /// The command that repeats this run.
    pub command: String,
    /// Rows of measurements, for the experiment on these.
    pub rows: Option<GivenRows>,
}

impl Plan {
    /// The seeds of the job files.
    pub fn seeds(&self) -> impl ExactSizeIterator<Item = u64> + Clone + use<> {
        let first = self.seed;
        (0..self.files).map(move |file| first.wrapping_add(file as u64))
    }
}

/// Runs every setting on every job file. `one(setting, seed)` returns one result for each policy
/// of the setting; the answer is indexed by setting, policy and file. The number of threads
/// changes no result.
///
/// # Errors
/// An error of `one`, if there is any; a thread pool that cannot be built.
pub fn on_files<T: Send>(
    plan: &Plan,
    bar: &dyn Progress,
    settings: usize,
    one: impl Fn(usize, u64) -> Result<Vec<T>, Error> + Sync,
) -> Result<Vec<Vec<Vec<T>>>, Error> {
    let seeds: Vec<u64> = plan.seeds().collect();
    let tasks: Vec<(usize, u64)> = (0..settings)
        .flat_map(|setting| seeds.iter().map(move |&seed| (setting, seed)))
        .collect();
    bar.tasks(tasks.len() as u64);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(plan.threads)
        .build()
        .map_err(Error::malformed)?;
    let by_task: Vec<Vec<T>> = pool.install(|| {
        tasks
            .par_iter()
            .map(|&(setting, seed)| one(setting, seed).inspect(|_| bar.done()))
            .collect::<Result<_, _>>()
    })?;
    // Tasks are ordered by setting, then by file: each setting owns one stretch of the results.
    let mut by_task = by_task.into_iter();
    Ok((0..settings)
        .map(|_| by_policy(by_task.by_ref().take(seeds.len())))
        .collect())
}

/// Turns results by file and policy into results by policy and file.
fn by_policy<T>(files: impl Iterator<Item = Vec<T>>) -> Vec<Vec<T>> {
    let mut policies: Vec<Vec<T>> = Vec::new();
    for file in files {
        policies.resize_with(file.len(), Vec::new);
        for (policy, result) in policies.iter_mut().zip(file) {
            policy.push(result);
        }
    }
    policies
}
