//! The candidate space: domains, the order in which vertices are placed, and for each pattern edge which candidates of one
//! end are joined to which of the other, as bits.

use std::cmp::Reverse;
use std::mem::take;

use super::plan::GraphMatcher;
use crate::graph::Graph;

/// All that a search looks up. Candidates are named by their place in their step's domain.
pub(super) struct Space {
    pub(super) steps: Vec<Step>,
    /// How many steps are placed one after another when counting; the others join only vertices before them.
    pub(super) core: usize,
    /// For each pair of joined steps, by candidate of the earlier one, those of the later one: as bits.
    pub(super) rows: Vec<u64>,
    /// The same as lists, end to end, and where each begins, for pairs whose later step has a large domain.
    pub(super) lists: Vec<u32>,
    pub(super) list_starts: Vec<usize>,
    /// How many words the prefixes of all steps have.
    pub(super) prefix_words: usize,
}

/// Placing one pattern vertex; what it names by number are steps.
pub(super) struct Step {
    pub(super) vertex: u32,
    /// Ascending.
    pub(super) domain: Vec<u32>,
    /// Earlier, joined to it; ascending.
    pub(super) near: Vec<u32>,
    /// Earlier, on lower target vertices.
    pub(super) above: Vec<u32>,
    /// Earlier, on higher target vertices.
    pub(super) below: Vec<u32>,
    /// Later, joined to it.
    pub(super) forward: Vec<Forward>,
    /// Where its prefixes begin: the candidates left by none, the first, the first two, ... of `near`.
    pub(super) prefixes: usize,
    /// Words of a prefix.
    pub(super) width: usize,
}

impl Step {
    /// Where the candidates that all of `near` leave begin.
    pub(super) fn last_prefix(&self) -> usize {
        self.prefixes + self.near.len() * self.width
    }
}

/// What placing a step leaves to a later one.
pub(super) struct Forward {
    pub(super) to: u32,
    /// Which of the later step's `near` this is.
    pub(super) nth: u32,
    pub(super) rows: Rows,
}

/// Where the candidates next to each candidate are found.
pub(super) enum Rows {
    /// The first of the rows.
    Bits(usize),
    /// The first of the lists' starts.
    Lists(usize),
}

/// Rows of more words are kept as lists, unless the target is so dense that these would be as long: on sparse graphs wide
/// rows are nearly empty, and their memory quadratic.
const WIDE: usize = 8;

/// The place of a target vertex that is not a candidate.
const NOWHERE: u32 = u32::MAX;

impl Space {
    pub(super) fn new(matcher: &GraphMatcher, target: &Graph, mut domains: Vec<Vec<u32>>) -> Self {
        let pattern = &matcher.pattern;
        let order = placing_order(pattern, &domains);
        let mut at = vec![0u32; pattern.len()];
        for (i, &u) in order.iter().enumerate() {
            at[u as usize] = i as u32;
        }
        let mut space = Self {
            steps: Vec::with_capacity(order.len()),
            core: 0,
            rows: Vec::new(),
            lists: Vec::new(),
            list_starts: Vec::new(),
            prefix_words: 0,
        };
        for &u in &order {
            space.push(matcher, &at, u, take(&mut domains[u as usize]));
        }
        space.fill_rows(target);
        space.core = space.core_steps(matcher.induced);
        space
    }

    fn push(&mut self, matcher: &GraphMatcher, at: &[u32], u: u32, domain: Vec<u32>) {
        let here = at[u as usize];
        let earlier = |w: &u32| at[*w as usize] < here;
        let steps = |vertices: Vec<u32>| {
            let mut steps: Vec<u32> = vertices.into_iter().filter(earlier).map(|w| at[w as usize]).collect();
            steps.sort_unstable();
            steps
        };
        let near = steps(matcher.pattern.neighbours(u).to_vec());
        let lower = matcher.below[u as usize];
        let higher = (0..matcher.below.len() as u32).filter(|&w| matcher.below[w as usize] == Some(u));
        let width = domain.len().div_ceil(64);
        let prefixes = self.prefix_words;
        self.prefix_words += (near.len() + 1) * width;
        let (above, below) = (steps(lower.into_iter().collect()), steps(higher.collect()));
        self.steps.push(Step { vertex: u, domain, near, above, below, forward: Vec::new(), prefixes, width });
    }

