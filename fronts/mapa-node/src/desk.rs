//! How `mapa run` reaches the ledger: by its file, or by the daemon that serves it.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use mapa_front::answer::Decision;
use mapa_front::answer::node::{Grant, GrantedDevice, NodeAnswer, NodeQuery, RunQuery};
use mapa_live::DriverSnapshot as Drivers;
use mapa_live::{Identity, Processes};

use crate::acquire::{
    AcquireContext, AcquireOutcome, AcquireRequest, Granted, Unbegun, WaitStatus, unbegun,
};
use crate::client::{AskError, Client, socket_of};
use crate::error::Error;
use crate::job_process::RunEvents;
use crate::ledger::{DeviceKey, Durability, Lease, Ledger, Requester};
use crate::node::Node;
use crate::output::Output;

/// How long a daemon that has gone is awaited before those who may write its ledger go on without it.
const RESTART: Duration = Duration::from_secs(1);

/// How often a daemon that has gone is looked for.
const AGAIN: Duration = Duration::from_millis(300);

/// How often in a row a daemon may close the connection of a job without any answer. A daemon that restarts does so once.
const HANGUPS: usize = 5;

/// How long a program that has ended its job looks for a daemon that has gone. Then recovery frees the devices.
const FAREWELL: Duration = Duration::from_secs(3);

/// A ledger, as this program reaches it.
#[derive(Debug)]
pub(crate) enum Books {
    /// Its file.
    File(Ledger),
    /// The daemon whose ledger it is.
    Daemon(Client),
}

impl Books {
    /// The daemon of a ledger if there is one, else its file.
    ///
    /// # Errors
    /// This user may neither ask nor open the file; the file is no ledger.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        if let Some(client) = Client::connect(path)? {
            return Ok(Self::Daemon(client));
        }
        Ok(Self::File(open_file(path)?))
    }

    /// Notes the control group in which all processes of a lease are.
    ///
    /// # Errors
    /// The ledger cannot be written; the daemon has gone.
    pub(crate) fn set_group(&mut self, lease: i64, cgroup: &str) -> Result<(), Error> {
        match self {
            Self::File(ledger) => {
                ledger.change(Durability::Boot, |books| books.set_cgroup(lease, cgroup))?;
            }
            Self::Daemon(client) => {
                let query = NodeQuery::Grouped {
                    lease,
                    cgroup: cgroup.to_owned(),
                };
                let noted = client.note(&query, &mut |_| {});
                noted.map_err(|error| error.told_at(client.socket()))?;
            }
        }
        Ok(())
    }
}

/// Whether a ledger is one that its daemon alone can open, of another user than this one.
pub(crate) fn is_of_another(path: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    let found = path.symlink_metadata();
    own != 0
        && found
            .is_ok_and(|found| found.is_file() && found.mode() & 0o077 == 0 && found.uid() != own)
}

/// Opens a ledger that no daemon serves.
///
/// # Errors
/// Another user's daemon alone can open it; it is no ledger.
pub(crate) fn open_file(path: &Path) -> Result<Ledger, Error> {
    if is_of_another(path) {
        return Err(Error::at(
            path.display(),
            "it is the ledger of a daemon, which does not answer: expected `mapa-node` to run. An administrator starts it (systemctl start mapa-node), or gives the ledger back to its group (docs/scheduler-daemon.md)",
        ));
    }
    Ledger::open(path)
}

/// Where a job gets its devices, and gives them back.
pub(crate) struct Desk<'a> {
    /// The ledger.
    pub books: Books,
    /// The file of the ledger.
    pub path: PathBuf,
    /// The machine, as this program found it last. A daemon may partition devices meanwhile.
    pub node: Rc<Node>,
    /// Reads the machine anew: its links have changed.
    pub reload: &'a dyn Fn() -> Result<Node, Error>,
    /// The processes of this boot.
    pub processes: &'a Processes,
    /// Queries the drivers: called for each attempt that decides.
    pub drivers: &'a dyn Fn() -> Result<Drivers, Error>,
    /// Where warnings for the owner of a job are printed.
    pub output: Output,
}

