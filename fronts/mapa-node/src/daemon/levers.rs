//! The levers of the daemon: which changes its actions need, who holds them, and when they are reverted.

use std::collections::BTreeMap;
use std::time::Duration;

use mapa_core::DeviceId;
use mapa_core::mig::Layout;
use mapa_live::Roots;
use mapa_live::levers::{
    CgroupPath, Holder, Journal, JournalEntry, LeverChange, LeverEvent, LeverManager, Lifetime,
};
use mapa_sched::{JobId, JobLimit};
use tracing::info;

use super::changes::{self, InterruptSampler, LimitKind, LimitTarget, holder, name};
use super::config::{Lever, LeversConfig};
use super::reporter::Reporter;
use crate::failed_reverts::{FailedReverts, words};
use crate::node::Node;

/// The levers of this machine.
pub(crate) struct NodeLevers<'a, J: Journal> {
    /// The levers, with what they hold and who needs it.
    pub(super) manager: LeverManager<J>,
    levers: &'a LeversConfig,
    roots: &'a Roots,
    /// The guards in force.
    guards: BTreeMap<(JobId, LimitKind), JobLimit>,
    /// How many interrupts CPUs serve.
    quiet: InterruptSampler,
    /// How often in a row each device could not be partitioned.
    failures: BTreeMap<DeviceId, u32>,
    /// The changes that could not be reverted, with the reason that was last reported.
    failed_reverts: FailedReverts,
    /// Whether a layout was reverted since the last tick, or a part of it: its instances have other names.
    is_partitioned: bool,
    /// Dry run: the manager rehearses changes. They are logged, and not applied.
    pub(super) is_dry: bool,
}

/// Why a device has not the layout that was ordered.
#[derive(Debug)]
pub(super) struct NotPartitioned {
    /// Why, in words.
    pub why: String,
    /// How long to wait before the failure is reported to the scheduler: longer each time, so that a device which cannot be
    /// partitioned does not keep the daemon busy.
    pub pause: Duration,
    /// Whether instances were destroyed or made all the same. Those that were made again, as before, have new
    /// UUIDs.
    pub is_touched: bool,
}

impl<'a, J: Journal> NodeLevers<'a, J> {
    /// Levers over a manager. `job_of` names the job whose block I/O is limited in a group: it becomes the holder of the
    /// changes that an earlier daemon has left there and that have not expired.
    pub(crate) fn new(
        mut manager: LeverManager<J>,
        levers: &'a LeversConfig,
        roots: &'a Roots,
        is_dry: bool,
        job_of: impl Fn(&CgroupPath) -> Option<JobId>,
    ) -> Self {
        let of = |entry: &JournalEntry| match &entry.change {
            LeverChange::BlockIo { group, .. } => Some((entry.id, job_of(group)?)),
            _ => None,
        };
        let known: Vec<(u64, JobId)> = manager.active().filter_map(of).collect();
        for (id, job) in known {
            manager.adopt(id, holder(job, LimitKind::BlockIo));
        }
        if is_dry {
            manager = manager.rehearse();
        }
        Self {
            manager,
            levers,
            roots,
            guards: BTreeMap::new(),
            quiet: InterruptSampler::default(),
            failures: BTreeMap::new(),
            failed_reverts: FailedReverts::default(),
            is_partitioned: false,
            is_dry,
        }
    }

