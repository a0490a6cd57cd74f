//! A row as a question to the model.

use std::collections::BTreeMap;
use std::sync::Arc;

use mapa_core::{
    DeviceId, Efficiency, Expected, HardwareGraph, HostNetwork, NodeId, NodeKind, Operation,
    PeerAccess, PeerSource,
};
use mapa_regress::{MeasuredRow, Observation};
use mapa_topologies::{Machine, know_links, link_generation, link_speeds, named, read};

use super::words::{Ways, bytes, devices, operation_of};

/// What a row asks of a model.
#[derive(Clone)]
pub struct Question {
    /// The machine, with the peer access and the slots that the row states.
    pub graph: Arc<HardwareGraph>,
    /// The devices, in the order of the flows.
    pub devices: Vec<DeviceId>,
    /// The operation that was measured.
    pub operation: Operation,
    /// The bytes of a message, where told.
    pub bytes: Option<u64>,
    /// How data can go.
    pub ways: Ways,
    /// By how much the row's number is more than one of ours: the number of devices where a row
    /// counts all together, less than 1 where it counts bandwidth of the algorithm.
    pub scale: f64,
}

impl Question {
    /// The model, with these shares.
    #[must_use]
    pub fn model(&self, efficiency: Arc<Efficiency>) -> Expected {
        Expected::new(self.operation, efficiency)
            .message_bytes(self.bytes)
            .in_switch(!self.ways.without_in_switch)
            .far(self.ways.far)
    }
}

/// The question that a row asks; or why it asks none. `topology` gives the text of a file that rows
/// name, and `earlier` the topologies of rows before, for those that say "as above".
///
/// # Errors
/// In words: the operation is none of ours; the topology is not told, or cannot be read; the devices
/// are not told.
pub fn question(
    row: &MeasuredRow,
    topology: &dyn Fn(&str) -> Option<Vec<u8>>,
    earlier: &mut BTreeMap<String, String>,
) -> Result<Question, String> {
    // Also a row that asks nothing names the topology of those below it.
    let cell = row.topology.clone().unwrap_or_default();
    // The words refer to the last topology of the same server, which may be many rows above.
    let words = if cell.trim() == "as above" {
        earlier.get(&row.server).cloned().unwrap_or_default()
    } else {
        earlier.insert(row.server.clone(), cell.clone());
        cell
    };
    let (operation, together) = operation_of(&row.operation)
        .ok_or_else(|| format!("operation `{}`: not one of ours", row.operation))?;
    let mut machine = machine(&words, topology)?;
    let ways = Ways::of(row);
    // Only a dump may lack bandwidths; the catalogue has them.
    prepare(&mut machine, row, &ways, words.contains(".txt")).map_err(|error| error.to_string())?;
    let mut graph = machine.graph().map_err(|error| error.to_string())?;
    // Only a compiled graph knows which pairs share a switch. The machine is compiled once to find the others,
    // and once without their peer access.
    if ways.near_only {
        graph = near_only(machine, &graph)?;
    }
    let told = row.devices.as_deref().unwrap_or_default();
    let devices = devices(told, &graph).ok_or_else(|| format!("devices `{told}`: not told"))?;
    let n = devices.len() as f64;
    let metric = row.metric.as_deref().unwrap_or_default();
    let scale = if together {
        n
    } else if metric.starts_with("algbw") {
        // By nccl-tests' PERFORMANCE.md the bandwidth of the bus is that of the algorithm times 2 (n - 1) / n,
        // or times (n - 1) / n. This is the inverse.
        match operation {
            Operation::AllReduce => n / (2.0 * (n - 1.0)),
            Operation::AllGather | Operation::ReduceScatter | Operation::AllToAll => n / (n - 1.0),
            _ => 1.0,
        }
    } else {
        1.0
    };
    Ok(Question {
        graph: Arc::new(graph),
        devices,
        operation,
        bytes: row.size.as_deref().and_then(bytes),
        ways,
        scale,
    })
}

