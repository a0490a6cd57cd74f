//! The simulator beside real processes, as the paper compares its simulator with its testbed.

use mapa_core::mig::Size;
use mapa_lab::progress::Progress;
use mapa_regress::published::correlation;
use mapa_sim::{Simulation, mean_interval};
use serde::Serialize;

use super::colours::colour;
use super::hindsight::{RanJob, by_gpu};
use super::jobs::draw;
use super::machine::PcieFleet;
use super::setting::{FIXED, PcieChooser, PcieSetting, PortSharing, SHARES};
use super::trials::simulate;
use crate::workers::{Retrace, Settings, completion_times, copy_throughput, replay};
use mapa_front::Error;
use mapa_lab::claim::{Claim, Verdict, mean_pm, number};
use mapa_lab::picture::pairs;
use mapa_lab::plan::Plan;
use mapa_lab::report::Section;

/// Wall-clock seconds for a second of the model: a job of 50 s takes one.
const PACE: f64 = 0.02;

/// The number of job files that processes run.
const FILES: usize = 10;
const RULE: &str = "mean over files, at least 0.95";
const ASSUMES: &[usize] = &[2, 3, 4, 7];

/// A file under a scheduler, by processes and by a physics.
#[derive(Default)]
struct ComparedFile {
    /// Seconds from arrival to end, job by job: simulated, and of processes.
    pairs: Vec<(f64, f64)>,
    /// Seconds from arrival to end, job by job, where the simulation repeats the decisions that
    /// were taken for the processes instead of its own.
    retraced: Vec<(f64, f64)>,
    /// For each PCIe-bound process: the work that the physics predicts for the time it took, beside
    /// the processes that ran on its GPU, over its work. It is 1 if the processes follow the
    /// physics.
    hindsight: Vec<f64>,
}

/// Runs a file with processes, and compares the run with each physics.
fn one(setting: &PcieSetting, chooser: PcieChooser, seed: u64) -> Result<[ComparedFile; 2], Error> {
    let machines = PcieFleet::of(setting)?;
    let jobs = draw(setting, seed);
    let settings = Settings {
        pace: PACE,
        ..Settings::default()
    };
    let real = replay(
        &jobs,
        machines.fleet.clone(),
        &mut chooser.scheduler(setting),
        &settings,
    )?;
    let gpus = by_gpu(&machines.fleet, &jobs, &real.runs);
    let [eq_2, max_min] = PortSharing::ALL.map(|physics| -> Result<ComparedFile, Error> {
        let simulated = simulate(
            &PcieSetting {
                physics,
                ..*setting
            },
            &machines,
            &jobs,
            chooser,
        )?;
        let again = Simulation::new(&jobs, machines.fleet.clone());
        let again = again
            .run(&mut Retrace::new(&real), &*physics.execution(&jobs))
            .map_err(Error::malformed)?;
        let [pairs, retraced] =
            [&simulated, &again].map(|simulated| completion_times(&real, simulated));
        Ok(ComparedFile {
            pairs,
            retraced,
            hindsight: gpus
                .iter()
                .flat_map(|gpu| hindsight(gpu, physics))
                .collect(),
        })
    });
    Ok([eq_2?, max_min?])
}

/// [`ComparedFile::hindsight`] of the jobs of a GPU.
fn hindsight(gpu: &[RanJob], physics: PortSharing) -> impl Iterator<Item = f64> + '_ {
    gpu.iter()
        .filter(|ran| ran.kind.is_bound())
        .map(move |ran| ran.done(physics, gpu) / ran.work)
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let n = values.len() as f64;
    values.sum::<f64>() / n
}

/// A number of each file.
fn per_file(files: &[ComparedFile], of: impl Fn(&ComparedFile) -> f64) -> Vec<f64> {
    files.iter().map(of).collect()
}

/// The correlation of two series; NaN for a single pair.
fn follows(pairs: &[(f64, f64)]) -> f64 {
    correlation(pairs).unwrap_or(f64::NAN)
}

/// How simulations follow processes: correlations by file, and the times of the first file's jobs.
#[derive(Serialize)]
struct Followed<'a> {
    correlation: &'a [f64],
    retraced: &'a [f64],
    first_file: &'a [(f64, f64)],
}

