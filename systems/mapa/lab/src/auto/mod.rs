//! Our own experiment: what the default policy gives a job that says nothing, and what that costs
//! the jobs after it.

use mapa_front::Error;
use mapa_lab::Experiment;
use mapa_lab::plan::Plan;
use mapa_lab::progress::Progress;
use mapa_lab::report::Report;

mod free_sets;
mod streams;

const NAME: &str = "auto";
const PAPER: &str = "none: MAPA's default policy";
const TITLE: &str = "The default policy beside others";

const OPENING: &str = "\
Two questions. Which bandwidth does a job get that names no policy and says nothing of itself? And does it cost a stream of jobs \
anything if each gets the best devices that are free? The rules of the claims were written down before these job files were drawn. A \
prototype on other files had shown differences of makespan within 0.8 %; the limit of 1 % is ours. A first version, run on four files of \
other seeds, let each policy choose by a model of its own; it showed differences of models rather than of policies, and its rows are kept \
as the last two of each table. A claim *holds* or *does not hold* \
if the whole 95 % interval over the job files (Student's t, of differences per file) says so by the rule beside it. It is *undecided* if \
the interval contains the limit.";

/// Assumptions; claims name them by their position from 1.
const ASSUMPTIONS: [&str; 4] = [
    "Bandwidth is the ring packing at nominal rates: what rings carry that use the links at the same time. It is computed from links \
     alone, and not fitted.",
    "Jobs: 300 rings of one to five devices and one of the paper's six networks, uniform; first in first out, the queue head blocks. \
     Work: 5 to 24 s, uniform. All arrive at the beginning, or by a Poisson process of load 0.7.",
    "Run times follow the network and the bandwidth by the model named, as in the report on foresight, whatever the job says of itself: \
     T = work (1 + (r - 1) (1/B - 1/50) / (1/10 - 1/50)), with B in GB/s from 10 to 50, and r from 1.1 to 3.0.",
    "A job that is told says whether its network is sensitive, as the paper classifies it. A job that tells nothing counts \
     as sensitive for auto. For preserve it is declared insensitive, as Algorithm 1 takes a job without an annotation.",
];

/// The default policy beside others: the row of the list of experiments.
pub const EXPERIMENT: Experiment = Experiment {
    name: NAME,
    paper: PAPER,
    covers: "what a job gets that names no policy, on every free set of five machines, and what that costs a stream of jobs",
    files: 200,
    seed: 40_001,
    reads_rows: false,
    run,
};

fn run(plan: &Plan, bar: &dyn Progress) -> Result<Report, Error> {
    let streams = streams::run(plan, bar)?;
    let mut report = Report::new([NAME, PAPER, OPENING], &ASSUMPTIONS, plan);
    report.title = TITLE.to_owned();
    report.sections = vec![free_sets::section(bar)?];
    report.sections.extend(streams::sections(&streams));
    report.per_file = streams::per_file(&streams);
    Ok(report)
}
