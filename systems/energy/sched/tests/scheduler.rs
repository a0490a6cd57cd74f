//! Rules as schedulers under events of every kind: cordons, failed orders, other layouts, tenants of
//! others, jobs that the rule is not for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use mapa_core::mig::{Layout, Size};
use mapa_core::{Demand, DeviceId, HardwareGraph, MachineId, Pattern, Request, lowest_id};
use mapa_sched::{
    Action, Event, Fleet, Job, JobId, NamedScheduler, RunTime, Scheduler, Tenant, Time, step,
};
use mapa_system_energy::SCHEDULERS;
use mapa_system_energy::{
    EnergyPlan, LargestFirst, PriceFile, Prices, Rule, RuleName, RuleScheduler, SliceJob, Start,
    State, smallest_first,
};
use proptest::collection::vec;
use proptest::prelude::*;

use mapa_sched::testing::{check, cuttable, joined, layout};

fn any() -> Request {
    Request::new(Pattern::single(Demand::any()))
}

/// Run times on slices of 1, 2 and 4 of the machines here, seconds.
fn by_size(lengths: [u64; 3]) -> RunTime {
    let sizes = [1, 2, 4].map(|size| Size::new(size, size));
    let lengths = lengths.map(Duration::from_secs);
    RunTime::BySize(sizes.into_iter().zip(lengths).collect())
}

fn job(id: u64, request: Request, run_time: RunTime, deadline: Option<u64>) -> Job {
    let mut own = Job::new(JobId(id), request);
    own.run_time = run_time;
    own.deadline = deadline.map(Time::from_secs);
    own
}

/// Machines of devices that can be partitioned, with one that cannot.
fn graphs() -> Vec<Arc<HardwareGraph>> {
    vec![cuttable(2), joined(&[1.0, 1.0]), cuttable(1)]
}

const LAYOUTS: [&[&str]; 5] = [
    &["1g", "1g", "1g", "1g"],
    &["2g", "1g", "1g"],
    &["2g", "2g"],
    &["4g"],
    &["2g"],
];

#[derive(Clone, Debug)]
enum TestEvent {
    /// A job of the rule, with its steps of run time and its slack.
    Arrives([u64; 3], Option<u64>),
    /// A job that tells no run time: the rule is not for it.
    Other,
    Ends(usize),
    /// The first job that waits is cancelled.
    Cancels,
    Cordons(usize, Option<u32>, bool),
    Layout(usize, usize),
}

fn events() -> impl Strategy<Value = Vec<(TestEvent, bool)>> {
    let steps = prop::array::uniform3(1_u64..20);
    let arrives = (steps, prop::option::of(0_u64..60));
    let cordon = (
        0usize..3,
        prop::option::of(0u32..2),
        proptest::bool::weighted(0.4),
    );
    let one = prop_oneof![
        6 => arrives.prop_map(|(steps, slack)| TestEvent::Arrives(steps, slack)),
        1 => Just(TestEvent::Other),
        4 => (0usize..8).prop_map(TestEvent::Ends),
        1 => Just(TestEvent::Cancels),
        2 => cordon.prop_map(|(machine, device, on)| TestEvent::Cordons(machine, device, on)),
        2 => (0usize..3, 0..LAYOUTS.len()).prop_map(|(device, layout)| TestEvent::Layout(device, layout)),
    ];
    vec((one, proptest::bool::weighted(0.15)), 1..40)
}

struct Run {
    fleet: Fleet,
    scheduler: RuleScheduler,
    jobs: BTreeMap<JobId, Job>,
    running: Vec<JobId>,
    again: BTreeSet<JobId>,
    gone: BTreeSet<JobId>,
    now: u64,
}

impl Run {
    fn new(rule: Box<dyn Rule + Send>) -> Self {
        Self {
            fleet: Fleet::new(graphs()),
            scheduler: RuleScheduler::new(rule, smallest_first()),
            jobs: BTreeMap::new(),
            running: Vec::new(),
            again: BTreeSet::new(),
            gone: BTreeSet::new(),
            now: 0,
        }
    }

