//! The workloads of a sweep.

use std::borrow::Cow;
use std::fmt;

use mapa_sim::Workload;

use super::hash::Hash;
use super::request::SweepRequest;
use crate::error::Error;
use crate::files::Files;
use crate::workload::{WorkloadSpec, generated};

/// A workload of a sweep.
pub struct SweepJobs {
    /// The word of the request: a generator, or a file.
    pub word: String,
    /// The seed of the generator; none for a file.
    pub seed: Option<u64>,
    /// The jobs of a file. Generated jobs are drawn again for every cell: that is cheap, and
    /// keeping all of them would take much memory.
    read: Option<Workload>,
    /// A hash of the jobs.
    pub(super) key: u64,
}

impl SweepJobs {
    fn new(word: &str, seed: Option<u64>, workload: Workload) -> Self {
        let mut hash = Hash::new("jobs");
        hash.jobs(&workload);
        let read = seed.is_none().then_some(workload);
        Self {
            word: word.to_owned(),
            seed,
            read,
            key: hash.finish(),
        }
    }

    /// The jobs, drawn now if they are generated.
    pub(super) fn get(&self) -> Result<Cow<'_, Workload>, Error> {
        match &self.read {
            Some(workload) => Ok(Cow::Borrowed(workload)),
            None => Ok(Cow::Owned(generated(
                &self.word,
                self.seed.unwrap_or_default(),
            )?)),
        }
    }
}

impl fmt::Display for SweepJobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { word, seed, .. } = self;
        match seed {
            Some(seed) => write!(f, "{word} seed {seed}"),
            None => write!(f, "{word}"),
        }
    }
}

/// The workloads of a sweep, in order: generators with each seed, job files, traces.
pub(super) fn workloads(
    request: &SweepRequest,
    files: &dyn Files,
) -> Result<Vec<SweepJobs>, Error> {
    let seeds = request.seeds.as_deref().unwrap_or_default();
    let mut all = Vec::new();
    for word in &request.generate {
        for &seed in seeds {
            // The jobs are drawn here for their hash and for errors in the words. `get` draws them again.
            let workload = generated(word, seed).map_err(|error| error.within("`generate`"))?;
            all.push(SweepJobs::new(word, Some(seed), workload));
        }
    }
    let plain = WorkloadSpec {
        at_once: request.at_once,
        ..WorkloadSpec::default()
    };
    for word in &request.jobs {
        let args = WorkloadSpec {
            jobs: Some(word.clone()),
            ..plain.clone()
        };
        let workload = args.load(files).map_err(|error| error.within("`jobs`"))?;
        all.push(SweepJobs::new(word, None, workload));
    }
    for word in &request.traces {
        let args = WorkloadSpec {
            trace: Some(word.clone()),
            select: request.select.clone(),
            ..plain.clone()
        };
        let workload = args.load(files).map_err(|error| error.within("`traces`"))?;
        all.push(SweepJobs::new(word, None, workload));
    }
    Ok(all)
}
