//! The tree of objects, reduced to the paths to devices and network cards.

use std::collections::{HashMap, HashSet};

use mapa_core::MAX_DEVICES;
use roxmltree::Node;

use crate::error::{Error, ErrorKind};
use crate::pci;
use crate::readers::xml::{self, elements};
use crate::vendor::Vendor;

/// A file, with its devices in the order of their ids.
pub(super) struct HwlocFile<'a, 'input> {
    /// The NUMA nodes that have processors, or parts attached to them.
    pub(super) numa: Vec<(u32, Node<'a, 'input>)>,
    /// The parts attached to a NUMA node, or to an unknown one.
    pub(super) roots: Vec<(Option<u32>, HwlocPart)>,
    pub(super) gpus: Vec<HwlocGpu<'a, 'input>>,
    /// The objects by the numbers that matrices use.
    pub(super) ends: HashMap<u64, HwlocEnd>,
    /// Whether there is any PCI device.
    pub(super) pci: bool,
    /// Whether no library for GPUs is named.
    pub(super) by_class: bool,
    /// Whether the two ends of some link to a device have different speeds.
    pub(super) ends_differ: bool,
}

/// A part of the path to a device or network card, or such an end itself.
pub(super) enum HwlocPart {
    Bridge {
        name: String,
        below: Vec<HwlocPart>,
    },
    Switch {
        name: String,
        hop: Option<f64>,
        below: Vec<HwlocPart>,
    },
    /// A device, by its index in [`HwlocFile::gpus`].
    Gpu {
        gpu: usize,
        hop: Option<f64>,
    },
    Card {
        name: String,
        hop: Option<f64>,
    },
}

/// A device.
pub(super) struct HwlocGpu<'a, 'input> {
    pub(super) node: Node<'a, 'input>,
    pub(super) pci: String,
    pub(super) vendor: Option<Vendor>,
    /// The library that names it first, and its number there.
    pub(super) named: Option<(GpuLibrary, u32)>,
    /// Whether that number is the device's index.
    pub(super) numbered: bool,
    pub(super) product: Option<String>,
    pub(super) uuid: Option<String>,
    pub(super) memory_bytes: Option<u64>,
}

/// The object of a row of a matrix.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum HwlocEnd {
    Device(usize),
    Switch,
    Host,
}

/// The libraries that name GPUs, in the order in which their numbers count.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum GpuLibrary {
    Nvml,
    Rsmi,
    Cuda,
    LevelZero,
    OpenCl,
}

impl GpuLibrary {
    /// The vendor of the devices that the library names; none if it names those of several.
    fn vendor(self) -> Option<Vendor> {
        match self {
            Self::Nvml | Self::Cuda => Some(Vendor::Nvidia),
            Self::Rsmi => Some(Vendor::Amd),
            Self::LevelZero => Some(Vendor::Intel),
            Self::OpenCl => None,
        }
    }
}

impl<'a, 'input> HwlocFile<'a, 'input> {
    pub(super) fn read(root: Node<'a, 'input>) -> Result<Self, Error> {
        let is_pci = |node: &Node<'_, '_>| object(*node) == Some("PCIDev");
        let by_class = !root
            .descendants()
            .filter(is_pci)
            .any(|node| names(node).next().is_some());
        // Version 3 has kinds of devices as bits, before that they were numbers.
        let bits = version(root) >= 3;
        let one_numa_each = version(root) < 2;
        let mut walk = HwlocWalk {
            topology: Self {
                numa: Vec::new(),
                roots: Vec::new(),
                gpus: Vec::new(),
                ends: HashMap::new(),
                pci: root.descendants().any(|node| is_pci(&node)),
                by_class,
                ends_differ: false,
            },
            bits,
            one_numa_each,
            cards: 0,
        };
        for child in elements(root) {
            walk.object(
                child,
                At {
                    numa: None,
                    port: PciPort::Outside,
                },
            )?;
        }
        let mut topology = walk.topology;
        topology.sort();
        topology.keep_numa();
        Ok(topology)
    }

