//! The manager of shared instances: properties over random histories, closed forms, and what the
//! printed algorithms do.

mod world;

use std::time::Duration;

use mapa_core::lowest_id;
use mapa_sched::{Fleet, JobId, NamedScheduler, TaskId, Tenant};
use mapa_system_case::{
    Case, CaseBatch, CaseOrder, CaseSettings, ContextMemory, Growers, MemoryFit, PrintedAlgorithm,
    PrintedEnd, PrintedFaults, PrintedJob, ProcessBinding, SCHEDULERS, SlurmMig, case,
};
use proptest::collection::vec;
use proptest::prelude::*;

use self::world::{Kind, Step, UNIT, World, fleet, request};

/// One task after a host phase, and a host phase after it.
fn one_task(bytes: u64, before: u64, seconds: u64, after: u64) -> Kind {
    let steps = vec![
        Step::Host(before),
        Step::Begin(0, bytes),
        Step::Host(seconds),
        Step::End(0),
        Step::Host(after),
    ];
    Kind::Process(bytes, false, steps)
}

/// A job that takes half of its memory, and the other half while it holds the first.
fn in_halves(bytes: u64, is_declared: bool) -> Kind {
    let half = bytes / 2;
    let steps = vec![
        Step::Host(1),
        Step::Begin(0, half),
        Step::Host(2),
        Step::Begin(1, half),
        Step::Host(3),
        Step::End(1),
        Step::End(0),
    ];
    Kind::Process(bytes, is_declared, steps)
}

fn kinds() -> impl Strategy<Value = Kind> {
    let bytes = || (1u64..80).prop_map(|tenths| tenths * UNIT);
    let tasks = vec((0u64..4, 1u64..50, 0u64..6), 1..4);
    let many = (tasks, 0u64..60).prop_map(|(tasks, declared)| {
        let mut steps = Vec::new();
        for (task, (pause, bytes, seconds)) in (0..).zip(tasks) {
            steps.push(Step::Host(pause));
            steps.push(Step::Begin(task, bytes * UNIT));
            steps.push(Step::Host(seconds));
            steps.push(Step::End(task));
        }
        Kind::Process(declared * UNIT, false, steps)
    });
    prop_oneof![
        2 => (bytes(), 0u64..9).prop_map(|(bytes, seconds)| Kind::Isolated(bytes, seconds)),
        2 => (bytes(), 0u64..5, 0u64..9, 0u64..5)
            .prop_map(|(bytes, before, seconds, after)| one_task(bytes, before, seconds, after)),
        1 => many,
        1 => (bytes(), any::<bool>()).prop_map(|(bytes, declared)| in_halves(bytes, declared)),
    ]
}

fn settings() -> impl Strategy<Value = CaseSettings> {
    let all = [
        CaseSettings::CORRECTED,
        CaseSettings::BALANCED,
        CaseSettings {
            binding: ProcessBinding::Free,
            ..CaseSettings::CORRECTED
        },
        CaseSettings {
            drain: true,
            isolated: CaseOrder::ShortestFirst,
            others: CaseOrder::LongestFirst,
            ..CaseSettings::CORRECTED
        },
        CaseSettings {
            classes: mapa_system_case::ClassDivision::OthersFirst,
            isolated: CaseOrder::LongestFirst,
            others: CaseOrder::ShortestFirst,
            reprovision: true,
            ..CaseSettings::CORRECTED
        },
    ];
    let all = prop::sample::select(all.to_vec());
    (all, 0u64..8, 1u32..5).prop_map(|(settings, context, workers)| CaseSettings {
        context: ContextMemory::fixed(context * UNIT),
        workers,
        ..settings
    })
}

