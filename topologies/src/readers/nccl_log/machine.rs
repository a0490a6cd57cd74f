//! Makes a machine of a tree: devices with their places, and links with both ends.

use std::collections::{BTreeMap, HashMap};

use mapa_core::MAX_DEVICES;

use super::count::{self, LinkCounts, PrintedBond, Version};
use super::row::{Heading, NodeId, address};
use super::tree::{Element, ElementKind, LinkEnd, RowTree};
use crate::error::{Error, ErrorKind};
use crate::machine::Warning;
use crate::readers::nccl_tree::{NcclBond, NcclBonds, NcclCpu, NcclDevice, NcclPart, renumber};

/// A machine, as far as a tree tells.
pub(super) struct LogMachine {
    pub(super) cpus: Vec<NcclCpu>,
    pub(super) devices: Vec<NcclDevice>,
    pub(super) bonds: NcclBonds,
    /// How links were counted; none without links.
    pub(super) counts: Option<LinkCounts>,
    pub(super) xgmi: bool,
    /// Whether links of devices were left out.
    pub(super) left_out: bool,
    /// Whether the bandwidth between CPUs is told; also if there is but one.
    pub(super) between_told: bool,
    pub(super) warnings: Vec<Warning>,
}

/// What one row of direct links states.
struct StatedLink {
    line: usize,
    device: usize,
    /// The other device; none for a switch.
    to: Option<usize>,
    gbps: f64,
}

/// Makes a machine of the rows of a tree.
///
/// # Errors
/// An element that appears twice; a link to a device without a row; two ends of a link that contradict each other.
/// The message names the line.
///
/// # Complexity
/// O(rows · log rows).
pub(super) fn machine(tree: &RowTree, heading: Heading, line: usize) -> Result<LogMachine, Error> {
    let mut places = Places::read(tree)?;
    let mut warnings = tree.warnings.clone();
    warnings.extend(check_total(tree, heading, line));
    let mut cards = Cards::default();
    let mut cpus = Vec::new();
    for &cpu in &tree.cpus {
        let parts = parts(tree, cpu, &places, &mut cards)?;
        cpus.push(places.cpu(&tree.elements[cpu], parts));
    }
    warnings.extend(cards.warning);
    let order = places.order();
    cpus.iter_mut()
        .for_each(|cpu| renumber(&mut cpu.parts, &order));
    places.rename(&order);
    let mut ends = LinkEnds {
        places: &places,
        bonds: NcclBonds::none(places.devices.len()),
        stated: Vec::new(),
        left_out: places.without_gpus,
    };
    for element in &tree.elements {
        if element.kind == ElementKind::Cpu {
            ends.of_cpu(element, heading)?;
        } else {
            warnings.extend(ends.of_device(element)?);
        }
    }
    let LinkEnds {
        mut bonds,
        stated,
        left_out,
        ..
    } = ends;
    let xgmi = tree
        .elements
        .iter()
        .flat_map(|element| &element.links)
        .any(|link| link.xgmi);
    let version = match (heading.widths, tree.with_hosts) {
        (true, _) => Version::Widths,
        (false, false) => Version::Plain,
        (false, true) => Version::Hosts,
    };
    let printed = |link: &StatedLink| PrintedBond {
        device: link.device,
        to_switch: link.to.is_none(),
        gbps: link.gbps,
    };
    let printed: Vec<PrintedBond> = stated.iter().map(printed).collect();
    let counts = (!printed.is_empty()).then(|| count::counts(&printed, xgmi, version));
    let numbers = counts
        .as_ref()
        .map(|counts| &counts.links[..])
        .unwrap_or_default();
    join(&stated, numbers, &mut bonds, &mut warnings)?;
    let between_told = cpus.len() < 2 || cpus.iter().all(|cpu| cpu.between.is_some());
    Ok(LogMachine {
        cpus,
        devices: places.devices,
        bonds,
        counts,
        xgmi,
        left_out,
        between_told,
        warnings,
    })
}

/// Finds the other ends of links.
struct LinkEnds<'p> {
    places: &'p Places,
    bonds: NcclBonds,
    stated: Vec<StatedLink>,
    left_out: bool,
}

