//! Scheduling of MIG GPUs by PCIe bandwidth: Tang, Sun, Ting, Chen, Chung and Chou, "PCIe
//! Bandwidth-Aware Scheduling for Multi-Instance GPUs", HPCAsia 2025.

mod choice;
mod gpus;
mod marks;
mod queue;
mod records;

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use mapa_core::mig::Size;
use mapa_core::{Decision, Demand, DeviceId, MachineId, PCIE_GEN4_GBPS, Refusal, Request};

use mapa_sched::Scheduler;
use mapa_sched::Turn;
use mapa_sched::{Event, Token};
use mapa_sched::{Job, JobId, Tenant};
use mapa_sched::{Time, duration};

use choice::{ChoosingJob, GpuChoice};
use gpus::{FleetGpu, GpuOffer, GpuTables};
use marks::Marks;
use queue::{PcieClass, PcieQueue, PcieWaitingJob};
use records::{RunningPcieJobs, StartingJob};

/// The PCIe-bandwidth-aware MIG scheduler of Tang et al. (section 4.2). Jobs that copy much over
/// PCIe are kept off GPUs whose instances copy much already, and GPUs are repartitioned for jobs
/// that find no instance of their size.
///
/// At every arrival and end the scheduler goes through the whole queue, first come, first served,
/// and skips jobs that cannot start. It has four stages:
///
/// 1. **Records.** What is left of each running job, by Eq. 2 and Eq. 3 with the number of
///    PCIe-bound jobs on its GPU.
/// 2. **Repartition** of marked GPUs that have become idle, and of no others. The new layout admits
///    the job for which the GPU was marked, and most others of the waiting jobs that find no
///    instance of their size.
/// 3. **Choice** among GPUs with a free instance of exactly the requested size, by the policy
///    [`pcie_aware`](crate::pcie_aware): least slowdown, then best fit. If no GPU has one, the
///    GPU that becomes idle first is marked. It takes only jobs that will have ended by then.
/// 4. **Run or skip.** A job is skipped if PCIe-bound jobs on the chosen GPU would slow it down by
///    more than the [delay threshold](Self::delay_threshold). A job that has waited longer than the
///    [wait threshold](Self::wait_threshold) is not skipped: it takes any slowdown, and if there is
///    no instance of its size, the smallest larger one.
///
/// The paper leaves some choices open. Here:
///
/// - Jobs start before GPUs are repartitioned, and again after.
/// - A GPU is marked only if another layout admits more of those jobs than its own layout does.
///   Otherwise a mark would keep a GPU empty for nothing.
/// - The moment by which jobs on a marked GPU must end is the one expected when the GPU was marked,
///   or an earlier one if its jobs end earlier.
/// - A job that has waited past the threshold may start on a GPU marked for a job that arrived no
///   earlier. If it arrived after that job and may not start there, no younger job starts there
///   either: none overtakes it for an instance that it could use.
/// - The scheduler orders a wake-up for the moment at which the next job passes the threshold.
///
/// The size is that of the job's one rank ([`Demand::slice`]), its traffic [`Demand::pcie_gbps`],
/// the slope of Eq. 1 [`Job::pcie_alpha`], its work [`Job::run_time`]. Jobs of several ranks, and
/// jobs that want anything but one instance of a size, are placed by the same policy. No GPU is
/// marked for them, and they may wait for ever behind others that take what becomes free. A job
/// that can never be placed is rejected.
///
/// # Complexity
/// An instant costs O(m) for m machines to see what has changed, and a decision on one machine for
/// each job that starts. Jobs with equal requests are refused together. Each waiting job that finds
/// no other instance costs O(g) more for g marked GPUs.
///
/// # Examples
/// ```
/// use std::time::Duration;
///
/// use mapa_system_pcie::PcieAware;
///
/// let patient = PcieAware::new().delay_threshold(1.1).wait_threshold(Duration::from_secs(600));
/// let baseline = PcieAware::first_gpu();
/// # let _ = (patient, baseline);
/// ```
pub struct PcieAware {
    choice: GpuChoice,
    max_gbps: f64,
    delay_threshold: f64,
    wait_threshold: Duration,
    queue: PcieQueue,
    records: RunningPcieJobs,
    gpus: GpuTables,
    marks: Marks,
    /// Sizes of instances that some GPU of the fleet can have.
    had: BTreeSet<Size>,
    /// GPUs that a job has left.
    left: Vec<FleetGpu>,
    asked: Option<Time>,
}