/// The machine of these words: the first file or catalogue name in them.
fn machine(words: &str, topology: &dyn Fn(&str) -> Option<Vec<u8>>) -> Result<Machine, String> {
    let parts = words.split(|c: char| c.is_whitespace() || "(),;:".contains(c));
    // A file comes first: the words around its name may be names of the catalogue.
    if let Some(file) = parts.clone().find(|word| word.ends_with(".txt")) {
        let text = topology(file).ok_or_else(|| format!("no topology is called `{file}`"))?;
        let dump = read(&text).map_err(|error| format!("{file}: {error}"))?;
        return dump
            .into_machine()
            .map_err(|error| format!("{file}: {error}"));
    }
    // Any word of a row may happen to be a name, so a name counts only if the row speaks of the catalogue.
    for word in parts {
        // `mi100-x4 of the catalogue` too.
        if let Ok(machine) = named(word).map_err(|error| error.to_string())
            && words.contains("catalogue")
        {
            return Ok(machine);
        }
    }
    Err(format!(
        "topology `{words}`: expected a file or a name of the catalogue"
    ))
}

fn device_nodes(machine: &Machine) -> Vec<NodeId> {
    let nodes = machine.fabric.nodes();
    nodes
        .filter(|(_, node)| matches!(node.kind, NodeKind::Device(_)))
        .map(|(id, _)| id)
        .collect()
}

/// Adds what the row tells of the machine: product, slots, peer access.
fn prepare(
    machine: &mut Machine,
    row: &MeasuredRow,
    ways: &Ways,
    from_file: bool,
) -> Result<(), mapa_topologies::Error> {
    if let Some(product) = &row.gpu {
        machine.fabric.set_products(product);
        // A dump without bandwidths counts every link as 25 GB/s.
        let generation = link_generation(machine);
        let speed = link_speeds().find(|speed| Some(speed.generation) == generation);
        if let Some(speed) = speed.filter(|_| from_file) {
            machine.fabric.set_direct_gbps(speed.gbps)?;
        }
        know_links(machine)?;
    }
    for id in device_nodes(machine) {
        if let Some(gbps) = ways.slot_gbps {
            machine.fabric.set_slot_gbps(id, gbps)?;
        }
    }
    if let Some(on) = ways.peers {
        machine.fabric.set_peer_access_everywhere(PeerAccess {
            on,
            source: PeerSource::Told,
        });
    }
    Ok(())
}

/// The machine on which only devices below one switch reach each other's memory.
fn near_only(mut machine: Machine, graph: &HardwareGraph) -> Result<HardwareGraph, String> {
    let host = HostNetwork::of(graph);
    let nodes = device_nodes(&machine);
    let off = PeerAccess {
        on: false,
        source: PeerSource::Told,
    };
    for b in 0..nodes.len() {
        for a in 0..b {
            // Ids count the devices in the order of their nodes.
            let [x, y] = [a, b].map(|i| DeviceId(i as u32));
            if !host.share_a_switch(x, y) {
                let set = machine.fabric.set_peer_access(nodes[a], nodes[b], off);
                set.map_err(|error| error.to_string())?;
            }
        }
    }
    machine.graph().map_err(|error| error.to_string())
}

/// The row as an observation that shares are fitted to; none if its messages are so short that they
/// tell nothing of links.
#[must_use]
pub fn observation(
    row: &MeasuredRow,
    asked: &Question,
    efficiency: Arc<Efficiency>,
) -> Option<Observation> {
    let model = asked.model(efficiency);
    Some(Observation {
        id: row.id.clone(),
        server: row.server.clone(),
        gbps: model.of_large_messages(row.gbps / asked.scale, asked.devices.len())?,
        ways: model.ways(&asked.graph, &asked.devices),
        generation: asked.graph.link_generation().map(str::to_owned),
    })
}
