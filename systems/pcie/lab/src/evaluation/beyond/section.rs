//! Tables and claims.

use mapa_front::Error;
use mapa_sim::{Interval, mean_interval};
use serde::Serialize;

use super::super::colours::colour;
use super::super::setting::PortSharing;
use super::cases::{
    AGELESS, AWARE, BY_MAX_MIN, BeyondGroup, BeyondResult, BeyondResults, FAIRER, FIRST, INSERTED,
    KEPT, LONGER, OURS, SEEN, SJF,
};
use super::run::BeyondNumbers;
use mapa_lab::claim::{Claim, EXACT, Verdict, mean_pm};
use mapa_lab::picture::{BoxGroup as Boxes, BoxPlotWords, boxes};
use mapa_lab::report::Section;

const MINE: &str = "none: MAPA's own";
const ASSUMES: &[usize] = &[1, 2, 3, 4, 8];

/// What `results.json` says of a scheduler in a case.
#[derive(Serialize)]
struct BeyondRow {
    jct_seconds: f64,
    /// Against pcie-aware.
    #[serde(skip_serializing_if = "Option::is_none")]
    reduction_percent: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reduction_half_interval: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mean_slowdown: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p99_slowdown: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    longest_wait_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    makespan_seconds: Option<f64>,
}

fn mean(files: &[BeyondNumbers], of: impl Fn(&BeyondNumbers) -> f64) -> f64 {
    files.iter().map(of).sum::<f64>() / files.len() as f64
}

fn half(value: Interval) -> Option<f64> {
    let half = (value.high - value.low) / 2.0;
    half.is_finite().then_some(half)
}

fn insert(section: &mut Section, done: &BeyondResult) {
    for (name, files) in done.all() {
        let value = mean_interval(&done.reductions(name, AWARE));
        let is_other = name != AWARE;
        section.insert(
            format!("{}, {name}", done.case.name),
            BeyondRow {
                jct_seconds: mean(files, |numbers| numbers.completion),
                reduction_percent: is_other.then_some(value.mean),
                reduction_half_interval: half(value).filter(|_| is_other),
                mean_slowdown: Some(mean(files, |numbers| numbers.slowdown)),
                p99_slowdown: Some(mean(files, |numbers| numbers.p99)),
                longest_wait_seconds: Some(mean(files, |numbers| numbers.longest)),
                makespan_seconds: Some(mean(files, |numbers| numbers.makespan)),
            },
        );
    }
    if !done.bounds.is_empty() {
        let aware = done.per_file(AWARE, |numbers| numbers.completion);
        let pairs = done.bounds.iter().zip(aware);
        let value: Vec<f64> = pairs
            .map(|(value, aware)| 100.0 * (1.0 - value / aware))
            .collect();
        let value = mean_interval(&value);
        section.insert(
            format!("{}, bound", done.case.name),
            BeyondRow {
                jct_seconds: mean_interval(&done.bounds).mean,
                reduction_percent: Some(value.mean),
                reduction_half_interval: half(value),
                mean_slowdown: None,
                p99_slowdown: None,
                longest_wait_seconds: None,
                makespan_seconds: None,
            },
        );
    }
}

/// The mean completion time of a scheduler, or nothing where it was not run.
fn seconds(done: &BeyondResult, name: &str) -> String {
    let files = done.per_file(name, |numbers| numbers.completion);
    if files.is_empty() {
        return String::new();
    }
    format!("{:.1}", mean_interval(&files).mean)
}

fn against(done: &BeyondResult, name: &str, than: &str) -> String {
    let reductions = done.reductions(name, than);
    if reductions.is_empty() {
        return String::new();
    }
    mean_pm(mean_interval(&reductions))
}

/// Two numbers with an arrow: of pcie-aware, and of the plan.
fn arrow(done: &BeyondResult, digits: usize, of: fn(&BeyondNumbers) -> f64) -> String {
    let [aware, ours] = [AWARE, OURS].map(|name| mean_interval(&done.per_file(name, of)).mean);
    format!("{aware:.digits$} -> {ours:.digits$}")
}

