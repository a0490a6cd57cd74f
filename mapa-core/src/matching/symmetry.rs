//! The automorphisms of a pattern, and the conditions that leave one match of each class.
//!
//! Along the base 0, 1, 2, ... the orbit of each vertex in the stabiliser of those before it is computed: automorphisms
//! are searched for with colour refinement, deepest level first, so that what was found there need not be found again
//! (Schreier-Sims without the sifting; Grochow and Kellis need the orbits only). The group's order is the product of the
//! orbits' sizes. Demanding `f(i) < f(u)` for every other `u` in the orbit of `i` leaves exactly one match of each class,
//! the lexicographically smallest. Only the condition from the largest such `i` need be kept for each `u`: the others
//! follow, since `u` in the orbit of `i` and of `j > i` puts `j` in the orbit of `i` too.

use std::collections::{BTreeMap, VecDeque};

use crate::pattern::Pattern;

pub(super) struct Symmetry {
    /// How many automorphisms; saturates.
    pub(super) order: u128,
    /// `below[u] = Some(i)`: in a distinct match, vertex `i` lies on a lower device than `u`.
    pub(super) below: Vec<Option<usize>>,
    /// By vertex, the lowest that some automorphism maps it to.
    pub(super) orbits: Vec<usize>,
}

/// A pattern as a coloured graph: pairs with the same edges and traffic have the same colour, and so have vertices with
/// the same demand.
pub(super) struct Coloured {
    /// By vertex: equal for equal demands.
    vertex: Vec<u32>,
    /// By vertex, its neighbours in order, with the colour of the pair.
    around: Vec<Vec<(usize, u32)>>,
}

impl Coloured {
    pub(super) fn new(pattern: &Pattern) -> Self {
        let mut bundles = BTreeMap::<(usize, usize), Vec<u64>>::new();
        for edge in pattern.edges() {
            let traffic = bundles.entry((edge.a.into(), edge.b.into())).or_default();
            traffic.push(edge.traffic.to_bits());
            traffic.sort_unstable();
        }
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
        let vertex = pattern.demands().iter().map(|own| kinds.partition_point(|&kind| kind < own) as u32).collect();
        Self { vertex, around }
    }

