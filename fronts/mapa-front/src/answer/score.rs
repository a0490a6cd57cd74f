//! The answer of `score`: the bandwidth of given devices by a model.

use std::collections::BTreeMap;

use mapa_core::{Estimate, Hop, Operation, PeerSource, Use};
use mapa_topologies::Vendor;
use serde::Serialize;

/// The bandwidth of given devices by a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Score {
    /// The model, as the request names it.
    pub model: String,
    /// The ids of the devices, in the order of the request.
    pub devices: Vec<u32>,
    /// The names of the devices, in the same order.
    pub names: Vec<String>,
    /// The bandwidth.
    #[serde(flatten)]
    pub bandwidth: Bandwidth,
}

/// A bandwidth, and what it is made of.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Bandwidth {
    /// There is none.
    None(NoBandwidth),
    /// A sum of terms of link counts.
    Sum(SumOfTerms),
    /// What links carry at once.
    Packing(Packing),
    /// What an operation is expected to reach.
    Expected(Expected),
}

/// Why devices have no collective bandwidth.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NoBandwidth {
    /// Always null.
    pub gbps: Option<f64>,
    /// Always false.
    pub in_domain: bool,
    /// Why there is none.
    pub reason: String,
}

/// A sum of terms of link counts.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SumOfTerms {
    /// The sum, GB/s.
    pub gbps: f64,
    /// Whether the model was fitted to placements like this one.
    pub in_domain: bool,
    /// Where the coefficients are from.
    pub source: String,
    /// The number of links of each tier, by its name.
    pub links: BTreeMap<String, u32>,
    /// The terms, in the order of the model.
    pub terms: Vec<Term>,
    /// The rank order of highest aggregated bandwidth on the same devices; null if that order has
    /// the same links.
    pub best_order: Option<Order>,
    /// Reasons to doubt the number.
    pub notes: Vec<String>,
}

/// A term of a sum.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Term {
    /// The term, as a product of link counts.
    pub term: String,
    /// Its value.
    pub value: f64,
    /// Its coefficient, GB/s.
    pub coefficient: f64,
    /// Value times coefficient, GB/s.
    pub product: f64,
}

/// A rank order with its bandwidth.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Order {
    /// The ids of the devices, in rank order.
    pub devices: Vec<u32>,
    /// GB/s.
    pub gbps: f64,
    /// Whether the model was fitted to placements like this one.
    pub in_domain: bool,
}

/// What the links of a set of devices carry at once.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Packing {
    /// The bandwidth that was found, GB/s.
    pub gbps: f64,
    /// A bound that no packing exceeds, GB/s.
    pub at_most_gbps: f64,
    /// Whether no packing is better.
    pub exact: bool,
    /// Whether it comes from an imitation of NCCL's search, which proves no bound.
    pub imitated: bool,
    /// Whether the traffic goes through the host, since direct links carry no more.
    pub over_host: bool,
    /// Always true: a packing is defined for any two devices.
    pub in_domain: bool,
    /// The rings, if it is a packing of rings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rings: Option<Vec<Ring>>,
    /// The trees, if it is a packing of trees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trees: Option<Vec<Tree>>,
    /// The bandwidth of each ordered pair, GB/s, if it is an all-to-all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pair_gbps: Option<f64>,
}

/// What an operation is expected to reach.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Expected {
    /// The expectation, GB/s, in the unit of the operation; null where the speed of a link on the way
    /// is not known.
    pub gbps: Option<f64>,
    /// Nine of ten measurements are above this, GB/s.
    pub low_gbps: Option<f64>,
    /// Nine of ten measurements are below this, GB/s.
    pub high_gbps: Option<f64>,
    /// What the links could carry at nominal bandwidth, GB/s; null if it is assumed. A bound, unless
    /// a note says that measurements lie above it.
    pub nominal_gbps: Option<f64>,
    /// The operation.
    pub operation: String,
    /// The bytes of a message; null for large messages, 1 GiB and more.
    pub message_bytes: Option<u64>,
    /// Whether the pairs that the operation uses reach each other's memory: `on`, `off` or, for some
    /// pairs, `mixed`; null where no way joins the devices.
    pub p2p: Option<String>,
    /// How that is known: `told`, `guessed` or `assumed`; null where no way joins the devices.
    pub p2p_from: Option<String>,
    /// The slowest hop of the data's way: `direct`, `switch`, `socket` or `between-sockets`; null where
    /// no way joins the devices.
    pub path: Option<String>,
    /// The part of the way that binds; null where no way joins the devices.
    pub bound_by: Option<String>,
    /// On how many machines the share of that part was measured; 0 if it is taken from others.
    pub machines: u32,
    /// Whether the speed of every link on the way is known.
    pub in_domain: bool,
    /// What is assumed, and what is not known.
    pub notes: Vec<String>,
    /// Why there is none, where no way joins the devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Expected {
    /// The answer where no way joins the devices.
    #[must_use]
    pub fn none(why: &str, operation: Operation, message_bytes: Option<u64>) -> Self {
        Self {
            gbps: None,
            low_gbps: None,
            high_gbps: None,
            nominal_gbps: None,
            operation: operation.to_string(),
            message_bytes,
            p2p: None,
            p2p_from: None,
            path: None,
            bound_by: None,
            machines: 0,
            in_domain: false,
            notes: vec![why.to_owned()],
            reason: Some(why.to_owned()),
        }
    }

    /// The answer for an estimate.
    #[must_use]
    pub fn new(
        estimate: &Estimate,
        operation: Operation,
        message_bytes: Option<u64>,
        vendor: Option<Vendor>,
        is_virtual: bool,
    ) -> Self {
        // If the speed of a link is not known, the estimate's numbers mean nothing.
        let known = |gbps: f64| estimate.known.then_some(gbps);
        let (p2p, from) = (p2p(estimate), p2p_from(estimate.peer_source));
        Self {
            gbps: known(estimate.gbps),
            low_gbps: known(estimate.low_gbps),
            high_gbps: known(estimate.high_gbps),
            nominal_gbps: known(estimate.nominal_gbps),
            operation: operation.to_string(),
            message_bytes,
            p2p: Some(p2p.to_owned()),
            p2p_from: Some(from.to_owned()),
            path: Some(path(estimate.hop).to_owned()),
            bound_by: Some(format!("{} {}", estimate.bound_by.0, estimate.bound_by.1)),
            machines: estimate.machines,
            in_domain: estimate.known,
            notes: notes_on(estimate, vendor, is_virtual),
            reason: None,
        }
    }
}