    /// Orders the devices by number, if all numbers are different, otherwise by library, number and
    /// PCI address.
    fn sort(&mut self) {
        let numbers: HashSet<u32> = self
            .gpus
            .iter()
            .filter_map(|gpu| Some(gpu.named?.1))
            .collect();
        let numbered = numbers.len() == self.gpus.len();
        let mut order: Vec<usize> = (0..self.gpus.len()).collect();
        if numbered {
            order.sort_by_key(|&gpu| self.gpus[gpu].named.map(|(_, number)| number));
        } else {
            // Devices that no library names come last.
            order.sort_by_key(|&gpu| {
                let gpu = &self.gpus[gpu];
                (gpu.named.is_none(), gpu.named, gpu.pci.clone())
            });
        }
        let mut id = vec![0; order.len()];
        for (new, &old) in order.iter().enumerate() {
            id[old] = new;
        }
        let mut gpus: Vec<(usize, HwlocGpu<'a, 'input>)> = id
            .iter()
            .copied()
            .zip(std::mem::take(&mut self.gpus))
            .collect();
        gpus.sort_by_key(|(id, _)| *id);
        self.gpus = gpus
            .into_iter()
            .map(|(_, gpu)| HwlocGpu { numbered, ..gpu })
            .collect();
        for (_, part) in &mut self.roots {
            renumber(part, &id);
        }
        for end in self.ends.values_mut() {
            if let HwlocEnd::Device(old) = end {
                *old = id[*old];
            }
        }
    }

    /// Drops the NUMA nodes that have memory only, such as a GPU's.
    fn keep_numa(&mut self) {
        let used: HashSet<u32> = self.roots.iter().filter_map(|(numa, _)| *numa).collect();
        self.numa
            .retain(|(number, node)| used.contains(number) || has_processors(*node));
    }
}

/// Whether the set of processors of a node is not empty.
fn has_processors(node: Node<'_, '_>) -> bool {
    let set = node.attribute("cpuset").unwrap_or_default();
    let digits = set.replace("0x", "");
    let mut digits = digits.bytes();
    digits.any(|byte| byte.is_ascii_hexdigit() && byte != b'0')
}

fn renumber(part: &mut HwlocPart, id: &[usize]) {
    match part {
        HwlocPart::Bridge { below, .. } | HwlocPart::Switch { below, .. } => {
            below.iter_mut().for_each(|part| renumber(part, id))
        }
        HwlocPart::Gpu { gpu, .. } => *gpu = id[*gpu],
        HwlocPart::Card { .. } => {}
    }
}

/// The major version of the format: 1 if the file has none.
fn version(root: Node<'_, '_>) -> u32 {
    let major = root
        .attribute("version")
        .and_then(|version| version.split('.').next()?.trim().parse().ok());
    major.unwrap_or(1)
}

/// The type of an object.
fn object<'a>(node: Node<'a, '_>) -> Option<&'a str> {
    if node.has_tag_name("object") {
        node.attribute("type")
    } else {
        None
    }
}

/// The objects directly below one.
fn objects<'a, 'input>(node: Node<'a, 'input>) -> impl Iterator<Item = Node<'a, 'input>> {
    elements(node).filter(|child| object(*child).is_some())
}

/// The position of an object in the tree.
#[derive(Clone, Copy)]
struct At {
    numa: Option<u32>,
    port: PciPort,
}

/// The port above a PCI device or bridge.
#[derive(Clone, Copy)]
enum PciPort {
    /// No known bridge.
    Outside,
    Host,
    /// A root port, or the downstream port of a switch, with its speed.
    Below(Option<f64>),
    Switch,
}

struct HwlocWalk<'a, 'input> {
    topology: HwlocFile<'a, 'input>,
    bits: bool,
    one_numa_each: bool,
    cards: usize,
}

