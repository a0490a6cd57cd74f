//! The machine that a request names.

use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use mapa_core::mig::{Layout, Model};
use mapa_core::{Allocator, DeviceId, HardwareGraph, NodeId, NodeKind, PeerAccess, PeerSource};
use mapa_topologies::mig::{Gpu, Offer, ProfileKind};
use mapa_topologies::{
    Dump, Kind, Machine, Merged, Vendor, know_links, link_generation, merge, mig, named, products,
    read,
};
use serde::{Deserialize, Serialize};

use crate::answer::mig::Fit;
use crate::error::Error;
use crate::files::{FileKind, Files};
use crate::instances::{fit, wanted};
use crate::words;

/// The machine that a request names, and what it changes of that machine's description.
///
/// In JSON and TOML a machine is a table of these keys. In words it is a name, or the keys as
/// `key=value`, separated by spaces: `dgx-1v`, or `machine=my-server.txt pcie_gbps=20`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MachineSpec {
    /// Descriptions of one machine, which are merged: a name of the catalogue, a formula such as
    /// `torus:4x4`, or a file, `-` for standard input. Empty for a machine that the front has
    /// discovered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub machine: Vec<String>,
    /// The product of every device that the descriptions do not name, such as `NVIDIA GeForce RTX 3090`: it tells the
    /// rates of links and slots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_name: Option<String>,
    /// Bandwidth of every path through the host, GB/s per direction, in place of the description's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pcie_gbps: Option<f64>,
    /// Bandwidth of every direct link, GB/s per direction, in place of the description's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nvlink_gbps: Option<f64>,
    /// Whether the devices reach each other's memory (P2P), in place of what descriptions tell and
    /// product names suggest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p2p: Option<P2p>,
    /// The GPU whose MIG profiles every device has; behind `=`, the profiles of the instances into
    /// which every device is partitioned: `a100-40gb=3g,2g,1g,1g`. With `/` between them, lists for
    /// one device each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mig: Option<String>,
}

/// Whether devices reach each other's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum P2p {
    /// They do.
    On,
    /// They do not: data between them goes through the host's memory.
    Off,
}

impl FromStr for P2p {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "on" => Ok(Self::On),
            "off" => Ok(Self::Off),
            _ => Err(Error::at(format_args!("p2p={text}"), "expected on or off")),
        }
    }
}

/// A machine, and its state while nothing is in use.
pub struct Loaded {
    /// The description, with the changes that the request makes.
    pub machine: Machine,
    /// Nothing is in use, and devices are partitioned as the request says.
    pub idle: Allocator,
}

impl Loaded {
    /// The machine as a graph.
    #[must_use]
    pub fn graph(&self) -> &Arc<HardwareGraph> {
        self.idle.graph()
    }
}

impl FromStr for MachineSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        words::table(text, "machine", &["machine"])
    }
}

impl MachineSpec {
    /// The machine of this name or file.
    pub fn named(machine: impl Into<String>) -> Self {
        Self {
            machine: vec![machine.into()],
            ..Self::default()
        }
    }

    /// Reads the machine and compiles it to a graph. `warn` gets what is odd about the description.
    ///
    /// # Errors
    /// If a name is unknown, a file cannot be read, descriptions are not of one machine, a bandwidth
    /// is not positive, or the instances do not fit ([`Error::NoFit`]).
    pub fn load(&self, files: &dyn Files, warn: &mut dyn FnMut(String)) -> Result<Loaded, Error> {
        // The option comes first: its model tells how the instances of the descriptions are to be read.
        let partition = self.partition()?;
        let model = partition.as_ref().map(|partition| &partition.model);
        let description = described(self, model, files, warn)?;
        let name = self.machine.join(", ");
        self.finish(&name, description, partition, warn)
    }