impl LinkEnds<'_> {
    /// The links of a device to others, to switches and to its CPU. Returns a warning if they are left out because
    /// several devices share them.
    fn of_device(&mut self, element: &Element) -> Result<Option<Warning>, Error> {
        let devices = self.places.of(element);
        let shared = devices.len() > 1;
        let Some(&device) = devices.first() else {
            return Ok(None);
        };
        for link in &element.links {
            let to = match link.to {
                LinkEnd::Host => {
                    let own = devices
                        .iter()
                        .filter(|&&device| self.places.devices[device].line == element.line);
                    own.for_each(|&device| self.bonds.to_host[device] += link.gbps);
                    continue;
                }
                LinkEnd::Switch => None,
                LinkEnd::Device(id) => match self.places.at(id) {
                    Some([other]) if *other != device => Some(*other),
                    Some(_) => {
                        self.left_out = true;
                        continue;
                    }
                    None => {
                        let what = "a link to a device that has no row of its own: expected all rows of the tree";
                        return Err(Error::at(link.line, what));
                    }
                },
            };
            if shared {
                self.left_out = true;
                continue;
            }
            self.stated.push(StatedLink {
                line: link.line,
                device,
                to,
                gbps: link.gbps,
            });
        }
        let what =
            "several devices have this PCI address: their direct links are left out".to_owned();
        let left_out = shared && element.links.iter().any(|link| link.to != LinkEnd::Host);
        Ok(left_out.then_some(Warning {
            line: Some(element.line),
            what,
        }))
    }

    /// A CPU's links to devices, which these state too. If not, the rows are those of another device, and the
    /// indentation is lost.
    fn of_cpu(&mut self, cpu: &Element, heading: Heading) -> Result<(), Error> {
        for link in &cpu.links {
            let LinkEnd::Device(id) = link.to else {
                continue;
            };
            let devices = self.places.at(id).unwrap_or_default();
            if devices.iter().any(|&device| self.places.to_cpu[device]) {
                continue;
            }
            // NCCL up to 2.7 may print but this end of a link of the CPU.
            let Some(&device) = devices.first().filter(|_| heading.total.is_none()) else {
                let what = "a link of the CPU to a device that states none: expected all rows of the tree, with their indentation";
                return Err(Error::at(link.line, what));
            };
            self.bonds.to_host[device] += link.gbps;
        }
        Ok(())
    }
}

/// Adds the links that rows state, after checking that both ends of each state the same.
fn join(
    stated: &[StatedLink],
    numbers: &[u8],
    bonds: &mut NcclBonds,
    warnings: &mut Vec<Warning>,
) -> Result<(), Error> {
    let mut ways: BTreeMap<(usize, usize), (usize, NcclBond)> = BTreeMap::new();
    for (link, &links) in stated.iter().zip(numbers) {
        let bond = match link.to {
            None => bonds.ports[link.device].get_or_insert_with(NcclBond::default),
            Some(other) => {
                let way = ways.entry((link.device, other));
                &mut way.or_insert((link.line, NcclBond::default())).1
            }
        };
        bond.links = added(link.line, bond.links, links)?;
        bond.gbps += link.gbps;
    }
    let port = |id: usize| bonds.ports[id].map_or(0, |port| port.links);
    for (&(a, b), &(line, here)) in &ways {
        // A pair that a switch also joins has the links of its smaller port in addition. Their sum must be valid too.
        added(line, here.links, port(a).min(port(b)))?;
        match ways.get(&(b, a)) {
            Some((there, other)) if *other != here => {
                let what = format!(
                    "{} GB/s, but the other end has {} in line {there}: expected the same",
                    here.gbps, other.gbps
                );
                return Err(Error::at(line, what));
            }
            Some(_) if a > b => continue,
            Some(_) => {}
            None => {
                let what = "only this end of the link has a row: the link is kept".to_owned();
                warnings.push(Warning {
                    line: Some(line),
                    what,
                });
            }
        }
        bonds.pairs.insert((a.min(b), a.max(b)), here);
    }
    Ok(())
}

/// The sum of two numbers of links.
fn added(line: usize, a: u8, b: u8) -> Result<u8, Error> {
    a.checked_add(b).ok_or_else(|| {
        Error::at(
            line,
            "more than 255 links of two devices: expected those of one machine",
        )
    })
}

