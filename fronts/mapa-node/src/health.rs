//! What is wrong with devices: noted in the ledger, so that whoever decides next knows. Faults of links are
//! noted too, and withhold no device (`degraded`).
//!
//! Faults come from two sources. A process that decides takes a snapshot, and sees lost devices and those whose driver asks for
//! a reset. NVML reports Xids as events only to programs that wait for them: each
//! `mapa run` waits for them while its command runs, and `mapa monitor` does nothing else.

use std::path::Path;
use std::time::Duration;

use mapa_core::DeviceId;
use mapa_live::{
    DeviceStatus, DriverSnapshot, Health, HealthChange, Live, Processes, is_of_program,
};

use mapa_topologies::Vendor;

use crate::degraded::record_degraded;
use crate::error::Error;
use crate::ledger::{DeviceFault, DeviceKey, Durability, FaultKind, Ledger, LedgerTx};
use crate::node::{Cause, Node, Withheld};

/// How long one wait for a change lasts.
const WAIT: Duration = Duration::from_millis(250);

/// Records the device faults of a driver snapshot, and returns all present faults: those of this snapshot, and
/// by what others have noted in this boot.
///
/// # Errors
/// The ledger cannot be read or written.
pub(crate) fn record_health(
    books: &LedgerTx<'_>,
    node: &Node,
    processes: &Processes,
    owner: &str,
    snapshot: &DriverSnapshot,
) -> Result<Vec<Withheld>, Error> {
    let boot = processes.boot();
    // NVML lists no device of AMD's, so its list shows nothing of them.
    let seen = snapshot
        .devices
        .as_deref()
        .filter(|_| node.vendor() == Vendor::Nvidia);
    if let Some(seen) = seen {
        let before = books.faults(boot)?;
        let (_, known) = books.machine()?.unwrap_or_default();
        // A place in the ledger stands for a number: see `find`.
        for (number, whole) in (0u32..).zip(&known) {
            if let Some(report) = find(node, seen, whole, number) {
                note(books, boot, owner, whole, report, &before)?;
            }
        }
    }
    if seen.is_some() {
        record_degraded(books, node, owner, boot, snapshot)?;
    }
    let mut withheld = Vec::new();
    let faults = books.faults(boot)?.into_iter();
    for fault in faults.filter(|fault| !FaultKind::is_of_links(&fault.kind)) {
        let device = node.device(&DeviceKey::whole(&fault.device));
        withheld.extend(device.map(|device| Withheld {
            device,
            cause: Cause::Unhealthy,
            why: format!("unhealthy: {}", fault.detail),
        }));
    }
    // One that is not listed may be hidden from this process alone, so nothing is noted.
    for id in node.graph().wholes().iter() {
        let is_listed = |seen: &[DeviceStatus]| {
            seen.iter()
                .any(|reading| reading.is(node.graph().device(id), node.number(id)))
        };
        if seen.is_some_and(|seen| !is_listed(seen)) {
            withheld.push(Withheld {
                device: id,
                cause: Cause::Unhealthy,
                why: "unhealthy: its driver does not list it any more".to_owned(),
            });
        }
    }
    Ok(withheld)
}

/// What the drivers say of a device of the ledger. One that is lost tells neither UUID nor address, so
/// where the machine's description lacks it too, its number counts: its place in the ledger.
fn find<'s>(
    node: &Node,
    seen: &'s [DeviceStatus],
    whole: &str,
    number: u32,
) -> Option<&'s DeviceStatus> {
    let graph = node.graph();
    seen.iter()
        .find(|reading| match node.device(&DeviceKey::whole(whole)) {
            Some(id) => reading.is(graph.device(id), node.number(id)),
            None => {
                let named = [&reading.uuid, &reading.pci];
                named
                    .into_iter()
                    .flatten()
                    .any(|candidate| candidate == whole)
                    || reading.lost && reading.index == number
            }
        })
}

