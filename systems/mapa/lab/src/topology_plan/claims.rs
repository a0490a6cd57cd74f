//! What would show the plan to be wrong, and what it has to reach, as claims.

use mapa_front::Error;
use mapa_sim::{Interval, mean_interval};

use super::cases::{PlanGroup, PlanResult, PlanResults, percent};
use super::run::{FileNumber, FileNumbers};
use super::schedulers::{FIFO, PLAN, PLAN_MAKESPAN, PLAN_SLOWDOWN, PLAN_UNAGED, is_list};
use super::setting::{PlanArrivals, ToldRunTimes};
use mapa_lab::claim::{Claim, EXACT, Verdict, mean_pm};

const MINE: &str = "none: MAPA's own";
const ASSUMES: &[usize] = &[1, 2, 3, 4, 5, 6];
const ABSENT: &str = "not run";

const MAKESPAN: FileNumber = |numbers| numbers.makespan;
const COMPLETION: FileNumber = |numbers| numbers.completion;

/// A claim that a number is at most `limit` percent, or at least as far below zero.
fn at_most(what: String, values: &[f64], limit: f64) -> Claim {
    let claim = Claim::new(what, MINE, ASSUMES);
    if values.is_empty() {
        return claim.not_had(ABSENT);
    }
    let value = mean_interval(values);
    let verdict = Verdict::at_most(value, limit);
    claim.found(signed(value), Some(value), "mean, at most", verdict)
}

fn signed(value: Interval) -> String {
    let sign = if value.mean > 0.0 { "+" } else { "" };
    format!("{sign}{} %", mean_pm(value))
}

/// The number of the strongest baseline by a measure, by file.
pub(super) fn strongest(
    all: &PlanResults,
    done: &PlanResult,
    (key, of): (&str, FileNumber),
) -> Vec<f64> {
    let name = all
        .strongest
        .of(&done.setting, key)
        .map(|listed| listed.name());
    name.map_or_else(Vec::new, |name| done.per_file(&name, of))
}

/// The number of a scheduler above that of the strongest baseline, percent, by file.
pub(super) fn over_strongest(
    all: &PlanResults,
    done: &PlanResult,
    name: &str,
    measure: (&str, FileNumber),
) -> Vec<f64> {
    percent(
        &done.per_file(name, measure.1),
        &strongest(all, done, measure),
    )
}

/// The main cases of an arrival pattern.
fn of_coming(all: &PlanResults, coming: PlanArrivals) -> impl Iterator<Item = &PlanResult> {
    all.group(PlanGroup::Main)
        .filter(move |result| result.setting.coming == coming)
}

const TO_COMPLETION: (&str, FileNumber) = FileNumbers::MEASURES[1];

/// All claims.
pub(super) fn claims(all: &PlanResults) -> Result<Vec<Claim>, Error> {
    let mut claims = reach(all)?;
    claims.extend(under_load(all));
    claims.extend(near_bounds(all));
    claims.push(below_bounds(all));
    claims.extend(threshold(all));
    claims.extend(tail(all));
    claims.extend(estimates(all));
    claims.push(all_run(all));
    Ok(claims)
}

/// What the plan has to reach against first in, first out, all at once.
fn reach(all: &PlanResults) -> Result<Vec<Claim>, Error> {
    let mut claims = Vec::new();
    for (place, limit) in [
        ("dgx-1v, Eq. 2", -17.0),
        ("dgx-1v, ring packing", -21.0),
        ("cube-mesh-16, ring packing", -28.0),
    ] {
        let done = all.main(place, PlanArrivals::AtOnce)?;
        let what = format!(
            "{place}, all at once: the plan's makespan is at least {} % below that of {FIFO}",
            -limit
        );
        claims.push(at_most(
            what,
            &done.more(PLAN_MAKESPAN, FIFO, MAKESPAN),
            limit,
        ));
    }
    for done in of_coming(all, PlanArrivals::AtOnce) {
        let place = done.setting.place();
        let limit = if place == "torus-2d, Eq. 2" {
            -40.0
        } else {
            -42.0
        };
        let what = format!(
            "{place}, all at once: the plan's mean completion is at least {} % below that of {FIFO}",
            -limit
        );
        claims.push(at_most(what, &done.more(PLAN, FIFO, COMPLETION), limit));
    }
    Ok(claims)
}

/// a. The plan against the strongest baseline at load .9. The torus by ring packing is overloaded
/// there, as no ring of three or five closes: the claim is for the plan without ageing.
fn under_load(all: &PlanResults) -> Vec<Claim> {
    let loaded = of_coming(all, PlanArrivals::Load(0.9));
    let claim = |done: &PlanResult| {
        let is_over = done.setting.place() == "torus-2d, ring packing";
        let (plan, how) = if is_over {
            (
                PLAN_UNAGED,
                " without ageing, and without a limit on overtaking,",
            )
        } else {
            (PLAN, "")
        };
        let what = format!(
            "a. {}: the plan's mean completion{how} is at least 5 % below that of the strongest baseline",
            done.setting.id()
        );
        at_most(what, &over_strongest(all, done, plan, TO_COMPLETION), -5.0)
    };
    loaded.map(claim).collect()
}

