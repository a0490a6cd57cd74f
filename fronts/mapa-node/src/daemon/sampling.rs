//! The counters of this machine, sampled on a thread of their own: a driver or an exporter may take seconds to
//! answer, and meanwhile orders are carried out and throttles end in time.
//!
//! The thread tells latencies that exporters count, as tenants tell theirs, and logs each signal that goes missing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mapa_live::telemetry::{
    Exporter, MissingSignal, Sample, Sampler, SamplerConfig, ScrapeResult, ScrapeTarget,
};
use mapa_live::{Cpus, Live};
use serde::{Deserialize, Serialize};
use tracing::{info, warn};

use super::inbox::{InboxMessage, InboxSender, Report, Told};
use crate::error::Error;

/// Where counters come from besides the kernel and NVML.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Telemetry {
    /// NVIDIA's dcgm-exporter; none if absent.
    pub dcgm: Option<Url>,
}

/// The URL of an exporter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Url(pub String);

impl TryFrom<String> for Url {
    type Error = String;

    fn try_from(url: String) -> Result<Self, String> {
        let rest = url.strip_prefix("http://").unwrap_or_default();
        if rest.is_empty() || url.contains(char::is_whitespace) {
            return Err(format!(
                "`{url}`: expected a URL such as http://127.0.0.1:9400/metrics"
            ));
        }
        Ok(Self(url))
    }
}

/// An exporter of a tenant's latencies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "SourceKeys")]
pub(crate) struct LatencyExporter {
    /// What answers.
    pub kind: Exporter,
    /// Its URL.
    pub url: Url,
    /// The histogram, without `_sum` and `_count`.
    pub metric: String,
    /// The model, if it tells several.
    pub model_name: String,
}

/// The keys of a [`LatencyExporter`], before they are checked together.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceKeys {
    kind: Exporter,
    url: Url,
    metric: String,
    #[serde(default)]
    model_name: String,
}

impl TryFrom<SourceKeys> for LatencyExporter {
    type Error = String;

    fn try_from(keys: SourceKeys) -> Result<Self, String> {
        let known = keys.kind.histograms();
        if known.is_empty() {
            return Err("kind: expected an exporter of latencies: vllm or dynamo".to_owned());
        }
        if !known.contains(&keys.metric.as_str()) {
            let metric = keys.metric;
            return Err(format!(
                "metric = \"{metric}\": expected {}",
                known.join(" or ")
            ));
        }
        Ok(Self {
            kind: keys.kind,
            url: keys.url,
            metric: keys.metric,
            model_name: keys.model_name,
        })
    }
}

impl LatencyExporter {
    /// What is scraped.
    pub(crate) fn target(&self) -> ScrapeTarget {
        ScrapeTarget {
            exporter: self.kind,
            url: self.url.0.clone(),
        }
    }
}

impl Telemetry {
    /// All that is scraped, each once: DCGM's exporter, and those of tenants.
    pub(crate) fn targets<'s>(
        &self,
        sources: impl IntoIterator<Item = &'s LatencyExporter>,
    ) -> Vec<ScrapeTarget> {
        let dcgm = self.dcgm.iter().map(|url| ScrapeTarget {
            exporter: Exporter::Dcgm,
            url: url.0.clone(),
        });
        let mut targets: Vec<ScrapeTarget> = Vec::new();
        for candidate in dcgm.chain(sources.into_iter().map(LatencyExporter::target)) {
            if !targets.contains(&candidate) {
                targets.push(candidate);
            }
        }
        targets
    }
}

/// The signals to sample, and the address to which programs send latencies.
#[derive(Clone)]
pub(crate) struct SamplingPlan {
    /// How often.
    pub every: Duration,
    /// What.
    pub watched: SamplerConfig,
    /// Exporters of latencies, by tenant.
    pub sources: BTreeMap<String, LatencyExporter>,
    /// Where latencies are sent.
    pub to: InboxSender,
}

/// The newest sample, and when its counters were read.
type Latest = Arc<Mutex<Option<(Sample, Instant)>>>;

/// The error if nothing samples any more.
pub(crate) const GONE: &str =
    "the thread that reads them has ended by a fault: there are no more until a restart";

/// Samples until it is dropped.
#[derive(Debug)]
pub(crate) struct Sampling {
    latest: Latest,
    thread: JoinHandle<()>,
    /// The thread ends once this is gone.
    _stop: Sender<()>,
}

