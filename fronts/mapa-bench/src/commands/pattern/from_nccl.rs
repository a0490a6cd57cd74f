//! `pattern from-nccl`: from logs and graphs of NCCL and RCCL.

use mapa_front::answer::nccl::NcclPattern;
use mapa_patterns::{Algorithm, Error, Messages, NcclJob, Unit, read_nccl};

use super::answer::{More, answer};
use crate::cli::FromNccl;
use mapa_cli::Failure;
use mapa_cli::Output;
use mapa_cli::files;
use mapa_front::text::table;

/// The most message sizes that the text lists.
const LISTED: usize = 40;

pub(super) fn from_nccl(args: &FromNccl, output: &mut Output) -> Result<(), Failure> {
    let algorithm: Algorithm = args.algorithm.parse().map_err(Failure::malformed)?;
    let mut logs = Vec::new();
    for file in &args.files {
        let name = if file == "-" { "standard input" } else { file };
        logs.push((name, files::log(file)?));
    }
    let texts: Vec<(&str, &str)> = logs
        .iter()
        .map(|(name, text)| (*name, text.as_str()))
        .collect();
    let job = read_nccl(&texts).map_err(Failure::malformed)?;
    let mut application = job.application(algorithm).map_err(Failure::malformed)?;
    if application.unit.is_bytes() {
        application = application
            .without_noise(args.noise / 100.0)
            .map_err(Failure::malformed)?;
    }
    let messages = messages(&job, args.write.steps).map_err(Failure::malformed)?;
    let nccl = Some(NcclPattern::new(&job, algorithm));
    let more = More {
        nccl,
        lines: lines(&job),
        ..More::default()
    };
    answer(application, messages, &args.write, more, output)
}

/// The messages of a rank: in a step if the number of steps is known, else in the whole log. None
/// if the log has no calls.
fn messages(job: &NcclJob, steps: Option<f64>) -> Result<Option<Messages>, Error> {
    let mut messages = Messages::new();
    for &(bytes, calls) in &job.messages {
        // A log is of a whole run. The number of steps makes its calls those of one step.
        messages.add(bytes as f64, calls as f64 / steps.unwrap_or(1.0))?;
    }
    Ok((!job.messages.is_empty()).then_some(messages))
}

/// Tables of communicators, and of messages if the log has calls.
fn lines(job: &NcclJob) -> Vec<String> {
    let mut rows = table(
        [
            "communicator",
            "ranks",
            "channels",
            "rings",
            "trees",
            "over",
            "calls",
        ],
        [1, 2, 3, 4, 6],
    );
    for communicator in &job.communicators {
        // A library names the variant of a transport behind a slash, as in `P2P/IPC`.
        let mut over: Vec<&str> = communicator
            .connections
            .iter()
            .map(|connection| connection.via.split('/').next().unwrap_or_default())
            .collect();
        over.sort_unstable();
        over.dedup();
        let calls: u64 = communicator
            .calls
            .iter()
            .map(|(.., times)| *times)
            .fold(0, u64::saturating_add);
        let numbers = [
            communicator.ranks,
            communicator.channels,
            communicator.rings.len(),
            communicator.trees.len(),
        ]
        .map(|number| number.to_string());
        let [ranks, channels, rings, trees] = numbers;
        rows.add_row([
            communicator.name.clone(),
            ranks,
            channels,
            rings,
            trees,
            over.join(", "),
            calls.to_string(),
        ]);
    }
    let mut lines = vec![String::new(), rows.to_string()];
    if !job.messages.is_empty() {
        let mut rows = table(["message", "calls"], [0, 1]);
        for &(bytes, calls) in job.messages.iter().take(LISTED) {
            rows.add_row([
                Unit::Bytes.print(bytes as f64).unwrap_or_default(),
                calls.to_string(),
            ]);
        }
        lines.extend([String::new(), rows.to_string()]);
        if let Some(rest) = job.messages.len().checked_sub(LISTED + 1) {
            lines.push(format!("and {} more: --json lists all", rest + 1));
        }
    }
    lines
}
