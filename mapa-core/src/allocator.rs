//! The state of one machine: what is present and free, and who holds what.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::Hasher;
use std::sync::Arc;

use crate::error::{Error, ErrorKind};
use crate::matching::{Placement, Violation, verify};
use crate::mig::{Instance, Layout};
use crate::pattern::Pattern;
use crate::policy::{Decision, Policy, Refusal, Request};
use crate::state::State;
use crate::topology::{DeviceId, DeviceSet, HardwareGraph};
use crate::view::{MachineId, Stamp, View};

/// A lease of one allocator; never given twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct LeaseId(pub u64);

impl fmt::Display for LeaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Devices held by a job.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Lease {
    /// Its id.
    pub id: LeaseId,
    /// The device of each rank.
    pub placement: Placement,
    /// Who talks to whom on it.
    pub pattern: Pattern,
}

/// The state of one machine: what is present, who holds what. Decisions are made on its [`View`] and committed here; one made
/// on an older state is refused.
///
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
    state: State,
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
        let state = State::new(&graph);
        Self { id, graph, state, leases: BTreeMap::new(), generation: 0, lineage: 0, next_lease: 0 }
    }

    /// Which machine of a fleet it is.
    #[must_use]
    pub fn id(&self) -> MachineId {
        self.id
    }

    /// The machine.
    #[must_use]
    pub fn graph(&self) -> &Arc<HardwareGraph> {
        &self.graph
    }

    /// The state, read-only.
    #[must_use]
    pub fn view(&self) -> View<'_> {
        View::new(&self.graph, &self.state, self.stamp())
    }

    /// Which state this is.
    #[must_use]
    pub fn stamp(&self) -> Stamp {
        let fingerprint = self.graph.fingerprint();
        let (generation, lineage) = (self.generation, self.lineage);
        Stamp { machine: self.id, fingerprint, generation, lineage, vacated: None, imagined: false }
    }

    /// Counts a change, and adds it to the hash of all.
    fn changed(&mut self, change: Change<'_>) {
        let mut hash = fnv::FnvHasher::with_key(self.lineage);
        let mut write = |number: u64| hash.write(&number.to_le_bytes());
        let mut write_layout = |kind: u64, whole: DeviceId, layout: &Layout| {
            [kind, whole.0.into(), u64::from(layout.is_whole())].into_iter().for_each(&mut write);
            layout.instances().iter().for_each(|i| write(u64::from(i.start) << 8 | u64::from(i.profile.0)));
        };
        match change {
            Change::Begin(whole, layout) => write_layout(0, whole, layout),
            Change::Layout(whole, layout) => write_layout(1, whole, layout),
            Change::Release(lease) => [2, lease.0].into_iter().for_each(write),
            Change::Book(lease) => {
                [3, lease.id.0].into_iter().for_each(&mut write);
                for (id, demand) in lease.placement.iter().zip(lease.pattern.demands()) {
                    [id.0.into(), demand.memory_bytes, demand.warps.into(), demand.pcie_mb_s.into()]
                        .into_iter()
                        .for_each(&mut write);
                    write(u64::from(demand.is_shared()));
                }
            }
        }
        self.lineage = hash.finish();
        self.generation += 1;
    }

    /// The state as if one lease were gone. A decision on its view, committed here, replaces that lease: a move.
    ///
    /// # Errors
    /// A lease that is not held.
    pub fn without(&self, lease: LeaseId) -> Result<WhatIf, Error> {
        let gone = self.leases.get(&lease).ok_or(ErrorKind::UnknownLease(lease.0))?;
        let mut state = self.state.clone();
        state.release(&self.graph, lease, &gone.pattern, &gone.placement);
        Ok(WhatIf { graph: self.graph.clone(), state, stamp: Stamp { vacated: Some(lease), ..self.stamp() } })
    }

    /// A lease held.
    #[must_use]
    pub fn lease(&self, lease: LeaseId) -> Option<&Lease> {
        self.leases.get(&lease)
    }

    /// The leases held, by id.
    pub fn leases(&self) -> impl Iterator<Item = &Lease> {
        self.leases.values()
    }

    /// Decides and commits.
    ///
    /// # Errors
    /// The policy's refusal; `Busy` if the policy answers with a decision that is for another job ([`Decision::answers`]) or
    /// cannot be committed: [`Reason::Stale`](crate::Reason::Stale) if it was not made on the present state, else what is wrong.
    pub fn allocate(&mut self, policy: impl Policy, request: &Request) -> Result<Lease, Refusal> {
        let decision = policy.decide(request, &self.view())?;
        decision.answers(request, &self.graph)?;
        self.commit(decision).map_err(Refusal::from_commit)
    }

    /// Makes a decision the state. A decision made [without](Allocator::without) some lease replaces that lease and keeps
    /// its id.
    ///
    /// # Errors
    /// A decision made on another machine, on an imagined state, or before the state last changed; a device that has no
    /// room. Nothing is changed then.
    pub fn commit(&mut self, decision: Decision) -> Result<Lease, Error> {
        let stamp = decision.stamp();
        if stamp.imagined {
            return Err(ErrorKind::Imagined.into());
        }
        if stamp.machine != self.id || stamp.fingerprint != self.graph.fingerprint() {
            return Err(ErrorKind::OtherMachine.into());
        }
        if stamp.generation != self.generation {
            return Err(ErrorKind::Stale { decision: stamp.generation, current: self.generation }.into());
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
            self.state.release(&self.graph, gone.id, &gone.pattern, &gone.placement);
        }
        let id = vacated.map_or(LeaseId(self.next_lease), |gone| gone.id);
        self.next_lease = self.next_lease.max(id.0 + 1);
        let lease = Lease { id, placement: decision.placement().clone(), pattern: decision.pattern().clone() };
        self.changed(Change::Book(&lease));
        self.state.book(&self.graph, lease.id, &lease.pattern, &lease.placement);
        self.leases.insert(lease.id, lease.clone());
        Ok(lease)
    }

    /// That there is room for a decision, whoever made it.
    fn check(&self, view: &View<'_>, decision: &Decision) -> Result<(), Error> {
        let found = verify(decision.pattern(), view, self.graph.everything(), decision.placement());
        found.map_err(|violation| match violation {
            Violation::NotAllowed { device, .. } => ErrorKind::InUse(device).into(),
            other => ErrorKind::NoRoom(other.to_string()).into(),
        })
    }

    /// Gives the devices of a lease back.
    ///
    /// # Errors
    /// A lease that is not held: never given, or released before.
    pub fn release(&mut self, lease: LeaseId) -> Result<Lease, Error> {
        let lease = self.leases.remove(&lease).ok_or(ErrorKind::UnknownLease(lease.0))?;
        self.changed(Change::Release(lease.id));
        self.state.release(&self.graph, lease.id, &lease.pattern, &lease.placement);
        Ok(lease)
    }

    /// Begins to cut a device up anew (or to make it whole again). Until [`Allocator::layout_is`] says that it is done,
    /// what is in both layouts stays present; the rest of the device is not there. Leases elsewhere are not touched.
    ///
    /// # Errors
    /// A device that is not whole or cannot be cut up; a layout of another model; a tenant on something that the layout
    /// does not have; a change under way. Nothing is changed then.
    pub fn begin_repartition(&mut self, whole: DeviceId, layout: Layout) -> Result<(), Error> {
        if self.state.changing().contains_key(&whole) {
            return Err(ErrorKind::Changing(whole).into());
        }
        let next = self.graph.vertices_in(whole, &layout)?;
        self.keeps_tenants(whole, &next)?;
        let now = self.state.layout(whole);
        let there = &self.graph.vertices_in(whole, &now)? & &next;
        self.changed(Change::Begin(whole, &layout));
        self.state.set_layout(&self.graph, whole, now, Some(layout), &there);
        Ok(())
    }

    /// The fact that a device is now cut up so: a change that was begun is done, or has ended otherwise, or somebody
    /// else has made one. What is present follows; leases elsewhere are not touched.
    ///
    /// # Errors
    /// A device that is not whole or cannot be cut up; a layout of another model; a tenant on something that is gone: end
    /// its lease first. Nothing is changed then.
    pub fn layout_is(&mut self, whole: DeviceId, layout: &Layout) -> Result<(), Error> {
        let there = self.graph.vertices_in(whole, layout)?;
        self.keeps_tenants(whole, &there)?;
        self.changed(Change::Layout(whole, layout));
        self.state.set_layout(&self.graph, whole, layout.clone(), None, &there);
        Ok(())
    }

    /// That nothing with a tenant vanishes.
    fn keeps_tenants(&self, whole: DeviceId, there: &DeviceSet) -> Result<(), Error> {
        let lost = &self.state.in_use(&self.graph, whole) - there;
        match lost.first().map(|device| (device, self.state.tenants(device))) {
            None => Ok(()),
            Some((device, leases)) => {
                let lease = leases.first().copied().unwrap_or_default();
                Err(ErrorKind::TenantVanishes { device: self.graph.device(device).name.clone(), lease }.into())
            }
        }
    }

    /// The state as data: enough to go on identically elsewhere.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            version: Snapshot::VERSION,
            machine: self.graph.fingerprint(),
            generation: self.generation,
            lineage: self.lineage,
            next_lease: self.next_lease,
            layouts: self.layouts().collect(),
            leases: self.leases.values().cloned().collect(),
        }
    }

    /// The devices that are cut up, or being cut up anew.
    fn layouts(&self) -> impl Iterator<Item = Cut> + '_ {
        let instances = |layout: &Layout| (!layout.is_whole()).then(|| layout.instances().to_vec());
        self.graph.wholes().iter().collect::<Vec<_>>().into_iter().filter_map(move |device| {
            let now = instances(&self.state.layout(device));
            let next = self.state.changing().get(&device).map(instances);
            (now.is_some() || next.is_some()).then_some(Cut { device, now, next })
        })
    }

    /// The allocator that a snapshot was taken of. Every layout and every lease is checked anew.
    ///
    /// # Errors
    /// A snapshot of another machine or version; layouts that are not legal; leases for which there is no room, that share
    /// an id, or do not fit their pattern.
    pub fn restore(id: MachineId, graph: Arc<HardwareGraph>, snapshot: Snapshot) -> Result<Self, Error> {
        let bad = |what: String| Error::from(ErrorKind::BadSnapshot(what));
        if snapshot.version != Snapshot::VERSION {
            return Err(bad(format!("version {}: expected {}", snapshot.version, Snapshot::VERSION)));
        }
        if snapshot.machine != graph.fingerprint() {
            return Err(ErrorKind::OtherMachine.into());
        }
        if snapshot.generation.max(snapshot.next_lease) > Snapshot::MOST_CHANGES {
            return Err(bad(format!("more than {} changes", Snapshot::MOST_CHANGES)));
        }
        let mut allocator = Self::with_id(id, graph);
        for cut in &snapshot.layouts {
            let layout = |instances: &Option<Vec<Instance>>| match (instances, allocator.graph.model(cut.device)) {
                (None, _) => Ok(Layout::whole()),
                (Some(instances), Some(model)) => model.layout(instances),
                (Some(_), None) => Err(ErrorKind::CannotBeCut(cut.device).into()),
            };
            let what = |error: Error| bad(format!("layout of device {}: {error}", cut.device));
            let now = layout(&cut.now).map_err(what)?;
            let next = cut.next.as_ref().map(layout).transpose().map_err(what)?;
            allocator.layout_is(cut.device, &now).map_err(what)?;
            if let Some(next) = next {
                allocator.begin_repartition(cut.device, next).map_err(what)?;
            }
        }
        for lease in snapshot.leases {
            if lease.id.0 >= snapshot.next_lease {
                return Err(bad(format!("lease {}: expected ids below {}", lease.id, snapshot.next_lease)));
            }
            verify(&lease.pattern, &allocator.view(), allocator.graph.everything(), &lease.placement)
                .map_err(|violation| bad(format!("lease {}: {violation}", lease.id)))?;
            allocator.state.book(&allocator.graph, lease.id, &lease.pattern, &lease.placement);
            if let Some(twice) = allocator.leases.insert(lease.id, lease) {
                return Err(bad(format!("lease {} is there twice", twice.id)));
            }
        }
        allocator.generation = snapshot.generation;
        allocator.lineage = snapshot.lineage;
        allocator.next_lease = snapshot.next_lease;
        Ok(allocator)
    }
}

