//! The claims about foresight, tested.

use mapa_sim::{Interval, mean_interval};

use super::setting::{ArrivalPattern, BY_IDS, FORESIGHT, Judge, LEASES};
use super::trials::{ForesightNumber, ForesightTrials};
use mapa_lab::claim::{Claim, EXACT, Verdict, number};

const AT_LEAST: &str = "mean of the differences, at least";
const ABOVE: &str = "mean of the differences, above";
const AT_MOST: &str = "mean of the differences, at most";
const OWN_AT_MOST: &str = "mean, at most";
const OWN_BELOW: &str = "mean, below";
const OWN_AT_LEAST: &str = "mean, at least";
const BELOW: &str = "mean of the differences, below";

const ASSUMES: &[usize] = &[1, 2, 3, 4, 5];

/// Formats a difference with its sign.
fn told(value: Interval, unit: &str) -> String {
    let sign = if value.mean > 0.0 { "+" } else { "" };
    format!("{sign}{} {unit}", number(value.mean))
}

/// A claim about differences from the values of a baseline.
fn more(
    trials: &ForesightTrials,
    what: &str,
    unit: &str,
    limit: f64,
    rule: &'static str,
    values: &[f64],
) -> Claim {
    let value = mean_interval(values);
    let verdict = match rule {
        ABOVE => Verdict::above(value, limit),
        AT_MOST => Verdict::at_most(value, limit),
        _ => Verdict::at_least(value, limit),
    };
    let sign = if limit > 0.0 { "+" } else { "" };
    let claimed = match rule {
        ABOVE => format!("above {sign}{limit} {unit}"),
        AT_MOST => format!("{sign}{limit} {unit} or less"),
        _ => format!("{sign}{limit} {unit} or more"),
    };
    let what = format!(
        "{}, {}: {what}",
        trials.setting.place(),
        trials.setting.coming.name()
    );
    Claim::new(what, claimed, ASSUMES).found(told(value, unit), Some(value), rule, verdict)
}

/// A claim about foresight's own values.
fn own(
    trials: &ForesightTrials,
    what: &str,
    unit: &str,
    limit: f64,
    rule: &'static str,
    of: ForesightNumber,
) -> Claim {
    let value = mean_interval(&trials.per_file(FORESIGHT, of));
    let (verdict, claimed) = match rule {
        OWN_AT_MOST => (
            Verdict::at_most(value, limit),
            format!("{limit} {unit} or less"),
        ),
        OWN_BELOW => (
            Verdict::below(value, limit),
            format!("below {limit} {unit}"),
        ),
        _ => (
            Verdict::at_least(value, limit),
            format!("{limit} {unit} or more"),
        ),
    };
    let base = mean_interval(&trials.per_file(super::setting::PRESERVE, of));
    let ours = format!(
        "{} {unit}; preserve {}",
        number(value.mean),
        number(base.mean)
    );
    let what = format!(
        "{}, {}: {what}",
        trials.setting.place(),
        trials.setting.coming.name()
    );
    Claim::new(what, claimed, ASSUMES).found(ours, Some(value), rule, verdict)
}

/// The claims where run times follow the judge's bandwidth. Where jobs arrive one by one, the
/// makespan ends soon after the last arrival under every policy. There the claim is only that the
/// makespan is lower, and the mean completion time too.
pub(super) fn by_bandwidth(trials: &ForesightTrials) -> Vec<Claim> {
    let setting = trials.setting;
    let mut claims = match (setting.judge, setting.machine) {
        (Judge::Eq2, machine) => {
            let (min, p25, shorter) = match machine {
                "dgx-1v" => (12.0, 0.0, 0.0),
                "torus-2d" => (16.0, 4.0, -3.0),
                _ => (16.0, 10.0, -4.0),
            };
            let rule = if p25 == 0.0 { ABOVE } else { AT_LEAST };
            vec![
                difference(trials, "minimum", min, AT_LEAST, |trial| trial.min),
                difference(trials, "25th percentile", p25, rule, |trial| trial.p25),
                difference(trials, "median", 0.0, AT_LEAST, |trial| trial.p50),
                makespan(trials, shorter),
            ]
        }
        (Judge::Packing, "dgx-1v") => vec![
            own(trials, "starved jobs", "%", 0.5, OWN_BELOW, |trial| {
                trial.starved
            }),
            makespan(trials, -2.0),
            over_ties_by_ids(trials, -2.0),
        ],
        (Judge::Packing, "torus-2d") => vec![
            own(trials, "starved jobs", "%", 51.0, OWN_AT_MOST, |trial| {
                trial.starved
            }),
            makespan(trials, -4.0),
            over_ties_by_ids(trials, -4.0),
        ],
        (Judge::Packing, _) => vec![
            own(
                trials,
                "25th percentile",
                "GB/s",
                50.0,
                OWN_AT_LEAST,
                |trial| trial.p25,
            ),
            makespan(trials, -15.0),
            over_ties_by_ids(trials, -15.0),
        ],
    };
    if setting.coming != ArrivalPattern::AtOnce {
        let what = "mean completion time";
        claims.push(below_preserve(trials, what, |trial| trial.completion));
    }
    claims
}

