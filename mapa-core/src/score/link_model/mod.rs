//! Models of bandwidth that are linear in terms of link counts, as Eq. 2 is, for any link classes.
//!
//! Eq. 2 has three tiers of links and fourteen terms. Here both are data: tiers by least class,
//! terms as products of counts. The range of the data of a fit is kept with it as its [`Domain`],
//! so that a decision can report when it applied the model outside of what was measured.
//! `mapa-regress` does the fitting.

mod domain;
mod term;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Candidate, Census, Coefficients, Objective, Tiers};
use crate::error::{Error, ErrorKind};

pub use domain::Domain;
pub use term::Term;

/// Names that are reserved for the core's own scores.
const TAKEN: [&str; 13] = [
    "aggregate_gbps",
    "effective_gbps",
    "effective_printed_gbps",
    "preserved_gbps",
    "preserved_direct_gbps",
    "ring_packing_gbps",
    "tree_packing_gbps",
    "all_to_all_gbps",
    "all_to_all_unrelayed_gbps",
    "channels_gbps",
    "step_seconds",
    "step_seconds_overlapping",
    "host_hops",
];

/// The largest coefficient: sums of terms of this size do not overflow.
const MOST: f64 = 1e12;

/// A linear model of bandwidth in GB/s: a sum of terms of link counts, each with its coefficient.
///
/// # Examples
///
/// ```
/// use mapa_core::{Census, Coefficients, LinkModel};
///
/// let census = Census::from_xyz(2, 1, 0);
/// assert_eq!(LinkModel::paper().predict(&census), Coefficients::FULL.predict(&census));
/// assert!(LinkModel::paper().in_domain(&census, 3));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LinkModel {
    name: String,
    source: String,
    tiers: Tiers,
    terms: Vec<(Term, f64)>,
    domain: Domain,
    statistics: BTreeMap<String, f64>,
}

impl LinkModel {
    /// A model under a name, which is also the name of its objective.
    ///
    /// # Complexity
    ///
    /// O(t log t) for t terms.
    ///
    /// # Errors
    /// - The name is empty, has line breaks, or is reserved for one of the core's scores.
    /// - There is no term; a term occurs twice or names a tier that does not exist; a coefficient
    ///   is not a number from -1e12 to 1e12.
    /// - The domain allows no number of ranks, or has a point with links of a tier that does not
    ///   exist.
    pub fn new(
        name: impl Into<String>,
        tiers: Tiers,
        terms: Vec<(Term, f64)>,
        domain: Domain,
    ) -> Result<Self, Error> {
        let name = name.into();
        let wrong = |what: String| {
            Error::from(ErrorKind::BadModel {
                model: name.clone(),
                what,
            })
        };
        if name.trim() != name
            || name.is_empty()
            || name.contains(char::is_control)
            || TAKEN.contains(&name.as_str())
        {
            return Err(wrong(format!(
                "expected a name on one line that is none of {}",
                TAKEN.join(", ")
            )));
        }
        if terms.is_empty() {
            return Err(wrong("no terms: expected at least one".to_owned()));
        }
        let mut seen = BTreeSet::new();
        for (at, (term, coefficient)) in terms.iter().enumerate() {
            if let Some(tier) = term.factors().iter().find(|tier| **tier >= tiers.len()) {
                return Err(wrong(format!(
                    "term {at} has tier {tier}: expected one below {}",
                    tiers.len()
                )));
            }
            if coefficient.is_nan() || coefficient.abs() > MOST {
                let what = format!(
                    "term {at} has coefficient {coefficient}: expected a number between -1e12 and 1e12"
                );
                return Err(wrong(what));
            }
            if !seen.insert(*term) {
                return Err(wrong(format!(
                    "term {at} ({}) occurs twice: expected it once",
                    term.label(&tiers)
                )));
            }
        }
        domain.check(&tiers).map_err(wrong)?;
        let (source, statistics) = (String::new(), BTreeMap::new());
        Ok(Self {
            name,
            source,
            tiers,
            terms,
            domain,
            statistics,
        })
    }

    /// The paper's model: Eq. 2 with [`Coefficients::FULL`], in the domain of
    /// [`Coefficients::in_domain`]. Its predictions are those of [`Coefficients::predict`] to the
    /// last bit.
    #[must_use]
    pub fn paper() -> Self {
        Self {
            name: "eq-2".to_owned(),
            source: "Table 2 of the paper, with the digits of its released code".to_owned(),
            tiers: Tiers::PAPER,
            terms: Term::eq_2(3)
                .into_iter()
                .zip(Coefficients::FULL.0)
                .collect(),
            domain: Domain::paper(),
            statistics: BTreeMap::new(),
        }
    }

    /// The model with a description of its source, such as a publication. The text is for readers
    /// and changes no prediction.
    #[must_use]
    pub fn with_source(self, source: impl Into<String>) -> Self {
        Self {
            source: source.into(),
            ..self
        }
    }

