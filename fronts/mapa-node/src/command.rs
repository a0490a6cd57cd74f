//! From words to exit status.

use std::env;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use clap::{CommandFactory, Parser};
use etcetera::BaseStrategy;
use mapa_front::answer::mapa::{Cordoned, Ps, Uncordoned};
use mapa_front::answer::node::{NodeAnswer, NodeQuery};
use mapa_live::Live;

use crate::cli::{Cli, Command, groups};
use crate::client::Client;
use crate::desk::{Books, is_of_another, open_file};
use crate::error::Error;
use crate::foreign::driver_snapshot;
use crate::keeper;
use crate::ledger::{DeviceKey, Durability, Ledger, SHARED};
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
        Ok(status) => output.status(status),
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
    let live = cli.machine.live();
    let waits = matches!(&cli.command, Command::Run(args) if args.wait);
    if let Some(client) = await_daemon(&path, waits, output)? {
        return by_daemon(cli, client, path, &live, output);
    }
    // A typing error would make a ledger in which nobody holds anything.
    let is_named = named(cli.ledger.as_deref()).is_some();
    let mut ledger = if is_named && asks_of_the_past(&cli.command) && is_absent(&path) {
        output.aside(format!(
            "{}: no ledger yet: `mapa run` and `mapa-node` make one",
            path.display()
        ));
        Ledger::empty(path)?
    } else {
        open_file(&path)?
    };
    let owner = user();
    match &cli.command {
        Command::Run(args) => {
            let node = node(cli, &mut ledger, output)?;
            let machine = cli.machine.spec();
            let path = ledger.path().to_owned();
            let books = (Books::File(ledger), path);
            return run(args, books, node, (&machine, &live), output);
        }
        Command::Ps => {
            // Names are all that the machine is for here, and the ledger has names too.
            let node = Node::load(&cli.machine.spec(), &live, &mut |_| {}).ok();
            // What is in the ledger is worth telling whatever drivers do.
            let drivers = node.as_ref().map(|node| driver_snapshot(node, &live));
            let drivers = drivers.transpose().unwrap_or_else(|error| {
                output.aside(error.to_string());
                None
            });
            let drivers = drivers.unwrap_or_default();
            let answer = operator::ps(&mut ledger, node.as_ref(), &drivers, &owner)?;
            show_ps(answer, node.as_ref(), output);
        }
        Command::Free => {
            let node = node(cli, &mut ledger, output)?;
            let answer = operator::free(&mut ledger, &node, &live, &owner)?;
            output.answer(answer, |answer| operator::show_free(answer, output));
        }
        Command::Release(args) => {
            let uid = rustix::process::geteuid().as_raw();
            let which = (args.lease, args.force);
            let answer = release::end(&mut ledger, which, (&owner, uid))?;
            output.answer(answer, |answer| release::show(answer, output));
        }
        Command::Cordon(args) => {
            let node = node(cli, &mut ledger, output)?;
            let (of, why) = ((&*args.devices, &node), (&*owner, &*args.reason));
            let seconds = args.duration.map(|length| length.0);
            let answer = operator::cordon(&mut ledger, of, why, seconds)?;
            show_cordoned(answer, output);
        }
        Command::Uncordon(args) => {
            let node = node(cli, &mut ledger, output)?;
            let (of, why) = ((&*args.devices, &node), (&*owner, &*args.reason));
            let answer = operator::uncordon(&mut ledger, of, why)?;
            show_uncordoned(answer, output);
        }
        Command::Tenants => {
            let answer = operator::tenants(&mut ledger, &owner)?;
            output.answer(answer, |answer| operator::show_tenants(answer, output));
        }
        Command::Monitor => {
            let node = node(cli, &mut ledger, output)?;
            operator::monitor(&ledger, node, (&cli.machine.spec(), &live), output)?;
        }
        Command::Log(args) => {
            let answer = operator::log(&mut ledger, (args.last, args.lease), args.verify)?;
            output.answer(answer, |answer| operator::show_log(answer, output));
        }
        Command::Recover => {
            let answer = operator::recovered(&mut ledger, &owner)?;
            output.answer(answer, |answer| operator::show_recovered(answer, output));
        }
        Command::Keep(args) => keeper::keep(&mut ledger, args.lease)?,
        Command::Completions(_) | Command::Man(_) => {}
    }
    Ok(0)
}

/// How long a daemon that is just starting again is awaited.
const RESTART: Duration = Duration::from_secs(3);

