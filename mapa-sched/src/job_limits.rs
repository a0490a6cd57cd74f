//! The limits that are in force, job by job.

use std::collections::BTreeMap;

use crate::event::JobLimit;
use crate::job::JobId;

/// The limits on one job. A limit that is not set is `None`. Default: no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobLimits {
    /// The most block I/O, MB/s (10^6 bytes), each for reads and for writes.
    pub block_io_mb_s: Option<u32>,
    /// PCIe traffic of the whole job, MB/s.
    pub pcie_mb_s: Option<u32>,
    /// The share of the multiprocessors, percent.
    pub mps_percent: Option<u8>,
    /// Whether the job must stay off the cores that serve interrupts.
    pub avoid_interrupt_cores: bool,
}

impl JobLimits {
    fn set(&mut self, guard: JobLimit) {
        match guard {
            JobLimit::BlockIoMbPerS(limit) => self.block_io_mb_s = limit,
            JobLimit::PcieMbPerS(limit) => self.pcie_mb_s = limit,
            JobLimit::MpsPercent(limit) => self.mps_percent = limit,
            JobLimit::AvoidInterruptCores(avoid) => self.avoid_interrupt_cores = avoid,
        }
    }
}

/// The limits on all jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobLimitTable(BTreeMap<JobId, JobLimits>);

impl JobLimitTable {
    /// The limits on a job.
    #[must_use]
    pub fn on(&self, job: JobId) -> JobLimits {
        self.0.get(&job).copied().unwrap_or_default()
    }

    /// Whether no job has a limit.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sets or lifts one limit on a job. The others stay.
    pub fn set(&mut self, job: JobId, guard: JobLimit) {
        let limits = self.0.entry(job).or_default();
        limits.set(guard);
        // A job whose limits were all lifted equals one that never had any.
        if *limits == JobLimits::default() {
            self.0.remove(&job);
        }
    }

    /// Lifts all limits on a job.
    pub fn lift(&mut self, job: JobId) {
        self.0.remove(&job);
    }
}
