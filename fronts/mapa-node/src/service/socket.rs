//! The socket at which the daemon answers: one JSON object in, one out, each on a line.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use tracing::{info, warn};

use mapa_front::answer::node::{
    LeaseStatus, NODE_VERSION, NodeAnswer, NodeQuery, SocketAnswer, TicketStatus,
};

use crate::acquire::waiting;
use crate::daemon::SharedStatus;
use crate::error::Error;
use crate::ledger::Ledger;
use crate::memory::peer_of;

/// The most bytes of a question.
const QUESTION: u64 = 4096;

/// The most who are answered at one time.
const CLIENTS: usize = 32;

/// How long somebody may take to ask.
const PATIENCE: Duration = Duration::from_secs(5);

/// Removes the socket of a daemon that has died. One at which somebody answers stays.
///
/// # Errors
/// Somebody answers there, or the file is no socket.
pub(super) fn clear(path: &Path) -> Result<(), Error> {
    use std::os::unix::fs::FileTypeExt;
    let Ok(found) = fs::symlink_metadata(path) else {
        return Ok(());
    };
    let place = path.display();
    if !found.file_type().is_socket() {
        return Err(Error::at(place, "is no socket: expected a free name"));
    }
    // Only connecting tells a live socket from one that a dead daemon left: the file of either looks the same.
    if UnixStream::connect(path).is_ok() {
        return Err(Error::at(
            place,
            "somebody answers there: expected a free name",
        ));
    }
    fs::remove_file(path).map_err(|error| Error::at(place, error))
}

/// Lets owner and group in, and nobody else.
///
/// # Errors
/// There is no such group, or the file cannot be given to it.
pub(super) fn permit(path: &Path, group: Option<&str>) -> Result<(), Error> {
    let failed = |error: std::io::Error| Error::at(path.display(), error);
    // The group comes first: with the mode set first, the daemon's own group would be let in for a moment.
    if let Some(name) = group {
        let gid = gid("service.group", name)?;
        std::os::unix::fs::chown(path, None, Some(gid)).map_err(failed)?;
    }
    fs::set_permissions(path, fs::Permissions::from_mode(0o660)).map_err(failed)
}

/// The number of a group that a key or an option names, by `/etc/group`.
///
/// # Errors
/// There is no such group.
pub fn gid(key: &str, name: &str) -> Result<u32, Error> {
    // A number first, so that a group need not be in the file.
    if let Ok(number) = name.parse() {
        return Ok(number);
    }
    let text = fs::read_to_string("/etc/group").unwrap_or_default();
    let of = |line: &str| {
        let mut fields = line.split(':');
        (fields.next()? == name).then(|| fields.nth(1)?.parse().ok())?
    };
    text.lines().find_map(of).ok_or_else(|| {
        Error::malformed(format_args!(
            "{key} `{name}`: expected a group of /etc/group, or its number"
        ))
    })
}

/// Answers at a socket.
///
/// # Errors
/// The socket cannot be made.
pub(super) fn serve(
    path: &Path,
    group: Option<&str>,
    shared: &Arc<SharedStatus>,
    ledger: &Path,
) -> Result<(), Error> {
    clear(path)?;
    let listener = UnixListener::bind(path).map_err(|error| Error::at(path.display(), error))?;
    permit(path, group)?;
    let (shared, ledger) = (shared.clone(), ledger.to_owned());
    let clients = Arc::new(AtomicUsize::new(0));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // Whoever comes while too many are here is not answered, and may come again.
            if clients.fetch_add(1, Ordering::SeqCst) >= CLIENTS {
                clients.fetch_sub(1, Ordering::SeqCst);
                continue;
            }
            let (shared, ledger, clients) = (shared.clone(), ledger.clone(), clients.clone());
            thread::spawn(move || {
                converse(&stream, &shared, &ledger);
                clients.fetch_sub(1, Ordering::SeqCst);
            });
        }
    });
    Ok(())
}

/// Answers one client until it has nothing more to ask.
fn converse(stream: &UnixStream, shared: &SharedStatus, ledger: &PathBuf) {
    let (pid, uid) = match peer_of(stream) {
        Ok(peer) => peer,
        Err(error) => {
            warn!(%error, "a client without credentials is not answered");
            return;
        }
    };
    if stream.set_read_timeout(Some(PATIENCE)).is_err()
        || stream.set_write_timeout(Some(PATIENCE)).is_err()
    {
        return;
    }
    let mut from = BufReader::new(stream);
    let mut to = stream;
    loop {
        let mut line = Vec::new();
        // `take` bounds the memory that a client can have the daemon use; it begins anew with each question.
        let read = from.by_ref().take(QUESTION).read_until(b'\n', &mut line);
        if !matches!(read, Ok(length) if length > 0) {
            return;
        }
        // A last line may end with the stream.
        let is_whole = line.ends_with(b"\n") || (line.len() as u64) < QUESTION;
        let answer = if is_whole {
            match serde_json::from_slice::<NodeQuery>(&line) {
                Ok(query) => {
                    info!(uid, pid, query = ?query, "query");
                    answer(&query, shared, ledger)
                }
                Err(error) => NodeAnswer::Error {
                    error: format!(
                        "{error}: expected {{\"query\":\"status\"}}, leases, queue or metrics"
                    ),
                },
            }
        } else {
            NodeAnswer::Error {
                error: format!("a query of more than {QUESTION} bytes: expected one line"),
            }
        };
        let answer = SocketAnswer {
            version: NODE_VERSION,
            result: answer,
        };
        let Ok(text) = serde_json::to_string(&answer) else {
            return;
        };
        // The rest of a line that was too long would be read as the next question.
        if writeln!(to, "{text}").is_err() || !is_whole {
            return;
        }
    }
}

fn answer(query: &NodeQuery, shared: &SharedStatus, ledger: &PathBuf) -> NodeAnswer {
    let read = || -> Result<NodeAnswer, Error> {
        Ok(match query {
            NodeQuery::Status {} => NodeAnswer::Status {
                status: Box::new(shared.status()),
            },
            NodeQuery::Metrics {} => NodeAnswer::Metrics {
                text: shared.metrics.text(),
            },
            NodeQuery::Leases {} => {
                // The ledger is opened for each question: the daemon's connection belongs to the thread of the
                // queue.
                let leases = Ledger::open(ledger)?.read(|books| books.leases())?;
                let held = leases.into_iter().map(|lease| LeaseStatus {
                    lease: lease.id,
                    tenant: lease.asker.tenant,
                    uid: lease.asker.uid,
                    devices: lease.devices.iter().map(ToString::to_string).collect(),
                    since_ns: lease.granted,
                    expires_ns: lease.expires,
                    ticket: lease.ticket,
                    pid: lease.child.map(|identity| identity.id.pid),
                });
                NodeAnswer::Leases {
                    leases: held.collect(),
                }
            }
            NodeQuery::Queue {} => {
                let queue = Ledger::open(ledger)?.read(|books| books.queue())?;
                let waits = waiting(&queue).map(|ticket| TicketStatus {
                    ticket: ticket.id,
                    tenant: ticket.asker.tenant.clone(),
                    since_ns: ticket.since,
                    reason: ticket.reason.clone(),
                });
                NodeAnswer::Queue {
                    queue: waits.collect(),
                }
            }
        })
    };
    read().unwrap_or_else(|error| NodeAnswer::Error {
        error: error.to_string(),
    })
}
