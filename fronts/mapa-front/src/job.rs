//! The job that a request describes: a shape, edges, degrees of parallelism such as
//! `tp=4,pp=2,dp=1`, or a pattern file.

use std::fmt::Display;
use std::path::Path;

use mapa_core::{
    Auto, Candidate, Decision, Dimension, HardwareGraph, MAX_DEVICES, Parallelism, Pattern, Rates,
    Rules, Sensitivity, Shape, StepTime, auto_for, auto_for_edges, edges_seconds,
    min_edges_seconds, min_step_time,
};
#[cfg(feature = "patterns")]
use mapa_patterns::{Application, Unit, read_pattern};

use crate::answer::StepTimes;
use crate::error::Error;
use crate::files::Files;
use crate::text::seconds;

/// A job: its communication pattern, and where the pattern comes from.
pub struct Job {
    /// Which ranks communicate.
    pub pattern: Pattern,
    /// The number of ranks.
    pub ranks: usize,
    /// The degrees of parallelism, if the job was described by these.
    pub parallel: Option<Parallelism>,
    /// A note on the bytes of a training job that were assumed.
    pub assumed: Option<String>,
    /// The contents of the pattern file, if the job was described by one.
    #[cfg(feature = "patterns")]
    pub application: Option<Application>,
}

/// What a pattern file says of its job, beside the pattern.
struct Described<'a> {
    name: &'a str,
    /// The unit of the traffic, in the words of the file.
    unit: String,
    has_bytes: bool,
    /// Whether the bytes are those of one step.
    of_step: bool,
    sensitivity: Sensitivity,
    /// Why the job is sensitive, or not; may be empty.
    why: &'a str,
}

impl Job {
    /// What its pattern file says.
    #[cfg(feature = "patterns")]
    fn described(&self) -> Option<Described<'_>> {
        let application = self.application.as_ref()?;
        Some(Described {
            name: &application.name,
            unit: application.unit.to_string(),
            has_bytes: application.unit.is_bytes(),
            of_step: application.unit == Unit::BytesPerStep,
            sensitivity: application.verdict.sensitivity,
            why: &application.verdict.why,
        })
    }

    /// Without pattern files nothing more is known of a job.
    #[cfg(not(feature = "patterns"))]
    fn described(&self) -> Option<Described<'_>> {
        None
    }

    /// Whether the job's speed depends on its links: as the request says, else as the pattern file
    /// says, else unknown.
    pub fn sensitivity(&self, said: Option<bool>) -> Sensitivity {
        let sensitivity = self.described().map(|described| described.sensitivity);
        // The word of the user wins over that of the pattern file.
        said.map(Sensitivity::from)
            .or(sensitivity)
            .unwrap_or_default()
    }

    /// What the pattern file says of sensitivity, and why, where the request does not overrule it.
    pub fn verdict(&self, said: Option<bool>) -> Option<String> {
        let described = self.described()?;
        let counts = match described.sensitivity {
            Sensitivity::Unknown if described.why.is_empty() => return None,
            Sensitivity::Unknown => "whether the job is sensitive is unknown, by its file",
            Sensitivity::Sensitive => "the job is sensitive, by its file",
            Sensitivity::Insensitive => "the job is not sensitive, by its file",
        };
        let why = if described.why.is_empty() {
            String::new()
        } else {
            format!(": {}", described.why)
        };
        said.is_none().then(|| format!("{counts}{why}"))
    }

    /// What titles call the job: the name in its pattern file, or else the words that describe it.
    pub fn name<'a>(&'a self, words: &'a str) -> &'a str {
        self.described().map_or(words, |described| described.name)
    }

    /// The policy that minimises communication time, if that time is known: of a training job's
    /// step, or of the slowest edge of a pattern in bytes.
    pub fn fastest(&self) -> Option<Rules<'static>> {
        match &self.parallel {
            Some(job) => Some(min_step_time(job, Rates::NOMINAL)),
            None => self
                .has_bytes()
                .then(|| min_edges_seconds(&self.pattern, Rates::NOMINAL)),
        }
    }

    /// The default policy for this job, if its communication time is known.
    pub fn auto(&self) -> Option<Auto> {
        match &self.parallel {
            Some(job) => Some(auto_for(job, Rates::NOMINAL)),
            None => self
                .has_bytes()
                .then(|| auto_for_edges(&self.pattern, Rates::NOMINAL)),
        }
    }

    /// Whether the job is of a pattern file that says how many bytes each edge carries.
    fn has_bytes(&self) -> bool {
        let in_bytes = self
            .described()
            .is_some_and(|described| described.has_bytes);
        // Without edges there is no slowest one.
        in_bytes && !self.pattern.edges().is_empty()
    }

    /// Why the communication time of the job is not known.
    pub(crate) fn no_time(&self) -> Option<String> {
        let described = self.described()?;
        Some(if described.has_bytes {
            format!(
                "the pattern {} has no edges: expected ranks that communicate",
                described.name
            )
        } else {
            format!(
                "the pattern {} counts traffic in `{}`: expected a pattern file with unit = \"bytes\" or \
                 \"bytes-per-step\"",
                described.name, described.unit
            )
        })
    }
}

