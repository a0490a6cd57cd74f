//! Which PCI element hangs from which.

use std::collections::{HashMap, HashSet};

use mapa_core::{
    Device, DeviceId, Fabric, FabricNode, FabricWire, HardwareGraph, Link, LinkClass, NodeId, NodeKind, Unit,
};

use crate::error::Error;
use crate::machine::Machine;
use crate::pci;
use crate::readers::Kind;

/// Groups of devices, from the CPU down.
pub(super) struct Cpu {
    pub(super) numa: u32,
    pub(super) switches: Vec<Top>,
    pub(super) cards: Vec<usize>,
}

/// What hangs from one PCI element of a CPU.
pub(super) struct Top {
    pub(super) leaves: Vec<Leaf>,
    /// Cards that are a switch further.
    pub(super) cards: Vec<usize>,
}

/// Devices and cards below one switch, if they are several.
pub(super) struct Leaf {
    pub(super) devices: Vec<usize>,
    pub(super) cards: Vec<usize>,
}

pub(super) struct Plan {
    pub(super) graph: HardwareGraph,
    pub(super) devices: usize,
    /// By vertex: the devices, then the cards.
    pub(super) addresses: Vec<String>,
    /// By device, the number by which NCCL knows it.
    pub(super) numbers: Vec<u32>,
    pub(super) cpus: Vec<Cpu>,
    pub(super) amd: bool,
    /// Between two devices a < b.
    pub(super) bonds: HashMap<(usize, usize), Link>,
    /// Whether devices reach each other through a switch, beside these.
    pub(super) switched: bool,
    /// By vertex, GB/s of its hop.
    pub(super) hops: Vec<f64>,
    pub(super) free: Addresses,
    pub(super) lost: Vec<&'static str>,
}

