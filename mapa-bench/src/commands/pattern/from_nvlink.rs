//! `pattern from-nvlink`: from counters of links.

use std::fs;
use std::io::{self, Read};
use std::thread;
use std::time::Duration;

use mapa_patterns::{Counters, PcieSamples, Reading};
use mapa_topologies::live::{self, Live};
use mapa_topologies::{Dump, Kind};

use super::answer;
use crate::cli::FromNvlink;
use crate::failure::Failure;
use crate::machine::load;
use crate::output::Output;

pub(super) fn from_nvlink(args: &FromNvlink, output: &mut Output) -> Result<(), Failure> {
    let loaded = args.machine.as_ref().map(|machine| load(machine, output)).transpose()?;
    let is_live = args.machine.as_ref().is_some_and(|machine| machine.live);
    let (before, after) = if is_live { watched(args)? } else { given(&args.readings)? };
    let remotes = args.remotes.as_deref().map(remotes).transpose()?;
    let pcie = |file: &str| PcieSamples::read(&text(file)?, args.pcie_interval).map_err(|error| wrong(file, &error));
    let pcie = args.pcie.as_deref().map(pcie).transpose()?;
    let mut counters = Counters::new(&after);
    counters.before = before.as_ref();
    counters.resets = args.resets;
    counters.machine = loaded.as_ref().map(|loaded| loaded.graph().as_ref());
    counters.title = loaded.as_ref().map(|loaded| loaded.machine.title.as_str());
    counters.remotes = remotes.as_ref();
    counters.pcie = pcie.as_ref();
    counters.devices = &args.devices;
    (counters.noise, counters.tolerance) = (args.noise / 100.0, args.tolerance / 100.0);
    for (option, percent) in [("--noise", args.noise), ("--tolerance", args.tolerance)] {
        if !(0.0..=50.0).contains(&percent) {
            return Err(Failure::malformed(format_args!("{option} {percent}: expected a percentage from 0 to 50")));
        }
    }
    // What has a line is of the last reading; all else is of options, or of what was given together.
    let place = args.readings.last().map_or("--live", String::as_str);
    let failure = |error: mapa_patterns::Error| match error.line() {
        Some(_) => wrong(place, &error),
        None => Failure::malformed(error),
    };
    let application = counters.application().map_err(failure)?;
    answer(application, None, &args.write, Default::default(), output)
}

/// The readings in files: one, or the earlier and the later.
fn given(files: &[String]) -> Result<(Option<Reading>, Reading), Failure> {
    let read = |file: &String| Reading::read(&text(file)?).map_err(|error| wrong(file, &error));
    match files {
        [only] => Ok((None, read(only)?)),
        [before, after] => Ok((Some(read(before)?), read(after)?)),
        _ => Err(Failure::malformed("expected one reading of counters, or the earlier and the later, or --live")),
    }
}

/// Two readings of the machine that this runs on.
fn watched(args: &FromNvlink) -> Result<(Option<Reading>, Reading), Failure> {
    if !(args.seconds > 0.0 && args.seconds <= 86_400.0) {
        return Err(Failure::malformed(format_args!("--for {}: expected seconds, at most 86400", args.seconds)));
    }
    let mut live = Live::default();
    if let Some(command) = args.machine.as_ref().and_then(|machine| machine.nvidia_smi.as_ref()) {
        live.nvidia_smi.clone_from(command);
    }
    let read = || {
        let dump = live::counters(&live).map_err(|error| wrong("--live", &error))?;
        Reading::of_dump(&dump).map_err(|error| wrong("--live", &error))
    };
    let before = read()?;
    thread::sleep(Duration::from_secs_f64(args.seconds));
    Ok((Some(before), read()?))
}

fn remotes(file: &str) -> Result<Dump, Failure> {
    Kind::NvidiaSmiNvlink.read(&text(file)?).map_err(|error| wrong(file, &error))
}

fn text(file: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = if file == "-" { io::stdin().read_to_end(&mut bytes).map(|_| bytes) } else { fs::read(file) };
    let bytes = read.map_err(|error| wrong(file, &error))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn wrong(place: &str, error: &dyn std::fmt::Display) -> Failure {
    Failure::malformed(format_args!("{place}: {error}"))
}
