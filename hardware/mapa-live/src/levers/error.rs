//! Why a lever did nothing: a typed value that a ledger can keep.

use serde::{Deserialize, Serialize};

/// Why a lever was refused, or failed. The three refusals stay three answers: [busy](Self::Busy) may
/// pass, [infeasible](Self::Infeasible) never does, [out of bounds](Self::OutOfBounds) is a limit that
/// was set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum LeverError {
    /// A value is out of its bounds. Nothing was changed.
    #[error("{value}: expected {expected}, by the bound `{bound}`")]
    OutOfBounds {
        /// The name of the bound, as in [`Bounds`](crate::levers::Bounds).
        bound: String,
        /// What was asked, with its unit.
        value: String,
        /// The range that the bound allows, with its unit.
        expected: String,
    },
    /// This machine has no such thing: no control group, no library, no command.
    #[error("{what} is missing: {why}")]
    Missing {
        /// The file, command, library, process or device.
        what: String,
        /// How that is known: what was looked for, or what the system answered.
        why: String,
    },
    /// It could be done if something else ended first: an instance in use, a target that another change
    /// holds.
    #[error("{what} is busy: {why}")]
    Busy {
        /// The device, group or target that is in use.
        what: String,
        /// The process, instance or change that has to end first.
        why: String,
    },
    /// It can never be done on this machine.
    #[error("{what}: {why}")]
    Infeasible {
        /// The value that was asked for.
        what: String,
        /// Why it cannot be, and what was expected.
        why: String,
    },
    /// The system said no, or did not answer.
    #[error("{what}: {why}")]
    Failed {
        /// What was done: the exact command or write.
        what: String,
        /// What the system said.
        why: String,
    },
    /// The system said yes, and has another value.
    #[error("{what}: asked for {asked}, and it has {has}")]
    NotApplied {
        /// The exact command or write whose value did not hold.
        what: String,
        /// The value that was set.
        asked: String,
        /// The value that was read back.
        has: String,
    },
}

impl LeverError {
    pub(crate) fn missing(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Missing {
            what: what.into(),
            why: why.into(),
        }
    }

    pub(crate) fn busy(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Busy {
            what: what.into(),
            why: why.into(),
        }
    }

    pub(crate) fn infeasible(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Infeasible {
            what: what.into(),
            why: why.into(),
        }
    }

    /// A failure of the system. Programs that bring a lever of their own report theirs by it.
    #[must_use]
    pub fn failed(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Failed {
            what: what.into(),
            why: why.into(),
        }
    }

    /// A short name of the reason, for counters: `out-of-bounds`, `missing`, `busy`, `infeasible`,
    /// `failed`, `not-applied`.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::OutOfBounds { .. } => "out-of-bounds",
            Self::Missing { .. } => "missing",
            Self::Busy { .. } => "busy",
            Self::Infeasible { .. } => "infeasible",
            Self::Failed { .. } => "failed",
            Self::NotApplied { .. } => "not-applied",
        }
    }
}
