//! The machine of the node, and its state as the ledger has it.

use std::collections::{BTreeMap, BTreeSet};

use mapa_core::mig::{Instance, Layout, Model, ProfileId};
use mapa_core::{
    Allocator, Decision, Demand, DeviceId, HardwareGraph, NodeKind, Pattern, Policy, Reason,
    Refusal, Request, Unit, lowest_id,
};
use mapa_front::{Loaded, MachineSpec};
use mapa_live::{DeviceStatus, Discovered, DriverSnapshot, LinkStatus, Live, Source};
use mapa_topologies::mig::of_product;
use mapa_topologies::{Machine, MigInstance, Vendor};

use crate::error::Error;
use crate::ledger::{Cordon, DeviceKey, Lease, LedgerTx, now};
use crate::local_files::LocalFiles;

/// The machine, with names of its devices that outlast a description of it.
pub struct Node {
    loaded: Loaded,
    /// By vertex of the graph.
    keys: Vec<DeviceKey>,
    by_key: BTreeMap<DeviceKey, DeviceId>,
    /// What no description has of instances.
    partitions: MigReport,
    live: bool,
    /// Whether NVML has described the machine, so that it lists devices as long as it works.
    by_nvml: bool,
    /// What a driver failed to say of it.
    unanswered: Option<String>,
    /// The links of the whole devices, by id, with which it was described.
    links: Vec<LinkStatus>,
    /// The machine with all links that were up before, if some are down: what could run on it.
    intact: Option<Loaded>,
}

/// What the drivers say of devices in MIG mode.
#[derive(Clone, Debug, Default)]
struct MigReport {
    /// The UUIDs of instances.
    uuids: BTreeMap<DeviceId, String>,
    /// Instances by their device and the vendor's number.
    numbers: BTreeMap<(DeviceId, u32), DeviceId>,
    /// What cannot be given.
    closed: Vec<Withheld>,
    /// Devices in MIG mode without an instance, whose profiles are known.
    bare: Vec<DeviceId>,
}

/// Why a device is withheld: each is reported to schedulers in another way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Somebody has cordoned it.
    Cordoned,
    /// A process uses it that no lease has, or it is in a mode in which nobody can use it.
    Occupied,
    /// Something is wrong with it.
    Unhealthy,
}

/// What keeps a device from being given, beside leases.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Withheld {
    /// The whole device, or one instance of it.
    pub device: DeviceId,
    /// Why, in kind.
    pub cause: Cause,
    /// Why: for people.
    pub why: String,
}

