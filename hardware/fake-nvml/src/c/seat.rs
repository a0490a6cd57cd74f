//! What a handle leads to: a device or an instance, with the machine's state at this call.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::border::{CallResult, NvmlCall};
use super::handle::DeviceHandle;
use super::library;
use crate::code::Code;
use crate::fake::Fake;
use crate::hardware::{FakeGpu, MigTable};
use crate::partition::Failure;
use crate::state::{ComputeInstance, DeviceState, GpuInstance, State};

/// A device at one call. It may be a MIG device.
pub(super) struct CallDevice {
    pub(super) fake: Arc<Fake>,
    state: Arc<State>,
    pub(super) device: usize,
    /// The places of the GPU instance and the compute instance, if it is a MIG device.
    instance: Option<(usize, usize)>,
}

/// A GPU instance at one call.
pub(super) struct InstanceSeat {
    pub(super) seat: CallDevice,
    /// Its place among those of the device.
    pub(super) at: usize,
}

/// The state of a machine at one call, after its faults.
pub(super) fn state(call: NvmlCall, fake: &Fake, device: Option<usize>) -> CallResult<Arc<State>> {
    let state = fake.state().map_err(|error| unknown(error.into()))?;
    suffer(call, fake, &state, device)?;
    Ok(state)
}

/// Does what a fault has this call do.
fn suffer(call: NvmlCall, fake: &Fake, state: &State, device: Option<usize>) -> CallResult {
    let place = |state: &State| {
        let mut faults = state.faults.iter();
        faults.position(|fault| fault.meets(call.name, device))
    };
    let Some(at) = place(state) else {
        return Ok(());
    };
    let mut fault = state.faults[at].clone();
    if fault.times.is_some() {
        // Others count too, so it is looked up again with the lock.
        let counted = fake.change(|state| {
            let counted = place(state).map(|at| {
                let fault = &mut state.faults[at];
                fault.times = fault.times.map(|times| times.saturating_sub(1));
                fault.clone()
            });
            state.faults.retain(|fault| fault.times != Some(0));
            Ok::<_, Failure>(counted)
        });
        match counted.map_err(unknown)? {
            Some(counted) => fault = counted,
            None => return Ok(()),
        }
    }
    if fault.delay_ms > 0 {
        thread::sleep(Duration::from_millis(fault.delay_ms));
    }
    fault.error.map_or(Ok(()), Err)
}

/// NVML's answer to a failure. A state that cannot be read is told in the log.
pub(super) fn unknown(failure: Failure) -> Code {
    match failure {
        Failure::Code(code) => code,
        Failure::State(error) => {
            library::complain(&error);
            Code::Unknown
        }
    }
}

impl NvmlCall {
    /// The machine and its state, for a call without a device.
    pub(super) fn machine(self) -> CallResult<(Arc<Fake>, Arc<State>)> {
        let fake = library::fake()?;
        let state = state(self, &fake, None)?;
        Ok((fake, state))
    }

    /// The device of a handle.
    pub(super) fn device<T>(self, pointer: *mut T) -> CallResult<CallDevice> {
        let fake = library::fake()?;
        let handle = DeviceHandle::of(pointer).ok_or(Code::InvalidArgument)?;
        let (device, mig) = match handle {
            DeviceHandle::Gpu { device } => (device, None),
            DeviceHandle::Mig {
                device,
                instance,
                serial,
            } => (device, Some((instance, serial))),
            _ => return Err(Code::InvalidArgument),
        };
        let seat = self.seat(fake, usize::from(device))?;
        let Some((instance, serial)) = mig else {
            return Ok(seat);
        };
        let place = seat.place_of_compute(instance, serial);
        let instance = Some(place.ok_or(Code::InvalidArgument)?);
        Ok(CallDevice { instance, ..seat })
    }

    /// The device with this number.
    pub(super) fn seat(self, fake: Arc<Fake>, device: usize) -> CallResult<CallDevice> {
        if device >= fake.device_count() {
            return Err(Code::InvalidArgument);
        }
        let state = state(self, &fake, Some(device))?;
        if state.devices[device].lost {
            return Err(Code::GpuIsLost);
        }
        Ok(CallDevice {
            fake,
            state,
            device,
            instance: None,
        })
    }

    /// The whole device of a handle. A MIG device is none.
    pub(super) fn whole<T>(self, pointer: *mut T) -> CallResult<CallDevice> {
        let seat = self.device(pointer)?;
        if seat.instance.is_some() {
            return Err(Code::InvalidArgument);
        }
        Ok(seat)
    }

    /// The GPU instance of a handle.
    pub(super) fn instance<T>(self, pointer: *mut T) -> CallResult<InstanceSeat> {
        let fake = library::fake()?;
        let Some(DeviceHandle::Instance {
            device,
            instance,
            serial,
        }) = DeviceHandle::of(pointer)
        else {
            return Err(Code::InvalidArgument);
        };
        let seat = self.seat(fake, usize::from(device))?;
        let mut known = seat.now().mig.instances.iter();
        let at = known.position(|gpu_instance| {
            gpu_instance.id == u32::from(instance) && gpu_instance.serial == serial
        });
        let at = at.ok_or(Code::NotFound)?;
        Ok(InstanceSeat { seat, at })
    }

