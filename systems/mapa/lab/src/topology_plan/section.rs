//! Tables, numbers and pictures.

use std::collections::BTreeMap;

use mapa_front::Error;
use mapa_sim::mean_interval;
use mapa_system_mapa::PlanGoal;
use serde_json::Value;

use super::cases::{PlanGroup, PlanResult, PlanResults, percent};
use super::claims::{claims, over_strongest, strongest};
use super::day::day;
use super::run::{FileNumber, FileNumbers};
use super::run::{missing, outcome};
use super::schedulers::{
    AGED, BOUND, CONSERVATIVE, ComparedScheduler, EASY, FIFO, FORESIGHT, JobPlacing, PHI, PLAN,
    PLAN_MAKESPAN, PLAN_SLOWDOWN, PLAN_UNAGED, PlanDifference, STRONGEST,
};
use super::setting::{PlanArrivals, PlanInputs};
use mapa_lab::claim::mean_pm;
use mapa_lab::picture::bars;
use mapa_lab::report::{Section, three_decimals, value};

/// The schedulers that tables and `results.json` show by name, but for the strongest and the bound.
const SHOWN: [&str; 10] = [
    FIFO,
    FORESIGHT,
    EASY,
    CONSERVATIVE,
    PHI,
    AGED,
    PLAN,
    PLAN_MAKESPAN,
    PLAN_SLOWDOWN,
    PLAN_UNAGED,
];

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Adds the numbers of a case: every scheduler's means over files, the strongest baseline's, and
/// the bounds.
fn insert(section: &mut Section, all: &PlanResults, done: &PlanResult) {
    let id = done.setting.id();
    for (name, _) in done.all() {
        let own = FileNumbers::MEASURES.map(|(key, of)| (key, done.mean(name, of)));
        section.insert(format!("{id}, {name}"), BTreeMap::from(own));
    }
    let mut best = BTreeMap::new();
    for measure in FileNumbers::MEASURES {
        let files = strongest(all, done, measure);
        if !files.is_empty() {
            best.insert(measure.0, mean(&files));
        }
    }
    if !best.is_empty() {
        section.insert(format!("{id}, {STRONGEST}"), best);
    }
    let makespans = done.bounds(|bound| bound.makespan);
    if !makespans.is_empty() {
        let means = done.bounds(|bound| bound.completion);
        let own = [
            (FileNumbers::MEASURES[0].0, mean(&makespans)),
            (FileNumbers::MEASURES[1].0, mean(&means)),
        ];
        section.insert(format!("{id}, {BOUND}"), BTreeMap::from(own));
    }
}

/// A difference in percent with its sign, or nothing where there is none.
fn signed(values: &[f64]) -> String {
    if values.is_empty() {
        return String::new();
    }
    let value = mean_interval(values);
    let sign = if value.mean >= 0.005 { "+" } else { "" };
    format!("{sign}{}", mean_pm(value))
}

/// A table of a measure over the main cases of an arrival pattern: the first column is that of
/// first in, first out, the others are percent above it.
fn table(
    section: Section,
    all: &PlanResults,
    coming: PlanArrivals,
    (key, of): (&str, FileNumber),
) -> Section {
    let cases = all.group(PlanGroup::Main);
    let cases: Vec<&PlanResult> = cases.filter(|case| case.setting.coming == coming).collect();
    let others = SHOWN[1..].iter().copied();
    let others: Vec<&str> = others
        .filter(|name| cases.iter().any(|done| !done.per_file(name, of).is_empty()))
        .collect();
    let mut rows = Vec::new();
    for done in &cases {
        let fifo = done.per_file(FIFO, of);
        let mut row = vec![done.setting.place(), format!("{:.1}", mean(&fifo))];
        row.extend(others.iter().map(|name| signed(&done.more(name, FIFO, of))));
        let best = all.strongest.of(&done.setting, key);
        row.push(signed(&percent(&strongest(all, done, (key, of)), &fifo)));
        row.push(best.map_or_else(String::new, |listed| listed.name()));
        row.push(signed(&over_strongest(all, done, PLAN, (key, of))));
        let bounds = match key {
            "makespan_seconds" => done.bounds(|bound| bound.makespan),
            "mean_completion_seconds" => done.bounds(|bound| bound.completion),
            _ => Vec::new(),
        };
        row.push(signed(&percent(&bounds, &fifo)));
        rows.push(row);
    }
    let header = ["", FIFO].into_iter().chain(others);
    let tail = [STRONGEST, "which", "plan to it", BOUND];
    without_empty(section, header.chain(tail).collect(), rows)
}

