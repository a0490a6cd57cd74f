//! Algorithm 1 as it is printed, to show what it does.
//!
//! The printed loop launches a job many times, which no [`Scheduler`](mapa_sched::Scheduler) can order.
//! So it runs here on its own clock, with one fault after another corrected.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Which faults of the printed Algorithm 1 are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrintedFaults {
    /// Lines 26 and 27 pop twice for one launch, so every other job is lost.
    pub double_pop: bool,
    /// Nothing ends the loop of line 10 after a launch, so one job takes every GPU.
    pub no_break: bool,
    /// No line takes a launched isolated job out of its queue, so it is launched again.
    pub no_removal: bool,
    /// Line 11 wants a footprint that equals the memory of the GPU. Corrected: it is below that.
    pub equality: bool,
}

impl PrintedFaults {
    /// As printed.
    pub const ALL: Self = Self {
        double_pop: true,
        no_break: true,
        no_removal: true,
        equality: true,
    };

    /// All corrected.
    pub const NONE: Self = Self {
        double_pop: false,
        no_break: false,
        no_removal: false,
        equality: false,
    };
}

/// A job of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrintedJob {
    /// Its footprint, bytes.
    pub footprint: u64,
    /// How long one launch of it runs, seconds.
    pub seconds: u64,
}

/// How a run of the printed loop ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrintedEnd {
    /// As many launches have completed as the batch has jobs.
    Batch,
    /// Nothing runs, and line 33 waits for ever.
    WaitsForEver,
    /// Line 27 pops an empty queue.
    PopsEmptyQueue,
}

/// What a run of the printed loop did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrintedRun {
    /// How it ended.
    pub end: PrintedEnd,
    /// Every launch in order: the job (isolated jobs are numbered first, then the others), and the
    /// GPU of an isolated one.
    pub launches: Vec<(usize, Option<usize>)>,
    /// The second at which it ended.
    pub seconds: u64,
}

impl PrintedRun {
    /// How many different jobs ran.
    #[must_use]
    pub fn jobs(&self) -> usize {
        let jobs: BTreeSet<usize> = self.launches.iter().map(|launch| launch.0).collect();
        jobs.len()
    }
}

/// Algorithm 1 on a batch, with the faults that are kept.
#[derive(Clone, Debug)]
pub struct PrintedAlgorithm {
    faults: PrintedFaults,
    gpus: Vec<u64>,
    max_workers: usize,
}

impl PrintedAlgorithm {
    /// The loop on GPUs (instances) of this memory, bytes, with this many workers.
    #[must_use]
    pub fn new(faults: PrintedFaults, gpus: Vec<u64>, max_workers: usize) -> Self {
        Self {
            faults,
            gpus,
            max_workers,
        }
    }

    /// Runs a batch. A job that needs no isolation runs for its seconds whatever else runs.
    ///
    /// # Complexity
    /// O(n j g) for n launches that complete, j isolated jobs and g GPUs. It ends: every turn of the
    /// loop completes a launch, and no more complete than there are jobs.
    #[must_use]
    pub fn run(&self, isolated: &[PrintedJob], others: &[PrintedJob]) -> PrintedRun {
        let jobs: Vec<PrintedJob> = isolated.iter().chain(others).copied().collect();
        let mut queue: Vec<usize> = (0..isolated.len()).collect();
        let mut second: VecDeque<usize> = (isolated.len()..jobs.len()).collect();
        let mut has_isolated = vec![false; self.gpus.len()];
        // Line 15: the GPU of a job is the last on which it was launched.
        let mut gpu_of = BTreeMap::new();
        // By the second of its end, then by launch: the job.
        let mut running = BTreeMap::new();
        let mut run = PrintedRun {
            end: PrintedEnd::WaitsForEver,
            launches: Vec::new(),
            seconds: 0,
        };
        let mut completed = 0;
        let ends = |run: &PrintedRun, job: usize| {
            (
                run.seconds.saturating_add(jobs[job].seconds),
                run.launches.len(),
            )
        };
        while completed < jobs.len() {
            // Lines 5 to 20.
            let mut launched = BTreeSet::new();
            for &job in &queue {
                if running.len() >= self.max_workers {
                    break;
                }
                for (gpu, &memory) in self.gpus.iter().enumerate() {
                    if has_isolated[gpu] || !self.fits(jobs[job].footprint, memory) {
                        continue;
                    }
                    has_isolated[gpu] = true;
                    gpu_of.insert(job, gpu);
                    running.insert(ends(&run, job), job);
                    run.launches.push((job, Some(gpu)));
                    launched.insert(job);
                    if !self.faults.no_break {
                        break;
                    }
                }
            }
            if !self.faults.no_removal {
                queue.retain(|job| !launched.contains(job));
            }
            // Lines 21 to 30.
            while running.len() < self.max_workers && !second.is_empty() {
                if self.faults.double_pop {
                    second.pop_front();
                }
                let Some(job) = second.pop_front() else {
                    run.end = PrintedEnd::PopsEmptyQueue;
                    return run;
                };
                running.insert(ends(&run, job), job);
                run.launches.push((job, None));
            }
            // Lines 31 to 38: one completion a turn.
            let Some(((second, _), job)) = running.pop_first() else {
                return run;
            };
            run.seconds = second;
            if let Some(&gpu) = gpu_of.get(&job) {
                has_isolated[gpu] = false;
            }
            completed += 1;
        }
        run.end = PrintedEnd::Batch;
        run
    }

    fn fits(&self, footprint: u64, memory: u64) -> bool {
        if self.faults.equality {
            footprint == memory
        } else {
            footprint < memory
        }
    }
}
