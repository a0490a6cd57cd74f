//! Jobs that share PCIe: when they end against closed forms, and what the two models say of one
//! moment.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mapa_core::mig::Size;
use mapa_core::{
    Demand, DeviceId, DeviceSet, Fabric, FabricNode, HardwareGraph, MachineId, NodeKind,
    PCIE_GEN4_GBPS, Pattern, Request, lowest_id,
};
use mapa_sched::{
    Action, Assignment, Event, Fifo, Fleet, Job, JobId, JobLimit, JobLimitTable, Scheduler, Time,
    Turn, step,
};
use mapa_sim::{Coupling, Execution, Outcome, Simulation, Submission, Workload};
use mapa_system_pcie_sim::{PcieEqualShare, PcieMaxMin};
use mapa_topologies::mig::{Offer, named};
use proptest::prelude::*;

const LIGHT: (f64, f64) = (5.7, 1.25);
const HEAVY: (f64, f64) = (17.65, 1.07);
const NONE: (f64, f64) = (0.0, 1.0);

/// GPUs cut into seven slices each, with a way of 30.08 GB/s of their own to the host; or all
/// behind one switch with no more.
fn fleet(gpus: u32, behind_a_switch: bool) -> Fleet {
    let mut fabric = Fabric::new();
    let cpu = fabric.add_numa("cpu0", 0).unwrap();
    let switch = fabric
        .add(FabricNode {
            name: "switch".to_owned(),
            kind: NodeKind::PcieSwitch,
        })
        .unwrap();
    fabric.attach(switch, cpu, PCIE_GEN4_GBPS).unwrap();
    for i in 0..gpus {
        let gpu = fabric.add_device(format!("GPU{i}")).unwrap();
        fabric
            .attach(
                gpu,
                if behind_a_switch { switch } else { cpu },
                PCIE_GEN4_GBPS,
            )
            .unwrap();
    }
    cut(fabric, gpus)
}

/// Every GPU in seven slices.
fn cut(mut fabric: Fabric, gpus: u32) -> Fleet {
    let model = named("a100-40gb").unwrap().model(Offer::PLAIN).unwrap();
    fabric.set_mig(Some(&model));
    let mut fleet = Fleet::new([Arc::new(fabric.lower().unwrap())]);
    let seven = model.fit(&[model.find("1g.5gb").unwrap(); 7]).unwrap();
    (0..gpus).for_each(|gpu| {
        fleet
            .layout_is(MachineId(0), DeviceId(gpu), &seven)
            .unwrap()
    });
    fleet
}

fn submission(id: u64, (gbps, alpha): (f64, f64), arrives: f64, seconds: f64) -> Submission {
    let demand = Demand::slice(Size::new(1, 1)).pcie_gbps(gbps);
    let mut job = Job::new(JobId(id), Request::new(Pattern::ring(1).each(demand)));
    job.pcie_alpha = alpha;
    job.arrived = Time((arrives * 1e9) as u64);
    Submission::new(job, Duration::from_secs_f64(seconds))
}

fn both(workload: &Workload) -> [Box<dyn Execution>; 2] {
    [
        Box::new(PcieEqualShare::default()),
        Box::new(PcieMaxMin::new(workload)),
    ]
}

fn ends(outcome: &Outcome) -> Vec<f64> {
    outcome
        .runs
        .iter()
        .map(|run| run.ended().0 as f64 / 1e9)
        .collect()
}

/// Runs jobs of one kind on one GPU under both models.
#[track_caller]
fn check_ends(jobs: &[(f64, f64)], kind: (f64, f64), expected: &[f64]) {
    let jobs = (0..)
        .zip(jobs)
        .map(|(id, &(arrives, seconds))| submission(id, kind, arrives, seconds));
    let workload = Workload::new("few", jobs);
    for physics in both(&workload) {
        let outcome = Simulation::new(&workload, fleet(1, false))
            .run(&mut Fifo::new(lowest_id()), &*physics)
            .unwrap();
        let ends = ends(&outcome);
        let off = ends
            .iter()
            .zip(expected)
            .map(|(end, expected)| (end - expected).abs())
            .fold(0.0, f64::max);
        assert!(
            off < 1e-7,
            "{}: {ends:?} is not {expected:?}",
            physics.name()
        );
    }
}

