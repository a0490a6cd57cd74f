//! The daemon's own driver in a test, without a process of its own: levers are a twin's, and a scheduler that the
//! test writes orders what no other does.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mapa_core::{Decision, Demand, DeviceId, Pattern, Request};
use mapa_front::MachineSpec;
use mapa_front::answer::node::Status;
use mapa_live::levers::{LeverManager, LeverSet, SimulatedMachine};
use mapa_live::{Live, Processes};
use mapa_sched::{
    Action, Driver, Event, Fleet, JobId, RunTime, Scheduler, SchedulerRun, Tenant, Time, Turn,
};

use super::config::DaemonConfig;
use super::driver::{DriverParts, NodeDriver};
use super::events::{MACHINE, job_of_lease};
use super::inbox::{Inbox, InboxMessage, InboxSender, Report, TURN, Told, inbox};
use super::journal::{NodeJournal, folder_of};
use super::levers::NodeLevers;
use super::metrics::Metrics;
use super::reporter::{Reporter, SharedStatus};
use crate::leader::{self, Leader};
use crate::ledger::{DeviceKey, Durability, ENDED_BY_OWNER, Ledger, OutsideOwner, Requester, now};
use crate::local_files::LocalFiles;
use crate::node::Node;

/// What a driver rests on.
pub(super) struct Base {
    folder: tempfile::TempDir,
    pub(super) processes: Processes,
    pub(super) live: Live,
    pub(super) config: DaemonConfig,
}

impl Base {
    pub(super) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            processes: Processes::new().unwrap(),
            live: Live::default(),
            config: DaemonConfig::default(),
        }
    }

    pub(super) fn ledger(&self) -> Ledger {
        Ledger::open(self.folder.path().join("ledger.db")).unwrap()
    }

    /// Has a tenant hold these devices, as long as this process lives.
    pub(super) fn grant(&self, tenant: &str, devices: &[DeviceId], node: &Node) -> i64 {
        let asker = Requester {
            tenant: tenant.to_owned(),
            uid: 0,
            process: self.processes.own().unwrap(),
            command: "a test".to_owned(),
            policy: "{}".to_owned(),
            spec: "{}".to_owned(),
        };
        let keys: Vec<DeviceKey> = node.keys(devices);
        let change = self.ledger().change(Durability::Boot, |books| {
            books.grant(&asker, &keys, None, None, "a test")
        });
        change.unwrap()
    }

    /// The driver, which is the leader of the ledger, and the way into it.
    pub(super) fn driver(&self) -> (NodeDriver<'_>, InboxSender) {
        self.driver_with(SimulatedMachine::new().levers())
    }

    /// The same with these levers.
    pub(super) fn driver_with(&self, levers: LeverSet) -> (NodeDriver<'_>, InboxSender) {
        let machine = MachineSpec::named("dgx-a100");
        let node = Node::new(machine.load(&LocalFiles, &mut |_| {}).unwrap(), false);
        self.driver_of(machine, node, levers)
    }

    /// The same of another machine, with other levers.
    fn driver_of(
        &self,
        machine: MachineSpec,
        node: Node,
        levers: LeverSet,
    ) -> (NodeDriver<'_>, InboxSender) {
        let leader = Leader {
            process: self.processes.own().unwrap(),
            owner: "test".to_owned(),
            scheduler: "a test".to_owned(),
        };
        let mut ledger = self.ledger();
        ledger
            .change(Durability::Disk, |books| {
                node.bind(books, &leader.owner)?;
                leader::acquire_leadership(books, &self.processes, &leader)
            })
            .unwrap();
        let path = ledger.path().to_owned();
        let journal = NodeJournal::open(&folder_of(&path), &path, &leader).unwrap();
        let (manager, _) = LeverManager::open(levers, journal, 0).unwrap();
        let (levers, roots) = (&self.config.levers, &self.live.roots);
        let shared = Arc::new(SharedStatus {
            metrics: Metrics::new(),
            status: Mutex::new(Status::default()),
        });
        let (outside, inbox): (InboxSender, Inbox) = inbox();
        let driver = NodeDriver::new(DriverParts {
            ledger,
            node,
            machine,
            processes: &self.processes,
            live: &self.live,
            config: &self.config,
            leader,
            began: now(),
            levers: NodeLevers::new(manager, levers, roots, false, |_| None),
            inbox,
            reporter: Reporter::new(shared, None),
            news: None,
        });
        (driver, outside)
    }
}

