//! Workloads: lists of jobs that are read from files, drawn by a generator, or made by hand.
//!
//! A [`Workload`] comes from [`read_jobs`] for job files, from [`read_trace`] for logs of real
//! clusters, or from a [`Generator`]. [`Workload::notes`] lists what was assumed because a file
//! does not say it. Show the notes beside results.

mod cells;
mod file_errors;
mod generate;
mod job_file;
mod notes;
mod numbers;
mod patterns;
mod profiles;
pub(crate) mod ratios;
mod submission;
mod tasks;
mod trace;

pub use file_errors::MAX_JOBS;
pub use generate::{Arrivals, Generate, Generator, GeneratorRow, RunTimes, Sizes, Task};
pub use job_file::{read_jobs, write_jobs};
pub use profiles::{Profile, read_profiles, write_profiles};
pub use submission::{Ask, Growth, Submission, TaskPlan, Workload};
pub use trace::{Selection, SharedDevices, TraceKind, read_run_times, read_trace, read_trace_part};
