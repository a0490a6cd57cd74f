//! The calls in the files of a program, and notes about code that was not understood.

use super::expr::Language;
use super::kinds::{Communication, Library, SourceCall};
use super::program::{CallSite, SourceProgram};
use super::{calls, launch, parse};
use crate::application::Note;

/// The size of the largest file that is read, bytes: the trees of the parsers need up to three hundred times as much. Larger
/// files are mostly generated code.
const MOST_BYTES: usize = 1 << 20;

/// A call in a program's source that communicates, or a setting that determines which ranks do.
///
/// Needs the feature `source`, on by default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The name of the file, as given.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The name of the called function, as written there.
    pub call: String,
    /// The library of the call.
    pub library: Library,
    /// The kind of communication.
    pub kind: Communication,
}

impl Finding {
    /// The place of the call: `train.py:12`.
    #[must_use]
    pub fn place(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }
}

/// The calls of a program that communicate.
///
/// Needs the feature `source`, on by default.
pub struct Source {
    pub(super) programs: Vec<SourceProgram>,
    /// The calls: the index of the program (file), the index of the site in it, and the call.
    calls: Vec<(usize, usize, SourceCall)>,
    pub(super) findings: Vec<Finding>,
    pub(super) notes: Vec<Note>,
    /// Whether calls may be missing: something was not understood, or too large to read.
    pub(super) is_partial: bool,
}

impl Source {
    /// Whether a file's extension is that of a supported language: C, C++, CUDA, Python, or a shell
    /// script that launches a job.
    #[must_use]
    pub fn understands(file: &str) -> bool {
        parse::language(file).is_some()
    }

    /// The files that a launch script runs, as it names them: programs in Python, other scripts.
    /// Whoever has them can [`scan`](Source::scan) them too. Empty for other languages. About
    /// linear in the length of the text.
    ///
    /// # Examples
    /// ```
    /// let script = "torchrun --nproc_per_node 4 src/train.py --epochs 3\n";
    /// assert_eq!(mapa_patterns::Source::runs("run.sh", script), ["src/train.py"]);
    /// ```
    #[must_use]
    pub fn runs(file: &str, text: &str) -> Vec<String> {
        match parse::language(file) {
            Some(Language::Shell) if text.len() <= MOST_BYTES => launch::read(file, text).files,
            _ => Vec::new(),
        }
    }

    /// Scans files, each a name and its text. A file with errors is read as far as the parser
    /// recovers. Such files, and files that cannot be read at all, are noted.
    ///
    /// # Complexity
    /// About linear in the length of the text; the parser is stopped where recovery takes longer.
    ///
    /// # Examples
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
            return self.notes.push(
                Note::left_out("unknown language: expected a file name of C, C++, CUDA, Python or a shell script")
                    .at(name),
            );
        };
        if text.len() > MOST_BYTES {
            self.is_partial = true;
            return self.notes.push(
                Note::left_out(format!(
                    "{} bytes: expected at most {MOST_BYTES}",
                    text.len()
                ))
                .at(name),
            );
        }
        let program = match language {
            Language::Shell => {
                let script = launch::read(name, text);
                self.notes.extend(script.notes);
                Some(script.program)
            }
            _ => parse::parse(name, text, language),
        };
        let Some(program) = program else {
            self.is_partial = true;
            return self
                .notes
                .push(Note::left_out("the parser gave up").at(name));
        };
        if let Some(first) = program.broken.first() {
            self.is_partial = true;
            let many = program.broken.len();
            let lines = if many > 1 {
                format!(", and at {} more lines", many - 1)
            } else {
                String::new()
            };
            let what = format!("not understood{lines}: calls there may be missing");
            self.notes
                .push(Note::undecided(what).at(format!("{name}:{first}")));
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

    /// The calls that were found, file by file and line by line.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Notes about files and lines that were not read or not understood.
    #[must_use]
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    pub(super) fn calls(
        &self,
    ) -> impl Iterator<Item = (&SourceProgram, &CallSite, &SourceCall, &Finding)> {
        let calls = self.calls.iter().zip(&self.findings);
        calls.filter_map(|((program, site, call), finding)| {
            let program = self.programs.get(*program)?;
            Some((program, program.sites.get(*site)?, call, finding))
        })
    }
}

fn finding(program: &SourceProgram, site: &CallSite, call: &SourceCall) -> Finding {
    Finding {
        file: program.name.clone(),
        line: site.line,
        call: site.call.clone(),
        library: call.library,
        kind: call.kind,
    }
}
