//! Partitions by NVIDIA's library.
//!
//! All calls are made on one thread, so a driver that hangs blocks that thread and no caller. A caller whose
//! time is up has an error; what it asked for and had not begun is never begun.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::control::{MigControl, MigDevice, MigOffer, MigPlace, MigState, MigWords};
use crate::levers::error::LeverError;
use crate::live::Live;
use crate::nvml::c::{
    Device, FUNCTION_NOT_FOUND, IN_USE, INSUFFICIENT_RESOURCES, Instance, MigLibrary, NOT_FOUND,
    NOT_SUPPORTED, Refused,
};

/// The number for an error that the answer of a call cannot give: a device that is not known.
const INVALID_ARGUMENT: u32 = 2;

type Job = Box<dyn FnOnce(&Result<MigLibrary, String>) + Send>;

/// The partitions of this machine's devices, by NVML.
#[derive(Debug)]
pub struct MigNvml {
    library: PathBuf,
    limit: Duration,
    worker: Mutex<Option<Sender<Job>>>,
}

impl MigNvml {
    /// Partitions by the library of [`Live::nvml`], each call within [`Live::time_limit`].
    #[must_use]
    pub fn new(live: &Live) -> Self {
        Self {
            library: live.nvml.clone(),
            limit: live.time_limit,
            worker: Mutex::new(None),
        }
    }

    /// Does something on the library's thread, and waits for it.
    fn ask<T: Send + 'static>(
        &self,
        what: String,
        own: impl FnOnce(&MigLibrary) -> Result<T, Refused> + Send + 'static,
    ) -> Result<T, LeverError> {
        let (reply, answer) = mpsc::channel();
        let deadline = Instant::now() + self.limit;
        let job: Job = Box::new(move |library| {
            if Instant::now() >= deadline {
                return;
            }
            let outcome = match library {
                Ok(library) => Ok(own(library)),
                Err(why) => Err(why.clone()),
            };
            let _ = reply.send(outcome);
        });
        self.send(job);
        match answer.recv_timeout(self.limit) {
            Ok(Ok(outcome)) => outcome.map_err(|refused| error(&what, refused)),
            Ok(Err(why)) => Err(LeverError::missing(
                format!("NVML {}", self.library.display()),
                why,
            )),
            Err(RecvTimeoutError::Timeout) => Err(LeverError::failed(
                what,
                format!("NVML gave no answer within {:?}", self.limit),
            )),
            Err(RecvTimeoutError::Disconnected) => {
                Err(LeverError::failed(what, "NVML failed while it was asked"))
            }
        }
    }

    /// Sends a job to the thread, which is started for the first one, and anew if it has panicked.
    fn send(&self, job: Job) {
        let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        let job = match worker.as_ref() {
            Some(sender) => match sender.send(job) {
                Ok(()) => return,
                Err(mpsc::SendError(job)) => job,
            },
            None => job,
        };
        let (sender, jobs) = mpsc::channel::<Job>();
        let path = self.library.clone();
        thread::spawn(move || work(&path, &jobs));
        let _ = sender.send(job);
        *worker = Some(sender);
    }
}

/// Runs jobs until the owner is dropped. A library that could not be loaded is tried again for each job.
fn work(path: &Path, jobs: &mpsc::Receiver<Job>) {
    let mut library = Err(String::new());
    for job in jobs {
        if library.is_err() {
            library = MigLibrary::load(path);
        }
        job(&library);
    }
}

fn error(what: &str, Refused { call, code }: Refused) -> LeverError {
    let why = match code {
        INVALID_ARGUMENT => "invalid argument",
        NOT_SUPPORTED => "not supported",
        4 => "no permission: expected root, or the capability of MIG",
        NOT_FOUND => "not found",
        FUNCTION_NOT_FOUND => "the library has no such function: expected a driver of 515 or later",
        15 => "the device is lost",
        IN_USE => "in use",
        INSUFFICIENT_RESOURCES => "no room",
        _ => "an error",
    };
    let why = format!("{call}: {why} (NVML {code})");
    match code {
        IN_USE => LeverError::busy(what, why),
        INSUFFICIENT_RESOURCES => LeverError::infeasible(what, why),
        NOT_FOUND | NOT_SUPPORTED | FUNCTION_NOT_FOUND => LeverError::missing(what, why),
        _ => LeverError::failed(what, why),
    }
}

