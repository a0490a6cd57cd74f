//! The answer of `pattern`: an application graph, and what its source adds.

use std::collections::BTreeMap;

use mapa_patterns::{Application, likeness};
use serde::Serialize;

use super::nccl::NcclPattern;

/// An application graph.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pattern {
    /// Its name.
    pub name: String,
    /// What it was made from.
    pub source: String,
    /// How many ranks it has.
    pub ranks: usize,
    /// The unit of the traffic on edges.
    pub unit: String,
    /// The edges: the lower rank, the higher rank, and the traffic in `unit`.
    pub edges: Vec<(u16, u16, f64)>,
    /// The names of the ranks; empty if they have none.
    pub labels: Vec<String>,
    /// The shape that it has, such as `ring`; null if it has none of the known shapes.
    pub shape: Option<String>,
    /// Whether the job's speed depends on links: `sensitive`, `insensitive` or `unknown`.
    pub sensitivity: String,
    /// The evidence that decides it, in one sentence.
    pub why: String,
    /// The degrees of parallelism; null if it was made from something else.
    pub parallelism: Option<String>,
    /// What a rank sends in a step, bytes, by the letters of the dimension; null without degrees of
    /// parallelism.
    pub bytes: Option<BTreeMap<String, f64>>,
    /// What was assumed, left open or left out.
    pub notes: Vec<Note>,
    /// What logs of NCCL and RCCL add.
    #[serde(flatten)]
    pub nccl: Option<NcclPattern>,
    /// The calls that communicate; present for patterns from source code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub findings: Option<Vec<Finding>>,
}

/// Something that was assumed, left open or left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Note {
    /// The kind: `assumed`, `undecided` or `left-out`.
    pub kind: String,
    /// The place it is about; may be empty.
    pub place: String,
    /// What it says.
    pub what: String,
}

/// A call in source code that communicates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// The file.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The name of the called function, as written there.
    pub call: String,
    /// The library of the call.
    pub library: String,
    /// The kind of communication.
    pub kind: String,
    /// Whether its ranks could be decided.
    pub decided: bool,
    /// The graph of the call, or the reason why it has none.
    #[serde(rename = "as")]
    pub decided_as: String,
}

impl From<&Application> for Pattern {
    fn from(own: &Application) -> Self {
        let edges = own.pattern.edges().iter();
        let bytes = own.parallelism.map(|job| {
            job.dimensions()
                .map(|dimension| (dimension.letters().to_owned(), job.bytes(dimension)))
                .collect()
        });
        Self {
            name: own.name.clone(),
            source: own.source.clone(),
            ranks: own.pattern.len(),
            unit: own.unit.to_string(),
            edges: edges.map(|edge| (edge.a, edge.b, edge.traffic)).collect(),
            labels: own.labels.clone(),
            // Shapes are recognised by their edges, so a pattern that was read from a log has one too.
            shape: likeness(&own.pattern).map(|shape| shape.to_string()),
            sensitivity: own.verdict.sensitivity.to_string(),
            why: own.verdict.why.clone(),
            parallelism: own.parallelism.map(|job| job.to_string()),
            bytes,
            notes: own.notes.iter().map(Note::from).collect(),
            // What only one kind of source has is added by its command.
            nccl: None,
            findings: None,
        }
    }
}

impl From<&mapa_patterns::Note> for Note {
    fn from(own: &mapa_patterns::Note) -> Self {
        Self {
            kind: own.kind.to_string(),
            place: own.place.clone(),
            what: own.what.clone(),
        }
    }
}

/// The calls of a program, each with its decision.
#[cfg(feature = "source")]
pub fn findings(
    source: &mapa_patterns::Source,
    proposal: &mapa_patterns::Proposal,
) -> Vec<Finding> {
    // A proposal has one decision for each finding, in the same order.
    let decided = source.findings().iter().zip(&proposal.decisions);
    decided
        .map(|(found, decision)| Finding {
            file: found.file.clone(),
            line: found.line,
            call: found.call.clone(),
            library: found.library.to_string(),
            kind: found.kind.to_string(),
            decided: decision.is_decided,
            decided_as: decision.what.clone(),
        })
        .collect()
}