// Long, because it writes one section of a report in the order of the text: the tables, then the claims that they support.
pub(super) fn section(plan: &Plan, bar: &dyn Progress) -> Result<Section, Error> {
    let seeds: Vec<u64> = plan.seeds().take(FILES).collect();
    let mut section = Section::new("validation", "The simulator beside real processes");
    section.timed = true;
    let mut rows = Vec::new();
    let mut dots = Vec::new();
    for chooser in PcieChooser::ALL {
        // For each physics, the jobs of all shares together, file by file.
        let mut all: [Vec<ComparedFile>; 2] = Default::default();
        all.iter_mut()
            .for_each(|files| files.resize_with(seeds.len(), ComparedFile::default));
        for share in SHARES {
            let setting = PcieSetting { share, ..FIXED };
            let mut files: [Vec<ComparedFile>; 2] = Default::default();
            for (at, &seed) in seeds.iter().enumerate() {
                bar.doing(&format!(
                    "processes: {}, {share} %, file {} of {}",
                    chooser.name(),
                    at + 1,
                    seeds.len()
                ));
                for ((files, all), neighbour) in files
                    .iter_mut()
                    .zip(&mut all)
                    .zip(one(&setting, chooser, seed)?)
                {
                    all[at].pairs.extend(&neighbour.pairs);
                    all[at].retraced.extend(&neighbour.retraced);
                    files.push(neighbour);
                }
            }
            for (physics, files) in PortSharing::ALL.into_iter().zip(&files) {
                let correlations = [
                    per_file(files, |neighbour| follows(&neighbour.pairs)),
                    per_file(files, |neighbour| follows(&neighbour.retraced)),
                ];
                let means = [
                    per_file(files, |neighbour| {
                        mean(neighbour.pairs.iter().map(|pair| pair.0))
                    }),
                    per_file(files, |neighbour| {
                        mean(neighbour.pairs.iter().map(|pair| pair.1))
                    }),
                    per_file(files, |neighbour| mean(neighbour.hindsight.iter().copied())),
                ];
                let lowest = correlations[0]
                    .iter()
                    .copied()
                    .fold(f64::INFINITY, f64::min);
                let words = [
                    chooser.name().to_owned(),
                    format!("{share} %"),
                    physics.name().to_owned(),
                ];
                let [itself, given] = correlations
                    .each_ref()
                    .map(|values| mean_pm(mean_interval(values)));
                let cells = [itself, number(lowest), given].into_iter();
                let cells = cells.chain(
                    means
                        .iter()
                        .map(|values| number(mean(values.iter().copied()))),
                );
                section.insert(
                    words.join(", "),
                    Followed {
                        correlation: &correlations[0],
                        retraced: &correlations[1],
                        first_file: &files[0].pairs,
                    },
                );
                rows.push(words.into_iter().chain(cells).collect::<Vec<_>>());
            }
        }
        for (physics, files) in PortSharing::ALL.into_iter().zip(&all) {
            let decisions = [
                (
                    "choosing for itself",
                    per_file(files, |neighbour| follows(&neighbour.pairs)),
                ),
                (
                    "given the processes' decisions",
                    per_file(files, |neighbour| follows(&neighbour.retraced)),
                ),
            ];
            section = section.claims(decisions.map(|(how, found)| {
                let found = mean_interval(&found);
                let names = format!("{}, {}, {how}", chooser.name(), physics.name());
                let what = format!(
                    "{names}: simulated completion times correlate with those of processes"
                );
                let claim = Claim::new(what, "0.99 with the testbed", ASSUMES);
                let verdict = Verdict::at_least(found, 0.95);
                // The token bucket shares a port max-min fairly, so it cannot contradict max-min.
                let verdict = match physics {
                    PortSharing::MaxMin => verdict.by_construction(),
                    PortSharing::EqualShare => verdict,
                };
                claim.found(number(found.mean), Some(found), RULE, verdict)
            }));
        }
        let [_, max_min] = all;
        let first = max_min.into_iter().next().unwrap_or_default();
        dots.push((chooser.name(), colour(chooser.name()), first.pairs));
    }
    Ok(section
        .text(format!(
            "One process for each job, one token bucket for each port. The bucket shares a port max-min fairly, so against max-min the processes \
             show that the simulator is right, and nothing about GPUs. Jobs of the first {} files at 20, 40 and 60 %, load 0.6; seconds from arrival \
             to end, job by job. The paper's figure is about a simulator that chooses for itself. As soon as two jobs end in another order than in \
             the simulation, the schedules differ. Retraced means that the simulation repeats the decisions that were taken for the processes, \
             so that only the physics differ; starts and waits are then given too. Correlations are over the jobs of a file, at one share in rows, at \
             all three in claims; intervals are over files. The correlation of a single file changes between runs: with the first file alone, that \
             of first-gpu, choosing for itself, was between 0.936 and 0.960, on both sides of the limit. So ten files are taken, each run once: intervals cover what changes between runs. The last column \
             does not depend on the order of ends: for each PCIe-bound process it is the work that the physics predicts for the time it took, beside \
             the processes that ran on its GPU, over its work; the mean. It is 1 if the processes follow the physics.",
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

/// Fig. 1, by processes that copy memory.
pub(super) fn copies(bar: &dyn Progress) -> Result<Section, Error> {
    bar.doing("copies of processes");
    let fleet = PcieFleet::of_all_sizes()?;
    let [one, two, three] = [Size::new(1, 1), Size::new(2, 2), Size::new(3, 4)];
    let settings = Settings {
        pace: 3.0,
        ..Settings::default()
    };
    let mut section = Section::new("fig-1-processes", "Fig. 1 by processes");
    section.timed = true;
    let mut rows = Vec::new();
    let mut apart: f64 = 1.0;
    for sizes in [
        vec![one],
        vec![two],
        vec![three],
        vec![one, two],
        vec![one, three],
        vec![two, three],
        vec![one, two, three],
    ] {
        let gbps = copy_throughput(&fleet, &sizes, 5.0, &settings)?;
        let [low, high] =
            [f64::min, f64::max].map(|of| gbps.iter().copied().reduce(of).unwrap_or_default());
        apart = apart.max(high / low);
        let names: Vec<String> = sizes
            .iter()
            .map(|size| format!("{}g", size.compute))
            .collect();
        let told: Vec<String> = gbps.iter().map(|gbp| number(*gbp)).collect();
        section.insert(names.join(" + "), gbps);
        rows.push(vec![names.join(" + "), told.join(", ")]);
    }
    let claim = Claim::new(
        "copies on slices of different sizes get the same",
        "the same",
        &[7],
    );
    let told = format!("at most {} times another's", number(apart));
    Ok(section
        .claims([claim.found(told, None, "one run, within 10 %", Verdict::of(apart <= 1.1).by_construction())])
        .text(
            "Processes that copy 5 GB each (scaled) through the bucket of one port, GB/s of the model. The bucket does not know sizes, so this \
             shows that processes share as the physics assume, not that GPUs do.",
        )
        .table(["at once", "GB/s of each"], rows))
}