    /// The configuration of the levers.
    pub(super) fn levers(&self) -> &'a LeversConfig {
        self.levers
    }

    /// Reads the counters of interrupts once more.
    pub(super) fn sample_interrupts(&mut self) {
        self.quiet.sample(self.roots);
    }

    /// Reverts expired changes. True if a device may have got other instances since the last tick.
    pub(super) fn tick(&mut self, now_ms: u64, reporter: &mut Reporter) -> bool {
        for event in self.manager.revert_expired(now_ms) {
            self.report_revert(&event, reporter);
        }
        std::mem::take(&mut self.is_partitioned)
    }

    /// Counts failed reverts, and reports each when its reason is new: every tick tries again.
    pub(super) fn report_revert(&mut self, event: &LeverEvent, reporter: &mut Reporter) {
        let should_report = self.failed_reverts.should_report(event);
        if let LeverEvent::Reverted { id, lever } = event {
            if self.manager.is_rehearsed(*id) {
                reporter.dry_run(&format!("revert change {id} ({lever})"));
            } else {
                info!(id, lever, "change reverted");
            }
        }
        if let LeverEvent::Reverted { lever, .. } | LeverEvent::RevertFailed { lever, .. } = event {
            // A revert in part creates instances again, too. One that fails for the same reason as before has created
            // none.
            self.is_partitioned |= lever == "layout" && should_report;
        }
        let LeverEvent::RevertFailed { id, lever, left } = event else {
            return;
        };
        reporter.lever_failed(lever, "revert");
        if should_report {
            reporter.error(
                "levers",
                &format!("change {id} ({lever}): revert failed: {}", words(left)),
            );
        }
    }

    /// Logs the plan of a change that a dry run would have applied. False: this is no such change.
    pub(super) fn report_rehearsed(
        &self,
        event: &LeverEvent,
        whom: &str,
        reporter: &mut Reporter,
    ) -> bool {
        let LeverEvent::Applied { id, .. } = event else {
            return false;
        };
        let mut held = self.manager.active();
        let entry = held.find(|entry| entry.id == *id && self.manager.is_rehearsed(*id));
        if let Some(entry) = entry {
            reporter.dry_run(&format!("{whom}: {}", entry.plan));
        }
        entry.is_some()
    }

    /// A job has left: what only it needed is reverted.
    pub(super) fn left(&mut self, job: JobId, reporter: &mut Reporter) {
        self.guards.retain(|(limited, _), _| *limited != job);
        let name = name(job);
        self.free(|holder| holder.who == name, reporter);
    }

    /// Reverts what only these holders need. Failures are reported, and every tick tries again.
    pub(super) fn free(&mut self, is: impl Fn(&Holder) -> bool, reporter: &mut Reporter) {
        for event in self.manager.free(is) {
            self.report_revert(&event, reporter);
        }
    }

    /// Sets or lifts a guard on a job. `target` is what it is set on.
    ///
    /// # Errors
    /// Why it could not be set: nothing has changed then.
    pub(super) fn throttle(
        &mut self,
        job: JobId,
        guard: JobLimit,
        now_ms: u64,
        target: Result<LimitTarget, String>,
        reporter: &mut Reporter,
    ) -> Result<(), String> {
        let Some((kind, is_set)) = changes::kind(guard) else {
            return Err("no lever of this release does that".to_owned());
        };
        if self.guards.get(&(job, kind)) != Some(&guard) {
            self.guards.remove(&(job, kind));
            let whose = holder(job, kind);
            self.free(|holder| *holder == whose, reporter);
        }
        if !is_set {
            return Ok(());
        }
        let done = target.and_then(|target| self.set(job, kind, guard, now_ms, &target, reporter));
        if done.is_err() {
            reporter.lever_failed(&holder(job, kind).what, "apply");
        }
        done
    }

    /// Applies the changes that a limit needs. If one fails, those before it without another holder are reverted.
    fn set(
        &mut self,
        job: JobId,
        kind: LimitKind,
        guard: JobLimit,
        now_ms: u64,
        target: &LimitTarget,
        reporter: &mut Reporter,
    ) -> Result<(), String> {
        let quiet = &mut self.quiet;
        let wanted = changes::limit_changes(guard, target, self.levers, self.roots, quiet, now_ms)?;
        let whose = holder(job, kind);
        let before: Vec<u64> = self.manager.needed_by(&whose).collect();
        for (change, lifetime) in wanted {
            let event = self.manager.apply_for(&whose, &change, lifetime, now_ms);
            self.report_rehearsed(&event, &whose.who, reporter);
            match changes::outcome(&event) {
                Ok(()) => {}
                // A process may end at any moment; others of the job are limited all the same.
                Err(_) if is_gone(&change, self.roots) => {}
                Err(why) => {
                    let mut new: Vec<u64> = self.manager.needed_by(&whose).collect();
                    new.retain(|number| !before.contains(number));
                    for id in new.into_iter().rev() {
                        if let Some(event) = self.manager.leave(&whose, id) {
                            self.report_revert(&event, reporter);
                        }
                    }
                    return Err(why);
                }
            }
        }
        self.guards.insert((job, kind), guard);
        Ok(())
    }

    /// Partitions a device. A dry run reports the plan, and fails.
    ///
    /// # Errors
    /// Why the device has not that layout.
    pub(super) fn repartition(
        &mut self,
        node: &Node,
        whole: DeviceId,
        layout: &Layout,
        now_ms: u64,
        reporter: &mut Reporter,
    ) -> Result<(), NotPartitioned> {
        let Err((why, is_touched)) = self.apply_layout(node, whole, layout, now_ms, reporter)
        else {
            self.failures.remove(&whole);
            return Ok(());
        };
        let count = self.failures.entry(whole).or_default();
        *count = (*count + 1).min(7);
        Err(NotPartitioned {
            why,
            pause: Duration::from_secs(1 << (*count - 1)),
            is_touched,
        })
    }

    /// # Errors
    /// Why it was not applied, and whether something was changed all the same.
    fn apply_layout(
        &mut self,
        node: &Node,
        whole: DeviceId,
        layout: &Layout,
        now_ms: u64,
        reporter: &mut Reporter,
    ) -> Result<(), (String, bool)> {
        let mut is_touched = false;
        let mut apply = || {
            if !self.levers.enabled.contains(&Lever::Mig) {
                return Err("the lever \"mig\" is off: expected it in `levers.enabled`".to_owned());
            }
            if !node.is_live() {
                return Err(
                    "this machine is only described: its layouts are not changed".to_owned(),
                );
            }
            let change = changes::layout_change(node, whole, layout)?;
            if self.is_dry {
                let plan = self
                    .manager
                    .plan(&change)
                    .map_err(|error| error.to_string())?;
                reporter.dry_run(&plan.to_string());
                return Ok(());
            }
            let event = self.manager.apply(&change, Lifetime::Kept, now_ms);
            // A change that failed midway was reverted, which creates instances again.
            is_touched = matches!(event, LeverEvent::Failed { .. });
            changes::outcome(&event)
        };
        match apply() {
            Err(why) => {
                reporter.lever_failed("mig", "apply");
                Err((why, is_touched))
            }
            Ok(()) if self.is_dry => Err(("a dry run changes no layout".to_owned(), false)),
            Ok(()) => Ok(()),
        }
    }

    /// Reverts everything that is not kept, and returns what could not be, in words.
    pub(super) fn close(&mut self, reporter: &mut Reporter) -> Vec<String> {
        let mut left = Vec::new();
        for event in self.manager.close() {
            if let LeverEvent::RevertFailed { id, lever, .. } = event {
                reporter.lever_failed(&lever, "revert");
                left.push(format!("change {id} ({lever}): revert failed"));
            }
        }
        left
    }
}

