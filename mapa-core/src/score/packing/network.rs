//! What devices can send at once: capacities of pairs, of ports of link switches, and of paths through the host.

use std::sync::Arc;

use super::Rates;
use crate::topology::{DeviceId, DeviceSet, FabricWire, HardwareGraph, Link, LinkClass, NodeKind};

/// The capacities among some devices, GB/s per direction, the same both ways. Positions count the devices in order of id.
pub(super) struct Network {
    pub(super) devices: Vec<DeviceId>,
    /// n x n: what joins the two themselves, not through a link switch; 0 on the diagonal.
    pub(super) direct: Vec<f64>,
    /// By link switch that joins at least two of them, the port of each device; 0 where it has none.
    pub(super) ports: Vec<Vec<f64>>,
    /// n x n: the path through the host; 0 where there is none.
    pub(super) host: Vec<f64>,
}

impl Network {
    /// O(k² + ports) for k devices; the first call for a machine goes through its fabric.
    pub(super) fn new(graph: &HardwareGraph, set: &DeviceSet, rates: &Rates) -> Self {
        let wiring = Wiring::of(graph);
        let devices: Vec<DeviceId> = set.iter().collect();
        let n = devices.len();
        let wholes = wiring.wholes;
        let on_links = |gbps: f64| rates.of(Link { class: LinkClass::Direct(1), gbps });
        let (mut direct, mut host) = (vec![0.0; n * n], vec![0.0; n * n]);
        for (i, &a) in devices.iter().enumerate() {
            for (j, &b) in devices.iter().enumerate().filter(|(j, _)| *j != i) {
                if a.index() < wholes && b.index() < wholes {
                    direct[i * n + j] = on_links(wiring.direct[a.index() * wholes + b.index()]);
                }
                host[i * n + j] = rates.of(graph.pair(a, b).host);
            }
        }
        let port = |switch: &Vec<f64>, id: &DeviceId| switch.get(id.index()).map_or(0.0, |gbps| on_links(*gbps));
        let ports = wiring.ports.iter().map(|switch| devices.iter().map(|id| port(switch, id)).collect::<Vec<f64>>());
        let ports = ports.filter(|ports| ports.iter().filter(|port| **port > 0.0).count() > 1).collect();
        Self { devices, direct, ports, host }
    }

    pub(super) fn len(&self) -> usize {
        self.devices.len()
    }

    /// What two devices can send to each other over direct links and link switches while nobody else sends.
    pub(super) fn alone(&self, a: usize, b: usize) -> f64 {
        let switched = self.ports.iter().map(|ports| ports[a].min(ports[b]));
        switched.fold(self.direct[a * self.len() + b], |sum, gbps| sum + gbps)
    }
}

/// The direct links of a whole machine, nominal GB/s per direction.
struct Wiring {
    wholes: usize,
    /// Whole devices x whole devices.
    direct: Vec<f64>,
    /// By link switch, by whole device.
    ports: Vec<Vec<f64>>,
}

/// Where it is kept with the machine.
const KEY: [u64; 1] = [u64::from_be_bytes(*b"wiring  ")];

impl Wiring {
    fn of(graph: &HardwareGraph) -> Arc<Self> {
        if let Some(known) = graph.memo().get(&KEY) {
            return known;
        }
        let fabric = graph.fabric();
        let nodes: Vec<_> = fabric.nodes().collect();
        let of_kind =
            |is: fn(&NodeKind) -> bool| nodes.iter().filter(move |(_, node)| is(&node.kind)).map(|(id, _)| *id);
        // Devices have their ids in the order in which they were added.
        let devices: Vec<_> = of_kind(|kind| matches!(kind, NodeKind::Device(_))).collect();
        let switches: Vec<_> = of_kind(|kind| matches!(kind, NodeKind::LinkSwitch)).collect();
        let wholes = devices.len();
        let mut wiring =
            Self { wholes, direct: vec![0.0; wholes * wholes], ports: vec![vec![0.0; wholes]; switches.len()] };
        for (a, b, wire) in fabric.wires() {
            let FabricWire::Link(link) = wire else { continue };
            if !link.class.is_direct() {
                continue;
            }
            let place = |list: &[crate::topology::NodeId], id| list.binary_search(&id).ok();
            match (place(&devices, a), place(&devices, b), place(&switches, a), place(&switches, b)) {
                (Some(a), Some(b), ..) => {
                    wiring.direct[a * wholes + b] += link.gbps;
                    wiring.direct[b * wholes + a] += link.gbps;
                }
                (Some(device), _, _, Some(switch)) | (_, Some(device), Some(switch), _) => {
                    wiring.ports[switch][device] += link.gbps;
                }
                _ => {}
            }
        }
        let bytes = 8 * wholes * (wholes + switches.len());
        graph.memo().put(&KEY, bytes, wiring)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Fabric;

    #[test]
    fn links_of_pairs_and_ports_of_switches_are_told_apart() {
        let mut fabric = Fabric::new();
        let ids = [0, 1, 2, 3].map(|i| fabric.add_device(format!("GPU{i}")).unwrap());
        let switch = crate::FabricNode { name: "nvswitch".to_owned(), kind: NodeKind::LinkSwitch };
        let switch = fabric.add(switch).unwrap();
        for id in &ids[..3] {
            fabric.link(*id, switch, LinkClass::Direct(12), 300.0).unwrap();
        }
        fabric.link(ids[0], ids[1], LinkClass::Direct(1), 25.0).unwrap();
        fabric.link(ids[2], ids[3], LinkClass::Sys, 12.0).unwrap();
        let graph = fabric.lower().unwrap();
        let rates = Rates { direct: 0.8, host: 0.5, between_sockets: Some(5.0) };
        let network = Network::new(&graph, &graph.all(), &rates);
        assert_eq!((network.direct[1], network.direct[2], network.ports.len()), (20.0, 0.0, 1));
        assert_eq!((&network.ports[0][..], network.host[2 * 4 + 3]), (&[240.0, 240.0, 240.0, 0.0][..], 5.0));
        assert_eq!((network.alone(0, 1), network.alone(0, 3)), (260.0, 0.0));
        let two = Network::new(&graph, &[2, 3].into(), &rates);
        assert!(two.ports.is_empty() && two.devices.len() == 2, "a port alone joins nothing");
    }
}
