//! Hamiltonian cycles through up to sixteen vertices, by dynamic programming over subsets (Bellman 1962; Held and Karp 1962).
//!
//! Paths start at vertex 0. A table has, for every subset of the others, what is known of the paths through exactly these, by
//! the vertex where they end. A cycle is given from vertex 0 on, in the direction in which its second vertex is below its last;
//! that of two vertices is the edge there and back.

/// The most vertices.
pub(super) const MOST: usize = 16;

/// A cycle in a graph, by vertex the bits of its neighbours; none if there is none. O(2ⁿ n) time and O(2ⁿ) memory.
pub(super) fn find(adjacent: &[u32]) -> Option<Vec<usize>> {
    let n = adjacent.len();
    let enough = if n == 2 { 1 } else { 2 };
    if !(2..=MOST).contains(&n) || adjacent.iter().any(|near| near.count_ones() < enough) {
        return None;
    }
    // By subset of the vertices 1.., shifted by one: where a path through it from 0 can end.
    let mut ends = vec![0u32; 1 << (n - 1)];
    for set in 1..ends.len() {
        let alone = set & (set - 1) == 0;
        let mut left = set;
        let mut here = 0;
        while left != 0 {
            let v = left.trailing_zeros() as usize;
            left &= left - 1;
            let before = if alone { 1 } else { ends[set ^ 1 << v] << 1 };
            here |= u32::from(adjacent[v + 1] & before != 0) << v;
        }
        ends[set] = here;
    }
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

/// The widest cycle: the narrowest of its hops is as wide as can be; none if there is no cycle of hops above 0.
/// `width` is n x n. O(2ⁿ n log n).
pub(super) fn widest(n: usize, width: &[f64]) -> Option<(f64, Vec<usize>)> {
    let mut widths: Vec<f64> = width.iter().copied().filter(|width| *width > 0.0).collect();
    widths.sort_unstable_by(|a, b| b.total_cmp(a));
    widths.dedup();
    let at_least = |least: f64| {
        let near = |a: usize| (0..n).filter(move |&b| a != b && width[a * n + b] >= least).map(|b| 1 << b).sum();
        find(&(0..n).map(near).collect::<Vec<u32>>())
    };
    // The more hops there are, the more cycles.
    let (mut low, mut high, mut best) = (0, widths.len(), None);
    while low < high {
        let middle = usize::midpoint(low, high);
        match at_least(widths[middle]) {
            Some(cycle) => (best, high) = (Some((widths[middle], cycle)), middle),
            None => low = middle + 1,
        }
    }
    best
}

/// A cheapest cycle; none if there is none. `price` is n x n, infinite where there is no hop. O(2ⁿ n²) time and O(2ⁿ n)
/// memory.
pub(super) fn cheapest(n: usize, price: &[f64]) -> Option<Vec<usize>> {
    let m = n - 1;
    let mut paths = vec![f64::INFINITY; m << m];
    for v in 0..m {
        paths[(1 << v) * m + v] = price[v + 1];
    }
    let order = |a: &f64, b: &f64| a.total_cmp(b);
    for set in 1usize..1 << m {
        if set & (set - 1) == 0 {
            continue;
        }
        for v in bits(set) {
            let before = set ^ 1 << v;
            let costs = bits(before).map(|u| paths[before * m + u] + price[(u + 1) * n + v + 1]);
            paths[set * m + v] = costs.fold(f64::INFINITY, f64::min);
        }
    }
    let mut set = (1 << m) - 1;
    let closed = |last: usize| paths[set * m + last] + price[last + 1];
    let mut v = (0..m).min_by(|&a, &b| order(&closed(a), &closed(b))).filter(|&last| closed(last).is_finite())?;
    let mut cycle = vec![0, v + 1];
    while set & (set - 1) != 0 {
        set ^= 1 << v;
        let cost = |u: usize| paths[set * m + u] + price[(u + 1) * n + v + 1];
        let before = bits(set).min_by(|&a, &b| order(&cost(a), &cost(b)));
        v = before?;
        cycle.push(v + 1);
    }
    Some(normal(cycle))
}

fn bits(mut set: usize) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(bit)
    })
}

/// From its lowest vertex on, towards the lower of that one's neighbours.
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
    cycle.iter().zip(cycle.iter().cycle().skip(1)).map(|(&a, &b)| (a, b))
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
            let found = cheapest(n, &price).map_or(f64::INFINITY, |cycle| cost(&cycle));
            prop_assert!(found == least || (found - least).abs() < 1e-12);
        }
    }
}
