//! The automorphisms of a pattern, and the conditions that leave one match of each class.
//!
//! The stabiliser of some vertices is the group of those automorphisms that move none of them. For
//! each of the vertices 0, 1, 2, ... its orbit in the stabiliser of the lower vertices is computed.
//! Automorphisms are searched for with colour refinement. The deepest level comes first, so that
//! automorphisms found there serve the levels above too. This is the Schreier-Sims method without
//! its sifting, since Grochow and Kellis need the orbits only. The order of the group is the
//! product of the sizes of the orbits.
//!
//! Requiring `f(i) < f(u)` for every other `u` in the orbit of `i` leaves exactly one match of each
//! class, the lexicographically smallest. For each `u` only the condition from the largest such `i`
//! is kept. The others follow: if `u` is in the orbits of `i` and of `j > i`, then `j` is in the
//! orbit of `i` too.

use std::collections::{BTreeMap, VecDeque};

use crate::pattern::Pattern;
use crate::stop_flag::StopFlag;

/// The automorphism group of a pattern, as far as matching needs it.
pub(super) struct Symmetry {
    /// The number of automorphisms; saturates.
    pub(super) order: u128,
    /// `below[u] = Some(i)`: in a distinct match, vertex `i` lies on a lower device than `u`.
    pub(super) below: Vec<Option<usize>>,
    /// By vertex, the lowest vertex that some automorphism maps it to.
    pub(super) orbits: Vec<usize>,
}

impl Symmetry {
    /// The identity alone.
    pub(super) fn none(n: usize) -> Self {
        Self {
            order: 1,
            below: vec![None; n],
            orbits: (0..n).collect(),
        }
    }
}

/// A pattern as a coloured graph: pairs with the same edges and traffic have the same colour, and
/// so have vertices with the same demand.
pub(super) struct Coloured {
    /// The colour of each vertex, equal for equal demands.
    vertex: Vec<u32>,
    /// By vertex, its neighbours in order, with the colour of the pair.
    around: Vec<Vec<(usize, u32)>>,
}

impl Coloured {
    pub(super) fn new(pattern: &Pattern) -> Self {
        // A pair of ranks may have several edges; their traffic together is the colour of the pair.
        let mut bundles = BTreeMap::<(usize, usize), Vec<u64>>::new();
        for edge in pattern.edges() {
            let traffic = bundles.entry((edge.a.into(), edge.b.into())).or_default();
            traffic.push(edge.traffic.to_bits());
        }
        // Sorted, so that bundles with the same edges are equal. Once, as a pair may have 100,000 edges.
        bundles
            .values_mut()
            .for_each(|traffic| traffic.sort_unstable());
        let kinds: Vec<&Vec<u64>> = {
            let mut kinds: Vec<_> = bundles.values().collect();
            kinds.sort();
            kinds.dedup();
            kinds
        };
        let mut around = vec![Vec::new(); pattern.len()];
        for (&(a, b), bundle) in &bundles {
            let colour = kinds.partition_point(|&kind| kind < bundle) as u32;
            around[a].push((b, colour));
            around[b].push((a, colour));
        }
        around.iter_mut().for_each(|list| list.sort_unstable());
        let mut kinds: Vec<_> = pattern.demands().iter().collect();
        kinds.sort_unstable();
        kinds.dedup();
        let vertex = pattern
            .demands()
            .iter()
            .map(|demand| kinds.partition_point(|&kind| kind < demand) as u32)
            .collect();
        Self { vertex, around }
    }

