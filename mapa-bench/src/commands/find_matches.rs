//! `match`: how a pattern lies on a machine.

use mapa_core::{Limits, LinkClass, MatchConfig};
use serde_json::json;

use crate::answer::ids;
use crate::cli::MatchArgs;
use crate::failure::Failure;
use crate::machine::load;
use crate::output::Output;
use crate::request::{devices, min_link, pattern};

pub(crate) fn find_matches(args: &MatchArgs, output: &mut Output) -> Result<(), Failure> {
    let (machine, graph) = load(&args.machine, output)?;
    let wanted = pattern(&args.job.pattern, args.job.gpus)?;
    let free = &graph.all() - &devices(&args.busy, &graph)?;
    let least = min_link(args.min_link.as_deref())?;
    let enough = |_: &mapa_core::Edge, link: mapa_core::Link| link.class >= least;
    let matcher = MatchConfig::new().distinct(!args.raw).compile(&wanted);
    let mut search = matcher.on(&graph).within(&free).limits(Limits::NONE.nodes(args.max_nodes));
    if least > LinkClass::None {
        search = search.links(&enough);
    }
    let stats = search.count();
    let listed: Vec<_> = search.iter().take(args.list).collect();
    if output.json {
        return output.object(&json!({
            "count": stats.matches, "complete": stats.complete(), "distinct": !args.raw, "gpus": args.job.gpus,
            "pattern": args.job.pattern, "nodes": stats.nodes, "matches": listed.iter().map(ids).collect::<Vec<_>>(),
        }));
    }
    let kind = if args.raw { "raw" } else { "distinct" };
    let at_least = if stats.complete() { "" } else { "at least " };
    let (job, name) = (&args.job, &machine.name);
    let count = stats.matches;
    output.line(format_args!("{at_least}{count} {kind} matches of {} on {} devices, {name}", job.pattern, job.gpus))?;
    if !stats.complete() {
        output.line(format_args!("the search stopped: {}", stats.stopped.because()))?;
    }
    for placement in listed {
        let ranks: Vec<String> = placement.iter().map(ToString::to_string).collect();
        output.line(format_args!("  {}", ranks.join(",")))?;
    }
    Ok(())
}
