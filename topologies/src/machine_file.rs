//! MAPA's own machine file: TOML, versioned. `docs/machine-file.md` describes it for people who
//! write one.
//!
//! Parts refer to each other by name, so that people can read and edit a file. A missing setting
//! has a default.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use mapa_core::mig::Model;
use mapa_core::{
    DeviceId, DeviceInfo, DeviceSet, Fabric, FabricNode, FabricWire, LinkClass, MAX_TOML_BYTES,
    NodeId, NodeKind, PeerAccess, PeerSource, check_size,
};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use toml::Spanned;

use crate::error::{Error, ErrorKind};
use crate::facts::Slots;
use crate::machine::{Labels, Machine};
use crate::mig::{self, Offer};
use crate::products::vendor_of_devices;
use crate::vendor::Vendor;

const FORMAT: &str = "mapa-machine";
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: Spanned<String>,
    version: Spanned<u32>,
    name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    title: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    source: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    /// Default: that of the products, if they are all of one vendor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    vendor: Option<Vendor>,
    /// Whether the machine is a virtual one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    virtual_machine: bool,
    /// Whether devices reach each other's memory, for all pairs that `peers` does not name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    p2p: Option<P2p>,
    /// The only sets of devices that may be given to a job, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    partitions: Option<Spanned<Vec<Vec<String>>>>,
    #[serde(default, skip_serializing_if = "Words::is_default")]
    labels: Words,
    #[serde(default, skip_serializing_if = "Gbps::is_default")]
    gbps: Gbps,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    nodes: Vec<Node>,
    #[serde(default)]
    devices: Vec<Device>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    links: Vec<Link>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    peers: Vec<Peers>,
}

#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum P2p {
    On,
    Off,
}

impl P2p {
    fn access(self) -> PeerAccess {
        PeerAccess {
            on: self == Self::On,
            source: PeerSource::Told,
        }
    }

    /// The word for what is told; none for what is guessed or assumed.
    fn of(access: PeerAccess) -> Option<Self> {
        let p2p = if access.on { Self::On } else { Self::Off };
        (access.source == PeerSource::Told).then_some(p2p)
    }
}

/// Two devices, and whether they reach each other's memory.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Peers {
    ends: Spanned<Vec<String>>,
    p2p: P2p,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    #[serde(skip_serializing_if = "Option::is_none")]
    direct: Option<Spanned<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sys: Option<Spanned<String>>,
}

impl Words {
    fn is_default(&self) -> bool {
        self.direct.is_none() && self.sys.is_none()
    }
}

/// The default bandwidths of links and hops without one of their own, GB/s per direction.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Gbps {
    /// The bandwidth of one direct link.
    #[serde(skip_serializing_if = "Option::is_none")]
    direct: Option<f64>,
    /// The bandwidth of a hop or path through the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<f64>,
}

impl Gbps {
    fn is_default(&self) -> bool {
        self.direct.is_none() && self.host.is_none()
    }

    fn of(&self, class: LinkClass) -> f64 {
        match class {
            LinkClass::Direct(n) => f64::from(n) * self.direct.unwrap_or(25.0),
            _ => self.host.unwrap_or(12.0),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Node {
    name: Spanned<String>,
    kind: Kind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    number: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    up: Option<Spanned<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gbps: Option<f64>,
}

#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Machine,
    Numa,
    HostBridge,
    PcieSwitch,
    LinkSwitch,
    Nic,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Device {
    name: Spanned<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    index: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    product: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    uuid: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pci: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    numa: Option<u32>,
    /// The cores near the device, as a tool prints them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cores: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    memory_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mig: Option<Spanned<Mig>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    up: Option<Spanned<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gbps: Option<f64>,
    /// The speed of the device's slot, where hops and product do not tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    slot_gbps: Option<f64>,
}

/// How a device can be partitioned: a GPU of the catalogue, and which of its profiles are offered.
#[derive(Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(untagged)]
enum Mig {
    Plain(String),
    Offered(Offered),
}

#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Offered {
    gpu: String,
    #[serde(default, skip_serializing_if = "is_false")]
    media: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    double_memory: bool,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// Written by hand: a derived implementation would also accept a list in place of a table, and its
/// error would not name an unknown setting of a table.
impl<'de> Deserialize<'de> for Mig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(MigVisitor)
    }
}

struct MigVisitor;

impl<'de> Visitor<'de> for MigVisitor {
    type Value = Mig;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`mig = \"a100-40gb\"` or `mig = { gpu = \"a100-40gb\", media = true, double_memory = true }`")
    }

