//! `pattern from-source`: walks folders, scans the files in supported languages and the programs
//! that launch scripts among them run, and shows the findings.

use std::fs;
use std::path::{Component, Path, PathBuf};

use mapa_front::commands::{CodeInput, CodeSource, PatternInput, PatternSource};
use mapa_patterns::{Note, Source};

use super::answer::{answer, request};
use crate::cli::FromSource;
use mapa_cli::Failure;
use mapa_cli::Output;
use mapa_cli::files::LocalFiles;
use mapa_front::text::table;

/// Folders without source code of the program itself.
const SKIPPED: [&str; 7] = [
    ".git",
    ".hg",
    ".svn",
    "build",
    "target",
    "node_modules",
    "__pycache__",
];
/// The largest file that is read, bytes.
const MOST_BYTES: u64 = 4 << 20;
/// The most files that are read.
const MOST_FILES: usize = 50_000;
/// The deepest folder that is searched.
const MOST_LEVELS: usize = 64;

pub(super) fn from_source(args: &FromSource, output: &mut Output) -> Result<(), Failure> {
    let mut tree = SourceTree::default();
    for path in &args.paths {
        tree.add(path, 0, true)?;
    }
    tree.follow(&args.paths)?;
    let mut found = Vec::new();
    let mut undecided = |source: &Source| {
        let calls = source.findings().iter();
        found = calls
            .map(|call| {
                let (library, kind) = (call.library.to_string(), call.kind.to_string());
                [
                    call.place(),
                    call.call.clone(),
                    library,
                    kind,
                    String::new(),
                ]
            })
            .collect();
    };
    let source = PatternSource::Code(CodeSource {
        paths: args
            .paths
            .iter()
            .map(|path| path.display().to_string())
            .collect(),
        gpus: args.gpus,
        algorithm: args.algorithm.clone(),
    });
    let input = PatternInput::Code(CodeInput {
        files: tree.files,
        notes: tree.notes,
        undecided: &mut undecided,
    });
    let outcome = match request(source, &args.write).outcome(&LocalFiles, None, input) {
        Ok(outcome) => outcome,
        Err(error) => {
            // The findings may help to complete the command line.
            if !output.json && !found.is_empty() {
                for line in table_of(found) {
                    output.line(line)?;
                }
            }
            return Err(error.into());
        }
    };
    let mut lines = vec![String::new()];
    let decided = outcome.findings.iter().flatten().map(|found| {
        let place = format!("{}:{}", found.file, found.line);
        let (call, library) = (found.call.clone(), found.library.clone());
        let (kind, decided) = (found.kind.clone(), found.decided_as.clone());
        [place, call, library, kind, decided]
    });
    lines.extend(table_of(decided));
    answer(&outcome, lines, &args.write, output)
}

/// The names and texts of the files, and notes on what was left out.
#[derive(Default)]
struct SourceTree {
    files: Vec<(String, String)>,
    notes: Vec<Note>,
}

impl SourceTree {
    /// Adds a file, or the files of a folder in the order of names. Symbolic links within folders
    /// are not followed. Problems with a path that the user named are errors, as are a
    /// folder that cannot be listed and too many files; other problems are notes.
    fn add(&mut self, path: &Path, level: usize, is_named: bool) -> Result<(), Failure> {
        let name = path.display().to_string();
        // This follows symbolic links. Only a path that the user named can be one: `folder` passes over others.
        let about = fs::metadata(path).map_err(|error| format!("{name}: {error}"));
        let about = match about {
            Ok(about) => about,
            Err(error) if is_named => return Err(Failure::malformed(error)),
            Err(error) => {
                self.notes.push(Note::left_out(error));
                return Ok(());
            }
        };
        if about.is_dir() {
            return self.folder(path, level);
        }
        if !is_named && !Source::understands(&name) {
            return Ok(());
        }
        if self.files.len() >= MOST_FILES {
            return Err(Failure::malformed(format_args!(
                "more than {MOST_FILES} source files: expected fewer at once"
            )));
        }
        if about.len() > MOST_BYTES {
            self.notes
                .push(Note::left_out(format!("{} bytes: too large", about.len())).at(name));
            return Ok(());
        }
        match mapa_io::read(path, MOST_BYTES) {
            // No source text has a zero byte.
            Ok(bytes) if bytes.contains(&0) => {
                self.notes.push(Note::left_out("a binary file").at(name))
            }
            // A file in another encoding is read all the same: names of calls are ASCII.
            Ok(bytes) => self
                .files
                .push((name, String::from_utf8_lossy(&bytes).into_owned())),
            Err(error) if is_named => {
                return Err(Failure::malformed(format_args!("{name}: {error}")));
            }
            Err(error) => self.notes.push(Note::left_out(error.to_string()).at(name)),
        }
        Ok(())
    }

    /// Adds the files that launch scripts run, if they are beside the script or below its folder. For
    /// scripts that the user named, files that are elsewhere are noted.
    fn follow(&mut self, named: &[PathBuf]) -> Result<(), Failure> {
        let mut at = 0;
        // Files that this loop adds are looked through too: a launch script may run another one.
        while let Some((script, text)) = self.files.get(at).cloned() {
            let is_named = named
                .iter()
                .any(|path| path.display().to_string() == script);
            let folder = Path::new(&script).parent().unwrap_or(Path::new(""));
            for file in Source::runs(&script, &text) {
                let is_inside = |part| matches!(part, Component::Normal(_) | Component::CurDir);
                let path: PathBuf = folder.join(&file).components().collect();
                if Path::new(&file).components().all(is_inside) && path.is_file() {
                    // Two paths may lead to one file.
                    let own = fs::canonicalize(&path).ok();
                    let is_own =
                        |(other, _): &(String, String)| fs::canonicalize(other).ok() == own;
                    if !self.files.iter().any(is_own) {
                        self.add(&path, 0, false)?;
                    }
                } else if is_named {
                    let what = format!("{file}, which it runs, is not beside it: name it too");
                    self.notes.push(Note::left_out(what).at(script.as_str()));
                }
            }
            at += 1;
        }
        Ok(())
    }

    fn folder(&mut self, path: &Path, level: usize) -> Result<(), Failure> {
        let name = path.display().to_string();
        if level >= MOST_LEVELS {
            self.notes
                .push(Note::left_out("folders nested too deep").at(name));
            return Ok(());
        }
        let entries = fs::read_dir(path).map_err(|error| Failure::at(&name, error))?;
        let mut entries: Vec<_> = entries.filter_map(Result::ok).collect();
        // The order of a folder's entries is not defined, and the answer depends on it.
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let kind = entry.file_type();
            let is_skipped = entry
                .file_name()
                .to_str()
                .is_some_and(|name| SKIPPED.contains(&name));
            if is_skipped || !kind.is_ok_and(|kind| kind.is_dir() || kind.is_file()) {
                continue;
            }
            self.add(&entry.path(), level + 1, false)?;
        }
        Ok(())
    }
}

/// A table of the findings: their place, call, library and kind, and the decision on each if there is one.
fn table_of(found: impl IntoIterator<Item = [String; 5]>) -> Vec<String> {
    let mut rows = table(["where", "call", "library", "is", "decided as"], []);
    for cells in found {
        rows.add_row(cells);
    }
    rows.to_string().lines().map(str::to_owned).collect()
}