/// The state of the machine: what the ledger says, on the machine's graph.
pub struct NodeState {
    /// Leases are tenants; what is withheld is cordoned.
    pub allocator: Allocator,
    /// The devices that are withheld, and why.
    pub withheld: Vec<Withheld>,
    /// Leases on devices or instances that the machine does not have any more, and these.
    pub lost: Vec<(i64, Vec<DeviceKey>)>,
    /// What each lease keeps from others.
    pub held: Vec<(i64, Vec<DeviceId>)>,
    /// Instances that are withheld by themselves: the rest of their device is not.
    pub closed: Vec<DeviceId>,
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
            return Ok(Self::new(spec.load(&LocalFiles, warn)?, false));
        }
        spec.check()?;
        // A driver that does not answer now may do so later: that is no fault of the request.
        let found = mapa_live::discover(live).map_err(|error| {
            let what = format!("{error}; expected accelerators here, or --machine NAME or FILE");
            if error.is_passing() {
                Error::Failed(what)
            } else {
                Error::Malformed(what)
            }
        })?;
        // What MIG profiles devices have only matters once one is in MIG mode.
        let mut spec = spec.clone();
        let table = spec.mig.is_none().then(|| table(&found.machine)).flatten();
        let mut found = found;
        if spec.mig.is_some() || table.is_some() {
            // The cache keeps no state, and instances come and go. A snapshot is cheaper than discovery.
            let partitioned = match &found.state {
                Some(state) => !state.partitioned.is_empty() || !state.mig_instances.is_empty(),
                // If the drivers do not answer, assume partitions: discovery below then reports why.
                None => mapa_live::driver_snapshot(live).map_or(true, |snapshot| {
                    snapshot
                        .devices
                        .iter()
                        .flatten()
                        .any(|device| device.partitioned)
                }),
            };
            if partitioned {
                spec.mig = spec.mig.or(table);
            }
            if partitioned && found.state.is_none() {
                let mut anew = live.clone();
                anew.refresh = true;
                found = mapa_live::discover(&anew).map_err(Error::malformed)?;
            }
        }
        let mut loaded = spec.complete("this machine", found.machine.clone(), warn)?;
        let partitions = partition(&mut loaded, &found)?;
        let mut node = Self::new(loaded, true);
        // Drivers report the place of an instance only to privileged users; its UUID to all.
        for (id, uuid) in &partitions.uuids {
            let key = &mut node.keys[id.index()];
            // Vector and map hold the same keys, so both change.
            node.by_key.remove(key);
            key.part.clone_from(uuid);
            node.by_key.insert(key.clone(), *id);
        }
        node.partitions = partitions;
        node.by_nvml = found.by == Source::Nvml;
        node.unanswered = found.unanswered;
        node.links = found.links;
        // No job could run on a machine that cannot be completed.
        let intact = found.intact;
        node.intact =
            intact.and_then(|machine| spec.complete("this machine", machine, &mut |_| {}).ok());
        Ok(node)
    }

    /// Devices in MIG mode without an instance are withheld from all who cannot change that. For a
    /// daemon that can, this is their layout.
    ///
    /// # Errors
    /// As [`mapa_core::Allocator::layout_is`].
    pub(crate) fn open_bare(&mut self) -> Result<(), Error> {
        let graph = self.loaded.graph().clone();
        for whole in std::mem::take(&mut self.partitions.bare) {
            if let Some(model) = graph.model(whole) {
                let nothing = model.layout(&[])?;
                self.loaded.idle.layout_is(whole, &nothing)?;
                self.partitions
                    .closed
                    .retain(|device| device.device != whole);
            }
        }
        Ok(())
    }

    /// A node of a machine that is read already.
    #[must_use]
    pub fn new(loaded: Loaded, live: bool) -> Self {
        let graph = loaded.graph();
        let keys: Vec<DeviceKey> = graph
            .devices()
            .iter()
            .map(|device| key(graph, device))
            .collect();
        let by_key = (0u32..).map(DeviceId).zip(&keys);
        let by_key = by_key.map(|(id, key)| (key.clone(), id)).collect();
        Self {
            loaded,
            keys,
            by_key,
            partitions: MigReport::default(),
            live,
            by_nvml: false,
            unanswered: None,
            links: Vec::new(),
            intact: None,
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

    /// Whether NVML has described the machine.
    #[must_use]
    pub(crate) fn is_by_nvml(&self) -> bool {
        self.by_nvml
    }

    /// What a driver failed to say of the machine, and may say later.
    #[must_use]
    pub(crate) fn unanswered(&self) -> Option<&str> {
        self.unanswered.as_deref()
    }

    /// The links of the whole devices, by id, with which the machine was described. Empty unless NVML describes it.
    #[must_use]
    pub(crate) fn links(&self) -> &[LinkStatus] {
        &self.links
    }

    /// Whether links are down that were up before, and may be up again.
    #[must_use]
    pub(crate) fn has_links_down(&self) -> bool {
        self.intact.is_some()
    }

    /// A refusal, given that links may come up again: what only they keep from running must wait for them.
    #[must_use]
    pub(crate) fn with_hope(&self, request: &Request, refusal: Refusal) -> Refusal {
        let (Refusal::Infeasible(reason), Some(intact)) = (&refusal, &self.intact) else {
            return refusal;
        };
        // Any policy says whether there is a set of devices at all, and this one does least.
        match lowest_id().decide(request, &intact.idle.view()) {
            Err(Refusal::Infeasible(_)) => refusal,
            _ => Refusal::Busy(Reason::Rule(
                format!("links that are down now: {reason}").into(),
            )),
        }
    }

    /// Returns the status of a device in a driver snapshot.
    #[must_use]
    pub(crate) fn status_in<'s>(
        &self,
        snapshot: &'s DriverSnapshot,
        id: DeviceId,
    ) -> Option<&'s DeviceStatus> {
        let device = self.graph().device(id);
        let mut seen = snapshot.devices.iter().flatten();
        seen.find(|seen| seen.is(device, self.number(id)))
    }

    /// Whether the links are as this machine was described with. Nothing is known of a device that does not answer.
    #[must_use]
    pub(crate) fn is_current(&self, snapshot: &DriverSnapshot) -> bool {
        (0..).map(DeviceId).zip(&self.links).all(|(id, links)| {
            let seen = self.status_in(snapshot, id);
            let now = seen.and_then(|seen| seen.links.as_ref());
            now.is_none_or(|now| now.joins_as(links))
        })
    }

    /// Whether this is a machine of the same devices, whatever joins them.
    #[must_use]
    pub(crate) fn has_devices_of(&self, other: &Self) -> bool {
        let (own, others) = (self.graph().devices(), other.graph().devices());
        let facts = |device: &mapa_core::Device| {
            let (names, numbers) = (
                [
                    Some(&device.name),
                    device.uuid.as_ref(),
                    device.pci.as_ref(),
                ]
                .map(Option::<&String>::cloned),
                [device.index, device.numa],
            );
            (
                names,
                numbers,
                device.parent,
                device.unit,
                device.memory_bytes,
            )
        };
        own.len() == others.len() && own.iter().zip(others).all(|(a, b)| facts(a) == facts(b))
    }

    /// The lasting names of these devices.
    #[must_use]
    pub fn keys(&self, devices: &[DeviceId]) -> Vec<DeviceKey> {
        let keys = devices.iter().filter_map(|id| self.keys.get(id.index()));
        keys.cloned().collect()
    }

    /// The device of a lasting name, if the machine has it. An instance may be named by its UUID alone.
    #[must_use]
    pub fn device(&self, key: &DeviceKey) -> Option<DeviceId> {
        let by_uuid = || {
            let mut instances = self.partitions.uuids.iter();
            let instances = instances.find(|(_, uuid)| key.part.is_empty() && **uuid == key.whole);
            instances.map(|(id, _)| *id)
        };
        self.by_key.get(key).copied().or_else(by_uuid)
    }

    /// The name of a device for people: as in the machine's description, or the lasting one.
    #[must_use]
    pub fn name(&self, key: &DeviceKey) -> String {
        self.device(key).map_or_else(
            || key.to_string(),
            |id| self.graph().device(id).name.clone(),
        )
    }

    /// The UUID of a device or of an instance that exists.
    #[must_use]
    pub fn uuid(&self, id: DeviceId) -> Option<&str> {
        let instance_uuid = self.partitions.uuids.get(&id).map(String::as_str);
        instance_uuid.or(self.graph().device(id).uuid.as_deref())
    }

    /// The vendor's number of a device.
    #[must_use]
    pub fn number(&self, id: DeviceId) -> u32 {
        self.graph().device(id).index.unwrap_or(id.0)
    }

    /// The instance of a device to which the vendor gives this number.
    #[must_use]
    pub fn instance(&self, whole: DeviceId, number: u32) -> Option<DeviceId> {
        self.partitions.numbers.get(&(whole, number)).copied()
    }

    /// The vendor of the devices. Devices of an unknown vendor are taken for NVIDIA's.
    #[must_use]
    pub fn vendor(&self) -> Vendor {
        self.loaded.machine.vendor.unwrap_or(Vendor::Nvidia)
    }

    /// Binds the ledger to this machine, or checks that it is bound to it; and notes the layouts of
    /// partitioned devices if they have changed.
    ///
    /// # Errors
    /// The ledger is of another machine.
    pub fn bind(&self, books: &LedgerTx<'_>, owner: &str) -> Result<(), Error> {
        let wholes = self.graph().wholes();
        let uuids: Vec<String> = wholes
            .iter()
            .map(|id| self.keys[id.index()].whole.clone())
            .collect();
        let name = &self.loaded.machine.name;
        match books.machine()? {
            None => books.bind(owner, name, &uuids)?,
            Some((known, devices)) => {
                // Devices with UUIDs identify a machine: some may be lost, or be new. Names do not.
                let shared = devices
                    .iter()
                    .any(|key| uuids.contains(key) && is_unique(key));
                if !shared && (known != *name || devices != uuids) {
                    return Err(Error::malformed(format_args!(
                        "the ledger is of the machine {known} with {} devices, not of {name} with {}: expected --machine {known}, or another --ledger",
                        devices.len(),
                        uuids.len()
                    )));
                }
            }
        }
        for (whole, layout) in self.changed_layouts(books)? {
            books.layout(owner, &whole, &layout)?;
        }
        Ok(())
    }

    /// The layouts that the ledger does not have yet, by device.
    fn changed_layouts(&self, books: &LedgerTx<'_>) -> Result<Vec<(String, String)>, Error> {
        let before: BTreeMap<String, String> = books.layouts()?.into_iter().collect();
        let view = self.loaded.idle.view();
        let mut changed = Vec::new();
        for id in self.graph().wholes().iter() {
            let Some(model) = self.graph().model(id) else {
                continue;
            };
            let whole = &self.keys[id.index()].whole;
            let layout = model.print(&view.layout_of(id));
            // A device without a row has never been seen partitioned.
            if before.get(whole).map_or("whole", String::as_str) != layout {
                changed.push((whole.clone(), layout));
            }
        }
        Ok(changed)
    }

    /// Whether the ledger already says of this machine all that [`bind`](Self::bind) would write, so
    /// that nothing need be written.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn is_bound(&self, books: &LedgerTx<'_>) -> Result<bool, Error> {
        let Some((known, devices)) = books.machine()? else {
            return Ok(false);
        };
        let wholes: Vec<DeviceId> = self.graph().wholes().iter().collect();
        let same = wholes.len() == devices.len()
            && (wholes.iter().zip(&devices)).all(|(id, key)| self.keys[id.index()].whole == *key);
        Ok(known == self.loaded.machine.name && same && self.changed_layouts(books)?.is_empty())
    }

    /// The state of the machine: leases and cordons of the ledger, and what else is withheld.
    ///
    /// # Errors
    /// The ledger cannot be read, or contradicts itself.
    pub fn state(
        &self,
        books: &LedgerTx<'_>,
        leases: &[Lease],
        others: &[Withheld],
    ) -> Result<NodeState, Error> {
        let mut allocator = self.loaded.idle.clone();
        let (mut lost, mut held) = (Vec::new(), Vec::new());
        for lease in leases {
            let (known, gone): (Vec<&DeviceKey>, Vec<&DeviceKey>) = lease
                .devices
                .iter()
                .partition(|key| self.device(key).is_some());
            if !gone.is_empty() {
                lost.push((lease.id, gone.into_iter().cloned().collect()));
            }
            let known: Vec<DeviceId> = known
                .into_iter()
                .filter_map(|key| self.device(key))
                .collect();
            let booked = self.book(&mut allocator, &known).map_err(|error| {
                Error::at("the ledger", format_args!("lease {}: {error}", lease.id))
            })?;
            if !booked.is_empty() {
                held.push((lease.id, booked));
            }
        }
        let mut withheld: BTreeSet<Withheld> = others.iter().cloned().collect();
        withheld.extend(self.partitions.closed.iter().cloned());
        for cordon in books.cordons(now())? {
            withheld.extend(self.cordoned(&cordon));
        }
        let mut closed = Vec::new();
        for device in &withheld {
            // A vertex that is its own parent is a whole device.
            if self.graph().device(device.device).parent == device.device {
                allocator.cordon(device.device, true)?;
            } else if allocator.view().free().contains(device.device) {
                // Only whole devices are cordoned, so an instance gets a tenant of no name.
                closed.extend(take(&mut allocator, vec![device.device])?);
            }
        }
        Ok(NodeState {
            allocator,
            withheld: withheld.into_iter().collect(),
            lost,
            held,
            closed,
        })
    }

    /// Books devices that a lease holds, and returns what is booked. Of an instance that is not there
    /// any more, though the machine's description has it, the device is held: a process may still use
    /// what it was.
    fn book(
        &self,
        allocator: &mut Allocator,
        devices: &[DeviceId],
    ) -> Result<Vec<DeviceId>, Error> {
        let view = allocator.view();
        let mut there: Vec<DeviceId> = Vec::new();
        for &id in devices {
            if view.free().contains(id) {
                there.push(id);
            } else {
                let whole = self.graph().device(id).parent;
                there.extend(view.parts_of(whole).filter(|id| view.free().contains(*id)));
            }
        }
        // Two instances that are gone may have been on one device.
        there.sort_unstable();
        there.dedup();
        take(allocator, there)
    }

    fn cordoned(&self, cordon: &Cordon) -> Vec<Withheld> {
        let wholes = self.graph().wholes();
        let named = wholes
            .iter()
            .filter(|id| cordon.device.is_empty() || self.keys[id.index()].whole == cordon.device);
        named
            .map(|device| Withheld {
                device,
                cause: Cause::Cordoned,
                why: format!("cordoned by {}: {}", cordon.owner, cordon.reason),
            })
            .collect()
    }
}

