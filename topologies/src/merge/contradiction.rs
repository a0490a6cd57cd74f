//! Statements on which two dumps differ.

use std::fmt;

/// A statement on which two dumps of a machine differ.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Contradiction {
    /// The subject: a device, or two joined by a dash, and which of their facts.
    pub about: String,
    /// The dump that the machine follows, and its statement.
    pub kept: DumpStatement,
    /// The dump that differs, and its statement.
    pub dropped: DumpStatement,
}

/// The statement of one dump.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DumpStatement {
    /// The name of the dump's machine, by default one of its kind.
    pub by: String,
    /// The statement.
    pub what: String,
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            about,
            kept,
            dropped,
        } = self;
        write!(
            f,
            "{about}: {} says {}, {} says {}; ",
            kept.by, kept.what, dropped.by, dropped.what
        )?;
        write!(f, "{} is followed", kept.by)
    }
}
