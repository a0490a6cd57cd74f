//! Whether prices suit what arrives.

use super::state::{Arrived, State};
use crate::error::{Error, ErrorKind};

/// The jobs for which prices were tuned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TunedFor {
    /// The least and the most work that arrived: minutes on a whole GPU for each GPU and minute,
    /// over an hour. 1 keeps whole GPUs busy; slices do more.
    pub load: [f64; 2],
    /// The least and the most of a job's time from arrival to deadline, by its run time on a whole
    /// GPU.
    pub slack: [f64; 2],
    /// The most jobs that waited, for each GPU.
    pub waiting: f64,
}

/// The published days: 20 to 23 jobs a minute at the published rates, relaxed deadlines.
impl Default for TunedFor {
    fn default() -> Self {
        Self {
            load: [0.5, 1.9],
            slack: [2.0, 4.0],
            waiting: 8.0,
        }
    }
}

impl TunedFor {
    /// The range, if it is one.
    ///
    /// # Errors
    /// A number that is not finite or below 0, or a range that falls.
    pub fn checked(self) -> Result<Self, Error> {
        let named = [("load", self.load), ("slack", self.slack)];
        let waiting = ("waiting", [0.0, self.waiting]);
        for (name, [low, high]) in named.into_iter().chain([waiting]) {
            if !(low >= 0.0 && low <= high && high.is_finite()) {
                let what = format!(
                    "tuned for `{name}` {low} to {high}: expected numbers of 0 or more that do not fall"
                );
                return Err(ErrorKind::BadPrices(what).into());
            }
        }
        Ok(self)
    }
}

/// What is not as prices were tuned for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unsuited {
    /// The work that arrives. Beyond the range the plan is still the best rule here: it is noted,
    /// and nothing changes.
    Load,
    /// The time that jobs have. Below the range [`Fit`](super::Fit) has fewer late jobs, and decides
    /// as long as that lasts.
    Slack,
    /// The queue grows beyond twice what tuning saw, although no more work has arrived than it saw.
    /// [`Fit`](super::Fit) decides until the queue is an eighth of what tuning saw.
    Queue,
}

/// What a plan noticed first at some moment. It goes on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlanNote {
    /// When, minutes.
    pub at: f64,
    /// What it is.
    pub what: Unsuited,
    /// What was seen: in the units of [`TunedFor`].
    pub seen: f64,
    /// What prices were tuned for: the end of the range that was passed.
    pub tuned: f64,
}

/// The time over which arrivals are averaged, minutes.
const WINDOW: f64 = 60.0;

/// Fewer jobs than this say nothing about all of them.
const ENOUGH: f64 = 30.0;

/// How far loads may lie outside what was tuned for before it is noted: hours differ by chance, and
/// at the end of a day nothing arrives.
const LEEWAY: [f64; 2] = [0.5, 1.1];

/// How long the queue is when it has run away, and when it is short again, by what tuning saw.
const AWAY: f64 = 2.0;
const BACK: f64 = 0.125;

/// Watches what arrives and waits.
#[derive(Clone, Debug)]
pub(super) struct TuningGuard {
    tuned: TunedFor,
    /// The arrivals up to `at`, and those of about the last [`WINDOW`].
    counted: Arrived,
    recent: Arrived,
    at: f64,
    since: Option<f64>,
    is_tight: bool,
    is_away: bool,
    /// Whether more work has arrived than tuning saw since the queue was last as short as then.
    is_overloaded: bool,
    notes: Vec<PlanNote>,
}

impl TuningGuard {
    pub(super) fn new(tuned: TunedFor) -> Self {
        Self {
            tuned,
            counted: Arrived::default(),
            recent: Arrived::default(),
            at: 0.0,
            since: None,
            is_tight: false,
            is_away: false,
            is_overloaded: false,
            notes: Vec::new(),
        }
    }

    pub(super) fn notes(&self) -> &[PlanNote] {
        &self.notes
    }

    /// Looks at the state. Whether the plan should decide.
    pub(super) fn suits(&mut self, state: &State) -> bool {
        self.count(state);
        let gpus = state.machine().gpu_count() as f64;
        let waiting = state.queue().len() as f64 / gpus;
        let [low, high] = self.tuned.load;
        self.is_overloaded &= waiting > self.tuned.waiting;
        if let Some(load) = self.load(gpus) {
            self.is_overloaded |= load > high;
            if load > high * LEEWAY[1] {
                self.note(Unsuited::Load, load, high);
            } else if load < low * LEEWAY[0] {
                self.note(Unsuited::Load, load, low);
            }
        }
        if let Some(slack) = self.slack() {
            let [low, high] = self.tuned.slack;
            // A little more than the end of the range, so that it does not flicker.
            let end = if self.is_tight { low * 1.05 } else { low };
            self.is_tight = slack < end;
            if self.is_tight {
                self.note(Unsuited::Slack, slack, low);
            } else if slack > high {
                self.note(Unsuited::Slack, slack, high);
            }
        }
        let limit = if self.is_away { BACK } else { AWAY };
        self.is_away = waiting > limit * self.tuned.waiting && !self.is_overloaded;
        if self.is_away {
            self.note(Unsuited::Queue, waiting, self.tuned.waiting);
        }
        !(self.is_tight || self.is_away)
    }

    /// Counts what arrived since the last look.
    fn count(&mut self, state: &State) {
        let (now, arrived) = (state.now(), state.arrived());
        if self.since.is_none() || now < self.at {
            // The first look, or another day: nothing is known of the time before.
            (self.counted, self.recent) = (Arrived::default(), Arrived::default());
            (self.at, self.since) = (now, Some(now));
        }
        let keep = (-(now - self.at) / WINDOW).exp();
        let new = |all: f64, before: f64, recent: f64| recent * keep + (all - before);
        self.recent = Arrived {
            jobs: new(arrived.jobs, self.counted.jobs, self.recent.jobs),
            work: new(arrived.work, self.counted.work, self.recent.work),
            slack: new(arrived.slack, self.counted.slack, self.recent.slack),
        };
        (self.counted, self.at) = (arrived, now);
    }

    /// The work that arrives, by GPU and minute; `None` before an hour has passed.
    fn load(&self, gpus: f64) -> Option<f64> {
        let passed = self.at - self.since?;
        let is_enough = passed >= WINDOW && self.recent.jobs >= ENOUGH;
        let weight = 1.0 - (-passed / WINDOW).exp();
        is_enough.then(|| self.recent.work / (WINDOW * weight * gpus))
    }

    /// The mean time that jobs have, by their run times.
    fn slack(&self) -> Option<f64> {
        (self.recent.jobs >= ENOUGH).then(|| self.recent.slack / self.recent.jobs)
    }

    fn note(&mut self, what: Unsuited, seen: f64, tuned: f64) {
        if self.notes.iter().all(|note| note.what != what) {
            let at = self.at;
            self.notes.push(PlanNote {
                at,
                what,
                seen,
                tuned,
            });
        }
    }
}
