//! `allocate`: choose devices, and explain the choice.

use mapa_core::{
    Decision, DeviceId, HardwareGraph, Pattern, Placement, RunnerUp, Scored, StopReason, View,
};
use mapa_topologies::{Labels, Machine, Picture};

use super::batch;
use crate::cli::{AllocateArgs, job_spec};
use crate::names::NAMES;
use mapa_cli::Failure;
use mapa_cli::Output;
use mapa_cli::files::{LocalFiles, write};
use mapa_cli::load;
use mapa_front::answer::{Bandwidth, environment_by_server, is_defined, labels, links_text, names};
use mapa_front::commands::{AllocateOutcome, AllocateRequest};
use mapa_front::names::score_row;
use mapa_front::names::score_text;
use mapa_front::text::{gbps, table};
use mapa_front::{DeviceName, ModelChoice};

/// The number of sets of devices in an explanation.
const TOP: usize = 6;

pub(crate) fn allocate(args: &AllocateArgs, output: &mut Output) -> Result<(), Failure> {
    if args.batch.as_deref() == Some("-") && args.machine.machine.iter().any(|name| name == "-") {
        return Err(Failure::malformed(
            "--machine - and --batch - both read standard input: expected one of them",
        ));
    }
    let on_stdout = args.svg.as_deref() == Some("-");
    if on_stdout && (output.json || args.explain || args.top.is_some()) {
        return Err(Failure::malformed(
            "--svg - prints the picture in place of the answer: expected a file with --json, --explain or --top",
        ));
    }
    let loaded = load(&args.machine, output)?;
    if let Some(source) = &args.batch {
        return batch::batch(source, loaded, output);
    }
    let request = AllocateRequest {
        machine: args.machine.spec(),
        job: job_spec(&args.job, &args.uses, &args.constraints, args.sensitive),
        policy: args.policy.spec(),
        busy: DeviceName::of_texts(&args.constraints.busy),
        top: args.top.or(args.explain.then_some(TOP)),
    };
    let (outcome, state) = request.outcome(&NAMES, &LocalFiles, &loaded)?;
    let view = state.view();
    if let Some(file) = &args.svg {
        let picture = picture(&outcome, &args.job.pattern, &loaded.machine, &view)?;
        // The picture takes the place of the answer.
        if on_stdout {
            return output.line(picture.trim_end());
        }
        write(file.as_ref(), picture)?;
    }
    if output.json {
        return output.object(&outcome.answer(state.graph()));
    }
    print(
        &outcome,
        &loaded.machine,
        state.graph(),
        args.scores,
        output,
    )?;
    // One set alone is the choice itself, which has been printed.
    if request.top.is_some_and(|top| args.explain || top > 1) {
        let labels = &loaded.machine.labels;
        explain(
            &outcome.decision,
            &outcome.model_choice,
            &view,
            labels,
            output,
        )
    } else {
        Ok(())
    }
}

/// A picture of the machine with the job on it. Its title and subtitle say what it shows, so that
/// it can be read alone.
fn picture(
    outcome: &AllocateOutcome,
    pattern: &str,
    machine: &Machine,
    view: &View<'_>,
) -> Result<String, Failure> {
    let (decision, job) = (&outcome.decision, outcome.job.name(pattern));
    let ranks = decision.placement().len();
    let what = format!(
        "{}: {ranks} ranks, pattern {job}, policy {}",
        machine.title,
        decision.policy()
    );
    let mut subtitle: Vec<String> = outcome.bandwidth.text().into_iter().collect();
    if !decision.pattern().edges().is_empty() {
        subtitle.push(links_of(
            decision.best(),
            decision.pattern(),
            view.graph(),
            &machine.labels,
        ));
    }
    let picture = Picture::new()
        .title(what)
        .subtitle(subtitle.join("; "))
        .job(decision.pattern(), decision.placement())
        // What the layouts do not have now is neither free nor busy.
        .busy(view.present() - view.free())
        .present(view.present().clone());
    machine.to_svg(&picture).map_err(Failure::malformed)
}

/// Prints the decision as text.
fn print(
    outcome: &AllocateOutcome,
    machine: &Machine,
    graph: &HardwareGraph,
    shows_scores: bool,
    output: &mut Output,
) -> Result<(), Failure> {
    let decision = &outcome.decision;
    let best = decision.best();
    output.line(format_args!(
        "machine   {}: {}",
        machine.name, machine.title
    ))?;
    output.line(format_args!("policy    {}", decision.policy()))?;
    output.line(format_args!(
        "devices   {} in rank order",
        names(best.placement(), graph).join(", ")
    ))?;
    if let Some(text) = outcome.bandwidth.text() {
        output.line(format_args!("bandwidth {text}"))?;
    }
    // A job without edges uses no links.
    if !decision.pattern().edges().is_empty() {
        let links = links_of(best, decision.pattern(), graph, &machine.labels);
        output.line(format_args!("links     {links}"))?;
    }
    if let Some(step) = &outcome.step {
        output.line(step.text())?;
    }
    let row = NAMES.policies.get(decision.policy());
    let by_paper = row.is_some_and(|row| row.of_paper || row.by_eq_2);
    for line in scores(best, shows_scores || by_paper) {
        output.line(line)?;
    }
    for note in &outcome.notes {
        output.line(format_args!("note      {note}"))?;
    }
    print_visible(decision, machine, graph, output)
}

