//! `mapa-node replay FILE`: gives recorded events to a fresh scheduler.

use std::io::BufReader;
use std::path::PathBuf;

use clap::Args;
use mapa_front::Names;
use mapa_front::answer::Versioned;
use mapa_front::drive_log::{self, ReplayedDrive};

use super::record_chain::CheckedRecord;
use crate::error::Error;
use crate::ledger::escaped;
use crate::local_files::LocalFiles;
use crate::output::Output;

/// The record to replay.
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// A file that `mapa-node --record` has written.
    pub file: PathBuf,
}

/// Replays a record. False if it led to other actions.
///
/// # Errors
/// The file, and the line at fault.
pub(crate) fn replay(args: &ReplayArgs, output: Output) -> Result<bool, Error> {
    let place = args.file.display();
    let file = mapa_io::open(&args.file).map_err(|error| {
        Error::malformed(format_args!(
            "{place}: {error}; expected a record of mapa-node"
        ))
    })?;
    let mut record = CheckedRecord::new(BufReader::new(file));
    let mut done = drive_log::replay(&mut record, &Names::built_in(), &LocalFiles)
        .map_err(|error| Error::malformed(escaped(&format!("{place}: {error}"))))?;
    done.seal = record.seal;
    show(&done, output);
    Ok(done.is_same())
}

fn show(done: &ReplayedDrive, output: Output) {
    if output.json {
        output.object(&Versioned::of_node(done.clone()));
        return;
    }
    let cut = if done.is_cut_off {
        "; the last line is cut off, and left out"
    } else {
        ""
    };
    output.line(format!(
        "{} events in {} turns gave {} actions; {} turns differ from the record{cut}",
        done.events, done.turns, done.actions, done.differ
    ));
    for differ in &done.differs {
        // Names in a record are those that users chose.
        let text = |actions| escaped(&serde_json::to_string(actions).unwrap_or_default());
        output.line(format!(
            "line {}: recorded {}",
            differ.line,
            text(&differ.recorded)
        ));
        output.line(format!(
            "line {}: now      {}",
            differ.line,
            text(&differ.now)
        ));
    }
    if let Some(seal) = &done.seal {
        output.line(format!("no line was changed; the last seal is {seal}"));
    }
    #[cfg(feature = "slo")]
    if let Some(latency) = &done.latency {
        output.line(format!(
            "{} decisions on latencies gave {} actions; {} differ from the record",
            latency.decisions,
            latency.orders,
            latency.differ.len()
        ));
        for differs in &latency.differ {
            output.line(format!("line {}: {}", differs.line, escaped(&differs.what)));
        }
    }
}
