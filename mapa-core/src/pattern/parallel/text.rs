//! Training jobs as they are written: `tp=4,pp=2,dp=1`.

use std::fmt;
use std::str::FromStr;

use super::layout::{ORDER, named};
use super::{BYTES, DEGREES, Dimension, Parallelism, bad};
use crate::error::Error;

/// `tensor`, `pipeline`, `data`, `sequence`, `expert`, `expert-data`.
impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tensor => "tensor",
            Self::Pipeline => "pipeline",
            Self::Data => "data",
            Self::Sequence => "sequence",
            Self::Expert => "expert",
            Self::ExpertData => "expert-data",
        })
    }
}

/// `tp=4,pp=2,dp=1`; then what else is not as it is by default.
impl fmt::Display for Parallelism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [tensor, pipeline, data, sequence, expert] = self.degrees;
        write!(f, "tp={tensor},pp={pipeline},dp={data}")?;
        if sequence > 1 {
            write!(f, ",{}={sequence}", if self.ulysses { "ulysses" } else { "sp" })?;
        }
        if expert > 1 {
            write!(f, ",ep={expert}{}", if self.whole_experts { ",etp=1" } else { "" })?;
        }
        if self.order != ORDER {
            write!(f, ",order={}", self.order.map(Dimension::letters).join("-"))?;
        }
        Ok(())
    }
}

/// What a word says of a job.
#[derive(Clone, Copy, PartialEq)]
enum Key {
    Degree(Dimension),
    ExpertTensor,
    Order,
}

impl FromStr for Parallelism {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (mut degrees, mut order, mut expert_tensor, mut ulysses) = ([1; 5], None, None, false);
        for (key, name, value, word) in words(text, DEGREES, degree_key)? {
            let number = || value.parse().ok().filter(|n| *n > 0).ok_or_else(|| bad(word.to_owned(), DEGREES));
            match key {
                Key::Degree(dimension) => degrees[dimension as usize] = number()?,
                Key::ExpertTensor => expert_tensor = Some((number()?, word)),
                Key::Order => order = Some(value),
            }
            ulysses |= name.eq_ignore_ascii_case("ulysses");
        }
        let [tensor, pipeline, data, sequence, expert] = degrees;
        // An expert is on a whole tensor group or on one device of it.
        if let Some((_, word)) = expert_tensor.filter(|(degree, _)| *degree != 1 && *degree != tensor) {
            return Err(bad(word.to_owned(), EXPERT_TENSOR));
        }
        let whole = expert_tensor.is_some_and(|(degree, _)| degree == 1);
        let job = Self::new(tensor, pipeline, data)?.with_sequence(sequence, ulysses)?.with_experts(expert, whole)?;
        order.map_or(Ok(job), |order| job.with_order(order))
    }
}

const EXPERT_TENSOR: &str = "etp=1, each expert on one device, or the same as tp";

fn degree_key(name: &str) -> Option<Key> {
    match name.to_ascii_lowercase().as_str() {
        "order" => Some(Key::Order),
        "etp" => Some(Key::ExpertTensor),
        "ulysses" => Some(Key::Degree(Dimension::Sequence)),
        name => named(name).map(Key::Degree),
    }
}

impl Parallelism {
    /// The same job with the bytes that a text such as `tp=2e9,pp=1e8,dp=5e8` tells; what it does not name stays.
    ///
    /// # Errors
    /// A word that is not of this form, or names a dimension twice; the message names it.
    pub fn with_bytes_of(self, text: &str) -> Result<Self, Error> {
        let mut job = self;
        let same_experts = |name: &str| name.eq_ignore_ascii_case("edp").then_some(Dimension::ExpertData);
        for (dimension, _, value, word) in words(text, BYTES, |name| same_experts(name).or_else(|| named(name)))? {
            let bytes = value.parse().map_err(|_| bad(word.to_owned(), BYTES))?;
            job = job.with_bytes(dimension, bytes)?;
        }
        Ok(job)
    }
}

/// A word of a text: what it is about, its name, what is said of it, and the whole.
type Word<'t, T> = (T, &'t str, &'t str, &'t str);

/// The words of a text, each about something else.
fn words<'t, T: Copy + PartialEq>(
    text: &'t str,
    expected: &'static str,
    known: impl Fn(&str) -> Option<T>,
) -> Result<Vec<Word<'t, T>>, Error> {
    let mut said: Vec<Word<'t, T>> = Vec::new();
    for word in text.split(',').map(str::trim) {
        let parts = word.split_once('=').map(|(name, value)| (name.trim(), value.trim()));
        let part = parts.and_then(|(name, value)| Some((known(name)?, name, value, word)));
        let new = part.filter(|(key, ..)| said.iter().all(|(other, ..)| other != key));
        said.push(new.ok_or_else(|| bad(word.to_owned(), expected))?);
    }
    Ok(said)
}