    /// The neighbours of a vertex, ascending.
    pub(super) fn neighbours(&self, v: usize) -> impl Iterator<Item = usize> + '_ {
        self.around[v].iter().map(|&(w, _)| w)
    }

    /// The number of neighbours of a vertex.
    pub(super) fn degree(&self, v: usize) -> usize {
        self.around[v].len()
    }

    /// Whether two vertices have an edge.
    pub(super) fn joined(&self, a: usize, b: usize) -> bool {
        self.colour(a, b).is_some()
    }

    /// The colour of the edges between two vertices; none if there are none.
    fn colour(&self, a: usize, b: usize) -> Option<u32> {
        let around = &self.around[a];
        around
            .binary_search_by_key(&b, |&(w, _)| w)
            .ok()
            .map(|at| around[at].1)
    }

    /// An automorphism that maps one colouring to another, if there is one.
    ///
    /// Cells of the colourings must be mapped to each other, but within cells there may be a
    /// choice. A guess that moves few vertices is tried first, and is right for most patterns. If
    /// it fails, all choices are searched.
    fn automorphism(&self, left: &Colouring, right: &Colouring) -> Option<Vec<usize>> {
        if !left.has_cells_of(right) {
            return None;
        }
        let guess = left.onto(right);
        if self.is_automorphism(&guess) {
            return Some(guess);
        }
        let order = self.by_reach(left);
        let mut image = vec![usize::MAX; order.len()];
        let mut taken = vec![false; order.len()];
        self.extend(&order, (left, right), &mut image, &mut taken)
            .then_some(image)
    }

    /// Whether a permutation that keeps the colours of vertices keeps the edges and their colours.
    /// The image has as many edges as the original, so it is enough that every edge is mapped to
    /// one.
    fn is_automorphism(&self, image: &[usize]) -> bool {
        self.around.iter().enumerate().all(|(v, around)| {
            around
                .iter()
                .all(|&(w, colour)| self.colour(image[v], image[w]) == Some(colour))
        })
    }

    /// The vertices in the order of the search: the rarest colour first, then along edges. So there
    /// are few choices at the start, and a wrong one soon violates an edge.
    fn by_reach(&self, colours: &Colouring) -> Vec<usize> {
        let n = self.around.len();
        let mut left: Vec<usize> = (0..n).collect();
        left.sort_by_key(|&v| (colours.cell_of(v).len(), v));
        let mut order = Vec::with_capacity(n);
        let mut seen = vec![false; n];
        for start in left {
            // A breadth-first search; `order` is its own queue.
            let mut next = order.len();
            if !seen[start] {
                seen[start] = true;
                order.push(start);
            }
            while next < order.len() {
                for w in self.neighbours(order[next]) {
                    if !seen[w] {
                        seen[w] = true;
                        order.push(w);
                    }
                }
                next += 1;
            }
        }
        order
    }

    /// Maps the vertices of `order` one after another, backtracking; true if that succeeds. A set [`StopFlag`] ends it
    /// without success.
    fn extend(
        &self,
        order: &[usize],
        (left, right): (&Colouring, &Colouring),
        image: &mut [usize],
        taken: &mut [bool],
    ) -> bool {
        let Some((&v, rest)) = order.split_first() else {
            return true;
        };
        for &w in right.members(left.cell[v]) {
            if StopFlag::is_current_set() {
                return false;
            }
            // The vertex must keep its edges to mapped vertices, and gain none: equally many.
            let mut placed = self.around[v]
                .iter()
                .filter(|(x, _)| image[*x] != usize::MAX);
            let fits = !taken[w]
                && placed.clone().count() == self.neighbours(w).filter(|&y| taken[y]).count()
                && placed.all(|&(x, colour)| self.colour(w, image[x]) == Some(colour));
            if fits {
                image[v] = w;
                taken[w] = true;
                if self.extend(rest, (left, right), image, taken) {
                    return true;
                }
                image[v] = usize::MAX;
                taken[w] = false;
            }
        }
        false
    }

    /// Whether all pairs of vertices are alike, as in all-to-all. Then every permutation is an
    /// automorphism, and the k! of them need no search.
    fn is_uniform(&self) -> bool {
        let n = self.around.len();
        let mut colours = self.around.iter().flatten().map(|&(_, colour)| colour);
        let first = colours.next();
        let same_degree = self
            .around
            .windows(2)
            .all(|pair| pair[0].len() == pair[1].len());
        same_degree
            && (self.around.iter()).all(|around| around.is_empty() || around.len() + 1 == n)
            && colours.all(|colour| Some(colour) == first)
            && self.vertex.windows(2).all(|pair| pair[0] == pair[1])
    }

    /// The automorphism group: its order, its orbits, and the conditions that break it.
    ///
    /// # Complexity
    ///
    /// Polynomial for n vertices that colour refinement tells apart; O(n²) memory for the
    /// colourings. `None` if the thread's [`StopFlag`] is set before the end.
    pub(super) fn symmetry(&self) -> Option<Symmetry> {
        let n = self.around.len();
        if self.is_uniform() {
            let order = (1..=n as u128).fold(1, u128::saturating_mul);
            return Some(Symmetry {
                order,
                below: (0..n).map(|u| u.checked_sub(1)).collect(),
                orbits: vec![0; n],
            });
        }
        // Single out vertex after vertex, until every vertex has a colour of its own. A level is a
        // vertex that shared its colour with others, and the colouring before it was singled out.
        // Vertices with a colour of their own are fixed by the stabiliser: their orbit is trivial.
        let mut colours = Colouring::new(self);
        let mut levels = Vec::new();
        for i in 0..n {
            if StopFlag::is_current_set() {
                return None;
            }
            if colours.cell_of(i).len() > 1 {
                levels.push((i, colours.clone()));
                colours.single_out(i, self);
            }
        }
        let mut orbits = Orbits::new(n);
        let mut below = vec![None; n];
        let mut order = 1u128;
        let mut next = &colours;
        for (i, level) in levels.iter().rev() {
            // Can `i` be mapped to `u` while all before `i` stay? An orbit is mapped as a whole, so
            // one vertex of each orbit known so far is enough.
            let mut apart = vec![false; n];
            for &u in level.cell_of(*i) {
                if orbits.same(*i, u) || apart[orbits.root(u)] {
                    continue;
                }
                let mut other = level.clone();
                other.single_out(u, self);
                let image = self.automorphism(next, &other);
                if StopFlag::is_current_set() {
                    return None;
                }
                match image {
                    Some(image) => (0..n).for_each(|v| orbits.join(v, image[v])),
                    None => apart[orbits.root(u)] = true,
                }
            }
            let orbit: Vec<usize> = (i + 1..n).filter(|&u| orbits.same(*i, u)).collect();
            order = order.saturating_mul(orbit.len() as u128 + 1);
            // Levels come deepest first, so the first condition of `u` is that of the largest `i`.
            for u in orbit {
                below[u] = below[u].or(Some(*i));
            }
            next = level;
        }
        Some(Symmetry {
            order,
            below,
            orbits: (0..n).map(|v| orbits.root(v)).collect(),
        })
    }
}

