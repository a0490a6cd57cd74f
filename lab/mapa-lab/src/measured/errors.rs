//! How far expectations are off: within the fit, and on machines that were left out of it.

use mapa_core::{Class, Efficiency};
use mapa_front::measured::observation;
use mapa_regress::{LeftOut, Observation, fit_efficiency, leave_one_server_out};
use serde::Serialize;

use super::rows::AskedRow;
use crate::claim::{Claim, EXACT, Verdict};
use crate::report::Section;

/// Errors of some rows: |ln(measured / expected)|.
#[derive(Clone, Copy, Debug, Serialize)]
struct RowErrors {
    rows: usize,
    median: f64,
    within_a_quarter: f64,
}

impl RowErrors {
    fn of(logs: impl Iterator<Item = f64>) -> Option<Self> {
        let mut logs: Vec<f64> = logs.map(f64::abs).collect();
        logs.sort_by(f64::total_cmp);
        let median = *logs.get(logs.len() / 2)?;
        let within = logs.iter().filter(|log| **log <= 0.25).count();
        Some(Self {
            rows: logs.len(),
            median,
            within_a_quarter: within as f64 / logs.len() as f64,
        })
    }

    fn cells(self) -> [String; 3] {
        [
            self.rows.to_string(),
            format!("{:.3}", self.median),
            format!("{:.2}", self.within_a_quarter),
        ]
    }
}

/// The most that the median error of each class may be on machines left out.
const AIMS: [(Class, f64); 6] = [
    (Class::OneSocket, 0.05),
    (Class::DirectCollective, 0.05),
    (Class::HostExchange, 0.10),
    (Class::HostRing, 0.15),
    (Class::Staged, 0.15),
    (Class::AcrossSockets, 0.25),
];

