//! All levers of a machine.

use super::affinity::Affinity;
use super::block_io::BlockIo;
use super::bounds::Bounds;
use super::cpuset::Cpusets;
use super::group::CgroupOps;
use super::launch::Programs;
use super::mig::MigControl;
use super::mps::Mps;

/// The levers of a machine, real or simulated, and their bounds. The logic of plans, bounds, half-done
/// work and reverting is here once, over either.
pub struct LeverSet {
    /// Control groups, and which processes are in them.
    pub groups: Box<dyn CgroupOps>,
    /// Limits on the block I/O of groups.
    pub block_io: Box<dyn BlockIo>,
    /// CPUs and memory nodes of groups.
    pub cpusets: Box<dyn Cpusets>,
    /// The CPUs on which the threads of a process may run.
    pub affinity: Box<dyn Affinity>,
    /// Shares and memory limits of processes that share a GPU.
    pub mps: Box<dyn Mps>,
    /// Partitions of GPUs.
    pub mig: Box<dyn MigControl>,
    /// Programs that are started, stopped and handed over.
    pub programs: Box<dyn Programs>,
    /// The bounds within which every plan stays.
    pub bounds: Bounds,
    /// The other programs that set MIG layouts on this machine, in words; reported as a warning of every layout.
    pub reconcilers: Vec<String>,
    /// The kernel's id of this boot; `None` where there is none, and so nothing is known to be of an earlier one.
    pub boot: Option<String>,
}
