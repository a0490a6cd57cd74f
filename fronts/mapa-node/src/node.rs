//! The machine of the node, and its state as the ledger has it.

use std::collections::{BTreeMap, BTreeSet};

use mapa_core::mig::{Instance, Layout};
use mapa_core::{Allocator, Decision, Demand, DeviceId, HardwareGraph, Pattern, Request, Unit};
use mapa_front::{Loaded, MachineSpec};
use mapa_live::{Discovered, Live};
use mapa_topologies::MigInstance;

use crate::disk::Disk;
use crate::error::Error;
use crate::ledger::{Books, Cordon, Key, Lease, now};

/// The machine, with names of its devices that outlast a description of it.
pub struct Node {
    loaded: Loaded,
    /// By vertex of the graph.
    keys: Vec<Key>,
    by_key: BTreeMap<Key, DeviceId>,
    /// The UUIDs of instances, which no description has.
    uuids: BTreeMap<DeviceId, String>,
    live: bool,
}

/// What keeps a device from being given, beside leases.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Withheld {
    /// The whole device.
    pub device: DeviceId,
    /// Why: for people.
    pub why: String,
}

/// The state of the machine: what the ledger says, on the machine's graph.
pub struct State {
    /// Leases are tenants; what is withheld is cordoned.
    pub allocator: Allocator,
    /// The devices that are withheld, and why.
    pub withheld: Vec<Withheld>,
    /// Leases on devices that the machine does not have any more.
    pub lost: Vec<i64>,
}

impl Node {
    /// The machine that a request names; the one that this program runs on if it names none.
    ///
    /// # Errors
    /// As [`MachineSpec::load`] and [`mapa_live::discover`].
    pub fn load(
        spec: &MachineSpec,
        live: &Live,
        warn: &mut dyn FnMut(String),
    ) -> Result<Self, Error> {
        if !spec.machine.is_empty() {
            return Ok(Self::new(spec.load(&Disk, warn)?, false));
        }
        spec.check()?;
        let found = mapa_live::discover(live).map_err(|error| {
            Error::malformed(format_args!(
                "{error}; expected accelerators here, or --machine NAME or FILE"
            ))
        })?;
        let mut loaded = spec.complete("this machine", found.machine.clone(), warn)?;
        // The cache keeps no state. Instances come and go, so they are asked for anew.
        let partitionable = (0..loaded.graph().devices().len() as u32)
            .any(|id| loaded.graph().model(DeviceId(id)).is_some());
        let found = if partitionable && found.state.is_none() {
            let mut anew = live.clone();
            anew.refresh = true;
            mapa_live::discover(&anew).map_err(Error::malformed)?
        } else {
            found
        };
        let uuids = partition(&mut loaded, &found)?;
        Ok(Self {
            uuids,
            live: true,
            ..Self::new(loaded, true)
        })
    }

    /// Asks the drivers once more how devices are partitioned.
    ///
    /// # Errors
    /// The drivers do not answer.
    pub(crate) fn look_again(&mut self, live: &Live) -> Result<(), Error> {
        let mut anew = live.clone();
        anew.refresh = true;
        let found = mapa_live::discover(&anew).map_err(Error::malformed)?;
        let graph = self.loaded.graph().clone();
        self.loaded.idle = Allocator::new(graph);
        self.uuids = partition(&mut self.loaded, &found)?;
        Ok(())
    }

    /// A node of a machine that is read already.
    #[must_use]
    pub fn new(loaded: Loaded, live: bool) -> Self {
        let graph = loaded.graph();
        let keys: Vec<Key> = graph.devices().iter().map(|own| key(graph, own)).collect();
        let by_key = (0u32..).map(DeviceId).zip(&keys);
        let by_key = by_key.map(|(id, key)| (key.clone(), id)).collect();
        Self {
            loaded,
            keys,
            by_key,
            uuids: BTreeMap::new(),
            live,
        }
    }

    /// The machine's description.
    #[must_use]
    pub fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    /// The machine's graph.
    #[must_use]
    pub fn graph(&self) -> &HardwareGraph {
        self.loaded.graph()
    }

