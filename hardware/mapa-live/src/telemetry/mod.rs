//! Telemetry: what this machine does, as facts with a time.
//!
//! A [`Sampler`] reads counters, and yields a [`Sample`] of rates since the one before: devices by NVML, CPUs
//! and processes by `/proc`, block I/O, network, interrupts, and the metrics of exporters. What cannot be read
//! is reported as [`MissingSignal`], never as zero. [`read_latencies`] reads the latencies that programs report.
//! [`path_use`] and [`node_use`] say what a sample comes to on a path and at a NUMA node.
//!
//! Memory is flat: a sampler keeps the counters of one sample, and the lists have an end ([`MOST`]).

mod counter;
mod cpu;
mod disk;
mod gpu;
mod latencies;
mod missing;
mod net;
mod prometheus;
mod sampler;
mod scrape;
mod scrapes;
mod signals;

pub use counter::{CounterDelta, Width, since};
pub use cpu::{CpuUse, ProcessUse};
pub use disk::{DiskUse, GroupIo};
pub use gpu::GpuUse;
pub use latencies::{LATENCY_BYTES, Latency, read_latencies};
pub use missing::{MOST, MissingSignal};
pub use net::NicUse;
pub use prometheus::{Metric, read_metrics};
pub use sampler::{Sample, Sampler, SamplerConfig};
pub use scrape::{Exporter, ScrapeResult, ScrapeTarget, signals_of};
pub use signals::{NodeUse, PathUse, node_use, path_use};
