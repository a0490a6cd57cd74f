//! The kinds of link that the criteria of links and edges distinguish.

use super::criterion::Criterion;
use super::problem::Problem;
use super::requirement::{Requirement, RequirementTest};
use crate::matching::Few;
use crate::reach::{KINDS, MOST, PairKinds};
use crate::score::{Census, EdgeOn, Form, Objective};
use crate::topology::{DeviceId, Link};

/// The kind of link between each pair of devices. Edges of equal traffic on links of one kind are
/// equal to every criterion.
pub(super) struct LinkKinds {
    n: usize,
    /// n x n, the lower device first; `None` if no edge may use the link.
    kinds: Vec<Option<u16>>,
    /// By kind, one of its links.
    samples: Few<Link>,
}

impl LinkKinds {
    /// Sorts the links of all pairs of devices into kinds.
    pub(super) fn new(problem: &Problem<'_, '_>, devices: &[DeviceId]) -> Self {
        let graph = problem.view.graph();
        Self::among(problem, devices.len(), |a, b| {
            (a != b).then(|| graph.link(devices[a], devices[b]))
        })
    }

    /// Sorts the links of all pairs of `n` things into kinds, where `link` gives that of a lower and a
    /// higher one, or of one with itself; `None` where no edge can be.
    pub(super) fn among(
        problem: &Problem<'_, '_>,
        n: usize,
        link: impl Fn(usize, usize) -> Option<Link>,
    ) -> Self {
        let request = problem.request;
        let edges = request.pattern.edges();
        let mut traffics: Few<f64> = edges.iter().map(|edge| edge.traffic).collect();
        traffics.sort_unstable_by(f64::total_cmp);
        traffics.dedup();
        let objectives: Few<&Objective<'_>> = problem
            .objectives()
            .chain(problem.tested_objectives())
            .collect();
        // A machine has few distinct links: each is classified once.
        let mut known: Few<(Link, Option<u16>)> = Few::new();
        // By kind, what the objectives see of it, and one of its links.
        let mut looks: Few<Few<u64>> = Few::new();
        let mut samples: Few<Link> = Few::new();
        let mut kinds = vec![None; n * n];
        for b in 0..n {
            for a in 0..=b {
                let Some(link) = link(a, b) else { continue };
                if let Some((_, kind)) = known.iter().find(|(other, _)| *other == link) {
                    kinds[a * n + b] = *kind;
                    continue;
                }
                let kind = admits(problem, &traffics, link).then(|| {
                    let own = look(&objectives, &traffics, link);
                    let same = looks.iter().position(|other| *other == own);
                    let kind = same.unwrap_or_else(|| {
                        looks.push(own);
                        samples.push(link);
                        looks.len() - 1
                    });
                    kind as u16
                });
                known.push((link, kind));
                kinds[a * n + b] = kind;
            }
        }
        Self { n, kinds, samples }
    }

    /// A link of a kind.
    pub(super) fn sample(&self, kind: usize) -> Link {
        self.samples[kind]
    }

    /// The number of kinds.
    pub(super) fn len(&self) -> usize {
        self.samples.len()
    }

    /// The kind of link between two devices, by their positions; `None` if no edge may use it.
    pub(super) fn between(&self, a: usize, b: usize) -> Option<usize> {
        self.kinds[a.min(b) * self.n + a.max(b)].map(usize::from)
    }

    /// The kinds as tables take them; `None` if there are more devices or kinds than tables can
    /// count.
    pub(super) fn kinds(&self) -> Option<PairKinds> {
        let countable = self.len() <= KINDS && self.n <= MOST;
        countable.then(|| PairKinds::new(self.n, |a, b| self.between(a, b)))
    }

    /// The keys of criteria for these numbers of edges by kind; `None` if a requirement rejects
    /// them.
    pub(super) fn keys<'c, 'a: 'c>(
        &self,
        criteria: impl Iterator<Item = &'c Criterion<'a>>,
        requirements: &[Requirement<'_>],
        traffic: f64,
        by_kind: &[u32],
    ) -> Option<Few<f64>> {
        for test in requirements.iter().map(|requirement| &requirement.test) {
            if let RequirementTest::Score(objective, admits) = test
                && is_of_counts(objective)
                && !admits(self.score(objective, traffic, by_kind))
            {
                return None;
            }
        }
        let mut keys = Few::new();
        for criterion in criteria {
            keys.push(criterion.objective().map_or(0.0, |objective| {
                criterion.key(self.score(objective, traffic, by_kind))
            }));
        }
        Some(keys)
    }

    /// The value of an objective of links or edges for these numbers of edges by kind.
    fn score(&self, objective: &Objective<'_>, traffic: f64, by_kind: &[u32]) -> f64 {
        let kinds = by_kind
            .iter()
            .zip(&self.samples)
            .filter(|(count, _)| **count > 0);
        match objective.form() {
            Form::Links(tiers, f) => {
                let mut census = Census::default();
                for (&count, link) in kinds {
                    census = census.plus(tiers.of(link.class), count);
                }
                f(&census)
            }
            Form::Edges(f) => {
                // The score is defined as a sum over edges. A product could round to another value.
                let mut sum = 0.0;
                for (&count, &link) in kinds {
                    let value = f(EdgeOn { traffic, link });
                    for _ in 0..count {
                        sum += value;
                    }
                }
                sum
            }
            _ => f64::NAN,
        }
    }
}

/// Whether edges of all of these traffics may use a link.
fn admits(problem: &Problem<'_, '_>, traffics: &[f64], link: Link) -> bool {
    link.exists()
        && link.class >= problem.request.min_link
        && problem
            .tests()
            .filter_map(RequirementTest::link)
            .all(|test| {
                traffics
                    .iter()
                    .all(|&traffic| test(EdgeOn { traffic, link }))
            })
}

/// Everything that objectives see of a link. Links that look alike are of one kind.
fn look(objectives: &[&Objective<'_>], traffics: &[f64], link: Link) -> Few<u64> {
    let mut look = Few::new();
    for objective in objectives {
        match objective.form() {
            Form::Links(tiers, _) => look.push(tiers.of(link.class) as u64),
            Form::Edges(f) => look.extend(
                traffics
                    .iter()
                    .map(|&traffic| f(EdgeOn { traffic, link }).to_bits()),
            ),
            _ => {}
        }
    }
    look
}

/// Whether counts of links by kind decide an objective.
pub(super) fn is_of_counts(objective: &Objective<'_>) -> bool {
    matches!(objective.form(), Form::Links(..) | Form::Edges(_))
}
