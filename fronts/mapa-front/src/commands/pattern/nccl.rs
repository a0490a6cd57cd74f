//! Patterns from logs and graphs of NCCL and RCCL.

use mapa_patterns::{Algorithm, Error as PatternError, Messages, NcclJob, read_nccl};
use serde::{Deserialize, Serialize};

use super::{Drawn, names};
use crate::error::Error;
use crate::files::{FileKind, Files};
use crate::machine::STANDARD_INPUT;

/// Logs and graphs of NCCL and RCCL.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct NcclSource {
    /// Logs of all ranks or of some, in any order, or a graph in XML.
    pub files: Vec<String>,
    /// The paths of all-reduces: `ring`, `tree` or `both`.
    pub algorithm: String,
    /// If calls were logged, edges that carry less than this share of the busiest edge are left out, percent.
    pub noise: f64,
}

impl Default for NcclSource {
    fn default() -> Self {
        Self {
            files: Vec::new(),
            algorithm: Algorithm::Both.to_string(),
            noise: 1.0,
        }
    }
}

impl NcclSource {
    /// The graph of the logs, and the messages of a rank: with the number of steps, those of one step.
    pub(super) fn drawn(&self, files: &dyn Files, steps: Option<f64>) -> Result<Drawn, Error> {
        let algorithm: Algorithm = self.algorithm.parse().map_err(Error::malformed)?;
        let mut logs = Vec::new();
        for file in &self.files {
            let name = if file == STANDARD_INPUT {
                "standard input"
            } else {
                file
            };
            logs.push((name, files.log(file, FileKind::Log)?));
        }
        let texts: Vec<(&str, &str)> = logs
            .iter()
            .map(|(name, text)| (*name, text.as_str()))
            .collect();
        let at = |error: PatternError| match error.file() {
            Some(_) => Error::malformed(error),
            None => Error::at(names(logs.iter().map(|(name, _)| *name)), error),
        };
        let job = read_nccl(&texts).map_err(at)?;
        let mut application = job.application(algorithm).map_err(at)?;
        if application.unit.is_bytes() {
            application = application
                .without_noise(self.noise / 100.0)
                .map_err(Error::malformed)?;
        }
        let mut drawn = Drawn::from(application);
        drawn.messages = messages(&job, steps).map_err(at)?;
        drawn.outcome.nccl = Some((job, algorithm));
        Ok(drawn)
    }
}

/// The messages of a rank: in a step if the number of steps is known, else in the whole log. None
/// if the log has no calls.
fn messages(job: &NcclJob, steps: Option<f64>) -> Result<Option<Messages>, PatternError> {
    let mut messages = Messages::new();
    for &(bytes, calls) in &job.messages {
        // A log is of a whole run. The number of steps makes its calls those of one step.
        messages.add(bytes as f64, calls as f64 / steps.unwrap_or(1.0))?;
    }
    Ok((!job.messages.is_empty()).then_some(messages))
}
