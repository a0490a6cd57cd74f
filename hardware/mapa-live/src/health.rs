//! What may become of a device while a machine runs.

/// A change of a device's health.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HealthChange {
    /// The vendor's number of the device.
    pub index: u32,
    /// The vendor's UUID; `None` if the device was lost before it could be asked.
    pub uuid: Option<String>,
    /// The PCI address; `None` as for the UUID.
    pub pci: Option<String>,
    /// The error, the loss, or the return of the device.
    pub what: Health,
}

/// What happened to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Health {
    /// NVIDIA's driver reported an error by this number. `None` if it did not say which.
    /// [`is_of_program`] tells errors of programs from those of devices.
    Xid(Option<u64>),
    /// The device is gone: it has fallen off the bus, or must be reset.
    Lost,
    /// A device that was lost answers again.
    Back,
}

/// Whether the error of this number is mostly a program's fault, so that the device is still sound:
/// an illegal access, a page fault, a program that was stopped. These are the numbers that
/// NVIDIA/k8s-device-plugin (internal/rm/health.go) does not count against a device.
#[must_use]
pub fn is_of_program(xid: u64) -> bool {
    matches!(xid, 13 | 31 | 43 | 45 | 68 | 109)
}
