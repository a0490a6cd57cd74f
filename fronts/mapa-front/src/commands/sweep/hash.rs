//! Hashes of what a cell's numbers depend on.

use std::fmt;
use std::hash::Hasher;

use fnv::FnvHasher;
use mapa_sim::Workload;

/// An FNV-1a hash of 64 bits, which is the same on every platform and in every release.
pub(super) struct Hash(FnvHasher);

impl Hash {
    pub(super) fn new(of: &str) -> Self {
        let mut hash = Self(FnvHasher::default());
        hash.text(of);
        hash
    }

    pub(super) fn number(&mut self, number: u64) {
        self.0.write(&number.to_le_bytes());
    }

    pub(super) fn text(&mut self, text: &str) {
        // The length comes first, or `ab`, `c` and `a`, `bc` would be one.
        self.number(text.len() as u64);
        self.0.write(text.as_bytes());
    }

    /// Adds all jobs of a workload. Their debug form has every field, including future ones.
    pub(super) fn jobs(&mut self, workload: &Workload) {
        // Writing to a hash cannot fail.
        let _ = fmt::write(self, format_args!("{:?}", workload.jobs));
    }

    pub(super) fn finish(&self) -> u64 {
        self.0.finish()
    }
}

impl fmt::Write for Hash {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}
