//! `sensitivity`: whether a job's speed depends on its links.

use mapa_front::answer::sensitivity::{PublishedSensitivity, Sensitivity};
use mapa_patterns::{Evidence, LinkRates, PUBLISHED, Times};

use crate::cli::{EvidenceArgs, SensitivityArgs};
use mapa_cli::Failure;
use mapa_cli::Output;
use mapa_front::text::table;

pub(crate) fn sensitivity(args: &SensitivityArgs, output: &mut Output) -> Result<(), Failure> {
    if args.published {
        return published(output);
    }
    let evidence = evidence(&args.evidence)?;
    if evidence == Evidence::default() {
        return Err(Failure::malformed(
            "expected evidence: --fast-seconds with --slow-seconds, or --messages; or --published",
        ));
    }
    let verdict = evidence.verdict().map_err(Failure::malformed)?;
    if output.json {
        return output.object(&Sensitivity::from(verdict));
    }
    output.line(verdict)
}

/// The evidence on the command line.
pub(super) fn evidence(args: &EvidenceArgs) -> Result<Evidence, Failure> {
    let is_timed = !(args.fast_seconds.is_empty() && args.slow_seconds.is_empty());
    let times =
        is_timed.then(|| Times::new(args.fast_seconds.as_slice(), args.slow_seconds.as_slice()));
    let links = match args.link_gbps.as_slice() {
        [] => Ok(LinkRates::PUBLISHED),
        [slow, fast] => LinkRates::new(*slow, *fast).map_err(Failure::malformed),
        _ => Err(Failure::malformed(
            "--link-gbps: expected SLOW,FAST, such as 12,50",
        )),
    };
    Ok(Evidence {
        times: times.transpose().map_err(Failure::malformed)?,
        messages: args
            .messages
            .as_deref()
            .map(str::parse)
            .transpose()
            .map_err(Failure::malformed)?,
        iteration_seconds: args.iteration_seconds,
        links: links?,
    })
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
    for own in &PUBLISHED {
        let calls = own
            .calls()
            .map(|calls| calls.to_string())
            .unwrap_or_default();
        let layers = own
            .model
            .map(|model| model.layers.to_string())
            .unwrap_or_default();
        let mean = own.model.and_then(|model| model.messages().mean_bytes());
        let mean = mean
            .map(|mean| format!("{:.2}", mean / 1e6))
            .unwrap_or_default();
        let predicted = own
            .predicted()
            .map(|verdict| verdict.sensitivity.to_string())
            .unwrap_or_default();
        let by_messages = own.by_messages().sensitivity.to_string();
        let [all, paper] = [own.verdict().sensitivity, own.class].map(|class| class.to_string());
        rows.add_row([
            own.name.to_owned(),
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
    PUBLISHED
        .iter()
        .try_for_each(|own| output.line(format_args!("{}: {}", own.name, own.verdict().why)))
}
