//! Fig. 4: how much of the ideal aggregated bandwidth jobs get under lowest-id.

use mapa_front::answer::report::Interval as Bounds;
use mapa_sim::{Interval, mean_interval, paired_interval, share_interval};
use serde::Serialize;

use super::setting::JobRunTimes;
use super::trials::{AllTrials, MapaTrial, MapaTrials};
use crate::colours::colour;
use mapa_front::Error;
use mapa_lab::claim::{Claim, Verdict, bounds, number, range};
use mapa_lab::picture::{BoxGroup, BoxPlotWords, boxes};
use mapa_lab::report::Section;

/// The tolerance for rounding in sums of link bandwidths.
const CLOSE: f64 = 1e-9;

/// The share of three-GPU jobs that get at most `at_most` of the ideal bandwidth.
fn lose(trial: &MapaTrial, at_most: f64) -> f64 {
    let threes: Vec<f64> = trial
        .samples
        .iter()
        .filter(|job| job.devices == 3)
        .map(|job| job.share)
        .collect();
    threes
        .iter()
        .filter(|&&share| share <= at_most + CLOSE)
        .count() as f64
        / threes.len() as f64
}

/// The shares of the ideal bandwidth of jobs of this size, sorted.
fn of_size(trial: &MapaTrial, size: usize) -> Vec<f64> {
    let mut shares: Vec<f64> = trial
        .samples
        .iter()
        .filter(|job| job.devices == size)
        .map(|job| job.share)
        .collect();
    shares.sort_by(f64::total_cmp);
    shares
}

pub(super) fn section(all: &AllTrials) -> Result<Section, Error> {
    let [eq_2, fixed] = [all.of("hundred")?, all.of("hundred-fixed")?];
    let mut section = Section::new("fig-4", "Fig. 4: allocated over ideal bandwidth, lowest ids")
        .claims([claim(eq_2, "75 % of 3-GPU jobs lose at least 20 %", 0.8, 0.75)])
        .claims([claim(eq_2, "25 % of 3-GPU jobs lose at least 45 %", 0.55, 0.25)])
        .claims([majority(eq_2), smaller_suffer_more(eq_2)])
        .text(
            "100 jobs on a DGX-1V. Shown is every job's aggregated bandwidth (Eq. 1, PCIe 12 GB/s) over the highest of its size on the idle \
             machine, each with the best rank order on its devices. A ring of three on GPUs 0, 1, 2 has one double link and two single \
             ones, 100 of 125 GB/s: it loses 20 % exactly and counts. No ring of three lies between 87 of 125 (30 % lost) and 74 (41 %), \
             nor between 74 and 62 (50 %).",
        );
    let mut rows = Vec::new();
    let mut groups: Vec<BoxGroup> = Vec::new();
    for trials in [eq_2, fixed] {
        for size in 2..=5 {
            rows.push(row(trials, size, &mut section));
        }
    }
    for size in 2..=5 {
        let pooled = eq_2
            .policy("lowest-id")
            .iter()
            .flat_map(|trial| of_size(trial, size))
            .collect();
        groups.push((format!("{size} GPUs"), vec![("lowest-id", pooled)]));
    }
    let header = [
        "run times",
        "GPUs",
        "jobs",
        "min",
        "25 %",
        "50 %",
        "75 %",
        "max",
        "lose at least 20 %",
        "95 %",
    ];
    let words = BoxPlotWords {
        title: "DGX-1V, lowest ids: allocated over ideal aggregated bandwidth",
        y: "allocated / ideal",
        marked: vec![(1, 0, 0.8), (1, 0, 0.55)],
        marks: "paper: 75 % and 25 %",
        top: 1.15,
        ..BoxPlotWords::default()
    };
    Ok(section
        .table(header, rows)
        .text("Quartiles of all files' jobs together.")
        .picture(
            "fig-4.svg",
            boxes(&groups, colour, &words),
            "Allocated over ideal bandwidth by number of GPUs, as Fig. 4; lines to the extremes",
        ))
}

