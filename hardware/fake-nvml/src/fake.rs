//! A machine with its state: what the C interface answers from, and what tests and tools change.

use std::sync::Arc;

use nvml_wrapper_sys::bindings as sys;

use crate::calls::CALLS;
use crate::code::Code;
use crate::config::Config;
use crate::error::Error;
use crate::hardware::{Extras, Hardware};
use crate::partition::{self, Failure};
use crate::state::{Counters, DeviceState, Event, Fault, MOST_EVENTS, Process, State};
use crate::store::Store;

/// A machine with its state. All fakes of one state file share it, in this process and in others.
///
/// # Examples
/// ```
/// use fake_nvml::{Code, Config, Fake, Fault, Process};
///
/// let fake = Fake::open(&Config::new("dgx-a100"))?;
/// fake.start_process(3, Process::new(4242))?;
/// fake.raise_xid(3, 79)?;
/// fake.lose(3)?;
/// fake.inject(Fault::new("nvmlDeviceGetTemperature", Code::Unknown).on(5).times(2))?;
/// assert!(fake.state()?.devices[3].lost);
/// # Ok::<(), fake_nvml::Error>(())
/// ```
pub struct Fake {
    hardware: Arc<Hardware>,
    store: Store,
    privileged: bool,
}

impl Fake {
    /// Opens the machine of these settings.
    ///
    /// # Errors
    /// No machine, or one that cannot be read; a state file that cannot be read, or is of another
    /// machine. The message names the file.
    pub fn open(config: &Config) -> Result<Self, Error> {
        let machine = config.machine.as_deref().ok_or_else(|| {
            Error::new(
                "no machine: expected FAKE_NVML_MACHINE, the name of a machine of the catalogue or \
                 the path of a machine file",
            )
        })?;
        let extras = Extras {
            product: config.product.as_deref(),
            mig: config.mig.as_deref(),
            driver: config.driver.as_deref(),
        };
        let hardware = Arc::new(Hardware::open(machine, &extras)?);
        let fresh = State::new(&hardware.name, hardware.gpus.len());
        let store = match &config.state {
            None => Store::memory(fresh),
            Some(path) => {
                let own = hardware.clone();
                Store::shared(path, fresh, move |state| check(&own, state))
            }
        };
        // A state that cannot be read is told now, not at some call.
        store.read()?;
        Ok(Self {
            hardware,
            store,
            privileged: config.is_privileged(),
        })
    }

    /// The state now.
    ///
    /// # Errors
    /// A state file that cannot be read.
    pub fn state(&self) -> Result<Arc<State>, Error> {
        self.store.read()
    }

    /// Checks that a state is one of this machine: its devices, links, and instances.
    ///
    /// # Errors
    /// What cannot be; the message names the device.
    pub fn check(&self, state: &State) -> Result<(), Error> {
        check(&self.hardware, state)
    }

    /// Puts a whole state in the place of the present one.
    ///
    /// # Errors
    /// As [`Fake::check`]; a state file that cannot be changed.
    pub fn replace(&self, state: State) -> Result<(), Error> {
        self.check(&state)?;
        self.change(|machine| {
            *machine = state;
            Ok(())
        })
    }

    /// The number of devices.
    #[must_use]
    pub fn device_count(&self) -> usize {
        self.hardware.gpus.len()
    }

    /// The UUID of a device.
    #[must_use]
    pub fn uuid(&self, device: u32) -> Option<&str> {
        let gpu = self.hardware.gpus.get(device as usize)?;
        Some(&gpu.uuid)
    }

    pub(crate) fn hardware(&self) -> &Hardware {
        &self.hardware
    }

    pub(crate) fn is_privileged(&self) -> bool {
        self.privileged
    }

    /// Lists a process on a device, in place of one with the same number and instance.
    ///
    /// # Errors
    /// No such device, or no such instance on it; a state file that cannot be changed.
    pub fn start_process(&self, device: u32, process: Process) -> Result<(), Error> {
        self.on(device, |device| {
            if let Some((instance, compute)) = process.instance {
                let known = partition::mig_devices(&device.mig)
                    .any(|(gpu_instance, its)| (gpu_instance.id, its.id) == (instance, compute));
                if !known {
                    return Err(Error::new(format!(
                        "instance {instance}/{compute}: expected a compute instance of the device"
                    )));
                }
            }
            let own = (process.pid, process.instance);
            device
                .processes
                .retain(|other| (other.pid, other.instance) != own);
            device.processes.push(process);
            Ok(())
        })
    }