    /// Completes a machine that the front has discovered, and which messages call `name`.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn complete(
        &self,
        name: &str,
        machine: Machine,
        warn: &mut dyn FnMut(String),
    ) -> Result<Loaded, Error> {
        let description = MachineDescription {
            machine,
            layouts: Vec::new(),
            withheld: Vec::new(),
        };
        self.finish(name, description, self.partition()?, warn)
    }

    /// Checks what can be checked without the machine: the MIG profiles.
    ///
    /// # Errors
    /// If a profile is unknown, or the instances do not fit ([`Error::NoFit`]).
    pub fn check(&self) -> Result<(), Error> {
        self.partition().map(drop)
    }

    fn partition(&self) -> Result<Option<Partition>, Error> {
        self.mig.as_deref().map(Partition::parse).transpose()
    }

    fn finish(
        &self,
        name: &str,
        description: MachineDescription,
        partition: Option<Partition>,
        warn: &mut dyn FnMut(String),
    ) -> Result<Loaded, Error> {
        let MachineDescription {
            mut machine,
            layouts,
            withheld,
        } = description;
        if let Some(Partition { model, .. }) = &partition {
            machine.fabric.set_mig(Some(model));
            machine.notes.push(format!(
                "Set by option: every device has the MIG profiles of {}.",
                model.name()
            ));
        }
        if let Some(gbps) = self.pcie_gbps {
            machine.tell_host_gbps(gbps).map_err(Error::malformed)?;
            machine.notes.push(format!(
                "Set by option: {gbps} GB/s for every path through the host."
            ));
            // A slot has a speed of its own, by which expectations are bound, so it is set too.
            for id in device_nodes(&machine) {
                machine.fabric.set_slot_gbps(id, gbps)?;
            }
        }
        if let Some(gbps) = self.nvlink_gbps {
            machine.tell_link_gbps(gbps).map_err(Error::malformed)?;
            machine
                .notes
                .push(format!("Set by option: {gbps} GB/s for every direct link."));
            know_links(&mut machine).map_err(|error| Error::at(name, error))?;
            // A speed that is told is known, also where it names no generation.
            if link_generation(&machine).is_none() {
                let family = if machine.vendor == Some(Vendor::Amd) {
                    "Infinity Fabric"
                } else {
                    "NVLink"
                };
                machine.fabric.set_link_generation(Some(family));
            }
        }
        if let Some(p2p) = self.p2p {
            machine.fabric.set_peer_access_everywhere(PeerAccess {
                on: p2p == P2p::On,
                source: PeerSource::Told,
            });
            let state = if p2p == P2p::On { "on" } else { "off" };
            machine
                .notes
                .push(format!("Set by option: P2P {state} between all devices."));
        }
        for warning in &machine.warnings {
            // With several descriptions, each warning names its own.
            warn(match self.machine.len() {
                0 | 1 => format!("{name}: {warning}"),
                _ => warning.to_string(),
            });
        }
        // The graph is compiled once all changes to the description are made.
        let graph = machine.graph().map_err(|error| Error::at(name, error))?;
        let mut idle = Allocator::new(Arc::new(graph));
        // The option wins over the layouts of the description.
        match partition.and_then(|partition| partition.layouts) {
            Some(layouts) => {
                let wholes = idle.graph().wholes();
                if layouts.len() > 1 && layouts.len() != wholes.len() {
                    return Err(Error::malformed(format_args!(
                        "--mig: {} lists of instances for the {} devices of {name}: expected one list for all \
                         devices, or one for each with `/` between them",
                        layouts.len(),
                        wholes.len()
                    )));
                }
                // One list is for all devices.
                for (whole, layout) in wholes.iter().zip(layouts.iter().cycle()) {
                    idle.layout_is(whole, layout)?;
                }
            }
            None => {
                for (whole, layout) in &layouts {
                    idle.layout_is(*whole, layout)?;
                }
                for &whole in &withheld {
                    idle.cordon(whole, true)?;
                }
                if !withheld.is_empty() {
                    let graph = idle.graph();
                    let names = withheld.iter().map(|&id| graph.device(id).name.as_str());
                    warn(format!(
                        "{}: in MIG mode, with instances whose profiles are not known, so neither they nor the whole device \
                         are given; expected --mig GPU, and the output of `nvidia-smi mig -lgi`",
                        names.collect::<Vec<_>>().join(", ")
                    ));
                }
            }
        }
        Ok(Loaded { machine, idle })
    }
}

