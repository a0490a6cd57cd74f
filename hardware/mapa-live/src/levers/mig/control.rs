//! What can be done to the partition of a device.

use serde::{Deserialize, Serialize};

use crate::levers::error::LeverError;

/// A device, as NVIDIA names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MigDevice {
    /// NVIDIA's number of the GPU.
    pub index: u32,
    /// NVIDIA's UUID of the whole GPU: `GPU-..`.
    pub uuid: String,
    /// The PCI device and vendor as mig-parted's filters write them, `0x20B010DE`; `None` if not known.
    pub pci_id: Option<u32>,
}

/// A GPU instance at its place. Numbers of instances change when they are created anew; a profile and a
/// start do not.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MigPlace {
    /// The first memory slice.
    pub start: u32,
    /// The number of memory slices.
    pub size: u32,
    /// The profile: `3g.20gb`.
    pub profile: String,
    /// Its compute instances: the compute slices of each, the largest first. One that has all slices of the
    /// instance is the usual.
    pub compute: Vec<u32>,
}

/// How a device is partitioned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MigState {
    /// Whether MIG is on now.
    pub enabled: bool,
    /// Whether it will be after a reset.
    pub pending: bool,
    /// The GPU instances that exist, by start.
    pub instances: Vec<MigPlace>,
}

/// A profile that a device offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigOffer {
    /// The name: `3g.20gb`.
    pub name: String,
    /// NVIDIA's number of it, as in `nvidia-smi mig -cgi`.
    pub id: u32,
    /// How many compute slices an instance of it has.
    pub compute_slices: u32,
    /// How many memory slices an instance of it takes.
    pub size: u32,
    /// The memory slices at which an instance of it may start.
    pub starts: Vec<u32>,
    /// The most that may exist at once.
    pub most: u32,
}

/// A change of a partition, to be put into words.
#[derive(Clone, Copy, Debug)]
pub enum MigOp<'a> {
    /// [`MigControl::set_mode`].
    Mode(&'a str, bool),
    /// [`MigControl::create`].
    Create(&'a str, &'a MigPlace),
    /// [`MigControl::destroy`].
    Destroy(&'a str, &'a MigPlace),
}

/// The partitions of devices. `MigNvml` calls NVIDIA's library,
/// [`MigCommand`](crate::levers::MigCommand) runs `nvidia-smi mig`, and
/// [`SimulatedMachine`](crate::levers::SimulatedMachine) simulates devices. Devices are named by UUID.
///
/// A change that is there already is no error: an instance that exists is created, one that does not is
/// destroyed.
pub trait MigControl: Send {
    /// The devices that can be partitioned.
    ///
    /// # Errors
    /// The driver does not answer.
    fn devices(&self) -> Result<Vec<MigDevice>, LeverError>;

    /// How a device is partitioned.
    ///
    /// # Errors
    /// [Missing](LeverError::Missing): no such device.
    fn state(&self, device: &str) -> Result<MigState, LeverError>;

    /// The profiles that a device in MIG mode offers.
    ///
    /// # Errors
    /// The driver does not answer.
    fn offers(&self, device: &str) -> Result<Vec<MigOffer>, LeverError>;

    /// Turns MIG on or off.
    ///
    /// # Errors
    /// [Busy](LeverError::Busy): it would take a reset. The device stays as it is.
    fn set_mode(&mut self, device: &str, on: bool) -> Result<(), LeverError>;

    /// Creates an instance with its compute instances. It may fail after the instance was made: whoever
    /// calls it destroys the instance then.
    ///
    /// # Errors
    /// [Infeasible](LeverError::Infeasible): the place is taken.
    fn create(&mut self, device: &str, place: &MigPlace) -> Result<(), LeverError>;

    /// Destroys an instance with its compute instances.
    ///
    /// # Errors
    /// [Busy](LeverError::Busy): a process uses it.
    fn destroy(&mut self, device: &str, place: &MigPlace) -> Result<(), LeverError>;

    /// The exact call or command, one a line.
    fn commands(&self, change: MigOp<'_>) -> String;
}
