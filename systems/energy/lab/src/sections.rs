//! Sections on fresh days.

use mapa_front::Error;
use mapa_sim::mean_interval;

use super::rows::{
    FIT, FIT_FULLEST, LARGEST, LARGEST_LAYOUTS, PLAN, PLAN_EXACT, PLAN_LAYOUTS, PLAN_LOADS,
    PLAN_ROUGH, PLAN_TIGHT, ROWS,
};
use super::setting::{DaySetting, FRESH, MORNING, RATES, SIGMAS, TIGHT};
use super::table::RuleNumbers;
use super::trials::{AllDays, DayNumber, DayTrials, ENERGY, LATE, TARDINESS};
use mapa_lab::claim::{Claim, Verdict, mean_pm};
use mapa_lab::picture::{Dots, Heights, NamedCurve, lines, plain};
use mapa_lab::report::Section;

const MINE: &str = "none: MAPA's own";

fn numbers(days: &DayTrials, name: &str) -> RuleNumbers {
    RuleNumbers {
        late_percent: days.mean(name, LATE).mean,
        tardiness_minutes: days.mean(name, TARDINESS).mean,
        energy_watt_minutes: days.mean(name, ENERGY).mean,
    }
}

/// A claim that a rule has at least `limit` less than largest-first of something.
fn less(days: &DayTrials, name: &str, what: &str, of: DayNumber, limit: f64, paper: &str) -> Claim {
    let value = days.above_largest(name, of);
    let rule = if limit == 0.0 {
        "below 0"
    } else {
        "at least that much below"
    };
    let verdict = if limit == 0.0 {
        Verdict::below(value, 0.0)
    } else {
        Verdict::at_most(value, -limit)
    };
    let what = if limit == 0.0 {
        let word = if what == "late jobs" { "fewer" } else { "less" };
        format!("{name} has {word} {what} than largest-first")
    } else {
        format!("{name} has at least {limit} points fewer {what} than largest-first")
    };
    Claim::new(what, paper, &[1, 2, 3, 5]).found(mean_pm(value), Some(value), rule, verdict)
}

/// The table of a setting: every rule, and its differences to largest-first.
fn table(section: Section, days: &DayTrials) -> Section {
    let mut rows = Vec::new();
    for row in ROWS {
        let own = numbers(days, row.name);
        let above = |of: DayNumber, scale: f64| {
            if row.name == LARGEST {
                return String::new();
            }
            let values = days.per_day(row.name, of);
            let base = days.per_day(LARGEST, of);
            let gaps: Vec<f64> = values
                .iter()
                .zip(base)
                .map(|(a, b)| (a - b) / scale)
                .collect();
            let value = mean_interval(&gaps);
            let half = (value.high - value.low) / 2.0;
            format!("{:+.3} ± {half:.3}", value.mean)
        };
        rows.push(vec![
            row.name.to_owned(),
            format!("{:.1}", own.late_percent),
            format!("{:.3}", own.tardiness_minutes),
            format!("{:.3}", own.energy_watt_minutes / 1e6),
            above(LATE, 1.0),
            above(TARDINESS, 1.0),
            above(ENERGY, 1e6),
        ]);
    }
    let header = [
        "rule",
        "late, %",
        "tardiness, min",
        "energy, 10^6 W min",
        "late to largest-first",
        "tardiness to it",
        "energy to it",
    ];
    section.table(header, rows)
}

/// Fresh days, with the mean of the trained nets beside the rules.
pub(super) fn fresh(days: &DayTrials, ppo: Option<RuleNumbers>) -> Section {
    let mut section = Section::new("fresh-days", "Fresh days of the published parameters");
    for row in ROWS {
        section.insert(row.name, numbers(days, row.name));
    }
    let mut claims = vec![
        less(days, FIT, "late jobs", LATE, 5.0, MINE),
        less(days, FIT, "energy", ENERGY, 0.0, MINE),
        less(
            days,
            LARGEST_LAYOUTS,
            "late jobs",
            LATE,
            5.0,
            "5.0 points by the trained net",
        ),
        less(days, PLAN, "late jobs", LATE, 27.0, MINE),
        less(days, PLAN_LAYOUTS, "late jobs", LATE, 32.0, MINE),
    ];
    for name in [PLAN, PLAN_LAYOUTS] {
        for (what, of) in [("tardiness", TARDINESS), ("energy", ENERGY)] {
            let rules = ROWS.iter().take(7);
            let parts = rules.map(|row| Verdict::below(days.above(name, row.name, of), 0.0));
            let verdict = Verdict::all(parts);
            let value = days.above(name, FIT_FULLEST, of);
            claims.push(
                Claim::new(
                    format!("{name} has less {what} than each heuristic"),
                    MINE,
                    &[1, 2, 3, 5],
                )
                .found(
                    format!("{} against fit-fullest", mean_pm(value)),
                    Some(value),
                    "below 0 for each",
                    verdict,
                ),
            );
        }
    }
    let mut dots: Vec<Dots> = ROWS
        .iter()
        .zip(COLOURS)
        .map(|(row, colour)| {
            let own = numbers(days, row.name);
            let at = (own.late_percent, own.energy_watt_minutes / 1e6);
            (row.name, colour, vec![at])
        })
        .collect();
    if let Some(own) = ppo {
        let at = (own.late_percent, own.energy_watt_minutes / 1e6);
        dots.push(("ppo", "#000000", vec![at]));
        section.insert("ppo", own);
    }
    let what: Vec<String> = ROWS
        .iter()
        .map(|row| format!("`{}`: {}", row.name, row.what))
        .collect();
    table(section.claims(claims), days)
        .text(format!(
            "Rules: {}. Differences are paired by day, ± half the 95 % interval.",
            what.join("; ")
        ))
        .picture(
            "pareto.svg",
            plain(
                dots,
                "Late jobs and energy, means over the days",
                "late jobs, %",
                "energy, 10^6 watt-minutes",
            ),
            "Energy over the share of late jobs, a dot for each rule: less of both is better",
        )
}