fn layouts() -> impl Strategy<Value = &'static [&'static str]> {
    let all: [&[&str]; 5] = [
        &["1g"],
        &["1g", "1g", "1g", "1g"],
        &["2g", "1g", "1g"],
        &["2g", "2g"],
        &["4g"],
    ];
    prop::sample::select(all.to_vec())
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(1000))]

    /// The world checks after each instant that leases and contexts fit, that isolated jobs are
    /// alone, and that no process changes its instance.
    #[test]
    fn every_job_ends_or_is_rejected_whatever_fails(
        jobs in vec((0u64..30, kinds()), 1..24),
        settings in settings(),
        profiles in layouts(),
        devices in 1usize..3,
        deaths in vec((0u64..24, 0u64..40), 0..4),
        fails in 0u64..9,
        wrong_layouts in 0u64..4,
    ) {
        let (_, idle) = fleet(devices, profiles);
        let mut world = World::new(idle, jobs);
        deaths.iter().for_each(|&(job, at)| world.dies(job, at));
        world.fails = if fails < 5 { 0 } else { fails };
        world.repartition = (2, if wrong_layouts == 1 { 0 } else { wrong_layouts });
        let mut case = Case::new(settings, lowest_id());
        world.run(&mut case);
        prop_assert!(world.stuck().is_empty(), "{:?} wait for ever", world.stuck());
        prop_assert_eq!(world.fleet.tenants().count(), 0, "nothing leaks");
        prop_assert_eq!((case.blocked(), case.workers(), case.waiting().count()), (0, 0, 0));
        prop_assert_eq!(case.context_bytes().map(|context_byte| context_byte.2).sum::<u64>(), 0);
    }

    #[test]
    fn a_thousand_growing_batches_never_hang_with_one_grower_an_instance(
        jobs in vec((1u64..45, any::<bool>(), any::<bool>()), 4..40),
        slices in 1usize..5,
        free in any::<bool>(),
    ) {
        let profiles = &["1g", "1g", "1g", "1g"][..slices];
        let (_, idle) = fleet(1, profiles);
        let jobs = jobs.iter().map(|&(tenths, grows, declared)| {
            let bytes = tenths * UNIT;
            (0, if grows { in_halves(bytes, declared) } else { one_task(bytes, 1, 3, 0) })
        });
        let mut world = World::new(idle, jobs);
        let binding = if free { ProcessBinding::Free } else { ProcessBinding::Once };
        let settings = CaseSettings { binding, context: ContextMemory::fixed(0), ..CaseSettings::CORRECTED };
        world.run(&mut Case::new(settings, lowest_id()));
        prop_assert!(world.stuck().is_empty(), "{:?} wait for ever", world.stuck());
    }

    #[test]
    fn every_task_of_the_papers_variant_is_where_the_policy_case_puts_it(
        jobs in vec((0u64..9, 1u64..60, 0u64..3, 1u64..9), 1..20),
    ) {
        // Every task goes by both to a fleet of its own, in the order of the placements.
        let (graphs, idle) = fleet(2, &["2g", "1g", "1g"]);
        let kinds = jobs.iter().map(|&(arrives, tenths, pause, seconds)| {
            (arrives, one_task(tenths * UNIT, pause, seconds, 0))
        });
        let mut world = World::new(idle.clone(), kinds);
        let mut twin = Twin { manager: Case::new(CaseSettings::PAPER, lowest_id()) };
        world.run(&mut twin);
        prop_assert!(graphs.len() == 1 && world.stuck().is_empty());
    }

    #[test]
    fn only_isolated_jobs_run_as_under_the_baseline(
        jobs in vec((0u64..20, 1u64..130, 0u64..12), 1..40),
        profiles in layouts(),
    ) {
        let run = |manager: &mut dyn FnMut(&mut World)| {
            let (_, idle) = fleet(2, profiles);
            let kinds = jobs.iter().map(|&(arrives, tenths, seconds)| {
                (arrives, Kind::Isolated(tenths * UNIT, seconds))
            });
            let mut world = World::new(idle, kinds);
            manager(&mut world);
            (world.placed, world.ended, world.rejected)
        };
        let slurm = run(&mut |world| world.run(&mut SlurmMig::new(lowest_id())));
        for settings in [CaseSettings::CORRECTED, CaseSettings::PAPER] {
            let case = run(&mut |world| world.run(&mut Case::new(settings, lowest_id())));
            prop_assert_eq!(&case, &slurm, "ratio 1 at 1:0");
        }
    }
}

/// What the bound sees of a job.
fn add_to(batch: &mut CaseBatch, kind: &Kind) {
    match kind {
        Kind::Isolated(bytes, seconds) => {
            batch.isolated.push((*bytes, Duration::from_secs(*seconds)));
        }
        Kind::Process(.., steps) => {
            let (mut host, mut tasks, mut bytes) = (0, Vec::new(), None);
            for step in steps {
                match (step, bytes) {
                    (Step::Begin(_, own), _) => bytes = Some(*own),
                    (Step::End(_), _) => bytes = None,
                    (Step::Host(own), Some(bytes)) => {
                        tasks.push((bytes, Duration::from_secs(*own)));
                    }
                    (Step::Host(own), None) => host += own,
                }
            }
            batch.others.push((Duration::from_secs(host), tasks));
        }
    }
}

