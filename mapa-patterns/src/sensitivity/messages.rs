//! The messages of a job in an iteration.

use std::fmt;
use std::str::FromStr;

use super::numbers::short;
use crate::error::Error;
use crate::unit::Unit;

/// The size of a message in bytes from which on links differ. Smaller messages take equally long
/// over fast and slow links, because latency dominates (the paper, Fig. 2a and section 2.3).
pub const LARGE_MESSAGE_BYTES: f64 = 1e5;

/// The most bytes or calls of one entry.
const MOST: f64 = 1e18;

/// The messages of one iteration of a job: the number of calls and their sizes. Messages of at
/// least [`LARGE_MESSAGE_BYTES`] are counted apart, because only these are faster over better
/// links.
///
/// A message is the buffer that one rank passes to one call, such as the buffer that an all-reduce
/// reduces. The text form is `CALLSxBYTES`, several separated by commas: `8x4e3,8x3e7`.
///
/// # Examples
/// ```
/// use mapa_patterns::Messages;
///
/// let messages: Messages = "8x4e3,8x3e7".parse()?;
/// assert_eq!((messages.calls(), messages.large_bytes()), (16.0, 2.4e8));
/// assert_eq!(messages.mean_bytes(), Some(1.5002e7));
/// # Ok::<(), mapa_patterns::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Messages {
    small: MessageTally,
    large: MessageTally,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct MessageTally {
    calls: f64,
    bytes: f64,
}

impl Messages {
    /// No messages.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds calls of an iteration, each with a message of this size. A call in every second
    /// iteration is half a call.
    ///
    /// # Errors
    /// Bytes or calls outside 0 to 1e18; the message says which.
    pub fn add(&mut self, bytes: f64, calls: f64) -> Result<(), Error> {
        let within = |what: &str, value: f64| {
            let sound = (0.0..=MOST).contains(&value);
            sound.then_some(()).ok_or_else(|| {
                Error::new(format!("{value} {what}: expected a number from 0 to 1e18"))
            })
        };
        within("bytes in a message", bytes)?;
        within("calls in an iteration", calls)?;
        let tally = if bytes < LARGE_MESSAGE_BYTES {
            &mut self.small
        } else {
            &mut self.large
        };
        tally.calls += calls;
        tally.bytes += bytes * calls;
        Ok(())
    }

    /// The number of calls of an iteration.
    #[must_use]
    pub fn calls(&self) -> f64 {
        self.small.calls + self.large.calls
    }

    /// The bytes of all messages of an iteration.
    #[must_use]
    pub fn bytes(&self) -> f64 {
        self.small.bytes + self.large.bytes
    }

    /// The mean size of a message in bytes; none without calls.
    #[must_use]
    pub fn mean_bytes(&self) -> Option<f64> {
        (self.calls() > 0.0).then(|| self.bytes() / self.calls())
    }

    /// The bytes in messages of at least [`LARGE_MESSAGE_BYTES`].
    #[must_use]
    pub fn large_bytes(&self) -> f64 {
        self.large.bytes
    }
}

/// `16 calls, 15 MB on average`.
impl fmt::Display for Messages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(mean) = self.mean_bytes() else {
            return f.write_str("no calls");
        };
        let mean = Unit::Bytes.print(mean).unwrap_or_default();
        write!(f, "{} calls, {mean} on average", short(self.calls()))
    }
}

impl FromStr for Messages {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut messages = Self::new();
        for word in text.split(',').map(str::trim) {
            let parse = || {
                let (calls, bytes) = word.split_once('x')?;
                Some((calls.trim().parse().ok()?, bytes.trim().parse().ok()?))
            };
            let expected = || {
                Error::new(format!(
                    "messages `{word}`: expected CALLSxBYTES, such as 16x1.5e7"
                ))
            };
            let (calls, bytes) = parse().ok_or_else(expected)?;
            messages.add(bytes, calls)?;
        }
        Ok(messages)
    }
}
