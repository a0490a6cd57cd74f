//! The driver of this machine: facts from the ledger, the drivers and the counters; orders to the
//! ledger and the levers.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use mapa_core::{DeviceId, Refusal};
use mapa_front::MachineSpec;
use mapa_live::levers::{Keeper, LeverFact, Lifetime};
use mapa_live::{Live, Look, ProcessId, Roots};
use mapa_sched::{
    Action, Driver, Event, Guard, JobId, Latency, Placed, Seen, Tenant, Time, Timeline,
};

use super::config::{Config, Lever};
use super::facts::{Found, Known, KnownLease, MACHINE, Nonsense, Reading, ticket_of};
use super::inbox::{Inbox, Message};
use super::journal::{Expected, LedgerJournal};
use super::pulls::{self, Held, Quiet, take_back};
use super::recorder::Recorder;
use super::signals::Sampler;
use super::told::Told;
use crate::bell;
use crate::error::Error;
use crate::ledger::{Kind, Lease, Ledger, Moment, Note, Sync, now};
use crate::node::{Node, Withheld};
use crate::others::{foreign, look};
use crate::process::{Identity, Processes};
use crate::queue::{grant, see, waiting};

/// How long a ticket whose order has failed is not told again: nanoseconds.
const RETRY: Moment = 1_000_000_000;

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
    pub began: Moment,
    /// The levers; none without any.
    pub keeper: Option<Keeper<LedgerJournal>>,
    /// The layout that a pull brings about, for the journal.
    pub expected: Expected,
    /// Whether nothing is done but told.
    pub is_dry: bool,
    /// What comes from outside.
    pub inbox: Inbox,
    /// The record.
    pub recorder: Option<Recorder>,
    /// What the service tells of this run.
    pub told: Told,
    /// Counters of the host, for a scheduler that needs them.
    pub sampler: Option<Box<dyn Sampler>>,
    /// What the scheduler knows.
    pub known: Known,
    /// What will be told.
    pub timeline: Timeline,
    /// The pulls of jobs.
    pub held: Held,
    /// The guards in force.
    pub guards: BTreeMap<(JobId, pulls::Kind), Guard>,
    /// How many interrupts CPUs serve.
    pub quiet: Quiet,
    /// When the ledger is looked at next.
    pub look_at: Instant,
    /// Whether the daemon shall end: the signal.
    pub stop: Option<i32>,
    /// The leases of the last look and what they keep from others, by job.
    pub leases: BTreeMap<JobId, (Lease, Vec<DeviceId>)>,
    /// Facts of this instant that may be refused: adopted leases.
    pub adopting: Vec<(i64, JobId)>,
    /// How often in a row each device could not be partitioned.
    pub failures: BTreeMap<DeviceId, u32>,
    /// When this instant began.
    pub instant_began: Instant,
}

