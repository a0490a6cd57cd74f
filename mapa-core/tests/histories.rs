//! Long histories of one machine, compared with simple books: leases in a list, from which
//! everything else is computed after every step.

use std::collections::BTreeMap;
use std::sync::Arc;

use mapa_core::mig::Layout;
use mapa_core::testing::{cut_machines, demanding_patterns};
use mapa_core::{
    Allocator, BuiltIn, Decision, Demand, DeviceId, DeviceSet, HardwareGraph, LeaseId, MachineId,
    Pattern, Placement, PortId, Request, Unit, View,
};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};

#[derive(Clone, Debug)]
enum Step {
    /// Decide by some policy, and commit.
    Allocate(Pattern, usize, bool),
    /// Decide and keep the decision for later.
    Decide(Pattern, usize),
    /// Commit the decision that was kept.
    CommitKept,
    Release(Index),
    /// Decide without some lease, and commit: a move.
    Move(Index, usize),
    /// The device, and its requested layout.
    Begin(Index, Option<Index>),
    LayoutIs(Index, Option<Index>),
    /// The repartition in progress is done.
    Done(Index),
    /// To JSON and back; from here on the restored twin takes the same steps.
    Snapshot,
}

/// The machine without its history; the test keeps the history.
#[derive(Clone, Debug)]
struct Machine(Arc<HardwareGraph>);

impl ReferenceStateMachine for Machine {
    type State = Self;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Self> {
        cut_machines(1..=4)
            .prop_map(|graph| Self(Arc::new(graph)))
            .boxed()
    }

    fn transitions(_: &Self) -> BoxedStrategy<Step> {
        let policy = 0..BuiltIn::ALL.len();
        let layout = || {
            (
                any::<Index>(),
                proptest::option::weighted(0.8, any::<Index>()),
            )
        };
        prop_oneof![
            8 => (demanding_patterns(1..=3), policy.clone(), any::<bool>()).prop_map(|(p, i, s)| Step::Allocate(p, i, s)),
            // Tasks that are easily placed, so that devices fill up.
            8 => (1u64..5, 1usize..=2, policy.clone()).prop_map(|(gib, ranks, i)| {
                let task = Demand::any().shared().memory(gib << 29).warps(3).pcie_gbps(gib as f64);
                Step::Allocate(Pattern::independent(ranks).each(task), i, false)
            }),
            1 => (demanding_patterns(1..=2), policy.clone()).prop_map(|(pattern, i)| Step::Decide(pattern, i)),
            1 => Just(Step::CommitKept),
            7 => any::<Index>().prop_map(Step::Release),
            2 => (any::<Index>(), policy).prop_map(|(lease, policy)| Step::Move(lease, policy)),
            2 => layout().prop_map(|(whole, layout)| Step::Begin(whole, layout)),
            3 => layout().prop_map(|(whole, layout)| Step::LayoutIs(whole, layout)),
            2 => any::<Index>().prop_map(Step::Done),
            1 => Just(Step::Snapshot),
        ]
        .boxed()
    }

    fn apply(state: Self, _: &Step) -> Self {
        state
    }
}

/// The books of the test: what was granted and reported, and nothing derived.
#[derive(Default)]
struct Books {
    leases: BTreeMap<LeaseId, (Pattern, Placement)>,
    layouts: BTreeMap<DeviceId, Layout>,
    changing: BTreeMap<DeviceId, Layout>,
    given: u64,
}

struct History {
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

fn sums(usage: &mapa_core::Usage) -> Sums {
    (
        usage.tenants,
        usage.exclusive,
        usage.memory_bytes,
        usage.warps,
        usage.pcie_mb_s,
        usage.pcie_tenants,
    )
}

impl History {
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
}

fn policy(index: usize) -> Box<dyn mapa_core::Policy> {
    BuiltIn::named(BuiltIn::ALL[index].name).unwrap()
}

impl StateMachineTest for History {
    type SystemUnderTest = Self;
    type Reference = Machine;

    fn init_test(machine: &Machine) -> Self {
        let graph = machine.0.clone();
        let allocator = Allocator::new(graph.clone());
        Self {
            graph,
            allocator,
            twin: None,
            kept: None,
            books: Books::default(),
        }
    }

