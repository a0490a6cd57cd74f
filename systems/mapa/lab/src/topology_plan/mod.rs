//! Our own experiment: order and placement together, without first in, first out.

use mapa_front::Error;
use mapa_lab::Experiment;
use mapa_lab::plan::Plan;
use mapa_lab::progress::Progress;
use mapa_lab::report::Report;

mod bound;
mod cases;
mod claims;
mod day;
mod fleets;
mod run;
mod schedulers;
mod section;
mod setting;
mod strongest;

const NAME: &str = "topology-plan";
const PAPER: &str = "none: MAPA's own schedulers";
const TITLE: &str = "Order and placement together";

const OPENING: &str = "\
The published comparison of policies keeps first in, first out, and so does foresight. Here jobs may pass each other. Baselines are backfilling, \
and lists that skip what does not fit, with and without a threshold on slowdown (`first-fit`). The rules and the limits of the claims were written \
down from a prototype on other job files; nothing was changed since to make a claim hold. The strongest baseline of each setting and measure was \
searched among all baselines on 40 tuning files, seeds 50001 to 50040, and is kept as data. A claim *holds* or *does not hold* if the whole 95 % \
interval over the job files (Student's t, of differences per file) says so by the rule beside it. It is *undecided* if the interval contains the \
limit.";

/// Assumptions; claims name them by their position from 1.
const ASSUMPTIONS: [&str; 6] = [
    "Jobs: 300 rings of one to five devices and one of the paper's six networks, uniform. Work: 5 to 24 s, uniform. All arrive at the beginning, or by a \
     Poisson process whose load counts work at full speed, or 30 at a time with exponential gaps at load .7.",
    "Run times: T = work (1 + (r - 1) g), g = (1/B - 1/50) / (1/10 - 1/50), where B is the bandwidth by the model that judges, taken as at least 10 and at most \
     50 GB/s; r is 3.0 for VGG-16, 2.2 for AlexNet, 1.6 for Inception-v3 and ResNet-50, 1.1 for insensitive jobs; one-device jobs take their work. \
     No job is interrupted, moved, or shares a device. Ring packing sees the host as one slow path.",
    "The ideal time of a job is its run time on the best set of the idle machine. Completion is from arrival to end; slowdown is completion over the ideal \
     time, its 99th percentile by nearest rank. A makespan counts from time 0.",
    "Schedulers are told the work of a job and its ratio r, exactly unless a row says otherwise; `easy` and `conservative` are told work times r. Placement by \
     preserve is that of the report on foresight: the most bandwidth, ties by most direct bandwidth left.",
    "By ring packing no ring of three or five closes on the torus, so ideal times are longer there, and a load of .9 is more than it can serve.",
    "Plans are told how far to trust run times: `exact`, `rough` where they are wrong by a factor, `class-means` where they are means. The plan was built after \
     the prototype's rules, and adjusted on the tuning files alone: an order for rough batches without search, limits in units of the mean ideal time.",
];

/// Order and placement together: the row of the list of experiments.
pub const EXPERIMENT: Experiment = Experiment {
    name: NAME,
    paper: PAPER,
    covers: "order and placement together: a plan beside backfilling, lists with and without a threshold on slowdown, the strongest of 56 baselines, and bounds",
    files: 50,
    seed: 82_001,
    reads_rows: false,
    run,
};

fn run(plan: &Plan, bar: &dyn Progress) -> Result<Report, Error> {
    let all = cases::run(plan, bar)?;
    bar.doing("tables and pictures");
    let mut report = Report::new([NAME, PAPER, OPENING], &ASSUMPTIONS, plan);
    report.title = TITLE.to_owned();
    report.sections = vec![section::section(&all)?];
    if plan.files >= cases::MANY {
        report.sections.push(fleets::section(plan, bar)?);
    }
    report.per_file = section::per_file(&all);
    Ok(report)
}
