//! What was expected of foresight, put to the test.

use mapa_sim::{Interval, mean_interval};

use super::super::claim::{Claim, EXACT, Verdict, number};
use super::setting::{Coming, FORESIGHT, Judge, LEASES};
use super::trials::{Of, Trials};

const AT_LEAST: &str = "mean of the differences, at least";
const ABOVE: &str = "mean of the differences, above";
const AT_MOST: &str = "mean of the differences, at most";
const OWN_AT_MOST: &str = "mean, at most";
const OWN_BELOW: &str = "mean, below";
const OWN_AT_LEAST: &str = "mean, at least";

const ASSUMES: &[usize] = &[1, 2, 3, 4, 5];

/// Below or as low as this.
fn at_most(value: Interval, limit: f64) -> Verdict {
    Verdict::at_least(Interval { mean: -value.mean, low: -value.high, high: -value.low }, -limit)
}

fn told(value: Interval, unit: &str) -> String {
    let sign = if value.mean > 0.0 { "+" } else { "" };
    format!("{sign}{} {unit}", number(value.mean))
}

/// A claim of how much more than preserve's it is.
fn more(trials: &Trials, what: &str, unit: &str, limit: f64, rule: &'static str, values: &[f64]) -> Claim {
    let value = mean_interval(values);
    let verdict = match rule {
        ABOVE => Verdict::above(value, limit),
        AT_MOST => at_most(value, limit),
        _ => Verdict::at_least(value, limit),
    };
    let sign = if limit > 0.0 { "+" } else { "" };
    let claimed = match rule {
        ABOVE => format!("above {sign}{limit} {unit}"),
        AT_MOST => format!("{sign}{limit} {unit} or less"),
        _ => format!("{sign}{limit} {unit} or more"),
    };
    let what = format!("{}, {}: {what}", trials.setting.place(), trials.setting.coming.name());
    Claim::new(what, claimed, ASSUMES).found(told(value, unit), Some(value), rule, verdict)
}

/// A claim of what it is itself.
fn own(trials: &Trials, what: &str, unit: &str, limit: f64, rule: &'static str, of: Of) -> Claim {
    let value = mean_interval(&trials.per_file(FORESIGHT, of));
    let (verdict, claimed) = match rule {
        OWN_AT_MOST => (at_most(value, limit), format!("{limit} {unit} or less")),
        OWN_BELOW => (Verdict::below(value, limit), format!("below {limit} {unit}")),
        _ => (Verdict::at_least(value, limit), format!("{limit} {unit} or more")),
    };
    let base = mean_interval(&trials.per_file(super::setting::PRESERVE, of));
    let ours = format!("{} {unit}; preserve {}", number(value.mean), number(base.mean));
    let what = format!("{}, {}: {what}", trials.setting.place(), trials.setting.coming.name());
    Claim::new(what, claimed, ASSUMES).found(ours, Some(value), rule, verdict)
}

/// What is claimed where run times follow the judge's bandwidth. Makespans of jobs that come one by one end soon after the last has
/// come, whoever chooses: there it is to be lower, and mean completion times too.
pub(super) fn by_bandwidth(trials: &Trials) -> Vec<Claim> {
    let setting = trials.setting;
    let at_once = setting.coming == Coming::AtOnce;
    let difference =
        |what: &str, limit, rule, of: Of| more(trials, what, "GB/s", limit, rule, &trials.more(FORESIGHT, of));
    let percent = |what: &str, limit, of: Of| {
        let rule = if limit == 0.0 { "mean of the differences, below" } else { AT_MOST };
        let values = trials.percent_more(FORESIGHT, of);
        if rule == AT_MOST {
            return more(trials, what, "%", limit, rule, &values);
        }
        let value = mean_interval(&values);
        let what = format!("{}, {}: {what}", setting.place(), setting.coming.name());
        let claim = Claim::new(what, "below 0 %", ASSUMES);
        claim.found(told(value, "%"), Some(value), rule, Verdict::below(value, 0.0))
    };
    let makespan = |limit: f64| percent("makespan", if at_once { limit } else { 0.0 }, |own| own.makespan);
    let mut claims = match (setting.judge, setting.machine) {
        (Judge::Eq2, machine) => {
            let (min, p25, shorter) = match machine {
                "dgx-1v" => (12.0, 0.0, 0.0),
                "torus-2d" => (16.0, 4.0, -3.0),
                _ => (16.0, 10.0, -4.0),
            };
            let rule = if p25 == 0.0 { ABOVE } else { AT_LEAST };
            vec![
                difference("minimum", min, AT_LEAST, |own| own.min),
                difference("25th percentile", p25, rule, |own| own.p25),
                difference("median", 0.0, AT_LEAST, |own| own.p50),
                makespan(shorter),
            ]
        }
        (Judge::Packing, "dgx-1v") => {
            vec![own(trials, "starved jobs", "%", 0.5, OWN_BELOW, |own| own.starved), makespan(-2.0)]
        }
        (Judge::Packing, "torus-2d") => {
            vec![own(trials, "starved jobs", "%", 51.0, OWN_AT_MOST, |own| own.starved), makespan(-4.0)]
        }
        (Judge::Packing, _) => {
            vec![own(trials, "25th percentile", "GB/s", 50.0, OWN_AT_LEAST, |own| own.p25), makespan(-15.0)]
        }
    };
    if !at_once {
        claims.push(percent("mean completion time", 0.0, |own| own.completion));
    }
    claims
}

/// Where run times are fixed, nobody who never waits changes any makespan, and patience that is told so never waits.
pub(super) fn fixed(trials: &Trials) -> [Claim; 2] {
    let place = trials.setting.place();
    let base = trials.per_file(super::setting::PRESERVE, |own| own.makespan);
    let same = [LEASES, FORESIGHT].iter().all(|name| trials.per_file(name, |own| own.makespan) == base);
    let makespans =
        Claim::new(format!("{place}, fixed run times: makespans are preserve's, to the nanosecond"), "all files", &[1]);
    let off = trials.of(FORESIGHT) == trials.of(LEASES);
    let what = format!("{place}: with a slowdown of 1, as fixed run times have it, nobody waits for better links");
    let patience = Claim::new(what, "all files", &[1]);
    let told = |holds| if holds { "all files" } else { "not in all" };
    [
        makespans.found(told(same), None, EXACT, Verdict::of(same)),
        patience.found(told(off), None, EXACT, Verdict::of(off)),
    ]
}
