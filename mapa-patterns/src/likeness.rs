//! The ready-made shape of a pattern, whatever the numbering of its ranks and its traffic.

use std::collections::BTreeSet;

use mapa_core::{Graph, Limits, MatchConfig, Pattern, Shape};

/// The most ranks for which trees and rings with trees are recognised: that needs a search for an
/// isomorphism.
const MOST: usize = 64;

/// The most nodes of that search. A pattern that has the shape is recognised within some hundreds.
const NODES: u64 = 200_000;

/// The ready-made shape of a pattern, up to the numbering of its ranks. The number of edges between
/// two ranks and their traffic do not matter. If several shapes fit, the first of [`Shape::ALL`]:
/// so three ranks that all communicate are a ring. None for a pattern without edges, for trees and
/// rings with trees of more than 64 ranks, and if the search for one of these exceeds its limit.
///
/// # Complexity
/// O(r^2 log r + e log e) for r ranks and e edges, because the shapes are built for comparison; for
/// trees and rings with trees, also a search of at most 200,000 nodes.
///
/// # Examples
/// ```
/// use mapa_core::{Pattern, Shape};
/// use mapa_patterns::likeness;
///
/// let ring = Pattern::from_edges(4, [(0, 2, 1.0), (2, 1, 5.0), (1, 3, 2.0), (3, 0, 2.0)])?;
/// assert_eq!(likeness(&ring), Some(Shape::Ring));
/// # Ok::<(), mapa_core::Error>(())
/// ```
#[must_use]
pub fn likeness(pattern: &Pattern) -> Option<Shape> {
    let edges = pairs(pattern);
    if edges.is_empty() {
        return None;
    }
    let ranks = pattern.len();
    Shape::ALL.into_iter().find(|shape| {
        let own = pairs(&shape.pattern(ranks));
        own.len() == edges.len()
            && degrees(ranks, &own) == degrees(ranks, &edges)
            && match shape {
                // Equal degrees decide.
                Shape::Star | Shape::AllToAll => true,
                Shape::Ring | Shape::Chain => is_connected(ranks, &edges),
                Shape::Tree | Shape::RingTree => {
                    ranks <= MOST && are_isomorphic(ranks, &own, &edges)
                }
            }
    })
}

/// The pairs of ranks that communicate.
fn pairs(pattern: &Pattern) -> BTreeSet<(u32, u32)> {
    pattern
        .edges()
        .iter()
        .map(|edge| (u32::from(edge.a), u32::from(edge.b)))
        .collect()
}

/// The degrees of all ranks, sorted.
fn degrees(ranks: usize, edges: &BTreeSet<(u32, u32)>) -> Vec<usize> {
    let mut degrees = vec![0; ranks];
    for rank in edges.iter().flat_map(|&(a, b)| [a, b]) {
        if let Some(degree) = degrees.get_mut(rank as usize) {
            *degree += 1;
        }
    }
    degrees.sort_unstable();
    degrees
}

/// Whether the edges connect all ranks.
fn is_connected(ranks: usize, edges: &BTreeSet<(u32, u32)>) -> bool {
    let mut near = vec![Vec::new(); ranks];
    for &(a, b) in edges {
        near[a as usize].push(b as usize);
        near[b as usize].push(a as usize);
    }
    let mut met = vec![false; ranks];
    let mut open = vec![0];
    while let Some(rank) = open.pop() {
        if !std::mem::replace(&mut met[rank], true) {
            open.extend(near[rank].iter().copied());
        }
    }
    met.into_iter().all(|met| met)
}

/// Whether two graphs with equally many edges are isomorphic: one is then a subgraph of the other
/// only if both are the same graph.
fn are_isomorphic(ranks: usize, own: &BTreeSet<(u32, u32)>, edges: &BTreeSet<(u32, u32)>) -> bool {
    let graph = |edges: &BTreeSet<(u32, u32)>| Graph::new(ranks, edges.iter().copied());
    let (Ok(own), Ok(target)) = (graph(own), graph(edges)) else {
        return false;
    };
    MatchConfig::new().compile_graph(&own).is_ok_and(|matcher| {
        matcher
            .on(&target)
            .limits(Limits::NONE.nodes(NODES))
            .is_match()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_is_recognised_whatever_its_numbering() {
        for n in 2..20u16 {
            for shape in Shape::ALL {
                let pattern = shape.pattern(usize::from(n));
                // Numbers are turned round and shifted.
                let other = |rank: u16| (2 * n - rank) % n;
                let edges = pattern
                    .edges()
                    .iter()
                    .map(|edge| (other(edge.b), other(edge.a), f64::from(edge.b)));
                let turned =
                    Pattern::from_edges(usize::from(n), edges.collect::<Vec<_>>()).unwrap();
                let found = likeness(&turned).unwrap();
                assert_eq!(
                    pairs(&found.pattern(usize::from(n))).len(),
                    pairs(&pattern).len(),
                    "{shape} of {n}"
                );
                assert!(
                    n < 5 || found == shape || n == 5 && found == Shape::Chain,
                    "{shape} of {n} is a {found}"
                );
            }
        }
    }

    #[test]
    fn what_is_no_shape_is_none() {
        let own = |ranks, edges: &[(u16, u16)]| {
            likeness(&Pattern::from_edges(ranks, edges.iter().map(|&(a, b)| (a, b, 1.0))).unwrap())
        };
        assert_eq!(
            own(6, &[(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)]),
            None,
            "two rings"
        );
        assert_eq!(own(3, &[(0, 1)]), None, "a rank that does not talk");
        assert_eq!(own(3, &[]), None);
        assert_eq!(own(2, &[(0, 1)]), Some(Shape::Ring));
    }
}
