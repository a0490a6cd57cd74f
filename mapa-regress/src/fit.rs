//! From samples to a model.

use std::collections::{BTreeMap, BTreeSet};

use mapa_core::{Census, Domain, LinkClass, LinkModel, Term, Tiers};
use nalgebra::DVector;

use crate::design::Design;
use crate::error::{Error, ErrorKind};
use crate::errors::Errors;
use crate::order::Order;
use crate::sample::{Sample, sorted};
use crate::solve::{Steps, least_squares, monotone, nnls, ridge};

/// Which coefficients θ are sought for A θ ≈ b.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Method {
    /// Least squares by singular values: argmin |A θ - b|, and the shortest of those.
    #[default]
    LeastSquares,
    /// argmin |A θ - b|² + λ |θ|² for this λ > 0, in (GB/s)²; the terms are taken as they are, not scaled. Any design will do.
    Ridge(f64),
    /// Least squares over θ >= 0.
    NonNegative,
    /// Least squares over the θ for which the prediction never falls, by more than some 1e-8 of the largest measurement, where a
    /// link is replaced by a better one: for all link counts of the sizes that the samples have, whether measured or not.
    /// Where the design has not full rank, it is filled up by a ridge of 1e-9 of its largest squared singular value.
    Monotone,
}

/// What to fit.
///
/// ```
/// use mapa_core::{LinkClass, Term, Tiers};
/// use mapa_regress::{FitConfig, Method};
///
/// let tiers = Tiers::new(&[LinkClass::Direct(4), LinkClass::Direct(1), LinkClass::Phb]).unwrap();
/// let config = FitConfig { method: Method::Monotone, terms: Term::linear(4), ..FitConfig::new("four tiers", tiers) };
/// # let _ = config;
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct FitConfig {
    /// The model's name, which its objective bears.
    pub name: String,
    /// Where the measurements come from, for people.
    pub source: String,
    /// The tiers by which the samples count links.
    pub tiers: Tiers,
    /// The terms.
    pub terms: Vec<Term>,
    /// Which coefficients.
    pub method: Method,
    /// Whether samples that do not tell all terms apart will do. The solution of least norm is then taken, which is one of
    /// many. Ridge needs no permission.
    pub allow_rank_deficient: bool,
    /// The classes of link that occurred in what was measured, for the model's domain; empty if they are not known.
    pub classes: Vec<LinkClass>,
}

impl FitConfig {
    /// Least squares with the terms of Eq. 2 for these tiers.
    #[must_use]
    pub fn new(name: impl Into<String>, tiers: Tiers) -> Self {
        Self {
            name: name.into(),
            source: String::new(),
            tiers,
            terms: Term::eq_2(tiers.len()),
            method: Method::LeastSquares,
            allow_rank_deficient: false,
            classes: Vec::new(),
        }
    }

    /// As the paper fits Eq. 2: its tiers, its fourteen terms, least squares.
    #[must_use]
    pub fn eq_2(name: impl Into<String>) -> Self {
        Self::new(name, Tiers::PAPER)
    }
}

/// A sample beside its prediction.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Row {
    /// What was measured.
    pub sample: Sample,
    /// What the model predicts for it, GB/s.
    pub predicted: f64,
    /// Measured less predicted, GB/s.
    pub residual: f64,
    /// How much of the prediction hangs on this measurement, 0 to 1: the diagonal of the hat matrix, of the ridge where there
    /// is one; for constrained fits, of least squares without the constraints.
    pub leverage: f64,
}

/// A fitted model, and how far it can be trusted.
#[derive(Clone, Debug)]
pub struct Fit {
    model: LinkModel,
    design: Design,
    rows: Vec<Row>,
    errors: Errors,
}

impl Fit {
    /// The model; its predictions are those of the rows to the last bit.
    #[must_use]
    pub fn model(&self) -> &LinkModel {
        &self.model
    }

    /// The design matrix; its rows are in the order of [`Fit::rows`].
    #[must_use]
    pub fn design(&self) -> &Design {
        &self.design
    }

    /// The samples with their predictions, sorted by links, ranks, bandwidth and label.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The errors on the samples themselves. What to expect of others says [`k_fold`](crate::k_fold).
    #[must_use]
    pub fn errors(&self) -> &Errors {
        &self.errors
    }

    /// Whether the predictions order the samples of each size as the measurements do. A model with small errors may still
    /// rate the slower of two sets higher, and an allocator would take it. O(N²) for N samples.
    #[must_use]
    pub fn order(&self) -> Order {
        Order::of(&self.rows)
    }
}

