//! The answer of `score`: the bandwidth of given devices by a model.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

/// The bandwidth of given devices by a model.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Bandwidth {
    /// There is none.
    None(NoBandwidth),
    /// A sum of terms of link counts.
    Sum(SumOfTerms),
    /// What links carry at once.
    Packing(Packing),
}

/// Why devices have no collective bandwidth.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NoBandwidth {
    /// Always null.
    pub gbps: Option<f64>,
    /// Always false.
    pub in_domain: bool,
    /// Why there is none.
    pub reason: String,
}

/// A sum of terms of link counts.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Order {
    /// The ids of the devices, in rank order.
    pub devices: Vec<u32>,
    /// GB/s.
    pub gbps: f64,
    /// Whether the model was fitted to placements like this one.
    pub in_domain: bool,
}

/// What the links of a set of devices carry at once.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
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

/// A ring of a packing.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Ring {
    /// The ids of the devices around the ring.
    pub devices: Vec<u32>,
    /// GB/s.
    pub gbps: f64,
}

/// A spanning tree of a packing.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Tree {
    /// The edges, as pairs of ids.
    pub edges: Vec<[u32; 2]>,
    /// Data reduced per second, GB/s.
    pub gbps: f64,
}
