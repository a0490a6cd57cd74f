//! How many bytes a step sends, from the shape of a transformer.
//!
//! Narayanan et al. (SC 2021), section 3, and for sequences and experts what ring attention, DeepSpeed-Ulysses (Jacobs et al. 2023,
//! section 3) and mixture-of-experts layers hand on. A rank has l / p layers, and of each micro-batch b s / S tokens of h numbers.

use std::str::FromStr;

use super::{Dimension, Parallelism, bad};
use crate::error::Error;

/// The shape of a transformer and of its batches, as far as they decide what is sent.
///
/// ```
/// use mapa_core::{Dimension, ModelShape, Parallelism};
///
/// let model: ModelShape = "layers=32,hidden=4096,sequence=2048,micro-batch=1,micro-batches=8".parse()?;
/// let job = "tp=4,pp=2".parse::<Parallelism>()?.with_bytes_of_model(&model)?;
/// // Eight micro-batches of 2048 x 4096 numbers of two bytes between stages; four times that in each of a stage's 16 layers.
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
    /// `hidden`: h, numbers of a token between layers.
    pub hidden: f64,
    /// `sequence`: s, tokens of a sequence.
    pub sequence: f64,
    /// `micro-batch`: b, sequences of a micro-batch; 1 unless told.
    pub micro_batch: f64,
    /// `micro-batches`: m, how many go through each pipeline in a step; 1 unless told.
    pub micro_batches: f64,
    /// `parameters`: of the whole model without experts; 12 l h² unless told: attention 4 h² and a feed-forward network 8 h² a layer.
    pub parameters: f64,
    /// `expert-parameters`: of all experts together; 0 unless told.
    pub expert_parameters: f64,
    /// `top-k`: to how many experts each token goes; 1 unless told.
    pub top_k: f64,
    /// `bytes`: of a number, a gradient too; 2 unless told.
    pub bytes: f64,
}

const MODEL: &str = "layers=L,hidden=H,sequence=S and also micro-batch=B,micro-batches=M,parameters=P,expert-parameters=Q,top-k=K,\
                     bytes=2, each once and a number above 0";

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
        let mut told: [Option<f64>; 9] = [None; 9];
        for word in text.split(',').map(str::trim) {
            let wrong = || bad(word.to_owned(), MODEL);
            let (name, value) = word.split_once('=').ok_or_else(wrong)?;
            let at = NAMES.iter().position(|known| known.eq_ignore_ascii_case(name.trim())).ok_or_else(wrong)?;
            let value = value.trim().parse().ok().filter(|value: &f64| value.is_finite() && *value > 0.0);
            if told[at].replace(value.ok_or_else(wrong)?).is_some() {
                return Err(wrong());
            }
        }
        let [layers, hidden, sequence, rest @ ..] = told;
        let needed = |value: Option<f64>, name: &str| value.ok_or_else(|| bad(format!("{name}=?"), MODEL));
        let (layers, hidden) = (needed(layers, "layers")?, needed(hidden, "hidden")?);
        let [micro_batch, micro_batches, parameters, expert_parameters, top_k, bytes] = rest;
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
    /// The same job with the bytes that follow from a model's shape. With the activations A = m b (s / S) h of a step, in bytes, and
    /// l / p layers on a rank:
    ///
    /// - tensor: 4 A a layer, as each layer all-reduces twice forward and twice backward;
    /// - pipeline: A, every rank of a tensor group sending all of it (without Megatron-LM's scatter/gather optimisation);
    /// - data: the gradients of a rank's parameters, 1 / (t p) of all;
    /// - sequence: keys and values of the tensor part's heads, 2 A / t a layer, go round forward, and backward once more with their
    ///   gradients: 6 A / t; with all-to-all queries, keys, values and the result, forward and backward: 8 A / t;
    /// - experts: tokens go to k experts and come back, forward and backward: 4 k A a layer, each layer having experts; of the ranks
    ///   of a tensor group that share whole experts each sends its part of the tokens;
    /// - gradients of experts: 1 / (E t p) of their parameters, 1 / (E p) if experts are whole.
    ///
    /// # Errors
    /// More bytes than [`Parallelism::with_bytes`] takes.
    pub fn with_bytes_of_model(self, model: &ModelShape) -> Result<Self, Error> {
        let degree = |dimension: Dimension| self.degree(dimension) as f64;
        let (tensor, stages, experts) =
            (degree(Dimension::Tensor), degree(Dimension::Pipeline), degree(Dimension::Expert));
        let tokens = model.micro_batches * model.micro_batch * model.sequence / degree(Dimension::Sequence);
        let activations = tokens * model.hidden * model.bytes;
        let layers = model.layers / stages;
        let attention = if self.is_all_to_all(Dimension::Sequence) { 8.0 } else { 6.0 };
        let [tokens_of, experts_of] = if self.whole_experts { [tensor, 1.0] } else { [1.0, tensor] };
        let gradients = |parameters: f64, ranks: f64| parameters / (ranks * stages) * model.bytes;
        let bytes = [
            (Dimension::Tensor, 4.0 * layers * activations),
            (Dimension::Pipeline, activations),
            (Dimension::Data, gradients(model.parameters, tensor)),
            (Dimension::Sequence, attention * layers * activations / tensor),
            (Dimension::Expert, 4.0 * model.top_k * layers * activations / tokens_of),
            (Dimension::ExpertData, gradients(model.expert_parameters, experts * experts_of)),
        ];
        bytes.into_iter().try_fold(self, |job, (dimension, bytes)| {
            // Dimensions that it does not have stay as they are.
            if job.group_size(dimension) > 1 { job.with_bytes(dimension, bytes) } else { Ok(job) }
        })
    }
}
