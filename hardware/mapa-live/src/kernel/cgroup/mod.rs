//! The version of a controller of control groups.
//!
//! On v1 each controller has a hierarchy of its own below the root (`blkio/`, `cpuset/`). On v2 all share
//! one, at the root or at `unified/`. A machine may have a controller on v1 and the core of v2 beside it
//! (hybrid), so the version is looked up for each controller.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

mod hold;

use super::files;

pub use hold::{Cgroups, members, name_of, of_lease, remove};

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
    let own = cgroup.join(v1);
    if own.join("notify_on_release").try_exists()? {
        return Ok(Some((Version::V1, own)));
    }
    for root in [cgroup.to_owned(), cgroup.join("unified")] {
        let list = match files::read(&root.join("cgroup.controllers")) {
            Ok(list) => list,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        if list.split_whitespace().any(|own| own == v2) {
            return Ok(Some((Version::V2, root)));
        }
    }
    Ok(None)
}