/// Whether the text of a pattern names a file. A text with another meaning names a file only if it
/// looks like a path.
pub fn is_file(pattern: &str, files: &dyn Files) -> bool {
    let path = Path::new(pattern);
    // A path is a file whether it exists or not: its error then names the file.
    path.extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("toml"))
        || pattern.contains(['/', '\\'])
        // This comes last, because it may look at the disk.
        || !is_words(pattern) && files.exists(pattern) && !files.is_folder(pattern)
}

/// Whether the text is a shape, edges or degrees of parallelism.
fn is_words(pattern: &str) -> bool {
    let is_edges = pattern.contains('-')
        && pattern
            .chars()
            .all(|c| c.is_ascii_digit() || "-,:. ".contains(c));
    is_edges
        || pattern.eq_ignore_ascii_case("independent")
        || pattern.parse::<Shape>().is_ok()
        || pattern.parse::<Parallelism>().is_ok()
}

/// The pattern of `k` ranks that a text describes: the name of a shape, `independent`, edges such
/// as `0-1,1-2:2.5`, degrees such as `tp=4,pp=2`, or a pattern file.
///
/// # Errors
///
/// If the text is none of these, or describes another number of ranks.
pub fn pattern(text: &str, k: usize, files: &dyn Files) -> Result<Pattern, Error> {
    if text.eq_ignore_ascii_case("independent") {
        return Ok(Pattern::independent(k));
    }
    if text.contains('=') || is_file(text, files) {
        return Ok(job(text, None, Some(k), files)?.pattern);
    }
    // Edges have digits, and no shape has one.
    if !text.contains(|c: char| c.is_ascii_digit()) {
        let shape: Shape = text.parse().map_err(|error| {
            Error::malformed(format_args!(
                "{error}, independent, or edges such as 0-1,1-2"
            ))
        })?;
        return Ok(shape.pattern(k));
    }
    let edges = text.split(',').map(edge).collect::<Result<Vec<_>, _>>()?;
    let pattern = Pattern::from_edges(k.min(MAX_DEVICES), edges)?;
    // A job of more ranks than any machine has devices is refused, not malformed: once the edges
    // have been checked, any pattern of k ranks leads to that refusal.
    Ok(if k > MAX_DEVICES {
        Pattern::ring(k)
    } else {
        pattern
    })
}

/// The two ranks and the traffic of an edge, `A-B` or `A-B:TRAFFIC`.
fn edge(text: &str) -> Result<(u16, u16, f64), Error> {
    let (ends, traffic) = text.split_once(':').unwrap_or((text, "1"));
    ends.split_once('-')
        .and_then(|(a, b)| {
            Some((
                a.trim().parse().ok()?,
                b.trim().parse().ok()?,
                traffic.trim().parse().ok()?,
            ))
        })
        .ok_or_else(|| {
            Error::malformed(format_args!(
                "pattern edge `{text}`: expected A-B or A-B:TRAFFIC"
            ))
        })
}