impl NodeDriver<'_> {
    fn now(&self) -> Time {
        Time(u64::try_from(now().saturating_sub(self.began)).unwrap_or_default())
    }

    fn reading(&self) -> Reading<'_> {
        Reading {
            node: &self.node,
            config: self.config,
            began: self.began,
        }
    }

    /// Looks at the ledger, the drivers and the counters, and puts what is new on the timeline.
    fn look(&mut self) -> Result<(), Error> {
        let look = Duration::from_millis(self.config.queue.look_ms.0);
        self.look_at = Instant::now() + look;
        let drivers = match self.drivers() {
            Ok(drivers) => drivers,
            Err(error) => {
                // Who uses what is not known: nothing is decided until the drivers answer again.
                self.told.trouble("drivers", &error.to_string());
                let own = &self.own;
                self.ledger
                    .change(Sync::Boot, |books| books.beat(own, now()).map(drop))?;
                return Ok(());
            }
        };
        let (own, owner, processes) = (&self.own, &self.owner, self.processes);
        let (known, node) = (&self.known, &self.node);
        let found = self.ledger.change(Sync::Boot, |books| {
            if !books.beat(own, now())? {
                return Err(Error::at(
                    "the ledger",
                    "another daemon has taken this queue: expected to be its only one",
                ));
            }
            let seen = see(books, node, processes, owner, &drivers)?;
            Found::new(books, seen, known)
        })?;
        let mut nonsense = Vec::new();
        let mut known = std::mem::take(&mut self.known);
        let facts = self.reading().news(&mut known, &found, &mut nonsense);
        self.known = known;
        let at = self.now();
        for fact in facts {
            if let Event::Adopted { job, .. } = &fact {
                let lease = self.known.leases.iter().find(|(_, own)| own.job == job.id);
                if let Some((&lease, _)) = lease {
                    self.adopting.push((lease, job.id));
                }
            }
            if let Some(job) = fact.leaves() {
                self.left(job);
            }
            self.timeline.put(at, fact);
        }
        self.leases.clear();
        for lease in &found.seen.recovered.leases {
            if let Some(own) = self.known.leases.get(&lease.id) {
                let held = found.held(lease.id).to_vec();
                self.leases.insert(own.job, (lease.clone(), held));
            }
        }
        self.told.queue(&found.queue, self.leases.len());
        self.refuse(nonsense)?;
        self.quiet.look(&self.live.roots);
        if let Some(sampler) = &mut self.sampler
            && let Some(signals) = sampler.sample(&self.node, at.0 / 1_000_000)
        {
            self.timeline.put(at, Event::Signals(signals));
        }
        self.tick_levers()
    }

    /// What the drivers say of this moment.
    fn drivers(&self) -> Result<Look, Error> {
        if !self.config.queue.look_at_drivers {
            return Ok(Look::default());
        }
        look(&self.node, self.live)
    }

    /// Tickets that make no sense here get no devices.
    fn refuse(&mut self, nonsense: Vec<Nonsense>) -> Result<(), Error> {
        for own in nonsense {
            let why = format!("infeasible: {}", own.why);
            self.ledger
                .change(Sync::Boot, |books| books.refuse(own.ticket, &why))?;
            self.told.refused("infeasible");
            bell::ring(self.ledger.id(), own.ticket);
        }
        Ok(())
    }

    /// Pulls that are past their time are taken back.
    fn tick_levers(&mut self) -> Result<(), Error> {
        let Some(keeper) = &mut self.keeper else {
            return Ok(());
        };
        let mut is_partitioned = false;
        for fact in keeper.tick(now_ms()) {
            match &fact {
                LeverFact::Undone { id, lever } => {
                    is_partitioned |= lever == "layout";
                    self.held.forget(*id);
                }
                LeverFact::NotUndone { lever, .. } => self.told.lever_failed(lever, "undo"),
                _ => {}
            }
        }
        if is_partitioned && self.node.is_live() {
            // The next look tells what the device has now.
            self.reload()?;
        }
        Ok(())
    }

    /// A job has left: what its levers hold is taken back.
    fn left(&mut self, job: JobId) {
        let ids = self.held.take_all(job);
        self.guards.retain(|(own, _), _| *own != job);
        if let Some(keeper) = &mut self.keeper {
            for why in take_back(keeper, ids) {
                self.told.lever_failed("all", "undo");
                self.told.trouble("levers", &why);
            }
        }
    }

    fn hear(&mut self, message: Message) {
        match message {
            Message::Bell => self.look_at = Instant::now(),
            Message::Stop(signal) => self.stop = Some(signal),
            Message::Latency { tenant, took_ns } => {
                let took = Duration::from_nanos(took_ns);
                self.told.latency(&tenant, took);
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
    fn job_of(&self, tenant: &str) -> Option<JobId> {
        if let Some(lease) = tenant.strip_prefix("lease-") {
            return Some(self.known.leases.get(&lease.parse().ok()?)?.job);
        }
        let mut leases = self.known.leases.values();
        leases.find(|own| own.tenant == tenant).map(|own| own.job)
    }

    /// Tells in a later instant that an order has failed.
    fn fail(&mut self, order: &Action, why: &str) {
        self.fail_at(self.now(), order, why);
    }

    fn fail_at(&mut self, at: Time, order: &Action, why: &str) {
        self.told.order_failed(order, why);
        let failed = Event::OrderFailed {
            order: order.clone(),
            why: why.to_owned(),
        };
        self.timeline.put(at, failed);
    }

    /// A tenant that could not be moved or stopped is where it was: it leaves and is adopted again.
    fn still_there(&mut self, job: JobId) {
        let Some((lease, held)) = self.leases.get(&job).cloned() else {
            return;
        };
        let at = self.now();
        if let Some(fact) = self.reading().adopted(&lease, &held, job) {
            self.timeline.put(at, Event::Cancelled(job));
            self.timeline.put(at, fact);
            self.adopting.push((lease.id, job));
        }
    }

    fn place(&mut self, order: &Action, job: JobId, at: &Placed) -> Result<(), Error> {
        let Some(id) = ticket_of(job) else {
            self.fail(order, "a job that runs already cannot be started");
            return Ok(());
        };
        let placement: Vec<DeviceId> = at.placement.iter().copied().collect();
        let scheduler = self.scheduler.clone();
        let drivers = self.drivers();
        let (own, node, processes) = (&self.own, &self.node, self.processes);
        let placed = self.ledger.change(Sync::Boot, |books| {
            if !books.beat(own, now())? {
                return Ok(Err("another daemon has taken this queue".to_owned()));
            }
            let ticket = books.ticket(id)?;
            let ticket = ticket.filter(|own| own.lease.is_none() && own.refusal.is_none());
            let Some(ticket) = ticket else {
                return Ok(Err("it has left the queue".to_owned()));
            };
            // Somebody may have begun since the last look.
            let drivers = match &drivers {
                Ok(drivers) => drivers,
                Err(error) => return Ok(Err(format!("the drivers do not answer: {error}"))),
            };
            let leases = books.leases()?;
            let others = foreign(node, drivers, &leases, processes, |own| books.mark(own));
            if let Some(other) = taken(node, &others, &placement) {
                return Ok(Err(other.why.clone()));
            }
            let reason = format!("its turn by {scheduler}");
            let lease = grant(
                books,
                node,
                &ticket.asker,
                &placement,
                Some(id),
                ticket.seconds,
                &reason,
            )?;
            books.served(id, lease.id)?;
            Ok(Ok(lease))
        });
        // A device that somebody holds meanwhile is an error of the ledger, whose change is undone.
        let placed = placed.unwrap_or_else(|error| Err(error.to_string()));
        match placed {
            Ok(lease) => {
                self.known.tickets.remove(&id);
                self.known.leases.insert(
                    lease.id,
                    KnownLease {
                        job,
                        tenant: lease.asker.tenant.clone(),
                        occupies: BTreeSet::new(),
                    },
                );
                self.told.placed(&lease);
                self.leases.insert(job, (lease, placement));
                bell::ring(self.ledger.id(), id);
            }
            Err(why) => {
                self.known.tickets.remove(&id);
                self.known.not_before.insert(id, now() + RETRY);
                self.fail(order, &why);
            }
        }
        Ok(())
    }

    fn reject(&mut self, job: JobId, why: &Refusal) -> Result<(), Error> {
        self.told.refused(why.kind());
        let Some(id) = ticket_of(job) else {
            return Ok(());
        };
        self.known.tickets.remove(&id);
        // It is not told again: it leaves the queue as soon as its owner has read why.
        self.known.not_before.insert(id, Moment::MAX);
        self.ledger.change(Sync::Boot, |books| {
            books.refuse(id, &format!("{}: {why}", why.kind()))
        })?;
        bell::ring(self.ledger.id(), id);
        Ok(())
    }

    /// The processes of a job: its command and what that has started.
    fn processes_of(&self, job: JobId) -> Vec<ProcessId> {
        let lease = self.leases.get(&job);
        let roots = &self.live.roots;
        let child = lease.and_then(|own| own.0.child.as_ref());
        let Some(child) = child else {
            return Vec::new();
        };
        let below = self.processes.below(child.pid);
        let pids = std::iter::once(child.pid).chain(below);
        pids.filter_map(|pid| ProcessId::of(&roots.proc, pid.unsigned_abs()))
            .collect()
    }

    fn throttle(&mut self, order: &Action, job: JobId, guard: Guard) {
        let Some((kind, is_set)) = pulls::kind(guard) else {
            self.fail(order, "no lever of this release does that");
            return;
        };
        if self.guards.get(&(job, kind)) != Some(&guard) {
            let mut before = self.held.take(job, kind);
            before.reverse();
            self.guards.remove(&(job, kind));
            let left = match &mut self.keeper {
                Some(keeper) => take_back(keeper, before),
                None => Vec::new(),
            };
            for why in left {
                self.told.lever_failed(lever_name(kind), "undo");
                self.told.trouble("levers", &why);
            }
        }
        if !is_set {
            return;
        }
        if let Err(why) = self.pull_guard(job, kind, guard) {
            self.told.lever_failed(lever_name(kind), "pull");
            self.fail(order, &why);
        }
    }

    /// Pulls what a guard asks for. If one pull fails, those before it are taken back.
    fn pull_guard(&mut self, job: JobId, kind: pulls::Kind, guard: Guard) -> Result<(), String> {
        let Some(lease) = self.leases.get(&job).map(|own| own.0.id) else {
            return Err("the job holds no lease".to_owned());
        };
        let processes = self.processes_of(job);
        let at = now_ms();
        let wanted = pulls::pulls(
            guard,
            lease,
            &processes,
            &self.config.levers,
            &self.live.roots,
            &mut self.quiet,
            at,
        )?;
        let Some(keeper) = &mut self.keeper else {
            return Err("this daemon has no levers here".to_owned());
        };
        let mut pulled = Vec::new();
        for (pull, lifetime) in wanted {
            if self.is_dry {
                let plan = keeper.plan(&pull).map_err(|error| error.to_string())?;
                self.told.would(&plan.to_string());
                continue;
            }
            match pulls::outcome(&keeper.pull(&pull, lifetime, at)) {
                Ok(id) => pulled.extend(id),
                // A process may end at any moment; others of the job are limited all the same.
                Err(_) if is_gone(&pull, &self.live.roots) => {}
                Err(why) => {
                    pulled.reverse();
                    take_back(keeper, pulled);
                    return Err(why);
                }
            }
        }
        for id in pulled {
            self.held.put(job, kind, id);
        }
        self.guards.insert((job, kind), guard);
        Ok(())
    }

    fn repartition(
        &mut self,
        order: &Action,
        whole: DeviceId,
        layout: &mapa_core::mig::Layout,
    ) -> Result<(), Error> {
        let done = self.pull_layout(whole, layout);
        let failed = match done {
            Err(why) => {
                self.told.lever_failed("mig", "pull");
                Some(why)
            }
            Ok(()) if self.is_dry => Some("a dry run changes no layout".to_owned()),
            Ok(()) => None,
        };
        let mut at = self.now();
        match failed {
            Some(why) => {
                // A scheduler that orders the same again is told later each time: a device that
                // cannot be partitioned must not keep the daemon busy.
                let count = self.failures.entry(whole).or_default();
                *count = (*count + 1).min(7);
                at = at + Duration::from_secs(1 << (*count - 1));
                self.fail_at(at, order, &why);
            }
            None => {
                self.failures.remove(&whole);
                self.reload()?;
            }
        }
        // What the device has now is told whether the order failed or not.
        let view = self.node.loaded().idle.view();
        let is = view.layout_of(whole);
        Reading::layout_is(&mut self.known, whole, is.clone());
        let fact = Event::LayoutIs {
            machine: MACHINE,
            whole,
            layout: is,
        };
        self.timeline.put(at, fact);
        Ok(())
    }

    /// Looks at the machine anew: instances have other names after a repartition.
    fn reload(&mut self) -> Result<(), Error> {
        let mut live = self.live.clone();
        live.refresh = true;
        let mut node = Node::load(&self.machine, &live, &mut |_| {})?;
        let owner = &self.owner;
        self.ledger
            .change(Sync::Disk, |books| node.bind(books, owner))?;
        node.open_bare()?;
        if node.graph().fingerprint() != self.node.graph().fingerprint() {
            return Err(Error::at(
                "the machine",
                "it has other devices than before: expected a restart of the daemon, which adopts what runs",
            ));
        }
        self.node = node;
        Ok(())
    }

    fn pull_layout(
        &mut self,
        whole: DeviceId,
        layout: &mapa_core::mig::Layout,
    ) -> Result<(), String> {
        if !self.config.levers.on.contains(&Lever::Mig) {
            return Err("the lever \"mig\" is off: expected it in `levers.on`".to_owned());
        }
        if !self.node.is_live() {
            return Err("this machine is only described: its layouts are not changed".to_owned());
        }
        let pull = pulls::layout_pull(&self.node, whole, layout)?;
        let Some(model) = self.node.graph().model(whole) else {
            return Err("the device has no MIG profiles".to_owned());
        };
        let words = model.print(layout);
        let key = self.node.keys(&[whole]).into_iter().next();
        let Some((key, keeper)) = key.zip(self.keeper.as_mut()) else {
            return Err("this daemon has no levers here".to_owned());
        };
        if self.is_dry {
            let plan = keeper.plan(&pull).map_err(|error| error.to_string())?;
            self.told.would(&plan.to_string());
            return Ok(());
        }
        self.expected.set(Some((key.whole, words)));
        let fact = keeper.pull(&pull, Lifetime::Kept, now_ms());
        self.expected.set(None);
        pulls::outcome(&fact).map(drop)
    }

    /// Leases that could not be adopted occupy their devices, so that nobody else gets them.
    fn settle_adopted(&mut self, seen: Seen<'_>) {
        for (lease, job) in std::mem::take(&mut self.adopting) {
            if seen.fleet.lease_of(Tenant::Job(job)).is_some() {
                continue;
            }
            let Some((_, held)) = self.leases.get(&job) else {
                continue;
            };
            let graph = self.node.graph();
            let wholes: BTreeSet<DeviceId> =
                held.iter().map(|&id| graph.device(id).parent).collect();
            self.told.trouble(
                "leases",
                &format!("lease {lease} does not fit what is known: its devices are withheld"),
            );
            if let Some(known) = self.known.leases.get_mut(&lease) {
                known.occupies = wholes;
            }
        }
    }

    /// Notes in the audit what became of a lever.
    fn note(&mut self, reason: &str) {
        let owner = self.owner.clone();
        let noted = self.ledger.change(Sync::Boot, |books| {
            books.note(Note {
                kind: Kind::Lever,
                owner: &owner,
                lease: None,
                ticket: None,
                devices: &[],
                reason,
                expires: None,
            })
        });
        if let Err(error) = noted {
            self.told.trouble("ledger", &error.to_string());
        }
    }

    /// Says in the queue why each job waits.
    fn say_why(&mut self) -> Result<(), Error> {
        let scheduler = &self.scheduler;
        let queue = self.ledger.read(|books| books.queue())?;
        let mut changed = Vec::new();
        for (before, ticket) in waiting(&queue).enumerate() {
            let reason = format!("its turn by {scheduler}, with {before} that came before");
            if ticket.reason != reason {
                changed.push((ticket.id, reason));
            }
        }
        if changed.is_empty() {
            return Ok(());
        }
        self.ledger.change(Sync::Boot, |books| {
            changed
                .iter()
                .try_for_each(|(ticket, reason)| books.waits(*ticket, reason))
        })
    }

    /// Takes everything back that levers hold, and leaves the queue to whoever waits.
    pub(crate) fn close(&mut self, why: &str) -> Result<(), Error> {
        let facts = match &mut self.keeper {
            Some(keeper) => keeper.close(),
            None => Vec::new(),
        };
        for fact in facts {
            if let LeverFact::NotUndone { id, lever, .. } = fact {
                self.told.lever_failed(&lever, "undo");
                self.note(&format!("pull {id} of {lever} could not be taken back"));
            }
        }
        let (own, owner) = (&self.own, &self.owner);
        self.ledger
            .change(Sync::Boot, |books| books.resign(owner, own, why))?;
        crate::queue::ring_first(&mut self.ledger)
    }
}

/// The device of a placement that somebody else uses, as a whole or this instance of it.
fn taken<'w>(node: &Node, others: &'w [Withheld], placement: &[DeviceId]) -> Option<&'w Withheld> {
    let graph = node.graph();
    let is_taken = |own: &&Withheld| {
        placement
            .iter()
            .any(|&id| id == own.device || graph.device(id).parent == own.device)
    };
    others.iter().find(is_taken)
}

