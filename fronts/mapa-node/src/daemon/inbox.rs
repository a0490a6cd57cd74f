//! Messages to the daemon while it waits: wake-ups, latencies, progress, and the end.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

/// The most messages that wait. Of more, latencies are dropped and counted.
const WAITING: usize = 1 << 16;

/// The most messages that are taken before the scheduler gets its events and the ledger is polled.
pub(crate) const TURN: usize = 4096;

/// A message.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum InboxMessage {
    /// Something has changed in the ledger.
    Wakeup,
    /// A tenant has answered a request.
    Latency {
        /// Its name, or `lease-` and the number of its lease.
        tenant: String,
        /// How long that took, nanoseconds.
        took_ns: u64,
    },
    /// A job says how much of its work is done.
    Progress {
        /// The name of the tenant, or `lease-` and the number of its lease.
        tenant: String,
        /// From 0 to 1.
        share: f64,
    },
    /// The daemon shall end.
    Stop(i32),
}

/// Where messages are sent to.
#[derive(Clone, Debug)]
pub(crate) struct InboxSender(SyncSender<InboxMessage>);

impl InboxSender {
    /// Sends a message. False if it was dropped, because too many wait.
    pub(crate) fn tell(&self, message: InboxMessage) -> bool {
        match self.0.try_send(message) {
            Ok(()) => true,
            Err(TrySendError::Full(message)) => {
                // Messages that must not be lost wait for room; one pending wake-up is enough.
                matches!(message, InboxMessage::Wakeup)
                    || (!matches!(
                        message,
                        InboxMessage::Latency { .. } | InboxMessage::Progress { .. }
                    ) && self.0.send(message).is_ok())
            }
            Err(TrySendError::Disconnected(_)) => false,
        }
    }
}

/// Where messages arrive.
#[derive(Debug)]
pub(crate) struct Inbox(Receiver<InboxMessage>);

/// A way into the daemon, and where it ends.
pub(crate) fn inbox() -> (InboxSender, Inbox) {
    let (to, from) = sync_channel(WAITING);
    (InboxSender(to), Inbox(from))
}

impl Inbox {
    /// The next message, if one comes in time.
    pub(crate) fn next(&self, within: Duration) -> Option<InboxMessage> {
        match self.0.recv_timeout(within) {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                // Nobody can tell anything any more; time still passes.
                std::thread::sleep(within);
                None
            }
        }
    }

    /// A message that waits already.
    pub(crate) fn waiting(&self) -> Option<InboxMessage> {
        self.0.try_recv().ok()
    }
}
