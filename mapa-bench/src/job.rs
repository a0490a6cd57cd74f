//! The job that words describe: a shape, edges, degrees of parallelism `tp=4,pp=2,dp=1`, or a pattern file.

use std::fmt::Display;
use std::fs;
use std::path::Path;

use mapa_core::{Decision, Dimension, HardwareGraph, Parallelism, Pattern, Policy, Rates, StepTime, min_step_time};
use mapa_patterns::{Application, Sensitivity, read_pattern};
use serde_json::{Map, Value, json};

use crate::cli::Preserved;
use crate::failure::Failure;
use crate::model::Model;
use crate::output::seconds;
use crate::request;

/// The policy that needs such a pattern.
pub(crate) const POLICY: &str = "min-step-time";

/// What it does, for help texts.
pub(crate) const SUMMARY: &str = "with a pattern such as tp=4,pp=2: the least communication time of a step";

/// What the words of the command line say of who talks to whom.
pub(crate) struct Job {
    pub(crate) pattern: Pattern,
    pub(crate) ranks: usize,
    /// Of a training job.
    pub(crate) parallel: Option<Parallelism>,
    /// Of a pattern file.
    pub(crate) application: Option<Application>,
}

impl Job {
    /// Whether its speed depends on its links: as it is told, else as its pattern file says, else not.
    pub(crate) fn is_sensitive(&self, told: Option<bool>) -> bool {
        let of_file = || self.application.as_ref().map(|own| own.verdict.sensitivity == Sensitivity::Sensitive);
        told.or_else(of_file).unwrap_or(false)
    }
}

/// Whether a pattern's words name a file.
pub(crate) fn is_file(pattern: &str) -> bool {
    let path = Path::new(pattern);
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"))
        || pattern.contains(['/', '\\'])
        || path.is_file()
}

/// Reads a pattern file.
pub(crate) fn read_file(file: &str) -> Result<Application, Failure> {
    let text = fs::read_to_string(file).map_err(|error| Failure::malformed(format_args!("{file}: {error}")))?;
    read_pattern(&text).map_err(|error| Failure::malformed(format_args!("{file}: {error}")))
}

/// The job that a pattern, its bytes and a number of devices describe.
pub(crate) fn job(pattern: &str, bytes: Option<&str>, gpus: Option<usize>) -> Result<Job, Failure> {
    if is_file(pattern) {
        if bytes.is_some() {
            return Err(Failure::malformed(
                "--bytes is for patterns such as tp=4,pp=2,dp=1: a pattern file tells its own",
            ));
        }
        let application = read_file(pattern)?;
        let (pattern, parallel) = (application.pattern.clone(), application.parallelism);
        let ranks = pattern.len();
        agrees(gpus, ranks, &application.name)?;
        return Ok(Job { pattern, ranks, parallel, application: Some(application) });
    }
    if !pattern.contains('=') {
        if bytes.is_some() {
            return Err(Failure::malformed("--bytes is for patterns such as tp=4,pp=2,dp=1"));
        }
        let missing = "--gpus <K>: expected how many devices the job needs, unless --pattern tp=4,pp=2,dp=1 or a pattern file says so";
        let ranks = gpus.ok_or_else(|| Failure::malformed(missing))?;
        return Ok(Job { pattern: request::pattern(pattern, ranks)?, ranks, parallel: None, application: None });
    }
    let parallel: Parallelism = pattern.parse()?;
    let parallel = bytes.map_or(Ok(parallel), |bytes| parallel.with_bytes_of(bytes))?;
    let ranks = parallel.ranks();
    agrees(gpus, ranks, &parallel)?;
    Ok(Job { pattern: parallel.pattern(), ranks, parallel: Some(parallel), application: None })
}

/// Whether the number of devices, if it is told, is that of the ranks.
fn agrees(gpus: Option<usize>, ranks: usize, pattern: &dyn Display) -> Result<(), Failure> {
    let what =
        |other| format!("--gpus {other}: the pattern {pattern} has {ranks} ranks: expected {ranks}, or no --gpus");
    gpus.filter(|gpus| *gpus != ranks).map_or(Ok(()), |other| Err(Failure::malformed(what(other))))
}

/// The policy of this name, which may need to know the job.
pub(crate) fn policy(
    name: &str,
    model: Option<&Model>,
    preserved: Preserved,
    job: &Job,
) -> Result<Box<dyn Policy>, Failure> {
    if name != POLICY || model.is_some() || preserved != Preserved::All {
        return request::policy(name, model, preserved);
    }
    let needs = || Failure::malformed(format_args!("--policy {POLICY} needs a pattern such as tp=4,pp=2,dp=1"));
    Ok(Box::new(min_step_time(job.parallel.as_ref().ok_or_else(needs)?, Rates::NOMINAL)))
}

/// The communication time of a step where a training job was placed.
pub(crate) struct Step {
    pub(crate) seconds: f64,
    by_dimension: Vec<(Dimension, f64)>,
}

impl Step {
    /// None for jobs of another kind.
    pub(crate) fn of(job: &Job, decision: &Decision, graph: &HardwareGraph) -> Option<Self> {
        let model = StepTime::new(job.parallel.as_ref()?, Rates::NOMINAL);
        let times = model.by_dimension(graph, decision.placement())?;
        let by_dimension = Dimension::ALL.into_iter().zip(times).filter(|(_, seconds)| *seconds > 0.0).collect();
        Some(Self { seconds: model.seconds(graph, decision.placement())?, by_dimension })
    }

    /// As a person reads it.
    pub(crate) fn text(&self) -> String {
        let parts = self.by_dimension.iter().map(|(dimension, own)| format!("{dimension} {}", seconds(*own)));
        let parts = parts.collect::<Vec<_>>().join(" + ");
        let of = if self.by_dimension.len() > 1 { format!(": {parts}") } else { String::new() };
        format!("{} s of communication{of}", seconds(self.seconds))
    }

    /// The keys `step_seconds` and `phase_seconds`.
    pub(crate) fn insert_into(&self, object: &mut Map<String, Value>) {
        object.insert("step_seconds".to_owned(), json!(self.seconds));
        let phases: Map<String, Value> =
            self.by_dimension.iter().map(|(dimension, seconds)| (dimension.to_string(), json!(seconds))).collect();
        object.insert("phase_seconds".to_owned(), Value::Object(phases));
    }
}
