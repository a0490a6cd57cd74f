//! What was measured.

use mapa_core::Census;

/// One placement and the bandwidth that was measured on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Where it comes from, for messages: a row, a line of a file.
    pub label: String,
    /// How many of the job's edges lie on links of each tier.
    pub links: Census,
    /// How many devices.
    pub ranks: usize,
    /// Measured, GB/s: bus bandwidth as nccl-tests print it.
    pub gbps: f64,
}
