//! Manual pages, in the language of `man`.

use clap::builder::StyledStr;
use clap::{Arg, Command};

use super::help::CommandGroup;
use super::layout::{Block, blocks};

/// The manual page of one command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManualPage {
    /// The name of its file: `mapa-run.1`.
    pub file: String,
    /// The page, as roff.
    pub text: String,
}

/// A page for the program and one for each of its commands that are not hidden. Each has every option with its long text,
/// and the lines of examples as they are typed.
// A generator from clap exists, clap_mangen 0.3. It fills examples like prose, and leaves out the texts of options that
// short help hides.
#[must_use]
pub fn pages(mut command: Command, groups: &[CommandGroup]) -> Vec<ManualPage> {
    let version = command.get_version().unwrap_or_default().to_owned();
    let source = format!("{} {version}", command.get_name());
    // Options of all commands are given to each, and commands their full names.
    command = command.disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    add(&command, None, &source, groups, &mut pages);
    pages
}

fn add(
    command: &Command,
    above: Option<&str>,
    source: &str,
    groups: &[CommandGroup],
    pages: &mut Vec<ManualPage>,
) {
    let name = command.get_display_name().unwrap_or(command.get_name());
    let mut page = Roff::default();
    page.request(&format!(
        "TH {} 1 \"\" \"{source}\"",
        quoted(&name.to_uppercase())
    ));
    // No hyphens in words, which readers copy.
    page.request("nh");
    page.section("NAME");
    let about = command
        .get_about()
        .map(StyledStr::to_string)
        .unwrap_or_default();
    page.text(&format!("{name} - {}", about.replace('\n', " ")));
    page.section("SYNOPSIS");
    let usage = command.clone().render_usage().to_string();
    let usage = usage.strip_prefix("Usage:").unwrap_or(&usage);
    page.kept(usage.lines().map(str::trim).filter(|line| !line.is_empty()));
    page.section("DESCRIPTION");
    let about = command.get_long_about().or(command.get_about());
    page.body(&about.map(StyledStr::to_string).unwrap_or_default());
    for (heading, arguments) in sections(command) {
        page.section(&heading.to_uppercase());
        for argument in arguments {
            page.argument(argument);
        }
    }
    let mut parts: Vec<&Command> = command.get_subcommands().collect();
    parts.retain(|part| !part.is_hide_set());
    parts.sort_by_key(|part| part.get_display_order());
    if !parts.is_empty() {
        page.section("COMMANDS");
    }
    let is_in = |group: &CommandGroup, part: &Command| group.commands.contains(&part.get_name());
    for group in groups {
        page.request(&format!("SS {}", quoted(group.heading)));
        // In the order of the group.
        for name in &group.commands {
            parts
                .iter()
                .filter(|part| part.get_name() == *name)
                .for_each(|part| page.command(part));
        }
    }
    let rest = parts
        .iter()
        .filter(|part| !groups.iter().any(|group| is_in(group, part)));
    rest.for_each(|part| page.command(part));
    if let Some(text) = command.get_after_long_help().or(command.get_after_help()) {
        page.section("NOTES AND EXAMPLES");
        page.body(&text.to_string());
    }
    let near = above.into_iter().map(str::to_owned);
    let near = near.chain(
        parts
            .iter()
            .map(|part| format!("{name}-{}", part.get_name())),
    );
    let near: Vec<String> = near.map(|name| format!("{name}(1)")).collect();
    if !near.is_empty() {
        page.section("SEE ALSO");
        page.text(&near.join(", "));
    }
    pages.push(ManualPage {
        file: format!("{name}.1"),
        text: page.0,
    });
    for part in parts {
        add(part, Some(name), source, &[], pages);
    }
}

/// The arguments of a command by heading, those that stand at a position first.
fn sections(command: &Command) -> Vec<(&str, Vec<&Arg>)> {
    let mut sections: Vec<(&str, Vec<&Arg>)> = Vec::new();
    let positional = command.get_positionals();
    let others = command
        .get_arguments()
        .filter(|argument| !argument.is_positional());
    for argument in positional.chain(others) {
        if argument.is_hide_set() {
            continue;
        }
        let usual = if argument.is_positional() {
            "Arguments"
        } else {
            "Options"
        };
        let heading = argument.get_help_heading().unwrap_or(usual);
        match sections.iter_mut().find(|(known, _)| *known == heading) {
            Some((_, arguments)) => arguments.push(argument),
            None => sections.push((heading, vec![argument])),
        }
    }
    sections
}

/// A page as it grows.
#[derive(Default)]
struct Roff(String);

impl Roff {
    /// A line that begins with a dot.
    fn request(&mut self, request: &str) {
        self.0.push('.');
        self.0.push_str(request);
        self.0.push('\n');
    }

    fn section(&mut self, heading: &str) {
        self.request(&format!("SH {}", quoted(heading)));
    }

    /// A line of text, which is filled.
    fn text(&mut self, line: &str) {
        self.0.push_str(&escaped(line));
        self.0.push('\n');
    }

