//! Errors of tables.

/// Why a table is invalid. The message names the line and the column, and what was expected there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{what}", .line.map(|line| format!("line {line}: ")).unwrap_or_default())]
pub struct Error {
    line: Option<usize>,
    what: String,
}

impl Error {
    pub(crate) fn at(line: usize, what: impl Into<String>) -> Self {
        Self {
            line: Some(line),
            what: mapa_core::shortened(&what.into()).into_owned(),
        }
    }

    pub(crate) fn of_table(what: impl Into<String>) -> Self {
        Self {
            line: None,
            what: mapa_core::shortened(&what.into()).into_owned(),
        }
    }

    /// The line of the error, counted from 1; `None` for an error of the whole table.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.line
    }

    /// The message without the line.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }
}