    pub(super) fn neighbours(&self, v: usize) -> impl Iterator<Item = usize> + '_ {
        self.around[v].iter().map(|&(w, _)| w)
    }

    pub(super) fn degree(&self, v: usize) -> usize {
        self.around[v].len()
    }

    pub(super) fn joined(&self, a: usize, b: usize) -> bool {
        self.colour(a, b).is_some()
    }

    fn colour(&self, a: usize, b: usize) -> Option<u32> {
        let around = &self.around[a];
        around.binary_search_by_key(&b, |&(w, _)| w).ok().map(|at| around[at].1)
    }

    /// An automorphism that maps one colouring to another, if there is one.
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
        self.extend(&order, (left, right), &mut image, &mut taken).then_some(image)
    }

    /// Whether a permutation that keeps the colours of vertices keeps those of edges; there are as many before as after.
    fn is_automorphism(&self, image: &[usize]) -> bool {
        let kept = |v: usize| self.around[v].iter().all(|&(w, colour)| self.colour(image[v], image[w]) == Some(colour));
        (0..image.len()).all(kept)
    }

    /// The vertices, rarest colour first, then along edges, so that a wrong start is noticed soon.
    fn by_reach(&self, colours: &Colouring) -> Vec<usize> {
        let n = self.around.len();
        let mut left: Vec<usize> = (0..n).collect();
        left.sort_by_key(|&v| (colours.cell_of(v).len(), v));
        let mut order = Vec::with_capacity(n);
        let mut seen = vec![false; n];
        for start in left {
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

    fn extend(
        &self,
        order: &[usize],
        (left, right): (&Colouring, &Colouring),
        image: &mut [usize],
        taken: &mut [bool],
    ) -> bool {
        let Some((&v, rest)) = order.split_first() else { return true };
        for &w in right.members(left.cell[v]) {
            let mut placed = self.around[v].iter().filter(|(x, _)| image[*x] != usize::MAX);
            let kept = |&(x, colour): &(usize, u32)| self.colour(w, image[x]) == Some(colour);
            let fits = !taken[w]
                && placed.clone().count() == self.neighbours(w).filter(|&y| taken[y]).count()
                && placed.all(kept);
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

    /// Whether all vertices are alike to each other, as in all-to-all: then every permutation is an automorphism.
    fn is_uniform(&self) -> bool {
        let all_or_none = |around: &Vec<(usize, u32)>| around.is_empty() || around.len() + 1 == self.around.len();
        let mut colours = self.around.iter().flatten().map(|&(_, colour)| colour);
        let first = colours.next();
        let same_degree = self.around.windows(2).all(|pair| pair[0].len() == pair[1].len());
        same_degree
            && self.around.iter().all(all_or_none)
            && colours.all(|colour| Some(colour) == first)
            && self.vertex.windows(2).all(|pair| pair[0] == pair[1])
    }

    pub(super) fn symmetry(&self) -> Symmetry {
        let n = self.around.len();
        if self.is_uniform() {
            let order = (1..=n as u128).fold(1, u128::saturating_mul);
            return Symmetry { order, below: (0..n).map(|u| u.checked_sub(1)).collect(), orbits: vec![0; n] };
        }
        // Each vertex that its colour does not tell from others, with the colouring in which the lower ones are singled
        // out, and at last the discrete colouring.
        let mut colours = Colouring::new(self);
        let mut levels = Vec::new();
        for i in 0..n {
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
            let mut apart = vec![false; n];
            for &u in level.cell_of(*i) {
                if orbits.same(*i, u) || apart[orbits.root(u)] {
                    continue;
                }
                let mut other = level.clone();
                other.single_out(u, self);
                match self.automorphism(next, &other) {
                    Some(image) => (0..n).for_each(|v| orbits.join(v, image[v])),
                    None => apart[orbits.root(u)] = true,
                }
            }
            let orbit: Vec<usize> = (i + 1..n).filter(|&u| orbits.same(*i, u)).collect();
            order = order.saturating_mul(orbit.len() as u128 + 1);
            for u in orbit {
                below[u] = below[u].or(Some(*i));
            }
            next = level;
        }
        Symmetry { order, below, orbits: (0..n).map(|v| orbits.root(v)).collect() }
    }
}

/// An equitable colouring: of two vertices of one colour, each has as many neighbours of each colour, by each colour of
/// edges, as the other. Cells and their order depend on structure alone, so isomorphic inputs get isomorphic outputs.
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
    fn new(graph: &Coloured) -> Self {
        let n = graph.around.len();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by_key(|&v| graph.vertex[v]);
        let mut new = Self { order, at: vec![0; n], cell: vec![0; n], end: vec![0; n] };
        let mut waiting = Waiting::new(n);
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

    fn members(&self, start: usize) -> &[usize] {
        &self.order[start..self.end[start]]
    }

    fn cell_of(&self, v: usize) -> &[usize] {
        self.members(self.cell[v])
    }

    fn starts(&self) -> impl Iterator<Item = usize> + '_ {
        let first = Some(0).filter(|_| !self.order.is_empty());
        std::iter::successors(first, |&start| Some(self.end[start]).filter(|&end| end < self.order.len()))
    }

    fn has_cells_of(&self, other: &Self) -> bool {
        self.starts().map(|start| self.end[start]).eq(other.starts().map(|start| other.end[start]))
    }

    /// A permutation that maps cells to cells: what is in both stays where it is, the rest follows in order.
    fn onto(&self, other: &Self) -> Vec<usize> {
        let mut image: Vec<usize> = (0..self.order.len()).collect();
        for start in self.starts() {
            let away = |from: &Self, to: &Self| {
                let mut away: Vec<usize> = from.members(start).to_vec();
                away.retain(|&v| to.cell[v] != start);
                away.sort_unstable();
                away
            };
            away(self, other).into_iter().zip(away(other, self)).for_each(|(v, w)| image[v] = w);
        }
        image
    }

    /// Tells `v` apart from all others.
    fn single_out(&mut self, v: usize, graph: &Coloured) {
        let mut waiting = Waiting::new(self.order.len());
        let start = self.cell[v];
        self.swap(v, start);
        self.split_off(start, start + 1);
        waiting.push(start);
        self.refine(graph, waiting);
    }

    /// Moves `v` to a position; what is there takes its place.
    fn swap(&mut self, v: usize, position: usize) {
        let other = self.order[position];
        self.order.swap(self.at[v], position);
        self.at.swap(v, other);
    }

    /// Cuts a cell in two.
    fn split_off(&mut self, start: usize, middle: usize) {
        let end = std::mem::replace(&mut self.end[start], middle);
        self.end[middle] = end;
        for &v in &self.order[middle..end] {
            self.cell[v] = middle;
        }
    }

    /// Splits cells until the colouring is equitable. O(edges log² n).
    fn refine(&mut self, graph: &Coloured, mut waiting: Waiting) {
        let mut hits: Vec<(u32, usize)> = Vec::new();
        while let Some(start) = waiting.pop() {
            hits.clear();
            let around = self.members(start).iter().flat_map(|&v| &graph.around[v]);
            hits.extend(around.filter(|(w, _)| self.cell_of(*w).len() > 1).map(|&(w, colour)| (colour, w)));
            hits.sort_unstable();
            for hits in hits.chunk_by(|a, b| a.0 == b.0) {
                let counted = hits.chunk_by(|a, b| a == b).map(|same| (self.cell[same[0].1], same.len(), same[0].1));
                let mut counted: Vec<(usize, usize, usize)> = counted.collect();
                counted.sort_unstable();
                counted.chunk_by(|a, b| a.0 == b.0).for_each(|touched| self.split(touched, &mut waiting));
            }
        }
    }

    /// Splits a cell by how often its members were hit, given as (cell, times, member) in order; the others never were.
    fn split(&mut self, touched: &[(usize, usize, usize)], waiting: &mut Waiting) {
        let start = touched[0].0;
        let end = self.end[start];
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
        // Whoever knows the neighbours in a cell and in all but one of its parts, knows those in the last.
        let largest = starts.iter().rev().max_by_key(|&&start| self.end[start] - start).copied();
        let spared = if waiting.has(start) { Some(start) } else { largest };
        starts.into_iter().filter(|&start| Some(start) != spared).for_each(|start| waiting.push(start));
    }
}

/// Cells by which others may have to be split.
struct Waiting {
    queue: VecDeque<usize>,
    has: Vec<bool>,
}

impl Waiting {
    fn new(n: usize) -> Self {
        Self { queue: VecDeque::new(), has: vec![false; n] }
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

/// Union-find.
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
        Coloured::new(pattern).symmetry().order
    }

    #[test]
    fn known_groups() {
        let factorial = |n: u128| (1..=n).product::<u128>();
        for n in 3..20 {
            assert_eq!(order(&Pattern::ring(n)), 2 * n as u128, "dihedral group of a {n}-ring");
            assert_eq!(order(&Pattern::chain(n)), 2);
            assert_eq!(order(&Pattern::star(n)), factorial(n as u128 - 1));
            assert_eq!(order(&Pattern::all_to_all(n)), factorial(n as u128));
        }
        assert_eq!(order(&Pattern::ring(2)), 2);
        // A complete binary tree of depth d swaps children at each of its 2^d - 1 inner vertices.
        assert_eq!(order(&Pattern::binary_tree(15)), 1 << 7);
        assert_eq!(order(&Pattern::binary_tree(31)), 1 << 15);
        assert_eq!(order(&Pattern::ring(512)), 1024);
        assert_eq!(order(&Pattern::all_to_all(40)), u128::MAX, "40! does not fit");
    }

    #[test]
    fn groups_of_graphs_that_refinement_does_not_take_apart() {
        let of = |n: usize, joined: &dyn Fn(u16, u16) -> bool| {
            let pairs = (0..n as u16).flat_map(|b| (0..b).map(move |a| (a, b)));
            let edges = pairs.filter(|&(a, b)| joined(a, b)).map(|(a, b)| (a, b, 1.0));
            order(&Pattern::from_edges(n, edges).unwrap())
        };
        let outer = |a: u16, b: u16| b < 5 && (b == a + 1 || (a, b) == (0, 4));
        let inner = |a: u16, b: u16| a >= 5 && (b == a + 2 || b == a + 3);
        assert_eq!(of(10, &|a, b| outer(a, b) || inner(a, b) || b == a + 5), 120, "the Petersen graph");
        for (dimension, order) in [(3, 48), (4, 384), (5, 3840), (6, 46_080)] {
            assert_eq!(
                of(1 << dimension, &|a, b| (a ^ b).is_power_of_two()),
                order,
                "a cube of {dimension} dimensions"
            );
        }
        assert_eq!(
            of(12, &|a, b| b == a + 1 && b % 4 != 0 || b == a + 3 && a.is_multiple_of(4)),
            8 * 8 * 8 * 6,
            "three rings of 4"
        );
        assert_eq!(of(12, &|a, b| a % 3 != b % 3), 24 * 24 * 24 * 6, "three parts of four");
        assert_eq!(of(36, &|a, b| a / 6 == b / 6 || a % 6 == b % 6), 720 * 720 * 2, "a rook on six by six");
        // Two graphs of the same degrees and common neighbours that no automorphism maps to each other.
        let shrikhande = |a: u16, b: u16| {
            let (x, y) = ((4 + b / 4 - a / 4) % 4, (4 + b % 4 - a % 4) % 4);
            matches!((x, y), (0, 1 | 3) | (1 | 3, 0) | (1, 1) | (3, 3))
        };
        assert_eq!(of(16, &shrikhande), 192);
        let rook = |a: u16, b: u16| a / 4 == b / 4 || a % 4 == b % 4;
        let both = |a: u16, b: u16| if b < 16 { rook(a, b) } else { a >= 16 && shrikhande(a - 16, b - 16) };
        assert_eq!(of(32, &both), 1152 * 192);
    }

    #[test]
    fn large_sparse_patterns() {
        let mut state = 1u64;
        let mut draw = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        let edges: Vec<_> = (0..2400).map(|_| (draw(900) as u16, draw(900) as u16, 1.0)).collect();
        let edges = edges.into_iter().filter(|(a, b, _)| a != b);
        assert!(order(&Pattern::from_edges(900, edges).unwrap()) >= 2);
        assert_eq!(order(&Pattern::binary_tree(1023)), u128::MAX);
        assert_eq!(order(&Pattern::star(1000)), u128::MAX);
        assert_eq!(order(&Pattern::chain(1000)), 2);
    }

    #[test]
    fn traffic_breaks_symmetry() {
        let ring = Pattern::from_edges(4, [(0, 1, 2.0), (1, 2, 1.0), (2, 3, 2.0), (3, 0, 1.0)]).unwrap();
        assert_eq!(order(&ring), 4);
    }

    proptest! {
        #[test]
        fn order_and_orbits_are_those_of_brute_force(pattern in patterns(0..=6)) {
            let symmetry = Coloured::new(&pattern).symmetry();
            let group = oracle::automorphisms(&pattern);
            prop_assert_eq!(symmetry.order, group.len() as u128);
            let lowest = |v: usize| group.iter().map(|image| image[v]).min().unwrap_or(v);
            prop_assert_eq!(symmetry.orbits, (0..pattern.len()).map(lowest).collect::<Vec<_>>());
        }
    }
}
