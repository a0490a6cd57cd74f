//! Patterns from counters of links.

use mapa_patterns::{Counters, PcieSamples, Reading};
use mapa_topologies::Kind;
use serde::{Deserialize, Serialize};

use super::{Drawn, PatternInput, names};
use crate::error::Error;
use crate::files::{FileKind, Files};
use crate::machine::{Loaded, MachineSpec};

/// Readings of link counters, as `nvidia-smi nvlink` prints them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct CounterSource {
    /// One reading, whose traffic counts from the start of the counters, or two, whose difference counts. Empty if
    /// the front has read the counters itself.
    pub readings: Vec<String>,
    /// The machine, if one is known, which the caller has loaded from this description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineSpec>,
    /// The output of `nvidia-smi nvlink -R` or `-p`: the devices at the other ends of links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remotes: Option<String>,
    /// The output of `nvidia-smi dmon -s t` over the same time: traffic over PCIe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pcie: Option<String>,
    /// The time between two samples of `pcie` that have no timestamps, seconds.
    pub pcie_interval: f64,
    /// The job's devices in rank order: ids, names, UUIDs or PCI addresses. Empty for those with traffic.
    pub devices: Vec<String>,
    /// Links that carry less than this share of the busiest link are left out, percent.
    pub noise: f64,
    /// How much the counters at the two ends of a link may differ, percent of the link's traffic.
    pub tolerance: f64,
    /// Whether a counter that decreased was reset, and counts from 0; else it is an error.
    pub resets: bool,
}

impl Default for CounterSource {
    fn default() -> Self {
        Self {
            readings: Vec::new(),
            machine: None,
            remotes: None,
            pcie: None,
            pcie_interval: 1.0,
            devices: Vec::new(),
            noise: 1.0,
            tolerance: 1.0,
            resets: false,
        }
    }
}

impl CounterSource {
    /// The graph of the traffic.
    pub(super) fn drawn(
        &self,
        files: &dyn Files,
        loaded: Option<&Loaded>,
        input: PatternInput<'_>,
    ) -> Result<Drawn, Error> {
        let read;
        let (before, after) = match input {
            PatternInput::Readings(before, after) => (Some(before), after),
            _ => {
                read = self.read(files)?;
                (read.0.as_ref(), &read.1)
            }
        };
        let remotes = self.remotes.as_ref().map(|file| {
            let dump = Kind::NvidiaSmiNvlink.read(&files.log(file, FileKind::Log)?);
            dump.map_err(|error| Error::at(file, error))
        });
        let remotes = remotes.transpose()?;
        let pcie = self.pcie.as_ref().map(|file| {
            let samples = PcieSamples::read(&files.log(file, FileKind::Log)?, self.pcie_interval);
            samples.map_err(|error| Error::at(file, error))
        });
        let pcie = pcie.transpose()?;
        let mut counters = Counters::new(after);
        counters.before = before;
        counters.resets = self.resets;
        counters.machine = loaded.map(|loaded| loaded.graph().as_ref());
        counters.title = loaded.map(|loaded| loaded.machine.title.as_str());
        counters.remotes = remotes.as_ref();
        counters.pcie = pcie.as_ref();
        counters.devices = &self.devices;
        (counters.noise, counters.tolerance) = (self.noise / 100.0, self.tolerance / 100.0);
        for (option, percent) in [("--noise", self.noise), ("--tolerance", self.tolerance)] {
            if !(0.0..=50.0).contains(&percent) {
                return Err(Error::malformed(format_args!(
                    "{option} {percent}: expected a percentage from 0 to 50"
                )));
            }
        }
        let application = counters.application().map_err(|error| match error.line() {
            // An error with a line is about the last reading; any other is about readings that do not fit together, or options.
            Some(_) => Error::at(self.readings.last().map_or("--live", String::as_str), error),
            None if self.readings.is_empty() => Error::at("--live", error),
            None => Error::at(names(self.readings.iter().map(String::as_str)), error),
        })?;
        Ok(application.into())
    }

    /// Readings from files: a single one, which counts as the later, or an earlier and a later one.
    fn read(&self, files: &dyn Files) -> Result<(Option<Reading>, Reading), Error> {
        let read = |file: &String| {
            Reading::read(&files.log(file, FileKind::Log)?).map_err(|error| Error::at(file, error))
        };
        match &self.readings[..] {
            [only] => Ok((None, read(only)?)),
            [before, after] => Ok((Some(read(before)?), read(after)?)),
            _ => Err(Error::malformed(
                "expected one reading of counters, an earlier and a later one, or --live",
            )),
        }
    }
}
