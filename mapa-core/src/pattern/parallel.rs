//! Training jobs: tensor x sequence x pipeline x data parallel, with experts.
//!
//! A model too large for one device is cut: each layer's matrices among the devices of a *tensor* group, which add up their
//! parts of every layer's result; the layers among the *stages* of a pipeline, which hand activations on and gradients back; the
//! *sequence* among devices that hand each other keys and values; the *experts* of a layer among devices that send each other the
//! tokens. Copies of all that, fed with different *data*, add up their gradients once a step. Who talks to whom, and how much,
//! follows from the degrees (Narayanan et al., *Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM*,
//! SC 2021, section 2; for experts `megatron/core/parallel_state.py` of NVIDIA/Megatron-LM).
//!
//! What Megatron-LM calls *sequence parallelism* (Korthikanti et al. 2022) is no dimension of its own: it shares the tensor group,
//! and replaces each of its all-reduces by a reduce-scatter and an all-gather, which send as much.

mod layout;
mod model;
mod text;

use super::{Edge, Pattern};
use crate::error::{Error, ErrorKind};
use layout::ORDER;
pub use model::ModelShape;

/// One of the ways in which a training job is spread over devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dimension {
    /// `tp`: the devices of a group share each layer and all-reduce its results.
    Tensor,
    /// `pp`: stages have consecutive layers and send activations to the next stage, gradients to the one before.
    Pipeline,
    /// `dp`: copies of the model all-reduce their gradients, and so do the devices that share a sequence.
    Data,
    /// `sp`, or `cp` (context parallel): the devices of a group share each sequence and exchange keys and values.
    Sequence,
    /// `ep`: the devices of a group have different experts of each layer and send each other tokens, all to all.
    Expert,
    /// `edp`: the devices that have the same experts all-reduce their gradients. Its degree follows from the others.
    ExpertData,
}

impl Dimension {
    /// How many there are.
    pub const COUNT: usize = 6;

    /// All, in the order in which a job is written.
    pub const ALL: [Self; Self::COUNT] =
        [Self::Tensor, Self::Pipeline, Self::Data, Self::Sequence, Self::Expert, Self::ExpertData];

    /// As it is written: `tp`, `pp`, `dp`, `sp`, `ep`, `edp`.
    #[must_use]
    pub fn letters(self) -> &'static str {
        match self {
            Self::Tensor => "tp",
            Self::Pipeline => "pp",
            Self::Data => "dp",
            Self::Sequence => "sp",
            Self::Expert => "ep",
            Self::ExpertData => "edp",
        }
    }
}

/// A training job: its degrees, how many bytes a step each rank hands to each dimension, and how its ranks are numbered.
///
/// Parsed from and printed as `tp=4,pp=2,dp=1`, in any order; what is missing is 1. Further words: `sp=S` (or `cp=S`) for
/// sequences shared by ring attention, or `ulysses=S` by all-to-all; `ep=E` for experts, of which each tensor group has its own
/// unless `etp=1` says that each device has whole ones; and `order=tp-cp-ep-dp-pp`.
///
/// Of a number of bytes only its ratio to the others decides where a job is best placed. Unless they are given, all are
/// [`Parallelism::BYTES`]: nothing is known of the model, and the dimensions count alike.
///
/// Ranks are numbered as Megatron-LM numbers them (`megatron/core/parallel_state.py`, class `RankGenerator`), by an order of the
/// dimensions, the fastest first: `tp-cp-ep-dp-pp` unless another is given. Of degrees T, P and D alone the rank of part t, stage p
/// and copy d is then t + T (d + D p). The order is also given by the name of a framework: `megatron`, `deepspeed` and `torchtitan`
/// have this one; `vllm`, and Megatron-LM with `--use-tp-pp-dp-mapping`, `tp-cp-ep-pp-dp`. Experts do not multiply the number of
/// ranks: they divide those of a stage, T x S x D of them, in the same order with `ep` in the place of `cp`.
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
    /// Of all dimensions but the last, by number.
    degrees: [usize; 5],
    bytes: [f64; Dimension::COUNT],
    /// The fastest first.
    order: [Dimension; 5],
    /// Whether sequences are shared by all-to-all.
    ulysses: bool,
    /// Whether an expert is on one device, not on a tensor group.
    whole_experts: bool,
}

