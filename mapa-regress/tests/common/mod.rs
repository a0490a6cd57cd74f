//! Samples that tests share.
#![allow(dead_code, reason = "not every test file needs all of it")]

use mapa_core::{Census, Coefficients, HardwareGraph, RingPacking};
use mapa_regress::published::{
    Allocation, Printed, SampleSet, allocations, correlation, examine, sample_sets, stand_ins,
};
use mapa_regress::{Error, FitConfig, Method, Sample, Validation, fit, k_fold, leave_one_size_out};

pub(crate) fn dgx1v() -> HardwareGraph {
    mapa_topologies::named("dgx-1v").unwrap().graph().unwrap()
}

/// The distinct link counts of all rings of two to five devices of a DGX-1V.
pub(crate) fn rings() -> Vec<Census> {
    sample_sets(&dgx1v()).swap_remove(0).links
}

/// Rings with the bandwidths that `gbps` gives them.
pub(crate) fn samples(links: &[Census], gbps: impl Fn(usize, &Census) -> f64) -> Vec<Sample> {
    let sample = |(at, links): (usize, &Census)| Sample {
        label: format!("row {}", at + 1),
        links: *links,
        ranks: links.edges() as usize,
        gbps: gbps(at, links),
    };
    links.iter().enumerate().map(sample).collect()
}

/// Rings with what Eq. 2 predicts, and an error after some fixed sequence of that size, none below
/// zero.
pub(crate) fn noisy(links: &[Census], size: f64) -> Vec<Sample> {
    samples(links, |at, links| {
        let error = ((at * 7 + 3) % 11) as f64 / 5.0 - 1.0;
        (Coefficients::FULL.predict(links) + size * error).max(0.0)
    })
}

/// All counts of `tiers` tiers with these numbers of links.
pub(crate) fn lattice(tiers: usize, sizes: std::ops::RangeInclusive<u32>) -> Vec<Census> {
    let mut counts = vec![Vec::new()];
    for _ in 0..tiers {
        counts = counts
            .iter()
            .flat_map(|c: &Vec<u32>| (0..=*sizes.end()).map(|n| [c.clone(), vec![n]].concat()))
            .collect();
    }
    let fits = counts
        .iter()
        .filter(|counts| sizes.contains(&counts.iter().sum()));
    fits.map(|counts| Census::from_counts(counts).unwrap())
        .collect()
}

/// A row of the page's table of sample sets.
pub(crate) fn finding_row(set: &SampleSet) -> String {
    let found = examine(set, &Coefficients::FULL, &Printed::PAPER).unwrap();
    let (least, most) = found.printed;
    let verdict = if found.agrees() {
        "agrees".to_owned()
    } else {
        format!("{:+.2} %", 100.0 * (found.excess() - 1.0))
    };
    format!(
        "| {} | {} | {} | {:.0} | {:.0} | {least:.0} to {most:.0} | {verdict} |",
        set.name, found.samples, found.rank, found.condition, found.explained
    )
}

/// A row of the page's table of refits: a method on a sample set.
pub(crate) fn refit_row(set: &str, samples: &[Sample], name: &str, method: Method) -> String {
    let config = FitConfig {
        method,
        ..FitConfig::eq_2("refit")
    };
    let errors = *fit(samples, &config).unwrap().errors();
    // Of all samples, or it would be no figure to compare.
    let rmse = |validation: Result<Validation, Error>| match validation {
        Ok(validation) if validation.not_held_out.is_empty() => {
            format!("{:.1}", validation.errors.rmse)
        }
        _ => "none".to_owned(),
    };
    let (held_out, size) = (
        rmse(k_fold(samples, &config, 5)),
        rmse(leave_one_size_out(samples, &config)),
    );
    format!(
        "| {set} | {name} | {:.2} | {:.2} | {:.4} | {:.4} | {held_out} | {size} |",
        errors.rmse, errors.mae, errors.published.relative, errors.published.rmse
    )
}

/// All rows of that table.
pub(crate) fn refit_rows() -> Vec<String> {
    let graph = dgx1v();
    let methods = [
        ("least squares", Method::LeastSquares),
        ("ridge, λ = 1", Method::Ridge(1.0)),
        ("non-negative", Method::NonNegative),
        ("monotone", Method::Monotone),
    ];
    let mut rows = Vec::new();
    for set in &sample_sets(&graph)[..3] {
        let data = stand_ins(&graph, &set.links, &RingPacking::default());
        rows.extend(methods.map(|(name, method)| refit_row(set.name, &data, name, method)));
    }
    let data = noisy(&rings(), NOISE);
    rows.extend(methods.map(|(name, method)| refit_row("Eq. 2 and an error", &data, name, method)));
    rows
}

/// Of [`noisy`], GB/s: errors up to so much, in some fixed order, have a root mean square of about
/// the printed figures' 9.5.
pub(crate) const NOISE: f64 = 15.0;

/// The page's correlations: aggregated bandwidth, Eq. 2 and ring packing over all sets of some
/// sizes.
pub(crate) fn correlation_row(name: &str, sizes: std::ops::RangeInclusive<usize>) -> String {
    let all = allocations(&dgx1v(), &RingPacking::default());
    let of = |pair: fn(&Allocation) -> (f64, f64)| {
        let pairs: Vec<_> = all
            .iter()
            .filter(|set| sizes.contains(&set.devices.len()))
            .map(pair)
            .collect();
        (pairs.len(), correlation(&pairs).unwrap())
    };
    let (sets, with_eq_2) = of(|set| (set.aggregate, set.eq_2));
    let (_, with_packing) = of(|set| (set.aggregate, set.packing));
    let (_, of_models) = of(|set| (set.eq_2, set.packing));
    format!("| {name} | {sets} | {with_eq_2:.2} | {with_packing:.2} | {of_models:.2} |")
}
