//! What parts of a machine's links carry of their nominal bandwidth, as measured.

use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, LazyLock};

use crate::error::{Error, ErrorKind};

/// A part of a machine that data passes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Part {
    /// Direct links, and ports of link switches.
    Direct,
    /// A PCIe slot, one direction.
    Slot,
    /// A slot from which data is staged in the host's memory, for one flow.
    Staged,
    /// A slot that stages data in the host's memory: what it carries in both directions together.
    StagedPool,
    /// The uplink of a PCIe switch, one direction.
    Uplink,
    /// The uplink of a switch whose devices stage data: both directions together.
    UplinkPool,
    /// Between two sockets, as a part of the speed of a slot.
    SocketLink,
    /// Between two sockets whose link has a speed of its own.
    SocketBus,
    /// A root port below which several switches hang.
    Root,
    /// All rings that cross from one island of direct links to another, as a part of one slot.
    Crossing,
}

impl Part {
    /// The share of a part at nominal bandwidth. What has no nominal bandwidth is no bound: links
    /// between sockets, roots, copy engines.
    #[must_use]
    pub fn nominal_share(self, using: Use) -> f64 {
        match (self, using) {
            // Both directions.
            (Self::StagedPool | Self::UplinkPool, _) => 2.0,
            (Self::SocketLink | Self::Root | Self::Crossing, _) | (Self::Direct, Use::Engines) => {
                f64::INFINITY
            }
            _ => 1.0,
        }
    }
}

/// The traffic for which a part's share is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Use {
    /// A copy from one device to another.
    Copy,
    /// Two copies, there and back.
    BothWays,
    /// Rings of three devices and more.
    Ring,
    /// Two devices, and each device sending to the next.
    Pair,
    /// Every device sends to every other.
    Exchange,
    /// A reduction in a link switch.
    InSwitch,
    /// A reduction in link switches of a rack, of more than sixteen devices.
    InRack,
    /// A copy between the host's memory and a device.
    Host,
    /// A copy over two direct links one after the other.
    TwoHops,
    /// What the copy engines of a device reach, as a part of one of its links.
    Engines,
}

const PARTS: [(Part, &str); 10] = [
    (Part::Direct, "direct"),
    (Part::Slot, "slot"),
    (Part::Staged, "staged"),
    (Part::StagedPool, "staged-pool"),
    (Part::Uplink, "uplink"),
    (Part::UplinkPool, "uplink-pool"),
    (Part::SocketLink, "socket-link"),
    (Part::SocketBus, "socket-bus"),
    (Part::Root, "root"),
    (Part::Crossing, "crossing"),
];

const USES: [(Use, &str); 10] = [
    (Use::Copy, "copy"),
    (Use::BothWays, "both-ways"),
    (Use::Ring, "ring"),
    (Use::Pair, "pair"),
    (Use::Exchange, "exchange"),
    (Use::InSwitch, "in-switch"),
    (Use::InRack, "in-rack"),
    (Use::Host, "host"),
    (Use::TwoHops, "two-hops"),
    (Use::Engines, "engines"),
];

pub(super) fn named<T: Copy>(what: &str, text: &str, known: &[(T, &str)]) -> Result<T, Error> {
    let found = known.iter().find(|(_, name)| *name == text);
    found.map(|(value, _)| *value).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(_, name)| *name).collect();
        ErrorKind::UnknownName {
            what: what.to_owned(),
            name: text.to_owned(),
            known: names.join(", "),
        }
        .into()
    })
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = PARTS.iter().find(|(part, _)| part == self);
        f.pad(name.map_or("", |(_, name)| name))
    }
}

impl FromStr for Part {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        named("part", text, &PARTS)
    }
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = USES.iter().find(|(listed, _)| listed == self);
        f.pad(name.map_or("", |(_, name)| name))
    }
}

impl FromStr for Use {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        named("use", text, &USES)
    }
}

