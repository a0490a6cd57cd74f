//! Errors of samples, of fits and of files.

/// Why a fit failed, or a file is invalid. The message names the row or line, and what was
/// expected.
#[derive(Debug, thiserror::Error)]
#[error("{}", mapa_core::shortened(&.0.to_string()))]
pub struct Error(Box<ErrorKind>);

impl Error {
    /// Whether the samples are sound but too few or too alike for the terms: more samples, fewer
    /// terms, ridge or [`FitConfig::allow_rank_deficient`](crate::FitConfig::allow_rank_deficient)
    /// would help.
    #[must_use]
    pub fn is_rank_deficient(&self) -> bool {
        matches!(
            *self.0,
            ErrorKind::TooFew { .. } | ErrorKind::RankDeficient { .. }
        )
    }

    /// The label of the sample at fault, if the error is one of a sample.
    #[must_use]
    pub fn sample(&self) -> Option<&str> {
        match &*self.0 {
            ErrorKind::BadSample { label, .. } => Some(label),
            _ => None,
        }
    }

    /// The line of the file at fault, counted from 1.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        match &*self.0 {
            ErrorKind::BadFile { line, .. } => *line,
            _ => None,
        }
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self(Box::new(kind))
    }
}

impl From<mapa_core::Error> for Error {
    fn from(source: mapa_core::Error) -> Self {
        ErrorKind::Core(source).into()
    }
}

impl From<mapa_table::Error> for Error {
    fn from(error: mapa_table::Error) -> Self {
        ErrorKind::BadFile {
            line: error.line(),
            what: error.what().to_owned(),
        }
        .into()
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ErrorKind {
    #[error("no samples: expected at least one")]
    NoSamples,
    #[error("{label}: {what}")]
    BadSample { label: String, what: String },
    #[error("{0}")]
    BadConfig(String),
    #[error(
        "{samples} samples with {distinct} distinct link counts for {terms} terms: expected at least as many distinct \
         counts as terms, fewer terms, or that the solution of least norm is asked for"
    )]
    TooFew {
        samples: usize,
        distinct: usize,
        terms: usize,
    },
    #[error(
        "the samples do not tell all terms apart (rank {rank} of {terms}): undecided are {undecided}; expected samples of \
         other link counts, fewer terms, or that the solution of least norm is asked for"
    )]
    RankDeficient {
        rank: usize,
        terms: usize,
        undecided: String,
    },
    #[error("the {0} did not converge")]
    NotConverged(&'static str),
    #[error("without {held_out}: {source}")]
    Fold { held_out: String, source: Error },
    #[error("{}{what}", .line.map(|line| format!("line {line}: ")).unwrap_or_default())]
    BadFile { line: Option<usize>, what: String },
    #[error(transparent)]
    Core(mapa_core::Error),
}
