//! What a task holds, and what it has queued, at a point.

use crate::flow::{Flow, Point, Site, Where};
use crate::task::{Effect, Task};
use std::collections::{BTreeMap, BTreeSet};

/// Whether a task holds memory at a point, if every allocation on the way succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Held {
    /// On no path.
    No,
    /// On some path.
    Maybe,
    /// On every path.
    Surely,
}

/// Slots held on some path and on every path. Absent: no path has come by yet.
type Slots = Option<(u128, u128)>;

fn after(task: &Task, site: Site, (mut may, mut must): (u128, u128)) -> (u128, u128) {
    for effect in task.effects.get(&site).into_iter().flatten() {
        match effect {
            Effect::Allocate(slot) => {
                may |= 1 << slot;
                must |= 1 << slot;
            }
            Effect::Free(slots) => {
                for slot in slots {
                    must &= !(1 << slot);
                }
                if let [only] = slots[..] {
                    may &= !(1 << only);
                }
            }
            Effect::FreeAll => (may, must) = (0, 0),
            Effect::Queue(_) | Effect::Wait(_) => {}
        }
    }
    (may, must)
}

/// The sites that free memory which is surely there, if every allocation on the way succeeded. A call
/// that frees a null pointer does nothing, and does not wait for the device either.
pub fn frees_surely(flow: &Flow, task: &Task, begin: Point) -> BTreeSet<Site> {
    let at_start = slots(flow, task, begin);
    let mut found = BTreeSet::new();
    for (&site, effects) in &task.effects {
        let state = match site.index.checked_sub(1) {
            Some(before) => through(task, begin, site.block, at_start[site.block], before),
            None => at_start[site.block],
        };
        let must = state.map_or(0, |(_, must)| must);
        let frees = |e: &Effect| matches!(e, Effect::Free(slots) if slots.iter().any(|s| must >> s & 1 == 1));
        if effects.iter().any(frees) {
            found.insert(site);
        }
    }
    found
}

/// For each of `ends`, whether the task that began at `begin` holds memory there.
pub fn held(flow: &Flow, task: &Task, begin: Point, ends: &[Where]) -> Vec<Held> {
    let at_start = slots(flow, task, begin);
    let mut kinds = Vec::with_capacity(ends.len());
    for end in ends {
        let slots = match *end {
            Where::After(site) => {
                through(task, begin, site.block, at_start[site.block], site.index)
            }
            Where::Edge(from, to) => {
                let out = through(task, begin, from, at_start[from], usize::MAX);
                out.map(|out| on_edge(task, from, to, out))
            }
        };
        kinds.push(match slots {
            None | Some((0, _)) => Held::No,
            Some((_, 0)) => Held::Maybe,
            Some(_) => Held::Surely,
        });
    }
    kinds
}

/// For each block, the slots held at its start.
fn slots(flow: &Flow, task: &Task, begin: Point) -> Vec<Slots> {
    let mut at_start: Vec<Slots> = vec![None; flow.len()];
    let mut todo = vec![begin.block];
    while let Some(block) = todo.pop() {
        let Some(out) = through(task, begin, block, at_start[block], usize::MAX) else {
            continue;
        };
        for &s in flow.successors(block) {
            let (may, must) = on_edge(task, block, s, out);
            let joined = match at_start[s] {
                None => (may, must),
                Some((may0, must0)) => (may | may0, must & must0),
            };
            if at_start[s] != Some(joined) {
                at_start[s] = Some(joined);
                todo.push(s);
            }
        }
    }
    at_start
}

/// The state after instruction `last` of `block`.
fn through(task: &Task, begin: Point, block: usize, start: Slots, last: usize) -> Slots {
    // What was held before the begin is none of this task's: the walk starts there with nothing.
    let mut state = if begin.block == block {
        Some((0, 0))
    } else {
        start
    };
    let from = Site { block, index: 0 };
    for &site in task.sites.range(from..=Site { block, index: last }) {
        state = state.map(|s| after(task, site, s));
    }
    state
}

