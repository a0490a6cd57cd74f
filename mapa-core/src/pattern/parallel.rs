//! Training jobs: tensor x pipeline x data parallel.
//!
//! A model too large for one device is cut twice: each layer's matrices among the devices of a *tensor* group, which add up
//! their parts of every layer's result; the layers among the *stages* of a pipeline, which hand activations on and gradients
//! back. Copies of all that, fed with different *data*, add up their gradients once a step. Who talks to whom, and how much,
//! follows from the three degrees (Narayanan et al., *Efficient Large-Scale Language Model Training on GPU Clusters Using
//! Megatron-LM*, SC 2021, section 2).

use std::fmt;
use std::str::FromStr;

use super::{Edge, Pattern};
use crate::error::{Error, ErrorKind};
use crate::topology::MAX_DEVICES;

/// One of the three ways in which a training job is spread over devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dimension {
    /// `tp`: the devices of a group share each layer and all-reduce its results.
    Tensor,
    /// `pp`: stages have consecutive layers and send activations to the next stage, gradients to the one before.
    Pipeline,
    /// `dp`: copies of the model all-reduce their gradients.
    Data,
}

impl Dimension {
    /// All three, in the order in which a job is written.
    pub const ALL: [Self; 3] = [Self::Tensor, Self::Pipeline, Self::Data];

    /// As it is written: `tp`, `pp`, `dp`.
    #[must_use]
    pub fn letters(self) -> &'static str {
        match self {
            Self::Tensor => "tp",
            Self::Pipeline => "pp",
            Self::Data => "dp",
        }
    }
}

/// `tensor`, `pipeline`, `data`.
impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tensor => "tensor",
            Self::Pipeline => "pipeline",
            Self::Data => "data",
        })
    }
}

/// A tensor x pipeline x data parallel job: its degrees, and how many bytes a step each rank hands to each dimension.
///
/// Parsed from and printed as `tp=4,pp=2,dp=1`, in any order; what is missing is 1. Of a number of bytes only its ratio to the
/// others decides where a job is best placed. Unless they are given, all three are [`Parallelism::BYTES`]: nothing is known of
/// the model, and the dimensions count alike.
///
/// Ranks are numbered as Megatron-LM numbers them (`megatron/core/parallel_state.py`, order `tp-cp-ep-dp-pp`): tensor fastest,
/// then data, then pipeline. Of degrees T, P and D the rank of part t, stage p and copy d is t + T (d + D p).
///
/// ```
/// use mapa_core::{Dimension, Parallelism};
///
/// let job: Parallelism = "tp=4,pp=2".parse()?;
/// let job = job.with_bytes(Dimension::Tensor, 2e9)?.with_bytes(Dimension::Pipeline, 1e8)?;
/// assert_eq!((job.ranks(), job.to_string().as_str()), (8, "tp=4,pp=2,dp=1"));
/// let edges = job.pattern().edges().to_vec();
/// // Two rings of four that send 2 * 3/4 of 2 GB, and four pairs of neighbouring stages.
/// assert_eq!((edges.len(), edges[0].traffic, edges[8].traffic), (12, 3e9, 1e8));
/// # Ok::<(), mapa_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parallelism {
    degrees: [usize; 3],
    bytes: [f64; 3],
}

impl Parallelism {
    /// What a rank sends in a dimension where nothing is said: 1 GB.
    pub const BYTES: f64 = 1e9;

    /// The most that can be said.
    const MOST_BYTES: f64 = 1e18;

    /// A job of these degrees, [`Parallelism::BYTES`] in each dimension.
    ///
    /// # Errors
    /// A degree of 0; the message names the dimension.
    pub fn new(tensor: usize, pipeline: usize, data: usize) -> Result<Self, Error> {
        let degrees = [tensor, pipeline, data];
        match Dimension::ALL.iter().zip(degrees).find(|(_, degree)| *degree == 0) {
            Some((dimension, _)) => Err(bad(format!("{}=0", dimension.letters()), DEGREES)),
            None => Ok(Self { degrees, bytes: [Self::BYTES; 3] }),
        }
    }

    /// The same job with so many bytes per rank and step in one dimension: the size of what a rank all-reduces in its tensor
    /// group, or in its data group; of the activations that it hands to the next stage, and as much of gradients back. With 0
    /// the dimension has no edges.
    ///
    /// # Errors
    /// Not a number from 0 to 1e18; the message names the dimension.
    pub fn with_bytes(mut self, dimension: Dimension, bytes: f64) -> Result<Self, Error> {
        if !(0.0..=Self::MOST_BYTES).contains(&bytes) {
            return Err(bad(format!("{}={bytes}", dimension.letters()), BYTES));
        }
        self.bytes[dimension as usize] = bytes;
        Ok(self)
    }

