//! `match`: the matches of a pattern on a machine, or of one graph in another.

use mapa_core::SearchStats;

use super::allocate::links_of;
use crate::cli::MatchArgs;
use crate::names::NAMES;
use mapa_cli::Failure;
use mapa_cli::Output;
use mapa_cli::files::LocalFiles;
use mapa_cli::load;
use mapa_front::answer::{Bandwidth, labels, model_text, on_assumed_rates};
use mapa_front::commands::{GraphMatchRequest, MatchRequest, MatchSettings};
use mapa_front::text::{gbps, table};
use mapa_front::{DeviceName, JobSpec};

pub(crate) fn find_matches(args: &MatchArgs, output: &mut Output) -> Result<(), Failure> {
    // Two files need no machine.
    if let (Some(pattern), Some(target)) = (&args.pattern_file, &args.target_file) {
        return in_files(args, pattern, target, output);
    }
    // clap cannot demand that one of two groups of arguments be complete.
    let (Some(machine), Some(words)) = (&args.machine, &args.job) else {
        return Err(Failure::malformed(
            "expected --machine or --live with --gpus, or --pattern-file and --target-file",
        ));
    };
    let loaded = load(machine, output)?;
    let request = MatchRequest {
        machine: machine.spec(),
        job: JobSpec {
            min_link: args.min_link.clone(),
            ..words.spec()
        },
        busy: DeviceName::of_texts(&args.busy),
        settings: settings(args),
        threads: args.threads,
        top: args.top,
        model: args.model.clone(),
    };
    let outcome = request.outcome(&NAMES, &LocalFiles, &loaded)?;
    if output.json {
        return output.object(&outcome.answer(&loaded, &request));
    }
    let (graph, ranks) = (loaded.graph(), outcome.job.ranks);
    let devices = words.slice.as_ref().map_or("devices".to_owned(), |slice| {
        format!("instances of {slice}")
    });
    let name = outcome.job.name(&words.pattern);
    let what = format!("{name} on {ranks} {devices}, {}", loaded.machine.name);
    // The list may be long, so from here on a terminal shows a pager.
    output.page();
    say(args, outcome.stats, &what, output)?;
    for placement in &outcome.listed {
        output.line(format_args!("  {}", labels(placement, graph)))?;
    }
    if !outcome.top.is_empty() {
        let mut rows = table(["", "ranks on", "GB/s", "links"], [2]);
        let mut is_assumed = false;
        let (pattern, view) = (&outcome.pattern, outcome.state.view());
        for (place, best) in (1..).zip(&outcome.top) {
            let ranks = labels(best.placement(), graph);
            let bandwidth = Bandwidth::of(&outcome.model_choice, pattern, best, &view);
            is_assumed |= bandwidth.is_assumed();
            let expected = bandwidth.bandwidth_gbps;
            rows.add_row([
                place.to_string(),
                ranks,
                expected.map_or("-".to_owned(), gbps),
                links_of(best, pattern, graph, &loaded.machine.labels),
            ]);
        }
        output.line(rows)?;
        output.line(format_args!(
            "GB/s: by {}{}.",
            model_text(outcome.model_choice.objective.name()),
            on_assumed_rates(is_assumed)
        ))?;
    }
    if !outcome.is_top_complete {
        output.line("The search for the best matches stopped early: better ones may exist.")?;
    }
    Ok(())
}

/// Matches of one graph in another, both from files.
fn in_files(
    args: &MatchArgs,
    pattern: &str,
    target: &str,
    output: &mut Output,
) -> Result<(), Failure> {
    if pattern == "-" && target == "-" {
        return Err(Failure::malformed(
            "--pattern-file - and --target-file - both read standard input: expected one of them",
        ));
    }
    let request = GraphMatchRequest {
        pattern: pattern.to_owned(),
        target: target.to_owned(),
        settings: settings(args),
    };
    let outcome = request.outcome(&LocalFiles)?;
    if output.json {
        return output.object(&outcome.answer(&request));
    }
    output.page();
    say(
        args,
        outcome.stats,
        &format!("{pattern} in {target}"),
        output,
    )?;
    for map in outcome.listed {
        let vertices: Vec<String> = map.iter().map(u32::to_string).collect();
        output.line(format_args!("  {}", vertices.join(",")))?;
    }
    Ok(())
}

fn settings(args: &MatchArgs) -> MatchSettings {
    MatchSettings {
        induced: args.induced,
        raw: args.raw,
        list: args.list,
        limit: args.limit,
        max_nodes: args.max_nodes,
    }
}

/// Prints the number of matches.
fn say(
    args: &MatchArgs,
    stats: SearchStats,
    what: &str,
    output: &mut Output,
) -> Result<(), Failure> {
    let kind = if args.raw { "raw" } else { "distinct" };
    let induced = if args.induced { " induced" } else { "" };
    let at_least = if stats.complete() { "" } else { "at least " };
    let matches = if stats.matches == 1 {
        "match"
    } else {
        "matches"
    };
    output.line(format_args!(
        "{at_least}{}{induced} {kind} {matches} of {what}",
        stats.matches
    ))?;
    if !stats.complete() {
        output.line(format_args!(
            "the search stopped: {}",
            stats.stopped.because()
        ))?;
    }
    Ok(())
}
