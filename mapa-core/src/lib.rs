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
pub mod criteria;
mod error;
mod graph;
mod ids;
mod matching;
pub mod mig;
mod optimum;
mod pattern;
mod policy;
mod reach;
mod request;
mod score;
mod sensitivity;
mod settings;
pub mod sharing;
mod state;
mod stop_flag;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod text;
mod topology;
mod view;

pub use allocator::{Allocator, Lease, Snapshot, WhatIf};
pub use error::Error;
pub use graph::Graph;
pub use ids::{
    DeviceId, LeaseId, LinkClass, MAX_DEVICES, MAX_VERTICES, MachineId, PolicyId, PortId,
};
pub use matching::{
    GraphMatcher, GraphMatches, GraphSearch, Leaf, Limits, LinkTest, MatchConfig, Matcher, Matches,
    Outcome, Placement, Search, SearchStats, ShareTest, StopReason, Verifier, Violation,
};
pub use optimum::Criterion;
pub use pattern::{
    Demand, Dimension, Edge, ModelShape, Parallelism, Pattern, Shape, Sharing, Want,
};
pub use policy::{
    Auto, BestPartition, BuiltIn, Decision, Ends, Foresight, LeastWeight, Lots, ModelUse, Next,
    OrElse, Outlook, PCIE_GEN4_GBPS, Patience, Policy, Prefer, Reason, Refusal, Rules, RunnerUp,
    Scored, SetChoices, SetScores, Wait, When, Within, auto, auto_by, auto_for, auto_for_edges,
    auto_with, best_partition, default_model, distributed, fewest_warps, fitting_expected,
    fitting_model, foresight, greedy, least_port_slowdown, least_weight, lowest_id, max_bandwidth,
    max_bandwidth_with, min_edges_seconds, min_step_time, packed, pcie_slowdown, pcie_slowdown_on,
    preserve, preserve_released, preserve_with, random, topo_aware, topo_aware_released, when,
    within,
};
pub use request::Request;
pub use score::{
    AllToAll, Bandwidth, Candidate, Census, Channels, Class, Coefficients, DataWay, Domain, EdgeOn,
    Efficiency, Estimate, Expected, Factor, Form, Hop, LinkModel, Objective, Operation, Part,
    Rates, RingPacking, Seat, Share, Spread, StepTime, Subset, Term, Tiers, TreePacking, Use,
    WayTerm, aggregate_gbps, all_to_all_gbps, edges_seconds, effective_gbps, effective_gbps_with,
    host_distance, host_distance_left, host_hops, host_sharing, preserved_direct_gbps,
    preserved_gbps, ring_packing_gbps, step_seconds, tree_packing_gbps,
};
pub use sensitivity::Sensitivity;
pub use settings::{Setting, Settings};
pub use state::Usage;
pub use stop_flag::StopFlag;
pub use text::{MAX_TOML_BYTES, check_size, shortened};
pub use topology::{
    Device, DeviceInfo, DeviceSet, Fabric, FabricNode, FabricWire, HardwareGraph, HostLinks,
    HostNetwork, HostRates, Link, LinksUp, NodeId, NodeKind, Pair, PeerAccess, PeerSource, Region,
    Unit,
};
pub use view::{Stamp, Stop, View};
