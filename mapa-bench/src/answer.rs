//! The JSON shapes of answers.

use mapa_core::{Census, Decision, DeviceId, HardwareGraph, LinkClass, Placement, Refusal, Scored};
use serde_json::{Map, Value, json};

/// A decision.
pub(crate) fn decision(decision: &Decision, graph: &HardwareGraph) -> Map<String, Value> {
    let mut object = scored(decision.best(), graph);
    object.insert("policy".to_owned(), json!(decision.policy()));
    let servers = visible_by_server(decision.placement(), graph);
    // One text cannot be of two servers.
    let one = servers.as_deref().and_then(|servers| if let [(_, one)] = servers { Some(one) } else { None });
    object.insert("cuda_visible_devices".to_owned(), json!(one));
    if let Some(several) = servers.as_ref().filter(|servers| servers.len() > 1) {
        let of = |(devices, numbers): &(Vec<DeviceId>, String)| json!({ "devices": devices.iter().map(|id| id.0).collect::<Vec<_>>(), "numbers": numbers });
        let servers: Vec<_> = several.iter().map(of).collect();
        object.insert("cuda_visible_devices_by_server".to_owned(), json!(servers));
    }
    object.insert("complete".to_owned(), json!(decision.search().complete()));
    object.insert("nodes".to_owned(), json!(decision.search().nodes));
    object
}

/// A placement with its scores.
pub(crate) fn scored(scored: &Scored, graph: &HardwareGraph) -> Map<String, Value> {
    let value = |name: &str, value: f64| json!(is_defined(name, scored.placement()).then_some(value));
    let scores: Map<String, Value> = scored.scores().map(|(name, of)| (name.to_owned(), value(name, of))).collect();
    let mut object = Map::new();
    object.insert("devices".to_owned(), json!(ids(scored.placement())));
    object.insert("names".to_owned(), json!(names(scored.placement(), graph)));
    object.insert("links".to_owned(), links(scored.links()));
    object.insert("scores".to_owned(), json!(scores));
    object.insert("in_domain".to_owned(), json!(scored.in_domain()));
    object.insert("out_of_domain".to_owned(), json!(scored.out_of_domain().collect::<Vec<_>>()));
    object
}

/// Whether a score says anything of a placement: one device has no collective bandwidth, which packings score as 0.
pub(crate) fn is_defined(name: &str, placement: &Placement) -> bool {
    !OF_PACKINGS.contains(&name) || placement.set().len() > 1
}

const OF_PACKINGS: [&str; 4] = ["ring_packing_gbps", "tree_packing_gbps", "all_to_all_gbps", "channels_gbps"];

fn links(census: &Census) -> Value {
    let (double, single, pcie) = census.xyz();
    json!({ "double": double, "single": single, "pcie": pcie })
}

/// A refusal, the same in every form of every command.
pub(crate) fn refusal(refusal: &Refusal) -> Value {
    json!({ "refusal": refusal.kind(), "reason": refusal.to_string() })
}

pub(crate) fn ids(placement: &Placement) -> Vec<u32> {
    placement.iter().map(|device| device.0).collect()
}

/// The names in rank order.
pub(crate) fn names<'g>(placement: &Placement, graph: &'g HardwareGraph) -> Vec<&'g str> {
    placement.iter().map(|&id| graph.device(id).name.as_str()).collect()
}

fn is_instance(id: DeviceId, graph: &HardwareGraph) -> bool {
    graph.device(id).unit.instance().is_some()
}

/// How tables call a device: whole ones by their ids, instances by their names, as nobody knows their ids by heart.
pub(crate) fn label(id: DeviceId, graph: &HardwareGraph) -> String {
    if is_instance(id, graph) { graph.device(id).name.clone() } else { id.to_string() }
}

/// The devices on each server, and the vendor's numbers of them there, as `CUDA_VISIBLE_DEVICES` takes them: in rank order, each
/// once, where ranks share. None for instances: these are known by UUIDs, which they get when they are created.
pub(crate) fn visible_by_server(placement: &Placement, graph: &HardwareGraph) -> Option<Vec<(Vec<DeviceId>, String)>> {
    let mut servers: Vec<Vec<DeviceId>> = Vec::new();
    for &id in placement.iter() {
        if is_instance(id, graph) {
            return None;
        }
        let apart = |mine: &Vec<DeviceId>| mine.iter().all(|&other| are_on_two_servers(id, other, graph));
        match servers.iter_mut().find(|mine| !apart(mine)) {
            Some(mine) if mine.contains(&id) => {}
            Some(mine) => mine.push(id),
            None => servers.push(vec![id]),
        }
    }
    let numbered = |mine: Vec<DeviceId>| {
        let numbers = mine.iter().map(|&id| number(id, graph).to_string()).collect::<Vec<_>>().join(",");
        (mine, numbers)
    };
    Some(servers.into_iter().map(numbered).collect())
}

/// Its number on its own server: the vendor's, or as devices come there.
fn number(id: DeviceId, graph: &HardwareGraph) -> u32 {
    let is_before = |other: &DeviceId| *other < id && !are_on_two_servers(*other, id, graph);
    graph.device(id).index.unwrap_or_else(|| graph.wholes().iter().filter(is_before).count() as u32)
}

fn are_on_two_servers(a: DeviceId, b: DeviceId, graph: &HardwareGraph) -> bool {
    a != b && graph.pair(a, b).host.class == LinkClass::Network
}
