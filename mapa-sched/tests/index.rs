//! The index of a fleet against a visit to every machine.

use std::sync::Arc;

use mapa_core::testing::{machines, patterns};
use mapa_core::{
    BuiltIn, Decision, Demand, DeviceId, Fabric, FabricNode, HardwareGraph, LinkClass, MachineId,
    NodeKind, Objective, Pattern, Policy, PolicyId, Refusal, Request, Rules, Subset, View,
    aggregate_gbps, best_partition,
    criteria::{max, most},
    greedy, least_weight, lowest_id,
    mig::Size,
    preserve, random,
};
use mapa_sched::{Event, Fleet, JobId, Tenant};
use proptest::collection::vec;
use proptest::prelude::*;

use mapa_sched::testing::in_turn;
use mapa_sched::testing::{cuttable, joined, layout};

/// A policy that promises nothing.
struct Visiting<'a>(&'a dyn Policy);

impl Policy for Visiting<'_> {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn decide(&self, request: &Request, view: &View<'_>) -> Result<Decision, Refusal> {
        self.0.decide(request, view)
    }
}

/// That the index says what visits say.
fn check(fleet: &Fleet, policy: &dyn Policy, request: &Request) {
    match (
        fleet.decide(policy, request),
        fleet.decide(Visiting(policy), request),
    ) {
        (Ok(found), Ok(visited)) => {
            let name = policy.name();
            assert_eq!(
                (found.stamp(), found.placement()),
                (visited.stamp(), visited.placement()),
                "{name}"
            );
            assert!(
                found.order(&visited).is_eq() && found.best() == visited.best(),
                "{name}"
            );
        }
        (found, visited) => assert_eq!(found.err(), visited.err(), "{}", policy.name()),
    }
}

#[test]
fn which_policies_promise_to_see_only_what_is_free() {
    let promising: Vec<&str> = BuiltIn::ALL.iter().map(|built_in| built_in.name).collect();
    let promises = |name: &&&str| BuiltIn::named(name).unwrap().of_free_set().is_some();
    let promising: Vec<&&str> = promising.iter().filter(promises).collect();
    let whole = [
        "auto",
        "lowest-id",
        "topo-aware",
        "greedy",
        "preserve",
        "max-bandwidth",
    ];
    assert!(
        promising.into_iter().eq(whole
            .iter()
            .chain(&["topo-aware-released", "preserve-released"]))
    );
    assert!(
        random("a stream", 1, 1).of_free_set().is_none(),
        "it sees seats"
    );
    assert!(
        greedy()
            .report(Objective::devices("seats", |_| 0.0))
            .of_free_set()
            .is_none(),
        "as a report, too"
    );
    assert!(greedy().require("a seat", |_| true).of_free_set().is_none());
    assert!(
        greedy()
            .require_placement("a placement", |_| true)
            .of_free_set()
            .is_none()
    );
    assert!(
        greedy()
            .require_set("a set", |_| true)
            .of_free_set()
            .is_some()
    );
    assert!(
        greedy()
            .or_else(random("a stream", 1, 1))
            .of_free_set()
            .is_none()
    );
    let (one, other) = (greedy(), greedy());
    assert_eq!(
        one.of_free_set(),
        Policy::of_free_set(&&one),
        "by reference"
    );
    assert_eq!(one.of_free_set(), Box::new(one.clone()).of_free_set());
    assert_ne!(one.of_free_set(), other.of_free_set(), "made anew");
    assert_ne!(
        one.of_free_set(),
        one.clone().then(max(aggregate_gbps())).of_free_set(),
        "one rule more"
    );
    assert!(preserve().or_else(lowest_id()).of_free_set().is_some());
}

/// The built-in policies, and those of pairs.
fn policies() -> Vec<Box<dyn Policy>> {
    let points = |graph: &HardwareGraph, a, b| i32::from(graph.pair(a, b).direct.exists());
    let weight = |graph: &HardwareGraph, (a, b): (DeviceId, DeviceId), same: bool| {
        10 + u32::from(!same) + u32::from(graph.pair(a, b).host.exists())
    };
    let pairs: [Box<dyn Policy>; 2] = [
        Box::new(best_partition("partition", points)),
        Box::new(least_weight("weight", weight, |graph, id| {
            graph.device(id).parent
        })),
    ];
    let built_in = BuiltIn::ALL.iter().map(BuiltIn::policy);
    built_in.chain(pairs).collect()
}