/// By what factor n heavy jobs on one GPU are slowed down: 1.256 for two, 1.884 for three.
fn heavy(n: f64) -> f64 {
    HEAVY.1 * HEAVY.0 * n / PCIE_GEN4_GBPS
}

#[test]
fn two_jobs_end_when_the_closed_form_says() {
    assert!((heavy(2.0) - 1.2557).abs() < 1e-4);
    let s = heavy(2.0);
    for x in [0.0, 1.0, 37.0, 99.0] {
        // The first: x alone, the rest beside the second, which then goes on alone.
        let first = x + s * (100.0 - x);
        check_ends(
            &[(0.0, 100.0), (x, 100.0)],
            HEAVY,
            &[first, first + 100.0 - (first - x) / s],
        );
        // A short one comes and goes while the first is there: what the first loses is the length
        // of the visit less what it did meanwhile.
        if x < 90.0 {
            let lost = 5.0 * s - 5.0;
            check_ends(
                &[(0.0, 100.0), (x, 5.0)],
                HEAVY,
                &[100.0 + lost, x + 5.0 * s],
            );
        }
    }
    check_ends(&[(0.0, 10.0), (10.0, 10.0)], HEAVY, &[10.0, 20.0]);
    // Below the knee nobody is slowed down.
    check_ends(&[(0.0, 100.0), (37.0, 50.0)], LIGHT, &[100.0, 87.0]);
    check_ends(&[(0.0, 100.0), (37.0, 50.0)], NONE, &[100.0, 87.0]);
}

#[test]
fn three_jobs_end_when_the_closed_form_says() {
    let [two, three] = [heavy(2.0), heavy(3.0)];
    // All at once: three together until the shortest has done its work, two until the next has, one
    // alone.
    let first = three * 20.0;
    let second = first + two * 30.0;
    check_ends(
        &[(0.0, 50.0), (0.0, 20.0), (0.0, 90.0)],
        HEAVY,
        &[second, first, second + 40.0],
    );
    // One after the other, and they leave as they came: 10 alone, 20 as two, 30 as three.
    let [a, b] = [10.0, 30.0];
    let works = [
        10.0 + 20.0 / two + 30.0 / three,
        20.0 / two + 30.0 / three + 20.0 / two,
        30.0 / three + 20.0 / two + 10.0,
    ];
    check_ends(
        &[(0.0, works[0]), (a, works[1]), (b, works[2])],
        HEAVY,
        &[60.0, 80.0, 90.0],
    );
    // The second comes and goes within the first's time, the third comes while it is there and
    // stays.
    let works = [
        5.0 + 10.0 / two + 10.0 / three + 20.0 / two,
        10.0 / two + 10.0 / three,
        10.0 / three + 20.0 / two + 7.0,
    ];
    check_ends(
        &[(0.0, works[0]), (5.0, works[1]), (15.0, works[2])],
        HEAVY,
        &[45.0, 25.0, 52.0],
    );
}

