//! The integration tests of `mapa-front`, in one binary.

mod answer;
mod common;
mod efficiency;
mod keys;
mod names;
mod schema;
mod specs;
mod workload;
