//! Values of edges as whole numbers, so that their sums do not depend on the order of addition.

use super::criterion::Criterion;
use super::links::LinkKinds;
use crate::matching::Few;
use crate::pattern::{Edge, Pattern};
use crate::reach::Sums;
use crate::score::{EdgeOn, Form, Objective};

/// Values are counted in millionths.
pub(super) const UNIT: f64 = 1e6;

/// The values of an edge for up to two criteria, in millionths.
pub(super) struct EdgeSums {
    /// By the bits of the traffic, the values by kind of link.
    values: Vec<(u64, Few<Sums>)>,
}

impl EdgeSums {
    /// `None` if there are more than two criteria, if one is no sum over edges, or if a value is no
    /// whole number of millionths. Also `None` if a value is so large that `settle` could make
    /// different sums equal, since the exact sums would then distinguish values that criteria compare
    /// as equal.
    pub(super) fn new(
        pattern: &Pattern,
        links: &LinkKinds,
        criteria: &[&Criterion<'_>],
    ) -> Option<Self> {
        let sums: Few<(&Objective<'_>, f64)> = criteria
            .iter()
            .map(|c| c.exact_sum())
            .collect::<Option<_>>()?;
        // Sums then stay below 2^40, and `settle` keeps 40 of 52 bits: different sums, a millionth
        // or more apart, stay different.
        let most = (1i64 << 40) / (pattern.edges().len().max(1) as i64);
        let value = |traffic: f64, kind: usize| -> Option<Sums> {
            let mut values = [0; 2];
            for ((objective, sign), value) in sums.iter().zip(&mut values) {
                let Form::Edges(f) = objective.form() else {
                    return None;
                };
                let scaled =
                    sign * f(EdgeOn {
                        traffic,
                        link: links.sample(kind),
                    }) * UNIT;
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
                let by_kind: Option<Few<Sums>> = (0..links.len())
                    .map(|kind| value(edge.traffic, kind))
                    .collect();
                values.push((bits, by_kind?));
            }
        }
        (sums.len() <= 2).then_some(Self { values })
    }

    pub(super) fn of(&self, edge: &Edge, kind: usize) -> Sums {
        let bits = edge.traffic.to_bits();
        self.values
            .iter()
            .find(|(known, _)| *known == bits)
            .map_or([0; 2], |(_, by_kind)| by_kind[kind])
    }
}
