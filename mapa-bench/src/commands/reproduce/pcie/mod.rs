//! Tang et al., HPC Asia 2025: PCIe-bandwidth-aware scheduling for multi-instance GPUs.

use indicatif::ProgressBar;
use serde_json::{Map, Value, json};

use super::Plan;
use super::report::Report;
use crate::failure::Failure;

mod claims;
mod contradictions;
mod density;
mod hindsight;
mod jobs;
mod machine;
mod reductions;
mod sensitivity;
mod setting;
mod sharing;
mod trials;
mod validation;

use setting::{Chooser, FIXED, INSTANCES, LARGE, Setting};
use trials::{All, Of, Trial};

pub(super) const NAME: &str = "pcie";
pub(super) const PAPER: &str = "Tang et al., PCIe Bandwidth-Aware Scheduling for Multi-Instance GPUs, HPC Asia '25";

const OPENING: &str = "\
The paper leaves most of what its 18 % depend on unsaid. So one set of assumptions was fixed before these job files were drawn, and \
nothing was changed since to bring a figure nearer to the paper's; the table of sensitivity varies most of them, but not the time of a \
re-partition, whether the baseline re-partitions, and that run times are known. Two ways of coming and two physics are reported throughout. A reduction is of a file's aggregated JCT (waiting and execution, all jobs), in percent \
of the baseline's on the same file. A claim *holds* or *does not hold* if the whole 95 % interval over the job files (Student's t) says \
so by the rule beside it, and is *undecided* if the interval reaches across the limit; where the paper says \"up to\", the claim is that its \
figure is within the interval or below it. Ours are mostly higher: that is not the paper's figure reproduced. Nor is \"50 % more\", where the \
rule is that and no less, and ours is five times. Sections that are timed have their verdicts beside them, not in short.";

/// What is assumed; claims name it by its place from 1.
const ASSUMPTIONS: [&str; 7] = [
    "GPUs: A100-PCIe-40GB, each on a root port of its own of 30.08 GB/s, in servers of four, all in 7 x 1g.5gb at the beginning. GPUs of \
     more than seven instances are hypothetical: as many slices, in 1g instances, on the same port.",
    "Jobs: all ask for a 1g slice. The share that is PCIe-bound is Bloom560m and Bloom7b1 with equal odds, by Table 2's demands and alphas; \
     the others are ResNet50. 25 to 75 s at full speed, uniform. 100 jobs on four GPUs (the paper does not say), 1,400 on sixty. Poisson \
     arrivals at a load of 0.6 of the slices at full speed; or a burst: all there from the beginning.",
    "Physics, anew whenever a job starts or ends. Eq. 2: max(1, alpha x demand x n / 30.08) for n PCIe-bound jobs on the GPU. Max-min: each \
     wants alpha x demand, the port is shared out max-min fairly with equal weights whatever the slices, and a job is slowed down as its \
     part falls short. Jobs that are not PCIe-bound run at full speed.",
    "pcie-aware: the paper's four stages with a delay threshold of 1.3 and a wait threshold of 300 s; it knows demands, alphas and run times at \
     full speed, and predicts by Eq. 2 in either physics. first-gpu, the baseline: the same queue and re-partitioning, the first GPU by id \
     with room, no thresholds.",
    "A re-partition takes what was measured on an A100 for each instance that is destroyed and each that is created, one after the other. \
     Where all jobs ask for 1g slices there is none.",
    "Random numbers: a stream each for arrivals, run times, who is PCIe-bound, which of them is Bloom7b1, and slices. Who is PCIe-bound at \
     20 % is so at 40 and 60; arrivals and run times are the same in all three, but where kinds differ in run times. Fewer jobs are the first of more.",
    "Processes: a job is a process that really copies memory, chunk by chunk, as a token bucket for its GPU's port lets it, in the order in \
     which chunks are asked for; it computes by sleeping. Time and bandwidth are scaled down, and processes are started before the clock. \
     Timed in this process's machine, from which no other users are kept off.",
];

pub(super) fn run(plan: &Plan, bar: &ProgressBar) -> Result<Report, Failure> {
    let all = trials::run(plan, bar)?;
    bar.set_message("tables and pictures");
    let mut report = Report::new([NAME, PAPER, OPENING], &ASSUMPTIONS, plan);
    let [small, large] = claims::of_both(&all)?;
    report.sections = vec![
        sharing::fig_1()?,
        sharing::fig_2()?,
        sharing::fig_4()?,
        density::section(&all)?,
        reductions::small(&all, small)?,
        reductions::large(&all, large)?,
        reductions::instances(&all)?,
        sensitivity::section(&all)?,
        contradictions::what_eq_2_counts(&all)?,
        contradictions::section(),
    ];
    report.per_file = per_file(&all)?;
    if plan.timed {
        report.sections.push(validation::copies(bar)?);
        report.sections.push(validation::section(plan, bar)?);
    }
    Ok(report)
}

/// By setting of Fig. 6 to 9: what both schedulers came to on each file.
fn per_file(all: &All) -> Result<Value, Failure> {
    let three = |value: f64| (value * 1e3).round() / 1e3;
    let more = INSTANCES.map(|instances| Setting { instances, ..FIXED });
    let mut settings = Map::new();
    for setting in [LARGE].into_iter().chain(more).flat_map(Setting::variants).flat_map(Setting::shares) {
        let trials = all.of(setting)?;
        let chooser = |own: Chooser| {
            let measure =
                |(key, of): &(&str, Of)| ((*key).to_owned(), json!(trials.per_file(own, |trial| three(of(trial)))));
            (own.name().to_owned(), Value::Object(Trial::MEASURES.iter().map(measure).collect()))
        };
        settings.insert(setting.id(), Value::Object(Chooser::ALL.into_iter().map(chooser).collect()));
    }
    Ok(Value::Object(settings))
}
