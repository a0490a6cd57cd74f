//! The workload that a request names.

use std::str::FromStr;

use mapa_sim::{
    Generator, GeneratorRow, RunTimes, Selection, TraceKind, Workload, read_jobs, read_run_times,
    read_trace_part,
};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::files::{FileKind, Files};
use crate::machine::STANDARD_INPUT;
use crate::systems;
use crate::words;

/// The generator of a workload that names no source.
const USUAL: &str = "mapa";

/// The source of a workload: a job file, a trace, or a generator (`mapa` if nothing is named).
///
/// In JSON and TOML a workload is a table of these keys; in words it is the same keys as `key=value`,
/// separated by spaces: `jobs=jobs.csv`, or `generate=mapa,jobs=1000 seed=7`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WorkloadSpec {
    /// A job file, `-` for standard input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jobs: Option<String>,
    /// The log of a real cluster, `[KIND=]FILE`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// Which jobs of the trace to take, such as `first=1000,max-gpus=8`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub select: Option<String>,
    /// A generator, such as `mapa,jobs=1000`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generate: Option<String>,
    /// A file from which run times are drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_times: Option<String>,
    /// The seed of the generator; 1 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Whether all jobs arrive at time 0.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_once: bool,
}

impl FromStr for WorkloadSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        words::table(text, "jobs", &[])
    }
}

impl WorkloadSpec {
    /// The seed of the generator.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed.unwrap_or(1)
    }

    /// Whether the workload is read from standard input.
    #[must_use]
    pub fn reads_standard_input(&self) -> bool {
        // A trace may have its kind before the name of its file: `gavel-philly=-`.
        let trace = self
            .trace
            .as_deref()
            .map(|trace| trace.rsplit('=').next().unwrap_or(trace));
        [self.jobs.as_deref(), trace, self.run_times.as_deref()].contains(&Some(STANDARD_INPUT))
    }

    /// Reads or draws the workload. Its source names the file, or the generator and its seed.
    ///
    /// # Errors
    /// If several sources are named, a file cannot be read, or words are wrong.
    pub fn load(&self, files: &dyn Files) -> Result<Workload, Error> {
        self.check()?;
        // At most one is named: see `check`.
        let workload = match (&self.jobs, &self.trace) {
            (Some(file), _) => of_file(file, files, &read_jobs)?,
            (_, Some(words)) => trace(words, self.select.as_deref().unwrap_or_default(), files)?,
            _ => drawn(self, files)?,
        };
        Ok(if self.at_once {
            workload.all_at_once()
        } else {
            workload
        })
    }

    /// Checks that the keys are of one source.
    fn check(&self) -> Result<(), Error> {
        let given = |name, is_given| if is_given { Some(name) } else { None };
        let sources = [
            given("jobs", self.jobs.is_some()),
            given("trace", self.trace.is_some()),
            given("generate", self.generate.is_some()),
        ];
        let sources: Vec<&str> = sources.into_iter().flatten().collect();
        if sources.len() > 1 {
            return Err(Error::malformed(format_args!(
                "a workload cannot have {}: expected one of them",
                sources.join(" and ")
            )));
        }
        if self.select.is_some() && self.trace.is_none() {
            return Err(Error::malformed(
                "`select` is for traces: expected `trace` too",
            ));
        }
        let drawn = self.jobs.is_none() && self.trace.is_none();
        if !drawn && (self.run_times.is_some() || self.seed.is_some()) {
            return Err(Error::malformed(
                "`run_times` and `seed` are for generators: expected neither beside `jobs` or `trace`",
            ));
        }
        Ok(())
    }
}

/// The workload of a generator, drawn with this seed.
///
/// # Errors
/// If the words name no generator, or nothing can be drawn.
pub fn generated(words: &str, seed: u64) -> Result<Workload, Error> {
    let rows = systems::generators();
    // Generators of systems come first: `generator` below knows the general ones only, and refuses all other names.
    if let Some(row) = GeneratorRow::find(&rows, words) {
        return (row.generate)(words, seed).map_err(Error::malformed);
    }
    generator(words)?.generate(seed).map_err(Error::malformed)
}

/// The general generator that these words describe. If there is none of its name, the message lists
/// those of published systems too.
fn generator(words: &str) -> Result<Generator, Error> {
    let name = words.split(',').next().unwrap_or_default().trim();
    if !Generator::names().contains(&name) {
        let systems = systems::generators();
        let names = Generator::names().into_iter();
        let mut names: Vec<&str> = names.chain(systems.iter().map(|row| row.name)).collect();
        let last = names.pop().unwrap_or_default();
        return Err(Error::malformed(format_args!(
            "generator `{words}`: no generator is called `{name}`: expected {} or {last}",
            names.join(", ")
        )));
    }
    words.parse().map_err(Error::malformed)
}

/// The workload of `--generate`, with run times from a file if one is named.
fn drawn(spec: &WorkloadSpec, files: &dyn Files) -> Result<Workload, Error> {
    let words = spec.generate.as_deref().unwrap_or(USUAL);
    let Some(file) = &spec.run_times else {
        return generated(words, spec.seed());
    };
    if GeneratorRow::find(&systems::generators(), words).is_some() {
        return Err(Error::malformed(format_args!(
            "`run_times` are not for the generator {words}, which has its own: expected no `run_times`"
        )));
    }
    let mut generator = generator(words)?;
    let times = read_run_times(&files.text(file, FileKind::Table)?)
        .map_err(|error| Error::at(file, error))?;
    generator.run_times = RunTimes::Empirical(times.into());
    let mut workload = generator.generate(spec.seed()).map_err(Error::malformed)?;
    workload.source.push_str(&format!(", run times of {file}"));
    Ok(workload)
}

/// The selected part of a trace, `[KIND=]FILE`.
fn trace(words: &str, select: &str, files: &dyn Files) -> Result<Workload, Error> {
    // The name of a file may contain `=`: an existing file wins.
    let (kind, file) = match words.split_once('=') {
        Some((kind, file)) if !files.exists(words) => (Some(kind), file),
        _ => (None, words),
    };
    let selection: Selection = select
        .parse()
        .map_err(|error| Error::at("--select", error))?;
    let kind: Option<TraceKind> = kind.map(str::parse).transpose().map_err(Error::malformed)?;
    of_file(file, files, &|text| {
        let kind = kind.map_or_else(|| TraceKind::recognise(text), Ok)?;
        read_trace_part(kind, text, &selection)
    })
}

/// The workload that `read` returns for a file. The file's name is added to the workload's source.
fn of_file(
    file: &str,
    files: &dyn Files,
    read: &dyn Fn(&str) -> Result<Workload, mapa_sim::Error>,
) -> Result<Workload, Error> {
    let mut workload =
        read(&files.text(file, FileKind::Jobs)?).map_err(|error| Error::at(file, error))?;
    let name = if file == STANDARD_INPUT {
        "standard input"
    } else {
        file
    };
    workload.source = format!("{}, {name}", workload.source);
    Ok(workload)
}
