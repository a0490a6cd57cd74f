//! The driver of this machine: events from the ledger, the drivers and the counters; actions to the
//! ledger and the levers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mapa_core::{DeviceId, Refusal};
use mapa_front::MachineSpec;
#[cfg(feature = "slo")]
use mapa_live::telemetry::Sample;
use mapa_live::{Live, Processes};
use mapa_sched::{Action, Driver, DriverView, Event, JobId, Latency, Tenant, Time, Timeline};

use super::config::DaemonConfig;
use super::events::{EventBuilder, ReportedState};
use super::inbox::{Inbox, InboxMessage, Report, TURN, Told};
use super::journal::NodeJournal;
use super::levers::NodeLevers;
use super::modes::MigModes;
use super::recorder::Recorder;
use super::reporter::Reporter;
use super::signals::HostSampler;
use crate::error::Error;
use crate::foreign::Stray;
use crate::leader::{self, Leader};
use crate::ledger::{
    AuditEntry, AuditKind, Durability, Lease, Ledger, LedgerTx, UnixNanos, now, since_boot,
};
use crate::mailbox::Mailbox;
use crate::node::Node;
use crate::wakeup;

/// The daemon has another to give way to, or the ledger fails.
#[derive(Debug)]
pub(crate) enum DriverStop {
    /// An event was impossible. The turn is over, and the run goes on.
    InvalidEvent(mapa_sched::Error),
    /// The links of the machine have changed: another run begins, on its present graph.
    LinksChanged,
    /// The run is over.
    Over(Error),
}

impl From<mapa_sched::Error> for DriverStop {
    fn from(error: mapa_sched::Error) -> Self {
        Self::InvalidEvent(error)
    }
}

impl From<Error> for DriverStop {
    fn from(error: Error) -> Self {
        Self::Over(error)
    }
}

