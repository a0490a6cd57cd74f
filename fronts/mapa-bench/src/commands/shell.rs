//! `completions` and `man`: what shells and `man` read.

use std::path::Path;

use clap::CommandFactory;
use clap_complete::{Shell, generate};
use clap_mangen::generate_to;

use crate::cli::Cli;
use mapa_cli::Failure;
use mapa_cli::Output;
use mapa_cli::files::make_folder;

/// The name of the program, as shells know it.
const PROGRAM: &str = "mapa-bench";

pub(crate) fn completions(shell: Shell, output: &mut Output) -> Result<(), Failure> {
    // clap could print by itself, but here only `output` prints.
    let mut script = Vec::new();
    generate(shell, &mut Cli::command(), PROGRAM, &mut script);
    output.line(String::from_utf8_lossy(&script).trim_end())
}

/// Writes a page for the program and one for each command.
pub(crate) fn man(into: &Path, output: &mut Output) -> Result<(), Failure> {
    make_folder(into)?;
    generate_to(Cli::command().name(PROGRAM), into)
        .map_err(|error| Failure::at(into.display(), error))?;
    output.line(format_args!("written   {}", into.display()))
}
