//! What a list is made of.

use crate::job::JobId;

/// A waiting job in a list.
#[derive(Clone, Debug)]
pub(crate) struct Entry<J> {
    pub(crate) id: JobId,
    pub(crate) job: J,
    /// On which terms it starts.
    pub(crate) gene: u8,
    /// How much it counts.
    pub(crate) weight: f64,
}