/// How a wait at the daemon ended.
enum Waited {
    /// With devices, or by a signal.
    Done(AcquireOutcome, Option<String>),
    /// The daemon has gone; the place in the queue, if there is one.
    Lost(Option<i64>),
}

impl Desk<'_> {
    /// Acquires devices, and waits for them if the request says so. Calls `on_wait` whenever position or reason change.
    /// Returns the mark of the lease too, if there is one.
    ///
    /// # Errors
    /// The refusal; the ledger cannot be used.
    pub(crate) fn acquire(
        &mut self,
        want: &AcquireRequest<'_>,
        query: &RunQuery,
        happenings: &RunEvents,
        on_wait: &mut dyn FnMut(&WaitStatus),
    ) -> Result<(AcquireOutcome, Option<String>), Error> {
        let (mut ticket, mut is_lost, mut hangups) = (None, false, 0);
        loop {
            let query = &RunQuery {
                again: is_lost,
                ..query.clone()
            };
            let waited = match &mut self.books {
                Books::File(ledger) => {
                    // A daemon may have decided, and was killed before it said so.
                    if is_lost && ticket.is_none() {
                        match ledger.read(|books| unbegun(books, want.asker))? {
                            Some(Unbegun::Ticket(place)) => ticket = Some(place),
                            Some(Unbegun::Lease(lease)) => {
                                let mark = ledger.mark(lease.id);
                                let granted = granted(*lease, None, &self.node);
                                let outcome = AcquireOutcome::Granted(Box::new(granted));
                                return Ok((outcome, Some(mark)));
                            }
                            None => {}
                        }
                    }
                    let mut context = AcquireContext {
                        ledger,
                        node: self.node.clone(),
                        reload: self.reload,
                        processes: self.processes,
                        drivers: self.drivers,
                    };
                    let outcome = context.acquire(want, ticket, happenings, on_wait);
                    self.node = context.node;
                    let outcome = outcome?;
                    let mark = match &outcome {
                        AcquireOutcome::Granted(granted) => Some(ledger.mark(granted.lease.id)),
                        AcquireOutcome::Signal(_) => None,
                    };
                    return Ok((outcome, mark));
                }
                Books::Daemon(client) => {
                    let asked = Asked {
                        client,
                        node: &self.node,
                        asker: want.asker,
                        output: self.output,
                    };
                    let waited = asked.wait(query, ticket, happenings, on_wait);
                    happenings.wake_by(None);
                    waited?
                }
            };
            match waited {
                Waited::Done(outcome, mark) => return Ok((outcome, mark)),
                Waited::Lost(place) => (ticket, is_lost) = (place, true),
            }
            // A job without a place has had no answer. A job with a place keeps it, and may wait for days.
            hangups += usize::from(ticket.is_none());
            if hangups == HANGUPS {
                return Err(Error::at(
                    socket_of(&self.path).display(),
                    "the daemon hangs up without an answer: expected one of this version (systemctl status mapa-node)",
                ));
            }
            if let Some(signal) = self.find_again(happenings)? {
                // The place in the queue ends with this program.
                return Ok((AcquireOutcome::Signal(signal), None));
            }
        }
    }

    /// Looks for a daemon that has gone until there is one again, or this user may go on without it. Returns the signal
    /// that ends the wait.
    ///
    /// # Errors
    /// Another user's program answers at its socket.
    fn find_again(&mut self, happenings: &RunEvents) -> Result<Option<i32>, Error> {
        let (begun, mut is_told) = (Instant::now(), false);
        loop {
            // Before the first attempt: a daemon that closes every connection would be asked without a pause.
            if let Some(signal) = happenings.pause(AGAIN) {
                return Ok(Some(signal));
            }
            if let Some(client) = Client::connect(&self.path)? {
                self.books = Books::Daemon(client);
                return Ok(None);
            }
            if begun.elapsed() > RESTART {
                if let Ok(ledger) = open_file(&self.path) {
                    self.books = Books::File(ledger);
                    return Ok(None);
                }
                if !is_told {
                    self.output
                        .aside("the daemon has gone: this job keeps its place and waits for it");
                    is_told = true;
                }
            }
        }
    }

    /// Notes the process of a command, and the control group that it is in.
    ///
    /// # Errors
    /// The lease has ended; the ledger cannot be written; the daemon has gone.
    pub(crate) fn note_command(
        &mut self,
        lease: i64,
        child: &Identity,
        cgroup: Option<&str>,
    ) -> Result<(), Error> {
        let (begun, output) = (Instant::now(), self.output);
        loop {
            let lost = match &mut self.books {
                Books::File(ledger) => {
                    return ledger.change(Durability::Boot, |books| {
                        books.set_command_process(lease, child, cgroup)
                    });
                }
                Books::Daemon(client) => {
                    let query = NodeQuery::Started {
                        lease,
                        pid: child.id.pid,
                        start: child.id.start,
                        namespace: child.namespace,
                        cgroup: cgroup.map(str::to_owned),
                    };
                    match client.note(&query, &mut |text| output.aside(text)) {
                        Ok(()) => return Ok(()),
                        Err(AskError::Told(error)) => return Err(error),
                        Err(lost) => lost.told_at(client.socket()),
                    }
                }
            };
            // It may have waited for days: a daemon that is started anew costs it nothing.
            if begun.elapsed() > FAREWELL {
                return Err(lost);
            }
            self.look_again(begun)?;
        }
    }

    /// Looks for a daemon that has gone, or for its ledger, after a while.
    ///
    /// # Errors
    /// Another user's program answers at its socket.
    fn look_again(&mut self, begun: Instant) -> Result<(), Error> {
        std::thread::sleep(AGAIN);
        if let Some(client) = Client::connect(&self.path)? {
            self.books = Books::Daemon(client);
        } else if begun.elapsed() > RESTART
            && let Ok(ledger) = open_file(&self.path)
        {
            self.books = Books::File(ledger);
        }
        Ok(())
    }

    /// Releases a lease whose command has ended with this exit status, if it has begun.
    ///
    /// # Errors
    /// The ledger cannot be written; the daemon has gone.
    pub(crate) fn free(
        &mut self,
        lease: &Lease,
        reason: &str,
        status: Option<u8>,
    ) -> Result<(), Error> {
        let (begun, output) = (Instant::now(), self.output);
        let mut is_again = false;
        loop {
            let failed = match &mut self.books {
                Books::File(ledger) => {
                    let mut context = AcquireContext {
                        ledger,
                        node: self.node.clone(),
                        reload: self.reload,
                        processes: self.processes,
                        drivers: self.drivers,
                    };
                    return context.free(lease, reason, status);
                }
                Books::Daemon(client) => {
                    let query = NodeQuery::Ended {
                        lease: lease.id,
                        reason: reason.to_owned(),
                        status,
                    };
                    match client.note(&query, &mut |text| output.aside(text)) {
                        Ok(()) => return Ok(()),
                        // It was noted, and the answer was lost.
                        Err(AskError::Told(_)) if is_again => return Ok(()),
                        Err(AskError::Told(error)) => return Err(error),
                        Err(lost) => lost.told_at(client.socket()),
                    }
                }
            };
            if begun.elapsed() > FAREWELL {
                return Err(failed);
            }
            self.look_again(begun)?;
            is_again = true;
        }
    }

    /// Has [`RunEvents`] tell when the daemon has something for the owner of a lease.
    pub(crate) fn listen(&self, happenings: &RunEvents) {
        if let Books::Daemon(client) = &self.books {
            happenings.wake_by(client.forward().ok());
        }
    }

    /// Prints what the daemon has for the owner of a lease.
    pub(crate) fn hear(&mut self, happenings: &RunEvents) {
        let Books::Daemon(client) = &mut self.books else {
            return;
        };
        loop {
            match client.ready() {
                Ok(Some(NodeAnswer::Notice { text })) => self.output.aside(text),
                Ok(Some(_)) => {}
                Ok(None) => return,
                // It is looked for when the command has ended.
                Err(_) => return happenings.wake_by(None),
            }
        }
    }
}