proptest! {
    #[test]
    fn no_schedule_is_below_the_bound_on_makespan(
        jobs in vec(kinds(), 1..30),
        settings in settings(),
        profiles in layouts(),
    ) {
        // Nested tasks are no sequence, and instances keep their layout.
        let is_flat = |kind: &Kind| match kind {
            Kind::Process(_, _, steps) => !steps.windows(3).any(|three| matches!(three, [Step::Begin(..), _, Step::Begin(..)])),
            Kind::Isolated(..) => true,
        };
        let settings = CaseSettings { reprovision: false, ..settings };
        let jobs: Vec<Kind> = jobs.into_iter().filter(is_flat).collect();
        for baseline in [false, true] {
            let (_, idle) = fleet(2, profiles);
            let view = idle.machines()[0].view();
            let memory = |id| view.graph().device(id).memory_bytes;
            let capacities: Vec<u64> = view.present().iter().filter_map(memory).collect();
            let mut world = World::new(idle.clone(), jobs.iter().map(|kind| (0, kind.clone())));
            if baseline {
                world.run(&mut SlurmMig::new(lowest_id()));
            } else {
                world.run(&mut Case::new(settings, lowest_id()));
            }
            let mut batch = CaseBatch::default();
            let ran = (0..).zip(&jobs).filter(|(id, _)| world.ended.contains_key(&JobId(*id)));
            ran.for_each(|(_, kind)| add_to(&mut batch, kind));
            let bound = batch.makespan_bound(&capacities, MemoryFit::Below).unwrap();
            let makespan = world.ended.values().max().copied().unwrap_or(0);
            prop_assert!(bound <= Duration::from_secs(makespan), "{bound:?} {makespan}");
        }
    }
}

proptest! {
    #[test]
    fn no_schedule_is_below_the_bound_of_any_layout(
        jobs in vec(kinds(), 1..30),
        settings in settings(),
        profiles in layouts(),
        takes in 0u64..5,
    ) {
        let settings = CaseSettings { reprovision: true, ..settings };
        let (graphs, idle) = fleet(2, profiles);
        let mut world = World::new(idle, jobs.iter().map(|kind| (0, kind.clone())));
        world.repartition = (takes, 0);
        world.run(&mut Case::new(settings, lowest_id()));
        let mut batch = CaseBatch::default();
        let ran = (0..).zip(&jobs).filter(|(id, _)| world.ended.contains_key(&JobId(*id)));
        let is_flat = |kind: &Kind| match kind {
            Kind::Process(_, _, steps) => !steps.windows(3).any(|three| matches!(three, [Step::Begin(..), _, Step::Begin(..)])),
            Kind::Isolated(..) => true,
        };
        ran.filter(|row| is_flat(row.1)).for_each(|(_, kind)| add_to(&mut batch, kind));
        let model = graphs[0].model(mapa_core::DeviceId(0)).unwrap();
        let bound = batch.makespan_bound_of_any_layout(&[&**model; 2], MemoryFit::Below).unwrap();
        let makespan = world.ended.values().max().copied().unwrap_or(0);
        prop_assert!(bound <= Duration::from_secs(makespan), "{bound:?} {makespan}");
    }
}

#[test]
fn a_bound_of_any_layout_counts_slices_and_memory() {
    // A GPU of four slices of 6 GiB; jobs of 7 GiB need two each, so two run at once.
    let (graphs, _) = fleet(1, &["4g"]);
    let model = graphs[0].model(mapa_core::DeviceId(0)).unwrap();
    let gib = 1u64 << 30;
    let s = Duration::from_secs;
    let batch = CaseBatch {
        isolated: vec![(7 * gib, s(10)); 6],
        others: vec![(s(3), vec![(2 * gib, s(4))])],
    };
    assert_eq!(
        batch.makespan_bound_of_any_layout(&[&**model], MemoryFit::Below),
        // Six jobs take 12 GiB for 10 s each, the task 2 GiB for 4 s: 728 of 24.
        Some(Duration::new(30, 333_333_333))
    );
    let too_large = CaseBatch {
        isolated: vec![(30 * gib, s(1))],
        others: vec![],
    };
    assert_eq!(
        too_large.makespan_bound_of_any_layout(&[&**model], MemoryFit::Below),
        None
    );
}

/// The paper's variant, each of whose placements is compared with the policy's decision.
struct Twin {
    manager: Case,
}