/// How many there are.
const POLICIES: usize = BuiltIn::ALL.len() + 2;

#[derive(Clone, Debug)]
enum Step {
    /// A request of the list is placed by a policy of the list.
    Place(usize, usize),
    /// A tenant, by its place among those there are, leaves.
    Leave(usize),
    /// A machine's first device is partitioned, or made whole again.
    Cut(usize, bool),
    /// The fleet goes on as its copy.
    Copy,
    /// A request is asked about, so that not all requests are asked about after each step.
    Ask(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0usize..8, 0..POLICIES).prop_map(|(request, policy)| Step::Place(request, policy)),
        4 => (0usize..9).prop_map(Step::Leave),
        1 => (0usize..9, any::<bool>()).prop_map(|(machine, whole)| Step::Cut(machine, whole)),
        1 => Just(Step::Copy),
        4 => (0usize..8).prop_map(Step::Ask),
    ];
    vec(step, 1..40)
}

/// Up to seven machines of up to three kinds.
fn fleets() -> impl Strategy<Value = Vec<Arc<HardwareGraph>>> {
    let kind =
        prop_oneof![4 => machines(1..=4).prop_map(Arc::new), 1 => (1usize..=2).prop_map(cuttable)];
    (vec(kind, 1..=3), vec(0usize..3, 1..=7)).prop_map(|(kinds, machines)| {
        machines
            .into_iter()
            .map(|kind| kinds[kind % kinds.len()].clone())
            .collect()
    })
}

/// Mostly of whole devices; some share, some are of slices, some of devices by name.
fn requests() -> impl Strategy<Value = Vec<Request>> {
    let one = (patterns(1..=4), any::<bool>(), 0..9).prop_map(|(pattern, sensitive, kind)| {
        let pattern = match kind {
            0 => pattern.each(Demand::any().shared().memory(5 << 30)),
            1 => pattern.each(Demand::slice(Size::new(1, 1))),
            2 => pattern.each(Demand::whole().memory(1 << 30)),
            _ => pattern,
        };
        let request = Request::new(pattern).sensitive(sensitive);
        match kind {
            3 => request.avoid([0].into()),
            4 => request.must_include([1].into()),
            _ => request,
        }
    });
    vec(one, 8)
}

proptest! {
    #[test]
    fn the_index_says_what_a_visit_to_every_machine_says(graphs in fleets(), requests in requests(), steps in steps()) {
        let policies = policies();
        let mut fleet = Fleet::new(graphs.clone());
        let mut next = 0;
        for step in steps {
            match step {
                Step::Place(request, policy) => {
                    check(&fleet, &policies[policy], &requests[request]);
                    in_turn(&mut fleet, |turn| {
                        if let Ok(decision) = turn.decide(&policies[policy], &requests[request]) {
                            turn.place(Tenant::Job(JobId(next)), decision).unwrap();
                            next += 1;
                        }
                    });
                }
                Step::Leave(tenant) => {
                    let tenants: Vec<_> = fleet.tenants().map(|(tenant, ..)| tenant.job()).collect();
                    if let Some(job) = tenants.get(tenant % tenants.len().max(1)) {
                        fleet.book(&Event::Finished(*job)).unwrap();
                    }
                }
                Step::Cut(machine, whole) => {
                    let machine = MachineId((machine % graphs.len()) as u32);
                    let layout = if whole { mapa_core::mig::Layout::whole() } else { layout(&["2g", "1g", "1g"]) };
                    // Not every device can be partitioned, and not at any time.
                    let _ = fleet.layout_is(machine, DeviceId(0), &layout);
                }
                Step::Copy => fleet = fleet.clone(),
                Step::Ask(request) => policies.iter().for_each(|policy| check(&fleet, policy, &requests[request])),
            }
        }
        for (request, policy) in requests.iter().flat_map(|request| policies.iter().map(move |policy| (request, policy))) {
            check(&fleet, policy, request);
        }
    }

    #[test]
    fn a_fleet_of_one_is_the_machine(machine in machines(1..=5), requests in requests(), steps in steps()) {
        let graph = Arc::new(machine);
        let policies = policies();
        let mut fleet = Fleet::new([graph.clone()]);
        let mut alone = mapa_core::Allocator::new(graph);
        let mut held = Vec::new();
        for (job, step) in (0..).map(JobId).zip(steps) {
            match step {
                Step::Place(request, policy) => {
                    let decision = fleet.decide(&policies[policy], &requests[request]);
                    let expected = alone.view().decide(&policies[policy], &requests[request]);
                    prop_assert_eq!(&decision, &expected);
                    if let (Ok(decision), Ok(expected)) = (decision, expected) {
                        in_turn(&mut fleet, |turn| drop(turn.place(Tenant::Job(job), decision.clone()).unwrap()));
                        held.push((job, alone.commit(expected).unwrap().id));
                    }
                }
                Step::Leave(tenant) if !held.is_empty() => {
                    let (job, lease) = held.swap_remove(tenant % held.len());
                    fleet.book(&Event::Finished(job)).unwrap();
                    alone.release(lease).unwrap();
                }
                _ => {}
            }
            prop_assert_eq!(fleet.machine(MachineId(0)).unwrap(), &alone);
        }
    }
}