/// `fit`: whether the rows are those that the shipped shares were fitted to. Other rows are compared
/// with the shipped shares, and not fitted.
// Long, because it writes one section of a report in the order of the text: the tables, then the claims that they support.
pub(super) fn section(asked: &[AskedRow], fit: bool) -> Section {
    if !fit {
        return of_others(asked);
    }
    let shipped = Efficiency::shipped();
    let observations: Vec<Observation> = asked
        .iter()
        .filter(|row| row.counts())
        .filter_map(|row| {
            let question = row.question.as_ref().ok()?;
            observation(&row.row, question, std::sync::Arc::clone(&shipped))
        })
        .collect();
    let fitted = fit_efficiency(&observations, &shipped);
    let (left, _) = leave_one_server_out(&observations, &shipped);
    let mut section = Section::new("errors", "How far the numbers are off");
    let mut table = Vec::new();
    let inside = |class: Option<Class>| {
        let own = observations.iter().zip(&fitted.residuals);
        RowErrors::of(own.filter_map(|(observation, (_, log))| {
            let (_, is, ..) = observation.expected(&fitted.efficiency)?;
            class.is_none_or(|class| class == is).then_some(*log)
        }))
    };
    let outside = |class: Option<Class>| {
        let own = left
            .iter()
            .filter(|reason| class.is_none_or(|class| reason.class == class));
        RowErrors::of(own.map(|reason| reason.residual))
    };
    let held = |class: Option<Class>| {
        let own: Vec<&LeftOut> = left
            .iter()
            .filter(|reason| class.is_none_or(|class| reason.class == class))
            .collect();
        own.iter().filter(|reason| reason.is_held()).count() as f64 / own.len().max(1) as f64
    };
    for class in [None].into_iter().chain(Class::all().map(Some)) {
        let (Some(inside), Some(outside)) = (inside(class), outside(class)) else {
            continue;
        };
        let name = class.map_or("all".to_owned(), |class| class.to_string());
        let mut row = vec![name.clone()];
        row.extend(inside.cells());
        row.extend(outside.cells().into_iter().skip(1));
        row.push(format!("{:.2}", held(class)));
        table.push(row);
        section.insert(format!("fitted {name}"), inside);
        section.insert(format!("left out {name}"), outside);
        section.insert(format!("held {name}"), held(class));
    }
    let mut claims = Vec::new();
    let mut claim = |what: String, ours: String, holds: bool| {
        let claim = Claim::new(what, "-", &[1, 2, 3]);
        claims.push(claim.found(ours, None, EXACT, Verdict::of(holds)));
    };
    if let Some(own) = inside(None) {
        claim(
            "fitted to all rows, the median error is below 0.03, and 94 % are within 0.25"
                .to_owned(),
            format!(
                "{:.3} and {:.1} %",
                own.median,
                100.0 * own.within_a_quarter
            ),
            own.median < 0.03 && own.within_a_quarter >= 0.94,
        );
    }
    if let Some(own) = outside(None) {
        claim(
            "with the machine left out, the median is below 0.08, and 85 % are within 0.25"
                .to_owned(),
            format!(
                "{:.3} and {:.1} %",
                own.median,
                100.0 * own.within_a_quarter
            ),
            own.median < 0.08 && own.within_a_quarter >= 0.85,
        );
    }
    for (class, most) in AIMS {
        if let Some(own) = outside(Some(class)) {
            claim(
                format!("with the machine left out, the median of {class} is below {most}"),
                format!("{:.3}", own.median),
                own.median < most,
            );
        }
    }
    claim(
        "intervals hold 85 to 95 % of the rows of machines left out".to_owned(),
        format!("{:.1} %", 100.0 * held(None)),
        (0.85..=0.95).contains(&held(None)),
    );
    let shares: Vec<Vec<String>> = (fitted.efficiency.factors.iter().zip(&fitted.rows))
        .map(|(factor, rows)| {
            vec![
                factor.part.to_string(),
                factor.using.to_string(),
                factor.generation.clone().unwrap_or_default(),
                format!("{:.3}", factor.value),
                factor.machines.to_string(),
                rows.to_string(),
            ]
        })
        .collect();
    let alone = fitted
        .efficiency
        .factors
        .iter()
        .filter(|factor| factor.machines <= 1)
        .count();
    section
        .text(
            "An error is |ln(measured / expected)|. The shares were fitted to all rows; then once without each machine, and its rows \
             predicted. The errors within the fit flatter: what binds is the second number.",
        )
        .table(
            [
                "class", "rows", "median, fitted", "within 0.25", "median, left out", "within 0.25",
                "intervals hold",
            ],
            table,
        )
        .text(format!(
            "The shares. {alone} of {} rest on one machine or are set by hand (0 machines): these are records rather than laws, and \
             their intervals are never narrower than 30 % either way.",
            fitted.efficiency.factors.len()
        ))
        .table(["part", "traffic", "generation", "share", "machines", "rows"], shares)
        .claims(claims)
}

/// Rows that the shares were not fitted to.
fn of_others(asked: &[AskedRow]) -> Section {
    let logs = |class: Option<Class>| {
        let own = asked.iter().filter(|row| row.counts());
        own.filter_map(move |row| {
            let is = row.estimate.as_ref()?.class;
            let log = (row.row.gbps / row.expected()?).ln();
            class.is_none_or(|class| class == is).then_some(log)
        })
    };
    let mut section = Section::new("errors", "How far the numbers are off");
    let mut table = Vec::new();
    for class in [None].into_iter().chain(Class::all().map(Some)) {
        let Some(own) = RowErrors::of(logs(class)) else {
            continue;
        };
        let name = class.map_or("all".to_owned(), |class| class.to_string());
        let mut row = vec![name.clone()];
        row.extend(own.cells());
        table.push(row);
        section.insert(format!("shipped {name}"), own);
    }
    let held = asked.iter().filter(|row| row.counts()).filter(|row| {
        let scale = row.question.as_ref().map_or(1.0, |question| question.scale);
        let range = row
            .estimate
            .as_ref()
            .map(|estimate| estimate.low_gbps * scale..=estimate.high_gbps * scale);
        range.is_some_and(|range| range.contains(&row.row.gbps))
    });
    let (held, of) = (
        held.count(),
        asked.iter().filter(|row| row.counts()).count(),
    );
    section.insert("held all", held as f64 / of.max(1) as f64);
    section
        .text(format!(
            "An error is |ln(measured / expected)|, by the shares that MAPA ships. Intervals hold {held} of {of} rows."
        ))
        .table(["class", "rows", "median", "within 0.25"], table)
}
