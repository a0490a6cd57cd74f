//! What joins the machines of a fleet.

/// The network that joins the machines of a fleet, and when jobs use it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Network {
    pub(super) gbps: f64,
    /// Whether jobs that would have to wait for one machine are spread too.
    pub(super) when_busy: bool,
}
