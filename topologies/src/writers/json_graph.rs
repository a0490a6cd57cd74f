//! Writes a machine in the JSON Graph Format, version 2, which graph libraries and browser tools
//! read.

use std::collections::BTreeMap;

use mapa_core::{FabricWire, NodeKind};
use serde::Serialize;

use crate::error::Error;
use crate::machine::Machine;

impl Machine {
    /// Writes the machine in the [JSON Graph Format](https://jsongraphformat.info), version 2.
    ///
    /// Every component is a node, with its name as key. Every wire is an edge with one of three
    /// relations:
    ///
    /// - `up`: from a component to its parent in the host tree. Only these edges are directed.
    /// - `direct`: a direct link.
    /// - `host`: a path through the host, where the source gave the path and not the tree.
    ///
    /// Everything else that is known is in `metadata`. Bandwidths are in GB/s per direction.
    ///
    /// # Examples
    ///
    /// ```
    /// let text = mapa_topologies::named("summit")?.to_json_graph()?;
    /// let json: serde_json::Value = serde_json::from_str(&text)?;
    /// assert_eq!(json["graph"]["nodes"]["cpu1"]["metadata"]["number"], 8);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the JSON cannot be written. No machine is known for which this happens: names are unique
    /// and numbers are finite.
    pub fn to_json_graph(&self) -> Result<String, Error> {
        let mut nodes = BTreeMap::new();
        for (_, node) in self.fabric.nodes() {
            let metadata = JsonAbout::new(&node.kind);
            let label = &node.name;
            nodes.insert(node.name.as_str(), JsonNode { label, metadata });
        }
        let edges = self.fabric.wires().map(|(a, b, wire)| {
            let [source, target] = [a, b].map(|id| self.fabric.node(id).name.as_str());
            let (relation, class, gbps) = match wire {
                FabricWire::Up { gbps } => ("up", None, gbps),
                FabricWire::Link(link) => {
                    let relation = if link.class.is_direct() {
                        "direct"
                    } else {
                        "host"
                    };
                    (relation, Some(self.labels.print(link.class)), link.gbps)
                }
            };
            JsonEdge {
                directed: relation == "up",
                metadata: JsonLink { class, gbps },
                relation,
                source,
                target,
            }
        });
        let graph = Document {
            graph: JsonGraph {
                directed: false,
                edges: edges.collect(),
                id: &self.name,
                label: &self.title,
                metadata: JsonSource {
                    notes: &self.notes,
                    source: &self.source,
                },
                nodes,
                kind: "machine",
            },
        };
        serde_json::to_string_pretty(&graph)
            .map_err(|error| Error::new(format!("cannot be written as JSON: {error}")))
    }
}

// Fields are in the order of the alphabet, as keys were in the first version of this writer.

#[derive(Serialize)]
struct Document<'m> {
    graph: JsonGraph<'m>,
}

#[derive(Serialize)]
struct JsonGraph<'m> {
    directed: bool,
    edges: Vec<JsonEdge<'m>>,
    id: &'m str,
    label: &'m str,
    metadata: JsonSource<'m>,
    nodes: BTreeMap<&'m str, JsonNode<'m>>,
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Serialize)]
struct JsonSource<'m> {
    notes: &'m [String],
    source: &'m str,
}

#[derive(Serialize)]
struct JsonNode<'m> {
    label: &'m str,
    metadata: JsonAbout<'m>,
}

#[derive(Serialize)]
struct JsonEdge<'m> {
    directed: bool,
    metadata: JsonLink,
    relation: &'static str,
    source: &'m str,
    target: &'m str,
}

/// A wire: the class of a link, and the bandwidth, GB/s per direction.
#[derive(Serialize)]
struct JsonLink {
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<String>,
    gbps: f64,
}

/// The metadata of a component. A key is absent if its value is not known.
#[derive(Default, Serialize)]
struct JsonAbout<'m> {
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<u32>,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mig: Option<&'m str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    numa: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pci: Option<&'m str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    product: Option<&'m str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uuid: Option<&'m str>,
}

impl<'m> JsonAbout<'m> {
    fn new(kind: &'m NodeKind) -> Self {
        let word = match kind {
            NodeKind::Machine => "machine",
            NodeKind::Numa(_) => "numa",
            NodeKind::HostBridge => "host-bridge",
            NodeKind::PcieSwitch => "pcie-switch",
            NodeKind::LinkSwitch => "link-switch",
            NodeKind::Nic => "nic",
            NodeKind::Device(_) => "device",
        };
        let about = Self {
            kind: word,
            ..Self::default()
        };
        match kind {
            NodeKind::Numa(number) => Self {
                number: Some(*number),
                ..about
            },
            NodeKind::Device(info) => Self {
                index: info.index,
                memory_bytes: info.memory_bytes,
                mig: info.mig.as_ref().map(|model| model.name()),
                numa: info.numa,
                pci: info.pci.as_deref(),
                product: info.product.as_deref(),
                uuid: info.uuid.as_deref(),
                ..about
            },
            _ => about,
        }
    }
}
