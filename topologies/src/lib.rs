#![doc = include_str!("../README.md")]
#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "libraries return errors, and leave printing to their callers"
)]

mod catalogue;
mod dump;
mod error;
mod facts;
mod graph_file;
mod host_paths;
mod kind;
mod link_generation;
mod links;
mod links_down;
mod machine;
mod machine_file;
mod merge;
pub mod mig;
#[cfg(feature = "parted")]
pub mod mig_parted;
mod pci;
pub mod policies;
pub mod products;
mod ranges;
mod read;
mod readers;
mod similar;
mod vendor;
mod virtual_machine;
mod writers;

pub use catalogue::{Entry, Formula, catalogue, formulas, named};
pub use dump::{
    Channel, Counted, Counter, Dump, HostDetail, MigInstance, MigProfile, PeerAccess, PeerStatus,
    Port, Says, Traffic,
};
pub use error::{Error, ErrorKind};
pub use facts::know_links;
pub use graph_file::{read_graph, write_graph};
pub use host_paths::assume_host_paths;
pub use kind::Kind;
pub use link_generation::{collective_rates, link_generation};
pub use links::{
    ASSUMED_DIRECT_GBPS, ASSUMED_HOST_GBPS, LinkSpeed, SocketSpeed, link_speeds,
    nvlink_gbps_of_printed, nvlink_gbps_of_sm, pcie_gbps, pcie_words, socket_speeds,
};
pub use machine::{Labels, Machine, Warning};
pub use merge::{Contradiction, DumpStatement, Merged, merge};
pub use pci::normal as pci_address;
pub use ranges::number_list;
pub use read::read;
pub use readers::{KfdTree, MAX_BYTES, MAX_TABLE_BYTES, recognise};
pub use similar::{did_you_mean, similar};
pub use vendor::Vendor;
pub use virtual_machine::is_virtual_machine;
#[cfg(feature = "pictures")]
pub use writers::Picture;

/// The example in docs/mig.md, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../docs/mig.md")]
pub struct MigPage;

/// The example in docs/topology-inputs.md, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../docs/topology-inputs.md")]
pub struct MachinePage;

/// The example in docs/ring-packing.md, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../docs/ring-packing.md")]
pub struct RingPackingPage;
