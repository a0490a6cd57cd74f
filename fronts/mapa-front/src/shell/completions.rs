//! Completions of a command line, one script for each shell.

use clap::builder::PossibleValuesParser;
use clap::{Arg, Command};
use clap_complete::{Shell, generate};
use mapa_topologies::catalogue;

use crate::names::Names;

/// Values that an option is completed with, where the arguments themselves accept more than these.
#[derive(Clone, Debug)]
pub struct OptionValues {
    /// The option, without dashes. It is looked for in every command.
    pub option: &'static str,
    /// The values.
    pub names: Vec<String>,
    /// Whether a file may stand in place of a name.
    pub or_file: bool,
}

/// The values of `--machine`, `--model` and `--scheduler`, which commands of every program have.
#[must_use]
pub fn named_values(names: &Names) -> Vec<OptionValues> {
    let machines = catalogue().iter().map(|entry| entry.name);
    let models = names.models.iter().map(|row| &*row.name);
    let schedulers = names.schedulers.iter().map(|row| &*row.name);
    vec![
        OptionValues::new("machine", machines, true),
        OptionValues::new("model", models, true),
        OptionValues::new("scheduler", schedulers, false),
    ]
}

impl OptionValues {
    /// An option that is completed with these names.
    pub fn new<'n>(
        option: &'static str,
        names: impl Iterator<Item = &'n str>,
        or_file: bool,
    ) -> Self {
        Self {
            option,
            names: names.map(str::to_owned).collect(),
            or_file,
        }
    }
}

/// The completions of `command` for a shell, as a script. Hidden commands and options are not offered.
#[must_use]
pub fn completions(command: &Command, shell: Shell, values: &[OptionValues]) -> String {
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    generate(shell, &mut offered(command, values), &name, &mut script);
    let mut script = String::from_utf8_lossy(&script).into_owned();
    if shell == Shell::Bash {
        // clap_complete 4.6 sets the command to one name and compares it with another if the program's name has a hyphen.
        let [set, compared] = ["__", "__subcmd__"].map(|mark| name.replace('-', mark));
        script = script.replace(&compared, &set);
    }
    if shell == Shell::Fish {
        // The program's own options are offered before it has a command; one that lacks its value is no error.
        let parsed = "2>/dev/null\n    or return\n";
        script = script.replace(parsed, "2>/dev/null\n    or return 0\n");
        script.push_str(&fish_positions(command));
    }
    for option in values.iter().filter(|option| option.or_file) {
        script = with_files(&script, shell, option);
    }
    script.trim_end().to_owned()
}

/// The command as shells see it.
fn offered(command: &Command, values: &[OptionValues]) -> Command {
    let mut offered = Command::new(command.get_name().to_owned())
        .args(command.get_arguments().cloned())
        .groups(command.get_groups().cloned())
        .disable_version_flag(command.get_version().is_none())
        .version(command.get_version().unwrap_or_default().to_owned());
    if let Some(about) = command.get_about() {
        offered = offered.about(about.clone());
    }
    // clap has no call that takes a command away, so those that stay are added to a new one.
    let visible = command.get_subcommands().filter(|part| !part.is_hide_set());
    for part in visible {
        offered = offered.subcommand(self::offered(part, values));
    }
    offered.mut_args(|argument| {
        let named = |option: &&OptionValues| argument.get_long() == Some(option.option);
        match values.iter().find(named) {
            Some(option) => argument.value_parser(PossibleValuesParser::new(&option.names)),
            None => argument,
        }
    })
}

/// What fish offers at the positions of commands; clap_complete 4.6 gives it options only.
fn fish_positions(command: &Command) -> String {
    let name = command.get_name();
    let test = name.replace('-', "_");
    let mut lines = String::new();
    for part in command.get_subcommands().filter(|part| !part.is_hide_set()) {
        let values = part.get_positionals().flat_map(Arg::get_possible_values);
        let values: Vec<String> = values.map(|value| value.get_name().to_owned()).collect();
        if !values.is_empty() {
            lines.push_str(&format!(
                "complete -c {name} -n \"__fish_{test}_using_subcommand {}\" -f -a \"{}\"\n",
                part.get_name(),
                values.join(" ")
            ));
        }
    }
    lines
}

/// The script, with files beside the values of an option. In bash files are offered where no name fits.
fn with_files(script: &str, shell: Shell, option: &OptionValues) -> String {
    match shell {
        Shell::Fish => {
            let flag = format!(" -l {} ", option.option);
            let lines = script.split_inclusive('\n').map(|line| {
                if line.contains(&flag) {
                    // -f: no files.
                    line.replacen(" -r -f -a ", " -r -F -a ", 1)
                } else {
                    line.to_owned()
                }
            });
            lines.collect()
        }
        Shell::Zsh => {
            let names = option.names.join(" ");
            let function = format!("_{}_or_file", option.option);
            let body = format!("{function}() {{ compadd -- {names}; _files }}\n");
            let script = script.replace(&format!(":({names})"), &format!(":{function}"));
            // The first line tells zsh for which program the file is.
            match script.split_once('\n') {
                Some((first, rest)) => format!("{first}\n\n{body}{rest}"),
                None => script,
            }
        }
        _ => script.to_owned(),
    }
}