/// What one turn of a scheduler does.
type Act<'a> = Box<dyn FnMut(&mut Turn<'_>) + 'a>;

/// A scheduler that does what a test says, turn by turn, and records its events.
#[derive(Default)]
pub(super) struct Scripted<'a> {
    acts: VecDeque<Act<'a>>,
    events: Vec<Event>,
}

impl Scheduler for Scripted<'_> {
    fn name(&self) -> &str {
        "scripted"
    }

    fn on_event(&mut self, _: Time, event: Event) {
        self.events.push(event);
    }

    fn act(&mut self, _: Time, turn: &mut Turn<'_>) {
        if let Some(mut act) = self.acts.pop_front() {
            act(turn);
        }
    }
}

/// The decision to have one job on one device.
fn on(turn: &Turn<'_>, device: u32) -> Decision {
    let request = Request::new(Pattern::independent(1).each(Demand::any()));
    let view = turn.view(MACHINE).unwrap();
    Decision::checked("test", &request, &view, [DeviceId(device)]).unwrap()
}

/// Two jobs are ordered to change places, one is stopped, and a fourth is to start where the first was. Nobody can
/// do that, and all are where they were, for the ledger and for the scheduler.
#[test]
fn orders_to_leave_fail_and_the_fleet_is_as_the_ledger_says() {
    let base = Base::new();
    let (mut driver, _outside) = base.driver();
    let jobs: Vec<JobId> = [(0, "a"), (1, "b"), (2, "c")]
        .map(|(at, tenant)| job_of_lease(base.grant(tenant, &[DeviceId(at)], &driver.node)))
        .into();
    let [a, b, c] = [0, 1, 2].map(|at| Tenant::Job(jobs[at]));
    let mut scheduler = Scripted::default();
    scheduler
        .acts
        .push_back(Box::new(move |turn: &mut Turn<'_>| {
            for (tenant, device) in [(a, 3), (b, 0), (a, 1)] {
                let decision = on(turn, device);
                turn.relocate(tenant, decision).unwrap();
            }
            turn.suspend(c).unwrap();
        }));
    let mut drive = SchedulerRun::new(Fleet::new([driver.node.loaded().graph().clone()]));
    let at = |drive: &SchedulerRun, tenant| {
        let fleet = drive.seen().fleet;
        let lease = fleet.lease_of(tenant);
        lease.map(|(_, lease)| lease.placement.iter().copied().collect::<Vec<_>>())
    };
    assert!(drive.instant(&mut scheduler, &mut driver).unwrap());
    assert_eq!(at(&drive, a), Some(vec![DeviceId(1)]), "as it has ordered");
    while scheduler.events.len() < 3 + 4 + 6 {
        assert!(drive.instant(&mut scheduler, &mut driver).unwrap());
    }
    let failed = |event: &&Event| matches!(event, Event::ActionFailed { order, .. } if matches!(order, Action::Move { .. } | Action::Suspend { .. }));
    assert_eq!(scheduler.events.iter().filter(failed).count(), 4);
    for (tenant, device) in [(a, 0), (b, 1), (c, 2)] {
        assert_eq!(at(&drive, tenant), Some(vec![DeviceId(device)]));
    }
    let leases = driver.ledger.read(|books| books.leases()).unwrap();
    for lease in leases {
        let devices: Vec<DeviceId> = lease
            .devices
            .iter()
            .filter_map(|key| driver.node.device(key))
            .collect();
        let known = at(&drive, Tenant::Job(job_of_lease(lease.id)));
        assert_eq!(known, Some(devices));
    }
    driver.close("the test is over").unwrap();
}

