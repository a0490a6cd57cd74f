#![doc = include_str!("../README.md")]
#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "libraries answer with errors, and leave printing to their callers"
)]

mod catalogue;
mod dump;
mod error;
mod graph_file;
mod isomorphism;
mod links;
pub mod live;
mod machine;
mod machine_file;
mod merge;
pub mod mig;
mod pci;
pub mod policies;
mod readers;
mod writers;

pub use catalogue::{Entry, Formula, catalogue, formulas, named};
pub use dump::{
    Channel, Counted, Counter, Dump, HostDetail, MigInstance, MigProfile, PeerAccess, PeerStatus, Port, Says, Traffic,
};
pub use error::{Error, ErrorKind};
pub use graph_file::{read_graph, write_graph};
pub use isomorphism::{Likeness, isomorphism};
pub use links::{LinkSpeed, SocketSpeed, collective_rates, link_speeds, socket_speeds};
pub use machine::{Labels, Machine, Warning};
pub use merge::{Contradiction, Merged, Said, merge};
pub use readers::{Kind, MAX_BYTES, read, read_kfd, recognise};
pub use writers::Picture;

/// The README's first example, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct WorkspaceReadme;

/// The example in docs/mig.md, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../docs/mig.md")]
pub struct MigPage;

/// The example in docs/bring-your-machine.md, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../docs/bring-your-machine.md")]
pub struct MachinePage;

/// The example in docs/live.md, compiled as a test.
#[cfg(doctest)]
#[doc = include_str!("../../docs/live.md")]
pub struct LivePage;

/// The example in docs/ring-packing.md, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../docs/ring-packing.md")]
pub struct RingPackingPage;
