//! Patterns from source code, and from scripts that launch jobs.

use std::path::Path;

use mapa_patterns::{Algorithm, Note, Source};
use serde::{Deserialize, Serialize};

use super::{Drawn, PatternInput, names};
use crate::answer::pattern::findings;
use crate::error::Error;
use crate::files::{FileKind, Files};

/// Source code in C, C++, CUDA and Python, and scripts that launch jobs. Nothing is executed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct CodeSource {
    /// The files, the programs that scripts run among them. A front may have searched folders, and lends their files.
    pub paths: Vec<String>,
    /// How many GPUs the program runs on; as its launch script or its constants say, if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpus: Option<usize>,
    /// The paths of all-reduces: `ring` (large messages), `tree` (small ones) or `both`.
    pub algorithm: String,
}

/// The files of folders that a front has searched.
pub struct CodeInput<'a> {
    /// The names and texts of the files, in the order in which they are searched for calls.
    pub files: Vec<(String, String)>,
    /// Notes on files that the front left out.
    pub notes: Vec<Note>,
    /// Gets what was found if no graph follows from it, before the error that says so.
    pub undecided: &'a mut dyn FnMut(&Source),
}

impl Default for CodeSource {
    fn default() -> Self {
        Self {
            paths: Vec::new(),
            gpus: None,
            algorithm: Algorithm::Ring.to_string(),
        }
    }
}

impl CodeSource {
    /// The graph of the calls.
    pub(super) fn drawn(&self, files: &dyn Files, input: PatternInput<'_>) -> Result<Drawn, Error> {
        let (texts, omitted, undecided) = match input {
            PatternInput::Code(input) => (input.files, input.notes, Some(input.undecided)),
            _ => (self.read(files)?, Vec::new(), None),
        };
        // A wrong word is no matter of the program: nothing that was found helps to mend it.
        let algorithm = self.algorithm.parse().map_err(Error::malformed)?;
        let named = texts
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str()));
        let source = Source::scan(named);
        let mut proposal = source.propose(self.gpus, algorithm).map_err(|error| {
            if let Some(report) = undecided {
                report(&source);
            }
            match (error.file(), texts.as_slice()) {
                (None, [_, ..]) => {
                    Error::at(names(texts.iter().map(|(name, _)| name.as_str())), error)
                }
                _ => Error::malformed(error),
            }
        })?;
        // A proposal that has found no name of its own takes that of the only path.
        if let [only] = self.paths.as_slice()
            && proposal.application.name == "source"
            && let Some(name) = Path::new(only)
                .file_stem()
                .and_then(|stem| stem.to_str())
                .filter(|name| !name.is_empty() && !name.contains(char::is_control))
        {
            proposal.application.name = name.to_owned();
        }
        // Notes on files come before those on calls.
        let notes = &mut proposal.application.notes;
        notes.splice(0..0, omitted);
        let findings = findings(&source, &proposal);
        let mut drawn = Drawn::from(proposal.application);
        drawn.outcome.findings = Some(findings);
        Ok(drawn)
    }

    /// The texts of the files.
    fn read(&self, files: &dyn Files) -> Result<Vec<(String, String)>, Error> {
        let texts = self.paths.iter();
        // A file in another encoding is read all the same: names of calls are ASCII.
        texts
            .map(|path| Ok((path.clone(), files.log(path, FileKind::Source)?)))
            .collect()
    }
}
