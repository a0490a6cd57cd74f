//! `match`: the matches of a pattern on a machine, or of one graph in another.

use mapa_core::{
    Graph, Limits, LinkClass, MatchConfig, Placement, Policy, Refusal, Request, Scored,
    SearchStats, View, greedy,
};
use mapa_topologies::read_graph;

use super::allocate::links_of;
use crate::cli::MatchArgs;
use mapa_cli::Failure;
use mapa_cli::Output;
use mapa_cli::files::{Disk, bytes};
use mapa_cli::load;
use mapa_front::answer::matches::{Count, MatchesInGraph, MatchesOnMachine};
use mapa_front::answer::{self, Bandwidth, ids, labels, names};
use mapa_front::request::{min_link, slice, with_busy};
use mapa_front::text::{gbps, table};
use mapa_front::{DeviceName, Job, told_by};

pub(crate) fn find_matches(args: &MatchArgs, output: &mut Output) -> Result<(), Failure> {
    if let (Some(pattern), Some(target)) = (&args.pattern_file, &args.target_file) {
        return in_files(args, pattern, target, output);
    }
    let (Some(machine), Some(words)) = (&args.machine, &args.job) else {
        return Err(Failure::malformed(
            "expected --machine or --live with --gpus, or --pattern-file and --target-file",
        ));
    };
    let loaded = load(machine, output)?;
    let graph = loaded.graph();
    let job = words.spec().job(&Disk)?;
    let name = job.name(&words.pattern).to_owned();
    let Job { pattern, ranks, .. } = job;
    let wanted = pattern.each(slice(words.slice.as_deref(), graph)?);
    let state = with_busy(&loaded.idle, &DeviceName::of_texts(&args.busy))?;
    let least = min_link(args.min_link.as_deref())?;
    let enough = |_: &mapa_core::Edge, link: mapa_core::Link| link.class >= least;
    let matcher = config(args).compile(&wanted);
    let mut search = matcher
        .on(graph)
        .within(state.view().free())
        .limits(limits(args))
        .threads(args.threads.get());
    if least > LinkClass::None {
        search = search.links(&enough);
    }
    let stats = search.count();
    // The list is in the order of ranks, which is not the order in which counting is fastest.
    let by_rank = config(args).by_rank(true).compile(&wanted);
    let mut in_order = by_rank
        .on(graph)
        .within(state.view().free())
        .limits(limits(args));
    if least > LinkClass::None {
        in_order = in_order.links(&enough);
    }
    let listed: Vec<_> = in_order.iter().take(args.list).collect();
    let request = Request::new(wanted).min_link(least);
    let pattern = request.pattern.clone();
    let (top, top_complete) = top(args, request, &state.view())?;
    if output.json {
        let named = |placement: &Placement| {
            let names = names(placement, graph).into_iter();
            names.map(str::to_owned).collect()
        };
        return output.object(&MatchesOnMachine {
            count: Count::new(stats, !args.raw, args.induced),
            machine: loaded.machine.name.clone(),
            gpus: ranks,
            pattern: words.pattern.clone(),
            matches: listed.iter().map(|placement| ids(placement)).collect(),
            names: listed.iter().map(named).collect(),
            top: top
                .iter()
                .map(|best| answer::Scored::new(best, graph))
                .collect(),
            top_complete,
        });
    }
    let devices = words.slice.as_ref().map_or("devices".to_owned(), |slice| {
        format!("instances of {slice}")
    });
    let what = format!("{name} on {ranks} {devices}, {}", loaded.machine.name);
    output.page();
    say(args, stats, &what, output)?;
    for placement in listed {
        output.line(format_args!("  {}", labels(&placement, graph)))?;
    }
    if !top.is_empty() {
        let mut rows = table(["", "ranks on", "GB/s", "links", "AggBW (Eq. 1)"], [2, 4]);
        let (told, view) = (told_by(None, &pattern, state.view().graph()), state.view());
        for (place, best) in (1..).zip(&top) {
            let ranks = labels(best.placement(), graph);
            let value = best.score("aggregate_gbps").unwrap_or(f64::NAN);
            let own = Bandwidth::of(&told, &pattern, best, &view).bandwidth_gbps;
            rows.add_row([
                place.to_string(),
                ranks,
                own.map_or("-".to_owned(), gbps),
                links_of(best, &pattern, graph, &loaded.machine.labels),
                gbps(value),
            ]);
        }
        output.line(rows)?;
    }
    if !top_complete {
        output.line("The search for the best matches stopped early: better ones may exist.")?;
    }
    Ok(())
}

/// The best match on each of the best sets of devices, and whether the search was complete; no
/// match if the job has none.
fn top(
    args: &MatchArgs,
    request: Request,
    view: &View<'_>,
) -> Result<(Vec<Scored>, bool), Failure> {
    let Some(runners_up) = args.top.checked_sub(1) else {
        return Ok((Vec::new(), true));
    };
    let request = request.runners_up(runners_up).limits(limits(args));
    match greedy().decide(&request, view) {
        Ok(decision) => {
            let others = decision
                .runners_up()
                .iter()
                .map(|runner_up| runner_up.scored.clone());
            Ok((
                std::iter::once(decision.best().clone())
                    .chain(others)
                    .collect(),
                decision.search().complete(),
            ))
        }
        Err(Refusal::Busy(_) | Refusal::Infeasible(_)) => Ok((Vec::new(), true)),
        Err(Refusal::LimitReached(_)) => Ok((Vec::new(), false)),
    }
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
    let (wanted, there) = (graph(pattern)?, graph(target)?);
    let matcher = config(args)
        .compile_graph(&wanted)
        .map_err(|error| Failure::at(pattern, error))?;
    let search = matcher.on(&there).limits(limits(args));
    let stats = search.count();
    let listed = search.iter().take(args.list);
    if output.json {
        return output.object(&MatchesInGraph {
            count: Count::new(stats, !args.raw, args.induced),
            pattern: pattern.to_owned(),
            target: target.to_owned(),
            matches: listed.collect(),
        });
    }
    output.page();
    say(args, stats, &format!("{pattern} in {target}"), output)?;
    for map in listed {
        let vertices: Vec<String> = map.iter().map(u32::to_string).collect();
        output.line(format_args!("  {}", vertices.join(",")))?;
    }
    Ok(())
}

fn graph(path: &str) -> Result<Graph, Failure> {
    read_graph(&bytes(path)?).map_err(|error| Failure::at(path, error))
}

fn config(args: &MatchArgs) -> MatchConfig {
    MatchConfig::new().distinct(!args.raw).induced(args.induced)
}

fn limits(args: &MatchArgs) -> Limits {
    Limits::NONE
        .nodes(args.max_nodes)
        .matches(args.limit.unwrap_or(u64::MAX))
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
