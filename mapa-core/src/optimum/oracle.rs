//! A slow and obvious optimum, against which the fast one is checked: it scores every placement.

use std::cmp::Ordering;

use crate::ids::DeviceId;
use crate::matching::oracle::raw_placements;
use crate::request::Request;
use crate::score::{Candidate, Objective};
use crate::topology::DeviceSet;
use crate::view::View;

/// The best placement that a request admits on a view. It maximises the first objective, then the
/// second, and so on. Ties: the lowest ids, then the smallest rank order. Values that agree to
/// twelve digits are equal, and NaN is lowest.
///
/// # Complexity
/// O(nᵏ) for n devices and k ranks.
#[must_use]
pub fn best(
    request: &Request,
    view: &View<'_>,
    objectives: &[Objective<'_>],
) -> Option<Vec<DeviceId>> {
    let graph = view.graph();
    if request.pattern.is_empty() || request.contradiction().is_some() {
        return None;
    }
    let value = |objective: &Objective<'_>, placement: &[DeviceId]| {
        let value = objective.score(&Candidate {
            view: *view,
            pattern: &request.pattern,
            placement,
        });
        if value.is_nan() {
            f64::NEG_INFINITY
        } else {
            value
        }
    };
    let values = |placement: &Vec<DeviceId>| {
        objectives
            .iter()
            .map(|o| value(o, placement))
            .collect::<Vec<_>>()
    };
    let placements = raw_placements(&request.pattern, view, &request.eligible(graph));
    let admitted = placements
        .into_iter()
        .filter(|placement| request.is_met_by(graph, placement).is_ok());
    let set = |placement: &[DeviceId]| placement.iter().copied().collect::<DeviceSet>();
    let keyed = admitted.map(|placement| (values(&placement), set(&placement), placement));
    let best = keyed.min_by(|a, b| {
        let by_value = a.0.iter().zip(&b.0).map(|(&a, &b)| {
            if equal(a, b) {
                Ordering::Equal
            } else {
                b.total_cmp(&a)
            }
        });
        { by_value }
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
            .then_with(|| (&a.1, &a.2).cmp(&(&b.1, &b.2)))
    });
    best.map(|(_, _, placement)| placement)
}

/// Whether two values agree to twelve digits. An infinite value equals only itself, NaN nothing.
fn equal(a: f64, b: f64) -> bool {
    a == b || a.is_finite() && b.is_finite() && (a - b).abs() <= 1e-12 * a.abs().max(b.abs())
}
