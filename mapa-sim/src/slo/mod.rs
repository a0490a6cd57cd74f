//! A tenant with a promised latency beside noisy neighbours, under a controller of
//! [`mapa_sched::slo`].
//!
//! # Examples
//! The paper's controller beside none, on the same requests and the same neighbours.
//! ```
//! use mapa_sched::slo::{Config, Levers};
//! use mapa_sim::slo::{Conditions, Fixed, Paper, Scenario, Trace, run};
//!
//! let scenario = Scenario::table_3();
//! let trace = Trace::draw(&scenario, 7)?;
//! let fixed = run(&scenario, &trace, 7, Conditions::default(), &mut Fixed)?;
//! let mut paper = Paper::new(scenario.settings(Levers::ALL)?, Config::at(0));
//! let full = run(&scenario, &trace, 7, Conditions::default(), &mut paper)?;
//! assert!(full.miss_percent() < fixed.miss_percent());
//! # Ok::<(), mapa_sim::Error>(())
//! ```

mod control;
mod draw;
mod noise;
mod run;
mod scenario;
mod servers;
mod tenants;
mod totals;

pub use control::{Live, Logged, Paper, Replay, snapshot};
pub use draw::{Busy, Drawn, Kind, Trace};
pub use noise::{Noise, Readings};
pub use run::{Conditions, Control, Ended, Fixed, Seen, World, run};
pub use scenario::{HOSTS, LinkShare, Paused, Requests, SLICES, SWITCHES, Scenario};
pub use servers::Servers;
pub use tenants::{Serving, Tenants, is_tenants, read_tenants};
pub use totals::{Acted, Totals};
