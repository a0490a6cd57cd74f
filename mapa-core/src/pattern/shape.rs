//! The ready-made application graphs.

use std::fmt;
use std::str::FromStr;

use super::{Demand, Edge, Pattern};
use crate::error::{Error, ErrorKind};
use crate::topology::MAX_DEVICES;

/// A family of patterns, one for each number of ranks. Parsed from and printed as its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// `ring`: [`Pattern::ring`].
    Ring,
    /// `chain`: [`Pattern::chain`].
    Chain,
    /// `star`: [`Pattern::star`].
    Star,
    /// `tree` (also `binary-tree`): [`Pattern::binary_tree`].
    Tree,
    /// `all-to-all` (also `clique`): [`Pattern::all_to_all`].
    AllToAll,
    /// `ring-tree` (also `ring+tree`): [`Pattern::ring_tree`].
    RingTree,
}

impl Shape {
    /// Every family.
    pub const ALL: [Self; 6] = [
        Self::Ring,
        Self::Chain,
        Self::Star,
        Self::Tree,
        Self::AllToAll,
        Self::RingTree,
    ];

    /// The pattern of this family with `n` ranks.
    #[must_use]
    pub fn pattern(self, n: usize) -> Pattern {
        match self {
            Self::Ring => Pattern::ring(n),
            Self::Chain => Pattern::chain(n),
            Self::Star => Pattern::star(n),
            Self::Tree => Pattern::binary_tree(n),
            Self::AllToAll => Pattern::all_to_all(n),
            Self::RingTree => Pattern::ring_tree(n),
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ring => "ring",
            Self::Chain => "chain",
            Self::Star => "star",
            Self::Tree => "tree",
            Self::AllToAll => "all-to-all",
            Self::RingTree => "ring-tree",
        })
    }
}

/// The name of its shape and its ranks, `ring of 4`; else the numbers of its ranks and edges. What ranks demand is left
/// out.
///
/// ```
/// use mapa_core::Pattern;
///
/// assert_eq!(Pattern::all_to_all(4).to_string(), "all-to-all of 4");
/// assert_eq!(Pattern::independent(3).to_string(), "3 independent ranks");
/// assert_eq!(Pattern::from_edges(3, [(0, 1, 2.5), (1, 2, 1.0)])?.to_string(), "3 ranks, 2 edges");
/// # Ok::<(), mapa_core::Error>(())
/// ```
impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ranks, edges) = (self.len(), self.edges());
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        if edges.is_empty() {
            let independent = if ranks == 1 { "" } else { "independent " };
            return write!(f, "{ranks} {independent}rank{}", plural(ranks));
        }
        match Shape::ALL
            .iter()
            .find(|shape| shape.pattern(ranks).edges() == edges)
        {
            Some(shape) => write!(f, "{shape} of {ranks}"),
            None => write!(
                f,
                "{ranks} ranks, {} edge{}",
                edges.len(),
                plural(edges.len())
            ),
        }
    }
}

impl FromStr for Shape {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        match name.to_ascii_lowercase().replace('_', "-").as_str() {
            "ring" => Ok(Self::Ring),
            "chain" => Ok(Self::Chain),
            "star" => Ok(Self::Star),
            "tree" | "binary-tree" => Ok(Self::Tree),
            "all-to-all" | "clique" => Ok(Self::AllToAll),
            "ring-tree" | "ring+tree" => Ok(Self::RingTree),
            _ => Err(ErrorKind::UnknownShape(name.to_owned()).into()),
        }
    }
}

/// Edges `(a, b)` of traffic 1.
fn plain(n: usize, edges: impl Iterator<Item = (usize, usize)>) -> Pattern {
    if n > MAX_DEVICES {
        return Pattern::new(n, Vec::new());
    }
    let edges = edges.map(|(a, b)| Edge {
        a: a.min(b) as u16,
        b: a.max(b) as u16,
        traffic: 1.0,
    });
    Pattern::new(n, edges.collect())
}

/// The ready-made patterns, every edge with traffic 1. A pattern of more than [`MAX_DEVICES`] ranks
/// fits no machine, and every policy rejects it; it is made without its edges.
///
/// # Complexity
///
/// O(n + e) for n ranks and e edges; [`Pattern::ring_tree`] O(n log n).
impl Pattern {
    /// One rank with this demand.
    #[must_use]
    pub fn single(demand: Demand) -> Self {
        Self::independent(1).each(demand)
    }

    /// `n` ranks that do not communicate: no edges.
    #[must_use]
    pub fn independent(n: usize) -> Self {
        plain(n, std::iter::empty())
    }

    /// `n` ranks in a circle, as ring collectives send: `n` edges. A ring of two uses its one link
    /// both ways, so it has two edges; a ring of one has none.
    #[must_use]
    pub fn ring(n: usize) -> Self {
        plain(n, (0..if n > 1 { n } else { 0 }).map(|i| (i, (i + 1) % n)))
    }

    /// `n` ranks in a row, as a pipeline sends: `n - 1` edges.
    #[must_use]
    pub fn chain(n: usize) -> Self {
        plain(n, (1..n).map(|i| (i - 1, i)))
    }

    /// Rank 0 joined to every other rank, as a parameter server is: `n - 1` edges.
    #[must_use]
    pub fn star(n: usize) -> Self {
        plain(n, (1..n).map(|i| (0, i)))
    }

    /// A complete binary tree, filled level by level: the parent of rank `i` is `(i - 1) / 2`; `n -
    /// 1` edges.
    #[must_use]
    pub fn binary_tree(n: usize) -> Self {
        plain(n, (1..n).map(|i| ((i - 1) / 2, i)))
    }

    /// Every rank joined to every other: `n (n - 1) / 2` edges. Assume this pattern if nothing is
    /// known.
    #[must_use]
    pub fn all_to_all(n: usize) -> Self {
        plain(n, (1..n).flat_map(|b| (0..b).map(move |a| (a, b))))
    }

    /// A ring united with a binary tree: NCCL uses either, by message size.
    #[must_use]
    pub fn ring_tree(n: usize) -> Self {
        Self::ring(n).union(&Self::binary_tree(n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edge_counts_are_the_known_ones() {
        let edges = |shape: Shape, n| shape.pattern(n).edges().len();
        for n in 0..12 {
            assert_eq!(edges(Shape::Ring, n), if n > 1 { n } else { 0 });
            assert_eq!(edges(Shape::Chain, n), n.saturating_sub(1));
            assert_eq!(edges(Shape::Star, n), n.saturating_sub(1));
            assert_eq!(edges(Shape::Tree, n), n.saturating_sub(1));
            assert_eq!(edges(Shape::AllToAll, n), n * n.saturating_sub(1) / 2);
            assert_eq!(Shape::AllToAll.pattern(n).len(), n);
        }
        // Ring 0-1-2-3-0 and tree 0-1, 0-2, 1-3 share only 0-1.
        assert_eq!(edges(Shape::RingTree, 4), 4 + 2);
    }

    #[test]
    fn names_round_trip() {
        for shape in Shape::ALL {
            assert_eq!(shape.to_string().parse::<Shape>().unwrap(), shape);
        }
        assert_eq!("binary-tree".parse::<Shape>().unwrap(), Shape::Tree);
        assert_eq!(
            "torus"
                .parse::<Shape>()
                .unwrap_err()
                .to_string()
                .split(':')
                .next(),
            Some("no pattern is called `torus`")
        );
    }
}