/// A lease that no process holds is a job that runs, nobody knows how long, and that finishes when its owner says so.
#[test]
fn the_lease_of_an_owner_outside_is_a_running_job_without_a_known_end() {
    let base = Base::new();
    let (mut driver, _outside) = base.driver();
    let pod = OutsideOwner::new("kubernetes", "pod-1").unwrap();
    let keys = driver.node.keys(&[DeviceId(5), DeviceId(2)]);
    let grant = base.ledger().change(Durability::Disk, |books| {
        books.grant_outside(&pod, &keys, "a test")
    });
    let lease = grant.unwrap();
    let drive = SchedulerRun::new(Fleet::new([driver.node.loaded().graph().clone()]));
    let mut events = Vec::new();
    driver.next(drive.seen(), &mut events).unwrap();
    let adopted: Vec<_> = events
        .iter()
        .filter_map(|(_, event)| match event {
            Event::Adopted { job, at, .. } => Some((job.id, job.run_time.clone(), &at.placement)),
            _ => None,
        })
        .collect();
    let [(job, run_time, placement)] = &adopted[..] else {
        panic!("{events:?}");
    };
    assert_eq!((*job, run_time), (job_of_lease(lease), &RunTime::Unknown));
    let placement: Vec<DeviceId> = placement.iter().copied().collect();
    assert_eq!(placement, [DeviceId(2), DeviceId(5)]);
    base.ledger()
        .change(Durability::Disk, |books| {
            let leases = books.leases()?;
            books.release("a test", &leases[0], ENDED_BY_OWNER)
        })
        .unwrap();
    events.clear();
    driver.poll_at = Instant::now();
    driver.next(drive.seen(), &mut events).unwrap();
    let is_end =
        |event: &Event| matches!(event, Event::Finished(job) if *job == job_of_lease(lease));
    assert!(events.iter().any(|(_, event)| is_end(event)), "{events:?}");
    driver.close("the test is over").unwrap();
}

/// A report of a user that a request of this tenant took so long.
fn latency_of(tenant: &str, uid: u32, took_ns: u64) -> InboxMessage {
    InboxMessage::Report(Report {
        uid,
        tenant: tenant.to_owned(),
        told: Told::Latency(took_ns),
    })
}

