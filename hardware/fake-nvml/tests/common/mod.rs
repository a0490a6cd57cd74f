//! Folders with a copy of the library each, so that one test process loads many.

use std::path::{Path, PathBuf};

use fake_nvml::{Config, Fake, built_library, install};
use nvml_wrapper::Nvml;
use tempfile::TempDir;

/// A machine in a folder of its own, with a state file.
pub(crate) struct Machine {
    folder: TempDir,
    config: Config,
    library: PathBuf,
}

impl Machine {
    pub(crate) fn new(machine: &str) -> Self {
        Self::with(machine, |_| {})
    }

    pub(crate) fn with(machine: &str, change: impl FnOnce(&mut Config)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut config = Config::new(machine).with_state(folder.path().join("state"));
        config.log = Some(folder.path().join("log"));
        change(&mut config);
        let library = install(&built_library().unwrap(), folder.path(), &config).unwrap();
        Self {
            folder,
            config,
            library,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn library(&self) -> &Path {
        &self.library
    }

    /// The same machine, for this process to change.
    pub(crate) fn fake(&self) -> Fake {
        Fake::open(&self.config).unwrap()
    }

    /// What the library told in its log.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.path().join("log")).unwrap_or_default()
    }

    pub(crate) fn nvml(&self) -> Nvml {
        Nvml::builder()
            .lib_path(self.library.as_os_str())
            .init()
            .unwrap()
    }
}

pub(crate) mod raw;