const HEADER: [&str; 11] = [
    "setting",
    "first-gpu, s",
    "pcie-aware",
    "aware-sjf",
    "pcie-plan",
    "bound",
    "to pcie-aware, %",
    "to aware-sjf, %",
    "slowdown",
    "99th percentile",
    "longest wait, s",
];

fn table(section: Section, dones: &[&BeyondResult]) -> Section {
    let mut rows = Vec::new();
    for done in dones {
        let bound = if done.bounds.is_empty() {
            String::new()
        } else {
            format!("{:.1}", mean_interval(&done.bounds).mean)
        };
        let mut row = vec![done.case.name.clone()];
        row.extend([FIRST, AWARE, SJF, OURS].map(|name| seconds(done, name)));
        row.push(bound);
        row.extend([AWARE, SJF].map(|than| against(done, OURS, than)));
        row.push(arrow(done, 2, |numbers| numbers.slowdown));
        row.push(arrow(done, 2, |numbers| numbers.p99));
        row.push(arrow(done, 0, |numbers| numbers.longest));
        rows.push(row);
    }
    section.table(HEADER, rows)
}

/// A claim about reductions, percent, that rest on several cases: the one that decides is shown.
fn claim(
    what: String,
    cases: &[&BeyondResult],
    (name, than): (&str, &str),
    limit: f64,
    rule: &'static str,
) -> Claim {
    let judged = cases.iter().map(|done| {
        let value = mean_interval(&done.reductions(name, than));
        let verdict = if limit > 0.0 {
            Verdict::at_least(value, limit)
        } else {
            Verdict::above(value, 0.0)
        };
        (verdict, value, done.case.name.as_str())
    });
    let worst = judged.max_by(|a, b| {
        let by_verdict = a.0.weight().cmp(&b.0.weight());
        by_verdict.then(b.1.mean.total_cmp(&a.1.mean))
    });
    let claim = Claim::new(what, MINE, ASSUMES);
    let Some((verdict, value, case)) = worst else {
        return claim.not_had("no case");
    };
    let ours = if cases.len() > 1 {
        format!("{} % at the least: {case}", mean_pm(value))
    } else {
        format!("{} %", mean_pm(value))
    };
    claim.found(ours, Some(value), rule, verdict)
}

fn claims(all: &BeyondResults) -> Result<Vec<Claim>, Error> {
    let mut claims = Vec::new();
    for physics in PortSharing::ALL {
        for burst in [false, true] {
            let cases: Vec<&BeyondResult> = all
                .group(BeyondGroup::Main)
                .filter(|result| {
                    let setting = &result.case.setting;
                    let is_burst = result.case.name.starts_with("burst");
                    setting.physics == physics && is_burst == burst && setting.share >= 40
                })
                .collect();
            let when = if burst { "in bursts" } else { "at load .6" };
            let what = format!(
                "a. pcie-plan ends jobs sooner than pcie-aware at 40, 60 and 80 %, {when}, {}",
                physics.name()
            );
            claims.push(claim(what, &cases, (OURS, AWARE), 0.0, "above 0 for each"));
        }
    }
    for (name, limit) in [("load .6, 60 %", 4.0), ("burst, 60 %", 13.0)] {
        let done = all.of(name)?;
        let what = format!("b. {name}, Eq. 2: at least {limit} % sooner than pcie-aware");
        claims.push(claim(
            what,
            &[done],
            (OURS, AWARE),
            limit,
            "at least that much",
        ));
    }
    for name in ["load .6, 60 %", "burst, 60 %"] {
        let done = all.of(name)?;
        let what =
            format!("c. {name}, Eq. 2: at least 2 % sooner than pcie-aware, shortest job first");
        claims.push(claim(what, &[done], (OURS, SJF), 2.0, "at least 2 %"));
    }
    for name in ["load .6, 60 %, demands wrong", "burst, 60 %, demands wrong"] {
        let done = all.of(name)?;
        let what = format!("d. {name} by a factor between a half and two: sooner than pcie-aware");
        claims.push(claim(what, &[done], (OURS, AWARE), 0.0, "above 0"));
    }
    claims.push(below_bound(all));
    let what = "f. Real ports share as Eq. 2 says, or max-min fairly";
    claims.push(Claim::new(what, MINE, ASSUMES).not_had(
        "needs GPUs; processes behind token buckets share max-min fairly by construction",
    ));
    Ok(claims)
}

