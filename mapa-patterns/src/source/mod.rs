//! From source code: calls that communicate, found in syntax trees; nothing is executed.
//!
//! The paper (section 3.1) builds an application graph "by combining the graph of all NCCL API calls used in the program", and
//! those of `cudaMemcpyPeer` and MPI. Files are parsed by tree-sitter's grammars, so that comments, strings and code that the
//! preprocessor drops are no calls, and a call within a macro such as `NCCLCHECK(..)` is one. For each call its arguments are
//! worked out for every rank of the job (`value.rs` says what is understood), which gives its edges; the union of all edges is
//! the application graph. Where a partner cannot be worked out it could be anyone: the graph becomes all-to-all and a note says
//! so, as no smaller one would be safe.

mod bind;
mod calls;
mod edges;
mod expr;
mod loops;
mod parse;
mod program;
mod proposal;
mod settings;
mod value;

use calls::Call;
pub use calls::{Communication, Library};
use program::{Program, Site};
pub use proposal::{Decision, Proposal};

use crate::algorithm::Algorithm;
use crate::application::Note;
use crate::error::Error;

/// The largest file that is read, bytes; longer ones are made by programs.
const MOST_BYTES: usize = 8 << 20;

/// A call in a program's source that communicates, or a setting that decides who does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file, as it was called.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// What is called, as it is written there.
    pub call: String,
    /// The library that it belongs to.
    pub library: Library,
    /// What kind of communication it is.
    pub kind: Communication,
}

impl Finding {
    /// Where it is: `train.py:12`.
    #[must_use]
    pub fn place(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }
}

/// The calls of a program that communicate.
pub struct Source {
    programs: Vec<Program>,
    /// By program and site.
    calls: Vec<(usize, usize, Call)>,
    findings: Vec<Finding>,
    notes: Vec<Note>,
    /// Whether calls may be missing: something was not understood, or too large to read.
    is_partial: bool,
}

impl Source {
    /// Whether a file of this name is in a language that is understood: C, C++, CUDA or Python, by the end of its name.
    #[must_use]
    pub fn understands(file: &str) -> bool {
        parse::language(file).is_some()
    }

    /// Scans files, each a name and its text. Files with errors are read as far as the parser recovers; those and the ones that
    /// cannot be read at all are noted. Takes time about linear in the text.
    ///
    /// ```
    /// use mapa_patterns::{Algorithm, Source};
    ///
    /// let layer = "void run() { ncclAllReduce(a, b, size, ncclFloat, ncclSum, comm_, stream_); }";
    /// let source = Source::scan([("layer.cpp", layer)]);
    /// assert_eq!(source.findings()[0].place(), "layer.cpp:1");
    /// let ring = source.propose(Some(5), Algorithm::Ring)?.application.pattern;
    /// assert_eq!(ring.edges().len(), 5);
    /// # Ok::<(), mapa_patterns::Error>(())
    /// ```
    #[must_use]
    pub fn scan<'t>(files: impl IntoIterator<Item = (&'t str, &'t str)>) -> Self {
        let mut source = Self {
            programs: Vec::new(),
            calls: Vec::new(),
            findings: Vec::new(),
            notes: Vec::new(),
            is_partial: false,
        };
        for (name, text) in files {
            source.add(name, text);
        }
        source
    }

    fn add(&mut self, name: &str, text: &str) {
        let Some(language) = parse::language(name) else {
            return self.notes.push(Note::left_out("expected C, C++, CUDA or Python by the end of its name").at(name));
        };
        if text.len() > MOST_BYTES {
            self.is_partial = true;
            return self.notes.push(Note::left_out(format!("{} bytes are too many", text.len())).at(name));
        }
        let Some(program) = parse::parse(name, text, language) else {
            self.is_partial = true;
            return self.notes.push(Note::left_out("the parser finds no sense in it").at(name));
        };
        if let Some(first) = program.broken.first() {
            self.is_partial = true;
            let many = program.broken.len();
            let lines = if many > 1 { format!(", and at {} more lines", many - 1) } else { String::new() };
            let what = format!("not understood{lines}: calls there may be missing");
            self.notes.push(Note::undecided(what).at(format!("{name}:{first}")));
        }
        let index = self.programs.len();
        for (at, site) in program.sites.iter().enumerate() {
            if let Some(call) = calls::classify(&program, site) {
                self.findings.push(finding(&program, site, &call));
                self.calls.push((index, at, call));
            }
        }
        self.programs.push(program);
    }

    /// What was found, file by file and line by line.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// What was not read, or not understood.
    #[must_use]
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// The application graph: the union of the graphs of all calls, each edge 1, over so many ranks; or over as many as
    /// constants in the program tell.
    ///
    /// # Errors
    /// No number of ranks in the program where none is given; more than [`MAX_DEVICES`](mapa_core::MAX_DEVICES), or none;
    /// nothing found.
    pub fn propose(&self, ranks: Option<usize>, algorithm: Algorithm) -> Result<Proposal, Error> {
        proposal::propose(self, ranks, algorithm)
    }

    fn calls(&self) -> impl Iterator<Item = (&Program, &Site, &Call, &Finding)> {
        let calls = self.calls.iter().zip(&self.findings);
        calls.filter_map(|((program, site, call), finding)| {
            let program = self.programs.get(*program)?;
            Some((program, program.sites.get(*site)?, call, finding))
        })
    }
}

fn finding(program: &Program, site: &Site, call: &Call) -> Finding {
    Finding {
        file: program.name.clone(),
        line: site.line,
        call: site.call.clone(),
        library: call.library,
        kind: call.kind,
    }
}