/// The option `--mig`: how every device can be partitioned, and how it is.
struct Partition {
    model: Arc<Model>,
    /// One layout for all devices, or one for each. None if the option names no profiles.
    layouts: Option<Vec<Layout>>,
}

impl Partition {
    /// Parses `GPU[=PROFILES[/PROFILES..]]`. The model has the plain profiles, and those of the kinds of the
    /// named profiles.
    fn parse(text: &str) -> Result<Self, Error> {
        let (name, words) = text
            .split_once('=')
            .map_or((text, None), |(name, words)| (name, Some(words)));
        let gpu = mig::named(name).map_err(Error::malformed)?;
        let offer = words.map_or(Offer::PLAIN, |words| offer(&gpu, words));
        let model = gpu.model(offer).map_err(Error::malformed)?;
        let Some(words) = words else {
            return Ok(Self {
                model,
                layouts: None,
            });
        };
        let mut layouts = Vec::new();
        for words in words.split('/') {
            let layout = fit(&model, &wanted("--mig", words, &gpu, offer, &model)?);
            let answer = Fit::new(&gpu, &model, &layout);
            layouts.push(layout.map_err(|_| Error::NoFit(Box::new(answer)))?);
        }
        Ok(Self {
            model,
            layouts: Some(layouts),
        })
    }
}

/// The kinds of profiles that the named ones belong to.
fn offer(gpu: &Gpu, words: &str) -> Offer {
    let mut offer = Offer::PLAIN;
    for word in words.split([',', '/']).map(str::trim) {
        let named = gpu
            .profiles
            .iter()
            .find(|profile| word.eq_ignore_ascii_case(&profile.name));
        match named.map(|profile| profile.kind) {
            Some(ProfileKind::Media) => offer.media = true,
            Some(ProfileKind::DoubleMemory) => offer.double_memory = true,
            _ => {}
        }
    }
    offer
}

/// A machine as its descriptions have it.
struct MachineDescription {
    machine: Machine,
    /// The layouts of partitioned devices.
    layouts: Vec<(DeviceId, Layout)>,
    /// Partitioned devices whose layouts are not known.
    withheld: Vec<DeviceId>,
}

/// The machine that these descriptions make together.
fn described(
    spec: &MachineSpec,
    model: Option<&Arc<Model>>,
    files: &dyn Files,
    warn: &mut dyn FnMut(String),
) -> Result<MachineDescription, Error> {
    let names = &spec.machine;
    let mut dumps = names
        .iter()
        .map(|name| find(name, files))
        .collect::<Result<Vec<_>, _>>()?;
    if let Some(product) = &spec.gpu_name {
        name_devices(product, &mut dumps, warn)?;
    }
    let place = names.join(", ");
    let Merged {
        mut dump,
        contradictions,
        ..
    } = merge(dumps).map_err(|error| Error::at(&place, error))?;
    // The profiles come before the layouts: they tell where instances may start.
    if model.is_some() {
        dump.machine.fabric.set_mig(model);
    }
    for contradiction in contradictions {
        warn(contradiction.to_string());
    }
    dump.know_profiles()
        .map_err(|error| Error::at(&place, error))?;
    let layouts = dump.layouts().map_err(|error| Error::at(&place, error))?;
    // A device whose instances are placed may have them listed by UUID too.
    let has_starts = |device: DeviceId| {
        let mut placed = dump.mig_instances.iter();
        placed.any(|mig| mig.device == device && mig.placement.is_some())
    };
    if layouts.iter().any(|(device, _)| !has_starts(*device)) {
        let note = "Where MIG instances start is not told: they count as placed where they fit.";
        dump.machine.notes.push(note.to_owned());
    }
    let withheld = dump
        .unknown_layouts()
        .map_err(|error| Error::at(&place, error))?;
    // `into_machine` below consumes the dump.
    let silent = !dump.says.direct;
    let machine = dump
        .into_machine()
        .map_err(|error| Error::at(&place, error))?;
    if silent && machine.fabric.device_count() > 1 {
        warn(silent_on_links(names, machine.vendor));
    }
    Ok(MachineDescription {
        machine,
        layouts,
        withheld,
    })
}