/// Books devices that are free for somebody whose request is not known.
fn take(allocator: &mut Allocator, devices: Vec<DeviceId>) -> Result<Vec<DeviceId>, Error> {
    if devices.is_empty() {
        return Ok(devices);
    }
    // The request does not matter any more; only the devices do.
    let tenant = Request::new(Pattern::independent(devices.len()).each(Demand::any()));
    let booked = Decision::of_use("ledger", &tenant, &allocator.view(), devices.clone())?;
    allocator.commit(booked)?;
    Ok(devices)
}

/// The lasting name of a device.
fn key(graph: &HardwareGraph, own: &mapa_core::Device) -> DeviceKey {
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
    DeviceKey {
        whole: name.unwrap_or_else(|| whole.name.clone()),
        part: part.trim_start_matches('/').to_owned(),
    }
}

/// Whether a lasting name is a UUID, which no other machine has. A PCI address is none.
fn is_unique(key: &str) -> bool {
    // A UUID such as `GPU-5f1e0b72-..` has 40 characters; a PCI address such as `0000:3b:00.0` has 12 and no
    // hyphen.
    key.len() > 30 && key.contains('-')
}

/// The table of MIG profiles of a machine's devices, if all are of one kind.
fn table(machine: &Machine) -> Option<String> {
    let mut names = BTreeSet::new();
    for (_, node) in machine.fabric.nodes() {
        if let NodeKind::Device(device) = &node.kind {
            let product = device.product.as_deref()?;
            names.insert(of_product(product, device.memory_bytes?)?.name);
        }
    }
    let name = names.pop_first()?;
    // A second name is left if the devices differ.
    names.is_empty().then(|| name.to_owned())
}