/// The control of latencies, as the driver calls it. It is given the driver in turn, so the two know each other by this
/// trait alone.
#[cfg(feature = "slo")]
pub(crate) trait LatencyController {
    /// The driver is ready: what is missing on this machine is logged, and each controller's settings are recorded.
    fn introduce(&self, driver: &mut NodeDriver<'_>);

    /// A tenant reports how long a request took. Returns whether that is longer than its SLO.
    fn hear(&mut self, tenant: &str, took_ns: u64) -> bool;

    /// The counters were sampled, at this moment.
    fn sampled(&mut self, sample: Sample, read: Instant);

    /// When the next tick is due.
    fn due(&self) -> Instant;

    /// One tick of all tenants.
    fn tick(&mut self, driver: &mut NodeDriver<'_>);

    /// The daemon ends. Its levers have reverted what is not kept.
    fn end(self: Box<Self>, driver: &mut NodeDriver<'_>);
}

/// What the service tells those who ask it.
#[derive(Debug)]
pub(crate) enum DriverNews {
    /// A ticket has a lease, or a refusal.
    Answered(i64),
    /// What the owner of a lease should know.
    Notice {
        /// The lease.
        lease: i64,
        /// For people.
        text: String,
    },
}

/// What a driver is made of: what exists before it, and what outlives it.
pub(crate) struct DriverParts<'a> {
    /// The ledger.
    pub ledger: Ledger,
    /// The machine.
    pub node: Node,
    /// How the machine is named.
    pub machine: MachineSpec,
    /// The processes of this boot.
    pub processes: &'a Processes,
    /// How the drivers are asked.
    pub live: &'a Live,
    /// The configuration.
    pub config: &'a DaemonConfig,
    /// This daemon, as the ledger notes it.
    pub leader: Leader,
    /// The moment 0.
    pub began: UnixNanos,
    /// The levers.
    pub levers: NodeLevers<'a, NodeJournal>,
    /// What comes from outside.
    pub inbox: Inbox,
    /// What the service tells of this run.
    pub reporter: Reporter,
    /// What it tells those who ask it, if anybody listens.
    pub news: Option<Arc<Mailbox<DriverNews>>>,
}

/// A report of a tenant is not from the user of its lease.
struct NotOwner;

/// When the daemon ends: at a signal, and at its own time if it has one.
#[derive(Debug, Default)]
pub(crate) struct RunEnd {
    /// The signal that has come.
    pub signal: Option<i32>,
    /// When the daemon ends by itself.
    pub at: Option<Instant>,
}

impl RunEnd {
    /// Whether the daemon ends now.
    fn is_due(&self) -> bool {
        self.signal.is_some() || self.at.is_some_and(|at| at <= Instant::now())
    }
}

/// One turn: from its events to its last action.
pub(super) struct CurrentInstant {
    /// When it began.
    began: Instant,
    /// Leases, and their jobs, whose adoption the scheduler may refuse.
    pub(super) adopting: Vec<(i64, JobId)>,
    /// Jobs whose order to leave has failed: they are where they were.
    pub(super) still: BTreeSet<JobId>,
}

/// The driver.
pub(crate) struct NodeDriver<'a> {
    /// The ledger.
    pub ledger: Ledger,
    /// The machine.
    pub node: Node,
    /// How the machine is named.
    pub(super) machine: MachineSpec,
    /// The processes of this boot.
    pub(super) processes: &'a Processes,
    /// How the drivers are asked.
    pub(super) live: &'a Live,
    /// The configuration.
    pub(super) config: &'a DaemonConfig,
    /// This daemon, as the ledger notes it.
    pub(super) leader: Leader,
    /// The moment 0.
    pub(super) began: UnixNanos,
    /// The levers.
    pub(super) levers: NodeLevers<'a, NodeJournal>,
    /// What comes from outside.
    pub(super) inbox: Inbox,
    /// What the service tells of this run.
    pub reporter: Reporter,
    /// What it tells those who ask it, if anybody listens.
    news: Option<Arc<Mailbox<DriverNews>>>,
    /// The strays that were told.
    pub(super) told_strays: BTreeSet<Stray>,
    /// The record, if one is written.
    pub recorder: Option<Recorder>,
    /// Counters of the host, for a scheduler that needs them.
    pub sampler: Option<HostSampler>,
    /// The control of latencies.
    #[cfg(feature = "slo")]
    pub slo: Option<Box<dyn LatencyController + 'a>>,
    /// When the daemon ends.
    pub end: RunEnd,
    /// What the scheduler knows.
    pub(super) known: ReportedState,
    /// The events to come.
    pub(super) timeline: Timeline,
    /// When the ledger is polled next.
    pub(super) poll_at: Instant,
    /// When it is looked next whether those who wait are still there.
    pub(super) recover_at: Instant,
    /// The leases of the last poll and what they keep from others, by job.
    pub(super) leases: BTreeMap<JobId, (Lease, Vec<DeviceId>)>,
    /// What belongs to this instant alone.
    pub(super) instant: CurrentInstant,
    /// Which devices were in MIG mode at the last poll.
    pub(super) mig: MigModes,
    /// Whether the machine must be read anew before anything is decided.
    pub(super) is_stale: bool,
    /// Whether the graph is another one than the scheduler has.
    pub(super) is_regraphed: bool,
}

impl<'a> NodeDriver<'a> {
    /// A driver whose scheduler knows nothing yet, and which polls the ledger at once. It records nothing, samples
    /// no counters, controls no latencies and ends at a signal alone, until its fields say otherwise.
    pub(crate) fn new(parts: DriverParts<'a>) -> Self {
        Self {
            ledger: parts.ledger,
            node: parts.node,
            machine: parts.machine,
            processes: parts.processes,
            live: parts.live,
            config: parts.config,
            leader: parts.leader,
            began: parts.began,
            levers: parts.levers,
            inbox: parts.inbox,
            reporter: parts.reporter,
            news: parts.news,
            told_strays: BTreeSet::new(),
            recorder: None,
            sampler: None,
            #[cfg(feature = "slo")]
            slo: None,
            end: RunEnd::default(),
            known: ReportedState::default(),
            timeline: Timeline::default(),
            poll_at: Instant::now(),
            recover_at: Instant::now(),
            leases: BTreeMap::new(),
            instant: CurrentInstant {
                began: Instant::now(),
                adopting: Vec::new(),
                still: BTreeSet::new(),
            },
            mig: MigModes::default(),
            is_stale: false,
            is_regraphed: false,
        }
    }
}

impl NodeDriver<'_> {
    pub(super) fn now(&self) -> Time {
        Time(u64::try_from(now().saturating_sub(self.began)).unwrap_or_default())
    }

