//! The driver of this machine: facts from the ledger, the drivers and the counters; orders to the
//! ledger and the levers.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use mapa_core::{DeviceId, Refusal};
use mapa_front::MachineSpec;
use mapa_live::{Live, Look, ProcessId};
use mapa_sched::{
    Action, Driver, Event, Guard, JobId, Latency, Placed, Seen, Tenant, Time, Timeline,
};

use super::config::Config;
use super::facts::{Found, Known, KnownLease, MACHINE, Nonsense, Reading, ticket_of};
use super::hands::NodeHands;
use super::inbox::{Inbox, Message, TURN};
use super::journal::NodeJournal;
use super::pulls::{self, Target};
use super::recorder::Recorder;
use super::signals::Host;
use super::told::Told;
use crate::bell;
use crate::cgroup;
use crate::error::Error;
use crate::ledger::{Books, Kind, Lease, Ledger, Moment, Note, Sync, now};
use crate::node::{Node, Withheld};
use crate::others::{foreign, look};
use crate::process::{Identity, Life, Processes};
use crate::queue::{grant, see, waiting};
use crate::steward;

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
    /// The levers.
    pub hands: NodeHands<'a, NodeJournal>,
    /// What comes from outside.
    pub inbox: Inbox,
    /// The record.
    pub recorder: Option<Recorder>,
    /// What the service tells of this run.
    pub told: Told,
    /// Counters of the host, for a scheduler that needs them.
    pub sampler: Option<Host>,
    /// What the scheduler knows.
    pub known: Known,
    /// What will be told.
    pub timeline: Timeline,
    /// When the ledger is looked at next.
    pub look_at: Instant,
    /// Whether the daemon shall end: the signal.
    pub stop: Option<i32>,
    /// The leases of the last look and what they keep from others, by job.
    pub leases: BTreeMap<JobId, (Lease, Vec<DeviceId>)>,
    /// Facts of this instant that may be refused: adopted leases.
    pub adopting: Vec<(i64, JobId)>,
    /// Jobs whose order to leave has failed in this instant: they are where they were.
    pub still: BTreeSet<JobId>,
    /// Which devices were in MIG mode at the last look.
    pub mig: MigModes,
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

    /// Makes one change of the ledger, unless another daemon has taken the queue.
    fn change<T>(
        &mut self,
        sync: Sync,
        change: impl FnOnce(&Books<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let own = &self.own;
        self.ledger.change(sync, |books| {
            steward::stay(books, own)?;
            change(books)
        })
    }

    /// Looks at the ledger, the drivers and the counters, and puts what is new on the timeline.
    fn look(&mut self) -> Result<(), Error> {
        let look = Duration::from_millis(self.config.queue.look_ms.0);
        self.look_at = Instant::now() + look;
        // Also while drivers do not answer, no throttle outlives its time.
        self.tick_levers()?;
        let drivers = match self.drivers() {
            Ok(drivers) => drivers,
            Err(error) => {
                // Who uses what is not known: nothing is decided until the drivers answer again.
                self.told.trouble("drivers", &error.to_string());
                return self.change(Sync::Boot, |_| Ok(()));
            }
        };
        if self.mig.look(&drivers) {
            self.reload()?;
        }
        let (own, owner, processes) = (&self.own, &self.owner, self.processes);
        let (known, node) = (&self.known, &self.node);
        let found = self.ledger.change(Sync::Boot, |books| {
            steward::stay(books, own)?;
            let seen = see(books, node, processes, owner, &drivers)?;
            Found::new(books, seen, known)
        })?;
        let mut nonsense = Vec::new();
        let mut known = std::mem::take(&mut self.known);
        let facts = self.reading().news(&mut known, &found, &mut nonsense);
        self.known = known;
        let at = self.now();
        for fact in facts {
            if let Some(job) = fact.leaves() {
                self.hands.left(job, &mut self.told);
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
        self.hands.look();
        if let Some(sampler) = &mut self.sampler
            && let Some(signals) = sampler.sample(&self.node)
        {
            self.timeline.put(at, Event::Signals(signals));
        }
        Ok(())
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
            self.change(Sync::Boot, |books| books.refuse(own.ticket, &why))?;
            self.told.refused("infeasible");
            bell::ring(self.ledger.id(), own.ticket);
        }
        Ok(())
    }

    /// Pulls that are past their time are taken back.
    fn tick_levers(&mut self) -> Result<(), Error> {
        let is_partitioned = self.hands.tick(now_ms(), &mut self.told);
        if is_partitioned && self.node.is_live() {
            self.reload()?;
        }
        Ok(())
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

    /// Tenants that could not be moved or stopped are where they were: they leave, all of them, and are
    /// adopted again. One by one, the first might be where the fleet has the second by now.
    fn still_there(&mut self) {
        // Later than the failures of their orders.
        let at = self.now() + Duration::from_nanos(1);
        for job in std::mem::take(&mut self.still) {
            let Some((lease, held)) = self.leases.get(&job) else {
                continue;
            };
            if let Some(fact) = self.reading().adopted(lease, held, job) {
                self.timeline.put(at, Event::Cancelled(job));
                self.timeline.put(at, fact);
            }
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
            steward::stay(books, own)?;
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
        self.change(Sync::Boot, |books| {
            books.refuse(id, &format!("{}: {why}", why.kind()))
        })?;
        bell::ring(self.ledger.id(), id);
        Ok(())
    }

    /// The processes of a lease: its command and what that has started. A number that another process
    /// has by now is none.
    fn processes_of(&self, lease: &Lease) -> Vec<ProcessId> {
        let child = lease.child.as_ref();
        let Some(child) = child.filter(|own| self.processes.life(own) == Life::Runs) else {
            return Vec::new();
        };
        let below = self.processes.below(child.pid);
        let pids = std::iter::once(child.pid).chain(below);
        pids.filter_map(|pid| ProcessId::of(&self.live.roots.proc, pid.unsigned_abs()))
            .collect()
    }

    /// What a limit on a job is put on. Before its processes leave the group by which recovery finds
    /// them, the ledger says where they go.
    fn target(&mut self, job: JobId, kind: pulls::Kind) -> Result<Target, String> {
        let Some((lease, _)) = self.leases.get(&job) else {
            return Err("the job holds no lease".to_owned());
        };
        let (id, mark) = (lease.id, self.ledger.mark(lease.id));
        let own = lease.cgroup.as_deref();
        let own = own.and_then(|own| cgroup::of_lease(own, &mark));
        let (levers, roots) = (self.hands.levers(), &self.live.roots);
        let (group, enrol) = pulls::group(own, &cgroup::name_of(&mark), levers, roots)?;
        let processes = self.processes_of(lease);
        let is_moved = kind == pulls::Kind::BlockIo && enrol;
        let to = pulls::moves_to(&group, roots).filter(|_| is_moved);
        let known = lease.limited.clone();
        if let Some(to) = to.as_deref().and_then(|own| own.to_str())
            && known.as_deref() != Some(to)
        {
            self.change(Sync::Boot, |books| books.limited(id, to))
                .map_err(|error| error.to_string())?;
        }
        Ok(Target {
            processes,
            group,
            enrol,
        })
    }

    fn throttle(&mut self, order: &Action, job: JobId, guard: Guard) {
        let target = match pulls::kind(guard) {
            Some((kind, true)) => self.target(job, kind),
            _ => Err("nothing is limited".to_owned()),
        };
        let (at, told) = (now_ms(), &mut self.told);
        if let Err(why) = self.hands.throttle(job, guard, at, target, told) {
            self.fail(order, &why);
        }
    }

    fn repartition(
        &mut self,
        order: &Action,
        whole: DeviceId,
        layout: &mapa_core::mig::Layout,
    ) -> Result<(), Error> {
        let mut at = self.now();
        let (node, told) = (&self.node, &mut self.told);
        match self.hands.repartition(node, whole, layout, now_ms(), told) {
            Err((why, pause)) => {
                at = at + pause;
                self.fail_at(at, order, &why);
            }
            Ok(()) => self.reload()?,
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
        let owner = self.owner.clone();
        self.change(Sync::Disk, |books| node.bind(books, &owner))?;
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

    /// Notes that this fact may be refused.
    fn adopts(&mut self, fact: &Event) {
        let Event::Adopted { job, .. } = fact else {
            return;
        };
        let mut leases = self.known.leases.iter();
        if let Some((&lease, _)) = leases.find(|(_, own)| own.job == job.id) {
            self.adopting.push((lease, job.id));
        }
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
        self.change(Sync::Boot, |books| {
            changed
                .iter()
                .try_for_each(|(ticket, reason)| books.waits(*ticket, reason))
        })
    }

    /// Takes everything back that levers hold, and leaves the queue to whoever waits. Also after another
    /// daemon has taken the queue: nobody else has this journal open, so nobody else takes it back.
    pub(crate) fn close(&mut self, why: &str) -> Result<(), Error> {
        let left = self.hands.close(&mut self.told);
        let (own, owner) = (&self.own, &self.owner);
        self.ledger.change(Sync::Boot, |books| {
            for own in &left {
                books.note(Note::new(Kind::Lever, owner, own))?;
            }
            books.resign(owner, own, why)
        })?;
        crate::queue::ring_first(&mut self.ledger)
    }

    /// Writes the record no further: its disk is full, perhaps. The daemon goes on.
    fn record(&mut self, write: impl FnOnce(&mut Recorder) -> Result<(), Error>) {
        if let Some(recorder) = &mut self.recorder
            && let Err(error) = write(recorder)
        {
            let what = format!("{error}: nothing more is recorded");
            self.told.trouble("record", &what);
            self.recorder = None;
        }
    }
}

/// Which devices are in MIG mode, as the drivers said last: the number, the UUID, and whether it is.
#[derive(Debug, Default)]
pub(crate) struct MigModes(Option<BTreeMap<u32, (Option<String>, bool)>>);

impl MigModes {
    /// Whether the drivers say otherwise than before. Of a device that is lost, nothing is known.
    fn look(&mut self, look: &Look) -> bool {
        let Some(seen) = &look.devices else {
            return false;
        };
        let mut now: BTreeMap<u32, (Option<String>, bool)> = seen
            .iter()
            .filter(|own| !own.lost)
            .map(|own| (own.index, (own.uuid.clone(), own.partitioned)))
            .collect();
        let Some(before) = &self.0 else {
            self.0 = Some(now);
            return false;
        };
        for own in seen.iter().filter(|own| own.lost) {
            if let Some(known) = before.get(&own.index) {
                now.insert(own.index, known.clone());
            }
        }
        let differs = now != *before;
        self.0 = Some(now);
        differs
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
            // A flood of messages does not keep the daemon from its looks.
            for _ in 0..TURN {
                let Some(message) = self.inbox.waiting() else {
                    break;
                };
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
                self.record(|to| facts.iter().try_for_each(|(_, own)| to.told(own)));
                for (_, fact) in facts.iter() {
                    self.adopts(fact);
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
        self.record(|to| to.settle(seen.now));
        self.settle_adopted(seen);
        self.still_there();
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
