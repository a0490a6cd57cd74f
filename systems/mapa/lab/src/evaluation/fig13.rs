//! Fig. 13: execution times and effective bandwidths of 300 jobs on a DGX-1V, by network and
//! policy.

use std::collections::BTreeMap;

use mapa_front::answer::report::Interval as Bounds;
use mapa_sim::{Interval, mean_interval};

use super::claims::{self, EQ_2, QUARTILES, best_of_three, quartile};
use super::setting::{PACKING, PAPER, RELEASED};
use super::trials::{AllTrials, JobNumber, MapaTrials, Who};
use super::{sentences, speed};
use crate::colours::colour;
use mapa_front::Error;
use mapa_lab::claim::{Claim, bounds, mean_pm, range};
use mapa_lab::picture::{BoxGroup, BoxPlotWords, boxes};
use mapa_lab::report::Section;

const SENSITIVE: [&str; 4] = ["AlexNet", "Inception-v3", "VGG-16", "ResNet-50"];
const INSENSITIVE: [&str; 5] = ["CaffeNet", "GoogleNet", "Cusimann", "GMM", "Jacobi"];

pub(super) fn section(all: &AllTrials) -> Result<Section, Error> {
    let main = all.of("main")?;
    let section = Section::new("fig-13", "Fig. 13: 300 jobs on a DGX-1V")
        .claims(claims::by_eq_2(main))
        .claims(speed::of_throughput(main))
        .claims(tails(main))
        .claims(sentences::of_bandwidths(main))
        .claims(sentences::of_times(main))
        .text(format!(
            "57.85 is Eq. 2 of (2, 1, 0), a ring of three on two double links and a single one: {:.3}, cut off. 12.33 \
             is Eq. 2 of no links, {:.3}: one-GPU jobs are pooled with the others. So claims are judged with and without one-GPU jobs, \
             and for \"all workloads (as shown in Figure 13(c) and (d))\", about which the text says 57.85.",
            best_of_three(),
            mapa_core::Coefficients::FULL.predict(&mapa_core::Census::default())
        ))
        .text(
            "Effective bandwidth (Eq. 2), GB/s: means over files of each file's quartiles, ± half the 95 % \
            interval.",
        );
    let section = bandwidths(section, main);
    let section = times(section, main);
    Ok(pictures(section, main))
}

/// Claims about the 75th percentiles of times in the text, as ratios to lowest-id.
fn tails(trials: &MapaTrials) -> Vec<Claim> {
    let printed = [
        (
            "VGG-16",
            Who::Task("VGG-16"),
            "topo-aware",
            785.0 / 378.0,
            "785 / 378 s",
        ),
        (
            "AlexNet",
            Who::Task("AlexNet"),
            "topo-aware",
            511.0 / 374.0,
            "511 / 374 s",
        ),
        (
            "sensitive jobs",
            Who::Sensitive,
            "topo-aware",
            540.0 / 505.0,
            "540 / 505 s",
        ),
        (
            "sensitive jobs",
            Who::Sensitive,
            "preserve",
            540.0 / 498.0,
            "540 / 498 s",
        ),
    ];
    printed
        .map(|(name, who, policy, ratio, words)| tail(trials, name, who, policy, ratio, words))
        .into()
}

/// The claim that a printed ratio, of one job file, lies among the ratios of our files.
fn tail(
    trials: &MapaTrials,
    name: &str,
    who: Who,
    policy: &str,
    printed: f64,
    words: &str,
) -> Claim {
    let of = |policy| trials.per_file(policy, |trial| trial.spread(who, |job| job.ran)[3]);
    let ratios: Vec<f64> = of("lowest-id")
        .iter()
        .zip(of(policy))
        .map(|(base, value)| base / value)
        .collect();
    let mean = mean_interval(&ratios);
    let (low, high, verdict) = super::table3::among(&ratios, printed);
    let ours = format!(
        "mean {:.3}, its interval {}; 95 % of files beside it",
        mean.mean,
        range(mean.low, mean.high)
    );
    let band = Interval {
        mean: mean.mean,
        low,
        high,
    };
    let what =
        format!("75th percentile of times of {name}: lowest-id over {policy}, one file among ours");
    let claim = Claim::new(
        what,
        format!("{printed:.3} = {words}"),
        claims::time_assumes(trials),
    );
    claim.found(
        ours,
        Some(band),
        "the printed figure, of one file, in the middle 95 % of files",
        verdict,
    )
}

/// Means over files of minimum, quartiles and maximum, as cells and as numbers.
pub(super) fn quartile_cells(
    trials: &MapaTrials,
    name: &str,
    who: Who,
    of: JobNumber,
) -> (Vec<String>, BTreeMap<String, Bounds>) {
    let means = [0, 1, 2, 3, 4]
        .map(|at| mean_interval(&trials.per_file(name, |trial| trial.spread(who, of)[at])));
    let names = ["min", "p25", "p50", "p75", "max"];
    let numbers: BTreeMap<String, Bounds> = names
        .iter()
        .zip(means)
        .map(|(name, mean)| ((*name).to_owned(), bounds(mean)))
        .collect();
    (means.map(mean_pm).into(), numbers)
}

