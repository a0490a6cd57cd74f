//! The error type, and the message of each error.

use std::fmt;

use crate::ids::{DeviceId, LeaseId, LinkClass, MAX_DEVICES, MAX_VERTICES};
use crate::text::shortened;

/// Why an input was rejected. The message says what is wrong, where, and what was expected.
///
/// A well-formed request that cannot be met is not an error: see [`Refusal`](crate::Refusal).
#[derive(Debug)]
pub struct Error(Box<ErrorKind>);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shortened(&self.0.to_string()))
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

impl Error {
    /// Whether a decision or snapshot was rejected because the state has changed since.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        matches!(*self.0, ErrorKind::Stale { .. } | ErrorKind::OtherCopy)
    }

    /// Whether a decision or snapshot was rejected because it belongs to another machine.
    #[must_use]
    pub fn is_other_machine(&self) -> bool {
        matches!(*self.0, ErrorKind::OtherMachine)
    }

    /// Whether a lease is not held: it was never given, or is released already.
    #[must_use]
    pub fn is_unknown_lease(&self) -> bool {
        matches!(*self.0, ErrorKind::UnknownLease(_))
    }

    /// Whether a layout was rejected because it lacks something that has a tenant.
    #[must_use]
    pub fn is_tenant_vanishing(&self) -> bool {
        matches!(*self.0, ErrorKind::TenantVanishes { .. })
    }

    /// Whether the constraints of a request contradict each other.
    #[must_use]
    pub fn is_contradiction(&self) -> bool {
        matches!(*self.0, ErrorKind::Contradiction(_))
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self(Box::new(kind))
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ErrorKind {
    #[error("two components are named `{0}`: expected a name of its own for each")]
    DuplicateName(String),
    #[error("`{0}` cannot be a name: expected some text and, for a device, more than a number")]
    BadName(String),
    #[error("`{name}` has {identity}, as another component has: expected one of its own")]
    DuplicateIdentity { name: String, identity: String },
    #[error("`{name}` is said to be on NUMA node {said}, but hangs below node {above}")]
    TwoNumaNodes { name: String, said: u32, above: u32 },
    #[error("a machine has at most {MAX_DEVICES} devices, this one has at least {0}")]
    TooManyDevices(usize),
    #[error(
        "{0} devices and instances of them could exist: expected at most {MAX_VERTICES} in one machine"
    )]
    TooManyVertices(usize),
    #[error("the machine has no devices")]
    NoDevices,
    #[error(
        "`{child}` cannot hang below `{parent}`: expected a machine, NUMA node, host bridge or PCIe switch"
    )]
    NoParent { child: String, parent: String },
    #[error("`{0}` has two parents: expected one")]
    TwoParents(String),
    #[error("`{0}` hangs below itself")]
    Cycle(String),
    #[error("`{0}` is linked to itself: expected two components")]
    SelfLink(String),
    #[error(
        "`{a}` and `{b}` cannot be joined by a link of class {class}: expected a host path between devices or cards, or \
         direct links between devices or a device and a link switch"
    )]
    BadLink {
        a: String,
        b: String,
        class: LinkClass,
    },
    #[error(
        "`{a}` and `{b}` are joined twice: expected one host path and one bundle of direct links at most"
    )]
    LinkedTwice { a: String, b: String },
    #[error("`{a}` and `{b}` have more than 255 direct links")]
    TooManyLinks { a: String, b: String },
    #[error("a component of another fabric: expected ids that `add` of this one gave")]
    ForeignNode,
    #[error("{place}: bandwidth {gbps} GB/s: expected a positive number, at most 1e9")]
    BadBandwidth { place: String, gbps: f64 },
    #[error("`{a}` and `{b}` have no direct links: expected a pair whose links were measured")]
    NoDirectLinks { a: String, b: String },
    #[error(
        "no single device is called `{text}`: expected an id below {devices}, or a name, UUID or PCI address"
    )]
    UnknownDevice { text: String, devices: usize },
    #[error(
        "`{number}` can mean id {number} ({id}) or the vendor's number {number} ({vendors}): expected a name"
    )]
    AmbiguousNumber {
        number: u32,
        id: String,
        vendors: String,
    },

    #[error("edge {edge} ({a}-{b}) leaves the pattern: expected vertices below {vertices}")]
    EdgeOutOfRange {
        edge: usize,
        a: u16,
        b: u16,
        vertices: usize,
    },
    #[error("edge {edge} joins vertex {vertex} to itself: no device talks to itself")]
    SelfLoop { edge: usize, vertex: u16 },
    #[error("edge {edge} has traffic {traffic}: expected a positive number")]
    BadTraffic { edge: usize, traffic: f64 },
    #[error("sensitivity `{0}`: expected one of sensitive, insensitive, unknown")]
    BadSensitivity(String),
    #[error("a pattern of {0} vertices: expected at most {MAX_DEVICES}")]
    PatternTooLarge(usize),
    #[error("a graph of {vertices} vertices: expected at most {most}")]
    GraphTooLarge { vertices: usize, most: usize },
    #[error("edge {edge} ({a}-{b}) leaves the graph: expected vertices below {vertices}")]
    GraphEdgeOutOfRange {
        edge: usize,
        a: u32,
        b: u32,
        vertices: usize,
    },
    #[error("the pattern joins vertex {0} to itself: expected two ends of each edge")]
    PatternLoop(u32),
    #[error("a pattern of {vertices} vertices: expected at most {most}")]
    PatternGraphTooLarge { vertices: usize, most: usize },
    #[error(
        "no pattern is called `{0}`: expected ring, chain, star, tree, all-to-all or ring-tree"
    )]
    UnknownShape(String),
    #[error("`{word}`: {wrong}expected {expected}")]
    BadSetting {
        word: String,
        /// What is wrong, ending in ": "; empty if the expected form says enough.
        wrong: String,
        expected: String,
    },
    #[error("parallel job: {0}")]
    BadParallelSetting(Error),
    #[error("parallel job: `{word}`: expected {expected}")]
    BadParallelism {
        word: String,
        expected: &'static str,
    },
    #[error("no {what} is called `{name}`: expected one of {known}")]
    UnknownName {
        what: String,
        name: String,
        known: String,
    },
    #[error("no policy is called `{name}`: expected one of {known}")]
    UnknownPolicy { name: String, known: String },

    #[error("{given} tiers of links: expected at most {most}")]
    TooManyTiers { given: usize, most: usize },
    #[error(
        "`{0}` cannot be the least class of a tier: expected one from direct-255 down to network"
    )]
    BadTier(LinkClass),
    #[error(
        "the tier from {first} is followed by that from {second}: expected tiers from better to worse"
    )]
    TiersNotDescending { first: LinkClass, second: LinkClass },
    #[error(
        "no class of links is called `{0}`: expected none, network, sys, node, phb, pxb, pix, board, same-device, or direct-1 to direct-255"
    )]
    UnknownLinkClass(String),
    #[error("a term of {given} counts multiplied: expected at most {most}")]
    TooManyFactors { given: usize, most: usize },
    #[error("the model `{model}`: {what}")]
    BadModel { model: String, what: String },

    #[error("link {link}: a capacity of {gbps} GB/s: expected a number from 0 to 1e9")]
    BadCapacity { link: usize, gbps: f64 },
    #[error("flow {flow}: {what}")]
    BadFlow { flow: usize, what: String },

    #[error("device {0} is not a whole device")]
    NotWhole(DeviceId),
    #[error("device {0} cannot be partitioned")]
    CannotBeCut(DeviceId),

    #[error(
        "`{0}`: expected a size such as 1g.2m, so many compute slices (g) and memory slices (m)"
    )]
    BadSize(String),
    #[error("profile `{profile}` of {model}: {what}")]
    BadProfile {
        model: String,
        profile: String,
        what: &'static str,
    },
    #[error("{model}: more than {most} instances could exist: expected fewer profiles or starts")]
    TooManyInstances { model: String, most: usize },
    #[error("{model}: more than {most} layouts are legal: expected fewer profiles or starts")]
    TooManyLayouts { model: String, most: usize },
    #[error("{model} has no profile `{name}`: expected one of {known}")]
    UnknownProfile {
        model: String,
        name: String,
        known: String,
    },
    #[error(
        "{model} has no instance {instance} here: expected one that exists, at a start that its profile allows"
    )]
    NoSuchInstance { model: String, instance: String },
    #[error("{a} and {b} overlap")]
    Overlap { a: String, b: String },
    #[error("at most {most} of {profile} may exist")]
    TooManyOfProfile { profile: String, most: u8 },
    #[error("{instance} is not in the layout {layout}")]
    NotInLayout { instance: String, layout: String },
    #[error("{model} has no profile {profile}: expected an id below the number of its profiles")]
    NoSuchProfile { model: String, profile: u8 },
    #[error("a layout of another model than {model}")]
    ForeignLayout { model: String },
    #[error(
        "{model}: the layout {layout} takes more than {most} compute slices: expected starts that leave room for them"
    )]
    TooMuchCompute {
        model: String,
        layout: String,
        most: u8,
    },
    #[error("no start is left for {profile} beside {layout}")]
    NoStartLeft { profile: String, layout: String },

    #[error("the request contradicts itself: {0}")]
    Contradiction(String),

    #[error(
        "the decision was made in state {decision}, the allocator is in state {current}: decide again"
    )]
    Stale { decision: u64, current: u64 },
    #[error("the decision was made on a copy of this machine that went another way: decide again")]
    OtherCopy,
    #[error("it belongs to another machine")]
    OtherMachine,
    #[error("the decision was made on an imagined state and cannot be committed")]
    Imagined,
    #[error("device {0} is in use")]
    InUse(DeviceId),
    #[error("offered sets of devices: {0}: expected sets of the machine's devices, at least one")]
    BadOffer(String),
    #[error("there is no room for the decision: {0}")]
    NoRoom(String),
    #[error("device {0} is being repartitioned already: expected the change to be done first")]
    Changing(DeviceId),
    #[error("{device} would vanish under lease {lease}: release it first")]
    TenantVanishes { device: String, lease: LeaseId },
    #[error("no lease {0}: it was never given or is released already")]
    UnknownLease(u64),
    #[error("the snapshot is not consistent: {0}")]
    BadSnapshot(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_small_and_say_what_was_expected() {
        assert_eq!(size_of::<Error>(), size_of::<usize>());
        let error = Error::from(ErrorKind::SelfLoop { edge: 3, vertex: 1 });
        assert_eq!(
            error.to_string(),
            "edge 3 joins vertex 1 to itself: no device talks to itself"
        );
    }
}
