//! The error of this crate: why a description was rejected.

/// Why a description of a machine, or a graph, was rejected. The message names the line or element,
/// where there is one, and what was expected.
#[derive(Debug, thiserror::Error)]
#[error("{}{}{}", .line.map(|line| format!("line {line}: ")).unwrap_or_default(), .element.as_ref().map(|element| format!("{}: ", mapa_core::shortened(element))).unwrap_or_default(), mapa_core::shortened(.what))]
pub struct Error {
    kind: ErrorKind,
    line: Option<usize>,
    element: Option<String>,
    what: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// The kind of an [`Error`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A word, number or shape that should not be there, or is missing.
    #[default]
    Malformed,
    /// The text is of no known kind of description.
    Unknown,
    /// The kind of description is known but not supported; the message says what to give instead.
    Unsupported,
    /// The description is well formed but incomplete: it has no devices, or no links or paths
    /// between them.
    Incomplete,
    /// More bytes, levels or entities than any machine needs.
    TooLarge,
}

impl Error {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self {
            kind: ErrorKind::Malformed,
            line: None,
            element: None,
            what: what.into(),
            source: None,
        }
    }

    pub(crate) fn of_kind(kind: ErrorKind, what: impl Into<String>) -> Self {
        Self {
            kind,
            ..Self::new(what)
        }
    }

    pub(crate) fn at(line: usize, what: impl Into<String>) -> Self {
        Self {
            line: Some(line),
            ..Self::new(what)
        }
    }

    /// An error in this element: an XML tag with the attribute that identifies it, or a path into a
    /// JSON document.
    pub(crate) fn in_element(
        line: Option<usize>,
        element: impl Into<String>,
        what: impl Into<String>,
    ) -> Self {
        Self {
            line,
            element: Some(element.into()),
            ..Self::new(what)
        }
    }

    pub(crate) fn with_kind(self, kind: ErrorKind) -> Self {
        Self { kind, ..self }
    }

    /// The kind of the error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The line at fault, counted from 1.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.line
    }

    /// The element at fault: `<pci busid="0000:06:00.0">`, or `[0].links[3].weight`.
    #[must_use]
    pub fn element(&self) -> Option<&str> {
        self.element.as_deref()
    }

    /// Wraps an error of `mapa-core` that occurred at this line.
    pub(crate) fn core(line: Option<usize>, source: mapa_core::Error) -> Self {
        let what = source.to_string();
        Self {
            line,
            source: Some(source.into()),
            ..Self::new(what)
        }
    }
}

impl From<mapa_core::Error> for Error {
    fn from(source: mapa_core::Error) -> Self {
        Self::core(None, source)
    }
}

/// The bytes as text, without the byte order mark that some editors put in front.
pub(crate) fn utf8(bytes: &[u8]) -> Result<&str, Error> {
    let not_text = match bytes {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [_, 0, _, 0, ..] | [0, _, 0, _, ..] => {
            Some("UTF-16 text: expected UTF-8; in PowerShell, `| Out-File -Encoding utf8`")
        }
        [0x1f, 0x8b, ..] => Some("compressed by gzip: expected the text itself"),
        _ => None,
    };
    if let Some(what) = not_text {
        return Err(Error::new(what));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.strip_prefix('\u{feff}').unwrap_or(text)),
        Err(error) => {
            let line = bytes[..error.valid_up_to()]
                .iter()
                .filter(|&&b| b == b'\n')
                .count()
                + 1;
            Err(Error::at(line, "not UTF-8 text"))
        }
    }
}
