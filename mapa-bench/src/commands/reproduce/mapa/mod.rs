//! MAPA (SC '21), sections 2, 4 and 5.

use indicatif::ProgressBar;
use serde_json::{Value, json};

use super::Plan;
use super::report::Report;
use crate::failure::Failure;

mod claims;
mod contradictions;
mod fig11;
mod fig13;
mod fig15;
mod fig16;
mod fig18;
mod fig19;
mod fig4;
#[cfg(test)]
mod kept;
mod motivation;
mod packing;
mod setting;
mod table3;
mod throughput;
mod trials;

pub(super) const NAME: &str = "mapa";
pub(super) const PAPER: &str =
    "MAPA: Multi-Accelerator Pattern Allocation Policy for Multi-Tenant GPU Servers (SC '21)";

const OPENING: &str = "\
Each claim has the paper's figure, ours, the 95 % interval of ours over the job files (Student's t on numbers per file, \
Wilson's on shares of files; nothing for what is exact) and a verdict. A claim *holds* or *does not hold* if the whole \
interval says so by the rule beside it, is *undecided* if the interval reaches across the limit, and *cannot be had* where it takes the \
authors' hardware or records. Nothing was fitted to make a claim hold.";

/// What is assumed; claims name it by its place from 1.
const ASSUMPTIONS: [&str; 7] = [
    "Jobs: 300 rings, one to five GPUs and one of the nine workloads of section 4, uniform; all there from the \
     beginning, first in first out, the head blocks (section 4). The released generator has six networks and no \
     one-GPU jobs by default: both are tried.",
    "Work: 5 to 24 s, uniform, whatever the network: that of the released generator. The paper's run times were \
     measured and are not published.",
    "Effective bandwidth is Eq. 2 with the released coefficients on the link counts of the chosen ring; one GPU has \
     12.335 GB/s, as Eq. 2 gives no links.",
    "Run times: T = work (1 + (r - 1) (1/B - 1/50) / (1/10 - 1/50)), B the effective bandwidth (A3) taken as at least 10 and \
     at most 50 GB/s; r is 3.0 for VGG-16 (Fig. 2b), 2.2 for AlexNet, 1.6 for Inception-v3 and ResNet-50 (assumed), 1.1 for \
     insensitive jobs (assumed); one-GPU jobs take their work. 50 GB/s is where Fig. 16 levels off, 10 what the \
     released code takes PCIe for.",
    "Run times are fixed, as in the released simulator, where a claim is of its output.",
    "A decision is timed in this process, with nothing else of the program running; the machine's other users are not \
        kept off.",
    "Where ring packing judges: effective bandwidth is the largest fractional packing of directed rings into the links, \
     12 GB/s where NVLinks make no ring; one GPU has none; run times are those of A4 with this bandwidth.",
];

/// Settings of which each file's quartiles are kept; of the others its makespan.
const KEPT: [&str; 4] = ["main", "packing", "torus", "cube"];

/// Where claims are of all jobs and of insensitive ones too.
const MAIN: &str = "main";

/// By setting and policy: makespans in seconds; minimum, quartiles and maximum, GB/s, of sensitive jobs by Eq. 2, with those of one
/// GPU and without, and by ring packing where that makes the run times; of the first setting, also of all jobs and of insensitive
/// ones.
fn per_file(all: &trials::All) -> Value {
    let six = |value: f64| (value * 1e6).round() / 1e6;
    let policy = |own: &trials::Trials, (name, runs): &(&'static str, Vec<trials::Trial>)| {
        let id = own.setting.id;
        let makespans: Vec<f64> = runs.iter().map(|trial| six(trial.makespan)).collect();
        let mut numbers = json!({ "makespan_seconds": makespans });
        let of = |who, measure: claims::Measure| {
            json!(runs.iter().map(|trial| trial.spread(who, measure.of).map(six)).collect::<Vec<_>>())
        };
        if KEPT.contains(&id) {
            numbers["sensitive_gbps"] = of(trials::Who::Sensitive, claims::EQ_2);
            numbers["sensitive_from_two_gbps"] = of(trials::Who::Several, claims::EQ_2);
        }
        if id == MAIN {
            numbers["all_gbps"] = of(trials::Who::All, claims::EQ_2);
            numbers["insensitive_gbps"] = of(trials::Who::Insensitive, claims::EQ_2);
        }
        if matches!(own.setting.runs, setting::Runs::Packing) {
            numbers["sensitive_from_two_packing_gbps"] = of(trials::Who::Several, claims::PACKING);
        }
        ((*name).to_owned(), numbers)
    };
    let setting = |own: &trials::Trials| {
        let id = own.setting.id;
        (id.to_owned(), Value::Object(own.of.iter().map(|one| policy(own, one)).collect()))
    };
    Value::Object(all.iter().map(setting).collect())
}

pub(super) fn run(plan: &Plan, bar: &ProgressBar) -> Result<Report, Failure> {
    let all = trials::run(plan, bar)?;
    bar.set_message("tables and pictures");
    let mut report = Report::new([NAME, PAPER, OPENING], &ASSUMPTIONS, plan);
    report.sections = vec![
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
    report.per_file = per_file(&all);
    if plan.timed {
        report.sections.push(fig19::section(plan, bar)?);
    }
    Ok(report)
}
