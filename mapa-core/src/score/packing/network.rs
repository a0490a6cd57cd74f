//! The capacities between devices: of pairs, of ports of link switches, and of paths through the
//! host.

use std::sync::Arc;

use super::fractional::rounded;
use super::rates::Rates;
use crate::error::{Error, ErrorKind};
use crate::score::DegreeBound;
use crate::topology::{
    DeviceId, DeviceSet, FabricWire, HardwareGraph, Link, LinkClass, MOST_GBPS, MemoKey, NodeKind,
};

/// The capacities among some devices, GB/s per direction, the same both ways. Devices are named by
/// their position in order of id.
pub(super) struct CapacityNetwork {
    pub(super) devices: Vec<DeviceId>,
    /// n x n: the links of each pair, without link switches; 0 on the diagonal.
    pub(super) direct: Vec<f64>,
    /// By link switch that joins at least two of them, the port of each device; 0 where it has
    /// none.
    pub(super) ports: Vec<Vec<f64>>,
    /// n x n: the path of each pair through the host; 0 where there is none.
    pub(super) host: Vec<f64>,
}

impl CapacityNetwork {
    /// The network of a set of devices at these rates. O(k² + p) for k devices and p ports; the
    /// first call for a machine also reads its fabric.
    pub(super) fn new(graph: &HardwareGraph, set: &DeviceSet, rates: &Rates) -> Self {
        let wiring = Wiring::of(graph);
        let devices: Vec<DeviceId> = set.iter().collect();
        let n = devices.len();
        let wholes = wiring.wholes;
        let on_links = |gbps: f64| {
            rates.of(Link {
                class: LinkClass::Direct(1),
                gbps,
            })
        };
        let (mut direct, mut host) = (vec![0.0; n * n], vec![0.0; n * n]);
        for (i, &a) in devices.iter().enumerate() {
            for (j, &b) in devices.iter().enumerate().filter(|(j, _)| *j != i) {
                if a.index() < wholes && b.index() < wholes {
                    direct[i * n + j] = on_links(wiring.direct[a.index() * wholes + b.index()]);
                }
                host[i * n + j] = rates.of(graph.pair(a, b).host);
            }
        }
        let mut ports = Vec::new();
        for switch in &wiring.ports {
            let of_devices: Vec<f64> = devices
                .iter()
                .map(|id| switch.get(id.index()).map_or(0.0, |gbps| on_links(*gbps)))
                .collect();
            // A switch with one port of the set joins nothing.
            if of_devices.iter().filter(|port| **port > 0.0).count() > 1 {
                ports.push(of_devices);
            }
        }
        Self {
            devices,
            direct,
            ports,
            host,
        }
    }

    /// The number of devices.
    pub(super) fn len(&self) -> usize {
        self.devices.len()
    }

    /// The bandwidth between two devices while no other pair sends: over direct links and link
    /// switches, or over the host, whichever is more.
    pub(super) fn best(&self, a: usize, b: usize) -> f64 {
        self.alone(a, b).max(self.host[a * self.len() + b])
    }

    /// The bound by the direct links of any one device, where `share` of them counts and all other ways have a
    /// hop over the host; none where link switches join the devices. O(m²).
    pub(super) fn by_degree(&self, share: f64) -> Option<DegreeBound> {
        self.ports.is_empty().then(|| DegreeBound {
            otherwise: rounded(self.host.iter().copied().fold(0.0, f64::max)),
            share,
            over_two: false,
        })
    }

    /// By device, the most that it sends among any k of these devices: over its best k - 1 links
    /// and its ports together, and over its widest hop. O(m² log m) for m devices.
    pub(super) fn at_each(&self, k: usize) -> Vec<(f64, f64)> {
        let m = self.len();
        let at = |a: usize| {
            let mut links = self.direct[a * m..(a + 1) * m].to_vec();
            links.sort_unstable_by(|a, b| b.total_cmp(a));
            let links: f64 = links.iter().take(k.saturating_sub(1)).sum();
            let ports: f64 = self.ports.iter().map(|ports| ports[a]).sum();
            let hops = (0..m).filter(|&b| b != a).map(|b| self.best(a, b));
            (links + ports, hops.fold(0.0, f64::max))
        };
        (0..m).map(at).collect()
    }

    /// The bandwidth between two devices over direct links and link switches while no other pair
    /// sends.
    pub(super) fn alone(&self, a: usize, b: usize) -> f64 {
        let switched = self.ports.iter().map(|ports| ports[a].min(ports[b]));
        switched.fold(self.direct[a * self.len() + b], |sum, gbps| sum + gbps)
    }
}