    /// The model with statistics of its fit, by name. They are for readers and change no
    /// prediction. Numbers that are not finite are left out.
    #[must_use]
    pub fn with_statistics(self, mut statistics: BTreeMap<String, f64>) -> Self {
        statistics.retain(|_, value| value.is_finite());
        Self { statistics, ..self }
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The description of the source; empty if none was given.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The tiers by which the model counts links.
    #[must_use]
    pub fn tiers(&self) -> &Tiers {
        &self.tiers
    }

    /// The terms and their coefficients.
    #[must_use]
    pub fn terms(&self) -> &[(Term, f64)] {
        &self.terms
    }

    /// The domain: the range of the data to which the model was fitted.
    #[must_use]
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// The statistics of the fit, by name.
    #[must_use]
    pub fn statistics(&self) -> &BTreeMap<String, f64> {
        &self.statistics
    }

    /// The predicted bandwidth, GB/s, for links counted by [`LinkModel::tiers`]. O(t) for t terms.
    #[must_use]
    pub fn predict(&self, census: &Census) -> f64 {
        self.terms
            .iter()
            .map(|(term, coefficient)| coefficient * term.value(census))
            .sum()
    }

    /// The parts of a prediction: the label, the value and the coefficient of each term.
    pub fn explain(&self, census: &Census) -> impl Iterator<Item = (String, f64, f64)> {
        self.terms
            .iter()
            .map(|(term, coefficient)| (term.label(&self.tiers), term.value(census), *coefficient))
    }

    /// Whether these counts among so many ranks lie within the domain: see [`Domain::holds`].
    /// Counts do not show the classes of links; only the domain of [`LinkModel::objective`] tests
    /// these.
    #[must_use]
    pub fn in_domain(&self, census: &Census, ranks: usize) -> bool {
        self.domain.holds(census, ranks)
    }

    /// The prediction as an objective of the model's name. Its domain tests link classes, the
    /// number of ranks, and counts.
    #[must_use]
    pub fn objective(&self) -> Objective<'static> {
        let model = Arc::new(self.clone());
        let holds = model.clone();
        Objective::links(self.name.clone(), self.tiers, move |census| {
            model.predict(census)
        })
        .domain(move |candidate| holds.admits(candidate))
    }

    fn admits(&self, candidate: &Candidate<'_>) -> bool {
        let Candidate {
            view,
            pattern,
            placement,
        } = *candidate;
        let graph = view.graph();
        let knows_links = pattern.edges().iter().all(|edge| {
            let (a, b) = (usize::from(edge.a), usize::from(edge.b));
            self.domain
                .knows(graph.link_of_ranks(placement[a], placement[b]).class)
        });
        knows_links
            && self.in_domain(
                &Census::of(pattern, placement, graph, &self.tiers),
                pattern.len(),
            )
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::LinkClass;

    proptest! {
        #[test]
        fn the_papers_model_is_eq_2_to_the_last_bit(x in 0u32..40, y in 0u32..40, z in 0u32..40) {
            let census = Census::from_xyz(x, y, z);
            let (model, eq_2) = (LinkModel::paper().predict(&census), Coefficients::FULL.predict(&census));
            prop_assert_eq!(model.to_bits(), eq_2.to_bits());
            let explained: f64 = LinkModel::paper().explain(&census).map(|(_, value, factor)| factor * value).sum();
            prop_assert_eq!(explained.to_bits(), eq_2.to_bits());
        }
    }

    #[test]
    fn the_papers_terms_are_labelled() {
        let labels: Vec<String> = LinkModel::paper()
            .explain(&Census::default())
            .map(|(label, ..)| label)
            .collect();
        assert_eq!(labels[0], "direct-2");
        assert_eq!(labels[3], "1/(direct-2 + 1)");
        assert_eq!(labels[8], "direct-2 * rest");
        assert_eq!(labels[13], "1/(direct-2 * direct-1 * rest + 1)");
    }

    #[test]
    fn what_cannot_be_a_model_is_refused() {
        let linear = Term::linear(3);
        let terms = |coefficient| {
            linear
                .iter()
                .map(|term| (*term, coefficient))
                .collect::<Vec<_>>()
        };
        let new = |name: &str, terms| LinkModel::new(name, Tiers::PAPER, terms, Domain::anywhere());
        assert!(new("mine", terms(1.0)).is_ok());
        let message = |result: Result<LinkModel, Error>| result.unwrap_err().to_string();
        assert!(message(new("effective_gbps", terms(1.0))).contains("none of aggregate_gbps"));
        assert!(message(new("two\nlines", terms(1.0))).contains("on one line"));
        assert!(message(new("mine", Vec::new())).contains("no terms"));
        assert!(message(new("mine", terms(f64::NAN))).contains("term 0 has coefficient NaN"));
        assert!(
            message(new("mine", [terms(1.0), terms(2.0)].concat()))
                .contains("term 3 (direct-2) occurs twice")
        );
        let fourth = vec![(Term::product(&[3]).unwrap(), 1.0)];
        assert!(message(new("mine", fourth)).contains("term 0 has tier 3: expected one below 3"));
        let empty = Domain {
            ranks: Some((3, 2)),
            ..Domain::anywhere()
        };
        let refused = LinkModel::new("mine", Tiers::PAPER, terms(1.0), empty);
        assert!(message(refused).contains("ranks"));
        let far = Domain {
            points: vec![Census::from_counts(&[0, 0, 0, 1]).unwrap()],
            ..Domain::anywhere()
        };
        assert!(message(LinkModel::new("mine", Tiers::PAPER, terms(1.0), far)).contains("point 0"));
    }

    #[test]
    fn a_model_for_other_link_classes_counts_by_its_tiers() {
        let tiers =
            Tiers::new(&[LinkClass::Direct(4), LinkClass::Direct(1), LinkClass::Phb]).unwrap();
        let terms = Term::linear(4)
            .into_iter()
            .zip([40.0, 20.0, 5.0, 2.0])
            .collect();
        let model = LinkModel::new("mine", tiers, terms, Domain::anywhere()).unwrap();
        assert_eq!(
            model.predict(&Census::from_counts(&[1, 2, 0, 3]).unwrap()),
            86.0
        );
    }
}
