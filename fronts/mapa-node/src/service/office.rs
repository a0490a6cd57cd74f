//! The threads that answer the queries of the socket, each with the ledger open.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use mapa_front::answer::node::{NodeAnswer, NodeQuery};

use super::clerk::note;
use super::decider::decide;
use super::work::{DECIDERS, Done, Peer, Served, Task, Work, WorkQueue, told};
use crate::error::Error;
use crate::ledger::Ledger;
use crate::mailbox::Mailbox;
use crate::release;

/// How many leases one user may have ended by `release` at one time. Each takes a thread, for seconds.
const RELEASES: usize = 4;

/// The threads that answer.
#[derive(Debug)]
pub(super) struct Office {
    deciders: Arc<WorkQueue>,
    clerk: Arc<WorkQueue>,
    done: Arc<Mailbox<Done>>,
    served: Served,
    /// How many leases are being ended, by user.
    releases: Arc<Mutex<BTreeMap<u32, usize>>>,
}

impl Office {
    /// Starts the threads. What they have done comes to the mailbox.
    ///
    /// # Errors
    /// The ledger, or the machine, cannot be read.
    pub(super) fn open(served: &Served, done: &Arc<Mailbox<Done>>) -> Result<Self, Error> {
        let (deciders, clerk) = (
            Arc::new(WorkQueue::default()),
            Arc::new(WorkQueue::default()),
        );
        for _ in 0..DECIDERS {
            let (queue, done, served) = (deciders.clone(), done.clone(), served.clone());
            let mut ledger = Ledger::open(&served.ledger)?;
            thread::spawn(move || decide(&queue, &done, &served, &mut ledger));
        }
        let mut ledger = Ledger::open(&served.ledger)?;
        let (queue, to) = (clerk.clone(), done.clone());
        thread::spawn(move || note(&queue, &to, &mut ledger));
        Ok(Self {
            deciders,
            clerk,
            done: done.clone(),
            served: served.clone(),
            releases: Arc::default(),
        })
    }

    /// Has something done.
    pub(super) fn put(&self, work: Work) {
        match &work.task {
            Task::Query(NodeQuery::Release { lease, force }) => {
                let which = (*lease, *force);
                self.release(work, which);
            }
            Task::Fetch(_)
            | Task::Look
            | Task::Query(
                NodeQuery::Resume { .. }
                | NodeQuery::Cancel { .. }
                | NodeQuery::Started { .. }
                | NodeQuery::Grouped { .. }
                | NodeQuery::Ended { .. },
            ) => self.clerk.put(work),
            Task::Query(_) | Task::Text(_) => self.deciders.put(work),
        }
    }

    /// Ends a lease, in a thread of its own: processes are given time to end.
    fn release(&self, work: Work, which: (i64, bool)) {
        let uid = work.peer.uid;
        let mut counts = self.releases.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(uid).or_default();
        let done = self.done.clone();
        if *count >= RELEASES {
            let error = format!(
                "release: {RELEASES} leases are being ended for user {uid}: expected to wait for them"
            );
            let answer = NodeAnswer::Error {
                error,
                failed: true,
            };
            return done.post(work.answered(answer));
        }
        *count += 1;
        drop(counts);
        let (path, releases) = (self.served.ledger.clone(), self.releases.clone());
        thread::spawn(move || {
            let answer = end_lease(&path, &work.peer, which).unwrap_or_else(|error| told(&error));
            let mut counts = releases.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(count) = counts.get_mut(&uid) {
                *count -= 1;
            }
            counts.retain(|_, count| *count > 0);
            done.post(work.answered(answer));
        });
    }
}

fn end_lease(path: &Path, peer: &Peer, which: (i64, bool)) -> Result<NodeAnswer, Error> {
    let mut ledger = Ledger::open(path)?;
    ledger.write_for(peer.uid);
    let leases = ledger.read(|books| books.leases())?;
    if let Some(lease) = leases.iter().find(|lease| lease.id == which.0)
        && lease.asker.uid != peer.uid
    {
        peer.operates(&format!(
            "lease {} is of user {}",
            lease.id, lease.asker.uid
        ))?;
    }
    let released = release::end(&mut ledger, which, (&peer.name(), peer.uid))?;
    Ok(NodeAnswer::Release { released })
}
