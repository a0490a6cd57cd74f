//! `completions` and `man`: what shells and `man` read.

use std::fs;
use std::path::Path;

use clap::CommandFactory;
use mapa_front::shell::{self, OptionValues, Shell};
use mapa_topologies::catalogue;

use crate::cli::{Cli, groups};
use crate::names::NAMES;
use mapa_cli::Failure;
use mapa_cli::Output;
use mapa_cli::files::make_folder;

pub(crate) fn completions(shell: Shell, output: &mut Output) -> Result<(), Failure> {
    output.line(shell::completions(&Cli::command(), shell, &values()))
}

/// What options are completed with where files, or names with parameters, are accepted too.
fn values() -> [OptionValues; 3] {
    let texts = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
    [
        OptionValues {
            option: "machine",
            names: texts(catalogue().iter().map(|entry| entry.name).collect()),
            or_file: true,
        },
        OptionValues {
            option: "model",
            names: texts(NAMES.models.iter().map(|row| &*row.name).collect()),
            or_file: true,
        },
        OptionValues {
            option: "scheduler",
            names: texts(NAMES.schedulers.iter().map(|row| &*row.name).collect()),
            or_file: false,
        },
    ]
}

/// Writes a page for the program and one for each command.
pub(crate) fn man(into: &Path, output: &mut Output) -> Result<(), Failure> {
    make_folder(into)?;
    for page in shell::pages(Cli::command(), &groups()) {
        let path = into.join(page.file);
        fs::write(&path, page.text).map_err(|error| Failure::at(path.display(), error))?;
    }
    output.line(format_args!("written   {}", into.display()))
}
