//! Fits a model to samples.

use std::collections::{BTreeMap, BTreeSet};

use mapa_core::{Census, Domain, LinkClass, LinkModel, Term, Tiers};
use nalgebra::DVector;

use crate::design::Design;
use crate::error::{Error, ErrorKind};
use crate::errors::Errors;
use crate::order::Order;
use crate::row::Row;
use crate::sample::{Sample, sorted};
use crate::solve::{Steps, least_squares, monotone, nnls, ridge};

/// Which coefficients θ solve A θ ≈ b, for a design A and measurements b.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Method {
    /// Least squares by singular values: argmin |A θ - b|, and of several solutions the shortest.
    #[default]
    LeastSquares,
    /// argmin |A θ - b|² + λ |θ|² for this λ > 0, in (GB/s)²; the terms are not scaled. Any
    /// design is accepted.
    Ridge(f64),
    /// Least squares over θ >= 0.
    NonNegative,
    /// Least squares over the θ for which a better link never lowers the prediction, by more than
    /// some 1e-8 of the largest measurement. This holds for all link counts of the samples' sizes,
    /// measured or not. A design without full rank is completed by a ridge of 1e-9 of its largest
    /// squared singular value.
    Monotone,
}

/// The configuration of a fit.
///
/// # Examples
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
    /// The model's name, which is also that of its objective.
    pub name: String,
    /// Where the measurements come from, for people.
    pub source: String,
    /// The tiers by which the samples count links.
    pub tiers: Tiers,
    /// The terms.
    pub terms: Vec<Term>,
    /// The method of solution.
    pub method: Method,
    /// Whether to accept samples that do not determine all coefficients. Then the solution of least
    /// norm is taken, one of many. Ridge always accepts such samples.
    pub allow_rank_deficient: bool,
    /// The classes of link that occur in the measured placements, for the model's domain; empty if
    /// they are not known.
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

    /// The configuration with which the paper fits Eq. 2: its tiers, its fourteen terms, least
    /// squares.
    #[must_use]
    pub fn eq_2(name: impl Into<String>) -> Self {
        Self::new(name, Tiers::PAPER)
    }
}

/// A fitted model, with measures of its quality.
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

    /// The errors on the samples themselves. [`k_fold`](crate::k_fold) estimates the errors on
    /// other samples.
    #[must_use]
    pub fn errors(&self) -> &Errors {
        &self.errors
    }

    /// Compares the order of the predictions with that of the measurements, for samples of equal
    /// size. A model with small errors may still rate the slower of two sets higher, and an
    /// allocator would choose that set. O(N²) for N samples.
    #[must_use]
    pub fn order(&self) -> Order {
        Order::of(&self.rows)
    }
}

/// Fits a model. The result does not depend on the order of the samples, to the last bit. Samples
/// may repeat, and then weigh more. The model's domain consists of the samples' link counts and
/// ranks, and of the classes that the configuration names.
///
/// # Complexity
/// O(N p²) for N samples and p terms. Non-negative and monotone fits take some p times that.
///
/// # Errors
/// - There are no samples.
/// - A sample (named by its label) has a bandwidth that is not a number from 0 to 1e9, links that
///   its ranks cannot have, or links of more tiers than the configuration.
/// - The samples do not determine all coefficients, and the configuration does not allow that.
/// - Terms, name or λ are not valid for [`LinkModel::new`] and [`Method`].
///
/// # Examples
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
    samples
        .iter()
        .try_for_each(|sample| sample.check(&config.tiers))?;
    let links: Vec<Census> = samples.iter().map(|sample| sample.links).collect();
    // Rejects terms that these tiers do not have before anything is computed.
    model(config, &vec![0.0; config.terms.len()], &samples)?;
    let design = Design::new(&links, &config.terms)?;
    check_rank(&design, &links, config)?;
    let measured = DVector::from_iterator(samples.len(), samples.iter().map(|sample| sample.gbps));
    let coefficients = solve(&design, &links, &measured, config)?;
    let model = model(config, coefficients.as_slice(), &samples)?;
    let lambda = if let Method::Ridge(lambda) = config.method {
        lambda
    } else {
        0.0
    };
    let leverage = design.leverage(lambda);
    let mut rows = Vec::with_capacity(samples.len());
    for (sample, leverage) in samples.into_iter().zip(leverage) {
        let predicted = model.predict(&sample.links);
        rows.push(Row {
            residual: sample.gbps - predicted,
            predicted,
            leverage,
            sample,
        });
    }
    let pairs: Vec<(f64, f64)> = rows
        .iter()
        .map(|row| (row.sample.gbps, row.predicted))
        .collect();
    let errors = Errors::of(&pairs).ok_or(ErrorKind::NoSamples)?;
    let model = model.with_statistics(statistics(&errors, &design));
    Ok(Fit {
        model,
        design,
        rows,
        errors,
    })
}

fn check_rank(design: &Design, links: &[Census], config: &FitConfig) -> Result<(), Error> {
    let (rank, terms) = (design.rank(), design.columns());
    if rank == terms || config.allow_rank_deficient || matches!(config.method, Method::Ridge(_)) {
        return Ok(());
    }
    let distinct = links.iter().collect::<BTreeSet<_>>().len();
    if distinct < terms {
        return Err(ErrorKind::TooFew {
            samples: links.len(),
            distinct,
            terms,
        }
        .into());
    }
    let open = (0..terms).filter(|column| design.leaves_open(*column));
    let undecided: Vec<String> = open
        .map(|column| config.terms[column].label(&config.tiers))
        .collect();
    Err(ErrorKind::RankDeficient {
        rank,
        terms,
        undecided: undecided.join(", "),
    }
    .into())
}

fn solve(
    design: &Design,
    links: &[Census],
    measured: &DVector<f64>,
    config: &FitConfig,
) -> Result<DVector<f64>, Error> {
    match config.method {
        Method::LeastSquares => Ok(least_squares(design, measured)),
        Method::Ridge(lambda) if lambda > 0.0 && lambda.is_finite() => {
            Ok(ridge(design, measured, lambda))
        }
        Method::Ridge(lambda) => Err(ErrorKind::BadConfig(format!(
            "ridge of {lambda}: expected a positive number"
        ))
        .into()),
        Method::NonNegative => nnls(design.matrix(), measured)
            .ok_or_else(|| ErrorKind::NotConverged("non-negative fit").into()),
        Method::Monotone => {
            let steps = Steps::new(links, config.tiers.len())?;
            monotone(design, measured, &config.terms, &steps)
        }
    }
}

fn model(config: &FitConfig, coefficients: &[f64], samples: &[Sample]) -> Result<LinkModel, Error> {
    let points: BTreeSet<Census> = samples.iter().map(|sample| sample.links).collect();
    let ranks: BTreeSet<usize> = samples.iter().map(|sample| sample.ranks).collect();
    let domain = Domain {
        ranks: ranks.first().copied().zip(ranks.last().copied()),
        classes: config.classes.clone(),
        points: points.into_iter().collect(),
    };
    let terms = config
        .terms
        .iter()
        .copied()
        .zip(coefficients.iter().copied())
        .collect();
    Ok(
        LinkModel::new(config.name.clone(), config.tiers, terms, domain)?
            .with_source(config.source.clone()),
    )
}

/// The statistics of the fit, for a coefficient file.
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
    known
        .into_iter()
        .filter_map(|(name, value)| value.map(|value| (name.to_owned(), value)))
        .collect()
}