/// The claim that no schedule is below its bound.
fn below_bound(all: &BeyondResults) -> Claim {
    let (mut below, mut schedules) = (0, 0);
    for done in all.group(BeyondGroup::Main) {
        for (_, files) in done.all() {
            for (numbers, bound) in files.iter().zip(&done.bounds) {
                schedules += 1;
                below += usize::from(numbers.completion < bound * (1.0 - 1e-9));
            }
        }
    }
    let what = "e. No schedule of any scheduler is below the bound of its file";
    Claim::new(what, MINE, ASSUMES).found(
        format!("{below} of {schedules} below"),
        None,
        EXACT,
        Verdict::of(below == 0),
    )
}

fn all_run(all: &BeyondResults) -> Claim {
    let left: usize = all
        .0
        .iter()
        .flat_map(|done| done.all().collect::<Vec<_>>())
        .filter(|(name, _)| *name != KEPT)
        .flat_map(|(_, files)| files)
        .map(|numbers| numbers.left)
        .sum();
    Claim::new("Every job runs to its end", MINE, ASSUMES).found(
        format!("{left} left"),
        None,
        EXACT,
        Verdict::of(left == 0),
    )
}

/// How far the plan is above the bound, percent.
fn gap(done: &BeyondResult) -> String {
    let ours = done.per_file(OURS, |numbers| numbers.completion);
    let pairs = ours.iter().zip(&done.bounds);
    let gaps: Vec<f64> = pairs
        .map(|(value, bound)| 100.0 * (value / bound - 1.0))
        .collect();
    mean_pm(mean_interval(&gaps))
}

