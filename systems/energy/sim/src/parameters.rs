//! The parameters of days of jobs, and how far each is known.

use mapa_system_energy::{Power, SIZES, SlicedGpus};

use super::draw::{Draw, INFERENCE, INFERENCE_MEAN, LOADS, run_times, training};

/// How far a parameter is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterStatus {
    /// The document of Hisaria et al. states it.
    Document,
    /// Only the code that the authors published has it. Where it was measured is not said.
    Code,
    /// The manuscript beside that code has it, and the code has another.
    Manuscript,
}

/// A parameter of the published days.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// What it is, with its unit.
    pub name: &'static str,
    /// The numbers.
    pub values: Vec<f64>,
    /// How far it is known.
    pub status: ParameterStatus,
}

/// Every parameter of [`Draw`] and of the published machine, with how far it is known. The numbers
/// are those that days are drawn with.
#[must_use]
pub fn parameters() -> Vec<Parameter> {
    let of = |name, values, status| Parameter {
        name,
        values,
        status,
    };
    let ratios = |is_inference, is_second| run_times(1.0, is_inference, is_second).to_vec();
    let watts = |power: Power| (0..8).map(|busy| power.watts(busy)).collect();
    let code = ParameterStatus::Code;
    vec![
        of("load by hour of the day", LOADS.to_vec(), code),
        of(
            "jobs a minute at a load of 1",
            vec![Draw::default().per_minute],
            code,
        ),
        of("share of inference jobs", vec![INFERENCE], code),
        of(
            "inference: mean run time on a slice of 1, minutes, exponential",
            vec![INFERENCE_MEAN],
            code,
        ),
        of(
            "training: 5, 50 and 95 % of run times on a slice of 1, minutes, log-normal",
            [-1.645, 0.0, 1.645].map(training).to_vec(),
            code,
        ),
        of(
            "inference, first curve: run times on 1, 2, 3, 4, 7 by that on 1",
            ratios(true, false),
            code,
        ),
        of("inference, second curve", ratios(true, true), code),
        of("training, first curve", ratios(false, false), code),
        of("training, second curve", ratios(false, true), code),
        of("share of second curves", vec![1.0 / 3.0], code),
        of(
            "deadline, relaxed: least and most, by the run time on a whole GPU",
            Draw::default().slack.to_vec(),
            ParameterStatus::Document,
        ),
        of(
            "deadline, tight: least and most, by the run time on a whole GPU",
            Draw::tight().slack.to_vec(),
            ParameterStatus::Document,
        ),
        of(
            "power of an A100 with 0 to 7 busy slices, watts",
            watts(Power::A100),
            code,
        ),
        of(
            "power of an A100 with 0 to 7 busy slices, watts",
            watts(Power::A100_MANUSCRIPT),
            ParameterStatus::Manuscript,
        ),
        of(
            "slices of each size on eight GPUs: 1, 2, 3, 4, 7",
            slices(),
            code,
        ),
    ]
}

/// How many slices of each size the published layouts have.
fn slices() -> Vec<f64> {
    let sizes = SlicedGpus::PUBLISHED.split(['|', ',']).map(str::trim);
    let sizes: Vec<&str> = sizes.collect();
    let count = |size: u8| {
        sizes
            .iter()
            .filter(|candidate| **candidate == size.to_string())
            .count()
    };
    SIZES.map(|size| count(size) as f64).to_vec()
}
