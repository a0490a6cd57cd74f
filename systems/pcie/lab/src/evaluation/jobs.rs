//! The jobs: Table 2's three kinds. Files with other shares of PCIe-bound jobs differ only in the
//! kinds of their jobs.

use std::time::Duration;

use mapa_core::mig::Size;
use mapa_core::{Demand, Pattern, Request};
use mapa_sched::{Job, JobId, Time};
use mapa_sim::{Submission, Workload, stream};
use rand::RngExt;

use super::setting::{Lengths, PcieArrivals, PcieSetting};

/// A row of Table 2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Table2Job {
    pub(super) name: &'static str,
    /// The PCIe traffic of a job that runs alone, GB/s; 0 if the job is not PCIe-bound.
    pub(super) gbps: f64,
    /// The slope of Eq. 1.
    pub(super) alpha: f64,
}

pub(super) const RESNET50: Table2Job = Table2Job {
    name: "ResNet50",
    gbps: 0.0,
    alpha: 1.0,
};
pub(super) const BLOOM560M: Table2Job = Table2Job {
    name: "Bloom560m",
    gbps: 5.7,
    alpha: 1.25,
};
pub(super) const BLOOM7B1: Table2Job = Table2Job {
    name: "Bloom7b1",
    gbps: 17.65,
    alpha: 1.07,
};

impl Table2Job {
    pub(super) const ALL: [Self; 3] = [RESNET50, BLOOM560M, BLOOM7B1];

    /// The kind with this name; ResNet50 for other names.
    pub(super) fn named(name: &str) -> Self {
        Self::ALL
            .into_iter()
            .find(|kind| kind.name == name)
            .unwrap_or(RESNET50)
    }

    pub(super) fn is_bound(self) -> bool {
        self.gbps > 0.0
    }

    /// The bandwidth that a job uses if nothing slows it down, GB/s.
    pub(super) fn wants(self) -> f64 {
        self.alpha * self.gbps
    }

    /// A job of this kind on an instance of this size, `work` seconds at full speed.
    pub(super) fn job(self, id: u64, size: Size, arrived: Time, work: Duration) -> Submission {
        let mut job = Job::new(
            JobId(id),
            Request::new(Pattern::single(Demand::slice(size).pcie_gbps(self.gbps))),
        );
        job.arrived = arrived;
        job.pcie_alpha = self.alpha;
        Submission::new(job, work).task(self.name)
    }
}

/// The mean run time of a job, s.
const MEAN_S: f64 = 50.0;

/// The probability of each kind.
fn weights(setting: &PcieSetting) -> [(Table2Job, f64); 3] {
    let bound = f64::from(setting.share) / 100.0;
    [
        (RESNET50, 1.0 - bound),
        (BLOOM560M, bound * (1.0 - setting.heavy)),
        (BLOOM7B1, bound * setting.heavy),
    ]
}

/// The mean run time of a kind, over [`MEAN_S`].
fn longer(lengths: Lengths, kind: Table2Job) -> f64 {
    match lengths {
        Lengths::LongResNet50 if kind == RESNET50 => 2.0,
        Lengths::LongBloom7b1 if kind == BLOOM7B1 => 2.0,
        _ => 1.0,
    }
}

/// The arrival rate, jobs per second, at which jobs use the share `load` of all slices at full
/// speed.
fn rate(setting: &PcieSetting, load: f64) -> f64 {
    let size: f64 = setting
        .slices
        .weights()
        .iter()
        .map(|&(compute, _, weight)| f64::from(compute) * weight)
        .sum();
    let run: f64 = weights(setting)
        .iter()
        .map(|&(kind, weight)| weight * longer(setting.lengths, kind))
        .sum();
    let slices = setting.gpus as f64 * f64::from(setting.instances);
    load * slices / (size * run * MEAN_S)
}

/// The choice at which the cumulated weights exceed `draw`, a number from 0 to 1.
fn pick<T: Copy>(draw: f64, choices: impl IntoIterator<Item = (T, f64)>, otherwise: T) -> T {
    let mut sum = 0.0;
    let found = choices.into_iter().find(|&(_, weight)| {
        sum += weight;
        draw < sum
    });
    found.map_or(otherwise, |(choice, _)| choice)
}

