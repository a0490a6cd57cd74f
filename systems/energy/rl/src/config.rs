//! How a net is trained.

use mapa_system_energy::learned::{Formulation, Observation};
use mapa_system_energy::{Power, SlicedGpus};
use mapa_system_energy_sim::Draw;

use crate::error::{Error, ErrorKind};
use crate::reward::Reward;

/// How a net is trained: what it sees and is told, and the parameters of proximal policy
/// optimisation (Schulman et al., 2017). Where a parameter has two numbers, it goes from the first
/// to the second in equal steps, an update each.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// What the net sees.
    pub formulation: Formulation,
    /// What it is told.
    pub reward: Reward,
    /// The [layouts](SlicedGpus::layouts) of the GPUs, A100s.
    pub layouts: String,
    /// The days.
    pub draw: Draw,
    /// The sizes of the layers between inputs and outputs. The net of the policy and the net that
    /// values states are apart, of the same sizes.
    pub layers: Vec<usize>,
    /// The days that go on side by side.
    pub days: usize,
    /// The steps of each day between updates.
    pub horizon: usize,
    /// The actions after which training ends; the last update may pass it.
    pub steps: u64,
    /// The samples of a gradient.
    pub minibatch: usize,
    /// How often each sample is used.
    pub epochs: usize,
    /// By how much the probability of an action may change in an update before more gains nothing.
    pub clip: f64,
    /// The rate of learning.
    pub rate: [f64; 2],
    /// The weight of entropy.
    pub entropy: [f64; 2],
    /// What a reward is worth one step later.
    pub discount: f64,
    /// The decay of advantages by steps (lambda of generalised advantage estimation).
    pub smoothing: f64,
    /// The length to which gradients are cut.
    pub longest: f64,
}

impl Config {
    /// The second formulation, with small minibatches: the parameters that work.
    #[must_use]
    pub fn ours() -> Self {
        Self {
            formulation: Formulation::Enhanced,
            reward: Reward::Code,
            layouts: SlicedGpus::PUBLISHED.to_owned(),
            draw: Draw::default(),
            layers: vec![128, 128],
            days: 8,
            horizon: 1024,
            steps: 500_000,
            minibatch: 256,
            epochs: 4,
            clip: 0.2,
            rate: [3e-4, 0.0],
            entropy: [0.01, 0.0],
            discount: 0.99,
            smoothing: 0.95,
            longest: 0.5,
        }
    }

    /// The second formulation, with the parameters of the code of Hisaria et al.: large minibatches,
    /// and so 1,240 gradients in all.
    #[must_use]
    pub fn published() -> Self {
        Self {
            layers: vec![256, 256, 128],
            minibatch: 4096,
            epochs: 10,
            clip: 0.15,
            rate: [3e-4, 1e-5],
            entropy: [0.02, 0.001],
            ..Self::ours()
        }
    }

    /// The first formulation: a reward at the end of a day, sizes of slices unseen, tight deadlines.
    #[must_use]
    pub fn original() -> Self {
        Self {
            formulation: Formulation::Original,
            reward: Reward::Sparse,
            draw: Draw::tight(),
            days: 16,
            steps: 200_000,
            minibatch: 2048,
            epochs: 5,
            rate: [3e-4; 2],
            entropy: [0.001; 2],
            ..Self::ours()
        }
    }

    /// As [`Config::ours`], where an action may also repartition: it is any placement of an instance
    /// on a GPU whose memory slots are idle, and creating one delays its job by 0.4 seconds.
    #[must_use]
    pub fn repartitioning() -> Self {
        Self {
            layouts: "8 x any, created in 0.006666666666666667 min".to_owned(),
            ..Self::ours()
        }
    }

    /// The actions between two updates.
    pub(crate) fn batch(&self) -> usize {
        self.days * self.horizon
    }

    /// The updates of the whole training.
    #[must_use]
    pub fn updates(&self) -> u64 {
        self.steps.div_ceil(self.batch().max(1) as u64)
    }

    /// The machine, and what is observed of it.
    pub(crate) fn machine(&self) -> Result<(SlicedGpus, Observation), Error> {
        let machine = SlicedGpus::of_layouts(&self.layouts, Power::A100)?;
        let observation = Observation::new(self.formulation, &machine);
        Ok((machine, observation))
    }

    /// The parameters, if a net can be trained with them.
    ///
    /// # Errors
    /// Layouts that are not sound, a number of 0 or that is not finite where it cannot be, more than
    /// 65,535 slices.
    pub fn checked(self) -> Result<Self, Error> {
        let (machine, _) = self.machine()?;
        let wrong = |key, value: String, expected| {
            Err(ErrorKind::BadConfig {
                key,
                value,
                expected,
            }
            .into())
        };
        let slices = machine.sizes().len();
        if slices > usize::from(u16::MAX) {
            return wrong(
                "layouts",
                format!("of {slices} slices"),
                "at most 65535 slices",
            );
        }
        let counts = [
            ("days", self.days),
            ("horizon", self.horizon),
            ("minibatch", self.minibatch),
            ("epochs", self.epochs),
            ("layers", self.layers.iter().copied().min().unwrap_or(1)),
            ("steps", usize::try_from(self.steps).unwrap_or(usize::MAX)),
        ];
        for (key, value) in counts {
            if value == 0 {
                return wrong(key, "0".to_owned(), "a whole number of 1 or more");
            }
        }
        let at_least_0 = [
            ("rate", self.rate[0]),
            ("rate", self.rate[1]),
            ("entropy", self.entropy[0]),
            ("entropy", self.entropy[1]),
            ("clip", self.clip),
            ("longest", self.longest),
        ];
        for (key, value) in at_least_0 {
            if !(value.is_finite() && value >= 0.0) {
                return wrong(key, value.to_string(), "a number of 0 or more");
            }
        }
        for (key, value) in [("discount", self.discount), ("smoothing", self.smoothing)] {
            if !(0.0..=1.0).contains(&value) {
                return wrong(key, value.to_string(), "a number from 0 to 1");
            }
        }
        Ok(self)
    }
}
