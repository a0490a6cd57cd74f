//! The hands of the daemon: which levers its orders pull, for whom, and when they are taken
//! back.

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
    pub(super) keeper: LeverManager<J>,
    levers: &'a LeversConfig,
    roots: &'a Roots,
    /// The guards in force.
    guards: BTreeMap<(JobId, LimitKind), JobLimit>,
    /// How many interrupts CPUs serve.
    quiet: InterruptSampler,
    /// How often in a row each device could not be partitioned.
    failures: BTreeMap<DeviceId, u32>,
    /// What could not be taken back, as it was told.
    undone: FailedReverts,
    /// Whether a layout was taken back since the last tick, or a part of it: its instances have other names.
    is_partitioned: bool,
    /// Whether nothing is done but told.
    pub(super) is_dry: bool,
}

/// Why a device has not the layout that was ordered.
#[derive(Debug)]
pub(super) struct NotPartitioned {
    /// Why, in words.
    pub why: String,
    /// How long to wait before the scheduler is told: longer each time, so that a device which cannot be
    /// partitioned does not keep the daemon busy.
    pub pause: Duration,
    /// Whether instances were destroyed or made all the same. Those that were made again, as before, have new
    /// UUIDs.
    pub is_touched: bool,
}

impl<'a, J: Journal> NodeLevers<'a, J> {
    /// The hands with these levers. `job_of` names the job whose block I/O is limited in a group: pulls
    /// that an earlier daemon has left, and whose time is not up, are its.
    pub(crate) fn new(
        mut keeper: LeverManager<J>,
        levers: &'a LeversConfig,
        roots: &'a Roots,
        is_dry: bool,
        job_of: impl Fn(&CgroupPath) -> Option<JobId>,
    ) -> Self {
        let of = |entry: &JournalEntry| match &entry.pull {
            LeverChange::BlockIo { group, .. } => Some((entry.id, job_of(group)?)),
            _ => None,
        };
        let known: Vec<(u64, JobId)> = keeper.active().filter_map(of).collect();
        for (id, job) in known {
            keeper.adopt(id, holder(job, LimitKind::BlockIo));
        }
        Self {
            keeper,
            levers,
            roots,
            guards: BTreeMap::new(),
            quiet: InterruptSampler::default(),
            failures: BTreeMap::new(),
            undone: FailedReverts::default(),
            is_partitioned: false,
            is_dry,
        }
    }

