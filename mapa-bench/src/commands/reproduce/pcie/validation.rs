//! The simulator beside real processes, as the paper holds its own beside its testbed.

use indicatif::ProgressBar;
use mapa_core::mig::Size;
use mapa_regress::published::correlation;
use mapa_sim::{Simulation, mean_interval};
use serde_json::json;

use super::super::Plan;
use super::super::claim::{Claim, Verdict, mean_pm, number};
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

/// How many of the job files processes run.
const FILES: usize = 10;
const RULE: &str = "mean over files, at least 0.95";
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

/// A file under a scheduler: by each physics.
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

/// How far one series follows the other; not a number of a single pair.
fn follows(pairs: &[(f64, f64)]) -> f64 {
    correlation(pairs).unwrap_or(f64::NAN)
}

pub(super) fn section(plan: &Plan, bar: &ProgressBar) -> Result<Section, Failure> {
    let seeds: Vec<u64> = plan.seeds().take(FILES).collect();
    let mut section = Section::new("validation", "The simulator beside real processes");
    section.timed = true;
    let mut rows = Vec::new();
    let mut dots = Vec::new();
    for chooser in Chooser::ALL {
        // Of each physics: the jobs of all shares together, file by file.
        let mut all: [Vec<Beside>; 2] = Default::default();
        all.iter_mut().for_each(|files| files.resize_with(seeds.len(), Beside::default));
        for share in SHARES {
            let setting = Setting { share, ..FIXED };
            let mut files: [Vec<Beside>; 2] = Default::default();
            for (at, &seed) in seeds.iter().enumerate() {
                bar.set_message(format!(
                    "processes: {}, {share} %, file {} of {}",
                    chooser.name(),
                    at + 1,
                    seeds.len()
                ));
                for ((files, all), own) in files.iter_mut().zip(&mut all).zip(one(&setting, chooser, seed)?) {
                    all[at].pairs.extend(&own.pairs);
                    all[at].retraced.extend(&own.retraced);
                    files.push(own);
                }
            }
            for (physics, files) in Physics::ALL.into_iter().zip(&files) {
                let over = |of: &dyn Fn(&Beside) -> f64| files.iter().map(of).collect::<Vec<f64>>();
                let correlations = [over(&|own| follows(&own.pairs)), over(&|own| follows(&own.retraced))];
                let means = [
                    over(&|own| mean(own.pairs.iter().map(|pair| pair.0))),
                    over(&|own| mean(own.pairs.iter().map(|pair| pair.1))),
                    over(&|own| mean(own.hindsight.iter().copied())),
                ];
                let lowest = correlations[0].iter().copied().fold(f64::INFINITY, f64::min);
                let words = [chooser.name().to_owned(), format!("{share} %"), physics.name().to_owned()];
                let [itself, given] = correlations.each_ref().map(|own| mean_pm(mean_interval(own)));
                let cells = [itself, number(lowest), given].into_iter();
                let cells = cells.chain(means.iter().map(|own| number(mean(own.iter().copied()))));
                section.numbers.insert(
                    words.join(", "),
                    json!({ "correlation": correlations[0], "retraced": correlations[1], "first_file": files[0].pairs }),
                );
                rows.push(words.into_iter().chain(cells).collect::<Vec<_>>());
            }
        }
        for (physics, files) in Physics::ALL.into_iter().zip(&all) {
            let of =
                |of: fn(&Beside) -> &Vec<(f64, f64)>| files.iter().map(|own| follows(of(own))).collect::<Vec<f64>>();
            let decisions = [
                ("choosing for itself", of(|own| &own.pairs)),
                ("given the processes' decisions", of(|own| &own.retraced)),
            ];
            section = section.claims(decisions.map(|(how, found)| {
                let found = mean_interval(&found);
                let names = format!("{}, {}, {how}", chooser.name(), physics.name());
                let what = format!("{names}: simulated completion times correlate with those of processes");
                let claim = Claim::new(what, "0.99 with the testbed", ASSUMES);
                claim.found(number(found.mean), Some(found), RULE, Verdict::at_least(found, 0.95))
            }));
        }
        let [_, max_min] = all;
        let first = max_min.into_iter().next().unwrap_or_default();
        dots.push((chooser.name(), colour(chooser.name()), first.pairs));
    }
    Ok(section
        .text(format!(
            "A process a job, a token bucket a port. Jobs of the first {} files at 20, 40 and 60 %, load 0.6; seconds from arrival to end, job by \
             job. The paper's figure is of a simulator that chooses for itself: once a job ends before another that simulation has end later, what follows is \
             another schedule. Given the decisions that were taken among the processes, only the physics differ (retraced). Their starts, and so their \
             waits, are then given, too. A correlation is of a file's jobs, in rows at one share, in claims at all three; intervals are over files. \
             Of one file alone the correlation changes between runs: this section once took the first file only, and first-gpu's, choosing for \
             itself, came out between 0.936 and 0.960, on either side of the limit; so ten are taken. \
             The last column is not troubled by schedules that part ways: what a PCIe-bound process would have done by the physics in the time it took, \
             beside those that really ran there, over its work, the mean; 1 if the physics is that of the processes.",
            seeds.len()
        ))
        .table(
            ["scheduler", "PCIe-bound", "physics", "correlation", "lowest of a file", "retraced", "simulated, mean s", "processes, mean s", "done over work"],
            rows,
        )
        .picture(
            "validation.svg",
            pairs(dots, "Completion times: simulated by max-min, and of processes", "simulated, s", "processes, s"),
            "Completion times of processes over simulated ones, job by job, both schedulers, first file",
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
