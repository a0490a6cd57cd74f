//! The PCIe-aware scheduler: against one that visits every GPU for every job, and what must be true
//! of its schedules.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mapa_core::mig::{Layout, Model, Size};
use mapa_core::{
    Demand, DeviceId, MachineId, PCIE_GEN4_GBPS, Pattern, Refusal, Request, Rules, pcie_slowdown,
};
use mapa_sched::{Action, Event, Fleet, Job, JobId, RunTime, Scheduler, Tenant, Time, Turn};
use mapa_system_pcie::{PcieAware, pcie_aware};
use proptest::collection::vec;
use proptest::prelude::*;

use mapa_sched::testing::TestDriver;
use mapa_sched::testing::{cuttable, cuttable_as, layout, other_model, quarters};

const MAX: f64 = PCIE_GEN4_GBPS;

fn size(slices: u8) -> Size {
    Size::new(slices, slices)
}

fn job(id: u64, slices: u8, gbps: f64, arrives: u64, runs: u64) -> Job {
    let demand = Demand::slice(size(slices)).pcie_gbps(gbps);
    let mut job = Job::new(
        JobId(id),
        Request::new(Pattern::ring(1).with_demand(0, demand)),
    );
    job.arrived = Time::from_secs(arrives);
    job.run_time = RunTime::Fixed(Duration::from_secs(runs));
    job
}

fn slices_of(job: &Job) -> Size {
    match job.request.pattern.demands()[0].want {
        mapa_core::Want::Slice(size) => size,
        _ => size(0),
    }
}

/// What a scheduler is to be like.
#[derive(Clone, Copy, Debug)]
struct Rule {
    aware: bool,
    delay: f64,
    wait: Duration,
}

impl Rule {
    fn scheduler(self) -> PcieAware {
        let own = if self.aware {
            PcieAware::new()
        } else {
            PcieAware::first_gpu()
        };
        own.delay_threshold(self.delay).wait_threshold(self.wait)
    }

    fn policy(self, alpha: f64) -> Rules<'static> {
        if self.aware {
            pcie_aware(alpha, MAX)
        } else {
            Rules::new("first")
        }
    }
}

type Gpu = (MachineId, DeviceId);
type Wanted = (JobId, Size);

/// The same rules without an index, classes or anything kept but what they need: every GPU is
/// visited by the policy for every job.
struct Slow {
    rule: Rule,
    waiting: Vec<(Job, Time)>,
    running: BTreeMap<JobId, Run>,
    /// Until when jobs must have ended, for whom it is, and when it was last for another.
    marks: BTreeMap<Gpu, (Time, JobId, Option<Time>)>,
    coming: BTreeMap<Gpu, Layout>,
    left: Vec<Gpu>,
    asked: Option<Time>,
}

struct Run {
    gpu: Gpu,
    gbps: f64,
    alpha: f64,
    left: f64,
    since: Time,
    slowdown: f64,
}

fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

fn gbps_of(job: &Job) -> f64 {
    f64::from(job.request.pattern.demands()[0].pcie_mb_s) / 1000.0
}

fn gpus(fleet: &Fleet) -> Vec<Gpu> {
    let of = |view: mapa_core::View<'_>| {
        view.graph()
            .wholes()
            .iter()
            .map(|id| (view.machine(), id))
            .collect::<Vec<_>>()
    };
    fleet.views().flat_map(of).collect()
}

fn free(fleet: &Fleet, (machine, whole): Gpu) -> Vec<Size> {
    let view = fleet.machine(machine).unwrap().view();
    if view.changing_to(whole).is_some() {
        return Vec::new();
    }
    let graph = view.graph();
    let there = graph.vertices(whole) & view.free();
    there
        .iter()
        .filter(|&id| id != whole)
        .filter_map(|id| graph.device(id).size)
        .collect()
}

fn count(model: &Model, layout: &Layout, size: Size) -> usize {
    layout
        .instances()
        .iter()
        .filter(|instance| model.profile(instance.profile).size == size)
        .count()
}

impl Slow {
    fn new(rule: Rule) -> Self {
        let (waiting, running) = (Vec::new(), BTreeMap::new());
        let (marks, coming, left) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        Self {
            rule,
            waiting,
            running,
            marks,
            coming,
            left,
            asked: None,
        }
    }

