//! The value of every set of devices by criteria of links and edges, and the resulting order of
//! sets.

use std::cmp::Ordering;
use std::sync::Arc;

use super::criterion::Criterion;
use super::edge_sums::{EdgeSums, UNIT};
use super::links::LinkKinds;
use super::problem::Problem;
use crate::matching::Few;
use crate::pattern::{Edge, Pattern};
use crate::reach::{
    Family, KindCounts, Mask, RankPlan, ReachTable, Sums, highest_sums, of_size, place,
};

/// The set has no admitted placement.
const NONE: u16 = u16::MAX;

/// The value of the best rank orders of each set.
pub(super) struct Valued {
    /// The work of the plan, if one was needed.
    pub(super) work: u64,
    /// The table of counts; `None` if sums were enough.
    pub(super) table: Option<Arc<ReachTable>>,
    /// By [`place`] of the set, the position in `values`; the lower the better.
    pub(super) best: Vec<u16>,
    pub(super) values: Vec<CombinedValue>,
}

/// A combined value of all criteria of links and edges.
pub(super) struct CombinedValue {
    pub(super) keys: Few<f64>,
    /// All counts with this value, if there is a table; otherwise `sums` is set.
    pub(super) counts: Vec<KindCounts>,
    pub(super) sums: Sums,
}

/// A table of counts, and the pattern and devices for which it was made.
pub(super) struct CountTable {
    pub(super) family: Family,
    /// The number of devices.
    pub(super) devices: usize,
    pub(super) table: Arc<ReachTable>,
    /// The traffic, which is the same on every edge.
    pub(super) traffic: f64,
}

