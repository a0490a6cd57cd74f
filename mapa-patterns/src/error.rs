//! The error of this crate.

/// The reason why no application graph could be made. The message names the line, if there is one,
/// and the expected form.
#[derive(Debug, thiserror::Error)]
#[error("{}{}{}", .file.iter().map(|file| format!("{file}: ")).collect::<String>(), .line.map(|line| format!("line {line}: ")).unwrap_or_default(), mapa_core::shortened(.what))]
pub struct Error {
    file: Option<String>,
    line: Option<usize>,
    what: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self {
            file: None,
            line: None,
            what: what.into(),
            source: None,
        }
    }

    pub(crate) fn at(line: usize, what: impl Into<String>) -> Self {
        Self {
            line: Some(line),
            ..Self::new(what)
        }
    }

    /// The line at fault, counted from 1.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.line
    }

    /// The file at fault, if several were read and one is.
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    /// Names the file of the error.
    pub(crate) fn within(self, file: &str) -> Self {
        Self {
            file: Some(file.to_owned()),
            ..self
        }
    }

    /// Wraps an error of another crate that occurred at this line.
    pub(crate) fn caused(
        line: Option<usize>,
        source: impl std::error::Error + Send + Sync + 'static,
    ) -> Self {
        let what = source.to_string();
        Self {
            line,
            source: Some(Box::new(source)),
            ..Self::new(what)
        }
    }
}

impl From<mapa_core::Error> for Error {
    fn from(source: mapa_core::Error) -> Self {
        Self::caused(None, source)
    }
}

impl From<mapa_topologies::Error> for Error {
    fn from(source: mapa_topologies::Error) -> Self {
        // Its message names the line already.
        Self::caused(None, source)
    }
}