/// Reads a pattern file.
///
/// # Errors
/// If the file cannot be read, or is no pattern file.
#[cfg(feature = "patterns")]
pub fn read_file(file: &str, files: &dyn Files) -> Result<Application, Error> {
    read_pattern(&files.text(file, crate::files::FileKind::Pattern)?)
        .map_err(|error| Error::at(file, error))
}

/// The job of a pattern file.
#[cfg(feature = "patterns")]
fn of_file(file: &str, gpus: Option<usize>, files: &dyn Files) -> Result<Job, Error> {
    let application = read_file(file, files)?;
    let (pattern, parallel) = (application.pattern.clone(), application.parallelism);
    let ranks = pattern.len();
    check_ranks(gpus, ranks, &application.name)?;
    Ok(Job {
        pattern,
        ranks,
        parallel,
        assumed: None,
        application: Some(application),
    })
}

/// What reads these files is left out.
#[cfg(not(feature = "patterns"))]
fn of_file(file: &str, _: Option<usize>, _: &dyn Files) -> Result<Job, Error> {
    Err(Error::at(
        file,
        "this program reads no pattern files: expected a shape, edges such as 0-1,1-2, degrees such as tp=4,pp=2, \
         or a program with the feature `patterns` of mapa-front",
    ))
}

/// The job that a pattern, its bytes and a number of devices describe.
///
/// # Errors
///
/// If the pattern cannot be read, if bytes are given for a pattern that is no training job, or if
/// the number of devices is missing or is not that of the pattern's ranks.
pub fn job(
    pattern: &str,
    bytes: Option<&str>,
    gpus: Option<usize>,
    files: &dyn Files,
) -> Result<Job, Error> {
    if is_file(pattern, files) {
        if bytes.is_some() {
            return Err(Error::malformed(
                "--bytes is for patterns such as tp=4,pp=2,dp=1: a pattern file has its own bytes",
            ));
        }
        return of_file(pattern, gpus, files);
    }
    if !pattern.contains('=') {
        if bytes.is_some() {
            return Err(Error::malformed(
                "--bytes is for patterns such as tp=4,pp=2,dp=1",
            ));
        }
        let Some(ranks) = gpus else {
            return Err(Error::malformed(
                "--gpus <K>: expected how many devices the job needs, unless the pattern implies it, such as \
                 --pattern tp=4,pp=2,dp=1 or a pattern file",
            ));
        };
        return Ok(Job {
            pattern: self::pattern(pattern, ranks, files)?,
            ranks,
            parallel: None,
            assumed: None,
            #[cfg(feature = "patterns")]
            application: None,
        });
    }
    let parallel: Parallelism = pattern.parse()?;
    let assumed = assumed_bytes(parallel, bytes)?;
    let parallel = bytes.map_or(Ok(parallel), |bytes| parallel.with_bytes_of(bytes))?;
    let ranks = parallel.ranks();
    check_ranks(gpus, ranks, &parallel)?;
    Ok(Job {
        pattern: parallel.pattern(),
        ranks,
        parallel: Some(parallel),
        assumed,
        #[cfg(feature = "patterns")]
        application: None,
    })
}

/// A note on the dimensions in which ranks communicate and whose bytes the request does not give.
fn assumed_bytes(job: Parallelism, bytes: Option<&str>) -> Result<Option<String>, Error> {
    // A dimension that keeps this number, which no user gives, is not named.
    const PROBE: f64 = 0.123_456_789;
    let probe = Dimension::ALL
        .into_iter()
        .try_fold(job, |job, dimension| job.with_bytes(dimension, PROBE))?;
    let probe = bytes.map_or(Ok(probe), |bytes| probe.with_bytes_of(bytes))?;
    let full = bytes.map_or(Ok(job), |bytes| job.with_bytes_of(bytes))?;
    let words: Vec<String> = Dimension::ALL
        .into_iter()
        .filter(|&dimension| probe.bytes(dimension) == PROBE && job.group_size(dimension) > 1)
        .map(|dimension| format!("{}={:e}", dimension.letters(), full.bytes(dimension)))
        .collect();
    Ok((!words.is_empty()).then(|| {
        format!(
            "bytes assumed, in the shares of published training runs: --bytes {} (docs/training-jobs.md)",
            words.join(",")
        )
    }))
}