impl Plan {
    pub(super) fn new(machine: &Machine) -> Result<Self, Error> {
        let mut fabric = machine.fabric.clone();
        fabric.set_mig(None);
        let devices = fabric.device_count();
        let wires = Wires::of(&fabric);
        let graph = fabric.lower_with_host()?;
        let cards: Vec<usize> =
            (devices..graph.len()).filter(|&vertex| graph.devices()[vertex].unit == Unit::Nic).collect();
        let mut plan = Self {
            amd: machine.labels.direct.eq_ignore_ascii_case("XGMI"),
            addresses: Vec::new(),
            numbers: Vec::new(),
            cpus: Vec::new(),
            bonds: HashMap::new(),
            switched: false,
            hops: Vec::new(),
            free: Addresses::default(),
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

    /// What joins two vertices through the host, as NCCL can say it.
    fn host(&self, a: usize, b: usize) -> LinkClass {
        in_words_of_nccl(self.pair(a, b).1.class)
    }

    /// The devices' numbers: the vendor's, if they are in the order of ids, for that is how they are read.
    fn number(&mut self) {
        let numbers = (0u32..).zip(&self.graph.devices()[..self.devices]);
        let numbers: Vec<u32> = numbers.map(|(id, device)| device.index.unwrap_or(id)).collect();
        if numbers.windows(2).all(|pair| pair[0] < pair[1]) {
            self.numbers = numbers;
        } else {
            self.lost.push("The vendor's numbers of devices are not in the order of their ids: these are the ids.");
            self.numbers = (0..self.devices as u32).collect();
        }
    }

    fn address(&mut self) {
        // A card may be called by its address.
        let own = |device: &Device| pci::normal(device.pci.as_deref().unwrap_or(&device.name));
        let told: Vec<Option<String>> = self.graph.devices().iter().map(own).collect();
        self.free.taken.extend(told.iter().flatten().cloned());
        if told[..self.devices].iter().any(Option::is_none) {
            self.lost.push("Some devices have no PCI address: theirs, from ffff:00:00.0 on, are made up.");
        }
        let mut given = HashSet::new();
        for told in told {
            let own = told.filter(|address| given.insert(address.clone()));
            let address = own.unwrap_or_else(|| self.free.next());
            self.addresses.push(address);
        }
    }

    fn links(&mut self, wires: &Wires) -> Result<(), Error> {
        let port = |id: usize| self.graph.devices()[id].switch_port.map_or(0, |port| count(port.class));
        let pairs = || (0..self.devices).flat_map(|b| (0..b).map(move |a| (a, b)));
        // One switch for all, as NCCL has it, if that is what the machine has.
        let one = |a: usize, b: usize| {
            let own = wires.direct.get(&(a, b)).map_or(0, |bond| count(bond.class));
            own + port(a).min(port(b)) == count(self.pair(a, b).0.class)
        };
        let switched = (0..self.devices).any(|id| port(id) > 0) && pairs().all(|(a, b)| one(a, b));
        let all = pairs().map(|(a, b)| ((a, b), self.pair(a, b).0)).filter(|(_, bond)| bond.exists());
        let bonds = if switched { wires.direct.clone() } else { all.collect() };
        if !switched && (0..self.devices).any(|id| port(id) > 0) {
            self.lost.push("Link switches are not one for all devices: the links of every two are written instead.");
        }
        for (a, b) in pairs() {
            if self.pair(a, b).1.class == LinkClass::Network {
                let name = |id: usize| &self.graph.devices()[id].name;
                let what = format!("{} and {} are of two servers: NCCL's topology is one's", name(a), name(b));
                return Err(Error::new(what));
            }
        }
        (self.bonds, self.switched) = (bonds, switched);
        Ok(())
    }

    /// The bandwidth of the hop of each device and card: as it is drawn, else that of its best path.
    fn hops(&mut self, wires: &Wires) {
        let best = |a: usize| {
            let paths = (0..self.graph.len()).filter(|&b| b != a).map(|b| self.pair(a, b).1);
            paths.filter(|path| path.exists()).map(|path| path.gbps).reduce(f64::max).unwrap_or_default()
        };
        let name = |vertex: usize| self.graph.devices()[vertex].name.as_str();
        self.hops = (0..self.graph.len()).map(|a| wires.up.get(name(a)).copied().unwrap_or_else(|| best(a))).collect();
    }

    fn group(&mut self, cards: &[usize]) -> Result<(), Error> {
        let all: Vec<usize> = (0..self.devices).collect();
        let near = |floor: LinkClass| move |plan: &Self, a, b| plan.host(a, b) >= floor;
        for cpu in self.components(&all, near(LinkClass::Phb)) {
            let top = |devices: Vec<usize>| {
                let leaves = self.components(&devices, near(LinkClass::Pix)).into_iter();
                Top { leaves: leaves.map(|devices| Leaf { devices, cards: Vec::new() }).collect(), cards: Vec::new() }
            };
            let switches = self.components(&cpu, near(LinkClass::Pxb)).into_iter().map(top).collect();
            let numa = self.free_numa(cpu.iter().find_map(|&id| self.graph.devices()[id].numa));
            self.cpus.push(Cpu { numa, switches, cards: Vec::new() });
        }
        for &card in cards {
            self.place(card);
        }
        Ok(())
    }

    /// Devices that are near each other, directly or by others.
    fn components(&self, of: &[usize], near: impl Fn(&Self, usize, usize) -> bool) -> Vec<Vec<usize>> {
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

    /// The number wanted, if no CPU has it, else the lowest that none has and no device wants.
    fn free_numa(&self, wanted: Option<u32>) -> u32 {
        let taken = |number: &u32| self.cpus.iter().any(|cpu| cpu.numa == *number);
        let said: HashSet<u32> = self.graph.devices().iter().filter_map(|device| device.numa).collect();
        wanted
            .filter(|number| !taken(number))
            .unwrap_or_else(|| (0..).find(|number| !taken(number) && !said.contains(number)).unwrap_or_default())
    }

    /// Hangs a card where it is nearest to a device.
    fn place(&mut self, card: usize) {
        let nearest = (0..self.devices).rev().max_by_key(|&id| self.host(card, id));
        let class = nearest.map_or(LinkClass::Sys, |id| self.host(card, id));
        let holds = |cpu: &Cpu| {
            let leaves = cpu.switches.iter().flat_map(|top| &top.leaves);
            { leaves }.any(|leaf| leaf.devices.iter().any(|&id| Some(id) == nearest))
        };
        let numa = self.graph.devices()[card].numa;
        let far = class < LinkClass::Phb;
        let found = self.cpus.iter().position(|cpu| if far { Some(cpu.numa) == numa } else { holds(cpu) });
        let Some(cpu) = found else {
            let numa = self.free_numa(numa);
            self.cpus.push(Cpu { numa, switches: Vec::new(), cards: vec![card] });
            return;
        };
        let cpu = &mut self.cpus[cpu];
        let within = |leaf: &Leaf| leaf.devices.iter().any(|&id| Some(id) == nearest);
        let top = cpu.switches.iter_mut().find(|top| top.leaves.iter().any(within));
        match top {
            Some(top) if class >= LinkClass::Pix => {
                top.leaves.iter_mut().filter(|leaf| within(leaf)).for_each(|leaf| leaf.cards.push(card));
            }
            Some(top) if class == LinkClass::Pxb => top.cards.push(card),
            _ => cpu.cards.push(card),
        }
    }

    /// That the text reads back to what it was written from.
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
                        "{} and {} are joined by {:?} through the host, but with what joins them to others a tree has {:?}: \
                         NCCL's topology is a tree",
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
    if let LinkClass::Direct(links) = class { u32::from(links) } else { 0 }
}

/// The wires of a fabric, by the ids that devices will have.
struct Wires {
    /// Between two devices a < b.
    direct: HashMap<(usize, usize), Link>,
    /// GB/s of the hop of a device or card, by name.
    up: HashMap<String, f64>,
}

impl Wires {
    fn of(fabric: &Fabric) -> Self {
        let device = |node: &FabricNode| matches!(node.kind, NodeKind::Device(_));
        let ids: HashMap<NodeId, usize> =
            fabric.nodes().filter(|(_, node)| device(node)).enumerate().map(|(id, (node, _))| (node, id)).collect();
        let mut wires = Self { direct: HashMap::new(), up: HashMap::new() };
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

/// Addresses for what has none: ffff:00:00.0 and on.
#[derive(Clone, Default)]
pub(super) struct Addresses {
    taken: HashSet<String>,
    next: u32,
}

impl Addresses {
    pub(super) fn next(&mut self) -> String {
        loop {
            let (device, bus, domain) = (self.next % 32, self.next / 32 % 256, 0xffff - self.next / 8192);
            self.next += 1;
            let address = format!("{domain:04x}:{bus:02x}:{device:02x}.0");
            if self.taken.insert(address.clone()) {
                return address;
            }
        }
    }
}
