//! What changes while a machine runs: processes, instances, counters, failures.
//!
//! The state is one JSON text, so that people can read and edit it between runs. A text from outside
//! is read strictly: an unknown key, a number out of range or an illegal layout is an error that
//! names the device.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::code::Code;
use crate::error::Error;

/// The most bytes of a state file.
pub const MAX_STATE_BYTES: usize = 16 << 20;

/// The most events that are kept; older ones are dropped.
pub(crate) const MOST_EVENTS: usize = 1024;

/// Serial numbers of instances have 24 bits: they are a part of handles.
pub(crate) const MAX_SERIAL: u32 = (1 << 24) - 1;

/// Everything that changes while a machine runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct State {
    /// The name of the machine whose state this is.
    pub machine: String,
    /// The devices, by NVML's index.
    pub devices: Vec<DeviceState>,
    /// Calls that fail or take long.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
    /// The latest events, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Event>,
    /// The number of the next event.
    #[serde(default)]
    pub next_event: u64,
}

/// The state of one device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct DeviceState {
    /// Whether it has fallen off the bus: every call on it answers `GPU_IS_LOST`.
    #[serde(skip_serializing_if = "is_false")]
    pub lost: bool,
    /// Its processes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<Process>,
    /// What its counters show.
    #[serde(skip_serializing_if = "Counters::is_default")]
    pub counters: Counters,
    /// Its NVLinks that are down, by number.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub links_down: BTreeSet<u32>,
    /// Its MIG mode and instances.
    #[serde(skip_serializing_if = "Mig::is_default")]
    pub mig: Mig,
}

/// What a device's counters show.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Counters {
    /// Share of time in which a kernel ran, percent.
    pub gpu_utilization: u32,
    /// Share of time in which memory was read or written, percent.
    pub memory_utilization: u32,
    /// What the device sends over PCIe, KB/s.
    pub pcie_tx_kbps: u32,
    /// What the device receives over PCIe, KB/s.
    pub pcie_rx_kbps: u32,
    /// Retries on PCIe since the device started.
    pub pcie_replays: u32,
    /// The lanes of its PCIe link now; 0 stands for all that its slot has.
    pub pcie_lanes: u32,
    /// The generation of its PCIe link now; 0 stands for that of its slot.
    pub pcie_generation: u32,
    /// Power, mW.
    pub power_mw: u32,
    /// The limit of power, mW.
    pub power_limit_mw: u32,
    /// Energy since the driver was loaded, mJ.
    pub energy_mj: u64,
    /// Degrees Celsius.
    pub temperature_c: u32,
    /// Errors of memory that were corrected.
    pub ecc_corrected: u64,
    /// Errors of memory that were not.
    pub ecc_uncorrected: u64,
    /// What the driver asks for (`nvmlDeviceGpuRecoveryAction_t`): 1 a reset of the GPU, 2 a reboot,
    /// 3 an end of peer-to-peer traffic, 4 a reset once the GPU is idle.
    pub recovery_action: u32,
    /// Memory in use beside that of processes, bytes.
    pub reserved_bytes: u64,
}

impl Counters {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A process on a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// What it does there.
    #[serde(default)]
    pub kind: ProcessKind,
    /// Memory that it uses, bytes.
    #[serde(default)]
    pub memory_bytes: u64,
    /// The GPU instance and the compute instance on which it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<(u32, u32)>,
    /// The time at which the process of this number started, in clock ticks since boot. If it is
    /// set, the process is listed only while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<u64>,
}

impl Process {
    /// A process that computes, and is listed until it is removed. Such a process need not exist.
    #[must_use]
    pub fn new(pid: u32) -> Self {
        Self {
            pid,
            kind: ProcessKind::Compute,
            memory_bytes: 0,
            instance: None,
            started: None,
        }
    }

    /// A running process of this system, listed until it ends, however it ends.
    ///
    /// # Errors
    /// There is no such process.
    pub fn running(pid: u32) -> Result<Self, Error> {
        match start_of(pid) {
            Some(started) => Ok(Self {
                started: Some(started),
                ..Self::new(pid)
            }),
            None => Err(Error::new(format!(
                "process {pid} does not run: expected the number of one that does"
            ))),
        }
    }

    /// Whether it is listed.
    pub(crate) fn is_there(&self) -> bool {
        // A zombie has released its devices, though its number is still taken.
        (self.started).is_none_or(|started| start_of(self.pid) == Some(started))
    }
}

/// The time at which a process started, in clock ticks since boot; none if it has ended.
fn start_of(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may contain anything.
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let ended = matches!(fields.next()?, "Z" | "X" | "x");
    let started = fields.nth(18)?.parse().ok()?;
    (!ended).then_some(started)
}

/// What a process does on a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ProcessKind {
    /// It computes.
    #[default]
    Compute,
    /// It draws.
    Graphics,
    /// It computes as a client of MPS.
    Mps,
}

/// A call that fails, or takes long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Fault {
    /// The call, `nvmlDeviceGetName`; `*` for every one.
    pub call: String,
    /// The device on which it fails, by NVML's index; none for any, and for calls without a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<u32>,
    /// What it answers; none if it only takes long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Code>,
    /// How long it takes, ms.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub delay_ms: u64,
    /// How often it still does; none for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
}

