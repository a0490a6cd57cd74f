//! Cutting one device into isolated instances (NVIDIA's Multi-Instance GPU): the geometry.
//!
//! A device has a grid of memory slices. An [`Instance`] is a [`Profile`] at a start: it takes the profile's memory slices
//! from there on. A [`Layout`] is a set of instances; it is legal if no two of them overlap on the grid and no profile
//! is there more often than its maximum. That is the whole law: compute slices need no rule of their own, because the
//! starts that vendors print leave room for them.
//!
//! Which profiles and starts a device offers is data: `mapa-topologies` has the tables. A [`Model`] checks its table once,
//! enumerates every legal layout (297 for an A100 with its plain profiles, 2,318 with all), and from then on every question
//! ("does it fit", "how best to cut it anew") is a look through that list: exact, and a matter of microseconds.
//!
//! What NVIDIA calls a placement (the start of an instance) is a *start* here: a placement is where a job lies.

mod fragmentation;
mod layout;
mod model;
mod repartition;

pub use layout::Layout;
pub use model::{Instance, Model, Profile, ProfileId, Size};
