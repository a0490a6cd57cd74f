//! `pattern from-nccl`: from logs and graphs of NCCL and RCCL.

use mapa_front::commands::{NcclSource, PatternInput, PatternSource};
use mapa_patterns::{NcclJob, Unit};

use super::answer::{answer, request};
use crate::cli::FromNccl;
use mapa_cli::Failure;
use mapa_cli::Output;
use mapa_cli::files::LocalFiles;
use mapa_front::text::table;

/// The most message sizes that the text lists.
const LISTED: usize = 40;

pub(super) fn from_nccl(args: &FromNccl, output: &mut Output) -> Result<(), Failure> {
    let source = PatternSource::Nccl(NcclSource {
        files: args.files.clone(),
        algorithm: args.algorithm.clone(),
        noise: args.noise,
    });
    let request = request(source, &args.write);
    let outcome = request.outcome(&LocalFiles, None, PatternInput::Files)?;
    let more = outcome.nccl.as_ref().map(|(job, _)| lines(job));
    answer(&outcome, more.unwrap_or_default(), &args.write, output)
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
