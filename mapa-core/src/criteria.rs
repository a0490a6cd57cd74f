//! What a policy prefers: the highest or lowest value of an objective, the most or the least of a property of devices, the
//! lowest ids.
//!
//! [`Rules::prefer`](crate::Rules::prefer) takes them in order of importance. They have a module of their own because `max`
//! and `min` would otherwise stand for something else than in [`std::cmp`].
//!
//! ```
//! use mapa_core::{Objective, Rules, criteria};
//!
//! let memory = Objective::devices("memory", |seat| seat.device().memory_bytes.unwrap_or(0) as f64);
//! let policy = Rules::new("small first").prefer(criteria::min(memory)).then(criteria::lowest_ids());
//! # let _ = policy;
//! ```

pub use crate::optimum::{least, lowest_ids, max, min, most};
