//! Placements and decisions.

use std::collections::BTreeMap;

use mapa_core::{Device, DeviceId, HardwareGraph, LinkClass, Placement};
use mapa_topologies::Vendor;
use serde::{Deserialize, Serialize};

use super::{Links, Server};
use crate::scores::score_row;

/// A placement with its scores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Scored {
    /// The ids of the devices, in rank order.
    pub devices: Vec<u32>,
    /// The names of the devices, in rank order.
    pub names: Vec<String>,
    /// The numbers of links that the job uses, by kind.
    pub links: Links,
    /// The scores by name: GB/s, or seconds for names that end in `_seconds`. Null where a score is
    /// not defined, as the bandwidth of one device.
    pub scores: BTreeMap<String, Option<f64>>,
    /// Whether every model was fitted to placements like this one.
    pub in_domain: bool,
    /// The scores whose model was not.
    pub out_of_domain: Vec<String>,
}

impl Scored {
    /// The answer for a placement.
    #[must_use]
    pub fn new(scored: &mapa_core::Scored, graph: &HardwareGraph) -> Self {
        let placement = scored.placement();
        Self {
            devices: ids(placement),
            names: names(placement, graph)
                .into_iter()
                .map(str::to_owned)
                .collect(),
            links: Links::new(scored.links()),
            scores: scored
                .scores()
                .map(|(name, value)| {
                    (
                        name.to_owned(),
                        // Packings score one device as 0, which would pass for a measurement.
                        is_defined(name, placement).then_some(value),
                    )
                })
                .collect(),
            in_domain: scored.in_domain(),
            out_of_domain: scored.out_of_domain().map(str::to_owned).collect(),
        }
    }
}

/// What a policy decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Decision {
    /// The placement.
    #[serde(flatten)]
    pub scored: Scored,
    /// The policy that decided.
    pub policy: String,
    /// The environment in which a process sees these devices and no others, by variable: for NVIDIA's
    /// `CUDA_VISIBLE_DEVICES` and the `CUDA_DEVICE_ORDER` by which its numbers count, for AMD's
    /// `ROCR_VISIBLE_DEVICES`. Null for devices of several servers, and for instances: they are named
    /// by UUIDs, which exist only once they are created.
    pub environment: Option<BTreeMap<String, String>>,
    /// The environment on each server, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment_by_server: Option<Vec<Server>>,
    /// Whether the search ended, so that no placement is better.
    pub complete: bool,
    /// The number of nodes that the search visited.
    pub nodes: u64,
}

impl Decision {
    /// The answer for a decision.
    #[must_use]
    pub fn new(
        decision: &mapa_core::Decision,
        graph: &HardwareGraph,
        vendor: Option<Vendor>,
    ) -> Self {
        let servers = environment_by_server(decision.placement(), graph, vendor);
        // Each server has an environment of its own, so with several the plain key is null.
        let only = match servers.as_deref() {
            Some([only]) => Some(only.environment.clone()),
            _ => None,
        };
        Self {
            scored: Scored::new(decision.best(), graph),
            policy: decision.policy().to_owned(),
            environment: only,
            environment_by_server: servers.filter(|servers| servers.len() > 1),
            complete: decision.search().complete(),
            nodes: decision.search().nodes,
        }
    }
}

/// Whether a score is defined for a placement: some are not for one device.
#[must_use]
pub fn is_defined(name: &str, placement: &Placement) -> bool {
    placement.set().len() > 1 || score_row(name).is_none_or(|row| row.of_one_device)
}

/// The ids in rank order.
#[must_use]
pub fn ids(placement: &[DeviceId]) -> Vec<u32> {
    placement.iter().map(|device| device.0).collect()
}

/// The names in rank order; `?` for a device that the machine does not have.
#[must_use]
pub fn names<'g>(placement: &[DeviceId], graph: &'g HardwareGraph) -> Vec<&'g str> {
    placement
        .iter()
        .map(|&id| device(id, graph).map_or("?", |device| &device.name))
        .collect()
}

/// The device; none if the machine does not have it.
pub(crate) fn device(id: DeviceId, graph: &HardwareGraph) -> Option<&Device> {
    graph.devices().get(id.0 as usize)
}

/// The labels in rank order, separated by commas.
#[must_use]
pub fn labels(ids: &[DeviceId], graph: &HardwareGraph) -> String {
    let labels: Vec<String> = ids.iter().map(|&id| label(id, graph)).collect();
    labels.join(",")
}

fn is_instance(device: &Device) -> bool {
    device.unit.instance().is_some()
}

/// The label of a device in tables: the id of a whole device, or the name of an instance, which is
/// clearer than its id.
#[must_use]
pub fn label(id: DeviceId, graph: &HardwareGraph) -> String {
    match device(id, graph) {
        Some(device) if is_instance(device) => device.name.clone(),
        _ => id.to_string(),
    }
}

/// The devices on each server, in rank order and once each even if ranks share a device, and the environment
/// that shows them to a process. Devices of an unknown vendor are taken for NVIDIA's. None for instances: they are
/// named by UUIDs, which exist only once they are created. None for devices that the machine does not have.
#[must_use]
pub fn environment_by_server(
    placement: &Placement,
    graph: &HardwareGraph,
    vendor: Option<Vendor>,
) -> Option<Vec<Server>> {
    let mut servers: Vec<Vec<DeviceId>> = Vec::new();
    for &id in placement.iter() {
        if is_instance(device(id, graph)?) {
            return None;
        }
        let server = servers.iter_mut().find(|devices| {
            devices
                .iter()
                .any(|&other| !are_on_two_servers(id, other, graph))
        });
        match server {
            // Ranks may share a device, which the variable names once.
            Some(devices) if devices.contains(&id) => {}
            Some(devices) => devices.push(id),
            None => servers.push(vec![id]),
        }
    }
    let vendor = vendor.unwrap_or(Vendor::Nvidia);
    let server = |devices: Vec<DeviceId>| {
        let numbers: Vec<String> = devices
            .iter()
            .map(|&id| number(id, graph).to_string())
            .collect();
        let variables = vendor.environment(&numbers.join(","));
        Server {
            devices: devices.iter().map(|id| id.0).collect(),
            environment: variables
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        }
    };
    Some(servers.into_iter().map(server).collect())
}

/// The number of a device on its own server: the vendor's index, else its position among the
/// server's devices.
fn number(id: DeviceId, graph: &HardwareGraph) -> u32 {
    let index = device(id, graph).and_then(|device| device.index);
    index.unwrap_or_else(|| {
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
#[must_use]
pub fn id_list(devices: &[DeviceId]) -> String {
    let ids: Vec<String> = devices.iter().map(|id| id.0.to_string()).collect();
    ids.join(",")
}
