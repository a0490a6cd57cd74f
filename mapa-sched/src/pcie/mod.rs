//! Scheduling of MIG GPUs by PCIe bandwidth: Tang, Sun, Ting, Chen, Chung and Chou, "PCIe Bandwidth-Aware Scheduling for
//! Multi-Instance GPUs", HPCAsia 2025.

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

use crate::event::{Event, Token};
use crate::job::{Job, JobId, Tenant};
use crate::scheduler::Scheduler;
use crate::time::Time;
use crate::turn::Turn;

use choice::{Choice, Chooser};
use gpus::{Gpu, Gpus, Offer};
use marks::Marks;
use queue::{Class, Entry, Queue};
use records::{Records, Start, seconds};

/// The PCIe-bandwidth-aware MIG scheduler of Tang et al. (section 4.2). Jobs that copy much over PCIe are kept off GPUs whose instances
/// copy much already, and GPUs are cut up anew for jobs that find no instance of their size.
///
/// It runs at every arrival and end, through the whole queue, first come first; whoever cannot start is skipped. Its four stages:
///
/// 1. **Records.** What is left of each running job, by Eq. 2 and Eq. 3 with the number of PCIe-bound jobs on its GPU.
/// 2. **Re-partition** of marked GPUs that have become idle, and of no others: to the layout that admits the job for which the GPU was
///    marked, and most others of the waiting jobs that find no instance of their size.
/// 3. **Choice** among GPUs with a free instance of exactly the size that is asked for: the policy
///    [`pcie_aware`](mapa_core::pcie_aware), least slowdown, then best fit. Where no GPU has one, the GPU that will be idle first is
///    marked; it takes only jobs that will have ended by then.
/// 4. **Run or skip.** A job is skipped if PCIe-bound jobs on the chosen GPU would slow it down by more than the [delay
///    threshold](Self::delay_threshold), unless it has waited for longer than the [wait threshold](Self::wait_threshold): then
///    it takes any slowdown, and a larger instance if there is none of its size, the smallest that will do.
///
/// Where the paper leaves a choice open: jobs start before GPUs are cut up, and again after; a GPU is marked only if another layout admits more of those jobs than its own does, as a mark
/// would otherwise keep a GPU empty for nothing; the end by which jobs must have ended is that expected when the GPU was
/// marked, or earlier if its jobs end earlier; jobs that have waited too long and came no later than the one for which a GPU was marked may start there, and where one that
/// came later may not, nobody younger does, so that nobody overtakes them for an instance that they could use; and the scheduler asks to be woken when the next job has waited too long.
///
/// The size is that of the job's one rank ([`Demand::slice`]), its traffic [`Demand::pcie_gbps`], the slope of Eq. 1
/// [`Job::pcie_alpha`], its work [`Job::run_time`]. Jobs of several ranks, and those that want anything else than one instance of
/// a size, are placed by the same policy, but no GPU is marked for them, and they may wait for ever behind others that take what becomes free. A job that can never be placed is rejected.
///
/// An instant costs O(machines) to see what has changed, and for each job that starts a decision on one machine; jobs that ask for the
/// same are refused together. While GPUs are marked, O(marked GPUs) more for each waiting job that finds no other instance.
///
/// ```
/// use std::time::Duration;
///
/// use mapa_sched::PcieAware;
///
/// let patient = PcieAware::new().delay_threshold(1.1).wait_threshold(Duration::from_secs(600));
/// let baseline = PcieAware::first_gpu();
/// # let _ = (patient, baseline);
/// ```
pub struct PcieAware {
    choice: Choice,
    max_gbps: f64,
    delay_threshold: f64,
    wait_threshold: Duration,
    queue: Queue,
    records: Records,
    gpus: Gpus,
    marks: Marks,
    /// Sizes of instances that can be had at all.
    had: BTreeSet<Size>,
    /// GPUs from which a job has gone.
    left: Vec<Gpu>,
    asked: Option<Time>,
}

impl PcieAware {
    /// With the bandwidth of PCIe 4.0 x16 as the paper measured it ([`PCIE_GEN4_GBPS`]). The paper gives no thresholds; these are a delay of
    /// 1.3, which lets two of its larger jobs onto one GPU (1.256 would do), and a wait of 300 s.
    #[must_use]
    pub fn new() -> Self {
        Self {
            choice: Choice::LeastSlowdown,
            max_gbps: PCIE_GEN4_GBPS,
            delay_threshold: 1.3,
            wait_threshold: Duration::from_secs(300),
            queue: Queue::default(),
            records: Records::default(),
            gpus: Gpus::default(),
            marks: Marks::default(),
            had: BTreeSet::new(),
            left: Vec::new(),
            asked: None,
        }
    }

