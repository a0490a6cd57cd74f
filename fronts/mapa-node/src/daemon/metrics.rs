//! What the daemon counts.

use std::fmt;
use std::time::Duration;

use crate::open_metrics::{Counter, Family, Gauge, Histogram, Ratio, Registry};

/// The most tenants that have a histogram of their own. All further ones share `other`.
const TENANTS: usize = 256;

/// The counters of a daemon.
pub(crate) struct Metrics {
    registry: Registry,
    events: Counter,
    turns: Counter,
    actions: Family<Counter>,
    refusals: Family<Counter>,
    action_failures: Family<Counter>,
    lever_failures: Family<Counter>,
    errors: Family<Counter>,
    decision: Histogram,
    waited: Histogram,
    latencies: Family<Histogram>,
    dropped: Family<Counter>,
    late: Family<Counter>,
    controlled: Family<Counter>,
    throttling: Family<Gauge>,
    tenants: std::sync::Mutex<std::collections::BTreeSet<String>>,
    /// Leases that hold.
    pub leases: Gauge,
    /// Jobs that wait.
    pub queue: Gauge,
    /// Whole devices without a tenant, not withheld.
    pub free: Gauge,
    /// Whole devices.
    pub devices: Gauge,
    /// The share of free devices outside the largest group that direct links join.
    pub fragmentation: Ratio,
    /// Direct links that are down.
    pub links_down: Gauge,
    /// Devices whose links lack something.
    pub degraded: Gauge,
    /// Signals that could not be read last.
    pub missing: Gauge,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

/// Milliseconds to a minute.
fn short() -> Histogram {
    Histogram::doubling(1e-4, 20)
}

impl Metrics {
    /// Creates the metrics, all 0.
    pub(crate) fn new() -> Self {
        let metrics = Self {
            registry: Registry::default(),
            events: Counter::default(),
            turns: Counter::default(),
            actions: Family::new(&["kind"], Counter::default),
            refusals: Family::new(&["kind"], Counter::default),
            action_failures: Family::new(&["kind"], Counter::default),
            lever_failures: Family::new(&["lever", "step"], Counter::default),
            errors: Family::new(&["kind"], Counter::default),
            decision: short(),
            waited: Histogram::doubling(1.0, 20),
            latencies: Family::new(&["tenant"], short),
            dropped: Family::new(&["reason"], Counter::default),
            late: Family::new(&["tenant"], Counter::default),
            controlled: Family::new(&["tenant", "kind"], Counter::default),
            throttling: Family::new(&["tenant"], Gauge::default),
            tenants: std::sync::Mutex::default(),
            leases: Gauge::default(),
            queue: Gauge::default(),
            free: Gauge::default(),
            devices: Gauge::default(),
            fragmentation: Ratio::default(),
            links_down: Gauge::default(),
            degraded: Gauge::default(),
            missing: Gauge::default(),
        };
        metrics.registered()
    }

    // Long, since it is one flat table: a line for each metric, in the order of the output.
    fn registered(mut self) -> Self {
        let to = &mut self.registry;
        to.register(
            "events",
            "Events that the scheduler received",
            self.events.clone(),
        );
        to.register(
            "scheduler_turns",
            "Turns of the scheduler",
            self.turns.clone(),
        );
        to.register(
            "actions",
            "Actions of the scheduler, by kind",
            self.actions.clone(),
        );
        to.register(
            "refusals",
            "Jobs that were refused, by reason",
            self.refusals.clone(),
        );
        to.register(
            "action_failures",
            "Actions that could not be carried out, by kind",
            self.action_failures.clone(),
        );
        to.register(
            "lever_failures",
            "Levers that failed, by lever and step: apply or revert",
            self.lever_failures.clone(),
        );
        to.register("errors", "Other errors, by component", self.errors.clone());
        to.register_seconds(
            "decision",
            "Duration of a turn of the scheduler, from its events to its last action",
            self.decision.clone(),
        );
        to.register_seconds(
            "queue_wait",
            "How long jobs waited until they were placed",
            self.waited.clone(),
        );
        to.register_seconds(
            "request_latency",
            "How long tenants took to answer requests, as they tell",
            self.latencies.clone(),
        );
        to.register(
            "dropped_reports",
            "Latencies and shares of work that were dropped: full, as too many wait, or not_owner",
            self.dropped.clone(),
        );
        to.register(
            "late_requests",
            "Requests of tenants of [slo] that took longer than promised",
            self.late.clone(),
        );
        to.register(
            "latency_actions",
            "Actions of the controllers of [slo], by tenant and kind",
            self.controlled.clone(),
        );
        to.register(
            "neighbours_throttled",
            "Whether the neighbours of a tenant of [slo] are throttled",
            self.throttling.clone(),
        );
        to.register("leases", "Leases that hold", self.leases.clone());
        to.register("queue_length", "Jobs that wait", self.queue.clone());
        to.register(
            "free_devices",
            "Whole devices that are free and not withheld",
            self.free.clone(),
        );
        to.register(
            "devices",
            "Whole devices of the machine",
            self.devices.clone(),
        );
        to.register(
            "fragmentation_ratio",
            "The share of free devices outside the largest group of them that direct links join",
            self.fragmentation.clone(),
        );
        to.register(
            "links_down",
            "Direct links of devices that are down",
            self.links_down.clone(),
        );
        to.register(
            "degraded_devices",
            "Whole devices with direct links that are down, or with less PCIe than device and slot have",
            self.degraded.clone(),
        );
        to.register(
            "missing_signals",
            "Signals of devices, the kernel and exporters that could not be read last",
            self.missing.clone(),
        );
        self
    }