/// Whether the process that a change is about has ended.
fn is_gone(change: &LeverChange, roots: &Roots) -> bool {
    match change {
        LeverChange::AssignCgroup {
            process: Some(process),
            ..
        }
        // One that cannot be seen may be there.
        | LeverChange::Affinity { process, .. } => !process.is_alive(&roots.proc).unwrap_or(true),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use mapa_front::answer::node::Status;
    use mapa_live::ProcessId;
    use mapa_live::levers::{
        BlockDevice, InjectedFault, MemoryJournal, MpsServer, SimulatedMachine,
    };

    use super::super::metrics::Metrics;
    use super::super::reporter::SharedStatus;
    use super::*;

    fn reporter() -> Reporter {
        let shared = SharedStatus {
            metrics: Metrics::new(),
            status: Mutex::new(Status::default()),
        };
        Reporter::new(Arc::new(shared), None)
    }

    fn levers() -> LeversConfig {
        LeversConfig {
            block_devices: vec!["254:0".parse::<BlockDevice>().unwrap()],
            ..LeversConfig::default()
        }
    }

    fn node_levers<'a>(
        twin: &SimulatedMachine,
        levers: &'a LeversConfig,
        roots: &'a Roots,
    ) -> NodeLevers<'a, MemoryJournal> {
        let (manager, _) = LeverManager::open(twin.levers(), MemoryJournal::default(), 0).unwrap();
        NodeLevers::new(manager, levers, roots, false, |_| None)
    }

    fn target(processes: Vec<ProcessId>) -> Result<LimitTarget, String> {
        Ok(LimitTarget {
            processes,
            group: CgroupPath::new("mapa/mapa-x-1").unwrap(),
            enrol: true,
        })
    }

    const A: JobId = JobId(2);
    const B: JobId = JobId(4);
    const MPS: JobLimit = JobLimit::MpsPercent(Some(70));

    fn percent(twin: &SimulatedMachine, levers: &LeversConfig) -> u32 {
        let server = MpsServer(levers.mps_pipe.clone());
        let daemon = mapa_live::levers::MpsScope::Daemon;
        twin.levers().mps.percent(&server, daemon).unwrap()
    }

    #[test]
    fn what_two_jobs_need_holds_until_neither_does() {
        let (levers, roots, mut reporter) = (levers(), Roots::default(), reporter());
        let twin = SimulatedMachine::new();
        twin.add_mps(&MpsServer(levers.mps_pipe.clone()), &[]);
        let mut node_levers = node_levers(&twin, &levers, &roots);
        for (job, at) in [(A, 0), (B, 30_000)] {
            let done = node_levers.throttle(job, MPS, at, target(Vec::new()), &mut reporter);
            assert_eq!(done, Ok(()));
        }
        // The one of the two ends by its time, later than the other would have.
        assert!(!node_levers.tick(60_000, &mut reporter));
        assert_eq!(percent(&twin, &levers), 70_000);
        node_levers.left(A, &mut reporter);
        assert_eq!(percent(&twin, &levers), 70_000, "the other needs it");
        let lifted = JobLimit::MpsPercent(None);
        let done = node_levers.throttle(B, lifted, 61_000, target(Vec::new()), &mut reporter);
        assert_eq!((done, percent(&twin, &levers)), (Ok(()), 100_000));
    }

    /// The limit is on a group that only an earlier change makes.
    #[test]
    fn a_dry_run_plans_checks_and_refuses_as_a_real_run_and_changes_nothing() {
        let (levers, roots, mut reporter) = (levers(), Roots::default(), reporter());
        let plans = |is_dry: bool, reporter: &mut Reporter| {
            let twin = SimulatedMachine::with_group("mapa").unwrap();
            let processes = [17, 18].map(|pid| twin.add_process(pid, &[pid])).to_vec();
            let before = twin.state();
            let (manager, _) =
                LeverManager::open(twin.levers(), MemoryJournal::default(), 0).unwrap();
            let mut node_levers = NodeLevers::new(manager, &levers, &roots, is_dry, |_| None);
            let mut limit = |job, mb_s| {
                let guard = JobLimit::BlockIoMbPerS(Some(mb_s));
                node_levers.throttle(job, guard, 0, target(processes.clone()), reporter)
            };
            // The second needs what is held, another limit on the group is refused, and so is one out of bounds.
            let done = [(A, 200), (B, 200), (B, 300), (B, 1)].map(|(job, mb_s)| limit(job, mb_s));
            let held = node_levers.manager.active();
            let held: Vec<String> = held.map(|entry| entry.plan.to_string()).collect();
            assert_eq!(twin.state() == before, is_dry);
            node_levers.left(A, reporter);
            node_levers.left(B, reporter);
            assert_eq!(node_levers.manager.active().count(), 0);
            assert_eq!(twin.state(), before);
            (done, held)
        };
        let real = plans(false, &mut reporter);
        assert!(real.0[0].is_ok() && real.0[2].is_err(), "{real:?}");
        assert_eq!(plans(true, &mut reporter), real);
    }

    #[test]
    fn a_clock_that_goes_back_shortens_nobody_s_time() {
        let (levers, roots, mut reporter) = (levers(), Roots::default(), reporter());
        let twin = SimulatedMachine::new();
        twin.add_mps(&MpsServer(levers.mps_pipe.clone()), &[]);
        let mut node_levers = node_levers(&twin, &levers, &roots);
        for (job, at) in [(A, 30_000), (B, 0)] {
            let done = node_levers.throttle(job, MPS, at, target(Vec::new()), &mut reporter);
            assert_eq!(done, Ok(()));
        }
        node_levers.tick(89_999, &mut reporter);
        assert_eq!(percent(&twin, &levers), 70_000);
        node_levers.tick(90_000, &mut reporter);
        assert_eq!(percent(&twin, &levers), 100_000);
    }

    #[test]
    fn a_change_that_fails_reverts_what_came_before_it_and_nothing_else() {
        let (levers, roots, mut reporter) = (levers(), Roots::default(), reporter());
        let twin = SimulatedMachine::with_group("mapa").unwrap();
        let added = twin.add_process(17, &[17]);
        let guard = JobLimit::BlockIoMbPerS(Some(200));
        let mut node_levers = node_levers(&twin, &levers, &roots);
        let done = node_levers.throttle(A, guard, 0, target(vec![added]), &mut reporter);
        assert_eq!(done, Ok(()));
        let before = node_levers.manager.active().count();
        assert_eq!(before, 2, "the process, and the limit");
        let less = JobLimit::BlockIoMbPerS(Some(1));
        let done = node_levers.throttle(B, less, 0, target(vec![added]), &mut reporter);
        assert!(done.is_err(), "out of bounds");
        assert_eq!(node_levers.manager.active().count(), before, "A's are A's");
        node_levers.left(B, &mut reporter);
        assert_eq!(node_levers.manager.active().count(), before);
        node_levers.left(A, &mut reporter);
        assert_eq!(node_levers.manager.active().count(), 0);
    }

    #[test]
    fn a_limit_on_a_group_of_two_jobs_holds_until_neither_needs_it() {
        let (levers, roots, mut reporter) = (levers(), Roots::default(), reporter());
        // A group that was there before, as a lease has one of its node_levers.
        let twin = SimulatedMachine::with_group("mapa/mapa-x-1").unwrap();
        let [first, second] = [17, 18].map(|pid| twin.add_process(pid, &[pid]));
        let target = |processes| {
            target(processes).map(|target| LimitTarget {
                enrol: false,
                ..target
            })
        };
        let guard = JobLimit::BlockIoMbPerS(Some(200));
        let mut node_levers = node_levers(&twin, &levers, &roots);
        let before = twin.state();
        for (job, process) in [(A, first), (B, second)] {
            let done = node_levers.throttle(job, guard, 0, target(vec![process]), &mut reporter);
            assert_eq!(done, Ok(()));
        }
        let limits = |node_levers: &mut NodeLevers<'_, MemoryJournal>| {
            let group = CgroupPath::new("mapa/mapa-x-1").unwrap();
            let block_io = &node_levers.manager.levers().block_io;
            block_io.limits(&group, levers.block_devices[0])
        };
        let set = limits(&mut node_levers).unwrap();
        assert_eq!(set, mapa_live::levers::BlockIoLimits::mb_s(200));
        let lifted = JobLimit::BlockIoMbPerS(None);
        let done = node_levers.throttle(A, lifted, 1, target(Vec::new()), &mut reporter);
        assert_eq!(done, Ok(()));
        assert_eq!(limits(&mut node_levers).unwrap(), set, "the other needs it");
        node_levers.left(B, &mut reporter);
        assert_eq!(twin.state(), before);
    }

    #[test]
    fn what_cannot_be_reverted_is_tried_again() {
        let (levers, roots, mut reporter) = (levers(), Roots::default(), reporter());
        let twin = SimulatedMachine::new();
        twin.add_mps(&MpsServer(levers.mps_pipe.clone()), &[]);
        let mut node_levers = node_levers(&twin, &levers, &roots);
        let done = node_levers.throttle(A, MPS, 0, target(Vec::new()), &mut reporter);
        assert_eq!(done, Ok(()));
        twin.fail(0, InjectedFault::Before);
        node_levers.left(A, &mut reporter);
        assert_eq!(percent(&twin, &levers), 70_000);
        twin.heal();
        node_levers.tick(60_000, &mut reporter);
        assert_eq!(percent(&twin, &levers), 100_000);
    }

    #[test]
    fn what_an_earlier_daemon_has_left_is_its_jobs() {
        let (levers, roots, mut reporter) = (levers(), Roots::default(), reporter());
        let twin = SimulatedMachine::with_group("mapa/mapa-x-1").unwrap();
        let (mut manager, _) =
            LeverManager::open(twin.levers(), MemoryJournal::default(), 0).unwrap();
        let change = LeverChange::BlockIo {
            group: CgroupPath::new("mapa/mapa-x-1").unwrap(),
            device: levers.block_devices[0],
            limits: mapa_live::levers::BlockIoLimits::mb_s(200),
        };
        manager.apply(&change, Lifetime::Until { ms: 50_000 }, 0);
        let job_of = |group: &CgroupPath| group.path().ends_with("mapa-x-1").then_some(A);
        let mut node_levers = NodeLevers::new(manager, &levers, &roots, false, job_of);
        node_levers.left(B, &mut reporter);
        assert_eq!(node_levers.manager.active().count(), 1);
        node_levers.left(A, &mut reporter);
        assert_eq!(node_levers.manager.active().count(), 0);
    }

    #[test]
    fn a_job_is_kept_off_the_cores_that_serve_interrupts_until_it_may_have_them() {
        let tree = tempfile::tempdir().unwrap();
        let (levers, roots, mut reporter) = (levers(), Roots::below(tree.path()), reporter());
        let cpu = roots.sys.join("devices/system/cpu");
        std::fs::create_dir_all(&cpu).unwrap();
        std::fs::create_dir_all(&roots.proc).unwrap();
        std::fs::write(cpu.join("online"), "0-3\n").unwrap();
        let twin = SimulatedMachine::new();
        let process = twin.add_process(17, &[17, 18]);
        let before = twin.state();
        let guard = |avoid| JobLimit::AvoidInterruptCores(avoid);
        let mut node_levers = node_levers(&twin, &levers, &roots);
        // Nothing is known of interrupts yet: the job stays where it is.
        let done = node_levers.throttle(A, guard(true), 0, target(vec![process]), &mut reporter);
        assert!(done.unwrap_err().contains("not counted yet"));
        for count in [0, 1_000_000_000] {
            let text = format!("  CPU0 CPU1 CPU2 CPU3\n 33: {count} 0 0 0 PCI-MSI nvme\n");
            std::fs::write(roots.proc.join("interrupts"), text).unwrap();
            node_levers.quiet.sample(&roots);
        }
        let done = node_levers.throttle(A, guard(true), 0, target(vec![process]), &mut reporter);
        assert_eq!(done, Ok(()));
        let cpus: Vec<String> = twin
            .levers()
            .affinity
            .threads(process)
            .unwrap()
            .into_iter()
            .map(|(_, cpus)| cpus.to_string())
            .collect();
        assert_eq!(cpus, ["1-3", "1-3"], "every thread, and not on CPU 0");
        let done = node_levers.throttle(A, guard(false), 1, target(vec![process]), &mut reporter);
        assert_eq!((done, twin.state() == before), (Ok(()), true));
    }
}
