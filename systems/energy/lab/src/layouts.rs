//! Layouts that change, and what each part of the plan is worth.

use mapa_front::Error;
use mapa_sim::{mean_interval, paired_interval};
use mapa_system_energy::{Booking, EnergyPlan, Power, Prices, Rule, SlicedGpus, State};
use mapa_system_energy_sim::{Totals, run as run_day, run_preemptive};
use serde::Serialize;

use super::rows::{LARGEST, PLAN, PLAN_LAYOUTS, ROWS};
use super::setting::FRESH;
use super::trials::{AllDays, DayNumber, DayTrials, ENERGY, LATE, TARDINESS};
use mapa_lab::claim::{Claim, Verdict, mean_pm};
use mapa_lab::plan::{Plan, on_files};
use mapa_lab::progress::Progress;
use mapa_lab::report::Section;

const MINE: &str = "none: MAPA's own";
const ASSUMES: &[usize] = &[1, 2, 3, 5];

/// A variant: a plan on a machine.
struct Variant {
    name: &'static str,
    what: &'static str,
    /// Seconds to create an instance; none for layouts that stay.
    creation_s: Option<f64>,
    booking: Booking,
    prices: fn() -> Prices,
}

const BASE: fn() -> Prices = || Prices::PUBLISHED_LAYOUTS;

const fn repartitioned(
    name: &'static str,
    what: &'static str,
    seconds: f64,
    booking: Booking,
) -> Variant {
    Variant {
        name,
        what,
        creation_s: Some(seconds),
        booking,
        prices: BASE,
    }
}

const fn without(name: &'static str, what: &'static str, prices: fn() -> Prices) -> Variant {
    Variant {
        name,
        what,
        creation_s: None,
        booking: Booking::Busy,
        prices,
    }
}

/// GPUs that are repartitioned at any start.
const CHANGING: [Variant; 4] = [
    repartitioned(
        "repartitioned, .4 s",
        "nothing is booked",
        0.4,
        Booking::None,
    ),
    repartitioned(
        "repartitioned, 4 s",
        "nothing is booked",
        4.0,
        Booking::None,
    ),
    repartitioned(
        "repartitioned, .4 s, slots booked",
        "slots of memory are booked",
        0.4,
        Booking::Slots,
    ),
    repartitioned(
        "repartitioned, 4 s, slots booked",
        "slots of memory are booked",
        4.0,
        Booking::Slots,
    ),
];

/// The plan without a part of it, on the published layouts.
const ABLATION: [Variant; 5] = [
    without(
        "no waiting",
        "a job starts wherever it costs least now",
        || Prices {
            margin: 1e9,
            ..Prices::PUBLISHED_LAYOUTS
        },
    ),
    without("no order", "jobs in the order of their deadlines", || {
        Prices {
            // Every job weighs the same, so ties keep the order of the queue.
            lost: 1.0,
            floor: 1.0,
            urgency: 1e-9,
            length: 0.0,
            ..Prices::PUBLISHED_LAYOUTS
        }
    }),
    without("no energy", "watt-minutes cost nothing", || Prices {
        energy: 0.0,
        ..Prices::PUBLISHED_LAYOUTS
    }),
    without(
        "no load",
        "slices cost the same, however many jobs wait",
        || Prices {
            queue: 0.0,
            ..Prices::PUBLISHED_LAYOUTS
        },
    ),
    without(
        "one price",
        "a price of .0047 for each compute slice",
        || Prices {
            slice: [1.0, 2.0, 3.0, 4.0, 7.0].map(|size| 0.0047 * size),
            ..Prices::PUBLISHED_LAYOUTS
        },
    ),
];

/// A day: what it came to, and the instances that were created.
#[derive(Clone, Copy, Default)]
struct LayoutDay {
    totals: Totals,
    creations: f64,
}

pub(super) struct Layouts {
    /// By variant, in the order of [`CHANGING`] and [`ABLATION`].
    days: Vec<Vec<LayoutDay>>,
    /// Largest-first where every event interrupts every job.
    preemptive: Vec<Totals>,
}

fn variants() -> impl Iterator<Item = &'static Variant> {
    CHANGING.iter().chain(&ABLATION)
}

pub(super) fn run(plan: &Plan, bar: &dyn Progress) -> Result<Layouts, Error> {
    let mut done = on_files(plan, bar, 1, |_, seed| {
        bar.doing("layouts that change, and parts of the plan");
        let [jobs, _] = FRESH.jobs(seed)?;
        let each = variants().map(|variant| {
            let machine = match variant.creation_s {
                Some(seconds) => SlicedGpus::flexible(8, Power::A100, seconds / 60.0),
                None => SlicedGpus::new(SlicedGpus::PUBLISHED, Power::A100),
            };
            let machine = machine.map_err(Error::malformed)?;
            let plan = EnergyPlan::new((variant.prices)()).map_err(Error::malformed)?;
            let mut rule: Box<dyn Rule> = Box::new(plan.booking(variant.booking));
            let totals = run_day(&jobs, State::new(machine), &mut *rule);
            let totals = totals.map_err(Error::malformed)?;
            Ok(LayoutDay {
                totals,
                creations: totals.creations as f64,
            })
        });
        let mut days = each.collect::<Result<Vec<LayoutDay>, Error>>()?;
        let machine =
            SlicedGpus::new(SlicedGpus::PUBLISHED, Power::A100).map_err(Error::malformed)?;
        let mut rule = ROWS[0].rule(seed)?;
        let totals = run_preemptive(&jobs, State::new(machine), &mut *rule);
        days.push(LayoutDay {
            totals: totals.map_err(Error::malformed)?,
            creations: 0.0,
        });
        Ok(days)
    })?;
    let mut days = done.pop().unwrap_or_default();
    let preemptive = days.pop().unwrap_or_default();
    Ok(Layouts {
        days,
        preemptive: preemptive.into_iter().map(|day| day.totals).collect(),
    })
}