impl<'a, 'input> HwlocWalk<'a, 'input> {
    /// The parts below an object. The XML parser bounds the depth.
    fn object(&mut self, node: Node<'a, 'input>, at: At) -> Result<Vec<HwlocPart>, Error> {
        match object(node) {
            None | Some("OSDev" | "Misc") => Ok(Vec::new()),
            Some("Bridge") => self.bridge(node, at),
            Some("PCIDev") => self.device(node, at),
            Some(kind) => {
                self.end(node, HwlocEnd::Host);
                if kind == "NUMANode" {
                    self.numa(node)?;
                }
                let numa = self.numa_below(node, kind)?.or(at.numa);
                for child in objects(node) {
                    let parts = self.object(
                        child,
                        At {
                            numa,
                            port: PciPort::Outside,
                        },
                    )?;
                    self.topology
                        .roots
                        .extend(parts.into_iter().map(|part| (numa, part)));
                }
                Ok(Vec::new())
            }
        }
    }

    fn numa(&mut self, node: Node<'a, 'input>) -> Result<(), Error> {
        let number: u32 = xml::required(node, "os_index")?;
        if self.topology.numa.len() == MAX_DEVICES {
            let what = format!("more than {MAX_DEVICES} NUMA nodes");
            return Err(xml::error(node, what).with_kind(ErrorKind::TooLarge));
        }
        self.topology.numa.push((number, node));
        Ok(())
    }

    /// The NUMA node of the parts directly below an object. This is the object itself, or (since 2.0)
    /// a memory object attached to it. If there are several, they are equally near (since 2.0, the
    /// lowest is the ordinary one), except below a whole machine.
    fn numa_below(&self, node: Node<'_, '_>, kind: &str) -> Result<Option<u32>, Error> {
        if kind == "NUMANode" {
            return xml::number(node, "os_index");
        }
        let mut found: Vec<u32> = Vec::new();
        for child in objects(node) {
            // A cache in front of memory is an object around it.
            let cached = objects(child).filter(|_| object(child) == Some("MemCache"));
            for candidate in std::iter::once(child).chain(cached) {
                if object(candidate) == Some("NUMANode") {
                    found.extend(xml::number::<u32>(candidate, "os_index")?);
                }
            }
        }
        let several = self.one_numa_each || matches!(kind, "Machine" | "System");
        Ok(if several && found.len() > 1 {
            None
        } else {
            found.into_iter().min()
        })
    }

    fn end(&mut self, node: Node<'_, '_>, end: HwlocEnd) {
        if let Some(number) = node
            .attribute("gp_index")
            .and_then(|number| number.trim().parse().ok())
        {
            self.topology.ends.insert(number, end);
        }
    }

    fn below(&mut self, node: Node<'a, 'input>, at: At) -> Result<Vec<HwlocPart>, Error> {
        let mut parts = Vec::new();
        for child in objects(node) {
            parts.extend(self.object(child, at)?);
        }
        Ok(parts)
    }

    fn bridge(&mut self, node: Node<'a, 'input>, at: At) -> Result<Vec<HwlocPart>, Error> {
        self.end(node, HwlocEnd::Host);
        let speed = speed(node)?;
        let address = node.attribute("pci_busid").and_then(pci::normal);
        let name = address
            .or_else(|| node.attribute("bridge_pci").map(str::to_owned))
            .unwrap_or_else(|| "bridge".to_owned());
        let from_host = node
            .attribute("bridge_type")
            .is_some_and(|kind| kind.trim().starts_with("0-"));
        if from_host {
            let below = self.below(
                node,
                At {
                    port: PciPort::Host,
                    ..at
                },
            )?;
            return Ok(if below.is_empty() {
                below
            } else {
                vec![HwlocPart::Bridge { name, below }]
            });
        }
        match at.port {
            PciPort::Outside | PciPort::Host | PciPort::Switch => self.below(
                node,
                At {
                    port: PciPort::Below(speed),
                    ..at
                },
            ),
            PciPort::Below(above) => {
                let below = self.below(
                    node,
                    At {
                        port: PciPort::Switch,
                        ..at
                    },
                )?;
                let hop = slower(speed, above);
                Ok(if below.is_empty() {
                    below
                } else {
                    vec![HwlocPart::Switch { name, hop, below }]
                })
            }
        }
    }

