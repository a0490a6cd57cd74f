//! How far throughput depends on what the paper does not state.

use mapa_sim::mean_interval;

use super::claims::{self, POOLED, SEVERAL, left};
use super::setting::{PAPER, RELEASED};
use super::speed::{throughput_range, throughput_steps};
use super::trials::{AllTrials, MapaTrials};
use crate::colours::colour;
use mapa_front::Error;
use mapa_lab::claim::{Claim, EXACT, Verdict, bounds};
use mapa_lab::picture::{BoxGroup, BoxPlotWords, boxes};
use mapa_lab::report::Section;

/// Settings on the DGX-1V with 300 jobs, in the order of the table.
const SETTINGS: [&str; 11] = [
    "main",
    "six-networks",
    "released",
    "half",
    "one-and-a-half",
    "insensitive-1",
    "floor-12",
    "no-floor",
    "pcie-10",
    "fixed",
    "packing",
];

/// A policy's throughput over lowest-id's.
pub(super) fn cell(trials: &MapaTrials, name: &str) -> String {
    let values = trials.throughput(name);
    if values.is_empty() {
        return String::new();
    }
    let mean = mean_interval(&values);
    format!("{:.3} ± {:.3}", mean.mean, (mean.high - mean.low) / 2.0)
}

/// The verdicts of claims, one character each.
fn marks(claims: impl IntoIterator<Item = Claim>) -> String {
    let marks: Vec<&str> = claims
        .into_iter()
        .map(|claim| match claim.verdict {
            Verdict::Holds | Verdict::ByConstruction => "+",
            Verdict::Fails => "-",
            Verdict::Open => "?",
            Verdict::Exceeds => "!",
            Verdict::NotHad | Verdict::NotJudged => "x",
        })
        .collect();
    marks.join(" ")
}

/// The number of jobs that never finish, of all files and policies.
fn unfinished(trials: &MapaTrials) -> usize {
    trials.of.iter().map(|(_, runs)| left(runs)).sum()
}

/// Draws the throughput of each file, with the figures of Table 3.
fn picture(all: &AllTrials) -> Result<String, Error> {
    let group = |name: &str, trials: &MapaTrials| -> BoxGroup {
        (
            name.to_owned(),
            ["topo-aware", "greedy", "preserve"]
                .map(|policy| (policy, trials.throughput(policy)))
                .into(),
        )
    };
    let groups = [
        group("run times by Eq. 2", all.of("main")?),
        group("by ring packing", all.of("packing")?),
    ];
    let printed = [1.07, 1.08, 1.12].into_iter().enumerate();
    let words = BoxPlotWords {
        title: "Throughput over lowest-id's, one value per job file",
        y: "throughput / lowest-id's",
        marked: printed.map(|(at, value)| (0, at, value)).collect(),
        marks: "Table 3",
        bottom: 0.95,
        top: 1.2,
        ..BoxPlotWords::default()
    };
    Ok(boxes(&groups, colour, &words))
}

pub(super) fn section(all: &AllTrials) -> Result<Section, Error> {
    let mut rows = Vec::new();
    let mut verdicts = Vec::new();
    let mut section = Section::new(
        "throughput",
        "How far throughput depends on what is assumed",
    );
    let policies: Vec<&str> = PAPER
        .into_iter()
        .chain(RELEASED)
        .filter(|name| *name != "lowest-id")
        .collect();
    for id in SETTINGS {
        let trials = all.of(id)?;
        let mut row = vec![trials.setting.what.to_owned()];
        for &name in &policies {
            row.push(cell(trials, name));
            if !trials.policy(name).is_empty() {
                let mean = mean_interval(&trials.throughput(name));
                let numbers = bounds(mean);
                section.insert(format!("{id}, {name}"), numbers);
            }
        }
        rows.push(row);
        section.insert(format!("{id}, jobs left"), unfinished(trials));
        verdicts.push(verdict_row(trials));
    }
    let header = ["setting"].into_iter().chain(policies);
    Ok(section
        .claims([same_makespan(all.of("fixed")?)])
        .text(
            "Jobs per time over lowest-id's, means over files ± half the 95 % interval. One thing is varied at a time. \
             Another floor leaves the times above 10 GB/s as they are. Without a floor, low predictions of Eq. 2, such as 3.2 GB/s for \
             (0, 1, 2), make times longer, although no ring is slower than its slowest link, 12 GB/s. PCIe at 10 instead of 12 GB/s \
             changes no choice.",
        )
        .table(header, rows)
        .picture(
            "throughput.svg",
            picture(all)?,
            "Throughput over lowest-id's by policy, with Table 3's; lines to the extremes of the files",
        )
        .text(
            "The claims in each setting: + holds, - does not hold, ? undecided. Medians: exactly 57.86 for greedy and preserve, with one-GPU \
             jobs and then without; below 45 (our limit) for lowest-id and topo-aware, in the same order. 25 %: preserve's is at least greedy's, in the \
             same order. Order: lowest-id < topo-aware, topo-aware < greedy, greedy <= preserve. Range: preserve's throughput within 1.06 to 1.16 (our limits). With run times by \
             ring packing, these claims are still judged by Eq. 2.",
        )
        .table(["setting", "medians 57.86", "medians below 45", "25 %", "order", "range"], verdicts))
}

/// The row of a setting in the table of verdicts. Claims about a population are judged with
/// one-GPU jobs, then without.
fn verdict_row(trials: &MapaTrials) -> Vec<String> {
    let populations = [POOLED, SEVERAL];
    let exact = populations
        .into_iter()
        .flat_map(|who| ["greedy", "preserve"].map(|name| claims::exact_median(trials, name, who)));
    let low = populations.into_iter().flat_map(|who| {
        ["lowest-id", "topo-aware"].map(|name| claims::low_median(trials, name, who))
    });
    let quarter = populations.map(|who| claims::lower_quartile(trials, who, claims::EQ_2));
    vec![
        trials.setting.what.to_owned(),
        marks(exact),
        marks(low),
        marks(quarter),
        marks(throughput_steps(trials)),
        marks([throughput_range(trials)]),
    ]
}

/// With fixed run times a job starts as soon as enough GPUs are free, whichever they are. So the
/// policy changes no makespan, unless it lets jobs wait.
fn same_makespan(trials: &MapaTrials) -> Claim {
    let base = trials.per_file("lowest-id", |trial| trial.makespan);
    let (never, waits): (Vec<&str>, Vec<&str>) = trials
        .of
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| trials.per_file(name, |trial| trial.makespan) != base)
        .partition(|name| *name != "preserve-released");
    let what = "with fixed run times every policy that never lets a job wait for better links has the same throughput";
    let told = if waits.is_empty() {
        "none differs".to_owned()
    } else {
        format!("only {} differs: it waits", waits.join(", "))
    };
    let what = Claim::new(
        what,
        "(not in the paper: its simulator cannot show throughput)",
        &[1, 2, 5],
    );
    what.found(told, None, EXACT, Verdict::of(never.is_empty()))
}
