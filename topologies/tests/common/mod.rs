//! What several tests share: where the real data is, and how descriptions are read.

pub(crate) mod dumps;
pub(crate) mod isomorphism;
pub(crate) mod told;

use std::io::Write;
use std::path::PathBuf;

/// The folder that `MAPA_DATA` names; none, and a word on standard error, if it is unset.
pub(crate) fn data(test: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("MAPA_DATA").map(PathBuf::from);
    if folder.is_none() {
        // Not `eprintln`, which the test harness keeps to itself.
        let _ = writeln!(std::io::stderr(), "{test}: skipped, MAPA_DATA is not set");
    }
    // Tests run in their package's folder, people set it relative to the workspace's.
    folder.map(|folder| {
        if folder.is_relative() {
            PathBuf::from("..").join(folder)
        } else {
            folder
        }
    })
}

/// The rows of a table of facts, cell by cell, without comments and header.
pub(crate) fn rows(table: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    let lines = table.lines().filter(|line| !line.starts_with('#')).skip(1);
    lines.map(|line| line.split(',').collect())
}