    fn visit_str<E: serde::de::Error>(self, gpu: &str) -> Result<Mig, E> {
        Ok(Mig::Plain(gpu.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<Mig, A::Error> {
        Offered::deserialize(MapAccessDeserializer::new(table)).map(Mig::Offered)
    }
}

impl Mig {
    fn model(&self) -> Result<Arc<Model>, Error> {
        match self {
            Self::Plain(gpu) => mig::named(gpu)?.model(Offer::PLAIN),
            Self::Offered(Offered {
                gpu,
                media,
                double_memory,
            }) => mig::named(gpu)?.model(Offer {
                media: *media,
                double_memory: *double_memory,
            }),
        }
    }

    /// The setting that stands for this model; none if no table gives it.
    fn of(model: &Model) -> Option<Self> {
        let (entry, offer) = mig::recognise(model)?;
        let gpu = entry.name.to_owned();
        let Offer {
            media,
            double_memory,
        } = offer;
        let plain = offer == Offer::PLAIN;
        Some(if plain {
            Self::Plain(gpu)
        } else {
            Self::Offered(Offered {
                gpu,
                media,
                double_memory,
            })
        })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Link {
    ends: Spanned<Vec<String>>,
    class: Spanned<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gbps: Option<f64>,
}

impl Machine {
    /// Reads MAPA's own machine file.
    ///
    /// # Errors
    /// More than [`MAX_TOML_BYTES`], text that is not TOML, another format or version, unknown settings, references to unknown
    /// names, impossible links, no devices. The message names the line.
    pub fn from_toml(text: &str) -> Result<Self, Error> {
        let reader = MachineFileReader { text };
        check_size(text.len(), MAX_TOML_BYTES)
            .map_err(|what| Error::of_kind(ErrorKind::TooLarge, what))?;
        let file: File = toml::from_str(text).map_err(|error| {
            let line = error.span().map(|span| reader.line(span.start));
            let what = error.message().replace('\n', " ");
            line.map_or_else(
                || Error::new(what.clone()),
                |line| Error::at(line, what.clone()),
            )
        })?;
        if file.format.get_ref() != FORMAT {
            return Err(reader.at(
                &file.format,
                format!("format `{}`: expected `{FORMAT}`", file.format.get_ref()),
            ));
        }
        if *file.version.get_ref() != VERSION {
            return Err(reader.at(
                &file.version,
                format!("version {}: expected {VERSION}", file.version.get_ref()),
            ));
        }
        let labels = reader.labels(&file.labels)?;
        let mut fabric = reader.fabric(&file, &labels)?;
        fabric.set_virtual(file.virtual_machine);
        if fabric.device_count() == 0 {
            return Err(Error::new(
                "the machine has no devices: expected `devices = [{ name = \"GPU0\" }, ...]`",
            ));
        }
        let File {
            name,
            title,
            source,
            notes,
            vendor,
            ..
        } = file;
        Ok(Self {
            name,
            title,
            source,
            notes,
            vendor: vendor.or_else(|| vendor_of_devices(&fabric)),
            labels,
            fabric,
            warnings: Vec::new(),
        })
    }

    /// Writes MAPA's own machine file. Reading it back gives the same machine, without its
    /// warnings.
    ///
    /// # Errors
    /// A number that TOML cannot hold (more than 2^63 bytes of memory); a device with a MIG model
    /// that no GPU of the [catalogue](crate::mig::catalogue) has.
    pub fn to_toml(&self) -> Result<String, Error> {
        toml::to_string(&self.file()?)
            .map_err(|error| Error::new(format!("cannot be written as TOML: {error}")))
    }

    fn file(&self) -> Result<File, Error> {
        let name = |id: NodeId| self.fabric.node(id).name.clone();
        let mut ups: HashMap<NodeId, (String, f64)> = HashMap::new();
        let mut links = Vec::new();
        for (a, b, wire) in self.fabric.wires() {
            match wire {
                FabricWire::Up { gbps } => drop(ups.insert(a, (name(b), gbps))),
                FabricWire::Link(link) => links.push(Link {
                    ends: unspanned(vec![name(a), name(b)]),
                    class: unspanned(self.labels.print(link.class)),
                    gbps: Some(link.gbps),
                }),
            }
        }
        let (mut nodes, mut devices) = (Vec::new(), Vec::new());
        let slots = Slots::new(self);
        let mut cuts: Vec<(&Model, Mig)> = Vec::new();
        for (id, FabricNode { name, kind }) in self.fabric.nodes() {
            let (up, gbps) = ups.remove(&id).unzip();
            let (name, up) = (unspanned(name.clone()), up.map(unspanned));
            match kind {
                NodeKind::Device(info) => {
                    let mig = info
                        .mig
                        .as_deref()
                        .map(|model| setting(model, name.get_ref(), &mut cuts))
                        .transpose()?;
                    let mig = mig.map(unspanned);
                    // What a reader finds again is not written.
                    let slot = self.fabric.slot_gbps(id);
                    let slot_gbps = slot.filter(|_| slots.found(id, info) != slot);
                    let DeviceInfo {
                        product,
                        index,
                        uuid,
                        pci,
                        numa,
                        memory_bytes,
                        mig: _,
                    } = info.clone();
                    devices.push(Device {
                        name,
                        index,
                        product,
                        uuid,
                        pci,
                        numa,
                        cores: self.fabric.cores(id).map(str::to_owned),
                        memory_bytes,
                        mig,
                        up,
                        gbps,
                        slot_gbps,
                    });
                }
                other => {
                    let (kind, number) = kind_of(other);
                    nodes.push(Node {
                        name,
                        kind,
                        number,
                        up,
                        gbps,
                    });
                }
            }
        }
        let default = Labels::default();
        let own =
            |label: &String, default: &String| (label != default).then(|| unspanned(label.clone()));
        Ok(File {
            format: unspanned(FORMAT.to_owned()),
            version: unspanned(VERSION),
            name: self.name.clone(),
            title: self.title.clone(),
            source: self.source.clone(),
            notes: self.notes.clone(),
            vendor: self
                .vendor
                .filter(|_| vendor_of_devices(&self.fabric) != self.vendor),
            virtual_machine: self.fabric.is_virtual(),
            labels: Words {
                direct: own(&self.labels.direct, &default.direct),
                sys: own(&self.labels.sys, &default.sys),
            },
            gbps: Gbps::default(),
            nodes,
            devices,
            links,
            p2p: P2p::of(self.fabric.peer_access_elsewhere()),
            peers: self.peers(),
            partitions: self.offered_names(),
        })
    }
}

impl Machine {
    /// The only sets of devices that may be given to a job.
    fn offered_names(&self) -> Option<Spanned<Vec<Vec<String>>>> {
        let nodes = self.fabric.nodes();
        let names: Vec<&str> = nodes
            .filter(|(_, node)| matches!(node.kind, NodeKind::Device(_)))
            .map(|(_, node)| node.name.as_str())
            .collect();
        let named = |id: DeviceId| names.get(id.index()).map(|name| (*name).to_owned());
        let sets = self.fabric.offered()?.iter();
        let sets = sets.map(|set| set.iter().filter_map(named).collect());
        Some(unspanned(sets.collect()))
    }

    /// The pairs of which it is told whether they reach each other's memory.
    fn peers(&self) -> Vec<Peers> {
        let names: Vec<&str> = self
            .fabric
            .nodes()
            .filter(|(_, node)| matches!(node.kind, NodeKind::Device(_)))
            .map(|(_, node)| node.name.as_str())
            .collect();
        let told = self.fabric.peer_access().filter_map(|((a, b), access)| {
            let ends = [names.get(a.index())?, names.get(b.index())?];
            Some(Peers {
                ends: unspanned(ends.map(|name| (*name).to_owned()).to_vec()),
                p2p: P2p::of(access)?,
            })
        });
        told.collect()
    }
}

/// The setting that gives a model. Finding it takes long, and most machines have one model for all
/// devices, so settings that were found are kept.
fn setting<'m>(
    model: &'m Model,
    device: &str,
    known: &mut Vec<(&'m Model, Mig)>,
) -> Result<Mig, Error> {
    if let Some((_, mig)) = known.iter().find(|(other, _)| *other == model) {
        return Ok(mig.clone());
    }
    let mig = Mig::of(model).ok_or_else(|| {
        let what = format!(
            "{device} has the MIG model `{}`, which differs from every table",
            model.name()
        );
        Error::new(what + ": expected a model made from the catalogue of GPUs with MIG")
    })?;
    known.push((model, mig.clone()));
    Ok(mig)
}

fn unspanned<T>(value: T) -> Spanned<T> {
    Spanned::new(0..0, value)
}

fn kind_of(kind: &NodeKind) -> (Kind, Option<u32>) {
    match kind {
        NodeKind::Numa(number) => (Kind::Numa, Some(*number)),
        NodeKind::HostBridge => (Kind::HostBridge, None),
        NodeKind::PcieSwitch => (Kind::PcieSwitch, None),
        NodeKind::LinkSwitch => (Kind::LinkSwitch, None),
        NodeKind::Nic => (Kind::Nic, None),
        NodeKind::Machine | NodeKind::Device(_) => (Kind::Machine, None),
    }
}

struct MachineFileReader<'t> {
    text: &'t str,
}

impl MachineFileReader<'_> {
    fn line(&self, at: usize) -> usize {
        self.text.as_bytes()[..at.min(self.text.len())]
            .iter()
            .filter(|&&b| b == b'\n')
            .count()
            + 1
    }

    fn at<T>(&self, place: &Spanned<T>, what: String) -> Error {
        Error::at(self.line(place.span().start), what)
    }

    fn core<T>(&self, place: &Spanned<T>, error: mapa_core::Error) -> Error {
        Error::core(Some(self.line(place.span().start)), error)
    }

    fn labels(&self, words: &Words) -> Result<Labels, Error> {
        let mut labels = Labels::default();
        if let Some(direct) = &words.direct {
            if direct.get_ref().is_empty()
                || !direct.get_ref().bytes().all(|b| b.is_ascii_alphabetic())
            {
                return Err(self.at(
                    direct,
                    format!("label `{}`: expected letters", direct.get_ref()),
                ));
            }
            labels.direct.clone_from(direct.get_ref());
        }
        if let Some(sys) = &words.sys {
            if !["SYS", "SOC"].contains(&sys.get_ref().as_str()) {
                return Err(self.at(
                    sys,
                    format!("label `{}`: expected SYS or SOC", sys.get_ref()),
                ));
            }
            labels.sys.clone_from(sys.get_ref());
        }
        Ok(labels)
    }

    /// The model for a setting. Devices with equal settings share one model.
    fn model<'f>(
        &self,
        mig: &'f Spanned<Mig>,
        known: &mut HashMap<&'f Mig, Arc<Model>>,
    ) -> Result<Arc<Model>, Error> {
        if let Some(model) = known.get(mig.get_ref()) {
            return Ok(model.clone());
        }
        let model = mig
            .get_ref()
            .model()
            .map_err(|error| self.at(mig, error.to_string()))?;
        known.insert(mig.get_ref(), model.clone());
        Ok(model)
    }

    /// The fabric that a file describes.
    fn fabric(&self, file: &File, labels: &Labels) -> Result<Fabric, Error> {
        let mut fabric = Fabric::new();
        let mut ids = NodeIds::new();
        self.add_nodes(file, &mut fabric, &mut ids)?;
        self.add_devices(file, &mut fabric, &mut ids)?;
        self.attach_to_parents(file, &ids, &mut fabric)?;
        self.add_links(file, labels, &ids, &mut fabric)?;
        self.set_peer_access(file, &ids, &mut fabric)?;
        self.set_partitions(file, &mut fabric)?;
        self.set_slots_and_cores(file, &ids, &mut fabric)?;
        Ok(fabric)
    }

    fn add(
        &self,
        name: &Spanned<String>,
        kind: NodeKind,
        fabric: &mut Fabric,
    ) -> Result<NodeId, Error> {
        let node = FabricNode {
            name: name.get_ref().clone(),
            kind,
        };
        fabric.add(node).map_err(|error| self.core(name, error))
    }

    fn add_nodes<'f>(
        &self,
        file: &'f File,
        fabric: &mut Fabric,
        ids: &mut NodeIds<'f>,
    ) -> Result<(), Error> {
        for node in &file.nodes {
            let kind = match (node.kind, node.number) {
                (Kind::Numa, Some(number)) => NodeKind::Numa(number),
                (Kind::Numa, None) => {
                    return Err(self.at(
                        &node.name,
                        "a NUMA node without a number: expected `number = 0`".to_owned(),
                    ));
                }
                (_, Some(_)) => {
                    return Err(self.at(
                        &node.name,
                        "only NUMA nodes have a number: expected `kind = \"numa\"`, or no `number`"
                            .to_owned(),
                    ));
                }
                (Kind::Machine, None) => NodeKind::Machine,
                (Kind::HostBridge, None) => NodeKind::HostBridge,
                (Kind::PcieSwitch, None) => NodeKind::PcieSwitch,
                (Kind::LinkSwitch, None) => NodeKind::LinkSwitch,
                (Kind::Nic, None) => NodeKind::Nic,
            };
            ids.insert(node.name.get_ref(), self.add(&node.name, kind, fabric)?);
        }
        Ok(())
    }

    fn add_devices<'f>(
        &self,
        file: &'f File,
        fabric: &mut Fabric,
        ids: &mut NodeIds<'f>,
    ) -> Result<(), Error> {
        let mut models: HashMap<&Mig, Arc<Model>> = HashMap::new();
        for device in &file.devices {
            let model = device
                .mig
                .as_ref()
                .map(|mig| self.model(mig, &mut models))
                .transpose()?;
            let info = DeviceInfo {
                product: device.product.clone(),
                index: device.index,
                uuid: device.uuid.clone(),
                pci: device.pci.clone(),
                numa: device.numa,
                memory_bytes: device.memory_bytes,
                mig: model,
            };
            let id = self.add(&device.name, NodeKind::Device(info), fabric)?;
            ids.insert(device.name.get_ref(), id);
        }
        Ok(())
    }

