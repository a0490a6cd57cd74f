//! Placements on small flows that are drawn by hand.

use mapa_case_placement::{
    Effect, Flow, Held, Placement, Point, Site, Task, Where, merge, pending, place, waits_of,
};
use std::collections::{BTreeMap, BTreeSet};

fn flow(edges: &[(usize, &[usize])]) -> Flow {
    let blocks = edges.len();
    let mut successors = vec![Vec::new(); blocks];
    for (from, to) in edges {
        successors[*from] = to.to_vec();
    }
    Flow::new(vec![10; blocks], successors).unwrap()
}

fn site(block: usize, index: usize) -> Site {
    Site { block, index }
}

/// A task that allocates, uses and frees slot `slot` at three sites.
fn life(slot: usize, sites: [Site; 3]) -> Task {
    let mut task = Task::default();
    task.add(sites[0], [Effect::Allocate(slot)]);
    task.add(sites[1], []);
    task.add(sites[2], [Effect::Free(vec![slot])]);
    task
}

fn check(flow: &Flow, task: &Task, begin: (usize, usize), ends: &[(Where, Held)]) {
    let placement = place(flow, task, &[]).unwrap();
    let expected = Placement {
        begin: Point {
            block: begin.0,
            index: begin.1,
        },
        ends: ends.to_vec(),
    };
    assert_eq!(placement, expected, "{task:?}");
}

#[test]
fn in_one_block_the_task_spans_its_operations() {
    let task = life(0, [site(0, 1), site(0, 4), site(0, 7)]);
    check(
        &flow(&[(0, &[])]),
        &task,
        (0, 1),
        &[(Where::After(site(0, 7)), Held::No)],
    );
}

#[test]
fn an_early_return_ends_the_task_on_its_edge() {
    // 0 allocates and returns through 1 or goes on to 2, which uses and frees.
    let flow = flow(&[(0, &[1, 2]), (1, &[]), (2, &[])]);
    let mut task = life(0, [site(0, 1), site(2, 1), site(2, 2)]);
    let after = (Where::After(site(2, 2)), Held::No);
    check(
        &flow,
        &task,
        (0, 1),
        &[(Where::Edge(0, 1), Held::Surely), after],
    );
    // If the way through 1 is that of a failed allocation, nothing is held there.
    task.failed.insert((0, 1), vec![0]);
    check(
        &flow,
        &task,
        (0, 1),
        &[(Where::Edge(0, 1), Held::No), after],
    );
}

#[test]
fn what_lives_one_turn_stays_in_the_loop() {
    // 0 -> 1 (head) -> 2 (turn) -> 1, 1 -> 3.
    let flow = flow(&[(0, &[1]), (1, &[2, 3]), (2, &[1]), (3, &[])]);
    let task = life(0, [site(2, 1), site(2, 2), site(2, 3)]);
    check(
        &flow,
        &task,
        (2, 1),
        &[(Where::After(site(2, 3)), Held::No)],
    );
}

#[test]
fn what_lives_longer_than_the_loop_begins_before_it() {
    let flow = flow(&[(0, &[1]), (1, &[2, 3]), (2, &[1]), (3, &[])]);
    // Used in the turn, freed behind the loop: the dominator is the head, which the loop repeats.
    let mut task = Task::default();
    task.add(site(2, 1), []);
    task.add(site(3, 1), [Effect::Free(vec![0])]);
    check(
        &flow,
        &task,
        (0, 9),
        &[(Where::After(site(3, 1)), Held::No)],
    );
}

#[test]
fn memory_on_one_path_alone_may_be_held_where_paths_meet() {
    // 0 -> 1 (allocates) -> 2, 0 -> 2; 2 -> 3 (frees) -> 4, 2 -> 4.
    let flow = flow(&[(0, &[1, 2]), (1, &[2]), (2, &[3, 4]), (3, &[4]), (4, &[])]);
    let mut task = Task::default();
    task.add(site(1, 1), [Effect::Allocate(0)]);
    task.add(site(3, 1), [Effect::Free(vec![0])]);
    let ends = [
        (Where::Edge(2, 4), Held::Maybe),
        (Where::After(site(3, 1)), Held::No),
    ];
    check(&flow, &task, (0, 9), &ends);
}

#[test]
fn tasks_one_after_the_other_stay_apart_and_nested_ones_become_one() {
    let flow = flow(&[(0, &[])]);
    let apart = vec![
        life(0, [site(0, 1), site(0, 2), site(0, 3)]),
        life(1, [site(0, 4), site(0, 5), site(0, 6)]),
    ];
    assert_eq!(merge(&flow, apart).len(), 2);
    let nested = vec![
        life(0, [site(0, 1), site(0, 2), site(0, 4)]),
        life(1, [site(0, 3), site(0, 5), site(0, 6)]),
    ];
    let merged = merge(&flow, nested);
    let [(numbers, _, placement)] = &merged[..] else {
        panic!("{merged:?}")
    };
    assert_eq!(
        (numbers, placement.begin),
        (&vec![0, 1], Point { block: 0, index: 1 })
    );
}

#[test]
fn a_task_that_is_never_freed_takes_in_what_begins_later() {
    let flow = flow(&[(0, &[])]);
    let mut kept = Task::default();
    kept.add(site(0, 1), [Effect::Allocate(0)]);
    let merged = merge(
        &flow,
        vec![kept, life(1, [site(0, 4), site(0, 5), site(0, 6)])],
    );
    assert_eq!(merged.len(), 1);
}

#[test]
fn a_wait_is_taken_over_if_it_waits_for_work_that_is_queued() {
    let flow = flow(&[(0, &[])]);
    let mut task = Task::default();
    task.add(site(0, 1), [Effect::Queue(7)]);
    let waits = BTreeMap::from([
        (site(0, 3), Effect::Wait(Some(8))),
        (site(0, 4), Effect::Wait(Some(7))),
    ]);
    let none = BTreeSet::new();
    assert_eq!(waits_of(&flow, &task, &waits, &none), [site(0, 4)]);
    // An operation of another task stands between: that task would become one with this.
    assert!(waits_of(&flow, &task, &waits, &BTreeSet::from([site(0, 2)])).is_empty());
    assert_eq!(pending(&flow, &task, &[Where::After(site(0, 1))]), [true]);
    task.add(site(0, 4), [Effect::Wait(Some(7))]);
    assert_eq!(pending(&flow, &task, &[Where::After(site(0, 4))]), [false]);
}

#[test]
fn a_loop_with_two_ways_in_is_refused() {
    let jump = Flow::new(vec![1; 3], vec![vec![1, 2], vec![2], vec![1]]);
    assert!(jump.unwrap_err().to_string().contains("beside its head"));
}
