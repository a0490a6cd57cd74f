//! The candidate space: domains, the order in which vertices are placed, and for each pattern edge
//! which candidates of its later end are joined to which candidates of its earlier end, as bits.

use std::cmp::Reverse;
use std::mem::take;

use super::plan::GraphMatcher;
use crate::graph::Graph;
use crate::stop_flag::StopFlag;

/// The tables of a search. Candidates are named by their place in the domain of their step.
pub(super) struct Space {
    pub(super) steps: Vec<SparseStep>,
    /// How many steps are placed one after another when counting. The steps after them are joined
    /// only to earlier steps, and are counted without being placed.
    pub(super) core: usize,
    /// For each pair of joined steps, by candidate of the earlier one, the candidates of the later
    /// one, as bits.
    pub(super) rows: Vec<u64>,
    /// As `rows`, for pairs whose later step has a large domain: as lists, one after another.
    pub(super) lists: Vec<u32>,
    /// Where each list begins.
    pub(super) list_starts: Vec<usize>,
    /// How many words the prefixes of all steps have.
    pub(super) prefix_words: usize,
}

/// Placing one pattern vertex. Numbers in its lists are steps.
pub(super) struct SparseStep {
    pub(super) vertex: u32,
    /// The target vertices where it may lie, ascending.
    pub(super) domain: Vec<u32>,
    /// The earlier steps joined to it, ascending.
    pub(super) near: Vec<u32>,
    /// The earlier steps that must lie on lower target vertices.
    pub(super) above: Vec<u32>,
    /// The earlier steps that must lie on higher target vertices.
    pub(super) below: Vec<u32>,
    /// The later steps joined to it.
    pub(super) forward: Vec<Forward>,
    /// Where its prefixes begin. A prefix is the set of candidates that the first i steps of `near`
    /// leave, for i from 0.
    pub(super) prefixes: usize,
    /// The words of a prefix.
    pub(super) width: usize,
}

impl SparseStep {
    /// Where the last prefix begins: the candidates that all of `near` leave.
    pub(super) fn last_prefix(&self) -> usize {
        self.prefixes + self.near.len() * self.width
    }
}

/// The link from a step to a later one that it narrows.
pub(super) struct Forward {
    pub(super) to: u32,
    /// The place of the earlier step in the later one's `near`.
    pub(super) nth: u32,
    pub(super) rows: Rows,
}

/// Where the neighbours of each candidate are found.
pub(super) enum Rows {
    /// As bits, from this word of the rows on.
    Bits(usize),
    /// As lists, from this entry of the starts on.
    Lists(usize),
}

/// Rows of more words than this are kept as lists, since on sparse graphs wide rows are nearly
/// empty and take quadratic memory. In dense targets a list would be as long as its row, so rows
/// may be wider there.
const WIDE: usize = 8;