/// An equitable colouring: two vertices of one colour have equally many neighbours of each colour,
/// by each colour of edges. A cell is the set of vertices of one colour. Cells and their order
/// depend on the structure alone, so isomorphic inputs get isomorphic outputs.
#[derive(Clone)]
struct Colouring {
    /// The vertices, cell by cell.
    order: Vec<usize>,
    /// By vertex, its position in `order`.
    at: Vec<usize>,
    /// By vertex, where its cell starts: its colour.
    cell: Vec<usize>,
    /// By start of a cell, where it ends.
    end: Vec<usize>,
}

impl Colouring {
    /// The coarsest equitable colouring that keeps the colours of vertices.
    fn new(graph: &Coloured) -> Self {
        let n = graph.around.len();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by_key(|&v| graph.vertex[v]);
        let mut new = Self {
            order,
            at: vec![0; n],
            cell: vec![0; n],
            end: vec![0; n],
        };
        let mut waiting = CellQueue::new(n);
        let mut start = 0;
        for i in 0..n {
            let v = new.order[i];
            if graph.vertex[v] != graph.vertex[new.order[start]] {
                start = i;
            }
            if start == i {
                waiting.push(start);
            }
            new.at[v] = i;
            new.cell[v] = start;
            new.end[start] = i + 1;
        }
        new.refine(graph, waiting);
        new
    }

