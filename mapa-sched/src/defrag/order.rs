//! In which order jobs can move.
//!
//! A job can go where nobody is but itself. Where all that are left wait for each other, one of them must step aside, to any place
//! on which it can run; the fewest such steps are looked for.

use super::scores::Mask;

/// Where a job is: the machine, the devices there.
pub(super) type Place = (usize, Mask);

/// A job under way: where it is, where it is to go.
#[derive(Clone, Copy)]
pub(super) struct Way {
    pub(super) now: Place,
    pub(super) to: Place,
}

/// A step: which job goes where, and whether it stays there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) job: usize,
    pub(super) to: Place,
    pub(super) aside: bool,
}

/// The steps of all jobs, in order, with at most `asides` steps aside; none, if there is no such order. `free` are the
/// devices of each machine that nobody has; `places` are those where a job could step aside, given what is free.
pub(super) fn order(
    ways: &mut [Way],
    free: &mut [Mask],
    asides: usize,
    places: &mut impl FnMut(usize, &[Mask], Place) -> Vec<Place>,
) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    // Where a job goes nobody else wants to go: whoever can go may.
    while let Some(job) = (0..ways.len()).find(|&job| {
        let Way { now, to } = ways[job];
        let own = if now.0 == to.0 { now.1 } else { 0 };
        now != to && to.1 & !(free[to.0] | own) == 0
    }) {
        steps.push(Step { job, to: ways[job].to, aside: false });
        go(&mut ways[job], free, steps[steps.len() - 1].to);
    }
    let waiting: Vec<usize> = (0..ways.len()).filter(|&job| ways[job].now != ways[job].to).collect();
    if waiting.is_empty() {
        return Some(steps);
    }
    let asides = asides.checked_sub(1)?;
    for job in waiting {
        for place in places(job, free, ways[job].now) {
            let (mut ways, mut free) = (ways.to_vec(), free.to_vec());
            go(&mut ways[job], &mut free, place);
            if let Some(others) = order(&mut ways, &mut free, asides, places) {
                steps.push(Step { job, to: place, aside: true });
                steps.extend(others);
                return Some(steps);
            }
        }
    }
    None
}

fn go(way: &mut Way, free: &mut [Mask], to: Place) {
    free[way.now.0] |= way.now.1;
    free[to.0] &= !to.1;
    way.now = to;
}