/// The place of a target vertex that is no candidate.
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

    /// Appends the step of pattern vertex `u`; `at` gives the step of each vertex.
    fn push(&mut self, matcher: &GraphMatcher, at: &[u32], u: u32, domain: Vec<u32>) {
        let here = at[u as usize];
        // The steps of those of some vertices that are placed earlier.
        let steps = |vertices: Vec<u32>| {
            let mut steps: Vec<u32> = vertices
                .into_iter()
                .map(|w| at[w as usize])
                .filter(|&step| step < here)
                .collect();
            steps.sort_unstable();
            steps
        };
        let near = steps(matcher.pattern.neighbours(u).to_vec());
        let lower = matcher.below[u as usize];
        let higher =
            (0..matcher.below.len() as u32).filter(|&w| matcher.below[w as usize] == Some(u));
        let width = domain.len().div_ceil(64);
        let prefixes = self.prefix_words;
        self.prefix_words += (near.len() + 1) * width;
        let (above, below) = (steps(lower.into_iter().collect()), steps(higher.collect()));
        self.steps.push(SparseStep {
            vertex: u,
            domain,
            near,
            above,
            below,
            forward: Vec::new(),
            prefixes,
            width,
        });
    }

    /// Fills the rows or lists of every pair of joined steps.
    fn fill_rows(&mut self, target: &Graph) {
        let widest = WIDE.max(4 * target.edge_count() / target.len().max(1));
        // By target vertex, its place in the later step's domain.
        let mut place = vec![NOWHERE; target.len()];
        for later in 0..self.steps.len() {
            // Whoever asked for the space looks at the flag before it is used.
            if StopFlag::is_current_set() {
                return;
            }
            (0..)
                .zip(&self.steps[later].domain)
                .for_each(|(i, &v)| place[v as usize] = i);
            for nth in 0..self.steps[later].near.len() {
                let earlier = self.steps[later].near[nth] as usize;
                let rows = if self.steps[later].width > widest {
                    self.add_lists(target, earlier, &place)
                } else {
                    self.add_rows(target, earlier, later, &place)
                };
                self.steps[earlier].forward.push(Forward {
                    to: later as u32,
                    nth: nth as u32,
                    rows,
                });
            }
            self.steps[later]
                .domain
                .iter()
                .for_each(|&v| place[v as usize] = NOWHERE);
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

    /// Switches to raw matches, if that lets more vertices be counted without being placed:
    /// symmetry conditions between the last vertices keep them from being independent. True if it
    /// did.
    pub(super) fn raw_if_shorter(&mut self) -> bool {
        let compared: Vec<_> = self
            .steps
            .iter_mut()
            .map(|step| (take(&mut step.above), take(&mut step.below)))
            .collect();
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

    /// How many steps must be placed when counting: all but the longest tail of steps that no later
    /// step is joined to or compared with.
    fn core_steps(&self, induced: bool) -> usize {
        // The tail's sets of vertices are bits of a word.
        const MOST: usize = u128::BITS as usize;
        let n = self.steps.len();
        // Induced, the images of two tail vertices must not be joined to each other. So the tail
        // is not independent, and only one vertex is counted unplaced.
        let most = if induced { 1 } else { MOST };
        n - (0..n)
            .rev()
            .take(most)
            .take_while(|&i| self.is_independent(i))
            .count()
    }

    /// Whether no later step is joined to step `i` or compared with it.
    fn is_independent(&self, i: usize) -> bool {
        self.steps[i].forward.is_empty()
            && !self.steps[i + 1..].iter().any(|later| {
                [&later.above, &later.below]
                    .iter()
                    .any(|list| list.contains(&(i as u32)))
            })
    }
}

/// The places of the neighbours of `v` that have one.
fn next_to(target: &Graph, v: u32, place: &[u32]) -> impl Iterator<Item = u32> {
    target
        .neighbours(v)
        .iter()
        .map(|&w| place[w as usize])
        .filter(|&i| i != NOWHERE)
}

/// The order of placing, after RI (Bonnici et al., BMC Bioinformatics 2013). Vertices with a single
/// candidate come first. Next is always the vertex with most neighbours placed; ties go to the
/// smallest domain, then the highest degree, then the lowest number.
///
/// # Complexity
///
/// O(n²) for n pattern vertices.
fn placing_order(pattern: &Graph, domains: &[Vec<u32>]) -> Vec<u32> {
    let n = pattern.len();
    let mut order: Vec<u32> = Vec::with_capacity(n);
    let mut placed = vec![false; n];
    let mut near = vec![0u32; n];
    for _ in 0..n {
        let Some(next) = (0..n as u32)
            .filter(|&v| !placed[v as usize])
            .min_by_key(|&v| {
                let choice = domains[v as usize].len();
                (
                    choice > 1,
                    Reverse(near[v as usize]),
                    choice,
                    Reverse(pattern.degree(v)),
                    v,
                )
            })
        else {
            break;
        };
        placed[next as usize] = true;
        order.push(next);
        pattern
            .neighbours(next)
            .iter()
            .for_each(|&w| near[w as usize] += 1);
    }
    sinks_last(pattern, order)
}

/// The order with all vertices that nothing later is joined to moved to its end, where
/// [`super::tail`] counts them without placing them.
fn sinks_last(pattern: &Graph, order: Vec<u32>) -> Vec<u32> {
    let mut at = vec![0; pattern.len()];
    order
        .iter()
        .enumerate()
        .for_each(|(i, &u)| at[u as usize] = i);
    let (sinks, mut others): (Vec<u32>, Vec<u32>) = order.into_iter().partition(|&u| {
        let mut neighbours = pattern.neighbours(u).iter();
        neighbours.all(|&w| at[w as usize] < at[u as usize])
    });
    others.extend(sinks);
    others
}
