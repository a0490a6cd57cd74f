//! Whom the daemon answers: a Unix socket for its state, HTTP for its counters, a socket at which
//! tenants tell how long requests took, and the log.

mod http;
pub(crate) mod latencies;
mod log;
mod socket;

use std::path::Path;
use std::sync::Arc;

use crate::daemon::{InboxSender, ServiceConfig, SharedStatus};
use crate::error::Error;

pub(crate) use log::{LogFormat, log};
pub use socket::gid;

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

/// Begins to answer.
///
/// # Errors
/// A socket cannot be made.
pub(crate) fn serve(
    config: &ServiceConfig,
    shared: &Arc<SharedStatus>,
    outside: &InboxSender,
    ledger: &Path,
) -> Result<ServiceHandles, Error> {
    let mut served = ServiceHandles::default();
    if let Some(path) = &config.socket {
        socket::serve(path, config.group.as_deref(), shared, ledger)?;
        served.files.push(path.clone());
    }
    if let Some(path) = &config.latencies {
        latencies::serve(path, config.group.as_deref(), outside)?;
        served.files.push(path.clone());
    }
    if let Some(address) = config.metrics {
        http::serve(address, shared)?;
    }
    Ok(served)
}
