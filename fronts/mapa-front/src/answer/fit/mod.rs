//! The answer of `fit`: a model of bandwidth from measurements, and how far to trust it.

use std::collections::BTreeMap;

use mapa_core::{DeviceId, LinkModel};
use mapa_regress::{Design, Misordered, Row, Samples, Validation};
use serde::Serialize;

use super::number::finite;

mod doubts;

pub use doubts::{doubts, left_out, rings};

/// A validation under its name, or why there is none.
pub type Validated = (String, Result<Validation, String>);

/// A fitted model, its errors and validations.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fit {
    /// The name of the machine that was measured.
    pub machine: String,
    /// The model.
    pub model: FittedModel,
    /// The samples that the model was fitted to.
    pub samples: Vec<FittedSample>,
    /// How many pairs of samples of equal size differ by more than 5 %.
    pub compared_pairs: usize,
    /// Those pairs that the predictions reverse or tie; the largest difference first.
    pub misordered: Vec<MisorderedPair>,
    /// The errors on the samples.
    pub errors: Errors,
    /// What the samples determine.
    pub design: FittedDesign,
    /// The errors on samples that were held out.
    pub validation: Vec<HeldOutErrors>,
    /// The measurements that were left out.
    pub left_out: Vec<LeftOut>,
    /// Reasons to doubt the model.
    pub notes: Vec<String>,
    /// The files written.
    pub written: Vec<String>,
}

/// A linear model of bandwidth.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FittedModel {
    /// Its name.
    pub name: String,
    /// The tiers by which it counts links, the best first.
    pub tiers: Vec<String>,
    /// Its terms.
    pub terms: Vec<FittedTerm>,
}

/// A term of a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FittedTerm {
    /// The term, in the counts of links.
    pub term: String,
    /// Its coefficient.
    pub coefficient: f64,
}

/// A sample, and what the model makes of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FittedSample {
    /// The measurement.
    pub label: String,
    /// The ids of the devices, in the order of the ring.
    pub devices: Vec<u32>,
    /// How many ranks took part.
    pub ranks: usize,
    /// How many links of each tier the ring has, by the tier's name.
    pub links: BTreeMap<String, u32>,
    /// The measured bandwidth, GB/s.
    pub gbps: f64,
    /// The predicted bandwidth, GB/s.
    pub predicted: f64,
    /// Measured less predicted, GB/s.
    pub residual: f64,
    /// The weight of the measurement in its own prediction, from 0 to 1.
    pub leverage: f64,
}

/// Two samples of equal size that the model orders wrongly, the one with the higher measurement
/// first.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MisorderedPair {
    /// The measurements.
    pub samples: [String; 2],
    /// The measured bandwidths, GB/s.
    pub gbps: [f64; 2],
    /// The predicted bandwidths, GB/s.
    pub predicted: [f64; 2],
    /// Whether both are predicted equal; else the lower is predicted higher.
    pub tied: bool,
}

/// The errors of a model on some samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Errors {
    /// How many samples there are.
    pub samples: usize,
    /// The root of the mean square error, GB/s.
    pub rmse: f64,
    /// The mean absolute error, GB/s.
    pub mae: f64,
    /// The largest absolute error, GB/s.
    pub max: f64,
    /// The norm of the errors over that of the measurements; null if all measurements are 0.
    pub relative: Option<f64>,
    /// The share of the variance that the model explains; null if all measurements are equal.
    pub r_squared: Option<f64>,
    /// The figures as MAPA's authors compute them.
    pub published: PublishedErrors,
}

/// Errors as MAPA's authors compute them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublishedErrors {
    /// The square of the relative error; null if all measurements are 0.
    pub relative: Option<f64>,
    /// The norm of the errors over the number of samples, GB/s.
    pub rmse: f64,
    /// The mean absolute error, GB/s.
    pub mae: f64,
}

/// What the samples determine of a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FittedDesign {
    /// How many combinations of terms the samples determine.
    pub rank: usize,
    /// How many terms there are.
    pub terms: usize,
    /// The largest singular value over the least; null if that is 0.
    pub condition: Option<f64>,
    /// The singular values, descending.
    pub singular_values: Vec<f64>,
}

/// A validation, by holding out parts of the samples.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HeldOutErrors {
    /// What was held out, such as `5 parts` or `each size`.
    pub by: String,
    /// The errors on all that was held out; null if there is no validation.
    pub errors: Option<Errors>,
    /// Why there is no validation; absent if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The errors on each part; absent if there is no validation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folds: Option<Vec<FoldErrors>>,
    /// The parts that could not be held out; absent if there is no validation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_held_out: Option<Vec<NotHeldOut>>,
}

/// The errors on a part of the samples, of a model fitted without it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FoldErrors {
    /// The part.
    pub held_out: String,
    /// The errors on it.
    pub errors: Errors,
}

