//! The smallest of the best rank orders on a given set of devices.
//!
//! The value of the best orders is known beforehand, as counts of edges by kind of link or as a
//! sum. So a partial order that cannot reach it is dropped at once. Ranks are placed by number on
//! ascending devices, so the first order found is the smallest.

use super::links::LinkKinds;
use crate::matching::Few;
use crate::pattern::Pattern;
use crate::reach::Sums;

/// The value that the order must have.
pub(super) enum OrderGoal<'g> {
    /// One of these lists of numbers of edges by kind of link.
    Counts(Vec<Few<u32>>),
    /// This sum, where the function gives the values by edge and kind of link.
    Sum(Sums, &'g dyn Fn(usize, usize) -> Sums),
}

/// The value of the edges placed so far.
#[derive(Clone)]
enum EdgeTally {
    Counts(Few<u32>),
    Sum(Sums),
}

pub(super) struct Smallest<'s> {
    pattern: &'s Pattern,
    links: &'s LinkKinds,
    /// The set, as positions in `links`, ascending.
    set: &'s [usize],
    goal: OrderGoal<'s>,
    /// By rank, its edges to lower ranks: the edge's position and the lower rank.
    edges: Vec<Few<(usize, usize)>>,
    /// By rank, the most that its edges and those of later ranks can add to the first sum.
    most: Vec<i64>,
    nodes: u64,
}

impl<'s> Smallest<'s> {
    pub(super) fn new(
        pattern: &'s Pattern,
        links: &'s LinkKinds,
        set: &'s [usize],
        goal: OrderGoal<'s>,
    ) -> Self {
        let k = pattern.len();
        let mut edges: Vec<Few<(usize, usize)>> = vec![Few::new(); k];
        for (at, edge) in pattern.edges().iter().enumerate() {
            edges[usize::from(edge.b)].push((at, usize::from(edge.a)));
        }
        let mut most = vec![0; k + 1];
        if let OrderGoal::Sum(_, value) = &goal {
            let best = |at: usize| {
                (0..links.len())
                    .map(|kind| value(at, kind)[0])
                    .max()
                    .unwrap_or(0)
            };
            for rank in (0..k).rev() {
                most[rank] =
                    most[rank + 1] + edges[rank].iter().map(|&(at, _)| best(at)).sum::<i64>();
            }
        }
        Self {
            pattern,
            links,
            set,
            goal,
            edges,
            most,
            nodes: 0,
        }
    }

    /// The positions by rank, and the number of nodes used. `None` if there is no such order, or if
    /// finding it needs more than `nodes` nodes.
    pub(super) fn find(mut self, nodes: u64) -> (Option<Vec<usize>>, u64) {
        self.nodes = nodes;
        let tally = match self.goal {
            OrderGoal::Counts(_) => EdgeTally::Counts(Few::from_elem(0, self.links.len())),
            OrderGoal::Sum(..) => EdgeTally::Sum([0; 2]),
        };
        let mut order = Vec::with_capacity(self.set.len());
        let found = self.place(&mut order, &tally);
        (found.then_some(order), nodes - self.nodes)
    }

    fn place(&mut self, order: &mut Vec<usize>, tally: &EdgeTally) -> bool {
        let rank = order.len();
        if rank == self.pattern.len() {
            return true;
        }
        // Symmetry breaking: of equal rank orders only the smallest is built, in which this rank's
        // device is above that of the rank it could be swapped with.
        let above = self
            .pattern
            .rank_matcher()
            .lower(rank)
            .map(|lower| order[lower]);
        for i in 0..self.set.len() {
            let device = self.set[i];
            if above.is_some_and(|above| device <= above) || order.contains(&device) {
                continue;
            }
            let Some(left) = self.nodes.checked_sub(1) else {
                return false;
            };
            self.nodes = left;
            let Some(next) = self.with(rank, device, order, tally) else {
                continue;
            };
            order.push(device);
            if self.place(order, &next) {
                return true;
            }
            order.pop();
        }
        false
    }

    /// The tally with one more rank placed; `None` if an edge may not use its link, or if the goal
    /// is out of reach.
    fn with(
        &self,
        rank: usize,
        device: usize,
        order: &[usize],
        tally: &EdgeTally,
    ) -> Option<EdgeTally> {
        let mut next = tally.clone();
        for &(at, other) in &self.edges[rank] {
            let kind = self.links.between(order[other], device)?;
            match (&mut next, &self.goal) {
                (EdgeTally::Counts(counts), _) => counts[kind] += 1,
                (EdgeTally::Sum(sum), OrderGoal::Sum(_, value)) => {
                    let own = value(at, kind);
                    *sum = [sum[0] + own[0], sum[1] + own[1]];
                }
                _ => return None,
            }
        }
        let reachable = match (&next, &self.goal) {
            // No kind may have too many edges. Once all edges are placed, each kind then has
            // exactly enough, as both lists have the same total.
            (EdgeTally::Counts(counts), OrderGoal::Counts(wanted)) => wanted.iter().any(|wanted| {
                counts
                    .iter()
                    .zip(wanted)
                    .all(|(count, wanted)| count <= wanted)
            }),
            (EdgeTally::Sum(sum), OrderGoal::Sum(wanted, _)) if rank + 1 == self.pattern.len() => {
                sum == wanted
            }
            (EdgeTally::Sum(sum), OrderGoal::Sum(wanted, _)) => {
                sum[0] + self.most[rank + 1] >= wanted[0]
            }
            _ => false,
        };
        reachable.then_some(next)
    }
}
