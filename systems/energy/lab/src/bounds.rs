//! What no schedule is below, and how near rules come to it.
//!
//! Bounds on tardiness say something only where jobs must be late. So they are held against small days
//! with tight deadlines, on which jobs arrive faster than four GPUs can run them, and against parts of
//! fresh days, where they are 0.

use mapa_front::Error;
use mapa_lab::claim::{Claim, Verdict, mean_pm};
use mapa_lab::plan::{Plan, on_files};
use mapa_lab::progress::Progress;
use mapa_lab::report::Section;
use mapa_sched::bound::{Bound, Class, Measure, Solver};
use mapa_sim::{mean_interval, paired_interval, stream};
use mapa_system_energy::{
    EnergyPlan, Fit, LargestFirst, LeastCost, MeanFinish, Power, RandomSlice, Recorder, Rule,
    SliceJob, SlicedGpus, Slots, SmallestFirst, State, bare_energy_bound, bounds, energy_bound,
};
use mapa_system_energy_sim::{Draw, LOADS, run};
use rand::RngExt;

const MINE: &str = "none: MAPA's own";
/// At most so many days: each is several linear programs.
const DAYS: usize = 10;
/// The jobs of a small day, and the slots of its linear programs.
const JOBS: usize = 50;
const SLOTS: usize = 60;
/// The layouts of a small day.
const LAYOUTS: &str = "3,2,2 | 3,2,2 | 3,2,2 | 3,2,2";
/// The jobs of a part of a fresh day, and its slots.
const PART: usize = 150;
const PART_SLOTS: usize = 30;
/// By how much a schedule may be below a bound: the tolerance of the solver.
const NOISE: f64 = 1e-6;

/// The bounds on tardiness, from the weakest on.
const NAMES: [&str; 4] = ["chu", "linear", "progress", "progress-static"];
/// The rule that is measured by them.
const OURS: &str = "energy-plan";

/// A day: its bounds, and what every rule comes to.
struct BoundedDay {
    bounds: Vec<Bound>,
    /// By rule: tardiness and energy, and how often they are below a bound.
    rules: Vec<(String, f64, f64)>,
    below: usize,
    jobs: usize,
}

impl BoundedDay {
    /// A bound on tardiness or the tardiness of a rule, minutes a job.
    fn minutes(&self, name: &str) -> f64 {
        let bound = self.bounds.iter().find(|bound| bound.name == name);
        let rule = self.rules.iter().find(|rule| rule.0 == name);
        let sum = bound.map(|bound| bound.value).or(rule.map(|row| row.1));
        sum.unwrap_or(f64::NAN) / self.jobs as f64
    }

    /// The least tardiness of any rule, minutes a job.
    fn best(&self) -> f64 {
        let each = self.rules.iter().map(|rule| rule.1);
        each.fold(f64::INFINITY, f64::min) / self.jobs as f64
    }
}

fn rules(seed: u64) -> Vec<Box<dyn Rule>> {
    let mut draws = stream(seed, "energy bounds random rule");
    vec![
        Box::new(LargestFirst),
        Box::new(MeanFinish),
        Box::new(SmallestFirst),
        Box::new(RandomSlice::new(move |n: usize| draws.random_range(0..n))),
        Box::new(Fit::default()),
        Box::new(Fit::fullest()),
        Box::new(LeastCost::default()),
        Box::new(EnergyPlan::default()),
    ]
}

