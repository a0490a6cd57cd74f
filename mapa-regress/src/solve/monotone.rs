//! Least squares under the condition that a better link never lowers the prediction.
//!
//! A lattice of counts stands for all placements of the sizes that were measured: every way to
//! distribute their links over the tiers. A step replaces one link by one of the next better tier,
//! and the prediction must not fall. Each step is an inequality that is linear in the coefficients:
//! G θ >= 0. Steps over several tiers are sums of these. No step *adds* a link: a longer ring is
//! another job, and an added slow link rightly slows it down.
//!
//! So the solution is the point of a cone that is nearest to the unconstrained solution, in the
//! metric of the samples. Its dual is a non-negative least squares problem (Lawson and Hanson,
//! chapter 23: LSI, LDP).

use std::collections::BTreeSet;

use mapa_core::{Census, Term};
use nalgebra::{DMatrix, DVector};

use super::nnls;
use crate::design::Design;
use crate::error::{Error, ErrorKind};

/// The largest number of steps. With more the dual problem takes too long.
const MOST_STEPS: usize = 20_000;

/// A design of less than full rank gets a ridge of this share of its largest squared singular
/// value.
const FILL: f64 = 1e-9;

/// The steps from one link count to another that is better in one link.
#[derive(Clone, Debug)]
pub(crate) struct Steps(pub(crate) Vec<(Census, Census)>);

impl Steps {
    /// All steps among counts of as many links as a sample has.
    pub(crate) fn new(links: &[Census], tiers: usize) -> Result<Self, Error> {
        let sizes: BTreeSet<u64> = links.iter().map(Census::edges).collect();
        let mut steps = Vec::new();
        for &edges in &sizes {
            let mut counts = vec![0; tiers];
            share_out(
                edges.min(u64::from(u32::MAX)) as u32,
                0,
                &mut counts,
                &mut steps,
            )?;
        }
        Ok(Self(steps))
    }
}

/// Adds the steps from every way to distribute `edges` over the tiers from `tier` on.
fn share_out(
    edges: u32,
    tier: usize,
    counts: &mut [u32],
    steps: &mut Vec<(Census, Census)>,
) -> Result<(), Error> {
    if tier + 1 == counts.len() {
        counts[tier] = edges;
        let from = Census::from_counts(counts)?;
        for better in 0..tier {
            if counts[better + 1] > 0 {
                let mut to = counts.to_vec();
                (to[better], to[better + 1]) = (to[better] + 1, to[better + 1] - 1);
                steps.push((from, Census::from_counts(&to)?));
            }
        }
        if steps.len() > MOST_STEPS {
            let what = format!(
                "more than {MOST_STEPS} steps to a better link: expected fewer tiers or smaller samples"
            );
            return Err(ErrorKind::BadConfig(what).into());
        }
        return Ok(());
    }
    for here in 0..=edges {
        counts[tier] = here;
        share_out(edges - here, tier + 1, counts, steps)?;
    }
    Ok(())
}

/// argmin |A θ - b| over the θ for which no step lowers the prediction, up to some 1e-8 of the
/// largest measurement. A design of less than full rank gets a small ridge.
pub(crate) fn monotone(
    design: &Design,
    b: &DVector<f64>,
    terms: &[Term],
    steps: &Steps,
) -> Result<DVector<f64>, Error> {
    let rises = DMatrix::from_fn(steps.0.len(), terms.len(), |row, column| {
        let (from, to) = &steps.0[row];
        terms[column].value(to) - terms[column].value(from)
    });
    if design.rank() < design.columns() {
        let largest = design.singular_values().first().copied().unwrap_or(0.0);
        let filled = design.padded((FILL * largest * largest).sqrt())?;
        return in_cone(
            &filled,
            &b.clone().resize_vertically(filled.rows(), 0.0),
            rises,
        );
    }
    in_cone(design, b, rises)
}

/// argmin |A θ - b| over G θ >= 0, for a design of full rank.
fn in_cone(design: &Design, b: &DVector<f64>, rises: DMatrix<f64>) -> Result<DVector<f64>, Error> {
    let terms = design.columns();
    // θ = W (y + Uᵀ b), so that |A θ - b|² = |y|² + what no θ changes.
    let singular = design.singular_values();
    let whiten = DMatrix::from_fn(terms, terms, |row, at| {
        design.right()[(row, at)] / singular[at]
    });
    let free = design.left().tr_mul(b);
    let size = free.norm();
    if size == 0.0 {
        return Ok(DVector::zeros(terms));
    }
    let toward = &free / size;
    let y = least_distance(&(rises * &whiten), &toward)?;
    Ok(whiten * (y + toward) * size)
}

/// The y of least norm with H (y + c) >= 0.
fn least_distance(h: &DMatrix<f64>, c: &DVector<f64>) -> Result<DVector<f64>, Error> {
    let (rows, n) = (h.nrows(), h.ncols());
    let missing = -(h * c);
    let norms: Vec<f64> = (0..rows).map(|row| h.row(row).norm()).collect();
    let kept: Vec<usize> = (0..rows).filter(|&row| norms[row] > 0.0).collect();
    if kept.iter().all(|&row| missing[row] <= 0.0) {
        return Ok(DVector::zeros(n));
    }
    // The dual problem (Lawson and Hanson, LDP): each inequality is a column, scaled to length 1 so
    // that all weigh alike.
    let dual = DMatrix::from_fn(n + 1, kept.len(), |at, column| {
        let row = kept[column];
        let entry = if at < n { h[(row, at)] } else { missing[row] };
        entry / norms[row]
    });
    let mut last = DVector::zeros(n + 1);
    last[n] = 1.0;
    let weights = nnls(&dual, &last).ok_or(ErrorKind::NotConverged("dual of the monotone fit"))?;
    let residual = dual * weights - last;
    Ok(DVector::from_fn(n, |at, _| -residual[at] / residual[n]))
}
