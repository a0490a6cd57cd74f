//! Real processes in place of GPUs, to compare simulations with.
//!
//! A job is a process that copies memory and computes, each at its own speed. Jobs on
//! one device share a PCIe port: a token bucket that admits each chunk. Everything else is as
//! on a real machine: the scheduler gets events after they have happened ([`replay`](replay())), an
//! operating system runs the processes, and time does not stop.
//!
//! **The program** that calls [`replay`](replay()) starts itself as `PROGRAM workers work --compute S
//! --bytes N --chunk N --ahead N --buffer N`, and must answer that with [`work`](work()).
//!
//! **What is real.** Workers really copy, chunk by chunk, and no code computes how long a job
//! takes: that follows from the order of requests. The port serves requests in order, and a worker
//! has at most one open request. So the port is split equally among workers that request all the
//! time, for every size of instance, as Tang et al. measured it (Fig. 1). A worker that requests
//! less gets all that it requests.
//!
//! **What is not.** A worker computes by sleeping, which stands for kernels that do not use the
//! host. Time and bandwidth are scaled down, so that neither memory nor cores limit the copies.
//! Processes start before the clock, and wait.

use std::time::Duration;

use mapa_core::PCIE_GEN4_GBPS;
use mapa_core::mig::{Layout, Model};

mod bucket;
mod copies;
mod process;
mod replay;
mod retrace;
mod worker;

pub use copies::copy_throughput;
pub use replay::{completion_times, replay};
pub use retrace::Retrace;
pub use worker::{WorkerJob, work};

/// How the model's time and bandwidth are scaled to wall-clock time and real copies.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Wall-clock seconds for a second of the model. Default: 0.02.
    pub pace: f64,
    /// The bandwidth of a port in the model, GB/s. Default: [`PCIE_GEN4_GBPS`].
    pub max_gbps: f64,
    /// The bandwidth that a port really admits, bytes/s. Default: 128 MiB/s.
    pub port_bytes_per_s: f64,
    /// The bytes that a worker copies at once. Default: 128 KiB, a millisecond of a port.
    pub chunk: u32,
    /// The number of chunks that a port admits at once after a pause, with which a late process
    /// catches up. Default: 4.
    pub burst: u32,
    /// The number of chunks that a worker copies ahead of its computation. Default: 4.
    pub ahead: u32,
    /// The size of the memory from which, and of that to which, a worker copies, bytes. Default:
    /// 16 MiB each, with which two workers fill most caches.
    pub buffer: usize,
    /// The limit on the wall-clock time of a replay. Default: 10 minutes.
    pub limit: Duration,
    /// The time of a repartition in the model. Default: no time.
    pub repartition: fn(&Model, &Layout, &Layout) -> Duration,
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
    /// The bytes that are really copied for a gigabyte of the model.
    fn bytes_per_gb(&self) -> f64 {
        self.port_bytes_per_s / self.max_gbps * self.pace
    }
}
