//! How much more a job counts the longer it has waited.

/// A job counts once until it has waited `patience` seconds, and once more with every further
/// `pace` seconds. So nobody starves for others' sake, but nothing bounds a wait: a bound on
/// overtaking does, and belongs to the scheduler.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ageing {
    /// How long a job waits before it counts more, seconds; infinity for no ageing.
    pub patience: f64,
    /// How long it takes a job to count once more, seconds; above 0.
    pub pace: f64,
}

impl Ageing {
    /// The weight of a job that has waited this long, seconds.
    pub fn weight(&self, waited: f64) -> f64 {
        1.0 + (waited - self.patience).max(0.0) / self.pace
    }
}