impl Rates {
    /// The rates that a measurement of one pair gives: the bus bandwidth of an all-reduce between
    /// two devices, GB/s, divided by the nominal bandwidth of their direct links. Paths through the
    /// host stay nominal.
    ///
    /// # Complexity
    ///
    /// O(p) for p link switches. The first call for a machine also reads its fabric.
    ///
    /// # Examples
    ///
    /// ```
    /// use mapa_core::{Fabric, LinkClass, Rates};
    ///
    /// let mut fabric = Fabric::new();
    /// let ids = [0, 1].map(|i| fabric.add_device(format!("GPU{i}")).unwrap());
    /// fabric.link(ids[0], ids[1], LinkClass::Direct(1), 20.0)?;
    /// let rates = Rates::calibrated(&fabric.lower()?, 0.into(), 1.into(), 17.28)?;
    /// assert!((rates.direct - 0.864).abs() < 1e-12);
    /// # Ok::<(), mapa_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// A device that the machine does not have; two devices without direct links; a bandwidth that
    /// is not a positive number of at most 1e9.
    pub fn calibrated(
        graph: &HardwareGraph,
        a: DeviceId,
        b: DeviceId,
        measured_gbps: f64,
    ) -> Result<Self, Error> {
        if let Some(unknown) = [a, b].into_iter().find(|id| id.index() >= graph.len()) {
            return Err(ErrorKind::UnknownDevice {
                text: unknown.to_string(),
                devices: graph.len(),
            }
            .into());
        }
        let name = |id: DeviceId| graph.device(id).name.clone();
        if !(measured_gbps > 0.0 && measured_gbps <= MOST_GBPS) {
            let place = format!("measured between {} and {}", name(a), name(b));
            return Err(ErrorKind::BadBandwidth {
                place,
                gbps: measured_gbps,
            }
            .into());
        }
        let network = CapacityNetwork::new(
            graph,
            &[a, b].into_iter().collect::<DeviceSet>(),
            &Self::NOMINAL,
        );
        let nominal = if a == b { 0.0 } else { network.alone(0, 1) };
        if nominal <= 0.0 {
            return Err(ErrorKind::NoDirectLinks {
                a: name(a),
                b: name(b),
            }
            .into());
        }
        Ok(Self {
            direct: measured_gbps / nominal,
            ..Self::NOMINAL
        })
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

/// The key under which the wiring is kept with the machine.
#[derive(Clone, PartialEq, Eq, Hash)]
struct WiringKey;

impl MemoKey for WiringKey {
    type Table = Wiring;
}

impl Wiring {
    fn of(graph: &HardwareGraph) -> Arc<Self> {
        if let Some(known) = graph.memo().get(&WiringKey) {
            return known;
        }
        let fabric = graph.fabric();
        let nodes: Vec<_> = fabric.nodes().collect();
        let of_kind = |is: fn(&NodeKind) -> bool| {
            nodes
                .iter()
                .filter(move |(_, node)| is(&node.kind))
                .map(|(id, _)| *id)
        };
        // Devices have their ids in the order in which they were added.
        let devices: Vec<_> = of_kind(|kind| matches!(kind, NodeKind::Device(_))).collect();
        let switches: Vec<_> = of_kind(|kind| matches!(kind, NodeKind::LinkSwitch)).collect();
        let wholes = devices.len();
        let mut wiring = Self {
            wholes,
            direct: vec![0.0; wholes * wholes],
            ports: vec![vec![0.0; wholes]; switches.len()],
        };
        for (a, b, wire) in fabric.wires() {
            let FabricWire::Link(link) = wire else {
                continue;
            };
            if !link.class.is_direct() {
                continue;
            }
            // Node ids ascend, so both lists are sorted.
            match (
                devices.binary_search(&a).ok(),
                devices.binary_search(&b).ok(),
                switches.binary_search(&a).ok(),
                switches.binary_search(&b).ok(),
            ) {
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
        graph.memo().put(&WiringKey, bytes, wiring)
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
        let switch = crate::FabricNode {
            name: "nvswitch".to_owned(),
            kind: NodeKind::LinkSwitch,
        };
        let switch = fabric.add(switch).unwrap();
        for id in &ids[..3] {
            fabric
                .link(*id, switch, LinkClass::Direct(12), 300.0)
                .unwrap();
        }
        fabric
            .link(ids[0], ids[1], LinkClass::Direct(1), 25.0)
            .unwrap();
        fabric.link(ids[2], ids[3], LinkClass::Sys, 12.0).unwrap();
        let graph = fabric.lower().unwrap();
        let rates = Rates {
            direct: 0.8,
            host: 0.5,
            between_sockets: Some(5.0),
        };
        let network = CapacityNetwork::new(&graph, &graph.all(), &rates);
        assert_eq!(
            (network.direct[1], network.direct[2], network.ports.len()),
            (20.0, 0.0, 1)
        );
        assert_eq!(
            (&network.ports[0][..], network.host[2 * 4 + 3]),
            (&[240.0, 240.0, 240.0, 0.0][..], 5.0)
        );
        assert_eq!((network.alone(0, 1), network.alone(0, 3)), (260.0, 0.0));
        let two = CapacityNetwork::new(&graph, &[2, 3].into(), &rates);
        assert!(
            two.ports.is_empty() && two.devices.len() == 2,
            "a port alone joins nothing"
        );
    }

    #[test]
    fn one_measured_pair_says_what_links_reach_or_why_it_cannot() {
        let mut fabric = Fabric::new();
        let ids = [0, 1, 2].map(|i| fabric.add_device(format!("GPU{i}")).unwrap());
        fabric
            .link(ids[0], ids[1], LinkClass::Direct(2), 50.0)
            .unwrap();
        fabric.link(ids[0], ids[2], LinkClass::Pix, 12.0).unwrap();
        let graph = fabric.lower().unwrap();
        let of =
            |a: u32, b: u32, gbps: f64| Rates::calibrated(&graph, DeviceId(a), DeviceId(b), gbps);
        assert_eq!(
            of(1, 0, 40.0).unwrap(),
            Rates {
                direct: 0.8,
                ..Rates::NOMINAL
            }
        );
        for (refused, words) in [
            (of(0, 7, 40.0), "`7`"),
            (of(0, 2, 40.0), "`GPU0` and `GPU2`"),
            (of(1, 1, 40.0), "`GPU1` and `GPU1`"),
            (of(0, 1, 0.0), "bandwidth 0 GB/s"),
            (of(0, 1, f64::NAN), "bandwidth NaN GB/s"),
            (of(0, 1, 1e10), "at most 1e9"),
        ] {
            let message = refused.unwrap_err().to_string();
            assert!(message.contains(words), "{message}");
        }
    }
}