/// A job that asks the daemon for devices.
struct Asked<'a> {
    client: &'a mut Client,
    node: &'a Node,
    asker: &'a Requester,
    output: Output,
}

impl Asked<'_> {
    fn wait(
        self,
        query: &RunQuery,
        mut ticket: Option<i64>,
        happenings: &RunEvents,
        on_wait: &mut dyn FnMut(&WaitStatus),
    ) -> Result<Waited, Error> {
        let first = match ticket {
            Some(ticket) => NodeQuery::Resume { ticket },
            None => NodeQuery::Run {
                request: Box::new(query.clone()),
            },
        };
        if self.client.send(&first).is_err() {
            return Ok(Waited::Lost(ticket));
        }
        happenings.wake_by(self.client.forward().ok());
        loop {
            match self.client.ready() {
                Ok(Some(NodeAnswer::Queued {
                    ticket: place,
                    position,
                    length,
                    reason,
                })) => {
                    ticket = Some(place);
                    on_wait(&WaitStatus {
                        position,
                        queue_length: length,
                        reason,
                    });
                }
                Ok(Some(NodeAnswer::Granted { grant })) => {
                    let mark = format!("{}:{}", grant.ledger, grant.lease);
                    let decision = grant.decision.clone();
                    let granted = granted(lease_of(*grant, self.asker), decision, self.node);
                    let outcome = AcquireOutcome::Granted(Box::new(granted));
                    return Ok(Waited::Done(outcome, Some(mark)));
                }
                Ok(Some(NodeAnswer::Notice { text })) => self.output.aside(text),
                Ok(Some(_)) => return Err(self.client.unexpected()),
                Ok(None) => {
                    let Some(signal) = happenings.pause(Duration::from_secs(3600)) else {
                        continue;
                    };
                    if let Some(ticket) = ticket {
                        let cancel = NodeQuery::Cancel {
                            ticket,
                            reason: format!("signal {signal} ended the wait"),
                        };
                        // Without an answer the place ends with this program.
                        drop(self.client.note_soon(&cancel));
                    }
                    return Ok(Waited::Done(AcquireOutcome::Signal(signal), None));
                }
                Err(AskError::Lost(_)) => return Ok(Waited::Lost(ticket)),
                Err(AskError::Told(error)) => return Err(error),
            }
        }
    }
}

