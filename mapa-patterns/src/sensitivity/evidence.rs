//! The rule: the verdict that follows from each kind of evidence.

use super::messages::{LARGE_MESSAGE_BYTES, Messages};
use super::numbers::{percent, short};
use crate::error::Error;
use crate::unit::Unit;
use crate::verdict::{Sensitivity, Verdict};

/// A smaller saving of time than this share is no gain: the paper calls the Jacobi solver
/// insensitive at "less than 3% execution time improvement" (section 4).
pub(super) const INSENSITIVE_BELOW: f64 = 0.03;

/// A saving of time from this share on is a gain. The smallest saving that the paper calls
/// sensitive is 27 % (AlexNet, 511 to 374 s). It does not classify savings between 3 % and 27 %. A
/// tenth is about the geometric mean of the two.
const SENSITIVE_FROM: f64 = 0.10;

/// Execution times of one job on two allocations that differ in their links alone, in seconds. Each
/// allocation may have one run or several.
#[derive(Clone, Debug, PartialEq)]
pub struct Times {
    fast: Vec<f64>,
    slow: Vec<f64>,
}

impl Times {
    /// Times on the allocation with the better links, and on the one with the worse links.
    ///
    /// # Errors
    /// No time on one of the allocations; a time that is not a positive number; times whose ratio is infinite. The
    /// message names the allocation.
    pub fn new(fast: impl Into<Vec<f64>>, slow: impl Into<Vec<f64>>) -> Result<Self, Error> {
        let sorted = |what: &str, mut times: Vec<f64>| {
            if times.is_empty() {
                return Err(Error::new(format!(
                    "times on the {what} links: expected one or more"
                )));
            }
            times.iter().try_for_each(|time| {
                positive(&format!("a time on the {what} links"), "s", *time)
            })?;
            times.sort_unstable_by(f64::total_cmp);
            Ok(times)
        };
        let times = Self {
            fast: sorted("better", fast.into())?,
            slow: sorted("worse", slow.into())?,
        };
        let (least, most) = times.improvements();
        if least.is_finite() && most.is_finite() {
            return Ok(times);
        }
        Err(Error::new(
            "times whose ratio is no number: expected times of one job, in seconds",
        ))
    }

    /// The saving of time on the better links, as a share of the time on the worse links, from
    /// medians.
    #[must_use]
    pub fn improvement(&self) -> f64 {
        improvement(median(&self.fast), median(&self.slow))
    }

    /// The smallest and the largest saving between a run on the better links and one on the worse,
    /// as in [`Times::improvement`].
    #[must_use]
    pub fn improvements(&self) -> (f64, f64) {
        let ends = |times: &[f64]| {
            (
                times.first().copied().unwrap_or(1.0),
                times.last().copied().unwrap_or(1.0),
            )
        };
        let ((fastest, slowest), (least, most)) = (ends(&self.fast), ends(&self.slow));
        (improvement(slowest, least), improvement(fastest, most))
    }

    /// The verdict: sensitive from a saving of 10 % on, insensitive below 3 %, unknown between.
    ///
    /// Medians count. The verdict is unknown if some pair of single runs implies the opposite, and
    /// if times on the better links are longer by 3 % or more.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let (gain, (least, most)) = (self.improvement(), self.improvements());
        let (fast, slow) = (short(median(&self.fast)), short(median(&self.slow)));
        let runs = match (self.fast.len(), self.slow.len()) {
            (1, 1) => String::new(),
            (n, m) => format!(
                " (medians of {n} and {m} runs; {} to {} by single runs)",
                percent(least),
                percent(most)
            ),
        };
        let times = format!(
            "{fast} s on better links, {slow} s on worse{runs}: {} less time",
            percent(gain)
        );
        let (sensitivity, rest) = match gain {
            gain if gain <= -INSENSITIVE_BELOW => (
                Sensitivity::Unknown,
                "; expected the better links to be faster",
            ),
            gain if gain < INSENSITIVE_BELOW && most < SENSITIVE_FROM => {
                (Sensitivity::Insensitive, ", below 3 %")
            }
            gain if gain >= SENSITIVE_FROM && least >= INSENSITIVE_BELOW => {
                (Sensitivity::Sensitive, ", at least 10 %")
            }
            gain if (INSENSITIVE_BELOW..SENSITIVE_FROM).contains(&gain) => {
                (Sensitivity::Unknown, ", from 3 % to 10 %")
            }
            _ => (Sensitivity::Unknown, "; single runs say the opposite"),
        };
        Verdict {
            sensitivity,
            why: format!("by times, {times}{rest}"),
        }
    }
}

