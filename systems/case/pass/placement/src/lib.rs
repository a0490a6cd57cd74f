//! Where CASE's tasks begin and end in a function's control flow.
//!
//! A task is a set of GPU operations that share memory. The pass asks the manager for the task's memory
//! at one point, the *begin*, and gives it back at the *ends*. This crate decides on the points. It
//! knows blocks and operations but no compiler, so that it can be tested on random control flow.
//!
//! - [`Flow`] is the graph of basic blocks, with dominators and loops.
//! - [`Task`] is a set of sites with what they do to memory and to the queue of the device.
//! - [`place`] finds begin and ends of one task, and [`merge`] joins tasks that would nest.
#![deny(missing_docs)]

mod effects;
mod flow;
mod place;
mod task;

pub use effects::{Held, frees_surely, held, pending, waits_of};
pub use flow::{Flow, Irreducible, Point, Site, Where};
pub use place::{Placement, is_open_at, merge, place};
pub use task::{Effect, MAX_SLOTS, Task};
