//! Levers: simulated, over files, over a library without GPUs, and for real on this kernel.

mod bounds;
mod cgroup;
mod elsewhere;
mod holders;
mod journal;
#[cfg(feature = "nvml")]
mod mig;
mod mig_command;
mod mps;
mod programs;
mod random;
mod real;

use mapa_live::levers::{CgroupPath, LeverError, SimulatedMachine};

/// A group by its path.
pub(crate) fn group(path: &str) -> CgroupPath {
    CgroupPath::new(path).unwrap()
}

/// The name of the bound that refused.
pub(crate) fn bound(error: &LeverError) -> &str {
    match error {
        LeverError::OutOfBounds { bound, .. } => bound,
        other => panic!("{other}: expected a bound"),
    }
}

/// A simulated machine with groups, a process, devices, a daemon and a program.
pub(crate) fn machine() -> SimulatedMachine {
    let twin = SimulatedMachine::with_group("mapa/etl").unwrap();
    let other = SimulatedMachine::with_group("mapa/batch").unwrap();
    let mut state = twin.state();
    let more = other.state();
    state.groups.extend(more.groups);
    state.cpusets.extend(more.cpusets);
    state.programs.insert("old".to_owned());
    twin.set_state(state);
    for device in ["GPU-a", "GPU-b"] {
        twin.add_device(device, "a100-40gb").unwrap();
    }
    let mut state = twin.state();
    for mig_state in state.mig.values_mut() {
        (mig_state.enabled, mig_state.pending) = (true, true);
    }
    twin.set_state(state);
    twin.add_process(7, &[8, 9]);
    twin.add_mps(&mapa_live::levers::MpsServer("/mps".into()), &[501, 502]);
    twin
}
