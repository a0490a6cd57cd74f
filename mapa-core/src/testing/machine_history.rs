//! Long histories of one machine, compared with simple books.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a check that fails panics"
)]

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::Index;

use super::demanding_patterns;
use crate::allocator::{Allocator, Snapshot};
use crate::ids::{LeaseId, MachineId, PortId};
use crate::mig::Layout;
use crate::pattern::{Demand, Pattern};
use crate::policy::{BuiltIn, Decision};
use crate::request::Request;
use crate::topology::{DeviceId, DeviceSet, HardwareGraph, Unit};
use crate::{Placement, Usage, View};

/// One step of a [`MachineHistory`]. Numbers and indices are taken modulo what is there; policies are numbered as in
/// [`BuiltIn::ALL`].
#[derive(Clone, Debug)]
pub enum MachineStep {
    /// Decide by some policy, for a job that is sensitive or not, and commit.
    Allocate(Pattern, usize, bool),
    /// Decide and keep the decision for later.
    Decide(Pattern, usize),
    /// Commit the decision that was kept.
    CommitKept,
    /// A lease ends.
    Release(Index),
    /// Decide without some lease, and commit: a move.
    Move(Index, usize),
    /// The device, and its requested layout: a repartition begins.
    Begin(Index, Option<Index>),
    /// The device, and the layout that it is reported to have.
    LayoutIs(Index, Option<Index>),
    /// The repartition in progress is done.
    Done(Index),
    /// A snapshot is written and read again; from here on the restored twin takes the same steps.
    Snapshot,
}

/// Steps of which devices fill up now and then.
pub fn machine_steps() -> impl Strategy<Value = MachineStep> {
    let policy = 0..BuiltIn::ALL.len();
    let layout = || {
        (
            any::<Index>(),
            proptest::option::weighted(0.8, any::<Index>()),
        )
    };
    prop_oneof![
        8 => (demanding_patterns(1..=3), policy.clone(), any::<bool>()).prop_map(|(p, i, s)| MachineStep::Allocate(p, i, s)),
        // Tasks that are easily placed, so that devices fill up.
        8 => (1u64..5, 1usize..=2, policy.clone()).prop_map(|(gib, ranks, i)| {
            let task = Demand::any().shared().memory(gib << 29).warps(3).pcie_gbps(gib as f64);
            MachineStep::Allocate(Pattern::independent(ranks).each(task), i, false)
        }),
        1 => (demanding_patterns(1..=2), policy.clone()).prop_map(|(pattern, i)| MachineStep::Decide(pattern, i)),
        1 => Just(MachineStep::CommitKept),
        7 => any::<Index>().prop_map(MachineStep::Release),
        2 => (any::<Index>(), policy).prop_map(|(lease, policy)| MachineStep::Move(lease, policy)),
        2 => layout().prop_map(|(whole, layout)| MachineStep::Begin(whole, layout)),
        3 => layout().prop_map(|(whole, layout)| MachineStep::LayoutIs(whole, layout)),
        2 => any::<Index>().prop_map(MachineStep::Done),
        1 => Just(MachineStep::Snapshot),
    ]
}

/// The books of a history: what was granted and reported, and nothing derived.
#[derive(Debug, Default)]
struct Books {
    leases: BTreeMap<LeaseId, (Pattern, Placement)>,
    layouts: BTreeMap<DeviceId, Layout>,
    changing: BTreeMap<DeviceId, Layout>,
    given: u64,
}

/// A machine's allocator beside simple books: leases in a list, from which everything else is computed after every step.
#[derive(Debug)]
pub struct MachineHistory {
    graph: Arc<HardwareGraph>,
    allocator: Allocator,
    twin: Option<Allocator>,
    kept: Option<Decision>,
    books: Books,
}

/// What the ranks on some vertices use together: tenants, exclusive ones, memory, warps, PCIe
/// traffic, PCIe-bound ones.
type Sums = (u32, u32, u64, u64, u64, u32);

impl Books {
    fn sums(&self, on: impl Fn(DeviceId) -> bool) -> Sums {
        let ranks = self
            .leases
            .values()
            .flat_map(|(pattern, placement)| pattern.demands().iter().zip(placement.iter()));
        ranks
            .filter(|(_, id)| on(**id))
            .fold((0, 0, 0, 0, 0, 0), |sum, (demand, _)| {
                (
                    sum.0 + 1,
                    sum.1 + u32::from(!demand.is_shared()),
                    sum.2 + demand.memory_bytes,
                    sum.3 + u64::from(demand.warps),
                    sum.4 + u64::from(demand.pcie_mb_s),
                    sum.5 + u32::from(demand.pcie_mb_s > 0),
                )
            })
    }