/// What a lease gives.
fn granted(lease: Lease, decision: Option<Decision>, node: &Node) -> Granted {
    let placement = lease.devices.iter().filter_map(|key| node.device(key));
    Granted {
        placement: placement.collect(),
        decision,
        lease,
    }
}

/// A lease as the daemon tells it.
fn lease_of(grant: Grant, asker: &Requester) -> Lease {
    Lease {
        id: grant.lease,
        asker: asker.clone(),
        child: None,
        adopted: false,
        devices: keys(grant.devices),
        granted: grant.since_ns,
        expires: grant.expires_ns,
        deadline: grant.deadline_ns,
        ticket: grant.ticket,
        cgroup: None,
        limited: None,
        owner: None,
    }
}

/// Devices as the socket names them.
pub(crate) fn named(devices: Vec<DeviceKey>) -> Vec<GrantedDevice> {
    let name = |key: DeviceKey| GrantedDevice {
        whole: key.whole,
        part: key.part,
    };
    devices.into_iter().map(name).collect()
}

/// Devices as the ledger names them.
pub(crate) fn keys(devices: Vec<GrantedDevice>) -> Vec<DeviceKey> {
    let key = |device: GrantedDevice| DeviceKey {
        whole: device.whole,
        part: device.part,
    };
    devices.into_iter().map(key).collect()
}