impl PcieAware {
    /// The scheduler with the bandwidth of PCIe 4.0 x16 as the paper measured it
    /// ([`PCIE_GEN4_GBPS`]). The paper gives no thresholds. Those here are a delay of 1.3, which
    /// admits two of the paper's larger jobs to one GPU (1.256 would do), and a wait of 300 s.
    #[must_use]
    pub fn new() -> Self {
        Self {
            choice: GpuChoice::LeastSlowdown,
            max_gbps: PCIE_GEN4_GBPS,
            delay_threshold: 1.3,
            wait_threshold: Duration::from_secs(300),
            queue: PcieQueue::default(),
            records: RunningPcieJobs::default(),
            gpus: GpuTables::default(),
            marks: Marks::default(),
            had: BTreeSet::new(),
            left: Vec::new(),
            asked: None,
        }
    }

    /// The paper's baseline: the first GPU by id that has a free instance of the size, whatever
    /// else runs there. It has the same queue, repartitions GPUs in the same way (the paper does
    /// not say how its baseline does), and has no thresholds.
    #[must_use]
    pub fn first_gpu() -> Self {
        let choice = GpuChoice::FirstGpu;
        Self {
            choice,
            delay_threshold: f64::INFINITY,
            wait_threshold: Duration::MAX,
            ..Self::new()
        }
    }

    /// The queue in the order of run times at full speed, shortest first, instead of first come, first
    /// served. Not the paper's: it shows what ordering alone gives. A job that has waited past the
    /// threshold keeps its place in that order.
    #[must_use]
    pub fn shortest_first(mut self) -> Self {
        self.queue.is_shortest_first = true;
        self
    }

    /// The PCIe bandwidth that the instances of a GPU share, GB/s: `PCIe_max`. Default:
    /// [`PCIE_GEN4_GBPS`].
    #[must_use]
    pub fn max_gbps(self, max_gbps: f64) -> Self {
        Self { max_gbps, ..self }
    }

    /// The largest slowdown with which a job may start: `delay_threshold`. With infinity it starts
    /// wherever there is room. When a job is skipped, all jobs with an equal request are skipped at
    /// that instant.
    #[must_use]
    pub fn delay_threshold(self, delay_threshold: f64) -> Self {
        Self {
            delay_threshold,
            ..self
        }
    }

    /// How long a job waits before it takes any slowdown, and a larger instance:
    /// `wait_time_threshold`. [`Duration::MAX`] means for ever.
    #[must_use]
    pub fn wait_threshold(self, wait_threshold: Duration) -> Self {
        Self {
            wait_threshold,
            ..self
        }
    }

    /// The jobs that wait, first come first.
    pub fn waiting(&self) -> impl Iterator<Item = &Job> {
        self.queue.jobs()
    }

    /// The factor by which a running job is slowed down (Eq. 2), and the moment at which it ends if
    /// nothing changes (Eq. 3). None for a job that this scheduler did not start.
    #[must_use]
    pub fn expected(&self, job: JobId) -> Option<(f64, Time)> {
        self.records.of(job)
    }