    fn present(&self, graph: &HardwareGraph) -> DeviceSet {
        let is_there = |id: &DeviceId| {
            let device = graph.device(*id);
            let in_layout = |layout: Option<&Layout>| match device.unit {
                Unit::Whole => layout.is_none_or(Layout::is_whole),
                Unit::Slice(instance) => layout.is_some_and(|layout| layout.has(instance)),
                _ => true,
            };
            let becoming = self.changing.get(&device.parent);
            in_layout(self.layouts.get(&device.parent))
                && (becoming.is_none() || in_layout(becoming))
        };
        graph.all().iter().filter(is_there).collect()
    }
}

fn sums(usage: &Usage) -> Sums {
    (
        usage.tenants,
        usage.exclusive,
        usage.memory_bytes,
        usage.warps,
        usage.pcie_mb_s,
        usage.pcie_tenants,
    )
}

impl MachineHistory {
    /// A machine without leases.
    #[must_use]
    pub fn new(graph: Arc<HardwareGraph>) -> Self {
        Self {
            allocator: Allocator::new(graph.clone()),
            graph,
            twin: None,
            kept: None,
            books: Books::default(),
        }
    }

    fn view(&self) -> View<'_> {
        self.allocator.view()
    }

    /// Takes the same step on the twin, if there is one, and checks that the outcome is the same.
    fn both<T: PartialEq + std::fmt::Debug, E: std::fmt::Display>(
        &mut self,
        act: impl Fn(&mut Allocator) -> Result<T, E>,
    ) -> Result<T, String> {
        let before = self.allocator.clone();
        let done = act(&mut self.allocator).map_err(|error| error.to_string());
        if done.is_err() {
            assert_eq!(self.allocator, before, "what is refused changes nothing");
        } else {
            assert!(self.allocator.view().stamp().generation > before.view().stamp().generation);
        }
        if let Some(twin) = &mut self.twin {
            assert_eq!(
                act(twin).map_err(|error| error.to_string()),
                done,
                "a restored state goes on identically"
            );
            assert_eq!(twin, &self.allocator);
        }
        done
    }

    fn whole(&self, index: Index) -> DeviceId {
        DeviceId(index.index(self.graph.wholes().len()) as u32)
    }

    fn layout(&self, whole: DeviceId, index: Option<Index>) -> Layout {
        let model = self.graph.model(whole).zip(index);
        let nth = model
            .and_then(|(model, index)| model.layouts().nth(index.index(model.layouts().len())));
        nth.unwrap_or_default()
    }

    fn lease(&self, index: Index) -> Option<LeaseId> {
        let held = self.books.leases.len();
        (held > 0).then(|| *self.books.leases.keys().nth(index.index(held)).unwrap())
    }

    /// Whether a layout has everything of a device that has a tenant.
    fn keeps_tenants(&self, whole: DeviceId, layout: &Layout) -> bool {
        let mut used = self
            .books
            .leases
            .values()
            .flat_map(|(_, placement)| placement.iter().copied());
        used.all(|id| match self.graph.device(id).unit {
            Unit::Slice(instance) => self.graph.device(id).parent != whole || layout.has(instance),
            _ => id != whole || layout.is_whole(),
        })
    }

    /// Takes a step. `copied` writes a snapshot and reads it again.
    ///
    /// # Panics
    /// If the allocator does not do what the books say.
    pub fn step(&mut self, step: &MachineStep, copied: impl Fn(&Snapshot) -> Snapshot) {
        match step.clone() {
            MachineStep::Allocate(pattern, index, sensitive) => {
                let request = Request::new(pattern.clone()).sensitive(sensitive);
                if let Ok(lease) =
                    self.both(|allocator| allocator.allocate(policy(index), &request))
                {
                    assert_eq!(
                        lease.id,
                        LeaseId(self.books.given),
                        "ids are never given twice"
                    );
                    assert_eq!(lease.placement.len(), pattern.len());
                    self.books.given += 1;
                    self.books
                        .leases
                        .insert(lease.id, (pattern, lease.placement));
                }
            }
            MachineStep::Decide(pattern, index) => {
                self.kept = self
                    .view()
                    .decide(policy(index), &Request::new(pattern))
                    .ok();
            }
            MachineStep::CommitKept => {
                if let Some(decision) = self.kept.clone() {
                    let stale = decision.stamp() != self.view().stamp();
                    let lease = self.both(|allocator| allocator.commit(decision.clone()));
                    assert_eq!(
                        lease.is_err(),
                        stale,
                        "only on the state on which it was made"
                    );
                    if let Ok(lease) = lease {
                        self.books.given += 1;
                        self.books
                            .leases
                            .insert(lease.id, (lease.pattern, lease.placement));
                    }
                }
            }
            MachineStep::Release(index) => {
                if let Some(id) = self.lease(index) {
                    let lease = self.both(|allocator| allocator.release(id)).unwrap();
                    assert_eq!(
                        self.books.leases.remove(&id),
                        Some((lease.pattern, lease.placement))
                    );
                    assert!(self.both(|allocator| allocator.release(id)).is_err());
                }
            }
            MachineStep::Move(index, by) => {
                if let Some(id) = self.lease(index) {
                    let request = Request::new(self.books.leases[&id].0.clone());
                    let what_if = self.allocator.without(id).unwrap();
                    if let Ok(decision) = what_if.view().decide(policy(by), &request) {
                        let lease = self
                            .both(|allocator| allocator.commit(decision.clone()))
                            .unwrap();
                        assert_eq!(lease.id, id, "a move keeps its lease");
                        self.books
                            .leases
                            .insert(id, (lease.pattern, lease.placement));
                    }
                }
            }
            MachineStep::Begin(whole, layout) => {
                let whole = self.whole(whole);
                let layout = self.layout(whole, layout);
                let may =
                    self.keeps_tenants(whole, &layout) && !self.books.changing.contains_key(&whole);
                let begun = self
                    .both(|allocator| allocator.begin_repartition(whole, layout.clone()).map(drop));
                assert_eq!(begun.is_ok(), may, "{begun:?}");
                if may {
                    self.books.changing.insert(whole, layout);
                }
            }
            MachineStep::LayoutIs(whole, layout) => {
                let whole = self.whole(whole);
                let layout = self.layout(whole, layout);
                self.told(whole, layout);
            }
            MachineStep::Done(whole) => {
                let whole = self.whole(whole);
                if let Some(layout) = self.books.changing.get(&whole).cloned() {
                    self.told(whole, layout);
                }
            }
            MachineStep::Snapshot => {
                let snapshot = copied(&self.allocator.snapshot());
                let restored =
                    Allocator::restore(MachineId(0), self.graph.clone(), snapshot).unwrap();
                assert_eq!(restored, self.allocator);
                self.twin = Some(restored);
            }
        }
    }

    /// Compares all that the allocator says of the machine with the books.
    ///
    /// # Panics
    /// If they differ.
    pub fn check(&self) {
        let Self {
            graph,
            books,
            allocator,
            ..
        } = self;
        let view = allocator.view();
        let held: Vec<_> = allocator
            .leases()
            .map(|lease| (lease.id, (lease.pattern.clone(), lease.placement.clone())))
            .collect();
        assert!(
            books.leases.clone().into_iter().eq(held),
            "no lease is lost or doubled"
        );
        let present = books.present(graph);
        assert_eq!(view.present(), &present);
        let mut free = DeviceSet::new();
        for (id, device) in (0u32..).map(DeviceId).zip(graph.devices()) {
            let here = books.sums(|other| other == id);
            assert_eq!(sums(view.usage(id)), here);
            assert!(
                here.1 == 0 || here.0 == 1,
                "a tenant that shares with nobody is alone"
            );
            assert!(
                here.2 == 0 || here.2 <= device.memory_bytes.unwrap(),
                "never more memory than there is"
            );
            assert!(
                here.0 == 0 || present.contains(id),
                "what has a tenant is there"
            );
            let beside = graph
                .overlap(id)
                .iter()
                .any(|other| present.contains(other));
            assert!(
                !(present.contains(id) && beside),
                "what is there at once does not overlap"
            );
            let on_it = books
                .leases
                .iter()
                .filter(|(_, (_, placement))| placement.contains(&id));
            let mut tenants = view.tenants(id).to_vec();
            tenants.sort_unstable();
            assert!(tenants.into_iter().eq(on_it.map(|(lease, _)| *lease)));
            if here.0 == 0 && present.contains(id) {
                free.insert(id);
            }
        }
        assert_eq!(view.free(), &free);
        let is_part = |id| matches!(graph.device(id).unit, Unit::Whole | Unit::Slice(_));
        for whole in graph.wholes().iter() {
            assert_eq!(
                sums(view.usage_of_whole(whole)),
                books.sums(|id| is_part(id) && graph.device(id).parent == whole)
            );
            assert_eq!(view.changing_to(whole), books.changing.get(&whole));
            assert_eq!(
                view.layout_of(whole),
                books.layouts.get(&whole).cloned().unwrap_or_default()
            );
        }
        for port in (0..4).map(PortId) {
            assert_eq!(
                sums(view.usage_of_port(port)),
                books.sums(|id| graph.device(id).port == Some(port))
            );
        }
        for numa in 0..2 {
            assert_eq!(
                sums(view.usage_of_numa(numa)),
                books.sums(|id| graph.device(id).numa == Some(numa))
            );
        }
    }

    fn told(&mut self, whole: DeviceId, layout: Layout) {
        let may = self.keeps_tenants(whole, &layout);
        let booked = self.both(|allocator| allocator.layout_is(whole, &layout).map(drop));
        assert_eq!(booked.is_ok(), may, "{booked:?}");
        if may {
            self.books.changing.remove(&whole);
            self.books.layouts.insert(whole, layout);
        }
    }
}

fn policy(index: usize) -> Box<dyn crate::Policy> {
    BuiltIn::named(BuiltIn::ALL[index].name).unwrap()
}
