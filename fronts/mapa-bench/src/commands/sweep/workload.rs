//! The workloads of a sweep.

use std::borrow::Cow;
use std::fmt;

use mapa_sim::Workload;

use super::file::SweepFile;
use super::hash::Hash;
use mapa_cli::Failure;
use mapa_cli::files::Disk;
use mapa_front::{WorkloadSpec, generated};

/// A workload of a sweep.
pub(super) struct SweepJobs {
    /// The word of the sweep file: a generator, or a file.
    pub(super) word: String,
    pub(super) seed: Option<u64>,
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
    pub(super) fn get(&self) -> Result<Cow<'_, Workload>, Failure> {
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

/// The workloads of a sweep file, in order: generators with each seed, job files, traces.
pub(super) fn workloads(file: &SweepFile) -> Result<Vec<SweepJobs>, Failure> {
    let seeds = file.seeds.as_ref().map_or(&[][..], |seeds| &seeds.0);
    let mut all = Vec::new();
    for word in &file.generate.0 {
        for &seed in seeds {
            // The jobs are drawn here for their hash and for errors in the words. `get` draws them again.
            let workload = generated(word, seed).map_err(|failure| failure.within("`generate`"))?;
            all.push(SweepJobs::new(word, Some(seed), workload));
        }
    }
    let plain = WorkloadSpec {
        at_once: file.at_once,
        ..WorkloadSpec::default()
    };
    for word in &file.jobs.0 {
        let args = WorkloadSpec {
            jobs: Some(word.clone()),
            ..plain.clone()
        };
        let workload = args
            .load(&Disk)
            .map_err(|failure| failure.within("`jobs`"))?;
        all.push(SweepJobs::new(word, None, workload));
    }
    for word in &file.traces.0 {
        let args = WorkloadSpec {
            trace: Some(word.clone()),
            select: file.select.clone(),
            ..plain.clone()
        };
        let workload = args
            .load(&Disk)
            .map_err(|failure| failure.within("`traces`"))?;
        all.push(SweepJobs::new(word, None, workload));
    }
    Ok(all)
}