    fn bound(fleet: &Fleet, (machine, whole): Gpu) -> u32 {
        fleet
            .machine(machine)
            .unwrap()
            .view()
            .usage_of_whole(whole)
            .pcie_tenants
    }

    fn advance(&mut self, now: Time, gpu: Gpu, fleet: &Fleet) {
        for run in self.running.values_mut().filter(|run| run.gpu == gpu) {
            run.left = (run.left - now.since(run.since).as_secs_f64() / run.slowdown).max(0.0);
            run.since = now;
            run.slowdown = pcie_slowdown(run.gbps, run.alpha, Self::bound(fleet, gpu), MAX);
        }
    }

    fn until(&self, gpu: Gpu) -> Time {
        let ends = self.running.values().filter(|run| run.gpu == gpu);
        ends.map(|run| run.since + seconds(run.left * run.slowdown))
            .max()
            .unwrap_or(Time::ZERO)
    }

    /// Jobs that find no instance of their size on an unmarked GPU, by place in the queue.
    fn lacking(&self, fleet: &Fleet) -> Vec<Wanted> {
        let unmarked = gpus(fleet)
            .into_iter()
            .filter(|gpu| !self.marks.contains_key(gpu));
        let there: BTreeSet<Size> = unmarked.flat_map(|gpu| free(fleet, gpu)).collect();
        self.waiting
            .iter()
            .map(|(job, _)| (job.id, slices_of(job)))
            .filter(|(_, size)| !there.contains(size))
            .collect()
    }

    fn provide(wanted: &mut Vec<Wanted>, model: &Model, layout: &Layout) {
        let mut there: Vec<Size> = layout
            .instances()
            .iter()
            .map(|instance| model.profile(instance.profile).size)
            .collect();
        wanted.retain(
            |(_, demand)| match there.iter().position(|size| size == demand) {
                Some(at) => {
                    there.swap_remove(at);
                    false
                }
                None => true,
            },
        );
    }

    fn admitted(wanted: &[Wanted], model: &Model, layout: &Layout) -> usize {
        let mut left = wanted.to_vec();
        Self::provide(&mut left, model, layout);
        wanted.len() - left.len()
    }

    /// For this job as long as it is wanted, then for the first that is; for which of them.
    fn plan(
        wanted: &[Wanted],
        job: Option<JobId>,
        model: &Model,
        now: &Layout,
    ) -> Option<(JobId, Layout)> {
        let own = wanted.iter().find(|(id, _)| Some(*id) == job);
        let (job, head) = *own.or(wanted.first())?;
        let changes = |layout: &Layout| {
            let gone = now
                .instances()
                .iter()
                .filter(|&&instance| !layout.has(instance))
                .count();
            gone + layout
                .instances()
                .iter()
                .filter(|&&instance| !now.has(instance))
                .count()
        };
        let mut best: Option<(usize, usize, Layout)> = None;
        for layout in model
            .maximal_layouts()
            .filter(|layout| count(model, layout, head) > 0)
        {
            let (admits, costs) = (Self::admitted(wanted, model, &layout), changes(&layout));
            if best
                .as_ref()
                .is_none_or(|(most, least, _)| admits > *most || admits == *most && costs < *least)
            {
                best = Some((admits, costs, layout));
            }
        }
        let (admits, _, layout) = best?;
        (count(model, now, head) == 0 || admits > Self::admitted(wanted, model, now))
            .then_some((job, layout))
    }

    /// Marked GPUs by their jobs, which are in the order of arrival.
    fn in_order(&self) -> Vec<Gpu> {
        let mut all: Vec<_> = self
            .marks
            .iter()
            .map(|(gpu, (until, job, _))| (*job, *until, *gpu))
            .collect();
        all.sort_unstable();
        all.into_iter().map(|(.., gpu)| gpu).collect()
    }

