//! Settings: GPUs, jobs, arrivals, thresholds, and how jobs share bandwidth.

use std::time::Duration;

use mapa_core::PCIE_GEN4_GBPS;
use mapa_sim::{Execution, Workload};
use mapa_system_pcie::PcieAware;
use mapa_system_pcie_sim::{PcieEqualShare, PcieMaxMin};

/// The arrival pattern of jobs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum PcieArrivals {
    /// A Poisson process. This share of all compute slices is in use if jobs run at full speed.
    Load(f64),
    /// All jobs arrive at the beginning.
    Burst,
}

impl PcieArrivals {
    pub(super) fn name(self) -> String {
        match self {
            Self::Load(load) => format!("load {load}"),
            Self::Burst => "burst".to_owned(),
        }
    }
}

/// The run times of jobs at full speed, seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Lengths {
    /// Uniform between half and one and a half times 50.
    Uniform,
    /// 50 each.
    Alike,
    /// Exponential, 50 in the mean.
    Exponential,
    /// [`Uniform`](Self::Uniform), ResNet50 twice as long.
    LongResNet50,
    /// [`Uniform`](Self::Uniform), Bloom7b1 twice as long.
    LongBloom7b1,
}

impl Lengths {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform, 25 to 75 s",
            Self::Alike => "50 s each",
            Self::Exponential => "exponential, mean 50 s",
            Self::LongResNet50 => "ResNet50 100 s, others 50 s, each ± 50 %",
            Self::LongBloom7b1 => "Bloom7b1 100 s, others 50 s, each ± 50 %",
        }
    }
}

/// The slices that jobs request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum RequestedSlices {
    /// 1g.
    One,
    /// 1g, 2g and 3g, with the probabilities .6, .25 and .15.
    Mixed,
}

impl RequestedSlices {
    /// Compute slices, memory slices, probability.
    pub(super) fn weights(self) -> &'static [(u8, u8, f64)] {
        match self {
            Self::One => &[(1, 1, 1.0)],
            Self::Mixed => &[(1, 1, 0.6), (2, 2, 0.25), (3, 4, 0.15)],
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::One => "1g",
            Self::Mixed => "1g/2g/3g .6/.25/.15",
        }
    }
}

/// How the copies of one GPU share its port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PortSharing {
    /// Eq. 2: each job counts as if all others had its demand.
    EqualShare,
    /// Weighted max-min fairness: what light jobs leave goes to heavy ones.
    MaxMin,
}

impl PortSharing {
    pub(super) const ALL: [Self; 2] = [Self::EqualShare, Self::MaxMin];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::EqualShare => EQ_2,
            Self::MaxMin => MAX_MIN,
        }
    }

    pub(super) fn execution(self, jobs: &Workload) -> Box<dyn Execution> {
        match self {
            Self::EqualShare => Box::new(PcieEqualShare::new(PCIE_GEN4_GBPS)),
            Self::MaxMin => Box::new(PcieMaxMin::new(jobs)),
        }
    }
}

pub(super) const EQ_2: &str = "Eq. 2";
pub(super) const MAX_MIN: &str = "max-min";

/// The scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PcieChooser {
    /// The paper's baseline: the first GPU with room.
    First,
    /// The paper's scheduler.
    Aware,
}

impl PcieChooser {
    pub(super) const ALL: [Self; 2] = [Self::First, Self::Aware];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::First => FIRST,
            Self::Aware => AWARE,
        }
    }

    pub(super) fn scheduler(self, setting: &PcieSetting) -> PcieAware {
        match self {
            Self::First => PcieAware::first_gpu(),
            Self::Aware => PcieAware::new()
                .delay_threshold(setting.delay)
                .wait_threshold(Duration::from_secs(setting.wait_s)),
        }
    }
}

pub(super) const FIRST: &str = "first-gpu";
pub(super) const AWARE: &str = "pcie-aware";

