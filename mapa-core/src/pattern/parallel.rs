//! Training jobs: tensor x sequence x pipeline x data parallel, with experts.
//!
//! A model too large for one device is divided along several dimensions:
//!
//! - the matrices of each layer among the devices of a *tensor* group, which add up their parts of
//!   every layer's result;
//! - the layers among the *stages* of a pipeline, which send activations forward and gradients
//!   back;
//! - the *sequence* among devices that exchange keys and values;
//! - the *experts* of a layer among devices that exchange tokens.
//!
//! Copies of the whole model get different *data*, and add up their gradients once per step. Which
//! ranks communicate, and how much, follows from the degrees (Narayanan et al., *Efficient
//! Large-Scale Language Model Training on GPU Clusters Using Megatron-LM*, SC 2021, section 2; for
//! experts `megatron/core/parallel_state.py` of NVIDIA/Megatron-LM).
//!
//! What Megatron-LM calls *sequence parallelism* (Korthikanti et al. 2022) is not a separate
//! dimension. It shares the tensor group, and replaces each of its all-reduces by a reduce-scatter
//! and an all-gather, which send as much.

mod dimension;
mod layout;
mod model;
mod text;

use super::{Edge, Pattern};
use crate::error::Error;
pub use dimension::Dimension;
use dimension::{ORDER, bad};
pub use model::ModelShape;

/// A training job: its degrees, the bytes per step that each rank sends in each dimension, and the
/// numbering of its ranks.
///
/// A job is parsed from and printed as `tp=4,pp=2,dp=1`. Words may come in any order; a missing
/// degree is 1. Further words are `sp=S` (or `cp=S`) for sequences shared by ring attention, or
/// `ulysses=S` for sequences shared by all-to-all; `ep=E` for experts; and `order=tp-cp-ep-dp-pp`.
/// By default each expert is spread over a tensor group; with `etp=1` it is on one device.
///
/// Only the ratios of the numbers of bytes decide where a job is best placed. By default they are
/// those of published training runs: see [`Parallelism::default_bytes`].
///
/// Ranks are numbered as Megatron-LM numbers them (`megatron/core/parallel_state.py`, class
/// `RankGenerator`): by an order of the dimensions, the fastest first, `tp-cp-ep-dp-pp` by default.
/// With degrees T, P and D alone, the rank of part t, stage p and copy d is then t + T (d + D p).
/// The order can also be the name of a framework: `megatron`, `deepspeed` and `torchtitan` have the
/// default; `vllm`, and Megatron-LM with `--use-tp-pp-dp-mapping`, have `tp-cp-ep-pp-dp`. Experts
/// do not add ranks. They divide the T x S x D ranks of a stage, in the same order with `ep` in
/// place of `cp`.
///
/// # Examples
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
///
/// let experts: Parallelism = "tp=2,dp=4,ep=2".parse()?;
/// assert_eq!((experts.ranks(), experts.groups(Dimension::Expert)[0].as_slice()), (8, [0, 2].as_slice()));
/// # Ok::<(), mapa_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parallelism {
    /// The degrees of all dimensions but the last, by number.
    degrees: [usize; 5],
    bytes: [f64; Dimension::COUNT],
    /// The order of the dimensions, the fastest first.
    order: [Dimension; 5],
    /// Whether sequences are shared by all-to-all.
    ulysses: bool,
    /// Whether an expert is on one device, not on a tensor group.
    whole_experts: bool,
}

impl Parallelism {
    /// The bytes that a rank sends in a dimension by default, of which only the shares mean something: those of
    /// published training runs, with 1e9 bytes for tensor groups (`docs/training-jobs.md` has the runs).
    /// Sequences shared by all-to-all (`all_to_all`) send more than those of ring attention.
    #[must_use]
    pub const fn default_bytes(dimension: Dimension, all_to_all: bool) -> f64 {
        match dimension {
            Dimension::Tensor => 1e9,
            // One layer in thirty-two that a stage and its tensor group handle: activations once, not four times a layer.
            Dimension::Pipeline => 3e7,
            Dimension::Data => 2e7,
            Dimension::Sequence if all_to_all => 2e9,
            Dimension::Sequence => 2e8,
            // Two experts for each token.
            Dimension::Expert => 2e9,
            Dimension::ExpertData => 1e8,
        }
    }

