//! The order in which jobs can move.
//!
//! A job can move to devices that are free or its own. If all remaining jobs wait for each other's
//! devices, one of them must step aside: it moves to any place where it can run, and moves again
//! later. The search looks for the order with the fewest such steps.

use super::scores::DeviceMask;

/// Where a job is: the machine, and the devices there.
pub(super) type JobPlace = (usize, DeviceMask);

/// A job that moves: its present place and its destination.
#[derive(Clone, Copy)]
pub(super) struct JobMove {
    pub(super) now: JobPlace,
    pub(super) to: JobPlace,
}

/// A step: a job, its new place, and whether it only steps aside there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MoveStep {
    pub(super) job: usize,
    pub(super) to: JobPlace,
    pub(super) aside: bool,
}

/// The steps of all jobs, in order, with at most `asides` steps aside. `None` if there is no such
/// order. `free` has the free devices of each machine. `places` returns the places to which a job
/// could step aside, given the free devices.
pub(super) fn order(
    ways: &mut [JobMove],
    free: &mut [DeviceMask],
    asides: usize,
    places: &mut impl FnMut(usize, &[DeviceMask], JobPlace) -> Vec<JobPlace>,
) -> Option<Vec<MoveStep>> {
    let mut steps = Vec::new();
    // The destinations of jobs are disjoint, so a job that can move now takes nothing from another.
    while let Some(job) = (0..ways.len()).find(|&job| {
        let JobMove { now, to } = ways[job];
        let own = if now.0 == to.0 { now.1 } else { 0 };
        now != to && to.1 & !(free[to.0] | own) == 0
    }) {
        steps.push(MoveStep {
            job,
            to: ways[job].to,
            aside: false,
        });
        go(&mut ways[job], free, steps[steps.len() - 1].to);
    }
    let waiting: Vec<usize> = (0..ways.len())
        .filter(|&job| ways[job].now != ways[job].to)
        .collect();
    if waiting.is_empty() {
        return Some(steps);
    }
    let asides = asides.checked_sub(1)?;
    for job in waiting {
        for place in places(job, free, ways[job].now) {
            let (mut ways, mut free) = (ways.to_vec(), free.to_vec());
            go(&mut ways[job], &mut free, place);
            if let Some(others) = order(&mut ways, &mut free, asides, places) {
                steps.push(MoveStep {
                    job,
                    to: place,
                    aside: true,
                });
                steps.extend(others);
                return Some(steps);
            }
        }
    }
    None
}

fn go(way: &mut JobMove, free: &mut [DeviceMask], to: JobPlace) {
    free[way.now.0] |= way.now.1;
    free[to.0] &= !to.1;
    way.now = to;
}
