//! The batches of the evaluation, as far as they are published, and what is assumed for the rest.

use std::time::Duration;

use mapa_core::{Demand, Pattern, Request};
use mapa_front::Error;
use mapa_sched::{Job, JobId, RunTime};
use mapa_sim::{Submission, TaskPlan, Workload, stream};
use rand::RngExt as _;
use rand_distr::{Distribution, StandardNormal};

/// The machines of Table 1, and the batch on each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CaseSystem {
    A,
    B,
    C,
    D,
}

impl CaseSystem {
    pub(super) const ALL: [Self; 4] = [Self::A, Self::B, Self::C, Self::D];
    /// The systems of alike instances.
    pub(super) const ALIKE: [Self; 3] = [Self::A, Self::B, Self::C];

    pub(super) fn name(self) -> &'static str {
        ["A", "B", "C", "D"][self as usize]
    }

    pub(super) fn gpus(self) -> usize {
        [1, 2, 4, 1][self as usize]
    }

    fn jobs(self) -> u64 {
        [32, 64, 128, 32][self as usize]
    }
}

/// Isolated jobs to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JobRatio(pub(super) u32, pub(super) u32);

impl JobRatio {
    pub(super) const ALL: [Self; 7] = [
        Self(1, 0),
        Self(4, 1),
        Self(2, 1),
        Self(1, 1),
        Self(1, 2),
        Self(1, 4),
        Self(0, 1),
    ];

    /// The five mixes over which the paper takes means.
    pub(super) fn mixed() -> &'static [Self] {
        &Self::ALL[1..6]
    }

    pub(super) fn name(self) -> String {
        format!("{}:{}", self.0, self.1)
    }

    /// The share of jobs that need no isolation.
    pub(super) fn others(self) -> f64 {
        f64::from(self.1) / f64::from(self.0 + self.1)
    }
}

/// A kind of batch. All numbers but the system, the ratio and the footprints are assumed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BatchSetting {
    pub(super) system: CaseSystem,
    pub(super) ratio: JobRatio,
    /// Whether jobs from 0.3 GB on are drawn, or from 1 GB on.
    pub(super) small: bool,
    /// The mean run time of isolated jobs, seconds, and its coefficient of variation.
    pub(super) isolated: (f64, f64),
    /// The mean life of other jobs, seconds, and its coefficient of variation.
    pub(super) others: (f64, f64),
    /// The share of a life on the GPU.
    pub(super) gpu: f64,
    /// The same for jobs above 5 GB.
    pub(super) gpu_large: f64,
    /// How many times as long jobs above 5 GB last.
    pub(super) large_times: f64,
    /// The power of the footprint with which lives grow.
    pub(super) exponent: f64,
    /// Warps of a task, as a share of what the smallest instance holds that holds the task.
    pub(super) demand: f64,
    /// Whether tasks slow each other down by their demands.
    pub(super) slows: bool,
    /// Whether an A30 has the six slices of the paper, and not the four that it has.
    pub(super) six: bool,
    /// How long a repartition takes, seconds.
    pub(super) repartition: u64,
    /// By how much estimates are wrong at most, as a share.
    pub(super) wrong: f64,
}

impl BatchSetting {
    /// Set S1: a fit to the published headlines.
    pub(super) fn s1(system: CaseSystem, ratio: JobRatio) -> Self {
        let on_d = system == CaseSystem::D;
        Self {
            system,
            ratio,
            small: false,
            isolated: (19.0, 0.0),
            others: (20.0, 0.6),
            gpu: if on_d { 0.59 } else { 0.40 },
            gpu_large: 0.81,
            large_times: 4.0,
            exponent: 0.25,
            demand: 0.33,
            slows: false,
            six: false,
            repartition: 10,
            wrong: 0.5,
        }
    }

    /// S1 with a spread of isolated jobs, and tasks that slow each other down: under which managers
    /// are compared.
    pub(super) fn spread(system: CaseSystem, ratio: JobRatio) -> Self {
        Self {
            isolated: (19.0, 0.3),
            slows: true,
            ..Self::s1(system, ratio)
        }
    }

    pub(super) fn name(&self) -> String {
        let small = if self.small { " small" } else { "" };
        format!("{} {}{small}", self.system.name(), self.ratio.name())
    }
}

/// A benchmark of Rodinia, with the footprints of its arguments in GB (public facts of
/// rudyjantz/GPU-Sched; those of lavaMD below 7 GB by its cube law).
type Benchmark = &'static [f64];

const RODINIA: [Benchmark; 7] = [
    &[0.589, 1.177, 2.351, 4.700, 9.397],
    &[0.327, 1.309],
    &[3.872, 7.200],
    &[0.403, 1.611, 6.442],
    &[0.520, 2.080, 8.321],
    &[0.537, 2.148, 8.590],
    &[0.98, 4.02, 7.856],
];

/// The footprints of each benchmark in a range, GB; benchmarks without one are left out.
fn within(low: f64, high: f64) -> Vec<Vec<f64>> {
    let all = RODINIA.iter().map(|values| {
        let own = values.iter().copied().filter(|&gb| gb >= low && gb <= high);
        own.collect::<Vec<_>>()
    });
    all.filter(|values| !values.is_empty()).collect()
}

