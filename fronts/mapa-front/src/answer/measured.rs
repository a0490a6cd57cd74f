//! The answer of `measured add`.

use serde::Serialize;

/// Rows that were made of the output of bandwidth tests.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Added {
    /// The rows, in the order of the outputs.
    pub rows: Vec<AddedRow>,
    /// Measurements of which no row was made, each with the reason.
    pub left_out: Vec<String>,
    /// Rows that the file has already, and measurements above what links carry at nominal rate.
    pub notes: Vec<String>,
    /// The file that has the rows now; null if none was named.
    pub into: Option<String>,
    /// The file of the shares that were fitted to them; null if none was named.
    pub fit: Option<String>,
}

/// A row, with what was expected of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AddedRow {
    /// The name of the row.
    pub id: String,
    /// The operation, in the words of rows.
    pub operation: String,
    /// The devices, by their numbers.
    pub devices: Vec<u32>,
    /// The measured bandwidth, GB/s.
    pub measured_gbps: f64,
    /// What the shipped shares let expect, GB/s; null where the generation of a link is not known.
    pub expected_gbps: Option<f64>,
    /// Nine of ten measurements are above this, GB/s.
    pub low_gbps: Option<f64>,
    /// Nine of ten measurements are below this, GB/s.
    pub high_gbps: Option<f64>,
    /// What the shares that were fitted to this machine let expect, GB/s.
    pub fitted_gbps: Option<f64>,
}
