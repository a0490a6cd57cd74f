#![doc = include_str!("../README.md")]

#[doc(inline)]
pub use mapa_core::{
    Allocator, Candidate, Decision, Demand, DeviceId, DeviceSet, HardwareGraph, Lease, LeaseId,
    Limits, LinkClass, Objective, Parallelism, Pattern, Placement, Policy, Rates, Refusal, Request,
    RingPacking, Scored, Sensitivity, Shape, Snapshot, TreePacking, View, aggregate_gbps, auto,
    auto_with, criteria, effective_gbps, fitting_model, foresight, greedy, lowest_id,
    max_bandwidth, max_bandwidth_with, min_step_time, preserve, preserved_gbps, ring_packing_gbps,
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
/// Everything of `mapa-system-energy`: jobs with deadlines on MIG slices.
#[cfg(feature = "energy")]
pub use mapa_system_energy as energy;
/// Everything of `mapa-system-energy-sim`: days of such jobs.
#[cfg(feature = "energy")]
pub use mapa_system_energy_sim as energy_sim;
/// Everything of `mapa-system-mapa`: foresight, and plans of order and placement together.
#[cfg(feature = "mapa")]
pub use mapa_system_mapa as mapa;
/// Everything of `mapa-system-pcie`: schedulers of MIG instances that share PCIe.
#[cfg(feature = "pcie")]
pub use mapa_system_pcie as pcie;
/// Everything of `mapa-system-pcie-sim`: run times of jobs that share PCIe.
#[cfg(feature = "pcie")]
pub use mapa_system_pcie_sim as pcie_sim;
/// Everything of `mapa-system-slo`: controllers of tail latency.
#[cfg(feature = "slo")]
pub use mapa_system_slo as slo;
/// Everything of `mapa-system-slo-sim`: tenants beside noisy neighbours, simulated.
#[cfg(feature = "slo")]
pub use mapa_system_slo_sim as slo_sim;
/// Everything of `mapa-topologies`: readers, writers, the catalogue, MIG tables.
pub use mapa_topologies as topologies;

/// The library example of the workspace's README, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct WorkspaceReadme;
