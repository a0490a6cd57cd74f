//! Discovery: queries each source in turn, and keeps the answer.

use std::time::SystemTime;

use mapa_topologies::Warning;

use crate::cache::CacheSlot;
use crate::error::Error;
use crate::found::{Discovered, NoAnswer, SourceResult};
use crate::host::HostFiles;
use crate::kfd;
use crate::live::Live;
use crate::nvidia_smi;
use crate::source::{Attempt, Source};

/// Discovers this machine through its drivers, or returns the answer of an earlier call.
///
/// An answer is returned from the cache if it was given on this machine since its last boot, with
/// these versions of the drivers and of this crate, to a caller that sees the same devices, and
/// with the same paths in `live`. Otherwise the sources are queried in the order of
/// [`Source::ALL`]. The first that describes a machine completely enough is taken.
///
/// # Examples
/// ```no_run
/// use mapa_live::{Live, discover};
///
/// let found = discover(&Live::default())?;
/// println!("{} by {}", found.machine.title, found.by);
/// # Ok::<(), mapa_live::Error>(())
/// ```
///
/// # Errors
/// [Unavailable](Error::is_unavailable): no source gave a machine. For each source, the message
/// says where discovery looked for it, and why it gave no machine.
pub fn discover(live: &Live) -> Result<Discovered, Error> {
    let host = HostFiles::new(&live.roots);
    let folder = live.cache.as_deref();
    let slot = folder.and_then(|folder| CacheSlot::new(folder, &host, live));
    if let Some(slot) = &slot
        && !live.refresh
        && let Some(mut kept) = slot.read()
    {
        kept.machine.fabric.set_virtual(host.is_virtual());
        return Ok(kept);
    }
    let mut tried = Vec::new();
    let mut failed = None;
    for source in Source::ALL {
        let mut attempt = Attempt::new(source, live.place(source));
        match ask(source, live, &host) {
            Ok(mut found) => {
                tried.push(attempt);
                found.machine.name = host.name().unwrap_or_else(|| "live".to_owned());
                found.machine.fabric.set_virtual(host.is_virtual());
                // If this source only stands in for one that failed, its answer must not be kept.
                found.unanswered = failed.or(found.unanswered);
                return Ok(keep(found, source, tried, slot.as_ref()));
            }
            // Not a failure: the source will be absent in the next call too, so the answer of
            // another one may be kept.
            Err(NoAnswer::Absent(what)) => attempt.failure = Some(what),
            Err(NoAnswer::Failed(what)) => {
                failed.get_or_insert_with(|| format!("{source}: {what}"));
                attempt.failure = Some(what);
            }
        }
        tried.push(attempt);
    }
    Err(nothing(&tried, failed.is_some()))
}

fn ask(source: Source, live: &Live, host: &HostFiles<'_>) -> Result<SourceResult, NoAnswer> {
    match source {
        Source::Nvml => ask_nvml(live),
        Source::NvidiaSmi => nvidia_smi::ask(live, host),
        Source::Kfd => kfd::ask(&live.kfd(), host),
    }
}

#[cfg(all(feature = "nvml", target_os = "linux"))]
fn ask_nvml(live: &Live) -> Result<SourceResult, NoAnswer> {
    crate::nvml::ask(live)
}

#[cfg(not(all(feature = "nvml", target_os = "linux")))]
fn ask_nvml(_: &Live) -> Result<SourceResult, NoAnswer> {
    Err(NoAnswer::Absent(
        "not in this build: expected one for Linux with the feature `nvml`".to_owned(),
    ))
}

/// Returns the answer, and keeps it for the next call if it is complete. If it cannot be kept, it
/// gets a warning.
fn keep(
    found: SourceResult,
    by: Source,
    tried: Vec<Attempt>,
    slot: Option<&CacheSlot>,
) -> Discovered {
    let mut discovered = Discovered {
        machine: found.machine,
        says: found.says,
        state: Some(found.state),
        by,
        driver: found.driver,
        cached: false,
        at: SystemTime::now(),
        file: None,
        tried,
        unanswered: found.unanswered,
    };
    let Some(slot) = slot else { return discovered };
    let written = match &discovered.unanswered {
        // The caller gets an incomplete answer, but the next call must ask again: it may get the
        // rest.
        Some(what) => Err(what.clone()),
        None => slot
            .write(&discovered)
            .map_err(|error| format!("{}: {error}", slot.file().display())),
    };
    match written {
        Ok(()) => discovered.file = Some(slot.file().to_owned()),
        Err(why) => discovered.machine.warnings.push(Warning {
            line: None,
            what: format!("not kept for the next call: {why}"),
        }),
    }
    discovered
}

/// The error that lists every source.
fn nothing(tried: &[Attempt], has_failed: bool) -> Error {
    let attempts: Vec<String> = tried
        .iter()
        .map(|attempt| {
            let (source, place) = (attempt.source, attempt.place.display());
            let why = attempt.failure.as_deref().unwrap_or_default();
            format!("{source} ({place}): {why}")
        })
        .collect();
    let what = format!("no accelerators found: {}", attempts.join("; "));
    if has_failed {
        Error::failed(what)
    } else {
        Error::unavailable(what)
    }
}
