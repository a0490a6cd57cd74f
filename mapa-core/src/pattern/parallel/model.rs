//! The bytes that a training step sends, computed from the shape of a transformer.
//!
//! The formulas are those of Narayanan et al. (SC 2021), section 3. For sequences and experts they
//! count what ring attention, DeepSpeed-Ulysses (Jacobs et al. 2023, section 3) and
//! mixture-of-experts layers send. A rank has l / p layers, and of each micro-batch b s / S tokens
//! of h numbers each.

use std::str::FromStr;

use super::Parallelism;
use super::dimension::{Dimension, bad};
use crate::error::{Error, ErrorKind};
use crate::settings::Settings;

/// The parts of the shape of a transformer and its batches that decide how many bytes are sent.
///
/// # Examples
///
/// ```
/// use mapa_core::{Dimension, ModelShape, Parallelism};
///
/// let model: ModelShape = "layers=32,hidden=4096,sequence=2048,micro-batch=1,micro-batches=8".parse()?;
/// let job = "tp=4,pp=2".parse::<Parallelism>()?.with_bytes_of_model(&model)?;
/// // Eight micro-batches of 2048 x 4096 numbers of two bytes between stages; four times that in each
/// // of the 16 layers of a stage.
/// let activations = 8.0 * 2048.0 * 4096.0 * 2.0;
/// assert_eq!(job.bytes(Dimension::Pipeline), activations);
/// assert_eq!(job.bytes(Dimension::Tensor), 4.0 * 16.0 * activations);
/// # Ok::<(), mapa_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ModelShape {
    /// `layers`: l, transformer layers of the whole model.
    pub layers: f64,
    /// `hidden`: h, the numbers per token between layers.
    pub hidden: f64,
    /// `sequence`: s, the tokens of a sequence.
    pub sequence: f64,
    /// `micro-batch`: b, the sequences of a micro-batch; 1 by default.
    pub micro_batch: f64,
    /// `micro-batches`: m, the micro-batches that go through each pipeline in a step; 1 by
    /// default.
    pub micro_batches: f64,
    /// `parameters`: the parameters of the whole model without experts. 12 l h² by default: 4 h²
    /// for attention and 8 h² for a feed-forward network in each layer.
    pub parameters: f64,
    /// `expert-parameters`: the parameters of all experts together; 0 by default.
    pub expert_parameters: f64,
    /// `top-k`: k, the number of experts to which each token goes; 1 by default.
    pub top_k: f64,
    /// `bytes`: the bytes of a number, also of a gradient; 2 by default.
    pub bytes: f64,
}

const MODEL: &str = "layers=L,hidden=H,sequence=S and also \
    micro-batch=B,micro-batches=M,parameters=P,expert-parameters=Q,top-k=K,bytes=2, each \
    once and a number above 0";

impl FromStr for ModelShape {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        const NAMES: [&str; 9] = [
            "layers",
            "hidden",
            "sequence",
            "micro-batch",
            "micro-batches",
            "parameters",
            "expert-parameters",
            "top-k",
            "bytes",
        ];
        let settings = Settings::read(text.split(','), MODEL, |key: &str| {
            NAMES
                .iter()
                .position(|candidate| candidate.eq_ignore_ascii_case(key))
        });
        let settings = settings.map_err(ErrorKind::BadParallelSetting)?;
        let mut given: [Option<f64>; 9] = [None; 9];
        for (&at, setting) in settings.iter() {
            let value = setting.positive(MODEL);
            given[at] = Some(value.map_err(ErrorKind::BadParallelSetting)?);
        }
        let [layers, hidden, sequence, rest @ ..] = given;
        let needed =
            |value: Option<f64>, name: &str| value.ok_or_else(|| bad(format!("{name}=?"), MODEL));
        let (layers, hidden) = (needed(layers, "layers")?, needed(hidden, "hidden")?);
        let [
            micro_batch,
            micro_batches,
            parameters,
            expert_parameters,
            top_k,
            bytes,
        ] = rest;
        Ok(Self {
            layers,
            hidden,
            sequence: needed(sequence, "sequence")?,
            micro_batch: micro_batch.unwrap_or(1.0),
            micro_batches: micro_batches.unwrap_or(1.0),
            parameters: parameters.unwrap_or(12.0 * layers * hidden * hidden),
            expert_parameters: expert_parameters.unwrap_or(0.0),
            top_k: top_k.unwrap_or(1.0),
            bytes: bytes.unwrap_or(2.0),
        })
    }
}

impl Parallelism {
    /// The job with the bytes that follow from a model's shape. Let A be the bytes of a rank's
    /// activations in a step: m b (s / S) h numbers of [`ModelShape::bytes`] each. The degrees are
    /// t (tensor), p (pipeline), S (sequence) and E (expert). A rank has l / p layers.
    ///
    /// - Tensor: 4 A per layer, since each layer all-reduces twice forward and twice backward.
    /// - Pipeline: A, since every rank of a tensor group sends all of it (without Megatron-LM's
    ///   scatter/gather optimisation).
    /// - Data: the gradients of a rank's parameters, 1 / (t p) of all.
    /// - Sequence by ring: the keys and values of the tensor part's heads, 2 A / t per layer, go
    ///   round forward, and once more backward with their gradients: 6 A / t. By all-to-all:
    ///   queries, keys, values and the result, forward and backward: 8 A / t.
    /// - Experts: tokens go to k experts and come back, forward and backward: 4 k A per layer, if
    ///   every layer has experts. Of the ranks of a tensor group that share whole experts, each
    ///   sends its part of the tokens.
    /// - Gradients of experts: 1 / (E t p) of their parameters; 1 / (E p) if experts are whole.
    ///
    /// # Errors
    /// More bytes than [`Parallelism::with_bytes`] accepts.
    pub fn with_bytes_of_model(self, model: &ModelShape) -> Result<Self, Error> {
        let degree = |dimension: Dimension| self.degree(dimension) as f64;
        let (tensor, stages, experts) = (
            degree(Dimension::Tensor),
            degree(Dimension::Pipeline),
            degree(Dimension::Expert),
        );
        let tokens =
            model.micro_batches * model.micro_batch * model.sequence / degree(Dimension::Sequence);
        let activations = tokens * model.hidden * model.bytes;
        let layers = model.layers / stages;
        let attention = if self.is_all_to_all(Dimension::Sequence) {
            8.0
        } else {
            6.0
        };
        let [tokens_of, experts_of] = if self.whole_experts {
            [tensor, 1.0]
        } else {
            [1.0, tensor]
        };
        let gradients = |parameters: f64, ranks: f64| parameters / (ranks * stages) * model.bytes;
        let bytes = [
            (Dimension::Tensor, 4.0 * layers * activations),
            (Dimension::Pipeline, activations),
            (Dimension::Data, gradients(model.parameters, tensor)),
            (
                Dimension::Sequence,
                attention * layers * activations / tensor,
            ),
            (
                Dimension::Expert,
                4.0 * model.top_k * layers * activations / tokens_of,
            ),
            (
                Dimension::ExpertData,
                gradients(model.expert_parameters, experts * experts_of),
            ),
        ];
        bytes.into_iter().try_fold(self, |job, (dimension, bytes)| {
            // Dimensions that the job does not have keep their bytes.
            if job.group_size(dimension) > 1 {
                job.with_bytes(dimension, bytes)
            } else {
                Ok(job)
            }
        })
    }
}
