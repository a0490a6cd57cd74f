//! `pattern from-nvlink`: from link counters.

use std::thread;
use std::time::Duration;

use mapa_front::commands::{CounterSource, PatternInput, PatternSource};
use mapa_live::Live;
use mapa_patterns::Reading;

use super::answer::{answer, request};
use crate::cli::FromNvlink;
use mapa_cli::Failure;
use mapa_cli::Output;
use mapa_cli::files::LocalFiles;
use mapa_cli::load;

pub(super) fn from_nvlink(args: &FromNvlink, output: &mut Output) -> Result<(), Failure> {
    let machine = args.machine.as_ref();
    let loaded = machine.map(|machine| load(machine, output)).transpose()?;
    let is_live = machine.is_some_and(|machine| machine.live);
    let live = is_live.then(|| live_readings(args)).transpose()?;
    let input = live
        .as_ref()
        .map_or(PatternInput::Files, |[before, after]| {
            PatternInput::Readings(before, after)
        });
    let source = PatternSource::Counters(CounterSource {
        readings: args.readings.clone(),
        machine: machine.map(|machine| machine.spec()),
        remotes: args.remotes.clone(),
        pcie: args.pcie.clone(),
        pcie_interval: args.pcie_interval,
        devices: args.devices.clone(),
        noise: args.noise,
        tolerance: args.tolerance,
        resets: args.resets,
    });
    let request = request(source, &args.write);
    let outcome = request.outcome(&LocalFiles, loaded.as_ref(), input)?;
    answer(&outcome, Vec::new(), &args.write, output)
}

/// Two readings of the machine that this program runs on.
fn live_readings(args: &FromNvlink) -> Result<[Reading; 2], Failure> {
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
    Ok([before, read()?])
}
