//! Runs a workload on a fleet in wall-clock time: a second driver of schedulers, beside the
//! simulator.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use mapa_core::{DeviceId, MachineId};
use mapa_sched::{Action, Event, Fleet, JobId, Placed, Scheduler, Tenant, Time, step};
use mapa_sim::{Outcome, Rejected, Run, Stay, Submission, Workload};

use super::Settings;
use super::bucket::Port;
use super::process::{Ended, Process, wrong};
use crate::cli::WorkerArgs;
use crate::failure::Failure;

/// Runs a workload as [`mapa_sim::Simulation::run`] simulates it, with one process for each job. A
/// job that demands PCIe traffic copies α times its demand over the port of the whole device to
/// which its instance belongs. All other jobs compute for the time of their work. Times are the
/// model's, from the moment at which all processes are ready.
///
/// # Errors
/// A job of several ranks; a process that cannot be started; a worker that stops early; an order
/// that cannot be carried out here (moves, suspensions, guards, tasks); what [`step`] says; more
/// wall-clock time than the settings allow.
pub(crate) fn replay(
    workload: &Workload,
    fleet: Fleet,
    scheduler: &mut dyn Scheduler,
    settings: &Settings,
) -> Result<Outcome, Failure> {
    let mut bench = Bench::new(workload, fleet, settings)?;
    let mut orders = Vec::new();
    while let Some(facts) = bench.next_instant()? {
        bench.outcome.events += facts.len() as u64;
        bench.outcome.instants += 1;
        step(scheduler, &mut bench.fleet, bench.now, facts, &mut orders)
            .map_err(Failure::malformed)?;
        orders
            .drain(..)
            .try_for_each(|order| bench.carry_out(order))?;
    }
    Ok(bench.finish(scheduler.name()))
}

/// Translates wall-clock time into the model's time.
struct Clock {
    since: Instant,
    pace: f64,
}

impl Clock {
    fn time(&self, at: Instant) -> Time {
        Time::ZERO + at.saturating_duration_since(self.since).div_f64(self.pace)
    }

    /// The wall-clock time until this moment of the model.
    fn until(&self, at: Time) -> Duration {
        (at - Time::ZERO)
            .mul_f64(self.pace)
            .saturating_sub(self.since.elapsed())
    }
}

/// The order of facts of the same time. Ends are not listed: they come first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Layout,
    Arrival,
    Wake,
}

struct Bench<'a> {
    workload: &'a Workload,
    settings: &'a Settings,
    fleet: Fleet,
    clock: Clock,
    now: Time,
    /// Scheduled facts. The number distinguishes facts of one kind and time.
    due: BTreeMap<(Time, Kind, usize), Event>,
    noted: usize,
    index: HashMap<JobId, usize>,
    /// In the order of the workload's jobs.
    processes: Vec<Process>,
    /// Running jobs by index: their start, and their placement.
    running: BTreeMap<usize, (Time, Placed)>,
    ports: HashMap<(MachineId, DeviceId), Arc<Port>>,
    tell: Sender<Ended>,
    ended: Receiver<Ended>,
    outcome: Outcome,
}

impl<'a> Bench<'a> {
    fn new(workload: &'a Workload, fleet: Fleet, settings: &'a Settings) -> Result<Self, Failure> {
        let mut processes: Vec<Process> = Vec::new();
        let mut index = HashMap::new();
        let mut due = BTreeMap::new();
        for (at, own) in workload.jobs.iter().enumerate() {
            processes.push(Process::spawn(&task(own, settings)?)?);
            index.insert(own.job.id, at);
            let arrival = Event::Arrived(own.job.clone());
            due.insert((own.job.arrived, Kind::Arrival, at), arrival);
        }
        // The clock starts when every process is ready, so that starting them costs no model time.
        processes.iter_mut().try_for_each(Process::ready)?;
        let (tell, ended) = channel();
        Ok(Self {
            workload,
            settings,
            fleet,
            clock: Clock {
                since: Instant::now(),
                pace: settings.pace,
            },
            now: Time::ZERO,
            due,
            noted: workload.jobs.len(),
            index,
            processes,
            running: BTreeMap::new(),
            ports: HashMap::new(),
            tell,
            ended,
            outcome: Outcome::default(),
        })
    }

    /// Blocks until facts happen, and returns them; `None` at the end.
    fn next_instant(&mut self) -> Result<Option<Vec<Event>>, Failure> {
        let over = self.outcome.runs.len() + self.outcome.rejected.len();
        let next = self.due.first_key_value().map(|(&(at, ..), _)| at);
        if over == self.workload.jobs.len() || next.is_none() && self.running.is_empty() {
            return Ok(None);
        }
        let left = self
            .settings
            .limit
            .saturating_sub(self.clock.since.elapsed());
        if left.is_zero() {
            let what = format!(
                "{} of {} jobs have ended in {:?}",
                over,
                self.workload.jobs.len(),
                self.settings.limit
            );
            return Err(Failure::malformed(format_args!(
                "real processes: {what}, which was all the time they had"
            )));
        }
        let first = self
            .ended
            .recv_timeout(next.map_or(left, |at| self.clock.until(at).min(left)))
            .ok();
        let ended: Vec<Ended> = first.into_iter().chain(self.ended.try_iter()).collect();
        let mut facts = ended
            .into_iter()
            .map(|ended| self.end(ended))
            .collect::<Result<Vec<_>, _>>()?;
        self.now = self.clock.time(Instant::now());
        while let Some(due) = self.due.first_entry()
            && due.key().0 <= self.now
        {
            facts.push(due.remove());
        }
        Ok(Some(facts))
    }

