//! The threads that decide: devices for a job, or the answer to whatever else needs the machine.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use mapa_core::{MAX_DEVICES, Policy, Reason, Refusal, Request};
use mapa_front::answer::mapa::LeaseOwner;
use mapa_front::answer::node::{Grant, NodeAnswer, NodeQuery, RunQuery};
use mapa_front::{JobSpec, Names, PolicySpec};
use mapa_live::{DriverSnapshot, Liveness, Processes};
use tracing::warn;

use super::work::{COMMAND, Done, Peer, Served, Task, WorkQueue, grant_of, shortened, told};
use crate::acquire::{
    AcquireAttempt, AcquireContext, AcquireRequest, FIRST_COME, Unbegun, turn, unbegun,
};
use crate::cli::{self, NAME};
use crate::desk::named;
use crate::error::Error;
use crate::foreign::driver_snapshot;
use crate::lease_processes::Lives;
use crate::leases::{self, OutsideLease};
use crate::ledger::{Ledger, OutsideOwner, Requester};
use crate::local_files::NoFiles;
use crate::mailbox::Mailbox;
use crate::node::Node;
use crate::operator;
use crate::run::choose;
use crate::timed::{DECISION_TIME, Timed};

/// The most decisions of an answer to `log`.
const DECISIONS: usize = 100_000;

/// The most edges of a job that has more ranks than the machine has devices.
const MOST_EDGES: usize = 4096;

/// How many jobs of one user wait at most, and how many bytes their requests have. Whoever decides reads them all.
const WAITING: (usize, usize) = (20_000, 64 << 20);

/// A thread that decides, one query after the other.
pub(super) fn decide(
    queue: &WorkQueue,
    done: &Mailbox<Done>,
    served: &Served,
    ledger: &mut Ledger,
) {
    let mut node: Option<Rc<Node>> = None;
    loop {
        let mut work = queue.take();
        if let Task::Text(text) = &work.task {
            match long(text) {
                Ok(query) => work.task = Task::Query(query),
                Err(error) => {
                    queue.leave(work.peer.uid);
                    done.post(work.answered(told(&error)));
                    continue;
                }
            }
        }
        let (peer, uid) = (&work.peer, work.peer.uid);
        ledger.write_for(uid);
        let mut decider = Decider {
            ledger,
            node: &mut node,
            served,
            peer,
        };
        let mut answer = || match &work.task {
            Task::Query(query) => decider.answer(query).unwrap_or_else(|error| told(&error)),
            Task::Text(_) | Task::Fetch(_) | Task::Look => NodeAnswer::Noted {},
        };
        // Without its threads the daemon would answer nobody any more. What a transaction has begun is rolled back.
        let answer = catch_unwind(AssertUnwindSafe(&mut answer)).unwrap_or_else(|_| {
            warn!(
                uid,
                task = shortened(&format!("{:?}", work.task), COMMAND),
                "a query ended its thread: please report it"
            );
            told(&Error::at(
                "the daemon",
                "this query failed: please report it with the daemon's log",
            ))
        });
        queue.leave(uid);
        done.post(work.answered(answer));
    }
}

/// Reads a long query.
///
/// # Errors
/// It is none, or not of a job.
fn long(text: &[u8]) -> Result<NodeQuery, Error> {
    match serde_json::from_slice(text) {
        Ok(query @ NodeQuery::Run { .. }) => Ok(query),
        Ok(_) => Err(Error::malformed("a long query: expected one of a job")),
        Err(error) => Err(Error::malformed(format_args!(
            "{}: expected a query of docs/schema/node-query.json",
            shortened(&error.to_string(), COMMAND)
        ))),
    }
}

/// A thread that decides, for one query.
struct Decider<'a> {
    ledger: &'a mut Ledger,
    /// The machine; none before it is asked for.
    node: &'a mut Option<Rc<Node>>,
    served: &'a Served,
    peer: &'a Peer,
}

