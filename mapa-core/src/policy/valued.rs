//! What every set of devices is worth to criteria of links and edges, and the order of sets that follows.

use std::cmp::Ordering;
use std::sync::Arc;

use super::by_table::{ByTable, Unanswered};
use super::criterion::Criterion;
use super::edge_sums::{EdgeSums, UNIT};
use super::links::{Links, is_of_counts};
use super::optimum::Optimum;
use crate::matching::Few;
use crate::pattern::Edge;
use crate::reach::{Counts, Mask, Sums, Table, highest_sums, of_size, place};

/// No placement, or none admitted.
const NONE: u16 = u16::MAX;

/// What the best rank orders of each set are worth.
pub(super) struct Valued {
    /// Of the plan, if one was needed.
    pub(super) work: u64,
    /// None if sums were enough.
    pub(super) table: Option<Arc<Table>>,
    /// By place of the set, which of `values`; the lower the better.
    pub(super) best: Vec<u16>,
    pub(super) values: Vec<Value>,
}

/// A value of the criteria of links and edges together.
pub(super) struct Value {
    pub(super) keys: Few<f64>,
    /// All counts that have it, if there is a table; else the sums.
    pub(super) counts: Vec<Counts>,
    pub(super) sums: Sums,
}

impl Valued {
    pub(super) fn by_counts(
        by: &ByTable<'_, '_, '_>,
        links: &Links,
        criteria: &[&Criterion<'_>],
        (table, traffic): (Arc<Table>, f64),
    ) -> Self {
        let Optimum { request, requirements, .. } = *by.optimum;
        let pattern = &request.pattern;
        let edges = pattern.edges().len() as u32;
        let keys = |Counts { x, y }: Counts| {
            links.keys(criteria.iter().copied(), requirements, traffic, &[x, y, edges - x - y])
        };
        let sets = || of_size(by.universe.len(), by.k());
        let side = edges as usize + 1;
        let at = |counts: Counts| counts.x as usize * side + counts.y as usize;
        let mut occurs = vec![false; side * side];
        sets().for_each(|set| table.counts(by.family, pattern, set, |counts| occurs[at(counts)] = true));
        let all = (0..side * side).filter(|&at| occurs[at]);
        let all = all.map(|at| Counts { x: (at / side) as u32, y: (at % side) as u32 });
        let mut found: Vec<(Few<f64>, Counts)> = all.filter_map(|counts| Some((keys(counts)?, counts))).collect();
        found.sort_by(|a, b| by_keys(&b.0, &a.0));
        let mut values: Vec<Value> = Vec::new();
        let mut rank = vec![NONE; side * side];
        for (keys, counts) in found {
            match values.last_mut().filter(|last| last.keys == keys) {
                Some(last) => last.counts.push(counts),
                None => values.push(Value { keys, counts: vec![counts], sums: [0; 2] }),
            }
            rank[at(counts)] = (values.len() - 1) as u16;
        }
        let best_of = |set: Mask| {
            let mut best = NONE;
            table.counts(by.family, pattern, set, |counts| best = best.min(rank[at(counts)]));
            best
        };
        let best = sets().map(best_of).collect();
        Self { work: 0, table: Some(table), best, values }
    }

    /// Sums of values of edges, of any traffic on any kinds of link: of all ways to lie on a set only the best need be known.
    pub(super) fn by_sums(
        by: &ByTable<'_, '_, '_>,
        links: &Links,
        criteria: &[&Criterion<'_>],
    ) -> Result<Self, Unanswered> {
        let Optimum { request, requirements, view, .. } = *by.optimum;
        let pattern = &request.pattern;
        let n = by.universe.len();
        let floors = requirements.iter().filter_map(|requirement| requirement.test.objective());
        let sums = EdgeSums::new(pattern, links, criteria).filter(|_| !{ floors }.any(is_of_counts));
        let sums = sums.ok_or(Unanswered::NotByTable)?;
        let plan = by.affordable()?;
        let Some(plan) = plan.as_ref().as_ref() else { return Err(Unanswered::NotByTable) };
        if view.stop().is_some_and(|stop| stop()) {
            return Err(Unanswered::Stopped);
        }
        let load = |edges: &[Edge], kind: usize| {
            let values = edges.iter().map(|edge| sums.of(edge, kind));
            values.fold([0; 2], |sum, value| [sum[0] + value[0], sum[1] + value[1]])
        };
        let highest = highest_sums(pattern, plan, n, |a, b| links.between(a, b), load);
        let mut distinct: Vec<Sums> = highest.iter().flatten().copied().collect();
        distinct.sort_unstable_by(|a, b| b.cmp(a));
        distinct.dedup();
        let rank = |sums: &Option<Sums>| {
            sums.and_then(|sums| distinct.binary_search_by(|other| sums.cmp(other)).ok())
                .map_or(NONE, |rank| rank as u16)
        };
        let best = highest.iter().map(rank).collect();
        let keys = |sums: &Sums| {
            let key = |(criterion, &sum): (&&Criterion<'_>, &i64)| criterion.signed_key(sum as f64 / UNIT);
            criteria.iter().zip(sums).map(key).collect()
        };
        let values = distinct.iter().map(|sums| Value { keys: keys(sums), counts: Vec::new(), sums: *sums });
        let values = values.collect();
        Ok(Self { work: plan.work, table: None, best, values })
    }

    pub(super) fn at(&self, set: Mask) -> Option<&Value> {
        self.values.get(usize::from(self.best[place(set)]))
    }

    pub(super) fn bytes(&self) -> usize {
        self.best.len() * 2 + self.values.len() * 128
    }
}

/// The better is greater.
pub(super) fn by_keys(a: &[f64], b: &[f64]) -> Ordering {
    a.iter().zip(b).map(|(a, b)| a.total_cmp(b)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// All sets of a size, best first, and the best within each set of devices.
pub(super) struct Ranking {
    /// By set, the position in `sets` of the best set within it.
    first: Vec<u16>,
    sets: Vec<u16>,
    pub(super) valued: Arc<Valued>,
}

impl Ranking {
    /// O(2ⁿ n) for n devices.
    pub(super) fn new(n: usize, sets: Vec<Mask>, valued: Arc<Valued>) -> Self {
        let mut first = vec![NONE; 1 << n];
        for (position, &set) in (0u16..).zip(&sets) {
            first[set as usize] = position;
        }
        for device in 0..n {
            for block in first.chunks_exact_mut(2 << device) {
                let (without, with) = block.split_at_mut(1 << device);
                for (with, without) in with.iter_mut().zip(without) {
                    *with = (*with).min(*without);
                }
            }
        }
        Self { first, sets: sets.into_iter().map(|set| set as u16).collect(), valued }
    }

    pub(super) fn best_of(&self, part: Mask) -> Option<Mask> {
        self.sets.get(usize::from(self.first[part as usize])).map(|&set| Mask::from(set))
    }

    pub(super) fn bytes(&self) -> usize {
        2 * (self.first.len() + self.sets.len())
    }
}
