//! The jobs that wait, in classes: jobs with equal requests and equal slopes form a class, and get
//! the same answer.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::sync::Arc;
use std::time::Duration;

use mapa_core::mig::Size;
use mapa_core::{Request, Want};

use mapa_sched::Time;
use mapa_sched::{Job, JobId};

/// A job that waits.
#[derive(Clone, Debug)]
pub(super) struct PcieWaitingJob {
    pub(super) job: Arc<Job>,
    /// Its number in order of arrival: how many jobs had arrived before it.
    pub(super) serial: u64,
    /// The moment since which it has waited.
    pub(super) since: Time,
}

/// Jobs with equal requests that PCIe slows down alike.
#[derive(Clone, Debug)]
pub(super) struct PcieClass {
    pub(super) number: u64,
    pub(super) request: Request,
    pub(super) alpha: f64,
    /// The highest PCIe traffic of any rank, GB/s.
    pub(super) gbps: f64,
    /// The size, if the request is for one instance of a size and nothing else.
    pub(super) size: Option<Size>,
    /// Whether an idle fleet is known to have room for such a job.
    pub(super) feasible: bool,
    jobs: BTreeMap<u64, PcieWaitingJob>,
}

impl PcieClass {
    fn new(number: u64, job: &Job) -> Self {
        let request = job.request.clone();
        let demands = request.pattern.demands();
        let mb_s = demands
            .iter()
            .map(|demand| demand.pcie_mb_s)
            .max()
            .unwrap_or(0);
        let plain = Request {
            sensitivity: request.sensitivity,
            ..Request::new(request.pattern.clone())
        };
        let size = match demands {
            [demand] if plain == request && !demand.is_shared() && demand.memory_bytes == 0 => {
                match demand.want {
                    Want::Slice(size) => Some(size),
                    _ => None,
                }
            }
            _ => None,
        };
        let (alpha, gbps) = (job.pcie_alpha, f64::from(mb_s) / 1000.0);
        Self {
            number,
            request,
            alpha,
            gbps,
            size,
            feasible: false,
            jobs: BTreeMap::new(),
        }
    }

    fn is_of(&self, job: &Job) -> bool {
        self.alpha.to_bits() == job.pcie_alpha.to_bits() && self.request == job.request
    }
}

/// The waiting jobs in order of arrival, by class.
#[derive(Clone, Debug, Default)]
pub(super) struct PcieQueue {
    classes: BTreeMap<u64, PcieClass>,
    /// The class and the number of each waiting job.
    there: HashMap<JobId, (u64, u64), BuildHasherDefault<DefaultHasher>>,
    /// The numbers of the jobs that request one instance, by its size.
    of_size: BTreeMap<Size, BTreeSet<u64>>,
    since: BTreeMap<u64, Time>,
    serial: u64,
    /// All jobs with a lower number have waited longer than the threshold.
    starving: u64,
    /// Whether jobs are numbered by their run times first, and by arrival only then.
    pub(super) is_shortest_first: bool,
}

/// The number of a job by its run time: the lower bits count jobs of one run time, in milliseconds.
fn by_length(job: &Job, size: Option<Size>, serial: u64) -> u64 {
    const COUNT: u32 = 24;
    let length = job.run_time.on(size).unwrap_or(Duration::MAX);
    let millis = u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
    millis.min(u64::MAX >> (COUNT + 1)) << COUNT | serial & ((1 << COUNT) - 1)
}

impl PcieQueue {
    pub(super) fn len(&self) -> usize {
        self.there.len()
    }

    pub(super) fn jobs(&self) -> impl Iterator<Item = &Job> {
        let mut all: Vec<&PcieWaitingJob> = self
            .classes
            .values()
            .flat_map(|class| class.jobs.values())
            .collect();
        all.sort_unstable_by_key(|entry| entry.serial);
        all.into_iter().map(|entry| &*entry.job)
    }

    /// Adds a job. O(c) for c classes.
    pub(super) fn push(&mut self, job: Job, now: Time) {
        let serial = self.serial;
        self.serial += 1;
        let found = self
            .classes
            .iter()
            .find(|(_, class)| class.is_of(&job))
            .map(|(&number, _)| number);
        // A class is numbered by its first job.
        let number = found.unwrap_or(serial);
        let class = self
            .classes
            .entry(number)
            .or_insert_with(|| PcieClass::new(number, &job));
        let serial = if self.is_shortest_first {
            by_length(&job, class.size, serial)
        } else {
            serial
        };
        if let Some(size) = class.size {
            self.of_size.entry(size).or_default().insert(serial);
        }
        self.there.insert(job.id, (number, serial));
        self.since.insert(serial, now);
        class.jobs.insert(
            serial,
            PcieWaitingJob {
                job: Arc::new(job),
                serial,
                since: now,
            },
        );
    }

    /// Removes a job, if it waits.
    pub(super) fn forget(&mut self, job: JobId) {
        let Some((number, serial)) = self.there.remove(&job) else {
            return;
        };
        self.since.remove(&serial);
        let Some(class) = self.classes.get_mut(&number) else {
            return;
        };
        class.jobs.remove(&serial);
        if let Some(waiting) = class.size.and_then(|size| self.of_size.get_mut(&size)) {
            waiting.remove(&serial);
        }
        if class.jobs.is_empty() {
            self.classes.remove(&number);
        }
    }

    pub(super) fn class(&self, number: u64) -> Option<&PcieClass> {
        self.classes.get(&number)
    }

    pub(super) fn class_mut(&mut self, number: u64) -> Option<&mut PcieClass> {
        self.classes.get_mut(&number)
    }

    /// The classes for which it is not known yet whether an idle fleet has room.
    pub(super) fn new_classes(&self) -> impl Iterator<Item = u64> + '_ {
        self.classes
            .values()
            .filter(|class| !class.feasible)
            .map(|class| class.number)
    }

    /// The first job of each class.
    pub(super) fn heads(&self) -> impl Iterator<Item = (&PcieClass, &PcieWaitingJob)> {
        self.classes
            .values()
            .filter_map(|class| Some((class, class.jobs.first_key_value()?.1)))
    }

    /// The jobs of a class.
    pub(super) fn of_class(&self, number: u64) -> impl Iterator<Item = &PcieWaitingJob> {
        self.class(number)
            .into_iter()
            .flat_map(|class| class.jobs.values())
    }

    /// The first job of a class whose number is at least `from`.
    pub(super) fn next_of(&self, number: u64, from: u64) -> Option<&PcieWaitingJob> {
        self.class(number)?
            .jobs
            .range(from..)
            .next()
            .map(|(_, entry)| entry)
    }

    /// The numbers of the jobs that wait for one instance of a size, by size.
    pub(super) fn by_size(&self) -> impl Iterator<Item = (Size, &BTreeSet<u64>)> {
        self.of_size
            .iter()
            .filter(|(_, waiting)| !waiting.is_empty())
            .map(|(&size, waiting)| (size, waiting))
    }

    /// The moment at which the next job will have waited for the threshold. Amortised O(log n); O(n)
    /// where the shortest job goes first.
    pub(super) fn next_starving(&mut self, now: Time, threshold: Duration) -> Option<Time> {
        if self.is_shortest_first {
            let waits = self.since.values();
            let young = waits.filter(|&&since| now.since(since) < threshold);
            return young.min().map(|&since| since + threshold);
        }
        loop {
            let (&serial, &since) = self.since.range(self.starving..).next()?;
            if now.since(since) < threshold {
                return Some(since + threshold);
            }
            self.starving = serial + 1;
        }
    }
}