/// Whether the process that a pull is about has ended.
fn is_gone(pull: &mapa_live::levers::Pull, roots: &Roots) -> bool {
    use mapa_live::levers::Pull;
    match pull {
        Pull::Enrol {
            process: Some(process),
            ..
        }
        | Pull::Affinity { process, .. } => !process.is_alive(&roots.proc),
        _ => false,
    }
}

fn lever_name(kind: pulls::Kind) -> &'static str {
    match kind {
        pulls::Kind::BlockIo => "block-io",
        pulls::Kind::Pcie => "pcie",
        pulls::Kind::Mps => "mps",
        pulls::Kind::Cores => "affinity",
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
        _: Seen<'_>,
        facts: &mut Vec<(Time, Event)>,
    ) -> Result<Option<Time>, Stopped> {
        loop {
            while let Some(message) = self.inbox.waiting() {
                self.hear(message);
            }
            if self.stop.is_some() {
                return Ok(None);
            }
            if Instant::now() >= self.look_at {
                self.look()?;
                self.say_why()?;
            }
            let at = self.now();
            while let Some(fact) = self.timeline.take(at) {
                facts.push(fact);
            }
            if !facts.is_empty() {
                self.instant_began = Instant::now();
                if let Some(recorder) = &mut self.recorder {
                    for (_, event) in facts.iter() {
                        recorder.told(event)?;
                    }
                }
                return Ok(Some(at));
            }
            let mut pause = self.look_at.saturating_duration_since(Instant::now());
            if let Some(next) = self.timeline.next() {
                pause = pause.min(next.since(at));
            }
            self.told.beat();
            if let Some(message) = self.inbox.next(pause) {
                self.hear(message);
            }
        }
    }

    fn carry_out(&mut self, seen: Seen<'_>, order: &Action) -> Result<Time, Stopped> {
        if let Some(recorder) = &mut self.recorder {
            recorder.ordered(order)?;
        }
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
                self.still_there(tenant.job());
            }
            Action::Suspend { tenant } => {
                self.fail(
                    order,
                    "a process that is stopped keeps the memory of its devices, so they are not free",
                );
                self.still_there(tenant.job());
            }
            Action::Launch { job } => {
                let why = Refusal::Infeasible(mapa_core::Reason::Rule(
                    "a job of the queue holds its devices as a whole; tasks that share instances are for `mapa-node case`".into(),
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

    fn settle(&mut self, seen: Seen<'_>) -> Result<(), Stopped> {
        if let Some(recorder) = &mut self.recorder {
            recorder.settle(seen.now)?;
        }
        self.settle_adopted(seen);
        self.told
            .settled(&self.node, seen, self.instant_began.elapsed());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::facts::{job_of_lease, job_of_ticket};
    use super::*;

    #[test]
    fn tickets_and_leases_never_share_a_number_of_a_job() {
        for id in [1, 2, 77, 1 << 40] {
            assert_eq!(ticket_of(job_of_ticket(id)), Some(id));
            assert_eq!(ticket_of(job_of_lease(id)), None);
        }
    }
}
