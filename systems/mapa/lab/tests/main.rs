//! Tests of `mapa-system-mapa-lab`.

mod auto;
mod common;
mod evaluation;
mod foresight;
mod topology_plan;
