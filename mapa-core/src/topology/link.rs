//! What joins two devices.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, ErrorKind};

/// How two devices are joined, worst first, so that "at least" is `>=`.
///
/// The host classes are those every vendor's tools tell apart, by how far up the host a path must climb. Their names are
/// the shortest in use; readers in `mapa-topologies` map the vendors' words to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
    /// Through several PCIe switches, no host bridge.
    Pxb,
    /// Through a single PCIe switch.
    Pix,
    /// Through the PCIe switch of one board that carries several devices.
    Board,
    /// One and the same device, shared by both ends.
    SameDevice,
    /// That many bonded device-to-device links (NVLink, XGMI, ICI).
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

    /// Whether this is a direct device-to-device link.
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

/// Reads the neutral names, as they are printed.
impl FromStr for LinkClass {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        use LinkClass::{Board, Network, Node, None, Phb, Pix, Pxb, SameDevice, Sys};
        let unknown = || Error::from(ErrorKind::UnknownLinkClass(name.to_owned()));
        if let Some(bond) = name.strip_prefix("direct-") {
            let plain = bond.starts_with(|first: char| first.is_ascii_digit() && first != '0');
            return bond.parse().ok().filter(|_| plain).map(Self::Direct).ok_or_else(unknown);
        }
        let named = [None, Network, Sys, Node, Phb, Pxb, Pix, Board, SameDevice];
        named.into_iter().find(|class| class.to_string() == name).ok_or_else(unknown)
    }
}

/// A connection between two devices.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Link {
    /// Its class; [`LinkClass::None`] where there is no connection.
    pub class: LinkClass,
    /// Peak bandwidth, decimal GB/s per direction; 0 where there is no connection.
    pub gbps: f64,
}

impl Link {
    /// Whether there is a connection at all.
    #[must_use]
    pub fn exists(self) -> bool {
        self.class != LinkClass::None
    }
}

/// All that joins two devices: the direct links and the path through the host beneath them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pair {
    /// Direct links, through a link switch or not.
    pub direct: Link,
    /// The path through the host.
    pub host: Link,
}

impl Pair {
    /// The better of the two: what a job uses, and the label `w(e)` of the paper's hardware graph.
    #[must_use]
    pub fn best(self) -> Link {
        if self.direct.exists() { self.direct } else { self.host }
    }
}
