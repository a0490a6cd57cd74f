//! The allocator: the leases and layouts of one machine, and their snapshots.

use std::collections::BTreeMap;
use std::hash::Hasher;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::error::{Error, ErrorKind};
use crate::ids::{DeviceId, LeaseId, MachineId};
use crate::matching::{Placement, Violation, verify};
use crate::mig::{Instance, Layout};
use crate::pattern::Pattern;
use crate::policy::{Decision, Policy, Refusal};
use crate::request::Request;
use crate::state::AllocationState;
use crate::topology::{DeviceSet, HardwareGraph};
use crate::view::{Stamp, View};

/// The devices that a job holds.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct Lease {
    /// The id of the lease.
    pub id: LeaseId,
    /// The device of each rank.
    pub placement: Placement,
    /// The pattern of the job: which ranks communicate, and what each demands.
    pub pattern: Pattern,
}

/// The state of one machine: its present devices and instances, and its leases. Policies decide on
/// its [`View`], and their decisions are committed here. A decision made on an older state is
/// refused.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use mapa_core::{Allocator, Fabric, LinkClass, Pattern, Request, lowest_id};
///
/// let mut fabric = Fabric::new();
/// let [a, b] = [fabric.add_device("GPU0")?, fabric.add_device("GPU1")?];
/// fabric.link(a, b, LinkClass::Direct(1), 25.0)?;
/// let mut allocator = Allocator::new(Arc::new(fabric.lower()?));
///
/// let request = Request::new(Pattern::ring(2));
/// let decision = allocator.view().decide(lowest_id(), &request)?;
/// let late = decision.clone();
/// let lease = allocator.commit(decision)?;
/// assert!(allocator.commit(late).unwrap_err().is_stale());
/// allocator.release(lease.id)?;
/// assert_eq!(allocator.view().free().len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Allocator {
    id: MachineId,
    graph: Arc<HardwareGraph>,
    state: AllocationState,
    leases: BTreeMap<LeaseId, Lease>,
    generation: u64,
    lineage: u64,
    next_lease: u64,
}

impl Allocator {
    /// An idle machine, every device whole.
    #[must_use]
    pub fn new(graph: Arc<HardwareGraph>) -> Self {
        Self::with_id(MachineId::default(), graph)
    }

    /// An idle machine of a fleet, every device whole.
    #[must_use]
    pub fn with_id(id: MachineId, graph: Arc<HardwareGraph>) -> Self {
        let state = AllocationState::new(&graph);
        Self {
            id,
            graph,
            state,
            leases: BTreeMap::new(),
            generation: 0,
            lineage: 0,
            next_lease: 0,
        }
    }

    /// The machine's id in its fleet.
    #[must_use]
    pub fn id(&self) -> MachineId {
        self.id
    }

    /// The machine's graph.
    #[must_use]
    pub fn graph(&self) -> &Arc<HardwareGraph> {
        &self.graph
    }

