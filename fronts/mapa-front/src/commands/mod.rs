//! What the commands compute: a function each, from a request to its answer.
//!
//! A request is a value that serde reads; the machine is loaded already. A request's `outcome` is what its answer is
//! made of, for those who draw it or print it as text.

mod allocate;
mod batch;
mod compare;
mod defrag;
#[cfg(feature = "regress")]
mod fit;
mod machines;
mod matches;
#[cfg(feature = "regress")]
mod measured;
mod mig;
#[cfg(feature = "parted")]
mod parted;
#[cfg(feature = "patterns")]
mod pattern;
mod read;
mod score;
#[cfg(feature = "patterns")]
mod sensitivity;
#[cfg(feature = "sim")]
mod simulate;
#[cfg(feature = "sim")]
mod sweep;
mod topo;

pub use allocate::{AllocateOutcome, AllocateRequest, allocate};
pub use batch::Batch;
pub use compare::{CompareOutcome, CompareRequest, ComparedPolicy, PolicyChoice, compare};
pub use defrag::{DefragOutcome, DefragRequest, DefragScore, RunningJobs, defrag};
#[cfg(feature = "regress")]
pub use fit::{FitColumn, FitMethod, FitOutcome, FitRequest, FitRing, FitTerms, fit};
pub use machines::machines;
pub use matches::{
    GraphMatchOutcome, GraphMatchRequest, MatchOutcome, MatchRequest, MatchSettings, find_in_graph,
    find_matches,
};
#[cfg(feature = "regress")]
pub use measured::{MeasuredOutcome, MeasuredRequest, measured};
pub use mig::{MigAnswer, MigOutcome, MigRequest, mig, mig_gpus};
#[cfg(feature = "parted")]
pub use parted::{PartedRequest, parted};
#[cfg(feature = "source")]
pub use pattern::{CodeInput, CodeSource};
#[cfg(feature = "patterns")]
pub use pattern::{
    CounterSource, NcclSource, ParallelismSource, PatternInput, PatternOutcome, PatternRequest,
    PatternSource, WordSource, pattern,
};
pub use read::{ReadFile, ReadOutcome, read_files, read_summary};
pub use score::{ExplainedSum, PackedLinks, ScoreOutcome, ScoreRequest, ScoredBandwidth, score};
#[cfg(feature = "patterns")]
pub use sensitivity::{EvidenceRequest, sensitivity};
#[cfg(feature = "sim")]
pub use simulate::{SimulateOutcome, SimulateRequest, SimulateStep, simulate};
#[cfg(feature = "sim")]
pub use sweep::{
    FinishedCell, SweepGroup, SweepJobs, SweepPlan, SweepPoint, SweepRequest, SweepRows,
    SweepTables, sweep,
};
pub use topo::{direct_links, link_census, network_cards, topo};
