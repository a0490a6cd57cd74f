//! The graph of basic blocks, with dominators and natural loops.

use petgraph::algo::dominators::{Dominators, simple_fast};
use petgraph::graph::{DiGraph, NodeIndex};
use std::collections::BTreeSet;
use std::fmt;

/// An instruction: the `index`-th of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Site {
    /// Number of the block.
    pub block: usize,
    /// Number of the instruction in the block.
    pub index: usize,
}

/// A place between two instructions: just before the `index`-th of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Point {
    /// Number of the block.
    pub block: usize,
    /// Number of the instruction that follows.
    pub index: usize,
}

impl From<Site> for Point {
    /// Just before the instruction.
    fn from(site: Site) -> Point {
        let Site { block, index } = site;
        Point { block, index }
    }
}

impl From<Point> for Site {
    /// The instruction that follows.
    fn from(point: Point) -> Site {
        let Point { block, index } = point;
        Site { block, index }
    }
}

/// Where a task ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Where {
    /// Just after this instruction.
    After(Site),
    /// On the edge between two blocks.
    Edge(usize, usize),
}

/// A cycle with more than one way in. Lifting out of loops is not defined for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Irreducible {
    /// The edge that goes back to a block which does not dominate its source.
    pub edge: (usize, usize),
}

impl fmt::Display for Irreducible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, to) = self.edge;
        write!(
            f,
            "the edge from block {from} to block {to} enters a loop beside its head"
        )
    }
}

impl std::error::Error for Irreducible {}

/// A natural loop: its head and every block from which the head is reached without leaving it.
#[derive(Clone, Debug)]
struct Loop {
    head: usize,
    blocks: BTreeSet<usize>,
}

/// Control flow of one function. Block 0 is the entry.
#[derive(Clone, Debug)]
pub struct Flow {
    lengths: Vec<usize>,
    successors: Vec<Vec<usize>>,
    predecessors: Vec<Vec<usize>>,
    dominators: Dominators<NodeIndex>,
    loops: Vec<Loop>,
}

impl Flow {
    /// The flow of blocks with `lengths[b]` instructions, the last of which is the terminator, and
    /// `successors[b]` after it.
    ///
    /// # Errors
    /// [`Irreducible`] if a cycle can be entered beside its head.
    ///
    /// # Panics
    /// If the two lists differ in length, are empty, or a successor is not a block.
    ///
    /// # Complexity
    /// Time O(b^2 + l e) for b blocks, e edges and l loops; memory O(b l + e).
    pub fn new(lengths: Vec<usize>, successors: Vec<Vec<usize>>) -> Result<Flow, Irreducible> {
        assert_eq!(
            lengths.len(),
            successors.len(),
            "a length and a list of successors a block"
        );
        let mut graph = DiGraph::<(), ()>::new();
        let nodes: Vec<NodeIndex> = lengths.iter().map(|_| graph.add_node(())).collect();
        let mut predecessors = vec![Vec::new(); lengths.len()];
        for (from, list) in successors.iter().enumerate() {
            for &to in list {
                graph.add_edge(nodes[from], nodes[to], ());
                predecessors[to].push(from);
            }
        }
        let dominators = simple_fast(&graph, nodes[0]);
        let mut flow = Flow {
            lengths,
            successors,
            predecessors,
            dominators,
            loops: Vec::new(),
        };
        flow.find_loops()?;
        Ok(flow)
    }

    /// Number of blocks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Whether there is no block at all. Never true for a flow that was made.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// The blocks that may follow `block`.
    #[must_use]
    pub fn successors(&self, block: usize) -> &[usize] {
        &self.successors[block]
    }

    /// The blocks that `block` may follow.
    #[must_use]
    pub fn predecessors(&self, block: usize) -> &[usize] {
        &self.predecessors[block]
    }

    /// Whether control can reach `block`.
    #[must_use]
    pub fn reachable(&self, block: usize) -> bool {
        block == 0 || self.immediate_dominator(block).is_some()
    }

    /// The closest other block that every path to `block` passes.
    #[must_use]
    pub fn immediate_dominator(&self, block: usize) -> Option<usize> {
        self.dominators
            .immediate_dominator(NodeIndex::new(block))
            .map(NodeIndex::index)
    }

    /// Whether every path to `block` passes `over`.
    #[must_use]
    pub fn dominates(&self, over: usize, block: usize) -> bool {
        let mut at = Some(block);
        while let Some(b) = at {
            if b == over {
                return true;
            }
            at = self.immediate_dominator(b);
        }
        false
    }

    /// Whether every path to `point` has executed the instruction at `site`.
    #[must_use]
    pub fn site_dominates(&self, site: Site, point: Point) -> bool {
        if site.block == point.block {
            site.index < point.index
        } else {
            self.dominates(site.block, point.block)
        }
    }

    /// The nearest block that dominates both.
    #[must_use]
    pub fn common_dominator(&self, a: usize, b: usize) -> usize {
        let mut at = a;
        while !self.dominates(at, b) {
            // The entry dominates every reachable block, so the walk ends there at the latest.
            at = self.immediate_dominator(at).unwrap_or(0);
        }
        at
    }

