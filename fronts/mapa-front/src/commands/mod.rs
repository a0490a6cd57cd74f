//! What the commands compute: a function each, from a request to its answer.
//!
//! A request is a value that serde reads; the machine is loaded already. A request's `outcome` is what its answer is
//! made of, for those who draw it or print it as text.

mod allocate;
mod batch;
mod compare;
mod defrag;
mod machines;
mod matches;
mod mig;
mod score;
mod topo;

pub use allocate::{AllocateOutcome, AllocateRequest, allocate};
pub use batch::Batch;
pub use compare::{CompareOutcome, CompareRequest, ComparedPolicy, PolicyChoice, compare};
pub use defrag::{DefragOutcome, DefragRequest, DefragScore, RunningJobs, defrag};
pub use machines::machines;
pub use matches::{
    GraphMatchOutcome, GraphMatchRequest, MatchOutcome, MatchRequest, MatchSettings, find_in_graph,
    find_matches,
};
pub use mig::{MigAnswer, MigOutcome, MigRequest, mig, mig_gpus};
pub use score::{ExplainedSum, PackedLinks, ScoreOutcome, ScoreRequest, ScoredBandwidth, score};
pub use topo::{direct_links, link_census, network_cards, topo};