/// The daemon of a ledger; `None` if there is none, and this user may open the ledger itself. A daemon that starts again is
/// awaited: by a job that waits, as long as it takes.
///
/// # Errors
/// As [`Client::connect`].
fn await_daemon(path: &Path, waits: bool, output: Output) -> Result<Option<Client>, Error> {
    let (begun, mut is_told) = (Instant::now(), false);
    loop {
        let found = Client::connect(path)?;
        if found.is_some() || !is_of_another(path) {
            return Ok(found);
        }
        if begun.elapsed() > RESTART {
            if !waits {
                return Ok(None);
            }
            if !is_told {
                output.aside("the daemon does not answer: this job waits for it");
                is_told = true;
            }
        }
        thread::sleep(Duration::from_millis(200));
    }
}

/// Has the daemon answer, whose ledger it is.
fn by_daemon(
    cli: &Cli,
    mut client: Client,
    path: PathBuf,
    live: &Live,
    output: Output,
) -> Result<u8, Error> {
    let machine = cli.machine.spec();
    let query = match &cli.command {
        Command::Run(args) => {
            let warn = &mut |warning: String| output.aside(warning);
            let node = Node::load(&machine, live, warn)?;
            let books = (Books::Daemon(client), path);
            return run(args, books, node, (&machine, live), output);
        }
        Command::Ps => NodeQuery::Ps {},
        Command::Free => NodeQuery::Free {},
        Command::Tenants => NodeQuery::Tenants {},
        Command::Release(args) => NodeQuery::Release {
            lease: args.lease,
            force: args.force,
        },
        Command::Cordon(args) => NodeQuery::Cordon {
            devices: args.devices.clone(),
            reason: args.reason.clone(),
            seconds: args.duration.map(|length| length.0),
        },
        Command::Uncordon(args) => NodeQuery::Uncordon {
            devices: args.devices.clone(),
            reason: args.reason.clone(),
        },
        Command::Log(args) => NodeQuery::Log {
            last: args.last,
            lease: args.lease,
            verify: args.verify,
        },
        Command::Recover => NodeQuery::Recover {},
        Command::Monitor => {
            return Err(Error::malformed(format_args!(
                "{}: a daemon serves this ledger, and watches the devices: expected no `mapa monitor` while it runs",
                client.socket().display()
            )));
        }
        // The daemon keeps the time of leases itself, and the others ask nobody.
        Command::Keep(_) | Command::Completions(_) | Command::Man(_) => return Ok(0),
    };
    let asked = client.ask(&query, &mut |text| output.aside(text));
    match asked.map_err(|error| error.told_at(client.socket()))? {
        NodeAnswer::Ps { ps } => {
            // The names of leased devices are in the answer. Those of devices with faults are for people alone.
            let is_named = !output.json && !ps.health.is_empty();
            let node = is_named.then(|| Node::load(&machine, live, &mut |_| {}).ok());
            show_ps(*ps, node.flatten().as_ref(), output);
        }
        NodeAnswer::Free { free } => {
            output.answer(free, |answer| operator::show_free(answer, output));
        }
        NodeAnswer::Tenants { tenants } => {
            output.answer(tenants, |answer| operator::show_tenants(answer, output));
        }
        NodeAnswer::Log { log } => {
            output.answer(log, |answer| operator::show_log(answer, output));
        }
        NodeAnswer::Release { released } => {
            output.answer(released, |answer| release::show(answer, output));
        }
        NodeAnswer::Cordon { cordoned } => show_cordoned(cordoned, output),
        NodeAnswer::Uncordon { uncordoned } => show_uncordoned(uncordoned, output),
        NodeAnswer::Recover { recovered } => {
            output.answer(recovered, |answer| operator::show_recovered(answer, output));
        }
        _ => return Err(client.unexpected()),
    }
    Ok(0)
}

fn show_ps(answer: Ps, node: Option<&Node>, output: Output) {
    // Without a machine, keys stand for themselves.
    let name = |key: &DeviceKey| node.map_or_else(|| key.to_string(), |node| node.name(key));
    output.answer(answer, |answer| operator::show_ps(answer, &name, output));
}

fn show_cordoned(answer: Cordoned, output: Output) {
    output.answer(answer, |answer| {
        operator::show_done("cordoned", &answer.cordoned, output);
    });
}

fn show_uncordoned(answer: Uncordoned, output: Output) {
    output.answer(answer, |answer| {
        operator::show_done("uncordoned", &answer.uncordoned, output);
    });
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
