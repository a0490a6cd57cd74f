//! MAPA's own controller, `slo-replay`. It needs no trigger: it runs the last requests again under
//! each candidate, and acts if that pays within ten minutes.
//!
//! Four ideas, each worth something alone:
//! - *Replay*. The tail of a window of some hundred requests says little, and says it late. What
//!   each request needs without neighbours is known, so what any candidate would have made of the
//!   last requests can be computed exactly, on quiet machines and beside any neighbour.
//! - *Feed-forward*. A neighbour is throttled in the tick in which counters show it, not when the
//!   tail has shown it.
//! - *Warm hand-over*. Where a free instance exists, the tenant goes on until the new one is ready.
//! - *Admission*. A newcomer goes where no tenant with a promise is.
//!
//! On a machine, counters are noisy, late and missing, and the effect of training is not known:
//! [`Sensor`] makes of them what the controller needs.

mod controller;
mod cost;
mod history;
mod record;
mod scheduler;
mod sense;
mod settings;

pub use controller::{ReplayDecision, ReplayInput, ReplayState, step};
pub use history::{PastRequest, RequestHistory};
pub use record::{ReplayRecord, recorded};
pub use scheduler::{ByReplay, SloReplayScheduler};
pub use sense::{MeasuredRequest, Sensor, SensorSettings};
pub use settings::ReplaySettings;
