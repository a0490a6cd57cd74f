//! A daemon over a long time, without the time. Once a driver that invents events passes them to a scheduler,
//! so that jobs come and go often; once the daemon's own driver does, with a ledger that it polls. Memory must stay
//! flat.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mapa_core::{MachineId, Pattern, PortId, Request};
use mapa_front::answer::node::Status;
use mapa_front::names::Choice;
use mapa_front::{MachineSpec, Names};
use mapa_sched::{
    Action, Driver, DriverView, Event, Fleet, Job, JobId, Latency, SchedulerRun, Signals, Tenant,
    Time, Timeline,
};

use super::metrics::Metrics;
use super::reporter::{Reporter, SharedStatus};
use crate::local_files::LocalFiles;
use crate::node::Node;

/// Jobs come and go, tenants tell latencies, the host its counters, and orders fail.
struct SyntheticDriver {
    timeline: Timeline,
    next_job: u64,
    events: u64,
    reporter: Reporter,
    node: Node,
}

impl Driver for SyntheticDriver {
    type Error = mapa_sched::Error;

    fn next(
        &mut self,
        seen: DriverView<'_>,
        events: &mut Vec<(Time, Event)>,
    ) -> Result<Option<Time>, Self::Error> {
        let now = seen.now + Duration::from_millis(250);
        while seen.record.present().len() + events.len() < 12 {
            let mut job = Job::new(
                JobId(self.next_job),
                Request::new(Pattern::ring(1 + self.next_job as usize % 2)),
            );
            job.arrived = now;
            job.slo = self
                .next_job
                .is_multiple_of(3)
                .then_some(Duration::from_millis(15));
            self.next_job += 1;
            events.push((now, Event::Arrived(job)));
        }
        for job in seen.record.present().map(|life| life.job).take(8) {
            let tenant = Tenant::Job(job);
            let took = Duration::from_millis(10 + job.0 % 9);
            self.reporter.latency(&format!("t{}", job.0 % 100), took);
            events.push((now, Event::Latency(Latency { tenant, took })));
        }
        events.push((
            now,
            Event::Signals(Signals {
                machine: MachineId(0),
                pcie_mb_s: BTreeMap::from([(PortId(0), 9000)]),
                ..Signals::default()
            }),
        ));
        while let Some(event) = self.timeline.take(now) {
            events.push(event);
        }
        self.events += events.len() as u64;
        Ok(Some(now))
    }

    fn carry_out(&mut self, seen: DriverView<'_>, order: &Action) -> Result<Time, Self::Error> {
        self.reporter.action(order);
        match order {
            Action::Place { tenant, .. } => {
                let end = seen.now + Duration::from_millis(900 + tenant.job().0 % 700);
                self.timeline.put(end, Event::Finished(tenant.job()));
            }
            Action::Wake { at, token } => drop(self.timeline.put(*at, Event::Woken(*token))),
            Action::Throttle { .. } => {
                self.reporter
                    .action_failed(order, "there is no lever in this test");
                let failed = Event::ActionFailed {
                    order: order.clone(),
                    why: "there is no lever in this test".to_owned(),
                };
                self.timeline
                    .put(seen.now + Duration::from_millis(1), failed);
            }
            _ => {}
        }
        Ok(seen.now)
    }

    fn settle(&mut self, seen: DriverView<'_>) -> Result<(), Self::Error> {
        self.reporter.settled(&self.node, seen, Duration::ZERO);
        Ok(())
    }
}

/// Resident memory, KiB.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.unwrap().parse().unwrap()
}

/// One of these tests measures memory at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// `MAPA_FACTS` sets how many events there are, 60,000 if it is not set.
fn most() -> u64 {
    std::env::var("MAPA_FACTS").map_or(60_000, |text| text.parse().unwrap())
}

/// The driver of the daemon, with a ledger, and latencies as they come from its socket.
#[test]
fn memory_is_flat_in_the_daemons_own_driver() {
    let _alone = ALONE
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let most = most();
    let mut warm = 0;
    let jobs = super::driver_tests::soak(most, |events| {
        if warm == 0 && events > most / 4 {
            warm = resident();
        }
    });
    let end = resident();
    eprintln!("{most} events, {jobs} jobs: {warm} KiB after a quarter, {end} KiB at the end");
    assert!(jobs > 10, "{jobs}: jobs come and go");
    // Other tests of this binary run beside a short run, so only a long one, alone, says more.
    assert!(
        most < 1_000_000 || end < warm + 4 * 1024,
        "{warm} KiB after a quarter, {end} KiB at the end"
    );
}

#[test]
fn memory_is_flat_over_events() {
    let _alone = ALONE
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let most = most();
    let loaded = MachineSpec::named("dgx-a100")
        .load(&LocalFiles, &mut |_| {})
        .unwrap();
    let names = Names::built_in();
    let policy = names.policy("preserve", &Choice::default()).unwrap();
    let execution = "effective-bandwidth".into();
    let mut scheduler = names
        .scheduler(&"slo-replay".into(), policy, &execution)
        .unwrap();
    let mut drive = SchedulerRun::new(Fleet::new([loaded.graph().clone()]));
    let shared = Arc::new(SharedStatus {
        metrics: Metrics::new(),
        status: Mutex::new(Status::default()),
    });
    let mut driver = SyntheticDriver {
        timeline: Timeline::default(),
        next_job: 0,
        events: 0,
        reporter: Reporter::new(shared, None),
        node: Node::new(loaded, false),
    };
    let (mut warm, mut entries) = (0, 0);
    let mut left = 0;
    while driver.events < most {
        // Refused events do not matter here.
        let _ = drive.instant(&mut *scheduler, &mut driver);
        left += drive.record_mut().take_left().len();
        drop(drive.record_mut().take_failed_orders());
        if warm == 0 && driver.events > most / 4 {
            warm = resident();
        }
        let record = drive.record();
        let kept = record.present().len() + record.left().len();
        entries = entries.max(kept + driver.reporter.entries());
    }
    let end = resident();
    assert!(left > 1000, "{left}: jobs come and go");
    // What waits to be told is of jobs that are there.
    let future = std::iter::from_fn(|| driver.timeline.take(Time(u64::MAX))).count();
    eprintln!(
        "{} events, {left} jobs: {warm} KiB after a quarter, {end} KiB at the end; at most {entries} entries, {future} events to come",
        driver.events
    );
    // Twelve jobs at a time, the last 32 troubles, and one for each place of these.
    assert!(entries < 64, "{entries} entries");
    assert!(future < 64, "{future} events to come");
    // Other tests of this binary run beside a short run, so only a long one, alone, says more.
    assert!(
        most < 1_000_000 || end < warm + 4 * 1024,
        "{warm} KiB after a quarter, {end} KiB at the end"
    );
}
