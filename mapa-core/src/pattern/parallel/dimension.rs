//! The dimensions of training jobs, and the orders in which frameworks number ranks by them.

use std::fmt;

use crate::error::{Error, ErrorKind};

/// A dimension along which a training job is spread over devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dimension {
    /// `tp`: the devices of a group share each layer and all-reduce its results.
    Tensor,
    /// `pp`: stages have consecutive layers and send activations to the next stage, gradients to
    /// the one before.
    Pipeline,
    /// `dp`: copies of the model all-reduce their gradients, and so do the devices that share a
    /// sequence.
    Data,
    /// `sp`, or `cp` (context parallel): the devices of a group share each sequence and exchange
    /// keys and values.
    Sequence,
    /// `ep`: the devices of a group have different experts of each layer and send each other
    /// tokens, all to all.
    Expert,
    /// `edp`: the devices that have the same experts all-reduce their gradients. Its degree follows
    /// from the others.
    ExpertData,
}

impl Dimension {
    /// The number of dimensions.
    pub const COUNT: usize = 6;

    /// All dimensions, in the order in which a job is written.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Tensor,
        Self::Pipeline,
        Self::Data,
        Self::Sequence,
        Self::Expert,
        Self::ExpertData,
    ];

    /// The letters of a dimension in a job: `tp`, `pp`, `dp`, `sp`, `ep`, `edp`.
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

/// Prints `tensor`, `pipeline`, `data`, `sequence`, `expert`, `expert-data`.
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

/// Megatron-LM's order.
pub(super) const ORDER: [Dimension; 5] = [
    Dimension::Tensor,
    Dimension::Sequence,
    Dimension::Expert,
    Dimension::Data,
    Dimension::Pipeline,
];

/// The order of vLLM, and of Megatron-LM with `--use-tp-pp-dp-mapping`.
const DATA_LAST: [Dimension; 5] = [
    Dimension::Tensor,
    Dimension::Sequence,
    Dimension::Expert,
    Dimension::Pipeline,
    Dimension::Data,
];

const FORM: &str = "order=tp-cp-ep-dp-pp, fastest first, each once and none missing whose degree is above 1; \
    or order=megatron, deepspeed, torchtitan or vllm";

/// The dimension that a word of an order names.
pub(super) fn named(word: &str) -> Option<Dimension> {
    let is = |name: &str| word.eq_ignore_ascii_case(name);
    let known = ORDER.into_iter().find(|dimension| is(dimension.letters()));
    known.or(Some(Dimension::Sequence).filter(|_| is("cp")))
}

/// The order that a text gives. As in Megatron-LM, dimensions that the text leaves out are
/// slowest.
pub(super) fn order(
    text: &str,
    degree: impl Fn(Dimension) -> usize,
) -> Result<[Dimension; 5], Error> {
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

/// The error for a word of a job that is not as expected.
pub(super) fn bad(word: String, expected: &'static str) -> Error {
    ErrorKind::BadParallelism { word, expected }.into()
}
