//! The report: a JSON line an event or objection.

use serde::{Deserialize, Serialize};

/// The environment variable that names the report.
pub const REPORT: &str = "FAKE_CUDART_REPORT";

/// A line of the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum ReportLine {
    /// A task begins.
    Begin {
        /// Number of the begin in the process, from 1.
        task: u64,
        /// Bytes granted.
        bytes: u64,
        /// Warps told; 0 if they are not known.
        warps: u64,
    },
    /// A task gets more.
    Extend {
        /// Number of the begin.
        task: u64,
        /// Bytes more.
        bytes: u64,
        /// Warps told.
        warps: u64,
    },
    /// A task ends.
    End {
        /// Number of the begin.
        task: u64,
        /// Always 0: an end gives back everything.
        bytes: u64,
        /// Always 0.
        warps: u64,
    },
    /// The oracle objects.
    Objection {
        /// What is wrong.
        what: String,
    },
}

/// Reads a line.
///
/// # Errors
/// Names what the line should hold.
pub fn read_line(line: &str) -> Result<ReportLine, String> {
    serde_json::from_str(line).map_err(|e| format!("{e}: expected an event or objection, as JSON"))
}
