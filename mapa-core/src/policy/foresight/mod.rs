//! A policy that looks ahead: [`Foresight`] has the definition.
//!
//! - `tables` computes, once for a machine, the best ring of each size within every set of devices.
//! - `future` computes the worth of a set to later jobs: an expectation over the orders in which
//!   leases can end.
//! - `ahead` compares sets by that worth, and `decide` places the job on the best.
//! - `waiting` answers another question, *whether* to start now, with the parameters in `patience`.
//! - `rollout` tries out the next jobs, if a scheduler shows its queue as an `outlook`.
//!
//! Three other methods were tried. Scoring only the free set, or only its loss without the job's own
//! bandwidth, does worse than `preserve`. Learned values of states did no better than the
//! expectation, and were noisy.

mod ahead;
mod choices;
mod decide;
mod definition;
mod future;
mod outlook;
mod patience;
mod rollout;
mod sets;
mod tables;
mod waiting;

pub use choices::{Prefer, SetChoices};
pub use definition::{Foresight, foresight};
pub use outlook::{Ends, Next, Outlook};
pub use patience::Patience;
pub use tables::SetScores;
pub use waiting::Wait;
