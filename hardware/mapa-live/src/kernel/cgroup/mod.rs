//! Control groups: their versions, their processes, and groups that hold processes together.
//!
//! On v1 each controller has a hierarchy of its own below the root (`blkio/`, `cpuset/`). On v2 all share
//! one, at the root or at `unified/`. A machine may have a controller on v1 and the core of v2 beside it
//! (hybrid), so the version is looked up for each controller.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::files;

mod hold;

pub use hold::Cgroups;

/// Where the file systems of control groups are mounted.
pub const MOUNT: &str = "/sys/fs/cgroup";

/// The file of a group's processes.
pub(crate) const PROCESSES: &str = "cgroup.procs";

/// The version of a controller of control groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// The first: each controller has groups of its own.
    V1,
    /// The second: all controllers share their groups.
    V2,
}

/// The version of a controller, by its names on v1 and v2, and the root of its hierarchy. `None`: the machine does
/// not have it.
pub(crate) fn hierarchy(
    cgroup: &Path,
    v1: &str,
    v2: &str,
) -> io::Result<Option<(Version, PathBuf)>> {
    // Every group of version 1 has this file, and none of version 2 has it. A folder of the name
    // alone may be a group of version 2.
    let hierarchy = cgroup.join(v1);
    if hierarchy.join("notify_on_release").try_exists()? {
        return Ok(Some((Version::V1, hierarchy)));
    }
    for root in [cgroup.to_owned(), cgroup.join("unified")] {
        let list = match files::read(&root.join("cgroup.controllers")) {
            Ok(list) => list,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        if list.split_whitespace().any(|candidate| candidate == v2) {
            return Ok(Some((Version::V2, root)));
        }
    }
    Ok(None)
}

/// The processes of a group and of all groups below it.
///
/// # Errors
/// There is no such group, or it cannot be read.
pub fn members(group: &Path) -> io::Result<Vec<i32>> {
    let mut found = own_members(group)?;
    for entry in fs::read_dir(group)?.flatten() {
        if entry.file_type().is_ok_and(|file_type| file_type.is_dir()) {
            // A group that has just been removed had no processes.
            found.extend(members(&entry.path()).unwrap_or_default());
        }
    }
    Ok(found)
}

/// How often a group whose processes are just ending is tried to be removed.
const REMOVALS: usize = 20;

/// Removes a group, and those below it. A group that still has processes stays. Returns whether it is gone.
pub fn remove(group: &Path) -> bool {
    for attempt in 0..REMOVALS {
        remove_below(group);
        match fs::remove_dir(group) {
            Ok(()) => return true,
            Err(error) if error.kind() == ErrorKind::NotFound => return true,
            // A process leaves its group a little after its parent has been notified of its end.
            Err(error) if error.kind() == ErrorKind::ResourceBusy => {}
            Err(_) => return false,
        }
        if attempt > 0 && members(group).is_ok_and(|members| !members.is_empty()) {
            return false;
        }
        thread::sleep(Duration::from_millis(1));
    }
    false
}

fn remove_below(group: &Path) {
    for entry in fs::read_dir(group).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|file_type| file_type.is_dir()) {
            remove_below(&entry.path());
            // One that stays keeps its parent, where it is noticed.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// The processes of a group alone. Zero stands for a process of another PID namespace, which cannot be named here.
///
/// # Errors
/// There is no such group, or it cannot be read.
pub(crate) fn own_members(group: &Path) -> io::Result<Vec<i32>> {
    let text = files::read(&group.join(PROCESSES))?;
    Ok(text
        .lines()
        .filter_map(|line| line.trim().parse().ok())
        .collect())
}

/// The path of a hierarchy in the text of `/proc/PID/cgroup`: lines `number:controllers:path`.
/// That of version 2 names no controllers.
pub(crate) fn path_in<'t>(text: &'t str, controller: &str) -> Option<&'t str> {
    text.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (own, path) = (parts.next()?, parts.next()?);
        own.split(',')
            .any(|candidate| candidate == controller)
            .then_some(path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processes_of_a_group_are_those_of_the_groups_below_it_too() {
        let folder = tempfile::tempdir().unwrap();
        for (file, text) in [
            ("cgroup.procs", "12\n"),
            ("a/cgroup.procs", "13\n14\n"),
            ("a/b/cgroup.procs", ""),
        ] {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let mut found = members(folder.path()).unwrap();
        found.sort_unstable();
        assert_eq!(found, [12, 13, 14]);
        assert!(members(&folder.path().join("none")).is_err());
    }

    #[test]
    fn a_group_whose_last_process_is_just_ending_is_removed() {
        let name = format!("mapa-ending-{}", std::process::id());
        let group = hold::Cgroups::default().home().map(|home| home.join(name));
        let Some(group) = group.filter(|group| fs::create_dir(group).is_ok()) else {
            eprintln!("skipped: no control group can be made here");
            return;
        };
        // A process that takes its time to end is not waited for, so this may take several.
        let mut removed = 0;
        for _ in 0..200 {
            let _ = fs::create_dir(&group);
            let mut job = std::process::Command::new("sleep")
                .arg("600")
                .spawn()
                .unwrap();
            fs::write(group.join(PROCESSES), job.id().to_string()).unwrap();
            job.kill().unwrap();
            let was_busy = fs::remove_dir(&group).is_err();
            removed += usize::from(was_busy && remove(&group));
            job.wait().unwrap();
            if removed == 10 {
                break;
            }
        }
        remove(&group);
        assert_eq!(removed, 10);
    }
}
