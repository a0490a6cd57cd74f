//! The tree of PCI elements to be written: which element is below which.

use std::collections::{HashMap, HashSet};

use mapa_core::{
    Device, DeviceId, Fabric, FabricNode, FabricWire, HardwareGraph, Link, LinkClass, NodeId,
    NodeKind, Unit,
};

use crate::error::Error;
use crate::kind::Kind;
use crate::machine::Machine;
use crate::pci;
use crate::vendor::Vendor;

/// A CPU with the groups of devices and cards below it.
pub(super) struct CpuPlan {
    pub(super) numa: u32,
    pub(super) switches: Vec<Top>,
    pub(super) cards: Vec<usize>,
}

/// One PCI element directly below a CPU, with everything below it.
pub(super) struct Top {
    pub(super) leaves: Vec<SwitchPlan>,
    /// Cards behind a further switch of their own.
    pub(super) cards: Vec<usize>,
}

/// Devices and cards below one switch. A single one needs no switch.
pub(super) struct SwitchPlan {
    pub(super) devices: Vec<usize>,
    pub(super) cards: Vec<usize>,
}

pub(super) struct NcclPlan {
    pub(super) graph: HardwareGraph,
    pub(super) devices: usize,
    /// PCI addresses by vertex: first the devices, then the cards.
    pub(super) addresses: Vec<String>,
    /// For each device, the number that NCCL gives it.
    pub(super) numbers: Vec<u32>,
    pub(super) cpus: Vec<CpuPlan>,
    pub(super) amd: bool,
    /// Between two devices a < b.
    pub(super) bonds: HashMap<(usize, usize), Link>,
    /// Whether a link switch joins devices, in addition to `bonds`.
    pub(super) switched: bool,
    /// For each vertex, the bandwidth of its hop to its parent, GB/s.
    pub(super) hops: Vec<f64>,
    pub(super) free: UnusedAddresses,
    pub(super) lost: Vec<&'static str>,
}

impl NcclPlan {
    pub(super) fn new(machine: &Machine) -> Result<Self, Error> {
        let mut fabric = machine.fabric.clone();
        fabric.set_mig(None);
        let devices = fabric.device_count();
        let wires = FabricWires::of(&fabric);
        let graph = fabric.lower_with_host()?;
        let cards: Vec<usize> = (devices..graph.len())
            .filter(|&vertex| graph.devices()[vertex].unit == Unit::Nic)
            .collect();
        let mut plan = Self {
            amd: machine.vendor == Some(Vendor::Amd),
            addresses: Vec::new(),
            numbers: Vec::new(),
            cpus: Vec::new(),
            bonds: HashMap::new(),
            switched: false,
            hops: Vec::new(),
            free: UnusedAddresses::default(),
            lost: Vec::new(),
            graph,
            devices,
        };
        plan.number();
        plan.address();
        plan.links(&wires)?;
        plan.hops(&wires);
        plan.group(&cards)?;
        Ok(plan)
    }

    pub(super) fn pair(&self, a: usize, b: usize) -> (Link, Link) {
        let pair = self.graph.pair(DeviceId(a as u32), DeviceId(b as u32));
        (pair.direct, pair.host)
    }

    /// The class of the host path between two vertices, as NCCL can express it.
    fn host(&self, a: usize, b: usize) -> LinkClass {
        in_words_of_nccl(self.pair(a, b).1.class)
    }

    /// Sets the devices' numbers. The vendor's numbers are used if they increase with the ids,
    /// because the reader orders devices by number. Otherwise the ids are used.
    fn number(&mut self) {
        let numbers = (0u32..).zip(&self.graph.devices()[..self.devices]);
        let numbers: Vec<u32> = numbers
            .map(|(id, device)| device.index.unwrap_or(id))
            .collect();
        if numbers.windows(2).all(|pair| pair[0] < pair[1]) {
            self.numbers = numbers;
        } else {
            self.lost.push("The vendor's numbers do not increase with the ids of the devices: the ids are written instead.");
            self.numbers = (0..self.devices as u32).collect();
        }
    }

    fn address(&mut self) {
        // The name of a card may be its address.
        let own = |device: &Device| pci::normal(device.pci.as_deref().unwrap_or(&device.name));
        let told: Vec<Option<String>> = self.graph.devices().iter().map(own).collect();
        self.free.taken.extend(told.iter().flatten().cloned());
        if told[..self.devices].iter().any(Option::is_none) {
            self.lost.push(
                "Some devices have no PCI address: unused addresses, from ffff:00:00.0 on, are written.",
            );
        }
        let mut given = HashSet::new();
        for told in told {
            let own = told.filter(|address| given.insert(address.clone()));
            let address = own.unwrap_or_else(|| self.free.next());
            self.addresses.push(address);
        }
    }

