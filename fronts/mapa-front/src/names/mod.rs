//! What a request can name: policies, schedulers, models of run time and of bandwidth, scores.
//!
//! [`Names::built_in`] has what MAPA ships. A program adds rows of its own, which then work in
//! every request, as the built-in ones do.

mod all;
#[cfg(feature = "sim")]
mod executions;
mod models;
mod named;
mod policies;
mod registry;
#[cfg(any(test, not(feature = "sim")))]
mod run_times;
mod schedulers;
mod specs;

pub use crate::scores::{SCORES, ScoreRow, Unit, score_row, score_text};
pub use all::Names;
#[cfg(feature = "sim")]
pub use mapa_sim::ExecutionRow;
pub use models::{FILES, ModelRow};
pub use named::{ExecutionSpec, Named, SchedulerSpec};
pub use policies::{Choice, PolicyRow, Preserved};
pub use registry::{Registry, Row};
pub use schedulers::SchedulerRow;
pub use specs::{ModelSpec, PolicySpec};
