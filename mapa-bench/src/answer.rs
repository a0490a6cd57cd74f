//! The JSON shapes of answers.

use mapa_core::{Census, Decision, DeviceId, HardwareGraph, Placement, Refusal, Scored};
use serde_json::{Map, Value, json};

/// A decision.
pub(crate) fn decision(decision: &Decision, graph: &HardwareGraph) -> Map<String, Value> {
    let mut object = scored(decision.best(), graph);
    object.insert("policy".to_owned(), json!(decision.policy()));
    object.insert("cuda_visible_devices".to_owned(), json!(visible_devices(decision.placement(), graph)));
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

/// The vendor's numbers in rank order, as `CUDA_VISIBLE_DEVICES` takes them: each once, where ranks share. None for
/// instances: these are known by UUIDs, which they get when they are created.
pub(crate) fn visible_devices(placement: &Placement, graph: &HardwareGraph) -> Option<String> {
    let mut numbers = Vec::new();
    for &id in placement.iter() {
        let number = graph.device(id).index.unwrap_or(id.0).to_string();
        if is_instance(id, graph) {
            return None;
        } else if !numbers.contains(&number) {
            numbers.push(number);
        }
    }
    Some(numbers.join(","))
}
