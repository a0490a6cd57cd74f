//! The integration tests of this crate in one binary, which links once instead of once a file.

mod asked;
mod assumed;
mod cli;
mod commands;
mod common;
mod dumps;
mod field;
mod fit;
mod instances;
mod live;
mod measured;
mod mig;
mod mutated;
#[path = "../../mapa-front/tests/common/mutation.rs"]
mod mutation;
mod nics;
mod pages;
mod parallel;
mod pattern_file;
mod pattern_nccl;
mod pattern_nvlink;
mod pattern_parallelism;
mod pattern_source;
mod pictures;
#[path = "../../../topologies/tests/common/real_data.rs"]
mod real_data;
mod reproduce;
mod reproduce_few;
mod rooms;
mod same_answers;
mod schema;
mod score;
mod shell;
#[path = "../../mapa-front/tests/common/shells.rs"]
mod shells;
mod simulate;
mod snapshots;
mod sweep;
mod systems;
mod terminal;
mod time_limit;
mod whole_answers;