/// One colour for each row of [`ROWS`].
const COLOURS: [&str; 15] = [
    "#e69f00", "#b8860b", "#d62728", "#a6a6a6", "#56b4e9", "#0072b2", "#cc79a7", "#8c564b",
    "#2fae86", "#006d4e", "#7fbf3f", "#8d7fd1", "#5e3c99", "#444444", "#17becf",
];

pub(super) fn bound(days: &DayTrials) -> Section {
    let mut section = Section::new("bound", "How far above the least energy");
    let mut rows = Vec::new();
    let mut claims = Vec::new();
    for row in ROWS {
        let above: Vec<f64> = days
            .trials(row.name)
            .iter()
            .map(|trial| 100.0 * (trial.totals.watt_minutes / trial.bound - 1.0))
            .collect();
        let value = mean_interval(&above);
        section.insert(row.name, value.mean);
        rows.push(vec![row.name.to_owned(), mean_pm(value)]);
        if [PLAN, PLAN_LAYOUTS].contains(&row.name) {
            let what = format!(
                "{} draws at most 17 % more than any schedule must",
                row.name
            );
            let verdict = Verdict::at_most(value, 17.0);
            claims.push(Claim::new(what, "none for these days", &[1, 2, 5]).found(
                format!("{} %", mean_pm(value)),
                Some(value),
                "at most 17",
                verdict,
            ));
        }
    }
    section
        .claims(claims)
        .table(["rule", "energy above the bound, %"], rows)
        .text(
            "The bound counts the work of all jobs at its least, the power of idle GPUs, and when jobs arrive. It holds for every schedule, with \
             other layouts and with preemption too. No bound on late jobs or tardiness that was tried is above zero on such days, so how far the \
             shares of late jobs are from the best is not known.",
        )
}

pub(super) fn tight(all: &AllDays) -> Result<Section, Error> {
    let days = all.of(TIGHT)?;
    let mut section = Section::new("tight", "Tight deadlines");
    for row in ROWS {
        section.insert(row.name, numbers(days, row.name));
    }
    let value = days.above_largest(PLAN, LATE);
    let claim = Claim::new(
        "Prices that were found for relaxed deadlines are wrong for tight ones: energy-plan has more late jobs than largest-first",
        MINE,
        &[1, 2, 3, 5],
    )
    .found(mean_pm(value), Some(value), "above 0", Verdict::above(value, 0.0));
    Ok(table(
        section.claims([
            claim,
            less(days, FIT, "late jobs", LATE, 0.0, MINE),
            less(days, PLAN_TIGHT, "late jobs", LATE, 25.0, MINE),
        ]),
        days,
    ))
}