/// The state of an [`Allocator`] as data.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Snapshot {
    version: u32,
    machine: u64,
    generation: u64,
    lineage: u64,
    next_lease: u64,
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    layouts: Vec<Cut>,
    leases: Vec<Lease>,
}

/// What happens to a state.
enum Change<'a> {
    Begin(DeviceId, &'a Layout),
    Layout(DeviceId, &'a Layout),
    Release(LeaseId),
    Book(&'a Lease),
}

/// A device that is cut up; `None` stands for whole.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
struct Cut {
    device: DeviceId,
    now: Option<Vec<Instance>>,
    /// What it is becoming, if anything.
    #[cfg_attr(feature = "serde", serde(default, with = "becoming"))]
    next: Option<Option<Vec<Instance>>>,
}

/// Nothing said and "whole" are two things: a list of at most one.
#[cfg(feature = "serde")]
mod becoming {
    use super::Instance;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    type Next = Option<Option<Vec<Instance>>>;

    pub(super) fn serialize<S: Serializer>(next: &Next, serializer: S) -> Result<S::Ok, S::Error> {
        next.iter().collect::<Vec<_>>().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Next, D::Error> {
        Ok(Vec::<Option<Vec<Instance>>>::deserialize(deserializer)?.pop())
    }
}

/// A state in which one lease is gone: made by [`Allocator::without`].
#[derive(Clone, Debug)]
pub struct WhatIf {
    graph: Arc<HardwareGraph>,
    state: State,
    stamp: Stamp,
}

impl WhatIf {
    /// The state, read-only. Decisions on it replace the lease.
    #[must_use]
    pub fn view(&self) -> View<'_> {
        View::new(&self.graph, &self.state, self.stamp)
    }
}

impl Snapshot {
    const VERSION: u32 = 1;
    /// Room enough for counting on: at a billion changes a second, for centuries.
    const MOST_CHANGES: u64 = u64::MAX / 2;
}
