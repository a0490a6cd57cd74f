//! How the edges of a pattern lie on links: what the tables count.

/// The number of edges on links of the first kind and on links of the second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct KindCounts {
    pub(crate) x: u32,
    pub(crate) y: u32,
}

impl KindCounts {
    /// These counts with one more edge on a link of this kind.
    pub(super) fn with(self, kind: usize) -> Self {
        self.with_many(kind, 1)
    }

    /// These counts with `edges` more edges on links of this kind.
    pub(super) fn with_many(self, kind: usize, edges: u32) -> Self {
        match kind {
            0 => Self {
                x: self.x + edges,
                ..self
            },
            1 => Self {
                y: self.y + edges,
                ..self
            },
            _ => self,
        }
    }

    /// These counts with one edge less on a link of this kind; none if there is no such edge.
    pub(super) fn without(self, kind: usize) -> Option<Self> {
        match kind {
            0 => Some(Self {
                x: self.x.checked_sub(1)?,
                ..self
            }),
            1 => Some(Self {
                y: self.y.checked_sub(1)?,
                ..self
            }),
            _ => Some(self),
        }
    }
}

/// The numbers of edges within islands, by kind, and between islands, for a pattern that spans
/// islands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct IslandEdges {
    /// The counts of the edges within islands.
    pub(crate) counts: KindCounts,
    /// The number of edges from one island to another.
    pub(crate) between: u32,
}
