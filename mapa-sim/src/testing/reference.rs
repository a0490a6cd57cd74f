//! Two simulators without an event queue.
//!
//! [`replay`] drives any scheduler and looks at every job at every moment. It has no generations
//! and no stale events, and updates the remaining work of every job at each step. [`fifo`] has no
//! scheduler and no fleet either, only free sets and a queue.

use std::sync::Arc;

use mapa_core::mig::Layout;
use mapa_core::{DeviceId, DeviceSet, HardwareGraph, MachineId, Policy, Refusal};
use mapa_sched::{Action, Event, Fleet, JobId, Placed, Scheduler, Tenant, Time, Token, step};

use crate::error::{Error, ErrorKind};
use crate::execution::Execution;
use crate::outcome::{Outcome, Rejected, Run, Stay};
use crate::workload::Workload;

const FULL: f64 = (1u64 << 32) as f64;

/// A job that has arrived and has neither ended nor been rejected.
struct Present {
    index: usize,
    job: JobId,
    left: u128,
    rate: u64,
    at: Option<Placed>,
    stays: Vec<Stay>,
}

impl Present {
    fn end(&self, now: Time) -> Option<Time> {
        self.at
            .as_ref()
            .map(|_| Time(now.0 + self.left.div_ceil(u128::from(self.rate)) as u64))
    }

    fn leave(&mut self, now: Time) {
        if let (Some(at), Some(open)) = (self.at.take(), self.stays.last_mut()) {
            (open.until, open.at) = (now, at);
        }
    }
}

/// Does what [`Simulation::run`](crate::Simulation::run) does, without an event queue. Repartitions
/// take no time.
///
/// # Errors
/// Events that contradict the fleet.
///
/// # Panics
/// Orders must be valid and times short. With others this may panic or overflow.
///
/// # Complexity
/// O(n) for each moment at which something happens, for n jobs.
pub fn replay(
    workload: &Workload,
    mut fleet: Fleet,
    scheduler: &mut dyn Scheduler,
    execution: &dyn Execution,
) -> Result<Outcome, Error> {
    let mut outcome = Outcome {
        scheduler: scheduler.name().to_owned(),
        execution: execution.name().to_owned(),
        ..Outcome::default()
    };
    let mut to_come: Vec<usize> = (0..workload.jobs.len()).collect();
    let mut present: Vec<Present> = Vec::new();
    let mut wakes: Vec<(Time, Token)> = Vec::new();
    let mut layouts: Vec<(Time, MachineId, DeviceId, Layout)> = Vec::new();
    let mut now = Time::ZERO;
    let mut orders = Vec::new();
    while !(to_come.is_empty() && present.is_empty()) {
        let ends = present.iter().filter_map(|own| own.end(now));
        let arrivals = to_come
            .iter()
            .map(|&index| workload.jobs[index].job.arrived);
        let others = wakes
            .iter()
            .map(|(at, _)| *at)
            .chain(layouts.iter().map(|(at, ..)| *at));
        let Some(next) = ends.chain(arrivals).chain(others).min() else {
            break;
        };
        let next = next.max(now);
        for own in present.iter_mut().filter(|own| own.at.is_some()) {
            own.left = own
                .left
                .saturating_sub(u128::from(next.0 - now.0) * u128::from(own.rate));
        }
        now = next;

        let mut facts = Vec::new();
        present.sort_by_key(|own| own.job);
        let (over, rest): (Vec<_>, Vec<_>) = present
            .into_iter()
            .partition(|own| own.at.is_some() && own.left == 0);
        present = rest;
        for mut own in over {
            own.leave(now);
            let arrived = workload.jobs[own.index].job.arrived;
            outcome.runs.push(Run {
                index: own.index,
                job: own.job,
                arrived,
                stays: own.stays,
            });
            facts.push(Event::Finished(own.job));
        }
        for (_, machine, whole, layout) in layouts.drain(..) {
            facts.push(Event::LayoutIs {
                machine,
                whole,
                layout,
            });
        }
        let (here, later): (Vec<_>, Vec<_>) = to_come
            .into_iter()
            .partition(|&index| workload.jobs[index].job.arrived <= now);
        to_come = later;
        for index in here {
            let own = &workload.jobs[index];
            let left = own.work.as_nanos() << 32;
            present.push(Present {
                index,
                job: own.job.id,
                left,
                rate: 0,
                at: None,
                stays: Vec::new(),
            });
            facts.push(Event::Arrived(own.job.clone()));
        }
        wakes.sort_unstable();
        let awake = wakes.iter().take_while(|(at, _)| *at <= now).count();
        facts.extend(wakes.drain(..awake).map(|(_, token)| Event::Woken(token)));

        outcome.events += facts.len() as u64;
        outcome.instants += 1;
        step(scheduler, &mut fleet, now, facts, &mut orders)?;
        for order in orders.drain(..) {
            match order {
                Action::Place { tenant, at } | Action::Move { tenant, at } => {
                    for own in present
                        .iter_mut()
                        .filter(|own| Tenant::Job(own.job) == tenant)
                    {
                        own.leave(now);
                        own.stays.push(Stay {
                            from: now,
                            until: now,
                            at: at.clone(),
                        });
                        own.at = Some(at.clone());
                    }
                }
                Action::Suspend { tenant } => {
                    present
                        .iter_mut()
                        .filter(|own| Tenant::Job(own.job) == tenant)
                        .for_each(|own| own.leave(now));
                }
                Action::Reject { job, why } => {
                    for own in present.iter().filter(|own| own.job == job) {
                        outcome.rejected.push(Rejected {
                            index: own.index,
                            job,
                            at: now,
                            why: why.clone(),
                        });
                    }
                    present.retain(|own| own.job != job);
                }
                Action::Wake { at, token } => wakes.push((at.max(now), token)),
                Action::Repartition {
                    machine,
                    whole,
                    layout,
                } => layouts.push((now, machine, whole, layout)),
                _ => return Err(ErrorKind::Unsupported("something else").into()),
            }
        }
        for own in &mut present {
            if let Some(at) = &own.at {
                own.rate = (FULL / execution.slowdown(&workload.jobs[own.index], at, &fleet))
                    .round() as u64;
            }
        }
    }
    outcome.runs.sort_by_key(|run| run.index);
    outcome.rejected.sort_by_key(|rejected| rejected.index);
    outcome.waiting = present.iter().map(|own| own.index).collect();
    outcome.waiting.sort_unstable();
    outcome.end = now;
    Ok(outcome)
}

