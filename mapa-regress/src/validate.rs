//! What a model does on samples that it was not fitted to.

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
    /// What the model that had not seen it predicts, GB/s.
    pub predicted: f64,
    /// Whether it lies in that model's domain.
    pub in_domain: bool,
}

/// One fit without some of the samples.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Fold {
    /// What was held out, in words.
    pub name: String,
    /// The samples, with predictions of a model that had not seen them.
    pub held_out: Vec<HeldOut>,
    /// The errors on these.
    pub errors: Errors,
}

/// Samples that could not be held out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotHeldOut {
    /// Which, in words.
    pub name: String,
    /// Why: what the others do not decide.
    pub why: String,
}

/// Several such fits.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Validation {
    /// Each of them; never empty.
    pub folds: Vec<Fold>,
    /// The parts without which the others do not tell the terms apart.
    pub not_held_out: Vec<NotHeldOut>,
    /// The errors on all that was held out.
    pub errors: Errors,
}

/// Holds out each of `k` parts in turn. The distinct link counts are dealt out in sorted order, the first to the first part,
/// the second to the second, and so on: samples of equal counts stay together, or a model would be asked what it was told,
/// and no chance is involved. k fits.
///
/// # Errors
/// If `k` is less than two or more than there are distinct link counts; as [`fit`], with the part that was held out. A part
/// without which the samples are rank-deficient is told in the answer, and an error only if no part can be held out.
pub fn k_fold(samples: &[Sample], config: &FitConfig, k: usize) -> Result<Validation, Error> {
    let mut parts: BTreeMap<Census, usize> = samples.iter().map(|sample| (sample.links, 0)).collect();
    if parts.len() < 2 {
        let what = "all samples have the same link counts: expected two distinct ones at least, to hold one out";
        return Err(ErrorKind::BadConfig(what.to_owned()).into());
    }
    if k < 2 || k > parts.len() {
        let what = format!("{k} parts of {} distinct link counts: expected 2 to {}", parts.len(), parts.len());
        return Err(ErrorKind::BadConfig(what).into());
    }
    parts.values_mut().enumerate().for_each(|(at, part)| *part = at % k);
    let part = |sample: &Sample| parts.get(&sample.links).copied().unwrap_or(0);
    validate(samples, config, part, |part| format!("part {} of {k}", part + 1))
}

/// Holds out all samples of one number of ranks in turn: what the model makes of sizes that it has not seen, which are
/// outside its domain. A fit per size.
///
/// # Errors
/// If all samples are of one size; as [`k_fold`], with the size that was held out.
pub fn leave_one_size_out(samples: &[Sample], config: &FitConfig) -> Result<Validation, Error> {
    let one = samples.first().map(|sample| sample.ranks);
    if let Some(ranks) = one
        && samples.iter().all(|sample| sample.ranks == ranks)
    {
        let what = format!("all samples have {ranks} ranks: expected two sizes at least");
        return Err(ErrorKind::BadConfig(what).into());
    }
    validate(samples, config, |sample| sample.ranks, |ranks| format!("the samples of {ranks} ranks"))
}

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
        let others: Vec<Sample> =
            parts.iter().filter(|(other, _)| **other != at).flat_map(|(_, s)| s.clone()).collect();
        let fitted = match fit(&others, config) {
            Ok(fitted) => fitted,
            Err(source) => {
                let (name, why, few) = (name(at), source.to_string(), source.is_rank_deficient());
                let error = Error::from(ErrorKind::Fold { held_out: name.clone(), source });
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
        folds.push(Fold { name: name(at), held_out, errors });
    }
    if let Some(error) = first.filter(|_| folds.is_empty()) {
        return Err(error);
    }
    let all: Vec<HeldOut> = folds.iter().flat_map(|fold| fold.held_out.clone()).collect();
    Ok(Validation { errors: errors_of(&all)?, not_held_out, folds })
}

fn errors_of(held_out: &[HeldOut]) -> Result<Errors, Error> {
    let pairs: Vec<(f64, f64)> = held_out.iter().map(|held| (held.sample.gbps, held.predicted)).collect();
    Ok(Errors::of(&pairs).ok_or(ErrorKind::NoSamples)?)
}
