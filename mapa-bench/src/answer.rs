//! The JSON shapes of answers.

use mapa_core::{Census, Decision, HardwareGraph, Placement, Refusal, Scored};
use serde_json::{Map, Value, json};

/// A decision.
pub(crate) fn decision(decision: &Decision, graph: &HardwareGraph) -> Map<String, Value> {
    let mut object = scored(decision.best());
    object.insert("policy".to_owned(), json!(decision.policy()));
    object.insert("cuda_visible_devices".to_owned(), json!(visible_devices(decision.placement(), graph)));
    object.insert("complete".to_owned(), json!(decision.search().complete()));
    object.insert("nodes".to_owned(), json!(decision.search().nodes));
    object
}

/// A placement with its scores.
pub(crate) fn scored(scored: &Scored) -> Map<String, Value> {
    let scores: Map<String, Value> = scored.scores().map(|(name, value)| (name.to_owned(), json!(value))).collect();
    let mut object = Map::new();
    object.insert("devices".to_owned(), json!(ids(scored.placement())));
    object.insert("links".to_owned(), links(scored.links()));
    object.insert("scores".to_owned(), json!(scores));
    object.insert("in_domain".to_owned(), json!(scored.in_domain()));
    object
}

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

/// The vendor's numbers in rank order, as `CUDA_VISIBLE_DEVICES` takes them.
pub(crate) fn visible_devices(placement: &Placement, graph: &HardwareGraph) -> String {
    let number = |id: &mapa_core::DeviceId| graph.device(*id).index.unwrap_or(id.0).to_string();
    placement.iter().map(number).collect::<Vec<_>>().join(",")
}