#[test]
fn where_jobs_differ_the_models_do_and_each_has_its_closed_form() {
    // Two heavy ones and a light one, all at once; the light one is content with 7.125 GB/s, Eq. 2
    // counts it as a third all the same.
    let workload = Workload::new(
        "mix",
        [(0, HEAVY), (1, HEAVY), (2, LIGHT)].map(|(id, kind)| submission(id, kind, 0.0, 50.0)),
    );
    let [equal, fair] = both(&workload).map(|physics| {
        ends(
            &Simulation::new(&workload, fleet(1, false))
                .run(&mut Fifo::new(lowest_id()), &*physics)
                .unwrap(),
        )
    });
    let close = |ends: &[f64], expected: [f64; 3]| {
        ends.iter()
            .zip(expected)
            .all(|(end, other)| (end - other).abs() < 1e-7)
    };
    // Eq. 2: the light one runs at full speed for 50 s, the heavy ones at a third each, then at
    // half.
    let after = 50.0 + heavy(2.0) * (50.0 - 50.0 / heavy(3.0));
    assert!(close(&equal, [after, after, 50.0]), "{equal:?}");
    // Max-min: meanwhile the heavy ones have half of what the light one leaves.
    let beside = HEAVY.0 * HEAVY.1 / ((PCIE_GEN4_GBPS - LIGHT.0 * LIGHT.1) / 2.0);
    let after = 50.0 + heavy(2.0) * (50.0 - 50.0 / beside);
    assert!(close(&fair, [after, after, 50.0]), "{fair:?}");
}

/// Places jobs that all arrive at once, and says how slow each is, by both models.
fn slowdowns(fleet: Fleet, kinds: &[(f64, f64)]) -> Vec<[f64; 2]> {
    slowdowns_under(&JobLimitTable::default(), fleet, kinds)
}

/// The same under limits.
fn slowdowns_under(
    guards: &JobLimitTable,
    mut fleet: Fleet,
    kinds: &[(f64, f64)],
) -> Vec<[f64; 2]> {
    let jobs = (0..)
        .zip(kinds)
        .map(|(id, &kind)| submission(id, kind, 0.0, 50.0));
    let workload = Workload::new("moment", jobs);
    let arrivals = workload
        .jobs
        .iter()
        .map(|job| Event::Arrived(job.job.clone()));
    let mut orders = Vec::new();
    step(
        &mut Fifo::new(lowest_id()),
        &mut fleet,
        Time::ZERO,
        arrivals,
        &mut orders,
    )
    .unwrap();
    let placed: Vec<Assignment> = orders
        .into_iter()
        .filter_map(|order| {
            if let Action::Place { at, .. } = order {
                Some(at)
            } else {
                None
            }
        })
        .collect();
    assert_eq!(placed.len(), kinds.len());
    let [equal, fair] = both(&workload);
    { workload.jobs.iter().zip(&placed) }
        .map(|(submission, at)| {
            [&equal, &fair].map(|physics| physics.slowdown_under(guards, submission, at, &fleet))
        })
        .collect()
}

#[test]
fn limits_slow_down_whom_they_are_on_and_by_max_min_leave_the_rest_to_neighbours() {
    let mut guards = JobLimitTable::default();
    guards.set(JobId(0), JobLimit::PcieMbPerS(Some(5000)));
    guards.set(JobId(2), JobLimit::MpsPercent(Some(25)));
    guards.set(JobId(3), JobLimit::BlockIoMbPerS(Some(1)));
    guards.set(JobId(3), JobLimit::AvoidInterruptCores(true));
    let found = slowdowns_under(&guards, fleet(1, false), &[HEAVY, HEAVY, NONE, NONE]);
    let wants = HEAVY.0 * HEAVY.1;
    // Two heavy jobs want more than the port carries; one beside a limit of 5 GB/s gets all it wants.
    let expected = [
        [wants / 5.0, wants / 5.0],
        [heavy(2.0), 1.0],
        [4.0, 4.0],
        [1.0, 1.0],
    ];
    for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
        assert!(
            (found - expected).abs() < 1e-12,
            "{found} is not {expected}"
        );
    }
    // Copies and computing overlap, so the slower counts; a lifted limit counts no more.
    guards.set(JobId(0), JobLimit::PcieMbPerS(None));
    guards.set(JobId(0), JobLimit::MpsPercent(Some(50)));
    guards.set(JobId(1), JobLimit::MpsPercent(Some(90)));
    let found = slowdowns_under(&guards, fleet(1, false), &[HEAVY, HEAVY]);
    for ([equal, fair], expected) in found.into_iter().zip([2.0, heavy(2.0)]) {
        assert!((equal - expected).abs() < 1e-12 && (fair - expected).abs() < 1e-12);
    }
}