#[test]
fn reports_of_a_lease_count_from_its_user_and_from_root_alone() {
    let base = Base::new();
    let (mut driver, outside) = base.driver();
    let lease = base.grant("api", &[DeviceId(0)], &driver.node);
    let drive = SchedulerRun::new(Fleet::new([driver.node.loaded().graph().clone()]));
    let mut events = Vec::new();
    driver.next(drive.seen(), &mut events).unwrap();
    events.clear();
    // The lease is root's. No lease has the last name.
    for (tenant, uid) in [
        ("api", 12345),
        (&format!("lease-{lease}"), 12345),
        ("api", 0),
        ("nobody", 12345),
    ] {
        outside.tell(latency_of(tenant, uid, 1_000_000));
    }
    driver.next(drive.seen(), &mut events).unwrap();
    let is_latency = |event: &&(Time, Event)| matches!(event.1, Event::Latency(_));
    assert_eq!(events.iter().filter(is_latency).count(), 1, "{events:?}");
    let metrics = driver.reporter.metrics().text();
    for line in [
        "mapa_dropped_reports_total{reason=\"not_owner\"} 2",
        "mapa_request_latency_seconds_count{tenant=\"api\"} 1",
        "mapa_request_latency_seconds_count{tenant=\"nobody\"} 1",
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
    driver.close("the test is over").unwrap();
}

/// A client that sends without end fills its own room and no more, and keeps the daemon neither from its polls nor from
/// its end.
#[test]
fn a_flood_of_latencies_is_bounded_and_holds_nothing_up() {
    let base = Base::new();
    let (mut driver, outside) = base.driver();
    base.grant("api", &[DeviceId(0)], &driver.node);
    let latency = || latency_of("api", 0, 1_000_000);
    let most = 1 << 16;
    let taken = (0..most + 10_000)
        .filter(|_| outside.tell(latency()))
        .count();
    assert_eq!(taken, most, "what comes too fast is lost");
    let drive = SchedulerRun::new(Fleet::new([driver.node.loaded().graph().clone()]));
    let mut events = Vec::new();
    // The first poll knows the tenant; latencies before it belong to no tenant.
    driver.next(drive.seen(), &mut events).unwrap();
    assert!(
        events
            .iter()
            .any(|(_, event)| matches!(event, Event::Adopted { .. }))
    );
    let end = std::thread::spawn({
        let outside = outside.clone();
        move || outside.tell(InboxMessage::Stop(15))
    });
    let mut rounds = 1;
    loop {
        events.clear();
        driver.poll_at = Instant::now();
        let before = driver.poll_at;
        let more = driver.next(drive.seen(), &mut events).unwrap();
        if more.is_none() {
            break;
        }
        assert!(driver.poll_at > before, "it has polled");
        assert!(events.len() <= TURN, "{} events at once", events.len());
        rounds += 1;
        // The flood goes on.
        for _ in 0..TURN / 2 {
            outside.tell(latency());
        }
        assert!(rounds < 200, "it does not hear that it shall end");
    }
    assert!(end.join().unwrap());
    assert_eq!(driver.end.signal, Some(15));
    driver.close("the test is over").unwrap();
}

/// As [`super::soak`], of the daemon's own driver: its ledger, its polls, its inbox and what it knows.
pub(super) fn soak(most: u64, mut each: impl FnMut(u64)) -> u64 {
    let mut base = Base::new();
    for at in 0..100 {
        let tenant = super::config::TenantConfig {
            latency_slo_ms: Some(super::toml_file::Millis(15.0)),
            ..Default::default()
        };
        base.config.tenants.insert(format!("t{at}"), tenant);
    }
    let (mut driver, outside) = base.driver();
    let mut drive = SchedulerRun::new(Fleet::new([driver.node.loaded().graph().clone()]));
    let names = mapa_front::Names::built_in();
    let policy = names
        .policy("preserve", &mapa_front::names::Choice::default())
        .unwrap();
    let execution = "effective-bandwidth".into();
    let scheduler = names.scheduler(&"slo-replay".into(), policy, &execution);
    let mut scheduler = scheduler.unwrap();
    let (mut leases, mut jobs) = (VecDeque::new(), 0_u64);
    while drive.record().events() < most {
        // Jobs come and go.
        let at = DeviceId((jobs % 8) as u32);
        if leases.len() == 8 {
            let gone: Option<i64> = leases.pop_front();
            let freed = base.ledger().change(Durability::Boot, |books| {
                let mut leases = books.leases()?.into_iter();
                let lease = leases.find(|lease| Some(lease.id) == gone).unwrap();
                books.release("test", &lease, "ended with status 0")
            });
            assert!(freed.unwrap());
        }
        leases.push_back(base.grant(&format!("t{}", jobs % 100), &[at], &driver.node));
        jobs += 1;
        for sent in 0..4000 {
            let tenant = format!("lease-{}", leases[sent % leases.len()]);
            let took_ns = 10_000_000 + sent as u64 % 9_000_000;
            outside.tell(latency_of(&tenant, 0, took_ns));
        }
        driver.poll_at = Instant::now();
        assert!(drive.instant(&mut *scheduler, &mut driver).unwrap());
        drop(drive.record_mut().take_left());
        drop(drive.record_mut().take_failed_orders());
        each(drive.record().events());
    }
    driver.close("the test is over").unwrap();
    jobs
}

/// Time that passes while nothing happens is no instant: no scheduler is asked, and nothing is scored.
#[test]
fn a_look_that_finds_nothing_new_is_no_instant() {
    let mut base = Base::new();
    base.config.queue.poll_ms = super::toml_file::BoundedInt(100);
    let (mut driver, outside) = base.driver();
    base.grant("a", &[DeviceId(0)], &driver.node);
    let drive = SchedulerRun::new(Fleet::new([driver.node.loaded().graph().clone()]));
    let mut events = Vec::new();
    driver.next(drive.seen(), &mut events).unwrap();
    assert_eq!(events.len(), 1, "{events:?}");
    events.clear();
    let end = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(350));
        outside.tell(InboxMessage::Stop(15))
    });
    let first = driver.poll_at;
    assert_eq!(driver.next(drive.seen(), &mut events).unwrap(), None);
    assert!(driver.poll_at > first, "it has polled");
    assert_eq!(events, []);
    assert!(end.join().unwrap());
    driver.close("the test is over").unwrap();
}

