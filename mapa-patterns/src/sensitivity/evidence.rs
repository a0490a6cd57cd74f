//! The rule: what follows from which evidence.

use super::messages::{LARGE_MESSAGE_BYTES, Messages};
use super::{Sensitivity, Verdict};
use crate::application::Unit;
use crate::error::Error;

/// Less time than this, as a share, is no gain: the paper calls the Jacobi solver insensitive at "less than 3% execution time
/// improvement" (section 4).
pub(super) const INSENSITIVE_BELOW: f64 = 0.03;

/// So much less time is a gain. Of the figures in the paper the least that it calls sensitive is 27 % (AlexNet, 511 to 374 s);
/// it says nothing of what lies between 3 % and that. A tenth is about their geometric mean.
const SENSITIVE_FROM: f64 = 0.10;

/// Execution times on two allocations of one job that differ in their links alone, seconds: of one run or several on each.
#[derive(Clone, Debug, PartialEq)]
pub struct Times {
    fast: Vec<f64>,
    slow: Vec<f64>,
}

impl Times {
    /// Times on the allocation with the better links, and on that with the worse.
    ///
    /// # Errors
    /// No time on one of them; a time that is not a positive number. The message says which.
    pub fn new(fast: impl Into<Vec<f64>>, slow: impl Into<Vec<f64>>) -> Result<Self, Error> {
        let sorted = |what: &str, mut times: Vec<f64>| {
            if times.is_empty() {
                return Err(Error::new(format!("times on the {what} links: expected one or more")));
            }
            times.iter().try_for_each(|time| positive(&format!("a time on the {what} links"), "s", *time))?;
            times.sort_unstable_by(f64::total_cmp);
            Ok(times)
        };
        Ok(Self { fast: sorted("better", fast.into())?, slow: sorted("worse", slow.into())? })
    }

    /// By how much, as a share of the time on the worse links, the better ones shorten it: by the medians.
    #[must_use]
    pub fn improvement(&self) -> f64 {
        improvement(median(&self.fast), median(&self.slow))
    }

    /// The least and the most by which a run on the better links is shorter than one on the worse.
    #[must_use]
    pub fn improvements(&self) -> (f64, f64) {
        let ends = |times: &[f64]| (times.first().copied().unwrap_or(1.0), times.last().copied().unwrap_or(1.0));
        let ((fastest, slowest), (least, most)) = (ends(&self.fast), ends(&self.slow));
        (improvement(slowest, least), improvement(fastest, most))
    }

    /// At least 10 % less time on better links is sensitive, below 3 % insensitive, what lies between unknown. Of several runs
    /// the medians count, and no pair of runs may say the opposite; times that grow on better links by 3 % or more are no
    /// evidence either.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let (gain, (least, most)) = (self.improvement(), self.improvements());
        let (fast, slow) = (short(median(&self.fast)), short(median(&self.slow)));
        let runs = match (self.fast.len(), self.slow.len()) {
            (1, 1) => String::new(),
            (n, m) => format!(" (medians of {n} and {m} runs; {} to {} by single runs)", percent(least), percent(most)),
        };
        let times = format!("{fast} s on better links, {slow} s on worse{runs}: {} less time", percent(gain));
        let (sensitivity, rest) = match gain {
            gain if gain <= -INSENSITIVE_BELOW => (Sensitivity::Unknown, "; expected the better links to be faster"),
            gain if gain < INSENSITIVE_BELOW && most < SENSITIVE_FROM => (Sensitivity::Insensitive, ", below 3 %"),
            gain if gain >= SENSITIVE_FROM && least >= INSENSITIVE_BELOW => (Sensitivity::Sensitive, ", at least 10 %"),
            gain if (INSENSITIVE_BELOW..SENSITIVE_FROM).contains(&gain) => (Sensitivity::Unknown, ", from 3 % to 10 %"),
            _ => (Sensitivity::Unknown, "; single runs say the opposite"),
        };
        Verdict { sensitivity, why: format!("by times, {times}{rest}") }
    }
}

/// The nominal bandwidths that a prediction compares, GB/s per direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkRates {
    slow_gbps: f64,
    fast_gbps: f64,
}

impl LinkRates {
    /// Of the paper's Table 1: 16 lanes of PCIe of the third generation, 12 GB/s, and a double NVLink of the second, 50 GB/s.
    pub const PUBLISHED: Self = Self { slow_gbps: 12.0, fast_gbps: 50.0 };

    /// Of the worse links and of the better, GB/s per direction.
    ///
    /// # Errors
    /// What is not a positive number; a slow link that is not slower than the fast one.
    pub fn new(slow_gbps: f64, fast_gbps: f64) -> Result<Self, Error> {
        positive("the bandwidth of the slow links", "GB/s", slow_gbps)?;
        positive("the bandwidth of the fast links", "GB/s", fast_gbps)?;
        if slow_gbps >= fast_gbps {
            return Err(Error::new(format!("links of {slow_gbps} and {fast_gbps} GB/s: expected the slower first")));
        }
        Ok(Self { slow_gbps, fast_gbps })
    }
}

/// [`LinkRates::PUBLISHED`].
impl Default for LinkRates {
    fn default() -> Self {
        Self::PUBLISHED
    }
}

