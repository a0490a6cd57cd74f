//! `compare`: the choices of all policies for one request.

use mapa_core::{Candidate, ModelUse, Objective, Policy, Sensitivity, ring_packing_gbps};

use super::allocate::links_of;
use crate::cli::{CompareArgs, job_spec};
use crate::names::NAMES;
use mapa_cli::Failure;
use mapa_cli::Output;
use mapa_cli::files::Disk;
use mapa_cli::load;
use mapa_front::answer::compare::{Chosen, Compared, Comparison};
use mapa_front::answer::{Bandwidth, Decision, Refusal, is_defined, labels, model_text};
use mapa_front::names::Choice;
use mapa_front::request::with_busy;
use mapa_front::text::{gbps, seconds, table};
use mapa_front::{DeviceName, Step, told_by};

pub(crate) fn compare(args: &CompareArgs, output: &mut Output) -> Result<(), Failure> {
    let loaded = load(&args.machine, output)?;
    let graph = loaded.graph();
    let spec = job_spec(&args.job, &args.uses, &args.constraints, args.sensitive);
    let job = spec.job(&Disk)?;
    let sensitivity = job.sensitivity(args.sensitive);
    let request = spec.request(&job, graph)?;
    let state = with_busy(&loaded.idle, &DeviceName::of_texts(&args.constraints.busy))?;
    let view = state.view();
    // For whole devices that are not shared, the policies for instances have no preference.
    let all = args.job.slice.is_some() || args.uses.shared;
    let scores = ["aggregate_gbps", "effective_gbps", "preserved_gbps"];
    let model = args.model.as_ref();
    let model = model.map(|own| own.load(&NAMES, None, &Disk)).transpose()?;
    let told = told_by(None, &request.pattern, graph);
    let knows_traffic = job.fastest().is_some();
    let time = if job.parallel.is_some() {
        "step, s"
    } else {
        "slowest edge, s"
    };
    let step_column = knows_traffic.then_some(time);
    let model_column = model.as_ref().map(|_| "model");
    let header = [
        "policy", "devices", "GB/s", "links", "Eq. 1", "Eq. 2", "Eq. 3",
    ];
    let mut rows = table(
        header.into_iter().chain(model_column).chain(step_column),
        [2, 4, 5, 6, 7, 8],
    );
    let mut is_marked = false;
    let rings = ring_packing_gbps();
    let mut list = Vec::new();
    let mut compared: Vec<Box<dyn Policy>> = Vec::new();
    for row in NAMES
        .policies
        .iter()
        .filter(|row| (all || !row.for_instances) && (knows_traffic || !row.needs_traffic))
    {
        let choice = Choice {
            model: model.as_ref().filter(|_| row.model != ModelUse::Never),
            job: Some(&job),
            ..Choice::default()
        };
        compared.push(NAMES.policy(&row.name, &choice)?);
    }
    for policy in &compared {
        let name = policy.name();
        match policy.decide(&request, &view) {
            Ok(decision) => {
                let best = decision.best();
                let mut ranks = labels(best.placement(), graph);
                if !decision.search().complete() {
                    ranks += " (search stopped early)";
                }
                let step = Step::of(&job, &decision, graph);
                let bandwidth = Bandwidth::of_decision(&told, &decision, &view);
                let shown = |value: Option<f64>| value.map_or("-".to_owned(), gbps);
                let links = links_of(best, &request.pattern, graph, &loaded.machine.labels);
                let mut row = vec![
                    name.to_owned(),
                    ranks,
                    shown(bandwidth.bandwidth_gbps),
                    links,
                ];
                let outside: Vec<&str> = best.out_of_domain().collect();
                row.extend(scores.map(|name| {
                    let mark = if outside.contains(&name) { "*" } else { "" };
                    is_marked |= !mark.is_empty();
                    best.score(name)
                        .map_or("-".to_owned(), |value| gbps(value) + mark)
                }));
                let candidate = Candidate {
                    view,
                    pattern: decision.pattern(),
                    placement: best.placement(),
                };
                let by = |objective: &Objective<'_>| {
                    is_defined(objective.name(), best.placement())
                        .then(|| objective.score(&candidate))
                };
                let (packed, modelled) =
                    (by(&rings), model.as_ref().map(|model| by(&model.objective)));
                row.extend(modelled.map(shown));
                row.extend(step.as_ref().map(|step| seconds(step.seconds)));
                rows.add_row(row);
                list.push(Compared::Chosen(Box::new(Chosen {
                    decision: Decision::new(&decision, graph),
                    bandwidth,
                    ring_packing_gbps: packed,
                    model_gbps: modelled,
                    times: step.map(|step| step.times()).unwrap_or_default(),
                })));
            }
            Err(why) => {
                rows.add_row([name.to_owned(), format!("{}: {why}", why.kind())]);
                list.push(Compared::Refused {
                    policy: name.to_owned(),
                    refusal: Refusal::from(&why),
                });
            }
        }
    }
    if output.json {
        return output.object(&Comparison { policies: list });
    }
    let sensitive = match sensitivity {
        Sensitivity::Sensitive => "bandwidth-sensitive",
        Sensitivity::Insensitive => "not bandwidth-sensitive",
        Sensitivity::Unknown => "of unknown sensitivity to bandwidth",
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
        "Devices in rank order. GB/s: by {}.",
        model_text(told.objective.name())
    ))?;
    output.line(
        "The paper's scores, GB/s: Eq. 1 (sum of links), Eq. 2 (predicted), Eq. 3 (left free).",
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