impl Sampling {
    /// Begins to sample.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(crate) fn start(live: &Live, plan: SamplingPlan) -> Result<Self, Error> {
        let latest = Latest::default();
        let (_stop, stopped) = channel();
        let (live, to) = (live.clone(), latest.clone());
        let work = move || {
            // Of an exporter that takes longer the next sample tells: the counters of devices do not wait for it.
            let watched = SamplerConfig {
                scrape_wait: Some(plan.every / 4),
                ..plan.watched
            };
            let mut sampler = Sampler::new(live, watched);
            let mut gaps = MissingSignals::default();
            let mut means = LatencyMeans::default();
            let began = Instant::now();
            let mut turn: u32 = 0;
            loop {
                let read = Instant::now();
                let at_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
                let mut sample = sampler.sample(at_ms);
                for (tenant, source) in &plan.sources {
                    match means.since(tenant, source, &sample.scraped) {
                        Ok(Some(took_ns)) => {
                            let report = Report {
                                uid: rustix::process::geteuid().as_raw(),
                                tenant: tenant.clone(),
                                told: Told::Latency(took_ns),
                            };
                            plan.to.tell(InboxMessage::Report(report));
                        }
                        Ok(None) => {}
                        Err(missing) => sample.missing.push(missing),
                    }
                }
                gaps.tell(&sample.missing);
                *to.lock().unwrap_or_else(PoisonError::into_inner) = Some((sample, read));
                // Turns that a slow answer has missed are left out.
                let passed = began.elapsed().as_millis() / plan.every.as_millis().max(1);
                turn = (turn + 1).max(u32::try_from(passed).unwrap_or(u32::MAX));
                let next = plan.every.saturating_mul(turn);
                let left = next.saturating_sub(began.elapsed());
                if stopped.recv_timeout(left) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
            }
        };
        let thread = thread::Builder::new()
            .name("counters".to_owned())
            .spawn(work)
            .map_err(|error| Error::at("counters", error))?;
        Ok(Self {
            latest,
            thread,
            _stop,
        })
    }

    /// Whether the thread has ended, which it does by a fault alone: there are no more samples.
    pub(crate) fn is_gone(&self) -> bool {
        self.thread.is_finished()
    }

    /// The newest sample that was not taken yet, and when its counters were read.
    pub(crate) fn take(&self) -> Option<(Sample, Instant)> {
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        latest.take()
    }
}

/// The signals that were missing last: each is logged once, and once more when it is back.
#[derive(Debug, Default)]
struct MissingSignals(BTreeSet<String>);

impl MissingSignals {
    fn tell(&mut self, missing: &[MissingSignal]) {
        let now: BTreeSet<String> = missing.iter().map(|signal| signal.what.clone()).collect();
        for signal in missing
            .iter()
            .filter(|signal| !self.0.contains(&signal.what))
        {
            warn!(what = signal.what, why = signal.why, "a signal is missing");
        }
        for what in self.0.difference(&now) {
            info!(what, "a signal is back");
        }
        self.0 = now;
    }
}

/// The sums and the counts of exporters' histograms, by tenant.
#[derive(Debug, Default)]
struct LatencyMeans(BTreeMap<String, (f64, f64)>);

impl LatencyMeans {
    /// The mean latency of a tenant since the last sample, ns; `None` if no request has ended. It is less than the
    /// tail: an exporter tells no more.
    ///
    /// # Errors
    /// The signals that an exporter does not have. An exporter that does not answer is a missing signal of the sample.
    fn since(
        &mut self,
        tenant: &str,
        source: &LatencyExporter,
        scraped: &[ScrapeResult],
    ) -> Result<Option<u64>, MissingSignal> {
        let target = source.target();
        let Some(scrape) = scraped.iter().find(|scrape| scrape.target == target) else {
            return Ok(None);
        };
        let of = |end: &str| -> Result<f64, String> {
            let name = format!("{}_{end}", source.metric);
            let signal = scrape.signals.get(&name);
            let signal = signal.ok_or_else(|| format!("{} has no {name}", source.url.0))?;
            match (source.model_name.as_str(), signal.len()) {
                ("", 1) => signal.values().next().copied(),
                (model, _) => signal.get(model).copied(),
            }
            .ok_or_else(|| {
                let models: Vec<&str> = signal.keys().map(String::as_str).collect();
                format!(
                    "`model_name = \"{}\"`: expected one of the models {}",
                    source.model_name,
                    models.join(", ")
                )
            })
        };
        let both = of("sum").and_then(|sum| Ok((sum, of("count")?)));
        let now = both.map_err(|why| MissingSignal {
            what: format!("latencies of {tenant}"),
            why,
        })?;
        let Some(before) = self.0.insert(tenant.to_owned(), now) else {
            return Ok(None);
        };
        // An exporter that was started again counts from nought.
        let (sum, count) = (now.0 - before.0, now.1 - before.1);
        if count <= 0.0 || sum < 0.0 {
            return Ok(None);
        }
        Ok(nanoseconds(sum / count))
    }
}

/// The longest latency that is reported, nanoseconds: an hour, as on the socket.
const LONGEST_NS: f64 = 3.6e12;

/// Seconds in whole nanoseconds; `None` if it is more than an hour, or no number.
fn nanoseconds(seconds: f64) -> Option<u64> {
    let ns = seconds * 1e3 * 1e6;
    (0.0..=LONGEST_NS).contains(&ns).then(|| ns.round() as u64)
}

