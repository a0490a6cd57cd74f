//! A scheduler of your own: first come, first served, with backfilling (EASY: Lifka, JSSPP 1995).
//!
//! The example has a DGX-1V and a Summit node, some jobs with known run times, and the loop of
//! every driver: events in, orders out. In the printed chart each row is a GPU and each column a
//! minute.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use mapa_core::{Pattern, Refusal, Request, preserve};
use mapa_sched::{Action, Event, Fleet, Job, JobId, RunTime, Scheduler, Tenant, Time, Turn, step};
use mapa_topologies::named;

// -- at most 40 lines
/// The queue head has a reserved start. A later job starts before it only if it ends by then.
struct Backfill {
    queue: Vec<Job>,
    ends: BTreeSet<(Time, JobId)>,
}

/// The earliest time at which there is room for a job, by the end times of the running jobs.
fn could_start(job: &Job, ends: &BTreeSet<(Time, JobId)>, turn: &Turn<'_>) -> Option<Time> {
    let mut later = turn.fleet().clone();
    ends.iter().find_map(|&(end, ended)| {
        later.book(&Event::Finished(ended)).ok()?;
        later.decide(preserve(), &job.request).ok().map(|_| end)
    })
}

impl Scheduler for Backfill {
    fn name(&self) -> &str {
        "backfill"
    }
    fn on_event(&mut self, _: Time, event: Event) {
        match event {
            Event::Arrived(job) => self.queue.push(job),
            Event::Finished(ended) => self.ends.retain(|(_, job)| *job != ended),
            _ => {}
        }
    }
    fn act(&mut self, now: Time, turn: &mut Turn<'_>) {
        let mut reserved = None;
        for job in std::mem::take(&mut self.queue) {
            let end = now + job.run_time.on(None).unwrap_or(Duration::MAX);
            match turn.decide(preserve(), &job.request) {
                Err(never @ Refusal::Infeasible(_)) => turn.reject(job.id, never),
                Ok(choice) if reserved.is_none_or(|start| end <= start) => {
                    self.ends.insert((end, job.id));
                    drop(turn.place(Tenant::Job(job.id), choice));
                }
                _ => {
                    reserved = reserved.or_else(|| could_start(&job, &self.ends, turn));
                    self.queue.push(job);
                }
            }
        }
    }
}
// -- end

const MINUTE: Duration = Duration::from_secs(60);

/// Runs the jobs. Returns every order of the scheduler with its time.
fn drive(
    scheduler: &mut dyn Scheduler,
    fleet: &mut Fleet,
    jobs: &[Job],
) -> Result<Vec<(Time, Action)>, Box<dyn Error>> {
    // Events by time; events of the same time are in the order in which they were added.
    let mut events: BTreeMap<Time, Vec<Event>> = BTreeMap::new();
    for job in jobs {
        events
            .entry(job.arrived)
            .or_default()
            .push(Event::Arrived(job.clone()));
    }
    let lengths: BTreeMap<JobId, &RunTime> =
        jobs.iter().map(|job| (job.id, &job.run_time)).collect();
    let (mut orders, mut log) = (Vec::new(), Vec::new());
    while let Some((now, events_now)) = events.pop_first() {
        step(scheduler, fleet, now, events_now, &mut orders)?;
        for order in orders.drain(..) {
            if let Action::Place {
                tenant: Tenant::Job(job),
                ..
            } = order
            {
                let length = lengths
                    .get(&job)
                    .and_then(|length| length.on(None))
                    .ok_or("a job without run time")?;
                events
                    .entry(now + length)
                    .or_default()
                    .push(Event::Finished(job));
            }
            log.push((now, order));
        }
    }
    Ok(log)
}

fn main() -> Result<(), Box<dyn Error>> {
    let machines = ["dgx-1v", "summit"];
    let graphs =
        machines.map(|name| Ok::<_, mapa_topologies::Error>(Arc::new(named(name)?.graph()?)));
    let mut fleet = Fleet::new(graphs.into_iter().collect::<Result<Vec<_>, _>>()?);
    // GPUs, arrival and run time in minutes, whether the job is sensitive to bandwidth.
    let plan = [
        (6, 0, 12, true),
        (4, 0, 20, true),
        (8, 1, 10, true),
        (2, 2, 10, true),
        (2, 3, 30, true),
        (1, 4, 16, false),
        (9, 5, 1, false),
        (1, 6, 6, false),
        (3, 8, 10, true),
    ];
    let minutes = |n: u32| n * MINUTE;
    let job = |(id, (gpus, arrives, runs, sensitive)): (u64, (usize, u32, u32, bool))| {
        let mut job = Job::new(
            JobId(id),
            Request::new(Pattern::ring(gpus)).sensitive(sensitive),
        );
        (job.arrived, job.run_time) =
            (Time::ZERO + minutes(arrives), RunTime::Fixed(minutes(runs)));
        job
    };
    let jobs: Vec<Job> = (0..).zip(plan).map(job).collect();
    let mut scheduler = Backfill {
        queue: Vec::new(),
        ends: BTreeSet::new(),
    };
    let log = drive(&mut scheduler, &mut fleet, &jobs)?;

    let letter = |job: JobId| char::from(b'A' + job.0 as u8);
    let minute = |time: Time| (time.since(Time::ZERO).as_secs() / MINUTE.as_secs()) as usize;
    let mut rows: BTreeMap<(u32, u32), String> = BTreeMap::new();
    for (now, order) in &log {
        match order {
            Action::Place { tenant, at } => {
                let job = tenant.job();
                for device in at.placement.iter() {
                    let row = rows.entry((at.machine.0, device.0)).or_default();
                    let runs = jobs[job.0 as usize].run_time.on(None).unwrap_or_default();
                    row.push_str(&".".repeat(minute(*now) - row.len()));
                    row.extend(std::iter::repeat_n(letter(job), minute(Time::ZERO + runs)));
                }
            }
            Action::Reject { job, why } => println!("job {} is rejected: {why}", letter(*job)),
            other => println!("{other:?}"),
        }
    }
    println!(
        "{:12}{}",
        "",
        (0..60)
            .step_by(10)
            .map(|minute| format!("{minute:<10}"))
            .collect::<String>()
            .trim_end()
    );
    for ((machine, device), row) in rows {
        println!("{:6} GPU{device} {row}", machines[machine as usize]);
    }
    Ok(())
}