fn on_edge(task: &Task, from: usize, to: usize, (may, must): (u128, u128)) -> (u128, u128) {
    let failed = task
        .failed
        .get(&(from, to))
        .into_iter()
        .flatten()
        .fold(0_u128, |bits, slot| bits | 1 << slot);
    (may & !failed, must & !failed)
}

/// Streams with queued work.
type Streams = BTreeSet<usize>;

/// For each of `ends`, whether work that the task queued may still run there.
pub fn pending(flow: &Flow, task: &Task, ends: &[Where]) -> Vec<bool> {
    let at_start = queued(flow, task, &BTreeMap::new(), &BTreeSet::new());
    let mut answers = Vec::with_capacity(ends.len());
    for end in ends {
        let (block, last) = match *end {
            Where::After(site) => (site.block, site.index),
            Where::Edge(from, _) => (from, usize::MAX),
        };
        let mut state = at_start[block].clone();
        for &site in task
            .sites
            .range(Site { block, index: 0 }..=Site { block, index: last })
        {
            queue(&mut state, task.effects.get(&site).into_iter().flatten());
        }
        answers.push(!state.is_empty());
    }
    answers
}

/// The synchronisations among `waits` that `task` should take over, since work it queued may still run
/// when control gets there, and no operation of another task, at `others`, stands between.
pub fn waits_of(
    flow: &Flow,
    task: &Task,
    waits: &BTreeMap<Site, Effect>,
    others: &BTreeSet<Site>,
) -> Vec<Site> {
    let at_start = queued(flow, task, waits, others);
    let mut taken = Vec::new();
    for (block, start) in at_start.iter().enumerate() {
        let mut state = start.clone();
        for site in in_block(task, waits, others, block) {
            if let Some(Effect::Wait(stream)) = waits.get(&site) {
                let matters = match stream {
                    None => !state.is_empty(),
                    Some(stream) => state.contains(stream),
                };
                if matters {
                    taken.push(site);
                }
            }
            step(&mut state, task, waits, others, site);
        }
    }
    taken
}

fn in_block(
    task: &Task,
    waits: &BTreeMap<Site, Effect>,
    others: &BTreeSet<Site>,
    block: usize,
) -> BTreeSet<Site> {
    let all = task.sites.iter().chain(waits.keys()).chain(others);
    all.copied().filter(|s| s.block == block).collect()
}

fn step(
    state: &mut Streams,
    task: &Task,
    waits: &BTreeMap<Site, Effect>,
    others: &BTreeSet<Site>,
    site: Site,
) {
    if task.sites.contains(&site) {
        queue(state, task.effects.get(&site).into_iter().flatten());
    } else if others.contains(&site) {
        state.clear();
    } else {
        queue(state, waits.get(&site));
    }
}

fn queue<'a>(state: &mut Streams, effects: impl IntoIterator<Item = &'a Effect>) {
    for effect in effects {
        match effect {
            Effect::Queue(stream) => {
                state.insert(*stream);
            }
            Effect::Wait(None) | Effect::FreeAll => state.clear(),
            Effect::Wait(Some(stream)) => {
                state.remove(stream);
            }
            Effect::Allocate(_) | Effect::Free(_) => {}
        }
    }
}

/// For each block, the streams on which the task's work may still run at its start.
fn queued(
    flow: &Flow,
    task: &Task,
    waits: &BTreeMap<Site, Effect>,
    others: &BTreeSet<Site>,
) -> Vec<Streams> {
    let mut at_start: Vec<Streams> = vec![Streams::new(); flow.len()];
    let mut todo: Vec<usize> = (0..flow.len()).collect();
    while let Some(block) = todo.pop() {
        let mut state = at_start[block].clone();
        for site in in_block(task, waits, others, block) {
            step(&mut state, task, waits, others, site);
        }
        for &s in flow.successors(block) {
            let before = at_start[s].len();
            at_start[s].extend(&state);
            if at_start[s].len() != before {
                todo.push(s);
            }
        }
    }
    at_start
}
