//! The simulator beside real processes, as the paper holds its own beside its testbed.

use indicatif::ProgressBar;
use mapa_core::mig::Size;
use mapa_regress::published::correlation;
use mapa_sim::Simulation;
use serde_json::json;

use super::super::Plan;
use super::super::claim::{Claim, Verdict, number};
use super::super::picture::{colour, pairs};
use super::super::report::Section;
use super::hindsight::{Ran, by_gpu};
use super::jobs::draw;
use super::machine::Machines;
use super::setting::{Chooser, FIXED, Physics, SHARES, Setting};
use super::trials::simulate;
use crate::failure::Failure;
use crate::workers::{Retrace, Settings, completion_times, copy_throughput, replay};

/// Real seconds for a second of the model: a job of 50 s really takes one.
const PACE: f64 = 0.02;

const RULE: &str = "correlation of one run, at least 0.95";
const ASSUMES: &[usize] = &[2, 3, 4, 7];

/// What came of a file under a scheduler, by processes, beside what a physics says.
#[derive(Default)]
struct Beside {
    /// Seconds from arrival to end, simulated and of processes, job by job.
    pairs: Vec<(f64, f64)>,
    /// The same where the simulation takes the decisions that were taken among processes, rather than its own.
    retraced: Vec<(f64, f64)>,
    /// What each PCIe-bound process would have done by the physics in the time it took, beside those that really ran there, over its
    /// work: 1 if the physics is theirs.
    hindsight: Vec<f64>,
}

/// The first file under a scheduler: by each physics.
fn one(setting: &Setting, chooser: Chooser, seed: u64) -> Result<[Beside; 2], Failure> {
    let machines = Machines::of(setting)?;
    let jobs = draw(setting, seed);
    let settings = Settings { pace: PACE, ..Settings::default() };
    let real = replay(&jobs, machines.fleet.clone(), &mut chooser.scheduler(setting), &settings)?;
    let gpus = by_gpu(&machines.fleet, &jobs, &real.runs);
    let by = |physics| -> Result<Beside, Failure> {
        let simulated = simulate(&Setting { physics, ..*setting }, &machines, &jobs, chooser)?;
        let done = |there: &Vec<Ran>| -> Vec<f64> {
            let bound = there.iter().filter(|own| own.kind.is_bound());
            bound.map(|own| own.done(physics, there) / own.work).collect()
        };
        let again = Simulation::new(&jobs, machines.fleet.clone());
        let again = again.run(&mut Retrace::new(&real), &*physics.execution(&jobs)).map_err(Failure::malformed)?;
        let [pairs, retraced] = [&simulated, &again].map(|simulated| completion_times(&real, simulated));
        Ok(Beside { pairs, retraced, hindsight: gpus.iter().flat_map(done).collect() })
    };
    let [eq_2, max_min] = Physics::ALL.map(by);
    Ok([eq_2?, max_min?])
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let n = values.len() as f64;
    values.sum::<f64>() / n
}

