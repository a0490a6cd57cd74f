//! The order of two sets of devices of one machine.

use mapa_core::Operation;
use serde::Serialize;

use super::rows::AskedRow;
use crate::claim::{Claim, EXACT, Verdict};
use crate::report::Section;

/// Rows that differ by less are not compared.
const DIFFERS: f64 = 1.05;

/// Predictions that differ by less are a tie.
const TIE: f64 = 1.005;

/// How pairs of rows were ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct PairOrder {
    pub(super) right: usize,
    pub(super) wrong: usize,
    pub(super) ties: usize,
}

impl PairOrder {
    /// Adds a pair whose measured ratio is above 1.
    fn add(&mut self, predicted: f64) {
        if (1.0 / TIE..=TIE).contains(&predicted) {
            self.ties += 1;
        } else if predicted > 1.0 {
            self.right += 1;
        } else {
            self.wrong += 1;
        }
    }
}

/// Whether two rows are of one kind, so that they can be compared.
pub(super) fn comparable(a: &AskedRow, b: &AskedRow) -> bool {
    let devices = |row: &AskedRow| {
        row.question
            .as_ref()
            .map(|question| question.devices.len())
            .ok()
    };
    let (x, y) = (&a.row, &b.row);
    x.server == y.server
        && x.operation == y.operation
        && x.metric == y.metric
        && x.size == y.size
        && x.library == y.library
        && x.settings == y.settings
        && devices(a).is_some()
        && devices(a) == devices(b)
}

// Long, because it writes one section of a report in the order of the text: the tables, then the claims that they support.
pub(super) fn section(asked: &[AskedRow]) -> Section {
    let (mut mapa, mut closeness, mut nominal) = (
        PairOrder::default(),
        PairOrder::default(),
        PairOrder::default(),
    );
    let mut of_host = PairOrder::default();
    let mut tied = Vec::new();
    let mut table = Vec::new();
    let counted: Vec<&AskedRow> = asked.iter().filter(|row| row.counts()).collect();
    for (at, b) in counted.iter().enumerate() {
        for a in counted[..at].iter().filter(|a| comparable(a, b)) {
            let (fast, slow) = if a.row.gbps >= b.row.gbps {
                (a, b)
            } else {
                (b, a)
            };
            if fast.row.gbps / slow.row.gbps <= DIFFERS {
                continue;
            }
            let (Some(x), Some(y)) = (&fast.estimate, &slow.estimate) else {
                continue;
            };
            let before = mapa;
            mapa.add(x.gbps / y.gbps);
            nominal.add(x.nominal_gbps / y.nominal_gbps);
            // Points are whole: the same, more or fewer.
            let points = |row: &AskedRow| f64::from(row.points.unwrap_or_default());
            let closer = match points(fast) - points(slow) {
                difference if difference > 0.0 => 2.0,
                difference if difference < 0.0 => 0.5,
                _ => 1.0,
            };
            closeness.add(closer);
            let operation = fast.question.as_ref().map(|question| question.operation);
            if operation.is_ok_and(Operation::is_of_host) {
                of_host.add(closer);
            }
            if mapa.right == before.right {
                let what = if mapa.wrong > before.wrong {
                    "wrong"
                } else {
                    "tie"
                };
                tied.push(format!("`{}` and `{}` ({what})", fast.row.id, slow.row.id));
            }
        }
    }
    for (name, order) in [
        ("what MAPA expects", mapa),
        ("closeness by levels", closeness),
        ("links at nominal rate", nominal),
    ] {
        table.push(vec![
            name.to_owned(),
            order.right.to_string(),
            order.wrong.to_string(),
            order.ties.to_string(),
        ]);
    }
    let pairs = mapa.right + mapa.wrong + mapa.ties;
    let claim = Claim::new(
        "no two sets of one machine are put in the wrong order",
        "-",
        &[1, 2, 4],
    );
    let claim = claim.found(
        format!(
            "{} right, {} wrong, {} ties of {pairs}",
            mapa.right, mapa.wrong, mapa.ties
        ),
        None,
        EXACT,
        // Without pairs there is nothing to judge.
        match pairs {
            0 => Verdict::NotHad,
            _ => Verdict::of(mapa.wrong == 0),
        },
    );
    let mut section = Section::new("order", "Which of two sets is faster")
        .text(format!(
            "{pairs} pairs of rows can be compared. Closeness by levels is the sum of the points that NVIDIA's device plugin gives each pair: \
             10 between sockets, 20 within a NUMA node, 30, 40, 50 and 60 closer, 100 for each NVLink."
        ))
        .table(["by", "right", "wrong", "ties"], table)
        .claims([claim])
        .numbers("mapa", mapa)
        .numbers("closeness", closeness)
        .numbers("nominal", nominal);
    let host_pairs = of_host.right + of_host.wrong + of_host.ties;
    if host_pairs > 0 {
        section = section.text(format!(
            "{host_pairs} of the pairs are copies between the host and several devices at once. Their sets have points as any others, by which \
             closeness puts {} right and {} wrong. It is not made for them: counted as ties, it has {} right, {} wrong and {} ties.",
            of_host.right,
            of_host.wrong,
            closeness.right - of_host.right,
            closeness.wrong - of_host.wrong,
            closeness.ties + of_host.right + of_host.wrong
        ));
    }
    if !tied.is_empty() {
        section = section.text(format!("Not ordered: {}.", tied.join(", ")));
    }
    section
}
