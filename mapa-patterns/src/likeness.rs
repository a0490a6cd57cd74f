//! Which ready-made shape a pattern has, whatever its ranks are numbered and its edges carry.

use std::collections::BTreeSet;

use mapa_core::{Graph, Limits, MatchConfig, Pattern, Shape};

/// Ranks up to which trees and rings with trees are told: for these isomorphism is sought.
const MOST: usize = 64;

/// Nodes after which that search is given up. What has the shape is found in some hundreds.
const NODES: u64 = 200_000;

/// The ready-made shape that a pattern has up to the numbering of its ranks: how many edges join a pair, and what they carry, does
/// not matter. Of several the first of [`Shape::ALL`], so three ranks that all talk are a ring. None for patterns without
/// edges, for trees and rings with trees of more than 64 ranks, and should the search for these take too long.
///
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
        let alike = own.len() == edges.len() && degrees(ranks, &own) == degrees(ranks, &edges);
        alike
            && match shape {
                // Their degrees decide.
                Shape::Star | Shape::AllToAll => true,
                Shape::Ring | Shape::Chain => is_connected(ranks, &edges),
                Shape::Tree | Shape::RingTree => ranks <= MOST && are_isomorphic(ranks, &own, &edges),
            }
    })
}

/// The pairs of ranks that talk.
fn pairs(pattern: &Pattern) -> BTreeSet<(u32, u32)> {
    pattern.edges().iter().map(|edge| (u32::from(edge.a), u32::from(edge.b))).collect()
}

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

/// Of two graphs with as many edges: one lies in the other only if they are the same.
fn are_isomorphic(ranks: usize, own: &BTreeSet<(u32, u32)>, edges: &BTreeSet<(u32, u32)>) -> bool {
    let graph = |edges: &BTreeSet<(u32, u32)>| Graph::new(ranks, edges.iter().copied());
    let (Ok(own), Ok(target)) = (graph(own), graph(edges)) else { return false };
    MatchConfig::new()
        .compile_graph(&own)
        .is_ok_and(|matcher| matcher.on(&target).limits(Limits::NONE.nodes(NODES)).is_match())
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
                let edges = pattern.edges().iter().map(|edge| (other(edge.b), other(edge.a), f64::from(edge.b)));
                let turned = Pattern::from_edges(usize::from(n), edges.collect::<Vec<_>>()).unwrap();
                let found = likeness(&turned).unwrap();
                assert_eq!(pairs(&found.pattern(usize::from(n))).len(), pairs(&pattern).len(), "{shape} of {n}");
                assert!(n < 5 || found == shape || n == 5 && found == Shape::Chain, "{shape} of {n} is a {found}");
            }
        }
    }

    #[test]
    fn what_is_no_shape_is_none() {
        let own = |ranks, edges: &[(u16, u16)]| {
            likeness(&Pattern::from_edges(ranks, edges.iter().map(|&(a, b)| (a, b, 1.0))).unwrap())
        };
        assert_eq!(own(6, &[(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)]), None, "two rings");
        assert_eq!(own(3, &[(0, 1)]), None, "a rank that does not talk");
        assert_eq!(own(3, &[]), None);
        assert_eq!(own(2, &[(0, 1)]), Some(Shape::Ring));
    }
}