    /// The default bytes of a dimension of this job.
    fn default_of(&self, dimension: Dimension) -> f64 {
        Self::default_bytes(dimension, self.ulysses)
    }

    /// The most bytes that can be given.
    const MOST_BYTES: f64 = 1e18;

    /// A job of these degrees without other dimensions, with [default bytes](Parallelism::default_bytes) in each
    /// dimension.
    ///
    /// # Errors
    /// A degree of 0; the message names the dimension.
    pub fn new(tensor: usize, pipeline: usize, data: usize) -> Result<Self, Error> {
        let degrees = [tensor, pipeline, data, 1, 1];
        let bytes = Dimension::ALL.map(|dimension| Self::default_bytes(dimension, false));
        let new = Self {
            degrees,
            bytes,
            order: ORDER,
            ulysses: false,
            whole_experts: false,
        };
        new.checked()
    }

    /// The job with another degree of sequence parallelism: by all-to-all (DeepSpeed-Ulysses) if
    /// `all_to_all`, else by ring attention.
    ///
    /// # Errors
    /// A degree of 0; experts that no longer divide the ranks of a stage.
    pub fn with_sequence(mut self, degree: usize, all_to_all: bool) -> Result<Self, Error> {
        let sequence = Dimension::Sequence;
        let is_default = self.bytes(sequence) == self.default_of(sequence);
        (self.degrees[sequence as usize], self.ulysses) = (degree, all_to_all && degree > 1);
        if is_default {
            self.bytes[sequence as usize] = self.default_of(sequence);
        }
        self.checked()
    }

    /// The job with its experts divided among `degree` devices (if `whole`) or tensor groups. Each
    /// expert is on one device or on a tensor group, respectively.
    ///
    /// # Errors
    /// A degree of 0, or one that does not divide the ranks of a stage: S x D, and T x S x D for
    /// whole experts.
    pub fn with_experts(mut self, degree: usize, whole: bool) -> Result<Self, Error> {
        self.degrees[Dimension::Expert as usize] = degree;
        self.whole_experts = whole && degree > 1 && self.degree(Dimension::Tensor) > 1;
        self.checked()
    }

    /// The job with its ranks numbered in another order, such as `tp-cp-ep-pp-dp`, the fastest
    /// first, or in the order of a framework: `megatron`, `deepspeed`, `torchtitan`, `vllm`.
    /// Dimensions of degree 1 may be left out.
    ///
    /// # Errors
    /// A word that is no dimension or occurs twice; a missing dimension of a degree above 1.
    pub fn with_order(mut self, order: &str) -> Result<Self, Error> {
        self.order = dimension::order(order, |dimension| self.degree(dimension))?;
        Ok(self)
    }

    fn checked(self) -> Result<Self, Error> {
        if let Some((dimension, _)) = Dimension::ALL
            .iter()
            .zip(self.degrees)
            .find(|(_, degree)| *degree == 0)
        {
            return Err(bad(format!("{}=0", dimension.letters()), DEGREES));
        }
        let [expert, stage] = [self.degree(Dimension::Expert), self.expert_stage()];
        if stage % expert != 0 {
            return Err(bad(format!("ep={expert}"), EXPERTS));
        }
        Ok(self)
    }

    /// Among how many ranks of a stage the experts of one tensor part, or of all, can be spread;
    /// saturates.
    fn expert_stage(&self) -> usize {
        let [tensor, _, data, sequence, _] = self.degrees;
        data.saturating_mul(sequence)
            .saturating_mul(if self.whole_experts { tensor } else { 1 })
    }

    /// The job with this many bytes per rank and step in one dimension:
    ///
    /// - tensor, data, expert-data: the bytes that a rank all-reduces;
    /// - pipeline: the activations that it sends to the next stage, which sends as many bytes of
    ///   gradients back;
    /// - sequence by ring attention: its own keys and values, which go round the ring;
    /// - sequence by all-to-all, and expert: everything that it sends in all-to-alls.
    ///
    /// With 0 the dimension has no edges.
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