/// A table without columns that have nothing.
fn without_empty(section: Section, header: Vec<&str>, rows: Vec<Vec<String>>) -> Section {
    let full: Vec<usize> = (0..header.len())
        .filter(|&at| rows.iter().any(|row| !row[at].is_empty()))
        .collect();
    let rows = rows.iter();
    let rows = rows.map(|row| full.iter().map(|&at| row[at].clone()).collect());
    section.table(full.iter().map(|&at| header[at]), rows.collect())
}

/// The lists with and without a threshold, percent above first in, first out.
fn lists(
    section: Section,
    all: &PlanResults,
    coming: PlanArrivals,
    (key, of): (&str, FileNumber),
) -> Section {
    let cases = all.group(PlanGroup::Main);
    let cases: Vec<&PlanResult> = cases.filter(|case| case.setting.coming == coming).collect();
    let Some(first) = cases.first() else {
        return section;
    };
    let names = first.all().map(|(name, _)| name.to_owned());
    let names: Vec<String> = names
        .filter(|name| !name.starts_with(PLAN))
        .filter(|name| !SHOWN.contains(&&name[..]) || name == PHI)
        .collect();
    let rows = names.iter().map(|name| {
        let mut row = vec![name.clone()];
        row.extend(cases.iter().map(|done| signed(&done.more(name, FIFO, of))));
        row
    });
    let places = cases.iter().map(|done| done.setting.place());
    let header: Vec<String> = std::iter::once(key.to_owned()).chain(places).collect();
    let rows = rows.collect();
    section.table(header, rows)
}

/// The cases with wrong knowledge: means, and the plan against the best of the others.
fn wrong(section: Section, all: &PlanResults) -> Section {
    let completion = FileNumbers::MEASURES[1].1;
    let mut rows = Vec::new();
    for done in all.group(PlanGroup::Wrong) {
        let best = done.best(completion, |name| !name.starts_with(PLAN));
        let Some(best) = best else { continue };
        rows.push(vec![
            done.setting.id(),
            format!("{:.1}", done.mean(FIFO, completion)),
            signed(&done.more(PHI, FIFO, completion)),
            signed(&done.more(best, FIFO, completion)),
            best.to_owned(),
            signed(&done.more(PLAN, best, completion)),
        ]);
    }
    if rows.is_empty() {
        return section;
    }
    let header = vec!["setting", FIFO, PHI, "best baseline", "which", "plan to it"];
    let section = section.text(
        "Wrong knowledge: mean completion. Schedulers are told run times times a log-normal factor of this sigma, or the mean of all jobs, or \
         ratios whose gain is only in part true. The best baseline is picked on these files. First in, first out in seconds; baselines in percent \
         above it, the plan in percent above the best baseline.",
    );
    without_empty(section, header, rows)
}

