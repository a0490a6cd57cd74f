//! How good a net is.

use mapa_system_energy::learned::{Learned, Weights};
use mapa_system_energy::{Power, Rule, SlicedGpus, State};
use mapa_system_energy_sim::{Draw, Totals, run};

use crate::error::Error;

/// The seeds of the days of learning curves.
pub const CURVE_DAYS: [u64; 5] = [40_001, 40_002, 40_003, 40_004, 40_005];

/// What days of these seeds come to under a rule, on GPUs of these layouts.
///
/// # Errors
/// Layouts or a draw that are not sound; a rule that starts what is not there.
pub fn evaluate(
    rule: &mut dyn Rule,
    layouts: &str,
    draw: &Draw,
    seeds: &[u64],
) -> Result<Vec<Totals>, Error> {
    let machine = SlicedGpus::of_layouts(layouts, Power::A100)?;
    let each = seeds.iter().map(|&seed| {
        let jobs = draw.jobs(seed)?;
        Ok(run(&jobs, State::new(machine.clone()), rule)?)
    });
    each.collect()
}

/// The mean late share of a net on the days of learning curves.
pub(crate) fn late(weights: Weights, draw: &Draw) -> Result<f64, Error> {
    let layouts = weights.layouts().to_owned();
    let machine = SlicedGpus::of_layouts(&layouts, Power::A100)?;
    let mut rule = Learned::new(weights, &machine)?;
    let days = evaluate(&mut rule, &layouts, draw, &CURVE_DAYS)?;
    let sum: f64 = days.iter().map(Totals::late_share).sum();
    Ok(sum / days.len() as f64)
}