    fn device(&mut self, node: Node<'a, 'input>, at: At) -> Result<Vec<HwlocPart>, Error> {
        let above = if let PciPort::Below(speed) = at.port {
            speed
        } else {
            None
        };
        let own = speed(node)?;
        let hop = slower(own, above);
        let kind = PciType::of(node);
        let is_switch = node.attribute("subtype") == Some("NVSwitch")
            || (kind.class, kind.vendor) == (0x0680, NVIDIA);
        if is_switch {
            self.end(node, HwlocEnd::Switch);
        }
        let named = names(node).next().is_some();
        if named || self.topology.by_class && kind.is_accelerator() {
            let gpu = self.gpu(node)?;
            // Drivers round, so a tenth is no difference.
            if let (Some(own), Some(above)) = (own, above) {
                self.topology.ends_differ |= own.max(above) > 1.1 * own.min(above);
            }
            self.end(node, HwlocEnd::Device(gpu));
            for child in objects(node) {
                self.end(child, HwlocEnd::Device(gpu));
            }
            return Ok(vec![HwlocPart::Gpu { gpu, hop }]);
        }
        self.cards(node, hop)
    }

    fn gpu(&mut self, node: Node<'a, 'input>) -> Result<usize, Error> {
        if self.topology.gpus.len() == MAX_DEVICES {
            let what = format!("more than {MAX_DEVICES} devices");
            return Err(xml::error(node, what).with_kind(ErrorKind::TooLarge));
        }
        let Some(pci) = node.attribute("pci_busid").and_then(pci::normal) else {
            return Err(xml::error(
                node,
                "no attribute `pci_busid`: expected a PCI address",
            ));
        };
        let first = names(node).min_by_key(|&(library, number, _)| (library, number));
        let info = |name: &str| {
            // What the first library says counts before what others do.
            let objects = first
                .map(|(_, _, named)| named)
                .into_iter()
                .chain([node])
                .chain(objects(node));
            let mut infos = objects
                .flat_map(elements)
                .filter(|info| info.has_tag_name("info"));
            let value = infos
                .find(|info| info.attribute("name") == Some(name))?
                .attribute("value")?
                .trim();
            Some(value.to_owned()).filter(|value| !value.is_empty())
        };
        let memory = [
            "CUDAGlobalMemorySize",
            "RSMIVRAMSize",
            "OpenCLGlobalMemorySize",
            "LevelZeroHBMSize",
        ];
        self.topology.gpus.push(HwlocGpu {
            node,
            pci,
            vendor: Vendor::of_pci(PciType::of(node).vendor)
                .or_else(|| first.and_then(|(library, ..)| library.vendor())),
            named: first.map(|(library, number, _)| (library, number)),
            numbered: false,
            product: info("GPUModel").or_else(|| info("PCIDevice")),
            uuid: info("NVIDIAUUID")
                .or_else(|| info("AMDUUID"))
                .or_else(|| info("LevelZeroUUID")),
            memory_bytes: memory.iter().find_map(|name| kilobytes(&info(name)?)),
        });
        Ok(self.topology.gpus.len() - 1)
    }

    /// The network cards of a PCI device: the names of its RDMA devices (`mlx5_0`), otherwise of
    /// its network interfaces (`eth0`).
    fn cards(&mut self, node: Node<'_, '_>, hop: Option<f64>) -> Result<Vec<HwlocPart>, Error> {
        let (network, verbs) = if self.bits { (16, 32) } else { (2, 3) };
        let mut found: [Vec<HwlocPart>; 2] = Default::default();
        for child in objects(node).filter(|child| object(*child) == Some("OSDev")) {
            let Some(kind) = xml::number::<u64>(child, "osdev_type")? else {
                continue;
            };
            let is = |wanted: u64| {
                if self.bits {
                    kind & wanted != 0
                } else {
                    kind == wanted
                }
            };
            let Some(name) = child
                .attribute("name")
                .filter(|name| !name.trim().is_empty())
            else {
                continue;
            };
            if is(verbs) || is(network) {
                let list = &mut found[usize::from(!is(verbs))];
                list.push(HwlocPart::Card {
                    name: name.trim().to_owned(),
                    hop,
                });
            }
        }
        let [by_verbs, by_interface] = found;
        let cards = if by_verbs.is_empty() {
            by_interface
        } else {
            by_verbs
        };
        self.cards += cards.len();
        if self.cards > MAX_DEVICES {
            let what = format!("more than {MAX_DEVICES} network cards");
            return Err(xml::error(node, what).with_kind(ErrorKind::TooLarge));
        }
        Ok(cards)
    }
}

