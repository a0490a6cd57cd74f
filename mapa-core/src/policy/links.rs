//! The kinds of link that the criteria of links and edges tell apart.

use super::criterion::Criterion;
use super::optimum::Optimum;
use super::requirement::{Requirement, Test};
use crate::matching::Few;
use crate::reach::{KINDS, Kinds, MOST};
use crate::score::{Census, EdgeOn, Form, Objective};
use crate::topology::{DeviceId, Link};

/// By two devices, the kind of link between them. Edges of equal traffic on links of one kind are equal to every criterion.
pub(super) struct Links {
    n: usize,
    /// n x n, for the lower device first; none where no edge may lie.
    kinds: Vec<Option<u16>>,
    /// By kind, one of its links.
    samples: Few<Link>,
}

impl Links {
    pub(super) fn new(optimum: &Optimum<'_, '_>, devices: &[DeviceId]) -> Self {
        let Optimum { request, view, criteria, requirements, .. } = *optimum;
        let graph = view.graph();
        let edges = request.pattern.edges();
        let mut traffics: Few<f64> = edges.iter().map(|edge| edge.traffic).collect();
        traffics.sort_unstable_by(f64::total_cmp);
        traffics.dedup();
        let tests = || requirements.iter().filter_map(|requirement| requirement.test.link());
        let floors = requirements.iter().filter_map(|requirement| requirement.test.objective());
        let objectives: Few<&Objective<'_>> =
            criteria.iter().filter_map(|criterion| criterion.kind.objective()).chain(floors).collect();
        let look = |link: Link| -> Few<u64> {
            let mut look = Few::new();
            for objective in &objectives {
                match objective.form() {
                    Form::Links(tiers, _) => look.push(tiers.of(link.class) as u64),
                    Form::Edges(f) => {
                        look.extend(traffics.iter().map(|&traffic| f(EdgeOn { traffic, link }).to_bits()));
                    }
                    _ => {}
                }
            }
            look
        };
        // By distinct link, its kind; by kind, what the criteria see.
        let mut known: Few<(Link, Option<u16>)> = Few::new();
        let mut looks: Few<Few<u64>> = Few::new();
        let mut samples: Few<Link> = Few::new();
        let mut kind_of = |link: Link| {
            if let Some((_, kind)) = known.iter().find(|(other, _)| *other == link) {
                return *kind;
            }
            let admitted = link.exists()
                && link.class >= request.min_link
                && tests().all(|test| traffics.iter().all(|&traffic| test(EdgeOn { traffic, link })));
            let kind = admitted.then(|| {
                let own = look(link);
                let kind = looks.iter().position(|other| *other == own).unwrap_or_else(|| {
                    looks.push(own);
                    samples.push(link);
                    looks.len() - 1
                });
                kind as u16
            });
            known.push((link, kind));
            kind
        };
        let n = devices.len();
        let mut kinds = vec![None; n * n];
        for (b, &second) in devices.iter().enumerate() {
            for (a, &first) in devices[..b].iter().enumerate() {
                kinds[a * n + b] = kind_of(graph.link(first, second));
            }
        }
        Self { n, kinds, samples }
    }

    /// A link of a kind.
    pub(super) fn sample(&self, kind: usize) -> Link {
        self.samples[kind]
    }

    /// How many kinds.
    pub(super) fn len(&self) -> usize {
        self.samples.len()
    }

    /// The kind between two devices, by position.
    pub(super) fn between(&self, a: usize, b: usize) -> Option<usize> {
        self.kinds[a.min(b) * self.n + a.max(b)].map(usize::from)
    }

    /// For tables: none if there are more devices or kinds than tables can count.
    pub(super) fn kinds(&self) -> Option<Kinds> {
        let countable = self.len() <= KINDS && self.n <= MOST;
        countable.then(|| Kinds::new(self.n, |a, b| self.between(a, b)))
    }

    /// The keys of criteria for so many edges of each kind; none if a requirement rejects that.
    pub(super) fn keys<'c, 'a: 'c>(
        &self,
        criteria: impl Iterator<Item = &'c Criterion<'a>>,
        requirements: &[Requirement<'_>],
        traffic: f64,
        by_kind: &[u32],
    ) -> Option<Few<f64>> {
        let score = |objective: &Objective<'_>| self.score(objective, traffic, by_kind);
        let admitted = requirements.iter().all(|requirement| match &requirement.test {
            Test::Score(objective, admits) if is_of_counts(objective) => admits(score(objective)),
            _ => true,
        });
        let key = |criterion: &Criterion<'_>| {
            criterion.kind.objective().map_or(0.0, |objective| criterion.key(score(objective)))
        };
        admitted.then(|| criteria.map(key).collect())
    }

    /// The value of an objective of links or edges for so many edges of each kind.
    fn score(&self, objective: &Objective<'_>, traffic: f64, by_kind: &[u32]) -> f64 {
        let kinds = || by_kind.iter().zip(&self.samples).filter(|(count, _)| **count > 0);
        match objective.form() {
            Form::Links(tiers, f) => {
                let add = |census: Census, (&count, link): (&u32, &Link)| census.plus(tiers.of(link.class), count);
                f(&kinds().fold(Census::default(), add))
            }
            Form::Edges(f) => {
                // Added up as often as there are edges, as their sum is defined. Not `sum`, which makes -0 of nothing.
                let values = kinds().flat_map(|(&count, &link)| {
                    let value = f(EdgeOn { traffic, link });
                    (0..count).map(move |_| value)
                });
                values.fold(0.0, |sum, value| sum + value)
            }
            _ => f64::NAN,
        }
    }
}

/// Whether counts of links decide it.
pub(super) fn is_of_counts(objective: &Objective<'_>) -> bool {
    matches!(objective.form(), Form::Links(..) | Form::Edges(_))
}
