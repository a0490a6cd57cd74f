//! The folders of the system's files.

use std::path::{Path, PathBuf};

/// The folders beneath which the files of the system are read. Tests name folders of their own.
///
/// # Examples
/// ```
/// use mapa_live::Roots;
///
/// let roots = Roots::below("/srv/machine");
/// assert_eq!(roots.sys.to_str(), Some("/srv/machine/sys"));
/// assert_eq!(roots.cgroup.to_str(), Some("/srv/machine/sys/fs/cgroup"));
/// assert_eq!(Roots::default(), Roots::below("/"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Roots {
    /// sysfs: PCI devices, drivers' versions, AMD's KFD [default: `/sys`].
    pub sys: PathBuf,
    /// procfs: the host's name, the kernel's boot id, NVIDIA's driver [default: `/proc`].
    pub proc: PathBuf,
    /// The cgroup file system [default: `/sys/fs/cgroup`]. Discovery reads none of its files: it
    /// takes the name of the process's group from procfs.
    pub cgroup: PathBuf,
    /// Configuration: the machine's id [default: `/etc`].
    pub etc: PathBuf,
    /// Device nodes [default: `/dev`].
    pub dev: PathBuf,
}

impl Roots {
    /// The roots of a system whose `/` is this folder.
    #[must_use]
    pub fn below(folder: impl AsRef<Path>) -> Self {
        let folder = folder.as_ref();
        Self {
            sys: folder.join("sys"),
            proc: folder.join("proc"),
            cgroup: folder.join("sys/fs/cgroup"),
            etc: folder.join("etc"),
            dev: folder.join("dev"),
        }
    }
}

impl Default for Roots {
    fn default() -> Self {
        Self::below("/")
    }
}
