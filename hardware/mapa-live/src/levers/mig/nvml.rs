//! Partitions by NVIDIA's library, on the thread that owns it. A driver that hangs blocks that thread and no caller. A
//! caller whose time is up has an error; what it asked for and had not begun is never begun.

use std::path::PathBuf;
use std::time::Duration;

use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};
use nvml_wrapper_sys::bindings::nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_RESOURCES as NO_ROOM;

use super::command::MigCommand;
use super::control::{MigControl, MigDevice, MigOffer, MigOp, MigPlace, MigState};
use crate::found::NoAnswer;
use crate::levers::error::LeverError;
use crate::live::Live;
use crate::nvml::{self, mig};

/// The partitions of this machine's devices, by NVML.
#[derive(Debug)]
pub struct MigNvml {
    library: PathBuf,
    limit: Duration,
}

impl MigNvml {
    /// Partitions by the library of [`Live::nvml`], each call within [`Live::time_limit`].
    #[must_use]
    pub fn new(live: &Live) -> Self {
        Self {
            library: live.nvml.clone(),
            limit: live.time_limit,
        }
    }

    /// Whether the library can make instances at a place. One that does not answer may.
    fn is_able(&self) -> bool {
        let can = |nvml: &Nvml| {
            let lib = nvml.lib();
            lib.nvmlDeviceCreateGpuInstanceWithPlacement.is_ok()
                && lib.nvmlDeviceGetGpuInstanceProfileInfoV.is_ok()
        };
        match nvml::with(&self.library, self.limit, can) {
            Ok(can) => can,
            Err(NoAnswer::Absent(_)) => false,
            Err(NoAnswer::Failed(_)) => true,
        }
    }

    /// Does something on the library's thread, and waits for it.
    fn ask<T: Send + 'static>(
        &self,
        what: String,
        own: impl FnOnce(&Nvml) -> Result<T, NvmlError> + Send + 'static,
    ) -> Result<T, LeverError> {
        match nvml::with(&self.library, self.limit, own) {
            Ok(outcome) => outcome.map_err(|error| refused(what, error)),
            Err(NoAnswer::Absent(why)) => {
                let library = format!("NVML {}", self.library.display());
                Err(LeverError::missing(library, why))
            }
            Err(NoAnswer::Failed(why)) => Err(LeverError::failed(what, format!("NVML: {why}"))),
        }
    }
}

/// The partitions of this machine's devices: by NVML, or by the command `nvidia-smi` where there is no library, or an
/// old one that cannot make instances at a place.
#[derive(Debug)]
pub struct MigSystem {
    nvml: MigNvml,
    command: MigCommand,
}

impl MigSystem {
    /// Partitions by [`Live::nvml`], else by [`Live::nvidia_smi`].
    #[must_use]
    pub fn new(live: &Live) -> Self {
        Self {
            nvml: MigNvml::new(live),
            command: MigCommand::new(live),
        }
    }

    fn by(&self) -> &dyn MigControl {
        if self.nvml.is_able() {
            &self.nvml
        } else {
            &self.command
        }
    }

    fn by_mut(&mut self) -> &mut dyn MigControl {
        if self.nvml.is_able() {
            &mut self.nvml
        } else {
            &mut self.command
        }
    }
}

impl MigControl for MigSystem {
    fn devices(&self) -> Result<Vec<MigDevice>, LeverError> {
        self.by().devices()
    }

    fn state(&self, device: &str) -> Result<MigState, LeverError> {
        self.by().state(device)
    }

    fn offers(&self, device: &str) -> Result<Vec<MigOffer>, LeverError> {
        self.by().offers(device)
    }

    fn set_mode(&mut self, device: &str, on: bool) -> Result<(), LeverError> {
        self.by_mut().set_mode(device, on)
    }

    fn create(&mut self, device: &str, place: &MigPlace) -> Result<(), LeverError> {
        self.by_mut().create(device, place)
    }

    fn destroy(&mut self, device: &str, place: &MigPlace) -> Result<(), LeverError> {
        self.by_mut().destroy(device, place)
    }

    fn commands(&self, change: MigOp<'_>) -> String {
        self.by().commands(change)
    }
}

fn refused(what: String, error: NvmlError) -> LeverError {
    let why = match &error {
        NvmlError::NoPermission => {
            "no permission: expected root, or the capability of MIG".to_owned()
        }
        NvmlError::FailedToLoadSymbol(_) | NvmlError::FunctionNotFound => {
            "the library has no such function: expected a driver of 515 or later".to_owned()
        }
        NvmlError::UnexpectedVariant(NO_ROOM) => "no room".to_owned(),
        error => error.to_string(),
    };
    let why = format!("NVML: {why}");
    match error {
        NvmlError::InUse => LeverError::busy(what, why),
        NvmlError::UnexpectedVariant(NO_ROOM) => LeverError::infeasible(what, why),
        NvmlError::NotFound
        | NvmlError::NotSupported
        | NvmlError::FailedToLoadSymbol(_)
        | NvmlError::FunctionNotFound => LeverError::missing(what, why),
        _ => LeverError::failed(what, why),
    }
}

/// A device by its UUID. NVML's answer for one that is not there is that it is not found, or, for a text that is no
/// UUID, that the argument is invalid.
fn device_of<'n>(nvml: &'n Nvml, uuid: &str) -> Result<Device<'n>, NvmlError> {
    nvml.device_by_uuid(uuid).map_err(|error| match error {
        NvmlError::InvalidArg | NvmlError::NulError(_) => NvmlError::NotFound,
        error => error,
    })
}

/// Whether MIG is on, and whether it will be after a reset.
fn mode(device: &Device<'_>) -> Result<(bool, bool), NvmlError> {
    let mode = device.mig_mode()?;
    Ok((mode.current == 1, mode.pending == 1))
}