impl Parallelism {
    /// What a rank sends in a dimension where nothing is said: 1 GB.
    pub const BYTES: f64 = 1e9;

    /// The most that can be said.
    const MOST_BYTES: f64 = 1e18;

    /// A job of these degrees, [`Parallelism::BYTES`] in each dimension, no other dimension.
    ///
    /// # Errors
    /// A degree of 0; the message names the dimension.
    pub fn new(tensor: usize, pipeline: usize, data: usize) -> Result<Self, Error> {
        let degrees = [tensor, pipeline, data, 1, 1];
        let bytes = [Self::BYTES; Dimension::COUNT];
        let new = Self { degrees, bytes, order: ORDER, ulysses: false, whole_experts: false };
        new.checked()
    }

    /// The same job with another degree of sequence parallelism: by ring attention, or by all-to-all (DeepSpeed-Ulysses).
    ///
    /// # Errors
    /// A degree of 0; experts that no longer divide the ranks of a stage.
    pub fn with_sequence(mut self, degree: usize, all_to_all: bool) -> Result<Self, Error> {
        (self.degrees[Dimension::Sequence as usize], self.ulysses) = (degree, all_to_all && degree > 1);
        self.checked()
    }

    /// The same job with its experts among so many devices; each expert on one device (`whole`), or on a tensor group.
    ///
    /// # Errors
    /// A degree of 0, or one that does not divide the ranks of a stage: S x D, and T x S x D for whole experts.
    pub fn with_experts(mut self, degree: usize, whole: bool) -> Result<Self, Error> {
        self.degrees[Dimension::Expert as usize] = degree;
        self.whole_experts = whole && degree > 1 && self.degree(Dimension::Tensor) > 1;
        self.checked()
    }

    /// The same job with its ranks numbered in another order, such as `tp-cp-ep-pp-dp`, the fastest first; or as a framework does:
    /// `megatron`, `deepspeed`, `torchtitan`, `vllm`. Dimensions of degree 1 may be left out.
    ///
    /// # Errors
    /// A word that is no dimension or is there twice; a dimension that is missing.
    pub fn with_order(mut self, order: &str) -> Result<Self, Error> {
        self.order = layout::order(order, |dimension| self.degree(dimension))?;
        Ok(self)
    }

    fn checked(self) -> Result<Self, Error> {
        if let Some((dimension, _)) = Dimension::ALL.iter().zip(self.degrees).find(|(_, degree)| *degree == 0) {
            return Err(bad(format!("{}=0", dimension.letters()), DEGREES));
        }
        let [expert, stage] = [self.degree(Dimension::Expert), self.expert_stage()];
        if stage % expert != 0 {
            return Err(bad(format!("ep={expert}"), EXPERTS));
        }
        Ok(self)
    }

    /// Among how many ranks of a stage the experts of one tensor part, or of all, can be spread; saturates.
    fn expert_stage(&self) -> usize {
        let [tensor, _, data, sequence, _] = self.degrees;
        data.saturating_mul(sequence).saturating_mul(if self.whole_experts { tensor } else { 1 })
    }

    /// The same job with so many bytes per rank and step in one dimension: the size of what a rank all-reduces in its tensor
    /// group, or as gradients; of the activations that it hands to the next stage, and as much of gradients back; of its own keys
    /// and values that go round a ring; of all that it hands to all-to-alls. With 0 the dimension has no edges.
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

    /// Among how many devices the job is spread in this dimension.
    #[must_use]
    pub fn degree(&self, dimension: Dimension) -> usize {
        let expert = self.degrees[Dimension::Expert as usize];
        let same_experts = || if expert > 1 { self.expert_stage() / expert } else { 1 };
        self.degrees.get(dimension as usize).copied().unwrap_or_else(same_experts)
    }

    /// The dimensions of which something is said: tensor, pipeline and data, and others of a degree above 1 or bytes of their own.
    pub fn dimensions(&self) -> impl Iterator<Item = Dimension> {
        let job = *self;
        let is_said = move |own: Dimension| job.degree(own) > 1 || job.bytes(own) != Self::BYTES;
        Dimension::ALL.into_iter().enumerate().filter(move |&(i, own)| i < 3 || is_said(own)).map(|(_, own)| own)
    }

    /// Bytes per rank and step; see [`Parallelism::with_bytes`].
    #[must_use]
    pub fn bytes(&self, dimension: Dimension) -> f64 {
        self.bytes[dimension as usize]
    }

