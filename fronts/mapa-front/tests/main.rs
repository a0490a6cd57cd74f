//! The integration tests of `mapa-front`, in one binary.

mod answer;
mod common;
mod names;
mod specs;
mod workload;