    /// The end of a block: the point before its terminator.
    #[must_use]
    pub fn end_of(&self, block: usize) -> Point {
        Point {
            block,
            index: self.lengths[block].saturating_sub(1),
        }
    }

    /// The point to which something at `point` is lifted, so that no loop holds it which does not hold
    /// every one of `blocks`.
    ///
    /// The result is the end of the block before the outermost such loop.
    #[must_use]
    pub fn lift(&self, point: Point, blocks: &BTreeSet<usize>) -> Point {
        let mut at = point;
        while let Some(outer) = self
            .loops
            .iter()
            .filter(|l| l.blocks.contains(&at.block) && !blocks.is_subset(&l.blocks))
            .max_by_key(|l| l.blocks.len())
        {
            let outside: BTreeSet<usize> = self.predecessors[outer.head]
                .iter()
                .copied()
                .filter(|p| !outer.blocks.contains(p) && self.reachable(*p))
                .collect();
            let before = match outside.first() {
                Some(&only) if outside.len() == 1 => only,
                _ => self.immediate_dominator(outer.head).unwrap_or(0),
            };
            at = self.end_of(before);
        }
        at
    }

    /// The head of the innermost loop around `block`.
    #[must_use]
    pub fn loop_head(&self, block: usize) -> Option<usize> {
        self.loops
            .iter()
            .filter(|l| l.blocks.contains(&block))
            .min_by_key(|l| l.blocks.len())
            .map(|l| l.head)
    }

    /// The blocks of the loop whose head is `head`.
    #[must_use]
    pub fn loop_blocks(&self, head: usize) -> Option<&BTreeSet<usize>> {
        self.loops
            .iter()
            .find(|l| l.head == head)
            .map(|l| &l.blocks)
    }

    /// Blocks that lie on a path from `from` to `to` which does not pass the start of `from` again.
    /// `from` and `to` themselves are among them only if such a path passes them in the middle; `from`
    /// never is.
    #[must_use]
    pub fn between(&self, from: usize, to: usize) -> BTreeSet<usize> {
        let ahead = self.walk(from, from, &self.successors);
        let back = self.walk(to, from, &self.predecessors);
        ahead.intersection(&back).copied().collect()
    }

    /// Every block found from the neighbours of `start`, not entering `barrier`.
    fn walk(&self, start: usize, barrier: usize, next: &[Vec<usize>]) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let mut open = vec![start];
        while let Some(block) = open.pop() {
            for &n in &next[block] {
                if n != barrier && found.insert(n) {
                    open.push(n);
                }
            }
        }
        found
    }

    /// Whether control can get from just after `from` to `to` without passing `barrier`.
    #[must_use]
    pub fn reaches(&self, from: Site, to: Site, barrier: Point) -> bool {
        let stops = |block: usize, first: usize, last: usize| {
            barrier.block == block && first <= barrier.index && barrier.index <= last
        };
        if from.block == to.block && from.index < to.index {
            return !stops(from.block, from.index + 1, to.index);
        }
        if stops(from.block, from.index + 1, usize::MAX) {
            return false;
        }
        let mut found = BTreeSet::new();
        let mut open = self.successors[from.block].clone();
        while let Some(block) = open.pop() {
            if block == to.block && !stops(block, 0, to.index) {
                return true;
            }
            if barrier.block != block && found.insert(block) {
                open.extend(&self.successors[block]);
            }
        }
        false
    }

    fn find_loops(&mut self) -> Result<(), Irreducible> {
        for (from, to) in self.retreating_edges() {
            if !self.dominates(to, from) {
                return Err(Irreducible { edge: (from, to) });
            }
            // The loop of a back edge: whatever reaches its source without passing the head.
            let mut blocks = self.walk(from, to, &self.predecessors);
            blocks.extend([from, to]);
            if from == to {
                blocks = BTreeSet::from([to]);
            }
            blocks.retain(|&b| self.reachable(b));
            match self.loops.iter_mut().find(|l| l.head == to) {
                Some(known) => known.blocks.extend(blocks),
                None => self.loops.push(Loop { head: to, blocks }),
            }
        }
        Ok(())
    }

    /// Edges to a block that the depth-first walk from the entry has not left yet.
    fn retreating_edges(&self) -> Vec<(usize, usize)> {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            New,
            Open,
            Done,
        }
        let mut mark = vec![Mark::New; self.len()];
        let mut stack = vec![(0, 0)];
        let mut edges = Vec::new();
        mark[0] = Mark::Open;
        while let Some((block, next)) = stack.pop() {
            let Some(&to) = self.successors[block].get(next) else {
                mark[block] = Mark::Done;
                continue;
            };
            stack.push((block, next + 1));
            match mark[to] {
                Mark::New => {
                    mark[to] = Mark::Open;
                    stack.push((to, 0));
                }
                Mark::Open => edges.push((block, to)),
                Mark::Done => {}
            }
        }
        edges
    }
}