    /// The marked GPUs: those kept free until they are idle, to be repartitioned.
    pub fn marked(&self) -> impl Iterator<Item = (MachineId, DeviceId)> + '_ {
        self.marks.marks.keys().map(|gpu| (gpu.machine, gpu.whole))
    }

    /// Notes what has changed: stage 1.
    fn look(&mut self, now: Time, turn: &Turn<'_>) {
        self.gpus.refresh(turn.fleet());
        self.marks.forget_done(&self.gpus);
        for gpu in std::mem::take(&mut self.left) {
            self.settle(gpu, now);
            self.marks.ends(
                gpu,
                self.records
                    .until(gpu, self.gpus.get(gpu).map_or(0, |state| state.tenants)),
            );
        }
    }

    /// Brings the records of the jobs on a GPU up to date.
    fn settle(&mut self, gpu: FleetGpu, now: Time) {
        let gpus = &self.gpus;
        let bound = |gpu| gpus.get(gpu).map_or(0, |state| state.pcie_bound);
        self.records.settle(gpu, now, self.max_gbps, bound);
    }

    /// Rejects jobs that can never be placed. Each class of jobs is checked once.
    fn reject(&mut self, turn: &mut Turn<'_>) {
        let unknown: Vec<u64> = self.queue.new_classes().collect();
        let mut never: Vec<(u64, JobId, Refusal)> = Vec::new();
        for of in unknown {
            let Some(class) = self.queue.class_mut(of) else {
                continue;
            };
            class.feasible = true;
            let PcieClass {
                gbps, alpha, size, ..
            } = *class;
            // Some GPU had, or can have, an instance of this size: no policy need be asked.
            if size.is_some_and(|size| self.had.contains(&size)) {
                continue;
            }
            let chooser = ChoosingJob {
                choice: self.choice,
                gbps,
                alpha,
                max_gbps: self.max_gbps,
            };
            if let Err(why @ Refusal::Infeasible(_)) =
                turn.decide(chooser.policy(Vec::new()), &class.request)
            {
                never.extend(
                    self.queue
                        .of_class(of)
                        .map(|entry| (entry.serial, entry.job.id, why.clone())),
                );
            } else {
                self.had.extend(size);
            }
        }
        // In order of arrival, not of classes.
        never.sort_unstable_by_key(|(serial, ..)| *serial);
        for (_, job, why) in never {
            self.queue.forget(job);
            turn.reject(job, why);
        }
    }

    /// Repartitions idle marked GPUs: stage 2. Returns whether a mark has passed to another job, or
    /// was removed because it is of no use any more.
    fn recut(&mut self, now: Time, turn: &mut Turn<'_>) -> bool {
        let (recuts, changed) = self.marks.review(&self.queue, &mut self.gpus, now);
        for recut in recuts {
            let (machine, whole) = (recut.gpu.machine, recut.gpu.whole);
            if turn.repartition(machine, whole, recut.layout).is_err() {
                self.marks.coming.remove(&recut.gpu);
            }
            self.look_at(machine, turn);
        }
        changed
    }

    /// Brings the tables of one machine up to date.
    fn look_at(&mut self, machine: MachineId, turn: &Turn<'_>) {
        if let Ok(machine) = turn.fleet().machine(machine) {
            self.gpus.look(machine);
        }
    }

    /// Goes through the queue: stages 3 and 4. One pass is enough, and jobs with equal requests are
    /// refused together: starts only take instances and add to contention, so a refusal holds until
    /// a mark is removed.
    fn start_all(&mut self, now: Time, turn: &mut Turn<'_>) {
        let mut open = self.open_sizes();
        let mut heads: BTreeSet<(u64, u64)> = self
            .queue
            .heads()
            .filter(|(class, head)| self.finds_any(class, head, now, &open))
            .map(|(class, head)| (head.serial, class.number))
            .collect();
        // Marked GPUs with an instance that a job past the wait threshold could use, but on which
        // it must not start. They are closed to all younger jobs.
        let mut closed: Vec<FleetGpu> = Vec::new();
        while let Some((serial, of)) = heads.pop_first() {
            let Some(entry) = self.queue.next_of(of, serial).cloned() else {
                continue;
            };
            // Since the heads were collected, other jobs may have taken the instances.
            if !self
                .queue
                .class(of)
                .is_some_and(|class| self.finds_any(class, &entry, now, &open))
            {
                continue;
            }
            let goes_on = match self.start(&entry, of, now, &mut closed, turn) {
                true => {
                    self.queue.forget(entry.job.id);
                    open = self.open_sizes();
                    true
                }
                // The next job of the class may be short enough for a marked GPU.
                false => !self.starves(&entry, now) && self.a_mark_has_room(of, &closed),
            };
            if goes_on && let Some(next) = self.queue.next_of(of, serial + 1) {
                heads.insert((next.serial, of));
            }
        }
    }

    /// The sizes of free instances, including those of marked GPUs.
    fn open_sizes(&self) -> BTreeSet<Size> {
        self.gpus.sizes().chain(self.sizes_of_marks()).collect()
    }

    /// Whether there is an instance that a job could take. True for jobs that want anything else:
    /// the policy decides for those.
    fn finds_any(
        &self,
        class: &PcieClass,
        entry: &PcieWaitingJob,
        now: Time,
        open: &BTreeSet<Size>,
    ) -> bool {
        let could = |size: Size| {
            open.contains(&size)
                || self.starves(entry, now) && open.iter().any(|candidate| candidate.covers(size))
        };
        class.size.is_none_or(could)
    }

    /// Whether a job has waited past the threshold.
    fn starves(&self, entry: &PcieWaitingJob, now: Time) -> bool {
        now.since(entry.since) >= self.wait_threshold
    }

    /// Whether a marked GPU that is not closed has a free instance for a class of jobs.
    fn a_mark_has_room(&self, of: u64, closed: &[FleetGpu]) -> bool {
        let size = self.queue.class(of).and_then(|class| class.size);
        let has =
            |gpu: &FleetGpu, size| !closed.contains(gpu) && self.gpus.offer(*gpu, size).is_some();
        size.is_some_and(|size| self.marks.marks.keys().any(|gpu| has(gpu, size)))
    }

    /// Starts a job if it can start. Returns whether it did.
    fn start(
        &mut self,
        entry: &PcieWaitingJob,
        of: u64,
        now: Time,
        closed: &mut Vec<FleetGpu>,
        turn: &mut Turn<'_>,
    ) -> bool {
        let Some(class) = self.queue.class(of) else {
            return false;
        };
        let chooser = ChoosingJob {
            choice: self.choice,
            gbps: class.gbps,
            alpha: class.alpha,
            max_gbps: self.max_gbps,
        };
        let starves = self.starves(entry, now);
        let decision = match class.size {
            Some(size) => self.choose(entry, &chooser, size, (now, starves), closed, turn),
            None => self.visit(entry, &chooser, starves, turn),
        };
        let Some(decision) = decision else {
            return false;
        };
        let Ok(placed) = turn.place(Tenant::Job(entry.job.id), decision) else {
            return false;
        };
        let machine = placed.machine;
        // A job of several ranks ends with its slowest; if the time of one is unknown, so is its
        // own.
        let (mut gpus, mut lengths) = (Vec::new(), Vec::new());
        if let Ok(there) = turn.fleet().machine(machine) {
            for &id in placed.placement.iter() {
                let device = there.graph().device(id);
                gpus.push(FleetGpu {
                    machine,
                    whole: device.parent,
                });
                lengths.push(entry.job.run_time.on(device.size));
            }
        }
        let lengths: Option<Vec<_>> = lengths.into_iter().collect();
        let start = StartingJob {
            job: entry.job.id,
            gpus: gpus.clone(),
            gbps: chooser.gbps,
            alpha: chooser.alpha,
            length: lengths.and_then(|lengths| lengths.into_iter().max()),
        };
        self.records.start(start, now);
        self.look_at(machine, turn);
        gpus.into_iter().for_each(|gpu| self.settle(gpu, now));
        true
    }

    /// The decision for a job that wants one instance of a size, if it may start.
    fn choose(
        &self,
        entry: &PcieWaitingJob,
        chooser: &ChoosingJob,
        size: Size,
        (now, starves): (Time, bool),
        closed: &mut Vec<FleetGpu>,
        turn: &Turn<'_>,
    ) -> Option<Decision> {
        // Past the threshold a larger instance will do, the smallest first.
        let larger: BTreeSet<Size> = self
            .open_sizes()
            .into_iter()
            .filter(|open_size| starves && *open_size != size && open_size.covers(size))
            .collect();
        let mut kept_off = Vec::new();
        for candidate in std::iter::once(size).chain(larger) {
            let mut best = chooser.best(&self.gpus, candidate);
            for (&gpu, mark) in &self.marks.marks {
                let Some(offer) = self.gpus.offer(gpu, candidate) else {
                    continue;
                };
                let goes_before = starves && entry.serial <= mark.head;
                // If the end of the last job on the GPU is unknown, no job ends in time.
                let end = self.end_there(entry, chooser, candidate, &offer, now);
                let in_time =
                    || !closed.contains(&gpu) && end <= mark.until && mark.until < Time(u64::MAX);
                if goes_before || in_time() {
                    best = best
                        .into_iter()
                        .chain([offer])
                        .min_by(|a, b| chooser.compare(a, b));
                } else {
                    kept_off.push(gpu);
                }
            }
            let Some(offer) = best else { continue };
            // On a GPU without PCIe-bound jobs this job is as fast as it can be anywhere: there is
            // nothing to wait for, whatever the threshold.
            if !starves && offer.pcie_bound > 0 && chooser.slowdown(&offer) > self.delay_threshold {
                return None;
            }
            return self.decide(entry, chooser, candidate, offer.gpu, turn);
        }
        if starves {
            closed.append(&mut kept_off);
        }
        None
    }

    /// The sizes of free instances of marked GPUs.
    fn sizes_of_marks(&self) -> impl Iterator<Item = Size> + '_ {
        let states = self
            .marks
            .marks
            .keys()
            .filter_map(|&gpu| self.gpus.get(gpu));
        states.flat_map(|state| state.sizes())
    }

    /// The moment at which a job would end on a candidate (Eq. 3).
    fn end_there(
        &self,
        entry: &PcieWaitingJob,
        chooser: &ChoosingJob,
        size: Size,
        offer: &GpuOffer,
        now: Time,
    ) -> Time {
        let length = entry
            .job
            .run_time
            .on(Some(size))
            .map_or(f64::INFINITY, |length| length.as_secs_f64());
        now + duration(length * chooser.slowdown(offer))
    }

    /// The decision of the policy on the machine of the chosen GPU. Other GPUs of that machine that
    /// are marked, or whose repartition is under way, are barred.
    fn decide(
        &self,
        entry: &PcieWaitingJob,
        chooser: &ChoosingJob,
        size: Size,
        gpu: FleetGpu,
        turn: &Turn<'_>,
    ) -> Option<Decision> {
        let view = turn.view(gpu.machine).ok()?;
        let barred = self
            .barred(gpu.machine)
            .filter(|&whole| whole != gpu.whole)
            .collect();
        let request = &entry.job.request;
        let [demand] = request.pattern.demands() else {
            return None;
        };
        let policy = chooser.policy(barred);
        // A job past the threshold gets a larger instance than it requested.
        if Demand::slice(size).want == demand.want {
            return view.decide(policy, request).ok();
        }
        let larger = Demand {
            want: Demand::slice(size).want,
            ..*demand
        };
        let pattern = request.pattern.with_demand(0, larger);
        view.decide(
            policy,
            &Request {
                pattern,
                ..request.clone()
            },
        )
        .ok()
    }

    /// The GPUs of a machine that are marked, or whose repartition is under way.
    fn barred(&self, machine: MachineId) -> impl Iterator<Item = DeviceId> + '_ {
        let on = FleetGpu {
            machine,
            whole: DeviceId(0),
        }..=FleetGpu {
            machine,
            whole: DeviceId(u32::MAX),
        };
        let marked = self.marks.marks.range(on.clone()).map(|(gpu, _)| gpu.whole);
        marked.chain(self.marks.coming.range(on).map(|(gpu, _)| gpu.whole))
    }

    /// The decision for a job that wants anything but one instance of a size: the policy is asked
    /// on every machine.
    fn visit(
        &self,
        entry: &PcieWaitingJob,
        chooser: &ChoosingJob,
        starves: bool,
        turn: &Turn<'_>,
    ) -> Option<Decision> {
        let barred: Vec<(MachineId, DeviceId)> = self
            .marks
            .marks
            .keys()
            .chain(self.marks.coming.keys())
            .map(|gpu| (gpu.machine, gpu.whole))
            .collect();
        let (
            threshold,
            ChoosingJob {
                gbps,
                alpha,
                max_gbps,
                ..
            },
        ) = (self.delay_threshold, *chooser);
        let within = move |others: u32| {
            starves
                || others == 0
                || mapa_core::pcie_slowdown(gbps, alpha, others + 1, max_gbps) <= threshold
        };
        let policy = chooser
            .policy(Vec::new())
            .require(
                "a GPU that is not kept free for a repartition",
                move |seat| !barred.contains(&(seat.view.machine(), seat.whole())),
            )
            .require("within the delay threshold", move |seat| {
                within(seat.usage_of_whole().pcie_tenants)
            });
        turn.decide(policy, &entry.job.request).ok()
    }

    /// Marks GPUs for jobs that find no instance of their size, and repartitions those that are
    /// idle at once. Returns what [`recut`](Self::recut) does.
    fn mark(&mut self, now: Time, turn: &mut Turn<'_>) -> bool {
        let records = &self.records;
        let until = |gpus: &GpuTables, gpu| {
            records.until(gpu, gpus.get(gpu).map_or(0, |state| state.tenants))
        };
        self.marks.mark(&self.queue, &mut self.gpus, until) && self.recut(now, turn)
    }

    /// Orders a wake-up for the moment at which the next job passes the wait threshold.
    fn wake(&mut self, now: Time, turn: &mut Turn<'_>) {
        let next = self.queue.next_starving(now, self.wait_threshold);
        if let Some(at) = next.filter(|&at| self.asked != Some(at) && at < Time(u64::MAX)) {
            self.asked = Some(at);
            turn.wake(at, Token(at.0));
        }
    }
}

