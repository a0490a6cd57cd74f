//! A workload on a fleet in real time: a driver of schedulers, beside the simulator.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use mapa_core::{DeviceId, MachineId};
use mapa_sched::{Action, Event, Fleet, JobId, Placed, Scheduler, Tenant, Time, step};
use mapa_sim::{Outcome, Rejected, Run, Stay, Submission, Workload};

use super::Settings;
use super::bucket::Port;
use super::process::{Ended, Process, wrong};
use super::worker::WorkerArgs;
use crate::failure::Failure;

/// Runs a workload as [`mapa_sim::Simulation::run`] simulates it, with a process for each job. A job that demands PCIe traffic copies
/// α times its demand over the port of the whole device that its instance is of; all others compute for their work. Times are the
/// model's, from the moment at which all processes are ready.
///
/// # Errors
/// A job of several ranks, or that no process can be started for; a worker that stops before it is done; an order that is of no use
/// here (moves, suspensions, guards, tasks); what [`step`] says; more real time than the settings allow.
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
        step(scheduler, &mut bench.fleet, bench.now, facts, &mut orders).map_err(Failure::malformed)?;
        orders.drain(..).try_for_each(|order| bench.carry_out(order))?;
    }
    Ok(bench.finish(scheduler.name()))
}

/// The model's time.
struct Clock {
    since: Instant,
    pace: f64,
}

impl Clock {
    fn time(&self, at: Instant) -> Time {
        Time::ZERO + at.saturating_duration_since(self.since).div_f64(self.pace)
    }

    /// How long it really is until then.
    fn until(&self, at: Time) -> Duration {
        (at - Time::ZERO).mul_f64(self.pace).saturating_sub(self.since.elapsed())
    }
}

/// In which order facts of one moment are told, besides ends, which are first.
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
    /// What will be told when; the number tells apart what is of one moment.
    due: BTreeMap<(Time, Kind, usize), Event>,
    noted: usize,
    index: HashMap<JobId, usize>,
    /// By index, as the workload's jobs.
    processes: Vec<Process>,
    /// Who runs, by index, and where since when.
    running: BTreeMap<usize, (Time, Placed)>,
    ports: HashMap<(MachineId, DeviceId), Arc<Port>>,
    tell: Sender<Ended>,
    ended: Receiver<Ended>,
    outcome: Outcome,
}

impl<'a> Bench<'a> {
    fn new(workload: &'a Workload, fleet: Fleet, settings: &'a Settings) -> Result<Self, Failure> {
        let spawn = |own| Process::spawn(&task(own, settings)?);
        let mut processes: Vec<Process> = workload.jobs.iter().map(spawn).collect::<Result<_, _>>()?;
        processes.iter_mut().try_for_each(Process::ready)?;
        let ids = workload.jobs.iter().map(|own| own.job.id);
        let arrival = |(index, own): (usize, &Submission)| {
            ((own.job.arrived, Kind::Arrival, index), Event::Arrived(own.job.clone()))
        };
        let (tell, ended) = channel();
        Ok(Self {
            workload,
            settings,
            fleet,
            clock: Clock { since: Instant::now(), pace: settings.pace },
            now: Time::ZERO,
            due: workload.jobs.iter().enumerate().map(arrival).collect(),
            noted: workload.jobs.len(),
            index: ids.zip(0..).collect(),
            processes,
            running: BTreeMap::new(),
            ports: HashMap::new(),
            tell,
            ended,
            outcome: Outcome::default(),
        })
    }

    /// Waits until something happens, and says what; none at the end.
    fn next_instant(&mut self) -> Result<Option<Vec<Event>>, Failure> {
        let over = self.outcome.runs.len() + self.outcome.rejected.len();
        let next = self.due.first_key_value().map(|(&(at, ..), _)| at);
        if over == self.workload.jobs.len() || next.is_none() && self.running.is_empty() {
            return Ok(None);
        }
        let left = self.settings.limit.saturating_sub(self.clock.since.elapsed());
        if left.is_zero() {
            let what = format!("{} of {} jobs have ended in {:?}", over, self.workload.jobs.len(), self.settings.limit);
            return Err(Failure::malformed(format_args!("real processes: {what}, which was all the time they had")));
        }
        let first = self.ended.recv_timeout(next.map_or(left, |at| self.clock.until(at).min(left))).ok();
        let ended: Vec<Ended> = first.into_iter().chain(self.ended.try_iter()).collect();
        let mut facts = ended.into_iter().map(|ended| self.end(ended)).collect::<Result<Vec<_>, _>>()?;
        self.now = self.clock.time(Instant::now());
        while let Some(due) = self.due.first_entry()
            && due.key().0 <= self.now
        {
            facts.push(due.remove());
        }
        Ok(Some(facts))
    }

