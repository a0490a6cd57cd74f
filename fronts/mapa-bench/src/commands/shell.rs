//! `completions` and `man`: what shells and `man` read.

use std::path::Path;

use mapa_front::shell::{self, Shell};

use crate::cli::{Cli, groups};
use crate::names::NAMES;
use mapa_cli::Failure;
use mapa_cli::Output;
use mapa_cli::files::{make_folder, write};

pub(crate) fn completions(shell: Shell, output: &mut Output) -> Result<(), Failure> {
    output.line(shell::completions(
        &Cli::command(),
        shell,
        &shell::named_values(&NAMES),
    ))
}

/// Writes a page for the program and one for each command.
pub(crate) fn man(into: &Path, output: &mut Output) -> Result<(), Failure> {
    make_folder(into)?;
    for page in shell::pages(Cli::command(), &groups()) {
        write(&into.join(page.file), page.text)?;
    }
    output.line(format_args!("written   {}", into.display()))
}
