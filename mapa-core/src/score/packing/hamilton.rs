//! Hamiltonian cycles through up to sixteen vertices, by dynamic programming over subsets (Bellman
//! 1962; Held and Karp 1962).
//!
//! Paths start at vertex 0. For every subset of the other vertices and each vertex of it, a table
//! holds what is known of the paths from vertex 0 through exactly this subset that end at this
//! vertex. A cycle is listed from vertex 0 on, in the direction in which its second vertex is below
//! its last. A cycle of two vertices is their edge there and back.

/// The most vertices.
pub(super) const MOST: usize = 16;

/// A Hamiltonian cycle of a graph, given as the neighbours of each vertex, in bits; none if there
/// is none.
///
/// # Complexity
///
/// O(2ⁿ n) time and O(2ⁿ) memory for n vertices.
pub(super) fn find(adjacent: &[u32]) -> Option<Vec<usize>> {
    let n = adjacent.len();
    // A cycle enters and leaves every vertex, over different edges unless there are only two
    // vertices.
    let enough = if n == 2 { 1 } else { 2 };
    if !(2..=MOST).contains(&n) || adjacent.iter().any(|near| near.count_ones() < enough) {
        return None;
    }
    let ends = path_ends(adjacent);
    // Close the cycle at a neighbour of 0, and walk back through the table.
    let mut set = ends.len() - 1;
    let mut last = (ends[set] << 1) & adjacent[0];
    let mut cycle = vec![0];
    while set != 0 {
        let v = last.checked_ilog2()? as usize;
        cycle.push(v);
        set ^= 1 << (v - 1);
        last = (ends[set] << 1) & adjacent[v];
    }
    Some(normal(cycle))
}

/// By subset of the vertices 1.., shifted by one: the vertices where a path from 0 through exactly the
/// subset can end. One word of bits for each subset answers all ends at once. O(2ⁿ n).
fn path_ends(adjacent: &[u32]) -> Vec<u32> {
    let mut ends = vec![0u32; 1 << (adjacent.len() - 1)];
    for set in 1..ends.len() {
        let alone = set & (set - 1) == 0;
        let mut left = set;
        let mut here = 0;
        while left != 0 {
            let v = left.trailing_zeros() as usize;
            left &= left - 1;
            // A path can end at v if one through the others ends at a neighbour of v.
            let before = if alone { 1 } else { ends[set ^ 1 << v] << 1 };
            here |= u32::from(adjacent[v + 1] & before != 0) << v;
        }
        ends[set] = here;
    }
    ends
}

/// The widest cycle, whose narrowest hop is as wide as possible, and the width of that hop; none if
/// there is no cycle of hops above 0. `width` is n x n.
///
/// # Complexity
///
/// O(2ⁿ n log n).
pub(super) fn widest(n: usize, width: &[f64]) -> Option<(f64, Vec<usize>)> {
    let mut widths: Vec<f64> = width.iter().copied().filter(|width| *width > 0.0).collect();
    widths.sort_unstable_by(|a, b| b.total_cmp(a));
    widths.dedup();
    // A narrower limit admits more hops and so keeps every cycle: bisect over the widths that
    // occur.
    let (mut low, mut high, mut best) = (0, widths.len(), None);
    while low < high {
        let middle = usize::midpoint(low, high);
        let mut adjacent = vec![0u32; n];
        for (a, b) in (0..n * n).map(|at| (at / n, at % n)) {
            adjacent[a] |= u32::from(a != b && width[a * n + b] >= widths[middle]) << b;
        }
        match find(&adjacent) {
            Some(cycle) => (best, high) = (Some((widths[middle], cycle)), middle),
            None => low = middle + 1,
        }
    }
    best
}

/// All Hamiltonian cycles of a graph, of which the cheapest is sought again and again at other prices.
///
/// Only paths from 0 that are a part of a cycle are priced. Sparse graphs have few: of the 245,760 pairs of
/// a subset and an end on sixteen vertices, a torus has some tens of thousands.
pub(super) struct Cycles {
    n: usize,
    /// By subset of the vertices 1..: where paths through it that are a part of a cycle end.
    ends: Vec<u32>,
    /// By subset, the number of ends of all subsets before: where its prices begin.
    begin: Vec<u32>,
    /// The subsets that have such ends, ascending.
    sets: Vec<u32>,
}

impl Cycles {
    /// The cycles of a graph of three to sixteen vertices, given as the neighbours of each.
    ///
    /// # Complexity
    ///
    /// O(2ⁿ n) time and O(2ⁿ) memory for n vertices.
    pub(super) fn of(adjacent: &[u32]) -> Self {
        let n = adjacent.len();
        let from_first = path_ends(adjacent);
        let all = from_first.len() - 1;
        let (mut ends, mut begin, mut sets) = (vec![0; all + 1], vec![0; all + 1], Vec::new());
        let mut count = 0;
        for set in 1..=all {
            begin[set] = count;
            // The rest of a cycle is a path from 0 through all other vertices to this end.
            for v in bits(from_first[set] as usize) {
                ends[set] |= from_first[all ^ set | 1 << v] & 1 << v;
            }
            if ends[set] != 0 {
                count += ends[set].count_ones();
                sets.push(set as u32);
            }
        }
        Self {
            n,
            ends,
            begin,
            sets,
        }
    }