/// Fits a model. The order of the samples changes nothing, to the last bit; samples may repeat, and then weigh more. The
/// model's domain are the samples' link counts and ranks, and the classes that the configuration names.
///
/// O(N p²) for N samples and p terms; non-negative and monotone fits some p times that.
///
/// # Errors
/// Without samples; for a sample (by its label) whose bandwidth is not a number from 0 to 1e9, whose ranks cannot have its
/// links, or whose links are of more tiers than the configuration's; where the samples do not tell the terms apart and that
/// is not allowed; where terms, name or λ are none that [`LinkModel::new`] and [`Method`] take.
///
/// ```
/// use mapa_core::{Census, Term};
/// use mapa_regress::{FitConfig, Sample, fit};
///
/// let sample = |x, y, z, gbps| {
///     Sample { label: format!("({x}, {y}, {z})"), links: Census::from_xyz(x, y, z), ranks: 3, gbps }
/// };
/// let samples = [sample(3, 0, 0, 60.0), sample(0, 3, 0, 30.0), sample(0, 0, 3, 9.0), sample(1, 1, 1, 33.0)];
/// let config = FitConfig { terms: Term::linear(3), ..FitConfig::eq_2("linear") };
/// let fit = fit(&samples, &config)?;
/// assert!((fit.model().predict(&Census::from_xyz(2, 1, 0)) - 50.0).abs() < 1e-9);
/// assert!(fit.errors().rmse < 1e-9);
/// # Ok::<(), mapa_regress::Error>(())
/// ```
pub fn fit(samples: &[Sample], config: &FitConfig) -> Result<Fit, Error> {
    let samples = sorted(samples);
    samples.iter().try_for_each(|sample| sample.check(&config.tiers))?;
    let links: Vec<Census> = samples.iter().map(|sample| sample.links).collect();
    // That they are terms of these tiers, before anything is worked out.
    model(config, &vec![0.0; config.terms.len()], &samples)?;
    let design = Design::new(&links, &config.terms)?;
    check_rank(&design, &links, config)?;
    let measured = DVector::from_iterator(samples.len(), samples.iter().map(|sample| sample.gbps));
    let coefficients = solve(&design, &links, &measured, config)?;
    let model = model(config, coefficients.as_slice(), &samples)?;
    let lambda = if let Method::Ridge(lambda) = config.method { lambda } else { 0.0 };
    let leverage = design.leverage(lambda);
    let row = |(sample, leverage): (Sample, f64)| {
        let predicted = model.predict(&sample.links);
        Row { residual: sample.gbps - predicted, predicted, leverage, sample }
    };
    let rows: Vec<Row> = samples.into_iter().zip(leverage).map(row).collect();
    let pairs: Vec<(f64, f64)> = rows.iter().map(|row| (row.sample.gbps, row.predicted)).collect();
    let errors = Errors::of(&pairs).ok_or(ErrorKind::NoSamples)?;
    let model = model.with_statistics(statistics(&errors, &design));
    Ok(Fit { model, design, rows, errors })
}

fn check_rank(design: &Design, links: &[Census], config: &FitConfig) -> Result<(), Error> {
    let (rank, terms) = (design.rank(), design.columns());
    if rank == terms || config.allow_rank_deficient || matches!(config.method, Method::Ridge(_)) {
        return Ok(());
    }
    let distinct = links.iter().collect::<BTreeSet<_>>().len();
    if distinct < terms {
        return Err(ErrorKind::TooFew { samples: links.len(), distinct, terms }.into());
    }
    let open = (0..terms).filter(|column| design.leaves_open(*column));
    let undecided: Vec<String> = open.map(|column| config.terms[column].label(&config.tiers)).collect();
    Err(ErrorKind::RankDeficient { rank, terms, undecided: undecided.join(", ") }.into())
}

fn solve(
    design: &Design,
    links: &[Census],
    measured: &DVector<f64>,
    config: &FitConfig,
) -> Result<DVector<f64>, Error> {
    match config.method {
        Method::LeastSquares => Ok(least_squares(design, measured)),
        Method::Ridge(lambda) if lambda > 0.0 && lambda.is_finite() => Ok(ridge(design, measured, lambda)),
        Method::Ridge(lambda) => {
            Err(ErrorKind::BadConfig(format!("ridge of {lambda}: expected a positive number")).into())
        }
        Method::NonNegative => {
            nnls(design.matrix(), measured).ok_or_else(|| ErrorKind::NotConverged("non-negative fit").into())
        }
        Method::Monotone => {
            let steps = Steps::new(links, config.tiers.len())?;
            monotone(design, measured, &config.terms, &steps)
        }
    }
}

fn model(config: &FitConfig, coefficients: &[f64], samples: &[Sample]) -> Result<LinkModel, Error> {
    let points: BTreeSet<Census> = samples.iter().map(|sample| sample.links).collect();
    let ranks = || samples.iter().map(|sample| sample.ranks);
    let domain = Domain {
        ranks: ranks().min().zip(ranks().max()),
        classes: config.classes.clone(),
        points: points.into_iter().collect(),
    };
    let terms = config.terms.iter().copied().zip(coefficients.iter().copied()).collect();
    Ok(LinkModel::new(config.name.clone(), config.tiers, terms, domain)?.with_source(config.source.clone()))
}

/// What a coefficient file says of the fit.
fn statistics(errors: &Errors, design: &Design) -> BTreeMap<String, f64> {
    let known = [
        ("samples", Some(errors.samples as f64)),
        ("rank", Some(design.rank() as f64)),
        ("condition", Some(design.condition())),
        ("rmse", Some(errors.rmse)),
        ("mae", Some(errors.mae)),
        ("max_error", Some(errors.max)),
        ("relative", Some(errors.relative)),
        ("r_squared", errors.r_squared),
        ("published_relative", Some(errors.published.relative)),
        ("published_rmse", Some(errors.published.rmse)),
    ];
    known.into_iter().filter_map(|(name, value)| value.map(|value| (name.to_owned(), value))).collect()
}
