//! What a fake is made from: settings in the environment, or in a file beside the library.

use std::path::{Path, PathBuf};

use mapa_core::{MAX_TOML_BYTES, check_size};
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// The file of settings beside a library.
pub const SETTINGS_FILE: &str = "fake-nvml.toml";

/// The settings of a fake: each is an environment variable `FAKE_NVML_...`, or a key of the file
/// `fake-nvml.toml` in the library's folder. The variable counts if both are set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Config {
    /// `FAKE_NVML_MACHINE`: a name of MAPA's catalogue, or the path of a machine file or of another
    /// description that MAPA reads. Paths in a settings file are relative to its folder.
    pub machine: Option<String>,
    /// `FAKE_NVML_STATE`: the file in which the state is kept for all processes. Without it each
    /// process has a state of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<PathBuf>,
    /// `FAKE_NVML_PRODUCT`: the name of devices whose product the machine file does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub product: Option<String>,
    /// `FAKE_NVML_MIG`: the GPU whose MIG profiles all devices have, such as `a100-40gb`; `none`
    /// for devices that cannot be partitioned. By default the machine file says, or the product.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mig: Option<String>,
    /// `FAKE_NVML_DRIVER`: the version of the driver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// `FAKE_NVML_PRIVILEGED`: `no` makes every call that changes a device answer `NO_PERMISSION`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub privileged: Option<Switch>,
    /// `FAKE_NVML_LOG`: the file to which the library appends why it failed; without it the reason
    /// goes to standard error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<PathBuf>,
}

/// Yes or no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the words say it")]
pub enum Switch {
    Yes,
    No,
}

impl Config {
    /// The settings of a machine, and otherwise defaults.
    #[must_use]
    pub fn new(machine: impl Into<String>) -> Self {
        Self {
            machine: Some(machine.into()),
            ..Self::default()
        }
    }

    /// The same, with the state in this file.
    #[must_use]
    pub fn with_state(mut self, state: impl Into<PathBuf>) -> Self {
        self.state = Some(state.into());
        self
    }

    /// The settings of the environment, given as a function from names to values, over those of
    /// the file in this folder, if there is one.
    ///
    /// # Errors
    /// A file that cannot be read, or has other keys or values; `FAKE_NVML_PRIVILEGED` that is
    /// neither `yes` nor `no`.
    pub fn find(
        folder: Option<&Path>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, Error> {
        let file = folder.map(|folder| folder.join(SETTINGS_FILE));
        let file = file.filter(|file| file.is_file());
        let mut config = file.map_or_else(|| Ok(Self::default()), |file| Self::read(&file))?;
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        if let Some(privileged) = set("FAKE_NVML_PRIVILEGED") {
            config.privileged = Some(match privileged.as_str() {
                "yes" => Switch::Yes,
                "no" => Switch::No,
                other => {
                    return Err(Error::new(format!(
                        "FAKE_NVML_PRIVILEGED is `{other}`: expected yes or no"
                    )));
                }
            });
        }
        config.machine = set("FAKE_NVML_MACHINE").or(config.machine);
        config.product = set("FAKE_NVML_PRODUCT").or(config.product);
        config.mig = set("FAKE_NVML_MIG").or(config.mig);
        config.driver = set("FAKE_NVML_DRIVER").or(config.driver);
        config.state = set("FAKE_NVML_STATE").map(PathBuf::from).or(config.state);
        config.log = set("FAKE_NVML_LOG").map(PathBuf::from).or(config.log);
        Ok(config)
    }

    /// Reads a settings file.
    fn read(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path).map_err(|error| Error::io(path, &error))?;
        check_size(text.len(), MAX_TOML_BYTES)
            .map_err(|what| Error::new(format!("{}: {what}", path.display())))?;
        let mut config: Self = toml::from_str(&text)
            .map_err(|error| Error::new(format!("{}: {}", path.display(), error.message())))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        for file in [&mut config.state, &mut config.log].into_iter().flatten() {
            // An absolute path stays as it is.
            *file = folder.join(&*file);
        }
        if let Some(machine) = &mut config.machine
            && (machine.contains('/') || machine.ends_with(".toml"))
        {
            *machine = folder.join(&*machine).to_string_lossy().into_owned();
        }
        Ok(config)
    }

    /// Writes a settings file into a folder.
    ///
    /// # Errors
    /// The folder cannot be written to.
    pub fn write(&self, folder: &Path) -> Result<(), Error> {
        let path = folder.join(SETTINGS_FILE);
        let text = toml::to_string(self).map_err(|error| Error::new(error.to_string()))?;
        std::fs::write(&path, text).map_err(|error| Error::io(&path, &error))
    }

    pub(crate) fn is_privileged(&self) -> bool {
        self.privileged != Some(Switch::No)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_counts_over_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let mut config = Config::new("dgx-a100").with_state("state");
        config.mig = Some("none".to_owned());
        config.write(folder.path()).unwrap();
        let found = Config::find(Some(folder.path()), |name| {
            (name == "FAKE_NVML_MACHINE").then(|| "dgx-1v".to_owned())
        });
        let found = found.unwrap();
        assert_eq!(found.machine.as_deref(), Some("dgx-1v"));
        assert_eq!(found.mig.as_deref(), Some("none"));
        assert_eq!(found.state, Some(folder.path().join("state")));
    }

    #[test]
    fn what_is_no_setting_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(SETTINGS_FILE), "machin = \"dgx-1v\"").unwrap();
        let error = Config::find(Some(folder.path()), |_| None)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("unknown field `machin`, expected one of `machine`"),
            "{error}"
        );
        let error = Config::find(None, |_| Some("maybe".to_owned()))
            .unwrap_err()
            .to_string();
        assert_eq!(error, "FAKE_NVML_PRIVILEGED is `maybe`: expected yes or no");
    }
}