    fn recut(&mut self, at: Time, turn: &mut Turn<'_>) -> bool {
        let mut changed = false;
        let model = quarters();
        let mut wanted = self.lacking(turn.fleet());
        self.coming
            .values()
            .for_each(|layout| Self::provide(&mut wanted, &model, layout));
        for gpu in self.in_order() {
            let now = turn.view(gpu.0).unwrap().layout_of(gpu.1);
            let head = self.marks[&gpu].1;
            let Some((job, layout)) = Self::plan(&wanted, Some(head), &model, &now) else {
                self.marks.remove(&gpu);
                changed = true;
                continue;
            };
            Self::provide(&mut wanted, &model, &layout);
            let moved = self.marks[&gpu].2;
            if job != head {
                self.marks
                    .entry(gpu)
                    .and_modify(|mark| (mark.1, mark.2) = (job, Some(at)));
            }
            if job != head && moved != Some(at) {
                changed = true;
            } else if turn.view(gpu.0).unwrap().usage_of_whole(gpu.1).tenants == 0 {
                self.marks.remove(&gpu);
                turn.repartition(gpu.0, gpu.1, layout.clone()).unwrap();
                self.coming.insert(gpu, layout);
            }
        }
        changed
    }

    fn start_all(&mut self, now: Time, turn: &mut Turn<'_>) {
        let mut closed = BTreeSet::new();
        let mut at = 0;
        while at < self.waiting.len() {
            if self.start(at, now, &mut closed, turn) {
                self.waiting.remove(at);
            } else {
                at += 1;
            }
        }
    }

    fn mark(&mut self, at: Time, turn: &mut Turn<'_>) -> bool {
        let model = quarters();
        let fleet = turn.fleet();
        let mut wanted = self.lacking(fleet);
        self.coming
            .values()
            .for_each(|layout| Self::provide(&mut wanted, &model, layout));
        for gpu in &self.in_order() {
            let now = turn.view(gpu.0).unwrap().layout_of(gpu.1);
            if let Some((_, layout)) = Self::plan(&wanted, Some(self.marks[gpu].1), &model, &now) {
                Self::provide(&mut wanted, &model, &layout);
            }
        }
        let mut new = BTreeMap::new();
        while let Some(&(job, head)) = wanted.first() {
            let open = |gpu: &Gpu| {
                let is_changing = fleet
                    .machine(gpu.0)
                    .unwrap()
                    .view()
                    .changing_to(gpu.1)
                    .is_some();
                !is_changing && !self.marks.contains_key(gpu) && !new.contains_key(gpu)
            };
            let plan = |gpu: Gpu| {
                let now = fleet.machine(gpu.0).unwrap().view().layout_of(gpu.1);
                Self::plan(&wanted, None, &model, &now)
                    .map(|(_, layout)| (self.until(gpu), gpu, layout))
            };
            let of_use = gpus(fleet).into_iter().filter(open).filter_map(plan);
            let Some((until, gpu, layout)) = of_use.min_by_key(|(until, gpu, _)| (*until, *gpu))
            else {
                wanted.retain(|(_, size)| *size != head);
                continue;
            };
            new.insert(gpu, (until, job, None));
            Self::provide(&mut wanted, &model, &layout);
        }
        let any = !new.is_empty();
        self.marks.extend(new);
        any && self.recut(at, turn)
    }

    fn start(
        &mut self,
        at: usize,
        now: Time,
        closed: &mut BTreeSet<Gpu>,
        turn: &mut Turn<'_>,
    ) -> bool {
        let (job, since) = self.waiting[at].clone();
        let (gbps, alpha, own) = (gbps_of(&job), job.pcie_alpha, slices_of(&job));
        let starves = now.since(since) >= self.rule.wait;
        let sizes = [1, 2, 4]
            .map(size)
            .into_iter()
            .filter(|size| *size == own || starves && size.covers(own));
        let mut kept_off = BTreeSet::new();
        for size in sizes {
            let request =
                Request::new(Pattern::ring(1).with_demand(0, Demand::slice(size).pcie_gbps(gbps)));
            let mut barred: BTreeSet<Gpu> = self.coming.keys().copied().collect();
            for (&gpu, (until, head, _)) in &self.marks {
                // Ids are in the order of arrival here.
                let before = starves && job.id <= *head;
                let RunTime::Fixed(length) = job.run_time else {
                    unreachable!("all are known")
                };
                let slow = pcie_slowdown(gbps, alpha, Self::bound(turn.fleet(), gpu) + 1, MAX);
                let in_time =
                    now + seconds(length.as_secs_f64() * slow) <= *until && !closed.contains(&gpu);
                if !before && !in_time {
                    barred.insert(gpu);
                    if free(turn.fleet(), gpu).contains(&size) {
                        kept_off.insert(gpu);
                    }
                }
            }
            let policy = self.rule.policy(alpha).require("", move |seat| {
                !barred.contains(&(seat.view.machine(), seat.whole()))
            });
            let Ok(decision) = turn.decide(&policy, &request) else {
                continue;
            };
            let machine = decision.stamp().machine;
            let whole = turn
                .view(machine)
                .unwrap()
                .graph()
                .device(decision.placement()[0])
                .parent;
            let gpu = (machine, whole);
            let others = Self::bound(turn.fleet(), gpu);
            if !starves
                && others > 0
                && pcie_slowdown(gbps, alpha, others + 1, MAX) > self.rule.delay
            {
                return false;
            }
            turn.place(Tenant::Job(job.id), decision).unwrap();
            let RunTime::Fixed(length) = job.run_time else {
                unreachable!("all are known")
            };
            let left = length.as_secs_f64();
            self.running.insert(
                job.id,
                Run {
                    gpu,
                    gbps,
                    alpha,
                    left,
                    since: now,
                    slowdown: 1.0,
                },
            );
            self.advance(now, gpu, turn.fleet());
            return true;
        }
        if starves {
            closed.extend(kept_off);
        }
        false
    }
}