#[test]
fn a_switch_is_shared_by_those_behind_it_and_by_nobody_else() {
    // Fourteen jobs, seven a GPU; one heavy one on each, all others without PCIe.
    let mut kinds = [NONE; 14];
    (kinds[0], kinds[7]) = (HEAVY, HEAVY);
    let apart = slowdowns(fleet(2, false), &kinds);
    assert!(apart.iter().all(|both| *both == [1.0, 1.0]), "{apart:?}");
    let behind = slowdowns(fleet(2, true), &kinds);
    for (i, [equal, fair]) in behind.into_iter().enumerate() {
        assert_eq!(equal, 1.0, "Eq. 2 sees no switch");
        let expected = if kinds[i] == HEAVY { heavy(2.0) } else { 1.0 };
        assert!((fair - expected).abs() < 1e-12, "{fair}");
    }
}

#[test]
fn nobody_knows_how_slow_a_job_is_where_nobody_says_how_its_gpu_reaches_the_host() {
    let mut fabric = Fabric::new();
    fabric.add_device("GPU0").unwrap();
    let [[equal, fair], none] = slowdowns(cut(fabric.clone(), 1), &[HEAVY, NONE])[..] else {
        panic!("two jobs")
    };
    assert!(equal == 1.0 && fair.is_nan() && none == [1.0, 1.0]);
    let workload = Workload::new("one", [submission(3, HEAVY, 0.0, 1.0)]);
    let refused = Simulation::new(&workload, cut(fabric, 1))
        .run(&mut Fifo::new(lowest_id()), &PcieMaxMin::new(&workload));
    insta::assert_snapshot!(
        refused.unwrap_err().to_string(),
        @"job 3: a slowdown of NaN: expected a number between 2^-31 and 2^31"
    );
}

proptest! {
    #[test]
    fn on_a_port_of_its_own_nobody_is_slower_by_max_min_than_by_eq_2_and_equals_are_as_slow(
        kinds in prop::collection::vec(prop::sample::select(vec![LIGHT, HEAVY, NONE, (11.0, 1.0)]), 1..8), gpus in 1u32..3,
    ) {
        let found = slowdowns(fleet(gpus, false), &kinds);
        // Jobs go to the first GPU, which has room for all.
        let bound: Vec<_> = kinds.iter().filter(|kind| kind.0 > 0.0).collect();
        let wanted: f64 = bound.iter().map(|kind| kind.0 * kind.1).sum();
        let mut used = 0.0;
        for (&(gbps, alpha), [equal, fair]) in kinds.iter().zip(found) {
            prop_assert!(1.0 <= fair && fair <= equal + 1e-12, "{kinds:?}: {fair} is more than {equal}");
            prop_assert!((equal - (alpha * gbps * bound.len() as f64 / PCIE_GEN4_GBPS).max(1.0)).abs() < 1e-12);
            if bound.windows(2).all(|pair| pair[0] == pair[1]) {
                prop_assert!((equal - fair).abs() < 1e-12, "{kinds:?}: {fair} is not {equal}");
            }
            used += alpha * gbps / fair;
        }
        prop_assert!((used - wanted.min(PCIE_GEN4_GBPS)).abs() < 1e-9, "{used} of {wanted} GB/s");
    }

    #[test]
    fn slowdowns_that_are_computed_together_and_only_where_changes_are_felt_are_the_same(
        jobs in prop::collection::vec((prop::sample::select(vec![LIGHT, HEAVY, NONE, (11.0, 1.0)]), 0u32..40, 1u32..30), 1..40),
        gpus in 1u32..4, behind_a_switch in any::<bool>(), limits in any::<bool>(),
    ) {
        let jobs = (0..).zip(jobs).map(|(id, (kind, arrives, seconds))| submission(id, kind, arrives.into(), seconds.into()));
        let workload = Workload::new("drawn", jobs);
        for model in both(&workload) {
            let run = |model: &dyn Execution| {
                let mut scheduler = Limiting { fifo: Fifo::new(lowest_id()), limits };
                Simulation::new(&workload, fleet(gpus, behind_a_switch)).run(&mut scheduler, model).unwrap()
            };
            let slow = OneByOne { model: &*model, computed: AtomicUsize::new(0) };
            let outcome = run(&slow);
            prop_assert_eq!(&run(&*model), &outcome);
        }
    }
}

