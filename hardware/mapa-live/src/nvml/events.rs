//! Events of devices, and devices that are lost.
//!
//! A device is registered for events where it supports them. Whether it is lost is asked as well, since
//! a library may report a loss by no event, and no event says that a device is back.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use mapa_topologies::pci_address;
use nvml_wrapper::bitmasks::event::EventTypes;
use nvml_wrapper::enums::event::XidError;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{EventSet, Nvml};

use super::processes::is_loss;
use super::worker;
use crate::found::NoAnswer;
use crate::health::{Health, HealthChange};

/// How long one wait for events lasts: the time after which a loss, or the end of the watch, is
/// noticed.
const WAIT: Duration = Duration::from_millis(250);

/// A device of which the last answer is known.
#[derive(Clone)]
struct LastSeenDevice {
    index: u32,
    uuid: Option<String>,
    pci: Option<String>,
    lost: bool,
}

/// Watches devices on a thread of its own until `stop` is set. The answer is where changes come.
pub(crate) fn watch(
    library: &Path,
    limit: Duration,
    stop: Arc<AtomicBool>,
) -> Result<Receiver<HealthChange>, NoAnswer> {
    let (changes, receiver) = mpsc::channel();
    let (ready, started) = mpsc::channel();
    let library = library.to_owned();
    thread::spawn(move || run(&library, &ready, &changes, &stop));
    let outcome = started.recv_timeout(limit);
    let outcome = outcome.map_err(|error| {
        NoAnswer::Failed(match error {
            RecvTimeoutError::Timeout => format!("no answer within {limit:?}"),
            RecvTimeoutError::Disconnected => "the library failed while it was asked".to_owned(),
        })
    })?;
    outcome.map(|()| receiver)
}

fn run(
    library: &Path,
    ready: &Sender<Result<(), NoAnswer>>,
    changes: &Sender<HealthChange>,
    stop: &AtomicBool,
) {
    let nvml = match worker::load(library) {
        Ok(nvml) => nvml,
        Err(silence) => {
            let _ = ready.send(Err(silence));
            return;
        }
    };
    let started = devices(&nvml).and_then(|known| Ok((register(&nvml, &known)?, known)));
    let (mut set, mut known) = match started {
        Ok(started) => started,
        Err(error) => {
            let _ = ready.send(Err(NoAnswer::Failed(error.to_string())));
            return;
        }
    };
    let _ = ready.send(Ok(()));
    let mut failures = 0;
    // A caller that no longer listens ends the watch.
    while !stop.load(Ordering::Relaxed) {
        let turn = Instant::now();
        let told = match set.as_ref().map(|set| set.wait(WAIT.as_millis() as u32)) {
            Some(Ok(event)) => {
                let xid = number(&event.event_data);
                failures = 0;
                tell_xid(&nvml, &event.device, xid, &mut known, &mut set, changes)
            }
            Some(Err(NvmlError::Timeout)) => {
                failures = 0;
                tell_lost(&nvml, &mut known, &mut set, changes)
            }
            // A driver that fails again and again tells nothing any more: the watch ends, and says so.
            Some(Err(error)) if !is_loss(&error) && failures >= MOST_FAILURES => {
                return;
            }
            // Without events, or while a device is lost, the clock sets the pace.
            other => {
                failures += u32::from(matches!(other, Some(Err(error)) if !is_loss(&error)));
                thread::sleep(WAIT.saturating_sub(turn.elapsed()));
                tell_lost(&nvml, &mut known, &mut set, changes)
            }
        };
        if !told {
            return;
        }
    }
}

/// How many failures in succession end a watch: some fifteen seconds of them.
const MOST_FAILURES: u32 = 60;

/// The devices, also those that are lost.
fn devices(nvml: &Nvml) -> Result<Vec<LastSeenDevice>, NvmlError> {
    // A library that is broken may give any number.
    let count = nvml.device_count()?.min(mapa_core::MAX_DEVICES as u32);
    Ok((0..count)
        .map(|index| LastSeenDevice {
            index,
            uuid: None,
            pci: None,
            // The first snapshot reports which devices are lost.
            lost: false,
        })
        .map(|known| known.asked(nvml))
        .collect())
}