    /// Removes a process from a device; false if it was not there.
    ///
    /// # Errors
    /// No such device; a state file that cannot be changed.
    pub fn stop_process(&self, device: u32, pid: u32) -> Result<bool, Error> {
        self.on(device, |device| {
            let before = device.processes.len();
            device.processes.retain(|process| process.pid != pid);
            Ok(device.processes.len() < before)
        })
    }

    /// Changes what a device's counters show.
    ///
    /// # Errors
    /// No such device; a state file that cannot be changed.
    pub fn set_counters(
        &self,
        device: u32,
        change: impl FnOnce(&mut Counters),
    ) -> Result<(), Error> {
        self.on(device, |device| {
            change(&mut device.counters);
            Ok(())
        })
    }

    /// Takes a link of a device down, or up again. Its other end follows, where that is a device.
    ///
    /// # Errors
    /// No such device or link; a state file that cannot be changed.
    pub fn set_link(&self, device: u32, link: u32, up: bool) -> Result<(), Error> {
        let links = self
            .hardware
            .gpus
            .get(device as usize)
            .map_or(0, |gpu| gpu.links.len());
        if link as usize >= links {
            return Err(Error::new(format!(
                "link {link} of device {device}: expected one of its {links} links"
            )));
        }
        let other = self.hardware.other_end(device as usize, link as usize);
        self.change(|state| {
            let row = Some((device as usize, link as usize));
            for (device, link) in row.into_iter().chain(other) {
                let down = &mut state.devices[device].links_down;
                if up {
                    down.remove(&(link as u32));
                } else {
                    down.insert(link as u32);
                }
            }
            Ok(())
        })
    }

    /// Tells everyone who waits for events that this Xid happened on a device.
    ///
    /// # Errors
    /// No such device; a state file that cannot be changed.
    pub fn raise_xid(&self, device: u32, xid: u64) -> Result<(), Error> {
        self.raise(
            device,
            u64::from(sys::nvmlEventTypeXidCriticalError),
            xid,
            None,
        )
    }

    /// Tells everyone who waits for events of this type that one happened on a device, or on an
    /// instance of it.
    ///
    /// # Errors
    /// No such device; a state file that cannot be changed.
    pub fn raise(
        &self,
        device: u32,
        kind: u64,
        data: u64,
        instance: Option<(u32, u32)>,
    ) -> Result<(), Error> {
        self.own(device)?;
        self.change(|state| {
            let number = state.next_event;
            state.next_event += 1;
            state.events.push(Event {
                number,
                device,
                kind,
                data,
                instance,
            });
            let surplus = state.events.len().saturating_sub(MOST_EVENTS);
            state.events.drain(..surplus);
            Ok(())
        })
    }

    /// Makes calls fail or take long. Of several faults that meet a call, the first counts.
    ///
    /// # Errors
    /// No such device; a call that the library does not have; a state file that cannot be changed.
    pub fn inject(&self, fault: Fault) -> Result<(), Error> {
        if let Some(device) = fault.device {
            self.own(device)?;
        }
        if fault.call != "*" && !CALLS.contains(&fault.call.as_str()) {
            let call = &fault.call;
            return Err(Error::new(format!(
                "no call `{call}`: expected `*` or one of this library's calls, such as nvmlDeviceGetName"
            )));
        }
        if fault.call == "nvmlErrorString" && fault.error.is_some() {
            return Err(Error::new(
                "nvmlErrorString answers with a text: expected a call that answers with a code",
            ));
        }
        self.change(|state| {
            state.faults.push(fault);
            Ok(())
        })
    }

    /// Removes all faults.
    ///
    /// # Errors
    /// A state file that cannot be changed.
    pub fn clear_faults(&self) -> Result<(), Error> {
        self.change(|state| {
            state.faults.clear();
            Ok(())
        })
    }

    /// Takes a device off the bus. Its processes and instances stay in the state, unseen.
    ///
    /// # Errors
    /// No such device; a state file that cannot be changed.
    pub fn lose(&self, device: u32) -> Result<(), Error> {
        self.on(device, |device| {
            device.lost = true;
            Ok(())
        })
    }

    /// Resets a device: it is on the bus, has neither processes nor instances, and is in the MIG
    /// mode that was requested.
    ///
    /// # Errors
    /// No such device; a state file that cannot be changed.
    pub fn reset(&self, device: u32) -> Result<(), Error> {
        self.on(device, |device| {
            device.lost = false;
            device.processes.clear();
            device.mig.instances.clear();
            device.mig.enabled = device.mig.pending;
            Ok(())
        })
    }