/// The share of a part's nominal bandwidth that one kind of traffic reaches.
#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    /// The part.
    pub part: Part,
    /// The traffic.
    pub using: Use,
    /// The generation of direct links: `NVLink 4`; none for parts of the host.
    pub generation: Option<String>,
    /// The share; above 1 where a part carries more than the slot by which it is counted.
    pub value: f64,
    /// The number of machines on which it was measured. 0 for a share that is set and not fitted.
    pub machines: u32,
}

/// The kinds of estimates whose errors are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Class {
    /// Copies over direct links.
    DirectCopy,
    /// Collectives over direct links.
    DirectCollective,
    /// Copies within a socket.
    OneSocket,
    /// Copies between sockets.
    AcrossSockets,
    /// Rings over the host.
    HostRing,
    /// Exchanges over the host.
    HostExchange,
    /// Copies between memory and devices.
    HostCopy,
    /// Data that is staged in the host's memory, because devices do not reach each other's.
    Staged,
    /// Rings that cross from one island of direct links to another.
    Islands,
    /// Direct links of a generation whose copies do not grow with the number of links.
    Uneven,
}

/// The names of all classes.
const CLASSES: [(Class, &str); 10] = [
    (Class::DirectCopy, "direct-copy"),
    (Class::DirectCollective, "direct-collective"),
    (Class::OneSocket, "one-socket"),
    (Class::AcrossSockets, "across-sockets"),
    (Class::HostRing, "host-ring"),
    (Class::HostExchange, "host-exchange"),
    (Class::HostCopy, "host-copy"),
    (Class::Staged, "staged"),
    (Class::Islands, "islands"),
    (Class::Uneven, "uneven"),
];

impl Class {
    /// Every class.
    pub fn all() -> impl Iterator<Item = Self> {
        CLASSES.iter().map(|(class, _)| *class)
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = CLASSES.iter().find(|(class, _)| class == self);
        f.pad(name.map_or("", |(_, name)| name))
    }
}

impl FromStr for Class {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        named("class", text, &CLASSES)
    }
}

/// How far estimates of a class are off on machines that were left out of the fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The class.
    pub class: Class,
    /// Nine of ten measurements lie within a factor of e to the power of this.
    pub log: f64,
    /// The number of machines on which that is known.
    pub machines: u32,
}

/// What parts of machines carry of their nominal bandwidth: shares that are fitted to measurements,
/// with how far they can be trusted.
///
/// # Examples
///
/// ```
/// use mapa_core::{Efficiency, Part, Use};
///
/// let shipped = Efficiency::shipped();
/// let copy = shipped.of(Part::Slot, Use::Copy, None);
/// assert!((0.8..0.95).contains(&copy.value) && copy.machines > 3);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Efficiency {
    /// Where the shares come from.
    pub source: String,
    /// The shares.
    pub factors: Vec<Factor>,
    /// The spreads.
    pub spreads: Vec<Spread>,
    /// What is left of a flow that is staged, where both ends share a root but no switch.
    pub shared_root: f64,
    /// What is left of flows that are staged, where all of them use one memory of the host, beside
    /// flows that use two alike.
    pub shared_memory: f64,
    /// By generation, the power of the number of links with which a copy grows, where that is not
    /// 1.
    pub exponents: Vec<(String, f64)>,
}

/// A share, as [`Efficiency::of`] finds it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// The share.
    pub value: f64,
    /// The number of machines on which it was measured; 0 if it is taken from others.
    pub machines: u32,
}

impl Efficiency {
    /// Every part at its nominal bandwidth: an upper bound. What has no nominal bandwidth is no
    /// bound: links between sockets, roots.
    #[must_use]
    pub fn nominal() -> Arc<Self> {
        static NOMINAL: LazyLock<Arc<Efficiency>> = LazyLock::new(|| {
            let host = PARTS.iter().filter(|(part, _)| *part != Part::Direct);
            let factors = host.flat_map(|&(part, _)| {
                USES.iter().map(move |&(using, _)| Factor {
                    part,
                    using,
                    generation: None,
                    value: part.nominal_share(using),
                    machines: 0,
                })
            });
            Arc::new(Efficiency {
                source: "nominal bandwidths".to_owned(),
                factors: factors.collect(),
                spreads: Vec::new(),
                shared_root: 1.0,
                shared_memory: 1.0,
                exponents: Vec::new(),
            })
        });
        Arc::clone(&NOMINAL)
    }