#[test]
fn one_machine_of_each_state_is_asked() {
    /// Counts how often it is asked.
    struct Counting(std::sync::atomic::AtomicUsize, Rules<'static>);
    impl Policy for Counting {
        fn name(&self) -> &str {
            "counting"
        }
        fn decide(&self, request: &Request, view: &View<'_>) -> Result<Decision, Refusal> {
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            self.1.decide(request, view)
        }
        fn of_free_set(&self) -> Option<PolicyId> {
            self.1.of_free_set()
        }
    }
    let policy = Counting(Default::default(), greedy());
    let (few, many) = (joined(&[1.0; 2]), joined(&[2.0; 4]));
    let mut fleet = Fleet::new((0..100).map(|i| {
        if i % 2 == 0 {
            few.clone()
        } else {
            many.clone()
        }
    }));
    let request = Request::new(mapa_core::Pattern::ring(2));
    let first = fleet.decide(&policy, &request).unwrap();
    assert_eq!(first.stamp().machine, MachineId(1));
    assert_eq!(
        policy.0.load(std::sync::atomic::Ordering::Relaxed),
        2,
        "one of each kind"
    );
    for job in 0..100 {
        in_turn(&mut fleet, |turn| {
            let decision = turn.decide(&policy, &request).unwrap();
            turn.place(Tenant::Job(JobId(job)), decision).unwrap();
        });
    }
    // Half, then all of a machine: two states more.
    assert_eq!(policy.0.load(std::sync::atomic::Ordering::Relaxed), 2 + 2);
    assert!(fleet.decide(most_lots(), &request).is_ok());
    assert!(fleet.index_bytes() < 1 << 20);
}

fn most_lots() -> Rules<'static> {
    Rules::new("highest id").prefer(most("id", |seat| seat.id.0))
}

/// Machines of one fingerprint may differ: in how devices are joined to a switch, say.
#[test]
fn machines_that_differ_are_asked_apart() {
    let machine = |switched: bool| {
        let mut fabric = Fabric::new();
        let ids: Vec<_> = (0..2)
            .map(|i| fabric.add_device(format!("GPU{i}")).unwrap())
            .collect();
        if switched {
            let switch = fabric
                .add(FabricNode {
                    name: "switch".to_owned(),
                    kind: NodeKind::LinkSwitch,
                })
                .unwrap();
            ids.iter()
                .try_for_each(|&id| fabric.link(id, switch, LinkClass::Direct(6), 150.0))
                .unwrap();
        } else {
            fabric
                .link(ids[0], ids[1], LinkClass::Direct(6), 150.0)
                .unwrap();
        }
        Arc::new(fabric.lower().unwrap())
    };
    let machines = [machine(false), machine(true), machine(false)];
    assert_eq!(machines[0].fingerprint(), machines[1].fingerprint());
    let fleet = Fleet::new(machines);
    let graphs: Vec<_> = fleet
        .machines()
        .iter()
        .map(|machine| machine.graph())
        .collect();
    assert!(Arc::ptr_eq(graphs[0], graphs[2]) && !Arc::ptr_eq(graphs[0], graphs[1]));
    let is_switched = |set: Subset<'_>| {
        f64::from(u8::from(
            set.graph.device(DeviceId(0)).switch_port.is_some(),
        ))
    };
    let policy = Rules::new("switched").prefer(max(Objective::chosen("switched", is_switched)));
    let request = Request::new(Pattern::ring(2));
    check(&fleet, &policy, &request);
    assert_eq!(
        fleet.decide(&policy, &request).unwrap().stamp().machine,
        MachineId(1)
    );
}
