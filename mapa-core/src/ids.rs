//! Ids of machines, devices, ports, leases and policies, and the classes of links. This is the
//! lowest module, so that errors and graphs can name what higher modules manage.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The most devices of one machine. The dense tables grow with the square of their number (48 MiB at
/// the limit).
pub const MAX_DEVICES: usize = 1024;

/// The most vertices of one machine: its devices, the MIG instances that could exist on them, and parts
/// of the host. Each vertex has two sets of others, so sets grow with the square of their number (some
/// 50 MiB at the limit).
pub const MAX_VERTICES: usize = 16 * MAX_DEVICES;

/// A machine of a fleet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(transparent)
)]
pub struct MachineId(pub u32);

impl fmt::Display for MachineId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A device of one machine: its 0-based position in the machine's list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(transparent)
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceId(pub u32);

impl DeviceId {
    /// The id as an index into tables by device.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A group of devices that reach the host through one host bridge (root complex). The paths between
/// them are `Phb` or better. They share the bridge's bandwidth: while one of them sends, the others
/// wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortId(pub u32);

/// A lease of one allocator. An allocator never gives the same id twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(transparent)
)]
pub struct LeaseId(pub u64);

impl fmt::Display for LeaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A number that identifies a policy and its copies within this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolicyId(u64);

impl PolicyId {
    /// A number that no other policy of this process has.
    #[must_use]
    pub fn unique() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Relaxed))
    }
}

/// How two devices are joined. Classes are ordered from worst to best, so `>=` means "at least as
/// good".
///
/// The host classes are those that every vendor's tools distinguish: by how far up the host tree a
/// path must go. They have the shortest names in use. Readers in `mapa-topologies` map the vendors'
/// words to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum LinkClass {
    /// Not joined.
    #[default]
    None,
    /// Through a network between servers.
    Network,
    /// Through the interconnect between sockets or NUMA nodes.
    Sys,
    /// Within a NUMA node, between its PCIe host bridges.
    Node,
    /// Through one PCIe host bridge.
    Phb,
    /// Through several PCIe switches, without a host bridge.
    Pxb,
    /// Through a single PCIe switch.
    Pix,
    /// Through the PCIe switch of one board that carries several devices.
    Board,
    /// Both ends are on the same device.
    SameDevice,
    /// Direct links between the two devices (NVLink, XGMI, ICI), with their number.
    Direct(u8),
}

impl LinkClass {
    /// Whether this is a path through the host: `Sys`, `Node`, `Phb`, `Pxb`, `Pix` or `Board`.
    #[must_use]
    pub fn is_host(self) -> bool {
        (Self::Sys..=Self::Board).contains(&self)
    }

    /// A number for hashes and keys, the same on every platform and in every release.
    pub(crate) fn code(self) -> u64 {
        match self {
            Self::None => 0,
            Self::Network => 1,
            Self::Sys => 2,
            Self::Node => 3,
            Self::Phb => 4,
            Self::Pxb => 5,
            Self::Pix => 6,
            Self::Board => 7,
            Self::SameDevice => 8,
            Self::Direct(n) => 1000 + u64::from(n),
        }
    }

    /// Whether this is a direct link between devices.
    #[must_use]
    pub fn is_direct(self) -> bool {
        matches!(self, Self::Direct(_))
    }
}

/// The neutral names: `none`, `network`, `sys` ... `board`, `same-device`, `direct-2`.
impl fmt::Display for LinkClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Network => f.write_str("network"),
            Self::Sys => f.write_str("sys"),
            Self::Node => f.write_str("node"),
            Self::Phb => f.write_str("phb"),
            Self::Pxb => f.write_str("pxb"),
            Self::Pix => f.write_str("pix"),
            Self::Board => f.write_str("board"),
            Self::SameDevice => f.write_str("same-device"),
            Self::Direct(n) => write!(f, "direct-{n}"),
        }
    }
}