/// Rows of variants of the plan: what each gains on pcie-aware, and on the plan by default.
fn variants(section: Section, dones: &[&BeyondResult], names: &[&'static str]) -> Section {
    let mut rows = Vec::new();
    for done in dones {
        for &name in names
            .iter()
            .filter(|&&name| !done.reductions(name, AWARE).is_empty())
        {
            rows.push(vec![
                done.case.name.clone(),
                name.to_owned(),
                seconds(done, name),
                against(done, name, AWARE),
                against(done, name, OURS),
                format!(
                    "{:.2}",
                    mean_interval(&done.per_file(name, |numbers| numbers.p99)).mean
                ),
                format!(
                    "{:.0}",
                    mean_interval(&done.per_file(name, |numbers| numbers.longest)).mean
                ),
            ]);
        }
    }
    let header = [
        "setting",
        "scheduler",
        "seconds",
        "to pcie-aware, %",
        "to pcie-plan, %",
        "99th percentile",
        "longest wait, s",
    ];
    section.table(header, rows)
}

fn picture(all: &BeyondResults) -> Result<String, Error> {
    let mut groups: Vec<Boxes> = Vec::new();
    for name in [
        "load .6, 40 %",
        "load .6, 60 %",
        "load .6, 80 %",
        "burst, 40 %",
        "burst, 60 %",
        "burst, 80 %",
    ] {
        let done = all.of(name)?;
        let first = done.per_file(FIRST, |numbers| numbers.completion);
        let over = |name: &str| -> Vec<f64> {
            let own = done.per_file(name, |numbers| numbers.completion);
            own.iter()
                .zip(&first)
                .map(|(value, first)| value / first)
                .collect()
        };
        let mut group: Vec<(&'static str, Vec<f64>)> =
            [AWARE, SJF, OURS].map(|name| (name, over(name))).into();
        let bound = done
            .bounds
            .iter()
            .zip(&first)
            .map(|(value, first)| value / first);
        group.push(("bound", bound.collect()));
        groups.push((name.to_owned(), group));
    }
    let words = BoxPlotWords {
        title: "4 GPUs, Eq. 2: mean completion time over first-gpu's",
        y: "JCT / first-gpu's",
        bottom: 0.4,
        top: 1.1,
        ..BoxPlotWords::default()
    };
    Ok(boxes(&groups, colour, &words))
}

pub(super) fn section(all: &BeyondResults) -> Result<Section, Error> {
    let mut section = Section::new("beyond", "Beyond the paper: a plan for each port");
    for done in &all.0 {
        insert(&mut section, done);
    }
    let group = |group| all.group(group).collect::<Vec<_>>();
    let mut section = section
        .claims(claims(all)?)
        .claims([all_run(all)])
        .text(
            "`pcie-plan` is MAPA's own scheduler: for each GPU an ordered list of waiting jobs, and for each PCIe-bound job a cap on how many bound \
             jobs run beside it, judged by simulating the GPU. `aware-sjf` is pcie-aware with its queue sorted by run time: what ordering alone \
             gives. Seconds are means over jobs and files, from arrival to end. Reductions are of that, percent, paired by file, ± half the 95 % \
             interval. Slowdown is completion over the time at full speed, `pcie-aware -> pcie-plan`. The bound holds for every schedule, with \
             preemption, migration and knowledge of all arrivals.",
        );
    section = table(section, &group(BeyondGroup::Main)).picture(
        "beyond.svg",
        picture(all)?,
        "Mean completion times over those of first-gpu, by file: pcie-aware, pcie-aware shortest first, pcie-plan, and the bound",
    );
    let gaps = group(BeyondGroup::Main)
        .iter()
        .map(|done| vec![done.case.name.clone(), gap(done)])
        .collect();
    section = section
        .text("How far pcie-plan is above the bound. At a load with arrivals the bound knows what comes, and no scheduler does.")
        .table(["setting", "above the bound, %"], gaps)
        .text("Max-min: the plan that predicts by Eq. 2, the default, beside one that predicts by what is true.");
    section = variants(section, &group(BeyondGroup::Main), &[BY_MAX_MIN]);
    section = table(
        section.text("Other loads, 60 GPUs, other run times, at 60 % unless named, Eq. 2."),
        &[
            group(BeyondGroup::Loads),
            group(BeyondGroup::Large),
            group(BeyondGroup::Lengths),
        ]
        .concat(),
    );
    section = table(
        section.text(
            "Jobs of 1g, 2g and 3g with probabilities .6, .25 and .15. GPUs begin in 1g instances, or in layouts of several sizes. With the latter, \
             the plan that leaves layouts as they are shows what repartitioning gains.",
        ),
        &group(BeyondGroup::Mixed),
    );
    section = variants(section, &group(BeyondGroup::Mixed), &[KEPT]);
    section = table(
        section.text(
            "Wrong knowledge, for every scheduler alike: run times by a log-normal factor of this sigma; demands by a factor between a half and two, \
             log-uniform, one for each kind and file. `told progress`: every five seconds the plan is told how much of each running job is done.",
        ),
        &group(BeyondGroup::Wrong),
    );
    section = variants(section, &group(BeyondGroup::Wrong), &[SEEN]);
    let long = group(BeyondGroup::Long);
    if !long.is_empty() {
        section = table(
            section.text("Long backlogs, and how ageing bounds waits."),
            &long,
        );
        section = variants(section, &long, &[FAIRER, AGELESS]);
        section = section.text("Without the search, and with ten times as many moves.");
        section = variants(section, &group(BeyondGroup::Main), &[INSERTED, LONGER]);
    }
    Ok(section)
}
