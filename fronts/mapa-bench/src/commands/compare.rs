//! `compare`: the choices of all policies for one request.

use mapa_core::{HardwareGraph, Sensitivity};

use super::allocate::links_of;
use crate::cli::{CompareArgs, job_spec};
use crate::names::NAMES;
use mapa_cli::Failure;
use mapa_cli::Output;
use mapa_cli::files::LocalFiles;
use mapa_cli::load;
use mapa_front::answer::{labels, model_text, on_assumed_rates};
use mapa_front::commands::{CompareOutcome, CompareRequest, PolicyChoice};
use mapa_front::text::{gbps, seconds, table};
use mapa_front::{DeviceName, Loaded};

pub(crate) fn compare(args: &CompareArgs, output: &mut Output) -> Result<(), Failure> {
    let loaded = load(&args.machine, output)?;
    let request = CompareRequest {
        machine: args.machine.spec(),
        job: job_spec(&args.job, &args.uses, &args.constraints, args.sensitive),
        model: args.model.clone(),
        busy: DeviceName::of_texts(&args.constraints.busy),
    };
    let outcome = request.outcome(&NAMES, &LocalFiles, &loaded)?;
    if output.json {
        return output.object(&outcome.answer());
    }
    print(args, &outcome, &loaded, output)
}

/// Prints the choices as text.
fn print(
    args: &CompareArgs,
    outcome: &CompareOutcome,
    loaded: &Loaded,
    output: &mut Output,
) -> Result<(), Failure> {
    let (job, graph) = (&outcome.job, outcome.state.graph());
    let time = if job.parallel.is_some() {
        "step, s"
    } else {
        "slowest edge, s"
    };
    let step_column = outcome.knows_time.then_some(time);
    let model_column = args.model.as_ref().map(|_| "model");
    let header = [
        "policy", "devices", "GB/s", "links", "Eq. 1", "Eq. 2", "Eq. 3",
    ];
    // The last two columns may be missing. `table` passes over numbers of columns that are not there.
    let mut rows = table(
        header.into_iter().chain(model_column).chain(step_column),
        [2, 4, 5, 6, 7, 8],
    );
    let (mut is_marked, mut is_assumed) = (false, false);
    for policy in &outcome.policies {
        let name = policy.policy.clone();
        match &policy.choice {
            Ok(choice) => {
                let best = choice.decision.best();
                is_assumed |= choice.bandwidth.is_assumed();
                let outside: Vec<&str> = best.out_of_domain().collect();
                // Other scores have no column in this table, and so no mark to explain.
                is_marked |= SCORES.iter().any(|name| outside.contains(name));
                let links = links_of(
                    best,
                    &outcome.request.pattern,
                    graph,
                    &loaded.machine.labels,
                );
                rows.add_row(row(name, choice, links, graph));
            }
            Err(why) => {
                // A refusal has two cells, and the rest of the row is blank.
                rows.add_row([name, format!("{}: {why}", why.kind())]);
            }
        }
    }
    let sensitive = match job.sensitivity(args.sensitive) {
        Sensitivity::Sensitive => "bandwidth-sensitive",
        Sensitivity::Insensitive => "not bandwidth-sensitive",
        Sensitivity::Unknown if outcome.request.is_sensitive() => {
            "of unknown sensitivity to bandwidth (counts as sensitive)"
        }
        Sensitivity::Unknown => {
            "of unknown sensitivity to bandwidth (counts as insensitive: its ranks do not communicate)"
        }
    };
    let (name, words) = (&loaded.machine.name, &args.job);
    let devices = words.slice.as_ref().map_or("devices".to_owned(), |slice| {
        format!("instances of {slice}")
    });
    output.line(format_args!(
        "{name}, {} {devices}, {}, {sensitive}",
        job.ranks,
        job.name(&words.pattern)
    ))?;
    output.line(rows)?;
    output.line(format_args!(
        "Devices in rank order. GB/s: by {}{}.",
        model_text(outcome.model_choice.objective.name()),
        on_assumed_rates(is_assumed)
    ))?;
    output.line(
        "Scores of the MAPA paper, GB/s: Eq. 1 (sum of links), Eq. 2 (predicted), Eq. 3 (left free).",
    )?;
    if is_marked {
        output.line("* not valid here: Eq. 2 was not fitted to placements like this one.")?;
    }
    if let Some(word) = &args.model {
        output.line(format_args!(
            "Model: prediction of {word} for the devices of every policy, GB/s. Only auto, preserve (for \
             bandwidth-sensitive jobs), max-bandwidth and foresight choose by it."
        ))?;
    }
    match step_column {
        None => Ok(()),
        Some(_) if job.parallel.is_none() => output
            .line("Slowest edge: its bytes over the bandwidth of its link, seconds, if all edges send at once."),
        Some(_) => output
            .line("Step: communication time of a training step, seconds; each phase is as slow as its slowest link."),
    }
}

/// The paper's scores.
const SCORES: [&str; 3] = ["aggregate_gbps", "effective_gbps", "preserved_gbps"];

/// The row of a policy's choice.
fn row(policy: String, choice: &PolicyChoice, links: String, graph: &HardwareGraph) -> Vec<String> {
    let best = choice.decision.best();
    let mut ranks = labels(best.placement(), graph);
    if !choice.decision.search().complete() {
        ranks += " (search stopped early)";
    }
    let shown = |value: Option<f64>| value.map_or("-".to_owned(), gbps);
    let mut row = vec![policy, ranks, shown(choice.bandwidth.bandwidth_gbps), links];
    let outside: Vec<&str> = best.out_of_domain().collect();
    row.extend(SCORES.map(|name| {
        let mark = if outside.contains(&name) { "*" } else { "" };
        best.score(name)
            .map_or("-".to_owned(), |value| gbps(value) + mark)
    }));
    row.extend(choice.model_gbps.map(shown));
    row.extend(choice.step.as_ref().map(|step| seconds(step.seconds)));
    row
}
