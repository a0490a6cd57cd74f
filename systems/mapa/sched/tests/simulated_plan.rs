//! The plan for topologies in time: what it expects is what happens, and no goal is below its bound.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use mapa_core::{HardwareGraph, Objective, Pattern, Request, effective_gbps, ring_packing_gbps};
use mapa_sched::{Event, Fleet, Job, JobId, LinkModel, Scheduler, Time, Turn};
use mapa_sim::{ByBandwidth, Outcome, Simulation, Submission, Workload};
use mapa_system_mapa::{PlanGoal, TopologyPlan};
use mapa_topologies::named;
use proptest::collection::vec;
use proptest::prelude::*;

fn machine() -> impl Strategy<Value = HardwareGraph> {
    let names = vec!["dgx-1v", "dgx-1p", "torus-2d", "summit"];
    proptest::sample::select(names).prop_map(|name| named(name).unwrap().graph().unwrap())
}

/// Jobs that all arrive at the beginning: devices, seconds, the ratio, whether they are sensitive.
type Rows = Vec<(usize, u64, f64, bool)>;

fn rows() -> impl Strategy<Value = Rows> {
    let ratio = prop_oneof![Just(1.1), Just(1.6), Just(3.0)];
    vec((1usize..=4, 1u64..60, ratio, any::<bool>()), 1..40)
}

fn workload(rows: &Rows) -> Workload {
    let jobs = (0..)
        .zip(rows)
        .map(|(id, &(devices, seconds, ratio, sensitive))| {
            let request = Request::new(Pattern::ring(devices)).sensitive(sensitive);
            let mut job = Job::new(JobId(id), request);
            job.link_ratio = Some(ratio);
            // No two jobs end at one moment: the simulator's nanoseconds would order them by chance.
            let work = Duration::from_secs(seconds) + Duration::from_nanos(id * 12_345_679);
            Submission::new(job, work).task(format!("task {id}"))
        });
    Workload::new("rows", jobs.collect::<Vec<_>>())
}

fn physics(rows: &Rows, model: &Objective<'static>) -> ByBandwidth {
    let mut physics = ByBandwidth::new(model.clone());
    for (id, row) in rows.iter().enumerate() {
        physics
            .ratios
            .insert(Arc::from(format!("task {id}")), row.2);
    }
    physics
}

fn run(
    rows: &Rows,
    graph: &Arc<HardwareGraph>,
    model: &Objective<'static>,
    scheduler: &mut dyn Scheduler,
) -> Outcome {
    let jobs = workload(rows);
    Simulation::new(&jobs, Fleet::new([graph.clone()]))
        .run(scheduler, &physics(rows, model))
        .unwrap()
}

/// When each job is expected to end, seconds.
type Ends = Rc<RefCell<BTreeMap<JobId, f64>>>;

/// Asks a plan, at its first turn, when the jobs will end.
struct Asked {
    plan: TopologyPlan,
    ends: Ends,
    jobs: u64,
}

impl Scheduler for Asked {
    fn name(&self) -> &str {
        self.plan.name()
    }

    fn on_event(&mut self, now: Time, event: Event) {
        self.plan.on_event(now, event);
    }

    fn act(&mut self, now: Time, turn: &mut Turn<'_>) {
        self.plan.act(now, turn);
        if now == Time::ZERO {
            for id in (0..self.jobs).map(JobId) {
                if let Some((_, end)) = self
                    .plan
                    .explain(id)
                    .and_then(|planned_start| planned_start.expected)
                {
                    self.ends
                        .borrow_mut()
                        .insert(id, end.since(Time::ZERO).as_secs_f64());
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(64))]

    /// With exact estimates, and where nobody comes and nothing is moved, a plan comes true.
    #[test]
    fn a_plan_comes_true(graph in machine(), rows in rows(), packing in any::<bool>()) {
        let model = if packing { ring_packing_gbps() } else { effective_gbps() };
        let graph = Arc::new(graph);
        let ends = Ends::default();
        let plan = TopologyPlan::new().model(LinkModel::By(model.clone())).search(0).ageing(false);
        let mut asked = Asked { plan, ends: ends.clone(), jobs: rows.len() as u64 };
        let outcome = run(&rows, &graph, &model, &mut asked);
        for run in &outcome.runs {
            let id = JobId(run.index as u64);
            if let Some(expected) = ends.borrow().get(&id) {
                let end = run.ended().since(Time::ZERO).as_secs_f64();
                prop_assert!((expected - end).abs() < 1e-5, "{id}: {expected} {end}");
            }
        }
    }

    /// For its goal, a batch ends no later than by a plan for another one, but for what the search
    /// happens to find.
    #[test]
    fn goals_are_what_they_say(graph in machine(), rows in vec((1usize..=4, 5u64..60, Just(1.6), any::<bool>()), 30..60)) {
        let graph = Arc::new(graph);
        let model = effective_gbps();
        let of = |goal| {
            let mut plan = TopologyPlan::new().goal(goal);
            let outcome = run(&rows, &graph, &model, &mut plan);
            let ends = outcome.runs.iter().map(|run| run.ended().since(Time::ZERO).as_secs_f64());
            let ends: Vec<f64> = ends.collect();
            (ends.iter().sum::<f64>(), ends.iter().fold(0.0_f64, |a, b| a.max(*b)))
        };
        let (mean, last) = (of(PlanGoal::Completion), of(PlanGoal::Makespan));
        prop_assert!(mean.0 <= last.0 * 1.02, "{mean:?} {last:?}");
        prop_assert!(last.1 <= mean.1 * 1.05, "{mean:?} {last:?}");
    }
}