    /// Turns MIG mode on or off, as `nvmlDeviceSetMigMode` does.
    ///
    /// # Errors
    /// `NOT_SUPPORTED` if the device cannot be partitioned, `IN_USE` if it has processes or
    /// instances: the mode then waits for [`Fake::reset`]; no such device.
    pub fn set_mig(&self, device: u32, enabled: bool) -> Result<(), Failure> {
        self.own(device)?;
        if self.hardware.gpus[device as usize].mig.is_none() {
            return Err(Code::NotSupported.into());
        }
        let answer = self.change(|state| {
            let device = &mut state.devices[device as usize];
            Ok::<_, Failure>(partition::set_mode(device, enabled))
        })?;
        Ok(answer?)
    }

    /// Creates a GPU instance of the profile with this name and, on all of it, a compute instance.
    /// Their numbers are the answer.
    ///
    /// # Errors
    /// As `nvmlDeviceCreateGpuInstanceWithPlacement`; no such device or profile.
    pub fn create_instance(
        &self,
        device: u32,
        profile: &str,
        start: Option<u8>,
    ) -> Result<(u32, u32), Failure> {
        self.own(device)?;
        let table = self.hardware.gpus[device as usize].mig.clone();
        let table = table.ok_or(Code::NotSupported)?;
        let facts = table
            .gpu
            .profiles
            .iter()
            .find(|facts| facts.name == profile);
        let facts = facts.ok_or_else(|| {
            let names: Vec<&str> = table
                .gpu
                .profiles
                .iter()
                .map(|facts| facts.name.as_str())
                .collect();
            Error::new(format!(
                "profile `{profile}`: expected {}",
                names.join(", ")
            ))
        })?;
        let slices = facts.compute_slices;
        self.change(|state| {
            let mig = &mut state.devices[device as usize].mig;
            let id = table.create(mig, u32::from(facts.id), start)?;
            let at = mig.instances.len() - 1;
            let row = partition::COMPUTE.iter().find(|(size, ..)| *size == slices);
            let (_, whole, _) = row.ok_or(Code::NotSupported)?;
            let compute = partition::create_compute(mig, at, slices, *whole, None)?;
            Ok((id, compute))
        })
    }

    /// Destroys a GPU instance with its compute instances.
    ///
    /// # Errors
    /// `IN_USE` if it has processes, `NOT_FOUND` if there is none; no such device.
    pub fn destroy_instance(&self, device: u32, instance: u32) -> Result<(), Failure> {
        self.own(device)?;
        self.change(|state| {
            let device = &mut state.devices[device as usize];
            let mut instances = device.mig.instances.iter();
            let at = instances
                .position(|gpu_instance| gpu_instance.id == instance)
                .ok_or(Code::NotFound)?;
            while let Some(last) = device.mig.instances[at].compute.len().checked_sub(1) {
                partition::destroy_compute(device, at, last)?;
            }
            partition::destroy(&mut device.mig, at)
        })
    }

    pub(crate) fn change<T, E: From<Error>>(
        &self,
        change: impl FnOnce(&mut State) -> Result<T, E>,
    ) -> Result<T, E> {
        self.store.change(change)
    }

    /// Changes the state of a device.
    fn on<T>(
        &self,
        device: u32,
        change: impl FnOnce(&mut DeviceState) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.own(device)?;
        self.change(|state| change(&mut state.devices[device as usize]))
    }

    /// Checks that the machine has this device.
    fn own(&self, device: u32) -> Result<(), Error> {
        let devices = self.device_count();
        if (device as usize) < devices {
            return Ok(());
        }
        Err(Error::new(format!(
            "device {device}: expected 0 to {}",
            devices.saturating_sub(1)
        )))
    }
}

/// Checks that a state is one of this machine.
fn check(hardware: &Hardware, state: &State) -> Result<(), Error> {
    let (devices, known) = (state.devices.len(), hardware.gpus.len());
    if state.machine != hardware.name || devices != known {
        let (other, own) = (&state.machine, &hardware.name);
        return Err(Error::new(format!(
            "the state of `{other}` with {devices} devices: expected `{own}` with {known}"
        )));
    }
    for (at, (device, gpu)) in state.devices.iter().zip(&hardware.gpus).enumerate() {
        partition::check(gpu.mig.as_deref(), &device.mig)
            .map_err(|error| Error::new(format!("device {at}: {error}")))?;
        let links = gpu.links.len();
        if let Some(link) = device
            .links_down
            .iter()
            .find(|&&link| link as usize >= links)
        {
            return Err(Error::new(format!(
                "device {at}: link {link} is down: expected one of its {links} links"
            )));
        }
    }
    Ok(())
}
