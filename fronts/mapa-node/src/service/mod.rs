//! Whom the daemon answers: a Unix socket for jobs and for its state, HTTP for its counters, a socket at which
//! tenants tell how long requests took, and the log.

mod clerk;
mod decider;
mod http;
pub(crate) mod latencies;
mod log;
mod office;
mod sessions;
mod socket;
mod work;

use std::sync::Arc;
use std::thread;

use crate::client::socket_of;
use crate::daemon::{DriverNews, InboxSender, ServiceConfig, SharedStatus};
use crate::error::Error;
use crate::ledger::Ledger;
use crate::mailbox::Mailbox;

pub(crate) use log::{LogFormat, log};
pub use socket::gid;
pub(crate) use work::Served;

use sessions::Sessions;

/// What is served, until it is dropped.
#[derive(Debug, Default)]
pub(crate) struct ServiceHandles {
    /// Files of sockets, which are removed at the end.
    files: Vec<std::path::PathBuf>,
}

impl Drop for ServiceHandles {
    fn drop(&mut self) {
        for file in &self.files {
            // One that is gone is what is wanted.
            drop(std::fs::remove_file(file));
        }
    }
}

/// Begins to answer. Those who ask are told what comes to the mailbox.
///
/// # Errors
/// A socket cannot be made.
pub(crate) fn serve(
    config: &ServiceConfig,
    (served, ledger): (&Served, &Ledger),
    shared: &Arc<SharedStatus>,
    outside: &InboxSender,
    news: &Arc<Mailbox<DriverNews>>,
) -> Result<ServiceHandles, Error> {
    let mut handles = ServiceHandles::default();
    let group = config.group.as_deref();
    let socket = socket_of(ledger.path());
    let listener = socket::listen(&socket, group)?;
    handles.files.push(socket);
    let sessions = Sessions::new(listener, (served, ledger.id()), shared, news)?;
    thread::spawn(move || sessions.run());
    if let Some(path) = &config.latencies {
        latencies::serve(path, group, outside, shared)?;
        handles.files.push(path.clone());
    }
    if let Some(address) = config.metrics {
        http::serve(address, shared)?;
    }
    Ok(handles)
}