    /// Records the end of a worker, and returns the fact.
    fn end(&mut self, ended: Ended) -> Result<Event, Failure> {
        let index = ended.index;
        let own = &self.workload.jobs[index].job;
        ended
            .copied
            .map_err(|error| wrong(format_args!("job {}: {error}", own.id)))?;
        if let Some((from, at)) = self.running.remove(&index) {
            let stays = vec![Stay {
                from,
                until: self.clock.time(ended.at),
                at,
            }];
            self.outcome.runs.push(Run {
                index,
                job: own.id,
                arrived: own.arrived,
                stays,
            });
        }
        Ok(Event::Finished(own.id))
    }

    /// Schedules a fact.
    fn note(&mut self, at: Time, kind: Kind, event: Event) {
        self.due.insert((at, kind, self.noted), event);
        self.noted += 1;
    }

    /// Carries out an order of the scheduler.
    fn carry_out(&mut self, order: Action) -> Result<(), Failure> {
        match order {
            Action::Place {
                tenant: Tenant::Job(job),
                at,
            } => self.start(job, at),
            Action::Repartition {
                machine,
                whole,
                layout,
            } => {
                let view = self
                    .fleet
                    .machine(machine)
                    .map_err(Failure::malformed)?
                    .view();
                let model = view.graph().model(whole);
                let takes = model.map(|model| {
                    (self.settings.repartition)(model, &view.layout_of(whole), &layout)
                });
                let at = self.now + takes.unwrap_or_default();
                self.note(
                    at,
                    Kind::Layout,
                    Event::LayoutIs {
                        machine,
                        whole,
                        layout,
                    },
                );
                Ok(())
            }
            Action::Wake { at, token } => {
                self.note(at.max(self.now), Kind::Wake, Event::Woken(token));
                Ok(())
            }
            Action::Reject { job, why } => {
                let index = self.index_of(job)?;
                self.outcome.rejected.push(Rejected {
                    index,
                    job,
                    at: self.now,
                    why,
                });
                Ok(())
            }
            other => Err(wrong(format_args!("it cannot carry out {other:?}"))),
        }
    }

    fn start(&mut self, job: JobId, at: Placed) -> Result<(), Failure> {
        let index = self.index_of(job)?;
        let Some(&device) = at.placement.first() else {
            return Err(wrong("a job without a device"));
        };
        let whole = self
            .fleet
            .machine(at.machine)
            .map_err(Failure::malformed)?
            .graph()
            .device(device)
            .parent;
        let rate = self.settings.port_bytes_per_s;
        let burst = f64::from(self.settings.chunk) * f64::from(self.settings.burst.max(1));
        let port = self
            .ports
            .entry((at.machine, whole))
            .or_insert_with(|| Arc::new(Port::new(rate, burst)));
        let from = self.clock.time(Instant::now());
        self.processes[index].start(index, port.clone(), self.tell.clone())?;
        self.running.insert(index, (from, at));
        Ok(())
    }

    fn index_of(&self, job: JobId) -> Result<usize, Failure> {
        self.index
            .get(&job)
            .copied()
            .ok_or_else(|| wrong(format_args!("job {job} is not in the workload")))
    }

    fn finish(self, scheduler: &str) -> Outcome {
        let mut outcome = self.outcome;
        outcome.runs.sort_unstable_by_key(|run| run.index);
        outcome.rejected.sort_by_key(|rejected| rejected.index);
        let ended = outcome.runs.iter().map(|run| run.index);
        let over: BTreeSet<usize> = ended
            .chain(outcome.rejected.iter().map(|own| own.index))
            .collect();
        outcome.waiting = (0..self.workload.jobs.len())
            .filter(|index| !over.contains(index))
            .collect();
        outcome.scheduler = scheduler.to_owned();
        outcome.execution = "worker processes".to_owned();
        outcome.end = self.now;
        outcome
    }
}

/// The arguments of a job's process, in real bytes and seconds.
fn task(own: &Submission, settings: &Settings) -> Result<WorkerArgs, Failure> {
    let [demand] = own.job.request.pattern.demands() else {
        return Err(wrong(format_args!(
            "job {} has {} ranks: expected 1",
            own.job.id,
            own.devices()
        )));
    };
    let gbps = own.job.pcie_alpha * f64::from(demand.pcie_mb_s) / 1000.0;
    Ok(WorkerArgs {
        compute: own.work.mul_f64(settings.pace),
        bytes: (gbps * own.work.as_secs_f64() * settings.bytes_per_gb()).round() as u64,
        chunk: settings.chunk,
        ahead: settings.ahead,
        buffer: settings.buffer,
    })
}

/// Seconds from arrival to end of each job that ended in both runs: simulated, and real.
pub(crate) fn completion_times(real: &Outcome, simulated: &Outcome) -> Vec<(f64, f64)> {
    let took = |run: &Run| (run.ended() - run.arrived).as_secs_f64();
    let simulated: HashMap<usize, f64> = simulated
        .runs
        .iter()
        .map(|run| (run.index, took(run)))
        .collect();
    real.runs
        .iter()
        .filter_map(|run| Some((*simulated.get(&run.index)?, took(run))))
        .collect()
}