    /// The node or device that is called so; `place` is where it is named.
    fn named<T>(&self, ids: &NodeIds<'_>, name: &str, place: &Spanned<T>) -> Result<NodeId, Error> {
        ids.get(name).copied().ok_or_else(|| {
            self.at(
                place,
                format!("nothing is called `{name}`: expected a node or device"),
            )
        })
    }

    fn attach_to_parents(
        &self,
        file: &File,
        ids: &NodeIds<'_>,
        fabric: &mut Fabric,
    ) -> Result<(), Error> {
        let nodes = file
            .nodes
            .iter()
            .map(|node| (&node.name, &node.up, node.gbps));
        let devices = file
            .devices
            .iter()
            .map(|device| (&device.name, &device.up, device.gbps));
        for (name, up, gbps) in nodes.chain(devices) {
            match up {
                Some(up) => {
                    let parent = self.named(ids, up.get_ref(), up)?;
                    let gbps = gbps.unwrap_or(file.gbps.of(LinkClass::Sys));
                    fabric
                        .attach(ids[name.get_ref().as_str()], parent, gbps)
                        .map_err(|error| self.core(up, error))?;
                }
                None if gbps.is_some() => {
                    return Err(self.at(
                        name,
                        "gbps without `up`: expected the name of its parent".to_owned(),
                    ));
                }
                None => {}
            }
        }
        Ok(())
    }

