//! Which ranks are a group: ranks as numbers whose digits are the dimensions.
//!
//! Megatron-LM's `RankGenerator` has two numberings of the same ranks, one in which sequences are shared and one in which experts
//! are, by one order (`generate_masked_orthogonal_rank_groups`). It demands that both agree on stages. Here the second numbers
//! the ranks of each stage by itself: the same where they agree, and vLLM's groups, whose experts are spread over all ranks of a
//! stage, where they do not.

use std::collections::BTreeMap;

use super::{Dimension, Parallelism, bad};
use crate::error::Error;
use crate::topology::MAX_DEVICES;

/// Megatron-LM's.
pub(super) const ORDER: [Dimension; 5] =
    [Dimension::Tensor, Dimension::Sequence, Dimension::Expert, Dimension::Data, Dimension::Pipeline];

/// vLLM's; and Megatron-LM's with `--use-tp-pp-dp-mapping`.
const DATA_LAST: [Dimension; 5] =
    [Dimension::Tensor, Dimension::Sequence, Dimension::Expert, Dimension::Pipeline, Dimension::Data];

const FORM: &str = "order=tp-cp-ep-dp-pp, fastest first, each once and none missing whose degree is above 1; or order=megatron, \
                    deepspeed, torchtitan or vllm";

/// The dimension of a word of an order.
pub(super) fn named(word: &str) -> Option<Dimension> {
    let is = |name: &str| word.eq_ignore_ascii_case(name);
    let known = ORDER.into_iter().find(|dimension| is(dimension.letters()));
    known.or(Some(Dimension::Sequence).filter(|_| is("cp")))
}

/// The order that a text tells. As in Megatron-LM, what it leaves out is slowest.
pub(super) fn order(text: &str, degree: impl Fn(Dimension) -> usize) -> Result<[Dimension; 5], Error> {
    let wrong = || bad(format!("order={text}"), FORM);
    match text.to_ascii_lowercase().as_str() {
        "megatron" | "deepspeed" | "torchtitan" => return Ok(ORDER),
        "vllm" => return Ok(DATA_LAST),
        _ => {}
    }
    let mut order: Vec<Dimension> = Vec::new();
    for word in text.split('-') {
        let new = named(word.trim()).filter(|dimension| !order.contains(dimension));
        order.push(new.ok_or_else(wrong)?);
    }
    for dimension in ORDER {
        if !order.contains(&dimension) {
            if degree(dimension) > 1 {
                return Err(wrong());
            }
            order.push(dimension);
        }
    }
    order.try_into().map_err(|_| wrong())
}

/// A number of mixed radix: the dimensions and degrees of its digits, the fastest first.
struct Grid(Vec<(Dimension, usize)>);

impl Grid {
    /// The number with these digits put to 0: equal for the ranks of one group.
    fn without(&self, number: usize, dimensions: &[Dimension]) -> usize {
        let (mut rest, mut stride, mut left) = (number, 1, number);
        for &(dimension, degree) in &self.0 {
            if dimensions.contains(&dimension) {
                left -= rest % degree * stride;
            }
            (rest, stride) = (rest / degree, stride * degree);
        }
        left
    }
}

impl Parallelism {
    /// The ranks that talk to one another in a dimension, ascending; every rank is in one group. Gradients are all-reduced by
    /// copies and by the devices that share a sequence; see [`Parallelism::group_size`]. None for a job of more than
    /// [`MAX_DEVICES`] ranks. O(R log R) for R ranks.
    #[must_use]
    pub fn groups(&self, dimension: Dimension) -> Vec<Vec<u16>> {
        let mut groups: BTreeMap<[usize; 2], Vec<u16>> = BTreeMap::new();
        let ranks = if self.ranks() > MAX_DEVICES { 0 } else { self.ranks() };
        let of_experts = matches!(dimension, Dimension::Expert | Dimension::ExpertData);
        let (grid, experts) = (self.grid(), self.expert_grid());
        let with_sequence = [Dimension::Data, Dimension::Sequence];
        let own = if dimension == Dimension::Data { &with_sequence[..] } else { &[dimension] };
        for rank in 0..ranks {
            let key = if of_experts && self.degree(Dimension::Expert) > 1 {
                let [stage, place] = self.stage(rank);
                [stage, experts.without(place, own)]
            } else {
                [0, grid.without(rank, own)]
            };
            groups.entry(key).or_default().push(rank as u16);
        }
        groups.into_values().collect()
    }

    /// Digits of ranks.
    fn grid(&self) -> Grid {
        let with_ranks = self.order.into_iter().filter(|dimension| *dimension != Dimension::Expert);
        Grid(with_ranks.map(|dimension| (dimension, self.degree(dimension))).collect())
    }

    /// Digits of a rank's place in its stage, with experts.
    fn expert_grid(&self) -> Grid {
        let digit = |dimension: Dimension| match dimension {
            Dimension::Tensor => Some((dimension, if self.whole_experts { 1 } else { self.degree(dimension) })),
            Dimension::Expert => Some((dimension, self.degree(dimension))),
            Dimension::Data => Some((Dimension::ExpertData, self.degree(Dimension::ExpertData))),
            _ => None,
        };
        Grid(self.order.into_iter().filter_map(digit).collect())
    }

    /// The stage of a rank, and its place among the ranks there.
    fn stage(&self, rank: usize) -> [usize; 2] {
        let faster = self.order.into_iter().take_while(|dimension| *dimension != Dimension::Pipeline);
        let stride: usize = faster.filter(|own| *own != Dimension::Expert).map(|own| self.degree(own)).product();
        let stages = self.degree(Dimension::Pipeline);
        [rank / stride % stages, rank % stride + rank / stride / stages * stride]
    }

    /// As much of the job as so many devices have room for: whole blocks of its slowest dimensions, down to one tensor group.
    pub(crate) fn part(&self, devices: usize) -> Option<Self> {
        let mut part = *self;
        for dimension in self.order.into_iter().rev().filter(|dimension| *dimension != Dimension::Expert) {
            let degree = part.degree(dimension);
            let block = part.ranks() / degree;
            let room = (devices / block).min(degree);
            if room == degree {
                return Some(part);
            }
            if dimension != Dimension::Pipeline {
                // Groups that are cut, and experts with them, send nothing.
                part.degrees[Dimension::Expert as usize] = 1;
                part.bytes[dimension as usize] = 0.0;
            }
            part.degrees[dimension as usize] = room.max(1);
            if room > 0 {
                return Some(part).filter(|_| dimension != Dimension::Tensor);
            }
        }
        None
    }
}
