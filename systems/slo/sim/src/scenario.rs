//! What is simulated: the tenant, its neighbours and the machine, as parameters.

use mapa_system_slo::{ModelParameters, SlowdownModel};

use crate::error::{Error, ErrorKind};

/// How requests arrive at the tenant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Requests {
    /// A Poisson process, requests a second.
    Poisson(f64),
    /// A Poisson process whose rate is this many times higher in bursts.
    Bursts {
        /// The rate between bursts, requests a second.
        rate: f64,
        /// The factor on the rate in a burst.
        factor: f64,
        /// The mean length of a burst, s.
        burst_s: f64,
        /// The mean time between two, s.
        between_s: f64,
    },
}

/// What becomes of requests that arrive while the tenant is paused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Paused {
    /// They are shed: they fail at once.
    #[default]
    Shed,
    /// They wait until the tenant is back.
    Queued,
}

/// How the PCIe link is shared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LinkShare {
    /// Weighted max-min fairness.
    #[default]
    MaxMin,
    /// The formula that the paper prints: what a throttled neighbour leaves is lost.
    Printed,
}

/// A scenario: two hosts of four PCIe switches, one tenant with a promise, and on each host
/// neighbours that copy and one that trains. Times in ms unless a name says otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scenario {
    /// How long, hours.
    pub hours: f64,
    /// The latency that is promised.
    pub promise_ms: f64,
    /// How requests arrive.
    pub requests: Requests,
    /// The mean time of a transfer on a free link.
    pub transfer_ms: f64,
    /// The coefficient of variation of transfers, which are log-normal.
    pub transfer_cv: f64,
    /// The mean compute time on the smallest profile without neighbours.
    pub compute_ms: f64,
    /// The coefficient of variation of compute times, which are log-normal.
    pub compute_cv: f64,
    /// If given, the transfer of each request is this share of its compute time, in place of a draw.
    pub transfer_share: Option<f64>,
    /// What neighbours do to the tenant.
    pub physics: ModelParameters,
    /// The mean length of a neighbour's busy phase, s.
    pub on_s: f64,
    /// The mean time between two, s.
    pub off_s: f64,
    /// The neighbours on each host that copy.
    pub copying: usize,
    /// The chance that a busy phase on the first host is on the tenant's first switch.
    pub home: f64,
    /// The mean of a pause, s; at least a third of it.
    pub pause_s: f64,
    /// Its standard deviation, s.
    pub pause_sd_s: f64,
    /// What becomes of requests in a pause.
    pub paused: Paused,
    /// How the link is shared.
    pub link: LinkShare,
    /// The length of a tick, s.
    pub tick_s: f64,
    /// The latencies in a controller's window.
    pub window: u32,
}

/// The switches of a host.
pub const SWITCHES: usize = 4;
/// The hosts.
pub const HOSTS: usize = 2;
/// The slices of the profiles: 2g, 3g and 4g of an A100.
pub const SLICES: [u32; 3] = [2, 3, 4];

/// The most phases of a neighbour, and bursts.
const MOST_PHASES: f64 = 1e7;

impl Scenario {
    /// The scenario behind Table 3 of the paper: seven free numbers were fitted to its static and
    /// single-lever rows.
    #[must_use]
    pub fn table_3() -> Self {
        Self {
            hours: 4.0,
            promise_ms: 15.0,
            requests: Requests::Poisson(1.0),
            transfer_ms: 6.93,
            transfer_cv: 0.175,
            compute_ms: 6.65,
            compute_cv: 0.02,
            transfer_share: None,
            physics: ModelParameters::default(),
            on_s: 30.0,
            off_s: 570.0,
            copying: 1,
            home: 0.41,
            pause_s: 18.0,
            pause_sd_s: 3.0,
            paused: Paused::Shed,
            link: LinkShare::MaxMin,
            tick_s: 1.0,
            window: 32,
        }
    }

    /// A scenario of ours in which the promise can be kept: faster requests, a model that gains
    /// from larger slices, neighbours a quarter of the time.
    #[must_use]
    pub fn reachable() -> Self {
        Self {
            requests: Requests::Poisson(5.0),
            transfer_ms: 4.5,
            transfer_cv: 0.25,
            compute_ms: 6.0,
            physics: ModelParameters {
                training: 0.37,
                compute_power: 0.3,
                ..ModelParameters::default()
            },
            on_s: 60.0,
            off_s: 180.0,
            home: 0.6,
            window: 128,
            ..Self::table_3()
        }
    }

