//! The parameters of discovery: where to look, how long to wait, where to keep the answer.

use std::path::{Path, PathBuf};
use std::time::Duration;

use etcetera::BaseStrategy;

use crate::roots::Roots;
use crate::source::Source;

/// The parameters of discovery: where to look for a machine, how long to wait, and where to keep
/// the answer.
///
/// # Examples
/// ```
/// use mapa_live::Live;
///
/// let mut live = Live::default();
/// live.refresh = true; // ask the drivers, whatever the cache has
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Live {
    /// The NVML library: a path, or a name that the loader finds [default: `libnvidia-ml.so.1`].
    pub nvml: PathBuf,
    /// The command: a path, or a name that is in `PATH` [default: `nvidia-smi`].
    pub nvidia_smi: PathBuf,
    /// The nodes of AMD's KFD [default: `class/kfd/kfd/topology/nodes` in sysfs].
    pub kfd: Option<PathBuf>,
    /// The folders of the system's files.
    pub roots: Roots,
    /// How long each command may take, and NVML as a whole [default: 30 seconds].
    pub time_limit: Duration,
    /// The folder in which the answer is kept; `None` keeps nothing [default: [`default_cache`]].
    pub cache: Option<PathBuf>,
    /// Whether to query the drivers even if the cache has an answer. The new answer replaces the
    /// old one.
    pub refresh: bool,
}

impl Default for Live {
    fn default() -> Self {
        Self {
            nvml: PathBuf::from("libnvidia-ml.so.1"),
            nvidia_smi: PathBuf::from("nvidia-smi"),
            kfd: None,
            roots: Roots::default(),
            time_limit: Duration::from_secs(30),
            cache: default_cache(),
            refresh: false,
        }
    }
}

impl Live {
    /// The nodes of AMD's KFD.
    pub(crate) fn kfd(&self) -> PathBuf {
        let usual = || self.roots.sys.join("class/kfd/kfd/topology/nodes");
        self.kfd.clone().unwrap_or_else(usual)
    }

    /// The library, command or folder of a source.
    pub(crate) fn place(&self, source: Source) -> PathBuf {
        match source {
            Source::Nvml => self.nvml.clone(),
            Source::NvidiaSmi => self.nvidia_smi.clone(),
            Source::Kfd => self.kfd(),
        }
    }
}

/// The folder `mapa` in the user's cache folder: `$XDG_CACHE_HOME/mapa`, else `~/.cache/mapa`; on
/// Windows in the local application data. `None` if the user has no home folder, even if
/// `XDG_CACHE_HOME` is set.
#[must_use]
pub fn default_cache() -> Option<PathBuf> {
    let folders = etcetera::choose_base_strategy().ok()?;
    // A relative folder would be another one for each working directory.
    Some(folders.cache_dir().join("mapa")).filter(|cache| Path::is_absolute(cache))
}