impl Scheduler for Slow {
    fn name(&self) -> &str {
        "slow"
    }

    fn on_event(&mut self, now: Time, event: Event) {
        match event {
            Event::Arrived(job) => self.waiting.push((job, now)),
            Event::Finished(job) => self
                .left
                .extend(self.running.remove(&job).map(|run| run.gpu)),
            _ => {}
        }
    }

    fn act(&mut self, now: Time, turn: &mut Turn<'_>) {
        self.coming
            .retain(|gpu, _| turn.view(gpu.0).unwrap().changing_to(gpu.1).is_some());
        for gpu in std::mem::take(&mut self.left) {
            self.advance(now, gpu, turn.fleet());
            let until = self.until(gpu);
            self.marks
                .entry(gpu)
                .and_modify(|mark| mark.0 = mark.0.min(until));
        }
        let idle = |job: &Job| turn.decide(self.rule.policy(1.0), &job.request);
        let never: Vec<_> = self
            .waiting
            .iter()
            .filter_map(|(job, _)| Some((job.id, idle(job).err()?)))
            .collect();
        for (job, why) in never {
            if matches!(why, Refusal::Infeasible(_)) {
                self.waiting.retain(|(other, _)| other.id != job);
                turn.reject(job, why);
            }
        }
        self.start_all(now, turn);
        while self.recut(now, turn) {
            self.start_all(now, turn);
        }
        if self.mark(now, turn) {
            self.start_all(now, turn);
        }
        let wait = self.rule.wait;
        let next = self
            .waiting
            .iter()
            .filter(|(_, since)| now.since(*since) < wait)
            .map(|(_, since)| *since + wait)
            .min();
        if let Some(at) = next.filter(|&at| self.asked != Some(at) && at < Time(u64::MAX)) {
            self.asked = Some(at);
            turn.wake(at, mapa_sched::Token(at.0));
        }
    }
}

fn jobs() -> impl Strategy<Value = Vec<Job>> {
    let slices = prop_oneof![4 => Just(1u8), 2 => Just(2), 1 => Just(4), 1 => Just(3)];
    // The last is slowed down by 1.66 on an otherwise idle GPU.
    let gbps = prop_oneof![2 => Just(0.0), 2 => Just(5.7), 2 => Just(17.65), 1 => Just(50.0)];
    vec((0u64..4, slices, gbps, 1u64..12), 1..24).prop_map(|rows| {
        let mut arrives = 0;
        let one = |(id, (gap, slices, gbps, runs)): (u64, (u64, u8, f64, u64))| {
            arrives += gap;
            job(id, slices, gbps, arrives, runs)
        };
        (0..).zip(rows).map(one).collect()
    })
}

fn rules() -> impl Strategy<Value = Rule> {
    let delay = prop_oneof![Just(1.0), Just(1.3), Just(2.0), Just(f64::INFINITY)];
    let wait = prop_oneof![Just(0), Just(3), Just(8), Just(u64::MAX)];
    (any::<bool>(), delay, wait).prop_map(|(aware, delay, wait)| {
        let wait = if wait == u64::MAX {
            Duration::MAX
        } else {
            Duration::from_secs(wait)
        };
        // With a threshold the first GPU may reject a job, and be full for the next, which is then
        // not skipped with them by a visit.
        let delay = if aware { delay } else { f64::INFINITY };
        Rule { aware, delay, wait }
    })
}