    /// As [`reachable`](Self::reachable), with two copying neighbours on each host, and bursts of
    /// four times the rate. The mean rate stays five requests a second.
    #[must_use]
    pub fn bursts() -> Self {
        Self {
            copying: 2,
            requests: Requests::Bursts {
                rate: 5.0 / 1.3,
                factor: 4.0,
                burst_s: 10.0,
                between_s: 90.0,
            },
            ..Self::reachable()
        }
    }

    /// The first token of a language model, promised within 200 ms: compute dominates and varies.
    /// `compute_ms` is scaled so that the static row is the paper's.
    #[must_use]
    pub fn first_token(compute_ms: f64, compute_power: f64) -> Self {
        Self {
            promise_ms: 200.0,
            compute_ms,
            compute_cv: 0.3,
            transfer_ms: 0.1 * compute_ms,
            transfer_share: Some(0.1),
            physics: ModelParameters {
                compute_power,
                ..ModelParameters::default()
            },
            ..Self::table_3()
        }
    }

    /// The truth about slowdowns, as a controller's model would state it.
    ///
    /// # Errors
    /// As [`SlowdownModel::new`].
    pub fn model(&self) -> Result<SlowdownModel, Error> {
        Ok(SlowdownModel::new(&SLICES, &self.physics)?)
    }

    /// The end, s.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.hours * 3600.0
    }

    /// The scenario, if it can be run.
    ///
    /// # Errors
    /// The first parameter that is out of its bounds.
    pub fn checked(self) -> Result<Self, Error> {
        let rates = match self.requests {
            Requests::Poisson(rate) => [rate, 1.0, 1.0, 1.0],
            Requests::Bursts {
                rate,
                factor,
                burst_s,
                between_s,
            } => [rate, factor, burst_s, between_s],
        };
        let above = [
            ("hours", self.hours),
            ("promise", self.promise_ms),
            ("transfer time", self.transfer_ms),
            ("compute time", self.compute_ms),
            ("busy phase", self.on_s),
            ("time between busy phases", self.off_s),
            ("pause", self.pause_s),
            ("tick", self.tick_s),
            ("rate of requests", rates[0]),
            ("factor of a burst", rates[1]),
            ("length of a burst", rates[2]),
            ("time between bursts", rates[3]),
        ];
        let not_below = [
            ("variation of transfers", self.transfer_cv),
            ("variation of compute times", self.compute_cv),
            ("share of transfers", self.transfer_share.unwrap_or(0.0)),
            ("deviation of a pause", self.pause_sd_s),
        ];
        let bad = |what: String| Err(ErrorKind::BadSlo(what).into());
        for (name, value) in above {
            if !(value.is_finite() && value > 0.0 && value <= 1e9) {
                return bad(format!(
                    "{name} of {value}: expected more than 0, and at most 1e9"
                ));
            }
        }
        for (name, value) in not_below {
            if !(0.0..=1e3).contains(&value) {
                return bad(format!("{name} of {value}: expected 0 to 1000"));
            }
        }
        if !(0.0..=1.0).contains(&self.home) {
            return bad(format!(
                "a chance of {} for the first switch: expected 0 to 1",
                self.home
            ));
        }
        let requests = self.seconds() * rates[0] * rates[1];
        if requests > 1e8 || self.copying > 64 || self.seconds() / self.tick_s > 1e8 {
            return bad(format!(
                "some {requests:.0} requests and {} copying neighbours a host: expected at most 1e8 and 64",
                self.copying
            ));
        }
        let phases = match self.requests {
            Requests::Poisson(_) => self.on_s + self.off_s,
            Requests::Bursts {
                burst_s, between_s, ..
            } => (self.on_s + self.off_s).min(burst_s + between_s),
        };
        if self.seconds() / phases > MOST_PHASES {
            return bad(format!(
                "phases of {phases} s in {} s: expected at most {MOST_PHASES:e} of them",
                self.seconds()
            ));
        }
        Ok(self)
    }
}