/// An experiment's conditions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PcieSetting {
    /// The number of GPUs, in servers of four.
    pub(super) gpus: usize,
    /// The most 1g instances of a GPU.
    pub(super) instances: u8,
    pub(super) jobs: usize,
    /// PCIe-bound jobs, percent.
    pub(super) share: u8,
    /// The share of Bloom7b1 among them.
    pub(super) heavy: f64,
    pub(super) coming: PcieArrivals,
    pub(super) lengths: Lengths,
    pub(super) slices: RequestedSlices,
    /// The delay threshold: no job starts on a GPU where Eq. 2 predicts a larger slowdown.
    pub(super) delay: f64,
    /// The wait threshold, seconds: after it, the delay threshold does not apply.
    pub(super) wait_s: u64,
    pub(super) physics: PortSharing,
}

/// The default setting.
pub(super) const FIXED: PcieSetting = PcieSetting {
    gpus: 4,
    instances: 7,
    jobs: 100,
    share: 60,
    heavy: 0.5,
    coming: PcieArrivals::Load(0.6),
    lengths: Lengths::Uniform,
    slices: RequestedSlices::One,
    delay: 1.3,
    wait_s: 300,
    physics: PortSharing::EqualShare,
};

/// The paper's shares of PCIe-bound jobs, percent.
pub(super) const SHARES: [u8; 3] = [20, 40, 60];
/// The arrival patterns that are reported.
pub(super) const COMING: [PcieArrivals; 2] = [PcieArrivals::Load(0.6), PcieArrivals::Burst];
/// The paper's larger system, in servers of four.
pub(super) const LARGE: PcieSetting = PcieSetting {
    gpus: 60,
    jobs: 1400,
    ..FIXED
};
/// Fig. 9: the most instances of a GPU.
pub(super) const INSTANCES: [u8; 5] = [7, 8, 10, 12, 14];

impl PcieSetting {
    /// The setting at each of the [shares](SHARES) of PCIe-bound jobs.
    pub(super) fn shares(self) -> [Self; 3] {
        SHARES.map(|share| Self { share, ..self })
    }

    /// The setting with both arrival patterns and both physics: Poisson first, Eq. 2 first.
    pub(super) fn variants(self) -> [Self; 4] {
        let [load, burst] = COMING.map(|coming| {
            PortSharing::ALL.map(|physics| Self {
                coming,
                physics,
                ..self
            })
        });
        [load[0], load[1], burst[0], burst[1]]
    }

    /// The arrival pattern and the physics, in words.
    pub(super) fn variant(&self) -> String {
        format!("{}, {}", self.coming.name(), self.physics.name())
    }

    /// The key in `results.json`: everything that differs from the [default](FIXED).
    pub(super) fn id(&self) -> String {
        let mut words = vec![
            format!("{} GPUs", self.gpus),
            self.variant(),
            format!("{} %", self.share),
        ];
        let mut unlike = |differs: bool, word: String| words.extend(differs.then_some(word));
        let jobs = if self.gpus == LARGE.gpus {
            LARGE.jobs
        } else {
            FIXED.jobs
        };
        unlike(
            self.instances != FIXED.instances,
            format!("{} instances", self.instances),
        );
        unlike(self.jobs != jobs, format!("{} jobs", self.jobs));
        unlike(
            self.heavy != FIXED.heavy,
            format!("Bloom7b1 {}", self.heavy),
        );
        unlike(
            self.lengths != FIXED.lengths,
            self.lengths.name().to_owned(),
        );
        unlike(self.slices != FIXED.slices, self.slices.name().to_owned());
        unlike(self.delay != FIXED.delay, format!("delay {}", self.delay));
        unlike(
            self.wait_s != FIXED.wait_s,
            format!("wait {} s", self.wait_s),
        );
        words.join(", ")
    }
}