impl Valued {
    /// The value of each set if the number of edges on each kind of link decides.
    pub(super) fn by_counts(
        problem: &Problem<'_, '_>,
        links: &LinkKinds,
        criteria: &[&Criterion<'_>],
        counted: CountTable,
    ) -> Self {
        let Problem {
            request,
            requirements,
            ..
        } = *problem;
        let CountTable {
            family,
            devices,
            table,
            traffic,
        } = counted;
        let pattern = &request.pattern;
        let edges = pattern.edges().len() as u32;
        let side = edges as usize + 1;
        let at = |counts: KindCounts| counts.x as usize * side + counts.y as usize;
        // Which counts occur on any set: only these need keys.
        let mut occurs = vec![false; side * side];
        for set in of_size(devices, pattern.len()) {
            table.counts(family, pattern, set, |counts| occurs[at(counts)] = true);
        }
        let mut found: Vec<(Few<f64>, KindCounts)> = Vec::new();
        for place in (0..side * side).filter(|&place| occurs[place]) {
            let counts = KindCounts {
                x: (place / side) as u32,
                y: (place % side) as u32,
            };
            let by_kind = [counts.x, counts.y, edges - counts.x - counts.y];
            let criteria = criteria.iter().copied();
            if let Some(keys) = links.keys(criteria, requirements, traffic, &by_kind) {
                found.push((keys, counts));
            }
        }
        found.sort_by(|a, b| by_keys(&b.0, &a.0));
        // Counts with equal keys share one value, and values are numbered by rank. So the value of
        // a set is one small number.
        let mut values: Vec<CombinedValue> = Vec::new();
        let mut rank = vec![NONE; side * side];
        for (keys, counts) in found {
            match values.last_mut().filter(|last| last.keys == keys) {
                Some(last) => last.counts.push(counts),
                None => values.push(CombinedValue {
                    keys,
                    counts: vec![counts],
                    sums: [0; 2],
                }),
            }
            rank[at(counts)] = (values.len() - 1) as u16;
        }
        let mut best = Vec::new();
        for set in of_size(devices, pattern.len()) {
            let mut least = NONE;
            table.counts(family, pattern, set, |counts| {
                least = least.min(rank[at(counts)]);
            });
            best.push(least);
        }
        Self {
            work: 0,
            table: Some(table),
            best,
            values,
        }
    }

    /// The value of each set if sums over edges decide, for any traffic and any kinds of link. Only
    /// the highest sum of each set is needed.
    pub(super) fn by_sums(
        pattern: &Pattern,
        devices: usize,
        plan: &RankPlan,
        links: &LinkKinds,
        criteria: &[&Criterion<'_>],
        sums: &EdgeSums,
    ) -> Self {
        let load = |edges: &[Edge], kind: usize| {
            let mut sum = [0; 2];
            for edge in edges {
                let value = sums.of(edge, kind);
                sum = [sum[0] + value[0], sum[1] + value[1]];
            }
            sum
        };
        let highest = highest_sums(pattern, plan, devices, |a, b| links.between(a, b), load);
        let mut distinct: Vec<Sums> = highest.iter().flatten().copied().collect();
        distinct.sort_unstable_by(|a, b| b.cmp(a));
        distinct.dedup();
        // The value of a set is the rank of its sums, the highest first.
        let mut best = Vec::with_capacity(highest.len());
        for sums in &highest {
            let rank = sums.and_then(|sums| distinct.binary_search_by(|d| sums.cmp(d)).ok());
            best.push(rank.map_or(NONE, |rank| rank as u16));
        }
        let mut values = Vec::with_capacity(distinct.len());
        for sums in distinct {
            let each = criteria.iter().zip(&sums);
            values.push(CombinedValue {
                keys: each
                    .map(|(criterion, &sum)| criterion.signed_key(sum as f64 / UNIT))
                    .collect(),
                counts: Vec::new(),
                sums,
            });
        }
        Self {
            work: plan.work,
            table: None,
            best,
            values,
        }
    }

    /// The value of a set; `None` if it has no admitted placement.
    pub(super) fn at(&self, set: Mask) -> Option<&CombinedValue> {
        self.values.get(usize::from(self.best[place(set)]))
    }

    /// How much memory it takes.
    pub(super) fn bytes(&self) -> usize {
        self.best.len() * 2 + self.values.len() * 128
    }
}

/// Compares two lists of keys; the better is greater.
pub(super) fn by_keys(a: &[f64], b: &[f64]) -> Ordering {
    a.iter()
        .zip(b)
        .map(|(a, b)| a.total_cmp(b))
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

/// All sets of a size, best first, and the best within each set of devices.
pub(super) struct Ranking {
    /// By set, the position in `sets` of the best set within it.
    first: Vec<u16>,
    sets: Vec<u16>,
    pub(super) valued: Arc<Valued>,
}

impl Ranking {
    /// Ranks `sets`: all sets with an admitted placement, best first.
    ///
    /// # Complexity
    /// O(2ⁿ n) for n devices.
    pub(super) fn new(n: usize, sets: Vec<Mask>, valued: Arc<Valued>) -> Self {
        let mut first = vec![NONE; 1 << n];
        for (position, &set) in (0u16..).zip(&sets) {
            first[set as usize] = position;
        }
        // The best of all subsets, device by device: the entry of a set takes the minimum with that
        // of the set without the device. After the last device it covers all subsets.
        for device in 0..n {
            for block in first.chunks_exact_mut(2 << device) {
                let (without, with) = block.split_at_mut(1 << device);
                for (with, without) in with.iter_mut().zip(without) {
                    *with = (*with).min(*without);
                }
            }
        }
        Self {
            first,
            sets: sets.into_iter().map(|set| set as u16).collect(),
            valued,
        }
    }

    /// The best set within `part`.
    pub(super) fn best_of(&self, part: Mask) -> Option<Mask> {
        self.sets
            .get(usize::from(self.first[part as usize]))
            .map(|&set| Mask::from(set))
    }

    /// How much memory it takes.
    pub(super) fn bytes(&self) -> usize {
        2 * (self.first.len() + self.sets.len())
    }
}
