//! Patterns from degrees of parallelism, and from patterns as other requests name them.

use mapa_core::{Dimension, ModelShape, Parallelism};
use mapa_patterns::{Application, Note};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::files::Files;
use crate::job::job;

/// Degrees of parallelism.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ParallelismSource {
    /// The degrees in any order, such as `tp=4,pp=2`; a missing degree is 1.
    pub degrees: String,
    /// Bytes that each rank sends in a step, such as `tp=2e9,pp=1e8`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<String>,
    /// The shape of a model, from which the bytes of the other dimensions follow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// A pattern as other requests name it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct WordSource {
    /// A pattern file, a shape, edges or degrees of parallelism.
    pub pattern: String,
    /// The number of ranks, for shapes and edges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpus: Option<usize>,
}

impl ParallelismSource {
    /// The application of these degrees.
    pub(super) fn application(&self) -> Result<Application, Error> {
        if !self.degrees.contains('=') {
            return Err(Error::malformed(format_args!(
                "`{}`: expected degrees such as tp=4,pp=2",
                self.degrees
            )));
        }
        let degrees: Parallelism = self.degrees.parse()?;
        let model = self
            .model
            .as_deref()
            .map(str::parse::<ModelShape>)
            .transpose()?;
        let mut application = Application::from(self.with_bytes(degrees, model.as_ref())?);
        // Bytes that neither option sets can be recognised in a job that starts with a value of its
        // own.
        let probe = self.with_bytes(with_all_bytes(degrees, PROBE)?, model.as_ref())?;
        application.notes.extend(assumed(&probe));
        if let Some(shape) = &self.model {
            application.source = format!("degrees of parallelism, and a model of {shape}");
        }
        Ok(application)
    }

    /// A job with the bytes that the request gives.
    fn with_bytes(
        &self,
        job: Parallelism,
        model: Option<&ModelShape>,
    ) -> Result<Parallelism, Error> {
        let job = model.map_or(Ok(job), |model| job.with_bytes_of_model(model))?;
        // `bytes` comes last, so that it wins over the model's.
        let bytes = self.bytes.as_deref();
        Ok(bytes.map_or(Ok(job), |bytes| job.with_bytes_of(bytes))?)
    }
}

impl WordSource {
    /// The application that the pattern describes.
    pub(super) fn application(&self, files: &dyn Files) -> Result<Application, Error> {
        let job = job(&self.pattern, None, self.gpus, files)?;
        Ok(match (job.application, job.parallel) {
            (Some(application), _) => application,
            (None, Some(parallel)) => {
                let note = assumed(&with_all_bytes(parallel, PROBE)?);
                let mut application = Application::from(parallel);
                application.notes.extend(note);
                application
            }
            (None, None) => Application::new(self.pattern.as_str(), "given by words", job.pattern),
        })
    }
}

/// A number of bytes that no user gives.
const PROBE: f64 = 0.123_456_789;

fn with_all_bytes(job: Parallelism, bytes: f64) -> Result<Parallelism, Error> {
    Ok(Dimension::ALL
        .into_iter()
        .try_fold(job, |job, dimension| job.with_bytes(dimension, bytes))?)
}

/// A note on the dimensions whose bytes are assumed: those in which ranks communicate and the job
/// still has the bytes of [`PROBE`].
fn assumed(probe: &Parallelism) -> Option<Note> {
    let assumed: Vec<_> = Dimension::ALL
        .into_iter()
        .filter(|dimension| probe.group_size(*dimension) > 1 && probe.bytes(*dimension) == PROBE)
        .map(|dimension| dimension.letters())
        .collect();
    if assumed.is_empty() {
        return None;
    }
    Some(Note::assumed(format!(
        "the bytes for {}, in the shares of published training runs, as neither --bytes nor --model gives them: times and \
         a verdict derived from them are assumed too",
        assumed.join(", ")
    )))
}
