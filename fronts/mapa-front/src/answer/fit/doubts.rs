//! Reasons to doubt a fitted model, and measurements that it lacks.

use std::collections::{BTreeMap, BTreeSet};

use mapa_core::DeviceId;
use mapa_regress::{Fit, Measurement, Sample, Samples};

/// Runs whose largest message is smaller measure latency (the paper's Fig. 2a: links differ above
/// 1e5 bytes).
const LARGE: u64 = 1_000_000;

/// The largest difference between repetitions, relative to the lower. A larger one is noted.
const REPEATS: f64 = 0.1;

/// Reasons to doubt a model. Repeated measurements are compared if all are of `one_operation`.
pub fn doubts(
    measurements: &[Measurement],
    found: &Samples,
    fit: &Fit,
    one_operation: bool,
) -> Vec<String> {
    let mut doubts = Vec::new();
    let small = measurements
        .iter()
        .find(|run| run.largest_bytes().is_some_and(|bytes| bytes < LARGE));
    if let Some(run) = small {
        doubts.push(format!(
            "{}: its largest message is below 1 MB, so it measures latency rather than bandwidth",
            run.label
        ));
    }
    if found.by_number {
        doubts.push(
            "devices are matched by number, as the machine's description has no PCI addresses: numbers count within \
             CUDA_VISIBLE_DEVICES"
                .to_owned(),
        );
    }
    // Runs of several collectives differ by nature, and contradict nothing.
    if one_operation {
        doubts.extend(contradictions(found));
    }
    let design = fit.design();
    if design.rank() < design.columns() {
        doubts.push(format!(
            "the samples determine {} of {} coefficients: the others are of least norm, or chosen by the ridge or the \
             bounds",
            design.rank(),
            design.columns()
        ));
    }
    doubts.extend(too_few(found, fit));
    doubts
}

/// The warning that a model has too few samples to be trusted: fewer than two distinct link counts
/// for each of its terms.
fn too_few(found: &Samples, fit: &Fit) -> Option<String> {
    // Repetitions of the same links say nothing more about the terms, so distinct counts are compared and not
    // samples.
    let links = found.samples.iter().map(|sample| sample.links);
    let distinct = links.collect::<BTreeSet<_>>().len();
    let (terms, samples) = (fit.design().columns(), found.samples.len());
    (distinct < 2 * terms).then(|| {
        format!(
            "do not trust this model: {samples} samples have {distinct} distinct link counts for {terms} terms; expected at least {}",
            2 * terms
        )
    })
}

/// Sets of devices whose repeated measurements differ: the lowest and the highest of each.
fn contradictions(found: &Samples) -> Vec<String> {
    let mut sets: BTreeMap<BTreeSet<DeviceId>, Vec<&Sample>> = BTreeMap::new();
    // Repetitions are known by their set of devices, in whatever order these were listed.
    for (sample, ring) in found.samples.iter().zip(&found.rings) {
        sets.entry(ring.iter().copied().collect())
            .or_default()
            .push(sample);
    }
    let mut notes = Vec::new();
    for (set, mut samples) in sets {
        samples.sort_by(|a, b| a.gbps.total_cmp(&b.gbps));
        let (Some(low), Some(high)) = (samples.first(), samples.last()) else {
            continue;
        };
        if high.gbps > (1.0 + REPEATS) * low.gbps {
            let ids: Vec<String> = set.iter().map(ToString::to_string).collect();
            notes.push(format!(
                "devices {}: {} measured {:.2} GB/s, {} {:.2}",
                ids.join(","),
                high.label,
                high.gbps,
                low.label,
                low.gbps
            ));
        }
    }
    notes
}

/// Each reason for which measurements were left out, with the first of these.
pub fn left_out(found: &Samples) -> Vec<String> {
    // Equal reasons are listed once, with their first measurement.
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (label, why) in &found.left_out {
        reasons.entry(why).or_default().push(label);
    }
    let mut lines = Vec::new();
    for (why, labels) in reasons {
        let others = if labels.len() > 1 {
            format!(" and {} more", labels.len() - 1)
        } else {
            String::new()
        };
        lines.push(format!("{}{others}: {why}", labels[0]));
    }
    lines
}

/// The ring of each row of a fit. Rows are the samples in another order; equal samples keep their
/// order, so each row takes the first equal sample that is left.
///
/// # Complexity
/// O(n²) for n samples.
pub fn rings(fit: &Fit, found: &Samples) -> Vec<Vec<DeviceId>> {
    let mut left: Vec<usize> = (0..found.samples.len()).collect();
    let mut rings = Vec::new();
    for row in fit.rows() {
        let place = left.iter().position(|&at| found.samples[at] == row.sample);
        rings.push(place.map_or_else(Vec::new, |place| found.rings[left.remove(place)].clone()));
    }
    rings
}
