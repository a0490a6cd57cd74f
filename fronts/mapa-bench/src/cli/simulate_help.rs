//! The help of `simulate` as far as registries give it: schedulers, models of run time and generators, those of
//! published systems among them.

use mapa_cli::args::simulate::HELP;
use mapa_sim::Generator;

use crate::names::NAMES;
use crate::systems::{BroughtSimulation, SIMULATE_EXAMPLES};

/// Completes the help of the command.
pub(super) fn complete(command: clap::Command) -> clap::Command {
    let examples = [HELP].into_iter().chain(SIMULATE_EXAMPLES.iter().copied());
    let examples = examples.collect::<Vec<_>>().join("\n  ");
    let schedulers: Vec<&str> = NAMES.schedulers.iter().map(|row| &*row.name).collect();
    let executions: Vec<&str> = NAMES.executions.iter().map(|row| &*row.name).collect();
    let rows = mapa_front::systems::generators();
    let rows = rows.iter().map(|row| (row.name, row.summary));
    let generators: Vec<(&str, &str)> = Generator::summaries().into_iter().chain(rows).collect();
    let readers = BroughtSimulation::present().map(BroughtSimulation::log_help);
    let readers: Vec<String> = readers.collect();
    command
        .after_long_help(examples)
        .mut_arg("scheduler", |arg| {
            let short = help(&arg, ": ", &schedulers.join(", "));
            let long = help(&arg, ":\n", &scheduler_lines().join("\n"));
            arg.help(short).long_help(long)
        })
        .mut_arg("execution", |arg| {
            let short = help(&arg, ": ", &executions.join(", "));
            let long = help(&arg, ":\n", &execution_lines().join("\n"));
            arg.help(short).long_help(long)
        })
        .mut_arg("generate", |arg| {
            let names: Vec<&str> = generators.iter().map(|(name, _)| *name).collect();
            let lines = generators.iter();
            let lines: Vec<String> = lines
                .map(|(name, summary)| line(name, summary, &[]))
                .collect();
            let short = help(&arg, ". Generators: ", &names.join(", "));
            let long = help(&arg, ". Generators:\n", &lines.join("\n"));
            arg.help(short).long_help(long)
        })
        .mut_arg("log", |arg| {
            let more = help(&arg, "; ", &readers.join("; "));
            arg.help(more)
        })
}

/// The help of an argument, and more behind it, if there is more.
fn help(arg: &clap::Arg, gap: &str, more: &str) -> String {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    // The full stop is clap's: it drops that of a paragraph which is alone.
    let help = help.trim_end_matches('.');
    let gap = if more.is_empty() { "" } else { gap };
    format!("{help}{gap}{more}")
}

/// A row of a registry: its name, what it does, and its settings.
fn line(name: &str, summary: &str, settings: &[&str]) -> String {
    let settings = match settings {
        [] => String::new(),
        several => format!(" [{}]", several.join(", ")),
    };
    format!("  {name:<22} {summary}{settings}")
}

fn scheduler_lines() -> Vec<String> {
    let rows = NAMES.schedulers.iter();
    rows.map(|row| line(&row.name, &row.summary, row.settings))
        .chain(BroughtSimulation::present().map(BroughtSimulation::scheduler_help))
        .collect()
}

fn execution_lines() -> Vec<String> {
    let rows = NAMES.executions.iter();
    rows.map(|row| line(&row.name, &row.summary, row.settings))
        .collect()
}
