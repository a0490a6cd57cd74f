//! `read`: the kind and contents of machine descriptions.

use std::fs;
use std::path::{Path, PathBuf};

use mapa_front::commands::{self, ReadFile, ReadOutcome, read_summary};
use mapa_topologies::Kind;

use crate::cli::ReadArgs;
use mapa_cli::Failure;
use mapa_cli::Output;
use mapa_front::FileKind;
use mapa_front::text::table;

pub(crate) fn read_files(args: &ReadArgs, output: &mut Output) -> Result<(), Failure> {
    let mut paths = Vec::new();
    for path in &args.paths {
        walk(path, 0, &mut paths)?;
    }
    let files: Vec<ReadFile> = paths.iter().map(|path| look(path)).collect();
    if output.json {
        return output.object(&commands::read_files(&files));
    }
    if !args.summary {
        let mut rows = table(
            [
                "file",
                "what it is",
                "devices",
                "direct links each",
                "host",
                "outcome",
            ],
            [2],
        );
        for file in &files {
            let devices = file
                .devices
                .map_or("-".to_owned(), |devices| devices.to_string());
            let outcome = file.outcome.name().to_owned();
            let (path, what) = (file.file.clone(), file.what().to_owned());
            let links = file.links.clone().unwrap_or_else(|| "-".to_owned());
            let host = file.host().to_owned();
            rows.add_row([path, what, devices, links, host, outcome]);
        }
        output.line(rows)?;
        output.line("")?;
        for file in &files {
            for what in &file.says {
                output.line(format_args!("{}: {what}", file.file))?;
            }
        }
        if files.iter().any(|file| !file.says.is_empty()) {
            output.line("")?;
        }
    }
    let header = ["kind", "files"]
        .into_iter()
        .chain(ReadOutcome::ALL.map(ReadOutcome::name));
    let mut rows = table(header, 1..=1 + ReadOutcome::ALL.len());
    for (kind, counts) in read_summary(&files) {
        let total: usize = counts.iter().sum();
        let cells = std::iter::once(total).chain(counts);
        let cells = cells.map(|n| if n == 0 { String::new() } else { n.to_string() });
        rows.add_row(std::iter::once(kind.to_owned()).chain(cells));
    }
    output.line(rows)
}

/// Reads a file, or a folder as KFD's tree.
fn look(path: &Path) -> ReadFile {
    let name = path.display().to_string();
    if path.is_dir() {
        return match mapa_live::read_kfd(path) {
            Ok(dump) => ReadFile::of_dump(name, Kind::Kfd, dump),
            Err(error) => ReadFile::unreadable(name, Some(Kind::Kfd), error.to_string()),
        };
    }
    match mapa_io::read(path, FileKind::Machine.most_bytes()) {
        Ok(bytes) => ReadFile::of_bytes(name, &bytes),
        Err(error) => ReadFile::unreadable(name, None, error.to_string()),
    }
}

/// The most files that one command reads.
const MOST_FILES: usize = 100_000;

/// The most folders inside each other.
const MOST_LEVELS: usize = 64;

/// Collects the files below a path in the order of names. A folder that is KFD's tree counts as a
/// file. Links in a folder are passed over if they lead to folders: they may lead round in circles.
fn walk(path: &Path, level: usize, into: &mut Vec<PathBuf>) -> Result<(), Failure> {
    if into.len() >= MOST_FILES {
        return Err(Failure::malformed(format_args!(
            "more than {MOST_FILES} files: expected fewer at once"
        )));
    }
    // The tree may be named by its top folder, or by the folder of its nodes.
    let is_tree = path.join("nodes").is_dir() || path.join("0").join("properties").is_file();
    let Some(entries) = fs::read_dir(path).ok().filter(|_| !is_tree) else {
        // A file, KFD's tree, or a path that cannot be read: `look` reports the error.
        into.push(path.to_owned());
        return Ok(());
    };
    if level >= MOST_LEVELS {
        return Err(Failure::at(path.display(), "folders nested too deep"));
    }
    let mut entries: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for entry in entries {
        if !(entry.is_symlink() && entry.is_dir()) {
            walk(&entry, level + 1, into)?;
        }
    }
    Ok(())
}
