//! On random flows, whichever way control takes: a task is open at its operations, is begun only while
//! closed, and is closed at the end but for memory that is left.

use mapa_case_placement::{Effect, Flow, Held, Placement, Site, Task, Where, merge, place};
use proptest::prelude::*;
use std::collections::BTreeSet;

const LENGTH: usize = 8;

/// A flow in which no edge is critical and every loop has a block before it, as the pass makes them.
fn any_flow() -> impl Strategy<Value = Flow> {
    let edges = prop::collection::vec((0_usize..12, 0_usize..12), 4..20);
    (4_usize..12, edges).prop_filter_map("a reducible flow", |(blocks, edges)| {
        let mut successors = vec![BTreeSet::new(); blocks];
        for (block, next) in successors.iter_mut().take(blocks - 1).enumerate() {
            next.insert(block + 1);
        }
        for (from, to) in edges {
            if from < blocks
                && to < blocks
                && to != 0
                && from != blocks - 1
                && successors[from].len() < 3
            {
                successors[from].insert(to);
            }
        }
        let mut lists: Vec<Vec<usize>> = successors
            .into_iter()
            .map(|s| s.into_iter().collect())
            .collect();
        split(&mut lists);
        Flow::new(vec![LENGTH; lists.len()], lists).ok()
    })
}

/// Gives each edge a block of its own.
fn split(lists: &mut Vec<Vec<usize>>) {
    for from in 0..lists.len() {
        for i in 0..lists[from].len() {
            let to = lists[from][i];
            lists.push(vec![to]);
            lists[from][i] = lists.len() - 1;
        }
    }
}

fn any_task(
    slots: std::ops::Range<usize>,
) -> impl Strategy<Value = Vec<(usize, usize, usize, usize)>> {
    prop::collection::vec((0_usize..40, 1..LENGTH - 1, 0_usize..4, slots), 1..7)
}

fn task(flow: &Flow, parts: &[(usize, usize, usize, usize)]) -> Task {
    let mut task = Task::default();
    for &(block, index, kind, slot) in parts {
        let effect = match kind {
            0 => vec![Effect::Allocate(slot)],
            1 => vec![Effect::Free(vec![slot])],
            _ => Vec::new(),
        };
        task.add(
            Site {
                block: block % flow.len(),
                index,
            },
            effect,
        );
    }
    task
}

/// Walks through the flow by `choices`, and checks the task.
fn walk(
    flow: &Flow,
    task: &Task,
    placement: &Placement,
    choices: &[usize],
) -> Result<(), TestCaseError> {
    let mut choices = choices.iter();
    let (mut block, mut open, mut kept) = (0, false, false);
    let mut held = BTreeSet::new();
    loop {
        for index in 0..LENGTH {
            if (placement.begin.block, placement.begin.index) == (block, index) {
                prop_assert!(!open || kept, "begun while open in block {block}");
                (open, kept) = (true, false);
                held.clear();
            }
            let site = Site { block, index };
            if task.sites.contains(&site) {
                prop_assert!(open, "{site:?} is outside");
                for effect in task.effects.get(&site).into_iter().flatten() {
                    match effect {
                        Effect::Allocate(slot) => {
                            held.insert(*slot);
                        }
                        Effect::Free(slots) => {
                            for slot in slots {
                                held.remove(slot);
                            }
                        }
                        _ => {}
                    }
                }
            }
            end(placement, Where::After(site), &held, &mut open, &mut kept)?;
        }
        let next = flow.successors(block);
        let (Some(choice), false) = (choices.next(), next.is_empty()) else {
            let ended = next.is_empty();
            prop_assert!(!ended || !open || kept, "open at the end");
            return Ok(());
        };
        let to = next[choice % next.len()];
        end(
            placement,
            Where::Edge(block, to),
            &held,
            &mut open,
            &mut kept,
        )?;
        block = to;
    }
}

fn end(
    placement: &Placement,
    place: Where,
    held: &BTreeSet<usize>,
    open: &mut bool,
    kept: &mut bool,
) -> Result<(), TestCaseError> {
    for (_, kind) in placement.ends.iter().filter(|(w, _)| *w == place) {
        prop_assert!(*open && !*kept, "ended twice at {place:?}");
        match kind {
            Held::No => prop_assert!(held.is_empty(), "memory is held at {place:?}"),
            Held::Surely => prop_assert!(!held.is_empty(), "no memory is held at {place:?}"),
            Held::Maybe => {}
        }
        if held.is_empty() {
            *open = false;
        } else {
            *kept = true;
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_way_begins_and_ends_in_turn(
        flow in any_flow(),
        parts in any_task(0..3),
        ways in prop::collection::vec(prop::collection::vec(0_usize..6, 0..60), 8),
    ) {
        let task = task(&flow, &parts);
        if let Some(placement) = place(&flow, &task, &[]) {
            for way in ways {
                walk(&flow, &task, &placement, &way)?;
            }
        }
    }

    #[test]
    fn after_merging_no_task_begins_inside_another(
        flow in any_flow(),
        parts in (any_task(0..2), any_task(2..4), any_task(4..6)),
        ways in prop::collection::vec(prop::collection::vec(0_usize..6, 0..60), 4),
    ) {
        let tasks = [parts.0, parts.1, parts.2].map(|p| task(&flow, &p)).to_vec();
        let merged = merge(&flow, tasks);
        for (_, task, placement) in &merged {
            for way in &ways {
                walk(&flow, task, placement, way)?;
            }
            for (_, _, other) in &merged {
                if other.begin != placement.begin {
                    let inside = mapa_case_placement::is_open_at(&flow, placement, other.begin);
                    prop_assert!(!inside, "{:?} in {placement:?}", other.begin);
                }
            }
        }
    }
}
