//! Watching the health of devices.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use crate::error::Error;
use crate::found::NoAnswer;
use crate::health::HealthChange;
use crate::live::Live;

/// Devices whose health is watched, until this is dropped.
///
/// A thread of its own waits for the driver, so a driver that hangs blocks no caller. It holds
/// its own handle of NVML; what discovery does with its handle does not disturb it.
#[derive(Debug)]
pub struct Watch {
    changes: Receiver<HealthChange>,
    stop: Arc<AtomicBool>,
}

impl Watch {
    /// The next change, if one comes within the limit. Changes are reported in the order in which the
    /// driver reports them; devices that were lost before the watch began are among them.
    ///
    /// # Errors
    /// [Unavailable](Error::is_unavailable): the driver failed, and nothing is watched any longer.
    pub fn next(&self, limit: Duration) -> Result<Option<HealthChange>, Error> {
        match self.changes.recv_timeout(limit) {
            Ok(change) => Ok(Some(change)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(Error::unavailable(
                "nvml: the driver failed while devices were watched".to_owned(),
            )),
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // The thread is not waited for: it may be in a call of a driver that hangs.
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Watches the health of this machine's NVIDIA devices: errors that the driver reports (Xid), devices
/// that are lost, and those that come back.
///
/// # Examples
/// ```no_run
/// use std::time::Duration;
///
/// use mapa_live::{Health, Live, is_of_program, watch};
///
/// let watch = watch(&Live::default())?;
/// while let Some(change) = watch.next(Duration::from_secs(60))? {
///     match change.what {
///         Health::Xid(Some(xid)) if is_of_program(xid) => {}
///         what => println!("device {}: {what:?}", change.index),
///     }
/// }
/// # Ok::<(), mapa_live::Error>(())
/// ```
///
/// # Errors
/// [Unavailable](Error::is_unavailable): there is no NVML, or it does not answer within
/// [`Live::time_limit`].
pub fn watch(live: &Live) -> Result<Watch, Error> {
    let stop = Arc::new(AtomicBool::new(false));
    match start(live, stop.clone()) {
        Ok(changes) => Ok(Watch { changes, stop }),
        Err(NoAnswer::Absent(what) | NoAnswer::Failed(what)) => {
            // A thread that hangs ends if its call ever returns.
            stop.store(true, Ordering::Relaxed);
            Err(Error::unavailable(format!("nvml: {what}")))
        }
    }
}

#[cfg(all(feature = "nvml", target_os = "linux"))]
fn start(live: &Live, stop: Arc<AtomicBool>) -> Result<Receiver<HealthChange>, NoAnswer> {
    crate::nvml::watch(&live.nvml, live.time_limit, stop)
}

#[cfg(not(all(feature = "nvml", target_os = "linux")))]
fn start(_: &Live, _: Arc<AtomicBool>) -> Result<Receiver<HealthChange>, NoAnswer> {
    Err(NoAnswer::Absent(
        "not in this build: expected one for Linux with the feature `nvml`".to_owned(),
    ))
}
