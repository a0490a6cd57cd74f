//! Samples: measured placements.

use mapa_core::{Census, Tiers};

use crate::error::{Error, ErrorKind};

/// The largest valid measurement, GB/s. No machine is that fast, so a larger one has a wrong unit.
const MOST_GBPS: f64 = 1e9;

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

impl Sample {
    /// Checks that the sample can have been measured. A connected pattern of r ranks has at least
    /// `r - 1` edges and at most `r (r - 1)`, each pair in both directions.
    pub(crate) fn check(&self, tiers: &Tiers) -> Result<(), Error> {
        let wrong = |what: String| {
            Err(ErrorKind::BadSample {
                label: self.label.clone(),
                what,
            }
            .into())
        };
        let (ranks, edges) = (self.ranks as u64, self.links.edges());
        if !(0.0..=MOST_GBPS).contains(&self.gbps) {
            return wrong(format!(
                "{} GB/s: expected a number from 0 to 1e9",
                self.gbps
            ));
        }
        if ranks < 2 {
            return wrong(format!(
                "{ranks} ranks: expected at least two, as one device sends nothing"
            ));
        }
        if edges < ranks - 1 || edges > ranks.saturating_mul(ranks - 1) {
            return wrong(format!(
                "{edges} links among {ranks} ranks: expected {} to {}",
                ranks - 1,
                ranks.saturating_mul(ranks - 1)
            ));
        }
        if self.links.counts()[tiers.len()..]
            .iter()
            .any(|&count| count > 0)
        {
            return wrong(format!(
                "links of more than {} tiers: expected counts by {}",
                tiers.len(),
                tiers.names().join(", ")
            ));
        }
        Ok(())
    }
}

/// The samples in an order that does not depend on theirs: by links, ranks, bandwidth, label.
pub(crate) fn sorted(samples: &[Sample]) -> Vec<Sample> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(|a, b| {
        let by_links = (a.links, a.ranks).cmp(&(b.links, b.ranks));
        by_links
            .then(a.gbps.total_cmp(&b.gbps))
            .then_with(|| a.label.cmp(&b.label))
    });
    sorted
}