    /// The paper's baseline: the first GPU by id that has a free instance of the size, whoever is there. The same queue, and GPUs are cut
    /// up anew in the same way, of which the paper says nothing; no thresholds.
    #[must_use]
    pub fn first_gpu() -> Self {
        let choice = Choice::FirstGpu;
        Self { choice, delay_threshold: f64::INFINITY, wait_threshold: Duration::MAX, ..Self::new() }
    }

    /// What each GPU's instances copy in all over PCIe, GB/s: `PCIe_max`. Default: [`PCIE_GEN4_GBPS`].
    #[must_use]
    pub fn max_gbps(self, max_gbps: f64) -> Self {
        Self { max_gbps, ..self }
    }

    /// The most that a job may be slowed down by as it starts: `delay_threshold`; infinity lets it start wherever there is room. With a job
    /// that is skipped all are that ask for the same at that instant.
    #[must_use]
    pub fn delay_threshold(self, delay_threshold: f64) -> Self {
        Self { delay_threshold, ..self }
    }

    /// How long a job waits before it takes any slowdown, and a larger instance: `wait_time_threshold`; [`Duration::MAX`] is for ever.
    #[must_use]
    pub fn wait_threshold(self, wait_threshold: Duration) -> Self {
        Self { wait_threshold, ..self }
    }

    /// The jobs that wait, first come first.
    pub fn waiting(&self) -> impl Iterator<Item = &Job> {
        self.queue.jobs()
    }

    /// By what factor a running job is slowed down by Eq. 2, and when it will end if nothing changes (Eq. 3); none of a job that this
    /// scheduler did not start.
    #[must_use]
    pub fn expected(&self, job: JobId) -> Option<(f64, Time)> {
        self.records.of(job)
    }