fn bandwidths(mut section: Section, trials: &MapaTrials) -> Section {
    let mut rows = Vec::new();
    let populations = [
        ("sensitive, pooled", Who::Sensitive),
        ("sensitive, 2 GPUs and more", Who::Several),
        ("insensitive", Who::Insensitive),
    ];
    for (population, who) in populations {
        for name in PAPER.iter().chain(&RELEASED).chain(&PACKING) {
            let (cells, numbers) = quartile_cells(trials, name, who, EQ_2.of);
            section.insert(format!("effective_gbps, {population}, {name}"), numbers);
            rows.push(
                [population.to_owned(), (*name).to_owned()]
                    .into_iter()
                    .chain(cells)
                    .collect(),
            );
        }
    }
    for name in PAPER {
        let medians = quartile(trials, name, Who::Sensitive, EQ_2, 2);
        let quarters = quartile(trials, name, Who::Sensitive, EQ_2, 1);
        section.insert(
            format!("per file, {name}"),
            BTreeMap::from([("median", medians), ("p25", quarters)]),
        );
    }
    section.table(["jobs", "policy"].into_iter().chain(QUARTILES), rows)
}

fn times(mut section: Section, trials: &MapaTrials) -> Section {
    let mut rows = Vec::new();
    let populations = [
        ("sensitive", Who::Sensitive),
        ("insensitive", Who::Insensitive),
    ];
    let networks = SENSITIVE.map(|task| (task, Who::Task(task)));
    for (population, who) in populations.into_iter().chain(networks) {
        for name in PAPER {
            let (cells, numbers) = quartile_cells(trials, name, who, |job| job.ran);
            section.insert(format!("seconds, {population}, {name}"), numbers);
            rows.push(
                [population.to_owned(), name.to_owned()]
                    .into_iter()
                    .chain(cells)
                    .collect(),
            );
        }
    }
    section
        .text(
            "Execution time, seconds. Work is 5 to 24 s for every network (A2), so only ratios compare with the \
            paper's.",
        )
        .table(["jobs", "policy"].into_iter().chain(QUARTILES), rows)
}

/// The values of all files' jobs together, by network and policy.
fn groups(trials: &MapaTrials, tasks: &[&'static str], of: JobNumber) -> Vec<BoxGroup> {
    let mut groups = Vec::new();
    for &task in tasks {
        let boxes = PAPER.map(|name| {
            let trials = trials.policy(name).iter();
            let pooled = trials.flat_map(|trial| trial.sorted(Who::Task(task), of));
            (name, pooled.collect())
        });
        groups.push((task.to_owned(), boxes.into()));
    }
    groups
}

fn pictures(section: Section, trials: &MapaTrials) -> Section {
    let time: JobNumber = |job| job.ran;
    let (seconds, gbps) = ("execution time, s", "effective bandwidth (Eq. 2), GB/s");
    let draw = |tasks: &[&'static str],
                of: JobNumber,
                title: &str,
                y: &str,
                published: Vec<(f64, &str)>| {
        let groups = groups(trials, tasks, of);
        let values = groups.iter().flat_map(|(_, boxes)| boxes);
        let most = values
            .flat_map(|(_, values)| values)
            .copied()
            .fold(0.0, f64::max);
        // The names of the groups stand above the longest whisker.
        let top = (most * 1.1 / 10.0).ceil() * 10.0;
        boxes(
            &groups,
            colour,
            &BoxPlotWords {
                title,
                y,
                published,
                top,
                ..BoxPlotWords::default()
            },
        )
    };
    let printed = vec![
        (57.85, "paper: medians 57.85"),
        (12.33, "paper: greedy's 25 % 12.33"),
    ];
    section
        .picture(
            "fig-13a.svg",
            draw(&SENSITIVE, time, "(a) Sensitive jobs, one-GPU jobs pooled, DGX-1V, run times by Eq. 2", seconds, vec![]),
            "Execution time of sensitive jobs by network and policy, as Fig. 13a; all files' jobs pooled, lines to the extremes",
        )
        .picture(
            "fig-13b.svg",
            draw(&INSENSITIVE, time, "(b) Insensitive jobs, one-GPU jobs pooled, DGX-1V, run times by Eq. 2", seconds, vec![]),
            "Execution time of insensitive jobs by workload and policy, as Fig. 13b; all files' jobs pooled, lines to the extremes",
        )
        .picture(
            "fig-13c.svg",
            draw(&SENSITIVE, EQ_2.of, "(c) Sensitive jobs, one-GPU jobs pooled, DGX-1V, run times by Eq. 2", gbps, printed),
            "Effective bandwidth of sensitive jobs by network and policy, as Fig. 13c; one-GPU jobs and all files pooled, lines to the extremes",
        )
        .picture(
            "fig-13d.svg",
            draw(&INSENSITIVE, EQ_2.of, "(d) Insensitive jobs, one-GPU jobs pooled, DGX-1V, run times by Eq. 2", gbps, vec![]),
            "Effective bandwidth of insensitive jobs by workload and policy, as Fig. 13d; one-GPU jobs and all files pooled, lines to the extremes",
        )
}
