//! Typed answers: what MAPA answers, and how that is called in JSON.
//!
//! An answer is a struct that serialises to the JSON object of its command. Keys are stable: new
//! ones may be added, and a changed or dropped one raises [`SCHEMA`].

use schemars::JsonSchema;
use serde::Serialize;

mod allocate;
mod compare;
mod fit;
mod links;
mod machines;
mod matches;
mod mig;
mod placement;
mod refusal;
mod score;
mod step;
mod topology;

pub use allocate::{Allocation, Done, Held, NotDone, RunnerUp};
pub use compare::{Chosen, Compared, Comparison};
pub use fit::{Fit, Instance};
pub use links::{Links, Server};
pub use machines::{Catalogue, File, Formula, KindOfFiles, Machine, Read};
pub use matches::{Count, MatchesInGraph, MatchesOnMachine};
pub use mig::{About, Gpus, LayoutCounts, Listed, Offered, Partitions, Profile};
pub use placement::{
    Decision, Scored, id_list, ids, is_defined, label, labels, names, visible_by_server,
};
pub use refusal::{Malformed, Refusal};
pub use score::{Bandwidth, NoBandwidth, Order, Packing, Ring, Score, SumOfTerms, Term, Tree};
pub use step::StepTimes;
pub use topology::{Device, Discovery, LiveInstance, Pairs, Topology, Tried};

/// The version of the form of all answers, in the key `schema` of every object.
pub const SCHEMA: u32 = 1;

/// An answer, with the version of its form in the key `schema`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Versioned<T> {
    /// The version of the form of this object.
    pub schema: u32,
    /// The answer: its keys stand beside `schema`.
    #[serde(flatten)]
    pub answer: T,
}

impl<T> Versioned<T> {
    /// An answer in the form of this version of MAPA.
    pub const fn new(answer: T) -> Self {
        Self {
            schema: SCHEMA,
            answer,
        }
    }
}
