//! Writes a machine in the JSON Graph Format, version 2, which graph libraries and browser tools
//! read.

use mapa_core::{FabricWire, NodeKind};
use serde_json::{Map, Value, json};

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
        let mut nodes = Map::new();
        for (_, node) in self.fabric.nodes() {
            nodes.insert(
                node.name.clone(),
                json!({ "label": node.name, "metadata": about(&node.kind) }),
            );
        }
        let edges: Vec<Value> = self
            .fabric
            .wires()
            .map(|(a, b, wire)| {
                let [source, target] = [a, b].map(|id| &self.fabric.node(id).name);
                let (relation, metadata) = match wire {
                    FabricWire::Up { gbps } => ("up", json!({ "gbps": gbps })),
                    FabricWire::Link(link) => {
                        let relation = if link.class.is_direct() { "direct" } else { "host" };
                        (relation, json!({ "class": self.labels.print(link.class), "gbps": link.gbps }))
                    }
                };
                let directed = relation == "up";
                json!({
                    "source": source, "target": target, "relation": relation, "directed": directed, "metadata": metadata,
                })
            })
            .collect();
        let graph = json!({ "graph": {
            "id": self.name, "type": "machine", "label": self.title, "directed": false,
            "metadata": { "source": self.source, "notes": self.notes },
            "nodes": nodes, "edges": edges,
        }});
        serde_json::to_string_pretty(&graph)
            .map_err(|error| Error::new(format!("cannot be written as JSON: {error}")))
    }
}

/// The metadata of a component. A key is absent if its value is not known.
fn about(kind: &NodeKind) -> Value {
    let mut about = Map::new();
    let mut say = |key: &str, value: Value| {
        if !value.is_null() {
            about.insert(key.to_owned(), value);
        }
    };
    let word = match kind {
        NodeKind::Machine => "machine",
        NodeKind::Numa(_) => "numa",
        NodeKind::HostBridge => "host-bridge",
        NodeKind::PcieSwitch => "pcie-switch",
        NodeKind::LinkSwitch => "link-switch",
        NodeKind::Nic => "nic",
        NodeKind::Device(_) => "device",
    };
    say("kind", json!(word));
    match kind {
        NodeKind::Numa(number) => say("number", json!(number)),
        NodeKind::Device(info) => {
            say("product", json!(info.product));
            say("index", json!(info.index));
            say("uuid", json!(info.uuid));
            say("pci", json!(info.pci));
            say("numa", json!(info.numa));
            say("memory_bytes", json!(info.memory_bytes));
            say("mig", json!(info.mig.as_ref().map(|model| model.name())));
        }
        _ => {}
    }
    Value::Object(about)
}
