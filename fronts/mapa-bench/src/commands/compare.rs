//! `compare`: the choices of all policies for one request.

use mapa_core::{Candidate, ModelUse, Objective, Policy, Sensitivity, ring_packing_gbps};

use super::allocate::links;
use crate::cli::{CompareArgs, job_spec};
use crate::failure::Failure;
use crate::files::Disk;
use crate::machine::load;
use crate::names::NAMES;
use crate::output::Output;
use mapa_front::answer::compare::{Chosen, Compared, Comparison};
use mapa_front::answer::{Decision, Refusal, is_defined, labels};
use mapa_front::names::Choice;
use mapa_front::request::with_busy;
use mapa_front::text::{gbps, seconds, table};
use mapa_front::{DeviceName, Step};

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
    let model = args
        .model
        .as_ref()
        .map(|word| NAMES.model(word, None, &Disk))
        .transpose()?;
    let knows_traffic = job.fastest().is_some();
    let time = if job.parallel.is_some() {
        "step, s"
    } else {
        "slowest edge, s"
    };
    let step_column = knows_traffic.then_some(time);
    let model_column = model.as_ref().map(|_| "model");
    let header = [
        "policy",
        "devices",
        "links",
        "aggregate",
        "effective",
        "preserved",
        "ring packing",
    ];
    let mut rows = table(
        header.into_iter().chain(model_column).chain(step_column),
        3..=8,
    );
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
                let mut row = vec![name.to_owned(), ranks, links(best)];
                row.extend(scores.map(|name| best.score(name).map_or("-".to_owned(), gbps)));
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
                let shown = |value: Option<f64>| value.map_or("-".to_owned(), gbps);
                row.push(shown(packed));
                row.extend(modelled.map(shown));
                row.extend(step.as_ref().map(|step| seconds(step.seconds)));
                rows.add_row(row);
                list.push(Compared::Chosen(Box::new(Chosen {
                    decision: Decision::new(&decision, graph),
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
        job.ranks, words.pattern
    ))?;
    output.line(rows)?;
    output.line(
        "Devices in rank order. Scores in GB/s: Eq. 1 (sum of links), Eq. 2 (predicted), Eq. 3 (left free).",
    )?;
    output.line(
        "Ring packing: bandwidth of a packing of rings on these devices, with links at nominal bandwidth, GB/s.",
    )?;
    if let Some(word) = &args.model {
        output.line(format_args!(
            "Model: prediction of {word} for the devices of every policy, GB/s. Only preserve (for \
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