/// The speed of the slower of two ends, as far as known.
fn slower(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    a.into_iter().chain(b).reduce(f64::min)
}

/// The bandwidth of a PCI link, GB/s. hwloc writes 0 for an unknown speed.
fn speed(node: Node<'_, '_>) -> Result<Option<f64>, Error> {
    let gbps: Option<f64> = xml::number(node, "pci_link_speed")?;
    match gbps {
        Some(gbps) if !(0.0..=MOST_GBPS).contains(&gbps) => Err(xml::error(
            node,
            format!("pci_link_speed=\"{gbps}\": expected GB/s"),
        )),
        gbps => Ok(gbps.filter(|&gbps| gbps > 0.0)),
    }
}

/// An upper limit for bandwidths, GB/s. No link is as fast.
const MOST_GBPS: f64 = 1e6;

/// The libraries that name a PCI device as a GPU, with its numbers there.
fn names<'a, 'input>(
    node: Node<'a, 'input>,
) -> impl Iterator<Item = (GpuLibrary, u32, Node<'a, 'input>)> {
    objects(node)
        .filter(|child| object(*child) == Some("OSDev"))
        .filter_map(|child| {
            let name = child.attribute("name")?.trim();
            let numbered = |prefix: &str| {
                name.strip_prefix(prefix)
                    .and_then(|digits| digits.parse().ok())
            };
            let libraries = [
                ("nvml", GpuLibrary::Nvml),
                ("rsmi", GpuLibrary::Rsmi),
                ("cuda", GpuLibrary::Cuda),
                ("ze", GpuLibrary::LevelZero),
            ];
            let plain = libraries
                .into_iter()
                .find_map(|(prefix, library)| Some((library, numbered(prefix)?)));
            let named = plain.or_else(|| {
                let (_, number) = name.strip_prefix("opencl")?.split_once('d')?;
                let is_gpu = |info: Node<'_, '_>| {
                    info.attribute("name") == Some("OpenCLDeviceType")
                        && info.attribute("value") == Some("GPU")
                };
                let number = elements(child).any(is_gpu).then(|| number.parse().ok())?;
                Some((GpuLibrary::OpenCl, number?))
            });
            named.map(|(library, number)| (library, number, child))
        })
}

/// The number of bytes in a size in kB, as hwloc writes it.
fn kilobytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
    digits.parse::<u64>().ok()?.checked_mul(1024)
}

const NVIDIA: u32 = 0x10de;
const AMD: u32 = 0x1002;
const INTEL: u32 = 0x8086;

/// The type of a PCI device, such as `0302 [10de:1db1] [10de:1212] a1`: class, vendor and device,
/// vendor and device of the board, revision.
#[derive(Clone, Copy, Default)]
struct PciType {
    class: u32,
    vendor: u32,
    device: u32,
}

impl PciType {
    fn of(node: Node<'_, '_>) -> Self {
        let read = |text: &str| {
            let (class, rest) = text.trim().split_once(' ')?;
            let (vendor, device) = rest
                .trim_start()
                .strip_prefix('[')?
                .split_once(']')?
                .0
                .split_once(':')?;
            let hex = |digits: &str| u32::from_str_radix(digits, 16).ok();
            Some(Self {
                class: hex(class)?,
                vendor: hex(vendor)?,
                device: hex(device)?,
            })
        };
        node.attribute("pci_type")
            .and_then(read)
            .unwrap_or_default()
    }

    /// Whether the class alone makes this a GPU for computing.
    fn is_accelerator(self) -> bool {
        match (self.vendor, self.class) {
            (NVIDIA | AMD, 0x0302 | 0x1200) | (AMD, 0x0380) => true,
            // Max 1100 to 1550, Flex 140 and 170.
            (INTEL, 0x0300 | 0x0302 | 0x0380 | 0x1200) => {
                matches!(self.device, 0x0bd0..=0x0bdb | 0x56c0..=0x56c2)
            }
            _ => false,
        }
    }
}
