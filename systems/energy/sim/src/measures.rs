//! The measures of this system: energy and tardiness in one number.

use mapa_sim::{Better, Measure, MeasureScope, Simulated, Unit};

/// The weight of energy in the ET metric of Hisaria et al., as their code has it, per watt-minute.
const ET_PUBLISHED: f64 = 2.25e-5;

/// The weight by which the energy of one of their days, some 2.5e6 watt-minutes, weighs half of a
/// minute of tardiness.
const ET_LIGHT: f64 = 2e-7;

/// The ET metric of Hisaria et al., (a E + T) / (a + 1): E is the energy in watt-minutes, T the
/// mean tardiness in minutes of the jobs with a deadline. NaN if either is not known.
#[must_use]
pub fn et(run: &Simulated<'_>, weight: f64) -> f64 {
    let mut late: Vec<f64> = run
        .rows
        .iter()
        .filter_map(|row| Some(row.tardiness()?.as_secs_f64()))
        .collect();
    // Sorted: the last bit of a sum depends on its order.
    late.sort_by(f64::total_cmp);
    let tardiness = late.iter().sum::<f64>() / late.len() as f64 / 60.0;
    let energy = run.watt_hours().unwrap_or(f64::NAN) * 60.0;
    (weight * energy + tardiness) / (weight + 1.0)
}

/// The measures that this system adds behind those of `mapa-sim`.
pub const MEASURES: [Measure; 2] = [
    Measure {
        name: "et",
        unit: Unit::None,
        of: MeasureScope::RunNumber(|run| et(run, ET_PUBLISHED)),
        better: Better::Less,
        meaning: "the ET metric, (a E + T) / (a + 1): E the energy in watt-minutes, T the mean \
                  tardiness in minutes, a = 2.25e-5 as published: nearly all of it is energy",
        in_rows: false,
        pooled: &[],
    },
    Measure {
        name: "et_light",
        unit: Unit::None,
        of: MeasureScope::RunNumber(|run| et(run, ET_LIGHT)),
        better: Better::Less,
        meaning: "the ET metric with a = 2e-7, by which the energy of a published day weighs half \
                  of one minute of tardiness, as the text intends",
        in_rows: false,
        pooled: &[],
    },
];