    /// A cheapest cycle; none if there is none. `price` is n x n, infinite where there is no hop.
    ///
    /// # Complexity
    ///
    /// O(2ⁿ n²) time and O(2ⁿ n) memory; of both the part that is on cycles.
    pub(super) fn cheapest(&self, price: &[f64]) -> Option<Vec<usize>> {
        let n = self.n;
        let ends = |set: usize| bits(self.ends[set] as usize);
        let all = self.ends.len() - 1;
        let states = self.begin[all] + self.ends[all].count_ones();
        // By subset of the vertices 1.., and end: the price of the cheapest path from 0.
        let mut paths = vec![f64::INFINITY; states as usize];
        let priced = |paths: &[f64], set: usize, v: usize| {
            let begin = self.begin[set] as usize;
            let paths = paths[begin..].iter();
            let costs = ends(set).zip(paths);
            costs
                .map(|(u, path)| (u, path + price[(u + 1) * n + v]))
                .fold((0, f64::INFINITY), |least, cost| {
                    // The lowest of equal ones stays.
                    if cost.1 < least.1 { cost } else { least }
                })
        };
        for &set in &self.sets {
            let set = set as usize;
            let alone = set & (set - 1) == 0;
            for (at, v) in ends(set).enumerate() {
                let before = set ^ 1 << v;
                let cost = if alone {
                    price[v + 1]
                } else {
                    priced(&paths, before, v + 1).1
                };
                paths[self.begin[set] as usize + at] = cost;
            }
        }
        let mut set = all;
        let (mut v, cost) = priced(&paths, set, 0);
        if !cost.is_finite() {
            return None;
        }
        let mut cycle = vec![0, v + 1];
        while set & (set - 1) != 0 {
            set ^= 1 << v;
            // The table keeps prices only: the vertex before is the one from which this price came.
            v = priced(&paths, set, v + 1).0;
            cycle.push(v + 1);
        }
        Some(normal(cycle))
    }
}

/// The places of the bits of a number, ascending.
fn bits(mut set: usize) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(bit)
    })
}

/// The cycle listed from its lowest vertex on, in the direction of the lower of that vertex's
/// neighbours.
pub(super) fn normal(mut cycle: Vec<usize>) -> Vec<usize> {
    let lowest = (0..cycle.len()).min_by_key(|&at| cycle[at]).unwrap_or(0);
    cycle.rotate_left(lowest);
    if cycle.len() > 2 && cycle[1] > cycle[cycle.len() - 1] {
        cycle[1..].reverse();
    }
    cycle
}

/// The hops of a cycle, the last one back to its start.
pub(super) fn hops(cycle: &[usize]) -> impl Iterator<Item = (usize, usize)> + '_ {
    cycle
        .iter()
        .zip(cycle.iter().cycle().skip(1))
        .map(|(&a, &b)| (a, b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every cycle, by listing all orders.
    fn all(n: usize) -> Vec<Vec<usize>> {
        fn extend(n: usize, path: &mut Vec<usize>, found: &mut Vec<Vec<usize>>) {
            if path.len() == n && (n == 2 || path[1] < path[n - 1]) {
                found.push(path.clone());
            }
            for v in 1..n {
                if !path.contains(&v) {
                    path.push(v);
                    extend(n, path, found);
                    path.pop();
                }
            }
        }
        let mut found = Vec::new();
        extend(n, &mut vec![0], &mut found);
        found
    }

    proptest! {
        #[test]
        fn the_widest_and_the_cheapest_are_those_of_all_cycles(n in 2usize..=7, draws in proptest::collection::vec(0u8..6, 21)) {
            let mut width = vec![0.0; n * n];
            let pairs = (0..n).flat_map(|b| (0..b).map(move |a| (a, b)));
            for ((a, b), draw) in pairs.zip(draws) {
                (width[a * n + b], width[b * n + a]) = (f64::from(draw), f64::from(draw));
            }
            let narrowest = |cycle: &Vec<usize>| hops(cycle).map(|(a, b)| width[a * n + b]).fold(f64::INFINITY, f64::min);
            let best = all(n).iter().map(narrowest).fold(0.0, f64::max);
            let found = widest(n, &width);
            prop_assert_eq!(found.as_ref().map_or(0.0, |found| found.0), best);
            if let Some((width, cycle)) = found {
                prop_assert!(narrowest(&cycle) >= width && all(n).contains(&cycle));
            }
            let price: Vec<f64> = width.iter().map(|w| if *w > 0.0 { 1.0 / w } else { f64::INFINITY }).collect();
            let cost = |cycle: &Vec<usize>| hops(cycle).map(|(a, b)| price[a * n + b]).sum::<f64>();
            let least = all(n).iter().map(cost).fold(f64::INFINITY, f64::min);
            if n > 2 {
                let near = |a: usize| (0..n).filter(|b| width[a * n + b] > 0.0).fold(0, |near, b| near | 1 << b);
                let cycles = Cycles::of(&(0..n).map(near).collect::<Vec<u32>>());
                let found = cycles.cheapest(&price).map_or(f64::INFINITY, |cycle| cost(&cycle));
                prop_assert!(found == least || (found - least).abs() < 1e-12);
            }
        }
    }
}
