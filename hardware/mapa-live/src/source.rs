//! The sources of a machine's description.

use std::fmt;
use std::path::PathBuf;

/// A source, in the order in which discovery queries them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Source {
    /// NVIDIA's management library, in this process.
    Nvml,
    /// NVIDIA's command `nvidia-smi`, read as if a user had pasted its output.
    NvidiaSmi,
    /// The tree of AMD's kernel driver in sysfs.
    Kfd,
}

impl Source {
    /// Every source, in the order in which discovery queries them.
    pub const ALL: [Self; 3] = [Self::Nvml, Self::NvidiaSmi, Self::Kfd];

    /// The source's name: `nvml`, `nvidia-smi` or `kfd`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Nvml => "nvml",
            Self::NvidiaSmi => "nvidia-smi",
            Self::Kfd => "kfd",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One source that was queried, and the outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attempt {
    /// Which source it was.
    pub source: Source,
    /// The library, command or folder.
    pub place: PathBuf,
    /// Why the source gave no machine; `None` if it gave one.
    pub failure: Option<String>,
}

impl Attempt {
    pub(crate) fn new(source: Source, place: PathBuf) -> Self {
        Self {
            source,
            place,
            failure: None,
        }
    }
}
