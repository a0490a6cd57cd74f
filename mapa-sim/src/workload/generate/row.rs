//! Generators of whole workloads by name, beside [`Generator`](super::Generator).

use crate::error::Error;
use crate::workload::Workload;

/// Draws a workload: its words (the name, with settings behind commas) and its seed.
pub type Generate = fn(&str, u64) -> Result<Workload, Error>;

/// A generator that can be named, which draws all properties of its jobs by itself.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct GeneratorRow {
    /// The name.
    pub name: &'static str,
    /// What it draws, in one line.
    pub summary: &'static str,
    /// Draws a workload.
    pub generate: Generate,
}

impl GeneratorRow {
    /// A generator of this name, with one line on what it draws.
    #[must_use]
    pub const fn new(name: &'static str, summary: &'static str, generate: Generate) -> Self {
        Self {
            name,
            summary,
            generate,
        }
    }

    /// The generator among these rows that the words name.
    #[must_use]
    pub fn find<'r>(rows: &'r [Self], words: &str) -> Option<&'r Self> {
        let name = words.split(',').next().unwrap_or_default().trim();
        rows.iter().find(|row| row.name == name)
    }
}
