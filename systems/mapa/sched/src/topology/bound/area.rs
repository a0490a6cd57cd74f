//! The makespan by device-time, and by the longest job.

use super::super::work::Ideal;

/// The least makespan by device-time, seconds. A job holds its devices for its ideal time or
/// longer, and m devices give m device-seconds a second. So what arrives from a moment on cannot
/// have ended sooner than its device-time over m after that moment.
///
/// # Complexity
/// O(n log n) for n jobs.
pub(super) fn area(jobs: &[Ideal], devices: usize) -> Area {
    let mut late_first: Vec<&Ideal> = jobs.iter().collect();
    late_first.sort_by(|a, b| b.arrives.total_cmp(&a.arrives));
    let (mut end, mut since, mut area) = (0.0, 0.0, 0.0);
    for job in late_first {
        area += job.area();
        let own = job.arrives + area / devices as f64;
        if own > end {
            (end, since) = (own, job.arrives);
        }
    }
    Area {
        makespan: end - first(jobs),
        since,
    }
}

/// The makespan by device-time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Area {
    /// The least makespan, seconds.
    pub(super) makespan: f64,
    /// The moment from which jobs count for it.
    pub(super) since: f64,
}

/// The least makespan by single jobs, seconds: no job ends before its arrival and its ideal time.
/// O(n) for n jobs.
pub(super) fn critical_path(jobs: &[Ideal]) -> f64 {
    let ends = jobs.iter().map(|job| job.arrives + job.seconds);
    ends.fold(0.0, f64::max) - first(jobs)
}

/// The first arrival; 0 without jobs.
pub(super) fn first(jobs: &[Ideal]) -> f64 {
    let arrivals = jobs.iter().map(|job| job.arrives);
    arrivals.reduce(f64::min).unwrap_or_default()
}
