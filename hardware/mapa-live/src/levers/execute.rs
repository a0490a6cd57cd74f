//! Makes plans, applies them, and reverts them.

use serde::{Deserialize, Serialize};

use super::error::LeverError;
use super::lever_set::LeverSet;
use super::step::{LeverChange, Plan};
use super::{apply, planning, revert};

/// A change that could not be applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("step {step} of {lever}: {why}{}", if left.is_empty() { "; all is as before" } else { "; some is NOT as before" })]
#[serde(deny_unknown_fields)]
pub struct ApplyFailure {
    /// The name of the lever, as [`LeverChange::lever`].
    pub lever: String,
    /// Which step failed, counted from 0.
    pub step: usize,
    /// The error of that step.
    pub why: Box<LeverError>,
    /// The parts that could not be reverted. Empty: everything is as before.
    pub left: Vec<LeverError>,
}

impl LeverSet {
    /// The steps of a change from what is now, within the bounds. Nothing is changed.
    ///
    /// # Errors
    /// Each of [`LeverError`]: a bound, something missing, a layout without room.
    pub fn plan(&self, change: &LeverChange) -> Result<Plan, LeverError> {
        planning::plan(self, &[], change)
    }

    /// Carries a plan out. If a step fails, the steps before it are reverted, and what the failed step
    /// had done.
    ///
    /// # Errors
    /// The step that failed, why, and what could not be reverted.
    pub fn apply(&mut self, plan: &Plan) -> Result<(), ApplyFailure> {
        for (at, step) in plan.steps.iter().enumerate() {
            if let Err(why) = apply::act(self, step) {
                return Err(ApplyFailure {
                    lever: plan.lever.clone(),
                    step: at,
                    why: Box::new(why),
                    // With the step that failed, as it may have been carried out in part.
                    left: revert::take_back(self, &plan.steps[..=at]),
                });
            }
        }
        Ok(())
    }

    /// Reverts a plan, whether all of it was carried out, a part, or nothing. A value that another program has
    /// changed since stays as it is. A second time changes nothing.
    ///
    /// # Errors
    /// The parts that could not be reverted; all others were.
    pub fn revert(&mut self, plan: &Plan) -> Result<(), Vec<LeverError>> {
        let left = revert::take_back(self, &plan.steps);
        if left.is_empty() { Ok(()) } else { Err(left) }
    }
}