#[derive(Serialize)]
struct LayoutNumbers {
    late_percent: f64,
    tardiness_minutes: f64,
    energy_watt_minutes: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    creations_a_day: Option<f64>,
}

impl Layouts {
    fn per_day(&self, at: usize, of: DayNumber) -> Vec<f64> {
        let days = self.days.get(at).into_iter().flatten();
        days.map(|day| of(&day.totals)).collect()
    }

    fn mean(&self, at: usize, of: DayNumber) -> f64 {
        mean_interval(&self.per_day(at, of)).mean
    }

    fn numbers(&self, at: usize, changes: bool) -> LayoutNumbers {
        let days = self.days.get(at).into_iter().flatten();
        let creations: Vec<f64> = days.map(|day| day.creations).collect();
        LayoutNumbers {
            late_percent: self.mean(at, LATE),
            tardiness_minutes: self.mean(at, TARDINESS),
            energy_watt_minutes: self.mean(at, ENERGY),
            creations_a_day: changes.then(|| mean_interval(&creations).mean),
        }
    }

    /// A row of a table, with differences to a rule on fresh days.
    fn row(&self, at: usize, own: &Variant, fresh: &DayTrials, to: &str) -> Vec<String> {
        let changes = own.creation_s.is_some();
        let numbers = self.numbers(at, changes);
        let above = |of: DayNumber| paired_interval(&self.per_day(at, of), &fresh.per_day(to, of));
        vec![
            own.name.to_owned(),
            own.what.to_owned(),
            format!("{:.1}", numbers.late_percent),
            format!("{:.3}", numbers.tardiness_minutes),
            format!("{:.3}", numbers.energy_watt_minutes / 1e6),
            mean_pm(above(LATE)),
            numbers
                .creations_a_day
                .map_or(String::new(), |creations_a_day| {
                    format!("{creations_a_day:.0}")
                }),
        ]
    }
}

pub(super) fn section(layouts: &Layouts, all: &AllDays) -> Result<Section, Error> {
    let fresh = all.of(FRESH)?;
    let mut section = Section::new("layouts", "Layouts that change, and parts of the plan");
    let mut rows = Vec::new();
    let mut best: Option<(f64, usize)> = None;
    for (at, variant) in CHANGING.iter().enumerate() {
        section.insert(variant.name, layouts.numbers(at, true));
        rows.push(layouts.row(at, variant, fresh, PLAN_LAYOUTS));
        let late = layouts.mean(at, LATE);
        if best.is_none_or(|(least, _)| late < least) {
            best = Some((late, at));
        }
    }
    let mut claims = Vec::new();
    if let Some((_, at)) = best {
        let value = paired_interval(
            &fresh.per_day(PLAN_LAYOUTS, LATE),
            &layouts.per_day(at, LATE),
        );
        let gain = paired_interval(
            &fresh.per_day(LARGEST, LATE),
            &fresh.per_day(PLAN_LAYOUTS, LATE),
        );
        let what = "Repartitioning, as this plan does it, has at most 3 points fewer late jobs than good layouts that stay";
        claims.push(
            Claim::new(
                what,
                "learned repartitioning beats any fixed configuration",
                ASSUMES,
            )
            .found(
                format!(
                    "{} points by {}; good layouts with the plan: {}",
                    mean_pm(value),
                    CHANGING[at].name,
                    mean_pm(gain)
                ),
                Some(value),
                "at most 3",
                Verdict::at_most(value, 3.0),
            ),
        );
    }
    let preempted: Vec<f64> = layouts.preemptive.iter().map(LATE).collect();
    let value = paired_interval(&preempted, &fresh.per_day(LARGEST, LATE));
    claims.push(
        Claim::new(
            "With preemption at every event, largest-first has fewer late jobs than without",
            MINE,
            ASSUMES,
        )
        .found(
            format!("{} points", mean_pm(value)),
            Some(value),
            "below 0",
            Verdict::below(value, 0.0),
        ),
    );
    let header = [
        "variant",
        "what",
        "late, %",
        "tardiness, min",
        "energy, 10^6 W min",
        "late to it",
        "created a day",
    ];
    section = section
        .claims(claims)
        .text(
            "energy-plan by the prices for published layouts, where any start may destroy idle instances and create one, which delays the job by this \
             time. Differences are to energy-plan-layouts: good layouts that stay.",
        )
        .table(header, rows);
    let mut rows = Vec::new();
    for (variant, at) in ABLATION.iter().zip(CHANGING.len()..) {
        section.insert(variant.name, layouts.numbers(at, false));
        rows.push(layouts.row(at, variant, fresh, PLAN));
    }
    Ok(section
        .text("energy-plan on the published layouts without one of its parts. Differences are to energy-plan.")
        .table(header, rows))
}
