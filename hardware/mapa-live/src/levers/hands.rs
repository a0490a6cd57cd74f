//! All levers of a machine.

use super::affinity::Affinity;
use super::block_io::BlockIo;
use super::bounds::Bounds;
use super::cpuset::Cpusets;
use super::group::Groups;
use super::launch::Programs;
use super::mig::MigControl;
use super::mps::Mps;

/// The levers of a machine, real or simulated, and their bounds. The logic of plans, bounds, half-done
/// work and undoing is here once, over either.
pub struct Hands {
    /// Control groups.
    pub groups: Box<dyn Groups>,
    /// Block I/O.
    pub block_io: Box<dyn BlockIo>,
    /// CPUs and memory nodes of groups.
    pub cpusets: Box<dyn Cpusets>,
    /// CPUs of processes.
    pub affinity: Box<dyn Affinity>,
    /// MPS.
    pub mps: Box<dyn Mps>,
    /// MIG.
    pub mig: Box<dyn MigControl>,
    /// Programs.
    pub programs: Box<dyn Programs>,
    /// The bounds.
    pub bounds: Bounds,
    /// What else sets MIG layouts on this machine, in words; told as a warning of every layout.
    pub reconcilers: Vec<String>,
    /// The kernel's id of this boot; `None` where there is none, and so nothing is known to be of an earlier one.
    pub boot: Option<String>,
}
