//! Our own: does looking ahead beat Preserve, where, and what does it cost?

use indicatif::ProgressBar;
use serde_json::{Map, Value, json};

use super::Plan;
use super::report::Report;
use crate::failure::Failure;

mod claims;
mod cost;
mod limits;
mod sections;
mod setting;
mod trials;

use setting::{FORESIGHT, PRESERVE};
use trials::{Of, Trial, Trials};

pub(super) const NAME: &str = "foresight";
pub(super) const PAPER: &str = "none: MAPA's own policy and scheduler";
const TITLE: &str = "Foresight beside Preserve";

const OPENING: &str = "\
Both choose by the same model of bandwidth, and jobs run by it. Each claim was set down before these job files were drawn, from a \
prototype on other files; nothing was changed since to make one hold. A claim *holds* or *does not hold* if the whole 95 % interval \
over the job files (Student's t, of differences per file) says so by the rule beside it, and is *undecided* if the interval reaches \
across the limit.";

/// What is assumed; claims name it by its place from 1.
const ASSUMPTIONS: [&str; 6] = [
    "Jobs: 300 rings of one to five devices and one of the paper's six networks, uniform; first in first out, the head blocks. Work: 5 to \
     24 s, uniform. All there from the beginning, or a Poisson process whose load counts work at full speed.",
    "Run times: T = work (1 + (r - 1) (1/B - 1/50) / (1/10 - 1/50)), B by the model that judges, taken as at least 10 and at most 50 \
     GB/s; r is 3.0 for VGG-16, 2.2 for AlexNet, 1.6 for Inception-v3 and ResNet-50, 1.1 for insensitive jobs; one-device jobs take \
     their work.",
    "Preserve chooses sensitive jobs' devices by the model that judges, others' by what stays (Eq. 3); of equally good ones for a \
     sensitive job it takes those that leave most. What stays counts direct links only, as in the released code. Of the readings of \
     Algorithm 1 this is the one with most bandwidth on a DGX-1V, so the hardest to beat; the row \"ties by id\" is the policy that this \
     program calls preserve.",
    "Foresight takes future jobs to have one to five devices with equal odds, leases to end in any order with equal odds, and a \
     sensitive job to take 2.1 times as long at 10 GB/s as at 50, the mean of A2's ratios; weight 0.5, kappa 0.35 unless it is said. It \
     sees no job's run time and no job behind the head, unless \"queue\" or \"ends\" is said.",
    "Bandwidths are those of sensitive jobs of two devices and more, where they ran; one device has no link.",
    "A decision is timed in this process, with nothing else of the program running; the machine's other users are not kept off.",
];

pub(super) fn run(plan: &Plan, bar: &ProgressBar) -> Result<Report, Failure> {
    let all = trials::run(plan, bar)?;
    bar.set_message("tables and pictures");
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

/// By setting in which nothing is overstated: what preserve and foresight came to on each file.
fn per_file(all: &[Trials]) -> Value {
    let three = |value: f64| (value * 1e3).round() / 1e3;
    let chooser = |own: &Trials, name: &str| {
        let measure = |(key, of): &(&str, Of)| ((*key).to_owned(), json!(own.per_file(name, |trial| three(of(trial)))));
        (name.to_owned(), Value::Object(Trial::MEASURES.iter().map(measure).collect()))
    };
    let setting = |own: &Trials| {
        let of: Map<String, Value> = [PRESERVE, FORESIGHT].iter().map(|name| chooser(own, name)).collect();
        (own.setting.id(), Value::Object(of))
    };
    let told = all.iter().filter(|own| own.setting.is_as_believed());
    Value::Object(told.map(setting).collect())
}
