//! Answers without a placement: refusals and malformed requests.

use serde::Serialize;

use super::mig::Fit;

/// A request that was refused: it is well formed, but has no placement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Refusal {
    /// The kind: `busy`, `infeasible` or `limit_reached`.
    pub refusal: String,
    /// Why, in one sentence.
    pub reason: String,
}

impl Refusal {
    /// A refusal of this kind.
    pub fn new(kind: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            refusal: kind.into(),
            reason: reason.into(),
        }
    }
}

impl From<&mapa_core::Refusal> for Refusal {
    fn from(refusal: &mapa_core::Refusal) -> Self {
        Self::new(refusal.kind(), refusal.to_string())
    }
}

/// A malformed request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Malformed {
    /// What is wrong, where, and what was expected there.
    pub error: String,
}

/// Why a request has no answer, as an object of its own.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum NoAnswer {
    /// The request makes no sense, or something in it cannot be read.
    Malformed(Malformed),
    /// It is well formed, but has no placement.
    Refused(Refusal),
    /// The wanted instances cannot exist at once.
    NoFit(Box<Fit>),
}
