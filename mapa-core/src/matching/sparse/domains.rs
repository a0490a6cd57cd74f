//! Domains: the target vertices where each pattern vertex can lie at all, filtered before the
//! search.

use std::collections::{BTreeMap, VecDeque};

use crate::graph::{Graph, VertexKind};
use crate::stop_flag::StopFlag;

/// By pattern vertex, the target vertices on which it can lie, ascending; none if some vertex can
/// lie nowhere.
///
/// A candidate has the vertex's label and at least its degree, and its neighbours cover the labels
/// and degrees of the vertex's neighbours one by one. Two filters then run until nothing changes: a
/// candidate must have a neighbour in the domain of each neighbour (arc consistency), and the only
/// candidate of one vertex is removed from all others.
///
/// The first round looks only at vertices whose domain can rule out something. Where each domain has all vertices with the
/// label and at least the degree, as on a torus, there is no round at all.
///
/// # Complexity
///
/// One round takes O(sum over the vertices looked at of the degrees in their domains).
pub(super) fn domains(pattern: &Graph, target: &Graph, induced: bool) -> Option<Vec<Vec<u32>>> {
    if pattern.len() > target.len() {
        return None;
    }
    let mut of: Vec<Vec<u32>> = Vec::with_capacity(pattern.len());
    let mut queue = VertexQueue::new(pattern.len());
    // Vertices that look alike have equal domains: the first of each sort is kept.
    let mut firsts: BTreeMap<(VertexKind, &[VertexKind]), u32> = BTreeMap::new();
    for u in 0..pattern.len() as u32 {
        let sort = (pattern.kind(u), pattern.around(u));
        let domain = match firsts.get(&sort) {
            Some(&first) => of[first as usize].clone(),
            None => {
                firsts.insert(sort, u);
                by_kind(pattern, target, induced, u)
            }
        };
        if domain.is_empty() {
            return None;
        }
        // A neighbour's candidate is joined to a vertex with the label and at least the degree of `u`, or it would be no
        // candidate. So as long as `u` has all of these, it rules out none. A single candidate is taken from the others.
        let has_all = domain.len() == target.at_least(sort.0).len();
        if !has_all || domain.len() == 1 {
            queue.push(u);
        }
        of.push(domain);
    }
    let mut filter = DomainFilter {
        pattern,
        target,
        of,
        stamps: vec![0; target.len()],
        stamp: 0,
        queue,
    };
    filter.run().then_some(filter.of)
}

/// The candidates of a vertex by label, degree and neighbourhood.
fn by_kind(pattern: &Graph, target: &Graph, induced: bool, u: u32) -> Vec<u32> {
    let (around, degree) = (pattern.around(u), pattern.degree(u));
    // For induced matching, the vertices not joined to it need as many vertices not joined to its
    // image.
    let apart = pattern.len() - degree;
    let mut domain: Vec<u32> = target
        .at_least(pattern.kind(u))
        .iter()
        .copied()
        .filter(|&v| covers(target.around(v), around))
        .filter(|&v| !induced || target.len() - target.degree(v) >= apart)
        .collect();
    domain.sort_unstable();
    domain
}

/// Whether each of `wanted` can be given one of `there` with its label and at least its degree.
/// Both lists are sorted by label, then by falling degree, so a greedy choice decides.
fn covers(there: &[VertexKind], wanted: &[VertexKind]) -> bool {
    let mut next = 0;
    wanted.iter().all(|&kind| {
        next += there[next..]
            .iter()
            .take_while(|there| there.0 < kind.0)
            .count();
        let covered = there
            .get(next)
            .is_some_and(|there| there.0 == kind.0 && *there <= kind);
        next += 1;
        covered
    })
}

/// The domains while they are filtered.
struct DomainFilter<'a> {
    pattern: &'a Graph,
    target: &'a Graph,
    of: Vec<Vec<u32>>,
    /// By target vertex, the stamp of the last set that it was put in: sets need no clearing.
    stamps: Vec<u32>,
    stamp: u32,
    queue: VertexQueue,
}

