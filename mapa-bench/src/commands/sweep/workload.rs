//! The workloads of a sweep.

use std::borrow::Cow;
use std::fmt;

use mapa_sim::Workload;

use super::file::SweepFile;
use super::plan::{Hash, under};
use crate::failure::Failure;
use crate::simulation::{WorkloadArgs, generated, workload};

/// A workload.
pub(super) struct Jobs {
    /// The generator, or the file.
    pub(super) word: String,
    pub(super) seed: Option<u64>,
    /// What was read. What is drawn is drawn again for every cell, which takes less time than it would take memory.
    read: Option<Workload>,
    /// A hash of its jobs.
    pub(super) key: u64,
}

impl Jobs {
    fn new(word: &str, seed: Option<u64>, workload: Workload) -> Self {
        let mut hash = Hash::new("jobs");
        hash.jobs(&workload);
        let read = seed.is_none().then_some(workload);
        Self { word: word.to_owned(), seed, read, key: hash.finish() }
    }

    pub(super) fn get(&self) -> Result<Cow<'_, Workload>, Failure> {
        match &self.read {
            Some(workload) => Ok(Cow::Borrowed(workload)),
            None => generated(&self.word, self.seed.unwrap_or_default()).map(Cow::Owned),
        }
    }
}

impl fmt::Display for Jobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { word, seed, .. } = self;
        match seed {
            Some(seed) => write!(f, "{word} seed {seed}"),
            None => write!(f, "{word}"),
        }
    }
}

/// The workloads of a sweep file, in order.
pub(super) fn workloads(file: &SweepFile) -> Result<Vec<Jobs>, Failure> {
    let seeds = file.seeds.as_ref().map_or(&[][..], |seeds| &seeds.0);
    let draws = file.generate.0.iter().flat_map(|word| seeds.iter().map(move |&seed| (word, seed)));
    let drawn = draws.map(|(word, seed)| {
        let workload = generated(word, seed).map_err(|failure| under("generate", failure))?;
        Ok(Jobs::new(word, Some(seed), workload))
    });
    let read = |key, word: &str, args: WorkloadArgs| {
        let workload = workload(&args).map_err(|failure| under(key, failure))?;
        Ok(Jobs::new(word, None, workload))
    };
    let plain = || WorkloadArgs {
        jobs: None,
        trace: None,
        select: None,
        generate: None,
        run_times: None,
        seed: 1,
        at_once: file.at_once,
    };
    let jobs = file.jobs.0.iter().map(|word| read("jobs", word, WorkloadArgs { jobs: Some(word.clone()), ..plain() }));
    let traces = file.traces.0.iter().map(|word| {
        read("traces", word, WorkloadArgs { trace: Some(word.clone()), select: file.select.clone(), ..plain() })
    });
    drawn.chain(jobs).chain(traces).collect()
}