/// Compares the rows with the sum in the heading: of the links of one device, or its PCI hop, the greatest.
fn check_total(tree: &RowTree, heading: Heading, line: usize) -> Option<Warning> {
    // A job of one device has no such sum.
    let told = heading
        .total
        .filter(|&total| total > 0.0 && total < 5000.0)?;
    let devices = tree
        .elements
        .iter()
        .filter(|element| matches!(element.kind, ElementKind::Gpu | ElementKind::Dev));
    let sum = |element: &Element| {
        let links: f64 = element.links.iter().map(|link| link.gbps).sum();
        links.max(element.hop.unwrap_or_default())
    };
    let most = devices.clone().map(sum).reduce(f64::max)?;
    // Each figure is printed with one digit behind the point. Links to the CPU count in some versions only, so they
    // may make the sum of the rows greater.
    let rows = devices
        .map(|element| element.links.len())
        .max()
        .unwrap_or_default();
    let what = format!(
        "the heading has {told} GB/s for the device with the most, the rows have {most}: rows may be missing"
    );
    let is_less = told > most + 0.1 * (rows as f64 + 1.0);
    is_less.then_some(Warning {
        line: Some(line),
        what,
    })
}

/// The devices of a tree and where they are.
#[derive(Default)]
struct Places {
    devices: Vec<NcclDevice>,
    /// For each device, whether it has links to its CPU.
    to_cpu: Vec<bool>,
    /// The devices at each address, by host and the number that packs the address.
    at: HashMap<(u64, u64), Vec<usize>>,
    /// The index of each host.
    hosts: HashMap<u64, usize>,
    /// Whether there are devices without a GPU of the job.
    without_gpus: bool,
    /// For each CPU, by its line, the number of its host.
    host_of_cpu: HashMap<usize, u64>,
}

/// The number of a CPU's host. If its NUMA node is unknown, -1 runs over into that number, so what is below tells it.
fn host_of(tree: &RowTree, cpu: &Element) -> u64 {
    let (host, _) = cpu.id.key();
    if !cpu.id.is_unknown() {
        return host;
    }
    let below = cpu.below.iter().map(|&below| &tree.elements[below]);
    let told = below.filter_map(|below| match below.kind {
        // The number of a card has that of its NUMA node added in some versions, but not that of its ports.
        ElementKind::Nic => below.ports.first().map(|&(host, _)| host),
        _ => Some(below.id.host),
    });
    // All ones is -1 of the first host.
    let printed = if host == u64::MAX { 0 } else { host };
    told.into_iter().next().unwrap_or(printed)
}

/// The host and address of an element. Partitions of one GPU have one in common.
fn place(element: &Element) -> (u64, u64) {
    match element.kind {
        ElementKind::Dev => element.id.whole_device().key(),
        _ => element.id.key(),
    }
}

impl Places {
    fn read(tree: &RowTree) -> Result<Self, Error> {
        let mut places = Self::default();
        let mut lines: HashMap<(ElementKind, u64, u64), usize> = HashMap::new();
        let mut host = 0;
        for element in &tree.elements {
            let (of, local) = element.id.key();
            let is_one = matches!(
                element.kind,
                ElementKind::Cpu | ElementKind::Gpu | ElementKind::Dev
            );
            let first = lines.insert((element.kind, of, local), element.line);
            if let Some(first) = first.filter(|_| is_one) {
                let what = format!(
                    "{}/{local:x} appears again, after line {first}: expected each once",
                    element.kind.word()
                );
                return Err(Error::at(element.line, what));
            }
            match element.kind {
                ElementKind::Cpu => {
                    host = host_of(tree, element);
                    let next = places.hosts.len();
                    places.hosts.entry(host).or_insert(next);
                    places.host_of_cpu.insert(element.line, host);
                }
                ElementKind::Gpu => places.add(element, 1, places.hosts[&host])?,
                ElementKind::Dev => {
                    places.without_gpus |= element.gpus.is_empty();
                    places.add(element, element.gpus.len(), places.hosts[&host])?;
                }
                ElementKind::Pci | ElementKind::Nic => {}
            }
        }
        Ok(places)
    }

    /// Adds the devices of an element.
    fn add(&mut self, element: &Element, number: usize, host: usize) -> Result<(), Error> {
        let (of, local) = place(element);
        let at = self.at.entry((of, local)).or_default();
        for _ in 0..number {
            if self.devices.len() == MAX_DEVICES {
                let what = format!("more than {MAX_DEVICES} devices");
                return Err(Error::at(element.line, what).with_kind(ErrorKind::TooLarge));
            }
            at.push(self.devices.len());
            self.to_cpu
                .push(element.links.iter().any(|link| link.to == LinkEnd::Host));
            self.devices.push(NcclDevice {
                line: element.line,
                host,
                dev: None,
                busid: address(local),
            });
        }
        Ok(())
    }

    /// The devices of an element of the tree.
    fn of(&self, element: &Element) -> &[usize] {
        let is_device = matches!(element.kind, ElementKind::Gpu | ElementKind::Dev);
        let at = self.at.get(&place(element)).filter(|_| is_device);
        at.map(Vec::as_slice).unwrap_or_default()
    }

