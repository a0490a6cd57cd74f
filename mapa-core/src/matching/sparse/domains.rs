//! Where each pattern vertex could lie at all: domains, filtered before the search.

use std::collections::VecDeque;

use crate::graph::{Graph, Kind};

/// By pattern vertex, the target vertices it could lie on, ascending; none if some vertex can lie nowhere.
///
/// A candidate has the vertex's label, at least its degree, and neighbours that match its neighbours' labels and degrees
/// one by one. Then to a fixpoint: each edge of the pattern has an edge to lie on (arc consistency), and what one vertex
/// must have, no other has. One round takes O(sum over pattern vertices of the degrees in their domains).
pub(super) fn domains(pattern: &Graph, target: &Graph, induced: bool) -> Option<Vec<Vec<u32>>> {
    if pattern.len() > target.len() {
        return None;
    }
    let of: Vec<Vec<u32>> = (0..pattern.len() as u32).map(|u| by_kind(pattern, target, induced, u)).collect();
    if of.iter().any(Vec::is_empty) {
        return None;
    }
    let mut filter =
        Filter { pattern, target, of, stamps: vec![0; target.len()], stamp: 0, queue: Queue::all(pattern) };
    filter.run().then_some(filter.of)
}

fn by_kind(pattern: &Graph, target: &Graph, induced: bool, u: u32) -> Vec<u32> {
    let (around, degree) = (pattern.around(u), pattern.degree(u));
    // Induced: so many others are not joined to it.
    let apart = pattern.len() - degree;
    let fits = |&v: &u32| covers(target.around(v), around) && !(induced && target.len() - target.degree(v) < apart);
    let mut domain: Vec<u32> = target.at_least(pattern.kind(u)).iter().copied().filter(fits).collect();
    domain.sort_unstable();
    domain
}

/// Whether each of `wanted` can have one of `there`, of its label and at least its degree. Both sorted.
fn covers(there: &[Kind], wanted: &[Kind]) -> bool {
    let mut next = 0;
    wanted.iter().all(|&kind| {
        next += there[next..].iter().take_while(|there| there.0 < kind.0).count();
        let covered = there.get(next).is_some_and(|there| there.0 == kind.0 && *there <= kind);
        next += 1;
        covered
    })
}

struct Filter<'a> {
    pattern: &'a Graph,
    target: &'a Graph,
    of: Vec<Vec<u32>>,
    /// By target vertex, the stamp of the last set it was put in.
    stamps: Vec<u32>,
    stamp: u32,
    queue: Queue,
}

impl Filter<'_> {
    /// False if a domain runs empty.
    fn run(&mut self) -> bool {
        while let Some(u) = self.queue.pop() {
            if !self.narrow_neighbours(u) || !self.take(u) {
                return false;
            }
        }
        true
    }

    /// The neighbours of `u` lie on neighbours of where it can lie.
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

    /// What `u` must have, no other has.
    fn take(&mut self, u: u32) -> bool {
        let &[only] = self.of[u as usize].as_slice() else { return true };
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

/// Vertices whose domain has changed, each once.
struct Queue {
    waiting: VecDeque<u32>,
    within: Vec<bool>,
}

impl Queue {
    fn all(pattern: &Graph) -> Self {
        Self { waiting: (0..pattern.len() as u32).collect(), within: vec![true; pattern.len()] }
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