/// A device by its UUID. NVML's answer for one that is not there is [`NOT_FOUND`], or, for a text that is no
/// UUID, that the argument is invalid.
fn device_of(library: &MigLibrary, uuid: &str) -> Result<Device, Refused> {
    library.by_uuid(uuid).map_err(|refused| match refused.code {
        INVALID_ARGUMENT => Refused {
            code: NOT_FOUND,
            ..refused
        },
        _ => refused,
    })
}

/// The compute slices of the compute instances of an instance, the largest first.
fn computes_of(library: &MigLibrary, instance: Instance) -> Result<Vec<u32>, Refused> {
    let mut slices = Vec::new();
    for (profile, size) in library.compute_profiles(instance)? {
        let count = library.computes(instance, profile)?.len();
        slices.extend(std::iter::repeat_n(size, count));
    }
    slices.sort_unstable_by(|a, b| b.cmp(a));
    Ok(slices)
}

/// The instance at a place.
fn find(
    library: &MigLibrary,
    device: Device,
    place: &MigPlace,
) -> Result<Option<Instance>, Refused> {
    for profile in library.profiles(device)? {
        if profile.name != place.profile {
            continue;
        }
        for instance in library.instances(device, profile.id)? {
            if library.place(instance)?.0 == place.start {
                return Ok(Some(instance));
            }
        }
    }
    Ok(None)
}

fn state(library: &MigLibrary, uuid: &str) -> Result<MigState, Refused> {
    let device = device_of(library, uuid)?;
    let (enabled, pending) = library.mode(device)?;
    let mut instances = Vec::new();
    if enabled {
        for profile in library.profiles(device)? {
            for instance in library.instances(device, profile.id)? {
                let (start, size) = library.place(instance)?;
                instances.push(MigPlace {
                    start,
                    size,
                    profile: profile.name.clone(),
                    compute: computes_of(library, instance)?,
                });
            }
        }
        instances.sort();
    }
    Ok(MigState {
        enabled,
        pending,
        instances,
    })
}

/// Creates the instance, and the compute instances that it lacks.
fn create(library: &MigLibrary, uuid: &str, place: &MigPlace) -> Result<(), Refused> {
    let device = device_of(library, uuid)?;
    let instance = match find(library, device, place)? {
        Some(instance) => instance,
        None => {
            let profiles = library.profiles(device)?;
            let profile = profiles.iter().find(|own| own.name == place.profile);
            let profile = profile.ok_or(Refused {
                call: "nvmlDeviceGetGpuInstanceProfileInfoV",
                code: NOT_FOUND,
            })?;
            library.create(device, profile.id, place.start, place.size)?
        }
    };
    let mut lacks = place.compute.clone();
    for own in computes_of(library, instance)? {
        if let Some(at) = lacks.iter().position(|lack| *lack == own) {
            lacks.remove(at);
        }
    }
    let profiles = library.compute_profiles(instance)?;
    for slices in lacks {
        let profile = profiles.iter().find(|(_, own)| *own == slices);
        let (profile, _) = profile.ok_or(Refused {
            call: "nvmlGpuInstanceGetComputeInstanceProfileInfoV",
            code: NOT_FOUND,
        })?;
        library.create_compute(instance, *profile)?;
    }
    Ok(())
}

fn destroy(library: &MigLibrary, uuid: &str, place: &MigPlace) -> Result<(), Refused> {
    let device = device_of(library, uuid)?;
    let Some(instance) = find(library, device, place)? else {
        return Ok(());
    };
    for (profile, _) in library.compute_profiles(instance)? {
        for compute in library.computes(instance, profile)? {
            library.destroy_compute(compute)?;
        }
    }
    library.destroy(instance)
}

