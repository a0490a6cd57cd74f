//! The answers of `match`: how often a pattern occurs.

use mapa_core::SearchStats;
use serde::Serialize;

use super::Scored;

/// The number of matches, and how the search for them ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Count {
    /// The number of matches; at least this many if the search did not end.
    pub count: u64,
    /// Whether the search ended.
    pub complete: bool,
    /// Why the search stopped early; null if it ended.
    pub stopped: Option<String>,
    /// Whether matches that differ by a symmetry of the pattern count once.
    pub distinct: bool,
    /// Whether devices may have no links besides those of the pattern.
    pub induced: bool,
    /// The number of nodes that the search visited.
    pub nodes: u64,
}

impl Count {
    /// The answer for a search.
    #[must_use]
    pub fn new(stats: SearchStats, distinct: bool, induced: bool) -> Self {
        Self {
            count: stats.matches,
            complete: stats.complete(),
            stopped: (!stats.complete()).then(|| stats.stopped.because().to_owned()),
            distinct,
            induced,
            nodes: stats.nodes,
        }
    }
}

/// The matches of a job's pattern on a machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MatchesOnMachine {
    /// How many there are.
    #[serde(flatten)]
    pub count: Count,
    /// The name of the machine.
    pub machine: String,
    /// The number of ranks.
    pub gpus: usize,
    /// The pattern, as the request names it.
    pub pattern: String,
    /// The first matches, as many as were asked for: ids in rank order.
    pub matches: Vec<Vec<u32>>,
    /// The same matches as names.
    pub names: Vec<Vec<String>>,
    /// The matches of highest bandwidth by the model, as many as were asked for.
    pub top: Vec<Scored>,
    /// The model by which `top` is ranked: the one that the request names, else that by which `allocate` reports.
    pub bandwidth_model: String,
    /// Whether the search for the best matches ended.
    pub top_complete: bool,
}

/// The matches of one graph in another.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MatchesInGraph {
    /// How many there are.
    #[serde(flatten)]
    pub count: Count,
    /// The file of the pattern.
    pub pattern: String,
    /// The file of the graph in which it is sought.
    pub target: String,
    /// The first matches, as many as were asked for: the vertex of each vertex of the pattern.
    pub matches: Vec<Vec<u32>>,
}