fn note(
    books: &LedgerTx<'_>,
    boot: &str,
    owner: &str,
    whole: &str,
    seen: &DeviceStatus,
    before: &[DeviceFault],
) -> Result<(), Error> {
    let had = |fault: FaultKind| {
        before
            .iter()
            .any(|known| known.device == whole && known.kind == fault.name())
    };
    // A lost device answers no further query, so nothing is known of a reset that it asks for.
    if seen.lost {
        let what = format!("lost: {}", seen.trouble.as_deref().unwrap_or("no answer"));
        books.record_fault(owner, boot, whole, FaultKind::Lost, &what)?;
        return Ok(());
    }
    if had(FaultKind::Lost) {
        // Only a reset brings it back, and that mends what was wrong before.
        books.clear_fault(owner, whole, None, "it was lost, and answers again")?;
    }
    if let Some(what) = &seen.trouble {
        books.record_fault(owner, boot, whole, FaultKind::ResetRequired, what)?;
    } else if had(FaultKind::ResetRequired) {
        let why = "its driver asks for nothing any more";
        books.clear_fault(owner, whole, Some(FaultKind::ResetRequired), why)?;
    }
    Ok(())
}

/// The devices of a node, by what a driver may name.
#[derive(Clone, Debug)]
pub(crate) struct HealthTargets(Vec<DeviceNames>);

#[derive(Clone, Debug)]
struct DeviceNames {
    whole: String,
    name: String,
    index: u32,
    uuid: Option<String>,
}

impl HealthTargets {
    /// The devices of this node.
    #[must_use]
    pub(crate) fn new(node: &Node) -> Self {
        let named = |id: DeviceId| {
            let device = node.graph().device(id);
            let key = node.keys(&[id]).into_iter().next()?;
            Some(DeviceNames {
                whole: key.whole,
                name: device.name.clone(),
                index: node.number(id),
                uuid: device.uuid.clone(),
            })
        };
        Self(node.graph().wholes().iter().filter_map(named).collect())
    }

    fn find(&self, change: &HealthChange) -> Option<&DeviceNames> {
        self.0
            .iter()
            .find(|named| match (&named.uuid, &change.uuid) {
                // A UUID names a device for good; a number is its place in the driver's list.
                (Some(own), Some(other)) => own.eq_ignore_ascii_case(other),
                _ => named.index == change.index,
            })
    }
}

/// Waits for changes of devices' health, and notes them in the ledger, as long as `goes_on` says so.
/// Each is told.
///
/// # Errors
/// There is no driver that tells changes, or it failed; the ledger cannot be written.
pub(crate) fn monitor(
    live: &Live,
    devices: &HealthTargets,
    ledger: &Path,
    owner: &str,
    goes_on: impl Fn() -> bool,
    mut tell: impl FnMut(String),
) -> Result<(), Error> {
    let failed = |error: mapa_live::Error| Error::at("the health of devices", error);
    let watch = mapa_live::watch(live).map_err(failed)?;
    let mut ledger = Ledger::open(ledger)?;
    let processes = Processes::new()?;
    while goes_on() {
        // The wait is short, so that `goes_on` is asked several times a second.
        let Some(change) = watch.next(WAIT).map_err(failed)? else {
            continue;
        };
        let Some(device) = devices.find(&change) else {
            continue;
        };
        let whole = &device.whole;
        let (fault, what) = match change.what {
            // An error of the program that uses the device leaves the device sound.
            Health::Xid(Some(number)) if is_of_program(number) => continue,
            Health::Xid(Some(number)) => (FaultKind::Xid, format!("Xid {number}")),
            Health::Xid(None) => (FaultKind::Xid, "an Xid of unknown number".to_owned()),
            // Where two devices are lost at once, nothing says which of them had the Xid.
            Health::Lost => (FaultKind::Lost, "lost: NVML says: it is lost".to_owned()),
            Health::Back => {
                let why = "it was lost, and answers again";
                let changed = ledger.change(Durability::Boot, |books| {
                    books.clear_fault(owner, whole, None, why)
                })?;
                if changed {
                    tell(format!("{}: {why}", device.name));
                }
                continue;
            }
            _ => continue,
        };
        let changed = ledger.change(Durability::Boot, |books| {
            // A driver snapshot has recorded the loss in other words.
            let before = books.faults(processes.boot())?;
            let same = |known: &DeviceFault| known.device == *whole && known.kind == fault.name();
            if fault == FaultKind::Lost && before.iter().any(same) {
                return Ok(false);
            }
            books.record_fault(owner, processes.boot(), whole, fault, &what)
        })?;
        if changed {
            tell(format!("{}: {what}", device.name));
        }
    }
    Ok(())
}
