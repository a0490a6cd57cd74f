//! Samples that tests share.
#![allow(dead_code, reason = "not every test file needs all of it")]

use mapa_core::{Census, Coefficients, HardwareGraph};
use mapa_regress::{Sample, published::sample_sets};

pub fn dgx1v() -> HardwareGraph {
    mapa_topologies::named("dgx-1v").unwrap().graph().unwrap()
}

/// The distinct link counts of all rings of two to five devices of a DGX-1V.
pub fn rings() -> Vec<Census> {
    sample_sets(&dgx1v()).swap_remove(0).links
}

/// Rings with the bandwidths that `gbps` gives them.
pub fn samples(links: &[Census], gbps: impl Fn(usize, &Census) -> f64) -> Vec<Sample> {
    let sample = |(at, links): (usize, &Census)| Sample {
        label: format!("row {}", at + 1),
        links: *links,
        ranks: links.edges() as usize,
        gbps: gbps(at, links),
    };
    links.iter().enumerate().map(sample).collect()
}

/// Rings with what Eq. 2 predicts, and an error after some fixed sequence of that size, none below zero.
pub fn noisy(links: &[Census], size: f64) -> Vec<Sample> {
    samples(links, |at, links| {
        let error = ((at * 7 + 3) % 11) as f64 / 5.0 - 1.0;
        (Coefficients::FULL.predict(links) + size * error).max(0.0)
    })
}

/// All counts of `tiers` tiers with these numbers of links.
pub fn lattice(tiers: usize, sizes: std::ops::RangeInclusive<u32>) -> Vec<Census> {
    let mut counts = vec![Vec::new()];
    for _ in 0..tiers {
        counts =
            counts.iter().flat_map(|c: &Vec<u32>| (0..=*sizes.end()).map(|n| [c.clone(), vec![n]].concat())).collect();
    }
    let fits = counts.iter().filter(|counts| sizes.contains(&counts.iter().sum()));
    fits.map(|counts| Census::from_counts(counts).unwrap()).collect()
}
