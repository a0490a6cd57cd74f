#![doc = include_str!("../README.md")]

#[doc(inline)]
pub use mapa_core::{
    Allocator, Candidate, Decision, Demand, DeviceId, DeviceSet, HardwareGraph, Lease, LeaseId,
    Limits, LinkClass, Objective, Parallelism, Pattern, Placement, Policy, Rates, Refusal, Request,
    RingPacking, Scored, Sensitivity, Shape, Snapshot, TreePacking, View, aggregate_gbps, auto,
    auto_with, effective_gbps, fitting_model, foresight, greedy, lowest_id, max, max_bandwidth,
    max_bandwidth_with, min, min_step_time, preserve, preserved_gbps, ring_packing_gbps,
    topo_aware,
};
#[doc(inline)]
pub use mapa_topologies::{
    Dump, Kind, Labels, Machine, Merged, catalogue, formulas, merge, named, read, recognise,
};

/// Everything of `mapa-core`: graphs, patterns, matching, scores, policies, the allocator.
pub use mapa_core as core;
/// Everything of `mapa-front`: requests in words, TOML and JSON, registries by name, answers.
#[cfg(feature = "front")]
pub use mapa_front as front;
/// Everything of `mapa-live`: the machine that the program runs on.
#[cfg(feature = "live")]
pub use mapa_live as live;
/// Everything of `mapa-patterns`: application graphs from programs.
#[cfg(feature = "patterns")]
pub use mapa_patterns as patterns;
/// Everything of `mapa-regress`: bandwidth models fitted to measurements.
#[cfg(feature = "regress")]
pub use mapa_regress as regress;
/// Everything of `mapa-sched`: fleets and schedulers.
#[cfg(feature = "sched")]
pub use mapa_sched as sched;
/// Everything of `mapa-sim`: simulations of workloads.
#[cfg(feature = "sim")]
pub use mapa_sim as sim;
/// Everything of `mapa-system-case`: jobs that share MIG instances.
#[cfg(feature = "case")]
pub use mapa_system_case as case;
/// Everything of `mapa-system-case-sim`: how long tasks run that share instances.
#[cfg(feature = "case")]
pub use mapa_system_case_sim as case_sim;
/// Everything of `mapa-topologies`: readers, writers, the catalogue, MIG tables.
pub use mapa_topologies as topologies;

/// The library example of the workspace's README, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct WorkspaceReadme;
