//! The automorphisms of a pattern, and the conditions that leave one match of each class.
//!
//! Along the base 0, 1, 2, ... the orbit of each vertex in the stabiliser of those before it is computed: automorphisms
//! are searched for with colour refinement, deepest level first, so that what was found there need not be found again
//! (Schreier-Sims without the sifting; Grochow and Kellis need the orbits only). The group's order is the product of the
//! orbits' sizes. Demanding `f(i) < f(u)` for every other `u` in the orbit of `i` leaves exactly one match of each class,
//! the lexicographically smallest. Only the condition from the largest such `i` need be kept for each `u`: the others
//! follow, since `u` in the orbit of `i` and of `j > i` puts `j` in the orbit of `i` too.

use std::collections::BTreeMap;

use crate::pattern::Pattern;

/// The colour of a pair without an edge.
const APART: u32 = 0;

pub(super) struct Symmetry {
    /// How many automorphisms; saturates.
    pub(super) order: u128,
    /// `below[u] = Some(i)`: in a distinct match, vertex `i` lies on a lower device than `u`.
    pub(super) below: Vec<Option<usize>>,
}

/// A pattern as a coloured graph: pairs with the same edges and traffic have the same colour, and so have vertices with
/// the same demand.
pub(super) struct Coloured {
    n: usize,
    /// By vertex: equal for equal demands.
    vertex: Vec<u32>,
    /// n x n.
    pair: Vec<u32>,
    pub(super) neighbours: Vec<Vec<usize>>,
}

impl Coloured {
    pub(super) fn new(pattern: &Pattern) -> Self {
        let n = pattern.len();
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
        let mut pair = vec![APART; n * n];
        let mut neighbours = vec![Vec::new(); n];
        for (&(a, b), bundle) in &bundles {
            let colour = kinds.partition_point(|&kind| kind < bundle) as u32 + 1;
            pair[a * n + b] = colour;
            pair[b * n + a] = colour;
            neighbours[a].push(b);
            neighbours[b].push(a);
        }
        neighbours.iter_mut().for_each(|list| list.sort_unstable());
        let mut kinds: Vec<_> = pattern.demands().iter().collect();
        kinds.sort_unstable();
        kinds.dedup();
        let vertex = pattern.demands().iter().map(|own| kinds.partition_point(|&kind| kind < own) as u32).collect();
        Self { n, vertex, pair, neighbours }
    }

    pub(super) fn joined(&self, a: usize, b: usize) -> bool {
        self.pair[a * self.n + b] != APART
    }

    /// The coarsest equitable colouring finer than `colours`. Names depend on structure alone, so isomorphic inputs get
    /// isomorphic outputs. O(rounds x edges log n).
    fn refine(&self, mut colours: Vec<u32>) -> Vec<u32> {
        let mut count = 0;
        loop {
            let signature = |v: usize| {
                let mut around: Vec<_> =
                    self.neighbours[v].iter().map(|&w| (self.pair[v * self.n + w], colours[w])).collect();
                around.sort_unstable();
                (colours[v], around)
            };
            let signatures: Vec<_> = (0..self.n).map(signature).collect();
            let mut names: Vec<_> = signatures.iter().collect();
            names.sort_unstable();
            names.dedup();
            if names.len() == count {
                return colours;
            }
            count = names.len();
            colours = signatures.iter().map(|s| names.partition_point(|&name| name < s) as u32).collect();
        }
    }

    /// `colours` with `v` told apart from all others.
    fn single_out(&self, colours: &[u32], v: usize) -> Vec<u32> {
        let mut colours: Vec<u32> = colours.iter().map(|c| 2 * c + 1).collect();
        colours[v] -= 1;
        self.refine(colours)
    }

    /// An automorphism that maps colouring `left` to colouring `right`, if there is one.
    fn automorphism(&self, left: &[u32], right: &[u32]) -> Option<Vec<usize>> {
        let sorted = |colours: &[u32]| {
            let mut colours = colours.to_vec();
            colours.sort_unstable();
            colours
        };
        if sorted(left) != sorted(right) {
            return None;
        }
        let order = self.by_reach(left);
        let mut image = vec![usize::MAX; self.n];
        let mut taken = vec![false; self.n];
        self.extend(&order, 0, (left, right), &mut image, &mut taken).then_some(image)
    }