/// Every rule on a day. Schedules are verified, so that what is held against the bounds is possible.
fn day(jobs: &[SliceJob], layouts: &str, slots: usize, seed: u64) -> Result<BoundedDay, Error> {
    let machine = SlicedGpus::new(layouts, Power::A100).map_err(Error::malformed)?;
    let slots = Slots::even(jobs, &machine, slots);
    let bounds = bounds(jobs, &machine, &slots, &Solver::default()).map_err(Error::malformed)?;
    let mut day = BoundedDay {
        bounds,
        rules: Vec::new(),
        below: 0,
        jobs: jobs.len(),
    };
    for rule in rules(seed) {
        let mut recorder = Recorder::new(rule);
        run(jobs, State::new(machine.clone()), &mut recorder).map_err(Error::malformed)?;
        recorder.schedule().verify(jobs).map_err(Error::malformed)?;
        let costs = recorder.schedule().costs(jobs, machine.power());
        for bound in day
            .bounds
            .iter()
            .filter(|bound| bound.class.covers(Class::FixedLayouts))
        {
            let value = match bound.measure {
                Measure::Energy => costs.watt_minutes,
                Measure::Tardiness => costs.tardiness,
                // A bound on other schedules.
                Measure::Completion | Measure::Makespan => continue,
            };
            day.below += usize::from(value < bound.value - NOISE * (1.0 + value));
        }
        let name = recorder.name().to_owned();
        day.rules.push((name, costs.tardiness, costs.watt_minutes));
    }
    Ok(day)
}

/// Fifty jobs at eight a minute, with tight deadlines.
fn small(seed: u64) -> Result<BoundedDay, Error> {
    let draw = Draw {
        per_minute: 8.0 / LOADS[9],
        from: 540.0,
        most: JOBS,
        ..Draw::tight()
    };
    day(
        &draw.jobs(seed).map_err(Error::malformed)?,
        LAYOUTS,
        SLOTS,
        seed,
    )
}

/// A part of a fresh day.
fn part(seed: u64) -> Result<BoundedDay, Error> {
    let draw = Draw {
        from: 540.0,
        most: PART,
        ..Draw::default()
    };
    let jobs = draw.jobs(seed).map_err(Error::malformed)?;
    day(&jobs, SlicedGpus::PUBLISHED, PART_SLOTS, seed)
}

/// The bounds on the energy of a whole fresh day: without arrivals, and with them.
fn energies(seed: u64) -> Result<[f64; 2], Error> {
    let jobs = Draw::default().jobs(seed).map_err(Error::malformed)?;
    let of = |bound: fn(&[SliceJob], usize, &Power) -> Option<f64>| {
        bound(&jobs, 8, &Power::A100).unwrap_or(f64::NAN)
    };
    Ok([of(bare_energy_bound), of(energy_bound)])
}

/// What a seed gives.
struct SeedResult {
    small: BoundedDay,
    part: BoundedDay,
    energies: [f64; 2],
}

pub(super) fn section(plan: &Plan, bar: &dyn Progress) -> Result<Section, Error> {
    let few = Plan {
        files: plan.files.min(DAYS),
        ..plan.clone()
    };
    let mut found = on_files(&few, bar, 1, |_, seed| {
        let (small, part) = (small(seed)?, part(seed)?);
        let energies = energies(seed)?;
        Ok(vec![SeedResult {
            small,
            part,
            energies,
        }])
    })?;
    let days = found
        .pop()
        .and_then(|mut values| values.pop())
        .unwrap_or_default();
    let mut section = Section::new("bounds", "What no schedule is below");
    let mut rows = Vec::new();
    for name in NAMES.into_iter().chain([OURS]) {
        let per_day: Vec<f64> = days.iter().map(|day| day.small.minutes(name)).collect();
        let part: Vec<f64> = days.iter().map(|day| day.part.minutes(name)).collect();
        let (small, part) = (mean_interval(&per_day), mean_interval(&part));
        section.insert(name, small.mean);
        let first = per_day.iter().take(3).map(|value| format!("{value:.2}"));
        rows.push(vec![
            name.to_owned(),
            first.collect::<Vec<_>>().join(", "),
            mean_pm(small),
            mean_pm(part),
        ]);
    }
    let energies = [0, 1].map(|at| {
        let each: Vec<f64> = days.iter().map(|day| day.energies[at] / 1e6).collect();
        mean_interval(&each).mean
    });
    section.insert("energy without arrivals, 10^6 watt-minutes", energies[0]);
    section.insert("energy with arrivals, 10^6 watt-minutes", energies[1]);
    let header = [
        "bound or rule",
        "first days",
        "small days",
        "parts of fresh days",
    ];
    Ok(section.claims(claims(&days)).table(header, rows).text(format!(
        "Tardiness, minutes a job. A small day: {JOBS} jobs at 8 a minute with tight deadlines, on four GPUs with slices of 3, 2 and 2; {SLOTS} \
         slots. A part of a fresh day: {PART} jobs from nine o'clock with relaxed deadlines, on the published layouts. All bounds but progress-static \
         hold for any layouts; all hold with preemption. On whole fresh days the least energy is {:.3} x 10^6 watt-minutes without arrivals, and \
         {:.3} with them.",
        energies[0], energies[1],
    )))
}

