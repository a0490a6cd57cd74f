//! Our own experiment: whether and where foresight beats Preserve, and what it costs.

use mapa_lab::Experiment;
use mapa_lab::progress::Progress;
use std::collections::BTreeMap;

use mapa_front::Error;
use mapa_lab::plan::Plan;
use mapa_lab::report::{Report, three_decimals, value};
use serde_json::Value;

mod claims;
mod cost;
mod limits;
mod sections;
mod setting;
mod trials;

use setting::{BY_IDS, FORESIGHT, PRESERVE};
pub(crate) use setting::{Judge, MACHINES, by_bandwidth, graph, preserve_by};
use trials::{ForesightTrial, ForesightTrials};

const NAME: &str = "foresight";
const PAPER: &str = "none: MAPA's own policy and scheduler";
const TITLE: &str = "Foresight beside Preserve";

const OPENING: &str = "\
Both policies choose by the same model of bandwidth, and run times follow it. Each claim was written down before these job files were \
drawn, from a prototype on other files; nothing was changed since to make a claim hold. Claims \"over that of preserve with ties by id\" \
were added after these files had been seen: by ring packing that baseline is the stronger one on sixteen devices. Their limits are those \
against preserve. A claim *holds* or *does not hold* if the whole \
95 % interval over the job files (Student's t, of differences per file) says so by the rule beside it. It is *undecided* if the interval \
contains the limit.";

/// Assumptions; claims name them by their position from 1.
const ASSUMPTIONS: [&str; 6] = [
    "Jobs: 300 rings of one to five devices and one of the paper's six networks, uniform; first in first out, the queue head blocks. \
     Work: 5 to 24 s, uniform. All arrive at the beginning, or by a Poisson process whose load counts work at full speed.",
    "Run times: T = work (1 + (r - 1) (1/B - 1/50) / (1/10 - 1/50)), where B is the bandwidth by the model that judges, taken as at least \
     10 and at most 50 GB/s; r is 3.0 for VGG-16, 2.2 for AlexNet, 1.6 for Inception-v3 and ResNet-50, 1.1 for insensitive jobs; one-device jobs take \
     their work.",
    "Preserve chooses devices for sensitive jobs by the model that judges, and for others by the bandwidth that stays (Eq. 3). Of equally \
     good devices for a sensitive job it takes those that leave most. What stays counts direct links only, as in the released code. Of the \
     readings of Algorithm 1 this one has the most bandwidth on a DGX-1V, so it is the hardest to beat there. By ring packing on sixteen devices ties by id have shorter makespans. The row \"ties by id\" is the \
     policy that this program calls preserve.",
    "Foresight assumes that future jobs have one to five devices with equal probability, that leases end in any order with equal \
     probability, and that a sensitive job takes 2.1 times as long at 10 GB/s as at 50, the mean of A2's ratios. Weight 0.5, and kappa \
     0.35 unless a row says otherwise. It sees no run time and no job behind the queue head, unless a row says \"queue\" or \"ends\".",
    "Bandwidths are those of sensitive jobs of two devices and more, where they ran. One device has no link.",
    "A decision is timed in this process while nothing else of the program runs. Other users of the machine are not excluded.",
];

/// Foresight beside Preserve: the row of the list of experiments.
pub const EXPERIMENT: Experiment = Experiment {
    name: NAME,
    paper: PAPER,
    covers: "foresight beside preserve on three machines, by two models of bandwidth, and what patience costs",
    files: 200,
    seed: 20_001,
    reads_rows: false,
    run,
};

fn run(plan: &Plan, bar: &dyn Progress) -> Result<Report, Error> {
    let all = trials::run(plan, bar)?;
    bar.doing("tables and pictures");
    let mut report = Report::new([NAME, PAPER, OPENING], &ASSUMPTIONS, plan);
    report.title = TITLE.to_owned();
    report.sections = sections::by_arrivals(&all);
    report.sections.push(sections::overstated(&all));
    report.sections.push(sections::fixed(&all));
    report.sections.push(limits::section()?);
    report.per_file = per_file(&all);
    if plan.timed {
        report.sections.push(cost::section(plan, bar)?);
    }
    Ok(report)
}

/// The numbers of preserve, in both ways to break ties, and of foresight on each file, for the settings in which the gain by
/// bandwidth is as foresight assumes.
fn per_file(all: &[ForesightTrials]) -> Value {
    let mut settings = BTreeMap::new();
    for trials in all.iter().filter(|trials| trials.setting.is_as_believed()) {
        let mut choosers = BTreeMap::new();
        let names = [PRESERVE, BY_IDS, FORESIGHT].into_iter();
        for name in names.filter(|name| !trials.of(name).is_empty()) {
            let mut numbers = BTreeMap::new();
            for (key, of) in ForesightTrial::MEASURES {
                let files = trials.per_file(name, |trial| three_decimals(of(trial)));
                numbers.insert(key, files);
            }
            choosers.insert(name, numbers);
        }
        settings.insert(trials.setting.id(), choosers);
    }
    value(settings)
}
