//! Typed answers: what MAPA answers, and how that is called in JSON.
//!
//! An answer is a struct that serialises to the JSON object of its command. Keys are stable: new
//! ones may be added, and a changed or dropped one raises [`SCHEMA`].

use serde::Serialize;

pub mod allocate;
mod bandwidth;
pub mod compare;
pub mod defrag;
#[cfg(feature = "regress")]
pub mod fit;
mod links;
pub mod machines;
pub mod mapa;
pub mod matches;
#[cfg(feature = "regress")]
pub mod measured;
pub mod mig;
#[cfg(feature = "patterns")]
pub mod nccl;
pub mod node;
#[cfg(any(feature = "regress", feature = "sim"))]
mod number;
#[cfg(feature = "patterns")]
pub mod pattern;
mod placement;
mod refusal;
#[cfg(feature = "sim")]
pub mod report;
pub mod score;
#[cfg(feature = "patterns")]
pub mod sensitivity;
#[cfg(feature = "sim")]
pub mod simulate;
mod step;
#[cfg(feature = "sim")]
mod streamed;
#[cfg(feature = "sim")]
pub mod sweep;
#[cfg(feature = "sim")]
pub mod table;
pub mod topology;

pub use bandwidth::{Bandwidth, ModelChoice, Withheld, model_text, on_assumed_rates};
pub use links::{Links, Server, links_text};
pub(crate) use placement::device;
pub use placement::{
    Decision, Scored, environment_by_server, id_list, ids, is_defined, label, labels, names,
};
pub use refusal::{Malformed, NoAnswer, Refusal};
pub use step::StepTimes;
#[cfg(feature = "sim")]
pub use streamed::Streamed;

/// The version of the form of all answers but those of `mapa` and `mapa-node`, in the key `schema` of every object.
pub const SCHEMA: u32 = 1;

/// An answer, with the version of its form in the key `schema`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Versioned<T> {
    /// The version of the form of this object.
    pub schema: u32,
    /// The answer: its keys stand beside `schema`.
    #[serde(flatten)]
    pub answer: T,
}

impl<T> Versioned<T> {
    /// An answer of `mapa` or `mapa-node`, whose forms have a version of their own.
    pub const fn of_node(answer: T) -> Self {
        Self {
            schema: node::NODE_VERSION,
            answer,
        }
    }

    /// An answer in the form of this version of MAPA.
    pub const fn new(answer: T) -> Self {
        Self {
            schema: SCHEMA,
            answer,
        }
    }
}
