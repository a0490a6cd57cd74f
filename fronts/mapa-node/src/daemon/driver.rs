//! The driver of this machine: facts from the ledger, the drivers and the counters; orders to the
//! ledger and the levers.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use mapa_core::{DeviceId, Refusal};
use mapa_front::MachineSpec;
#[cfg(feature = "slo")]
use mapa_live::telemetry::Sample;
use mapa_live::{Identity, Live, Processes};
use mapa_sched::{Action, Driver, DriverView, Event, JobId, Latency, Tenant, Time, Timeline};

use super::config::Config;
use super::events::{EventBuilder, ReportedState};
use super::inbox::{Inbox, Message, TURN};
use super::journal::NodeJournal;
use super::levers::NodeLevers;
use super::modes::MigModes;
use super::recorder::Recorder;
use super::reporter::Reporter;
use super::signals::Host;
use crate::error::Error;
use crate::leader;
use crate::ledger::{Kind, Lease, Ledger, LedgerTx, Note, Sync, UnixNanos, now};
use crate::node::Node;

/// The daemon has another to give way to, or the ledger fails.
#[derive(Debug)]
pub(crate) enum Stopped {
    /// A fact that a scheduler was told is none: the instant is over, and the run goes on.
    Fact(mapa_sched::Error),
    /// The run is over.
    Over(Error),
}

impl From<mapa_sched::Error> for Stopped {
    fn from(error: mapa_sched::Error) -> Self {
        Self::Fact(error)
    }
}

impl From<Error> for Stopped {
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

/// The driver.
pub(crate) struct NodeDriver<'a> {
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
    pub config: &'a Config,
    /// This process, as the ledger has it.
    pub own: Identity,
    /// Who is noted as the one that decides.
    pub owner: String,
    /// The words of the scheduler.
    pub scheduler: String,
    /// The moment 0.
    pub began: UnixNanos,
    /// The levers.
    pub hands: NodeLevers<'a, NodeJournal>,
    /// What comes from outside.
    pub inbox: Inbox,
    /// The record.
    pub recorder: Option<Recorder>,
    /// What the service tells of this run.
    pub told: Reporter,
    /// Counters of the host, for a scheduler that needs them.
    pub sampler: Option<Host>,
    /// What the scheduler knows.
    pub known: ReportedState,
    /// What will be told.
    pub timeline: Timeline,
    /// When the ledger is looked at next.
    pub look_at: Instant,
    /// Whether the daemon shall end: the signal.
    pub stop: Option<i32>,
    /// When the daemon ends by itself.
    pub until: Option<Instant>,
    /// The control of latencies.
    #[cfg(feature = "slo")]
    pub slo: Option<Box<dyn LatencyController + 'a>>,
    /// The leases of the last look and what they keep from others, by job.
    pub leases: BTreeMap<JobId, (Lease, Vec<DeviceId>)>,
    /// Facts of this instant that may be refused: adopted leases.
    pub adopting: Vec<(i64, JobId)>,
    /// Jobs whose order to leave has failed in this instant: they are where they were.
    pub still: BTreeSet<JobId>,
    /// Which devices were in MIG mode at the last look.
    pub mig: MigModes,
    /// Whether the machine must be read anew before anything is decided.
    pub is_stale: bool,
    /// When this instant began.
    pub instant_began: Instant,
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