fn claim(trials: &MapaTrials, what: &str, at_most: f64, least: f64) -> Claim {
    let shares = trials.per_file("lowest-id", |trial| lose(trial, at_most));
    let mean = mean_interval(&shares);
    let files = shares.iter().filter(|&&share| share >= least).count();
    let in_files = share_interval(files, shares.len());
    let ours = format!(
        "{} of them on average; {least} or more in {files} of {} files ({})",
        number(mean.mean),
        shares.len(),
        range(in_files.low, in_files.high)
    );
    Claim::new(
        format!("lowest-id: {what}"),
        number(least),
        super::claims::time_assumes(trials),
    )
    .found(
        ours,
        Some(mean),
        super::claims::MEAN,
        Verdict::at_least(mean, least),
    )
}

/// The sizes of jobs of several GPUs.
const SIZES: std::ops::RangeInclusive<usize> = 2..=5;

/// "A large majority of jobs receive suboptimal allocations."
fn majority(trials: &MapaTrials) -> Claim {
    let shares = trials.per_file("lowest-id", |trial| {
        let several = trial
            .samples
            .iter()
            .filter(|job| SIZES.contains(&job.devices));
        let [mut all, mut less] = [0.0, 0.0];
        for job in several {
            all += 1.0;
            less += f64::from(u8::from(job.share < 1.0 - CLOSE));
        }
        less / all
    });
    let mean = mean_interval(&shares);
    let what = "lowest-id: a large majority of jobs of two GPUs and more get less than the ideal";
    Claim::new(
        what,
        "a large majority",
        super::claims::time_assumes(trials),
    )
    .found(
        format!("{} of them on average", number(mean.mean)),
        Some(mean),
        "interval of the mean against 0.5 (the limit is ours)",
        Verdict::above(mean, 0.5),
    )
}

/// "Smaller jobs with less GPUs suffer more."
fn smaller_suffer_more(trials: &MapaTrials) -> Claim {
    let means: Vec<Vec<f64>> = SIZES
        .map(|size| {
            trials.per_file("lowest-id", |trial| {
                let shares = of_size(trial, size);
                shares.iter().sum::<f64>() / shares.len() as f64
            })
        })
        .collect();
    let steps: Vec<Interval> = means
        .windows(2)
        .map(|pair| paired_interval(&pair[1], &pair[0]))
        .collect();
    let told: Vec<String> = means
        .iter()
        .map(|values| number(mean_interval(values).mean))
        .collect();
    let least = steps.iter().copied().min_by(|a, b| a.low.total_cmp(&b.low));
    let what = "lowest-id: jobs of fewer GPUs get less of the ideal";
    Claim::new(what, "suffer more", super::claims::time_assumes(trials)).found(
        format!("{} of it on average with 2, 3, 4, 5 GPUs", told.join(", ")),
        least,
        "intervals of the mean differences between successive sizes, all above 0",
        Verdict::all(steps.iter().map(|step| Verdict::above(*step, 0.0))),
    )
}

/// The shares of the best bandwidth that jobs of one size get.
#[derive(Serialize)]
struct Shares {
    jobs: usize,
    quartiles: [f64; 5],
    lose_a_fifth: Bounds,
}

fn row(trials: &MapaTrials, size: usize, section: &mut Section) -> Vec<String> {
    let runs = trials.policy("lowest-id");
    let mut pooled: Vec<f64> = runs.iter().flat_map(|trial| of_size(trial, size)).collect();
    pooled.sort_by(f64::total_cmp);
    let quartiles = [0.0, 0.25, 0.5, 0.75, 1.0].map(|p| mapa_sim::quantile(&pooled, p));
    let lost: Vec<f64> = runs
        .iter()
        .map(|trial| of_size(trial, size))
        .filter(|shares| !shares.is_empty())
        .map(|shares| {
            shares.iter().filter(|&&share| share <= 0.8 + CLOSE).count() as f64
                / shares.len() as f64
        })
        .collect();
    let lost = mean_interval(&lost);
    let numbers = Shares {
        jobs: pooled.len(),
        quartiles,
        lose_a_fifth: bounds(lost),
    };
    section.insert(format!("{}, {size} GPUs", trials.setting.id), numbers);
    let name = match trials.setting.runs {
        JobRunTimes::Fixed => "fixed",
        _ => "by Eq. 2",
    };
    let mut cells = vec![name.to_owned(), size.to_string(), pooled.len().to_string()];
    cells.extend(quartiles.map(|value| format!("{value:.3}")));
    cells.extend([number(lost.mean), range(lost.low, lost.high)]);
    cells
}