/// b. The plan above the bounds, all at once.
fn near_bounds(all: &PlanResults) -> Vec<Claim> {
    let mut claims = Vec::new();
    for done in of_coming(all, PlanArrivals::AtOnce) {
        let id = done.setting.id();
        let makespans = percent(
            &done.per_file(PLAN_MAKESPAN, MAKESPAN),
            &done.bounds(|bound| bound.makespan),
        );
        claims.push(at_most(
            format!("b. {id}: the plan's makespan is at most 3 % above its bound"),
            &makespans,
            3.0,
        ));
        let means = percent(
            &done.per_file(PLAN, COMPLETION),
            &done.bounds(|bound| bound.completion),
        );
        claims.push(at_most(
            format!("b. {id}: the plan's mean completion is at most 6 % above its bound"),
            &means,
            6.0,
        ));
    }
    claims
}

/// c. No schedule is below a bound.
fn below_bounds(all: &PlanResults) -> Claim {
    let (mut below, mut schedules) = (0, 0);
    for done in all.group(PlanGroup::Main) {
        let [makespans, means] = [
            done.bounds(|bound| bound.makespan),
            done.bounds(|bound| bound.completion),
        ];
        for (_, files) in done.all() {
            for (numbers, (makespan, mean)) in files.iter().zip(makespans.iter().zip(&means)) {
                schedules += 1;
                // Ends are rounded to nanoseconds.
                let is_below = numbers.makespan < makespan * (1.0 - 1e-9)
                    || numbers.completion < mean * (1.0 - 1e-9);
                below += usize::from(is_below);
            }
        }
    }
    let claim = Claim::new(
        "c. No schedule of any scheduler is below a bound of its file",
        MINE,
        ASSUMES,
    );
    if schedules == 0 {
        return claim.not_had(ABSENT);
    }
    let ours = format!("{below} of {schedules} below");
    claim.found(ours, None, EXACT, Verdict::of(below == 0))
}

/// d. What the threshold gains, all at once.
fn threshold(all: &PlanResults) -> Vec<Claim> {
    let claim = |done: &PlanResult| {
        let with = done.best(COMPLETION, |name| is_list(name, true));
        let without = done.best(COMPLETION, |name| is_list(name, false));
        let values = match (with, without) {
            (Some(with), Some(without)) => done.more(with, without, COMPLETION),
            _ => Vec::new(),
        };
        let what = format!(
            "d. {}: the best list with a threshold of 1.2 has a mean completion at least 2 % below that of the best without",
            done.setting.id()
        );
        at_most(what, &values, -2.0)
    };
    of_coming(all, PlanArrivals::AtOnce).map(claim).collect()
}

/// e. The tail at load .9.
fn tail(all: &PlanResults) -> Vec<Claim> {
    let claim = |done: &PlanResult| {
        let what = format!(
            "e. {}: the plan for slowdown has a 99th percentile of slowdown at least 50 % below that of {FIFO}",
            done.setting.id()
        );
        at_most(
            what,
            &done.more(PLAN_SLOWDOWN, FIFO, |numbers| numbers.p99),
            -50.0,
        )
    };
    of_coming(all, PlanArrivals::Load(0.9)).map(claim).collect()
}

/// f and g. Run times wrong by a log-normal factor of sigma .2.
fn estimates(all: &PlanResults) -> Vec<Claim> {
    let told = ToldRunTimes::Wrong(0.2);
    let wrong = || {
        all.group(PlanGroup::Wrong)
            .filter(move |result| result.setting.told == told)
    };
    let against = |done: &PlanResult| {
        let best = done.best(COMPLETION, |name| !name.starts_with(PLAN));
        best.map_or_else(Vec::new, |best| done.more(PLAN, best, COMPLETION))
    };
    let mut claims = Vec::new();
    for done in wrong().filter(|result| {
        result.setting.coming == PlanArrivals::Load(0.9) && result.setting.machine != "torus-2d"
    }) {
        let what = format!(
            "f. {}: the plan's mean completion is at least 4 % below that of the best baseline",
            done.setting.id()
        );
        claims.push(at_most(what, &against(done), -4.0));
    }
    for done in wrong().filter(|result| result.setting.coming == PlanArrivals::AtOnce) {
        let what = format!(
            "g. {}: the plan's mean completion is within 2 % of that of the best baseline",
            done.setting.id()
        );
        let values = against(done);
        let claim = Claim::new(what, MINE, ASSUMES);
        claims.push(if values.is_empty() {
            claim.not_had(ABSENT)
        } else {
            let value = mean_interval(&values);
            let verdict = Verdict::within(value, -2.0, 2.0);
            claim.found(signed(value), Some(value), "mean, within", verdict)
        });
    }
    claims
}

fn all_run(all: &PlanResults) -> Claim {
    let files = all
        .dones
        .iter()
        .flat_map(PlanResult::all)
        .flat_map(|(_, files)| files);
    let left: usize = files.map(|file| file.left).sum();
    let ours = format!("{left} left");
    Claim::new("Every job runs to its end", MINE, ASSUMES).found(
        ours,
        None,
        EXACT,
        Verdict::of(left == 0),
    )
}
