//! Direct links: from the dump that gives them for most devices. A dump that shows the switches
//! between devices comes before one that does not.

use std::collections::{BTreeMap, BTreeSet};

use mapa_core::{DeviceId, Fabric, FabricNode, FabricWire, Link, LinkClass, NodeId, NodeKind};

use super::contradiction::{Contradiction, DumpStatement};
use super::devices::MergedDevices;
use super::differing::Differing;
use super::source::{DumpSource, device_nodes, free_name, infos};
use crate::dump::{PeerStatus, Port};
use crate::error::Error;
use crate::products;
use crate::readers::infer::{self, SwitchedDevices};

/// Adds direct links to the fabric. Returns the dump that they come from.
pub(super) fn take(
    fabric: &mut Fabric,
    nodes: &[NodeId],
    sources: &[DumpSource<'_>],
    devices: &MergedDevices,
    contradictions: &mut Vec<Contradiction>,
) -> Result<Option<usize>, Error> {
    let names: Vec<String> = nodes
        .iter()
        .map(|&node| fabric.node(node).name.clone())
        .collect();
    let ports = Ports::of(sources, devices);
    ports.compare(sources, devices, &names, contradictions);
    let Some(best) = best(sources) else {
        return Ok(None);
    };
    let bonds = Bonds::new(sources, devices, best);
    let groups = bonds.spread(&ports);
    bonds.build(fabric, nodes, &sources[best], &ports, &groups)?;
    for s in (0..sources.len()).filter(|&s| s != best && tells(&sources[s])) {
        compare(sources, devices, (best, s), contradictions);
    }
    bonds.hold_against_ports(&sources[best], &ports, &groups, &names, contradictions);
    for source in sources.iter().enumerate() {
        hold_against_access(&bonds, &sources[best], source, devices, contradictions);
    }
    Ok(Some(best))
}

fn tells(source: &DumpSource<'_>) -> bool {
    source.says().direct && source.graph.is_some()
}

fn best(sources: &[DumpSource<'_>]) -> Option<usize> {
    // Backwards, since of equals `max_by_key` takes the last.
    (0..sources.len())
        .rev()
        .filter(|&s| tells(&sources[s]))
        .max_by_key(|&s| (sources[s].has(&NodeKind::LinkSwitch), sources[s].devices()))
}

/// The links of each device that are up, by the first dump that counts them.
struct Ports {
    /// By merged device: how many, GB/s of one, and the name of the dump.
    by_device: Vec<Option<(u32, Option<f64>, String)>>,
}

impl Ports {
    fn of(sources: &[DumpSource<'_>], devices: &MergedDevices) -> Self {
        let mut by_device = vec![None; devices.count()];
        for (s, source) in sources.iter().enumerate() {
            for (k, known) in by_device
                .iter_mut()
                .enumerate()
                .filter(|(_, known)| known.is_none())
            {
                let index = devices.own(s, k).and_then(|index| up(source, index));
                *known = index.map(|(count, each)| (count, each, source.name().to_owned()));
            }
        }
        Self { by_device }
    }

    /// Reports what two dumps count differently: links that are up, and GB/s of one.
    fn compare(
        &self,
        sources: &[DumpSource<'_>],
        devices: &MergedDevices,
        names: &[String],
        contradictions: &mut Vec<Contradiction>,
    ) {
        for (s, source) in sources.iter().enumerate() {
            for (k, known) in self.by_device.iter().enumerate() {
                let own = devices.own(s, k).and_then(|index| up(source, index));
                let (Some((count, each, by)), Some((other, rate))) = (known, own) else {
                    continue;
                };
                let said = |count: u32, each: Option<f64>| {
                    let each = each.map_or(String::new(), |each| format!(" of {each} GB/s"));
                    format!("{count} links up{each}")
                };
                let slower = each.zip(rate).is_some_and(|(a, b)| differ(a, b));
                if *by != source.name() && (*count != other || slower) {
                    contradictions.push(Contradiction {
                        about: format!("{}, direct links", names[k]),
                        kept: DumpStatement {
                            by: by.clone(),
                            what: said(*count, *each),
                        },
                        dropped: source.says_of(said(other, rate)),
                    });
                }
            }
        }
    }

    fn count(&self, device: usize) -> Option<u32> {
        self.by_device[device].as_ref().map(|(count, ..)| *count)
    }

    fn each(&self, device: usize) -> Option<f64> {
        self.by_device[device]
            .as_ref()
            .and_then(|(_, each, _)| *each)
    }
}

/// The links of a device that a dump says are up: how many, and GB/s of the slowest.
fn up(source: &DumpSource<'_>, device: usize) -> Option<(u32, Option<f64>)> {
    let up = |port: &&Port| port.device.index() == device && port.active == Some(true);
    let up: Vec<&Port> = source.dump.ports.iter().filter(up).collect();
    let each = up.iter().filter_map(|port| port.gbps).reduce(f64::min);
    (!up.is_empty()).then_some((up.len() as u32, each))
}

/// Whether two rates differ by more than rounding and line coding explain.
fn differ(a: f64, b: f64) -> bool {
    (a - b).abs() > 0.07 * a.max(b)
}

/// The direct links of the merged machine.
struct Bonds {
    devices: usize,
    /// Pairwise, `a * n + b` with a < b: how many, and GB/s of one.
    pairs: Vec<Option<(u8, f64)>>,
    /// The switches of the followed dump: each with its devices and their ports.
    switches: Vec<(String, Vec<SwitchPort>)>,
}

/// A device at a switch: which, by how many links, and GB/s of one.
type SwitchPort = (usize, u8, f64);

impl Bonds {
    fn new(sources: &[DumpSource<'_>], devices: &MergedDevices, best: usize) -> Self {
        let n = devices.count();
        let mut bonds = Self {
            devices: n,
            pairs: vec![None; n * n],
            switches: Vec::new(),
        };
        bonds.follow(sources, devices, best, |_, _| true);
        for s in (0..sources.len()).filter(|&s| s != best && tells(&sources[s])) {
            let unknown = |a: usize, b: usize| {
                devices.own(best, a).is_none() || devices.own(best, b).is_none()
            };
            bonds.follow(sources, devices, s, unknown);
        }
        bonds
    }

    /// Takes over what joins the devices of one dump, for the pairs that `asked` names.
    fn follow(
        &mut self,
        sources: &[DumpSource<'_>],
        devices: &MergedDevices,
        s: usize,
        asked: impl Fn(usize, usize) -> bool,
    ) {
        let from = &sources[s].dump.machine.fabric;
        let ids: BTreeMap<NodeId, usize> = device_nodes(from).zip(0..).collect();
        let merged = |id: NodeId| devices.merged(s, *ids.get(&id)?).map(DeviceId::index);
        let product = |k: usize| {
            let own = |t: usize| {
                infos(&sources[t])
                    .nth(devices.own(t, k)?)?
                    .1
                    .product
                    .as_deref()
                    .and_then(products::links)
                    .map(|links| links.gbps_per_link)
            };
            (0..sources.len()).find_map(own)
        };
        let rate = |a: usize, b: Option<usize>, links: u8, gbps: f64| {
            let told = sources[s].says().direct_gbps;
            let each = gbps / f64::from(links);
            let other = || elsewhere(sources, devices, a, b).or_else(|| product(a));
            if told { each } else { other().unwrap_or(each) }
        };
        for (x, y, wire) in from.wires() {
            let FabricWire::Link(Link {
                class: LinkClass::Direct(links),
                gbps,
            }) = wire
            else {
                continue;
            };
            match (merged(x), merged(y)) {
                (Some(a), Some(b)) if asked(a, b) => {
                    let each = rate(a, Some(b), links, gbps);
                    self.pairs[a.min(b) * self.devices + a.max(b)].get_or_insert((links, each));
                }
                (Some(device), None) | (None, Some(device)) if asked(device, device) => {
                    let switch = if merged(x).is_some() { y } else { x };
                    let name = &from.node(switch).name;
                    let port = (device, links, rate(device, None, links, gbps));
                    match self.switches.iter_mut().find(|(other, _)| other == name) {
                        Some((_, ports)) => ports.push(port),
                        None => self.switches.push((name.clone(), vec![port])),
                    }
                }
                _ => {}
            }
        }
    }

    fn links(&self, a: usize, b: usize) -> Option<u8> {
        self.pairs[a.min(b) * self.devices + a.max(b)].map(|(links, _)| links)
    }

    /// The groups of devices whose links to each other add up to more than they have: they are
    /// connected to a switch that the dump does not show.
    fn spread(&self, ports: &Ports) -> Vec<SwitchedDevices> {
        let counts: Vec<u32> = (0..self.devices)
            .filter_map(|device| ports.count(device))
            .collect();
        let most = counts
            .iter()
            .copied()
            .max()
            .filter(|_| counts.len() == self.devices);
        most.map(|most| infer::switched_groups(self.devices, |a, b| self.links(a, b), most))
            .unwrap_or_default()
    }

    /// The direct links between two devices, those over a switch among them.
    fn joined(&self, a: usize, b: usize) -> Option<u8> {
        let port = |ports: &[SwitchPort], device| {
            ports
                .iter()
                .find(|port| port.0 == device)
                .map(|port| port.1)
        };
        let over =
            |(_, ports): &(String, Vec<SwitchPort>)| Some(port(ports, a)?.min(port(ports, b)?));
        self.links(a, b)
            .or_else(|| self.switches.iter().find_map(over))
    }

    /// The sum of a device's links to others.
    fn claimed(&self, device: usize) -> u32 {
        (0..self.devices)
            .filter_map(|other| self.links(device, other))
            .map(u32::from)
            .sum()
    }

    fn build(
        &self,
        fabric: &mut Fabric,
        nodes: &[NodeId],
        source: &DumpSource<'_>,
        ports: &Ports,
        groups: &[SwitchedDevices],
    ) -> Result<(), Error> {
        let told = source.says().direct_gbps;
        let each = |device: usize, each: f64| {
            if told {
                each
            } else {
                ports.each(device).unwrap_or(each)
            }
        };
        for (name, members) in &self.switches {
            let name = free_name(fabric, name);
            let switch = fabric.add(FabricNode {
                name,
                kind: NodeKind::LinkSwitch,
            })?;
            for &(device, links, rate) in members {
                let gbps = f64::from(links) * each(device, rate);
                fabric.link(nodes[device], switch, LinkClass::Direct(links), gbps)?;
            }
        }
        for group in groups {
            let name = free_name(fabric, "link-switch");
            let switch = fabric.add(FabricNode {
                name,
                kind: NodeKind::LinkSwitch,
            })?;
            for &device in &group.devices {
                let other = group.devices.iter().find(|&&other| other != device);
                let rate = other.and_then(|&other| {
                    self.pairs[device.min(other) * self.devices + device.max(other)]
                });
                let gbps =
                    f64::from(group.links) * each(device, rate.map_or(1.0, |(_, rate)| rate));
                fabric.link(nodes[device], switch, LinkClass::Direct(group.links), gbps)?;
            }
        }
        let switched = |a, b| {
            groups
                .iter()
                .any(|group| group.devices.contains(&a) && group.devices.contains(&b))
        };
        for b in 0..self.devices {
            for a in 0..b {
                if let Some((links, rate)) =
                    self.pairs[a * self.devices + b].filter(|_| !switched(a, b))
                {
                    let gbps = f64::from(links) * each(a, rate).min(each(b, rate));
                    fabric.link(nodes[a], nodes[b], LinkClass::Direct(links), gbps)?;
                }
            }
        }
        Ok(())
    }

    /// Reports devices that claim more links to others than they have up. Only a switch would allow
    /// that.
    fn hold_against_ports(
        &self,
        source: &DumpSource<'_>,
        ports: &Ports,
        groups: &[SwitchedDevices],
        names: &[String],
        contradictions: &mut Vec<Contradiction>,
    ) {
        for (device, name) in names.iter().enumerate() {
            let Some((count, _, by)) = &ports.by_device[device] else {
                continue;
            };
            let is_spread = groups.iter().any(|group| group.devices.contains(&device));
            let claimed = self.claimed(device);
            if claimed > *count && !is_spread {
                contradictions.push(Contradiction {
                    about: format!("{name}, direct links"),
                    kept: source.says_of(format!("{claimed} in all")),
                    dropped: DumpStatement {
                        by: by.clone(),
                        what: format!("{count} are up"),
                    },
                });
            }
        }
    }
}

/// The bandwidth of one link, if another dump gives it.
fn elsewhere(
    sources: &[DumpSource<'_>],
    devices: &MergedDevices,
    a: usize,
    b: Option<usize>,
) -> Option<f64> {
    let each = |link: Link| match link.class {
        LinkClass::Direct(links) if links > 0 => Some(link.gbps / f64::from(links)),
        _ => None,
    };
    sources
        .iter()
        .enumerate()
        .filter(|(_, source)| source.says().direct_gbps && tells(source))
        .find_map(|(s, source)| {
            let graph = source.graph.as_ref()?;
            let index = |k| devices.own(s, k).map(|index| DeviceId(index as u32));
            match b {
                Some(b) => each(graph.pair(index(a)?, index(b)?).direct),
                None => graph.device(index(a)?).switch_port.and_then(each),
            }
        })
}

/// Reports the pairs of devices that two dumps join by different direct links, or by links of
/// different bandwidth if both dumps tell bandwidths.
fn compare(
    sources: &[DumpSource<'_>],
    devices: &MergedDevices,
    (best, other): (usize, usize),
    contradictions: &mut Vec<Contradiction>,
) {
    let (followed, compared) = (&sources[best], &sources[other]);
    let told = followed.says().direct_gbps && compared.says().direct_gbps;
    let (mut differing, mut rates) = (Differing::default(), Differing::default());
    for b in 0..followed.devices() {
        for a in 0..b {
            let (Some(x), Some(y)) = (
                devices.counterpart(best, a, other),
                devices.counterpart(best, b, other),
            ) else {
                continue;
            };
            let (Some(kept), Some(dropped)) = (followed.pair(a, b), compared.pair(x, y)) else {
                continue;
            };
            let (kept, dropped) = (kept.direct, dropped.direct);
            if kept.class != dropped.class {
                let (kept, dropped) = (print(followed, kept.class), print(compared, dropped.class));
                differing.add(followed, (a, b), kept, dropped);
            } else if told && differ(kept.gbps, dropped.gbps) {
                let (kept, dropped) = (
                    format!("{} GB/s", kept.gbps),
                    format!("{} GB/s", dropped.gbps),
                );
                rates.add(followed, (a, b), kept, dropped);
            }
        }
    }
    contradictions.extend(differing.report("direct links", followed, compared));
    contradictions.extend(rates.report("bandwidth of direct links", followed, compared));
}

fn print(source: &DumpSource<'_>, class: LinkClass) -> String {
    match class {
        LinkClass::None => "no direct link".to_owned(),
        class => source.print(class),
    }
}

/// Reports devices that a dump denies access to each other's memory though direct links join them.
fn hold_against_access(
    bonds: &Bonds,
    best: &DumpSource<'_>,
    (s, source): (usize, &DumpSource<'_>),
    devices: &MergedDevices,
    contradictions: &mut Vec<Contradiction>,
) {
    let mut differing = Differing::default();
    let mut told = BTreeSet::new();
    for access in source
        .dump
        .peer_access
        .iter()
        .filter(|access| !access.partial)
    {
        let merged = |id: DeviceId| devices.merged(s, id.index()).map(DeviceId::index);
        let Some((a, b)) = merged(access.from).zip(merged(access.to)) else {
            continue;
        };
        let denied = !matches!(access.status, PeerStatus::Ok | PeerStatus::Unknown);
        if let Some(links) = bonds
            .joined(a, b)
            .filter(|_| denied && told.insert((a.min(b), a.max(b))))
        {
            let label = best.print(LinkClass::Direct(links));
            differing.add(
                source,
                (access.from.index(), access.to.index()),
                label,
                access.status.word().to_owned(),
            );
        }
    }
    contradictions.extend(differing.report("peer access", best, source));
}