/// Prints the environment that makes the devices visible to the job's processes, a line
/// for each server.
fn print_visible(
    decision: &Decision,
    machine: &Machine,
    graph: &HardwareGraph,
    output: &mut Output,
) -> Result<(), Failure> {
    let Some(servers) = environment_by_server(decision.placement(), graph, machine.vendor) else {
        // Instances are named by UUIDs, which exist only once they are created.
        return output
            .line("Set CUDA_VISIBLE_DEVICES of each rank's process to the MIG UUID of its instance: see nvidia-smi -L");
    };
    let several = servers.len() > 1;
    for server in servers {
        let variables = server.environment.iter();
        let variables: Vec<String> = variables
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let place = if several {
            let devices = server.devices.iter();
            let names: Vec<&str> = devices
                .map(|&id| graph.device(DeviceId(id)).name.as_str())
                .collect();
            format!("   # on the server of {}", names.join(", "))
        } else {
            String::new()
        };
        output.line(format_args!("{}{place}", variables.join(" ")))?;
    }
    Ok(())
}

/// The scores of a placement as lines: those of the MAPA paper in one line if wanted, then those of the policy.
fn scores(best: &Scored, with_paper: bool) -> Vec<String> {
    let outside: Vec<&str> = best.out_of_domain().collect();
    let value = |name: &str, value: f64| {
        let text = score_text(name, value);
        if outside.contains(&name) {
            format!("not valid here ({text})")
        } else {
            text
        }
    };
    // What has no links has only what it leaves to others.
    let of_links = best.placement().len() > 1;
    let paper = PAPER.iter().filter_map(|(name, label)| {
        let is_left = !score_row(name).is_some_and(|row| row.of_links);
        let shown = best.score(name).filter(|_| of_links || is_left)?;
        Some(format!("{label} {}", value(name, shown)))
    });
    let paper: Vec<String> = paper.filter(|_| with_paper).collect();
    let mut lines = Vec::new();
    if !paper.is_empty() {
        lines.push(format!("MAPA      {} GB/s", paper.join(", ")));
    }
    let others = best.scores().filter(|(name, _)| {
        PAPER.iter().all(|(paper, _)| paper != name) && is_shown(name, best.placement())
    });
    lines.extend(others.map(|(name, amount)| format!("score     {name} {}", value(name, amount))));
    lines
}

/// The paper's scores, and how the paper calls them.
const PAPER: [(&str, &str); 3] = [
    ("aggregate_gbps", "AggBW (Eq. 1)"),
    ("effective_gbps", "EffBW (Eq. 2)"),
    ("preserved_gbps", "PreservedBW (Eq. 3)"),
];

/// Whether a score says something that the headline does not say: packings are the headline, and
/// what decides among equals is told in explanations.
fn is_shown(name: &str, placement: &Placement) -> bool {
    let is_told = score_row(name).is_some_and(|row| !row.of_one_device || row.decides_ties);
    !is_told && is_defined(name, placement)
}

/// The links between the devices of a placement.
pub(super) fn links_of(
    scored: &Scored,
    pattern: &Pattern,
    graph: &HardwareGraph,
    labels: &Labels,
) -> String {
    links_text(pattern, scored.placement(), graph, labels)
}

/// Prints the runners-up, and on which score each lost.
fn explain(
    decision: &Decision,
    choice: &ModelChoice,
    view: &View<'_>,
    link_labels: &Labels,
    output: &mut Output,
) -> Result<(), Failure> {
    let graph = view.graph();
    let best = decision.best();
    let stats = decision.search();
    output.line("")?;
    let rest = match stats.stopped {
        StopReason::Exhausted => "No other placement is better".to_owned(),
        stopped => format!("Others may be better: {}", stopped.because()),
    };
    output.line(format_args!(
        "{rest}. The best, and the best on other devices:"
    ))?;
    let mut rows = table(["", "devices", "GB/s", "links", "why not"], [2]);
    let row = |place: usize, scored: &Scored, why: String| {
        // Sets are compared here, so each is listed by ids and not by ranks.
        let ids: Vec<DeviceId> = scored.placement().set().iter().collect();
        let expected = Bandwidth::of(choice, decision.pattern(), scored, view).bandwidth_gbps;
        [
            place.to_string(),
            labels(&ids, graph),
            expected.map_or("-".to_owned(), gbps),
            links_of(scored, decision.pattern(), graph, link_labels),
            why,
        ]
    };
    rows.add_row(row(1, best, "chosen".to_owned()));
    for (place, other) in (2..).zip(decision.runners_up()) {
        rows.add_row(row(place, &other.scored, why_not(other, best)));
    }
    output.line(rows)?;
    if decision.runners_up().is_empty() {
        let why = if stats.complete() {
            "is possible"
        } else {
            "was considered"
        };
        output.line(format_args!("No other set of devices {why}."))?;
    }
    // Only what the table names is defined below it.
    let lost_on = |name: &&str| {
        let mut others = decision.runners_up().iter();
        others.any(|other| other.lost_on.as_deref() == Some(*name))
    };
    let named = best.scores().map(|(name, _)| name).filter(lost_on);
    for line in named.filter_map(meaning) {
        output.line(format_args!("  {line}"))?;
    }
    Ok(())
}

/// Why a runner-up was not chosen: the first score on which it lost.
fn why_not(other: &RunnerUp, best: &Scored) -> String {
    let Some(name) = &other.lost_on else {
        return "as good, but higher ids".to_owned();
    };
    match other.scored.score(name).zip(best.score(name)) {
        Some((a, b)) => format!(
            "{name} {} against {}",
            score_text(name, a),
            score_text(name, b)
        ),
        None => name.to_string(),
    }
}

/// What a score means.
fn meaning(name: &str) -> Option<&'static str> {
    let meaning = score_row(name)?.meaning;
    (!meaning.is_empty()).then_some(meaning)
}
