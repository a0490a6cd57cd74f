//! The job that words describe: a shape, edges, degrees of parallelism `tp=4,pp=2,dp=1`, or a pattern file.

use std::fmt::Display;
use std::fs;
use std::path::Path;

use mapa_core::{
    Candidate, Decision, Dimension, HardwareGraph, Parallelism, Pattern, Policy, Rates, Rules, Shape, StepTime,
    edges_seconds, min_edges_seconds, min_step_time,
};
use mapa_patterns::{Application, Sensitivity, Unit, read_pattern};
use serde_json::{Map, Value, json};

use crate::cli::Preserved;
use crate::failure::Failure;
use crate::model::Model;
use crate::output::seconds;
use crate::request;

/// The policy that needs such a pattern.
pub(crate) const POLICY: &str = "min-step-time";

/// What it does, for help texts.
pub(crate) const SUMMARY: &str = "with a pattern such as tp=4,pp=2, or a file with bytes: the least communication time";

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

    /// The policy that takes the least communication time, where that is known: of a training job's step, or of the slowest edge of
    /// a pattern in bytes.
    pub(crate) fn fastest(&self) -> Option<Rules<'static>> {
        let of_edges = || self.has_bytes().then(|| min_edges_seconds(&self.pattern, Rates::NOMINAL));
        self.parallel.map(|job| min_step_time(&job, Rates::NOMINAL)).or_else(of_edges)
    }

    /// Whether it is of a file that tells how many bytes edges carry.
    fn has_bytes(&self) -> bool {
        self.application.as_ref().is_some_and(|own| own.unit.is_bytes() && !own.pattern.edges().is_empty())
    }
}

/// Whether a pattern's words name a file.
pub(crate) fn is_file(pattern: &str) -> bool {
    let path = Path::new(pattern);
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"))
        || pattern.contains(['/', '\\'])
        || !is_words(pattern) && path.is_file()
}

/// Whether it is a shape, edges or degrees, whatever files there are.
fn is_words(pattern: &str) -> bool {
    let is_edges = || pattern.contains('-') && pattern.chars().all(|c| c.is_ascii_digit() || "-,:. ".contains(c));
    pattern.eq_ignore_ascii_case("independent")
        || pattern.parse::<Shape>().is_ok()
        || is_edges()
        || pattern.parse::<Parallelism>().is_ok()
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
    let needs = || {
        Failure::malformed(match &job.application {
            Some(own) if own.unit.is_bytes() => format!("--policy {POLICY}: the pattern {} has no edges", own.name),
            Some(own) => format!(
                "--policy {POLICY}: what edges of the pattern {} carry is counted in `{}`: expected a pattern file with \
                 unit = \"bytes\" or \"bytes-per-step\"",
                own.name, own.unit
            ),
            None => format!("--policy {POLICY} needs a pattern such as tp=4,pp=2,dp=1, or a pattern file in bytes"),
        })
    };
    Ok(Box::new(job.fastest().ok_or_else(needs)?))
}

/// The communication time of a step where a training job was placed; or of the slowest edge of a pattern in bytes.
pub(crate) struct Step {
    pub(crate) seconds: f64,
    /// None if edges are of no dimension.
    by_dimension: Option<Vec<(Dimension, f64)>>,
    /// Whether it is known that what edges carry is of one step.
    of_step: bool,
}

impl Step {
    /// None for jobs of another kind.
    pub(crate) fn of(job: &Job, decision: &Decision, graph: &HardwareGraph) -> Option<Self> {
        let Some(parallel) = &job.parallel else { return Self::of_edges(job, decision, graph) };
        let model = StepTime::new(parallel, Rates::NOMINAL);
        let times = model.by_dimension(graph, decision.placement())?;
        let by_dimension = Dimension::ALL.into_iter().zip(times).filter(|(_, seconds)| *seconds > 0.0).collect();
        Some(Self {
            seconds: model.seconds(graph, decision.placement())?,
            by_dimension: Some(by_dimension),
            of_step: true,
        })
    }

    fn of_edges(job: &Job, decision: &Decision, graph: &HardwareGraph) -> Option<Self> {
        let all = graph.all();
        let (pattern, placement) = (&job.pattern, decision.placement());
        let candidate = Candidate { view: graph.with_free(&all), pattern, placement };
        let seconds = job.has_bytes().then(|| edges_seconds(pattern, Rates::NOMINAL).score(&candidate));
        let of_step = job.application.as_ref().is_some_and(|own| own.unit == Unit::BytesPerStep);
        seconds.map(|seconds| Self { seconds, by_dimension: None, of_step })
    }

    /// As a person reads it: a line with its heading. Bytes of a whole run are of no step.
    pub(crate) fn text(&self) -> String {
        let Some(by_dimension) = &self.by_dimension else {
            let (heading, sent) = match self.of_step {
                true => ("step     ", "all send at once"),
                false => ("time     ", "all its bytes were sent at once"),
            };
            return format!("{heading} {} s for the slowest edge, if {sent}", seconds(self.seconds));
        };
        let parts = by_dimension.iter().map(|(dimension, own)| format!("{dimension} {}", seconds(*own)));
        let parts = parts.collect::<Vec<_>>().join(" + ");
        let of = if by_dimension.len() > 1 { format!(": {parts}") } else { String::new() };
        format!("step      {} s of communication{of}", seconds(self.seconds))
    }

    /// The keys `step_seconds` and `phase_seconds`; or `edges_seconds`.
    pub(crate) fn insert_into(&self, object: &mut Map<String, Value>) {
        let Some(by_dimension) = &self.by_dimension else {
            object.insert("edges_seconds".to_owned(), json!(self.seconds));
            return;
        };
        object.insert("step_seconds".to_owned(), json!(self.seconds));
        let phases: Map<String, Value> =
            by_dimension.iter().map(|(dimension, seconds)| (dimension.to_string(), json!(seconds))).collect();
        object.insert("phase_seconds".to_owned(), Value::Object(phases));
    }
}