    fn links(&mut self, wires: &FabricWires) -> Result<(), Error> {
        let port = |id: usize| {
            self.graph.devices()[id]
                .switch_port
                .map_or(0, |port| count(port.class))
        };
        let pairs = || (0..self.devices).flat_map(|b| (0..b).map(move |a| (a, b)));
        // NCCL's format has one switch for all devices. It is exact if, for each pair, the direct
        // links plus the narrower port give the pair's number of links.
        let one = |a: usize, b: usize| {
            let own = wires
                .direct
                .get(&(a, b))
                .map_or(0, |bond| count(bond.class));
            own + port(a).min(port(b)) == count(self.pair(a, b).0.class)
        };
        let switched = (0..self.devices).any(|id| port(id) > 0) && pairs().all(|(a, b)| one(a, b));
        let all = pairs()
            .map(|(a, b)| ((a, b), self.pair(a, b).0))
            .filter(|(_, bond)| bond.exists());
        let bonds = if switched {
            wires.direct.clone()
        } else {
            all.collect()
        };
        if !switched && (0..self.devices).any(|id| port(id) > 0) {
            self.lost.push("The link switches do not act as one switch for all devices: the links of each pair are written instead.");
        }
        for (a, b) in pairs() {
            if self.pair(a, b).1.class == LinkClass::Network {
                let name = |id: usize| &self.graph.devices()[id].name;
                let what = format!(
                    "{} and {} are in different servers: expected one server, as NCCL's topology describes one",
                    name(a),
                    name(b)
                );
                return Err(Error::new(what));
            }
        }
        (self.bonds, self.switched) = (bonds, switched);
        Ok(())
    }

    /// Sets the bandwidth of the hop of each device and card: that of its wire to its parent in the
    /// host tree if there is one, otherwise that of its best path.
    fn hops(&mut self, wires: &FabricWires) {
        self.hops = (0..self.graph.len())
            .map(|a| {
                let name = &self.graph.devices()[a].name;
                let own = wires.up.get(name).copied();
                own.unwrap_or_else(|| self.best_path_gbps(a))
            })
            .collect();
    }

    /// The bandwidth of the widest host path from a vertex, GB/s; 0 if it has none.
    fn best_path_gbps(&self, a: usize) -> f64 {
        (0..self.graph.len())
            .filter(|&b| b != a)
            .map(|b| self.pair(a, b).1)
            .filter(|path| path.exists())
            .map(|path| path.gbps)
            .reduce(f64::max)
            .unwrap_or_default()
    }

    fn group(&mut self, cards: &[usize]) -> Result<(), Error> {
        let all: Vec<usize> = (0..self.devices).collect();
        let near = |floor: LinkClass| move |plan: &Self, a, b| plan.host(a, b) >= floor;
        for cpu in self.components(&all, near(LinkClass::Phb)) {
            let top = |devices: Vec<usize>| {
                let leaves = self.components(&devices, near(LinkClass::Pix)).into_iter();
                Top {
                    leaves: leaves
                        .map(|devices| SwitchPlan {
                            devices,
                            cards: Vec::new(),
                        })
                        .collect(),
                    cards: Vec::new(),
                }
            };
            let switches = self
                .components(&cpu, near(LinkClass::Pxb))
                .into_iter()
                .map(top)
                .collect();
            let numa = self.free_numa(cpu.iter().find_map(|&id| self.graph.devices()[id].numa));
            self.cpus.push(CpuPlan {
                numa,
                switches,
                cards: Vec::new(),
            });
        }
        for &card in cards {
            self.place(card);
        }
        Ok(())
    }

    /// Devices that are near each other, directly or by others.
    fn components(
        &self,
        of: &[usize],
        near: impl Fn(&Self, usize, usize) -> bool,
    ) -> Vec<Vec<usize>> {
        let mut left = of.to_vec();
        let mut groups = Vec::new();
        while !left.is_empty() {
            let mut group = vec![left.remove(0)];
            let mut next = 0;
            while let Some(&a) = group.get(next) {
                let (found, rest) = left.iter().partition(|&&b| near(self, a, b));
                group.extend::<Vec<usize>>(found);
                left = rest;
                next += 1;
            }
            group.sort_unstable();
            groups.push(group);
        }
        groups
    }

    /// The number `wanted`, if no CPU has it. Otherwise the lowest number that no CPU has and no
    /// device states.
    fn free_numa(&self, wanted: Option<u32>) -> u32 {
        let taken = |number: &u32| self.cpus.iter().any(|cpu| cpu.numa == *number);
        let said: HashSet<u32> = self
            .graph
            .devices()
            .iter()
            .filter_map(|device| device.numa)
            .collect();
        wanted.filter(|number| !taken(number)).unwrap_or_else(|| {
            (0..)
                .find(|number| !taken(number) && !said.contains(number))
                .unwrap_or_default()
        })
    }

