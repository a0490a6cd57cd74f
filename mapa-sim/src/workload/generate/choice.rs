//! Draws by weight, and draws of sizes.

use std::ops::RangeInclusive;

use mapa_core::MAX_DEVICES;
use rand::RngExt;
use rand_distr::Distribution;
use rand_distr::weighted::WeightedIndex;
use rand_pcg::Pcg64;

/// A weighted choice, ready to draw an index.
pub(super) enum WeightedChoice {
    /// All weights are equal.
    Equal(usize),
    Weighted(WeightedIndex<f64>),
}

impl WeightedChoice {
    /// Prepares draws by these weights.
    pub(super) fn new(weights: &mut dyn Iterator<Item = f64>) -> Result<Self, String> {
        let weights: Vec<f64> = weights.collect();
        if let Some(weight) = weights
            .iter()
            .find(|weight| !(weight.is_finite() && **weight >= 0.0))
        {
            return Err(format!(
                "weight {weight}: expected a finite number, at least 0"
            ));
        }
        if weights.iter().sum::<f64>() <= 0.0 {
            return Err(
                "nothing to draw from: expected at least one, of a weight above 0".to_owned(),
            );
        }
        if weights.iter().all(|weight| *weight == weights[0]) {
            // Equal weights need one draw of an integer, whatever the weight.
            return Ok(Self::Equal(weights.len()));
        }
        WeightedIndex::new(weights)
            .map(Self::Weighted)
            .map_err(|error| error.to_string())
    }

    pub(super) fn draw(&self, stream: &mut Pcg64) -> usize {
        match self {
            Self::Equal(n) => stream.random_range(0..*n),
            Self::Weighted(index) => index.sample(stream),
        }
    }
}

/// How many devices jobs request.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Sizes {
    /// A uniform distribution over this range.
    Uniform(RangeInclusive<usize>),
    /// These sizes, each with its weight.
    Weighted(Vec<(usize, f64)>),
}

impl From<RangeInclusive<usize>> for Sizes {
    fn from(sizes: RangeInclusive<usize>) -> Self {
        Self::Uniform(sizes)
    }
}

impl Sizes {
    pub(super) fn compile(&self) -> Result<DrawnSizes, String> {
        let is_none = matches!(self, Self::Uniform(range) if range.is_empty());
        let extremes = match self {
            Self::Uniform(range) => vec![*range.start(), *range.end()],
            Self::Weighted(sizes) => sizes.iter().map(|(size, _)| *size).collect(),
        };
        if is_none
            || extremes
                .iter()
                .any(|size| !(1..=MAX_DEVICES).contains(size))
        {
            return Err(format!(
                "sizes {self}: expected sizes from 1 to {MAX_DEVICES}, such as 1..5 or 1:3+8:1"
            ));
        }
        let (sizes, weights): (Vec<_>, Vec<_>) = match self {
            Self::Uniform(range) => range.clone().map(|size| (size, 1.0)).unzip(),
            Self::Weighted(sizes) => sizes.iter().copied().unzip(),
        };
        let total: f64 = weights.iter().sum();
        let mean = sizes
            .iter()
            .zip(&weights)
            .map(|(size, weight)| *size as f64 * weight / total)
            .sum();
        let choice = WeightedChoice::new(&mut weights.into_iter())
            .map_err(|error| format!("sizes: {error}"))?;
        Ok(DrawnSizes {
            sizes,
            choice,
            mean,
        })
    }
}

/// Sizes, ready to be drawn.
pub(super) struct DrawnSizes {
    sizes: Vec<usize>,
    choice: WeightedChoice,
    /// The mean, devices.
    pub(super) mean: f64,
}

impl DrawnSizes {
    pub(super) fn draw(&self, stream: &mut Pcg64) -> usize {
        self.sizes[self.choice.draw(stream)]
    }
}