    /// The GPUs that are kept free until they are idle, to be cut up anew.
    pub fn marked(&self) -> impl Iterator<Item = (MachineId, DeviceId)> + '_ {
        self.marks.marks.keys().map(|gpu| (gpu.machine, gpu.whole))
    }

    /// Looks at what has changed: stage 1.
    fn look(&mut self, now: Time, turn: &Turn<'_>) {
        self.gpus.refresh(turn.fleet());
        self.marks.forget_done(&self.gpus);
        for gpu in std::mem::take(&mut self.left) {
            self.settle(gpu, now);
            self.marks.ends(gpu, self.records.until(gpu, self.gpus.get(gpu).map_or(0, |state| state.tenants)));
        }
    }

    fn settle(&mut self, gpu: Gpu, now: Time) {
        let gpus = &self.gpus;
        let bound = |gpu| gpus.get(gpu).map_or(0, |state| state.pcie_bound);
        self.records.settle(gpu, now, self.max_gbps, bound);
    }

    /// Tells jobs no that can never be placed.
    fn reject(&mut self, turn: &mut Turn<'_>) {
        let unknown: Vec<u64> = self.queue.new_classes().collect();
        let mut never: Vec<(u64, JobId, Refusal)> = Vec::new();
        for of in unknown {
            let Some(class) = self.queue.class_mut(of) else { continue };
            class.feasible = true;
            let Class { gbps, alpha, size, .. } = *class;
            if size.is_some_and(|size| self.had.contains(&size)) {
                continue;
            }
            let chooser = Chooser { choice: self.choice, gbps, alpha, max_gbps: self.max_gbps };
            if let Err(why @ Refusal::Infeasible(_)) = turn.decide(chooser.policy(Vec::new()), &class.request) {
                never.extend(self.queue.of_class(of).map(|entry| (entry.told, entry.job.id, why.clone())));
            } else {
                self.had.extend(size);
            }
        }
        never.sort_unstable_by_key(|(told, ..)| *told);
        for (_, job, why) in never {
            self.queue.forget(job);
            turn.reject(job, why);
        }
    }

    /// Cuts idle marked GPUs up anew: stage 2. Whether a GPU is marked for another job, or no longer because that would be of no use.
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

    fn look_at(&mut self, machine: MachineId, turn: &Turn<'_>) {
        if let Ok(machine) = turn.fleet().machine(machine) {
            self.gpus.look(machine);
        }
    }

    /// Goes through the queue: stages 3 and 4. What is refused stays refused while no mark is taken away, as starts only take
    /// instances and add to contention; so once is enough, and jobs that ask for the same are refused together.
    fn start_all(&mut self, now: Time, turn: &mut Turn<'_>) {
        let mut open = self.open_sizes();
        let mut heads: BTreeSet<(u64, u64)> = self
            .queue
            .heads()
            .filter(|(class, head)| self.finds_any(class, head, now, &open))
            .map(|(class, head)| (head.told, class.number))
            .collect();
        // Marked GPUs with an instance that somebody could use who has waited too long and must not start there.
        let mut closed: Vec<Gpu> = Vec::new();
        while let Some((told, of)) = heads.pop_first() {
            let Some(entry) = self.queue.next_of(of, told).cloned() else { continue };
            // Others have taken what there was.
            if !self.queue.class(of).is_some_and(|class| self.finds_any(class, &entry, now, &open)) {
                continue;
            }
            let goes_on = match self.start(&entry, of, now, &mut closed, turn) {
                true => {
                    self.queue.forget(entry.job.id);
                    open = self.open_sizes();
                    true
                }
                // The next one may be short enough for a marked GPU.
                false => !self.starves(&entry, now) && self.a_mark_has_room(of, &closed),
            };
            if goes_on && let Some(next) = self.queue.next_of(of, told + 1) {
                heads.insert((next.told, of));
            }
        }
    }

    /// The sizes of free instances, those of marked GPUs among them.
    fn open_sizes(&self) -> BTreeSet<Size> {
        self.gpus.sizes().chain(self.sizes_of_marks()).collect()
    }

    /// Whether there is any instance that a job could take, or it wants something else.
    fn finds_any(&self, class: &Class, entry: &Entry, now: Time, open: &BTreeSet<Size>) -> bool {
        let could =
            |size: Size| open.contains(&size) || self.starves(entry, now) && open.iter().any(|own| own.covers(size));
        class.size.is_none_or(could)
    }

    fn starves(&self, entry: &Entry, now: Time) -> bool {
        now.since(entry.since) >= self.wait_threshold
    }

    fn a_mark_has_room(&self, of: u64, closed: &[Gpu]) -> bool {
        let size = self.queue.class(of).and_then(|class| class.size);
        let has = |gpu: &Gpu, size| !closed.contains(gpu) && self.gpus.offer(*gpu, size).is_some();
        size.is_some_and(|size| self.marks.marks.keys().any(|gpu| has(gpu, size)))
    }

    /// Starts a job if it can start; whether it did.
    fn start(&mut self, entry: &Entry, of: u64, now: Time, closed: &mut Vec<Gpu>, turn: &mut Turn<'_>) -> bool {
        let Some(class) = self.queue.class(of) else { return false };
        let chooser = Chooser { choice: self.choice, gbps: class.gbps, alpha: class.alpha, max_gbps: self.max_gbps };
        let starves = self.starves(entry, now);
        let decision = match class.size {
            Some(size) => self.choose(entry, &chooser, size, (now, starves), closed, turn),
            None => self.visit(entry, &chooser, starves, turn),
        };
        let Some(decision) = decision else { return false };
        let length = |id: DeviceId, turn: &Turn<'_>, machine| {
            let machine = turn.fleet().machine(machine).ok()?;
            entry.job.run_time.on(machine.graph().devices().get(id.index())?.size)
        };
        let Ok(placed) = turn.place(Tenant::Job(entry.job.id), decision) else { return false };
        let machine = placed.machine;
        let lengths = placed.placement.iter().map(|&id| length(id, turn, machine)).collect::<Option<Vec<_>>>();
        let whole = |id: &DeviceId| {
            let device = turn.fleet().machine(machine).ok()?.graph().devices().get(id.index())?.parent;
            Some(Gpu { machine, whole: device })
        };
        let gpus: Vec<Gpu> = placed.placement.iter().filter_map(whole).collect();
        let start = Start {
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

    /// Where a job that wants one instance of a size starts, if it may.
    fn choose(
        &self,
        entry: &Entry,
        chooser: &Chooser,
        size: Size,
        (now, starves): (Time, bool),
        closed: &mut Vec<Gpu>,
        turn: &Turn<'_>,
    ) -> Option<Decision> {
        let covers = |own: &Size| starves && *own != size && own.covers(size);
        let larger: BTreeSet<Size> = self.gpus.sizes().chain(self.sizes_of_marks()).filter(covers).collect();
        let mut kept_off = Vec::new();
        for own in std::iter::once(size).chain(larger) {
            let mut best = chooser.best(&self.gpus, own);
            for (&gpu, mark) in &self.marks.marks {
                let Some(offer) = self.gpus.offer(gpu, own) else { continue };
                let goes_before = starves && entry.told <= mark.head;
                // Where nobody knows when the last job ends, nobody ends in time.
                let end = self.end_there(entry, chooser, own, &offer, now);
                let in_time = || !closed.contains(&gpu) && end <= mark.until && mark.until < Time(u64::MAX);
                if goes_before || in_time() {
                    best = best.into_iter().chain([offer]).min_by(|a, b| chooser.compare(a, b));
                } else {
                    kept_off.push(gpu);
                }
            }
            let Some(offer) = best else { continue };
            // Where nobody copies it is as fast as it will ever be.
            if !starves && offer.pcie_bound > 0 && chooser.slowdown(&offer) > self.delay_threshold {
                return None;
            }
            return self.decide(entry, chooser, own, offer.gpu, turn);
        }
        if starves {
            closed.append(&mut kept_off);
        }
        None
    }

    fn sizes_of_marks(&self) -> impl Iterator<Item = Size> + '_ {
        let states = self.marks.marks.keys().filter_map(|&gpu| self.gpus.get(gpu));
        states.flat_map(|state| state.sizes())
    }

    /// Eq. 3: when a job would end there.
    fn end_there(&self, entry: &Entry, chooser: &Chooser, size: Size, offer: &Offer, now: Time) -> Time {
        let length = entry.job.run_time.on(Some(size)).map_or(f64::INFINITY, |length| length.as_secs_f64());
        now + seconds(length * chooser.slowdown(offer))
    }

    /// Asks the policy on the machine of the GPU that it will choose: the other GPUs there that are marked or being cut up are barred.
    fn decide(&self, entry: &Entry, chooser: &Chooser, size: Size, gpu: Gpu, turn: &Turn<'_>) -> Option<Decision> {
        let view = turn.view(gpu.machine).ok()?;
        let barred = self.barred(gpu.machine).filter(|&whole| whole != gpu.whole).collect();
        let request = &entry.job.request;
        let [demand] = request.pattern.demands() else { return None };
        let policy = chooser.policy(barred);
        if Demand::slice(size).want == demand.want {
            return view.decide(policy, request).ok();
        }
        let larger = Demand { want: Demand::slice(size).want, ..*demand };
        let pattern = request.pattern.with_demand(0, larger);
        view.decide(policy, &Request { pattern, ..request.clone() }).ok()
    }

    /// The GPUs of a machine that are marked or being cut up anew.
    fn barred(&self, machine: MachineId) -> impl Iterator<Item = DeviceId> + '_ {
        let on = Gpu { machine, whole: DeviceId(0) }..=Gpu { machine, whole: DeviceId(u32::MAX) };
        let marked = self.marks.marks.range(on.clone()).map(|(gpu, _)| gpu.whole);
        marked.chain(self.marks.coming.range(on).map(|(gpu, _)| gpu.whole))
    }

    /// Where a job starts that wants something else: every machine is asked.
    fn visit(&self, entry: &Entry, chooser: &Chooser, starves: bool, turn: &Turn<'_>) -> Option<Decision> {
        let barred: Vec<(MachineId, DeviceId)> =
            self.marks.marks.keys().chain(self.marks.coming.keys()).map(|gpu| (gpu.machine, gpu.whole)).collect();
        let (threshold, Chooser { gbps, alpha, max_gbps, .. }) = (self.delay_threshold, *chooser);
        let within = move |others: u32| {
            starves || others == 0 || mapa_core::pcie_slowdown(gbps, alpha, others + 1, max_gbps) <= threshold
        };
        let policy = chooser
            .policy(Vec::new())
            .require("a GPU that is not kept free to be cut up anew", move |seat| {
                !barred.contains(&(seat.view.machine(), seat.whole()))
            })
            .require("within the delay threshold", move |seat| within(seat.usage_of_whole().pcie_tenants));
        turn.decide(policy, &entry.job.request).ok()
    }

    /// Marks GPUs for jobs that find no instance of their size; those that are idle are cut up anew at once. As [`recut`](Self::recut).
    fn mark(&mut self, now: Time, turn: &mut Turn<'_>) -> bool {
        let records = &self.records;
        let until = |gpus: &Gpus, gpu| records.until(gpu, gpus.get(gpu).map_or(0, |state| state.tenants));
        self.marks.mark(&self.queue, &mut self.gpus, until) && self.recut(now, turn)
    }

    /// Asks to be woken when the next job has waited too long.
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
            Choice::LeastSlowdown => "pcie-aware",
            Choice::FirstGpu => "first-gpu",
        }
    }

    fn on_event(&mut self, now: Time, event: Event) {
        match event {
            Event::Arrived(job) => self.queue.push(job, now),
            Event::Cancelled(job) | Event::Failed(job) | Event::Finished(job) => {
                self.queue.forget(job);
                self.left.extend(self.records.end(job));
            }
            _ => {}
        }
    }

    fn act(&mut self, now: Time, turn: &mut Turn<'_>) {
        self.look(now, turn);
        self.reject(turn);
        // Before any GPU is cut up: an older job that has waited too long may want it as it is, and what has become free provides for
        // somebody, whose like lack it still.
        self.start_all(now, turn);
        // Starts may have made marks useless, or over to another job: whoever was kept off those GPUs has another look.
        while self.recut(now, turn) {
            self.start_all(now, turn);
        }
        if self.mark(now, turn) {
            self.start_all(now, turn);
        }
        self.wake(now, turn);
    }
}