    /// The configuration of the levers.
    pub(super) fn levers(&self) -> &'a LeversConfig {
        self.levers
    }

    /// Reads the counters of interrupts once more.
    pub(super) fn look(&mut self) {
        self.quiet.look(self.roots);
    }

    /// Takes back what is past its time. Whether a device may have got other instances since the last tick.
    pub(super) fn tick(&mut self, now_ms: u64, told: &mut Reporter) -> bool {
        for fact in self.keeper.revert_expired(now_ms) {
            self.report_revert(&fact, told);
        }
        std::mem::take(&mut self.is_partitioned)
    }

    /// Counts what could not be taken back, and tells it when that is news: each tick tries again.
    pub(super) fn report_revert(&mut self, fact: &LeverEvent, told: &mut Reporter) {
        let is_news = self.undone.is_news(fact);
        if let LeverEvent::Reverted { id, lever } = fact {
            info!(id, lever, "taken back");
        }
        if let LeverEvent::Reverted { lever, .. } | LeverEvent::RevertFailed { lever, .. } = fact {
            // Also of one that was taken back in part, instances were made anew. A try that ends as the one before
            // made none.
            self.is_partitioned |= lever == "layout" && is_news;
        }
        let LeverEvent::RevertFailed { id, lever, left } = fact else {
            return;
        };
        told.lever_failed(lever, "revert");
        if is_news {
            told.error("levers", &format!("pull {id} of {lever}: {}", words(left)));
        }
    }

    /// A job has left: what only it needed is taken back.
    pub(super) fn left(&mut self, job: JobId, told: &mut Reporter) {
        self.guards.retain(|(limited, _), _| *limited != job);
        let name = name(job);
        self.free(|holder| holder.who == name, told);
    }

    /// Takes back what only these need. What cannot be is told, and tried again by each tick.
    pub(super) fn free(&mut self, is: impl Fn(&Holder) -> bool, told: &mut Reporter) {
        for fact in self.keeper.free(is) {
            self.report_revert(&fact, told);
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
        told: &mut Reporter,
    ) -> Result<(), String> {
        let Some((kind, is_set)) = changes::kind(guard) else {
            return Err("no lever of this release does that".to_owned());
        };
        if self.guards.get(&(job, kind)) != Some(&guard) {
            self.guards.remove(&(job, kind));
            let whose = holder(job, kind);
            self.free(|holder| *holder == whose, told);
        }
        if !is_set {
            return Ok(());
        }
        let done = target.and_then(|target| self.set(job, kind, guard, now_ms, &target, told));
        if done.is_err() {
            told.lever_failed(&holder(job, kind).what, "apply");
        }
        done
    }

    /// Pulls what a guard asks for. If one pull fails, those before it that nobody else needs are taken
    /// back.
    fn set(
        &mut self,
        job: JobId,
        kind: LimitKind,
        guard: JobLimit,
        now_ms: u64,
        target: &LimitTarget,
        told: &mut Reporter,
    ) -> Result<(), String> {
        let quiet = &mut self.quiet;
        let wanted = changes::pulls(guard, target, self.levers, self.roots, quiet, now_ms)?;
        let whose = holder(job, kind);
        let before: Vec<u64> = self.keeper.needed_by(&whose).collect();
        for (pull, lifetime) in wanted {
            if self.is_dry {
                let plan = self.keeper.plan(&pull).map_err(|error| error.to_string())?;
                told.dry_run(&plan.to_string());
                continue;
            }
            let fact = self.keeper.pull_for(&whose, &pull, lifetime, now_ms);
            match changes::outcome(&fact) {
                Ok(()) => {}
                // A process may end at any moment; others of the job are limited all the same.
                Err(_) if is_gone(&pull, self.roots) => {}
                Err(why) => {
                    let mut new: Vec<u64> = self.keeper.needed_by(&whose).collect();
                    new.retain(|number| !before.contains(number));
                    for id in new.into_iter().rev() {
                        if let Some(fact) = self.keeper.leave(&whose, id) {
                            self.report_revert(&fact, told);
                        }
                    }
                    return Err(why);
                }
            }
        }
        self.guards.insert((job, kind), guard);
        Ok(())
    }

    /// Partitions a device. In a dry run it is told, and fails.
    ///
    /// # Errors
    /// Why the device has not that layout.
    pub(super) fn repartition(
        &mut self,
        node: &Node,
        whole: DeviceId,
        layout: &Layout,
        now_ms: u64,
        told: &mut Reporter,
    ) -> Result<(), NotPartitioned> {
        let Err((why, is_touched)) = self.pull_layout(node, whole, layout, now_ms, told) else {
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
    /// Why it was not pulled, and whether something was changed all the same.
    fn pull_layout(
        &mut self,
        node: &Node,
        whole: DeviceId,
        layout: &Layout,
        now_ms: u64,
        told: &mut Reporter,
    ) -> Result<(), (String, bool)> {
        let mut is_touched = false;
        let mut pull = || {
            if !self.levers.enabled.contains(&Lever::Mig) {
                return Err("the lever \"mig\" is off: expected it in `levers.enabled`".to_owned());
            }
            if !node.is_live() {
                return Err(
                    "this machine is only described: its layouts are not changed".to_owned(),
                );
            }
            let pull = changes::layout_pull(node, whole, layout)?;
            if self.is_dry {
                let plan = self.keeper.plan(&pull).map_err(|error| error.to_string())?;
                told.dry_run(&plan.to_string());
                return Ok(());
            }
            let fact = self.keeper.apply(&pull, Lifetime::Kept, now_ms);
            // What failed midway was taken back, and that makes instances again.
            is_touched = matches!(fact, LeverEvent::Failed { .. });
            changes::outcome(&fact)
        };
        match pull() {
            Err(why) => {
                told.lever_failed("mig", "apply");
                Err((why, is_touched))
            }
            Ok(()) if self.is_dry => Err(("a dry run changes no layout".to_owned(), false)),
            Ok(()) => Ok(()),
        }
    }

    /// Takes everything back that is not kept, and returns what could not be, in words.
    pub(super) fn close(&mut self, told: &mut Reporter) -> Vec<String> {
        let mut left = Vec::new();
        for fact in self.keeper.close() {
            if let LeverEvent::RevertFailed { id, lever, .. } = fact {
                told.lever_failed(&lever, "revert");
                left.push(format!("pull {id} of {lever} could not be taken back"));
            }
        }
        left
    }
}

/// Whether the process that a pull is about has ended.
fn is_gone(pull: &LeverChange, roots: &Roots) -> bool {
    match pull {
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

    fn told() -> Reporter {
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

    fn hands<'a>(
        twin: &SimulatedMachine,
        levers: &'a LeversConfig,
        roots: &'a Roots,
    ) -> NodeLevers<'a, MemoryJournal> {
        let (keeper, _) = LeverManager::open(twin.hands(), MemoryJournal::default(), 0).unwrap();
        NodeLevers::new(keeper, levers, roots, false, |_| None)
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
        twin.hands().mps.percent(&server, daemon).unwrap()
    }

    #[test]
    fn what_two_jobs_need_holds_until_neither_does() {
        let (levers, roots, mut told) = (levers(), Roots::default(), told());
        let twin = SimulatedMachine::new();
        twin.add_mps(&MpsServer(levers.mps_pipe.clone()), &[]);
        let mut node_levers = hands(&twin, &levers, &roots);
        for (job, at) in [(A, 0), (B, 30_000)] {
            let done = node_levers.throttle(job, MPS, at, target(Vec::new()), &mut told);
            assert_eq!(done, Ok(()));
        }
        // The one of the two ends by its time, later than the other would have.
        assert!(!node_levers.tick(60_000, &mut told));
        assert_eq!(percent(&twin, &levers), 70_000);
        node_levers.left(A, &mut told);
        assert_eq!(percent(&twin, &levers), 70_000, "the other needs it");
        let lifted = JobLimit::MpsPercent(None);
        let done = node_levers.throttle(B, lifted, 61_000, target(Vec::new()), &mut told);
        assert_eq!((done, percent(&twin, &levers)), (Ok(()), 100_000));
    }

    #[test]
    fn a_clock_that_goes_back_shortens_nobody_s_time() {
        let (levers, roots, mut told) = (levers(), Roots::default(), told());
        let twin = SimulatedMachine::new();
        twin.add_mps(&MpsServer(levers.mps_pipe.clone()), &[]);
        let mut node_hands = hands(&twin, &levers, &roots);
        for (job, at) in [(A, 30_000), (B, 0)] {
            let done = node_hands.throttle(job, MPS, at, target(Vec::new()), &mut told);
            assert_eq!(done, Ok(()));
        }
        node_hands.tick(89_999, &mut told);
        assert_eq!(percent(&twin, &levers), 70_000);
        node_hands.tick(90_000, &mut told);
        assert_eq!(percent(&twin, &levers), 100_000);
    }

    #[test]
    fn a_pull_that_fails_takes_back_what_came_before_it_and_nothing_else() {
        let (levers, roots, mut told) = (levers(), Roots::default(), told());
        let twin = SimulatedMachine::with_group("mapa").unwrap();
        let added = twin.add_process(17, &[17]);
        let guard = JobLimit::BlockIoMbPerS(Some(200));
        let mut node_levers = hands(&twin, &levers, &roots);
        let done = node_levers.throttle(A, guard, 0, target(vec![added]), &mut told);
        assert_eq!(done, Ok(()));
        let before = node_levers.keeper.active().count();
        assert_eq!(before, 2, "the process, and the limit");
        let less = JobLimit::BlockIoMbPerS(Some(1));
        let done = node_levers.throttle(B, less, 0, target(vec![added]), &mut told);
        assert!(done.is_err(), "out of bounds");
        assert_eq!(node_levers.keeper.active().count(), before, "A's are A's");
        node_levers.left(B, &mut told);
        assert_eq!(node_levers.keeper.active().count(), before);
        node_levers.left(A, &mut told);
        assert_eq!(node_levers.keeper.active().count(), 0);
    }

    #[test]
    fn a_limit_on_a_group_of_two_jobs_holds_until_neither_needs_it() {
        let (levers, roots, mut told) = (levers(), Roots::default(), told());
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
        let mut node_levers = hands(&twin, &levers, &roots);
        let before = twin.state();
        for (job, process) in [(A, first), (B, second)] {
            let done = node_levers.throttle(job, guard, 0, target(vec![process]), &mut told);
            assert_eq!(done, Ok(()));
        }
        let limits = |node_hands: &mut NodeLevers<'_, MemoryJournal>| {
            let group = CgroupPath::new("mapa/mapa-x-1").unwrap();
            let block_io = &node_hands.keeper.hands().block_io;
            block_io.limits(&group, levers.block_devices[0])
        };
        let set = limits(&mut node_levers).unwrap();
        assert_eq!(set, mapa_live::levers::BlockIoLimits::mb_s(200));
        let lifted = JobLimit::BlockIoMbPerS(None);
        let done = node_levers.throttle(A, lifted, 1, target(Vec::new()), &mut told);
        assert_eq!(done, Ok(()));
        assert_eq!(limits(&mut node_levers).unwrap(), set, "the other needs it");
        node_levers.left(B, &mut told);
        assert_eq!(twin.state(), before);
    }

    #[test]
    fn what_cannot_be_taken_back_is_tried_again() {
        let (levers, roots, mut told) = (levers(), Roots::default(), told());
        let twin = SimulatedMachine::new();
        twin.add_mps(&MpsServer(levers.mps_pipe.clone()), &[]);
        let mut node_levers = hands(&twin, &levers, &roots);
        let done = node_levers.throttle(A, MPS, 0, target(Vec::new()), &mut told);
        assert_eq!(done, Ok(()));
        twin.fail(0, InjectedFault::Before);
        node_levers.left(A, &mut told);
        assert_eq!(percent(&twin, &levers), 70_000);
        twin.heal();
        node_levers.tick(60_000, &mut told);
        assert_eq!(percent(&twin, &levers), 100_000);
    }

    #[test]
    fn what_an_earlier_daemon_has_left_is_its_jobs() {
        let (levers, roots, mut told) = (levers(), Roots::default(), told());
        let twin = SimulatedMachine::with_group("mapa/mapa-x-1").unwrap();
        let (mut keeper, _) =
            LeverManager::open(twin.hands(), MemoryJournal::default(), 0).unwrap();
        let pull = LeverChange::BlockIo {
            group: CgroupPath::new("mapa/mapa-x-1").unwrap(),
            device: levers.block_devices[0],
            limits: mapa_live::levers::BlockIoLimits::mb_s(200),
        };
        keeper.apply(&pull, Lifetime::Until { ms: 50_000 }, 0);
        let job_of = |group: &CgroupPath| group.path().ends_with("mapa-x-1").then_some(A);
        let mut node_levers = NodeLevers::new(keeper, &levers, &roots, false, job_of);
        node_levers.left(B, &mut told);
        assert_eq!(node_levers.keeper.active().count(), 1);
        node_levers.left(A, &mut told);
        assert_eq!(node_levers.keeper.active().count(), 0);
    }

    #[test]
    fn a_job_is_kept_off_the_cores_that_serve_interrupts_until_it_may_have_them() {
        let tree = tempfile::tempdir().unwrap();
        let (levers, roots, mut told) = (levers(), Roots::below(tree.path()), told());
        let cpu = roots.sys.join("devices/system/cpu");
        std::fs::create_dir_all(&cpu).unwrap();
        std::fs::create_dir_all(&roots.proc).unwrap();
        std::fs::write(cpu.join("online"), "0-3\n").unwrap();
        let twin = SimulatedMachine::new();
        let process = twin.add_process(17, &[17, 18]);
        let before = twin.state();
        let guard = |avoid| JobLimit::AvoidInterruptCores(avoid);
        let mut node_levers = hands(&twin, &levers, &roots);
        // Nothing is known of interrupts yet: the job stays where it is.
        let done = node_levers.throttle(A, guard(true), 0, target(vec![process]), &mut told);
        assert!(done.unwrap_err().contains("not counted yet"));
        for count in [0, 1_000_000_000] {
            let text = format!("  CPU0 CPU1 CPU2 CPU3\n 33: {count} 0 0 0 PCI-MSI nvme\n");
            std::fs::write(roots.proc.join("interrupts"), text).unwrap();
            node_levers.quiet.look(&roots);
        }
        let done = node_levers.throttle(A, guard(true), 0, target(vec![process]), &mut told);
        assert_eq!(done, Ok(()));
        let cpus: Vec<String> = twin
            .hands()
            .affinity
            .threads(process)
            .unwrap()
            .into_iter()
            .map(|(_, cpus)| cpus.to_string())
            .collect();
        assert_eq!(cpus, ["1-3", "1-3"], "every thread, and not on CPU 0");
        let done = node_levers.throttle(A, guard(false), 1, target(vec![process]), &mut told);
        assert_eq!((done, twin.state() == before), (Ok(()), true));
    }
}
