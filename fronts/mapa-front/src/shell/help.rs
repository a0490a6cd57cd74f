//! Help that fits the terminal, and what clap says is wrong with a command line.

use std::ffi::OsString;
use std::fmt::Write;

use clap::builder::StyledStr;
use clap::error::ErrorKind;
use clap::{Arg, Command};

use super::layout::reflowed;

/// The most columns that help takes, however wide the terminal is.
const WIDEST: usize = 100;

/// The columns of a short text beside an option, on a terminal of 80.
const BRIEF: usize = 52;

/// Commands for one task, in the order of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandGroup {
    /// The task.
    pub heading: &'static str,
    /// The names of the commands.
    pub commands: Vec<&'static str>,
}

/// What clap says of `words`, with its help as users see it: as wide as the terminal, commands by task, and with `-h`
/// one short text for each option. What is wrong with words stays as it is.
///
/// `command` and `groups` are asked for only where help is shown.
pub fn with_help(
    told: clap::Error,
    words: &[OsString],
    command: impl FnOnce() -> Command,
    groups: impl FnOnce() -> Vec<CommandGroup>,
) -> clap::Error {
    let is_help = matches!(
        told.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    if !is_help {
        return told;
    }
    let asks_for_all = |word: &&OsString| *word == "--help" || *word == "help";
    let is_brief = words
        .iter()
        .find(|word| *word == "-h" || asks_for_all(word));
    let is_brief = is_brief.is_none_or(|word| word == "-h");
    let command = grouped(tidied(command(), is_brief), &groups());
    command.try_get_matches_from(words).err().unwrap_or(told)
}

/// What is wrong with a command line, on one line without the usage.
#[must_use]
pub fn fault(told: &clap::Error) -> String {
    let text = told.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    // The usage follows.
    let what = text.split("\n\nUsage:").next().unwrap_or_default();
    let what = what.split("\n\nFor more").next().unwrap_or_default();
    let words: Vec<&str> = what.split_whitespace().collect();
    words.join(" ")
}

/// The command with texts that the terminal may fill; with `is_brief` each option's text is short.
fn tidied(command: Command, is_brief: bool) -> Command {
    let mut command = command.max_term_width(WIDEST);
    if let Some(text) = command.get_after_help().map(StyledStr::to_string) {
        command = command.after_help(reflowed(&text));
    }
    if let Some(text) = command.get_after_long_help().map(StyledStr::to_string) {
        command = command.after_long_help(reflowed(&text));
    }
    if is_brief {
        command = command.mut_args(brief_argument);
    }
    command.mut_subcommands(|part| tidied(part, is_brief))
}

fn brief_argument(argument: Arg) -> Arg {
    let Some(help) = argument.get_help().map(StyledStr::to_string) else {
        return argument;
    };
    let brief = brief(&help, BRIEF);
    let values = argument.get_possible_values();
    let values: usize = values.iter().map(|value| value.get_name().len() + 2).sum();
    let is_long = brief.len() + "[possible values: ]".len() + values > BRIEF;
    // clap refuses the setting for a flag.
    let hides_values = is_long && argument.get_action().takes_values();
    // The long text makes clap say that there is more.
    argument
        .long_help(help)
        .help(brief)
        .hide_possible_values(hides_values)
}

/// The first clause of a text; of one that is longer than `width` the part before a conjunction.
fn brief(text: &str, width: usize) -> String {
    let text = text.replace('\n', " ");
    // A digit follows the full stop of `Eq. 2`.
    let sentence = text.match_indices(". ").map(|(at, _)| at);
    let mut sentence =
        sentence.filter(|at| !text[at + 2..].starts_with(|sign: char| sign.is_ascii_digit()));
    let clauses = [": ", "; ", " (", " [default"];
    let clause = clauses.iter().filter_map(|mark| text.find(mark)).min();
    let end = sentence.next().into_iter().chain(clause).min();
    let brief = &text[..end.unwrap_or(text.len())];
    if brief.len() <= width {
        return brief.to_owned();
    }
    let conjunctions = CONJUNCTIONS.iter().filter_map(|mark| brief.find(mark));
    brief[..conjunctions.min().unwrap_or(brief.len())].to_owned()
}

/// Where a clause goes on with what can be left out.
const CONJUNCTIONS: [&str; 12] = [
    ", and ",
    ", or ",
    ", such as ",
    ", even if ",
    ", as ",
    ", by ",
    ", one ",
    ", term ",
    ", how ",
    ", in ",
    ", including ",
    ", from ",
];

/// The command, whose list of commands is by task.
fn grouped(command: Command, groups: &[CommandGroup]) -> Command {
    if groups.is_empty() {
        return command;
    }
    let names = groups.iter().flat_map(|group| &group.commands);
    let longest = names
        .map(|name| name.len())
        .max()
        .unwrap_or_default()
        .max("help".len());
    let styles = command.get_styles().clone();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let mut list = String::new();
    // Writing to a text does not fail.
    let row = |list: &mut String, name: &str, about: &str| {
        let about = brief(about, 80 - longest - 4);
        let _ = writeln!(
            list,
            "  {literal}{name}{literal:#}{:pad$}  {about}",
            "",
            pad = longest - name.len()
        );
    };
    for group in groups {
        let _ = writeln!(list, "{header}{}:{header:#}", group.heading);
        let parts = group
            .commands
            .iter()
            .filter_map(|name| command.find_subcommand(name));
        for part in parts.filter(|part| !part.is_hide_set()) {
            let about = part
                .get_about()
                .map(StyledStr::to_string)
                .unwrap_or_default();
            row(&mut list, part.get_name(), &about);
        }
    }
    row(&mut list, "help", "Print the help of a command");
    // In a template braces name parts of the help.
    let list = list.replace('{', "(").replace('}', ")");
    command.help_template(StyledStr::from(format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}\n{header}Options:{header:#}\n{{options}}{{after-help}}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_brief_text_is_the_first_clause() {
        assert_eq!(
            brief("Which ranks communicate: ring, chain", 52),
            "Which ranks communicate"
        );
        assert_eq!(brief("How long, such as 90s", 52), "How long, such as 90s");
        assert_eq!(brief("How long, such as 90s", 10), "How long");
        assert_eq!(brief("The folder [default: here]", 52), "The folder");
        assert_eq!(
            brief("Shared by Eq. 2 of Tang. More", 52),
            "Shared by Eq. 2 of Tang"
        );
    }
}
