//! Domains: the target vertices where each pattern vertex can lie at all, filtered before the
//! search.

use std::collections::VecDeque;

use crate::graph::{Graph, VertexKind};

/// By pattern vertex, the target vertices on which it can lie, ascending; none if some vertex can
/// lie nowhere.
///
/// A candidate has the vertex's label and at least its degree, and its neighbours cover the labels
/// and degrees of the vertex's neighbours one by one. Two filters then run until nothing changes: a
/// candidate must have a neighbour in the domain of each neighbour (arc consistency), and the only
/// candidate of one vertex is removed from all others.
///
/// # Complexity
///
/// One round takes O(sum over pattern vertices of the degrees in their domains).
pub(super) fn domains(pattern: &Graph, target: &Graph, induced: bool) -> Option<Vec<Vec<u32>>> {
    if pattern.len() > target.len() {
        return None;
    }
    let of: Vec<Vec<u32>> = (0..pattern.len() as u32)
        .map(|u| by_kind(pattern, target, induced, u))
        .collect();
    if of.iter().any(Vec::is_empty) {
        return None;
    }
    let mut filter = DomainFilter {
        pattern,
        target,
        of,
        stamps: vec![0; target.len()],
        stamp: 0,
        queue: VertexQueue::all(pattern),
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
    fn all(pattern: &Graph) -> Self {
        Self {
            waiting: (0..pattern.len() as u32).collect(),
            within: vec![true; pattern.len()],
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
