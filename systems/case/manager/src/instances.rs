//! The instances that processes share: from a file, or those of the machine.

use std::hash::Hasher;
use std::num::NonZeroU8;
use std::ops::Range;
use std::sync::Arc;

use fnv::FnvHasher;
use mapa_core::mig::{Instance, Layout, Model, Profile, ProfileId, Size};
use mapa_core::{
    Demand, DeviceId, DeviceInfo, Fabric, FabricNode, MAX_TOML_BYTES, MachineId, NodeKind, Unit,
    check_size,
};
use mapa_node::{DeviceKey, Error, Node};
use mapa_sched::Fleet;
use serde::Deserialize;

/// The most instances of one manager.
const MOST: usize = 4096;

/// The compute slices of most devices that can be partitioned.
const SLICES: u8 = 7;

/// An instance that processes share.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedInstance {
    /// What processes must set `CUDA_VISIBLE_DEVICES` to: the UUID.
    pub cuda_visible_devices: String,
    /// Its memory, bytes.
    pub memory: u64,
    /// The whole device, as the ledger names it. Default: `cuda_visible_devices`.
    #[serde(default)]
    pub device: String,
    /// Profile and start, as the ledger names them: `1g.5gb@4`. Default: `cuda_visible_devices` if it is the UUID of a
    /// MIG instance, else the device is whole.
    #[serde(default)]
    pub mig_instance: String,
    /// Its compute slices. Default: those in the name of its part, else 1 of an instance; all of a whole device, 7.
    #[serde(default)]
    pub slices: Option<NonZeroU8>,
    /// The compute slices of the whole device. Default: 7 of a part; those of the instance if it is the device.
    #[serde(default)]
    pub gpu_slices: u8,
    /// The folder of the MPS daemon's pipes. Default: no MPS.
    #[serde(default)]
    pub mps: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    instance: Vec<SharedInstance>,
}

impl SharedInstance {
    /// The instance in the ledger.
    #[must_use]
    pub fn key(&self) -> DeviceKey {
        // Where drivers are asked, `mapa run` names an instance by its UUID.
        let is_uuid = self.cuda_visible_devices.starts_with("MIG-")
            && self.whole() != self.cuda_visible_devices;
        let part = match &*self.mig_instance {
            "" if is_uuid => &self.cuda_visible_devices,
            part => part,
        };
        DeviceKey {
            whole: self.whole().to_owned(),
            part: part.to_owned(),
        }
    }

    /// What tells the instance from others in files of tasks, whatever its number: a hash of `cuda_visible_devices`.
    #[must_use]
    pub fn mark(&self) -> u64 {
        let mut hasher = FnvHasher::default();
        hasher.write(self.cuda_visible_devices.as_bytes());
        hasher.finish()
    }
}

/// All instances of a manager. Processes know them by their positions here, counted from 1.
#[derive(Debug)]
pub struct Instances {
    list: Vec<SharedInstance>,
    /// The vertex of each in the fleet.
    ids: Vec<DeviceId>,
    fleet: Fleet,
}

impl Instances {
    /// Reads a TOML file with a table `[[instance]]` for each. `name` is that of the file, for
    /// messages.
    ///
    /// # Errors
    /// The text is not such a file, lists none, or lists a part of a device twice.
    pub fn parse(name: &str, text: &str) -> Result<Self, Error> {
        let at = |what: &dyn std::fmt::Display| Error::malformed(format_args!("{name}: {what}"));
        check_size(text.len(), MAX_TOML_BYTES).map_err(|what| at(&what))?;
        let listed: Listed = toml::from_str(text).map_err(|error| at(&error))?;
        Self::new(listed.instance).map_err(|error| at(&error))
    }

