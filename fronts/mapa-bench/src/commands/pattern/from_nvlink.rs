//! `pattern from-nvlink`: from link counters.

use std::thread;
use std::time::Duration;

use mapa_live::Live;
use mapa_patterns::{Counters, PcieSamples, Reading};
use mapa_topologies::Kind;

use super::answer::{More, answer};
use crate::cli::FromNvlink;
use mapa_cli::Failure;
use mapa_cli::Output;
use mapa_cli::files::log;
use mapa_cli::load;

pub(super) fn from_nvlink(args: &FromNvlink, output: &mut Output) -> Result<(), Failure> {
    let loaded = match &args.machine {
        Some(machine) => Some(load(machine, output)?),
        None => None,
    };
    let is_live = args.machine.as_ref().is_some_and(|machine| machine.live);
    let (before, after) = if is_live {
        live_readings(args)?
    } else {
        readings(&args.readings)?
    };
    let remotes = match &args.remotes {
        Some(file) => {
            let dump = Kind::NvidiaSmiNvlink.read(&log(file)?);
            Some(dump.map_err(|error| Failure::at(file, error))?)
        }
        None => None,
    };
    let pcie = match &args.pcie {
        Some(file) => {
            let samples = PcieSamples::read(&log(file)?, args.pcie_interval);
            Some(samples.map_err(|error| Failure::at(file, error))?)
        }
        None => None,
    };
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
            return Err(Failure::malformed(format_args!(
                "{option} {percent}: expected a percentage from 0 to 50"
            )));
        }
    }
    let application = counters.application().map_err(|error| match error.line() {
        // An error with a line is about the last reading; any other is about options, or about
        // readings that do not fit together.
        Some(_) => Failure::at(args.readings.last().map_or("--live", String::as_str), error),
        None => Failure::malformed(error),
    })?;
    answer(application, None, &args.write, More::default(), output)
}

/// Readings from files: a single one, which counts as the later, or an earlier and a later one.
fn readings(files: &[String]) -> Result<(Option<Reading>, Reading), Failure> {
    let read = |file: &String| Reading::read(&log(file)?).map_err(|error| Failure::at(file, error));
    match files {
        [only] => Ok((None, read(only)?)),
        [before, after] => Ok((Some(read(before)?), read(after)?)),
        _ => Err(Failure::malformed(
            "expected one reading of counters, an earlier and a later one, or --live",
        )),
    }
}

/// Two readings of the machine that this program runs on.
fn live_readings(args: &FromNvlink) -> Result<(Option<Reading>, Reading), Failure> {
    // `Duration::from_secs_f64` panics on what is refused here: negative numbers and NaN.
    if !(args.seconds > 0.0 && args.seconds <= 86_400.0) {
        return Err(Failure::malformed(format_args!(
            "--for {}: expected seconds, at most 86400",
            args.seconds
        )));
    }
    let mut live = Live::default();
    if let Some(command) = args
        .machine
        .as_ref()
        .and_then(|machine| machine.nvidia_smi.as_ref())
    {
        live.nvidia_smi.clone_from(command);
    }
    let read = || {
        let dump = mapa_live::counters(&live).map_err(|error| Failure::at("--live", error))?;
        Reading::of_dump(&dump).map_err(|error| Failure::at("--live", error))
    };
    let before = read()?;
    thread::sleep(Duration::from_secs_f64(args.seconds));
    Ok((Some(before), read()?))
}
