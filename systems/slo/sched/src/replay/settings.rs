//! Settings of the controller by replay.

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind};
use crate::settings::Settings;

/// How the controller by replay decides. What it shares with the paper's controller is in `base`:
/// levers, promise, dwell, cool-down, throttles and the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ReplaySettings {
    /// What it shares with the paper's controller.
    pub base: Settings,
    /// How many requests are replayed. Usual: 512.
    pub history: u32,
    /// Candidates are compared every so many ticks. Usual: 5.
    pub every_ticks: u32,
    /// The tick, below `every_ticks`, in which this tenant's turn is: tenants of one host take
    /// turns.
    pub turn: u32,
    /// Over how many seconds a place's long-run use is averaged. Usual: 900.
    pub memory_s: f64,
    /// For how many seconds ahead a candidate is judged. Usual: 600.
    pub horizon_s: f64,
    /// For how many of these seconds what is now is expected to last. Usual: 60.
    pub lasting_s: f64,
    /// What a slice costs, as a share of failed requests. Usual: 0.
    pub per_slice: f64,
    /// What a relaunch costs that pauses the tenant, seconds of failed requests. Usual: 18.
    pub pause_s: f64,
    /// What a warm hand-over costs, as a share of the horizon. Usual: 0.002.
    pub warm_share: f64,
    /// A candidate is chosen if its cost is below this share of the present one's. Usual: 0.97.
    pub act_below: f64,
    /// Whether neighbours are throttled as soon as counters show them on the path, and for as long
    /// as they do, within the usual limits.
    pub feed_forward: bool,
}

impl ReplaySettings {
    /// The usual settings around these.
    ///
    /// # Errors
    /// As [`Settings::checked`].
    pub fn new(base: Settings) -> Result<Self, Error> {
        Self::around(base).checked()
    }

    /// The usual settings around these, which are within their bounds.
    pub(crate) fn around(base: Settings) -> Self {
        Self {
            base,
            history: 512,
            every_ticks: 5,
            turn: 0,
            memory_s: 900.0,
            horizon_s: 600.0,
            lasting_s: 60.0,
            per_slice: 0.0,
            pause_s: 18.0,
            warm_share: 0.002,
            act_below: 0.97,
            feed_forward: true,
        }
    }

    /// The settings, if all are within their bounds.
    ///
    /// # Errors
    /// The first setting that is out of its bounds, with the bounds.
    pub fn checked(self) -> Result<Self, Error> {
        let whole = [
            ("history", self.history, 1, 1_000_000),
            ("every_ticks", self.every_ticks, 1, 10_000),
            ("turn", self.turn, 0, self.every_ticks.saturating_sub(1)),
        ];
        for (key, value, least, most) in whole {
            if !(least..=most).contains(&value) {
                let what = format!("{key}={value}: expected {least} to {most}");
                return Err(ErrorKind::BadSlo(what).into());
            }
        }
        let numbers = [
            ("memory_s", self.memory_s, 1.0, 1e7),
            ("horizon_s", self.horizon_s, 1.0, 1e7),
            ("lasting_s", self.lasting_s, 0.0, 1e7),
            ("per_slice", self.per_slice, 0.0, 1.0),
            ("pause_s", self.pause_s, 0.0, 1e6),
            ("warm_share", self.warm_share, 0.0, 1.0),
            ("act_below", self.act_below, 0.0, 1.0),
        ];
        for (key, value, least, most) in numbers {
            if !(least..=most).contains(&value) {
                let what = format!("{key}={value}: expected {least} to {most}");
                return Err(ErrorKind::BadSlo(what).into());
            }
        }
        let base = self.base.checked()?;
        Ok(Self { base, ..self })
    }
}
