//! The text form of training jobs: `tp=4,pp=2,dp=1`.

use std::fmt;
use std::str::FromStr;

use super::dimension::{Dimension, ORDER, bad, named};
use super::{BYTES, DEGREES, Parallelism};
use crate::error::{Error, ErrorKind};
use crate::settings::{Setting, Settings};

/// Prints `tp=4,pp=2,dp=1`, then every word whose value is not the default.
impl fmt::Display for Parallelism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [tensor, pipeline, data, sequence, expert] = self.degrees;
        write!(f, "tp={tensor},pp={pipeline},dp={data}")?;
        if sequence > 1 {
            write!(
                f,
                ",{}={sequence}",
                if self.ulysses { "ulysses" } else { "sp" }
            )?;
        }
        if expert > 1 {
            write!(
                f,
                ",ep={expert}{}",
                if self.whole_experts { ",etp=1" } else { "" }
            )?;
        }
        if self.order != ORDER {
            write!(f, ",order={}", self.order.map(Dimension::letters).join("-"))?;
        }
        Ok(())
    }
}

/// The subject of a word.
#[derive(Clone, Copy, PartialEq)]
enum WordSubject {
    Degree(Dimension),
    ExpertTensor,
    Order,
}

impl FromStr for Parallelism {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let settings = Settings::read(text.split(','), DEGREES, degree_key).map_err(bad_setting)?;
        let (mut degrees, mut order, mut expert_tensor, mut ulysses) = ([1; 5], None, None, false);
        for (key, setting) in settings.iter() {
            match *key {
                WordSubject::Degree(dimension) => degrees[dimension as usize] = degree(setting)?,
                WordSubject::ExpertTensor => {
                    expert_tensor = Some((degree(setting)?, setting.word()))
                }
                WordSubject::Order => order = Some(setting.value()),
            }
            ulysses |= setting.key().eq_ignore_ascii_case("ulysses");
        }
        let [tensor, pipeline, data, sequence, expert] = degrees;
        // An expert is spread over a whole tensor group, or lies on one device of it.
        if let Some((_, word)) =
            expert_tensor.filter(|(degree, _)| *degree != 1 && *degree != tensor)
        {
            return Err(bad(word.to_owned(), EXPERT_TENSOR));
        }
        let whole = expert_tensor.is_some_and(|(degree, _)| degree == 1);
        let job = Self::new(tensor, pipeline, data)?
            .with_sequence(sequence, ulysses)?
            .with_experts(expert, whole)?;
        order.map_or(Ok(job), |order| job.with_order(order))
    }
}

const EXPERT_TENSOR: &str = "etp=1, each expert on one device, or the same as tp";

/// What a key means in a text of degrees.
fn degree_key(name: &str) -> Option<WordSubject> {
    match name.to_ascii_lowercase().as_str() {
        "order" => Some(WordSubject::Order),
        "etp" => Some(WordSubject::ExpertTensor),
        "ulysses" => Some(WordSubject::Degree(Dimension::Sequence)),
        name => named(name).map(WordSubject::Degree),
    }
}

/// The dimension that a key names in a text of bytes; unlike in degrees, `edp` is allowed.
fn bytes_key(name: &str) -> Option<Dimension> {
    if name.eq_ignore_ascii_case("edp") {
        return Some(Dimension::ExpertData);
    }
    named(name)
}

/// A degree: a whole number of at least 1.
fn degree(setting: Setting<'_>) -> Result<usize, Error> {
    let degree = setting.read(DEGREES, |value| value.parse().ok().filter(|n| *n > 0));
    degree.map_err(bad_setting)
}

fn bad_setting(error: Error) -> Error {
    ErrorKind::BadParallelSetting(error).into()
}

impl Parallelism {
    /// The job with the bytes that a text such as `tp=2e9,pp=1e8,dp=5e8` gives. Default
    /// bytes of dimensions that the text does not name keep their share of the largest that it names.
    ///
    /// # Errors
    /// A word that is not of this form, or names a dimension twice; the message names it.
    pub fn with_bytes_of(self, text: &str) -> Result<Self, Error> {
        let mut job = self;
        let settings = Settings::read(text.split(','), BYTES, bytes_key).map_err(bad_setting)?;
        for (dimension, setting) in settings.iter() {
            let bytes = setting.read(BYTES, |value| value.parse().ok());
            job = job.with_bytes(*dimension, bytes.map_err(bad_setting)?)?;
        }
        let named: Vec<Dimension> = settings.iter().map(|(dimension, _)| *dimension).collect();
        let scale = named
            .iter()
            // A dimension that the job does not have sets no scale for the others.
            .filter(|&&dimension| self.group_size(dimension) > 1)
            .map(|&dimension| job.bytes(dimension) / self.default_of(dimension))
            .reduce(f64::max)
            .filter(|scale| *scale > 0.0);
        for dimension in Dimension::ALL {
            let default = self.default_of(dimension);
            let is_default = !named.contains(&dimension) && self.bytes(dimension) == default;
            if let Some(scale) = scale.filter(|_| is_default && self.group_size(dimension) > 1) {
                job = job.with_bytes(dimension, (default * scale).min(Self::MOST_BYTES))?;
            }
        }
        Ok(job)
    }
}