/// Some machines of one or two GPUs, and how they are partitioned at the beginning.
fn fleets() -> impl Strategy<Value = Vec<Vec<usize>>> {
    vec(vec(0usize..4, 1..=2), 1..=3)
}

const LAYOUTS: [&[&str]; 3] = [&["1g", "1g", "1g", "1g"], &["2g", "2g"], &["4g"]];

fn driver(machines: &[Vec<usize>]) -> TestDriver {
    let mut driver = TestDriver::new(machines.iter().map(|gpus| cuttable(gpus.len())));
    for (machine, gpus) in (0..).map(MachineId).zip(machines) {
        for (whole, &number) in (0..).map(DeviceId).zip(gpus) {
            if let Some(profiles) = LAYOUTS.get(number) {
                driver
                    .fleet
                    .layout_is(machine, whole, &layout(profiles))
                    .unwrap();
            }
        }
    }
    driver
}

fn run(machines: &[Vec<usize>], scheduler: &mut dyn Scheduler, jobs: &[Job]) -> TestDriver {
    let mut driver = driver(machines);
    for job in jobs {
        driver.at(job.arrived, Event::Arrived(job.clone()));
    }
    driver.run(scheduler);
    driver
}

/// Which GPUs were repartitioned with jobs on them, or although the first job of the queue had waited
/// too long for what was free there.
struct CutUp {
    own: PcieAware,
    wait: Duration,
    wrong: Vec<(Time, Gpu, JobId)>,
}

impl Scheduler for CutUp {
    fn name(&self) -> &str {
        self.own.name()
    }

    fn on_event(&mut self, now: Time, event: Event) {
        self.own.on_event(now, event);
    }

    fn act(&mut self, now: Time, turn: &mut Turn<'_>) {
        let before: Vec<_> = gpus(turn.fleet())
            .into_iter()
            .map(|gpu| (gpu, free(turn.fleet(), gpu)))
            .collect();
        self.own.act(now, turn);
        let first = self
            .own
            .waiting()
            .next()
            .filter(|job| now.since(job.arrived) >= self.wait);
        for (gpu, free) in before {
            let view = turn.view(gpu.0).unwrap();
            let is_cut = view.changing_to(gpu.1).is_some();
            let wanted = first.filter(|job| free.iter().any(|size| size.covers(slices_of(job))));
            if is_cut && (view.usage_of_whole(gpu.1).tenants > 0 || wanted.is_some()) {
                self.wrong
                    .push((now, gpu, wanted.map_or(JobId(u64::MAX), |job| job.id)));
            }
        }
    }
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(200))]

    #[test]
    fn orders_are_those_of_a_visit_to_every_gpu(machines in fleets(), jobs in jobs(), rule in rules()) {
        let fast = run(&machines, &mut rule.scheduler(), &jobs);
        let slow = run(&machines, &mut Slow::new(rule), &jobs);
        prop_assert_eq!(fast.log, slow.log);
    }

    #[test]
    fn no_job_is_lost_run_twice_put_on_too_little_or_overtaken_after_the_wait(
        machines in fleets(), jobs in jobs(), rule in rules(),
    ) {
        let mut watched = CutUp { own: rule.scheduler(), wait: rule.wait, wrong: Vec::new() };
        let driver = run(&machines, &mut watched, &jobs);
        prop_assert!(watched.wrong.is_empty(), "repartitioned: {:?}", watched.wrong);

        // No two instances overlap: the driver's own books say so.
        let mut started: BTreeMap<JobId, Time> = BTreeMap::new();
        let mut rejected = BTreeSet::new();
        for (at, order) in &driver.log {
            match order {
                Action::Place { tenant, .. } => {
                    prop_assert!(started.insert(tenant.job(), *at).is_none(), "{tenant} twice");
                }
                Action::Reject { job, .. } => prop_assert!(rejected.insert(*job)),
                Action::Move { .. } | Action::Suspend { .. } => prop_assert!(false, "no job is disturbed"),
                _ => {}
            }
        }
        for job in &jobs {
            let never = slices_of(job) == size(3);
            prop_assert_eq!(rejected.contains(&job.id), never);
            prop_assert_eq!(started.contains_key(&job.id), !never, "{} is lost", job.id);
        }
        for (at, order) in &driver.log {
            let Action::Place { tenant, at: placed } = order else { continue };
            let graph = driver.fleet.machine(placed.machine).unwrap().graph();
            let had = graph.device(placed.placement[0]).size.unwrap();
            let own = &jobs[tenant.job().0 as usize];
            let waited = at.since(own.arrived);
            prop_assert!(had == slices_of(own) || waited >= rule.wait && had.covers(slices_of(own)));
            for other in &jobs[..tenant.job().0 as usize] {
                let starves = at.since(other.arrived) >= rule.wait;
                let waits = started.get(&other.id).is_some_and(|start| start > at);
                let could = had.covers(slices_of(other));
                prop_assert!(!(starves && waits && could), "{} overtaken by {tenant} at {at}", other.id);
            }
        }
    }
}