    /// The same job with the bytes that a text such as `tp=2e9,pp=1e8,dp=5e8` tells; what it does not name stays.
    ///
    /// # Errors
    /// A word that is not of this form, or names a dimension twice; the message names it.
    pub fn with_bytes_of(self, text: &str) -> Result<Self, Error> {
        let mut job = self;
        for (dimension, value, word) in words(text, BYTES)? {
            let bytes = value.parse().map_err(|_| bad(word.to_owned(), BYTES))?;
            job = job.with_bytes(dimension, bytes)?;
        }
        Ok(job)
    }

    /// Among how many devices the job is spread in this dimension.
    #[must_use]
    pub fn degree(&self, dimension: Dimension) -> usize {
        self.degrees[dimension as usize]
    }

    /// Bytes per rank and step; see [`Parallelism::with_bytes`].
    #[must_use]
    pub fn bytes(&self, dimension: Dimension) -> f64 {
        self.bytes[dimension as usize]
    }

    /// How many devices it needs: the product of its degrees; saturates.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.degrees.iter().fold(1, |product, &degree| product.saturating_mul(degree))
    }

    /// What each edge of a dimension carries per direction and step, bytes. A ring all-reduce of n ranks sends 2 (n - 1) / n
    /// times what is reduced along each edge of the ring, in the ring's direction (Patarasuk and Yuan, *Bandwidth optimal
    /// all-reduce algorithms for clusters of workstations*, 2009). Between stages activations go one way, gradients the other.
    #[must_use]
    pub fn traffic(&self, dimension: Dimension) -> f64 {
        let (degree, bytes) = (self.degree(dimension) as f64, self.bytes(dimension));
        match dimension {
            Dimension::Tensor | Dimension::Data => 2.0 * (degree - 1.0) / degree * bytes,
            Dimension::Pipeline => bytes,
        }
    }

    /// The pairs of ranks that talk in a dimension: a ring for each tensor and each data group (of two: two edges, both over
    /// the one link, as in [`Pattern::ring`]), a chain for each pipeline. None if the degree is 1, nothing is sent, or the
    /// job has more than [`MAX_DEVICES`] ranks.
    pub(crate) fn edges(&self, dimension: Dimension) -> Vec<(u16, u16)> {
        let degree = self.degree(dimension);
        if self.ranks() > MAX_DEVICES || degree == 1 || self.traffic(dimension) == 0.0 {
            return Vec::new();
        }
        let [tensor, _, data] = self.degrees;
        let stride = match dimension {
            Dimension::Tensor => 1,
            Dimension::Data => tensor,
            Dimension::Pipeline => tensor * data,
        };
        let last = if dimension == Dimension::Pipeline { degree - 1 } else { degree };
        let first_of_group = (0..self.ranks()).filter(|rank| rank / stride % degree == 0);
        let group = |first: usize| {
            let member = move |i: usize| (first + stride * (i % degree)) as u16;
            (0..last).map(move |i| (member(i), member(i + 1)))
        };
        first_of_group.flat_map(group).collect()
    }

    /// Who talks to whom: the edges of the tensor groups, then of the pipelines, then of the data groups, each with its
    /// [traffic](Parallelism::traffic). A job of more than [`MAX_DEVICES`] ranks fits no machine; its pattern has no edges.
    #[must_use]
    pub fn pattern(&self) -> Pattern {
        let of = |dimension: Dimension| {
            let traffic = self.traffic(dimension);
            self.edges(dimension).into_iter().map(move |(a, b)| Edge { a: a.min(b), b: a.max(b), traffic })
        };
        Pattern::new(self.ranks(), Dimension::ALL.into_iter().flat_map(of).collect())
    }
}

/// `tp=4,pp=2,dp=1`.
impl fmt::Display for Parallelism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [tensor, pipeline, data] = self.degrees;
        write!(f, "tp={tensor},pp={pipeline},dp={data}")
    }
}

impl FromStr for Parallelism {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut degrees = [1; 3];
        for (dimension, value, word) in words(text, DEGREES)? {
            let degree = value.parse().ok().filter(|degree| *degree > 0);
            degrees[dimension as usize] = degree.ok_or_else(|| bad(word.to_owned(), DEGREES))?;
        }
        let [tensor, pipeline, data] = degrees;
        Self::new(tensor, pipeline, data)
    }
}

const DEGREES: &str = "tp=T,pp=P,dp=D, each once and a whole number of at least 1, such as tp=4,pp=2,dp=1";
const BYTES: &str = "tp=T,pp=P,dp=D, each once and a number of bytes from 0 to 1e18, such as tp=2e9,pp=1e8";

fn bad(word: String, expected: &'static str) -> Error {
    ErrorKind::BadParallelism { word, expected }.into()
}

