//! Schedules on partitioned GPUs, reduced to schedules on whole GPUs.

use super::schedule::{Piece, Schedule, progress};
use mapa_sched::slices::SliceJob;

/// The schedule on as many whole GPUs, for the [linear twins](SliceJob::linear) of the jobs: in each span of
/// time in which nothing starts or ends on a GPU, the parts that ran beside each other there run one
/// after the other on the whole GPU. (Hisaria et al. state this reduction; the proof is this.)
///
/// They fit. A part that ran for D minutes on a slice of size i did `D / p_i` of its job; its
/// twin does that in `D / p_i x work / 7`, which is at most `D x i / 7`, as work is at most `i p_i`. The
/// sizes beside each other are at most 7 in sum.
///
/// So for any schedule, with any layouts, with preemption or not:
/// - no job ends later, and tardiness does not grow;
/// - energy does not grow if power is [above its chord](super::Power::is_above_chord) and all GPUs are on from
///   minute 0 to the last end. Below the chord, or where idle GPUs are off, it may.
///
/// Twins by the run time on a slice of 1, as in the document, are no such twins where a larger slice is
/// more than in proportion faster: their parts do not fit.
///
/// The schedule must be one that [verifies](Schedule::verify) with these jobs; pieces of unknown jobs are
/// left out.
///
/// # Complexity
/// O(n log n) for n pieces, and as many pieces as spans have parts: at most 14 n.
#[must_use]
pub fn reduced(schedule: &Schedule, jobs: &[SliceJob]) -> Schedule {
    let mut pieces: Vec<Piece> = Vec::new();
    for gpu in schedule.used_gpus() {
        for (from, to, running) in schedule.spans(gpu) {
            let mut now = from;
            for part in running {
                let Some(job) = jobs.get(part.job) else {
                    continue;
                };
                let span = Piece { from, to, ..part };
                let end = now + progress(job, &span) * job.work() / 7.0;
                // Spans may be so short that nothing is left of a part by rounding. The last part
                // may end some rounding after the span.
                let end = end.min(to);
                if end > now {
                    pieces.push(Piece {
                        size: 7,
                        from: now,
                        to: end,
                        ..part
                    });
                }
                now = end;
            }
        }
    }
    Schedule {
        gpus: schedule.gpus,
        pieces,
    }
}
