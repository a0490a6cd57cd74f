//! What joins the machines of a fleet.

/// The network that joins the machines of a fleet, and when jobs use it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub(super) struct FleetNetwork {
    pub(super) gbps: f64,
    /// Whether jobs that would have to wait for one machine are spread too.
    pub(super) when_busy: bool,
}

impl FleetNetwork {
    /// Whether there can be such a network.
    pub(super) fn is_possible(&self) -> bool {
        self.gbps.is_finite() && self.gbps > 0.0
    }
}
