//! Trees with the degrees of the ready-made one, and whether they have its shape: against canonical
//! forms.

use std::collections::BTreeSet;

use mapa_core::{Pattern, Shape};
use mapa_patterns::likeness;
use proptest::prelude::*;

type Edges = BTreeSet<(u16, u16)>;

fn near(edges: &Edges, rank: u16) -> impl Iterator<Item = u16> {
    edges.iter().filter_map(move |&(a, b)| match rank {
        rank if rank == a => Some(b),
        rank if rank == b => Some(a),
        _ => None,
    })
}

/// A rooted tree as brackets, subtrees in order (Aho, Hopcroft and Ullman, 1974): equal if and only
/// if the trees are alike.
fn brackets(edges: &Edges, rank: u16, parent: Option<u16>) -> String {
    let mut parts: Vec<String> = near(edges, rank)
        .filter(|next| Some(*next) != parent)
        .map(|next| brackets(edges, next, Some(rank)))
        .collect();
    parts.sort();
    format!("({})", parts.concat())
}

/// Of a tree without a root: the least of all its roots.
fn canonical(edges: &Edges, ranks: u16) -> String {
    (0..ranks)
        .map(|root| brackets(edges, root, None))
        .min()
        .unwrap()
}

fn is_tree(edges: &Edges, ranks: u16) -> bool {
    let (mut met, mut open) = (BTreeSet::from([0]), vec![0]);
    while let Some(rank) = open.pop() {
        open.extend(near(edges, rank).filter(|next| met.insert(*next)));
    }
    met.len() == usize::from(ranks) && edges.len() + 1 == usize::from(ranks)
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(64))]
    /// Edges a-b and c-d become a-d and c-b, as long as it stays a tree: all degrees stay too, so
    /// that they do not decide.
    #[test]
    fn trees_of_equal_degrees_are_told_apart(
        ranks in 7..=64u16,
        swaps in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<bool>()), 0..12),
    ) {
        let own: Edges = Shape::Tree.pattern(usize::from(ranks)).edges().iter().map(|edge| (edge.a, edge.b)).collect();
        let mut edges = own.clone();
        for (first, second, turned) in swaps {
            let list: Vec<_> = edges.iter().copied().collect();
            let ((a, b), (c, d)) = (list[first.index(list.len())], list[second.index(list.len())]);
            let (c, d) = if turned { (d, c) } else { (c, d) };
            let mut other = edges.clone();
            other.remove(&(a, b));
            other.remove(&(c.min(d), c.max(d)));
            other.extend([(a.min(d), a.max(d)), (b.min(c), b.max(c))]);
            if is_tree(&other, ranks) && other.iter().all(|(a, b)| a != b) {
                edges = other;
            }
        }
        let alike = canonical(&edges, ranks) == canonical(&own, ranks);
        let pattern = Pattern::from_edges(usize::from(ranks), edges.iter().map(|&(a, b)| (a, b, 1.0))).unwrap();
        prop_assert_eq!(likeness(&pattern) == Some(Shape::Tree), alike);
    }
}
