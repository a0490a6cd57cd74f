#![doc = include_str!("../README.md")]
#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "libraries answer with errors, and leave printing to their callers"
)]

mod allocator;
mod error;
mod graph;
mod matching;
pub mod mig;
mod pattern;
mod policy;
mod reach;
mod score;
mod state;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod topology;
mod view;

pub use allocator::{Allocator, Lease, LeaseId, Snapshot, WhatIf};
pub use error::Error;
pub use graph::Graph;
pub use matching::{
    GraphMatcher, GraphMatches, GraphSearch, Leaf, Limits, LinkTest, MatchConfig, Matcher, Matches, Outcome, Placement,
    Search, SearchStats, ShareTest, Stop, StopReason, Verifier, Violation,
};
pub use pattern::{Demand, Dimension, Edge, Parallelism, Pattern, Shape, Sharing, Want};
pub use policy::{
    Bandwidth, BuiltIn, Candidate, Census, Channels, Coefficients, Criterion, Decision, Domain, EdgeOn, Form,
    LinkModel, Objective, OrElse, PCIE_GEN4_GBPS, Policy, Rates, Reason, Refusal, Request, RingPacking, Rules,
    RunnerUp, Scored, Seat, SloSignals, StepTime, Subset, Term, Tiers, TreePacking, When, Within, aggregate_gbps, case,
    distributed, earliest_finish, edges_seconds, effective_gbps, effective_gbps_with, greedy, largest_first, least,
    lowest_id, lowest_ids, max, max_bandwidth, max_bandwidth_with, min, min_step_time, most, packed, pcie_aware,
    pcie_slowdown, pcie_slowdown_on, preserve, preserve_released, preserve_with, preserved_direct_gbps, preserved_gbps,
    random, ring_packing_gbps, slo_aware, smallest_first, step_seconds, topo_aware, topo_aware_released, when, within,
};
pub use score::AllToAll;
pub use score::Bandwidth;
pub use state::Usage;
pub use topology::{
    Device, DeviceId, DeviceInfo, DeviceSet, Fabric, FabricNode, FabricWire, HardwareGraph, Link, LinkClass,
    MAX_DEVICES, NodeId, NodeKind, Pair, PortId, Region, Unit,
};
pub use view::{MachineId, Stamp, View};
