//! `match`: how a pattern lies on a machine.

use mapa_core::{Limits, LinkClass, MatchConfig};
use serde_json::json;

use crate::answer::{ids, label, names};
use crate::cli::MatchArgs;
use crate::failure::Failure;
use crate::machine::load;
use crate::output::Output;
use crate::request::{min_link, pattern, slice, with_busy};

pub(crate) fn find_matches(args: &MatchArgs, output: &mut Output) -> Result<(), Failure> {
    let loaded = load(&args.machine, output)?;
    let graph = loaded.graph();
    let wanted = pattern(&args.job.pattern, args.job.gpus)?.each(slice(args.job.slice.as_deref(), graph)?);
    let state = with_busy(&loaded.idle, &args.busy)?;
    let least = min_link(args.min_link.as_deref())?;
    let enough = |_: &mapa_core::Edge, link: mapa_core::Link| link.class >= least;
    let matcher = MatchConfig::new().distinct(!args.raw).compile(&wanted);
    let mut search = matcher.on(graph).within(state.view().free()).limits(Limits::NONE.nodes(args.max_nodes));
    if least > LinkClass::None {
        search = search.links(&enough);
    }
    let stats = search.count();
    let listed: Vec<_> = search.iter().take(args.list).collect();
    if output.json {
        return output.object(&json!({
            "count": stats.matches, "complete": stats.complete(), "distinct": !args.raw, "gpus": args.job.gpus,
            "pattern": args.job.pattern, "nodes": stats.nodes, "matches": listed.iter().map(ids).collect::<Vec<_>>(),
            "names": listed.iter().map(|placement| names(placement, graph)).collect::<Vec<_>>(),
        }));
    }
    let kind = if args.raw { "raw" } else { "distinct" };
    let at_least = if stats.complete() { "" } else { "at least " };
    let (job, name, count) = (&args.job, &loaded.machine.name, stats.matches);
    let devices = job.slice.as_ref().map_or("devices".to_owned(), |slice| format!("instances of {slice}"));
    output
        .line(format_args!("{at_least}{count} {kind} matches of {} on {} {devices}, {name}", job.pattern, job.gpus))?;
    if !stats.complete() {
        output.line(format_args!("the search stopped: {}", stats.stopped.because()))?;
    }
    for placement in listed {
        let ranks: Vec<String> = placement.iter().map(|&id| label(id, graph)).collect();
        output.line(format_args!("  {}", ranks.join(",")))?;
    }
    Ok(())
}
