//! What no schedule draws less than.

use mapa_sched::slices::Power;
use mapa_sched::slices::SliceJob;

/// The least energy of any schedule of these jobs on GPUs that all are on from minute 0 to the last
/// end, watt-minutes: `gpus x C x P(0) + (P(7) - P(0)) x work / 7`, where C is the earliest possible
/// last end with arrivals, and work is the sum of [`SliceJob::work`]. `None` if the power lies below its
/// [chord](Power::is_above_chord), where that is no bound.
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
    let sum = jobs.iter().map(SliceJob::work).sum();
    Some(above_chord(gpus, last_end(jobs, gpus as f64), sum, power))
}

/// As [`energy_bound`], of schedules that may start each job at minute 0: C is the larger of the longest
/// run time on a whole GPU and `work / (7 x gpus)`. It is below the other, and is what is left of the
/// printed formula where its proof holds. O(n) for n jobs.
#[must_use]
pub fn bare_energy_bound(jobs: &[SliceJob], gpus: usize, power: &Power) -> Option<f64> {
    if !power.is_above_chord() || gpus == 0 {
        return None;
    }
    let sum: f64 = jobs.iter().map(SliceJob::work).sum();
    let longest = jobs.iter().map(SliceJob::fastest).fold(0.0, f64::max);
    let end = longest.max(sum / 7.0 / gpus as f64);
    Some(above_chord(gpus, end, sum, power))
}

fn above_chord(gpus: usize, end: f64, work: f64, power: &Power) -> f64 {
    let (idle, full) = (power.watts(0), power.watts(7));
    gpus as f64 * end * idle + (full - idle) * (work / 7.0)
}

/// The earliest minute at which all jobs can have ended on GPUs that together are this many: what
/// arrives from a moment on cannot be done sooner than all GPUs could do it, nor a job sooner than a
/// whole GPU. 0 without jobs.
pub(super) fn last_end(jobs: &[SliceJob], gpus: f64) -> f64 {
    let mut late_first: Vec<&SliceJob> = jobs.iter().collect();
    late_first.sort_by(|a, b| b.arrives().total_cmp(&a.arrives()));
    let (mut end, mut work) = (0.0_f64, 0.0);
    for slice_job in late_first {
        work += slice_job.work();
        let by_work = slice_job.arrives() + work / 7.0 / gpus;
        end = end
            .max(by_work)
            .max(slice_job.arrives() + slice_job.fastest());
    }
    end
}

/// The bound on energy as Hisaria et al. print it, watt-minutes, with jobs linearised by their run
/// time on a slice of 1: `sum(p7 P7) + (m C* - sum p7) P0`. It is wrong for jobs that larger slices
/// run more than in proportion faster, where idle GPUs are off, and for power below the chord. It
/// is here to be compared with. O(n) for n jobs.
#[must_use]
pub fn printed_energy_bound(jobs: &[SliceJob], gpus: usize, power: &Power) -> f64 {
    let gpus = gpus as f64;
    let linear = jobs.iter().map(|job| job.minutes()[0] / 7.0);
    let sum: f64 = linear.clone().sum();
    let end = linear.fold(sum / gpus, f64::max);
    sum * power.watts(7) + (gpus * end - sum) * power.watts(0)
}
