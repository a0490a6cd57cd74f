//! The machine of whoever names none: that of `MAPA_MACHINE`, or of the configuration file.

use std::env;
use std::ffi::OsString;

use etcetera::BaseStrategy;
use serde::Deserialize;

use crate::cli;
use crate::systems;
use mapa_cli::Failure;
use mapa_cli::files::text;
use mapa_front::FileKind;

/// The environment variable that names the default machine.
const VARIABLE: &str = "MAPA_MACHINE";

/// Options that say what a command is about, so that it needs no machine.
const INSTEAD: [&str; 7] = [
    "--machine",
    "--live",
    "--servers",
    "--pattern-file",
    "--target-file",
    "--help",
    "-h",
];

/// `mapa/config.toml` in the user's configuration folder.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    /// The default machine, as `--machine` names it.
    machine: Option<String>,
}

/// The words of the command line, with `--machine` and the default machine added if the command
/// takes a machine and names none.
///
/// # Errors
/// If the configuration file cannot be read.
pub(crate) fn with_machine(words: Vec<OsString>) -> Result<Vec<OsString>, Failure> {
    if !lacks_machine(&words) {
        return Ok(words);
    }
    // An empty variable counts as none, and leaves the choice to the configuration file.
    let machine = match env::var_os(VARIABLE).filter(|name| !name.is_empty()) {
        Some(machine) => Some(machine),
        None => of_config()?,
    };
    let added = machine.map(|machine| [OsString::from("--machine"), machine]);
    Ok(words
        .into_iter()
        .chain(added.into_iter().flatten())
        .collect())
}

/// Whether the command takes a machine, and its words name none.
fn lacks_machine(words: &[OsString]) -> bool {
    let given = texts(words);
    let instead = |word: &&str| {
        let option = word.split('=').next().unwrap_or_default();
        INSTEAD.contains(&option)
    };
    // Systems simulate on machines of their own.
    let has_own = |word: &&str| {
        // The word need not be a scheduler. Then the default machine is left out by mistake, and clap asks for
        // one.
        let value = word.strip_prefix("--scheduler=").unwrap_or(word);
        systems::simulation(value.split(',').next().unwrap_or_default()).is_some()
    };
    if given.iter().any(instead) || given.iter().any(has_own) {
        return false;
    }
    // Last, since describing a command takes longer than all that is above.
    takes(words, "machine")
}

/// The words of a command line without the program. A word that is no text is neither a command nor an option.
fn texts(words: &[OsString]) -> Vec<&str> {
    words
        .iter()
        .skip(1)
        .filter_map(|word| word.to_str())
        .collect()
}

/// Whether the command of these words takes an option.
pub(crate) fn takes(words: &[OsString], option: &str) -> bool {
    cli::named(words).is_some_and(|command| {
        command
            .get_arguments()
            .any(|argument| argument.get_id() == option)
    })
}

/// The machine of the configuration file; none if there is no file.
fn of_config() -> Result<Option<OsString>, Failure> {
    let Ok(folders) = etcetera::choose_base_strategy() else {
        return Ok(None);
    };
    let path = folders.config_dir().join("mapa").join("config.toml");
    if !path.exists() {
        return Ok(None);
    }
    let text = text(&path.to_string_lossy(), FileKind::Settings)?;
    let config: Config = toml::from_str(&text)
        .map_err(|error| Failure::at(path.display(), error.message().to_owned()))?;
    Ok(config.machine.map(OsString::from))
}
