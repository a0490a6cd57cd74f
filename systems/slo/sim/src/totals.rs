//! What a run came to.

use mapa_system_slo::{RelaunchReason, TenantSetup};

/// An action, for pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acted {
    /// Neighbours were throttled.
    Throttle,
    /// The tenant moved.
    Move,
    /// Its slice grew.
    Enlarge,
    /// Its slice shrank.
    Shrink,
    /// A relaunch was rolled back.
    Rollback,
}

impl Acted {
    /// Every action, with its name.
    pub const ALL: [(&'static str, Self); 5] = [
        ("throttle", Self::Throttle),
        ("move", Self::Move),
        ("enlarge", Self::Enlarge),
        ("shrink", Self::Shrink),
        ("rollback", Self::Rollback),
    ];

    /// What a relaunch does.
    #[must_use]
    pub fn of(from: TenantSetup, to: TenantSetup, why: RelaunchReason) -> Self {
        match why {
            RelaunchReason::Rollback => Self::Rollback,
            _ if from.place != to.place => Self::Move,
            _ if to.profile < from.profile => Self::Shrink,
            _ => Self::Enlarge,
        }
    }
}

/// What a run came to.
#[derive(Clone, Debug, PartialEq)]
pub struct RunTotals {
    /// Requests that arrived and were answered or shed.
    pub offered: usize,
    /// Requests that were shed in pauses.
    pub shed: usize,
    /// Requests that were answered late.
    pub late: usize,
    /// Latencies of all that were answered, ms, in order once the run is over.
    pub latencies: Vec<f64>,
    /// The relaunches: their ticks, and whether each is a rollback.
    pub relaunched_at: Vec<(u64, bool)>,
    /// The number of throttles.
    pub throttles: usize,
    /// The time with a throttle on, s.
    pub throttled_seconds: f64,
    /// Slices times seconds.
    pub slice_seconds: f64,
    /// The length of the run, s.
    pub seconds: f64,
    /// Arrivals and latencies, ms, if they are kept.
    pub kept: Vec<(f64, f64)>,
    /// Actions and when, ms, if they are kept.
    pub actions: Vec<(f64, Acted)>,
    promise_ms: f64,
    keep: bool,
}

impl RunTotals {
    pub(super) fn new(promise_ms: f64, seconds: f64, keep: bool) -> Self {
        Self {
            offered: 0,
            shed: 0,
            late: 0,
            latencies: Vec::new(),
            relaunched_at: Vec::new(),
            throttles: 0,
            throttled_seconds: 0.0,
            slice_seconds: 0.0,
            seconds,
            kept: Vec::new(),
            actions: Vec::new(),
            promise_ms,
            keep,
        }
    }

    pub(super) fn answered(&mut self, arrived_ms: f64, took_ms: f64) {
        self.late += usize::from(took_ms > self.promise_ms);
        self.latencies.push(took_ms);
        if self.keep {
            self.kept.push((arrived_ms, took_ms));
        }
    }

    pub(super) fn act(&mut self, at_ms: f64, what: Acted) {
        if self.keep {
            self.actions.push((at_ms, what));
        }
    }

    pub(super) fn close(&mut self) {
        self.latencies.sort_unstable_by(f64::total_cmp);
    }

    /// The share of answered requests that were late, percent: as the paper counts.
    #[must_use]
    pub fn miss_percent(&self) -> f64 {
        100.0 * self.late as f64 / (self.latencies.len().max(1)) as f64
    }

    /// The share of all requests that were late or shed, percent.
    #[must_use]
    pub fn fail_percent(&self) -> f64 {
        100.0 * (self.late + self.shed) as f64 / (self.offered.max(1)) as f64
    }

    /// A percentile of latencies by nearest rank, ms; not a number if none was answered.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> f64 {
        let rank = (self.latencies.len() as f64 * percent / 100.0)
            .ceil()
            .max(1.0) as usize;
        self.latencies.get(rank - 1).copied().unwrap_or(f64::NAN)
    }

    /// The mean latency, ms.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.latencies.iter().sum::<f64>() / self.latencies.len() as f64
    }

    /// Answered requests.
    #[must_use]
    pub fn answered_count(&self) -> usize {
        self.latencies.len()
    }

    /// Relaunches an hour, with rollbacks.
    #[must_use]
    pub fn relaunches_per_hour(&self) -> f64 {
        self.relaunched_at.len() as f64 * 3600.0 / self.seconds
    }

    /// The mean number of slices in use.
    #[must_use]
    pub fn slices(&self) -> f64 {
        self.slice_seconds / self.seconds
    }
}