    pub(super) fn reading(&self) -> EventBuilder<'_> {
        EventBuilder {
            node: &self.node,
            config: self.config,
            began: self.began,
        }
    }

    /// Begins another run, for a scheduler that knows nothing yet: the next poll reports everything. Limits that the
    /// last scheduler has set are lifted, as only it knew why.
    pub(crate) fn begin_anew(&mut self) {
        let known = std::mem::take(&mut self.known);
        for lease in known.leases.values() {
            self.levers.left(lease.job, &mut self.reporter);
        }
        self.known = known.of_none();
        self.timeline = Timeline::default();
        self.leases.clear();
        self.instant.adopting.clear();
        self.instant.still.clear();
        self.is_regraphed = false;
        self.poll_at = Instant::now();
        self.reporter.begin_anew();
    }

    /// Decides nothing for so long. Signals and wake-ups are heard, throttles and the watchdog go on.
    pub(crate) fn rest(&mut self, pause: Duration) {
        let until = Instant::now() + pause;
        while !self.end.is_due() {
            self.reporter.ping_watchdog();
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            if let Some(message) = self.inbox.next(left) {
                self.handle_message(message);
            }
        }
    }

    /// Makes one change of the ledger, unless another daemon has taken the queue.
    pub(super) fn change<T>(
        &mut self,
        sync: Durability,
        change: impl FnOnce(&LedgerTx<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let leader = &self.leader;
        self.ledger.change(sync, |books| {
            leader::heartbeat(books, leader)?;
            change(books)
        })
    }

    /// Tells whoever waits at this ticket that it has an answer, at the socket or by its own.
    pub(super) fn tell_answered(&self, ticket: i64) {
        self.tell(DriverNews::Answered(ticket));
        wakeup::wake(self.ledger.id(), ticket);
    }

    pub(super) fn tell(&self, news: DriverNews) {
        if let Some(mailbox) = &self.news {
            mailbox.post(news);
        }
    }

    pub(super) fn handle_message(&mut self, message: InboxMessage) {
        match message {
            InboxMessage::Wakeup => self.poll_at = Instant::now(),
            InboxMessage::Stop(signal) => self.end.signal = Some(signal),
            InboxMessage::Report(report) => match self.job_of(&report.tenant, report.uid) {
                Ok(job) => self.handle_report(report, job),
                Err(NotOwner) => self.reporter.dropped_report(),
            },
        }
    }

    fn handle_report(&mut self, report: Report, job: Option<JobId>) {
        match report.told {
            Told::Latency(took_ns) => {
                let took = Duration::from_nanos(took_ns);
                self.reporter.latency(&report.tenant, took);
                #[cfg(feature = "slo")]
                if let Some(slo) = &mut self.slo
                    && slo.hear(&report.tenant, took_ns)
                {
                    self.reporter.late(&report.tenant);
                }
                if let Some(job) = job {
                    let tenant = Tenant::Job(job);
                    let at = self.now();
                    self.timeline
                        .put(at, Event::Latency(Latency { tenant, took }));
                }
            }
            Told::Progress(share) => {
                if let Some(job) = job
                    && (0.0..=1.0).contains(&share)
                {
                    let at = self.now();
                    self.timeline.put(at, Event::Progress { job, share });
                }
            }
        }
    }

    /// The job of a tenant that tells something: by its lease, or the first of its name. A user may report of its own
    /// leases; root and the user of this daemon of all. `None`: no lease has that name, so it is nobody's.
    fn job_of(&self, tenant: &str, uid: u32) -> Result<Option<JobId>, NotOwner> {
        let number = tenant.strip_prefix("lease-");
        let number: Option<i64> = number.and_then(|number| number.parse().ok());
        let leases = self.known.leases.iter();
        let mut of_name = leases.filter(|(id, lease)| match number {
            Some(number) => **id == number,
            None => lease.tenant == tenant,
        });
        let is_trusted = uid == 0 || uid == rustix::process::geteuid().as_raw();
        let is_owner = |job: JobId| {
            let lease = self.leases.get(&job);
            is_trusted || lease.is_some_and(|(lease, _)| lease.asker.uid == uid)
        };
        let Some((_, first)) = of_name.next() else {
            return Ok(None);
        };
        let mut jobs = std::iter::once(first.job).chain(of_name.map(|(_, lease)| lease.job));
        jobs.find(|job| is_owner(*job)).map(Some).ok_or(NotOwner)
    }

    /// Reverts everything that levers hold, and leaves the queue to the waiting jobs. Also after another
    /// daemon has taken the queue: no other process has this journal open, so none reverts it.
    pub(crate) fn close(&mut self, why: &str) -> Result<(), Error> {
        let left = self.levers.close(&mut self.reporter);
        #[cfg(feature = "slo")]
        if let Some(slo) = self.slo.take() {
            slo.end(self);
        }
        let Leader { owner, process, .. } = &self.leader;
        self.ledger.change(Durability::Boot, |books| {
            for text in &left {
                books.note(AuditEntry::new(AuditKind::Lever, owner, text))?;
            }
            books.resign(owner, process, why)
        })?;
        crate::acquire::wake_head(&mut self.ledger)
    }

    /// One tick of the control of latencies, if it is due. Also here, no throttle outlives its time.
    #[cfg(feature = "slo")]
    fn control_latency(&mut self) -> Result<(), Error> {
        if (self.slo.as_ref()).is_none_or(|slo| slo.due() > Instant::now()) {
            return Ok(());
        }
        self.tick_levers()?;
        self.sample();
        if let Some(mut slo) = self.slo.take() {
            slo.tick(self);
            self.slo = Some(slo);
        }
        Ok(())
    }

    /// Has the counters of devices sampled from now on.
    #[cfg(feature = "slo")]
    pub(super) fn watch_devices(&mut self) {
        if let Some(sampler) = &mut self.sampler
            && let Err(error) = sampler.watch_devices()
        {
            self.reporter.error("counters", &error.to_string());
        }
    }

    /// Writes the record no further: its disk is full, perhaps. The daemon goes on.
    pub(super) fn record(&mut self, write: impl FnOnce(&mut Recorder) -> Result<(), Error>) {
        if let Some(recorder) = &mut self.recorder
            && let Err(error) = write(recorder)
        {
            let what = format!("{error}: nothing more is recorded");
            self.reporter.error("record", &what);
            self.recorder = None;
        }
    }
}