    /// The vertices of the cell that starts here.
    fn members(&self, start: usize) -> &[usize] {
        &self.order[start..self.end[start]]
    }

    /// The vertices of the cell of `v`.
    fn cell_of(&self, v: usize) -> &[usize] {
        self.members(self.cell[v])
    }

    /// Where the cells start, ascending.
    fn starts(&self) -> impl Iterator<Item = usize> + '_ {
        let first = Some(0).filter(|_| !self.order.is_empty());
        std::iter::successors(first, |&start| {
            Some(self.end[start]).filter(|&end| end < self.order.len())
        })
    }

    /// Whether both colourings have cells of the same sizes in the same order.
    fn has_cells_of(&self, other: &Self) -> bool {
        self.starts()
            .map(|start| self.end[start])
            .eq(other.starts().map(|start| other.end[start]))
    }

    /// A permutation that maps cells to cells. A vertex that is in a cell of both colourings stays;
    /// the others are mapped in ascending order.
    fn onto(&self, other: &Self) -> Vec<usize> {
        let mut image: Vec<usize> = (0..self.order.len()).collect();
        for start in self.starts() {
            let away = |from: &Self, to: &Self| {
                let mut away: Vec<usize> = from.members(start).to_vec();
                away.retain(|&v| to.cell[v] != start);
                away.sort_unstable();
                away
            };
            away(self, other)
                .into_iter()
                .zip(away(other, self))
                .for_each(|(v, w)| image[v] = w);
        }
        image
    }

    /// Gives `v` a colour of its own, and refines.
    fn single_out(&mut self, v: usize, graph: &Coloured) {
        let mut waiting = CellQueue::new(self.order.len());
        let start = self.cell[v];
        self.swap(v, start);
        self.split_off(start, start + 1);
        waiting.push(start);
        self.refine(graph, waiting);
    }

    /// Moves `v` to a position; the vertex there takes its place.
    fn swap(&mut self, v: usize, position: usize) {
        let other = self.order[position];
        self.order.swap(self.at[v], position);
        self.at.swap(v, other);
    }

    /// Divides a cell in two, at `middle`.
    fn split_off(&mut self, start: usize, middle: usize) {
        let end = std::mem::replace(&mut self.end[start], middle);
        self.end[middle] = end;
        for &v in &self.order[middle..end] {
            self.cell[v] = middle;
        }
    }

    /// Splits cells until the colouring is equitable, by partition refinement as Hopcroft minimises
    /// automata.
    ///
    /// # Complexity
    ///
    /// O(e log² n) for n vertices and e edges.
    fn refine(&mut self, graph: &Coloured, mut waiting: CellQueue) {
        let mut hits: Vec<(u32, usize)> = Vec::new();
        while let Some(start) = waiting.pop() {
            // How often does each vertex have a neighbour in this cell, by colour of the edge?
            // Cells are split by that number. Cells of one vertex cannot be split and are left out.
            hits.clear();
            let around = self.members(start).iter().flat_map(|&v| &graph.around[v]);
            hits.extend(
                around
                    .filter(|(w, _)| self.cell_of(*w).len() > 1)
                    .map(|&(w, colour)| (colour, w)),
            );
            hits.sort_unstable();
            for hits in hits.chunk_by(|a, b| a.0 == b.0) {
                // As (cell, times, vertex), so that sorting brings the members of a cell together,
                // ordered by how often they were hit.
                let counted = hits
                    .chunk_by(|a, b| a == b)
                    .map(|same| (self.cell[same[0].1], same.len(), same[0].1));
                let mut counted: Vec<(usize, usize, usize)> = counted.collect();
                counted.sort_unstable();
                counted
                    .chunk_by(|a, b| a.0 == b.0)
                    .for_each(|touched| self.split(touched, &mut waiting));
            }
        }
    }

    /// Splits a cell by how often its members were hit. `touched` lists them in order, as (cell,
    /// times, member); members that were never hit are not listed, and stay at the front of the
    /// cell.
    fn split(&mut self, touched: &[(usize, usize, usize)], waiting: &mut CellQueue) {
        let start = touched[0].0;
        let end = self.end[start];
        // Members that were hit move to the end of the cell, in the order of hits.
        for (i, &(.., v)) in touched.iter().rev().enumerate() {
            self.swap(v, end - 1 - i);
        }
        let mut starts = vec![start];
        let mut middle = end - touched.len();
        for same in touched.chunk_by(|a, b| a.1 == b.1) {
            if middle > start {
                self.split_off(starts[starts.len() - 1], middle);
                starts.push(middle);
            }
            middle += same.len();
        }
        // If all cells are equitable towards the whole cell and towards all its parts but one, they
        // are towards the last part too. So one part need not wait; sparing the largest gives the
        // log.
        let largest = starts
            .iter()
            .rev()
            .max_by_key(|&&start| self.end[start] - start)
            .copied();
        let spared = if waiting.has(start) {
            Some(start)
        } else {
            largest
        };
        starts
            .into_iter()
            .filter(|&start| Some(start) != spared)
            .for_each(|start| waiting.push(start));
    }
}

