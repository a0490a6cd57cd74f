//! Scores by name: their unit, and what they mean.

use crate::text::{gbps, seconds};

/// The unit of a score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unit {
    /// GB/s.
    GbPerS,
    /// Seconds.
    Seconds,
    /// A number of things.
    Count,
}

/// A score that policies report.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ScoreRow {
    /// The name, which is its key in answers.
    pub name: &'static str,
    /// The unit of its values.
    pub unit: Unit,
    /// What it means, in one line; empty where its name says it.
    pub meaning: &'static str,
    /// Whether more of it is better.
    pub more_is_better: bool,
    /// Whether one device has such a score. One device has no collective bandwidth: packings score
    /// it as 0, which is not shown.
    pub of_one_device: bool,
    /// Whether it is of the links that the job uses, so that a job without links has none.
    pub of_links: bool,
    /// Whether it serves to choose among placements that are equal otherwise.
    pub decides_ties: bool,
}

/// The scores of the built-in policies, in the order in which explanations list them. Scores that
/// are counts, such as `devices used`, have no row.
pub const SCORES: [ScoreRow; 18] = [
    rate(
        "aggregate_gbps",
        "aggregate_gbps (MAPA, Eq. 1): sum of the bandwidths of the job's links",
    ),
    rate(
        "effective_gbps",
        "effective_gbps (MAPA, Eq. 2): predicted bandwidth of a collective",
    ),
    time(
        "step_seconds",
        "step_seconds: communication time of a step, one phase after another, each as slow as its slowest link",
    ),
    time(
        "edges_seconds",
        "edges_seconds: time of the slowest edge, if all edges send at once",
    ),
    ScoreRow {
        // The score is of the devices that stay free, not of the job's.
        of_links: false,
        ..rate(
            "preserved_gbps",
            "preserved_gbps (MAPA, Eq. 3): sum of link bandwidths between the devices that stay free",
        )
    },
    // Scores without a meaning here are not explained below an answer.
    rate("effective_printed_gbps", ""),
    packing("ring_packing_gbps"),
    packing("tree_packing_gbps"),
    packing("all_to_all_gbps"),
    packing("channels_gbps"),
    // This is no packing, but like packings it is not defined for one device.
    packing("expected_gbps"),
    packing("ring_packing_network_gbps"),
    packing("tree_packing_network_gbps"),
    packing("all_to_all_network_gbps"),
    tie(
        "host_distance",
        "host_distance: levels of the host between the devices, summed over all pairs (PIX 2, PXB 3, PHB 4, NODE 5, SYS 6)",
    ),
    tie(
        "host_distance_left",
        "host_distance_left: the same for the devices that stay free",
    ),
    tie(
        "host_sharing",
        "host_sharing: pairs that stage data in memory below one switch (1e6 each), on one root (1000), in one memory (1)",
    ),
    tie(
        "host_hops",
        "host_hops: edges of the job without a direct link",
    ),
];

const fn rate(name: &'static str, meaning: &'static str) -> ScoreRow {
    ScoreRow {
        name,
        unit: Unit::GbPerS,
        meaning,
        more_is_better: true,
        of_one_device: true,
        of_links: true,
        decides_ties: false,
    }
}

const fn time(name: &'static str, meaning: &'static str) -> ScoreRow {
    ScoreRow {
        unit: Unit::Seconds,
        more_is_better: false,
        ..rate(name, meaning)
    }
}

const fn tie(name: &'static str, meaning: &'static str) -> ScoreRow {
    ScoreRow {
        unit: Unit::Count,
        more_is_better: false,
        decides_ties: true,
        ..rate(name, meaning)
    }
}

const fn packing(name: &'static str) -> ScoreRow {
    ScoreRow {
        of_one_device: false,
        ..rate(name, "")
    }
}

/// The row of a score; none for counts, and for scores of a program's own.
#[must_use]
pub fn score_row(name: &str) -> Option<&'static ScoreRow> {
    SCORES.iter().find(|row| row.name == name)
}

/// The value of a score, in its unit.
#[must_use]
pub fn score_text(name: &str, value: f64) -> String {
    match score_row(name).map(|row| row.unit) {
        Some(Unit::Seconds) => seconds(value),
        // A policy of a program may have scores that are not in the table. They are printed with two decimals at most.
        _ => gbps(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_is_shown_in_its_unit() {
        assert_eq!(
            [
                score_text("step_seconds", 0.0775),
                score_text("aggregate_gbps", 0.0775)
            ],
            ["0.0775", "0.08"]
        );
        assert_eq!(score_text("devices used", 3.0), "3");
    }

    #[test]
    fn no_score_has_two_rows() {
        for (at, row) in SCORES.iter().enumerate() {
            assert!(SCORES[..at].iter().all(|other| other.name != row.name));
        }
    }
}
