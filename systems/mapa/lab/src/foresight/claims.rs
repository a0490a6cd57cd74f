//! The claims about foresight, tested.

use mapa_sim::{Interval, mean_interval};

use super::setting::{BY_IDS, Coming, FORESIGHT, Judge, LEASES};
use super::trials::{Of, Trials};
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
    trials: &Trials,
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
fn own(trials: &Trials, what: &str, unit: &str, limit: f64, rule: &'static str, of: Of) -> Claim {
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
pub(super) fn by_bandwidth(trials: &Trials) -> Vec<Claim> {
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
                difference(trials, "minimum", min, AT_LEAST, |own| own.min),
                difference(trials, "25th percentile", p25, rule, |own| own.p25),
                difference(trials, "median", 0.0, AT_LEAST, |own| own.p50),
                makespan(trials, shorter),
            ]
        }
        (Judge::Packing, "dgx-1v") => vec![
            own(trials, "starved jobs", "%", 0.5, OWN_BELOW, |own| {
                own.starved
            }),
            makespan(trials, -2.0),
            over_ties_by_ids(trials, -2.0),
        ],
        (Judge::Packing, "torus-2d") => vec![
            own(trials, "starved jobs", "%", 51.0, OWN_AT_MOST, |own| {
                own.starved
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
                |own| own.p25,
            ),
            makespan(trials, -15.0),
            over_ties_by_ids(trials, -15.0),
        ],
    };
    if setting.coming != Coming::AtOnce {
        let what = "mean completion time";
        claims.push(below_preserve(trials, what, |own| own.completion));
    }
    claims
}

/// A claim about the difference of a bandwidth, GB/s.
fn difference(trials: &Trials, what: &str, limit: f64, rule: &'static str, of: Of) -> Claim {
    let values = trials.more(FORESIGHT, of);
    more(trials, what, "GB/s", limit, rule, &values)
}

/// The claim about the makespan: its difference is at most `limit` percent if all jobs arrive at
/// once; else it is lower.
fn makespan(trials: &Trials, limit: f64) -> Claim {
    if trials.setting.coming != Coming::AtOnce || limit == 0.0 {
        return below_preserve(trials, "makespan", |own| own.makespan);
    }
    let values = trials.percent_more(FORESIGHT, |own| own.makespan);
    more(trials, "makespan", "%", limit, AT_MOST, &values)
}

/// The claim about the makespan against preserve with ties by id, which has the shorter makespans by
/// ring packing on sixteen devices. The limits are those against preserve.
fn over_ties_by_ids(trials: &Trials, limit: f64) -> Claim {
    let what = "makespan over that of preserve with ties by id (added afterwards)";
    let values = trials.percent_over(BY_IDS, FORESIGHT, |own| own.makespan);
    if trials.setting.coming == Coming::AtOnce {
        return more(trials, what, "%", limit, AT_MOST, &values);
    }
    below(trials, what, &values)
}

/// The claim that a time is below preserve's.
fn below_preserve(trials: &Trials, what: &str, of: Of) -> Claim {
    below(trials, what, &trials.percent_more(FORESIGHT, of))
}

/// A claim that differences in percent are below zero.
fn below(trials: &Trials, what: &str, values: &[f64]) -> Claim {
    let value = mean_interval(values);
    let place = trials.setting.place();
    let what = format!("{place}, {}: {what}", trials.setting.coming.name());
    let verdict = Verdict::below(value, 0.0);
    Claim::new(what, "below 0 %", ASSUMES).found(told(value, "%"), Some(value), BELOW, verdict)
}

/// The claims for fixed run times. If no job waits, the makespan is unchanged; with patience set to
/// a slowdown of 1, no job waits.
pub(super) fn fixed(trials: &Trials) -> [Claim; 2] {
    let place = trials.setting.place();
    let base = trials.per_file(super::setting::PRESERVE, |own| own.makespan);
    let same = [LEASES, FORESIGHT]
        .iter()
        .all(|name| trials.per_file(name, |own| own.makespan) == base);
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