/// What each part of the plan is worth: mean completion without it, percent above the plan's.
fn ablation(section: Section, all: &PlanResults) -> Section {
    let completion = FileNumbers::MEASURES[1].1;
    let of = |coming| {
        all.group(PlanGroup::Main)
            .filter(move |result| result.setting.coming == coming)
    };
    let mut rows = Vec::new();
    for coming in [PlanArrivals::AtOnce, PlanArrivals::Load(0.9)] {
        for planned in PlanDifference::ablation() {
            let name = planned.name();
            let cells: Vec<String> = of(coming)
                .map(|done| signed(&done.more(&name, PLAN, completion)))
                .collect();
            if cells.iter().any(|cell| !cell.is_empty()) {
                let mut row = vec![coming.name(), name[PLAN.len() + 2..].to_owned()];
                row.extend(cells);
                rows.push(row);
            }
        }
    }
    if rows.is_empty() {
        return section;
    }
    let places = of(PlanArrivals::AtOnce).map(|done| done.setting.place());
    let header = [String::new(), PLAN.to_owned()].into_iter().chain(places);
    let header: Vec<String> = header.collect();
    section
        .text(
            "What the parts of the plan are worth: mean completion, percent above that of the whole plan. `search=0`: no random moves.",
        )
        .table(header, rows)
}

/// How far the plan is above the bounds, percent.
fn above_bounds(section: Section, all: &PlanResults) -> Section {
    let mut rows = Vec::new();
    for done in all.group(PlanGroup::Main) {
        let of = |name: &str, of: FileNumber, bound: &[f64]| {
            signed(&percent(&done.per_file(name, of), bound))
        };
        let makespan = match done.setting.coming {
            PlanArrivals::AtOnce => of(
                PLAN_MAKESPAN,
                FileNumbers::MEASURES[0].1,
                &done.bounds(|bound| bound.makespan),
            ),
            _ => String::new(),
        };
        let means = of(
            PLAN,
            FileNumbers::MEASURES[1].1,
            &done.bounds(|bound| bound.completion),
        );
        rows.push(vec![done.setting.id(), makespan, means]);
    }
    section
        .text(
            "How far the plan is above the bound, percent: its makespan when that is its goal, and its mean completion. With arrivals the bound knows what \
             comes, and no scheduler does.",
        )
        .table(["", "makespan", "mean completion"], rows)
}

/// One job file under first in, first out and under the plan: which job is on which device.
fn days(all: &PlanResults) -> Result<[String; 2], Error> {
    let done = all.main("dgx-1v, ring packing", PlanArrivals::AtOnce)?;
    let ready = PlanInputs::all(&[done.setting])?;
    let Some(ready) = ready.first() else {
        return Err(missing("a day"));
    };
    let mut jobs = ready.jobs(DAY)?;
    jobs.jobs.truncate(DAY_JOBS);
    let outcomes = [
        (ComparedScheduler::Fifo(JobPlacing::Preserve), FIFO),
        (
            ComparedScheduler::Plan(PlanDifference::of(PlanGoal::Makespan)),
            PLAN_MAKESPAN,
        ),
    ];
    let mut ran = Vec::new();
    for (listed, name) in outcomes {
        ran.push((outcome(ready, &jobs, listed, DAY)?, name));
    }
    let last = ran
        .iter()
        .flat_map(|(outcome, _)| &outcome.runs)
        .map(mapa_sim::Run::ended)
        .max();
    let until = last.unwrap_or_default().0 as f64 / 1e9;
    let pictures = ran.iter().map(|(outcome, name)| {
        let title = format!("{DAY_JOBS} jobs on a DGX-1V by ring packing, all at once: {name}");
        day(outcome, &jobs, &title, ready.graph.len(), until)
    });
    let [Some(first), Some(second)] = ({
        let mut pictures = pictures;
        [pictures.next(), pictures.next()]
    }) else {
        return Err(missing("a day"));
    };
    Ok([first, second])
}

/// The job file of the pictures: the first of the tuning files.
const DAY: u64 = 50_001;
const DAY_JOBS: usize = 60;

