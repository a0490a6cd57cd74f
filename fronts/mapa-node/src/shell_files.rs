//! `completions` and `man` of both programs, and what their shared answer to wrong words is.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::process::ExitCode;

use mapa_front::names::Names;
use mapa_front::shell::{self, CommandGroup, OptionValues};
use mapa_io::{StandardError, coloured, shows_colours};

use crate::cli::{CompletionsArgs, ManArgs};
use crate::error::Error;
use crate::output::Output;

/// Prints the completions of a program.
pub(crate) fn completions(command: &clap::Command, args: &CompletionsArgs, output: Output) {
    output.line(shell::completions(command, args.shell, &values()));
}

/// The names with which options are completed where files, or names with parameters, are accepted too.
fn values() -> Vec<OptionValues> {
    let names = Names::built_in();
    let mut values = shell::named_values(&names);
    let policies = names.policies.iter().map(|row| &*row.name);
    values.push(OptionValues::new("policy", policies, false));
    values
}

/// Writes a page for a program and one for each of its commands.
pub(crate) fn man(
    command: clap::Command,
    groups: &[CommandGroup],
    args: &ManArgs,
    output: Output,
) -> Result<(), Error> {
    fs::create_dir_all(&args.into).map_err(|error| Error::at(args.into.display(), error))?;
    for page in shell::pages(command, groups) {
        let path = args.into.join(page.file);
        mapa_io::write(&path, page.text).map_err(|error| Error::at(path.display(), error))?;
    }
    output.line(format!("written   {}", args.into.display()));
    Ok(())
}

/// Prints what clap says of `words`: help, or what is wrong with them, as JSON if they ask for it. Standard output is the
/// job's if the command is `run`.
pub(crate) fn told(
    told: clap::Error,
    words: &[OsString],
    command: impl FnOnce() -> clap::Command,
    groups: impl FnOnce() -> Vec<CommandGroup>,
) -> ExitCode {
    let told = shell::with_help(told, words, command, groups);
    // What follows belongs to the command that `run` starts.
    let own = || words.iter().take_while(|word| *word != "--");
    let status = u8::try_from(told.exit_code()).unwrap_or(2);
    let text = told.render();
    let shown = |colours| coloured(&text.to_string(), &text.ansi().to_string(), colours);
    let output = Output { json: true };
    if status != 0 && own().any(|word| word == "--json") {
        let error = Error::malformed(shell::fault(&told));
        output.fail(&error, own().any(|word| word == "run"));
    } else if status == 0 {
        // Help and versions are answers.
        output.text(&shown(shows_colours(&io::stdout())));
    } else {
        let _ = write!(StandardError, "{}", shown(shows_colours(&io::stderr())));
    }
    output.status(status)
}