    /// A read-only view of the state.
    #[must_use]
    pub fn view(&self) -> View<'_> {
        View::new(&self.graph, &self.state, self.stamp())
    }

    /// The stamp of the present state, as decisions on it carry it.
    #[must_use]
    pub fn stamp(&self) -> Stamp {
        let fingerprint = self.graph.fingerprint();
        let (generation, lineage) = (self.generation, self.lineage);
        Stamp {
            machine: self.id,
            fingerprint,
            generation,
            lineage,
            vacated: None,
            imagined: false,
        }
    }

    /// Counts a change, and adds it to the hash of all changes.
    fn changed(&mut self, change: StateChange<'_>) {
        let mut hash = fnv::FnvHasher::with_key(self.lineage);
        let mut write = |number: u64| hash.write(&number.to_le_bytes());
        let mut write_layout = |kind: u64, whole: DeviceId, layout: &Layout| {
            [kind, whole.0.into(), u64::from(layout.is_whole())]
                .into_iter()
                .for_each(&mut write);
            layout
                .instances()
                .iter()
                .for_each(|i| write(u64::from(i.start) << 8 | u64::from(i.profile.0)));
        };
        match change {
            StateChange::Begin(whole, layout) => write_layout(0, whole, layout),
            StateChange::Layout(whole, layout) => write_layout(1, whole, layout),
            StateChange::Cordon(whole, cordoned) => [4, whole.0.into(), u64::from(cordoned)]
                .into_iter()
                .for_each(write),
            StateChange::Release(lease) => [2, lease.0].into_iter().for_each(write),
            StateChange::Book(lease) => {
                [3, lease.id.0].into_iter().for_each(&mut write);
                for (id, demand) in lease.placement.iter().zip(lease.pattern.demands()) {
                    [
                        id.0.into(),
                        demand.memory_bytes,
                        demand.warps.into(),
                        demand.pcie_mb_s.into(),
                    ]
                    .into_iter()
                    .for_each(&mut write);
                    write(u64::from(demand.is_shared()));
                }
            }
        }
        self.lineage = hash.finish();
        self.generation += 1;
    }

    /// The state with one lease removed. A decision on its view, committed here, replaces that
    /// lease: a move.
    ///
    /// # Errors
    /// If the lease is not held.
    pub fn without(&self, lease: LeaseId) -> Result<WhatIf, Error> {
        let gone = self
            .leases
            .get(&lease)
            .ok_or(ErrorKind::UnknownLease(lease.0))?;
        let mut state = self.state.clone();
        state.release(&self.graph, lease, &gone.pattern, &gone.placement);
        Ok(WhatIf {
            graph: self.graph.clone(),
            state,
            stamp: Stamp {
                vacated: Some(lease),
                ..self.stamp()
            },
        })
    }

    /// The lease with this id, if it is held.
    #[must_use]
    pub fn lease(&self, lease: LeaseId) -> Option<&Lease> {
        self.leases.get(&lease)
    }

    /// The leases held, in the order of their ids.
    pub fn leases(&self) -> impl Iterator<Item = &Lease> {
        self.leases.values()
    }

    /// Decides by `policy` and commits the decision.
    ///
    /// # Errors
    /// The policy's refusal. `Busy` if the policy returns a decision for another job
    /// ([`Decision::answers`]), or one that cannot be committed: with
    /// [`Reason::Stale`](crate::Reason::Stale) if it was not made on the present state, otherwise
    /// with the error's message.
    pub fn allocate(&mut self, policy: impl Policy, request: &Request) -> Result<Lease, Refusal> {
        let decision = policy.decide(request, &self.view())?;
        decision.answers(request, &self.graph)?;
        self.commit(decision).map_err(Refusal::from_commit)
    }

    /// Turns a decision into a lease. A decision made [without](Allocator::without) some lease
    /// replaces that lease and keeps its id.
    ///
    /// # Errors
    /// If the decision was made on another machine, on an imagined state or on an older state, or
    /// if a device has no room. Then the state is unchanged.
    pub fn commit(&mut self, decision: Decision) -> Result<Lease, Error> {
        let stamp = decision.stamp();
        if stamp.imagined {
            return Err(ErrorKind::Imagined.into());
        }
        if stamp.machine != self.id || stamp.fingerprint != self.graph.fingerprint() {
            return Err(ErrorKind::OtherMachine.into());
        }
        if stamp.generation != self.generation {
            return Err(ErrorKind::Stale {
                decision: stamp.generation,
                current: self.generation,
            }
            .into());
        }
        if stamp.lineage != self.lineage {
            return Err(ErrorKind::OtherCopy.into());
        }
        match stamp.vacated {
            None => self.check(&self.view(), &decision)?,
            Some(lease) => self.check(&self.without(lease)?.view(), &decision)?,
        }
        let vacated = stamp.vacated.and_then(|lease| self.leases.remove(&lease));
        if let Some(gone) = &vacated {
            self.state
                .release(&self.graph, gone.id, &gone.pattern, &gone.placement);
        }
        let id = vacated.map_or(LeaseId(self.next_lease), |gone| gone.id);
        self.next_lease = self.next_lease.max(id.0 + 1);
        let lease = Lease {
            id,
            placement: decision.placement().clone(),
            pattern: decision.pattern().clone(),
        };
        self.changed(StateChange::Book(&lease));
        self.state
            .book(&self.graph, lease.id, &lease.pattern, &lease.placement);
        self.leases.insert(lease.id, lease.clone());
        Ok(lease)
    }

    /// Checks that there is room for a decision, whichever policy made it.
    fn check(&self, view: &View<'_>, decision: &Decision) -> Result<(), Error> {
        if !decision.is_of_use() && !self.graph.offers(decision.placement()) {
            let set = decision.placement().set();
            let what = format!("the machine does not offer the set {set}");
            return Err(ErrorKind::NoRoom(what).into());
        }
        let found = verify(
            decision.pattern(),
            view,
            self.graph.everything(),
            decision.placement(),
        );
        found.map_err(|violation| match violation {
            Violation::NotAllowed { device, .. } => ErrorKind::InUse(device).into(),
            other => ErrorKind::NoRoom(other.to_string()).into(),
        })
    }

    /// Ends a lease and frees its devices.
    ///
    /// # Errors
    /// If the lease is not held: it was never given, or is released already.
    pub fn release(&mut self, lease: LeaseId) -> Result<Lease, Error> {
        let lease = self
            .leases
            .remove(&lease)
            .ok_or(ErrorKind::UnknownLease(lease.0))?;
        self.changed(StateChange::Release(lease.id));
        self.state
            .release(&self.graph, lease.id, &lease.pattern, &lease.placement);
        Ok(lease)
    }

    /// Begins to repartition a device, or to make it whole again. Until [`Allocator::layout_is`]
    /// reports the new layout, only the instances in both layouts are present. Leases on other
    /// devices are not touched.
    ///
    /// # Errors
    /// If `whole` is not a whole device or cannot be partitioned, if the layout is of another model
    /// or lacks an instance that has a tenant, or if the device is being repartitioned already.
    /// Then the state is unchanged.
    pub fn begin_repartition(&mut self, whole: DeviceId, layout: Layout) -> Result<(), Error> {
        if self.state.changing().contains_key(&whole) {
            return Err(ErrorKind::Changing(whole).into());
        }
        let next = self.graph.vertices_in(whole, &layout)?;
        self.keeps_tenants(whole, &next)?;
        let now = self.state.layout(whole);
        let there = &self.graph.vertices_in(whole, &now)? & &next;
        self.changed(StateChange::Begin(whole, &layout));
        self.state
            .set_layout(&self.graph, whole, now, Some(layout), &there);
        Ok(())
    }

    /// Records that a device now has this layout. Call it when a repartition has succeeded or
    /// failed, or when something else has changed the layout. Exactly the instances of the layout,
    /// or the device itself if the layout is whole, are then present. Leases on other devices are not touched.
    ///
    /// # Errors
    /// If `whole` is not a whole device or cannot be partitioned, if the layout is of another
    /// model, or if it lacks an instance that has a tenant: release that lease first. Then the
    /// state is unchanged.
    pub fn layout_is(&mut self, whole: DeviceId, layout: &Layout) -> Result<(), Error> {
        let there = self.graph.vertices_in(whole, layout)?;
        self.keeps_tenants(whole, &there)?;
        self.changed(StateChange::Layout(whole, layout));
        self.state
            .set_layout(&self.graph, whole, layout.clone(), None, &there);
        Ok(())
    }

    /// Cordons a device, or lifts its cordon. A cordoned device and its instances get no new
    /// tenants; whoever is there stays. A request that only a cordoned device can meet is busy, not
    /// infeasible, since a cordon can be lifted.
    ///
    /// # Errors
    /// If `whole` is not a whole device. Then the state is unchanged.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use mapa_core::{Allocator, DeviceId, Fabric, Pattern, Request, lowest_id};
    ///
    /// let mut fabric = Fabric::new();
    /// fabric.add_device("GPU0")?;
    /// let mut allocator = Allocator::new(Arc::new(fabric.lower()?));
    /// allocator.cordon(DeviceId(0), true)?;
    /// let job = Request::new(Pattern::ring(1));
    /// assert_eq!(allocator.allocate(lowest_id(), &job).unwrap_err().kind(), "busy");
    /// allocator.cordon(DeviceId(0), false)?;
    /// assert!(allocator.allocate(lowest_id(), &job).is_ok());
    /// # Ok::<(), mapa_core::Error>(())
    /// ```
    pub fn cordon(&mut self, whole: DeviceId, cordoned: bool) -> Result<(), Error> {
        if !self.graph.wholes().contains(whole) {
            return Err(ErrorKind::NotWhole(whole).into());
        }
        self.changed(StateChange::Cordon(whole, cordoned));
        self.state.cordon(&self.graph, whole, cordoned);
        Ok(())
    }

    /// The cordoned devices.
    #[must_use]
    pub fn cordoned(&self) -> DeviceSet {
        &self.graph.wholes() & self.state.cordoned()
    }

    /// Checks that everything with a tenant is in `there`, the new layout.
    fn keeps_tenants(&self, whole: DeviceId, there: &DeviceSet) -> Result<(), Error> {
        let lost = &self.state.in_use(&self.graph, whole) - there;
        match lost
            .first()
            .map(|device| (device, self.state.tenants(device)))
        {
            None => Ok(()),
            Some((device, leases)) => {
                let lease = leases.first().copied().unwrap_or_default();
                Err(ErrorKind::TenantVanishes {
                    device: self.graph.device(device).name.clone(),
                    lease,
                }
                .into())
            }
        }
    }

    /// The state as data. An allocator restored from it continues identically.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            version: Snapshot::VERSION,
            machine: self.graph.fingerprint(),
            generation: self.generation,
            lineage: self.lineage,
            next_lease: self.next_lease,
            layouts: self.layouts(),
            cordoned: self.cordoned().iter().collect(),
            leases: self.leases.values().cloned().collect(),
        }
    }

    /// The devices that are partitioned, or are being repartitioned.
    fn layouts(&self) -> Vec<Cut> {
        let mut cuts = Vec::new();
        for device in self.graph.wholes().iter() {
            let now = SavedPartition::of(&self.state.layout(device));
            let next = self.state.changing().get(&device).map(SavedPartition::of);
            if now != SavedPartition::Whole || next.is_some() {
                let next = next.into_iter().collect();
                cuts.push(Cut { device, now, next });
            }
        }
        cuts
    }

    /// Restores the allocator from a snapshot. Every layout and every lease is checked again.
    ///
    /// # Errors
    /// If the snapshot is of another machine or version, if a layout is not legal, or if leases
    /// have no room, share an id, or do not fit their pattern.
    pub fn restore(
        id: MachineId,
        graph: Arc<HardwareGraph>,
        snapshot: Snapshot,
    ) -> Result<Self, Error> {
        let bad = |what: String| Error::from(ErrorKind::BadSnapshot(what));
        if snapshot.version != Snapshot::VERSION {
            return Err(bad(format!(
                "version {}: expected {}",
                snapshot.version,
                Snapshot::VERSION
            )));
        }
        if snapshot.machine != graph.fingerprint() {
            return Err(ErrorKind::OtherMachine.into());
        }
        if snapshot.generation.max(snapshot.next_lease) > Snapshot::MOST_CHANGES {
            return Err(bad(format!(
                "expected at most {} changes and leases",
                Snapshot::MOST_CHANGES
            )));
        }
        let mut allocator = Self::with_id(id, graph);
        for cut in &snapshot.layouts {
            let what = |error: Error| bad(format!("layout of device {}: {error}", cut.device));
            let now = cut.now.layout(&allocator.graph, cut.device).map_err(what)?;
            let next = match cut.next.last() {
                Some(next) => Some(next.layout(&allocator.graph, cut.device).map_err(what)?),
                None => None,
            };
            allocator.layout_is(cut.device, &now).map_err(what)?;
            if let Some(next) = next {
                allocator
                    .begin_repartition(cut.device, next)
                    .map_err(what)?;
            }
        }
        for lease in snapshot.leases {
            if lease.id.0 >= snapshot.next_lease {
                return Err(bad(format!(
                    "lease {}: expected ids below {}",
                    lease.id, snapshot.next_lease
                )));
            }
            verify(
                &lease.pattern,
                &allocator.view(),
                allocator.graph.everything(),
                &lease.placement,
            )
            .map_err(|violation| bad(format!("lease {}: {violation}", lease.id)))?;
            allocator
                .state
                .book(&allocator.graph, lease.id, &lease.pattern, &lease.placement);
            if let Some(twice) = allocator.leases.insert(lease.id, lease) {
                return Err(bad(format!(
                    "lease {} is listed twice: expected each id once",
                    twice.id
                )));
            }
        }
        // Leases are checked before, since a cordoned device keeps those that it has.
        for device in snapshot.cordoned {
            allocator
                .cordon(device, true)
                .map_err(|error| bad(format!("cordoned device {device}: {error}")))?;
        }
        allocator.generation = snapshot.generation;
        allocator.lineage = snapshot.lineage;
        allocator.next_lease = snapshot.next_lease;
        Ok(allocator)
    }
}

