//! What a request can name: policies, schedulers, models of run time and of bandwidth, scores.
//!
//! [`Names::built_in`] has what MAPA ships. A program adds rows of its own, which then work in
//! every request, as the built-in ones do.

mod executions;
mod models;
mod policies;
mod registry;
mod schedulers;

pub use crate::scores::{SCORES, ScoreRow, Unit, score_row, score_text};
pub use executions::{ExecutionRow, LinkEffect};
pub use models::{FILES, ModelRow};
pub use policies::{Choice, PolicyRow, Preserved};
pub use registry::{Registry, Row};
pub use schedulers::SchedulerRow;

/// Everything that a request can name.
///
/// # Examples
/// A policy of a program's own, found by name like any other:
/// ```
/// use mapa_core::{Pattern, Policy, Request, lowest_id};
/// use mapa_front::names::{Choice, Names, PolicyRow};
///
/// let mut names = Names::built_in();
/// names.policies.add(PolicyRow::new("mine", "the lowest ids, under my name", |_| {
///     Ok(Box::new(lowest_id().named("mine")))
/// }))?;
/// let mine = names.policy("mine", &Choice::default())?;
/// assert_eq!(mine.name(), "mine");
/// # Ok::<(), mapa_front::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Names {
    /// Placement policies.
    pub policies: Registry<PolicyRow>,
    /// Schedulers.
    pub schedulers: Registry<SchedulerRow>,
    /// Models of run time.
    pub executions: Registry<ExecutionRow>,
    /// Models of bandwidth.
    pub models: Registry<ModelRow>,
}

impl Names {
    /// What MAPA ships.
    #[must_use]
    pub fn built_in() -> Self {
        Self {
            policies: policies::built_in(),
            schedulers: schedulers::built_in(),
            executions: executions::built_in(),
            models: models::built_in(),
        }
    }
}
