//! Partitioning one device into isolated instances (NVIDIA's Multi-Instance GPU): the geometry.
//!
//! A device has a grid of memory slices. An [`Instance`] is a [`Profile`] at a start: it takes the
//! profile's memory slices from there on. A [`Layout`] is a set of instances; it is legal if no two
//! of them overlap on the grid and no profile occurs more often than its maximum. There is no other
//! rule: compute slices need none, because the starts that vendors print leave room for them.
//!
//! Which profiles and starts a device offers is data: `mapa-topologies` has the tables. A [`Model`]
//! checks its table once, enumerates every legal layout (297 for an A100 with its plain profiles,
//! 2,318 with all). From then on every question ("does it fit", "which repartition is best") is a
//! scan of that list. Answers are exact and take microseconds.
//!
//! What NVIDIA calls a placement (the start of an instance) is called a *start* here. In this crate
//! a placement is the devices of a job.

mod fragmentation;
mod layout;
mod layouts;
mod model;
mod profile;
mod repartition;

pub use layout::Layout;
pub use model::Model;
pub use profile::{Instance, Profile, ProfileId, Size};