/// The jobs of a file. Each property has a stream of its own, from which every job takes one
/// number, whether the number is used or not. So a job that is PCIe-bound at 20 % is so at 40 %,
/// and has the same arrival and length.
pub(super) fn draw(setting: &PcieSetting, seed: u64) -> Workload {
    let streams = ["arrivals", "run times", "PCIe-bound", "Bloom7b1", "slices"];
    let mut streams = streams.map(|name| stream(seed, name));
    let mut now = 0.0;
    let mut jobs = Vec::new();
    for id in 0..setting.jobs as u64 {
        let [gap, length, bound, heavy, slice] = streams
            .each_mut()
            .map(|lcg128_xsl64| lcg128_xsl64.random::<f64>());
        if let PcieArrivals::Load(load) = setting.coming {
            now -= (1.0 - gap).ln() / rate(setting, load);
        }
        let of_bound = if heavy < setting.heavy {
            BLOOM7B1
        } else {
            BLOOM560M
        };
        let kind = if bound < f64::from(setting.share) / 100.0 {
            of_bound
        } else {
            RESNET50
        };
        let length = match setting.lengths {
            Lengths::Alike => 1.0,
            Lengths::Exponential => -(1.0 - length).ln(),
            Lengths::Uniform | Lengths::LongResNet50 | Lengths::LongBloom7b1 => 0.5 + length,
        };
        let work = Duration::from_nanos(
            (MEAN_S * longer(setting.lengths, kind) * length * 1e9).round() as u64,
        );
        let sizes = setting.slices.weights().iter();
        let sizes = sizes.map(|&(compute, memory, weight)| (Size::new(compute, memory), weight));
        let size = pick(slice, sizes, Size::new(1, 1));
        let arrived = Time((now * 1e9).round() as u64);
        jobs.push(kind.job(id, size, arrived, work));
    }
    Workload::new(format!("{}, seed {seed}", setting.id()), jobs)
}

#[cfg(test)]
mod tests {
    use super::super::setting::{FIXED, RequestedSlices};
    use super::*;

    fn many(setting: PcieSetting) -> Workload {
        draw(
            &PcieSetting {
                jobs: 20_000,
                ..setting
            },
            3,
        )
    }

    #[test]
    fn kinds_are_the_published_profiles() {
        for (kind, profile) in Table2Job::ALL.iter().zip(mapa_sim::Profile::tang()) {
            assert_eq!(
                (kind.name, kind.gbps, kind.alpha),
                (&*profile.name, profile.pcie_gbps, profile.pcie_alpha)
            );
        }
    }

    /// Common random numbers: from one share to a larger one only kinds change, and every
    /// PCIe-bound job stays PCIe-bound.
    #[test]
    fn files_of_other_shares_differ_in_what_jobs_are() {
        let [few, many] = [20, 60].map(|share| many(PcieSetting { share, ..FIXED }));
        for (few, many) in few.jobs.iter().zip(&many.jobs) {
            assert_eq!((few.job.arrived, few.work), (many.job.arrived, many.work));
            assert!(few.task == many.task || *few.task == *RESNET50.name);
        }
    }

    #[test]
    fn shares_lengths_sizes_and_load_are_as_they_are_said() {
        for lengths in [
            Lengths::Uniform,
            Lengths::Exponential,
            Lengths::LongResNet50,
            Lengths::LongBloom7b1,
        ] {
            let setting = PcieSetting {
                lengths,
                slices: RequestedSlices::Mixed,
                heavy: 0.25,
                ..FIXED
            };
            let jobs = many(setting).jobs;
            let count = |is: &dyn Fn(&Submission) -> bool| {
                jobs.iter().filter(|job| is(job)).count() as f64 / 20_000.0
            };
            assert!((count(&|submission| *submission.task == *RESNET50.name) - 0.4).abs() < 0.01);
            assert!((count(&|submission| *submission.task == *BLOOM7B1.name) - 0.15).abs() < 0.01);
            let slices = |submission: &Submission| submission.job.request.pattern.demands()[0];
            assert!(
                (count(&|submission| slices(submission) == Demand::slice(Size::new(3, 4))) - 0.06)
                    .abs()
                    < 0.01
            );
            let end = jobs.last().unwrap().job.arrived.0 as f64 / 1e9;
            let busy: f64 = jobs
                .iter()
                .map(|job| {
                    let size = [Size::new(1, 1), Size::new(2, 2), Size::new(3, 4)];
                    let is = |size: &&Size| slices(job).want == mapa_core::Want::Slice(**size);
                    job.work.as_secs_f64() * f64::from(size.iter().find(is).unwrap().compute)
                })
                .sum();
            let load = busy / (end * 28.0);
            assert!((load - 0.6).abs() < 0.03, "{lengths:?}: {load}");
        }
    }

    #[test]
    fn a_burst_is_there_at_the_beginning() {
        let jobs = draw(
            &PcieSetting {
                coming: PcieArrivals::Burst,
                ..FIXED
            },
            1,
        )
        .jobs;
        assert!(jobs.len() == 100 && jobs.iter().all(|job| job.job.arrived == Time::ZERO));
        let of = |submission: &Submission| submission.work.as_secs_f64();
        assert!(jobs.iter().all(|job| (25.0..75.0).contains(&of(job))));
    }
}
