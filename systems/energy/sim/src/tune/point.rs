//! Prices as points of a space that is searched.

use mapa_system_energy::Prices;

/// How many prices there are.
pub(super) const PRICES: usize = 16;

/// The position of the price of placements, which only GPUs have that are repartitioned.
pub(super) const PLACEMENT: usize = 15;

/// The least that a price is taken for. A price of 0 has no logarithm.
const LEAST: f64 = 1e-6;

/// By how much candidates of the first round differ from the start: the standard deviation of each
/// coordinate.
pub(super) const SPREAD: [f64; PRICES] = [
    0.7, 0.5, 0.5, 0.5, 0.5, 0.4, 0.4, 0.4, 0.2, 0.4, 0.04, 0.3, 0.4, 0.5, 0.7, 0.7,
];

/// Prices as a point. Prices that are above 0 have their logarithms as coordinates, so that they
/// are searched by factors.
pub(super) fn point(prices: &Prices) -> [f64; PRICES] {
    let log = |value: f64| value.max(LEAST).ln();
    let [s1, s2, s3, s4, s7] = prices.slice.map(log);
    [
        s1,
        s2,
        s3,
        s4,
        s7,
        log(prices.late),
        log(prices.queue),
        log(prices.urgency),
        prices.length,
        log(prices.lost),
        prices.margin,
        log(prices.energy),
        log(prices.floor),
        log(prices.doubt),
        log(prices.overdue),
        log(prices.placement),
    ]
}

/// A price that may be 0, and is if it is next to nothing.
fn or_none(log: f64) -> f64 {
    let own = log.exp();
    if own < 10.0 * LEAST { 0.0 } else { own }
}

/// The prices at a point.
pub(super) fn prices(point: &[f64; PRICES]) -> Prices {
    let [
        s1,
        s2,
        s3,
        s4,
        s7,
        late,
        queue,
        urgency,
        length,
        lost,
        margin,
        energy,
        floor,
        doubt,
        overdue,
        placement,
    ] = *point;
    Prices {
        slice: [s1, s2, s3, s4, s7].map(f64::exp),
        late: late.exp(),
        queue: queue.exp(),
        urgency: urgency.exp(),
        length: length.max(0.0),
        lost: lost.exp(),
        margin,
        energy: energy.exp(),
        floor: floor.exp(),
        doubt: or_none(doubt),
        overdue: or_none(overdue),
        placement: placement.exp(),
    }
}