/// A variation: the property, its value, and the setting at 60 %.
pub(super) type Variation = (&'static str, String, PcieSetting);

/// The variations, each of one property, on four GPUs.
// Long, since it is one list, property by property in the order of the report.
pub(super) fn variations() -> Vec<Variation> {
    let mut all: Vec<Variation> = Vec::new();
    let mut add = |what, name: String, setting| all.push((what, name, setting));
    for heavy in [0.0, 0.25, 0.5, 0.75, 1.0] {
        add(
            "share of Bloom7b1",
            heavy.to_string(),
            PcieSetting { heavy, ..FIXED },
        );
    }
    for load in [0.3, 0.5, 0.6, 0.7, 0.9] {
        add(
            "load",
            load.to_string(),
            PcieSetting {
                coming: PcieArrivals::Load(load),
                ..FIXED
            },
        );
    }
    for jobs in [28, 56, 100, 200, 400] {
        add(
            "burst of jobs",
            jobs.to_string(),
            PcieSetting {
                coming: PcieArrivals::Burst,
                jobs,
                ..FIXED
            },
        );
    }
    let patient = PcieSetting {
        coming: PcieArrivals::Burst,
        jobs: 400,
        wait_s: 3000,
        ..FIXED
    };
    add(
        "burst of jobs",
        "400, wait threshold 3000 s".to_owned(),
        patient,
    );
    let lengths = [
        Lengths::Uniform,
        Lengths::Alike,
        Lengths::Exponential,
        Lengths::LongResNet50,
        Lengths::LongBloom7b1,
    ];
    for lengths in lengths {
        add(
            "run times",
            lengths.name().to_owned(),
            PcieSetting { lengths, ..FIXED },
        );
    }
    for delay in [1.0, 1.3, 2.0, 3.0, f64::INFINITY] {
        let name = if delay.is_finite() {
            delay.to_string()
        } else {
            "none".to_owned()
        };
        add("delay threshold", name, PcieSetting { delay, ..FIXED });
    }
    for wait_s in [30, 100, 300, 1000] {
        add(
            "wait threshold",
            format!("{wait_s} s"),
            PcieSetting { wait_s, ..FIXED },
        );
    }
    for (delay, wait_s) in [(1.0, 30), (1.0, 1000)] {
        add(
            "both thresholds",
            format!("{delay}, {wait_s} s"),
            PcieSetting {
                delay,
                wait_s,
                ..FIXED
            },
        );
    }
    for coming in COMING {
        let setting = PcieSetting {
            slices: RequestedSlices::Mixed,
            coming,
            ..FIXED
        };
        add(
            "slices",
            format!("{}, {}", setting.slices.name(), coming.name()),
            setting,
        );
    }
    all
}

/// Every setting, each once.
pub(super) fn settings() -> Vec<PcieSetting> {
    let more_instances = INSTANCES.map(|instances| PcieSetting { instances, ..FIXED });
    let main = [LARGE]
        .into_iter()
        .chain(more_instances)
        .flat_map(PcieSetting::variants);
    let varied = variations().into_iter().map(|(.., setting)| setting);
    let mut all: Vec<PcieSetting> = Vec::new();
    for setting in main
        .chain(
            varied.flat_map(|setting| {
                PortSharing::ALL.map(|physics| PcieSetting { physics, ..setting })
            }),
        )
        .flat_map(PcieSetting::shares)
    {
        if !all.contains(&setting) {
            all.push(setting);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_have_names_of_their_own() {
        let mut ids: Vec<String> = settings().iter().map(PcieSetting::id).collect();
        let before = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), before);
        assert!(ids.contains(&"4 GPUs, load 0.6, Eq. 2, 60 %".to_owned()));
    }

    /// The baseline has no thresholds, and every other property is varied from the default.
    #[test]
    fn every_variation_has_what_is_fixed_beside_it() {
        for what in [
            "share of Bloom7b1",
            "load",
            "run times",
            "delay threshold",
            "wait threshold",
        ] {
            assert!(
                variations()
                    .iter()
                    .any(|(candidate, _, setting)| *candidate == what && *setting == FIXED),
                "{what}"
            );
        }
    }
}
