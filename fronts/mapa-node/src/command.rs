//! From words to exit status.

use std::env;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use etcetera::BaseStrategy;

use crate::cli::{Cli, Command, groups};
use crate::error::Error;
use crate::keeper;
use crate::ledger::{Durability, Ledger, SHARED};
use crate::mark::VARIABLE;
use crate::memory::user;
use crate::node::Node;
use crate::operator;
use crate::output::Output;
use crate::release;
use crate::run::run;
use crate::shell_files;

/// Runs the program `mapa` with these words, the first of which is its own name.
#[must_use]
pub fn main(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let words: Vec<OsString> = words.into_iter().collect();
    let cli = match Cli::try_parse_from(&words) {
        Ok(cli) => cli,
        Err(told) => return shell_files::told(told, &words, Cli::command, groups),
    };
    let output = Output { json: cli.json };
    match answer(&cli, output) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            output.fail(&error, matches!(cli.command, Command::Run(_)));
            ExitCode::from(error.exit_status())
        }
    }
}

fn answer(cli: &Cli, output: Output) -> Result<u8, Error> {
    // These need neither a ledger nor a machine.
    match &cli.command {
        Command::Completions(args) => {
            shell_files::completions(&Cli::command(), args, output);
            return Ok(0);
        }
        Command::Man(args) => {
            return shell_files::man(Cli::command(), &groups(), args, output).map(|()| 0);
        }
        _ => {}
    }
    let path = if cli.private {
        private_ledger()?
    } else {
        ledger_file(
            cli.ledger.as_deref(),
            !cli.machine.spec().machine.is_empty(),
        )?
    };
    // A typing error would make a ledger in which nobody holds anything.
    let is_named = named(cli.ledger.as_deref()).is_some();
    let mut ledger = if is_named && asks_of_the_past(&cli.command) && is_absent(&path) {
        output.aside(format!(
            "{}: no ledger yet: `mapa run` and `mapa-node` make one",
            path.display()
        ));
        Ledger::empty(path)?
    } else {
        Ledger::open(path)?
    };
    let live = cli.machine.live();
    let done = match &cli.command {
        Command::Run(args) => {
            let node = node(cli, &mut ledger, output)?;
            let machine = cli.machine.spec();
            return run(args, &mut ledger, node, (&machine, &live), output);
        }
        Command::Ps => {
            // Names are all that the machine is for here, and the ledger has names too.
            let node = Node::load(&cli.machine.spec(), &live, &mut |_| {}).ok();
            operator::ps(&mut ledger, node.as_ref(), &live, output)
        }
        Command::Free => {
            let node = node(cli, &mut ledger, output)?;
            operator::free(&mut ledger, &node, &live, output)
        }
        Command::Release(args) => release::end(&mut ledger, args, output),
        Command::Cordon(args) => {
            let node = node(cli, &mut ledger, output)?;
            operator::cordon(args, &mut ledger, &node, output)
        }
        Command::Uncordon(args) => {
            let node = node(cli, &mut ledger, output)?;
            operator::uncordon(args, &mut ledger, &node, output)
        }
        Command::Tenants => operator::tenants(&mut ledger, output),
        Command::Monitor => {
            let node = node(cli, &mut ledger, output)?;
            operator::monitor(&ledger, node, (&cli.machine.spec(), &live), output)
        }
        Command::Log(args) => operator::log(args, &mut ledger, output),
        Command::Recover => operator::recovered(&mut ledger, output),
        Command::Keep(args) => keeper::keep(&mut ledger, args.lease),
        Command::Completions(_) | Command::Man(_) => Ok(()),
    };
    done.map(|()| 0)
}

/// The machine, to which the ledger is bound.
fn node(cli: &Cli, ledger: &mut Ledger, output: Output) -> Result<Node, Error> {
    let warn = &mut |warning: String| output.aside(warning);
    let node = Node::load(&cli.machine.spec(), &cli.machine.live(), warn)?;
    // Read first without the lock of writers: nearly every command finds that there is nothing to write.
    if !ledger.read(|books| node.is_bound(books))? {
        let owner = user();
        // The binding and the layouts outlive a boot, so they are synced to the disk.
        let bound = ledger.change(Durability::Disk, |books| node.bind(books, &owner));
        bound.map_err(|error| match error {
            Error::Malformed(what) => {
                Error::malformed(format_args!("{}: {what}", ledger.path().display()))
            }
            other => other,
        })?;
    }
    Ok(node)
}

/// Whether there is no such file. Of one in a folder that this user may not read nobody can tell.
fn is_absent(path: &Path) -> bool {
    // A link that leads nowhere is there, and is refused below.
    let found = path.symlink_metadata();
    found.is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

/// Whether a command asks for, or ends, what others have written.
fn asks_of_the_past(command: &Command) -> bool {
    match command {
        Command::Ps
        | Command::Tenants
        | Command::Log(_)
        | Command::Recover
        | Command::Release(_)
        | Command::Keep(_)
        | Command::Uncordon(_) => true,
        Command::Free
        | Command::Run(_)
        | Command::Cordon(_)
        | Command::Monitor
        | Command::Completions(_)
        | Command::Man(_) => false,
    }
}

/// The file of the ledger, if somebody has named it.
fn named(named: Option<&Path>) -> Option<PathBuf> {
    let variable = || env::var_os(VARIABLE).filter(|text| !text.is_empty());
    named
        .map(Path::to_owned)
        .or_else(|| Some(variable()?.into()))
}

/// The file of the ledger: the one that is named, by these words or the variable `MAPA_LEDGER`; else the one that users
/// share; else, for a machine that is only described, one of this user.
///
/// # Errors
/// None is named, and users share none: two users could get the same device.
pub fn ledger_file(own: Option<&Path>, is_described: bool) -> Result<PathBuf, Error> {
    if let Some(path) = named(own) {
        return Ok(path);
    }
    if Path::new(SHARED).is_dir() {
        return Ok(Path::new(SHARED).join("ledger.db"));
    }
    if is_described {
        return private_ledger();
    }
    Err(Error::malformed(format_args!(
        "there is no ledger that all users of this machine share. To make one for a group `mapa`: sudo groupadd -f mapa; sudo install -d -m 2770 -g mapa {SHARED}. Expected that folder, --ledger FILE, {VARIABLE}, or --private: then others do not see what you hold, and may get the same devices"
    )))
}

/// The file of this user's own ledger.
///
/// # Errors
/// The user has no folder of state.
fn private_ledger() -> Result<PathBuf, Error> {
    let folders = etcetera::choose_base_strategy().map_err(|error| {
        Error::malformed(format_args!(
            "{error}: expected --ledger FILE, or {VARIABLE}"
        ))
    })?;
    // Only XDG, which Linux has, names a folder of state.
    let state = folders.state_dir().unwrap_or_else(|| folders.data_dir());
    Ok(state.join("mapa").join("ledger.db"))
}