/// Who started where, by the second: job, GPU.
fn starts(driver: &TestDriver) -> Vec<(u64, u64, u32)> {
    let gpu = |at: &mapa_sched::Assignment| {
        driver
            .fleet
            .machine(at.machine)
            .unwrap()
            .graph()
            .device(at.placement[0])
            .parent
            .0
    };
    driver
        .placed()
        .into_iter()
        .map(|(second, tenant, at)| (second, tenant.job().0, gpu(at)))
        .collect()
}

#[test]
fn pcie_bound_jobs_keep_off_each_other() {
    let heavy = |id| job(id, 1, 17.65, 0, 10);
    let jobs: Vec<Job> = (0..5).map(heavy).collect();
    let aware = run(&[vec![0, 0]], &mut PcieAware::new(), &jobs);
    // alpha is 1: two take 1.17 times as long, three 1.76 times, which is more than 1.3.
    assert_eq!(
        starts(&aware),
        [(0, 0, 0), (0, 1, 1), (0, 2, 0), (0, 3, 1), (10, 4, 0)]
    );
    let first = run(&[vec![0, 0]], &mut PcieAware::first_gpu(), &jobs);
    assert_eq!(
        starts(&first),
        [(0, 0, 0), (0, 1, 0), (0, 2, 0), (0, 3, 0), (0, 4, 1)]
    );
}

#[test]
fn who_has_waited_too_long_takes_any_slowdown_and_a_larger_instance() {
    let wait = Duration::from_secs(4);
    let impatient = || PcieAware::new().wait_threshold(wait);
    let jobs: Vec<Job> = (0..3).map(|id| job(id, 1, 17.65, 0, 10)).collect();
    assert_eq!(
        starts(&run(&[vec![0]], &mut impatient(), &jobs)),
        [(0, 0, 0), (0, 1, 0), (4, 2, 0)]
    );
    // The other GPU has an instance of two slices, and will have one more when its job has ended:
    // no layout has more for one job.
    let jobs = [
        job(0, 1, 0.0, 0, 50),
        job(1, 1, 0.0, 0, 50),
        job(2, 1, 0.0, 0, 50),
        job(3, 1, 0.0, 0, 50),
        job(4, 2, 0.0, 0, 50),
    ];
    let mut more = jobs.to_vec();
    more.push(job(5, 1, 0.0, 0, 50));
    assert_eq!(
        starts(&run(&[vec![0, 1]], &mut impatient(), &more))[5],
        (4, 5, 1)
    );
}

#[test]
fn a_gpu_is_kept_free_for_who_finds_no_instance_and_takes_only_who_ends_in_time() {
    // GPU 0 will be idle first; job 2 wants two slices, of which there are none.
    let jobs = [
        job(0, 1, 0.0, 0, 10),
        job(1, 1, 0.0, 0, 30),
        job(2, 2, 0.0, 1, 5),
        job(3, 1, 0.0, 2, 8),
        job(4, 1, 0.0, 2, 9),
    ];
    let mut scheduler = PcieAware::first_gpu();
    let driver = {
        let mut driver = driver(&[vec![0, 0]]);
        for job in &jobs {
            driver.at(job.arrived, Event::Arrived(job.clone()));
        }
        driver.run(&mut scheduler);
        driver
    };
    // First-GPU puts 0 and 1 on GPU 0, so GPU 1 is idle, and is repartitioned at once.
    let recut = driver.log.iter().find_map(|(at, order)| match order {
        Action::Repartition { whole, .. } => Some((*at, whole.0)),
        _ => None,
    });
    assert_eq!(recut, Some((Time::from_secs(1), 1)));
    assert_eq!(
        starts(&driver),
        [(0, 0, 0), (0, 1, 0), (2, 3, 0), (2, 4, 0), (3, 2, 1)]
    );

    // With one GPU it is kept free until 30 s: jobs 3 and 4 end by then and start, one that does
    // not waits for its turn.
    let mut jobs = jobs.to_vec();
    jobs.push(job(5, 1, 0.0, 3, 28));
    let driver = run(&[vec![0]], &mut PcieAware::first_gpu(), &jobs);
    let starts = starts(&driver);
    assert_eq!(starts[..4], [(0, 0, 0), (0, 1, 0), (2, 3, 0), (2, 4, 0)]);
    assert!(
        starts.contains(&(32, 2, 0)) && starts.contains(&(32, 5, 0)),
        "{starts:?}"
    );
}