impl Fault {
    /// A call that always answers this, on every device.
    #[must_use]
    pub fn new(call: impl Into<String>, error: Code) -> Self {
        Self {
            call: call.into(),
            device: None,
            error: Some(error),
            delay_ms: 0,
            times: None,
        }
    }

    /// A call that takes this many milliseconds before it answers as it would.
    #[must_use]
    pub fn delay(call: impl Into<String>, delay_ms: u64) -> Self {
        Self {
            call: call.into(),
            device: None,
            error: None,
            delay_ms,
            times: None,
        }
    }

    /// The same on one device.
    #[must_use]
    pub fn on(mut self, device: u32) -> Self {
        self.device = Some(device);
        self
    }

    /// The same, for so many calls.
    #[must_use]
    pub fn times(mut self, times: u32) -> Self {
        self.times = Some(times);
        self
    }

    /// Whether this call is meant.
    pub(crate) fn meets(&self, call: &str, device: Option<usize>) -> bool {
        let call = self.call == "*" || self.call == call;
        let here = (self.device).is_none_or(|index| Some(index as usize) == device);
        call && here && self.times != Some(0)
    }
}

/// Something that happened on a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Event {
    /// Its number; numbers rise.
    pub number: u64,
    /// The device, by NVML's index.
    pub device: u32,
    /// NVML's type: 8 is an Xid.
    pub kind: u64,
    /// What comes with it: the number of the Xid.
    pub data: u64,
    /// The instance on which it happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<(u32, u32)>,
}

/// The MIG mode and the instances of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Mig {
    /// Whether the device is in MIG mode.
    #[serde(skip_serializing_if = "is_false")]
    pub enabled: bool,
    /// Whether it will be after the next reset.
    #[serde(skip_serializing_if = "is_false")]
    pub pending: bool,
    /// Its GPU instances.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub instances: Vec<GpuInstance>,
    /// The last serial number that was given to an instance.
    #[serde(skip_serializing_if = "is_zero_u32")]
    pub last_serial: u32,
}

impl Mig {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A GPU instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct GpuInstance {
    /// Its number on the device.
    pub id: u32,
    /// A number that no other instance of the device ever had.
    pub serial: u32,
    /// NVIDIA's number of its profile.
    pub profile: u32,
    /// The first memory slice.
    pub start: u8,
    /// Its compute instances.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compute: Vec<ComputeInstance>,
}

/// A compute instance. Together with its GPU instance it is a MIG device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ComputeInstance {
    /// Its number in the GPU instance.
    pub id: u32,
    /// A number that no other instance of the device ever had.
    pub serial: u32,
    /// NVML's number of its profile.
    pub profile: u32,
    /// Its first compute slice in the GPU instance.
    pub start: u8,
    /// Its compute slices.
    pub size: u8,
    /// The number of the MIG device among those of the device.
    pub index: u32,
}

impl State {
    /// The state of a machine that has just started.
    pub(crate) fn new(machine: &str, devices: usize) -> Self {
        Self {
            machine: machine.to_owned(),
            devices: vec![DeviceState::default(); devices],
            ..Self::default()
        }
    }

    /// Reads a state from its JSON. Whether it fits a machine is checked when a fake opens it.
    ///
    /// # Errors
    /// A text that is too long, is no JSON, or has keys or values that no state has; the message
    /// names the place and what was expected.
    pub fn read(text: &[u8]) -> Result<Self, Error> {
        if text.len() > MAX_STATE_BYTES {
            let bytes = text.len();
            return Err(Error::new(format!(
                "{bytes} bytes of state: expected at most {MAX_STATE_BYTES}"
            )));
        }
        let state: Self = serde_json::from_slice(text)
            .map_err(|error| Error::new(format!("no state of a machine: {error}")))?;
        state.check_numbers()?;
        Ok(state)
    }

    /// Checks what can be checked without the machine.
    fn check_numbers(&self) -> Result<(), Error> {
        if self.events.len() > MOST_EVENTS {
            let events = self.events.len();
            return Err(Error::new(format!(
                "{events} events: expected at most {MOST_EVENTS}"
            )));
        }
        let rise = self
            .events
            .windows(2)
            .all(|two| two[0].number < two[1].number);
        let last = self.events.last().map(|event| event.number);
        let far = self.next_event > u64::MAX / 2;
        if !rise || far || last.is_some_and(|last| last >= self.next_event) {
            return Err(Error::new(
                "events out of order: expected rising numbers below `next_event`",
            ));
        }
        let numbered = self.faults.iter().map(|fault| fault.device);
        let numbered = numbered.chain(self.events.iter().map(|event| Some(event.device)));
        for device in numbered.flatten() {
            if device as usize >= self.devices.len() {
                let devices = self.devices.len();
                return Err(Error::new(format!(
                    "a fault or event on device {device}: expected one of the {devices} devices"
                )));
            }
        }
        Ok(())
    }

    /// The state as JSON.
    ///
    /// # Errors
    /// More bytes than a state may have.
    pub fn write(&self) -> Result<String, Error> {
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| Error::new(format!("state: {error}")))?;
        if text.len() > MAX_STATE_BYTES {
            let bytes = text.len();
            return Err(Error::new(format!(
                "{bytes} bytes of state: expected at most {MAX_STATE_BYTES}"
            )));
        }
        Ok(text)
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_false(flag: &bool) -> bool {
    !flag
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero_u32(number: &u32) -> bool {
    *number == 0
}