/// The state of an [`Allocator`] as data.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct Snapshot {
    version: u32,
    machine: u64,
    generation: u64,
    lineage: u64,
    next_lease: u64,
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Vec::is_empty")
    )]
    layouts: Vec<Cut>,
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Vec::is_empty")
    )]
    cordoned: Vec<DeviceId>,
    leases: Vec<Lease>,
}

/// A change of the state.
enum StateChange<'a> {
    Begin(DeviceId, &'a Layout),
    Layout(DeviceId, &'a Layout),
    Cordon(DeviceId, bool),
    Release(LeaseId),
    Book(&'a Lease),
}

/// A device that is partitioned, or is being repartitioned.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
struct Cut {
    device: DeviceId,
    #[cfg_attr(feature = "serde", serde(default))]
    now: SavedPartition,
    /// The next layout while the device is being repartitioned. In files a list of at most one,
    /// since `null` stands for a whole device.
    #[cfg_attr(feature = "serde", serde(default))]
    next: SmallVec<[SavedPartition; 1]>,
}

/// A layout as data. In files: `null` for a whole device, or a list of instances.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(from = "Option<Vec<Instance>>", into = "Option<Vec<Instance>>")
)]
enum SavedPartition {
    /// Not partitioned.
    #[default]
    Whole,
    /// Partitioned into these instances.
    Into(Vec<Instance>),
}