    /// How many devices it needs: the product of its degrees but for the experts'; saturates.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.degrees[..4].iter().fold(1, |product, &degree| product.saturating_mul(degree))
    }

    /// Whether every rank of a group sends to every other in this dimension: experts, and sequences shared by all-to-all.
    #[must_use]
    pub fn is_all_to_all(&self, dimension: Dimension) -> bool {
        dimension == Dimension::Expert || dimension == Dimension::Sequence && self.ulysses
    }

    /// How many ranks talk to one another in this dimension: its degree, but gradients are all-reduced among copies *and* the
    /// devices that share a sequence, as these have the same weights.
    #[must_use]
    pub fn group_size(&self, dimension: Dimension) -> usize {
        match dimension {
            Dimension::Data => self.degree(dimension).saturating_mul(self.degree(Dimension::Sequence)),
            _ => self.degree(dimension),
        }
    }

    /// What each edge of a dimension carries per direction and step, bytes, in groups of n. A ring all-reduce sends 2 (n - 1) / n
    /// times what is reduced along each edge of the ring, in the ring's direction (Patarasuk and Yuan, *Bandwidth optimal
    /// all-reduce algorithms for clusters of workstations*, 2009). Between stages activations go one way, gradients the other.
    /// Ring attention hands each rank's part on n - 1 times (Liu et al., *Ring Attention with Blockwise Transformers*, 2023). In an
    /// all-to-all each pair carries a part of n, either way.
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

    /// The pairs of ranks that talk in a dimension: a ring for each group that all-reduces (of two: two edges, both over
    /// the one link, as in [`Pattern::ring`]) or shares sequences, a chain for each pipeline, every pair of a group that sends all
    /// to all. None if groups are of one, nothing is sent, or the job has more than [`MAX_DEVICES`](crate::MAX_DEVICES) ranks.
    pub(crate) fn edges(&self, dimension: Dimension) -> Vec<(u16, u16)> {
        if self.group_size(dimension) == 1 || self.traffic(dimension) == 0.0 {
            return Vec::new();
        }
        let (all, chain) = (self.is_all_to_all(dimension), dimension == Dimension::Pipeline);
        let edges = |group: Vec<u16>| -> Vec<(u16, u16)> {
            let pairs = group.windows(2).filter_map(|pair| Some((*pair.first()?, *pair.last()?)));
            if all {
                group.iter().enumerate().flat_map(|(i, &a)| group[i + 1..].iter().map(move |&b| (a, b))).collect()
            } else if chain {
                pairs.collect()
            } else {
                pairs.chain(group.last().copied().zip(group.first().copied())).collect()
            }
        };
        self.groups(dimension).into_iter().flat_map(edges).collect()
    }

    /// Who talks to whom: the edges of the tensor groups, then of the pipelines, then of the data groups and so on as in
    /// [`Dimension::ALL`], each with its [traffic](Parallelism::traffic). A job of more than [`MAX_DEVICES`](crate::MAX_DEVICES)
    /// ranks fits no machine; its pattern has no edges.
    #[must_use]
    pub fn pattern(&self) -> Pattern {
        let of = |dimension: Dimension| {
            let traffic = self.traffic(dimension);
            self.edges(dimension).into_iter().map(move |(a, b)| Edge { a: a.min(b), b: a.max(b), traffic })
        };
        Pattern::new(self.ranks(), Dimension::ALL.into_iter().flat_map(of).collect())
    }
}

const DEGREES: &str = "tp=T,pp=P,dp=D, sp=S or ulysses=S, ep=E and etp=1, order=tp-cp-ep-dp-pp, each once and degrees whole \
                       numbers of at least 1, such as tp=4,pp=2,dp=1";
const EXPERTS: &str = "experts among a number of devices that divides sp x dp, or with etp=1 tp x sp x dp";
const BYTES: &str =
    "tp=T,pp=P,dp=D, sp=S, ep=E, edp=F, each once and a number of bytes from 0 to 1e18, such as tp=2e9,pp=1e8";

fn bad(word: String, expected: &'static str) -> Error {
    ErrorKind::BadParallelism { word, expected }.into()
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
        assert_eq!(Dimension::ALL.map(|dimension| told.bytes(dimension)), [2e9, 1e9, 5e8, 1e9, 1e9, 1e9]);
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