    fn instant(&mut self, mut events: Vec<Event>, fails: bool) {
        self.now += 1;
        let again = std::mem::take(&mut self.again);
        events.extend(again.iter().map(|id| Event::Arrived(self.jobs[id].clone())));
        while !events.is_empty() {
            let mut orders = Vec::new();
            let (scheduler, fleet) = (&mut self.scheduler, &mut self.fleet);
            step(
                scheduler,
                fleet,
                Time::from_secs(self.now),
                events,
                &mut orders,
            )
            .unwrap();
            events = Vec::new();
            for order in orders {
                match &order {
                    Action::Place {
                        tenant: Tenant::Job(job),
                        at,
                    } => {
                        let view = self.fleet.machine(at.machine).unwrap().view();
                        assert!(at.placement.iter().all(|&id| !view.is_cordoned(id)));
                        assert!(!self.running.contains(job) && !self.gone.contains(job));
                        if fails {
                            self.again.insert(*job);
                            let why = "the daemon did not answer".to_owned();
                            events.push(Event::ActionFailed { order, why });
                        } else {
                            self.running.push(*job);
                        }
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
        check(&self.fleet);
        self.agrees();
    }

    /// That what the rule sees is what the fleet is.
    fn agrees(&self) {
        let state = self.scheduler.state();
        let mut slice = 0;
        for machine in self.fleet.machines() {
            let view = machine.view();
            let graph = view.graph();
            for whole in graph.wholes().iter() {
                if graph.model(whole).is_none() {
                    continue;
                }
                let present = graph.vertices(whole) & view.present();
                let mut slices: Vec<DeviceId> = present.iter().collect();
                slices.sort_by_key(|&id| graph.device(id).unit.instance());
                for id in slices {
                    let size = graph.device(id).size.unwrap().compute;
                    assert_eq!(state.machine().sizes()[slice], size);
                    assert_eq!(state.is_free(slice), view.free().contains(id), "{id}");
                    let is_held = !view.tenants(id).is_empty();
                    assert_eq!(state.running()[slice].is_some(), is_held, "{id}");
                    slice += 1;
                }
            }
        }
        assert_eq!(slice, state.machine().sizes().len());
        let waiting: BTreeSet<JobId> = self.scheduler.waiting().map(|job| job.id).collect();
        assert_eq!(waiting.len(), self.scheduler.waiting().count());
        for id in self.jobs.keys() {
            let places = [
                waiting.contains(id),
                self.running.contains(id),
                self.gone.contains(id),
                self.again.contains(id),
            ];
            assert_eq!(
                places.iter().filter(|place| **place).count(),
                1,
                "job {id}: {places:?}"
            );
        }
        let deadlines: Vec<f64> = state
            .queue()
            .iter()
            .map(|waiting| waiting.job.deadline())
            .collect();
        assert!(deadlines.is_sorted());
    }

    fn tell(&mut self, event: &TestEvent, fails: bool) {
        let id = JobId(self.now);
        let event = match event {
            TestEvent::Arrives(steps, slack) => {
                let [a, b, c] = *steps;
                let now = self.now + 1;
                let deadline = slack.map(|slack| now + slack);
                let mut own = job(id.0, any(), by_size([a + b + c, b + c, c]), deadline);
                own.arrived = Time::from_secs(now);
                self.jobs.insert(id, own.clone());
                Event::Arrived(own)
            }
            TestEvent::Other => {
                let own = job(id.0, any(), RunTime::Unknown, None);
                self.jobs.insert(id, own.clone());
                Event::Arrived(own)
            }
            TestEvent::Ends(at) => {
                if self.running.is_empty() {
                    return;
                }
                let id = self.running.remove(at % self.running.len());
                self.gone.insert(id);
                Event::Finished(id)
            }
            TestEvent::Cancels => {
                let Some(id) = self.scheduler.waiting().next().map(|job| job.id) else {
                    return;
                };
                self.gone.insert(id);
                Event::Cancelled(id)
            }
            TestEvent::Cordons(machine, device, cordoned) => {
                let machine = MachineId(*machine as u32);
                let wholes = self.fleet.machine(machine).unwrap().graph().wholes().len() as u32;
                Event::Cordoned {
                    machine,
                    whole: device.map(|device| DeviceId(device % wholes)),
                    cordoned: *cordoned,
                }
            }
            TestEvent::Layout(device, wanted) => {
                let (machine, whole) = [(0, 0), (0, 1), (2, 0)][*device];
                let (machine, whole) = (MachineId(machine), DeviceId(whole));
                let view = self.fleet.machine(machine).unwrap().view();
                if view.usage_of_whole(whole).tenants > 0 {
                    return;
                }
                Event::LayoutIs {
                    machine,
                    whole,
                    layout: layout(LAYOUTS[*wanted]),
                }
            }
        };
        self.instant(vec![event], fails);
    }

    /// Lifts all cordons, and lets jobs end until none waits or runs.
    fn finish(&mut self) {
        for machine in 0..3 {
            let lifted = Event::Cordoned {
                machine: MachineId(machine),
                whole: None,
                cordoned: false,
            };
            self.instant(vec![lifted], false);
        }
        for whole in [0, 1] {
            let lifted = Event::Cordoned {
                machine: MachineId(0),
                whole: Some(DeviceId(whole)),
                cordoned: false,
            };
            self.instant(vec![lifted], false);
        }
        while !self.running.is_empty() {
            self.tell(&TestEvent::Ends(0), false);
        }
        let left: Vec<&Job> = self.scheduler.waiting().collect();
        assert!(left.is_empty(), "{}: {left:?}", self.scheduler.name());
    }
}

/// Every rule by name, and the plan.
fn rules() -> Vec<Box<dyn Rule + Send>> {
    let mut all: Vec<Box<dyn Rule + Send>> = Vec::new();
    all.extend(RuleName::ALL.map(|rule_name| rule_name.rule(3)));
    all.push(Box::new(EnergyPlan::default()));
    all.push(Box::new(
        EnergyPlan::new(Prices::PUBLISHED_LAYOUTS).unwrap(),
    ));
    all
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(64))]
    #[test]
    fn the_rule_sees_the_fleet_as_it_is_and_every_job_gets_its_turn(events in events()) {
        for rule in rules() {
            let mut run = Run::new(rule);
            for (event, fails) in &events {
                run.tell(event, *fails);
            }
            run.finish();
        }
    }
}

/// One device in slices of 2, 1 and 1.
fn partitioned() -> Fleet {
    let mut fleet = Fleet::new([cuttable(1)]);
    let whole = DeviceId(0);
    fleet
        .layout_is(MachineId(0), whole, &layout(&["2g", "1g", "1g"]))
        .unwrap();
    fleet
}

fn orders(scheduler: &mut dyn Scheduler, fleet: &mut Fleet, jobs: &[Job]) -> Vec<Action> {
    let events = jobs.iter().cloned().map(Event::Arrived);
    let mut orders = Vec::new();
    step(scheduler, fleet, Time::ZERO, events, &mut orders).unwrap();
    orders
}

#[test]
fn jobs_whose_numbers_make_no_sense_are_rejected_with_the_reason() {
    let mut scheduler = RuleScheduler::new(LargestFirst, lowest_id());
    let mut late = job(2, any(), by_size([9, 5, 3]), Some(3));
    late.arrived = Time::from_secs(6);
    let without_1g = [(Size::new(2, 2), Duration::from_secs(3))];
    let jobs = [
        job(0, any(), by_size([5, 9, 3]), None),
        job(1, any(), by_size([9, 0, 0]), None),
        late,
        job(3, any(), RunTime::BySize(without_1g.into()), None),
        job(4, any(), by_size([9, 5, 3]), Some(30)),
    ];
    let told: Vec<String> = orders(&mut scheduler, &mut partitioned(), &jobs)
        .iter()
        .map(|order| match order {
            Action::Reject { job, why } => format!("{job}: {}: {why}", why.kind()),
            Action::Place { tenant, at } => format!("{tenant} on {}", at.placement[0]),
            other => panic!("{other:?}"),
        })
        .collect();
    insta::assert_snapshot!(
        told[0],
        @"0: infeasible: not met: run time 9 s on 2g.2m is longer than 5 s on 1g.1m: expected none that grows with the slice"
    );
    insta::assert_snapshot!(
        told[1],
        @"1: infeasible: not met: run time 0 on 2g.2m: expected one above 0"
    );
    insta::assert_snapshot!(
        told[2],
        @"2: infeasible: not met: deadline 0.05: expected minutes, not before the arrival at 0.1"
    );
    insta::assert_snapshot!(
        told[3],
        @"3: infeasible: not met: no run time on 1 compute slice: expected one for each size of slice, or at least for 1g"
    );
    insta::assert_snapshot!(told[4], @"job 4 on 6");
}

#[test]
fn jobs_that_the_rule_is_not_for_are_placed_by_the_policy_first() {
    let slice = |size| Request::new(Pattern::single(Demand::slice(Size::new(size, size))));
    let mut scheduler = RuleScheduler::new(LargestFirst, lowest_id());
    let jobs = [
        job(0, any(), by_size([9, 5, 3]), Some(30)),
        job(1, slice(2), by_size([9, 5, 3]), None),
        job(2, Request::new(Pattern::ring(2)), RunTime::Unknown, None),
    ];
    assert!(
        jobs[1..]
            .iter()
            .all(|job| SliceJob::of(job).unwrap().is_none())
    );
    let mut fleet = partitioned();
    let made = orders(&mut scheduler, &mut fleet, &jobs);
    // Two whole devices are more than there are.
    let rejected = made
        .iter()
        .any(|action| matches!(action, Action::Reject { job: JobId(2), .. }));
    assert!(rejected, "{made:?}");
    let size_of = |job| {
        let (machine, lease) = fleet.lease_of(Tenant::Job(JobId(job))).unwrap();
        let graph = fleet.machine(machine).unwrap().graph();
        graph.device(lease.placement[0]).size.unwrap().compute
    };
    assert_eq!([size_of(0), size_of(1)], [1, 2]);
    // On a fleet that cannot be partitioned, all are.
    let mut fleet = Fleet::new([joined(&[1.0])]);
    let mut scheduler = RuleScheduler::new(LargestFirst, lowest_id());
    let made = orders(&mut scheduler, &mut fleet, &jobs[..1]);
    assert!(matches!(made[..], [Action::Place { .. }]));
}

#[test]
fn a_rule_that_names_what_is_not_there_starts_nothing() {
    struct Wrong(Start);
    impl Rule for Wrong {
        fn name(&self) -> &str {
            "wrong"
        }
        fn choose(&mut self, _: &State) -> Option<Start> {
            Some(self.0)
        }
    }
    for (waiting, slice) in [(0, 3), (1, 0), (7, 7)] {
        let mut scheduler = RuleScheduler::new(Wrong(Start { waiting, slice }), lowest_id());
        let jobs = [job(0, any(), by_size([9, 5, 3]), None)];
        assert_eq!(orders(&mut scheduler, &mut partitioned(), &jobs), []);
        assert_eq!(scheduler.waiting().count(), 1);
    }
}

#[test]
fn rules_are_made_by_name_with_their_settings() {
    let named = |words: &str| NamedScheduler::among(&SCHEDULERS, words, Box::new(lowest_id()));
    for rule in RuleName::ALL {
        assert_eq!(rule.rule(1).name(), rule.name);
        let own = named(&format!("energy,rule={}", rule.name)).unwrap();
        assert_eq!(own.name(), "energy, lowest-id");
    }
    for name in PriceFile::names() {
        named(&format!("energy-plan,prices={name}")).unwrap();
    }
    let said = [
        "energy,rule=best",
        "energy,rule=fit,seed=3",
        "energy,rule=random,seed=x",
        "energy-plan,prices=low",
        "energy-plan,rule=fit",
    ]
    .map(|words| {
        let error = named(words).err().unwrap().to_string();
        format!("{words:?} -> {error}")
    });
    insta::assert_snapshot!(said.join("\n"), @r#"
    "energy,rule=best" -> scheduler `energy,rule=best`: `rule=best`: expected largest-first, eft-published, smallest-first, random, eft, fit, fit-fullest, least-cost
    "energy,rule=fit,seed=3" -> scheduler `energy,rule=fit,seed=3`: `seed=3`: expected no seed, as this rule draws nothing
    "energy,rule=random,seed=x" -> scheduler `energy,rule=random,seed=x`: `seed=x`: expected a whole number
    "energy-plan,prices=low" -> scheduler `energy-plan,prices=low`: `prices=low`: expected published-layouts, searched-layouts, exact-run-times, best-layouts, rough-run-times, tight-deadlines, repartitioned
    "energy-plan,rule=fit" -> scheduler `energy-plan,rule=fit`: `rule=fit`: no setting is called `rule`: expected prices=NAME
    "#);
    // Seeds lead to other days, and the same seed to the same.
    let starts = |seed: u64| {
        let mut own = named(&format!("energy,rule=random,seed={seed}")).unwrap();
        let jobs: Vec<Job> = (0..3)
            .map(|id| job(id, any(), by_size([9, 5, 3]), None))
            .collect();
        orders(&mut *own, &mut partitioned(), &jobs)
    };
    assert_eq!(starts(4), starts(4));
    assert!((0..8).any(|seed| starts(seed) != starts(4)));
}

/// A rule sees instances that are missing while a device is repartitioned as gone.
#[test]
fn a_repartition_under_way_leaves_no_slice_to_start_on() {
    struct Cut(RuleScheduler, bool, Layout);
    impl Scheduler for Cut {
        fn name(&self) -> &str {
            "cut"
        }
        fn on_event(&mut self, now: Time, event: Event) {
            self.0.on_event(now, event);
        }
        fn act(&mut self, now: Time, turn: &mut mapa_sched::Turn<'_>) {
            if !std::mem::replace(&mut self.1, true) {
                turn.repartition(MachineId(0), DeviceId(0), self.2.clone())
                    .unwrap();
            }
            self.0.act(now, turn);
        }
    }
    let wanted = layout(&["4g"]);
    let rule = RuleScheduler::new(LargestFirst, lowest_id());
    let mut scheduler = Cut(rule, false, wanted.clone());
    let mut fleet = partitioned();
    let jobs = [job(0, any(), by_size([9, 5, 3]), None)];
    let made = orders(&mut scheduler, &mut fleet, &jobs);
    assert!(matches!(made[..], [Action::Repartition { .. }]), "{made:?}");
    let done = Event::LayoutIs {
        machine: MachineId(0),
        whole: DeviceId(0),
        layout: wanted,
    };
    let mut made = Vec::new();
    step(
        &mut scheduler,
        &mut fleet,
        Time::from_secs(1),
        [done],
        &mut made,
    )
    .unwrap();
    assert!(matches!(made[..], [Action::Place { .. }]), "{made:?}");
    assert_eq!(scheduler.0.state().machine().sizes(), [4]);
}