fn picture(all: &PlanResults) -> String {
    let named = [
        (FORESIGHT, "#8d7fd1"),
        (EASY, "#e69f00"),
        (PHI, "#4a9fe0"),
        (PLAN, "#2fae86"),
    ];
    let completion = FileNumbers::MEASURES[1].1;
    let cases = all.group(PlanGroup::Main);
    let cases: Vec<&PlanResult> = cases
        .filter(|case| case.setting.coming == PlanArrivals::Load(0.9))
        .collect();
    let there = |name: &str| {
        cases
            .iter()
            .all(|case| !case.per_file(name, completion).is_empty())
    };
    let named: Vec<_> = named.into_iter().filter(|(name, _)| there(name)).collect();
    let mut groups = Vec::new();
    for done in &cases {
        let below = |name: &str| -mean(&done.more(name, FIFO, completion));
        let values = named.iter().map(|(name, _)| below(name)).collect();
        let judge = &done.setting.judge.name()[..1];
        groups.push((format!("{}, {judge}", done.setting.machine), values));
    }
    bars(
        &groups,
        &named,
        "Mean completion at load .9, below first in, first out (E: by Eq. 2, r: by ring packing)",
        "% of fifo-preserve's",
    )
}

/// The section.
pub(super) fn section(all: &PlanResults) -> Result<Section, Error> {
    let mut section = Section::new("plan", "Order and placement together");
    for done in &all.dones {
        insert(&mut section, all, done);
    }
    let mut section = section.claims(claims(all)?).text(
        "The first column of numbers is that of first in, first out by preserve, a mean over job files: seconds, or a factor for the slowdown. Other columns are percent \
         above it, paired by file, means ± half the 95 % interval; the last ones are what the strongest baseline has, and the plan in percent above \
         the strongest. `strongest` is the baseline of the least mean on the tuning files. `easy` and `conservative` are told run times \
         over slow links; told those at full speed they are behind. Lists neither age nor limit overtaking, but for the one that says so; of plans only the one that says so does without.",
    );
    section = section.picture(
        "completion.svg",
        picture(all),
        "By how much mean completion at load .9 is below that of first in, first out",
    );
    for coming in PlanArrivals::ALL {
        section = section.text(format!("### Jobs arrive: {}", coming.name()));
        let measures = FileNumbers::MEASURES.iter();
        // At a load the last job ends soon after it arrives, whatever the scheduler.
        let shown = measures
            .filter(|(key, _)| coming == PlanArrivals::AtOnce || *key != "makespan_seconds");
        for &(key, of) in shown {
            section = section.text(format!("{}.", key.replace('_', " ")));
            section = table(section, all, coming, (key, of));
        }
        section = section.text("Lists with and without a threshold, mean completion:");
        section = lists(section, all, coming, FileNumbers::MEASURES[1]);
        if coming == PlanArrivals::AtOnce {
            section = section.text("Makespan:");
            section = lists(section, all, coming, FileNumbers::MEASURES[0]);
        }
    }
    let [first, second] = days(all)?;
    let section = section
        .text("The same jobs under first in, first out, and under the plan for makespan. Time has one scale.")
        .picture("day-fifo.svg", first, "Devices over time under first in, first out by preserve: gaps between large jobs")
        .picture("day-plan.svg", second, "The same jobs under the plan: hardly any gap, and the last job ends earlier");
    let section = above_bounds(section, all);
    Ok(wrong(ablation(section, all), all))
}

/// The numbers of the shown schedulers by file.
pub(super) fn per_file(all: &PlanResults) -> Value {
    let mut settings = BTreeMap::new();
    for done in all.group(PlanGroup::Main) {
        let mut schedulers = BTreeMap::new();
        for name in SHOWN {
            let numbers = FileNumbers::MEASURES.map(|(key, of)| {
                let files = done.per_file(name, |numbers| three_decimals(of(numbers)));
                (key, files)
            });
            if !numbers[0].1.is_empty() {
                schedulers.insert(name, BTreeMap::from(numbers));
            }
        }
        settings.insert(done.setting.id(), schedulers);
    }
    value(settings)
}
