//! What MAPA expects beside what others measured: every row of a table of public measurements.

use mapa_front::Error;

use crate::experiments::Experiment;
use crate::plan::Plan;
use crate::progress::Progress;
use crate::report::Report;

mod choice;
mod errors;
mod order;
mod rows;

const NAME: &str = "measured";
const PAPER: &str = "none: public measurements";
const TITLE: &str = "What MAPA expects beside what others measured";

const OPENING: &str = "\
Others measured the bandwidth of copies and collectives on their machines and published it: logs, issues, guides. Each row names its \
source. MAPA expects a number for each from the machine's topology alone. Three questions: how far is the number off; does MAPA put two \
sets of devices of one machine in the right order; and which devices does it choose where devices do not reach each other's memory (P2P \
off)? The rules of the claims are those of the task that this was built for, written before the model was fitted. A prototype of the \
model had been fitted to the same rows; its errors were known, and its hand-set constants were taken over: what the uplink of a switch \
carries of staged data, and what a shared root costs. Fitted and compared are rows without a known problem, of large messages, on \
machines whose topology is given or in the catalogue.";

/// Assumptions; claims name them by their position from 1.
const ASSUMPTIONS: [&str; 4] = [
    "The generation and width of a machine's PCIe links are as the row says, else those of the product. The topology is the file or the \
     machine of the catalogue that the row names; several are derived from words or bus numbers, as the row says.",
    "Peer access (P2P) is as the settings of the row say; else on, but off between GeForce cards since the 30 series.",
    "Rows of one server are one machine: they are left out of a fit together.",
    "Two rows are compared if they are of one server, operation, metric, size, library and settings, of as many devices, and differ by more \
     than 5 %. Predictions within 0.5 % of each other are a tie.",
];

/// What is expected beside what others measured: the row of the list of experiments.
pub const EXPERIMENT: Experiment = Experiment {
    name: NAME,
    paper: PAPER,
    covers: "what is expected beside what others measured: every row, the order of sets, errors on machines left out, choices without P2P",
    files: 0,
    seed: 0,
    reads_rows: true,
    run,
};

fn run(plan: &Plan, bar: &dyn Progress) -> Result<Report, Error> {
    let asked = rows::asked(plan)?;
    bar.tasks(4);
    let mut report = Report::new([NAME, PAPER, OPENING], &ASSUMPTIONS, plan);
    report.title = TITLE.to_owned();
    bar.doing("rows");
    let rows = rows::section(&asked)?;
    bar.done();
    bar.doing("order");
    let order = order::section(&asked);
    bar.done();
    bar.doing("errors");
    let errors = errors::section(&asked, plan.rows.is_none());
    bar.done();
    bar.doing("choices without peer access");
    let choice = choice::section(&asked, plan)?;
    bar.done();
    report.sections = vec![rows, order, errors, choice];
    Ok(report)
}
