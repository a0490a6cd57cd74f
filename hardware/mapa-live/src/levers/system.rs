//! The levers of this machine.

use super::bounds::Bounds;
use super::cgroup::CgroupTree;
use super::lever_set::LeverSet;
use super::mig::{MigCommand, MigControl, reconcilers};
use super::mps_command::MpsCommand;
use super::system_affinity::SystemAffinity;
use super::system_programs::SystemPrograms;
use crate::host::HostFiles;
use crate::live::Live;

impl LeverSet {
    /// The levers of this machine: control groups, processes and programs below its
    /// [roots](Live::roots); MPS by `nvidia-cuda-mps-control` in `PATH`; MIG by NVML, if this build has it
    /// and the library is there, else by `nvidia-smi`. Nothing is asked yet but who else sets MIG layouts.
    #[must_use]
    pub fn of(live: &Live, bounds: Bounds) -> Self {
        #[cfg(feature = "nvml")]
        let mig: Box<dyn MigControl> = Box::new(super::mig::MigSystem::new(live));
        #[cfg(not(feature = "nvml"))]
        let mig: Box<dyn MigControl> = Box::new(MigCommand::new(live));
        Self::with(live, bounds, mig)
    }

    /// As [`of`](Self::of), with MIG by the command `nvidia-smi`.
    #[must_use]
    pub fn by_command(live: &Live, bounds: Bounds) -> Self {
        Self::with(live, bounds, Box::new(MigCommand::new(live)))
    }

    fn with(live: &Live, bounds: Bounds, mig: Box<dyn MigControl>) -> Self {
        let tree = CgroupTree::new(&live.roots);
        let mut mps = MpsCommand::default();
        // No lever waits for a driver or a daemon longer than the caller allows.
        mps.time_limit = mps.time_limit.min(live.time_limit);
        mps.patience = mps.patience.min(live.time_limit);
        Self {
            groups: Box::new(tree.clone()),
            block_io: Box::new(tree.clone()),
            cpusets: Box::new(tree),
            affinity: Box::new(SystemAffinity::new(&live.roots)),
            mps: Box::new(mps),
            mig,
            programs: Box::new(SystemPrograms::new(&live.roots)),
            bounds,
            reconcilers: reconcilers(&live.roots),
            boot: HostFiles::new(&live.roots).boot(),
        }
    }
}
