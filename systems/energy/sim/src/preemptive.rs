//! A day on which every event interrupts every job: the first formulation of Hisaria et al.

use mapa_system_energy::{Rule, Running, SliceJob, State};

use super::run::{TOGETHER, Totals, check_empty, stalled};
use crate::error::Error;

/// Runs jobs under a rule that assigns all of them anew at every event. At each arrival and each end
/// all jobs that run are interrupted. They wait in the queue again, by deadline, with the share of
/// their work that is left, and the rule may start each on any free slice. Moves cost nothing: that
/// is what the document calls migration free. Their code does so in its first environment, in which
/// the agent still chooses a slice for the head of the queue. Where GPUs are repartitioned, a job
/// makes no progress while its instance is created.
///
/// # Errors
/// As [`run`](super::run()).
///
/// # Complexity
/// O(n (s + q)) for n jobs, s slices and a queue of q jobs, and the rule at every event and start.
///
/// # Examples
/// A short job does not wait for a long one.
/// ```
/// use mapa_system_energy::{LargestFirst, SlicedGpus, Power, SliceJob, State};
/// use mapa_system_energy_sim::{run, run_preemptive};
///
/// let jobs = [SliceJob::new(0.0, 30.0, [20.0; 5])?, SliceJob::new(1.0, 3.0, [2.0; 5])?];
/// let machine = SlicedGpus::new("7", Power::A100)?;
/// assert_eq!(run(&jobs, State::new(machine.clone()), &mut LargestFirst)?.late, 1);
/// assert_eq!(run_preemptive(&jobs, State::new(machine), &mut LargestFirst)?.late, 0);
/// # Ok::<(), mapa_system_energy_sim::Error>(())
/// ```
pub fn run_preemptive(
    jobs: &[SliceJob],
    mut state: State,
    rule: &mut dyn Rule,
) -> Result<Totals, Error> {
    check_empty(&state)?;
    let mut arrivals: Vec<(u32, &SliceJob)> = (0..).zip(jobs).collect();
    arrivals.sort_by(|a, b| a.1.arrives().total_cmp(&b.1.arrives()));
    let mut arrivals = arrivals.into_iter().peekable();
    // What is left of each job at its last start.
    let mut left: Vec<SliceJob> = jobs.to_vec();
    let mut totals = Totals {
        jobs: jobs.len(),
        ..Totals::default()
    };
    loop {
        let running = state.running().iter().flatten();
        let end = running.map(|running| running.finish).min_by(f64::total_cmp);
        let (before, from) = (state.watts(), state.now());
        let due = |job: &SliceJob| end.is_none_or(|end| job.arrives() <= end);
        let arrival = arrivals.next_if(|(_, job)| due(job));
        match (arrival, end) {
            (Some((_, job)), _) => state.advance(job.arrives()),
            (None, Some(at)) => {
                state.advance(at);
                end_together(&mut state, at, &mut totals);
            }
            (None, None) if state.queue().is_empty() => {
                totals.creations = state.creations();
                return Ok(totals);
            }
            (None, None) => return Err(stalled(&state, rule)),
        }
        let minutes = state.now() - from;
        totals.watt_minutes += before * minutes;
        totals.published_watt_minutes += state.watts() * minutes;
        if let Some((id, job)) = arrival {
            state.arrive(id, *job);
        }
        interrupt(&mut state, &mut left)?;
        while state.free_count() > 0 && !state.queue().is_empty() {
            totals.decisions += 1;
            let Some(start) = rule.choose(&state) else {
                break;
            };
            state.start(start)?;
        }
    }
}

/// Ends the jobs that end at a moment.
fn end_together(state: &mut State, at: f64, totals: &mut Totals) {
    for slice in 0..state.running().len() {
        let own = state.running()[slice].filter(|running| running.finish <= at + TOGETHER);
        if let Some(own) = own {
            state.end(slice);
            totals.ended(own.finish, own.deadline);
        }
    }
}

/// Lets all jobs that run wait with what is left of them.
fn interrupt(state: &mut State, left: &mut [SliceJob]) -> Result<(), Error> {
    for slice in 0..state.running().len() {
        let Some(own) = state.end(slice) else {
            continue;
        };
        let job = &mut left[own.id as usize];
        *job = job.with_left(share_left(&own, state.now()))?;
        state.wait(own.id, *job);
    }
    Ok(())
}

/// The share of its work that a job still has to do.
fn share_left(own: &Running, now: f64) -> f64 {
    let left = (own.finish - now.max(own.begins)) / (own.finish - own.begins);
    left.min(1.0)
}
