//! The machine: what readers build ([`Fabric`]) and what the engine runs on ([`HardwareGraph`]).
//!
//! A [`Fabric`] is drawn the way a machine is built: sockets, switches, network cards and devices, and the wires between
//! them. [`Fabric::lower`] works out, once, what joins every two devices, and keeps it dense: a decision then costs loads
//! from a small table and no graph walk. The lowered graph is immutable and is shared by [`std::sync::Arc`].

mod device_set;
mod fabric;
mod hardware;
mod host_links;
mod host_tree;
mod link;
mod memo;
mod vertices;

pub use device_set::{DeviceId, DeviceSet};
pub(crate) use fabric::MOST_GBPS;
pub use fabric::{DeviceInfo, Fabric, FabricNode, FabricWire, NodeId, NodeKind};
pub use hardware::{Device, HardwareGraph, PortId, Unit};
pub use host_links::HostLinks;
pub use host_tree::Region;
pub use link::{Link, LinkClass, Pair};

/// The most devices one machine may have, with the MIG instances that could exist on them. The dense tables grow with the
/// square of the whole devices (48 MiB at the limit).
pub const MAX_DEVICES: usize = 1024;