/// A claim about the difference of a bandwidth, GB/s.
fn difference(
    trials: &ForesightTrials,
    what: &str,
    limit: f64,
    rule: &'static str,
    of: ForesightNumber,
) -> Claim {
    let values = trials.more(FORESIGHT, of);
    more(trials, what, "GB/s", limit, rule, &values)
}

/// The claim about the makespan: its difference is at most `limit` percent if all jobs arrive at
/// once; else it is lower.
fn makespan(trials: &ForesightTrials, limit: f64) -> Claim {
    if trials.setting.coming != ArrivalPattern::AtOnce || limit == 0.0 {
        return below_preserve(trials, "makespan", |trial| trial.makespan);
    }
    let values = trials.percent_more(FORESIGHT, |trial| trial.makespan);
    more(trials, "makespan", "%", limit, AT_MOST, &values)
}

/// The claim about the makespan against preserve with ties by id, which has the shorter makespans by
/// ring packing on sixteen devices. The limits are those against preserve.
fn over_ties_by_ids(trials: &ForesightTrials, limit: f64) -> Claim {
    let what = "makespan over that of preserve with ties by id (added afterwards)";
    let values = trials.percent_over(BY_IDS, FORESIGHT, |trial| trial.makespan);
    if trials.setting.coming == ArrivalPattern::AtOnce {
        return more(trials, what, "%", limit, AT_MOST, &values);
    }
    below(trials, what, &values)
}

/// The claim that a time is below preserve's.
fn below_preserve(trials: &ForesightTrials, what: &str, of: ForesightNumber) -> Claim {
    below(trials, what, &trials.percent_more(FORESIGHT, of))
}

/// A claim that differences in percent are below zero.
fn below(trials: &ForesightTrials, what: &str, values: &[f64]) -> Claim {
    let value = mean_interval(values);
    let place = trials.setting.place();
    let what = format!("{place}, {}: {what}", trials.setting.coming.name());
    let verdict = Verdict::below(value, 0.0);
    Claim::new(what, "below 0 %", ASSUMES).found(told(value, "%"), Some(value), BELOW, verdict)
}

/// The claims for fixed run times. If no job waits, the makespan is unchanged; with patience set to
/// a slowdown of 1, no job waits.
pub(super) fn fixed(trials: &ForesightTrials) -> [Claim; 2] {
    let place = trials.setting.place();
    let base = trials.per_file(super::setting::PRESERVE, |trial| trial.makespan);
    let same = [LEASES, FORESIGHT]
        .iter()
        .all(|name| trials.per_file(name, |trial| trial.makespan) == base);
    let makespans = Claim::new(
        format!("{place}, fixed run times: makespans are preserve's, to the nanosecond"),
        "all files",
        &[1],
    );
    let off = trials.of(FORESIGHT) == trials.of(LEASES);
    let what = format!(
        "{place}: with a slowdown of 1, as fixed run times have it, nobody waits for better links"
    );
    let patience = Claim::new(what, "all files", &[1]);
    [(makespans, same), (patience, off)].map(|(claim, holds)| {
        let ours = if holds { "all files" } else { "not in all" };
        claim.found(ours, None, EXACT, Verdict::of(holds))
    })
}
