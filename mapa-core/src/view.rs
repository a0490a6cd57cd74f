//! The state as a policy sees it: read-only.

use std::fmt;

use crate::matching::Stop;
use crate::policy::{Decision, Policy, Refusal, Request};
use crate::topology::{DeviceSet, HardwareGraph};

/// A machine of a fleet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct MachineId(pub u32);

/// Which state a decision was made on. Only a decision on the present state can be committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stamp {
    /// The machine.
    pub machine: MachineId,
    /// Its graph's [fingerprint](HardwareGraph::fingerprint): ids are only told apart within a fleet.
    pub fingerprint: u64,
    /// How often its state has changed.
    pub generation: u64,
    /// Whether the state was imagined: such decisions say what would be, and cannot be committed.
    pub imagined: bool,
}

/// What is free on a machine at some moment. Cheap to copy; made by [`Allocator::view`](crate::Allocator::view) or
/// [`HardwareGraph::with_free`].
#[derive(Clone, Copy)]
pub struct View<'a> {
    graph: &'a HardwareGraph,
    free: &'a DeviceSet,
    stamp: Stamp,
    until: Option<Stop<'a>>,
}

impl<'a> View<'a> {
    pub(crate) fn new(graph: &'a HardwareGraph, free: &'a DeviceSet, stamp: Stamp) -> Self {
        Self { graph, free, stamp, until: None }
    }

    pub(crate) fn imagined(graph: &'a HardwareGraph, free: &'a DeviceSet) -> Self {
        Self::new(
            graph,
            free,
            Stamp { machine: MachineId::default(), fingerprint: graph.fingerprint(), generation: 0, imagined: true },
        )
    }

    /// The machine's graph.
    #[must_use]
    pub fn graph(&self) -> &'a HardwareGraph {
        self.graph
    }

    /// The devices without a tenant.
    #[must_use]
    pub fn free(&self) -> &'a DeviceSet {
        self.free
    }

    /// Which state this is.
    #[must_use]
    pub fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// The same state with fewer devices to choose from: `fewer` counts as all that is free, for "what stays free" too.
    /// A decision on it can still be committed if its devices are free indeed.
    #[must_use]
    pub fn limited_to(self, fewer: &'a DeviceSet) -> Self {
        Self { free: fewer, ..self }
    }

    /// The same state with `free` free instead: imagined.
    #[must_use]
    pub fn as_if_free(self, free: &'a DeviceSet) -> Self {
        Self { free, stamp: Stamp { imagined: true, ..self.stamp }, ..self }
    }

    /// Makes searches stop soon after `stop` has begun to answer true: the caller's deadline.
    #[must_use]
    pub fn until(self, stop: Stop<'a>) -> Self {
        Self { until: Some(stop), ..self }
    }

    pub(crate) fn stop(&self) -> Option<Stop<'a>> {
        self.until
    }

    /// Asks a policy. The same as `policy.decide(request, self)`, the other way round for reading aloud.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub fn decide(&self, policy: impl Policy, request: &Request) -> Result<Decision, Refusal> {
        policy.decide(request, self)
    }
}

impl fmt::Debug for View<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View").field("free", self.free).field("stamp", &self.stamp).finish_non_exhaustive()
    }
}