    /// Lines that are not filled.
    fn kept<'l>(&mut self, lines: impl Iterator<Item = &'l str>) {
        self.request("nf");
        lines.for_each(|line| self.text(line));
        self.request("fi");
    }

    /// Paragraphs and examples.
    fn body(&mut self, text: &str) {
        for (at, block) in blocks(text).into_iter().enumerate() {
            match block {
                Block::Prose(line) if line.is_empty() => {}
                Block::Prose(line) => {
                    if at > 0 {
                        self.request("PP");
                    }
                    self.text(&line);
                }
                Block::Kept(lines) => {
                    self.request("PP");
                    self.kept(lines.iter().map(String::as_str));
                }
            }
        }
    }

    /// An option, its long text, its values and its default.
    fn argument(&mut self, argument: &Arg) {
        self.request("TP");
        let short = argument.get_short().map(|short| format!("-{short}"));
        let long = argument.get_long().map(|long| format!("--{long}"));
        let flags = short.into_iter().chain(long);
        let flags: Vec<String> = flags
            .map(|flag| format!("\\fB{}\\fR", escaped(&flag)))
            .collect();
        self.0.push_str(&flags.join(", "));
        if let Some(value) = value(argument) {
            self.0.push_str(&format!("\\fI{}\\fR", escaped(&value)));
        }
        self.0.push('\n');
        let help = argument.get_long_help().or(argument.get_help());
        let help = help.map(StyledStr::to_string).unwrap_or_default();
        let mut is_first = true;
        for block in blocks(&help) {
            match block {
                Block::Prose(line) if line.is_empty() => {}
                Block::Prose(line) => {
                    if !is_first {
                        self.request("IP");
                    }
                    self.text(&line);
                }
                Block::Kept(lines) => {
                    self.request("IP");
                    self.kept(lines.iter().map(String::as_str));
                }
            }
            is_first = false;
        }
        let values = argument.get_possible_values();
        let values: Vec<_> = values.iter().filter(|value| !value.is_hide_set()).collect();
        // Flags have values too, which nobody types.
        let takes_values = argument.get_action().takes_values();
        let named = values.iter().all(|value| help.contains(value.get_name()));
        if takes_values && values.iter().any(|value| value.get_help().is_some()) {
            self.request("RS");
            for value in &values {
                let what = value
                    .get_help()
                    .map(StyledStr::to_string)
                    .unwrap_or_default();
                self.request("TP");
                self.text(value.get_name());
                self.text(&what);
            }
            self.request("RE");
        } else if takes_values && !named && !argument.is_hide_possible_values_set() {
            let values: Vec<&str> = values.iter().map(|value| value.get_name()).collect();
            self.request("IP");
            self.text(&format!("Values: {}.", values.join(", ")));
        }
        if let Some(aliases) = argument.get_visible_aliases() {
            let aliases: Vec<String> = aliases.iter().map(|alias| format!("--{alias}")).collect();
            self.request("IP");
            self.text(&format!("Also: {}.", aliases.join(", ")));
        }
        let default = argument
            .get_default_values()
            .iter()
            .map(|value| value.to_string_lossy());
        let default: Vec<_> = default.collect();
        if takes_values && !default.is_empty() && !argument.is_hide_default_value_set() {
            self.request("IP");
            self.text(&format!("Default: {}.", default.join(", ")));
        }
    }

    /// A command in the list of its program.
    fn command(&mut self, part: &Command) {
        self.request("TP");
        self.0.push_str(&format!(
            "\\fB{}\\fR(1)\n",
            escaped(part.get_display_name().unwrap_or(part.get_name()))
        ));
        let about = part
            .get_about()
            .map(StyledStr::to_string)
            .unwrap_or_default();
        self.text(&about.replace('\n', " "));
    }
}

/// The value of an argument as its help shows it, with what stands before it.
fn value(argument: &Arg) -> Option<String> {
    if argument.is_positional() {
        return Some(argument.to_string());
    }
    if !argument.get_action().takes_values() {
        return None;
    }
    // `--gpus <K>` as clap shows it, without the option.
    let shown = argument.to_string();
    let flag = argument.get_long().map_or(2, |long| long.len() + 2);
    shown.get(flag..).map(str::to_owned)
}

/// A text for a request: in quotes if it has spaces.
fn quoted(text: &str) -> String {
    format!("\"{}\"", escaped(text))
}

/// A line of text, with signs that are printed, and copied, as they are.
fn escaped(line: &str) -> String {
    let mut escaped = String::with_capacity(line.len());
    // A dot or an apostrophe at the start would be a request.
    if line.starts_with(['.', '\'']) {
        escaped.push_str("\\&");
    }
    for sign in line.chars() {
        match sign {
            '\\' => escaped.push_str("\\e"),
            '-' => escaped.push_str("\\-"),
            '\'' => escaped.push_str("\\(aq"),
            '`' => escaped.push_str("\\(ga"),
            '^' => escaped.push_str("\\(ha"),
            '~' => escaped.push_str("\\(ti"),
            '"' => escaped.push_str("\\(dq"),
            other => escaped.push(other),
        }
    }
    escaped
}
