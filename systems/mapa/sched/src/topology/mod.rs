//! Rings on the whole devices of one machine: what no schedule of them is below.
//!
//! The setting is MAPA's own. A job holds k devices that exchange data in a ring. On a set of
//! devices with the ring bandwidth B, GB/s, a job of ratio r takes its run time at full speed times
//!
//! ```text
//! 1 + (r - 1) g        g = (1/B - 1/50) / (1/10 - 1/50),  B clipped to 10..50 GB/s
//! ```
//!
//! ([`Job::slowdown_at`](mapa_sched::Job::slowdown_at)). [`RingBounds`] bounds the makespan and the sum
//! of completion times of any schedule of such jobs.

mod bound;
mod levels;
mod work;

pub use bound::{Ascent, RingBounds};
pub use work::RingWork;
