#![doc = include_str!("../README.md")]
#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "libraries answer with errors, and leave printing to their callers"
)]

mod control;
mod draw;
mod error;
mod noise;
mod run;
mod scenario;
mod servers;
mod tenants;
mod totals;

pub use control::{LiveControl, LoggedController, PaperControl, ReplayControl, snapshot};
pub use draw::{Busy, DrawnRequest, DrawnRun, NeighbourAction};
pub use error::Error;
pub use noise::{Noise, NoisyReadings};
pub use run::{Control, EndedRequest, NoController, RunConditions, TickView, World, run};
pub use scenario::{HOSTS, LinkShare, Paused, Requests, SLICES, SWITCHES, Scenario};
pub use servers::TenantServers;
pub use tenants::{FileTenants, ServingTenant, is_tenants, read_tenants};
pub use totals::{Acted, RunTotals};

/// The code of the page on this system, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../docs/controllers.md")]
pub struct SloPage;