    /// The vertices, rarest colour first, then along edges, so that a wrong start is noticed soon.
    fn by_reach(&self, colours: &[u32]) -> Vec<usize> {
        let mut size = BTreeMap::<u32, usize>::new();
        colours.iter().for_each(|&c| *size.entry(c).or_default() += 1);
        let mut left: Vec<usize> = (0..self.n).collect();
        left.sort_by_key(|&v| (size[&colours[v]], v));
        let mut order = Vec::with_capacity(self.n);
        let mut seen = vec![false; self.n];
        for start in left {
            let mut next = order.len();
            if !seen[start] {
                seen[start] = true;
                order.push(start);
            }
            while next < order.len() {
                for &w in &self.neighbours[order[next]] {
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
        at: usize,
        (left, right): (&[u32], &[u32]),
        image: &mut [usize],
        taken: &mut [bool],
    ) -> bool {
        let Some(&v) = order.get(at) else { return true };
        for w in 0..self.n {
            let fits = !taken[w]
                && left[v] == right[w]
                && order[..at].iter().all(|&x| self.pair[v * self.n + x] == self.pair[w * self.n + image[x]]);
            if fits {
                image[v] = w;
                taken[w] = true;
                if self.extend(order, at + 1, (left, right), image, taken) {
                    return true;
                }
                taken[w] = false;
            }
        }
        false
    }

    /// Whether all vertices are alike to each other, as in all-to-all: then every permutation is an automorphism.
    fn is_uniform(&self) -> bool {
        let mut off_diagonal =
            (0..self.n).flat_map(|a| (0..a).map(move |b| (a, b))).map(|(a, b)| self.pair[a * self.n + b]);
        let first = off_diagonal.next();
        off_diagonal.all(|colour| Some(colour) == first) && self.vertex.windows(2).all(|pair| pair[0] == pair[1])
    }

    pub(super) fn symmetry(&self) -> Symmetry {
        if self.is_uniform() {
            let order = (1..=self.n as u128).fold(1, u128::saturating_mul);
            return Symmetry { order, below: (0..self.n).map(|u| u.checked_sub(1)).collect() };
        }
        // Level i: the colouring with 0..i singled out. Beyond the first discrete one nothing moves.
        let mut levels = vec![self.refine(self.vertex.clone())];
        while levels.len() <= self.n {
            let last = &levels[levels.len() - 1];
            if is_discrete(last) {
                break;
            }
            levels.push(self.single_out(last, levels.len() - 1));
        }
        let mut orbits = Orbits::new(self.n);
        let mut below = vec![None; self.n];
        let mut order = 1u128;
        for i in (0..levels.len() - 1).rev() {
            let mut apart = vec![false; self.n];
            for u in i + 1..self.n {
                if levels[i][u] != levels[i][i] || orbits.same(i, u) || apart[orbits.root(u)] {
                    continue;
                }
                match self.automorphism(&levels[i + 1], &self.single_out(&levels[i], u)) {
                    Some(image) => (0..self.n).for_each(|v| orbits.join(v, image[v])),
                    None => apart[orbits.root(u)] = true,
                }
            }
            let orbit: Vec<usize> = (i + 1..self.n).filter(|&u| orbits.same(i, u)).collect();
            order = order.saturating_mul(orbit.len() as u128 + 1);
            for u in orbit {
                below[u] = below[u].or(Some(i));
            }
        }
        Symmetry { order, below }
    }
}

fn is_discrete(colours: &[u32]) -> bool {
    let mut sorted = colours.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).all(|pair| pair[0] != pair[1])
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
    fn traffic_breaks_symmetry() {
        let ring = Pattern::from_edges(4, [(0, 1, 2.0), (1, 2, 1.0), (2, 3, 2.0), (3, 0, 1.0)]).unwrap();
        assert_eq!(order(&ring), 4);
    }

    proptest! {
        #[test]
        fn order_is_that_of_brute_force(pattern in patterns(0..=6)) {
            prop_assert_eq!(order(&pattern), oracle::automorphisms(&pattern).len() as u128);
        }
    }
}
