//! What an action is worth.

use mapa_system_energy_sim::Totals;

use crate::day::Passed;

/// The weight of a watt-minute against a minute of tardiness in the code of Hisaria et al.
const WEIGHT: f64 = 2.25e-5;

/// What a learner is told of each action. Hisaria et al. describe two rewards, and their code has a
/// third.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reward {
    /// Nothing but at the end: `(-T - a E) / (n a + 1)` for T minutes of tardiness of n jobs, E
    /// watt-minutes and a = 2.25e-5. The first formulation.
    Sparse,
    /// Also 0.01 x size / 7 for each start, and 0.05 for one that will be in time. The second
    /// formulation, as written.
    Document,
    /// The second formulation as coded: the same for each start, 0.1 for each job that ends in
    /// time, -0.2 for each minute by which one is late. The last action has
    /// `10 (1 - late share) - T / n - a E / n` instead.
    Code,
}

impl Reward {
    /// The reward of an action, where `day` is what the day came to with it.
    #[must_use]
    pub fn of(self, passed: &Passed, day: &Totals) -> f64 {
        let in_time = if passed.in_time { 0.05 } else { 0.0 };
        let start = 0.01 * f64::from(passed.size) / 7.0 + in_time;
        let jobs = day.jobs as f64;
        let cost = day.tardiness + WEIGHT * day.watt_minutes;
        let last = -cost / (jobs * WEIGHT + 1.0);
        match (self, passed.is_over) {
            (Self::Sparse, false) => 0.0,
            (Self::Sparse, true) => last,
            (Self::Document, false) => start,
            (Self::Document, true) => start + last,
            (Self::Code, false) => {
                start + 0.1 * f64::from(passed.ended_in_time) - 0.2 * passed.tardiness
            }
            (Self::Code, true) => 10.0 * (1.0 - day.late_share()) - cost / jobs,
        }
    }
}