    /// The degree of a dimension: the number of devices over which it spreads the job.
    #[must_use]
    pub fn degree(&self, dimension: Dimension) -> usize {
        let expert = self.degrees[Dimension::Expert as usize];
        match self.degrees.get(dimension as usize) {
            Some(&degree) => degree,
            // The degree of the last dimension, `ExpertData`, follows from the others.
            None if expert > 1 => self.expert_stage() / expert,
            None => 1,
        }
    }

    /// The dimensions in use: tensor, pipeline and data, and others with a degree above 1 or with
    /// bytes of their own.
    pub fn dimensions(&self) -> impl Iterator<Item = Dimension> {
        let job = *self;
        Dimension::ALL
            .into_iter()
            .enumerate()
            .filter(move |&(i, dimension)| {
                i < 3
                    || job.degree(dimension) > 1
                    || job.bytes(dimension) != job.default_of(dimension)
            })
            .map(|(_, dimension)| dimension)
    }

    /// Bytes per rank and step; see [`Parallelism::with_bytes`].
    #[must_use]
    pub fn bytes(&self, dimension: Dimension) -> f64 {
        self.bytes[dimension as usize]
    }

    /// The number of devices of the job: the product of its degrees except that of experts;
    /// saturates.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.degrees[..4]
            .iter()
            .fold(1, |product, &degree| product.saturating_mul(degree))
    }

    /// Whether every rank of a group sends to every other in this dimension: experts, and sequences
    /// shared by all-to-all.
    #[must_use]
    pub fn is_all_to_all(&self, dimension: Dimension) -> bool {
        dimension == Dimension::Expert || dimension == Dimension::Sequence && self.ulysses
    }

    /// The number of ranks that communicate with one another in this dimension. This is the degree,
    /// except for data: gradients are all-reduced among copies *and* the devices that share a
    /// sequence, since all of these have the same weights.
    #[must_use]
    pub fn group_size(&self, dimension: Dimension) -> usize {
        match dimension {
            Dimension::Data => self
                .degree(dimension)
                .saturating_mul(self.degree(Dimension::Sequence)),
            _ => self.degree(dimension),
        }
    }

    /// The bytes that each edge of a dimension carries per direction and step. Let n be the [size
    /// of its groups](Parallelism::group_size).
    ///
    /// A ring all-reduce of b bytes sends 2 (n - 1) / n b along each edge, in the ring's direction
    /// (Patarasuk and Yuan, *Bandwidth optimal all-reduce algorithms for clusters of workstations*, 2009).
    /// Between stages, activations go one way and gradients the other. Ring attention passes each
    /// rank's part on n - 1 times (Liu et al., *Ring Attention with Blockwise Transformers*, 2023).
    /// In an all-to-all each pair carries b / n either way.
    #[must_use]
    pub fn traffic(&self, dimension: Dimension) -> f64 {
        let (ranks, bytes) = (self.group_size(dimension) as f64, self.bytes(dimension));
        match dimension {
            Dimension::Pipeline => bytes,
            _ if self.is_all_to_all(dimension) => bytes / ranks,
            Dimension::Sequence => (ranks - 1.0) * bytes,
            _ => 2.0 * (ranks - 1.0) / ranks * bytes,
        }
    }

    /// The pairs of ranks that communicate in a dimension: a ring for each group that all-reduces
    /// or shares sequences (for two ranks two edges over the one link, as in [`Pattern::ring`]), a
    /// chain for each pipeline, every pair of a group that sends all to all. There are none if
    /// groups are of one rank, if nothing is sent, or if the job has more than
    /// [`MAX_DEVICES`](crate::MAX_DEVICES) ranks.
    pub(crate) fn edges(&self, dimension: Dimension) -> Vec<(u16, u16)> {
        if self.group_size(dimension) == 1 || self.traffic(dimension) == 0.0 {
            return Vec::new();
        }
        let (all, chain) = (
            self.is_all_to_all(dimension),
            dimension == Dimension::Pipeline,
        );
        let edges = |group: Vec<u16>| -> Vec<(u16, u16)> {
            let pairs = group
                .windows(2)
                .filter_map(|pair| Some((*pair.first()?, *pair.last()?)));
            if all {
                group
                    .iter()
                    .enumerate()
                    .flat_map(|(i, &a)| group[i + 1..].iter().map(move |&b| (a, b)))
                    .collect()
            } else if chain {
                pairs.collect()
            } else {
                pairs
                    .chain(group.last().copied().zip(group.first().copied()))
                    .collect()
            }
        };
        self.groups(dimension).into_iter().flat_map(edges).collect()
    }

    /// The pattern of the job: the edges of the tensor groups, then of the pipelines, then of the
    /// data groups and so on as in [`Dimension::ALL`], each with its
    /// [traffic](Parallelism::traffic). A job of more than [`MAX_DEVICES`](crate::MAX_DEVICES)
    /// ranks fits no machine; its pattern has no edges.
    ///
    /// # Complexity
    ///
    /// O(r log r + e) for r ranks and e edges.
    #[must_use]
    pub fn pattern(&self) -> Pattern {
        let mut edges = Vec::new();
        for dimension in Dimension::ALL {
            let traffic = self.traffic(dimension);
            edges.extend(self.edges(dimension).into_iter().map(|(a, b)| Edge {
                a: a.min(b),
                b: a.max(b),
                traffic,
            }));
        }
        Pattern::new(self.ranks(), edges)
    }
}