    /// Whether this is the machine that the program runs on, as its drivers describe it.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.live
    }

    /// The lasting names of these devices.
    #[must_use]
    pub fn keys(&self, devices: &[DeviceId]) -> Vec<Key> {
        let keys = devices.iter().filter_map(|id| self.keys.get(id.index()));
        keys.cloned().collect()
    }

    /// The device of a lasting name, if the machine has it.
    #[must_use]
    pub fn device(&self, key: &Key) -> Option<DeviceId> {
        self.by_key.get(key).copied()
    }

    /// The name of a device for people: as in the machine's description, or the lasting one.
    #[must_use]
    pub fn name(&self, key: &Key) -> String {
        self.device(key).map_or_else(
            || key.to_string(),
            |id| self.graph().device(id).name.clone(),
        )
    }

    /// The UUID of a device or of an instance that exists.
    #[must_use]
    pub fn uuid(&self, id: DeviceId) -> Option<&str> {
        let own = self.uuids.get(&id).map(String::as_str);
        own.or(self.graph().device(id).uuid.as_deref())
    }

    /// Whether the devices are AMD's, by the words of the machine's description.
    #[must_use]
    pub fn is_amd(&self) -> bool {
        self.loaded.machine.labels.direct == "XGMI"
    }

    /// Binds the ledger to this machine, or checks that it is bound to it; and notes the layouts of
    /// partitioned devices if they have changed.
    ///
    /// # Errors
    /// The ledger is of another machine.
    pub fn bind(&self, books: &Books<'_>, owner: &str) -> Result<(), Error> {
        let wholes = self.graph().wholes();
        let own: Vec<String> = wholes
            .iter()
            .map(|id| self.keys[id.index()].whole.clone())
            .collect();
        let name = &self.loaded.machine.name;
        match books.machine()? {
            None => books.bind(owner, name, &own)?,
            Some((known, devices)) => {
                // Devices with UUIDs identify a machine: some may be lost, or be new. Names do not.
                let shared = devices
                    .iter()
                    .any(|key| own.contains(key) && is_unique(key));
                if !shared && (known != *name || devices != own) {
                    return Err(Error::malformed(format_args!(
                        "the ledger is of the machine {known} with {} devices, not of {name} with {}: expected --machine {known}, or another --ledger",
                        devices.len(),
                        own.len()
                    )));
                }
            }
        }
        let before: BTreeMap<String, String> = books.layouts()?.into_iter().collect();
        let view = self.loaded.idle.view();
        for id in wholes.iter() {
            let Some(model) = self.graph().model(id) else {
                continue;
            };
            let (whole, layout) = (
                &self.keys[id.index()].whole,
                model.print(&view.layout_of(id)),
            );
            let known = before.get(whole).map_or("whole", String::as_str);
            if known != layout {
                books.layout(owner, whole, &layout)?;
            }
        }
        Ok(())
    }

    /// Whether the ledger already says of this machine all that [`bind`](Self::bind) would write, so
    /// that nothing need be written.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn is_bound(&self, books: &Books<'_>) -> Result<bool, Error> {
        let Some((known, devices)) = books.machine()? else {
            return Ok(false);
        };
        let wholes: Vec<DeviceId> = self.graph().wholes().iter().collect();
        let same = wholes.len() == devices.len()
            && (wholes.iter().zip(&devices)).all(|(id, key)| self.keys[id.index()].whole == *key);
        let partitioned = wholes.iter().any(|&id| self.graph().model(id).is_some());
        Ok(known == self.loaded.machine.name && same && !partitioned)
    }

    /// The state of the machine: leases and cordons of the ledger, and what else is withheld.
    ///
    /// # Errors
    /// The ledger cannot be read, or contradicts itself.
    pub fn state(
        &self,
        books: &Books<'_>,
        leases: &[Lease],
        others: &[Withheld],
    ) -> Result<State, Error> {
        let mut allocator = self.loaded.idle.clone();
        let mut lost = Vec::new();
        for lease in leases {
            let known: Vec<DeviceId> = lease
                .devices
                .iter()
                .filter_map(|key| self.device(key))
                .collect();
            if known.len() < lease.devices.len() {
                lost.push(lease.id);
            }
            self.book(&mut allocator, &known)?;
        }
        let mut withheld: BTreeSet<Withheld> = others.iter().cloned().collect();
        for cordon in books.cordons(now())? {
            withheld.extend(self.cordoned(&cordon));
        }
        for own in &withheld {
            allocator.cordon(own.device, true)?;
        }
        Ok(State {
            allocator,
            withheld: withheld.into_iter().collect(),
            lost,
        })
    }

    /// Books devices that a lease holds. An instance that is not there any more holds its device: a
    /// process may still use what it was.
    fn book(&self, allocator: &mut Allocator, devices: &[DeviceId]) -> Result<(), Error> {
        let view = allocator.view();
        let mut there: Vec<DeviceId> = Vec::new();
        for &id in devices {
            if view.free().contains(id) {
                there.push(id);
            } else {
                let whole = DeviceId(self.graph().device(id).parent.0);
                there.extend(view.parts_of(whole).filter(|id| view.free().contains(*id)));
            }
        }
        there.sort_unstable();
        there.dedup();
        if there.is_empty() {
            return Ok(());
        }
        let tenant = Request::new(Pattern::independent(there.len()).each(Demand::any()));
        let booked = Decision::of_use("ledger", &tenant, &view, there)?;
        allocator.commit(booked)?;
        Ok(())
    }

    fn cordoned(&self, cordon: &Cordon) -> Vec<Withheld> {
        let wholes = self.graph().wholes();
        let named = wholes
            .iter()
            .filter(|id| cordon.whole.is_empty() || self.keys[id.index()].whole == cordon.whole);
        named
            .map(|device| Withheld {
                device,
                why: format!("cordoned by {}: {}", cordon.owner, cordon.reason),
            })
            .collect()
    }
}

