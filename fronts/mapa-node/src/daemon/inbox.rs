//! Messages to the daemon while it waits: wake-ups, latencies, progress, and the end.
//!
//! Any user whom the socket of latencies lets in may send as fast as it can. So reports wait in a queue of each user
//! and tenant, and are taken in turns: who floods the daemon fills the room of its own reports. A wake-up or the end of the
//! daemon waits behind none of them.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The most reports that wait. Of more, those of whoever has most there are dropped and counted.
const WAITING: usize = 1 << 16;

/// The most names of tenants of which reports of one user wait.
const TENANTS: usize = 256;

/// The most messages that are taken before the scheduler gets its events and the ledger is polled.
pub(crate) const TURN: usize = 4096;

/// What a tenant tells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Told {
    /// It has answered a request, which took so many nanoseconds.
    Latency(u64),
    /// This share of its work is done, from 0 to 1.
    Progress(f64),
}

/// A report of a tenant.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Report {
    /// The user who sends it, by the kernel's word.
    pub uid: u32,
    /// The name of the tenant, or `lease-` and the number of its lease.
    pub tenant: String,
    /// What it tells.
    pub told: Told,
}

/// A message.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum InboxMessage {
    /// Something has changed in the ledger.
    Wakeup,
    /// A tenant tells something.
    Report(Report),
    /// The daemon shall end.
    Stop(i32),
}

/// Queues that are taken from in turns, by their names.
#[derive(Debug)]
struct Turns<K, Q> {
    queues: BTreeMap<K, Q>,
    /// Whose turn it was last.
    last: Option<K>,
}

impl<K, Q> Default for Turns<K, Q> {
    fn default() -> Self {
        Self {
            queues: BTreeMap::new(),
            last: None,
        }
    }
}

impl<K: Clone + Ord, Q> Turns<K, Q> {
    /// Takes from the queue whose turn it is. `take` says what it has taken, and whether the queue is empty now.
    fn take<T>(&mut self, take: impl FnOnce(&mut Q) -> (T, bool)) -> Option<T> {
        let after = self.last.take().map_or(Bound::Unbounded, Bound::Excluded);
        let next = self.queues.range((after, Bound::Unbounded)).next();
        let name = next.or_else(|| self.queues.iter().next())?.0.clone();
        let (taken, is_empty) = take(self.queues.get_mut(&name)?);
        if is_empty {
            self.queues.remove(&name);
        }
        self.last = Some(name);
        Some(taken)
    }
}

/// The reports of one user.
#[derive(Debug, Default)]
struct OfUser {
    count: usize,
    tenants: Turns<String, VecDeque<Told>>,
}

#[derive(Debug, Default)]
struct Waiting {
    is_woken: bool,
    signal: Option<i32>,
    count: usize,
    users: Turns<u32, OfUser>,
}

impl Waiting {
    /// False if a report was dropped for it: this one, or the last of whoever has most.
    fn put(&mut self, report: Report) -> bool {
        let user = self.users.queues.entry(report.uid).or_default();
        let tenants = &mut user.tenants.queues;
        if tenants.len() >= TENANTS && !tenants.contains_key(&report.tenant) {
            return false;
        }
        let queue = tenants.entry(report.tenant).or_default();
        queue.push_back(report.told);
        user.count += 1;
        self.count += 1;
        if self.count <= WAITING {
            return true;
        }
        let users = self.users.queues.values_mut();
        if let Some(user) = users.max_by_key(|user| user.count)
            && let Some(queue) = user
                .tenants
                .queues
                .values_mut()
                .max_by_key(|queue| queue.len())
            && queue.pop_back().is_some()
        {
            user.count -= 1;
            self.count -= 1;
        }
        false
    }

