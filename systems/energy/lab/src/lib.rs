//! Energy and tardiness on MIG slices: the published table, fresh days, and what the results depend on.

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

mod bounds;
mod layouts;
mod learned;
mod rows;
mod sections;
mod setting;
mod table;
mod trials;

use rows::ROWS;
use setting::FRESH;
use trials::{ENERGY, LATE, TARDINESS};

const NAME: &str = "energy";
const PAPER: &str = "Hisaria, Vij, Srivastava, Scheduling Jobs on Multi-Instance GPUs (MIG) using Reinforcement Learning";

const OPENING: &str = "\
Jobs with deadlines run on slices of eight A100s. The document compares four heuristics with a trained net, on ten days, by the share of \
late jobs, the mean tardiness and the energy. Its heuristics are run again here on the same days, and MAPA's own rules beside them; then all \
of them on fresh days. The rules of the claims were written down before these days were drawn, by a prototype on other days. The layouts and the prices of energy-plan \
were found by search on yet other days, and looked at on thirty days from seed 50001 on; the days of the report that is kept begin at seed 61001. A claim *holds* or *does not hold* if the whole 95 % interval over the days \
(Student's t, of differences per day) says so by the rule beside it. It is *undecided* if the interval contains the limit. The learned \
policy of the document is not published, so nets were trained again, as the document says and with other parameters; they ship with MAPA. What the document calls seconds are minutes, what it calls MJ are 10^6 watt-minutes \
(60 MJ), and its \"±\" is the standard deviation over ten days.";

/// Assumptions; claims name them by their position from 1.
const ASSUMPTIONS: [&str; 6] = [
    "Machine: eight A100s, partitioned once. Published layouts: 7 | 7 | 4,3 | 4,3 | 4,2,1 | 4,2,1 | 2,2,2,1 | 2,2,2,1. Searched layouts: 3,2,2 | 7 | \
     4,3 | 4,3 | 4,2,1 | 3,2,2 | 3,2,2 | 3,2,1,1; those of energy-plan-layouts: 3,2,2 | 7 | 3,2,2 | 4,3 | 4,3 | 3,2,2 | 3,2,2 | 3,2,1,1. A GPU draws 40, 120, 160, 200, 240, 250, 250, 250 W with 0 to 7 busy compute slices. All GPUs \
     are on from minute 0 to the last end. The numbers are those of the authors' code; where they were measured is not said.",
    "Jobs: a Poisson process of 20 a minute times a load by hour of 0.083 to 0.201, for a day: some 4,150 jobs. 80 % are inference, exponential with a \
     mean of 3 minutes on a slice of 1; the others training, log-normal around 49. A third of each has a second curve of run times. The deadline is \
     the arrival plus the run time on a whole GPU times 2 to 4, uniform; 1 to 1.5 where deadlines are tight.",
    "Jobs wait in the order of their deadlines. The heuristics start the first as soon as a slice is free. energy-plan may start another, or \
     wait. Nothing is interrupted or moved. Rules know run times exactly, unless a row says otherwise.",
    "The published days are drawn from NumPy's legacy generator as the authors' code does, with times of 32 bits, and energy is added up as in their code: \
     the time before an end counts at the power after it, 2 % too little. Everywhere else times have 64 bits and energy is exact.",
    "Fresh days have a random stream of their own for arrivals, kinds, sizes, curves and slacks: days of another load or slack have the same jobs.",
    "Wrong run times: the true ones are those that rules are told, times a log-normal number of mean 1 and this sigma.",
];

/// Energy and deadlines on MIG, run again: the row of the list of experiments.
pub const EXPERIMENT: Experiment = Experiment {
    name: NAME,
    paper: PAPER,
    covers: "the table of heuristics to every digit, fresh days with rules of our own, tight deadlines, loads, wrong run times, the bound on energy",
    files: 50,
    seed: 61_001,
    reads_rows: false,
    run,
};

fn run(plan: &Plan, bar: &dyn Progress) -> Result<Report, Error> {
    let published = table::run()?;
    let all = trials::run(plan, bar)?;
    let nets = learned::run(plan, bar)?;
    let layouts = layouts::run(plan, bar)?;
    bar.doing("tables and pictures");
    let mut report = Report::new([NAME, PAPER, OPENING], &ASSUMPTIONS, plan);
    let fresh = all.of(FRESH)?;
    report.sections = vec![
        table::section(&published).numbers("ppo", nets.on_published_days()),
        sections::fresh(fresh, nets.on_fresh_days()),
        learned::section(&nets, &all)?,
        sections::bound(fresh),
        bounds::section(plan, bar)?,
        layouts::section(&layouts, &all)?,
        sections::tight(&all)?,
        sections::loads(&all)?,
        sections::wrong(&all)?,
        sections::morning(&all)?,
        table::contradictions(&published),
    ];
    if plan.timed {
        report.sections.push(learned::trained_again(bar)?);
    }
    let mut per_file = BTreeMap::new();
    for row in ROWS {
        let days = [
            ("late_percent", fresh.per_day(row.name, LATE)),
            ("tardiness_minutes", fresh.per_day(row.name, TARDINESS)),
            ("energy_watt_minutes", fresh.per_day(row.name, ENERGY)),
        ];
        let rounded = days.map(|(key, values)| {
            let values: Vec<f64> = values.into_iter().map(three_decimals).collect();
            (key, values)
        });
        per_file.insert(row.name, BTreeMap::from(rounded));
    }
    report.per_file = value(BTreeMap::from([("relaxed", per_file)]));
    Ok(report)
}