/// The queue of cells by which others may have to be split.
struct CellQueue {
    queue: VecDeque<usize>,
    has: Vec<bool>,
}

impl CellQueue {
    fn new(n: usize) -> Self {
        Self {
            queue: VecDeque::new(),
            has: vec![false; n],
        }
    }

    fn has(&self, start: usize) -> bool {
        self.has[start]
    }

    fn push(&mut self, start: usize) {
        self.has[start] = true;
        self.queue.push_back(start);
    }

    fn pop(&mut self) -> Option<usize> {
        let start = self.queue.pop_front()?;
        self.has[start] = false;
        Some(start)
    }
}

/// Orbits as a union-find structure. The root of an orbit is its lowest vertex.
struct Orbits(Vec<usize>);

impl Orbits {
    fn new(n: usize) -> Self {
        Self((0..n).collect())
    }

    fn root(&mut self, v: usize) -> usize {
        let mut root = v;
        while self.0[root] != root {
            self.0[root] = self.0[self.0[root]];
            root = self.0[root];
        }
        root
    }

    fn same(&mut self, a: usize, b: usize) -> bool {
        self.root(a) == self.root(b)
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b)] = a.min(b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matching::oracle;
    use crate::testing::patterns;
    use proptest::prelude::*;

    fn order(pattern: &Pattern) -> u128 {
        Coloured::new(pattern).symmetry().unwrap().order
    }

    #[test]
    fn known_groups() {
        let factorial = |n: u128| (1..=n).product::<u128>();
        for n in 3..20 {
            assert_eq!(
                order(&Pattern::ring(n)),
                2 * n as u128,
                "dihedral group of a {n}-ring"
            );
            assert_eq!(order(&Pattern::chain(n)), 2);
            assert_eq!(order(&Pattern::star(n)), factorial(n as u128 - 1));
            assert_eq!(order(&Pattern::all_to_all(n)), factorial(n as u128));
        }
        assert_eq!(order(&Pattern::ring(2)), 2);
        // A complete binary tree of depth d swaps children at each of its 2^d - 1 inner vertices.
        assert_eq!(order(&Pattern::binary_tree(15)), 1 << 7);
        assert_eq!(order(&Pattern::binary_tree(31)), 1 << 15);
        assert_eq!(order(&Pattern::ring(512)), 1024);
        assert_eq!(
            order(&Pattern::all_to_all(40)),
            u128::MAX,
            "40! does not fit"
        );
    }

    #[test]
    fn groups_of_graphs_that_refinement_does_not_take_apart() {
        let of = |n: usize, joined: &dyn Fn(u16, u16) -> bool| {
            let pairs = (0..n as u16).flat_map(|b| (0..b).map(move |a| (a, b)));
            let edges = pairs
                .filter(|&(a, b)| joined(a, b))
                .map(|(a, b)| (a, b, 1.0));
            order(&Pattern::from_edges(n, edges).unwrap())
        };
        let outer = |a: u16, b: u16| b < 5 && (b == a + 1 || (a, b) == (0, 4));
        let inner = |a: u16, b: u16| a >= 5 && (b == a + 2 || b == a + 3);
        assert_eq!(
            of(10, &|a, b| outer(a, b) || inner(a, b) || b == a + 5),
            120,
            "the Petersen graph"
        );
        for (dimension, order) in [(3, 48), (4, 384), (5, 3840), (6, 46_080)] {
            assert_eq!(
                of(1 << dimension, &|a, b| (a ^ b).is_power_of_two()),
                order,
                "a cube of {dimension} dimensions"
            );
        }
        assert_eq!(
            of(12, &|a, b| b == a + 1 && b % 4 != 0
                || b == a + 3 && a.is_multiple_of(4)),
            8 * 8 * 8 * 6,
            "three rings of 4"
        );
        assert_eq!(
            of(12, &|a, b| a % 3 != b % 3),
            24 * 24 * 24 * 6,
            "three parts of four"
        );
        assert_eq!(
            of(36, &|a, b| a / 6 == b / 6 || a % 6 == b % 6),
            720 * 720 * 2,
            "a rook on six by six"
        );
        // Two graphs of the same degrees and common neighbours that no automorphism maps to each
        // other.
        let shrikhande = |a: u16, b: u16| {
            let (x, y) = ((4 + b / 4 - a / 4) % 4, (4 + b % 4 - a % 4) % 4);
            matches!((x, y), (0, 1 | 3) | (1 | 3, 0) | (1, 1) | (3, 3))
        };
        assert_eq!(of(16, &shrikhande), 192);
        let rook = |a: u16, b: u16| a / 4 == b / 4 || a % 4 == b % 4;
        let both = |a: u16, b: u16| {
            if b < 16 {
                rook(a, b)
            } else {
                a >= 16 && shrikhande(a - 16, b - 16)
            }
        };
        assert_eq!(of(32, &both), 1152 * 192);
    }

    #[test]
    fn large_sparse_patterns() {
        let mut state = 1u64;
        let mut draw = |n: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        let edges: Vec<_> = (0..2400)
            .map(|_| (draw(900) as u16, draw(900) as u16, 1.0))
            .collect();
        let edges = edges.into_iter().filter(|(a, b, _)| a != b);
        assert!(order(&Pattern::from_edges(900, edges).unwrap()) >= 2);
        assert_eq!(order(&Pattern::binary_tree(1023)), u128::MAX);
        assert_eq!(order(&Pattern::star(1000)), u128::MAX);
        assert_eq!(order(&Pattern::chain(1000)), 2);
    }

    #[test]
    fn traffic_breaks_symmetry() {
        let ring =
            Pattern::from_edges(4, [(0, 1, 2.0), (1, 2, 1.0), (2, 3, 2.0), (3, 0, 1.0)]).unwrap();
        assert_eq!(order(&ring), 4);
    }

    proptest! {
        #[test]
        fn order_and_orbits_are_those_of_brute_force(pattern in patterns(0..=6)) {
            let symmetry = Coloured::new(&pattern).symmetry().unwrap();
            let group = oracle::automorphisms(&pattern);
            prop_assert_eq!(symmetry.order, group.len() as u128);
            let lowest = |v: usize| group.iter().map(|image| image[v]).min().unwrap_or(v);
            prop_assert_eq!(symmetry.orbits, (0..pattern.len()).map(lowest).collect::<Vec<_>>());
        }
    }
}
