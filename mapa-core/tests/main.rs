//! The integration tests of this crate in one binary, which links once instead of once a file.

mod alike;
mod allocator;
mod answers;
mod collectives;
mod common;
mod conversions;
mod fabric;
mod foresight;
mod graphs;
mod histories;
mod host_trees;
mod instances;
mod islands;
mod matching;
mod matching_random;
mod max_bandwidth;
mod mig;
mod offered;
mod parallel_groups;
mod partial_sets;
mod policy;
mod ring_packing;
mod settings;
mod step_time;
mod tables;
mod twins;
