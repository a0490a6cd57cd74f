//! `allocate`: which devices, and why.

use std::fs;

use mapa_core::{Decision, HardwareGraph, Scored, StopReason, View};
use mapa_topologies::{Machine, Picture};
use serde_json::{Value, json};

use super::batch;
use crate::answer::{decision as decision_json, is_defined, label, names, scored as scored_json, visible_by_server};
use crate::cli::{AllocateArgs, PolicyArgs};
use crate::failure::Failure;
use crate::job::{Step, job, policy};
use crate::machine::load;
use crate::model::Model;
use crate::notes::notes;
use crate::output::{Output, score, table};
use crate::request::{demand, request, slice};

/// Sets of devices that an explanation names.
const TOP: usize = 6;

pub(crate) fn allocate(args: &AllocateArgs, output: &mut Output) -> Result<(), Failure> {
    if args.batch.as_deref() == Some("-") && args.machine.machine.iter().any(|name| name == "-") {
        return Err(Failure::malformed("--machine - and --batch - both read standard input: expected one of them"));
    }
    let on_stdout = args.svg.as_deref() == Some("-");
    if on_stdout && (output.json || args.explain || args.top.is_some()) {
        let what = "--svg - prints the picture in place of the answer: expected a file with --json, --explain or --top";
        return Err(Failure::malformed(what));
    }
    let loaded = load(&args.machine, output)?;
    if let Some(source) = &args.batch {
        return batch::batch(source, loaded.idle, output);
    }
    let graph = loaded.graph();
    let job = job(&args.pattern, args.bytes.as_deref(), args.gpus)?;
    let PolicyArgs { policy: name, model, preserved } = &args.policy;
    let model = model.as_ref().map(|word| Model::named(word, None)).transpose()?;
    let policy = policy(name, model.as_ref(), *preserved, &job)?;
    let demand = demand(slice(args.slice.as_deref(), graph)?, &args.uses, graph)?;
    let (request, state) =
        request(job.pattern.each(demand), job.is_sensitive(args.sensitive), &args.constraints, &loaded.idle)?;
    let top = args.top.unwrap_or(if args.explain { TOP } else { 1 });
    let Some(runners_up) = top.checked_sub(1) else {
        return Err(Failure::malformed("--top 0 names nothing: expected 1 or more"));
    };
    let request = request.runners_up(runners_up);
    let decision = state.view().decide(&policy, &request)?;
    let notes = notes(&decision, &request, &state.view(), model.as_ref());
    let step = Step::of(&job, &decision, graph);
    if let Some(file) = &args.svg {
        let picture = picture(&decision, args, &loaded.machine, &state.view())?;
        if on_stdout {
            return output.line(picture.trim_end());
        }
        fs::write(file, picture).map_err(|error| Failure::malformed(format_args!("{file}: {error}")))?;
    }
    if output.json {
        let mut object = decision_json(&decision, graph);
        object.insert("notes".to_owned(), json!(notes));
        if let Some(step) = step {
            step.insert_into(&mut object);
        }
        if args.explain || args.top.is_some() {
            object.insert("runners_up".to_owned(), runners_up_json(&decision, graph));
        }
        return output.object(&object);
    }
    print((&decision, step), &notes, &loaded.machine, graph, output)?;
    if args.explain || top > 1 { explain(&decision, graph, output) } else { Ok(()) }
}

/// The machine with the job on it, and what the title must say for the picture to stand alone.
fn picture(decision: &Decision, args: &AllocateArgs, machine: &Machine, view: &View<'_>) -> Result<String, Failure> {
    let best = decision.best();
    let ranks = decision.placement().len();
    let what = format!("{}: {ranks} ranks, pattern {}, policy {}", machine.name, args.pattern, decision.policy());
    let defined = best.scores().filter(|(name, _)| is_defined(name, best.placement()));
    let scores = defined.map(|(name, value)| format!("{name} {}", score(name, value)));
    let links = (!decision.pattern().edges().is_empty()).then(|| format!("links {}", links(best)));
    let picture = Picture::new()
        .title(what)
        .subtitle(links.into_iter().chain(scores).collect::<Vec<_>>().join("; "))
        .job(decision.pattern(), decision.placement())
        .busy(view.present() - view.free())
        .present(view.present().clone());
    machine.to_svg(&picture).map_err(Failure::malformed)
}

