//! The state of one machine: what is free, and who holds what.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::error::{Error, ErrorKind};
use crate::matching::{Placement, verify};
use crate::pattern::Pattern;
use crate::policy::{Decision, Policy, Reason, Refusal, Request};
use crate::topology::{DeviceSet, HardwareGraph};
use crate::view::{MachineId, Stamp, View};

/// A lease of one allocator; never given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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

/// The state of one machine. Decisions are made on its [`View`] and committed here; one made on an older state is
/// refused.
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
    free: DeviceSet,
    leases: BTreeMap<LeaseId, Lease>,
    generation: u64,
    next_lease: u64,
}

impl Allocator {
    /// An idle machine.
    #[must_use]
    pub fn new(graph: Arc<HardwareGraph>) -> Self {
        Self::with_id(MachineId::default(), graph)
    }

    /// An idle machine of a fleet.
    #[must_use]
    pub fn with_id(id: MachineId, graph: Arc<HardwareGraph>) -> Self {
        Self { id, free: graph.all(), graph, leases: BTreeMap::new(), generation: 0, next_lease: 0 }
    }

    /// The machine.
    #[must_use]
    pub fn graph(&self) -> &Arc<HardwareGraph> {
        &self.graph
    }

    /// The state, read-only.
    #[must_use]
    pub fn view(&self) -> View<'_> {
        let fingerprint = self.graph.fingerprint();
        let stamp = Stamp { machine: self.id, fingerprint, generation: self.generation, imagined: false };
        View::new(&self.graph, &self.free, stamp)
    }

    /// The leases held, by id.
    pub fn leases(&self) -> impl Iterator<Item = &Lease> {
        self.leases.values()
    }

    /// Decides and commits.
    ///
    /// # Errors
    /// The policy's refusal; `Busy` if the policy answers with a decision that is not one on the present state.
    pub fn allocate(&mut self, policy: impl Policy, request: &Request) -> Result<Lease, Refusal> {
        let decision = policy.decide(request, &self.view())?;
        self.commit(decision).map_err(|error| Refusal::Busy(Reason::Rule(error.to_string().into())))
    }

    /// Makes a decision the state.
    ///
    /// # Errors
    /// A decision made on another machine, on an imagined state, or before the state last changed; a device in use.
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
        if let Some(&device) = decision.placement().iter().find(|&&device| !self.free.contains(device)) {
            return Err(ErrorKind::InUse(device).into());
        }
        Ok(self.book(decision.pattern().clone(), decision.placement().clone()))
    }

    fn book(&mut self, pattern: Pattern, placement: Placement) -> Lease {
        let lease = Lease { id: LeaseId(self.next_lease), placement, pattern };
        self.next_lease += 1;
        self.generation += 1;
        self.free = &self.free - &lease.placement.set();
        self.leases.insert(lease.id, lease.clone());
        lease
    }

    /// Gives the devices of a lease back.
    ///
    /// # Errors
    /// A lease that is not held: never given, or released before.
    pub fn release(&mut self, lease: LeaseId) -> Result<Lease, Error> {
        let lease = self.leases.remove(&lease).ok_or(ErrorKind::UnknownLease(lease.0))?;
        self.generation += 1;
        self.free = &self.free | &lease.placement.set();
        Ok(lease)
    }

    /// The state as data: enough to go on identically elsewhere.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            version: Snapshot::VERSION,
            machine: self.graph.fingerprint(),
            generation: self.generation,
            next_lease: self.next_lease,
            leases: self.leases.values().cloned().collect(),
        }
    }

    /// The allocator that a snapshot was taken of. Every lease is checked anew.
    ///
    /// # Errors
    /// A snapshot of another machine or version; leases that share a device, an id, or do not fit their pattern.
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
        for lease in snapshot.leases {
            if lease.id.0 >= snapshot.next_lease {
                return Err(bad(format!("lease {}: expected ids below {}", lease.id, snapshot.next_lease)));
            }
            verify(&lease.pattern, &allocator.graph, &allocator.free, &lease.placement)
                .map_err(|violation| bad(format!("lease {}: {violation}", lease.id)))?;
            allocator.free = &allocator.free - &lease.placement.set();
            if let Some(twice) = allocator.leases.insert(lease.id, lease) {
                return Err(bad(format!("lease {} is there twice", twice.id)));
            }
        }
        allocator.generation = snapshot.generation;
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
    next_lease: u64,
    leases: Vec<Lease>,
}

impl Snapshot {
    const VERSION: u32 = 1;
    /// Room enough for counting on: at a billion changes a second, for centuries.
    const MOST_CHANGES: u64 = u64::MAX / 2;
}
