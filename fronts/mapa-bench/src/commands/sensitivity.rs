//! `sensitivity`: whether a job's speed depends on its links.

use mapa_front::answer::sensitivity::PublishedSensitivity;
use mapa_front::commands::{self, EvidenceRequest};
use mapa_patterns::PUBLISHED;

use crate::cli::{EvidenceArgs, SensitivityArgs};
use mapa_cli::Failure;
use mapa_cli::Output;
use mapa_front::text::table;

pub(crate) fn sensitivity(args: &SensitivityArgs, output: &mut Output) -> Result<(), Failure> {
    if args.published {
        return published(output);
    }
    let answer = commands::sensitivity(&request(&args.evidence))?;
    if output.json {
        return output.object(&answer);
    }
    let gap = if answer.why.is_empty() { "" } else { ": " };
    output.line(format_args!("{}{gap}{}", answer.sensitivity, answer.why))
}

/// The evidence on the command line.
pub(super) fn request(args: &EvidenceArgs) -> EvidenceRequest {
    EvidenceRequest {
        fast_seconds: args.fast_seconds.clone(),
        slow_seconds: args.slow_seconds.clone(),
        messages: args.messages.clone(),
        iteration_seconds: args.iteration_seconds,
        link_gbps: args.link_gbps.clone(),
    }
}

/// Prints the published evidence on the paper's workloads, and the verdicts.
fn published(output: &mut Output) -> Result<(), Failure> {
    if output.json {
        return output.object(&PublishedSensitivity::all());
    }
    let header = [
        "workload",
        "calls",
        "layers",
        "MB each",
        "by messages",
        "predicted",
        "by all",
        "paper",
    ];
    let mut rows = table(header, [1, 2, 3]);
    for workload in &PUBLISHED {
        let calls = workload
            .calls()
            .map(|calls| calls.to_string())
            .unwrap_or_default();
        let layers = workload
            .model
            .map(|model| model.layers.to_string())
            .unwrap_or_default();
        let mean = workload
            .model
            .and_then(|model| model.messages().mean_bytes());
        let mean = mean
            .map(|mean| format!("{:.2}", mean / 1e6))
            .unwrap_or_default();
        let predicted = workload
            .predicted()
            .map(|verdict| verdict.sensitivity.to_string())
            .unwrap_or_default();
        let by_messages = workload.by_messages().sensitivity.to_string();
        let [all, paper] =
            [workload.verdict().sensitivity, workload.class].map(|class| class.to_string());
        rows.add_row([
            workload.name.to_owned(),
            calls,
            layers,
            mean,
            by_messages,
            predicted,
            all,
            paper,
        ]);
    }
    output.line(rows)?;
    output.line("")?;
    PUBLISHED.iter().try_for_each(|workload| {
        output.line(format_args!(
            "{}: {}",
            workload.name,
            workload.verdict().why
        ))
    })
}
