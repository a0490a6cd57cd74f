//! Decisions and placements as JSON objects and as text.

use mapa_core::{Census, Decision, DeviceId, HardwareGraph, LinkClass, Placement, Scored};
use mapa_front::Step;
use mapa_front::names::score_row;
use serde_json::{Map, Value, json};

/// The JSON object of a decision.
pub(crate) fn decision(decision: &Decision, graph: &HardwareGraph) -> Map<String, Value> {
    let mut object = scored(decision.best(), graph);
    object.insert("policy".to_owned(), json!(decision.policy()));
    let servers = visible_by_server(decision.placement(), graph);
    // The variable has one value for each server, so with several servers the plain key is null.
    let only = match servers.as_deref() {
        Some([(_, only)]) => Some(only),
        _ => None,
    };
    object.insert("cuda_visible_devices".to_owned(), json!(only));
    if let Some(several) = servers.as_ref().filter(|servers| servers.len() > 1) {
        let servers = several.iter().map(|(devices, numbers)| {
            let devices: Vec<u32> = devices.iter().map(|id| id.0).collect();
            json!({ "devices": devices, "numbers": numbers })
        });
        object.insert(
            "cuda_visible_devices_by_server".to_owned(),
            servers.collect(),
        );
    }
    object.insert("complete".to_owned(), json!(decision.search().complete()));
    object.insert("nodes".to_owned(), json!(decision.search().nodes));
    object
}

/// The JSON object of a placement with its scores.
pub(crate) fn scored(scored: &Scored, graph: &HardwareGraph) -> Map<String, Value> {
    let scores: Map<String, Value> = scored
        .scores()
        .map(|(name, value)| {
            let value = is_defined(name, scored.placement()).then_some(value);
            (name.to_owned(), json!(value))
        })
        .collect();
    let mut object = Map::new();
    object.insert("devices".to_owned(), json!(ids(scored.placement())));
    object.insert("names".to_owned(), json!(names(scored.placement(), graph)));
    object.insert("links".to_owned(), links(scored.links()));
    object.insert("scores".to_owned(), json!(scores));
    object.insert("in_domain".to_owned(), json!(scored.in_domain()));
    object.insert(
        "out_of_domain".to_owned(),
        json!(scored.out_of_domain().collect::<Vec<_>>()),
    );
    object
}

/// Adds the communication time of a job.
pub(crate) fn insert_times(step: &Step, object: &mut Map<String, Value>) {
    if let Ok(Value::Object(times)) = serde_json::to_value(step.times()) {
        object.extend(times);
    }
}

/// Whether a score is defined for a placement. One device has no collective bandwidth: packings
/// score it as 0, which is not shown.
pub(crate) fn is_defined(name: &str, placement: &Placement) -> bool {
    placement.set().len() > 1 || score_row(name).is_none_or(|row| row.of_one_device)
}

fn links(census: &Census) -> Value {
    let (double, single, pcie) = census.xyz();
    json!({ "double": double, "single": single, "pcie": pcie })
}

/// The ids in rank order.
pub(crate) fn ids(placement: &Placement) -> Vec<u32> {
    placement.iter().map(|device| device.0).collect()
}

/// The names in rank order.
pub(crate) fn names<'g>(placement: &Placement, graph: &'g HardwareGraph) -> Vec<&'g str> {
    placement
        .iter()
        .map(|&id| graph.device(id).name.as_str())
        .collect()
}

/// The labels in rank order, separated by commas.
pub(crate) fn labels(ids: &[DeviceId], graph: &HardwareGraph) -> String {
    let labels: Vec<String> = ids.iter().map(|&id| label(id, graph)).collect();
    labels.join(",")
}

fn is_instance(id: DeviceId, graph: &HardwareGraph) -> bool {
    graph.device(id).unit.instance().is_some()
}

/// The label of a device in tables: the id of a whole device, or the name of an instance, which is
/// clearer than its id.
pub(crate) fn label(id: DeviceId, graph: &HardwareGraph) -> String {
    if is_instance(id, graph) {
        graph.device(id).name.clone()
    } else {
        id.to_string()
    }
}

/// The devices on each server, with the vendor's numbers for them in the form of
/// `CUDA_VISIBLE_DEVICES`: in rank order, and once each even if ranks share a device. None for
/// instances: they are named by UUIDs, which exist only once they are created.
pub(crate) fn visible_by_server(
    placement: &Placement,
    graph: &HardwareGraph,
) -> Option<Vec<(Vec<DeviceId>, String)>> {
    let mut servers: Vec<Vec<DeviceId>> = Vec::new();
    for &id in placement.iter() {
        if is_instance(id, graph) {
            return None;
        }
        let own = servers.iter_mut().find(|devices| {
            devices
                .iter()
                .any(|&other| !are_on_two_servers(id, other, graph))
        });
        match own {
            Some(devices) if devices.contains(&id) => {}
            Some(devices) => devices.push(id),
            None => servers.push(vec![id]),
        }
    }
    let mut numbered = Vec::new();
    for devices in servers {
        let numbers: Vec<String> = devices
            .iter()
            .map(|&id| number(id, graph).to_string())
            .collect();
        numbered.push((devices, numbers.join(",")));
    }
    Some(numbered)
}

/// The number of a device on its own server: the vendor's index, else its position among the
/// server's devices.
fn number(id: DeviceId, graph: &HardwareGraph) -> u32 {
    graph.device(id).index.unwrap_or_else(|| {
        graph
            .wholes()
            .iter()
            .filter(|&other| other < id && !are_on_two_servers(other, id, graph))
            .count() as u32
    })
}

fn are_on_two_servers(a: DeviceId, b: DeviceId, graph: &HardwareGraph) -> bool {
    a != b && graph.pair(a, b).host.class == LinkClass::Network
}

/// Ids in the form of `--devices`.
pub(crate) fn id_list(devices: &[DeviceId]) -> String {
    let ids: Vec<String> = devices.iter().map(|id| id.0.to_string()).collect();
    ids.join(",")
}
