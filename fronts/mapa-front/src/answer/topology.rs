//! The answer of `topo`: a machine.

use serde::Serialize;

use super::mig::Instance;

/// A machine: its devices, and a matrix of its links.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Topology {
    /// The name of the machine.
    pub name: String,
    /// What it is, in one line.
    pub title: String,
    /// Where the description is from.
    pub source: String,
    /// The vendor of the devices: `nvidia`, `amd` or `intel`; null if the description does not name it.
    pub vendor: Option<String>,
    /// What was assumed.
    pub notes: Vec<String>,
    /// What is odd about the description.
    pub warnings: Vec<String>,
    /// The whole devices, in the order of their ids.
    pub devices: Vec<Device>,
    /// The names of the network cards.
    pub network_cards: Vec<String>,
    /// The class of the best link between each pair of devices, as the vendor's tool prints it; `X`
    /// on the diagonal.
    pub links: Vec<Vec<String>>,
    /// The class of the path through the host between each pair; `X` on the diagonal.
    pub host_links: Vec<Vec<String>>,
    /// The bandwidth of the best link between each pair, GB/s per direction.
    pub bandwidth_gbps: Vec<Vec<f64>>,
    /// The number of pairs by class of link, best class first.
    pub census: Vec<Pairs>,
    /// How the machine was found, if it is the one that the program runs on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discovery: Option<Discovery>,
}

/// A whole device.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Device {
    /// Its id.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// The vendor's number for it.
    pub index: Option<u32>,
    /// The product.
    pub product: Option<String>,
    /// Its UUID.
    pub uuid: Option<String>,
    /// Its PCI address.
    pub pci: Option<String>,
    /// Its NUMA node.
    pub numa: Option<u32>,
    /// Its memory, bytes.
    pub memory_bytes: Option<u64>,
    /// The number of its direct links; links to a switch count by its port.
    pub direct_links: u32,
    /// Their bandwidth in all, GB/s per direction.
    pub direct_gbps: f64,
    /// Whether its direct links end at a switch.
    pub switched: bool,
    /// The GPU whose MIG profiles it has.
    pub mig: Option<String>,
    /// Its instances; null if it is not partitioned.
    pub layout: Option<Vec<Instance>>,
}

/// Pairs of devices with links of one class and bandwidth.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pairs {
    /// The class of the link, as the vendor's tool prints it.
    pub link: String,
    /// The number of pairs.
    pub pairs: usize,
    /// The bandwidth of one such link, GB/s per direction.
    pub gbps: f64,
}

/// How a machine was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Discovery {
    /// The source that described it.
    pub by: String,
    /// Whether the description is from the cache.
    pub cached: bool,
    /// The version of the driver.
    pub driver: Option<String>,
    /// When it was found, seconds since the beginning of 1970.
    pub at: u64,
    /// The file in which the description is cached.
    pub file: Option<String>,
    /// The MIG instances. They are never cached, so they are null in an answer from the cache.
    pub mig_instances: Option<Vec<LiveInstance>>,
    /// The sources that were queried, in order.
    pub tried: Vec<Tried>,
}

/// A MIG instance of the machine that the program runs on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LiveInstance {
    /// The id of its device.
    pub device: u32,
    /// Its profile.
    pub profile: String,
    /// Its UUID.
    pub uuid: Option<String>,
}

/// A source that was queried for a description.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tried {
    /// Its name.
    pub source: String,
    /// Where it was looked for.
    pub place: String,
    /// Why it gave no machine; null if it did.
    pub failure: Option<String>,
}