    /// The two ends of a link or of a pair of peers.
    fn ends(
        &self,
        ends: &Spanned<Vec<String>>,
        ids: &NodeIds<'_>,
    ) -> Result<(NodeId, NodeId), Error> {
        let [a, b] = &ends.get_ref()[..] else {
            let count = ends.get_ref().len();
            return Err(self.at(ends, format!("{count} ends: expected two names")));
        };
        Ok((self.named(ids, a, ends)?, self.named(ids, b, ends)?))
    }

    fn add_links(
        &self,
        file: &File,
        labels: &Labels,
        ids: &NodeIds<'_>,
        fabric: &mut Fabric,
    ) -> Result<(), Error> {
        for link in &file.links {
            let class = labels
                .parse(link.class.get_ref())
                .map_err(|error| self.at(&link.class, error.to_string()))?;
            let (a, b) = self.ends(&link.ends, ids)?;
            let gbps = link.gbps.unwrap_or(file.gbps.of(class));
            fabric
                .link(a, b, class, gbps)
                .map_err(|error| self.core(&link.ends, error))?;
        }
        Ok(())
    }

    fn set_peer_access(
        &self,
        file: &File,
        ids: &NodeIds<'_>,
        fabric: &mut Fabric,
    ) -> Result<(), Error> {
        if let Some(p2p) = file.p2p {
            fabric.set_peer_access_everywhere(p2p.access());
        }
        for pair in &file.peers {
            let (a, b) = self.ends(&pair.ends, ids)?;
            fabric
                .set_peer_access(a, b, pair.p2p.access())
                .map_err(|error| self.core(&pair.ends, error))?;
        }
        Ok(())
    }

