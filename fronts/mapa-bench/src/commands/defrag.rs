//! `defrag`: the loss to fragmentation, and which jobs to move.

use mapa_core::HardwareGraph;
use mapa_front::answer::defrag::Defrag as Answer;
use mapa_sched::{Defragmented, Plan, Target};

use crate::cli::DefragArgs;
use mapa_cli::Failure;
use mapa_cli::Output;
use mapa_cli::files::LocalFiles;
use mapa_cli::load;
use mapa_front::DeviceName;
use mapa_front::answer::{is_defined, labels};
use mapa_front::commands::{DefragRequest, RunningJobs};
use mapa_front::text::{counted, gbps, table};

/// The devices of a placement, preceded by its server if there are several.
fn place(target: &Target, graph: &HardwareGraph, servers: u32) -> String {
    let devices = labels(&target.placement, graph);
    if servers > 1 {
        format!("{}/{devices}", target.machine)
    } else {
        devices
    }
}

pub(crate) fn defrag(args: &DefragArgs, output: &mut Output) -> Result<(), Failure> {
    let loaded = load(&args.machine, output)?;
    let graph = loaded.graph();
    let request = DefragRequest {
        machine: args.machine.spec(),
        servers: args.servers,
        jobs: args.job.clone(),
        state: args.state.clone(),
        busy: DeviceName::of_texts(&args.busy),
        pin: args.pin.clone(),
        want: args.want.clone(),
        at_least: args.at_least,
        score: args.score.into(),
        may_lose: args.may_lose,
        max_nodes: args.max_nodes,
    };
    let outcome = request.outcome(&LocalFiles, &loaded)?;
    let (jobs, answer) = (&outcome.jobs, outcome.answer);
    if output.json && answer.refusal.is_none() {
        return output.object(&answer);
    }
    if output.json {
        // The refusal stands among the keys of the other answers.
        return Err(Failure::no_fit(&answer));
    }
    // Only jobs on whole devices move, so free instances are no room for them.
    let free: usize = jobs
        .machines
        .iter()
        .map(|machine| (&graph.wholes() & machine.view().free()).len())
        .sum();
    let servers = if args.servers > 1 {
        format!("{} servers, ", args.servers)
    } else {
        String::new()
    };
    output.line(format_args!(
        "machine  {}: {servers}{} jobs, {free} devices free",
        loaded.machine.name,
        jobs.count()
    ))?;
    print_lost(&answer, args.score.words(), output)?;
    let Some((want, found)) = answer.wanted.as_ref().zip(outcome.found) else {
        return Ok(());
    };
    output.line(format_args!(
        "\nwanted   {}: at least {} GB/s; now {}, idle {}",
        want.pattern,
        gbps(want.at_least),
        reached(want.now),
        reached(want.idle)
    ))?;
    match found {
        Defragmented::Already(target) => output.line(format_args!(
            "Nothing to move: {} on {}.",
            gbps(target.score),
            place(&target, graph, args.servers)
        )),
        Defragmented::By(plan) => {
            let gain = answer.gain_per_move.unwrap_or_default();
            print_plan(&plan, gain, (jobs, graph, args.servers), output)
        }
        _ => Err(Failure::no_fit(&answer.refused())),
    }
}

/// The best score of a pattern; `no room` if it has no placement.
fn reached(score: Option<f64>) -> String {
    score.map_or("no room".to_owned(), gbps)
}

fn print_lost(answer: &Answer, score: &str, output: &mut Output) -> Result<(), Failure> {
    let mut rows = table(["ring of", "now, GB/s", "idle, GB/s", "kept"], 0..=3);
    for ring in &answer.rings {
        let kept = match (ring.now, ring.idle) {
            // A ring that has no bandwidth on the idle machine keeps no share of it.
            (Some(now), Some(idle)) if idle > 0.0 => format!("{:.0} %", 100.0 * now / idle),
            _ => "-".to_owned(),
        };
        rows.add_row([
            ring.devices.to_string(),
            reached(ring.now),
            reached(ring.idle),
            kept,
        ]);
    }
    output.line(format_args!(
        "{rows}\nThe best ring on the devices that are free now, and on the idle machine, by {score}."
    ))
}

fn print_plan(
    plan: &Plan,
    gain: f64,
    (jobs, graph, servers): (&RunningJobs, &HardwareGraph, u32),
    output: &mut Output,
) -> Result<(), Failure> {
    let mut rows = table(
        [
            "step",
            "job",
            "from",
            "to",
            "before, GB/s",
            "after",
            "then wanted",
        ],
        [0, 4, 5, 6],
    );
    for (i, step) in plan.moves.iter().enumerate() {
        let aside = if step.aside { " (steps aside)" } else { "" };
        rows.add_row([
            (i + 1).to_string(),
            jobs.name(step.job).to_owned(),
            place(&step.from, graph, servers),
            place(&step.to, graph, servers) + aside,
            own_score(&step.from),
            own_score(&step.to),
            reached(step.reach),
        ]);
    }
    output.line(rows)?;
    output.line("Before and after: the bandwidth of the job's own placement.")?;
    output.line(format_args!(
        "Room on {}: {}, a gain of {} per move; {}, {}, {}.{}",
        place(&plan.target, graph, servers),
        gbps(plan.target.score),
        gbps(gain),
        counted(plan.jobs, "job"),
        counted(plan.moves.len(), "move"),
        counted(plan.devices, "device"),
        if plan.complete {
            ""
        } else {
            " The search stopped early: a better plan may exist."
        }
    ))
}

/// The score of a job's own placement; `-` for one device, which has no collective bandwidth.
fn own_score(target: &Target) -> String {
    // Ring packing is asked under every score: one device has no bandwidth by any of them.
    if is_defined("ring_packing_gbps", &target.placement) {
        gbps(target.score)
    } else {
        "-".to_owned()
    }
}