    fn fill_rows(&mut self, target: &Graph) {
        let widest = WIDE.max(4 * target.edge_count() / target.len().max(1));
        let mut place = vec![NOWHERE; target.len()];
        for later in 0..self.steps.len() {
            (0..).zip(&self.steps[later].domain).for_each(|(i, &v)| place[v as usize] = i);
            for nth in 0..self.steps[later].near.len() {
                let earlier = self.steps[later].near[nth] as usize;
                let rows = if self.steps[later].width > widest {
                    self.add_lists(target, earlier, &place)
                } else {
                    self.add_rows(target, earlier, later, &place)
                };
                self.steps[earlier].forward.push(Forward { to: later as u32, nth: nth as u32, rows });
            }
            self.steps[later].domain.iter().for_each(|&v| place[v as usize] = NOWHERE);
        }
    }

    fn add_rows(&mut self, target: &Graph, earlier: usize, later: usize, place: &[u32]) -> Rows {
        let (from, width) = (&self.steps[earlier].domain, self.steps[later].width);
        let first = self.rows.len();
        self.rows.resize(first + from.len() * width, 0);
        for (row, &v) in self.rows[first..].chunks_exact_mut(width).zip(from) {
            next_to(target, v, place).for_each(|i| row[i as usize / 64] |= 1 << (i % 64));
        }
        Rows::Bits(first)
    }

    fn add_lists(&mut self, target: &Graph, earlier: usize, place: &[u32]) -> Rows {
        let first = self.list_starts.len();
        for &v in &self.steps[earlier].domain {
            self.list_starts.push(self.lists.len());
            self.lists.extend(next_to(target, v, place));
        }
        self.list_starts.push(self.lists.len());
        Rows::Lists(first)
    }

    /// Raw matches instead of distinct ones, if that lets more vertices be counted without being placed.
    pub(super) fn raw_if_shorter(&mut self) -> bool {
        let compared: Vec<_> =
            self.steps.iter_mut().map(|step| (take(&mut step.above), take(&mut step.below))).collect();
        let core = self.core_steps(false);
        if core < self.core {
            self.core = core;
            return true;
        }
        for (step, (above, below)) in self.steps.iter_mut().zip(compared) {
            (step.above, step.below) = (above, below);
        }
        false
    }

    /// The steps before the last that are not joined to anything later, nor compared with each other.
    fn core_steps(&self, induced: bool) -> usize {
        const MOST: usize = u128::BITS as usize;
        let n = self.steps.len();
        let most = if induced { 1 } else { MOST };
        let free = |&i: &usize| {
            let step = &self.steps[i];
            let compared = |later: &Step| [&later.above, &later.below].iter().any(|list| list.contains(&(i as u32)));
            step.forward.is_empty() && !self.steps[i + 1..].iter().any(compared)
        };
        n - (0..n).rev().take(most).take_while(free).count()
    }
}

/// The places of the neighbours of `v` that have one.
fn next_to(target: &Graph, v: u32, place: &[u32]) -> impl Iterator<Item = u32> {
    target.neighbours(v).iter().map(|&w| place[w as usize]).filter(|&i| i != NOWHERE)
}

/// Of those joined to what is placed, always the one with most neighbours placed, as in RI (Bonnici et al., BMC
/// Bioinformatics 2013); then the one with the smallest domain, the highest degree, the lowest number. Vertices with one
/// candidate come before all others. O(n²).
fn placing_order(pattern: &Graph, domains: &[Vec<u32>]) -> Vec<u32> {
    let n = pattern.len();
    let mut order: Vec<u32> = Vec::with_capacity(n);
    let mut placed = vec![false; n];
    let mut near = vec![0u32; n];
    for _ in 0..n {
        let rank = |&v: &u32| {
            let choice = domains[v as usize].len();
            (choice > 1, Reverse(near[v as usize]), choice, Reverse(pattern.degree(v)), v)
        };
        let Some(next) = (0..n as u32).filter(|&v| !placed[v as usize]).min_by_key(rank) else { break };
        placed[next as usize] = true;
        order.push(next);
        pattern.neighbours(next).iter().for_each(|&w| near[w as usize] += 1);
    }
    sinks_last(pattern, order)
}

/// Vertices that nothing later is joined to, after all others.
fn sinks_last(pattern: &Graph, order: Vec<u32>) -> Vec<u32> {
    let mut at = vec![0; pattern.len()];
    order.iter().enumerate().for_each(|(i, &u)| at[u as usize] = i);
    let is_sink = |&u: &u32| pattern.neighbours(u).iter().all(|&w| at[w as usize] < at[u as usize]);
    let (sinks, mut others): (Vec<u32>, Vec<u32>) = order.into_iter().partition(is_sink);
    others.extend(sinks);
    others
}
