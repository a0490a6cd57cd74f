//! Terms of a model: a product of link counts, p, or its inverse, 1 / (p + 1).

use crate::error::{Error, ErrorKind};
use crate::score::census::MAX_TIERS;
use crate::score::{Census, Tiers};

/// The most counts in the product of a term.
const MOST_FACTORS: usize = 3;

/// A product of the counts of up to three tiers, p, or its inverse, 1 / (p + 1). The product of no
/// counts is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term {
    /// Ascending; places past `len` are 0.
    factors: [usize; MOST_FACTORS],
    len: usize,
    inverse: bool,
}

impl Term {
    fn new(factors: &[usize], inverse: bool) -> Result<Self, Error> {
        let mut sorted = [0; MOST_FACTORS];
        let places = sorted.get_mut(..factors.len());
        let places = places.ok_or(ErrorKind::TooManyFactors {
            given: factors.len(),
            most: MOST_FACTORS,
        })?;
        places.copy_from_slice(factors);
        places.sort_unstable();
        Ok(Self {
            factors: sorted,
            len: factors.len(),
            inverse,
        })
    }

    /// The product of the counts of these tiers. Without tiers it is the constant 1. The count of a
    /// tier that is named twice is squared.
    ///
    /// # Errors
    /// If there are more than three.
    pub fn product(tiers: &[usize]) -> Result<Self, Error> {
        Self::new(tiers, false)
    }

    /// The inverse 1 / (p + 1) of the product p of the counts of these tiers.
    ///
    /// # Errors
    /// If there are more than three.
    pub fn inverse(tiers: &[usize]) -> Result<Self, Error> {
        Self::new(tiers, true)
    }

    /// The terms that are the count of one tier each, of at most eight tiers: there can be no more.
    #[must_use]
    pub fn linear(tiers: usize) -> Vec<Self> {
        (0..tiers.min(MAX_TIERS))
            .map(|tier| Self {
                factors: [tier, 0, 0],
                len: 1,
                inverse: false,
            })
            .collect()
    }

    /// The terms of Eq. 2 for so many tiers: counts, their inverses, products of two, their
    /// inverses, products of three, their inverses. Pairs of neighbouring tiers come first, as x y,
    /// y z, z x in the paper. For three tiers these are its fourteen terms in its order. There are
    /// 2 (t + t (t-1) / 2 + t (t-1) (t-2) / 6) terms for t tiers, of which there are at most eight.
    ///
    /// # Complexity
    ///
    /// O(t³) for t tiers.
    #[must_use]
    pub fn eq_2(tiers: usize) -> Vec<Self> {
        let tiers = tiers.min(MAX_TIERS);
        let mut products = vec![Self::linear(tiers), Vec::new(), Vec::new()];
        // Pairs of neighbouring tiers first: (0, 1), (1, 2), ..., then (0, 2), ...
        for apart in 1..tiers {
            products[1].extend((0..tiers - apart).map(|a| Self {
                factors: [a, a + apart, 0],
                len: 2,
                inverse: false,
            }));
        }
        for c in 0..tiers {
            for b in 0..c {
                products[2].extend((0..b).map(|a| Self {
                    factors: [a, b, c],
                    len: 3,
                    inverse: false,
                }));
            }
        }
        products
            .into_iter()
            .flat_map(|of| {
                let inverses: Vec<Self> = of
                    .iter()
                    .map(|term| Self {
                        inverse: true,
                        ..*term
                    })
                    .collect();
                [of, inverses].concat()
            })
            .collect()
    }

    /// The tiers whose counts are multiplied, ascending.
    #[must_use]
    pub fn factors(&self) -> &[usize] {
        &self.factors[..self.len]
    }

    /// Whether the term is the inverse 1 / (p + 1) of its product p.
    #[must_use]
    pub fn is_inverse(&self) -> bool {
        self.inverse
    }

    /// The value for these counts. Products are exact up to 2^53.
    #[must_use]
    pub fn value(&self, census: &Census) -> f64 {
        let product = self.factors().iter().fold(1.0, |product, &tier| {
            product * f64::from(census.count(tier))
        });
        if self.inverse {
            1.0 / (product + 1.0)
        } else {
            product
        }
    }

    /// The label of the term with these tiers: `direct-2 * rest`, `1/(direct-1 + 1)`, `1`.
    #[must_use]
    pub fn label(&self, tiers: &Tiers) -> String {
        let names = tiers.names();
        let product: Vec<String> = self
            .factors()
            .iter()
            .map(|&tier| {
                names
                    .get(tier)
                    .cloned()
                    .unwrap_or_else(|| format!("tier {tier}"))
            })
            .collect();
        let product = if product.is_empty() {
            "1".to_owned()
        } else {
            product.join(" * ")
        };
        if self.inverse {
            format!("1/({product} + 1)")
        } else {
            product
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_tiers_have_so_many_terms_of_eq_2_each_once() {
        for (tiers, terms) in [(1, 2), (2, 6), (3, 14), (4, 28), (8, 184)] {
            let mut all = Term::eq_2(tiers);
            assert_eq!(all.len(), terms);
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), terms);
        }
    }

    #[test]
    fn terms_are_products_in_any_order() {
        let census = Census::from_xyz(2, 3, 5);
        assert_eq!(
            Term::product(&[2, 0]).unwrap(),
            Term::product(&[0, 2]).unwrap()
        );
        assert_eq!(Term::product(&[2, 0]).unwrap().value(&census), 10.0);
        assert_eq!(Term::product(&[1, 1]).unwrap().value(&census), 9.0);
        assert_eq!(Term::product(&[]).unwrap().value(&census), 1.0);
        assert_eq!(
            Term::inverse(&[0, 1, 2]).unwrap().value(&census),
            1.0 / 31.0
        );
        assert!(
            Term::product(&[0, 1, 2, 0])
                .unwrap_err()
                .to_string()
                .contains("expected at most 3")
        );
    }
}
