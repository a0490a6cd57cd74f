//! MAPA (SC '21), sections 2, 4 and 5.

use mapa_lab::Experiment;
use mapa_lab::progress::Progress;
use std::collections::BTreeMap;

use mapa_front::Error;
use mapa_lab::plan::Plan;
use mapa_lab::report::{Report, value};
use serde_json::Value;

mod claims;
mod contradictions;
mod fig11;
mod fig13;
mod fig15;
mod fig16;
mod fig18;
mod fig19;
mod fig4;
mod motivation;
mod packing;
mod sentences;
mod setting;
mod speed;
#[cfg(test)]
#[path = "../../tests/unit/stored_report.rs"]
mod stored_report;
mod table3;
mod throughput;
mod trials;

const NAME: &str = "mapa";
const PAPER: &str =
    "MAPA: Multi-Accelerator Pattern Allocation Policy for Multi-Tenant GPU Servers (SC '21)";

const OPENING: &str = "\
Each claim has the paper's figure, ours, the 95 % interval of ours over the job files and a verdict. Intervals are Student's t for \
numbers per file, Wilson's for shares of files, and absent for exact facts. A claim *holds* or *does not hold* if the whole interval \
says so by the rule beside it. It is *undecided* if the interval contains the limit, and *cannot be had* if it needs the authors' \
hardware or records. Nothing was fitted to make a claim hold.

Job files like these had been seen before the claims were complete. That the median is 57.86 in most files, where greedy's 25th \
percentile lies, the order of throughputs and its range were written down after a prototype had run sixty such files: it had 42 and 45 \
medians of 60. Claims about sentences of sections 2.2, 4.1 and 5.3 were added after reports on these very files. So a verdict \
says whether the paper's sentence is true of these files; it is no forecast that came true. Limits that are ours are marked in the rules.";

/// Assumptions; claims name them by their position from 1.
const ASSUMPTIONS: [&str; 7] = [
    "Jobs: 300 rings, one to five GPUs and one of the nine workloads of section 4, uniform. All arrive at the \
     beginning, first in first out, and the queue head blocks (section 4). The released generator has six networks and no one-GPU \
     jobs by default; both are tried.",
    "Work: 5 to 24 s, uniform, for every network, as in the released generator. The paper's run times were measured and are not \
     published.",
    "Effective bandwidth is Eq. 2 with the released coefficients on the link counts of the chosen ring; one GPU has \
     12.335 GB/s, the value of Eq. 2 for no links.",
    "Run times: T = work (1 + (r - 1) (1/B - 1/50) / (1/10 - 1/50)), B the effective bandwidth (A3) taken as at least 10 and \
     at most 50 GB/s; r is 3.0 for VGG-16 (Fig. 2b), 2.2 for AlexNet, 1.6 for Inception-v3 and ResNet-50 (assumed), 1.1 for \
     insensitive jobs (assumed); one-GPU jobs take their work. 50 GB/s is where Fig. 16 levels off; 10 is \
     PCIe in the released code.",
    "Run times are fixed, as in the released simulator, for claims about its output.",
    "A decision is timed in this process while nothing else of the program runs. Other users of the machine are not excluded.",
    "Where ring packing judges, effective bandwidth is the largest fractional packing of directed rings into the links, and 12 GB/s \
     where NVLinks form no ring; one GPU has none. Run times are those of A4 with this bandwidth.",
];

/// Settings of which each file's quartiles by Eq. 2 are kept.
const KEPT: [&str; 4] = ["main", "packing", "torus", "cube"];

/// The setting whose claims are also about all jobs and about insensitive jobs.
const MAIN: &str = "main";

/// By setting and policy: makespans in seconds; minimum, quartiles and maximum, GB/s, of sensitive
/// jobs by Eq. 2, with one-GPU jobs and without, and by ring packing where that makes the run
/// times. Of the first setting, also those of all jobs and of insensitive ones.
fn per_file(all: &trials::AllTrials) -> Value {
    let mut settings = BTreeMap::new();
    for trials in all.iter() {
        let policies: BTreeMap<&str, Value> = trials
            .of
            .iter()
            .map(|(name, runs)| (*name, of_policy(&trials.setting, runs)))
            .collect();
        settings.insert(trials.setting.id, policies);
    }
    value(settings)
}

/// The numbers per file of one policy in one setting.
fn of_policy(setting: &setting::MapaSetting, runs: &[trials::MapaTrial]) -> Value {
    let makespans: Vec<f64> = runs
        .iter()
        .map(|trial| six_decimals(trial.makespan))
        .collect();
    let mut numbers = BTreeMap::from([("makespan_seconds", value(makespans))]);
    if KEPT.contains(&setting.id) {
        numbers.insert(
            "sensitive_gbps",
            spreads(runs, trials::Who::Sensitive, claims::EQ_2),
        );
        numbers.insert(
            "sensitive_from_two_gbps",
            spreads(runs, trials::Who::Several, claims::EQ_2),
        );
    }
    if setting.id == MAIN {
        numbers.insert("all_gbps", spreads(runs, trials::Who::All, claims::EQ_2));
        numbers.insert(
            "insensitive_gbps",
            spreads(runs, trials::Who::Insensitive, claims::EQ_2),
        );
    }
    if matches!(setting.runs, setting::JobRunTimes::Packing) {
        numbers.insert(
            "sensitive_from_two_packing_gbps",
            spreads(runs, trials::Who::Several, claims::PACKING),
        );
    }
    value(numbers)
}

/// Minimum, quartiles and maximum of each file.
fn spreads(runs: &[trials::MapaTrial], who: trials::Who, measure: claims::ClaimMeasure) -> Value {
    let spreads: Vec<[f64; 5]> = runs
        .iter()
        .map(|trial| trial.spread(who, measure.of).map(six_decimals))
        .collect();
    value(spreads)
}

fn six_decimals(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// MAPA's paper, run again: the row of the list of experiments.
pub const EXPERIMENT: Experiment = Experiment {
    name: NAME,
    paper: PAPER,
    covers: "Fig. 2b, 4, 5, 6, 11, 13, 15, 16, 18, 19 and Table 3, and where the paper contradicts itself; Fig. 2a, 3 and 12 cannot be had",
    files: 60,
    seed: 1,
    reads_rows: false,
    run,
};

fn run(plan: &Plan, bar: &dyn Progress) -> Result<Report, Error> {
    let all = trials::run(plan, bar)?;
    bar.doing("tables and pictures");
    let mut report = Report::new([NAME, PAPER, OPENING], &ASSUMPTIONS, plan);
    report.sections = vec![
        motivation::fig_2a_and_3(),
        motivation::fig_2b()?,
        fig4::section(&all)?,
        motivation::fig_5(),
        motivation::fig_6()?,
        fig11::section()?,
        fig13::section(&all)?,
        table3::section(&all)?,
        throughput::section(&all)?,
        fig15::section(&all)?,
        fig16::section(&all)?,
        fig18::section(&all)?,
        packing::section(&all)?,
        contradictions::section(),
    ];
    report.opening = format!("{}\n\n{}", report.opening, speed::headline(all.of("main")?));
    report.per_file = per_file(&all);
    if plan.timed {
        report.sections.push(fig19::section(plan, bar)?);
    }
    Ok(report)
}
