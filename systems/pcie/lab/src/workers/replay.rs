//! Runs a workload on a fleet in wall-clock time: a second driver of schedulers, beside the
//! simulator.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use mapa_core::{DeviceId, MachineId};
use mapa_sched::{
    Action, Assignment, Driver, DriverView, Event, Fleet, JobId, Scheduler, SchedulerRun, Tenant,
    Time, Timeline,
};
use mapa_sim::{Outcome, Run, Submission, Workload};

use super::Settings;
use super::bucket::SharedPort;
use super::process::{EndedWorker, WorkerProcess, wrong};
use super::worker::WorkerJob;
use mapa_front::Error;

/// Runs a workload as [`mapa_sim::Simulation::run`] simulates it, with one process for each job. A
/// job that demands PCIe traffic copies α times its demand over the port of the whole device to
/// which its instance belongs. All other jobs compute for the time of their work. Times are the
/// model's, from the moment at which all processes are ready.
///
/// # Errors
/// A job of several ranks; a process that cannot be started; a worker that stops early; an order
/// that cannot be carried out here (moves, suspensions, guards, tasks); what [`SchedulerRun::run`] says;
/// more wall-clock time than the settings allow.
pub fn replay(
    workload: &Workload,
    fleet: Fleet,
    scheduler: &mut dyn Scheduler,
    settings: &Settings,
) -> Result<Outcome, Error> {
    let mut bench = Bench::new(workload, settings)?;
    let mut drive = SchedulerRun::new(fleet);
    drive.run(scheduler, &mut bench)?;
    let end = drive.seen().now;
    let (_, record) = drive.into_parts();
    let name = scheduler.name();
    Ok(Outcome::of(record, workload, end, name, "worker processes"))
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

struct Bench<'a> {
    workload: &'a Workload,
    settings: &'a Settings,
    clock: Clock,
    /// Arrivals, layouts and wakes. Ends of jobs come from their processes.
    timeline: Timeline,
    index: HashMap<JobId, usize>,
    /// In the order of the workload's jobs.
    processes: Vec<WorkerProcess>,
    ports: HashMap<(MachineId, DeviceId), Arc<SharedPort>>,
    tell: Sender<EndedWorker>,
    ended: Receiver<EndedWorker>,
}

impl<'a> Bench<'a> {
    fn new(workload: &'a Workload, settings: &'a Settings) -> Result<Self, Error> {
        let mut processes: Vec<WorkerProcess> = Vec::new();
        let mut index = HashMap::new();
        let mut timeline = Timeline::default();
        for (at, submission) in workload.jobs.iter().enumerate() {
            processes.push(WorkerProcess::spawn(&task(submission, settings)?)?);
            index.insert(submission.job.id, at);
            timeline.put(
                submission.job.arrived,
                Event::Arrived(submission.job.clone()),
            );
        }
        // The clock starts when every process is ready, so that starting them costs no model time.
        processes.iter_mut().try_for_each(WorkerProcess::ready)?;
        let (tell, ended) = channel();
        Ok(Self {
            workload,
            settings,
            clock: Clock {
                since: Instant::now(),
                pace: settings.pace,
            },
            timeline,
            index,
            processes,
            ports: HashMap::new(),
            tell,
            ended,
        })
    }

    /// The wall-clock time left, of which there must be some.
    fn left(&self, seen: DriverView<'_>) -> Result<Duration, Error> {
        let limit = self.settings.limit;
        let left = limit.saturating_sub(self.clock.since.elapsed());
        if left.is_zero() {
            return Err(Error::malformed(format_args!(
                "real processes: {} of {} jobs have ended in {limit:?}, which was all the time \
                 they had",
                seen.record.left().len(),
                self.workload.jobs.len(),
            )));
        }
        Ok(left)
    }

    /// The end of a worker, as an event.
    fn end(&self, ended: EndedWorker) -> Result<(Time, Event), Error> {
        let job = self.workload.jobs[ended.index].job.id;
        ended
            .copied
            .map_err(|error| wrong(format_args!("job {job}: {error}")))?;
        Ok((self.clock.time(ended.at), Event::Finished(job)))
    }