    /// The MIG instances of a machine: those that its drivers list, or those of the layouts of a
    /// described machine, which processes know by their names in the description.
    ///
    /// # Errors
    /// It has none; one has no memory that is known, or the drivers tell no UUID of it.
    pub fn of_node(node: &Node) -> Result<Self, Error> {
        let view = node.loaded().idle.view();
        let graph = view.graph();
        let mut list = Vec::new();
        for id in view.present().iter() {
            let device = graph.device(id);
            if !matches!(device.unit, Unit::Slice(_)) {
                continue;
            }
            let missing = |what: &str| {
                Error::malformed(format_args!(
                    "{}: {what} is not known: expected --instances FILE",
                    device.name
                ))
            };
            let key = node.keys(&[id]).into_iter().next();
            let key = key.ok_or_else(|| missing("its name"))?;
            let size = device.size.ok_or_else(|| missing("its size"))?;
            let model = graph.model(device.parent);
            let name = (!node.is_live()).then_some(&*device.name);
            let cuda_visible_devices = node.uuid(id).or(name);
            list.push(SharedInstance {
                cuda_visible_devices: cuda_visible_devices
                    .ok_or_else(|| missing("its UUID"))?
                    .to_owned(),
                memory: device.memory_bytes.ok_or_else(|| missing("its memory"))?,
                device: key.whole,
                mig_instance: key.part,
                slices: NonZeroU8::new(size.compute),
                gpu_slices: model.map_or(size.compute, |model| model.size().compute),
                mps: String::new(),
            });
        }
        Self::new(list)
    }

    /// These instances.
    ///
    /// # Errors
    /// There are none or too many; two have a part of a device in common, or one has no name, memory or slices.
    pub fn new(list: Vec<SharedInstance>) -> Result<Self, Error> {
        if list.is_empty() || list.len() > MOST {
            return Err(Error::malformed(format_args!(
                "{} instances: expected 1 to {MOST}, MIG instances of this machine or a table [[instance]] for each",
                list.len()
            )));
        }
        let mut fabric = Fabric::new();
        let mut layouts: Vec<Layout> = Vec::new();
        for (at, shared) in list.iter().enumerate() {
            shared.check()?;
            if let Some(other) = list[..at].iter().find(|other| shared.overlaps(other)) {
                return Err(Error::malformed(format_args!(
                    "instances {} and {}: expected each part of a device once",
                    other.named(),
                    shared.named()
                )));
            }
            let model = Arc::new(shared.model()?);
            let (profile, start) = (ProfileId(0), 0);
            layouts.push(model.layout(&[Instance { profile, start }])?);
            let info = DeviceInfo {
                mig: Some(model),
                ..DeviceInfo::default()
            };
            fabric.add(FabricNode {
                name: shared.key().to_string(),
                kind: NodeKind::Device(info),
            })?;
        }
        let graph = Arc::new(fabric.lower()?);
        let mut fleet = Fleet::new([graph.clone()]);
        let mut ids = Vec::new();
        for (whole, layout) in graph.wholes().iter().zip(&layouts) {
            let laid = fleet.layout_is(MachineId(0), whole, layout);
            laid.map_err(Error::malformed)?;
            let inside = graph.vertices_in(whole, layout)?;
            let shared = Demand::any().shared();
            let found = inside.iter().find(|&id| shared.fits(graph.device(id)));
            ids.extend(found);
        }
        Ok(Self { list, ids, fleet })
    }

    /// The instances.
    #[must_use]
    pub fn list(&self) -> &[SharedInstance] {
        &self.list
    }

    /// The fleet of them.
    #[must_use]
    pub fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    /// The vertex of an instance by its number, counted from 1.
    #[must_use]
    pub fn vertex(&self, number: u64) -> Option<DeviceId> {
        let at = usize::try_from(number.checked_sub(1)?).ok()?;
        self.ids.get(at).copied()
    }

    /// The mark of an instance by its number, counted from 1; 0 for none.
    #[must_use]
    pub fn mark(&self, number: u64) -> u64 {
        let at = number
            .checked_sub(1)
            .and_then(|at| usize::try_from(at).ok());
        let instance = at.and_then(|at| self.list.get(at));
        instance.map_or(0, SharedInstance::mark)
    }

    /// The number of the instance that has this mark, counted from 1.
    #[must_use]
    pub fn marked(&self, mark: u64) -> Option<u64> {
        let at = self.list.iter().position(|shared| shared.mark() == mark)?;
        Some(at as u64 + 1)
    }