/// Milliseconds since the boot, as the levers count: whoever sets the clock neither prolongs a throttle nor ends it.
pub(crate) fn now_ms() -> u64 {
    u64::try_from(since_boot() / 1_000_000).unwrap_or_default()
}

impl Driver for NodeDriver<'_> {
    type Error = DriverStop;

    fn next(
        &mut self,
        _: DriverView<'_>,
        events: &mut Vec<(Time, Event)>,
    ) -> Result<Option<Time>, DriverStop> {
        loop {
            // Here, as a flood of messages leaves no pause.
            self.reporter.ping_watchdog();
            // A flood of messages must not delay the next poll.
            for _ in 0..TURN {
                let Some(message) = self.inbox.waiting() else {
                    break;
                };
                self.handle_message(message);
            }
            if self.end.is_due() {
                return Ok(None);
            }
            if Instant::now() >= self.poll_at {
                self.poll()?;
                if !self.is_regraphed {
                    self.say_why()?;
                }
            }
            if self.is_regraphed {
                return Err(DriverStop::LinksChanged);
            }
            #[cfg(feature = "slo")]
            self.control_latency()?;
            let at = self.now();
            while let Some(event) = self.timeline.take(at) {
                events.push(event);
            }
            if !events.is_empty() {
                self.instant.began = Instant::now();
                self.record(|to| events.iter().try_for_each(|(_, event)| to.event(event)));
                for (_, event) in events.iter() {
                    self.adopts(event);
                }
                return Ok(Some(at));
            }
            let mut pause = self.poll_at.saturating_duration_since(Instant::now());
            if let Some(next) = self.timeline.next() {
                pause = pause.min(next.since(at));
            }
            #[cfg(feature = "slo")]
            if let Some(slo) = &self.slo {
                pause = pause.min(slo.due().saturating_duration_since(Instant::now()));
            }
            if let Some(end) = self.end.at {
                pause = pause.min(end.saturating_duration_since(Instant::now()));
            }
            if let Some(message) = self.inbox.next(pause) {
                self.handle_message(message);
            }
        }
    }

    fn carry_out(&mut self, seen: DriverView<'_>, order: &Action) -> Result<Time, DriverStop> {
        self.record(|to| to.action(order));
        self.reporter.action(order);
        match order {
            Action::Place {
                tenant: Tenant::Job(job),
                at,
            } => self.place(order, *job, at)?,
            Action::Reject { job, why } => self.reject(*job, why)?,
            Action::Throttle { job, guard } => self.throttle(order, *job, *guard),
            Action::Repartition { whole, layout, .. } => self.repartition(order, *whole, layout)?,
            Action::Wake { at, token } => {
                // One that is past has an instant of its own.
                let at = Time(at.0.max(seen.now.0 + 1));
                self.timeline.put(at, Event::Woken(*token));
            }
            Action::Move { tenant, .. } => {
                self.fail(
                    order,
                    "its owner has started it, and only its owner can start it elsewhere",
                );
                self.instant.still.insert(tenant.job());
            }
            Action::Suspend { tenant } => {
                self.fail(
                    order,
                    "a process that is stopped keeps the memory of its devices, so they are not free",
                );
                self.instant.still.insert(tenant.job());
            }
            Action::Launch { job } => {
                let why = Refusal::Infeasible(mapa_core::Reason::Rule(
                    "a job of the queue holds its devices as a whole; tasks that share instances are for `mapa-case manager`".into(),
                ));
                self.fail(order, &why.to_string());
                let at = self.now();
                self.timeline.put(at, Event::Cancelled(*job));
                self.reject(*job, &why)?;
            }
            _ => self.fail(order, "no such order is known to this release"),
        }
        Ok(seen.now)
    }

    fn settle(&mut self, seen: DriverView<'_>) -> Result<(), DriverStop> {
        self.record(|to| to.settle(seen.now));
        self.settle_adopted(seen);
        self.still_there();
        self.reporter
            .settled(&self.node, seen, self.instant.began.elapsed());
        Ok(())
    }
}
