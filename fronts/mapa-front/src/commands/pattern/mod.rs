//! `pattern`: application graphs from programs, one source each.

#[cfg(feature = "source")]
mod code;
mod counters;
mod nccl;
mod words;

use mapa_core::MAX_DEVICES;
use mapa_patterns::{Algorithm, Application, Evidence, Messages, NcclJob, Note, Reading, Verdict};
use serde::{Deserialize, Serialize};

use super::sensitivity::EvidenceRequest;
use crate::answer::nccl::NcclPattern;
use crate::answer::pattern::{Finding, Pattern};
use crate::error::Error;
use crate::files::Files;
use crate::machine::Loaded;

#[cfg(feature = "source")]
pub use code::{CodeInput, CodeSource};
pub use counters::CounterSource;
pub use nccl::NcclSource;
pub use words::{ParallelismSource, WordSource};

/// A request for the application graph of a job, and for whether its speed depends on links.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PatternRequest {
    /// What the graph is made from.
    pub source: PatternSource,
    /// The name of the application; derived from its source if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The number of training steps over which bytes were counted. With it, edges carry bytes per step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<f64>,
    /// Whether the job's speed depends on its links, if that is known: `sensitive`, `insensitive` or `unknown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensitivity: Option<String>,
    /// The evidence that decides it otherwise. Without any, the verdict of the source stands.
    #[serde(default)]
    pub evidence: EvidenceRequest,
}

/// What an application graph is made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PatternSource {
    /// Counters of links.
    Counters(CounterSource),
    /// Logs and graphs of NCCL and RCCL.
    Nccl(NcclSource),
    /// Source code, and scripts that launch jobs.
    #[cfg(feature = "source")]
    Code(CodeSource),
    /// Degrees of parallelism.
    Parallelism(ParallelismSource),
    /// A pattern as other requests name it.
    Pattern(WordSource),
}

/// What a front has read itself, in place of files that the request names.
#[derive(Default)]
#[non_exhaustive]
pub enum PatternInput<'a> {
    /// Nothing: the files of the request are read.
    #[default]
    Files,
    /// Two readings of the link counters of the machine that the front runs on, the earlier one first.
    Readings(&'a Reading, &'a Reading),
    /// The files of folders.
    #[cfg(feature = "source")]
    Code(CodeInput<'a>),
}

/// An application graph, and what its source adds.
pub struct PatternOutcome {
    /// The application.
    pub application: Application,
    /// What logs of NCCL and RCCL say, and the algorithm whose edges the pattern has.
    pub nccl: Option<(NcclJob, Algorithm)>,
    /// The calls in source code.
    pub findings: Option<Vec<Finding>>,
}

/// What is read from a source.
struct Drawn {
    outcome: PatternOutcome,
    /// The messages of a rank that the source observed.
    messages: Option<Messages>,
}

impl From<Application> for Drawn {
    fn from(application: Application) -> Self {
        Self {
            outcome: PatternOutcome {
                application,
                nccl: None,
                findings: None,
            },
            messages: None,
        }
    }
}

/// An application graph, as `mapa-bench pattern --json` answers. The machine is `loaded`, if the request names one.
///
/// # Errors
/// If a file cannot be read, the source determines no graph, the graph has more than [`MAX_DEVICES`] ranks, or the
/// evidence makes no sense.
pub fn pattern(
    files: &dyn Files,
    loaded: Option<&Loaded>,
    request: &PatternRequest,
) -> Result<Pattern, Error> {
    Ok(request
        .outcome(files, loaded, PatternInput::Files)?
        .answer())
}

impl PatternRequest {
    /// What the answer is made of.
    ///
    /// # Errors
    /// As [`pattern`].
    pub fn outcome(
        &self,
        files: &dyn Files,
        loaded: Option<&Loaded>,
        input: PatternInput<'_>,
    ) -> Result<PatternOutcome, Error> {
        let Drawn {
            mut outcome,
            messages,
        } = match &self.source {
            PatternSource::Counters(counters) => counters.drawn(files, loaded, input)?,
            PatternSource::Nccl(logs) => logs.drawn(files, self.steps)?,
            #[cfg(feature = "source")]
            PatternSource::Code(code) => code.drawn(files, input)?,
            PatternSource::Parallelism(degrees) => degrees.application()?.into(),
            PatternSource::Pattern(words) => words.application(files)?.into(),
        };
        let application = &mut outcome.application;
        if let Some(name) = &self.name {
            if name.is_empty() || name.contains(char::is_control) {
                return Err(Error::malformed("--name: expected a name on one line"));
            }
            application.name.clone_from(name);
        }
        if let Some(steps) = self.steps {
            // `over_steps` takes the graph, and gives one of bytes per step.
            let counted = application.clone();
            *application = counted.over_steps(steps).map_err(Error::malformed)?;
        }
        let ranks = application.pattern.len();
        if ranks > MAX_DEVICES {
            let name = &application.name;
            return Err(Error::malformed(format_args!(
                "{name} has {ranks} ranks: expected at most {MAX_DEVICES}"
            )));
        }
        self.judge(application, messages)?;
        Ok(outcome)
    }

    /// Sets the sensitivity of an application, if the request states it or gives evidence of it, or messages were
    /// observed.
    fn judge(
        &self,
        application: &mut Application,
        observed: Option<Messages>,
    ) -> Result<(), Error> {
        // The user's word wins over all evidence.
        if let Some(word) = &self.sensitivity {
            let sensitivity = word.parse().map_err(Error::malformed)?;
            application.verdict = Verdict {
                sensitivity,
                why: "stated by its user".to_owned(),
            };
            return Ok(());
        }
        let mut evidence = self.evidence.evidence()?;
        // Without the number of steps, observed messages cannot be compared with the time of an
        // iteration. They count only as evidence by size, that is, if no time is given.
        if evidence.messages.is_none()
            && (self.steps.is_some() || evidence.iteration_seconds.is_none())
        {
            evidence.messages = observed;
        }
        let without_messages = evidence.iteration_seconds.is_some() && evidence.messages.is_none();
        if let Some(bytes) = application
            .step_bytes()
            .filter(|_| without_messages && evidence.times.is_none())
        {
            let mut messages = Messages::new();
            messages.add(bytes, 1.0).map_err(Error::malformed)?;
            evidence.messages = Some(messages);
            application.notes.push(Note::assumed(
                "for the sensitivity, the busiest edge sends the bytes of a step in one message, and phases follow one \
                 another",
            ));
        }
        // Without evidence, the verdict of the source stands.
        if evidence != Evidence::default() {
            application.verdict = evidence.verdict().map_err(Error::malformed)?;
        }
        Ok(())
    }
}

impl PatternOutcome {
    /// The answer.
    #[must_use]
    pub fn answer(&self) -> Pattern {
        let nccl = self.nccl.as_ref();
        Pattern {
            nccl: nccl.map(|(job, algorithm)| NcclPattern::new(job, *algorithm)),
            findings: self.findings.clone(),
            ..Pattern::from(&self.application)
        }
    }
}

/// The files of an error that is about all of them: the first, and how many more.
fn names<'n>(files: impl Iterator<Item = &'n str>) -> String {
    let files: Vec<&str> = files.collect();
    match files.as_slice() {
        [first, rest @ ..] if !rest.is_empty() => format!("{first} and {} more", rest.len()),
        other => other.concat(),
    }
}