impl Default for PcieAware {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for PcieAware {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PcieAware")
            .field("choice", &self.choice)
            .field("max_gbps", &self.max_gbps)
            .field("delay_threshold", &self.delay_threshold)
            .field("wait_threshold", &self.wait_threshold)
            .field("waiting", &self.queue.len())
            .field("marks", &self.marks)
            .finish_non_exhaustive()
    }
}

impl Scheduler for PcieAware {
    fn name(&self) -> &str {
        match self.choice {
            GpuChoice::LeastSlowdown => "pcie-aware",
            GpuChoice::FirstGpu => "first-gpu",
        }
    }

    fn on_event(&mut self, now: Time, event: Event) {
        match event {
            Event::Arrived(job) => self.queue.push(job, now),
            event => {
                if let Some(job) = event.leaves() {
                    self.queue.forget(job);
                    self.left.extend(self.records.end(job));
                }
            }
        }
    }

    fn act(&mut self, now: Time, turn: &mut Turn<'_>) {
        self.look(now, turn);
        self.reject(turn);
        // Jobs start before any GPU is repartitioned: an older job past the threshold may want it
        // as it is, and whatever has become free is then no longer lacking.
        self.start_all(now, turn);
        // Starts may have made marks useless, or have passed them to other jobs. Then the jobs that
        // were kept off those GPUs are tried again.
        while self.recut(now, turn) {
            self.start_all(now, turn);
        }
        if self.mark(now, turn) {
            self.start_all(now, turn);
        }
        self.wake(now, turn);
    }
}