const DEGREES: &str = "tp=T,pp=P,dp=D, sp=S or ulysses=S, ep=E and etp=1, order=tp-cp-ep-dp-pp, each once and \
    degrees whole numbers of at least 1, such as tp=4,pp=2,dp=1";
const EXPERTS: &str =
    "experts among a number of devices that divides sp x dp, or with etp=1 tp x sp x dp";
const BYTES: &str = "tp=T,pp=P,dp=D, sp=S, ep=E, edp=F, each once and a number of bytes from 0 to 1e18, such \
    as tp=2e9,pp=1e8";

#[cfg(test)]
mod tests {
    use super::*;

    fn job(text: &str) -> Parallelism {
        text.parse().unwrap()
    }

    fn edges(text: &str) -> Vec<(u16, u16, f64)> {
        job(text)
            .pattern()
            .edges()
            .iter()
            .map(|e| (e.a, e.b, e.traffic))
            .collect()
    }

    #[test]
    fn texts_round_trip_in_any_order_and_what_is_missing_is_one() {
        for (text, printed) in [
            ("tp=4,pp=2,dp=1", "tp=4,pp=2,dp=1"),
            ("dp=3, PP = 2", "tp=1,pp=2,dp=3"),
            ("tp=8", "tp=8,pp=1,dp=1"),
        ] {
            assert_eq!(job(text).to_string(), printed);
            assert_eq!(job(printed), job(text));
        }
        let told = job("tp=2,dp=2").with_bytes_of("dp=5e8,tp=2e9").unwrap();
        assert_eq!(
            Dimension::ALL.map(|dimension| told.bytes(dimension)),
            [2e9, 3e7, 5e8, 2e8, 2e9, 1e8]
        );
        // A dimension without bytes of its own keeps its share of the largest given.
        let part = job("tp=2,pp=2,dp=2").with_bytes_of("tp=4e9").unwrap();
        assert_eq!(part.to_string(), "tp=2,pp=2,dp=2");
        assert_eq!(
            Dimension::ALL.map(|dimension| part.bytes(dimension)),
            [4e9, 1.2e8, 8e7, 2e8, 2e9, 1e8]
        );
        // Gradients go round the devices that share a sequence too.
        let shared = job("tp=2,sp=2").with_bytes_of("sp=1e9").unwrap();
        assert_eq!(shared.bytes(Dimension::Data), 1e8);
        // A dimension that the job does not have sets no scale.
        let odd = job("tp=2,dp=2").with_bytes_of("tp=1e9,pp=1e9").unwrap();
        assert_eq!(odd.bytes(Dimension::Data), 2e7);
        let silent = job("tp=2,pp=2").with_bytes_of("tp=0").unwrap();
        assert_eq!(silent.bytes(Dimension::Pipeline), 3e7);
        // The way in which sequences are shared decides what they send.
        assert_eq!(job("ulysses=2").bytes(Dimension::Sequence), 2e9);
        assert_eq!(job("sp=2").bytes(Dimension::Sequence), 2e8);
    }

