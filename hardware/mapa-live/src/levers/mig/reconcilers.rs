//! Other programs that set MIG layouts. Two on one device undo each other's work.

use std::fs;

use crate::kernel::files;
use crate::roots::Roots;

/// The programs that set layouts of their own accord, by the start of their name (the kernel keeps 15
/// characters).
const PROGRAMS: [&str; 3] = ["nvidia-mig-mana", "nvidia-mig-part", "mig-manager"];

/// The systemd units that set a layout at the boot, or keep one.
const UNITS: [&str; 2] = ["nvidia-mig-manager.service", "mig-manager.service"];

/// What else sets MIG layouts on this machine, as warnings in words: a program that runs, a unit that is
/// enabled, the folder of mig-manager's state. Nothing found is no proof: in a container other programs
/// may be hidden, and a Kubernetes node label (`nvidia.com/mig.config`) is not on the node.
#[must_use]
pub fn reconcilers(roots: &Roots) -> Vec<String> {
    let mut found = Vec::new();
    let list = fs::read_dir(&roots.proc).into_iter().flatten().flatten();
    for entry in list {
        let name = entry.file_name();
        let Some(pid) = name.to_str().filter(|name| name.parse::<u32>().is_ok()) else {
            continue;
        };
        let comm = files::read(&entry.path().join("comm")).unwrap_or_default();
        let comm = comm.trim();
        if PROGRAMS.iter().any(|candidate| comm.starts_with(candidate)) {
            found.push(format!("process {pid} ({comm}) sets MIG layouts too"));
        }
    }
    found.sort();
    for unit in UNITS {
        for folder in ["multi-user.target.wants", "default.target.wants"] {
            let link = roots.etc.join("systemd/system").join(folder).join(unit);
            // The link itself counts: what it leads to may not be visible from here.
            if fs::symlink_metadata(&link).is_ok() {
                found.push(format!(
                    "systemd unit {unit} is enabled: it sets a layout at each boot"
                ));
            }
        }
    }
    let state = roots.etc.join("nvidia-mig-manager/config.yaml");
    if fs::symlink_metadata(&state).is_ok() {
        found.push(format!(
            "{} exists: mig-manager is installed, and may set its layout",
            state.display()
        ));
    }
    found
}
