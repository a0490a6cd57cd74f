//! `workers`: real processes in place of GPUs, for tests.

mod args;

use std::io;

use mapa_core::mig::Size;
use mapa_regress::published::correlation;
use mapa_sched::{JobId, Scheduler, Time};
use mapa_sim::{Execution, Outcome, Profile, Simulation, Workload};
use mapa_system_pcie::PcieAware;
use mapa_system_pcie_sim::{PcieEqualShare, PcieMaxMin};

use crate::answer::workers::{Copies, Job, Replay, Simulated};
pub(crate) use args::WorkersArgs;
use args::{CopyArgs, ReplayArgs, WorkersDo};
use mapa_cli::Failure;
use mapa_cli::load;
use mapa_cli::{Output, SystemCommand};
use mapa_front::simulation::fleet;
use mapa_system_pcie_lab::workers::{
    Retrace, Settings, WorkerJob, completion_times, copy_throughput, replay, work,
};

impl SystemCommand for WorkersArgs {
    const NAME: &'static str = "workers";
    const ABOUT: &'static str = "Run real processes in place of GPUs, as a check on simulations";
    const IS_HIDDEN: bool = true;

    fn run(&self, output: &mut Output) -> Result<(), Failure> {
        workers(self, output)
    }
}

fn workers(args: &WorkersArgs, output: &mut Output) -> Result<(), Failure> {
    match &args.what {
        WorkersDo::Work(job) => {
            work(&WorkerJob::from(job)).map_err(|error| match error.kind() {
                // The driver is gone, and with it whoever could read an answer.
                io::ErrorKind::UnexpectedEof => Failure::Closed,
                _ => Failure::writing(&error),
            })
        }
        WorkersDo::Copy(args) => copies(args, output),
        WorkersDo::Replay(args) => replays(args, output),
    }
}

/// `workers copy`: measures copies that run side by side.
fn copies(args: &CopyArgs, output: &mut Output) -> Result<(), Failure> {
    let fleet = fleet(&load(&args.machine, output)?)?;
    let settings = Settings {
        pace: args.pace,
        ..Settings::default()
    };
    let gbps = copy_throughput(&fleet, &args.sizes, args.gigabytes, &settings)?;
    output.object(&Copies { gbps })
}

/// `workers replay`: runs a workload with processes, and compares it with simulations.
fn replays(args: &ReplayArgs, output: &mut Output) -> Result<(), Failure> {
    let fleet = fleet(&load(&args.machine, output)?)?;
    let workload = evenly(args)?;
    let settings = Settings {
        pace: args.pace,
        ..Settings::default()
    };
    let real = replay(&workload, fleet.clone(), &mut scheduler(args), &settings)?;
    let executions: [Box<dyn Execution>; 2] = [
        Box::new(PcieEqualShare::default()),
        Box::new(PcieMaxMin::new(&workload)),
    ];
    let mut simulated = Vec::new();
    for execution in &executions {
        let simulate = |scheduler: &mut dyn Scheduler| {
            let outcome =
                Simulation::new(&workload, fleet.clone()).run(scheduler, execution.as_ref());
            let outcome = outcome.map_err(Failure::malformed)?;
            Ok::<_, Failure>(correlation(&completion_times(&real, &outcome)))
        };
        simulated.push(Simulated {
            execution: execution.name().to_owned(),
            correlation: simulate(&mut scheduler(args))?,
            retraced_correlation: simulate(&mut Retrace::new(&real))?,
        });
    }
    output.object(&Replay {
        jobs: jobs(&real, &workload),
        simulated,
    })
}

/// The scheduler that the arguments name.
fn scheduler(args: &ReplayArgs) -> PcieAware {
    if args.first_gpu {
        PcieAware::first_gpu()
    } else {
        PcieAware::new()
    }
}

/// The jobs that have ended.
fn jobs(real: &Outcome, workload: &Workload) -> Vec<Job> {
    let mut jobs = Vec::new();
    for run in &real.runs {
        let own = &workload.jobs[run.index];
        let [arrived, started, ended] =
            [run.arrived, run.started(), run.ended()].map(|at| (at - Time::ZERO).as_secs_f64());
        let device = run.stays.first().and_then(|stay| stay.at.placement.first());
        jobs.push(Job {
            id: own.job.id.0,
            task: own.task.to_string(),
            work_s: own.work.as_secs_f64(),
            arrived_s: arrived,
            started_s: started,
            ended_s: ended,
            device: device.map(|id| id.0),
        });
    }
    jobs
}

/// Jobs of Tang et al.'s Table 2 on the smallest instances, without random numbers. They are 25 to
/// 75 s long, in steps of the golden section, which spreads any number of jobs evenly.
fn evenly(args: &ReplayArgs) -> Result<Workload, Failure> {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let [resnet, light, heavy] = Profile::tang();
    let mut jobs = Vec::new();
    for id in 0..args.jobs {
        // The n-th job is PCIe-bound if n times the share passes a whole number there, which
        // spreads PCIe-bound jobs evenly.
        let is_bound = (id + 1) * args.bound / 100 > id * args.bound / 100;
        let kind = match (is_bound, id * args.bound / 100 % 2) {
            (false, _) => &resnet,
            (true, 0) => &light,
            (true, _) => &heavy,
        };
        let arrived = Time::ZERO + args.gap.saturating_mul(id as u32);
        let work = 25.0 + 50.0 * (GOLDEN * id as f64).fract();
        let job = kind.submission(JobId(id), arrived, Size::new(1, 1), work);
        jobs.push(job.map_err(Failure::malformed)?);
    }
    Ok(Workload::new("jobs of Table 2, evenly spread", jobs))
}
