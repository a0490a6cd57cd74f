//! The answer of `sensitivity`: whether a job's speed depends on its links.

use mapa_patterns::{PUBLISHED, Verdict, Workload};
use serde::Serialize;

/// Whether a job's speed depends on its links.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sensitivity {
    /// `sensitive`, `insensitive` or `unknown`.
    pub sensitivity: String,
    /// The evidence that decides it, in one sentence.
    pub why: String,
}

impl From<Verdict> for Sensitivity {
    fn from(verdict: Verdict) -> Self {
        Self {
            sensitivity: verdict.sensitivity.to_string(),
            why: verdict.why,
        }
    }
}

/// The published evidence on the workloads of MAPA's evaluation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublishedSensitivity {
    /// The workloads, in the order of the paper.
    pub workloads: Vec<PublishedWorkload>,
}

impl PublishedSensitivity {
    /// All published workloads.
    pub fn all() -> Self {
        Self {
            workloads: PUBLISHED.iter().map(PublishedWorkload::from).collect(),
        }
    }
}

/// A workload of the paper, and the verdicts on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublishedWorkload {
    /// The name in the paper.
    pub name: String,
    /// Calls of collectives in an iteration; null if the paper does not say.
    pub calls: Option<u64>,
    /// Layers with parameters; null if the workload is not a neural network.
    pub layers: Option<u32>,
    /// Parameters of all layers, of 4 bytes each; null if the workload is not a neural network.
    pub parameters: Option<u64>,
    /// The verdict by the sizes of messages alone: `sensitive`, `insensitive` or `unknown`.
    pub by_messages: String,
    /// The verdict by predicted times; null if there is nothing to predict them from.
    pub predicted: Option<String>,
    /// The verdict by all evidence: `sensitive`, `insensitive` or `unknown`.
    pub sensitivity: String,
    /// The evidence that decides it, in one sentence.
    pub why: String,
    /// The class that the paper gives the workload.
    pub class: String,
    /// The published evidence, the strongest first.
    pub evidence: Vec<PublishedEvidence>,
}

/// A statement of the paper.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublishedEvidence {
    /// What it says.
    pub what: String,
    /// Its place in the paper.
    pub source: String,
}

impl From<&Workload> for PublishedWorkload {
    fn from(workload: &Workload) -> Self {
        let evidence = workload
            .evidence
            .iter()
            .map(|(what, place)| PublishedEvidence {
                what: what.to_string(),
                source: (*place).to_owned(),
            });
        let verdict = workload.verdict();
        Self {
            name: workload.name.to_owned(),
            calls: workload.calls(),
            layers: workload.model.map(|model| model.layers),
            parameters: workload.model.map(|model| model.parameters),
            by_messages: workload.by_messages().sensitivity.to_string(),
            predicted: workload
                .predicted()
                .map(|verdict| verdict.sensitivity.to_string()),
            sensitivity: verdict.sensitivity.to_string(),
            why: verdict.why,
            class: workload.class.to_string(),
            evidence: evidence.collect(),
        }
    }
}
