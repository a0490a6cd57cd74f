//! Every public function gets extreme values, and panics only where its documentation says so: `mapa-core/tests/extremes`
//! says how.

mod pool;
#[path = "../../../../mapa-core/tests/extremes/shared.rs"]
mod shared;

use crate::core_pool::ViewParts;
use clap::Command;
use mapa_core::mig::{Layout, ProfileId};
use mapa_core::*;
use mapa_front as own;
use mapa_patterns::{Algorithm, NcclJob};
use mapa_regress::{MeasuredRow, Measurement, Samples};
use mapa_sched::{Action, Event, Fleet, Reach};
use mapa_sim::{Column, Table, Workload};
use mapa_topologies::mig::{Gpu, Offer};
use mapa_topologies::{Dump, Labels, Vendor};
use serde_json::Value;

shared::extremes!(
    27,
    foreign_pool: "foreign.rs",
    core_pool: "../../../../mapa-core/tests/extremes/pool.rs",
    sched_pool: "../../../../mapa-sched/tests/extremes/pool.rs",
    sim_pool: "../../../../mapa-sim/tests/extremes/pool.rs",
    regress_pool: "../../../../mapa-regress/tests/extremes/pool.rs",
    topologies_pool: "../../../../topologies/tests/extremes/pool.rs"
);

#[test]
fn requests_without_a_hostile_value_are_answered() {
    let refused = pool::refused();
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

#[test]
fn every_request_is_answered_or_refused() {
    pool::answer_all();
}

#[test]
fn a_stream_of_requests_answers_every_line() {
    pool::answer_lines();
}
