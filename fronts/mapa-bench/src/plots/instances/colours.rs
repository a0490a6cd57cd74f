//! Which colour each job has.

use std::collections::BTreeMap;

use mapa_sched::JobId;

use super::Band;

/// Chooses one of so many colours for each job that shares: in order of arrival, the next one in turn
/// that no job has which lies on the same instance beside it or right before or behind it. If all
/// are taken, the next one in turn. O(n²) for n tenants of an instance.
pub(super) fn colours(bands: &[Band<'_>], number: usize) -> BTreeMap<JobId, usize> {
    let mut jobs = Vec::new();
    let mut beside: BTreeMap<JobId, Vec<JobId>> = BTreeMap::new();
    for lane in bands.iter().flat_map(|band| &band.lanes) {
        let shared = || lane.occupants.iter().filter(|occupant| !occupant.exclusive);
        for occupant in shared() {
            let job = occupant.tenant.job();
            jobs.push((occupant.from, job));
            // Both ends count: jobs that touch in the picture must differ too.
            let others = shared()
                .filter(|other| other.from <= occupant.until && occupant.from <= other.until);
            let others = others.map(|other| other.tenant.job());
            let others = others.filter(|&other| other != job);
            beside.entry(job).or_default().extend(others);
        }
    }
    jobs.sort_unstable();
    let mut chosen: BTreeMap<JobId, usize> = BTreeMap::new();
    for (_, job) in jobs {
        if chosen.contains_key(&job) {
            continue;
        }
        let next = chosen.len();
        let taken = |colour: &usize| {
            let mut others = beside.get(&job).into_iter().flatten();
            others.any(|other| chosen.get(other) == Some(colour))
        };
        let mut colours = (next..next + number).map(|at| at % number);
        let colour = colours.find(|colour| !taken(colour));
        chosen.insert(job, colour.unwrap_or(next % number));
    }
    chosen
}
