//! The groups of ranks. A rank is a number of mixed radix whose digits are its positions in the
//! dimensions.
//!
//! Megatron-LM's `RankGenerator` numbers the same ranks in two ways by one order, once with shared
//! sequences and once with experts (`generate_masked_orthogonal_rank_groups`). It requires that
//! both agree on stages. Here the second numbering covers the ranks of each stage separately. Where
//! the two agree, the groups are Megatron-LM's. Where they do not, they are vLLM's, whose experts
//! are spread over all ranks of a stage.

use std::collections::BTreeMap;

use super::Parallelism;
use super::dimension::Dimension;
use crate::topology::MAX_DEVICES;

/// A number of mixed radix: the dimensions and degrees of its digits, the fastest first.
struct MixedRadix(Vec<(Dimension, usize)>);

impl MixedRadix {
    /// The number with the digits of these dimensions set to 0: equal for the ranks of one group.
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
    /// The groups of ranks that communicate with one another in a dimension, ascending; every rank
    /// is in one group. Gradients are all-reduced by copies and by the devices that share a
    /// sequence; see [`Parallelism::group_size`]. There are no groups for a job of more than
    /// [`MAX_DEVICES`] ranks.
    ///
    /// # Complexity
    ///
    /// O(r log r) for r ranks.
    #[must_use]
    pub fn groups(&self, dimension: Dimension) -> Vec<Vec<u16>> {
        let mut groups: BTreeMap<[usize; 2], Vec<u16>> = BTreeMap::new();
        let ranks = if self.ranks() > MAX_DEVICES {
            0
        } else {
            self.ranks()
        };
        let of_experts = matches!(dimension, Dimension::Expert | Dimension::ExpertData);
        let (grid, experts) = (self.grid(), self.expert_grid());
        let with_sequence = [Dimension::Data, Dimension::Sequence];
        let dimensions = if dimension == Dimension::Data {
            &with_sequence[..]
        } else {
            &[dimension]
        };
        for rank in 0..ranks {
            let key = if of_experts && self.degree(Dimension::Expert) > 1 {
                let [stage, place] = self.stage(rank);
                [stage, experts.without(place, dimensions)]
            } else {
                [0, grid.without(rank, dimensions)]
            };
            groups.entry(key).or_default().push(rank as u16);
        }
        groups.into_values().collect()
    }

    /// The digits of ranks.
    fn grid(&self) -> MixedRadix {
        let with_ranks = self
            .order
            .into_iter()
            .filter(|dimension| *dimension != Dimension::Expert);
        MixedRadix(
            with_ranks
                .map(|dimension| (dimension, self.degree(dimension)))
                .collect(),
        )
    }

    /// The digits of a rank's place in its stage, with experts.
    fn expert_grid(&self) -> MixedRadix {
        let digits = self.order.into_iter().filter_map(|dimension| {
            let own = match dimension {
                Dimension::Tensor | Dimension::Expert => dimension,
                Dimension::Data => Dimension::ExpertData,
                _ => return None,
            };
            // A whole expert is on one device, so it has no tensor parts.
            let is_whole = own == Dimension::Tensor && self.whole_experts;
            Some((own, if is_whole { 1 } else { self.degree(own) }))
        });
        MixedRadix(digits.collect())
    }

    /// The stage of a rank, and its place among the ranks there.
    fn stage(&self, rank: usize) -> [usize; 2] {
        let faster = self
            .order
            .into_iter()
            .take_while(|dimension| *dimension != Dimension::Pipeline);
        let stride: usize = faster
            .filter(|dimension| *dimension != Dimension::Expert)
            .map(|dimension| self.degree(dimension))
            .product();
        let stages = self.degree(Dimension::Pipeline);
        [
            rank / stride % stages,
            rank % stride + rank / stride / stages * stride,
        ]
    }

    /// The largest part of the job that fits on so many devices: whole blocks of its slowest
    /// dimensions, down to one tensor group.
    pub(crate) fn part(&self, devices: usize) -> Option<Self> {
        let mut part = *self;
        for dimension in self
            .order
            .into_iter()
            .rev()
            .filter(|dimension| *dimension != Dimension::Expert)
        {
            let degree = part.degree(dimension);
            let block = part.ranks() / degree;
            let room = (devices / block).min(degree);
            if room == degree {
                return Some(part);
            }
            if dimension != Dimension::Pipeline {
                // Groups of which only a part fits, and experts with them, send nothing.
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