/// Whether devices reach each other's memory, in one word.
fn p2p(estimate: &Estimate) -> &'static str {
    match estimate.peer_access {
        Some(true) => "on",
        Some(false) => "off",
        None => "mixed",
    }
}

fn p2p_from(source: PeerSource) -> &'static str {
    match source {
        PeerSource::Told => "told",
        PeerSource::Guessed => "guessed",
        PeerSource::Assumed => "assumed",
    }
}

fn path(hop: Hop) -> &'static str {
    match hop {
        Hop::Direct => "direct",
        Hop::Switch => "switch",
        Hop::Socket => "socket",
        Hop::BetweenSockets => "between-sockets",
    }
}

/// What is assumed for an estimate, and what is not known.
#[must_use]
pub fn notes_on(estimate: &Estimate, vendor: Option<Vendor>, is_virtual: bool) -> Vec<String> {
    let mut notes = Vec::new();
    let direct = estimate.hop == Hop::Direct;
    if !estimate.known {
        notes.push(if direct {
            "the generation of the direct links is not known, so neither is their speed: expected --nvlink-gbps, or a dump that names \
             the products, such as `nvidia-smi -L`"
                .to_owned()
        } else {
            "the generation of PCIe is not known, so neither is its speed: expected --pcie-gbps, 15.75 for sixteen lanes of PCIe 3, \
             31.5 for PCIe 4, 63 for PCIe 5; or a dump that names the products"
                .to_owned()
        });
    }
    notes.extend(note_on_peers(estimate, vendor, is_virtual));
    if estimate.sockets_assumed {
        notes.push(
            "which devices share a socket is assumed from the numbers of NUMA nodes: half of them in each of two sockets"
                .to_owned(),
        );
    }
    if !estimate.nominal_is_bound {
        notes.push(format!(
            "measurements of {} {} lie above the nominal rate, so that rate is no bound here",
            estimate.bound_by.0, estimate.bound_by.1
        ));
    }
    if estimate.known && estimate.machines == 0 {
        notes.push(
            "the share of the part that binds was not measured: it is taken from what is nearest"
                .to_owned(),
        );
    }
    notes
}

/// What is assumed of peer access, where that matters. In a virtual machine (`is_virtual`) the host decides whether data of
/// one device reaches another over PCIe: its ACS sends such data to the IOMMU, which translates the guest's addresses only
/// for devices with ATS.
#[must_use]
pub fn note_on_peers(
    estimate: &Estimate,
    vendor: Option<Vendor>,
    is_virtual: bool,
) -> Option<String> {
    // Neither traffic over direct links nor copies between memory and a device depend on it.
    if estimate.hop == Hop::Direct || estimate.bound_by.1 == Use::Host {
        return None;
    }
    match estimate.peer_source {
        PeerSource::Assumed if is_virtual => Some(format!(
            "P2P assumed on, though over PCIe it works in a virtual machine only where the host allows it (ACS off, or ATS): {} \
             tells, or --p2p on|off",
            peer_command(vendor)
        )),
        PeerSource::Assumed => Some(format!(
            "P2P assumed on: {} tells, or --p2p on|off",
            peer_command(vendor)
        )),
        PeerSource::Guessed => Some(format!(
            "P2P assumed off, as usual for these products: {} tells, or --p2p on|off",
            peer_command(vendor)
        )),
        PeerSource::Told => None,
    }
}

/// The output that tells which devices reach each other's memory.
fn peer_command(vendor: Option<Vendor>) -> &'static str {
    match vendor {
        Some(Vendor::Amd) => "--machine with `amd-smi topology`",
        _ => "--machine with `nvidia-smi topo -p2p r`",
    }
}

/// A ring of a packing.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ring {
    /// The ids of the devices around the ring.
    pub devices: Vec<u32>,
    /// GB/s.
    pub gbps: f64,
}

/// A spanning tree of a packing.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tree {
    /// The edges, as pairs of ids.
    pub edges: Vec<[u32; 2]>,
    /// Data reduced per second, GB/s.
    pub gbps: f64,
}