/// Gives devices the product that `--gpu-name` names, in descriptions that name none.
///
/// # Errors
/// A product that is not known.
fn name_devices(
    product: &str,
    dumps: &mut [Dump],
    warn: &mut dyn FnMut(String),
) -> Result<(), Error> {
    let names_one = |dump: &Dump| {
        let mut nodes = dump.machine.fabric.nodes();
        // The catalogue names products in titles.
        products::product(&dump.machine.title).is_some()
            || nodes.any(
                |(_, node)| matches!(&node.kind, NodeKind::Device(info) if info.product.is_some()),
            )
    };
    if dumps.iter().any(names_one) {
        warn(format!(
            "--gpu-name {product:?} is not used: the machine's description names its devices"
        ));
        return Ok(());
    }
    for dump in dumps {
        dump.name_products(product)
            .map_err(|error| Error::at("--gpu-name", error))?;
    }
    Ok(())
}

/// The warning that descriptions do not say which devices have direct links, and what would.
fn silent_on_links(names: &[String], vendor: Option<Vendor>) -> String {
    let given: Vec<String> = names
        .iter()
        .map(|name| format!("--machine {name}"))
        .collect();
    let links = match vendor {
        Some(Vendor::Nvidia) => "NVLink",
        Some(Vendor::Amd) => "XGMI",
        _ => "NVLink, XGMI",
    };
    let command = Vendor::matrix_command(vendor);
    format!(
        "{}: does not say which devices have direct links ({links}), so none are assumed; if there are any, add the output of \
         {command}: {} --machine topo.txt",
        names.join(", "),
        given.join(" ")
    )
}

/// The devices of a machine.
fn device_nodes(machine: &Machine) -> Vec<NodeId> {
    let nodes = machine.fabric.nodes();
    nodes
        .filter(|(_, node)| matches!(node.kind, NodeKind::Device(_)))
        .map(|(id, _)| id)
        .collect()
}

/// The name of standard input.
pub(crate) const STANDARD_INPUT: &str = "-";

/// The description that a word names: a name of the catalogue, a formula, a file, KFD's tree,
/// or `-` for standard input.
fn find(name: &str, files: &dyn Files) -> Result<Dump, Error> {
    if name == STANDARD_INPUT {
        return read(&files.bytes(name, FileKind::Machine)?)
            .map_err(|error| Error::at(name, error));
    }
    // A name of the catalogue wins over a file of that name, which `./NAME` still reaches.
    let unknown = match named(name) {
        Ok(machine) => return Ok(machine.into()),
        Err(unknown) => unknown,
    };
    let path = Path::new(name);
    if !files.exists(name) {
        // A word that looks like a path is no misspelt name.
        let looks_like_a_path = name.contains(['/', '\\']) || path.extension().is_some();
        return Err(if looks_like_a_path {
            Error::at(name, "no such file")
        } else {
            Error::malformed(format_args!("{unknown}, a file, or - for standard input"))
        });
    }
    let mut dump = if files.is_folder(name) {
        files.machine(name).map_err(|error| {
            Error::at(
                name,
                format_args!("this is a folder, so it was read as KFD's tree: {error}"),
            )
        })?
    } else {
        read(&files.bytes(name, FileKind::Machine)?).map_err(|error| Error::at(name, error))?
    };
    // Only a machine file has a name of its own: other dumps take that of their file.
    if dump.kind != Kind::MachineFile
        && let Some(stem) = path.file_stem()
    {
        dump.machine.name = stem.to_string_lossy().into_owned();
    }
    Ok(dump)
}
