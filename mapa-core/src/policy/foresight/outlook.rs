//! What a scheduler knows about the next jobs and the ends of leases.

use std::collections::BTreeMap;

use super::patience::Patience;
use crate::ids::LeaseId;

/// A job that is expected next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Next {
    /// The number of devices it requests.
    pub devices: usize,
    /// Whether its speed depends on the links it gets.
    pub sensitive: bool,
    /// Its run time at full speed, seconds. Used only if [`Outlook::ends`] is given.
    pub seconds: f64,
}

/// What is known about the future of a machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outlook {
    /// The next jobs, in order. Each counts as a ring. Jobs larger than the largest size that the
    /// policy expects, or than the machine, are skipped. More than six or eight jobs are not worth
    /// the time they take.
    pub next: Vec<Next>,
    /// When leases will end, if that is known.
    pub ends: Option<Ends>,
}

/// When the running leases and those of the next jobs end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ends {
    /// By lease, in how many seconds it ends. Leases that are not listed end after all others.
    pub running: BTreeMap<LeaseId, f64>,
    /// The run time at full speed of the job that is placed, seconds.
    pub seconds: f64,
    /// How much slow links slow down sensitive jobs.
    pub slowdown: Patience,
}