/// Cells of late jobs and tardiness for some rules under several settings.
fn cells(
    all: &AllDays,
    settings: &[DaySetting],
    names: &[&'static str],
) -> Result<Vec<Vec<String>>, Error> {
    let mut rows = Vec::new();
    for &name in names {
        let mut row = vec![name.to_owned()];
        for &setting in settings {
            let own = numbers(all.of(setting)?, name);
            row.push(format!(
                "{:.1} / {:.2}",
                own.late_percent, own.tardiness_minutes
            ));
        }
        rows.push(row);
    }
    Ok(rows)
}

const COMPARED: [&str; 7] = [
    LARGEST,
    FIT,
    PLAN,
    PLAN_LAYOUTS,
    PLAN_LOADS,
    PLAN_EXACT,
    PLAN_ROUGH,
];

pub(super) fn loads(all: &AllDays) -> Result<Section, Error> {
    let settings = RATES.map(|per_minute| DaySetting {
        per_minute,
        ..FRESH
    });
    let mut section = Section::new("loads", "Other loads");
    let mut claims = Vec::new();
    for setting in settings {
        let days = all.of(setting)?;
        let rate = setting.per_minute;
        for name in COMPARED {
            section.insert(format!("{name} at {rate}"), numbers(days, name));
        }
        if rate < 10.0 {
            let value = days.above(PLAN_LOADS, FIT, LATE);
            let verdict = Verdict::above(value, 0.0);
            claims.push(
                Claim::new(
                    format!("At {rate} jobs a minute fit has fewer late jobs than {PLAN_LOADS}"),
                    MINE,
                    &[1, 2, 3, 5],
                )
                .found(mean_pm(value), Some(value), "above 0", verdict),
            );
            continue;
        }
        let measures = [LATE, TARDINESS, ENERGY];
        let parts = [LARGEST, FIT].into_iter().flat_map(|other| {
            measures.map(|of| Verdict::below(days.above(PLAN_LOADS, other, of), 0.0))
        });
        let verdict = Verdict::all(parts);
        let value = days.above(PLAN_LOADS, FIT, LATE);
        claims.push(
            Claim::new(
                format!("At {rate} jobs a minute {PLAN_LOADS} is below largest-first and fit in late jobs, tardiness and energy"),
                MINE,
                &[1, 2, 3, 5],
            )
            .found(format!("{} late jobs against fit", mean_pm(value)), Some(value), "below 0 for each", verdict),
        );
    }
    let mut curves = Vec::new();
    for (name, colour) in COMPARED.into_iter().zip([
        "#e69f00", "#4a9fe0", "#2fae86", "#006d4e", "#7fbf3f", "#8d7fd1", "#5e3c99",
    ]) {
        let mut points = Vec::new();
        for setting in settings {
            points.push((
                setting.per_minute,
                numbers(all.of(setting)?, name).late_percent,
            ));
        }
        curves.push(NamedCurve {
            name: name.to_owned(),
            colour,
            dashed: false,
            points,
        });
    }
    let header = ["rule".to_owned()]
        .into_iter()
        .chain(RATES.map(|rate| format!("{rate} a minute")));
    Ok(section
        .claims(claims)
        .table(header, cells(all, &settings, &COMPARED)?)
        .text("Late jobs in percent / tardiness in minutes.")
        .picture(
            "loads.svg",
            lines(
                curves,
                Heights::Linear,
                "Late jobs by load",
                "jobs a minute at a load of 1",
                "late jobs, %",
            ),
            "The share of late jobs over the rate of arrivals",
        ))
}

pub(super) fn wrong(all: &AllDays) -> Result<Section, Error> {
    let settings = SIGMAS.map(|sigma| DaySetting { sigma, ..FRESH });
    let mut section = Section::new("wrong-run-times", "Run times that are not as told");
    for setting in settings {
        for name in COMPARED {
            let own = numbers(all.of(setting)?, name);
            section.insert(format!("{name} at sigma {}", setting.sigma), own);
        }
    }
    let days = all.of(DaySetting {
        sigma: 0.5,
        ..FRESH
    })?;
    let rough = days.above(PLAN_ROUGH, PLAN_LOADS, LATE);
    let survives = days.above_largest(PLAN_EXACT, TARDINESS);
    let claims = [
        less(days, PLAN_LOADS, "late jobs", LATE, 0.0, MINE),
        less(days, PLAN_LOADS, "tardiness", TARDINESS, 0.0, MINE),
        less(days, PLAN_ROUGH, "late jobs", LATE, 0.0, MINE),
        Claim::new(
            format!("{PLAN_ROUGH} has fewer late jobs than {PLAN_LOADS}"),
            MINE,
            &[1, 2, 3, 5, 6],
        )
        .found(
            mean_pm(rough),
            Some(rough),
            "below 0",
            Verdict::below(rough, 0.0),
        ),
        Claim::new(
            format!("{PLAN_EXACT} has more tardiness than largest-first at sigma 0.5"),
            MINE,
            &[1, 2, 3, 5, 6],
        )
        .found(
            mean_pm(survives),
            Some(survives),
            "above 0",
            Verdict::above(survives, 0.0),
        ),
    ];
    let header = ["rule".to_owned()]
        .into_iter()
        .chain(SIGMAS.map(|sigma| format!("sigma {sigma}")));
    Ok(section
        .claims(claims)
        .table(header, cells(all, &settings, &COMPARED)?)
        .text("Late jobs in percent / tardiness in minutes. Claims are at sigma 0.5."))
}

pub(super) fn morning(all: &AllDays) -> Result<Section, Error> {
    let days = all.of(MORNING)?;
    let mut section = Section::new("morning", "300 jobs from nine o'clock");
    for row in ROWS {
        section.insert(row.name, numbers(days, row.name));
    }
    Ok(table(
        section.claims([less(days, PLAN_LAYOUTS, "late jobs", LATE, 0.0, MINE)]),
        days,
    ))
}