    /// Places a card beside the device that is nearest to it.
    fn place(&mut self, card: usize) {
        let nearest = (0..self.devices)
            .rev()
            .max_by_key(|&id| self.host(card, id));
        let class = nearest.map_or(LinkClass::Sys, |id| self.host(card, id));
        let numa = self.graph.devices()[card].numa;
        let far = class < LinkClass::Phb;
        let found = self.cpus.iter().position(|cpu| {
            if far {
                Some(cpu.numa) == numa
            } else {
                cpu.switches
                    .iter()
                    .flat_map(|top| &top.leaves)
                    .any(|leaf| leaf.devices.iter().any(|&id| Some(id) == nearest))
            }
        });
        let Some(cpu) = found else {
            let numa = self.free_numa(numa);
            self.cpus.push(CpuPlan {
                numa,
                switches: Vec::new(),
                cards: vec![card],
            });
            return;
        };
        let cpu = &mut self.cpus[cpu];
        let within = |leaf: &SwitchPlan| leaf.devices.iter().any(|&id| Some(id) == nearest);
        let top = cpu
            .switches
            .iter_mut()
            .find(|top| top.leaves.iter().any(within));
        match top {
            Some(top) if class >= LinkClass::Pix => {
                top.leaves
                    .iter_mut()
                    .filter(|leaf| within(leaf))
                    .for_each(|leaf| leaf.cards.push(card));
            }
            Some(top) if class == LinkClass::Pxb => top.cards.push(card),
            _ => cpu.cards.push(card),
        }
    }

    /// Checks that reading the text gives the pairs that it was written from.
    pub(super) fn check(&self, text: &str) -> Result<(), Error> {
        let again = Kind::NcclTopology.read(text)?.machine.graph()?;
        for b in 0..self.devices {
            for a in 0..b {
                let (direct, host) = self.pair(a, b);
                let read = again.pair(DeviceId(a as u32), DeviceId(b as u32));
                let wanted = in_words_of_nccl(host.class);
                if (read.direct.class, read.host.class) != (direct.class, wanted) {
                    let name = |id: usize| &self.graph.devices()[id].name;
                    let what = format!(
                        "{} and {} have a host path of class {:?}, but the tree that fits their other \
                         paths gives {:?}: expected host paths that form a tree, as NCCL's topology is \
                         a tree",
                        name(a),
                        name(b),
                        host.class,
                        read.host.class
                    );
                    return Err(Error::new(what));
                }
            }
        }
        Ok(())
    }
}

fn in_words_of_nccl(class: LinkClass) -> LinkClass {
    match class {
        LinkClass::Node => LinkClass::Phb,
        LinkClass::Board | LinkClass::SameDevice => LinkClass::Pix,
        LinkClass::None | LinkClass::Network => LinkClass::Sys,
        class => class,
    }
}

pub(super) fn count(class: LinkClass) -> u32 {
    if let LinkClass::Direct(links) = class {
        u32::from(links)
    } else {
        0
    }
}

/// The wires of a fabric. Devices are the ids that the graph gives them.
struct FabricWires {
    /// Between two devices a < b.
    direct: HashMap<(usize, usize), Link>,
    /// Bandwidth of the hop of a device or card to its parent, GB/s, by name.
    up: HashMap<String, f64>,
}

impl FabricWires {
    fn of(fabric: &Fabric) -> Self {
        let device = |node: &FabricNode| matches!(node.kind, NodeKind::Device(_));
        let ids: HashMap<NodeId, usize> = fabric
            .nodes()
            .filter(|(_, node)| device(node))
            .enumerate()
            .map(|(id, (node, _))| (node, id))
            .collect();
        let mut wires = Self {
            direct: HashMap::new(),
            up: HashMap::new(),
        };
        for (a, b, wire) in fabric.wires() {
            match wire {
                FabricWire::Up { gbps } => {
                    wires.up.insert(fabric.node(a).name.clone(), gbps);
                }
                FabricWire::Link(link) if link.class.is_direct() => {
                    if let (Some(&a), Some(&b)) = (ids.get(&a), ids.get(&b)) {
                        wires.direct.insert((a.min(b), a.max(b)), link);
                    }
                }
                FabricWire::Link(_) => {}
            }
        }
        wires
    }
}

/// A source of unused PCI addresses, from ffff:00:00.0 on, for components without one.
#[derive(Clone, Default)]
pub(super) struct UnusedAddresses {
    taken: HashSet<String>,
    next: u32,
}

impl UnusedAddresses {
    pub(super) fn next(&mut self) -> String {
        loop {
            let (device, bus, domain) = (
                self.next % 32,
                self.next / 32 % 256,
                0xffff - self.next / 8192,
            );
            self.next += 1;
            let address = format!("{domain:04x}:{bus:02x}:{device:02x}.0");
            if self.taken.insert(address.clone()) {
                return address;
            }
        }
    }
}