impl mapa_sched::Scheduler for Twin {
    fn name(&self) -> &str {
        "twin"
    }
    fn on_event(&mut self, now: mapa_sched::Time, event: mapa_sched::Event) {
        self.manager.on_event(now, event);
    }
    fn act(&mut self, now: mapa_sched::Time, turn: &mut mapa_sched::Turn<'_>) {
        let mut before: Fleet = turn.fleet().clone();
        self.manager.act(now, turn);
        // What the manager placed in this turn, replayed by the policy on the fleet as it was.
        let held: std::collections::BTreeSet<Tenant> =
            before.tenants().map(|tenant| tenant.0).collect();
        let mut new: Vec<_> = turn
            .fleet()
            .tenants()
            .filter(|tenant| !held.contains(&tenant.0))
            .collect();
        new.sort_by_key(|row| row.2);
        for (tenant, machine, lease) in new {
            let lease = turn.fleet().machine(machine).unwrap().lease(lease).unwrap();
            let request = request(lease.pattern.demands()[0].memory_bytes);
            let decision = before.decide(case(), &request).unwrap();
            assert_eq!(decision.placement()[0], lease.placement[0], "{tenant}");
            let mut replay = PlacesOne(Some((tenant, decision)));
            mapa_sched::step(&mut replay, &mut before, now, [], &mut Vec::new()).unwrap();
        }
    }
}

impl world::Manager for Twin {}

struct PlacesOne(Option<(Tenant, mapa_core::Decision)>);

impl mapa_sched::Scheduler for PlacesOne {
    fn name(&self) -> &str {
        "places one"
    }
    fn on_event(&mut self, _: mapa_sched::Time, _: mapa_sched::Event) {}
    fn act(&mut self, _: mapa_sched::Time, turn: &mut mapa_sched::Turn<'_>) {
        if let Some((tenant, decision)) = self.0.take() {
            turn.place(tenant, decision).unwrap();
        }
    }
}

#[test]
fn equal_jobs_take_the_closed_form_under_both_managers() {
    // Property 4: n jobs of c host and h task seconds on one instance.
    let capacity = 6u64 << 30;
    for n in [1u64, 2, 3, 5, 8, 12] {
        for (c, h) in [(0, 4), (3, 5), (7, 2)] {
            for tenths in [10u64, 13, 20, 25, 31, 40, 60] {
                let bytes = tenths * UNIT;
                let world = || {
                    let (_, idle) = fleet(1, &["1g"]);
                    World::new(idle, (0..n).map(|_| (0, one_task(bytes, c, h, 0))))
                };
                let end = |world: &World| world.ended.values().max().copied();
                let mut slurm = world();
                slurm.run(&mut SlurmMig::new(lowest_id()));
                assert_eq!(
                    end(&slurm),
                    Some(n * (c + h)),
                    "slurm: {n} {c} {h} {tenths}"
                );
                // As many workers as jobs, so that all host phases run at once.
                let settings = CaseSettings {
                    workers: 12,
                    ..CaseSettings::PAPER
                };
                let mut case = world();
                case.run(&mut Case::new(settings, lowest_id()));
                let k = capacity.div_ceil(bytes) - 1;
                let expected = c + n.div_ceil(k) * h;
                assert_eq!(end(&case), Some(expected), "case: {n} {c} {h} {tenths}");
            }
        }
    }
}

#[test]
fn two_that_hold_and_ask_wait_for_ever_without_the_remedy() {
    let (_, idle) = fleet(1, &["1g"]);
    let gigabytes = |n: u64| n * 10 * UNIT;
    // 3 of 6 GiB each, and 1 GB more.
    let grower = |_| {
        let steps = vec![
            Step::Begin(0, gigabytes(3)),
            Step::Host(1),
            Step::Begin(1, gigabytes(1)),
            Step::Host(1),
            Step::End(1),
            Step::End(0),
        ];
        (0, Kind::Process(gigabytes(4), true, steps))
    };
    let mut world = World::new(idle.clone(), (0..2).map(grower));
    world.run(&mut Case::new(CaseSettings::PAPER, lowest_id()));
    assert_eq!(world.stuck(), [JobId(0), JobId(1)]);
    let remedy = CaseSettings {
        growers: Growers::One,
        ..CaseSettings::PAPER
    };
    let mut world = World::new(idle, (0..2).map(grower));
    world.run(&mut Case::new(remedy, lowest_id()));
    assert_eq!(world.ended.values().copied().collect::<Vec<_>>(), [2, 4]);
}

