//! Strategies, a reference driver and checks for property tests of schedulers. Needs the feature
//! `testing`.
//!
//! Use them to test your own scheduler as MAPA tests its own: every scheduler, whatever it is for,
//! loses no job on cordoned machines ([`check_cordons`]), continues identically on a fleet that was
//! restored from a snapshot ([`check_snapshot`]), and leaves adopted jobs alone ([`check_adoption`]).
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a check that fails panics"
)]

mod adoption;
mod cordons;
mod driver;
mod machines;
mod snapshots;
mod starts;
mod strategies;
mod unknown;

pub use adoption::{check_adoption, check_offered_sets};
pub use cordons::{CordonEvent, check_cordons, cordon_events};
pub use driver::{TaskProgram, TestDriver, WatchedScheduler, in_turn};
pub use machines::{
    any_machines, check, cuttable, cuttable_as, job, joined, layout, other_model, quarters,
    whole_machines,
};
pub use snapshots::{SnapshotEvent, SnapshotRun, check_snapshot, snapshot_events};
pub use starts::starts_of_three;
pub use strategies::{fleets, fleets_in_use, jobs};
pub use unknown::check_unknown_jobs;

use mapa_core::{BuiltIn, Policy};

use crate::named::NamedScheduler;

/// The policy of this scheduler; `preserve` if it takes any, or has one of its own that the core does not know.
fn policy(row: &NamedScheduler) -> Box<dyn Policy> {
    let own = row.policy.and_then(|name| BuiltIn::named(name).ok());
    own.unwrap_or_else(|| BuiltIn::named("preserve").unwrap())
}