pub(super) fn section(plan: &Plan, bar: &ProgressBar) -> Result<Section, Failure> {
    let seed = plan.seeds().next().unwrap_or_default();
    let mut section = Section::new("validation", "The simulator beside real processes");
    section.timed = true;
    let mut rows = Vec::new();
    let mut dots = Vec::new();
    for chooser in Chooser::ALL {
        let mut all: [Beside; 2] = Default::default();
        for share in SHARES {
            let setting = Setting { share, ..FIXED };
            bar.set_message(format!("processes: {}, {share} %", chooser.name()));
            let own = one(&setting, chooser, seed)?;
            for (physics, own) in Physics::ALL.into_iter().zip(&own) {
                let cells = [
                    correlation(&own.pairs).unwrap_or(f64::NAN),
                    correlation(&own.retraced).unwrap_or(f64::NAN),
                    mean(own.pairs.iter().map(|pair| pair.0)),
                    mean(own.pairs.iter().map(|pair| pair.1)),
                    mean(own.hindsight.iter().copied()),
                ];
                let words = [chooser.name().to_owned(), format!("{share} %"), physics.name().to_owned()];
                section.numbers.insert(
                    words.join(", "),
                    json!({ "pairs": own.pairs, "retraced": own.retraced, "done": own.hindsight }),
                );
                rows.push(words.into_iter().chain(cells.map(number)).collect::<Vec<_>>());
            }
            for (all, own) in all.iter_mut().zip(own) {
                all.pairs.extend(own.pairs);
                all.retraced.extend(own.retraced);
            }
        }
        for (physics, own) in Physics::ALL.into_iter().zip(&all) {
            let decisions = [("choosing for itself", &own.pairs), ("given the processes' decisions", &own.retraced)];
            section = section.claims(decisions.map(|(how, pairs)| {
                let found = correlation(pairs).unwrap_or(f64::NAN);
                let names = format!("{}, {}, {how}", chooser.name(), physics.name());
                let what = format!("{names}: simulated completion times correlate with those of processes");
                let claim = Claim::new(what, "0.99 with the testbed", ASSUMES);
                claim.found(number(found), None, RULE, Verdict::of(found >= 0.95))
            }));
        }
        let [_, max_min] = all;
        dots.push((chooser.name(), colour(chooser.name()), max_min.pairs));
    }
    Ok(section
        .text(
            "A process a job, a token bucket a port. Jobs of the first file at 20, 40 and 60 %, load 0.6; seconds from arrival to end, job by \
             job. The paper's figure is of a simulator that chooses for itself: once a job ends before another that simulation has end later, what follows is \
             another schedule. Given the decisions that were taken among the processes, only the physics differ (retraced). Their starts, and so their waits, are then given, too. Rows are of single files, claims of all three: a single row may be below \
             what is claimed of all. Nor is the last column troubled by schedules that part ways: what a PCIe-bound process would have done by the physics in the time it took, \
             beside those that really ran there, over its work, the mean; 1 if the physics is that of the processes.",
        )
        .table(["scheduler", "PCIe-bound", "physics", "correlation", "retraced", "simulated, mean s", "processes, mean s", "done over work"], rows)
        .picture(
            "validation.svg",
            pairs(dots, "Completion times: simulated by max-min, and of processes", "simulated, s", "processes, s"),
            "Completion times of processes over simulated ones, job by job, both schedulers",
        ))
}

/// Fig. 1 by real copies.
pub(super) fn copies(bar: &ProgressBar) -> Result<Section, Failure> {
    bar.set_message("copies of processes");
    let fleet = Machines::of_all_sizes()?;
    let [one, two, three] = [Size::new(1, 1), Size::new(2, 2), Size::new(3, 4)];
    let settings = Settings { pace: 3.0, ..Settings::default() };
    let mut section = Section::new("fig-1-processes", "Fig. 1 by processes");
    section.timed = true;
    let mut rows = Vec::new();
    let mut apart: f64 = 1.0;
    for sizes in
        [vec![one], vec![two], vec![three], vec![one, two], vec![one, three], vec![two, three], vec![one, two, three]]
    {
        let gbps = copy_throughput(&fleet, &sizes, 5.0, &settings)?;
        let [low, high] = [f64::min, f64::max].map(|of| gbps.iter().copied().reduce(of).unwrap_or_default());
        apart = apart.max(high / low);
        let names: Vec<String> = sizes.iter().map(|size| format!("{}g", size.compute)).collect();
        let told: Vec<String> = gbps.iter().map(|own| number(*own)).collect();
        section.numbers.insert(names.join(" + "), json!(gbps));
        rows.push(vec![names.join(" + "), told.join(", ")]);
    }
    let claim = Claim::new("copies on slices of different sizes get the same", "the same", &[7]);
    let told = format!("at most {} times another's", number(apart));
    Ok(section
        .claims([claim.found(told, None, "one run, within 10 %", Verdict::of(apart <= 1.1))])
        .text(
            "Processes that copy 5 GB each (scaled) through the bucket of one port, GB/s of the model. The bucket knows no sizes: this shows \
             that processes do share as the physics assume, not that GPUs do.",
        )
        .table(["at once", "GB/s of each"], rows))
}