    /// Counts a turn of the scheduler and its duration.
    pub(crate) fn turn(&self, took: Duration) {
        self.turns.inc();
        self.decision.observe(took.as_secs_f64());
    }

    /// Counts events.
    pub(crate) fn events(&self, count: u64) {
        self.events.inc_by(count);
    }

    /// Counts an action of this kind.
    pub(crate) fn action(&self, kind: &str) {
        self.actions.of(&[kind]).inc();
    }

    /// A job that was refused for this reason.
    pub(crate) fn refused(&self, kind: &str) {
        self.refusals.of(&[kind]).inc();
    }

    /// Counts a failed action of this kind.
    pub(crate) fn action_failed(&self, kind: &str) {
        self.action_failures.of(&[kind]).inc();
    }

    /// Counts a failure of a lever at this step.
    pub(crate) fn lever_failed(&self, lever: &str, step: &str) {
        self.lever_failures.of(&[lever, step]).inc();
    }

    /// Counts an error of this component.
    pub(crate) fn error(&self, component: &str) {
        self.errors.of(&[component]).inc();
    }

    /// A job that was placed after it had waited so long.
    pub(crate) fn waited(&self, length: Duration) {
        self.waited.observe(length.as_secs_f64());
    }

    /// A request that took so long.
    pub(crate) fn latency(&self, tenant: &str, took: Duration) {
        let Ok(mut tenants) = self.tenants.lock() else {
            return;
        };
        let is_known = tenants.contains(tenant);
        let name = if is_known || tenants.len() < TENANTS {
            if !is_known {
                tenants.insert(tenant.to_owned());
            }
            tenant
        } else {
            "other"
        };
        self.latencies.of(&[name]).observe(took.as_secs_f64());
    }

    /// A report of a tenant that was dropped.
    pub(crate) fn dropped(&self, reason: &str) {
        self.dropped.of(&[reason]).inc();
    }

    /// A request that took longer than its tenant was promised.
    #[cfg(feature = "slo")]
    pub(crate) fn late(&self, tenant: &str) {
        self.late.of(&[tenant]).inc();
    }

    /// Counts an action of this kind of a tenant's controller of latency.
    #[cfg(feature = "slo")]
    pub(crate) fn controlled(&self, tenant: &str, kind: &str) {
        self.controlled.of(&[tenant, kind]).inc();
    }

    /// Whether the neighbours of a tenant are throttled.
    #[cfg(feature = "slo")]
    pub(crate) fn throttling(&self, tenant: &str, is_throttling: bool) {
        self.throttling.of(&[tenant]).set(is_throttling.into());
    }

    /// Everything in OpenMetrics' text form.
    pub(crate) fn text(&self) -> String {
        self.registry.text()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn what_is_counted_is_in_the_text_and_tenants_are_bounded() {
        let metrics = Metrics::new();
        metrics.refused("infeasible");
        metrics.lever_failed("mig", "revert");
        for tenant in 0..TENANTS + 50 {
            metrics.latency(&format!("t{tenant}"), Duration::from_millis(15));
        }
        let text = metrics.text();
        for expected in [
            "mapa_refusals_total{kind=\"infeasible\"} 1",
            "mapa_lever_failures_total{lever=\"mig\",step=\"revert\"} 1",
            "mapa_request_latency_seconds_count{tenant=\"other\"} 50",
            "# EOF",
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
    }

    /// Counters, each counted once: those with labels appear with their first value.
    fn counted() -> Metrics {
        let metrics = Metrics::new();
        metrics.action("place");
        metrics.refused("busy");
        metrics.action_failed("throttle");
        metrics.lever_failed("mps", "apply");
        metrics.error("poll");
        metrics.dropped("full");
        metrics.latency("api", Duration::from_millis(15));
        #[cfg(feature = "slo")]
        {
            metrics.late("api");
            metrics.controlled("api", "throttle");
            metrics.throttling("api", true);
        }
        metrics
    }

    /// The names that begin with `mapa_` in a text.
    fn names(text: &str) -> BTreeSet<&str> {
        let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        words.filter(|word| word.starts_with("mapa_")).collect()
    }

    #[test]
    fn every_name_in_the_alerts_is_one_that_is_printed() {
        let text = counted().text();
        let printed = mapa_live::telemetry::read_metrics(&text).unwrap();
        let printed: BTreeSet<&str> = printed.iter().map(|metric| metric.name.as_str()).collect();
        let alerts = include_str!("../../../../packaging/alerts.yml");
        let rules = alerts
            .lines()
            .filter_map(|line| line.trim().strip_prefix("expr:"));
        let mut count = 0;
        for rule in rules {
            count += names(rule).len();
            for name in names(rule) {
                assert!(printed.contains(name), "{name} in `{rule}`: {printed:?}");
            }
        }
        assert!(count > 8, "{count} names");
    }

    #[test]
    #[cfg(feature = "slo")]
    fn every_counter_is_documented_and_every_documented_one_is_counted() {
        let text = counted().text();
        let printed: BTreeSet<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
            .collect();
        let page = include_str!("../../../../docs/scheduler-daemon.md");
        let table = page.split("| counter | counts |").nth(1).unwrap();
        let table = table.split("\n\n").next().unwrap();
        let documented: BTreeSet<&str> = names(table)
            .into_iter()
            .map(|name| name.strip_suffix("_total").unwrap_or(name))
            .collect();
        assert_eq!(documented, printed);
    }
}