/// The nominal bandwidths that a prediction compares, GB/s per direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkRates {
    slow_gbps: f64,
    fast_gbps: f64,
}

impl LinkRates {
    /// The rates in the paper's Table 1: 12 GB/s for PCIe 3.0 x16, and 50 GB/s for two NVLink 2.0
    /// links.
    pub const PUBLISHED: Self = Self {
        slow_gbps: 12.0,
        fast_gbps: 50.0,
    };

    /// The rates of the worse and of the better links, GB/s per direction.
    ///
    /// # Errors
    /// A rate that is not a positive number; a slow link that is not slower than the fast one.
    pub fn new(slow_gbps: f64, fast_gbps: f64) -> Result<Self, Error> {
        positive("the bandwidth of the slow links", "GB/s", slow_gbps)?;
        positive("the bandwidth of the fast links", "GB/s", fast_gbps)?;
        if slow_gbps >= fast_gbps {
            return Err(Error::new(format!(
                "links of {slow_gbps} and {fast_gbps} GB/s: expected the slower first"
            )));
        }
        Ok(Self {
            slow_gbps,
            fast_gbps,
        })
    }
}

/// [`LinkRates::PUBLISHED`].
impl Default for LinkRates {
    fn default() -> Self {
        Self::PUBLISHED
    }
}

/// The evidence about the sensitivity of a job. Each part may be missing.
///
/// # Examples
/// ```
/// use mapa_patterns::{Evidence, Sensitivity, Times};
///
/// let mut job = Evidence { messages: Some("8x3.05e7".parse()?), ..Evidence::default() };
/// assert_eq!(job.verdict()?.sensitivity, Sensitivity::Unknown); // nothing is known of what runs between them
/// job.iteration_seconds = Some(0.0374);
/// assert_eq!(job.verdict()?.sensitivity, Sensitivity::Sensitive);
/// job.times = Some(Times::new([374.0], [380.0])?);
/// assert_eq!(job.verdict()?.sensitivity, Sensitivity::Insensitive); // measured
/// # Ok::<(), mapa_patterns::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// Execution times on two allocations.
    pub times: Option<Times>,
    /// The messages of an iteration.
    pub messages: Option<Messages>,
    /// The time of an iteration on the better links, seconds.
    pub iteration_seconds: Option<f64>,
    /// The links that a prediction compares.
    pub links: LinkRates,
}

impl Evidence {
    /// The verdict from the strongest evidence available: times, else messages with the time of an
    /// iteration, else messages alone.
    ///
    /// # Errors
    /// A time of an iteration that is not a positive number, or that comes without messages.
    pub fn verdict(&self) -> Result<Verdict, Error> {
        if let Some(seconds) = self.iteration_seconds {
            positive("the time of an iteration", "s", seconds)?;
        }
        match (&self.times, &self.messages, self.iteration_seconds) {
            (Some(times), ..) => Ok(times.verdict()),
            (None, Some(messages), Some(seconds)) => Ok(self.predicted(messages, seconds)),
            (None, Some(messages), None) => Ok(messages.verdict()),
            (None, None, None) => Ok(Verdict::default()),
            (None, None, Some(_)) => Err(Error::new(
                "the time of an iteration: expected its messages beside it, or bytes a step",
            )),
        }
    }

