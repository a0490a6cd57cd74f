//! `workers`: real processes in place of GPUs, for tests.

use mapa_core::mig::Size;
use mapa_regress::published::correlation;
use mapa_sched::{JobId, PcieAware, Scheduler, Time};
use mapa_sim::{Execution, Outcome, PcieEqualShare, PcieMaxMin, Profile, Run, Simulation, Workload};
use serde_json::{Value, json};

use crate::cli::{CopyArgs, ReplayArgs, WorkersArgs, WorkersDo};
use crate::failure::Failure;
use crate::machine::load;
use crate::output::Output;
use crate::simulation::fleet;
use crate::workers::{Retrace, Settings, completion_times, copy_throughput, replay, work};

pub(crate) fn workers(args: &WorkersArgs, output: &mut Output) -> Result<(), Failure> {
    match &args.what {
        WorkersDo::Work(job) => work(job),
        WorkersDo::Copy(args) => copies(args, output),
        WorkersDo::Replay(args) => replays(args, output),
    }
}

fn copies(args: &CopyArgs, output: &mut Output) -> Result<(), Failure> {
    let fleet = fleet(&load(&args.machine, output)?)?;
    let settings = Settings { pace: args.pace, ..Settings::default() };
    let gbps = copy_throughput(&fleet, &args.sizes, args.gigabytes, &settings)?;
    output.object(&json!({ "gbps": gbps }))
}

fn replays(args: &ReplayArgs, output: &mut Output) -> Result<(), Failure> {
    let fleet = fleet(&load(&args.machine, output)?)?;
    let workload = evenly(args)?;
    let scheduler = || if args.first_gpu { PcieAware::first_gpu() } else { PcieAware::new() };
    let settings = Settings { pace: args.pace, ..Settings::default() };
    let real = replay(&workload, fleet.clone(), &mut scheduler(), &settings)?;
    let correlation_under = |scheduler: &mut dyn Scheduler, execution: &dyn Execution| {
        let simulated =
            Simulation::new(&workload, fleet.clone()).run(scheduler, execution).map_err(Failure::malformed)?;
        Ok::<_, Failure>(correlation(&completion_times(&real, &simulated)))
    };
    let by_model = |execution: &dyn Execution| {
        Ok(json!({
            "execution": execution.name(),
            "correlation": correlation_under(&mut scheduler(), execution)?,
            "retraced_correlation": correlation_under(&mut Retrace::new(&real), execution)?,
        }))
    };
    let simulated = [by_model(&PcieEqualShare::default()), by_model(&PcieMaxMin::new(&workload))];
    let simulated: Vec<Value> = simulated.into_iter().collect::<Result<_, Failure>>()?;
    output.object(&json!({ "jobs": jobs(&real, &workload), "simulated": simulated }))
}

/// What came of each job that has ended.
fn jobs(real: &Outcome, workload: &Workload) -> Vec<Value> {
    let job = |run: &Run| {
        let own = &workload.jobs[run.index];
        let [arrived, started, ended] =
            [run.arrived, run.started(), run.ended()].map(|at| (at - Time::ZERO).as_secs_f64());
        json!({
            "id": own.job.id.0, "task": &*own.task, "work_s": own.work.as_secs_f64(), "arrived_s": arrived, "started_s": started,
            "ended_s": ended, "device": run.stays.first().and_then(|stay| stay.at.placement.first()).map(|id| id.0),
        })
    };
    real.runs.iter().map(job).collect()
}

/// Jobs of Tang et al.'s Table 2 on the smallest instances, as different as can be without a draw: 25 to 75 s long, in steps of the
/// golden section, which spreads any number of them evenly.
fn evenly(args: &ReplayArgs) -> Result<Workload, Failure> {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let [resnet, light, heavy] = Profile::tang();
    let job = |id: u64| {
        let is_bound = (id + 1) * args.bound / 100 > id * args.bound / 100;
        let kind = match (is_bound, id * args.bound / 100 % 2) {
            (false, _) => &resnet,
            (true, 0) => &light,
            (true, _) => &heavy,
        };
        let arrived = Time::ZERO + args.gap.saturating_mul(id as u32);
        kind.submission(JobId(id), arrived, Size::new(1, 1), 25.0 + 50.0 * (GOLDEN * id as f64).fract())
    };
    let jobs = (0..args.jobs).map(job).collect::<Result<Vec<_>, _>>().map_err(Failure::malformed)?;
    Ok(Workload::new("jobs of Table 2, evenly spread", jobs))
}