/// An event set for the errors of all devices that have such events; none if no device has.
fn register<'n>(
    nvml: &'n Nvml,
    known: &[LastSeenDevice],
) -> Result<Option<EventSet<'n>>, NvmlError> {
    let wanted = EventTypes::CRITICAL_XID_ERROR;
    let mut devices = Vec::new();
    for known_device in known {
        if let Ok(device) = nvml.device_by_index(known_device.index)
            && (device.supported_event_types()).is_ok_and(|types| types.contains(wanted))
        {
            devices.push(device);
        }
    }
    // A registration that fails takes the set with it.
    'again: while !devices.is_empty() {
        let mut set = nvml.create_event_set()?;
        for at in 0..devices.len() {
            match devices[at].register_events(wanted, set) {
                Ok(next) => set = next,
                Err(_) => {
                    devices.remove(at);
                    continue 'again;
                }
            }
        }
        return Ok(Some(set));
    }
    Ok(None)
}

/// Tells which devices are lost, and which are back; false if nobody listens.
fn tell_lost<'n>(
    nvml: &'n Nvml,
    known: &mut [LastSeenDevice],
    set: &mut Option<EventSet<'n>>,
    changes: &Sender<HealthChange>,
) -> bool {
    let mut told = Vec::new();
    let mut back = false;
    for device in &mut *known {
        let lost = is_lost(nvml, device.index);
        if lost == device.lost {
            continue;
        }
        device.lost = lost;
        if !lost {
            *device = device.clone().asked(nvml);
            back = true;
        }
        told.push(device.change(if lost { Health::Lost } else { Health::Back }));
    }
    // A device that is back was reset, and its registration is gone. What the old set still has is
    // told first, and nothing happens between that and the new set that nobody hears of.
    if back {
        while let Some(Ok(event)) = set.as_ref().map(|set| set.wait(0)) {
            let index = event.device.index().ok();
            if let Some(device) = known.iter().find(|device| Some(device.index) == index) {
                told.push(device.change(Health::Xid(number(&event.event_data))));
            }
        }
        if let Ok(next) = register(nvml, known) {
            *set = next;
        }
    }
    told.into_iter().all(|change| changes.send(change).is_ok())
}

/// Tells an Xid. A device that is lost by it does not tell its number: if one is newly lost, it is
/// that one.
fn tell_xid<'n>(
    nvml: &'n Nvml,
    device: &nvml_wrapper::Device<'_>,
    xid: Option<u64>,
    known: &mut [LastSeenDevice],
    set: &mut Option<EventSet<'n>>,
    changes: &Sender<HealthChange>,
) -> bool {
    let of = match device.index() {
        Ok(index) => known.iter().position(|device| device.index == index),
        Err(_) => {
            let before: Vec<bool> = known.iter().map(|device| device.lost).collect();
            if !tell_lost(nvml, known, set, changes) {
                return false;
            }
            let mut new = known.iter().zip(before).enumerate();
            let mut new = new
                .by_ref()
                .filter(|(_, (device, lost))| device.lost && !lost);
            new.next().map(|at| at.0).filter(|_| new.next().is_none())
        }
    };
    of.is_none_or(|at| changes.send(known[at].change(Health::Xid(xid))).is_ok())
}

/// The number of an Xid, if it is known.
fn number(data: &Option<XidError>) -> Option<u64> {
    match data {
        Some(XidError::Value(number)) => Some(*number),
        Some(XidError::Unknown) | None => None,
    }
}

/// Whether the library says that a device is gone. Another failure says nothing of the device.
fn is_lost(nvml: &Nvml, index: u32) -> bool {
    let answer = nvml.device_by_index(index).and_then(|device| device.uuid());
    answer.is_err_and(|error| is_loss(&error))
}

impl LastSeenDevice {
    /// The same, with the identities that the device tells.
    fn asked(mut self, nvml: &Nvml) -> Self {
        if let Ok(device) = nvml.device_by_index(self.index) {
            self.uuid = device.uuid().ok().or(self.uuid);
            let pci = device.pci_info().ok();
            self.pci = pci.and_then(|pci| pci_address(&pci.bus_id)).or(self.pci);
        }
        self
    }

    fn change(&self, what: Health) -> HealthChange {
        HealthChange {
            index: self.index,
            uuid: self.uuid.clone(),
            pci: self.pci.clone(),
            what,
        }
    }
}
