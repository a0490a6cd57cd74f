#![doc = include_str!("../README.md")]
#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "libraries answer with errors, and leave printing to their callers"
)]

mod error;
mod execution;
mod metrics;
mod outcome;
mod random;
mod simulation;
mod table;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod workload;

pub use error::Error;
pub use execution::{
    ByBandwidth, BySize, Coupling, Execution, ExecutionRow, Fixed, computing, executions,
};
pub use mapa_sched::Residency;
pub use metrics::{
    BOUND, Better, Fragmentation, Group, GroupSize, Interval, Jobs, MEASURES, Measure,
    MeasureScope, Occupancy, Occupant, OverTime, Point, Pool, Pooled, Quartiles, Row, Scorer,
    Scores, Seat, Simulated, Span, Summary, Unit, mean_interval, paired_interval, quantile,
    share_interval,
};
pub use outcome::{Outcome, Rejected, Run, TaskRun};
pub use random::{GENERATOR, stream};
pub use simulation::Simulation;
#[cfg(feature = "parquet")]
pub use table::ParquetWriter;
pub use table::{Column, Table};
pub use workload::{
    Arrivals, Ask, Generate, Generator, GeneratorRow, Growth, MAX_JOBS, Profile, RunTimes,
    Selection, SharedDevices, Sizes, Submission, Task, TaskPlan, TraceKind, Workload, read_jobs,
    read_profiles, read_run_times, read_trace, read_trace_part, write_jobs, write_profiles,
};
