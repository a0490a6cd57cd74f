//! Begin, ends, and tasks that would nest.
//!
//! The begin is the nearest common dominator of the operations, lifted out of loops that do not hold
//! them all. The ends are a frontier, not the post-dominator: a block is *live* if an operation can be
//! reached from it without passing the begin. An end stands after the last operation of a block without
//! live successor, and on each edge from a live block to one that is not. So an early return, an
//! exception or a call of `exit` needs no case of its own, and each path ends the task once. With the
//! post-dominator instead, a call of `exit` moves the end of every task to the end of the function.

use crate::effects::{Held, held};
use crate::flow::{Flow, Point, Site, Where};
use crate::task::Task;
use std::collections::BTreeSet;

/// Begin and ends of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Where memory is asked for.
    pub begin: Point,
    /// Where it is given back, and whether the task may hold memory there.
    pub ends: Vec<(Where, Held)>,
}

/// Begin and ends of `task`. With `early`, the begin also dominates these blocks.
///
/// Returns `None` if the task has no operation that control can reach.
///
/// # Complexity
/// Time O(b (b + e)) for b blocks and e edges; memory O(b).
#[must_use]
pub fn place(flow: &Flow, task: &Task, early: &[Point]) -> Option<Placement> {
    let begin = begin(flow, task, early)?;
    let live = live_in(flow, task, begin);
    let mut ends = Vec::new();
    for block in 0..flow.len() {
        let last = last_site(task, block);
        let goes_on = flow.successors(block).iter().any(|&s| live[s]);
        if let (Some(site), false) = (last, goes_on) {
            ends.push(Where::After(site));
        }
        // A block that holds the begin is inside the task at its end, though not live at its start.
        if goes_on && (live[block] || block == begin.block) {
            let dead: BTreeSet<usize> = flow
                .successors(block)
                .iter()
                .copied()
                .filter(|&s| !live[s])
                .collect();
            ends.extend(dead.into_iter().map(|s| Where::Edge(block, s)));
        }
    }
    let kinds = held(flow, task, begin, &ends);
    Some(Placement {
        begin,
        ends: ends.into_iter().zip(kinds).collect(),
    })
}

fn begin(flow: &Flow, task: &Task, early: &[Point]) -> Option<Point> {
    let mut blocks: BTreeSet<usize> = task
        .blocks()
        .into_iter()
        .filter(|&b| flow.reachable(b))
        .collect();
    if blocks.is_empty() {
        return None;
    }
    blocks.extend(early.iter().map(|p| p.block));
    let block = blocks
        .iter()
        .copied()
        .reduce(|a, b| flow.common_dominator(a, b))?;
    let sites = task.sites.iter().copied().map(Point::from);
    let first = sites
        .chain(early.iter().copied())
        .filter(|p| p.block == block)
        .min();
    let lifted = flow.lift(first.unwrap_or_else(|| flow.end_of(block)), &blocks);
    Some(lifted)
}

fn last_site(task: &Task, block: usize) -> Option<Site> {
    task.sites
        .iter()
        .copied()
        .filter(|s| s.block == block)
        .max()
}

/// For each block, whether an operation can be reached from its start without passing the begin.
fn live_in(flow: &Flow, task: &Task, begin: Point) -> Vec<bool> {
    let busy = task.blocks();
    let mut live: Vec<bool> = (0..flow.len())
        .map(|b| busy.contains(&b) && b != begin.block)
        .collect();
    let mut open: Vec<usize> = (0..flow.len()).filter(|&b| live[b]).collect();
    if busy.contains(&begin.block) {
        // Operations of the begin's block come after the begin.
        open.retain(|&b| b != begin.block);
    }
    while let Some(block) = open.pop() {
        for &p in flow.predecessors(block) {
            if !live[p] && p != begin.block && flow.reachable(p) {
                live[p] = true;
                open.push(p);
            }
        }
    }
    live
}

/// Whether a task placed so is open at `point`.
///
/// An end where the task surely holds memory does not close it: the memory stays to the end of the
/// process.
#[must_use]
pub fn is_open_at(flow: &Flow, placement: &Placement, point: Point) -> bool {
    let open = open_in(flow, placement);
    open_within(placement, point.block, point.index, open[point.block])
}

/// Whether the task is open before instruction `index` of `block`, if it was at the block's start.
fn open_within(placement: &Placement, block: usize, index: usize, at_start: bool) -> bool {
    let mut open = at_start;
    let mut events: Vec<(usize, bool)> = closing(placement)
        .filter_map(|w| match w {
            Where::After(s) if s.block == block => Some((s.index + 1, false)),
            _ => None,
        })
        .collect();
    if placement.begin.block == block {
        events.push((placement.begin.index, true));
    }
    // `false` sorts first: at one point, ends come before begins.
    events.sort_unstable();
    for (at, begins) in events {
        if at <= index {
            open = begins;
        }
    }
    open
}

fn closing(placement: &Placement) -> impl Iterator<Item = Where> + '_ {
    placement
        .ends
        .iter()
        .filter(|(_, held)| *held != Held::Surely)
        .map(|(w, _)| *w)
}

/// For each block, whether the task can be open at its start.
fn open_in(flow: &Flow, placement: &Placement) -> Vec<bool> {
    let closed: BTreeSet<(usize, usize)> = closing(placement)
        .filter_map(|w| match w {
            Where::Edge(a, b) => Some((a, b)),
            Where::After(_) => None,
        })
        .collect();
    let mut open = vec![false; flow.len()];
    let mut todo = vec![placement.begin.block];
    while let Some(block) = todo.pop() {
        if !open_within(placement, block, usize::MAX - 1, open[block]) {
            continue;
        }
        for &s in flow.successors(block) {
            if !closed.contains(&(block, s)) && !open[s] {
                open[s] = true;
                todo.push(s);
            }
        }
    }
    open
}

/// Joins tasks of which one begins inside another, until none does. Each answer holds the numbers of
/// the tasks that became one, the joined task and its placement, in order of begins.
///
/// # Complexity
/// Time O(t^3 b (b + e)) for t tasks; memory O(t b).
#[must_use]
pub fn merge(flow: &Flow, tasks: Vec<Task>) -> Vec<(Vec<usize>, Task, Placement)> {
    let mut all: Vec<(Vec<usize>, Task, Placement)> = Vec::new();
    for (number, task) in tasks.into_iter().enumerate() {
        if let Some(placement) = place(flow, &task, &[]) {
            all.push((vec![number], task, placement));
        }
    }
    while let Some((outer, inner)) = nested(flow, &all) {
        let (numbers, task, _) = all.remove(outer.max(inner));
        let kept = &mut all[outer.min(inner)];
        kept.0.extend(numbers);
        kept.0.sort_unstable();
        kept.1.join(task);
        if let Some(placement) = place(flow, &kept.1, &[]) {
            kept.2 = placement;
        }
    }
    all.sort_by_key(|(numbers, _, placement)| (placement.begin, numbers.clone()));
    all
}

fn nested(flow: &Flow, all: &[(Vec<usize>, Task, Placement)]) -> Option<(usize, usize)> {
    for (outer, (_, _, a)) in all.iter().enumerate() {
        for (inner, (_, _, b)) in all.iter().enumerate() {
            if outer != inner && (a.begin == b.begin || is_open_at(flow, a, b.begin)) {
                return Some((outer, inner));
            }
        }
    }
    None
}