    fn take(&mut self) -> Option<InboxMessage> {
        if let Some(signal) = self.signal.take() {
            return Some(InboxMessage::Stop(signal));
        }
        if std::mem::take(&mut self.is_woken) {
            return Some(InboxMessage::Wakeup);
        }
        let (uid, tenant, told) = self
            .users
            .take(|user| {
                let taken = user.tenants.take(|queue| {
                    let told = queue.pop_front();
                    (told, queue.is_empty())
                });
                user.count = user.count.saturating_sub(1);
                (
                    (user.tenants.last.clone(), taken),
                    user.tenants.queues.is_empty(),
                )
            })
            .map(|(tenant, told)| (self.users.last, tenant, told))?;
        self.count = self.count.saturating_sub(1);
        Some(InboxMessage::Report(Report {
            uid: uid?,
            tenant: tenant?,
            told: told??,
        }))
    }
}

/// Messages that wait, and who waits for them.
#[derive(Debug, Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    came: Condvar,
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where messages are sent to.
#[derive(Clone, Debug)]
pub(crate) struct InboxSender(Arc<Shared>);

impl InboxSender {
    /// Sends a message. False if a report was dropped, because too many wait.
    pub(crate) fn tell(&self, message: InboxMessage) -> bool {
        let mut waiting = self.0.waiting();
        let is_taken = match message {
            InboxMessage::Report(report) => waiting.put(report),
            InboxMessage::Wakeup => {
                waiting.is_woken = true;
                true
            }
            InboxMessage::Stop(signal) => {
                waiting.signal = Some(signal);
                true
            }
        };
        drop(waiting);
        self.0.came.notify_one();
        is_taken
    }
}

/// Where messages arrive.
#[derive(Debug)]
pub(crate) struct Inbox(Arc<Shared>);

/// A way into the daemon, and where it ends.
pub(crate) fn inbox() -> (InboxSender, Inbox) {
    let shared = Arc::new(Shared::default());
    (InboxSender(shared.clone()), Inbox(shared))
}

impl Inbox {
    /// The next message, if one comes in time.
    pub(crate) fn next(&self, within: Duration) -> Option<InboxMessage> {
        let begun = Instant::now();
        let mut waiting = self.0.waiting();
        loop {
            if let Some(message) = waiting.take() {
                return Some(message);
            }
            let left = within.checked_sub(begun.elapsed())?;
            let woken = self.0.came.wait_timeout(waiting, left);
            waiting = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// A message that waits already.
    pub(crate) fn waiting(&self) -> Option<InboxMessage> {
        self.0.waiting().take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(uid: u32, tenant: &str, ns: u64) -> InboxMessage {
        InboxMessage::Report(Report {
            uid,
            tenant: tenant.to_owned(),
            told: Told::Latency(ns),
        })
    }

    #[test]
    fn whoever_floods_fills_the_room_of_its_own_reports_alone() {
        let (to, inbox) = inbox();
        for at in 0..2 * WAITING as u64 {
            to.tell(report(7, "noisy", at));
            // Under new names, too.
            to.tell(report(9, &format!("x{at}"), at));
        }
        for at in 0..1000 {
            // Another user, and another tenant of the same one.
            to.tell(report(8, "api", at));
            to.tell(report(7, "web", at));
        }
        to.tell(InboxMessage::Wakeup);
        to.tell(InboxMessage::Stop(15));
        assert_eq!(inbox.waiting(), Some(InboxMessage::Stop(15)));
        assert_eq!(inbox.waiting(), Some(InboxMessage::Wakeup));
        let mut found: BTreeMap<(u32, String), Vec<u64>> = BTreeMap::new();
        let mut count = 0;
        while let Some(InboxMessage::Report(report)) = inbox.waiting() {
            count += 1;
            let Told::Latency(ns) = report.told else {
                panic!("{report:?}")
            };
            found
                .entry((report.uid, report.tenant))
                .or_default()
                .push(ns);
            if count == 3000 {
                let of_api = &found[&(8, "api".to_owned())];
                assert_eq!(of_api.len(), 1000, "each user has its turn");
            }
        }
        assert_eq!(count, WAITING);
        let all: Vec<u64> = (0..1000).collect();
        assert_eq!(found[&(8, "api".to_owned())], all);
        assert_eq!(found[&(7, "web".to_owned())], all);
        assert_eq!(found.len(), TENANTS + 3);
    }
}