/// A part of the samples that could not be held out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NotHeldOut {
    /// The part.
    pub held_out: String,
    /// Why: the terms that the other samples do not determine.
    pub reason: String,
}

/// A measurement that was left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// The measurement.
    pub label: String,
    /// Why.
    pub reason: String,
}

impl Fit {
    /// A model fitted on a machine to samples. `rings` are those of [`rings`].
    pub fn new(
        machine: impl Into<String>,
        fit: &mapa_regress::Fit,
        found: &Samples,
        rings: &[Vec<DeviceId>],
        validations: &[Validated],
    ) -> Self {
        let order = fit.order();
        let tiers = fit.model().tiers().names();
        let rows = fit.rows();
        // Rings are in the order of the rows, which is not that of the samples.
        let samples = rows.iter().zip(rings);
        let misordered = order.misordered.iter();
        let left_out = found.left_out.iter().map(|(label, why)| LeftOut {
            label: label.clone(),
            reason: why.clone(),
        });
        Self {
            machine: machine.into(),
            model: fit.model().into(),
            samples: samples
                .map(|(row, ring)| FittedSample::new(row, ring, &tiers))
                .collect(),
            compared_pairs: order.pairs,
            misordered: misordered
                .filter_map(|pair| MisorderedPair::new(pair, rows))
                .collect(),
            errors: fit.errors().into(),
            design: fit.design().into(),
            validation: validations.iter().map(HeldOutErrors::from).collect(),
            left_out: left_out.collect(),
            notes: Vec::new(),
            written: Vec::new(),
        }
    }
}

impl From<&LinkModel> for FittedModel {
    fn from(model: &LinkModel) -> Self {
        let terms = model.terms().iter().map(|(term, coefficient)| FittedTerm {
            term: term.label(model.tiers()),
            coefficient: *coefficient,
        });
        Self {
            name: model.name().to_owned(),
            tiers: model.tiers().names(),
            terms: terms.collect(),
        }
    }
}

impl FittedSample {
    fn new(row: &Row, ring: &[DeviceId], tiers: &[String]) -> Self {
        let sample = &row.sample;
        let links = tiers.iter().enumerate();
        Self {
            label: sample.label.clone(),
            devices: ring.iter().map(|id| id.0).collect(),
            ranks: sample.ranks,
            links: links
                .map(|(tier, name)| (name.clone(), sample.links.count(tier)))
                .collect(),
            gbps: sample.gbps,
            predicted: row.predicted,
            residual: row.residual,
            leverage: row.leverage,
        }
    }
}

impl MisorderedPair {
    fn new(pair: &Misordered, rows: &[Row]) -> Option<Self> {
        let pair_of = [rows.get(pair.higher)?, rows.get(pair.lower)?];
        Some(Self {
            samples: pair_of.map(|row| row.sample.label.clone()),
            gbps: pair_of.map(|row| row.sample.gbps),
            predicted: pair_of.map(|row| row.predicted),
            tied: pair.tied,
        })
    }
}

impl From<&mapa_regress::Errors> for Errors {
    fn from(own: &mapa_regress::Errors) -> Self {
        let published = &own.published;
        Self {
            samples: own.samples,
            rmse: own.rmse,
            mae: own.mae,
            max: own.max,
            // The quotient is infinite if all measurements are 0, and JSON has no such number.
            relative: finite(own.relative),
            r_squared: own.r_squared,
            published: PublishedErrors {
                relative: finite(published.relative),
                rmse: published.rmse,
                mae: published.mae,
            },
        }
    }
}

impl From<&Design> for FittedDesign {
    fn from(design: &Design) -> Self {
        Self {
            rank: design.rank(),
            terms: design.columns(),
            // The condition is infinite if the least singular value is 0.
            condition: finite(design.condition()),
            singular_values: design.singular_values().to_vec(),
        }
    }
}

impl From<&Validated> for HeldOutErrors {
    fn from((name, result): &Validated) -> Self {
        let held_out = match result {
            Ok(held_out) => held_out,
            Err(why) => {
                return Self {
                    by: name.clone(),
                    errors: None,
                    reason: Some(why.clone()),
                    folds: None,
                    not_held_out: None,
                };
            }
        };
        let folds = held_out.folds.iter().map(|fold| FoldErrors {
            held_out: fold.name.clone(),
            errors: (&fold.errors).into(),
        });
        let open = held_out.not_held_out.iter().map(|part| NotHeldOut {
            held_out: part.name.clone(),
            reason: part.why.clone(),
        });
        Self {
            by: name.clone(),
            errors: Some((&held_out.errors).into()),
            reason: None,
            folds: Some(folds.collect()),
            not_held_out: Some(open.collect()),
        }
    }
}