/// What is known of a job that its sensitivity follows from; each may be missing.
///
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
    /// What it sends in an iteration.
    pub messages: Option<Messages>,
    /// How long an iteration takes on the better links, seconds.
    pub iteration_seconds: Option<f64>,
    /// The links that a prediction compares.
    pub links: LinkRates,
}

impl Evidence {
    /// What follows from the strongest evidence there is: times, else messages in the time of an iteration, else messages alone.
    ///
    /// # Errors
    /// A time of an iteration that is not a positive number, or that no messages go with.
    pub fn verdict(&self) -> Result<Verdict, Error> {
        if let Some(seconds) = self.iteration_seconds {
            positive("the time of an iteration", "s", seconds)?;
        }
        match (&self.times, &self.messages, self.iteration_seconds) {
            (Some(times), ..) => Ok(times.verdict()),
            (None, Some(messages), Some(seconds)) => Ok(self.predicted(messages, seconds)),
            (None, Some(messages), None) => Ok(messages.verdict()),
            (None, None, None) => Ok(Verdict::default()),
            (None, None, Some(_)) => {
                Err(Error::new("the time of an iteration: expected its messages beside it, or bytes a step"))
            }
        }
    }

    /// By how much time better links would save if nothing of it hid behind computation. The share of an iteration on the worse
    /// links is weighed as measured times are.
    fn predicted(&self, messages: &Messages, seconds: f64) -> Verdict {
        let LinkRates { slow_gbps, fast_gbps } = self.links;
        let [slow, fast] = [slow_gbps, fast_gbps].map(|gbps| messages.large_bytes() / (1e9 * gbps));
        // No job gains more than all of its time being on the links.
        let gain = ((slow - fast) / (seconds + slow - fast)).min(1.0 - slow_gbps / fast_gbps);
        let sensitivity = match gain {
            gain if gain < INSENSITIVE_BELOW => Sensitivity::Insensitive,
            gain if gain >= SENSITIVE_FROM => Sensitivity::Sensitive,
            _ => Sensitivity::Unknown,
        };
        let bytes = Unit::Bytes.print(messages.large_bytes()).unwrap_or_default();
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
    /// What follows from messages alone. Without any, or if they are small, links do not matter: below
    /// [`LARGE_MESSAGE_BYTES`] they do not differ. Large ones decide nothing: whether their time counts depends on what runs
    /// between them. Small ones on average do not either, if most bytes are in large ones.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let (sensitivity, why) = match self.mean_bytes() {
            None => (Sensitivity::Insensitive, "nothing is sent".to_owned()),
            Some(mean) if mean < LARGE_MESSAGE_BYTES && self.large_bytes() <= 0.5 * self.bytes() => {
                (Sensitivity::Insensitive, format!("{self}: below 1e5 bytes links do not differ"))
            }
            Some(mean) if mean < LARGE_MESSAGE_BYTES => {
                let share = percent(self.large_bytes() / self.bytes());
                (Sensitivity::Unknown, format!("{self}, yet {share} of the bytes in messages of at least 1e5"))
            }
            Some(_) => {
                let needed = "whether they count depends on what runs between them: tell the time of an iteration, or \
                              measure on two allocations";
                (Sensitivity::Unknown, format!("{self}: large enough for links to differ; {needed}"))
            }
        };
        Verdict { sensitivity, why: format!("by messages alone, {why}") }
    }
}

fn positive(what: &str, unit: &str, value: f64) -> Result<(), Error> {
    let sound = value.is_finite() && value > 0.0;
    sound.then_some(()).ok_or_else(|| Error::new(format!("{what}, {value} {unit}: expected a positive number")))
}

/// The difference first: its share of round numbers is round.
fn improvement(fast: f64, slow: f64) -> f64 {
    (slow - fast) / slow
}

/// Of sorted values; 0 of none.
fn median(sorted: &[f64]) -> f64 {
    let at = |index: usize| sorted.get(index).copied().unwrap_or_default();
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => at(n / 2),
        // Halves first: the sum of two may be beyond what a number can hold.
        n => 0.5 * at(n / 2 - 1) + 0.5 * at(n / 2),
    }
}

/// A number with three digits that count.
pub(super) fn short(value: f64) -> String {
    if value != 0.0 && !(1e-4..1e7).contains(&value.abs()) {
        return format!("{value:.2e}");
    }
    let decimals = if value == 0.0 { 0.0 } else { (2.0 - value.abs().log10().floor()).clamp(0.0, 6.0) };
    let text = format!("{value:.*}", decimals as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A share in whole percents; below ten with one decimal, so that 2.6 % is not printed as 3 %.
fn percent(share: f64) -> String {
    let value = 100.0 * share;
    if value.abs() < 10.0 { format!("{value:.1} %") } else { format!("{value:.0} %") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let read = [0.0, 374.0, 84_936.0, 0.020_321, 1.5, 3.2e-9, 4.4e12, 1e-4].map(short);
        assert_eq!(read, ["0", "374", "84936", "0.0203", "1.5", "3.20e-9", "4.40e12", "0.0001"]);
        assert_eq!([0.268, 0.0299, -0.05].map(percent), ["27 %", "3.0 %", "-5.0 %"]);
    }

    #[test]
    fn the_median_of_an_even_number_is_between_the_two() {
        assert_eq!([median(&[1.0]), median(&[1.0, 3.0]), median(&[1.0, 2.0, 9.0])], [1.0, 2.0, 2.0]);
        assert!(median(&[f64::MAX, f64::MAX]).is_finite());
    }
}