impl SavedPartition {
    fn of(layout: &Layout) -> Self {
        if layout.is_whole() {
            Self::Whole
        } else {
            Self::Into(layout.instances().to_vec())
        }
    }

    /// This partition as a layout of the device's model.
    fn layout(&self, graph: &HardwareGraph, device: DeviceId) -> Result<Layout, Error> {
        match (self, graph.model(device)) {
            (Self::Whole, _) => Ok(Layout::whole()),
            (Self::Into(instances), Some(model)) => model.layout(instances),
            (Self::Into(_), None) => Err(ErrorKind::CannotBeCut(device).into()),
        }
    }
}

#[cfg(feature = "serde")]
impl From<Option<Vec<Instance>>> for SavedPartition {
    fn from(instances: Option<Vec<Instance>>) -> Self {
        instances.map_or(Self::Whole, Self::Into)
    }
}

#[cfg(feature = "serde")]
impl From<SavedPartition> for Option<Vec<Instance>> {
    fn from(partition: SavedPartition) -> Self {
        match partition {
            SavedPartition::Whole => None,
            SavedPartition::Into(instances) => Some(instances),
        }
    }
}

/// A state with one lease removed. Made by [`Allocator::without`].
#[derive(Clone, Debug)]
pub struct WhatIf {
    graph: Arc<HardwareGraph>,
    state: AllocationState,
    stamp: Stamp,
}

impl WhatIf {
    /// A read-only view of the state. Decisions on it replace the lease.
    #[must_use]
    pub fn view(&self) -> View<'_> {
        View::new(&self.graph, &self.state, self.stamp)
    }
}

impl Snapshot {
    const VERSION: u32 = 1;
    /// The highest accepted counter. It leaves room for counting on: at a billion changes a second,
    /// for centuries.
    const MOST_CHANGES: u64 = u64::MAX / 2;
}