    fn apply(mut history: Self, _: &Machine, step: Step) -> Self {
        match step {
            Step::Allocate(pattern, index, sensitive) => {
                let request = Request::new(pattern.clone()).sensitive(sensitive);
                if let Ok(lease) =
                    history.both(|allocator| allocator.allocate(policy(index), &request))
                {
                    assert_eq!(
                        lease.id,
                        LeaseId(history.books.given),
                        "ids are never given twice"
                    );
                    assert_eq!(lease.placement.len(), pattern.len());
                    history.books.given += 1;
                    history
                        .books
                        .leases
                        .insert(lease.id, (pattern, lease.placement));
                }
            }
            Step::Decide(pattern, index) => {
                history.kept = history
                    .view()
                    .decide(policy(index), &Request::new(pattern))
                    .ok();
            }
            Step::CommitKept => {
                if let Some(decision) = history.kept.clone() {
                    let stale = decision.stamp() != history.view().stamp();
                    let lease = history.both(|allocator| allocator.commit(decision.clone()));
                    assert_eq!(
                        lease.is_err(),
                        stale,
                        "only on the state on which it was made"
                    );
                    if let Ok(lease) = lease {
                        history.books.given += 1;
                        history
                            .books
                            .leases
                            .insert(lease.id, (lease.pattern, lease.placement));
                    }
                }
            }
            Step::Release(index) => {
                if let Some(id) = history.lease(index) {
                    let lease = history.both(|allocator| allocator.release(id)).unwrap();
                    assert_eq!(
                        history.books.leases.remove(&id),
                        Some((lease.pattern, lease.placement))
                    );
                    assert!(history.both(|allocator| allocator.release(id)).is_err());
                }
            }
            Step::Move(index, by) => {
                if let Some(id) = history.lease(index) {
                    let request = Request::new(history.books.leases[&id].0.clone());
                    let what_if = history.allocator.without(id).unwrap();
                    if let Ok(decision) = what_if.view().decide(policy(by), &request) {
                        let lease = history
                            .both(|allocator| allocator.commit(decision.clone()))
                            .unwrap();
                        assert_eq!(lease.id, id, "a move keeps its lease");
                        history
                            .books
                            .leases
                            .insert(id, (lease.pattern, lease.placement));
                    }
                }
            }
            Step::Begin(whole, layout) => {
                let whole = history.whole(whole);
                let layout = history.layout(whole, layout);
                let may = history.keeps_tenants(whole, &layout)
                    && !history.books.changing.contains_key(&whole);
                let begun = history
                    .both(|allocator| allocator.begin_repartition(whole, layout.clone()).map(drop));
                assert_eq!(begun.is_ok(), may, "{begun:?}");
                if may {
                    history.books.changing.insert(whole, layout);
                }
            }
            Step::LayoutIs(whole, layout) => {
                let whole = history.whole(whole);
                let layout = history.layout(whole, layout);
                told(&mut history, whole, layout);
            }
            Step::Done(whole) => {
                let whole = history.whole(whole);
                if let Some(layout) = history.books.changing.get(&whole).cloned() {
                    told(&mut history, whole, layout);
                }
            }
            Step::Snapshot => {
                let text = serde_json::to_string(&history.allocator.snapshot()).unwrap();
                let snapshot = serde_json::from_str(&text).unwrap();
                let restored =
                    Allocator::restore(MachineId(0), history.graph.clone(), snapshot).unwrap();
                assert_eq!(restored, history.allocator);
                history.twin = Some(restored);
            }
        }
        history
    }

    fn check_invariants(history: &Self, _: &Machine) {
        let Self {
            graph,
            books,
            allocator,
            ..
        } = history;
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
}

fn told(history: &mut History, whole: DeviceId, layout: Layout) {
    let may = history.keeps_tenants(whole, &layout);
    let booked = history.both(|allocator| allocator.layout_is(whole, &layout).map(drop));
    assert_eq!(booked.is_ok(), may, "{booked:?}");
    if may {
        history.books.changing.remove(&whole);
        history.books.layouts.insert(whole, layout);
    }
}

prop_state_machine! {
    // 200 histories of 500 steps.
    #![proptest_config(ProptestConfig { max_shrink_iters: 2_000, ..mapa_core::testing::cases(200) })]

    #[test]
    fn histories_of_100_000_steps_never_exceed_a_capacity_or_lose_or_double_a_lease(sequential 500..=500 => History);
}