    fn end(&mut self, ended: Ended) -> Result<Event, Failure> {
        let index = ended.index;
        let own = &self.workload.jobs[index].job;
        ended.copied.map_err(|error| wrong(format_args!("job {}: {error}", own.id)))?;
        if let Some((from, at)) = self.running.remove(&index) {
            let stays = vec![Stay { from, until: self.clock.time(ended.at), at }];
            self.outcome.runs.push(Run { index, job: own.id, arrived: own.arrived, stays });
        }
        Ok(Event::Finished(own.id))
    }

    fn note(&mut self, at: Time, kind: Kind, event: Event) {
        self.due.insert((at, kind, self.noted), event);
        self.noted += 1;
    }

    fn carry_out(&mut self, order: Action) -> Result<(), Failure> {
        match order {
            Action::Place { tenant: Tenant::Job(job), at } => self.start(job, at),
            Action::Repartition { machine, whole, layout } => {
                let view = self.fleet.machine(machine).map_err(Failure::malformed)?.view();
                let model = view.graph().model(whole);
                let takes = model.map(|model| (self.settings.repartition)(model, &view.layout_of(whole), &layout));
                let at = self.now + takes.unwrap_or_default();
                self.note(at, Kind::Layout, Event::LayoutIs { machine, whole, layout });
                Ok(())
            }
            Action::Wake { at, token } => {
                self.note(at.max(self.now), Kind::Wake, Event::Woken(token));
                Ok(())
            }
            Action::Reject { job, why } => {
                let index = self.index_of(job)?;
                self.outcome.rejected.push(Rejected { index, job, at: self.now, why });
                Ok(())
            }
            other => Err(wrong(format_args!("it cannot carry out {other:?}"))),
        }
    }

    fn start(&mut self, job: JobId, at: Placed) -> Result<(), Failure> {
        let index = self.index_of(job)?;
        let Some(&device) = at.placement.first() else { return Err(wrong("a job without a device")) };
        let whole = self.fleet.machine(at.machine).map_err(Failure::malformed)?.graph().device(device).parent;
        let rate = self.settings.port_bytes_per_s;
        let burst = f64::from(self.settings.chunk) * f64::from(self.settings.burst.max(1));
        let port = self.ports.entry((at.machine, whole)).or_insert_with(|| Arc::new(Port::new(rate, burst)));
        let from = self.clock.time(Instant::now());
        self.processes[index].start(index, port.clone(), self.tell.clone())?;
        self.running.insert(index, (from, at));
        Ok(())
    }

    fn index_of(&self, job: JobId) -> Result<usize, Failure> {
        self.index.get(&job).copied().ok_or_else(|| wrong(format_args!("nobody has heard of job {job}")))
    }

    fn finish(self, scheduler: &str) -> Outcome {
        let mut outcome = self.outcome;
        outcome.runs.sort_unstable_by_key(|run| run.index);
        outcome.rejected.sort_by_key(|rejected| rejected.index);
        let over = |index: &usize| {
            outcome.runs.iter().any(|run| run.index == *index) || outcome.rejected.iter().any(|own| own.index == *index)
        };
        outcome.waiting = (0..self.workload.jobs.len()).filter(|index| !over(index)).collect();
        outcome.scheduler = scheduler.to_owned();
        outcome.execution = "worker processes".to_owned();
        outcome.end = self.now;
        outcome
    }
}

/// What the process of a job does, in real bytes and seconds.
fn task(own: &Submission, settings: &Settings) -> Result<WorkerArgs, Failure> {
    let [demand] = own.job.request.pattern.demands() else {
        return Err(wrong(format_args!("job {} has {} ranks: expected 1", own.job.id, own.devices())));
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

/// From arrival to end, s, of each job that has ended in both: simulated, and really.
pub(crate) fn completion_times(real: &Outcome, simulated: &Outcome) -> Vec<(f64, f64)> {
    let took = |run: &Run| (run.ended() - run.arrived).as_secs_f64();
    let simulated: HashMap<usize, f64> = simulated.runs.iter().map(|run| (run.index, took(run))).collect();
    real.runs.iter().filter_map(|run| Some((*simulated.get(&run.index)?, took(run)))).collect()
}
