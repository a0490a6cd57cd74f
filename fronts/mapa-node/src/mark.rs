//! The mark of a lease: by a variable and by the name of a control group its processes are found again.

use std::path::{Component, Path};

use mapa_live::cgroup::MOUNT;

/// The variable that marks every process of a lease: the ledger's id, a colon, the lease's number.
/// A child inherits it, also one that has left its parent and its group.
pub const MARK: &str = "MAPA_LEASE";

/// The variable that names the ledger: for `mapa`, and for the commands that it runs.
pub(crate) const VARIABLE: &str = "MAPA_LEDGER";

/// The name of the group of a lease, by its mark. A colon is the separator of /proc/PID/cgroup.
pub(crate) fn name_of(mark: &str) -> String {
    format!("mapa-{}", mark.replace(':', "-"))
}

/// The folder of a group as the ledger has it, if it is one of the lease of this mark. Others may write
/// the ledger too, and root may read and remove what its reader is told.
pub(crate) fn of_lease<'p>(path: &'p str, mark: &str) -> Option<&'p Path> {
    let path = Path::new(path);
    let inside = path.strip_prefix(MOUNT).ok()?;
    // `..` would lead out of the mount.
    let is_plain = inside
        .components()
        .all(|component| matches!(component, Component::Normal(_)));
    (is_plain && path.file_name()? == name_of(mark).as_str()).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_no_group_of_the_lease_is_none() {
        let of = |path: &str| of_lease(path, "a:1").is_some();
        assert!(of("/sys/fs/cgroup/pids/user/mapa-a-1"));
        for path in [
            "/sys/fs/cgroup/pids/user/mapa-a-2",
            "/sys/fs/cgroup/pids/user",
            "/home/victim/mapa-a-1",
            "/sys/fs/cgroup/../../../home/victim/mapa-a-1",
            "mapa-a-1",
        ] {
            assert!(!of(path), "{path}");
        }
    }
}