/// A GPU instance, as the drivers tell of it.
struct FoundInstance {
    /// The vendor's number.
    number: u32,
    profile: ProfileId,
    /// The first memory slice, if the driver reports it to this user.
    start: Option<u8>,
    /// Its UUID, if one MIG device is all of it.
    uuid: Option<String>,
}

/// Gives the devices the layouts that were found. What cannot be understood is not given.
fn partition(loaded: &mut Loaded, found: &Discovered) -> Result<MigReport, Error> {
    let mut partitions = MigReport::default();
    let Some(state) = &found.state else {
        return Ok(partitions);
    };
    let mut by_device: BTreeMap<DeviceId, Vec<&MigInstance>> = BTreeMap::new();
    // A device in MIG mode without an instance has an entry too, an empty one.
    for &device in &state.partitioned {
        by_device.entry(device).or_default();
    }
    for mig_instance in &state.mig_instances {
        by_device
            .entry(mig_instance.device)
            .or_default()
            .push(mig_instance);
    }
    let graph = loaded.graph().clone();
    for (whole, told) in by_device {
        if told.is_empty() && graph.model(whole).is_some() {
            partitions.bare.push(whole);
        }
        let mut close = |device, why: String| {
            let cause = Cause::Occupied;
            partitions.closed.push(Withheld { device, cause, why });
        };
        if told.is_empty() {
            close(whole, "it is in MIG mode and has no instances".to_owned());
            continue;
        }
        let Some(model) = graph.model(whole) else {
            close(
                whole,
                "it is in MIG mode, and its profiles are not known: expected --mig GPU".to_owned(),
            );
            continue;
        };
        let placed = match placed(model, &told) {
            Ok(placed) => placed,
            Err(why) => {
                close(whole, format!("its instances are not understood: {why}"));
                continue;
            }
        };
        let instances: Vec<Instance> = placed.iter().map(|(instance, _)| *instance).collect();
        let layout: Layout = model.layout(&instances)?;
        loaded.idle.layout_is(whole, &layout)?;
        for id in graph.vertices(whole).iter() {
            let Some((_, instance)) = placed
                .iter()
                .find(|(instance, _)| graph.device(id).unit == Unit::Slice(*instance))
            else {
                continue;
            };
            partitions.numbers.insert((whole, instance.number), id);
            match &instance.uuid {
                Some(uuid) => drop(partitions.uuids.insert(id, uuid.clone())),
                None => close(
                    id,
                    "it is split into compute instances, or has none".to_owned(),
                ),
            }
        }
    }
    Ok(partitions)
}

