//! What can be wrong with a description.

/// Why a description of a machine, or a graph, was refused. The message names the line, where there is one, and what was expected.
#[derive(Debug, thiserror::Error)]
#[error("{}{what}", .line.map(|line| format!("line {line}: ")).unwrap_or_default())]
pub struct Error {
    line: Option<usize>,
    what: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { line: None, what: what.into(), source: None }
    }

    pub(crate) fn at(line: usize, what: impl Into<String>) -> Self {
        Self { line: Some(line), what: what.into(), source: None }
    }

    /// The line at fault, counted from 1.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.line
    }

    /// An error of the core, met at this line.
    pub(crate) fn core(line: Option<usize>, source: mapa_core::Error) -> Self {
        Self { line, what: source.to_string(), source: Some(source.into()) }
    }
}

impl From<mapa_core::Error> for Error {
    fn from(source: mapa_core::Error) -> Self {
        Self::core(None, source)
    }
}

/// The bytes as text, without the mark that some editors put in front.
pub(crate) fn utf8(bytes: &[u8]) -> Result<&str, Error> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.strip_prefix('\u{feff}').unwrap_or(text)),
        Err(error) => {
            let line = bytes[..error.valid_up_to()].iter().filter(|&&b| b == b'\n').count() + 1;
            Err(Error::at(line, "not UTF-8 text"))
        }
    }
}