/// A model that computes each slowdown alone, and is asked for those of the whole machine at every change.
struct OneByOne<'a> {
    model: &'a dyn Execution,
    computed: AtomicUsize,
}

impl Execution for OneByOne<'_> {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn slowdown(&self, job: &Submission, at: &Assignment, fleet: &Fleet) -> f64 {
        self.model.slowdown(job, at, fleet)
    }

    fn slowdown_under(
        &self,
        guards: &JobLimitTable,
        job: &Submission,
        at: &Assignment,
        fleet: &Fleet,
    ) -> f64 {
        self.computed.fetch_add(1, Ordering::Relaxed);
        self.model.slowdown_under(guards, job, at, fleet)
    }

    fn coupling(&self) -> Coupling {
        self.model.coupling()
    }
}

/// As [`OneByOne`], but asked only where changes are felt.
struct Felt<'a>(OneByOne<'a>);

impl Execution for Felt<'_> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn slowdown(&self, job: &Submission, at: &Assignment, fleet: &Fleet) -> f64 {
        self.0.slowdown(job, at, fleet)
    }

    fn slowdown_under(
        &self,
        guards: &JobLimitTable,
        job: &Submission,
        at: &Assignment,
        fleet: &Fleet,
    ) -> f64 {
        self.0.slowdown_under(guards, job, at, fleet)
    }

    fn coupling(&self) -> Coupling {
        self.0.coupling()
    }

    fn felt_on(&self, graph: &HardwareGraph, whole: DeviceId) -> Option<DeviceSet> {
        self.0.model.felt_on(graph, whole)
    }
}

/// First come, first served; with `limits`, every third job that starts gets a limit on its copies.
struct Limiting {
    fifo: Fifo,
    limits: bool,
}

impl Scheduler for Limiting {
    fn name(&self) -> &str {
        "limiting"
    }

    fn on_event(&mut self, now: Time, event: Event) {
        self.fifo.on_event(now, event);
    }

    fn act(&mut self, now: Time, turn: &mut Turn<'_>) {
        self.fifo.act(now, turn);
        let tenants: Vec<JobId> = turn
            .fleet()
            .tenants()
            .map(|(tenant, ..)| tenant.job())
            .collect();
        for job in tenants {
            if self.limits && job.0.is_multiple_of(3) {
                turn.throttle(
                    job,
                    JobLimit::PcieMbPerS(Some(2000 + 500 * (now.0 % 7) as u32)),
                );
            }
        }
    }
}

#[test]
fn a_change_costs_no_slowdown_of_jobs_that_do_not_feel_it() {
    // Four GPUs with seven jobs each, which all start at one moment and end one by one.
    let jobs = (0..28).map(|id| submission(id, HEAVY, 0.0, 10.0 + id as f64));
    let workload = Workload::new("full", jobs);
    for model in both(&workload) {
        let new = || OneByOne {
            model: &*model,
            computed: AtomicUsize::new(0),
        };
        let (all, felt) = (new(), Felt(new()));
        for model in [&all as &dyn Execution, &felt] {
            let mut fifo = Fifo::new(lowest_id());
            Simulation::new(&workload, fleet(4, false))
                .run(&mut fifo, model)
                .unwrap();
        }
        // After each of 28 ends the rest of the machine, of 28 jobs, or the rest of one GPU, of seven.
        assert_eq!(
            all.computed.into_inner(),
            28 + 28 * 27 / 2,
            "{}",
            model.name()
        );
        assert_eq!(
            felt.0.computed.into_inner(),
            28 + 4 * (7 * 6 / 2),
            "{}",
            model.name()
        );
    }
}
