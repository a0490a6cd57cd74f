//! Chu's bound on tardiness, by the shortest remaining time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use mapa_sched::bound::{Bound, Class, Measure, Proof};
use mapa_sched::slices::SliceJob;

/// Chu's bound on tardiness (Naval Research Logistics 39, 1992), on one machine that is as fast as all
/// GPUs together. A job of [work](SliceJob::work) w takes it `w / (7 x gpus)` minutes.
///
/// Where the job with the shortest remaining time always runs, the k-th end is the earliest
/// possible for every k. Ends in order are paired with deadlines in order: no other pairing has less
/// tardiness. It holds for any layouts and with preemption: the fast machine can do at each moment
/// what all GPUs do together. It is the weakest bound, as it lets one job use all GPUs at once.
/// O(n log n) for n jobs. Without a GPU it is 0.
#[must_use]
pub fn chu_bound(jobs: &[SliceJob], gpus: usize) -> Bound {
    let value = if gpus == 0 {
        0.0
    } else {
        tardiness(jobs, gpus)
    };
    Bound {
        name: "chu",
        measure: Measure::Tardiness,
        class: Class::AnyLayouts,
        value,
        proof: Proof::Formula,
    }
}

fn tardiness(jobs: &[SliceJob], gpus: usize) -> f64 {
    let speed = 7.0 * gpus as f64;
    let mut arrivals: Vec<&SliceJob> = jobs.iter().collect();
    arrivals.sort_by(|a, b| a.arrives().total_cmp(&b.arrives()));
    let mut arrivals = arrivals.into_iter().peekable();
    // Minutes that are left, of the jobs that have arrived. They are not negative, so their bits are
    // ordered as they are.
    let mut left: BinaryHeap<Reverse<u64>> = BinaryHeap::new();
    let mut now = 0.0_f64;
    let mut ends = Vec::with_capacity(jobs.len());
    loop {
        let next = arrivals
            .peek()
            .map_or(f64::INFINITY, |arrival| arrival.arrives());
        match left.pop() {
            Some(Reverse(bits)) => {
                let minutes = f64::from_bits(bits);
                let end = now + minutes;
                if end <= next {
                    ends.push(end);
                    now = end;
                    continue;
                }
                left.push(Reverse((minutes - (next - now)).max(0.0).to_bits()));
            }
            None if next == f64::INFINITY => break,
            None => {}
        }
        now = next;
        if let Some(own) = arrivals.next() {
            left.push(Reverse((own.work() / speed).to_bits()));
        }
    }
    let mut deadlines: Vec<f64> = jobs.iter().map(SliceJob::deadline).collect();
    deadlines.sort_by(f64::total_cmp);
    let late = ends.iter().zip(deadlines).map(|(end, due)| end - due);
    late.map(|late| late.max(0.0)).sum()
}