/// The compute slices of the compute instances of an instance, the largest first.
fn computes_of(instance: &mig::NvmlInstance<'_>) -> Result<Vec<u32>, NvmlError> {
    let mut slices = Vec::new();
    for profile in instance.compute_profiles()? {
        let count = instance.computes(&profile)?.len();
        slices.extend(std::iter::repeat_n(profile.slices, count));
    }
    slices.sort_unstable_by(|a, b| b.cmp(a));
    Ok(slices)
}

/// The instance at a place.
fn find<'n>(
    device: &Device<'n>,
    place: &MigPlace,
) -> Result<Option<mig::NvmlInstance<'n>>, NvmlError> {
    for profile in mig::profiles(device)? {
        if profile.name != place.profile {
            continue;
        }
        for instance in mig::instances(device, &profile)? {
            if instance.place()?.0 == place.start {
                return Ok(Some(instance));
            }
        }
    }
    Ok(None)
}

fn state(nvml: &Nvml, uuid: &str) -> Result<MigState, NvmlError> {
    let device = device_of(nvml, uuid)?;
    let (enabled, pending) = mode(&device)?;
    let mut instances = Vec::new();
    if enabled {
        for profile in mig::profiles(&device)? {
            for instance in mig::instances(&device, &profile)? {
                let (start, size) = instance.place()?;
                instances.push(MigPlace {
                    start,
                    size,
                    profile: profile.name.clone(),
                    compute: computes_of(&instance)?,
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
fn create(nvml: &Nvml, uuid: &str, place: &MigPlace) -> Result<(), NvmlError> {
    let device = device_of(nvml, uuid)?;
    let instance = match find(&device, place)? {
        Some(instance) => instance,
        None => {
            let profiles = mig::profiles(&device)?;
            let profile = profiles
                .iter()
                .find(|profile| profile.name == place.profile);
            let profile = profile.ok_or(NvmlError::NotFound)?;
            mig::create(&device, profile, place.start, place.size)?
        }
    };
    // The instance may be there without all of its compute instances, after an attempt that failed.
    let mut lacks = place.compute.clone();
    for compute_instance in computes_of(&instance)? {
        if let Some(at) = lacks.iter().position(|lack| *lack == compute_instance) {
            lacks.remove(at);
        }
    }
    let profiles = instance.compute_profiles()?;
    for slices in lacks {
        let profile = profiles.iter().find(|profile| profile.slices == slices);
        instance.create_compute(profile.ok_or(NvmlError::NotFound)?)?;
    }
    Ok(())
}

fn destroy(nvml: &Nvml, uuid: &str, place: &MigPlace) -> Result<(), NvmlError> {
    let device = device_of(nvml, uuid)?;
    let Some(instance) = find(&device, place)? else {
        return Ok(());
    };
    // First the compute instances: a driver destroys no GPU instance that has some.
    for profile in instance.compute_profiles()? {
        for compute in instance.computes(&profile)? {
            compute.destroy()?;
        }
    }
    instance.destroy()
}

impl MigControl for MigNvml {
    fn devices(&self) -> Result<Vec<MigDevice>, LeverError> {
        self.ask("the devices".to_owned(), |nvml| {
            let mut devices = Vec::new();
            for index in 0..nvml.device_count()?.min(mapa_core::MAX_DEVICES as u32) {
                // A device that is lost cannot be partitioned, and neither can one without a mode.
                let Ok(device) = nvml.device_by_index(index) else {
                    continue;
                };
                if device.mig_mode().is_err() {
                    continue;
                }
                devices.push(MigDevice {
                    index,
                    uuid: device.uuid()?,
                    pci_id: device.pci_info().ok().map(|info| info.pci_device_id),
                });
            }
            Ok(devices)
        })
    }

    fn state(&self, device: &str) -> Result<MigState, LeverError> {
        let uuid = device.to_owned();
        self.ask(format!("the partition of {device}"), move |nvml| {
            state(nvml, &uuid)
        })
    }

    fn offers(&self, device: &str) -> Result<Vec<MigOffer>, LeverError> {
        let uuid = device.to_owned();
        self.ask(format!("the MIG profiles of {device}"), move |nvml| {
            let device = device_of(nvml, &uuid)?;
            let mut offers = Vec::new();
            for profile in mig::profiles(&device)? {
                let places = mig::placements(&device, &profile)?;
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
        let what = self.commands(MigOp::Mode(device, on));
        let waits = self.ask(what.clone(), move |nvml| {
            let device = device_of(nvml, &uuid)?;
            if mode(&device)? == (on, on) {
                return Ok(None);
            }
            let status = device.set_mig_mode(on)?;
            let (now, pending) = mode(&device)?;
            if now == on {
                return Ok(None);
            }
            // Without this the next reset, by whomever, would bring what nobody waits for.
            if pending == on {
                device.set_mig_mode(now)?;
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
        let (uuid, instance) = (device.to_owned(), place.clone());
        let what = self.commands(MigOp::Create(device, place));
        self.ask(what, move |nvml| create(nvml, &uuid, &instance))
    }

    fn destroy(&mut self, device: &str, place: &MigPlace) -> Result<(), LeverError> {
        let (uuid, instance) = (device.to_owned(), place.clone());
        let what = self.commands(MigOp::Destroy(device, place));
        self.ask(what, move |nvml| destroy(nvml, &uuid, &instance))
    }

    fn commands(&self, change: MigOp<'_>) -> String {
        match change {
            MigOp::Mode(device, on) => {
                format!("nvmlDeviceSetMigMode({device}, {})", u32::from(on))
            }
            MigOp::Create(device, place) => {
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
            MigOp::Destroy(device, place) => {
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