/// The mean of a power of the footprints, each benchmark as likely as any other.
fn mean_power(pool: &[Vec<f64>], exponent: f64) -> f64 {
    let each = pool.iter().map(|values| {
        let sum: f64 = values.iter().map(|gb| gb.powf(exponent)).sum();
        sum / values.len() as f64
    });
    each.sum::<f64>() / pool.len() as f64
}

/// A number with this mean and coefficient of variation, lognormal, by a standard normal draw.
fn lognormal(mean: f64, variation: f64, normal: f64) -> f64 {
    let s2 = (1.0 + variation * variation).ln();
    mean * (normal * s2.sqrt() - s2 / 2.0).exp()
}

/// Warps that a compute slice holds.
const SLICE: f64 = mapa_system_case_sim::ByWarps::SLICE;

pub(super) fn bytes(gb: f64) -> u64 {
    (gb * 1e9).round() as u64
}

/// The draws of one job. Every job takes the same number, so that settings share them.
struct JobDraws {
    is_large: f64,
    benchmark: f64,
    argument: f64,
    normal: f64,
    /// By how much an estimate is wrong, from -1 to 1.
    wrong: f64,
}

fn pick<T>(all: &[T], unit: f64) -> Option<&T> {
    all.get(((unit * all.len() as f64) as usize).min(all.len().saturating_sub(1)))
}

impl BatchSetting {
    /// The batch of a seed: all jobs at the beginning, in random order. By how much estimates are
    /// wrong is uniform.
    pub(super) fn batch(&self, seed: u64) -> Result<Workload, Error> {
        let on_d = self.system == CaseSystem::D;
        let count = self.system.jobs();
        let mut order = stream(seed, "case order");
        let mut jobs = stream(seed, "case jobs");
        // Of n jobs the share that is isolated, rounded: 85 of 128 at 2:1.
        let isolated = ((1.0 - self.ratio.others()) * count as f64).round() as u64;
        let mut kinds: Vec<(f64, bool)> = (0..count)
            .map(|id| (order.random::<f64>(), id < isolated))
            .collect();
        kinds.sort_by(|a, b| a.0.total_cmp(&b.0));
        let small = within(
            if self.small { 0.3 } else { 0.98 },
            if on_d { 5.0 } else { 6.0 },
        );
        let large = within(5.0, 10.0);
        let all = (0..).zip(kinds).map(|(id, (_, is_isolated))| {
            let draws = JobDraws {
                is_large: jobs.random(),
                benchmark: jobs.random(),
                argument: jobs.random(),
                normal: StandardNormal.sample(&mut jobs),
                wrong: jobs.random::<f64>() * 2.0 - 1.0,
            };
            if is_isolated {
                return Ok(self.isolated_job(id, on_d, &draws));
            }
            let is_large = on_d && draws.is_large < 7.0 / 15.0;
            let pool = if is_large { &large } else { &small };
            let own = pick(pool, draws.benchmark).and_then(|values| pick(values, draws.argument));
            let Some(&gb) = own else {
                return Err(Error::malformed("no benchmark has such a footprint"));
            };
            let scale = gb.powf(self.exponent) / mean_power(pool, self.exponent);
            Ok(self.process(id, gb, scale, is_large, &draws))
        });
        let all: Vec<Submission> = all.collect::<Result<_, Error>>()?;
        Ok(Workload::new(self.name(), all))
    }

    fn isolated_job(&self, id: u64, on_d: bool, draws: &JobDraws) -> Submission {
        let is_large = on_d && draws.is_large < 0.4;
        let gb = if is_large {
            5.5 + 4.0 * draws.argument
        } else {
            1.6 + 0.8 * draws.argument
        };
        let demand = Demand::any().memory(bytes(gb));
        let mut job = Job::new(JobId(id), Request::new(Pattern::single(demand)));
        job.isolated = true;
        let (mean, variation) = self.isolated;
        let runs = lognormal(mean, variation, draws.normal);
        estimated(
            Submission::new(job, seconds(runs)),
            runs,
            self.wrong * draws.wrong,
        )
    }

    /// A process: host time before its task, the task, host time after it.
    fn process(
        &self,
        id: u64,
        gb: f64,
        scale: f64,
        is_large: bool,
        draws: &JobDraws,
    ) -> Submission {
        let (mean, variation) = self.others;
        let times = if is_large { self.large_times } else { 1.0 };
        let life = lognormal(mean * scale * times, variation, draws.normal);
        let gpu = life * if is_large { self.gpu_large } else { self.gpu };
        let host = life - gpu;
        // An instance for more than 5 GB has two compute slices.
        let slices = if is_large { 2.0 } else { 1.0 };
        let warps = (self.demand * slices * SLICE).round().max(1.0) as u32;
        let demand = Demand::any().shared().memory(bytes(gb)).warps(warps);
        let request = Request::new(Pattern::single(demand));
        let plan = TaskPlan::new(seconds(0.7 * host), request.clone(), seconds(gpu));
        let own = Submission::new(Job::new(JobId(id), request), seconds(0.3 * host));
        estimated(own.tasks([plan]), life, self.wrong * draws.wrong)
    }
}

fn seconds(s: f64) -> Duration {
    Duration::from_secs_f64(s)
}

/// The submission with an estimate of its life that is wrong by this share.
fn estimated(mut own: Submission, life: f64, wrong: f64) -> Submission {
    own.job.run_time = RunTime::Fixed(seconds(life * (1.0 + wrong)));
    own
}
