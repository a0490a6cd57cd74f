//! The errors of a model on samples that it was not fitted to.

use std::collections::BTreeMap;

use mapa_core::Census;

use crate::error::{Error, ErrorKind};
use crate::errors::Errors;
use crate::fit::{FitConfig, fit};
use crate::sample::{Sample, sorted};

/// A sample that was held out.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct HeldOut {
    /// What was measured.
    pub sample: Sample,
    /// What a model that was fitted without it predicts, GB/s.
    pub predicted: f64,
    /// Whether it is in that model's domain.
    pub in_domain: bool,
}

/// One fit without some of the samples.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Fold {
    /// A description of what was held out.
    pub name: String,
    /// The samples, with predictions of a model that was fitted without them.
    pub held_out: Vec<HeldOut>,
    /// The errors on these.
    pub errors: Errors,
}

/// Samples that could not be held out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotHeldOut {
    /// A description of the samples.
    pub name: String,
    /// The reason: the terms that the other samples do not determine.
    pub why: String,
}

/// Several fits, each without some of the samples.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Validation {
    /// The fits; never empty.
    pub folds: Vec<Fold>,
    /// The parts that could not be held out, because the other samples do not determine all terms.
    pub not_held_out: Vec<NotHeldOut>,
    /// The errors on all that was held out.
    pub errors: Errors,
}

/// Holds out each of `k` parts in turn. The distinct link counts are dealt to the parts in sorted
/// order, without randomness. Samples of equal counts stay together; otherwise a model would
/// predict counts that it was fitted to.
///
/// # Complexity
/// k times [`fit`].
///
/// # Errors
/// `k` is less than two, or more than the number of distinct link counts; or [`fit`] fails, and
/// then the message names the part that was held out. If the samples without a part are
/// rank-deficient, that part is in [`Validation::not_held_out`]. This is an error only if no part
/// can be held out.
pub fn k_fold(samples: &[Sample], config: &FitConfig, k: usize) -> Result<Validation, Error> {
    let mut parts: BTreeMap<Census, usize> =
        samples.iter().map(|sample| (sample.links, 0)).collect();
    if parts.len() < 2 {
        let what = "all samples have the same link counts: expected at least two distinct ones, \
            to hold one out";
        return Err(ErrorKind::BadConfig(what.to_owned()).into());
    }
    if k < 2 || k > parts.len() {
        let what = format!(
            "{k} parts of {} distinct link counts: expected 2 to {}",
            parts.len(),
            parts.len()
        );
        return Err(ErrorKind::BadConfig(what).into());
    }
    parts
        .values_mut()
        .enumerate()
        .for_each(|(at, part)| *part = at % k);
    validate(
        samples,
        config,
        |sample| parts.get(&sample.links).copied().unwrap_or(0),
        |part| format!("part {} of {k}", part + 1),
    )
}

/// Holds out all samples of one number of ranks in turn. This says how well the model predicts
/// sizes that it was not fitted to, which are outside its domain.
///
/// # Complexity
/// One [`fit`] for each size.
///
/// # Errors
/// If all samples are of one size; as [`k_fold`], with the size that was held out.
pub fn leave_one_size_out(samples: &[Sample], config: &FitConfig) -> Result<Validation, Error> {
    let one = samples.first().map(|sample| sample.ranks);
    if let Some(ranks) = one
        && samples.iter().all(|sample| sample.ranks == ranks)
    {
        let what = format!(
            "all samples have {ranks} ranks: expected at least two different numbers of ranks"
        );
        return Err(ErrorKind::BadConfig(what).into());
    }
    validate(
        samples,
        config,
        |sample| sample.ranks,
        |ranks| format!("the samples of {ranks} ranks"),
    )
}

/// Fits a model without each part in turn, and compares its predictions with that part.
fn validate(
    samples: &[Sample],
    config: &FitConfig,
    part: impl Fn(&Sample) -> usize,
    name: impl Fn(usize) -> String,
) -> Result<Validation, Error> {
    let mut parts: BTreeMap<usize, Vec<Sample>> = BTreeMap::new();
    for sample in sorted(samples) {
        sample.check(&config.tiers)?;
        parts.entry(part(&sample)).or_default().push(sample);
    }
    let (mut folds, mut not_held_out, mut first) = (Vec::new(), Vec::new(), None);
    for (&at, held_out) in &parts {
        let others: Vec<Sample> = parts
            .iter()
            .filter(|(other, _)| **other != at)
            .flat_map(|(_, s)| s.clone())
            .collect();
        let fitted = match fit(&others, config) {
            Ok(fitted) => fitted,
            Err(source) => {
                // Too few samples without this part is a finding about the part. All else is an
                // error.
                let (name, why, few) = (name(at), source.to_string(), source.is_rank_deficient());
                let error = Error::from(ErrorKind::Fold {
                    held_out: name.clone(),
                    source,
                });
                if !few {
                    return Err(error);
                }
                not_held_out.push(NotHeldOut { name, why });
                first.get_or_insert(error);
                continue;
            }
        };
        let model = fitted.model();
        let held_out = held_out.iter().map(|sample| HeldOut {
            predicted: model.predict(&sample.links),
            in_domain: model.in_domain(&sample.links, sample.ranks),
            sample: sample.clone(),
        });
        let held_out: Vec<HeldOut> = held_out.collect();
        let errors = errors_of(&held_out)?;
        folds.push(Fold {
            name: name(at),
            held_out,
            errors,
        });
    }
    if let Some(error) = first.filter(|_| folds.is_empty()) {
        return Err(error);
    }
    let all: Vec<HeldOut> = folds
        .iter()
        .flat_map(|fold| fold.held_out.clone())
        .collect();
    Ok(Validation {
        errors: errors_of(&all)?,
        not_held_out,
        folds,
    })
}

fn errors_of(held_out: &[HeldOut]) -> Result<Errors, Error> {
    let pairs: Vec<(f64, f64)> = held_out
        .iter()
        .map(|held| (held.sample.gbps, held.predicted))
        .collect();
    Ok(Errors::of(&pairs).ok_or(ErrorKind::NoSamples)?)
}