    /// Sets the only sets of devices that may be given, if the file lists them.
    fn set_partitions(&self, file: &File, fabric: &mut Fabric) -> Result<(), Error> {
        let Some(partitions) = &file.partitions else {
            return Ok(());
        };
        let devices: Vec<&str> = file
            .devices
            .iter()
            .map(|device| device.name.get_ref().as_str())
            .collect();
        let mut sets = Vec::new();
        for names in partitions.get_ref() {
            let mut set = DeviceSet::new();
            for name in names {
                let Some(at) = devices.iter().position(|device| device == name) else {
                    let what = format!("partitions: `{name}`: expected the name of a device");
                    return Err(self.at(partitions, what));
                };
                set.insert(DeviceId(at as u32));
            }
            sets.push(set);
        }
        fabric
            .set_offered(Some(sets))
            .map_err(|error| self.core(partitions, error))
    }

    fn set_slots_and_cores(
        &self,
        file: &File,
        ids: &NodeIds<'_>,
        fabric: &mut Fabric,
    ) -> Result<(), Error> {
        for device in &file.devices {
            let node = ids[device.name.get_ref().as_str()];
            if let Some(gbps) = device.slot_gbps {
                let set = fabric.set_slot_gbps(node, gbps);
                set.map_err(|error| self.core(&device.name, error))?;
            }
            if let Some(cores) = &device.cores {
                let set = fabric.set_cores(node, cores);
                set.map_err(|error| self.core(&device.name, error))?;
            }
        }
        Ok(())
    }
}

/// The nodes and devices of a file by their names.
type NodeIds<'f> = HashMap<&'f str, NodeId>;
