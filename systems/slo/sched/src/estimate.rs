//! The 99th percentile of a window: exact, or as a digest would tell it.

use sketches_ddsketch::{Config, DDSketch};
use tdigest::TDigest;

use super::settings::Estimator;
use super::window::Window;

/// The 99th percentile of a window, ns; none for an empty one.
///
/// Digests are made anew from the latencies of the window, since neither kind forgets.
#[must_use]
pub fn percentile_99(window: &Window, how: Estimator) -> Option<u64> {
    let exact = window.quantile(990)?;
    Some(match how {
        Estimator::Exact => exact,
        Estimator::TDigest => {
            let values: Vec<f64> = window.latencies().map(|own| own as f64).collect();
            let digest = TDigest::new_with_size(100).merge_unsorted(values);
            let told = digest.estimate_quantile(0.99);
            told.map_or(exact, |own| own.max(0.0).round() as u64)
        }
        Estimator::DdSketch => {
            let mut sketch = DDSketch::new(Config::new(0.01, 2048, 1.0));
            for ns in window.latencies() {
                sketch.add(ns as f64);
            }
            let told = sketch.quantile(0.99).ok().flatten();
            told.map_or(exact, |own| own.max(0.0).round() as u64)
        }
    })
}
