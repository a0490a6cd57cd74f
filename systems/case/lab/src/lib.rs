//! CASE: jobs that need no isolation share MIG instances.

#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "libraries answer with errors, and leave printing to their callers"
)]

use std::collections::BTreeMap;

use mapa_front::Error;
use mapa_lab::Experiment;
use mapa_lab::plan::Plan;
use mapa_lab::progress::Progress;
use mapa_lab::report::{Report, three_decimals, value};

mod balanced;
mod contradictions;
mod deadlock;
mod machine;
mod memory;
mod memory_use;
mod overheads;
mod printed;
mod probe;
mod ratios;
mod sensitivity;
mod setting;
mod stream;
mod trials;

use setting::{BatchSetting, CaseSystem, JobRatio};
use trials::{BALANCED, BatchNumber, BatchNumbers, CASE, SLURM};

const NAME: &str = "case";
const PAPER: &str =
    "Porter, Chen, Pande, Compiler-Assisted Scheduling for Multi-Instance GPUs (GPGPU 2022)";

const OPENING: &str = "\
The paper packs jobs that need no isolation into MIG instances, and compares its manager with Slurm on batches of both kinds of jobs. Its Algorithm 1 does not work as printed; \
the corrected one is run here. **No run time of the paper is published.** Those assumed here (set S1) are the best of 880 random sets at its six means, found by a prototype: \
a match with these means is a fit and no evidence. What is evidence: that isolated jobs alone gain nothing, that gains rise with the share of other jobs, which means cannot be had together, \
and how our own managers compare. The rules of the claims were written down from the prototype, before the batches of this report were drawn; a generator of the same kind with other draws \
was looked at while the manager was built. A claim *holds* or *does not hold* if the whole 95 % interval over the batches (Student's t, of ratios per batch) says so by the rule beside it. It is \
*undecided* if the interval contains the limit.";

/// Assumptions; claims name them by their position from 1.
const ASSUMPTIONS: [&str; 6] = [
    "Machines: A, B, C are 1, 2, 4 A30s in four 1g.6gb each, with 32, 64, 128 jobs; D is an A100-40GB in 2 x 2g.10gb and 3 x 1g.5gb, with 32 jobs. Slurm: an instance for each process for life, the smallest that \
     holds its footprint, by arrival, passing over what does not fit. CASE: corrected Algorithms 1 and 2; 4 workers for each compute slice; a process is bound to the instance of its first task, and its \
     context takes 300 MB there. Bytes fit if they are fewer than the free ones, for all of them.",
    "Jobs, set S1, fitted to the paper's means: isolated ones run for 19 s, others live 20 s on average (lognormal, variation 0.6), in proportion to the fourth root of their footprint; 40 % of a life is one GPU task (on D 59 %, above 5 GB 81 %), \
     70 % of the rest precedes it. On D others above 5 GB live 4 times as long.",
    "Footprints: isolated ones 1.6 to 2.4 GB; on D 40 % of them have 5.5 to 9.5. Others: a benchmark of Rodinia's seven at random, then one of its published arguments in range; on D 7 of 15 have 5 to 10 GB. All jobs are there at the beginning, in random order.",
    "Tasks on an instance run at 1 / max(1, sum of demands), where the paper's kernels slow each other down and where managers are compared; a task then wants 0.33 of the smallest instance that holds it, and isolated jobs vary by 0.3.",
    "A repartition takes 10 s, unless a row says otherwise, and happens only to idle instances.",
    "Estimates are wrong by up to a half either way, uniform.",
];

/// CASE, run again: the row of the list of experiments.
pub const EXPERIMENT: Experiment = Experiment {
    name: NAME,
    paper: PAPER,
    covers: "throughput, turnaround, memory and kernels on four systems and seven mixes, our managers beside them, what is printed and what contradicts itself",
    files: 50,
    seed: 91_001,
    reads_rows: false,
    run,
};

fn run(plan: &Plan, bar: &dyn Progress) -> Result<Report, Error> {
    let parts = [
        ratios::wanted(),
        memory_use::wanted(),
        sensitivity::wanted(),
        balanced::wanted(),
    ];
    let all = trials::run(plan, bar, parts.concat())?;
    let stream = stream::section(plan, bar)?;
    let deadlock = deadlock::section(plan, bar)?;
    bar.doing("tables and pictures");
    let mut report = Report::new([NAME, PAPER, OPENING], &ASSUMPTIONS, plan);
    report.sections = vec![
        ratios::section(&all)?,
        memory_use::memory(&all, plan.seed)?,
        memory_use::kernels(&all)?,
        balanced::section(&all)?,
        stream,
        deadlock,
        sensitivity::section(&all)?,
        overheads::section(),
        printed::section(),
        contradictions::section(),
    ];
    if plan.timed {
        report.sections.push(overheads::timed(plan)?);
    }
    let mut per_file = BTreeMap::new();
    for system in CaseSystem::ALL {
        let published = BatchSetting::s1(system, JobRatio(1, 1));
        let ours = BatchSetting::spread(system, JobRatio(1, 1));
        let kinds = [
            (published.name(), published, [SLURM, CASE]),
            (format!("{} balanced", ours.name()), ours, [CASE, BALANCED]),
        ];
        for (name, setting, managers) in kinds {
            let mut by_manager = BTreeMap::new();
            for manager in managers {
                by_manager.insert(manager, per_batch(all.of(&setting, manager)?));
            }
            per_file.insert(name, by_manager);
        }
    }
    report.per_file = value(per_file);
    Ok(report)
}

/// What is kept of each batch.
fn per_batch(numbers: &[BatchNumbers]) -> BTreeMap<&'static str, Vec<f64>> {
    let of = |of: BatchNumber| {
        numbers
            .iter()
            .map(|numbers| three_decimals(of(numbers)))
            .collect()
    };
    BTreeMap::from([
        ("makespan_seconds", of(|numbers| numbers.makespan)),
        ("turnaround_seconds", of(|numbers| numbers.turnaround)),
    ])
}