    /// The number of the instance at a vertex, counted from 1.
    #[must_use]
    pub fn number(&self, vertex: DeviceId) -> Option<u64> {
        let at = self.ids.iter().position(|&id| id == vertex)?;
        Some(at as u64 + 1)
    }
}

impl SharedInstance {
    /// Its compute slices.
    #[must_use]
    pub fn slices(&self) -> u8 {
        let usual = match (self.is_whole(), self.gpu_slices) {
            (false, _) => self.named_slices().unwrap_or(1),
            (true, 0) => SLICES,
            (true, of) => of,
        };
        self.slices.map_or(usual, NonZeroU8::get)
    }

    /// The compute slices of its whole device.
    #[must_use]
    pub fn gpu_slices(&self) -> u8 {
        match (self.is_whole(), self.gpu_slices) {
            (true, _) => self.slices(),
            (false, 0) => SLICES.max(self.slices()),
            (false, of) => of,
        }
    }

    /// The slices in the name of its part: 3 of `3g.20gb@4`.
    fn named_slices(&self) -> Option<u8> {
        let name = self.mig_instance.rsplit_once("c.");
        let name = name.map_or(&*self.mig_instance, |(_, instance)| instance);
        let slices = name.split_once('g')?.0.parse().ok()?;
        (slices > 0).then_some(slices)
    }

    fn is_whole(&self) -> bool {
        self.mig_instance.is_empty() && !self.cuda_visible_devices.starts_with("MIG-")
    }

    fn whole(&self) -> &str {
        if self.device.is_empty() {
            &self.cuda_visible_devices
        } else {
            &self.device
        }
    }

    /// How a message names it.
    fn named(&self) -> String {
        format!("`{}` ({})", self.cuda_visible_devices, self.key())
    }

    /// Whether the two have something in common.
    fn overlaps(&self, other: &Self) -> bool {
        if self.cuda_visible_devices == other.cuda_visible_devices {
            return true;
        }
        if self.whole() != other.whole() {
            return false;
        }
        // A part that does not tell its place is another if it has another name.
        let (Some(places), Some(other)) = (self.places(), other.places()) else {
            return self.mig_instance.is_empty()
                || other.mig_instance.is_empty()
                || self.mig_instance == other.mig_instance;
        };
        places.start < other.end && other.start < places.end
    }

    /// The slices of its device that it has at least, by the name of its part.
    fn places(&self) -> Option<Range<u32>> {
        let (_, start) = self.mig_instance.rsplit_once('@')?;
        let start: u32 = start.parse().ok()?;
        Some(start..start.checked_add(u32::from(self.slices()))?)
    }

    fn check(&self) -> Result<(), Error> {
        let is_text = |text: &str| !text.contains(['\n', '\0']) && text.len() < 1024;
        let texts = [
            &self.cuda_visible_devices,
            &self.device,
            &self.mig_instance,
            &self.mps,
        ];
        if self.cuda_visible_devices.is_empty() || !texts.into_iter().all(|text| is_text(text)) {
            return Err(Error::malformed(format_args!(
                "instance `{}`: expected cuda_visible_devices = \"UUID\", and texts of one line",
                self.cuda_visible_devices
            )));
        }
        let (slices, memory) = (self.slices(), self.memory);
        if memory == 0
            || slices.max(self.gpu_slices()) > 64
            || (self.gpu_slices > 0 && self.gpu_slices < slices)
        {
            return Err(Error::malformed(format_args!(
                "instance `{}`: expected memory in bytes, and 1 to 64 slices of at least as many (gpu_slices)",
                self.cuda_visible_devices
            )));
        }
        Ok(())
    }

    /// A device that has this instance and no other: what a GPU has beside is none of this manager's.
    fn model(&self) -> Result<Model, Error> {
        let size = |compute: u8| Size::new(compute, 1);
        let profile = Profile {
            name: "shared".to_owned(),
            size: size(self.slices()),
            memory_bytes: self.memory,
            starts: vec![0],
            max_instances: 1,
        };
        let whole = size(self.gpu_slices());
        Ok(Model::new(self.key().to_string(), whole, vec![profile])?)
    }
}