    /// The verdict from the time that better links would save if no communication overlapped with
    /// computation, as a share of an iteration on the worse links. Thresholds are those of measured
    /// times. This is an upper bound of the saving.
    fn predicted(&self, messages: &Messages, seconds: f64) -> Verdict {
        let LinkRates {
            slow_gbps,
            fast_gbps,
        } = self.links;
        let [slow, fast] = [slow_gbps, fast_gbps].map(|gbps| messages.large_bytes() / (1e9 * gbps));
        // A job that only communicates gains the most: the ratio of the rates bounds the saving.
        let gain = ((slow - fast) / (seconds + slow - fast)).min(1.0 - slow_gbps / fast_gbps);
        let sensitivity = match gain {
            gain if gain < INSENSITIVE_BELOW => Sensitivity::Insensitive,
            gain if gain >= SENSITIVE_FROM => Sensitivity::Sensitive,
            _ => Sensitivity::Unknown,
        };
        let bytes = Unit::Bytes
            .print(messages.large_bytes())
            .unwrap_or_default();
        let [slow, fast, seconds] = [slow, fast, seconds].map(short);
        let why = format!(
            "by prediction, up to {} less time on better links: {bytes} an iteration in messages of at least 1e5 bytes take \
             {slow} s at {slow_gbps} GB/s and {fast} s at {fast_gbps}, an iteration {seconds} s",
            percent(gain)
        );
        Verdict { sensitivity, why }
    }
}

impl Messages {
    /// The verdict from messages alone: insensitive without messages, or if they are small, because
    /// links do not differ below [`LARGE_MESSAGE_BYTES`]. Large messages decide nothing: whether
    /// their time matters depends on the computation between them. Messages that are small on
    /// average decide nothing either if most bytes are in large ones.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let (sensitivity, why) = match self.mean_bytes() {
            None => (Sensitivity::Insensitive, "nothing is sent".to_owned()),
            Some(mean)
                if mean < LARGE_MESSAGE_BYTES && self.large_bytes() <= 0.5 * self.bytes() =>
            {
                (
                    Sensitivity::Insensitive,
                    format!("{self}: below 1e5 bytes links do not differ"),
                )
            }
            Some(mean) if mean < LARGE_MESSAGE_BYTES => {
                let share = percent(self.large_bytes() / self.bytes());
                (
                    Sensitivity::Unknown,
                    format!("{self}, yet {share} of the bytes in messages of at least 1e5"),
                )
            }
            Some(_) => {
                let needed = "whether they matter depends on the computation between them: give the time of an \
                              iteration, or measure on two allocations";
                (
                    Sensitivity::Unknown,
                    format!("{self}: large enough for links to differ; {needed}"),
                )
            }
        };
        Verdict {
            sensitivity,
            why: format!("by messages alone, {why}"),
        }
    }
}

fn positive(what: &str, unit: &str, value: f64) -> Result<(), Error> {
    let sound = value.is_finite() && value > 0.0;
    sound.then_some(()).ok_or_else(|| {
        Error::new(format!(
            "{what}, {value} {unit}: expected a positive number"
        ))
    })
}

/// The saving of time as a share of the slow time. `(slow - fast) / slow` gives round results for
/// round numbers; `1 - fast / slow` does not.
fn improvement(fast: f64, slow: f64) -> f64 {
    (slow - fast) / slow
}

/// The median of sorted values; 0 if there are none.
fn median(sorted: &[f64]) -> f64 {
    let at = |index: usize| sorted.get(index).copied().unwrap_or_default();
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => at(n / 2),
        // Halved before the sum, which could overflow otherwise.
        n => 0.5 * at(n / 2 - 1) + 0.5 * at(n / 2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_is_between_the_two() {
        assert_eq!(
            [
                median(&[1.0]),
                median(&[1.0, 3.0]),
                median(&[1.0, 2.0, 9.0])
            ],
            [1.0, 2.0, 2.0]
        );
        assert!(median(&[f64::MAX, f64::MAX]).is_finite());
    }
}
