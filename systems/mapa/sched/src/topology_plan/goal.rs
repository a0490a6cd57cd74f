//! What a plan is for, and how far it trusts estimates.

use super::machines::SetGoal;

/// What [`TopologyPlan`](super::TopologyPlan) minimises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PlanGoal {
    /// The mean time from arrival to end.
    #[default]
    Completion,
    /// The time until the last job ends.
    Makespan,
    /// The mean of completion times over ideal times: short jobs wait less, and so the highest
    /// slowdowns fall.
    Slowdown,
}

impl PlanGoal {
    /// Every goal.
    pub const ALL: [Self; 3] = [Self::Completion, Self::Makespan, Self::Slowdown];

    /// The name, as in the settings of the scheduler.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Completion => "completion",
            Self::Makespan => "makespan",
            Self::Slowdown => "slowdown",
        }
    }

    /// The goal of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|plan_goal| plan_goal.name() == name)
    }

    /// Patience and pace of ageing, in mean ideal times.
    pub(super) fn ageing(self) -> f64 {
        match self {
            Self::Completion | Self::Makespan => 7.0,
            Self::Slowdown => 2.0,
        }
    }

    /// The cost of a schedule of `jobs` jobs. `coming` is the price of the time of all `devices` for
    /// jobs that will come, in jobs; `blend` is how much the last end counts beside completion times.
    /// `climb` is by how much a second until the last end costs more with every second, on several
    /// machines.
    pub(super) fn cost(
        self,
        (coming, devices): (f64, f64),
        blend: f64,
        jobs: usize,
        climb: f64,
    ) -> SetGoal {
        match self {
            Self::Completion | Self::Slowdown => SetGoal {
                completions: 1.0,
                last: blend * jobs as f64,
                climb: 0.0,
                machine: coming,
                devices,
            },
            Self::Makespan => SetGoal {
                completions: blend / jobs.max(1) as f64,
                last: 1.0,
                climb,
                machine: 0.2,
                devices,
            },
        }
    }
}

/// A part of a [`TopologyPlan`](super::TopologyPlan) that can be left out, to see what it is worth. The
/// search is left out by a budget of 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PlanPart {
    /// Waiting for good sets: every job takes the fastest free one.
    Sets,
    /// Waiting for devices: nobody bars those behind it.
    Bars,
    /// The search for the order of a batch: the shortest come first, or for makespan the largest.
    Prices,
    /// The price of machine time for jobs that will come.
    Coming,
    /// Insertion where a new job adds the least cost: it comes last.
    Insertion,
}

impl PlanPart {
    /// Every part.
    pub const ALL: [Self; 5] = [
        Self::Sets,
        Self::Bars,
        Self::Prices,
        Self::Coming,
        Self::Insertion,
    ];

    pub(super) fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// How far run times can be trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Trust {
    /// They are exact until ends that are observed say otherwise.
    #[default]
    Exact,
    /// They are wrong by some ten percent.
    Rough,
    /// They are means of classes of jobs, or wrong by half and more.
    ClassMeans,
}

impl Trust {
    /// Every degree.
    pub const ALL: [Self; 3] = [Self::Exact, Self::Rough, Self::ClassMeans];

    /// The name, as in the settings of the scheduler.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Rough => "rough",
            Self::ClassMeans => "class-means",
        }
    }

    /// The degree of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|trust| trust.name() == name)
    }
}

/// How far estimates were off, of the last jobs that have ended.
#[derive(Clone, Debug, Default)]
pub(super) struct EstimateErrors {
    /// Squares of the logarithm of the true time over the expected one.
    last: std::collections::VecDeque<f64>,
}

impl EstimateErrors {
    /// Of so many jobs.
    const WINDOW: usize = 20;
    /// From so many on, they say something.
    const ENOUGH: usize = 4;
    /// Up to this root mean square, estimates are exact.
    const EXACT: f64 = 0.02;
    /// Up to this one they are rough.
    const ROUGH: f64 = 0.8;

    pub(super) fn note(&mut self, took: f64, expected: f64) {
        let error = (took.max(1e-9) / expected.max(1e-9)).ln();
        if error.is_finite() {
            self.last.truncate(Self::WINDOW - 1);
            self.last.push_front(error * error);
        }
    }

    /// What is to be trusted, of what was told.
    pub(super) fn trust(&self, told: Trust) -> Trust {
        if self.last.len() < Self::ENOUGH {
            return told;
        }
        let mean = self.last.iter().sum::<f64>() / self.last.len() as f64;
        let seen = match mean.sqrt() {
            root if root <= Self::EXACT => Trust::Exact,
            root if root <= Self::ROUGH => Trust::Rough,
            _ => Trust::ClassMeans,
        };
        told.max(seen)
    }
}
