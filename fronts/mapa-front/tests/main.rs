//! The integration tests of `mapa-front`, in one binary.

mod answer;
mod commands;
mod common;
mod drive_log;
mod efficiency;
mod explained;
mod kept;
mod keys;
mod names;
mod schema;
mod specs;
mod workload;
