//! Training jobs by their degrees of parallelism: the pattern `tp=4,pp=2,dp=1`.

use mapa_core::{Decision, Dimension, HardwareGraph, Parallelism, Pattern, Policy, Rates, StepTime, min_step_time};
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
}

/// The job that a pattern, its bytes and a number of devices describe.
pub(crate) fn job(pattern: &str, bytes: Option<&str>, gpus: Option<usize>) -> Result<Job, Failure> {
    if !pattern.contains('=') {
        if bytes.is_some() {
            return Err(Failure::malformed("--bytes is for patterns such as tp=4,pp=2,dp=1"));
        }
        let missing = "--gpus <K>: expected how many devices the job needs, unless --pattern tp=4,pp=2,dp=1 says so";
        let ranks = gpus.ok_or_else(|| Failure::malformed(missing))?;
        return Ok(Job { pattern: request::pattern(pattern, ranks)?, ranks, parallel: None });
    }
    let parallel: Parallelism = pattern.parse()?;
    let parallel = bytes.map_or(Ok(parallel), |bytes| parallel.with_bytes_of(bytes))?;
    let ranks = parallel.ranks();
    if let Some(other) = gpus.filter(|gpus| *gpus != ranks) {
        let what =
            format_args!("--gpus {other}: the pattern {parallel} has {ranks} ranks: expected {ranks}, or no --gpus");
        return Err(Failure::malformed(what));
    }
    Ok(Job { pattern: parallel.pattern(), ranks, parallel: Some(parallel) })
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