    #[test]
    fn errors_name_the_word_and_the_form() {
        for (text, message) in [
            (
                "tp=4,xp=2",
                "`xp=2`: no setting is called `xp`: expected tp=T,",
            ),
            (
                "tp=4,TP=2",
                "`TP=2`: already set by `tp=4`: expected each setting once",
            ),
        ] {
            let error = text.parse::<Parallelism>().unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("parallel job: {message}")),
                "{error}"
            );
        }
        for (text, word) in [
            ("tp=0", "tp=0"),
            ("tp=-1", "tp=-1"),
            ("tp=1.5", "tp=1.5"),
            ("4,2,1", "4"),
            ("", ""),
            ("tp=4,", ""),
        ] {
            let message = text.parse::<Parallelism>().unwrap_err().to_string();
            assert_eq!(
                message,
                format!("parallel job: `{word}`: expected {DEGREES}"),
                "{text}"
            );
        }
        for (text, word) in [
            ("tp=NaN", "tp=NaN"),
            ("pp=-1", "pp=-1"),
            ("dp=2e18", "dp=2000000000000000000"),
            ("x", "x"),
        ] {
            let message = job("tp=2").with_bytes_of(text).unwrap_err().to_string();
            assert_eq!(
                message,
                format!("parallel job: `{word}`: expected {BYTES}"),
                "{text}"
            );
        }
        assert!(Parallelism::new(1, 0, 1).is_err());
    }

    #[test]
    fn one_dimension_alone_is_a_ring_or_a_chain() {
        let plain = |pattern: Pattern| {
            pattern
                .edges()
                .iter()
                .map(|e| (e.a, e.b))
                .collect::<Vec<_>>()
        };
        for n in 1..9 {
            assert_eq!(
                plain(job(&format!("tp={n}")).pattern()),
                plain(Pattern::ring(n))
            );
            assert_eq!(
                plain(job(&format!("dp={n}")).pattern()),
                plain(Pattern::ring(n))
            );
            assert_eq!(
                plain(job(&format!("pp={n}")).pattern()),
                plain(Pattern::chain(n))
            );
        }
        assert_eq!(edges("tp=2"), [(0, 1, 1e9), (0, 1, 1e9)]);
        assert_eq!(edges("pp=2"), [(0, 1, 3e7)]);
        assert_eq!(edges("tp=1"), []);
    }

    #[test]
    fn ranks_are_numbered_tensor_first_then_data_then_pipeline() {
        let by_hand = [
            [
                (0, 1),
                (0, 1),
                (2, 3),
                (2, 3),
                (4, 5),
                (4, 5),
                (6, 7),
                (6, 7),
            ]
            .as_slice(),
            &[(0, 4), (1, 5), (2, 6), (3, 7)],
            &[
                (0, 2),
                (0, 2),
                (1, 3),
                (1, 3),
                (4, 6),
                (4, 6),
                (5, 7),
                (5, 7),
            ],
        ];
        let by_hand: Vec<_> = by_hand
            .into_iter()
            .zip([1e9, 3e7, 2e7])
            .flat_map(|(edges, bytes)| edges.iter().map(move |&(a, b)| (a, b, bytes)))
            .collect();
        assert_eq!(edges("tp=2,pp=2,dp=2"), by_hand);
    }

    #[test]
    fn what_sends_nothing_has_no_edges_and_what_fits_nowhere_neither() {
        let silent = job("tp=4,pp=2").with_bytes(Dimension::Tensor, 0.0).unwrap();
        assert_eq!(silent.pattern().edges().len(), 4);
        let huge = job("tp=1000,pp=1000,dp=1000");
        assert_eq!(
            (huge.pattern().len(), huge.pattern().edges().len()),
            (1_000_000_000, 0)
        );
        assert_eq!(
            Parallelism::new(usize::MAX, 2, 2).unwrap().ranks(),
            usize::MAX
        );
    }
}