    /// The share of a part. Where it was not measured, it is taken from what is nearest: for direct
    /// links the median of other generations of the same family, then of all; then from the traffic
    /// that is most alike. A part without any share carries its nominal bandwidth.
    #[must_use]
    pub fn of(&self, part: Part, using: Use, generation: Option<&str>) -> Share {
        let unknown = Share {
            value: 1.0,
            machines: 0,
        };
        let mut next = Some(using);
        while let Some(using) = next {
            if let Some(share) = self.own(part, using, generation) {
                return share;
            }
            if part == Part::Direct
                && let Some(value) = self.of_others(using, generation)
            {
                return Share { value, machines: 0 };
            }
            next = match using {
                Use::Pair | Use::Exchange | Use::Host => Some(Use::Ring),
                // A ring sends both ways at once.
                Use::Ring if part == Part::SocketBus => Some(Use::BothWays),
                Use::Ring if part != Part::Direct => Some(Use::Copy),
                Use::BothWays | Use::TwoHops => Some(Use::Copy),
                Use::InRack => Some(Use::InSwitch),
                _ => None,
            };
        }
        unknown
    }

    /// The share that was measured for this very part, traffic and generation.
    #[must_use]
    pub fn own(&self, part: Part, using: Use, generation: Option<&str>) -> Option<Share> {
        let generation = generation.map(base).filter(|_| part == Part::Direct);
        let is = |factor: &&Factor| {
            factor.part == part
                && factor.using == using
                && factor.generation.as_deref().map(base) == generation
        };
        let factor = self.factors.iter().find(is)?;
        Some(Share {
            value: factor.value,
            machines: factor.machines,
        })
    }

    /// The median over other generations of the same family, else over all.
    fn of_others(&self, using: Use, generation: Option<&str>) -> Option<f64> {
        let of = |family: Option<&str>| {
            let alike = self.factors.iter().filter(|factor| {
                let name = factor.generation.as_deref();
                factor.part == Part::Direct
                    && factor.using == using
                    && name.is_some_and(|name| self.exponent(name) == 1.0)
                    && (family.is_none() || name.map(family_of) == family)
            });
            let mut values: Vec<f64> = alike.map(|factor| factor.value).collect();
            values.sort_unstable_by(f64::total_cmp);
            values.get(values.len() / 2).copied()
        };
        of(generation.map(family_of)).or_else(|| of(None))
    }

    /// The power of the number of links with which a copy grows.
    #[must_use]
    pub fn exponent(&self, generation: &str) -> f64 {
        let own = self.exponents.iter();
        let mut own = own.filter(|(name, _)| base(name) == base(generation));
        own.next().map_or(1.0, |(_, exponent)| *exponent)
    }

    /// The interval of an estimate: the factors by which a measurement may be lower and higher.
    /// `machines` is on how many machines the share that binds was measured.
    #[must_use]
    pub fn interval(&self, class: Class, machines: u32) -> (f64, f64) {
        let spread = self.spreads.iter().find(|spread| spread.class == class);
        let log = spread.map_or(ALONE, |spread| spread.log);
        let (low, high) = ((-log).exp(), log.exp());
        if machines <= 1 || spread.is_none_or(|spread| spread.machines <= 1) {
            (low.min(0.7), high.max(1.3))
        } else {
            (low, high)
        }
    }
}

/// The spread of what no measurement tells: a factor of 1.5 either way.
const ALONE: f64 = 0.4;

/// A generation without its variant: `NVLink 3` of `NVLink 3, bridge`.
fn base(generation: &str) -> &str {
    generation.split(',').next().unwrap_or_default()
}

/// The family of a generation: `NVLink` of `NVLink 3`.
fn family_of(generation: &str) -> &str {
    let digit = generation.find(|c: char| c.is_ascii_digit() || c == ',');
    generation[..digit.unwrap_or(generation.len())].trim()
}
