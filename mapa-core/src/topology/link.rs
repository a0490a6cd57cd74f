//! What joins two devices.

use std::str::FromStr;

use crate::error::{Error, ErrorKind};
use crate::ids::LinkClass;

/// Reads the neutral names, as they are printed.
impl FromStr for LinkClass {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        use LinkClass::{Board, Network, Node, None, Phb, Pix, Pxb, SameDevice, Sys};
        let unknown = || Error::from(ErrorKind::UnknownLinkClass(name.to_owned()));
        if let Some(bond) = name.strip_prefix("direct-") {
            let plain = bond.starts_with(|first: char| first.is_ascii_digit() && first != '0');
            return bond
                .parse()
                .ok()
                .filter(|_| plain)
                .map(Self::Direct)
                .ok_or_else(unknown);
        }
        let named = [None, Network, Sys, Node, Phb, Pxb, Pix, Board, SameDevice];
        named
            .into_iter()
            .find(|class| class.to_string() == name)
            .ok_or_else(unknown)
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
        if self.direct.exists() {
            self.direct
        } else {
            self.host
        }
    }
}