/// The CPUs of each NUMA node; empty if the machine does not say.
pub(crate) fn cpus(live: &Live) -> BTreeMap<u32, Cpus> {
    let Ok(entries) = fs::read_dir(live.roots.sys.join("devices/system/node")) else {
        return BTreeMap::new();
    };
    let node = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        let number = name.strip_prefix("node")?.parse().ok()?;
        let list = fs::read_to_string(entry.path().join("cpulist")).ok()?;
        Some((number, list.trim().parse().ok()?))
    };
    entries.flatten().filter_map(node).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::{inbox, parse_toml};

    fn source(more: &str) -> Result<LatencyExporter, String> {
        parse_toml(&format!(
            "kind = \"vllm\"\nurl = \"http://h/metrics\"\nmetric = \"vllm:time_to_first_token_seconds\"\n{more}"
        ))
    }

    fn scraped(source: &LatencyExporter, models: &[(&str, f64, f64)]) -> Vec<ScrapeResult> {
        let of = |at: fn(&(&str, f64, f64)) -> f64| {
            let values = models.iter().map(|model| (model.0.to_owned(), at(model)));
            values.collect::<BTreeMap<_, _>>()
        };
        let signals = [
            (format!("{}_sum", source.metric), of(|row| row.1)),
            (format!("{}_count", source.metric), of(|row| row.2)),
        ];
        vec![ScrapeResult {
            target: source.target(),
            signals: signals.into(),
            age_ms: 0,
        }]
    }

    #[test]
    fn a_mean_is_that_of_the_requests_since_the_last_sample() {
        let unnamed = source("").unwrap();
        let mut means = LatencyMeans::default();
        let mut tell =
            |sum, count| means.since("api", &unnamed, &scraped(&unnamed, &[("m", sum, count)]));
        assert_eq!(tell(2.0, 10.0), Ok(None), "the first has nothing before it");
        assert_eq!(tell(2.5, 20.0), Ok(Some(50_000_000)));
        assert_eq!(tell(2.5, 20.0), Ok(None), "no request has ended");
        assert_eq!(tell(0.1, 1.0), Ok(None), "it was started again");
        assert_eq!(tell(0.3, 2.0), Ok(Some(200_000_000)));
    }

    #[test]
    fn a_model_that_is_not_there_or_not_named_among_several_is_missing() {
        let two = [("a", 1.0, 1.0), ("b", 1.0, 1.0)];
        for (of, is_known) in [
            ("", false),
            ("model_name = \"c\"", false),
            ("model_name = \"b\"", true),
        ] {
            let source = source(of).unwrap();
            let found = LatencyMeans::default().since("api", &source, &scraped(&source, &two));
            assert_eq!(found.is_ok(), is_known, "{of}");
            if let Err(missing) = found {
                assert_eq!(missing.what, "latencies of api");
                assert!(missing.why.contains("models a, b"), "{}", missing.why);
            }
        }
    }

    #[test]
    fn an_exporter_that_can_tell_no_latency_is_refused() {
        let check = |text: &str, expected: &str| {
            let error = parse_toml::<LatencyExporter>(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        };
        let url = "url = \"http://h/m\"\n";
        check(
            &format!("kind = \"dcgm\"\n{url}metric = \"DCGM_FI_DEV_GPU_UTIL\"\n"),
            "expected an exporter of latencies: vllm or dynamo",
        );
        check(
            &format!("kind = \"vllm\"\n{url}metric = \"vllm:e2e\"\n"),
            "expected vllm:time_to_first_token_seconds or vllm:inter_token_latency_seconds",
        );
        check(
            "kind = \"vllm\"\nurl = \"https://h/m\"\nmetric = \"x\"\n",
            "line 2: `https://h/m`: expected a URL such as http://",
        );
    }

    /// The thread samples until it is stopped, also while its samples are not taken.
    #[test]
    fn samples_are_taken_once_and_the_thread_ends() {
        let folder = tempfile::tempdir().unwrap();
        let mut live = Live::default();
        live.roots = mapa_live::Roots::below(folder.path());
        let (to, _inbox) = inbox();
        let plan = SamplingPlan {
            every: Duration::from_millis(1),
            watched: SamplerConfig {
                gpus: false,
                ..SamplerConfig::default()
            },
            sources: BTreeMap::new(),
            to,
        };
        let sampling = Sampling::start(&live, plan).unwrap();
        let next = || loop {
            if let Some((sample, _)) = sampling.take() {
                return sample;
            }
            thread::sleep(Duration::from_millis(1));
        };
        let (first, second) = (next(), next());
        assert!(first.at_ms < second.at_ms && second.interval_ms.is_some());
        assert!(
            !first.missing.is_empty(),
            "there is nothing below an empty folder"
        );
        let latest = sampling.latest.clone();
        drop(sampling);
        while Arc::strong_count(&latest) > 1 {
            thread::sleep(Duration::from_millis(1));
        }
    }
}
