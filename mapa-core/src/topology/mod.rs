//! The machine: the description that readers build ([`Fabric`]) and the graph that the engine runs
//! on ([`HardwareGraph`]).
//!
//! A [`Fabric`] follows the way a machine is built: sockets, switches, network cards and devices,
//! and the wires between them. [`Fabric::lower`] computes once what joins every two devices, and
//! keeps it in a dense table. A decision then costs loads from a small table and no graph walk. The
//! lowered graph is immutable and is shared by [`std::sync::Arc`].

mod as_petgraph;
mod device;
mod device_set;
mod fabric;
mod facts;
mod hardware;
mod host_hops;
mod host_links;
mod host_network;
mod host_tree;
mod known;
mod link;
mod lower;
mod memo;
mod of_pairs;
mod vertices;

pub use device::{Device, Unit};
pub use device_set::DeviceSet;
pub(crate) use fabric::MOST_GBPS;
pub use fabric::{DeviceInfo, Fabric, FabricNode, FabricWire, NodeId, NodeKind};
pub use facts::{HostRates, LinksUp, PeerAccess, PeerSource};
pub use hardware::HardwareGraph;
pub use host_links::HostLinks;
pub use host_network::HostNetwork;
pub use host_tree::Region;
pub use link::{Link, Pair};

pub(crate) use memo::MemoKey;

// Names that most users of the graph need beside it.
pub(crate) use crate::ids::{DeviceId, LinkClass, MAX_DEVICES};
