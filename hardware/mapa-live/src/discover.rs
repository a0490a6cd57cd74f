//! Discovery: queries each source in turn, and keeps the answer.

use std::time::SystemTime;

use mapa_topologies::{Machine, Warning};
use serde_json::Value;

use crate::cache::{CacheSlot, KeptAnswer};
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
/// The cache has what joins devices. Which links are up now, and how many lanes of PCIe devices have, is asked at
/// each call, of NVML: the machine is always the present one.
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
    let kept = slot.as_ref().and_then(CacheSlot::read);
    let mut present = kept
        .as_ref()
        .filter(|_| !live.refresh)
        .and_then(|kept| of_cache(kept, live, &host, slot.as_ref()));
    if let Some((found, true)) = present {
        return Ok(found);
    }
    let mut tried = Vec::new();
    let mut failed = None;
    for source in Source::ALL {
        let mut attempt = Attempt::new(source, live.place(source));
        let earlier = kept.as_ref().and_then(KeptAnswer::answers);
        match ask(source, live, &host, earlier) {
            Ok(mut found) => {
                tried.push(attempt);
                // If this source only stands in for one that failed, its answer must not be kept.
                found.unanswered = failed.or(found.unanswered);
                // What is kept knows devices that do not answer now, and lacks no more than a link that has come
                // up since.
                if found.unanswered.is_some()
                    && let Some((found, _)) = present.take()
                {
                    return Ok(found);
                }
                name(&mut found.machine, &host);
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

/// Gives a machine the name of its host.
fn name(machine: &mut Machine, host: &HostFiles<'_>) {
    machine.name = host.name().unwrap_or_else(|| "live".to_owned());
    machine.fabric.set_virtual(host.is_virtual());
}

/// The machine of a kept answer, with its links as they are now. False if a link is up of which the answer does not
/// say where it leads.
fn of_cache(
    kept: &KeptAnswer,
    live: &Live,
    host: &HostFiles<'_>,
    slot: Option<&CacheSlot>,
) -> Option<(Discovered, bool)> {
    let (laid, is_known) = kept
        .answers()
        .and_then(|answers| lay(answers, live))
        .map_or((None, true), |(found, is_known)| (Some(found), is_known));
    let mut found = kept.discovered(laid, slot?.file())?;
    name(&mut found.machine, host);
    Some((found, is_known))
}

#[cfg(all(feature = "nvml", target_os = "linux"))]
fn lay(answers: &Value, live: &Live) -> Option<(SourceResult, bool)> {
    crate::nvml::lay(answers, live)
}

#[cfg(not(all(feature = "nvml", target_os = "linux")))]
fn lay(_: &Value, _: &Live) -> Option<(SourceResult, bool)> {
    None
}

fn ask(
    source: Source,
    live: &Live,
    host: &HostFiles<'_>,
    earlier: Option<&Value>,
) -> Result<SourceResult, NoAnswer> {
    match source {
        Source::Nvml => ask_nvml(live, earlier),
        Source::NvidiaSmi => nvidia_smi::ask(live, host),
        Source::Kfd => kfd::ask(&live.kfd(), host),
    }
}

#[cfg(all(feature = "nvml", target_os = "linux"))]
fn ask_nvml(live: &Live, earlier: Option<&Value>) -> Result<SourceResult, NoAnswer> {
    crate::nvml::ask(live, earlier)
}

#[cfg(not(all(feature = "nvml", target_os = "linux")))]
fn ask_nvml(_: &Live, _: Option<&Value>) -> Result<SourceResult, NoAnswer> {
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
        links: found.links,
        intact: found.intact,
    };
    let Some(slot) = slot else { return discovered };
    let written = match &discovered.unanswered {
        // The caller gets an incomplete answer, but the next call must ask again: it may get the
        // rest.
        Some(what) => Err(what.clone()),
        None => slot
            .write(&discovered, found.answers)
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