/// Checks that the number of devices, if given, is that of the ranks.
fn check_ranks(gpus: Option<usize>, ranks: usize, pattern: &dyn Display) -> Result<(), Error> {
    match gpus {
        Some(other) if other != ranks => Err(Error::malformed(format_args!(
            "--gpus {other}: the pattern {pattern} has {ranks} ranks: expected {ranks}, or no --gpus"
        ))),
        _ => Ok(()),
    }
}

/// Communication time under a placement: of a step of a training job, or of the slowest edge of a
/// pattern in bytes.
#[derive(Clone, Debug)]
pub struct Step {
    /// Seconds in all.
    pub seconds: f64,
    /// The time of each phase of a training job; none for a pattern in bytes.
    by_dimension: Option<Vec<(Dimension, f64)>>,
    /// Whether the bytes are known to be those of one step.
    of_step: bool,
}

impl Step {
    /// The communication time of a decision; none for a job without bytes.
    pub fn of(job: &Job, decision: &Decision, graph: &HardwareGraph) -> Option<Self> {
        let Some(parallel) = &job.parallel else {
            return Self::of_edges(job, decision, graph);
        };
        let model = StepTime::new(parallel, Rates::NOMINAL);
        let times = model.by_dimension(graph, decision.placement())?;
        let by_dimension = Dimension::ALL
            .into_iter()
            .zip(times)
            // A dimension that sends nothing takes no time.
            .filter(|(_, seconds)| *seconds > 0.0)
            .collect();
        Some(Self {
            seconds: model.seconds(graph, decision.placement())?,
            by_dimension: Some(by_dimension),
            of_step: true,
        })
    }

    fn of_edges(job: &Job, decision: &Decision, graph: &HardwareGraph) -> Option<Self> {
        // The time depends on the placement alone, so all devices count as free.
        let all = graph.all();
        let (pattern, placement) = (&job.pattern, decision.placement());
        let candidate = Candidate {
            view: graph.with_free(&all),
            pattern,
            placement,
        };
        let seconds = job
            .has_bytes()
            .then(|| edges_seconds(pattern, Rates::NOMINAL).score(&candidate));
        let of_step = job.described().is_some_and(|described| described.of_step);
        seconds.map(|seconds| Self {
            seconds,
            by_dimension: None,
            of_step,
        })
    }

    /// A line of text with its heading. The heading is `step` only if the bytes are those of one
    /// step.
    pub fn text(&self) -> String {
        let Some(by_dimension) = &self.by_dimension else {
            let (heading, sent) = match self.of_step {
                true => ("step     ", "all edges send at once"),
                false => ("time     ", "all its bytes were sent at once"),
            };
            return format!(
                "{heading} {} s for the slowest edge, if {sent}",
                seconds(self.seconds)
            );
        };
        let parts = by_dimension
            .iter()
            .map(|(dimension, value)| format!("{dimension} {}", seconds(*value)))
            .collect::<Vec<_>>()
            .join(" + ");
        // With a single phase, the total says it all.
        let of = if by_dimension.len() > 1 {
            format!(": {parts}")
        } else {
            String::new()
        };
        format!("step      {} s of communication{of}", seconds(self.seconds))
    }

    /// The keys that an answer has of it.
    #[must_use]
    pub fn times(&self) -> StepTimes {
        let Some(by_dimension) = &self.by_dimension else {
            return StepTimes {
                edges_seconds: Some(self.seconds),
                ..StepTimes::default()
            };
        };
        let phases = by_dimension
            .iter()
            .map(|(dimension, seconds)| (dimension.to_string(), *seconds));
        StepTimes {
            step_seconds: Some(self.seconds),
            phase_seconds: Some(phases.collect()),
            edges_seconds: None,
        }
    }
}