#[test]
fn what_fits_no_empty_instance_is_rejected_and_what_asks_too_much_later_too() {
    let (_, idle) = fleet(1, &["2g", "1g", "1g"]);
    let too_large = 129 * UNIT;
    let later = vec![
        Step::Begin(0, 10 * UNIT),
        Step::End(0),
        Step::Begin(1, too_large),
        Step::End(1),
    ];
    let jobs = [
        (0, Kind::Isolated(too_large, 1)),
        (0, one_task(too_large, 1, 1, 1)),
        (0, Kind::Process(0, false, later)),
        (0, Kind::Isolated(128 * UNIT, 1)),
    ];
    let mut world = World::new(idle, jobs);
    world.run(&mut Case::new(CaseSettings::CORRECTED, lowest_id()));
    // Who is rejected is told what would do: an isolated job's memory holds its context, that of a process does not.
    let expected = [
        "an instance that holds 12.90 GB when empty: the largest has 12.88 GB",
        "an instance that holds 13.20 GB when empty: the largest has 12.88 GB",
        "memory for all that the process holds, on the instance where it is",
    ];
    let expected = (0..).zip(expected);
    let expected = expected.map(|(job, what)| (JobId(job), format!("not met: {what}")));
    assert_eq!(world.rejected, expected.collect());
    assert_eq!(world.stuck(), []);
}

#[test]
fn workers_are_limited_by_the_setting_and_by_mps_clients() {
    let launch = |workers| {
        let (_, idle) = fleet(1, &["1g", "1g", "1g", "1g"]);
        let mut world = World::new(idle, (0..80).map(|_| (0, one_task(UNIT, 5, 1, 0))));
        let settings = CaseSettings {
            workers,
            ..CaseSettings::CORRECTED
        };
        world.run(&mut Case::new(settings, lowest_id()));
        world.most_running
    };
    // 12 clients on a quarter of an A30.
    assert_eq!([4, 7, 1000].map(launch), [16, 28, 48]);
}

#[test]
fn the_tasks_of_a_process_stay_on_its_instance_and_go_anywhere_in_the_papers_variant() {
    let steps = |ids: [u64; 2]| {
        let task = |id| [Step::Begin(id, 10 * UNIT), Step::Host(2), Step::End(id)];
        ids.map(task).concat()
    };
    let places = |binding| {
        let (_, idle) = fleet(1, &["1g", "1g", "1g", "1g"]);
        // The second arrives while the first runs a task, and ends first on the lowest instance.
        let jobs = [
            (0, one_task(10 * UNIT, 0, 2, 0)),
            (1, Kind::Process(10 * UNIT, false, steps([0, 1]))),
        ];
        let mut world = World::new(idle, jobs);
        let settings = CaseSettings {
            binding,
            ..CaseSettings::CORRECTED
        };
        world.run(&mut Case::new(settings, lowest_id()));
        let own = |task| {
            let tenant = Tenant::Task(JobId(1), TaskId(task));
            world.placed.iter().find(|row| row.1 == tenant).unwrap().2
        };
        (own(0), own(1))
    };
    let (first, second) = places(ProcessBinding::Once);
    assert_eq!(first, second);
    let (first, second) = places(ProcessBinding::Free);
    assert_ne!(first, second);
}

#[test]
fn a_stream_of_tasks_starves_an_isolated_job_unless_an_instance_is_drained() {
    let end = |drain| {
        let (_, idle) = fleet(1, &["1g"]);
        let stream = (0..40).map(|at| (at, one_task(10 * UNIT, 0, 3, 0)));
        let jobs = stream.chain([(1, Kind::Isolated(10 * UNIT, 5))]);
        let mut world = World::new(idle, jobs);
        let settings = CaseSettings {
            drain,
            context: ContextMemory::fixed(0),
            ..CaseSettings::CORRECTED
        };
        world.run(&mut Case::new(settings, lowest_id()));
        world.ended[&JobId(40)]
    };
    assert!(end(false) > 40);
    assert!(end(true) <= 10);
}

#[test]
fn two_idle_instances_become_a_large_one_and_a_large_one_several_small_ones() {
    let run = |profiles: &[&str], kind: Kind, count: u64| {
        let (_, idle) = fleet(1, profiles);
        let mut world = World::new(idle, (0..count).map(|_| (0, kind.clone())));
        world.run(&mut Case::new(CaseSettings::BALANCED, lowest_id()));
        (world.repartitions, *world.ended.values().max().unwrap())
    };
    // 10 seconds for the repartition, 7 for the job.
    let large = Kind::Isolated(100 * UNIT, 7);
    assert_eq!(run(&["1g", "1g", "1g", "1g"], large, 1), (1, 17));
    let small = Kind::Isolated(10 * UNIT, 7);
    // One takes the small instance at once; two get instances in place of the large one.
    let (changes, end) = run(&["2g", "1g"], small, 3);
    assert_eq!((changes, end), (1, 17));
}

