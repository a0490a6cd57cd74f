//! Real processes in place of GPUs: what a simulation says is held against what happens.
//!
//! A job is a process ([`worker`]) that copies memory and computes, each at its own speed. What jobs share is a PCIe port: a token
//! [`bucket`] that all workers on one device ask before each chunk. Everything else is left as it is on a real machine: the
//! scheduler hears of facts when they have happened ([`replay`](replay())), processes are run by an operating system, and clocks go on.
//!
//! **What is honest about it.** Workers really copy, chunk by chunk, and nobody computes how long a job takes: that follows from
//! who asks when. The port serves requests in the order in which they come, and a worker has one open at most, so that the split is
//! equal among those who ask all the time, whatever the size of their instances, as Tang et al. measured it (Fig. 1). Whoever
//! asks for less gets all that it asks for.
//!
//! **What is not.** Computing is sleeping: it stands for kernels, which do not use the host. Time and bandwidth are scaled down, so that
//! neither memory nor cores are what limits the copies. Processes are started before the clock is, and wait.

use std::time::Duration;

use mapa_core::PCIE_GEN4_GBPS;
use mapa_core::mig::{Layout, Model};

mod bucket;
mod copies;
mod process;
mod replay;
mod retrace;
mod worker;

pub(crate) use copies::copy_throughput;
pub(crate) use replay::{completion_times, replay};
pub(crate) use retrace::Retrace;
pub(crate) use worker::{WorkerArgs, seconds, work};

/// How the model's time and bandwidth become real ones.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Real seconds that a second of the model takes. Default: 0.02.
    pub(crate) pace: f64,
    /// What a port carries in the model, GB/s. Default: [`PCIE_GEN4_GBPS`].
    pub(crate) max_gbps: f64,
    /// What it really lets through, bytes/s. Default: 128 MiB/s.
    pub(crate) port_bytes_per_s: f64,
    /// What a worker copies at once, bytes. Default: 128 KiB, a millisecond of a port.
    pub(crate) chunk: u32,
    /// How many chunks a port lets through at once after a pause: what a late process can catch up with. Default: 4.
    pub(crate) burst: u32,
    /// How many chunks a worker copies ahead of what it computes on. Default: 4.
    pub(crate) ahead: u32,
    /// From and to how much memory a worker copies, bytes. Default: 16 MiB each, with which two workers fill most caches.
    pub(crate) buffer: usize,
    /// How long a replay may really take. Default: 10 minutes.
    pub(crate) limit: Duration,
    /// How long it takes in the model to cut a device of this kind up anew. Default: no time.
    pub(crate) repartition: fn(&Model, &Layout, &Layout) -> Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            pace: 0.02,
            max_gbps: PCIE_GEN4_GBPS,
            port_bytes_per_s: f64::from(128 << 20),
            chunk: 128 << 10,
            burst: 4,
            ahead: 4,
            buffer: 16 << 20,
            limit: Duration::from_secs(600),
            repartition: |_, _, _| Duration::ZERO,
        }
    }
}

impl Settings {
    /// How many bytes are really copied for a gigabyte of the model.
    fn bytes_per_gb(&self) -> f64 {
        self.port_bytes_per_s / self.max_gbps * self.pace
    }
}