#[test]
fn without_run_times_a_marked_gpu_takes_no_job_and_is_repartitioned() {
    let unknown = |mut job: Job| {
        job.run_time = RunTime::Unknown;
        job
    };
    // One of one slice after another; each runs for ten seconds, which the scheduler does not know. Job 3 wants
    // two slices, and comes after three.
    let mut jobs: Vec<Job> = (0..12)
        .map(|id| unknown(job(id, 1, 0.0, 2 * id, 0)))
        .collect();
    jobs[3] = unknown(job(3, 2, 0.0, 6, 0));
    let mut driver = driver(&[vec![0]]);
    for job in &jobs {
        driver.at(job.arrived, Event::Arrived(job.clone()));
        driver.lengths.insert(job.id, Duration::from_secs(10));
    }
    driver.run(&mut PcieAware::first_gpu());
    let starts = starts(&driver);
    // The last of the three ends at 14 s; two seconds later the GPU is repartitioned.
    assert_eq!(starts[3], (16, 3, 0), "{starts:?}");
    assert_eq!(starts.len(), jobs.len());
}

#[test]
fn a_gpu_is_cut_up_for_the_job_for_which_it_was_marked() {
    // GPU 1 is idle first, and marked for job 8, which wants two slices; GPU 0, idle later, for job
    // 9, which wants all four.
    let mut jobs: Vec<Job> = (0..8)
        .map(|id| job(id, 1, 0.0, 0, if id < 4 { 100 } else { 10 }))
        .collect();
    jobs.extend([job(8, 2, 0.0, 1, 5), job(9, 4, 0.0, 2, 5)]);
    let driver = run(&[vec![0, 0]], &mut PcieAware::first_gpu(), &jobs);
    assert_eq!(starts(&driver)[8..], [(12, 8, 1), (102, 9, 0)]);
}

#[test]
fn who_is_held_back_from_a_marked_gpu_does_not_take_its_mark_away() {
    // Two jobs run, a third would be slowed down too much; the mark is for job 3, and those after
    // it would outnumber it.
    let mut jobs: Vec<Job> = (0..2).map(|id| job(id, 1, 17.65, 0, 1000)).collect();
    jobs.extend([
        job(2, 1, 17.65, 1, 10),
        job(3, 2, 0.0, 2, 5),
        job(4, 1, 0.0, 3, 9000),
        job(5, 1, 0.0, 4, 9000),
    ]);
    let driver = run(
        &[vec![0]],
        &mut PcieAware::new().wait_threshold(Duration::MAX),
        &jobs,
    );
    assert_eq!(
        starts(&driver)[2..],
        [(1002, 2, 0), (1002, 3, 0), (1002, 4, 0), (1012, 5, 0)]
    );
}

#[test]
fn a_gpu_is_not_cut_up_for_a_later_job_while_one_starves_for_what_is_free_there() {
    let jobs = [
        job(0, 4, 0.0, 0, 1000),
        job(1, 4, 0.0, 1, 10),
        job(2, 1, 0.0, 2, 5000),
    ];
    let driver = run(&[vec![2]], &mut PcieAware::new(), &jobs);
    assert_eq!(starts(&driver), [(0, 0, 0), (1000, 1, 0), (1010, 2, 0)]);
}

