//! This package holds examples only: see the files beside this one.

/// The code on the page "Write a policy", run as tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/write-a-policy.md")]
pub struct WriteAPolicy;

/// The code on the page "Job files, traces and generators", run as tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/workloads.md")]
pub struct JobFiles;

/// The code on the page "Fleets", run as a test.
#[cfg(doctest)]
#[doc = include_str!("../docs/clusters.md")]
pub struct Fleets;

/// The code on the page "Schedulers", run as a test.
#[cfg(doctest)]
#[doc = include_str!("../docs/scheduler-reference.md")]
pub struct Schedulers;

/// The code on the page "The device plugins' choices, drop-in", run as a test.
#[cfg(doctest)]
#[doc = include_str!("../docs/device-plugin-policies.md")]
pub struct DropInPolicies;

/// The code on the page "Defragmentation", run as a test.
#[cfg(doctest)]
#[doc = include_str!("../docs/defrag.md")]
pub struct DefragPage;