    /// Starts the process of a job, and returns when.
    fn start(&mut self, job: JobId, at: &Assignment, fleet: &Fleet) -> Result<Time, Error> {
        let index = self.index.get(&job).copied();
        let index = index.ok_or_else(|| wrong(format_args!("job {job} is not in the workload")))?;
        let Some(&device) = at.placement.first() else {
            return Err(wrong("a job without a device"));
        };
        let whole = fleet.machine(at.machine)?.graph().device(device).parent;
        let rate = self.settings.port_bytes_per_s;
        let burst = f64::from(self.settings.chunk) * f64::from(self.settings.burst.max(1));
        let port = self
            .ports
            .entry((at.machine, whole))
            .or_insert_with(|| Arc::new(SharedPort::new(rate, burst)));
        let from = self.clock.time(Instant::now());
        self.processes[index].start(index, port.clone(), self.tell.clone())?;
        Ok(from)
    }
}

impl Driver for Bench<'_> {
    type Error = Error;

    fn next(
        &mut self,
        seen: DriverView<'_>,
        events: &mut Vec<(Time, Event)>,
    ) -> Result<Option<Time>, Error> {
        let next = self.timeline.next();
        let mut present = seen.record.present();
        let is_running = present.any(|life| life.stays.open().is_some());
        let over = seen.record.left().len();
        if over == self.workload.jobs.len() || next.is_none() && !is_running {
            return Ok(None);
        }
        let left = self.left(seen)?;
        let first = self
            .ended
            .recv_timeout(next.map_or(left, |at| self.clock.until(at).min(left)))
            .ok();
        let ended: Vec<EndedWorker> = first.into_iter().chain(self.ended.try_iter()).collect();
        for ended in ended {
            events.push(self.end(ended)?);
        }
        let now = self.clock.time(Instant::now());
        events.extend(std::iter::from_fn(|| self.timeline.take(now)));
        Ok(Some(now))
    }

    fn carry_out(&mut self, seen: DriverView<'_>, order: &Action) -> Result<Time, Error> {
        match order {
            Action::Place {
                tenant: Tenant::Job(job),
                at,
            } => return self.start(*job, at, seen.fleet),
            Action::Repartition {
                machine,
                whole,
                layout,
            } => {
                let (machine, whole, layout) = (*machine, *whole, layout.clone());
                let view = seen.fleet.machine(machine)?.view();
                let takes = view.graph().model(whole).map(|model| {
                    (self.settings.repartition)(model, &view.layout_of(whole), &layout)
                });
                let layout_is = Event::LayoutIs {
                    machine,
                    whole,
                    layout,
                };
                let at = seen.now + takes.unwrap_or_default();
                self.timeline.put(at, layout_is);
            }
            Action::Wake { at, token } => {
                let at = (*at).max(seen.now);
                self.timeline.put(at, Event::Woken(*token));
            }
            // The process of a rejected job waits until the end.
            Action::Reject { .. } => {}
            other => return Err(wrong(format_args!("it cannot carry out {other:?}"))),
        }
        Ok(seen.now)
    }
}

/// The arguments of a job's process, in real bytes and seconds.
fn task(own: &Submission, settings: &Settings) -> Result<WorkerJob, Error> {
    let [demand] = own.job.request.pattern.demands() else {
        return Err(wrong(format_args!(
            "job {} has {} ranks: expected 1",
            own.job.id,
            own.devices()
        )));
    };
    let gbps = own.job.pcie_alpha * f64::from(demand.pcie_mb_s) / 1000.0;
    Ok(WorkerJob {
        compute: own.work.mul_f64(settings.pace),
        bytes: (gbps * own.work.as_secs_f64() * settings.bytes_per_gb()).round() as u64,
        chunk: settings.chunk,
        ahead: settings.ahead,
        buffer: settings.buffer,
    })
}

/// Seconds from arrival to end of each job that ended in both runs: simulated, and real.
pub fn completion_times(real: &Outcome, simulated: &Outcome) -> Vec<(f64, f64)> {
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