/// The lasting name of a device.
fn key(graph: &HardwareGraph, own: &mapa_core::Device) -> Key {
    let whole = match own.unit {
        Unit::Slice(_) => graph.device(own.parent),
        _ => own,
    };
    let name = whole.uuid.clone().or_else(|| whole.pci.clone());
    // Only an instance is named after its whole device, with a slash between.
    let part = own
        .name
        .strip_prefix(whole.name.as_str())
        .unwrap_or_default();
    Key {
        whole: name.unwrap_or_else(|| whole.name.clone()),
        part: part.trim_start_matches('/').to_owned(),
    }
}

/// Whether a lasting name is a UUID, which no other machine has. A PCI address is none.
fn is_unique(key: &str) -> bool {
    key.len() > 30 && key.contains('-')
}

/// Gives the devices the layouts that were found, and returns the UUIDs of the instances.
fn partition(loaded: &mut Loaded, found: &Discovered) -> Result<BTreeMap<DeviceId, String>, Error> {
    let Some(state) = &found.state else {
        return Ok(BTreeMap::new());
    };
    let mut by_device: BTreeMap<DeviceId, Vec<&MigInstance>> = BTreeMap::new();
    for own in state
        .mig_instances
        .iter()
        .filter(|own| own.placement.is_some())
    {
        by_device.entry(own.device).or_default().push(own);
    }
    let graph = loaded.graph().clone();
    let mut uuids = BTreeMap::new();
    for (whole, own) in by_device {
        let Some(model) = graph.model(whole) else {
            continue;
        };
        let placed: Vec<(Instance, &MigInstance)> = own
            .into_iter()
            .filter_map(|mig| {
                let profile = model.find(&mig.profile).ok()?;
                let (start, _) = mig.placement?;
                Some((Instance { profile, start }, mig))
            })
            .collect();
        let instances: Vec<Instance> = placed.iter().map(|(instance, _)| *instance).collect();
        let layout: Layout = model.layout(&instances)?;
        loaded.idle.layout_is(whole, &layout)?;
        for id in graph.vertices(whole).iter() {
            let same = placed
                .iter()
                .find(|(instance, _)| graph.device(id).unit == Unit::Slice(*instance));
            if let Some(uuid) = same.and_then(|(_, mig)| mig.uuid.clone()) {
                uuids.insert(id, uuid);
            }
        }
    }
    Ok(uuids)
}
