//! Planning: which job next, and where, by simulation of what is to come.
//!
//! A plan is an ordered list of waiting jobs for each *lane*: a GPU, or a machine. Each job in it has
//! a *gene*, a small number that says on which terms it starts: beside how many others, or on how
//! good a set. *Decoding* simulates one lane from now on: whoever is first in the list of those that
//! can start does start, then time goes on to the next end. The cost of a lane is the integral of
//! what its jobs cost while they are not done. So the price of a start is the delay that it causes
//! to all others, and a job waits where waiting is cheaper.
//!
//! What a job needs, and how fast it runs beside whom, is a [`Physics`]; what a schedule costs is a
//! [`Goal`]. Everything else is here, once: decoding, insertion by least added cost, random moves
//! that are kept unless they cost more ([`Planner`]), and [`Ageing`].
//!
//! Planning is deterministic: draws come from one seeded [`Draws`], budgets count steps and moves,
//! not time.

mod ageing;
mod decode;
mod draws;
mod entry;
mod physics;
mod planner;

pub use ageing::Ageing;
pub use draws::Draws;
pub use entry::PlanEntry;
pub use physics::{Classes, Goal, LaneOpening, LaneTicket, Physics, WeightedFlow};
pub use planner::{Moves, Planner};
