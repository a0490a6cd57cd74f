//! The answers of `reproduce`: experiments, and the report of one.

use std::collections::BTreeMap;

use mapa_sim::Interval as OfFiles;
use serde::Serialize;
use serde_json::Value;

/// Every experiment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Experiments {
    /// The experiments.
    pub experiments: Vec<Experiment>,
}

/// An evaluation that can be repeated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Experiment {
    /// Its name.
    pub name: String,
    /// The paper that it repeats.
    pub paper: String,
    /// Which parts of the paper.
    pub covers: String,
    /// The default number of job files.
    pub files: usize,
    /// The default seed of the first job file.
    pub seed: u64,
}

/// The result of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report {
    /// The name of the experiment.
    pub experiment: String,
    /// The paper that it repeats.
    pub paper: String,
    /// The command that repeats this run.
    pub command: String,
    /// The generator of random numbers.
    pub generator: String,
    /// The seeds of the job files.
    pub seeds: Vec<u64>,
    /// What is assumed, numbered from 1 as claims name it.
    pub assumptions: Vec<String>,
    /// Numbers for each job file, in the order of the seeds.
    pub per_file: Value,
    /// The sections by name.
    pub sections: BTreeMap<String, Section>,
}

/// A figure or a table of a paper, or a question of our own.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Section {
    /// The title.
    pub title: String,
    /// Whether it measures wall-clock time, so that two runs differ.
    pub timed: bool,
    /// The claims.
    pub claims: Vec<Claim>,
    /// The numbers by name. What a name holds depends on the section.
    pub numbers: BTreeMap<String, Value>,
}

/// A statement that was tested.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Claim {
    /// The statement.
    pub claim: String,
    /// The published figure, in words.
    pub paper: String,
    /// The figure of this run, in words.
    pub ours: String,
    /// The number that is judged; null if the claim is about none.
    pub value: Option<Interval>,
    /// The rule by which the verdict is reached; empty if nothing is judged.
    pub rule: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The assumptions on which the claim rests, by their numbers.
    pub assumes: Vec<usize>,
}

/// Whether a finding supports a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Verdict {
    /// The whole interval supports the statement.
    #[serde(rename = "holds")]
    Holds,
    /// The whole interval lies above the published figure, so the figure is not reproduced.
    #[serde(rename = "exceeds")]
    Exceeds,
    /// The statement follows from what is assumed, so no run can contradict it.
    #[serde(rename = "by construction")]
    ByConstruction,
    /// The whole interval contradicts the statement.
    #[serde(rename = "does not hold")]
    DoesNotHold,
    /// The interval contains the limit.
    #[serde(rename = "undecided")]
    Undecided,
    /// The statement needs hardware or records that only the authors have.
    #[serde(rename = "cannot be had")]
    CannotBeHad,
    /// The finding is a time of one run on a shared machine, which another run need not repeat.
    #[serde(rename = "not judged")]
    NotJudged,
}

/// A mean with its 95 % interval over job files.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interval {
    /// The mean.
    pub mean: f64,
    /// The low end of the interval.
    pub low: f64,
    /// The high end of the interval.
    pub high: f64,
}

impl From<OfFiles> for Interval {
    fn from(interval: OfFiles) -> Self {
        Self {
            mean: interval.mean,
            low: interval.low,
            high: interval.high,
        }
    }
}