#[test]
fn one_instance_that_becomes_free_does_not_take_the_marks_for_others_away() {
    // GPU 0 is marked for jobs 3 and 4; job 3 finds an instance of GPU 1, job 4 does not.
    let mut jobs = vec![
        job(0, 1, 0.0, 0, 2500),
        job(1, 2, 0.0, 0, 1000),
        job(2, 2, 0.0, 0, 5000),
    ];
    jobs.extend([job(3, 2, 0.0, 1, 80_000), job(4, 2, 0.0, 1, 100)]);
    jobs.extend((5..8).map(|id| job(id, 1, 0.0, 1000, 90_000)));
    let driver = run(&[vec![0, 1]], &mut PcieAware::new(), &jobs);
    let later = [
        (1000, 3, 1),
        (2502, 4, 0),
        (2502, 5, 0),
        (2502, 6, 0),
        (2602, 7, 0),
    ];
    assert_eq!(starts(&driver)[3..], later);
}

#[test]
fn once_its_job_has_started_a_mark_is_for_the_next_who_may_then_start_there() {
    let mut jobs = vec![
        job(0, 2, 0.0, 0, 1000),
        job(1, 1, 0.0, 0, 500),
        job(2, 1, 0.0, 0, 600),
    ];
    jobs.extend([
        job(3, 1, 0.0, 1, 3000),
        job(4, 1, 0.0, 2, 1000),
        job(5, 1, 0.0, 3, 100),
        job(6, 1, 0.0, 4, 100),
    ]);
    let mut driver = TestDriver::new([cuttable(1)]);
    driver
        .fleet
        .layout_is(MachineId(0), DeviceId(0), &layout(&["2g", "1g", "1g"]))
        .unwrap();
    for job in &jobs {
        driver.at(job.arrived, Event::Arrived(job.clone()));
    }
    driver.run(&mut PcieAware::new());
    assert_eq!(
        starts(&driver)[3..],
        [(500, 3, 0), (600, 4, 0), (1000, 5, 0), (1100, 6, 0)]
    );
}

#[test]
fn sizes_that_a_model_does_not_have_do_not_take_the_mark_of_its_gpus_away() {
    // Whoever wants four slices waits for GPU 0; GPU 1 has fifths only, and they are soon there for
    // job 3.
    let mut driver = TestDriver::new([cuttable(1), cuttable_as(&other_model(), 1)]);
    let mut jobs: Vec<Job> = (0..3).map(|id| job(id, 4, 0.0, id, 1000)).collect();
    jobs.push(job(3, 1, 0.0, 3, 10));
    for job in jobs {
        driver.at(job.arrived, Event::Arrived(job));
    }
    driver.run(&mut PcieAware::new());
    let placed: Vec<_> = driver
        .placed()
        .into_iter()
        .map(|(at, tenant, on)| (at, tenant.job().0, on.machine.0))
        .collect();
    assert_eq!(placed, [(2, 0, 0), (5, 3, 1), (1002, 1, 0), (2002, 2, 0)]);
}

#[test]
fn once_a_marked_gpu_will_be_idle_earlier_jobs_there_must_end_earlier() {
    // Three together take 1.76 times as long, so that the first would end at 176 s; once it is
    // alone, at 108.6 s.
    let mut jobs: Vec<Job> = (0..3)
        .map(|id| job(id, 1, 17.65, 0, if id == 0 { 100 } else { 20 }))
        .collect();
    jobs.extend([
        job(3, 2, 0.0, 1, 5),
        job(4, 1, 0.0, 30, 80),
        job(5, 1, 0.0, 31, 60),
    ]);
    let driver = run(
        &[vec![0]],
        &mut PcieAware::new().delay_threshold(f64::INFINITY),
        &jobs,
    );
    assert_eq!(starts(&driver)[3..], [(31, 5, 0), (102, 3, 0), (102, 4, 0)]);
}

#[test]
fn among_jobs_with_unknown_ends_known_ones_do_not_keep_a_marked_gpu_busy() {
    let mut jobs = vec![job(0, 1, 0.0, 0, 0), job(1, 2, 0.0, 1, 5)];
    jobs[0].run_time = RunTime::Unknown;
    jobs.extend((2..12).map(|id| job(id, 1, 0.0, 3 * id, 10)));
    let mut driver = driver(&[vec![0]]);
    for job in &jobs {
        driver.at(job.arrived, Event::Arrived(job.clone()));
    }
    driver.lengths.insert(JobId(0), Duration::from_secs(8));
    driver.run(&mut PcieAware::first_gpu());
    assert_eq!(starts(&driver)[1], (10, 1, 0));
}
