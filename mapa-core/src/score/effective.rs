//! Predicted effective bandwidth, Eq. 2 of the paper.
//!
//! The model is a fit to 31 rings of two to five GPUs on a DGX-1V and is kept as published. It is
//! not monotone in links: it rates a ring of five with two PCIe hops, (0, 3, 2), above one with
//! four double links, (4, 0, 1). Beyond five GPUs it extrapolates. [`Coefficients::in_domain`]
//! tells where it holds.

use std::sync::LazyLock;

use super::{Candidate, Census, Objective, Tiers};
use crate::pattern::Pattern;
use crate::topology::{DeviceId, HardwareGraph, LinkClass};

/// The highest bandwidth of one direct link for which Eq. 2 can hold, GB/s: that of the DGX-1V, with
/// some room for rounding in descriptions.
const MOST_OF_A_LINK: f64 = 26.0;

/// The highest bandwidth of a path through the host for which it can hold, GB/s: sixteen lanes of
/// PCIe 3.
const MOST_OF_THE_HOST: f64 = 16.0;

/// The fourteen coefficients θ of Eq. 2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coefficients(pub [f64; 14]);

impl Coefficients {
    /// The coefficients of the released code (`src/Props.hh`), to ten digits. They are the default:
    /// the paper's figures come from them.
    pub const FULL: Self = Self([
        16.39670455,
        4.536821878,
        1.55623404,
        -20.69484581,
        -9.467461958,
        7.615106783,
        -7.973335727,
        12.73323772,
        -4.195655221,
        -8.413419363,
        62.85125807,
        27.41832588,
        -5.114108079,
        -46.97390071,
    ]);

    /// The coefficients as printed in Table 2, truncated after three decimals.
    pub const PRINTED: Self = Self([
        16.396, 4.536, 1.556, -20.694, -9.467, 7.615, -7.973, 12.733, -4.195, -8.413, 62.851,
        27.418, -5.114, -46.973,
    ]);

    /// Eq. 2 for x double links, y single links and z PCIe paths: the predicted effective
    /// bandwidth, GB/s.
    ///
    /// # Examples
    ///
    /// ```
    /// use mapa_core::{Census, Coefficients};
    ///
    /// let gbps = Coefficients::FULL.predict(&Census::from_xyz(2, 1, 0));
    /// assert!((gbps - 57.86).abs() < 0.01);
    /// ```
    #[must_use]
    pub fn predict(&self, census: &Census) -> f64 {
        let (x, y, z) = census.xyz();
        let (x, y, z) = (f64::from(x), f64::from(y), f64::from(z));
        let inverse = |v: f64| 1.0 / (v + 1.0);
        let terms = [
            x,
            y,
            z,
            inverse(x),
            inverse(y),
            inverse(z),
            x * y,
            y * z,
            z * x,
            inverse(x * y),
            inverse(y * z),
            inverse(z * x),
            x * y * z,
            inverse(x * y * z),
        ];
        self.0
            .iter()
            .zip(terms)
            .map(|(theta, term)| theta * term)
            .sum()
    }

    /// Whether a placement is of the kind to which the model was fitted: two to five whole devices, and
    /// no bond of more than two direct links (Eq. 2 can only count those as double), none with more
    /// than the 25 GB/s of a link of the DGX-1V, and host paths no wider than PCIe 3. A prediction
    /// within the domain may still be wrong. A placement with another number of devices than the pattern has ranks, or with
    /// a device that the machine does not have, is outside.
    #[must_use]
    pub fn in_domain(pattern: &Pattern, placement: &[DeviceId], graph: &HardwareGraph) -> bool {
        let wholes = graph.wholes();
        (2..=5).contains(&pattern.len())
            && placement.len() == pattern.len()
            && placement.iter().all(|id| wholes.contains(*id))
            && pattern.edges().iter().all(|edge| {
                let (a, b) = (usize::from(edge.a), usize::from(edge.b));
                let link = graph.link_of_ranks(placement[a], placement[b]);
                match link.class {
                    LinkClass::Direct(n @ (1 | 2)) => link.gbps <= MOST_OF_A_LINK * f64::from(n),
                    class => class.is_host() && link.gbps <= MOST_OF_THE_HOST,
                }
            })
    }
}

/// EffBW, GB/s: Eq. 2 with [`Coefficients::FULL`] on the pattern's edges.
#[must_use]
pub fn effective_gbps() -> Objective<'static> {
    static FULL: LazyLock<Objective<'static>> =
        LazyLock::new(|| effective_gbps_with("effective_gbps", Coefficients::FULL));
    FULL.clone()
}

/// Eq. 2 with other coefficients, under a name that says which. Its domain is
/// [`Coefficients::in_domain`].
#[must_use]
pub fn effective_gbps_with(name: &'static str, coefficients: Coefficients) -> Objective<'static> {
    Objective::links(name, Tiers::PAPER, move |census| {
        coefficients.predict(census)
    })
    .domain(|on: &Candidate<'_>| Coefficients::in_domain(on.pattern, on.placement, on.view.graph()))
}