/// What the library says: the UUIDs of the first device's MIG devices.
fn mig_devices(live: &Live) -> BTreeSet<String> {
    let library = nvml_wrapper::Nvml::builder()
        .lib_path(live.nvml.as_os_str())
        .init()
        .unwrap();
    let device = library.device_by_index(0).unwrap();
    (0..7)
        .filter_map(|slot| device.mig_device_by_index(slot).ok())
        .map(|device| device.uuid().unwrap())
        .collect()
}

/// Instances that are made again when a layout has failed midway have other UUIDs: a job that gets one is told that
/// of the instance that there is.
#[test]
fn after_a_layout_that_failed_midway_jobs_get_the_uuids_of_the_instances_that_there_are() {
    let mut base = Base::new();
    let state = base.folder.path().join("state");
    let config = fake_nvml::Config::new("dgx-a100").with_state(state);
    let driver = base.folder.path().join("driver");
    fake_nvml::install(&fake_nvml::built_library().unwrap(), &driver, &config).unwrap();
    base.live.nvml = driver.join("libnvidia-ml.so.1");
    base.live.cache = None;
    let fake = fake_nvml::Fake::open(&config).unwrap();
    fake.set_mig(0, true).unwrap();
    for _ in 0..2 {
        fake.create_instance(0, "3g.20gb", None).unwrap();
    }
    let machine = MachineSpec {
        mig: Some("a100-40gb".to_owned()),
        ..MachineSpec::default()
    };
    let node = Node::load(&machine, &base.live, &mut |_| {}).unwrap();
    let levers = LeverSet::of(&base.live, base.config.levers.bounds);
    let (mut driver, _outside) = base.driver_of(machine, node, levers);
    // What stands in for NVML does not replace what that has said.
    let other = MachineSpec::named("dgx-a100").load(&LocalFiles, &mut |_| {});
    let other = Node::new(other.unwrap(), true);
    assert!(super::poll::whole(other, &driver.node).is_err());
    let before = mig_devices(&base.live);
    assert_eq!(before.len(), 2);

    let whole = DeviceId(0);
    let graph = driver.node.graph().clone();
    let layout = graph.model(whole).unwrap().maximal_layouts().next();
    let layout = layout.unwrap();
    let fails = fake_nvml::Fault::new(
        "nvmlDeviceCreateGpuInstanceWithPlacement",
        fake_nvml::Code::Unknown,
    );
    fake.inject(fails.times(1)).unwrap();
    let order = Action::Repartition {
        machine: MACHINE,
        whole,
        layout: layout.clone(),
    };
    driver.repartition(&order, whole, &layout).unwrap();
    let after = mig_devices(&base.live);
    assert_eq!(after.len(), 2, "it was reverted");
    assert!(before.is_disjoint(&after), "{before:?} {after:?}");

    let there = driver.node.loaded().idle.view();
    let mut instances = (0u32..).map(DeviceId).take(graph.devices().len());
    let instance = instances.find(|&id| {
        id != whole
            && driver
                .node
                .uuid(id)
                .is_some_and(|text| text.starts_with("MIG-"))
    });
    let instance = instance.unwrap();
    assert!(there.free().contains(instance));
    base.grant("a", &[instance], &driver.node);
    let lease = driver
        .ledger
        .read(|books| books.leases())
        .unwrap()
        .remove(0);
    assert!(
        after.contains(&lease.devices[0].part),
        "{:?} {after:?}",
        lease.devices
    );
    driver.close("the test is over").unwrap();
}