/// The instances of a device with their places. Drivers report to privileged users alone where they lie; for
/// others any places will do, since instances are known by their UUIDs.
fn placed(model: &Model, told: &[&MigInstance]) -> Result<Vec<(Instance, FoundInstance)>, String> {
    let mut found: BTreeMap<u32, Vec<&MigInstance>> = BTreeMap::new();
    // Instances whose number this user may not see are distinguished by numbers from the top, which no driver
    // gives.
    for (instance, unknown) in told.iter().zip((0..=u32::MAX).rev()) {
        found
            .entry(instance.instance_id.unwrap_or(unknown))
            .or_default()
            .push(instance);
    }
    let mut all = Vec::new();
    for (number, devices) in found {
        let Some(first) = devices.first() else {
            continue;
        };
        // `1c.3g.20gb` is one compute slice of an instance `3g.20gb`.
        let (compute, profile) = match first.profile.split_once("c.") {
            Some((slices, rest)) if slices.parse::<u8>().is_ok() => (true, rest),
            _ => (false, first.profile.as_str()),
        };
        let all_of_it = devices.len() == 1 && !compute;
        all.push(FoundInstance {
            number,
            profile: model.find(profile).map_err(|error| error.to_string())?,
            start: first.placement.map(|(start, _)| start),
            uuid: first.uuid.clone().filter(|_| all_of_it),
        });
    }
    if all.iter().any(|result| result.start.is_none()) {
        let profiles: Vec<ProfileId> = all.iter().map(|result| result.profile).collect();
        let layout = model
            .fit(&profiles)
            .ok_or("these profiles do not fit on it together")?;
        let mut places: Vec<Instance> = layout.instances().to_vec();
        for result in &mut all {
            // A place that is taken leaves the list, so two instances of one profile get two places.
            let at = places
                .iter()
                .position(|place| place.profile == result.profile);
            result.start = at.map(|at| places.remove(at).start);
        }
    }
    let placed: Option<Vec<(Instance, FoundInstance)>> = all
        .into_iter()
        .map(|result| {
            let (profile, start) = (result.profile, result.start?);
            Some((Instance { profile, start }, result))
        })
        .collect();
    let placed = placed.ok_or("these profiles do not fit on it together")?;
    let instances: Vec<Instance> = placed.iter().map(|(instance, _)| *instance).collect();
    model
        .layout(&instances)
        .map_err(|error| error.to_string())?;
    Ok(placed)
}