    /// Makes one change of the ledger, unless another daemon has taken the queue.
    pub(super) fn change<T>(
        &mut self,
        sync: Sync,
        change: impl FnOnce(&LedgerTx<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let own = &self.own;
        self.ledger.change(sync, |books| {
            leader::stay(books, own)?;
            change(books)
        })
    }

    pub(super) fn hear(&mut self, message: Message) {
        match message {
            Message::Bell => self.look_at = Instant::now(),
            Message::Stop(signal) => self.stop = Some(signal),
            Message::Latency { tenant, took_ns } => {
                let took = Duration::from_nanos(took_ns);
                self.told.latency(&tenant, took);
                #[cfg(feature = "slo")]
                if let Some(slo) = &mut self.slo
                    && slo.hear(&tenant, took_ns)
                {
                    self.told.late(&tenant);
                }
                if let Some(job) = self.job_of(&tenant) {
                    let tenant = Tenant::Job(job);
                    let at = self.now();
                    self.timeline
                        .put(at, Event::Latency(Latency { tenant, took }));
                }
            }
            Message::Progress { tenant, share } => {
                if let Some(job) = self.job_of(&tenant)
                    && (0.0..=1.0).contains(&share)
                {
                    let at = self.now();
                    self.timeline.put(at, Event::Progress { job, share });
                }
            }
        }
    }

    /// The job of a tenant that tells something: by its lease, or the first of its name.
    pub(super) fn job_of(&self, tenant: &str) -> Option<JobId> {
        if let Some(lease) = tenant.strip_prefix("lease-") {
            return Some(self.known.leases.get(&lease.parse().ok()?)?.job);
        }
        let mut leases = self.known.leases.values();
        leases
            .find(|lease| lease.tenant == tenant)
            .map(|lease| lease.job)
    }

    /// Takes everything back that levers hold, and leaves the queue to whoever waits. Also after another
    /// daemon has taken the queue: nobody else has this journal open, so nobody else takes it back.
    pub(crate) fn close(&mut self, why: &str) -> Result<(), Error> {
        let left = self.hands.close(&mut self.told);
        #[cfg(feature = "slo")]
        if let Some(slo) = self.slo.take() {
            slo.end(self);
        }
        let (own, owner) = (&self.own, &self.owner);
        self.ledger.change(Sync::Boot, |books| {
            for text in &left {
                books.note(Note::new(Kind::Lever, owner, text))?;
            }
            books.resign(owner, own, why)
        })?;
        crate::acquire::ring_first(&mut self.ledger)
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
            self.told.trouble("counters", &error.to_string());
        }
    }

    /// Writes the record no further: its disk is full, perhaps. The daemon goes on.
    pub(super) fn record(&mut self, write: impl FnOnce(&mut Recorder) -> Result<(), Error>) {
        if let Some(recorder) = &mut self.recorder
            && let Err(error) = write(recorder)
        {
            let what = format!("{error}: nothing more is recorded");
            self.told.trouble("record", &what);
            self.recorder = None;
        }
    }
}

/// Milliseconds since 1970, as the levers count.
pub(crate) fn now_ms() -> u64 {
    u64::try_from(now() / 1_000_000).unwrap_or_default()
}

impl Driver for NodeDriver<'_> {
    type Error = Stopped;

    fn next(
        &mut self,
        _: DriverView<'_>,
        facts: &mut Vec<(Time, Event)>,
    ) -> Result<Option<Time>, Stopped> {
        loop {
            // A flood of messages does not keep the daemon from its looks.
            for _ in 0..TURN {
                let Some(message) = self.inbox.waiting() else {
                    break;
                };
                self.hear(message);
            }
            let is_over = self.until.is_some_and(|until| until <= Instant::now());
            if self.stop.is_some() || is_over {
                return Ok(None);
            }
            if Instant::now() >= self.look_at {
                self.look()?;
                self.say_why()?;
            }
            #[cfg(feature = "slo")]
            self.control_latency()?;
            let at = self.now();
            while let Some(fact) = self.timeline.take(at) {
                facts.push(fact);
            }
            if !facts.is_empty() {
                self.instant_began = Instant::now();
                self.record(|to| facts.iter().try_for_each(|(_, event)| to.told(event)));
                for (_, fact) in facts.iter() {
                    self.adopts(fact);
                }
                return Ok(Some(at));
            }
            let mut pause = self.look_at.saturating_duration_since(Instant::now());
            if let Some(next) = self.timeline.next() {
                pause = pause.min(next.since(at));
            }
            #[cfg(feature = "slo")]
            if let Some(slo) = &self.slo {
                pause = pause.min(slo.due().saturating_duration_since(Instant::now()));
            }
            if let Some(until) = self.until {
                pause = pause.min(until.saturating_duration_since(Instant::now()));
            }
            self.told.beat();
            if let Some(message) = self.inbox.next(pause) {
                self.hear(message);
            }
        }
    }

    fn carry_out(&mut self, seen: DriverView<'_>, order: &Action) -> Result<Time, Stopped> {
        self.record(|to| to.ordered(order));
        self.told.ordered(order);
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
                self.still.insert(tenant.job());
            }
            Action::Suspend { tenant } => {
                self.fail(
                    order,
                    "a process that is stopped keeps the memory of its devices, so they are not free",
                );
                self.still.insert(tenant.job());
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

    fn settle(&mut self, seen: DriverView<'_>) -> Result<(), Stopped> {
        self.record(|to| to.settle(seen.now));
        self.settle_adopted(seen);
        self.still_there();
        self.told
            .settled(&self.node, seen, self.instant_began.elapsed());
        Ok(())
    }
}
