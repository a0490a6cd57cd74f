//! How many of the jobs that wait are how long, as learned rules observe it.

use mapa_sched::slices::SliceJob;

/// The bins of a histogram.
pub(super) const BINS: usize = 10;

/// The lower edges of the bins, minutes. The last bin has no upper edge. What lies below the first
/// edge is in no bin.
pub(super) const EDGES: [f64; BINS] = [-100.0, 0.0, 0.05, 0.2, 0.5, 1.0, 5.0, 10.0, 20.0, 30.0];

/// The jobs that wait, counted by their mean run time on slices of 1 and 2, by that on slices of 3
/// and 4, and by their run time on a whole GPU. Arrivals and starts change the counts, so that
/// nobody need visit the queue: O(bins).
#[derive(Clone, Debug, Default)]
pub(super) struct Histograms([[u32; BINS]; 3]);

/// The run times of a job by which it is counted, minutes.
pub(super) fn lengths(job: &SliceJob) -> [f64; 3] {
    let [p1, p2, p3, p4, p7] = job.minutes();
    [(p1 + p2) / 2.0, (p3 + p4) / 2.0, p7]
}

/// The bin of a run time. No run time is below the first edge.
fn bin(minutes: f64) -> usize {
    EDGES[1..].partition_point(|&edge| edge <= minutes)
}

impl Histograms {
    /// Counts a job that begins to wait.
    pub(super) fn add(&mut self, job: &SliceJob) {
        for (counts, minutes) in self.0.iter_mut().zip(lengths(job)) {
            counts[bin(minutes)] += 1;
        }
    }

    /// Counts a job no longer that was counted.
    pub(super) fn remove(&mut self, job: &SliceJob) {
        for (counts, minutes) in self.0.iter_mut().zip(lengths(job)) {
            counts[bin(minutes)] -= 1;
        }
    }

    /// The jobs in each bin, by each of the three run times.
    pub(super) fn counts(&self) -> &[[u32; BINS]; 3] {
        &self.0
    }
}