fn mean(values: &[f64]) -> f64 {
    mean_interval(values).mean
}

fn claims(days: &[SeedResult]) -> Vec<Claim> {
    let minutes =
        |name: &str| -> Vec<f64> { days.iter().map(|day| day.small.minutes(name)).collect() };
    let below: usize = days
        .iter()
        .map(|day| day.small.below + day.part.below)
        .sum();
    let held: usize = days
        .iter()
        .map(|day| day.small.rules.len() + day.part.rules.len())
        .sum();
    let falls = days
        .iter()
        .flat_map(|day| [&day.small, &day.part])
        .filter(|day| {
            let each = NAMES[1..].iter().map(|name| day.minutes(name));
            !each
                .collect::<Vec<_>>()
                .is_sorted_by(|a, b| *b >= a - NOISE)
        });
    let falls = falls.count();
    let gain = paired_interval(&minutes("progress"), &minutes("linear"));
    let (ours, fixed) = (mean(&minutes(OURS)), mean(&minutes("progress-static")));
    let best: Vec<f64> = days.iter().map(|day| day.small.best()).collect();
    let twice: Vec<f64> = minutes("progress-static")
        .iter()
        .map(|minutes| 2.0 * minutes)
        .collect();
    let above = paired_interval(&minutes(OURS), &twice);
    let largest = days
        .iter()
        .flat_map(|day| NAMES.map(|name| day.part.minutes(name)));
    let largest = largest.fold(0.0, f64::max);
    vec![
        Claim::new("No schedule of any rule is below a bound", MINE, &[3]).found(
            format!("{below} of {held} schedules"),
            None,
            "none",
            Verdict::of(below == 0).by_construction(),
        ),
        Claim::new(
            "Bounds ascend from linear to progress to progress-static",
            MINE,
            &[],
        )
        .found(
            format!("not on {falls} of {} days", 2 * days.len()),
            None,
            "on all days",
            Verdict::of(falls == 0).by_construction(),
        ),
        Claim::new(
            "Where jobs must be late, progress is above the bound on linear jobs",
            MINE,
            &[3],
        )
        .found(
            format!("{} minutes a job", mean_pm(gain)),
            Some(gain),
            "above 0",
            Verdict::above(gain, 0.0),
        ),
        Claim::new(
            format!("The tardiness of {OURS} is at most twice what its layouts allow"),
            MINE,
            &[3],
        )
        .found(
            format!(
                "{:.2} times progress-static; the best rule of each day {:.2} times",
                ours / fixed,
                mean(&best) / fixed
            ),
            Some(above),
            "minutes a job above twice the bound: at most 0",
            Verdict::at_most(above, 0.0),
        ),
        Claim::new(
            "With relaxed deadlines no bound says anything: each is at most 0.03 minutes a job",
            MINE,
            &[2, 3],
        )
        .found(
            format!("{largest:.3} at most"),
            None,
            "at most 0.03",
            Verdict::of(largest <= 0.03),
        ),
    ]
}
