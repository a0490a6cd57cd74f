//! Exporters: DCGM's, vLLM and Dynamo, over HTTP in the format of Prometheus.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::missing::MissingSignal;
use super::prometheus::{MOST_BYTES, Metric, read_metrics};
use crate::http;

/// What answers at a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exporter {
    /// NVIDIA's dcgm-exporter.
    Dcgm,
    /// A server of vLLM.
    Vllm,
    /// NVIDIA Dynamo's frontend.
    Dynamo,
}

impl Exporter {
    /// The histograms of latencies that are read of it, without `_sum` and `_count`.
    #[must_use]
    pub fn histograms(self) -> Vec<&'static str> {
        let names = names(self).iter();
        names.filter_map(|name| name.strip_suffix("_sum")).collect()
    }
}

/// An exporter and its URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScrapeTarget {
    /// Its kind, which decides what is read of its answer.
    pub exporter: Exporter,
    /// The URL: `http://127.0.0.1:9400/metrics`. `http` only.
    pub url: String,
}

/// What an exporter said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScrapeResult {
    /// The exporter that has answered.
    pub target: ScrapeTarget,
    /// The signals, by name and by what they are of: a UUID for DCGM (with `/` and the number of the GPU instance,
    /// if there is one), the model for the others, empty if it has none.
    pub signals: BTreeMap<String, BTreeMap<String, f64>>,
    /// How old the answer is, ms: an exporter may not have answered since.
    pub age_ms: u64,
}

/// The names that are read of each exporter; the rest of their texts is left out. Histograms give their `_sum` and
/// `_count`, of which the mean of an interval follows.
const NAMES: [(Exporter, &[&str]); 3] = [
    (
        Exporter::Dcgm,
        &[
            "DCGM_FI_PROF_SM_ACTIVE",
            "DCGM_FI_PROF_DRAM_ACTIVE",
            "DCGM_FI_PROF_PCIE_TX_BYTES",
            "DCGM_FI_PROF_PCIE_RX_BYTES",
            "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
            "DCGM_FI_DEV_GPU_UTIL",
            "DCGM_FI_DEV_POWER_USAGE",
            "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
            "DCGM_FI_DEV_PCIE_REPLAY_COUNTER",
            "DCGM_FI_DEV_XID_ERRORS",
        ],
    ),
    (
        Exporter::Vllm,
        &[
            "vllm:num_requests_running",
            "vllm:num_requests_waiting",
            "vllm:kv_cache_usage_perc",
            "vllm:time_to_first_token_seconds_sum",
            "vllm:time_to_first_token_seconds_count",
            "vllm:inter_token_latency_seconds_sum",
            "vllm:inter_token_latency_seconds_count",
        ],
    ),
    (
        Exporter::Dynamo,
        &[
            "dynamo_frontend_queued_requests",
            "dynamo_frontend_inflight_requests",
            "dynamo_frontend_time_to_first_token_seconds_sum",
            "dynamo_frontend_time_to_first_token_seconds_count",
            "dynamo_frontend_inter_token_latency_seconds_sum",
            "dynamo_frontend_inter_token_latency_seconds_count",
        ],
    ),
];

/// The names that are read of an exporter.
fn names(of: Exporter) -> &'static [&'static str] {
    let row = NAMES.iter().find(|(exporter, _)| *exporter == of);
    row.map_or(&[], |(_, names)| names)
}

/// The most things that one signal is kept of.
const MOST_KEYS: usize = 1024;

/// Scrapes a target. The answer has what is missing as well.
pub(crate) fn scrape(
    target: &ScrapeTarget,
    limit: Duration,
) -> (Option<ScrapeResult>, Vec<MissingSignal>) {
    let failed = |why: String| (None, vec![MissingSignal::new(&target.url, why)]);
    let (status, body) = match http::get(&target.url, limit, MOST_BYTES) {
        Ok(answer) => answer,
        Err(why) => return failed(why),
    };
    if !(200..300).contains(&status) {
        return failed(format!("it answers status {status}: expected 200"));
    }
    // The format is UTF-8 by its definition, so other bytes are no metrics of another encoding.
    let Ok(text) = std::str::from_utf8(&body) else {
        return failed("its answer is no text".to_owned());
    };
    match read_metrics(text) {
        Ok(metrics) => {
            let (signals, missing) = signals_of(target, &metrics);
            let scrape = ScrapeResult {
                target: target.clone(),
                signals,
                age_ms: 0,
            };
            (Some(scrape), missing)
        }
        Err(why) => failed(why),
    }
}

/// The signals of an exporter among its metrics, and the names that it does not have. Values that are not finite
/// are left out. Where several series have one key (other labels differ), counts and sums are added.
#[must_use]
pub fn signals_of(
    target: &ScrapeTarget,
    metrics: &[Metric],
) -> (BTreeMap<String, BTreeMap<String, f64>>, Vec<MissingSignal>) {
    let names = names(target.exporter);
    let mut signals: BTreeMap<String, BTreeMap<String, f64>> = BTreeMap::new();
    for metric in metrics {
        // Prometheus writes `NaN` for a quantile without samples, and JSON cannot hold it.
        if !metric.value.is_finite() || !names.contains(&metric.name.as_str()) {
            continue;
        }
        let label = |name: &str| metric.labels.get(name).cloned();
        let key = match target.exporter {
            Exporter::Dcgm => {
                let uuid = label("UUID").or(label("uuid")).unwrap_or_default();
                // DCGM's label for a MIG instance. A whole GPU lacks it, or has it empty.
                let instance = label("GPU_I_ID").filter(|id| !id.is_empty());
                instance.map_or(uuid.clone(), |id| format!("{uuid}/{id}"))
            }
            // An exporter of one model may leave the label out: all its series then have the empty key.
            Exporter::Vllm => label("model_name").unwrap_or_default(),
            Exporter::Dynamo => label("model").unwrap_or_default(),
        };
        let values = signals.entry(metric.name.clone()).or_default();
        // A label that is new in each scrape would otherwise let the daemon's memory grow without bound.
        if values.len() < MOST_KEYS || values.contains_key(&key) {
            *values.entry(key).or_default() += metric.value;
        }
    }
    let missing = names
        .iter()
        .filter(|name| !signals.contains_key(**name))
        .map(|name| {
            MissingSignal::new(
                format!("{} {name}", target.url),
                "the exporter does not have it",
            )
        })
        .collect();
    (signals, missing)
}