    /// The devices at the other end of a link; none if no row has it.
    fn at(&self, id: NodeId) -> Option<&[usize]> {
        self.at.get(&id.key()).map(Vec::as_slice)
    }

    /// The id of each device: in the order of hosts, then of addresses, as drivers number them.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.devices.len()).collect();
        let mut addresses: Vec<(u64, usize)> = Vec::new();
        addresses.resize(self.devices.len(), (0, 0));
        for (&(_, local), devices) in &self.at {
            for &device in devices {
                addresses[device] = (local, device);
            }
        }
        order.sort_by_key(|&device| (self.devices[device].host, addresses[device]));
        let mut id = vec![0; order.len()];
        for (new, &old) in order.iter().enumerate() {
            id[old] = new;
        }
        id
    }

    /// Puts the devices into the order of their ids.
    fn rename(&mut self, id: &[usize]) {
        let mut devices: Vec<(usize, NcclDevice)> = id
            .iter()
            .copied()
            .zip(std::mem::take(&mut self.devices))
            .collect();
        devices.sort_by_key(|(id, _)| *id);
        self.devices = devices.into_iter().map(|(_, device)| device).collect();
        let mut to_cpu = vec![false; id.len()];
        for (old, &new) in id.iter().enumerate() {
            to_cpu[new] = self.to_cpu[old];
        }
        self.to_cpu = to_cpu;
        for devices in self.at.values_mut() {
            devices.iter_mut().for_each(|device| *device = id[*device]);
        }
    }

    fn cpu(&self, cpu: &Element, parts: Vec<NcclPart>) -> NcclCpu {
        let numa = u32::try_from(cpu.id.local)
            .ok()
            .filter(|_| !cpu.id.is_unknown());
        let between = cpu
            .to_cpus
            .iter()
            .filter_map(|(_, _, gbps)| *gbps)
            .reduce(f64::max);
        NcclCpu {
            line: cpu.line,
            host: self.hosts[&self.host_of_cpu[&cpu.line]],
            numa,
            parts,
            between,
        }
    }
}

/// The network cards that were read, by host and number.
#[derive(Default)]
struct Cards {
    seen: HashMap<(u64, u64), usize>,
    warning: Option<Warning>,
}

impl Cards {
    /// The name of a port of a card; none if the port appeared before: several cards that NCCL uses as one have it in
    /// common, and cards of no PCI device are below every CPU.
    fn name(&mut self, nic: &Element, (host, number): (u64, u64)) -> Option<String> {
        if let Some(first) = self.seen.get(&(host, number)) {
            let what =
                format!("NET/{number:x} appears again, after line {first}: only the first is kept");
            self.warning.get_or_insert(Warning {
                line: Some(nic.line),
                what,
            });
            return None;
        }
        self.seen.insert((host, number), nic.line);
        Some(format!("net{number}"))
    }
}

/// The parts below an element. The walk over rows bounds the depth of the recursion.
fn parts(
    tree: &RowTree,
    above: usize,
    places: &Places,
    cards: &mut Cards,
) -> Result<Vec<NcclPart>, Error> {
    let mut found = Vec::new();
    for &below in &tree.elements[above].below {
        let element = &tree.elements[below];
        match element.kind {
            ElementKind::Cpu => {}
            ElementKind::Pci => {
                let below = parts(tree, below, places, cards)?;
                if !below.is_empty() {
                    let (name, hop) = (element.id.address(), element.hop);
                    found.push(NcclPart::Switch { name, hop, below });
                }
            }
            ElementKind::Gpu | ElementKind::Dev => {
                // Partitions of one GPU share a place, and each has an element of its own.
                let own = |&&gpu: &&usize| places.devices[gpu].line == element.line;
                let gpus = places.of(element).iter().filter(own);
                found.extend(gpus.map(|&gpu| NcclPart::Gpu {
                    gpu,
                    hop: element.hop,
                }));
            }
            ElementKind::Nic => {
                for &port in &element.ports {
                    let name = cards.name(element, port);
                    found.extend(name.map(|name| NcclPart::Card {
                        name,
                        hop: element.hop,
                    }));
                }
                if element.ports.is_empty() {
                    // 0 is a card that is no PCI device.
                    let address = (element.id.local != 0).then(|| element.id.address());
                    let name = address.unwrap_or_else(|| "nic".to_owned());
                    found.push(NcclPart::Card {
                        name,
                        hop: element.hop,
                    });
                }
            }
        }
    }
    Ok(found)
}
