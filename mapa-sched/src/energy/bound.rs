//! What no schedule draws less than.

use super::job::{SIZES, SliceJob};
use super::power::Power;

/// The least busy compute-slice minutes that a job can take: the size times the run time there. That
/// is its run time on a slice of 1 only where larger slices are no more efficient.
fn work(job: &SliceJob) -> f64 {
    SIZES
        .iter()
        .zip(job.minutes())
        .map(|(&size, minutes)| f64::from(size) * minutes)
        .fold(f64::INFINITY, f64::min)
}

/// The least energy of any schedule of these jobs on GPUs that all are on from minute 0 to the last
/// end, watt-minutes: `gpus x C x P(0) + (P(7) - P(0)) x work / 7`, where C is the earliest possible
/// last end with arrivals. `None` if the power lies below its [chord](Power::is_above_chord), where
/// that is no bound.
///
/// It holds for fixed and for changing layouts, with and without preemption. The sum over busy
/// slices is at least the work, and power above the chord draws at least its part of P(7) - P(0)
/// for each of them. Concavity is not needed. After Hisaria et al., whose bound has no arrivals; see
/// [`printed_energy_bound`]. O(n log n) for n jobs.
#[must_use]
pub fn energy_bound(jobs: &[SliceJob], gpus: usize, power: &Power) -> Option<f64> {
    if !power.is_above_chord() || gpus == 0 {
        return None;
    }
    let gpus = gpus as f64;
    let mut late_first: Vec<(f64, f64)> =
        jobs.iter().map(|own| (own.arrives(), work(own))).collect();
    late_first.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (mut end, mut sum) = (0.0_f64, 0.0);
    for (arrives, work) in late_first {
        sum += work / 7.0;
        end = end.max(arrives + sum / gpus);
    }
    for job in jobs {
        end = end.max(job.arrives() + job.fastest());
    }
    let (idle, full) = (power.watts(0), power.watts(7));
    Some(gpus * end * idle + (full - idle) * sum)
}

/// The bound on energy as Hisaria et al. print it, watt-minutes, with jobs linearised by their run
/// time on a slice of 1: `sum(p7 P7) + (m C* - sum p7) P0`. It is wrong for jobs that larger slices
/// run more than in proportion faster, where idle GPUs are off, and for power below the chord. It
/// is here to be compared with. O(n) for n jobs.
#[must_use]
pub fn printed_energy_bound(jobs: &[SliceJob], gpus: usize, power: &Power) -> f64 {
    let gpus = gpus as f64;
    let linear = jobs.iter().map(|own| own.minutes()[0] / 7.0);
    let sum: f64 = linear.clone().sum();
    let end = linear.fold(sum / gpus, f64::max);
    sum * power.watts(7) + (gpus * end - sum) * power.watts(0)
}