impl MigControl for MigNvml {
    fn devices(&self) -> Result<Vec<MigDevice>, LeverError> {
        self.ask("the devices".to_owned(), |library| {
            let mut devices = Vec::new();
            for index in 0..library.count()?.min(mapa_core::MAX_DEVICES as u32) {
                // A device that is lost cannot be partitioned, and neither can one without a mode.
                let Ok(device) = library.by_index(index) else {
                    continue;
                };
                if library.mode(device).is_err() {
                    continue;
                }
                devices.push(MigDevice {
                    index,
                    uuid: library.uuid(device)?,
                    pci_id: library.pci_id(device).ok(),
                });
            }
            Ok(devices)
        })
    }

    fn state(&self, device: &str) -> Result<MigState, LeverError> {
        let uuid = device.to_owned();
        self.ask(format!("the partition of {device}"), move |library| {
            state(library, &uuid)
        })
    }

    fn offers(&self, device: &str) -> Result<Vec<MigOffer>, LeverError> {
        let uuid = device.to_owned();
        self.ask(format!("the MIG profiles of {device}"), move |library| {
            let device = device_of(library, &uuid)?;
            let mut offers = Vec::new();
            for profile in library.profiles(device)? {
                let places = library.placements(device, profile.id)?;
                let Some(&(_, size)) = places.first() else {
                    continue;
                };
                offers.push(MigOffer {
                    name: profile.name,
                    id: profile.id,
                    compute_slices: profile.compute_slices,
                    size,
                    starts: places.iter().map(|(start, _)| *start).collect(),
                    most: profile.most,
                });
            }
            Ok(offers)
        })
    }

    fn set_mode(&mut self, device: &str, on: bool) -> Result<(), LeverError> {
        let uuid = device.to_owned();
        let what = self.words(MigWords::Mode(device, on));
        let waits = self.ask(what.clone(), move |library| {
            let device = device_of(library, &uuid)?;
            let (now, pending) = library.mode(device)?;
            if (now, pending) == (on, on) {
                return Ok(None);
            }
            let status = library.set_mode(device, on)?;
            let (now, pending) = library.mode(device)?;
            if now == on {
                return Ok(None);
            }
            // Without this the next reset, by whomever, would bring what nobody waits for.
            if pending == on {
                library.set_mode(device, now)?;
            }
            Ok(Some(status))
        })?;
        match waits {
            None => Ok(()),
            Some(status) => Err(LeverError::busy(
                what,
                format!("it takes a reset of the device, or the end of its users (NVML {status})"),
            )),
        }
    }

    fn create(&mut self, device: &str, place: &MigPlace) -> Result<(), LeverError> {
        let (uuid, own) = (device.to_owned(), place.clone());
        let what = self.words(MigWords::Create(device, place));
        self.ask(what, move |library| create(library, &uuid, &own))
    }

    fn destroy(&mut self, device: &str, place: &MigPlace) -> Result<(), LeverError> {
        let (uuid, own) = (device.to_owned(), place.clone());
        let what = self.words(MigWords::Destroy(device, place));
        self.ask(what, move |library| destroy(library, &uuid, &own))
    }

    fn words(&self, change: MigWords<'_>) -> String {
        match change {
            MigWords::Mode(device, on) => {
                format!("nvmlDeviceSetMigMode({device}, {})", u32::from(on))
            }
            MigWords::Create(device, place) => {
                let start = place.start;
                let mut words = format!(
                    "nvmlDeviceCreateGpuInstanceWithPlacement({device}, {}, start {start}, size {})",
                    place.profile, place.size
                );
                for slices in &place.compute {
                    words += &format!(
                        "\nnvmlGpuInstanceCreateComputeInstance({device} at {start}, {slices} slices)"
                    );
                }
                words
            }
            MigWords::Destroy(device, place) => {
                let start = place.start;
                let compute = place.compute.iter().map(|slices| {
                    format!("nvmlComputeInstanceDestroy({device} at {start}, {slices} slices)\n")
                });
                let compute: String = compute.collect();
                format!(
                    "{compute}nvmlGpuInstanceDestroy({device}, {} at {start})",
                    place.profile
                )
            }
        }
    }
}