impl DomainFilter<'_> {
    /// Filters until nothing changes; false if a domain becomes empty.
    fn run(&mut self) -> bool {
        while let Some(u) = self.queue.pop() {
            // Larger domains are right too, and the search after this ends at its first node.
            if StopFlag::is_current_set() {
                return true;
            }
            if !self.narrow_neighbours(u) || !self.take(u) {
                return false;
            }
        }
        true
    }

    /// Restricts the neighbours of `u` to neighbours of its candidates; false if one has none left.
    fn narrow_neighbours(&mut self, u: u32) -> bool {
        self.stamp += 1;
        for &v in &self.of[u as usize] {
            for &w in self.target.neighbours(v) {
                self.stamps[w as usize] = self.stamp;
            }
        }
        self.pattern.neighbours(u).iter().all(|&w| {
            let domain = &mut self.of[w as usize];
            let before = domain.len();
            domain.retain(|&v| self.stamps[v as usize] == self.stamp);
            if domain.len() < before {
                self.queue.push(w);
            }
            !domain.is_empty()
        })
    }

    /// Removes the only candidate of `u`, if it has just one, from all other domains; false if one
    /// becomes empty.
    fn take(&mut self, u: u32) -> bool {
        let &[only] = self.of[u as usize].as_slice() else {
            return true;
        };
        (0..self.pattern.len() as u32).filter(|&w| w != u).all(|w| {
            let domain = &mut self.of[w as usize];
            if let Ok(at) = domain.binary_search(&only) {
                domain.remove(at);
                self.queue.push(w);
            }
            !domain.is_empty()
        })
    }
}

/// The queue of vertices whose domain has changed, each at most once.
struct VertexQueue {
    waiting: VecDeque<u32>,
    within: Vec<bool>,
}

impl VertexQueue {
    fn new(vertices: usize) -> Self {
        Self {
            waiting: VecDeque::new(),
            within: vec![false; vertices],
        }
    }

    fn push(&mut self, u: u32) {
        if !std::mem::replace(&mut self.within[u as usize], true) {
            self.waiting.push_back(u);
        }
    }

    fn pop(&mut self) -> Option<u32> {
        let u = self.waiting.pop_front()?;
        self.within[u as usize] = false;
        Some(u)
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// The domains by their definition: both filters on all vertices until nothing changes.
    fn by_definition(pattern: &Graph, target: &Graph, induced: bool) -> Option<Vec<Vec<u32>>> {
        if pattern.len() > target.len() {
            return None;
        }
        let ranks = || 0..pattern.len() as u32;
        let mut of: Vec<Vec<u32>> = ranks()
            .map(|u| by_kind(pattern, target, induced, u))
            .collect();
        loop {
            let before = of.clone();
            for u in ranks() {
                let own = of[u as usize].clone();
                for &w in pattern.neighbours(u) {
                    let is_near = |v: &u32| own.iter().any(|x| target.neighbours(*v).contains(x));
                    of[w as usize].retain(is_near);
                }
                if let [only] = own[..] {
                    for w in ranks().filter(|&w| w != u) {
                        of[w as usize].retain(|&v| v != only);
                    }
                }
            }
            if of.iter().any(Vec::is_empty) {
                return None;
            }
            if of == before {
                return Some(of);
            }
        }
    }

    fn graphs(most: usize) -> impl Strategy<Value = Graph> {
        (1..=most).prop_flat_map(|n| {
            let labels = vec(0u32..=1, n);
            let pairs = vec((0..n as u32, 0..n as u32), 0..=2 * n);
            (labels, pairs).prop_map(|(labels, pairs)| {
                Graph::labelled(labels, pairs.into_iter().filter(|(a, b)| a != b)).unwrap()
            })
        })
    }

    proptest! {
        #[test]
        fn domains_are_those_of_the_definition(
            pattern in graphs(5),
            target in graphs(12),
            induced in any::<bool>(),
        ) {
            let found = domains(&pattern, &target, induced);
            prop_assert_eq!(found, by_definition(&pattern, &target, induced));
        }
    }
}
