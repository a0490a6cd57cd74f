//! What a list is made of.

use crate::job::JobId;

/// A waiting job in a list.
#[derive(Clone, Debug)]
pub struct PlanEntry<J> {
    /// The number of the job.
    pub id: JobId,
    /// What the physics knows of the job.
    pub job: J,
    /// On which terms it starts.
    pub gene: u8,
    /// The factor of the job in the cost of the plan, such as one by [`Ageing`](super::Ageing).
    pub weight: f64,
}