fn print(
    (decision, step): (&Decision, Option<Step>),
    notes: &[String],
    machine: &Machine,
    graph: &HardwareGraph,
    output: &mut Output,
) -> Result<(), Failure> {
    let best = decision.best();
    output.line(format_args!("machine   {}: {}", machine.name, machine.title))?;
    output.line(format_args!("policy    {}", decision.policy()))?;
    output.line(format_args!("devices   {} in rank order", names(best.placement(), graph).join(", ")))?;
    let within = decision.pattern().edges().iter().filter(|edge| {
        let [a, b] = [edge.a, edge.b].map(|rank| decision.placement()[usize::from(rank)]);
        a == b
    });
    let within = match within.count() {
        0 => String::new(),
        n => format!(" ({n} of the double ones within one device or instance)"),
    };
    output.line(format_args!("links     {}{within}", links(best)))?;
    if let Some(step) = step {
        output.line(step.text())?;
    }
    for (name, value) in best.scores() {
        let value = if is_defined(name, best.placement()) { score(name, value) } else { "none: one device".to_owned() };
        output.line(format_args!("score     {name} {value}"))?;
    }
    for note in notes {
        output.line(format_args!("note      {note}"))?;
    }
    print_visible(decision, machine, graph, output)
}

/// What its processes are given to see: a line for each server.
fn print_visible(
    decision: &Decision,
    machine: &Machine,
    graph: &HardwareGraph,
    output: &mut Output,
) -> Result<(), Failure> {
    let Some(servers) = visible_by_server(decision.placement(), graph) else {
        return output
            .line("For each rank's process, CUDA_VISIBLE_DEVICES is its instance's MIG UUID: see nvidia-smi -L");
    };
    let several = servers.len() > 1;
    servers.into_iter().try_for_each(|(devices, numbers)| {
        let variable = if machine.labels.direct == "XGMI" { "HIP" } else { "CUDA" };
        let names = devices.iter().map(|&id| graph.device(id).name.as_str()).collect::<Vec<_>>().join(", ");
        let server = if several { format!("   # on the server of {names}") } else { String::new() };
        output.line(format_args!("{variable}_VISIBLE_DEVICES={numbers}{server}"))
    })
}

pub(super) fn links(scored: &Scored) -> String {
    let (double, single, pcie) = scored.links().xyz();
    format!("{double} double, {single} single, {pcie} PCIe")
}

fn explain(decision: &Decision, graph: &HardwareGraph, output: &mut Output) -> Result<(), Failure> {
    let best = decision.best();
    let scores: Vec<&str> = best.scores().map(|(name, _)| name).collect();
    let stats = decision.search();
    output.line("")?;
    let rest = match stats.stopped {
        StopReason::Exhausted => "No other placement is better".to_owned(),
        stopped => format!("Others may be better: {}", stopped.because()),
    };
    output.line(format_args!("{rest}. The best, and the best on other devices:"))?;
    let mut rows = table(["", "devices", "links", "why not"], []);
    let set =
        |scored: &Scored| scored.placement().set().iter().map(|id| label(id, graph)).collect::<Vec<_>>().join(",");
    let row = |place: usize, scored: &Scored, why: String| [place.to_string(), set(scored), links(scored), why];
    rows.add_row(row(1, best, "chosen".to_owned()));
    for (i, other) in decision.runners_up().iter().enumerate() {
        let why = match &other.lost_on {
            None => "as good, but higher ids".to_owned(),
            Some(name) => {
                let against = other.scored.score(name).zip(best.score(name));
                let against = against.map(|(a, b)| format!(" {} against {}", score(name, a), score(name, b)));
                format!("{name}{}", against.unwrap_or_default())
            }
        };
        rows.add_row(row(i + 2, &other.scored, why));
    }
    output.line(rows)?;
    if decision.runners_up().is_empty() {
        let why = if stats.complete() { "was in question" } else { "was looked at" };
        output.line(format_args!("No other set of devices {why}."))?;
    }
    let meaning = |name: &&str| match *name {
        "aggregate_gbps" => Some("aggregate_gbps (Eq. 1): the job's links added up"),
        "effective_gbps" => Some("effective_gbps (Eq. 2): what a collective is predicted to reach on them"),
        "step_seconds" => {
            Some("step_seconds: the communication of a step, a phase after another, each as slow as its slowest link")
        }
        "edges_seconds" => Some("edges_seconds: what the slowest edge takes, if all send at once"),
        "preserved_gbps" => Some("preserved_gbps (Eq. 3): the links left between the devices that stay free"),
        _ => None,
    };
    for line in scores.iter().filter_map(meaning) {
        output.line(format_args!("  {line}"))?;
    }
    Ok(())
}

fn runners_up_json(decision: &Decision, graph: &HardwareGraph) -> Value {
    let runner_up = |other: &mapa_core::RunnerUp| {
        let mut object = scored_json(&other.scored, graph);
        object.insert("lost_on".to_owned(), json!(other.lost_on.as_deref().unwrap_or("ids")));
        object
    };
    json!(decision.runners_up().iter().map(runner_up).collect::<Vec<_>>())
}