#[test]
fn algorithm_1_as_printed_runs_one_of_128_jobs_143_times() {
    let memory = 6_000_000_000;
    let instances = vec![memory; 16];
    let job = |footprint| PrintedJob {
        footprint,
        seconds: 10,
    };
    let run = |faults, isolated: &[PrintedJob], others: &[PrintedJob]| {
        PrintedAlgorithm::new(faults, instances.clone(), 64).run(isolated, others)
    };
    let full = vec![job(memory); 128];
    let printed = run(PrintedFaults::ALL, &full, &[]);
    assert_eq!(
        (printed.jobs(), printed.launches.len(), printed.end),
        (1, 143, PrintedEnd::Batch)
    );
    let with_break = PrintedFaults {
        no_break: false,
        ..PrintedFaults::ALL
    };
    assert_eq!(run(with_break, &full, &[]).jobs(), 16);
    // Line 11: 2 GB never equal 6, so nothing starts.
    let small = vec![job(memory / 3); 128];
    let equality = run(PrintedFaults::ALL, &small, &[]);
    assert_eq!(
        (equality.jobs(), equality.end),
        (0, PrintedEnd::WaitsForEver)
    );
    // Lines 26 and 27: half of the jobs are lost, and the loop waits for them for ever.
    let popped = run(PrintedFaults::ALL, &[], &small);
    assert_eq!((popped.jobs(), popped.end), (64, PrintedEnd::WaitsForEver));
    let odd = run(PrintedFaults::ALL, &[], &small[..127]);
    assert_eq!(odd.end, PrintedEnd::PopsEmptyQueue);
    let corrected = run(PrintedFaults::NONE, &small, &small);
    assert_eq!(
        (corrected.jobs(), corrected.launches.len(), corrected.end),
        (256, 256, PrintedEnd::Batch)
    );
}

#[test]
fn a_head_that_blocks_delays_what_would_fit() {
    let end = |blocking| {
        let (_, idle) = fleet(1, &["2g", "1g"]);
        let jobs = [
            (0, Kind::Isolated(100 * UNIT, 9)),
            (0, Kind::Isolated(100 * UNIT, 9)),
            (0, Kind::Isolated(10 * UNIT, 9)),
        ];
        let mut world = World::new(idle, jobs);
        world.run(&mut SlurmMig::new(lowest_id()).blocking(blocking));
        world.ended[&JobId(2)]
    };
    assert_eq!((end(false), end(true)), (9, 18));
}

#[test]
fn managers_are_named_with_their_settings_and_reject_what_they_do_not_know() {
    let named = |words: &str| NamedScheduler::among(&SCHEDULERS, words, Box::new(lowest_id()));
    for words in [
        "case,bind=free,growers=any,fit=up-to,context=0,workers=6",
        "case-balanced,classes=others-first,drain=off,isolated=longest,reprovision=off",
        "slurm-mig,head=block,fit=up-to",
    ] {
        let name = words.split(',').next().unwrap();
        assert_eq!(named(words).unwrap().name(), format!("{name}, lowest-id"));
    }
    let said = [
        "case,bind=twice",
        "case-balanced,drain=1",
        "case,context=-3",
        "case,workers=0",
        "slurm-mig,bind=once",
    ]
    .map(|words| {
        let error = named(words).err().unwrap().to_string();
        format!("{words:?} -> {error}")
    });
    insta::assert_snapshot!(said.join("\n"), @r#"
    "case,bind=twice" -> scheduler `case,bind=twice`: `bind=twice`: expected once, free
    "case-balanced,drain=1" -> scheduler `case-balanced,drain=1`: `drain=1`: expected on, off
    "case,context=-3" -> scheduler `case,context=-3`: `context=-3`: expected a whole number
    "case,workers=0" -> scheduler `case,workers=0`: `workers=0`: expected a whole number above 0
    "slurm-mig,bind=once" -> scheduler `slurm-mig,bind=once`: `bind=once`: no setting is called `bind`: expected head=pass|block, fit=below|up-to
    "#);
}
