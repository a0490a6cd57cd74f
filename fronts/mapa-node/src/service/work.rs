//! What the threads behind the socket are to do, and what they have done.
//!
//! Users take turns, and none of them has every thread, so a user who asks thousands of times delays no other by more than
//! one query of each user.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, PoisonError};

use mapa_front::MachineSpec;
use mapa_front::answer::node::{Grant, NODE_VERSION, NodeAnswer, NodeQuery, SocketAnswer};
use mapa_live::{Identity, Live};

use crate::desk::named;
use crate::error::Error;
use crate::ledger::Lease;
use crate::memory::user_of;

/// How many threads decide.
pub(super) const DECIDERS: usize = 3;

/// How many of them work for one user at most.
const SHARE: usize = DECIDERS - 1;

/// How many notes one transaction takes at most. Others wait for the ledger meanwhile.
const BATCH: usize = 256;

/// The most bytes of a command that the ledger keeps.
pub(super) const COMMAND: usize = 4096;

/// Who asks, as the kernel says.
#[derive(Clone, Debug)]
pub(super) struct Peer {
    /// The user.
    pub uid: u32,
    /// The process.
    pub process: Identity,
}

impl Peer {
    /// The user, as the audit names it.
    pub(super) fn name(&self) -> String {
        user_of(self.uid)
    }

    /// Whether it may do what concerns all: as root, or as the user of the daemon.
    pub(super) fn is_operator(&self) -> bool {
        self.uid == 0 || self.uid == rustix::process::geteuid().as_raw()
    }

    /// Refuses whoever is no operator.
    ///
    /// # Errors
    /// It is none.
    pub(super) fn operates(&self, what: &str) -> Result<(), Error> {
        if self.is_operator() {
            return Ok(());
        }
        Err(Error::malformed(format_args!(
            "{what}: you are user {}: expected root, or the user of the daemon",
            self.uid
        )))
    }
}

/// A query, or what the service needs to know.
#[derive(Debug)]
pub(super) enum Task {
    /// What a session asks.
    Query(NodeQuery),
    /// What a session asks, in JSON: a job with many edges, which takes a while to read.
    Text(Vec<u8>),
    /// Whether a ticket has an answer.
    Fetch(i64),
    /// Who waits, and why.
    Look,
}

/// What is to be done, and for which session.
#[derive(Debug)]
pub(super) struct Work {
    pub session: u64,
    pub peer: Peer,
    pub task: Task,
}

/// What was done.
#[derive(Debug)]
pub(super) enum Done {
    /// The answer to something, and in JSON, which takes a while where it is long; none to a ticket that has none yet.
    Answer {
        work: Work,
        answer: Option<Box<(NodeAnswer, Vec<u8>)>>,
    },
    /// Who waits, first come first, and why.
    Waiting(Vec<(i64, String)>),
}

/// The machine whose ledger is served.
#[derive(Clone, Debug)]
pub(crate) struct Served {
    /// The file of the ledger.
    pub ledger: PathBuf,
    /// How the machine is named.
    pub machine: MachineSpec,
    /// How it is discovered, and its drivers are asked.
    pub live: Live,
    /// Whether the drivers are asked who uses devices.
    pub check_drivers: bool,
}

/// What waits for a thread, by user.
#[derive(Debug, Default)]
struct Turns {
    by_user: BTreeMap<u32, VecDeque<Work>>,
    /// The user who was served last.
    last: u32,
    /// For how many threads users have work in hand.
    busy: BTreeMap<u32, usize>,
}

impl Turns {
    /// The next in turn among users who have fewer than `share` threads.
    fn next(&mut self, share: usize) -> Option<Work> {
        let may = |(uid, _): &(&u32, &VecDeque<Work>)| {
            self.busy.get(*uid).is_none_or(|&count| count < share)
        };
        let after = self.by_user.range(self.last.saturating_add(1)..).find(may);
        let (&uid, _) = after.or_else(|| self.by_user.iter().find(may))?;
        let queue = self.by_user.get_mut(&uid)?;
        let work = queue.pop_front();
        if queue.is_empty() {
            self.by_user.remove(&uid);
        }
        self.last = uid;
        work
    }
}

/// Work for threads of one kind.
#[derive(Debug, Default)]
pub(super) struct WorkQueue {
    turns: Mutex<Turns>,
    came: Condvar,
}

impl WorkQueue {
    pub(super) fn put(&self, work: Work) {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        let queue = turns.by_user.entry(work.peer.uid).or_default();
        queue.push_back(work);
        self.came.notify_one();
    }

    /// The next in turn, which is waited for; its user has one more thread.
    pub(super) fn take(&self) -> Work {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(work) = turns.next(SHARE) {
                *turns.busy.entry(work.peer.uid).or_default() += 1;
                return work;
            }
            turns = self
                .came
                .wait(turns)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A user has one thread less.
    pub(super) fn leave(&self, uid: u32) {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = turns.busy.get_mut(&uid) {
            *count -= 1;
            if *count == 0 {
                turns.busy.remove(&uid);
            }
        }
        // Another thread may have left work of this user alone.
        self.came.notify_one();
    }

    /// All that one transaction takes, users in turn.
    pub(super) fn take_all(&self) -> Vec<Work> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let mut batch = Vec::new();
            while batch.len() < BATCH
                && let Some(work) = turns.next(usize::MAX)
            {
                batch.push(work);
            }
            if !batch.is_empty() {
                return batch;
            }
            turns = self
                .came
                .wait(turns)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Work {
    pub(super) fn answered(self, answer: NodeAnswer) -> Done {
        Done::Answer {
            work: self,
            answer: Some(Box::new(text_of(answer))),
        }
    }
}

/// An error, as an answer.
pub(super) fn told(error: &Error) -> NodeAnswer {
    match error {
        Error::Refused(refusal) => NodeAnswer::Refused {
            kind: refusal.kind().to_owned(),
            reason: refusal.to_string(),
        },
        Error::Malformed(error) => NodeAnswer::Error {
            error: error.clone(),
            failed: false,
        },
        Error::Failed(error) | Error::Storage(error) => NodeAnswer::Error {
            error: error.clone(),
            failed: true,
        },
    }
}

/// An answer, and in JSON, one line.
pub(super) fn text_of(answer: NodeAnswer) -> (NodeAnswer, Vec<u8>) {
    let answer = SocketAnswer {
        version: NODE_VERSION,
        result: answer,
    };
    let mut text = serde_json::to_vec(&answer).unwrap_or_default();
    text.push(b'\n');
    (answer.result, text)
}

/// A text, at most so many bytes of it.
pub(super) fn shortened(text: &str, most: usize) -> &str {
    let starts = text.char_indices().map(|(start, _)| start);
    let end = starts.chain([text.len()]).take_while(|&end| end <= most);
    &text[..end.last().unwrap_or_default()]
}

/// A lease, as the socket answers it.
pub(super) fn grant_of(ledger: &str, lease: &Lease) -> Grant {
    Grant {
        lease: lease.id,
        ledger: ledger.to_owned(),
        devices: named(lease.devices.clone()),
        since_ns: lease.granted,
        expires_ns: lease.expires,
        deadline_ns: lease.deadline,
        ticket: lease.ticket,
        decision: None,
    }
}
