//! What no schedule of a file is below.

use mapa_sim::Workload;

use super::setting::Ready;

/// Bounds of a file that hold for clairvoyant, preemptive, migrating schedules.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bound {
    /// Seconds until the last job ends.
    pub(super) makespan: f64,
    /// Mean seconds from arrival to end.
    pub(super) completion: f64,
}

/// The largest bounds computed for a file; with `quick`, of those that need no linear program.
/// `None` where none is computed.
///
/// Bounds are not part of this program yet: this is the one place where they are made.
pub(super) fn bound(_ready: &Ready, _jobs: &Workload, _quick: bool) -> Option<Bound> {
    None
}
