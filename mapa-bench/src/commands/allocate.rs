//! `allocate`: which devices, and why.

use mapa_core::{Decision, HardwareGraph, Policy, Scored};
use mapa_topologies::Machine;
use serde_json::{Value, json};

use super::batch;
use crate::answer::{decision as decision_json, scored as scored_json, visible_devices};
use crate::cli::AllocateArgs;
use crate::failure::Failure;
use crate::machine::load;
use crate::notes::notes;
use crate::output::{Output, gbps, table};
use crate::request::{pattern, policy, request};

/// Runners-up that an explanation names.
const RUNNERS_UP: usize = 5;

pub(crate) fn allocate(args: &AllocateArgs, output: &mut Output) -> Result<(), Failure> {
    if args.batch.as_deref() == Some("-") && args.machine.machine == "-" {
        return Err(Failure::malformed("--machine - and --batch - both read standard input: expected one of them"));
    }
    let (machine, graph) = load(&args.machine, output)?;
    if let Some(source) = &args.batch {
        return batch::batch(source, graph, output);
    }
    let policy = policy(&args.policy)?;
    let pattern = pattern(&args.pattern, args.gpus.unwrap_or_default())?;
    let (request, free) = request(pattern, args.sensitive, &args.constraints, &graph)?;
    let request = request.runners_up(if args.explain { RUNNERS_UP } else { 0 });
    let decision = policy.decide(&request, &graph.with_free(&free))?;
    let notes = notes(&decision, &request, &graph.with_free(&free));
    if output.json {
        let mut object = decision_json(&decision, &graph);
        object.insert("notes".to_owned(), json!(notes));
        if args.explain {
            object.insert("runners_up".to_owned(), runners_up_json(&decision));
        }
        return output.object(&object);
    }
    print(&decision, &notes, &machine, &graph, output)?;
    if args.explain { explain(&decision, output) } else { Ok(()) }
}

fn print(
    decision: &Decision,
    notes: &[String],
    machine: &Machine,
    graph: &HardwareGraph,
    output: &mut Output,
) -> Result<(), Failure> {
    let best = decision.best();
    output.line(format_args!("machine   {}: {}", machine.name, machine.title))?;
    output.line(format_args!("policy    {}", decision.policy()))?;
    output.line(format_args!("devices   {} in rank order", names(best, graph)))?;
    output.line(format_args!("links     {}", links(best)))?;
    for (name, value) in best.scores() {
        output.line(format_args!("score     {name} {}", gbps(value)))?;
    }
    for note in notes {
        output.line(format_args!("note      {note}"))?;
    }
    output.line(format_args!("CUDA_VISIBLE_DEVICES={}", visible_devices(decision.placement(), graph)))
}

fn names(scored: &Scored, graph: &HardwareGraph) -> String {
    scored.placement().iter().map(|&id| graph.device(id).name.as_str()).collect::<Vec<_>>().join(", ")
}

pub(super) fn links(scored: &Scored) -> String {
    let (double, single, pcie) = scored.links().xyz();
    format!("{double} double, {single} single, {pcie} PCIe")
}

fn explain(decision: &Decision, output: &mut Output) -> Result<(), Failure> {
    let best = decision.best();
    let scores: Vec<&str> = best.scores().map(|(name, _)| name).collect();
    let stats = decision.search();
    output.line("")?;
    let rest = if stats.complete() { "none of the others can be better" } else { "others were not looked at" };
    output.line(format_args!(
        "{} placements were scored, {rest}. The best, and the best on other devices:",
        stats.matches
    ))?;
    let mut rows = table(["", "devices", "links", "why not"], []);
    let ids = |scored: &Scored| scored.placement().set().to_string();
    let row = |place: usize, scored: &Scored, why: String| [place.to_string(), ids(scored), links(scored), why];
    rows.add_row(row(1, best, "chosen".to_owned()));
    for (i, other) in decision.runners_up().iter().enumerate() {
        let why = match &other.lost_on {
            None => "as good, but higher ids".to_owned(),
            Some(name) => {
                let against = other.scored.score(name).zip(best.score(name));
                let against = against.map(|(a, b)| format!(" {} against {}", gbps(a), gbps(b)));
                format!("{name}{}", against.unwrap_or_default())
            }
        };
        rows.add_row(row(i + 2, &other.scored, why));
    }
    output.line(rows)?;
    if decision.runners_up().is_empty() {
        output.line("No other set of devices was in question.")?;
    }
    let meaning = |name: &&str| match *name {
        "aggregate_gbps" => Some("aggregate_gbps (Eq. 1): the job's links added up"),
        "effective_gbps" => Some("effective_gbps (Eq. 2): what a collective is predicted to reach on them"),
        "preserved_gbps" => Some("preserved_gbps (Eq. 3): the links left between the devices that stay free"),
        _ => None,
    };
    for line in scores.iter().filter_map(meaning) {
        output.line(format_args!("  {line}"))?;
    }
    Ok(())
}

fn runners_up_json(decision: &Decision) -> Value {
    let runner_up = |other: &mapa_core::RunnerUp| {
        let mut object = scored_json(&other.scored);
        object.insert("lost_on".to_owned(), json!(other.lost_on.as_deref().unwrap_or("ids")));
        object
    };
    json!(decision.runners_up().iter().map(runner_up).collect::<Vec<_>>())
}
