//! Values of edges as whole numbers, so that sums of them are equal where they should be, in whatever order they are added up.

use super::criterion::Criterion;
use super::links::Links;
use crate::matching::Few;
use crate::pattern::{Edge, Pattern};
use crate::reach::Sums;
use crate::score::{EdgeOn, Form, Objective};

/// Sums are exact in millionths.
pub(super) const UNIT: f64 = 1e6;

/// Sums of up to two criteria, by edge and kind of link, in millionths.
pub(super) struct EdgeSums {
    /// By traffic, and by kind of link.
    values: Vec<(u64, Few<Sums>)>,
}

impl EdgeSums {
    /// None if a criterion is no sum over edges, or a value no whole number of millionths, or so large that sums would be
    /// finer than values are compared (`settle`).
    pub(super) fn new(pattern: &Pattern, links: &Links, criteria: &[&Criterion<'_>]) -> Option<Self> {
        let sums: Few<(&Objective<'_>, f64)> = criteria.iter().map(|c| c.exact_sum()).collect::<Option<_>>()?;
        let most = (1i64 << 40) / (pattern.edges().len().max(1) as i64);
        let value = |traffic: f64, kind: usize| -> Option<Sums> {
            let mut values = [0; 2];
            for ((objective, sign), value) in sums.iter().zip(&mut values) {
                let Form::Edges(f) = objective.form() else { return None };
                let scaled = sign * f(EdgeOn { traffic, link: links.sample(kind) }) * UNIT;
                *value = scaled.round() as i64;
                if !(scaled.abs() <= most as f64 && (*value as f64 / UNIT) * UNIT == scaled) {
                    return None;
                }
            }
            Some(values)
        };
        let mut values: Vec<(u64, Few<Sums>)> = Vec::new();
        for edge in pattern.edges() {
            let bits = edge.traffic.to_bits();
            if values.iter().all(|(known, _)| *known != bits) {
                let by_kind: Option<Few<Sums>> = (0..links.len()).map(|kind| value(edge.traffic, kind)).collect();
                values.push((bits, by_kind?));
            }
        }
        (sums.len() <= 2).then_some(Self { values })
    }

    pub(super) fn of(&self, edge: &Edge, kind: usize) -> Sums {
        let bits = edge.traffic.to_bits();
        self.values.iter().find(|(known, _)| *known == bits).map_or([0; 2], |(_, by_kind)| by_kind[kind])
    }
}