impl Decider<'_> {
    fn answer(&mut self, query: &NodeQuery) -> Result<NodeAnswer, Error> {
        let peer = self.peer;
        let owner = peer.name();
        Ok(match query {
            NodeQuery::Run { request } => return self.run(request),
            NodeQuery::Ps {} => {
                let node = self.node()?;
                // What is in the ledger is worth telling whatever drivers do.
                let drivers = self.drivers(&node).unwrap_or_default();
                let ps = operator::ps(self.ledger, Some(&node), &drivers, &owner)?;
                NodeAnswer::Ps { ps: Box::new(ps) }
            }
            NodeQuery::Free {} => {
                let node = self.node()?;
                let free = operator::free(self.ledger, &node, &self.served.live, &owner)?;
                NodeAnswer::Free { free }
            }
            NodeQuery::Tenants {} => NodeAnswer::Tenants {
                tenants: operator::tenants(self.ledger, &owner)?,
            },
            NodeQuery::Log {
                last,
                lease,
                verify,
            } => {
                let which = ((*last).min(DECISIONS), *lease);
                NodeAnswer::Log {
                    log: operator::log(self.ledger, which, *verify)?,
                }
            }
            NodeQuery::Cordon {
                devices,
                reason,
                seconds,
            } => {
                peer.operates("cordon")?;
                let node = self.node()?;
                let why = (&*owner, shortened(reason, NAME));
                let cordoned = operator::cordon(self.ledger, (devices, &node), why, *seconds)?;
                NodeAnswer::Cordon { cordoned }
            }
            NodeQuery::Uncordon { devices, reason } => {
                peer.operates("uncordon")?;
                let node = self.node()?;
                let why = (&*owner, shortened(reason, NAME));
                let uncordoned = operator::uncordon(self.ledger, (devices, &node), why)?;
                NodeAnswer::Uncordon { uncordoned }
            }
            NodeQuery::Register {
                owner,
                devices,
                reason,
            } => {
                let (owner, node) = (self.outside(owner)?, self.node()?);
                let reason = shortened(reason, NAME);
                let lease = leases::grant(self.ledger, &node, &owner, devices, reason)?;
                registered(vec![lease])
            }
            NodeQuery::Choose {
                owner,
                spec,
                policy,
            } => {
                let (owner, node) = (self.outside(owner)?, self.node()?);
                let job: JobSpec = read("the request", spec)?;
                let policy: PolicySpec = read("the policy", policy)?;
                let drivers = self.drivers(&node)?;
                let (of, want) = ((&*node, &drivers), (&job, &policy));
                let lease = leases::choose_for(self.ledger, of, &owner, want, &NoFiles)?;
                registered(vec![lease])
            }
            NodeQuery::Unregister { owner, lease } => {
                let owner = self.outside(owner)?;
                let ended = leases::end(self.ledger, &owner, *lease)?;
                NodeAnswer::Unregistered { ended }
            }
            NodeQuery::Registered { kind } => registered(leases::of_kind(self.ledger, kind)?),
            NodeQuery::Recover {} => {
                peer.operates("recover")?;
                let recovered = operator::recovered(self.ledger, &owner)?;
                NodeAnswer::Recover { recovered }
            }
            _ => {
                return Err(Error::malformed(
                    "another query: expected one of docs/schema",
                ));
            }
        })
    }

    /// The machine, whose links may have changed since it was read.
    fn node(&mut self) -> Result<Rc<Node>, Error> {
        let (served, kept) = (self.served, &mut *self.node);
        if let Some(node) = kept {
            return Ok(node.clone());
        }
        let node = Rc::new(load(served)?);
        *kept = Some(node.clone());
        Ok(node)
    }

    /// An owner outside, for whom an operator asks: its lease outlives every process.
    fn outside(&self, owner: &LeaseOwner) -> Result<OutsideOwner, Error> {
        self.peer.operates("a lease that no process holds")?;
        Ok(OutsideOwner::new(&owner.kind, &owner.name)?.registered_by(self.peer.uid))
    }

    fn drivers(&self, node: &Node) -> Result<DriverSnapshot, Error> {
        if !self.served.check_drivers {
            return Ok(DriverSnapshot::default());
        }
        driver_snapshot(node, &self.served.live)
    }

    /// Devices for a job, or a place in the queue.
    fn run(&mut self, query: &RunQuery) -> Result<NodeAnswer, Error> {
        let node = self.node()?;
        let machine = &node.loaded().machine.name;
        if query.machine != *machine {
            return Err(Error::malformed(format_args!(
                "the ledger is of the machine {machine}, not of {}: expected --machine {machine}, or another --ledger",
                query.machine
            )));
        }
        let tenant = query.tenant.clone().unwrap_or_else(|| self.peer.name());
        let tenant = cli::tenant(&tenant)
            .map_err(|expected| Error::malformed(format_args!("the tenant: {expected}")))?;
        if query.scheduler.len() > NAME {
            return Err(Error::malformed(format_args!(
                "the scheduler: expected a name of at most {NAME} bytes"
            )));
        }
        let asker = Requester {
            tenant,
            uid: self.peer.uid,
            process: self.peer.process.clone(),
            command: shortened(&query.command, COMMAND).to_owned(),
            policy: query.policy.clone(),
            spec: query.spec.clone(),
        };
        let names = Names::built_in();
        let spec: JobSpec = read("the request", &query.spec)?;
        let policy: PolicySpec = read("the policy", &query.policy)?;
        // Every thread that decides, and the queue, would wait for a search without an end, or for a pattern of 2^60 ranks.
        if spec.max_nodes.is_some_and(|nodes| nodes > Request::NODES) {
            return Err(Error::malformed(format_args!(
                "--max-nodes: expected at most {} where a daemon decides for all",
                Request::NODES
            )));
        }
        if spec.gpus.is_some_and(|gpus| gpus > MAX_DEVICES) {
            return Err(Error::malformed(format_args!(
                "--gpus: expected at most {MAX_DEVICES}"
            )));
        }
        // No file that others name is opened.
        let work = spec.job(&NoFiles)?;
        if work.ranks == 0 {
            return Err(Error::malformed("no device: expected at least one"));
        }
        // The same edge again and again takes minutes, in a transaction for which all others wait.
        let (ranks, edges) = (work.ranks, work.pattern.edges().len());
        if ranks <= node.graph().len() && edges > ranks * ranks {
            return Err(Error::malformed(format_args!(
                "--pattern: {edges} edges: expected at most one from each rank to each other one"
            )));
        }
        // Their edges take as long, and it never gets so many devices.
        if ranks > node.graph().len() && edges > MOST_EDGES {
            return Err(Error::malformed(format_args!(
                "--pattern: {edges} edges of {ranks} ranks: expected at most {MOST_EDGES} of more ranks than devices"
            )));
        }
        let model = policy.model(&names, &NoFiles)?;
        let policy = policy.policy(&names, model.as_ref(), Some(&work))?;
        // Whoever else asks waits for this decision.
        let policy = Timed::new(policy, Some(DECISION_TIME));
        let request = spec.request(&work, node.graph())?;
        let processes = Processes::new()?;
        let (served, is_checked) = (self.served, query.check_drivers);
        let drivers = || {
            if !is_checked || !served.check_drivers {
                return Ok(DriverSnapshot::default());
            }
            driver_snapshot(&node, &served.live)
        };
        if query.dry_run {
            let (of, on) = ((&request, &policy as &dyn Policy), (&*node, &processes));
            let (placement, decision) = choose(self.ledger, of, on, &drivers, &asker)?;
            return Ok(NodeAnswer::Chosen {
                devices: named(node.keys(&placement)),
                decision: Box::new(decision),
            });
        }
        if Lives::new(&processes).of(&asker.process) == Liveness::Ended {
            return Err(Error::malformed(
                "the process that has connected has ended: expected the one that asks",
            ));
        }
        if query.again
            && let Some(found) = self.found_again(&asker)?
        {
            return Ok(found);
        }
        if query.wait && !self.peer.is_operator() {
            self.may_wait()?;
        }
        let want = AcquireRequest {
            asker: &asker,
            request: &request,
            policy: &policy,
            scheduler: &query.scheduler,
            wait: query.wait,
            seconds: query.seconds,
        };
        let mut context = AcquireContext {
            ledger: self.ledger,
            node: node.clone(),
            reload: &|| load(served),
            processes: &processes,
            drivers: &drivers,
        };
        let outcome = context.acquire_once(&want);
        // Its links may have changed since it was read.
        *self.node = Some(context.node);
        Ok(match outcome? {
            AcquireAttempt::Granted(granted) => NodeAnswer::Granted {
                grant: Box::new(Grant {
                    decision: granted.decision.clone(),
                    ..grant_of(self.ledger.id(), &granted.lease)
                }),
            },
            AcquireAttempt::Queued(ticket, waiting) => NodeAnswer::Queued {
                ticket,
                position: waiting.position,
                length: waiting.queue_length,
                reason: waiting.reason,
            },
            AcquireAttempt::Enqueued(ticket) => {
                let (all, before) = self.ledger.read(|books| books.waiting(ticket))?;
                NodeAnswer::Queued {
                    ticket,
                    position: before + 1,
                    length: all,
                    reason: turn(FIRST_COME),
                }
            }
            AcquireAttempt::Retry => return Err(Error::at("the ledger", "nothing was decided")),
        })
    }

    /// What a process has got whose answer was lost.
    fn found_again(&mut self, asker: &Requester) -> Result<Option<NodeAnswer>, Error> {
        let found = self.ledger.read(|books| unbegun(books, asker))?;
        Ok(found.map(|found| match found {
            Unbegun::Ticket(ticket) => NodeAnswer::Queued {
                ticket,
                position: 1,
                length: 1,
                reason: "the daemon was started anew".to_owned(),
            },
            Unbegun::Lease(lease) => NodeAnswer::Granted {
                grant: Box::new(grant_of(self.ledger.id(), &lease)),
            },
        }))
    }

    /// Refuses the job of a user who has too many that wait.
    ///
    /// # Errors
    /// It has.
    fn may_wait(&mut self) -> Result<(), Error> {
        let uid = self.peer.uid;
        let (jobs, bytes) = self.ledger.read(|books| books.waiting_of(uid))?;
        if jobs < WAITING.0 && bytes < WAITING.1 {
            return Ok(());
        }
        let why =
            format!("{jobs} jobs of user {uid} wait, with {bytes} bytes: one of them goes first");
        Err(Error::Refused(Refusal::Busy(Reason::Rule(why.into()))))
    }
}

fn registered(leases: Vec<OutsideLease>) -> NodeAnswer {
    NodeAnswer::Registered {
        leases: leases.into_iter().map(OutsideLease::row).collect(),
    }
}

fn load(served: &Served) -> Result<Node, Error> {
    let mut node = Node::load(&served.machine, &served.live, &mut |_| {})?;
    node.open_bare()?;
    Ok(node)
}

/// Reads what a client has sent in JSON.
fn read<T: serde::de::DeserializeOwned>(what: &str, text: &str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|error| Error::malformed(format_args!("{what}: {error}")))
}