    /// The compute instance of a handle, by its place in its GPU instance.
    pub(super) fn compute<T>(self, pointer: *mut T) -> CallResult<(InstanceSeat, usize)> {
        let fake = library::fake()?;
        let Some(DeviceHandle::Compute {
            device,
            instance,
            serial,
        }) = DeviceHandle::of(pointer)
        else {
            return Err(Code::InvalidArgument);
        };
        let seat = self.seat(fake, usize::from(device))?;
        let (at, compute) = seat
            .place_of_compute(instance, serial)
            .ok_or(Code::NotFound)?;
        Ok((InstanceSeat { seat, at }, compute))
    }
}

impl CallDevice {
    pub(super) fn gpu(&self) -> &FakeGpu {
        &self.fake.hardware().gpus[self.device]
    }

    pub(super) fn now(&self) -> &DeviceState {
        &self.state.devices[self.device]
    }

    /// The state of the whole machine.
    pub(super) fn state(&self) -> &State {
        &self.state
    }

    /// The table of MIG profiles, if the device can be partitioned.
    pub(super) fn table(&self) -> CallResult<&MigTable> {
        self.gpu().mig.as_deref().ok_or(Code::NotSupported)
    }

    /// The table of MIG profiles, if the device is in MIG mode.
    pub(super) fn partitioned(&self) -> CallResult<&MigTable> {
        let table = self.table()?;
        if self.now().mig.enabled {
            Ok(table)
        } else {
            Err(Code::NotSupported)
        }
    }

    /// The GPU instance and the compute instance, if this is a MIG device.
    pub(super) fn mig(&self) -> Option<(&GpuInstance, &ComputeInstance)> {
        let (at, compute) = self.instance?;
        let instance = self.now().mig.instances.get(at)?;
        Some((instance, instance.compute.get(compute)?))
    }

    pub(super) fn handle<T>(&self) -> *mut T {
        let device = self.device as u16;
        match self.mig() {
            None => DeviceHandle::Gpu { device }.pointer(),
            Some((instance, compute)) => mig_handle(self.device, instance, compute),
        }
    }

    /// Checks that this process may change devices.
    pub(super) fn privileged(&self) -> CallResult {
        if self.fake.is_privileged() {
            Ok(())
        } else {
            Err(Code::NoPermission)
        }
    }

    /// Changes the device's state.
    pub(super) fn change<T>(
        &self,
        change: impl FnOnce(&mut DeviceState) -> Result<T, Failure>,
    ) -> CallResult<T> {
        let changed = self
            .fake
            .change(|state| change(&mut state.devices[self.device]));
        changed.map_err(unknown)
    }

    /// The places of the compute instance with this serial number.
    fn place_of_compute(&self, instance: u8, serial: u32) -> Option<(usize, usize)> {
        let instances = &self.now().mig.instances;
        let at = instances
            .iter()
            .position(|gpu_instance| gpu_instance.id == u32::from(instance))?;
        let mut compute = instances[at].compute.iter();
        Some((
            at,
            compute.position(|compute_instance| compute_instance.serial == serial)?,
        ))
    }
}

impl InstanceSeat {
    pub(super) fn now(&self) -> &GpuInstance {
        &self.seat.now().mig.instances[self.at]
    }

    /// Changes the device's state, with the place that this instance has there now.
    pub(super) fn change<T>(
        &self,
        change: impl FnOnce(&mut DeviceState, usize) -> Result<T, Failure>,
    ) -> CallResult<T> {
        let serial = self.now().serial;
        self.seat.change(|device| {
            // Another process may have destroyed it since.
            let mut instances = device.mig.instances.iter();
            let at = instances.position(|instance| instance.serial == serial);
            change(device, at.ok_or(Code::NotFound)?)
        })
    }
}

/// The handle of a MIG device.
pub(super) fn mig_handle<T>(
    device: usize,
    instance: &GpuInstance,
    compute: &ComputeInstance,
) -> *mut T {
    let handle = DeviceHandle::Mig {
        device: device as u16,
        instance: instance.id as u8,
        serial: compute.serial,
    };
    handle.pointer()
}

/// The handle of a GPU instance.
pub(super) fn instance_handle<T>(device: usize, instance: &GpuInstance) -> *mut T {
    let handle = DeviceHandle::Instance {
        device: device as u16,
        instance: instance.id as u8,
        serial: instance.serial,
    };
    handle.pointer()
}

/// The handle of a compute instance.
pub(super) fn compute_handle<T>(
    device: usize,
    instance: &GpuInstance,
    compute: &ComputeInstance,
) -> *mut T {
    let handle = DeviceHandle::Compute {
        device: device as u16,
        instance: instance.id as u8,
        serial: compute.serial,
    };
    handle.pointer()
}