/// First in, first out, where the queue head blocks the others and every job runs for its work.
/// Returns the start, the machine and the devices in rank order of each job; `None` for a job that
/// was rejected. It uses no fleet, allocator, lease or event.
#[must_use]
pub fn fifo(
    workload: &Workload,
    graphs: &[Arc<HardwareGraph>],
    policy: &dyn Policy,
) -> Vec<Option<(Time, MachineId, Vec<DeviceId>)>> {
    let mut free: Vec<DeviceSet> = graphs.iter().map(|graph| graph.all()).collect();
    let mut queue: Vec<usize> = (0..workload.jobs.len()).collect();
    queue.sort_by_key(|&index| workload.jobs[index].job.arrived);
    let mut runs: Vec<(Time, usize, Vec<DeviceId>)> = Vec::new();
    let mut starts = vec![None; queue.len()];
    let mut now = Time::ZERO;
    for index in queue {
        let own = &workload.jobs[index];
        now = now.max(own.job.arrived);
        loop {
            for (_, machine, devices) in runs.iter().filter(|(end, ..)| *end <= now) {
                free[*machine].extend(devices.iter().copied());
            }
            runs.retain(|(end, ..)| *end > now);
            let answers = graphs
                .iter()
                .zip(&free)
                .map(|(graph, free)| policy.decide(&own.job.request, &graph.with_free(free)));
            let answers: Vec<_> = answers.collect();
            let is_never = answers
                .iter()
                .all(|answer| matches!(answer, Err(Refusal::Infeasible(_))));
            let made = answers
                .iter()
                .enumerate()
                .filter_map(|(machine, answer)| Some((machine, answer.as_ref().ok()?)));
            let best = made.reduce(|best, other| {
                if other.1.order(best.1).is_lt() {
                    other
                } else {
                    best
                }
            });
            if let Some((machine, best)) = best {
                let devices = best.placement().to_vec();
                for &device in &devices {
                    free[machine].remove(device);
                }
                runs.push((now + own.work, machine, devices.clone()));
                starts[index] = Some((now, MachineId(machine as u32), devices));
                break;
            }
            match runs.iter().map(|(end, ..)| *end).min() {
                Some(end) if !is_never => now = end,
                // The queue head is blocked forever, and so are the jobs behind it.
                None if !is_never => return starts,
                _ => break,
            }
        }
    }
    starts
}
