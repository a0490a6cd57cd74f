//! Tail latency kept by placement, MIG and guardrails.
//!
//! Darzi, Bharadwaj and Balija, *Predictable LLM Serving on GPU Clusters*, have a controller beside
//! each host. It watches the 99th percentile of a tenant that is promised a latency. If the
//! percentile stays too high, the controller throttles neighbours for a bounded time, moves the
//! tenant to a quieter PCIe switch, or enlarges its MIG slice. Dwell and cool-down keep it from
//! thrashing, and a move that made things worse is rolled back.
//!
//! Here the controller is a pure state machine in ticks: [`step`] takes a state and a timed
//! [`Input`] and gives a state and [`Order`]s. It reads no clock and draws nothing. [`TABLE`] is the
//! machine: a step walks its rows. [`recorded`] keeps what was known and why something was done;
//! from such a record the same decision can be made again.
//!
//! [`replay`] is MAPA's own controller. It has no trigger: it runs the last requests again under
//! each candidate, and acts if that pays.
//!
//! # Examples
//! A tail that stays too high beside a neighbour that copies: first the neighbour is throttled.
//! ```
//! use mapa_sched::slo::{Config, Input, Levers, Model, ModelParameters, Order, Place, Settings, Snapshot, State, step};
//!
//! let model = Model::new(&[2, 3, 4], &ModelParameters::default())?;
//! let settings = Settings::new(Levers::ALL, model)?;
//! let mut state = State::new(Config::at(0), &settings);
//! let beside = Place { heavy: Some(1), training: Some(false), largest: Some(2), ..Place::default() };
//! let quiet = Place { heavy: Some(0), ..beside.clone() };
//! let snapshot = Snapshot { places: vec![beside, quiet], ..Snapshot::default() };
//! let mut orders = Vec::new();
//! for tick in 1..40 {
//!     let input = Input { tick, latencies_ns: vec![25_000_000], snapshot: Some(snapshot.clone()), ..Input::default() };
//!     orders.extend(step(&settings, &mut state, &input).orders);
//! }
//! assert!(matches!(orders[0], Order::Throttle { until: 65, .. }));
//! assert!(matches!(orders[1], Order::Relaunch { to: Config { place: 1, .. }, .. }));
//! # Ok::<(), mapa_sched::Error>(())
//! ```

mod admission;
mod estimate;
mod model;
mod record;
pub mod replay;
mod scheduler;
mod settings;
mod signals;
mod state;
mod step;
mod table;
mod under_way;
mod window;

pub use estimate::percentile_99;
pub use model::{Model, ModelParameters, Slowdown};
pub use record::{Alternative, Record, recorded};
pub use scheduler::{Answered, Controller, GuardingScheduler, Paper, SloScheduler};
pub use settings::{Estimator, Levers, Settings, Weights};
pub use signals::{Contention, Numa, Place, Snapshot};
pub use state::{
    Command, Config, Guard, Input, Newcomer, Order, Phase, PhaseKind, Relaunched, State, Why,
};
pub use step::{Decision, step};
pub use table::{Row, RowId, TABLE};
pub use window::{Tail, Window, duration_ns, latency_ns};