/// The words of a text, each with its dimension and what is said of it.
fn words<'t>(text: &'t str, expected: &'static str) -> Result<Vec<(Dimension, &'t str, &'t str)>, Error> {
    let mut said: Vec<(Dimension, &str, &str)> = Vec::new();
    for word in text.split(',').map(str::trim) {
        let parts = word.split_once('=').map(|(name, value)| (name.trim(), value.trim()));
        let known = |name: &str| Dimension::ALL.into_iter().find(|d| d.letters().eq_ignore_ascii_case(name));
        let part = parts.and_then(|(name, value)| Some((known(name)?, value, word)));
        let new = part.filter(|(dimension, ..)| said.iter().all(|(other, ..)| other != dimension));
        said.push(new.ok_or_else(|| bad(word.to_owned(), expected))?);
    }
    Ok(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(text: &str) -> Parallelism {
        text.parse().unwrap()
    }

    fn edges(text: &str) -> Vec<(u16, u16, f64)> {
        job(text).pattern().edges().iter().map(|e| (e.a, e.b, e.traffic)).collect()
    }

    #[test]
    fn texts_round_trip_in_any_order_and_what_is_missing_is_one() {
        for (text, printed) in
            [("tp=4,pp=2,dp=1", "tp=4,pp=2,dp=1"), ("dp=3, PP = 2", "tp=1,pp=2,dp=3"), ("tp=8", "tp=8,pp=1,dp=1")]
        {
            assert_eq!(job(text).to_string(), printed);
            assert_eq!(job(printed), job(text));
        }
        let told = job("tp=2,dp=2").with_bytes_of("dp=5e8,tp=2e9").unwrap();
        assert_eq!(Dimension::ALL.map(|dimension| told.bytes(dimension)), [2e9, 1e9, 5e8]);
    }

    #[test]
    fn errors_name_the_word_and_the_form() {
        for (text, word) in [
            ("tp=4,xp=2", "xp=2"),
            ("tp=0", "tp=0"),
            ("tp=4,tp=2", "tp=2"),
            ("tp=-1", "tp=-1"),
            ("tp=1.5", "tp=1.5"),
            ("4,2,1", "4"),
            ("", ""),
            ("tp=4,", ""),
        ] {
            let message = text.parse::<Parallelism>().unwrap_err().to_string();
            assert_eq!(message, format!("parallel job: `{word}`: expected {DEGREES}"), "{text}");
        }
        for (text, word) in
            [("tp=NaN", "tp=NaN"), ("pp=-1", "pp=-1"), ("dp=2e18", "dp=2000000000000000000"), ("x", "x")]
        {
            let message = job("tp=2").with_bytes_of(text).unwrap_err().to_string();
            assert_eq!(message, format!("parallel job: `{word}`: expected {BYTES}"), "{text}");
        }
        assert!(Parallelism::new(1, 0, 1).is_err());
    }

    #[test]
    fn one_dimension_alone_is_a_ring_or_a_chain() {
        let plain = |pattern: Pattern| pattern.edges().iter().map(|e| (e.a, e.b)).collect::<Vec<_>>();
        for n in 1..9 {
            assert_eq!(plain(job(&format!("tp={n}")).pattern()), plain(Pattern::ring(n)));
            assert_eq!(plain(job(&format!("dp={n}")).pattern()), plain(Pattern::ring(n)));
            assert_eq!(plain(job(&format!("pp={n}")).pattern()), plain(Pattern::chain(n)));
        }
        assert_eq!(edges("tp=2"), [(0, 1, 1e9), (0, 1, 1e9)]);
        assert_eq!(edges("pp=2"), [(0, 1, 1e9)]);
        assert_eq!(edges("tp=1"), []);
    }

    #[test]
    fn ranks_are_numbered_tensor_first_then_data_then_pipeline() {
        let by_hand = [
            [(0, 1), (0, 1), (2, 3), (2, 3), (4, 5), (4, 5), (6, 7), (6, 7)].as_slice(),
            &[(0, 4), (1, 5), (2, 6), (3, 7)],
            &[(0, 2), (0, 2), (1, 3), (1, 3), (4, 6), (4, 6), (5, 7), (5, 7)],
        ];
        let by_hand: Vec<_> = by_hand.concat().into_iter().map(|(a, b)| (a, b, 1e9)).collect();
        assert_eq!(edges("tp=2,pp=2,dp=2"), by_hand);
    }

    #[test]
    fn what_sends_nothing_has_no_edges_and_what_fits_nowhere_neither() {
        let silent = job("tp=4,pp=2").with_bytes(Dimension::Tensor, 0.0).unwrap();
        assert_eq!(silent.pattern().edges().len(), 4);
        let huge = job("tp=1000,pp=1000,dp=1000");
        assert_eq!((huge.pattern().len(), huge.pattern().edges().len()), (1_000_000_000, 0));
        assert_eq!(Parallelism::new(usize::MAX, 2, 2).unwrap().ranks(), usize::MAX);
    }
}
