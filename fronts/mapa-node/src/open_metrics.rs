//! Counters, gauges and histograms, printed in the text form of OpenMetrics 1.0 that Prometheus scrapes.
//!
//! The daemon runs as root, so each crate that it links counts. It needs four kinds of values and one text; the usual client
//! brings seven crates for these. Clones share their value: one is registered, the other counts.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A value that is printed.
pub(crate) trait Metric: Send + Sync {
    /// Its type, as OpenMetrics names it.
    fn kind(&self) -> &'static str;

    /// Whether there is nothing to print yet: a family without members.
    fn is_empty(&self) -> bool {
        false
    }

    /// Prints the samples. `labels` is `key="value",..`, or empty.
    fn print(&self, name: &str, labels: &str, to: &mut String);
}

/// Values with their names, printed in the order in which they were registered.
#[derive(Default)]
pub(crate) struct Registry {
    rows: Vec<Row>,
}

struct Row {
    name: String,
    help: &'static str,
    unit: Option<&'static str>,
    metric: Box<dyn Metric>,
}

impl Registry {
    /// Adds a value under a name, with one sentence on what it is, without the full stop.
    pub(crate) fn register(
        &mut self,
        name: &str,
        help: &'static str,
        metric: impl Metric + 'static,
    ) {
        self.add(name.to_owned(), help, None, Box::new(metric));
    }

    /// The same for a value in seconds: its name ends in `_seconds`.
    pub(crate) fn register_seconds(
        &mut self,
        name: &str,
        help: &'static str,
        metric: impl Metric + 'static,
    ) {
        let name = format!("{name}_seconds");
        self.add(name, help, Some("seconds"), Box::new(metric));
    }

    fn add(
        &mut self,
        name: String,
        help: &'static str,
        unit: Option<&'static str>,
        metric: Box<dyn Metric>,
    ) {
        self.rows.push(Row {
            name: format!("mapa_{name}"),
            help,
            unit,
            metric,
        });
    }

    /// Every value.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for row in self.rows.iter().filter(|row| !row.metric.is_empty()) {
            let name = &row.name;
            // Writing to a string cannot fail.
            let _ = writeln!(text, "# HELP {name} {}.", row.help);
            let _ = writeln!(text, "# TYPE {name} {}", row.metric.kind());
            if let Some(unit) = row.unit {
                let _ = writeln!(text, "# UNIT {name} {unit}");
            }
            row.metric.print(name, "", &mut text);
        }
        text + "# EOF\n"
    }
}

/// One sample.
fn print(to: &mut String, name: &str, labels: &str, value: &str) {
    let _ = match labels {
        "" => writeln!(to, "{name} {value}"),
        labels => writeln!(to, "{name}{{{labels}}} {value}"),
    };
}

/// A number with a point, and without an exponent.
fn decimal(value: f64) -> String {
    let text = value.to_string();
    if text.contains('.') || !value.is_finite() {
        text
    } else {
        text + ".0"
    }
}

/// What only grows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counter(Arc<AtomicU64>);

impl Counter {
    /// One more.
    pub(crate) fn inc(&self) {
        self.inc_by(1);
    }

    /// So many more.
    pub(crate) fn inc_by(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }
}

impl Metric for Counter {
    fn kind(&self) -> &'static str {
        "counter"
    }

    fn print(&self, name: &str, labels: &str, to: &mut String) {
        let value = self.0.load(Ordering::Relaxed).to_string();
        print(to, &format!("{name}_total"), labels, &value);
    }
}

/// A whole number that grows and falls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gauge(Arc<AtomicI64>);

impl Gauge {
    /// It is this now.
    pub(crate) fn set(&self, value: i64) {
        self.0.store(value, Ordering::Relaxed);
    }
}

impl Metric for Gauge {
    fn kind(&self) -> &'static str {
        "gauge"
    }

    fn print(&self, name: &str, labels: &str, to: &mut String) {
        let value = self.0.load(Ordering::Relaxed).to_string();
        print(to, name, labels, &value);
    }
}

/// A fraction that grows and falls. The atomic holds the bits of the number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ratio(Arc<AtomicU64>);

impl Ratio {
    /// It is this now.
    pub(crate) fn set(&self, value: f64) {
        self.0.store(value.to_bits(), Ordering::Relaxed);
    }
}

impl Metric for Ratio {
    fn kind(&self) -> &'static str {
        "gauge"
    }

    fn print(&self, name: &str, labels: &str, to: &mut String) {
        let value = f64::from_bits(self.0.load(Ordering::Relaxed));
        print(to, name, labels, &decimal(value));
    }
}

/// How many observations are up to each of some bounds, and their sum.
#[derive(Clone, Debug)]
pub(crate) struct Histogram(Arc<Mutex<Observed>>);

#[derive(Debug)]
struct Observed {
    sum: f64,
    /// Upper bounds, the last one infinite, with the observations above the bound before.
    buckets: Vec<(f64, u64)>,
}

impl Histogram {
    /// A histogram with so many bounds, each twice the one before.
    pub(crate) fn doubling(first: f64, count: usize) -> Self {
        let bounds = std::iter::successors(Some(first), |bound| Some(bound * 2.0));
        let buckets = bounds.take(count).chain([f64::INFINITY]);
        Self(Arc::new(Mutex::new(Observed {
            sum: 0.0,
            buckets: buckets.map(|bound| (bound, 0)).collect(),
        })))
    }

    /// One more observation.
    pub(crate) fn observe(&self, value: f64) {
        let mut observed = locked(&self.0);
        observed.sum += value;
        let bucket = observed.buckets.iter_mut().find(|bucket| bucket.0 >= value);
        if let Some((_, count)) = bucket {
            *count += 1;
        }
    }
}

impl Metric for Histogram {
    fn kind(&self) -> &'static str {
        "histogram"
    }

    fn print(&self, name: &str, labels: &str, to: &mut String) {
        let observed = locked(&self.0);
        let count: u64 = observed.buckets.iter().map(|bucket| bucket.1).sum();
        print(to, &format!("{name}_sum"), labels, &decimal(observed.sum));
        print(to, &format!("{name}_count"), labels, &count.to_string());
        let mut up_to = 0;
        for &(bound, count) in &observed.buckets {
            up_to += count;
            let bound = if bound.is_finite() {
                decimal(bound)
            } else {
                "+Inf".to_owned()
            };
            let comma = if labels.is_empty() { "" } else { "," };
            let labels = format!("le=\"{bound}\"{comma}{labels}");
            print(to, &format!("{name}_bucket"), &labels, &up_to.to_string());
        }
    }
}

/// Values of one name, distinguished by labels.
#[derive(Debug)]
pub(crate) struct Family<M> {
    labels: &'static [&'static str],
    make: fn() -> M,
    members: Arc<Mutex<BTreeMap<String, M>>>,
}

impl<M> Clone for Family<M> {
    fn clone(&self) -> Self {
        Self {
            members: Arc::clone(&self.members),
            ..*self
        }
    }
}

impl<M: Clone> Family<M> {
    /// A family without members; `make` gives a new member its first value.
    pub(crate) fn new(labels: &'static [&'static str], make: fn() -> M) -> Self {
        Self {
            labels,
            make,
            members: Arc::default(),
        }
    }

    /// The member with these values of the labels, in their order.
    pub(crate) fn of(&self, values: &[&str]) -> M {
        let pairs = self.labels.iter().zip(values);
        let pairs = pairs.map(|(label, value)| format!("{label}=\"{}\"", escaped(value)));
        let key = pairs.collect::<Vec<_>>().join(",");
        locked(&self.members)
            .entry(key)
            .or_insert_with(self.make)
            .clone()
    }
}

impl<M: Metric> Metric for Family<M> {
    fn kind(&self) -> &'static str {
        let members = locked(&self.members);
        members.values().next().map_or("unknown", Metric::kind)
    }

    fn is_empty(&self) -> bool {
        locked(&self.members).is_empty()
    }

    fn print(&self, name: &str, _: &str, to: &mut String) {
        for (labels, member) in locked(&self.members).iter() {
            member.print(name, labels, to);
        }
    }
}

fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

/// The value behind a lock. A thread that ended while it counted leaves a number that is one too small at worst.
fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;
    use prometheus_client::metrics::histogram::exponential_buckets;
    use prometheus_client::metrics::{counter, family, gauge, histogram};
    use prometheus_client::registry::{self, Unit};

    use super::*;

    /// The text of the usual client is the oracle. It prints the members of a family in any order.
    // Long, because it gives both sides the same values, kind by kind, and compares one text in the end.
    #[test]
    fn the_text_is_that_of_the_usual_client() {
        type Labels = Vec<(&'static str, String)>;
        let mut ours = Registry::default();
        let mut theirs = registry::Registry::with_prefix("mapa");

        let jobs = (Counter::default(), counter::Counter::<u64>::default());
        ours.register("jobs", "Jobs", jobs.0.clone());
        theirs.register("jobs", "Jobs", jobs.1.clone());
        for count in [1, 7, u64::from(u32::MAX)] {
            jobs.0.inc_by(count);
            jobs.1.inc_by(count);
        }

        let free = (Gauge::default(), gauge::Gauge::<i64>::default());
        ours.register("free", "Free devices", free.0.clone());
        theirs.register("free", "Free devices", free.1.clone());
        free.0.set(-3);
        free.1.set(-3);

        for (name, value) in [
            ("nought", 0.0),
            ("whole", 3.0),
            ("third", 1.0 / 3.0),
            ("small", 1e-5),
            ("large", 123_456_789.25),
        ] {
            let share = (Ratio::default(), gauge::Gauge::<f64, AtomicU64>::default());
            ours.register(name, "A share", share.0.clone());
            theirs.register(name, "A share", share.1.clone());
            share.0.set(value);
            share.1.set(value);
        }

        let waited = (
            Histogram::doubling(1.0, 20),
            histogram::Histogram::new(exponential_buckets(1.0, 2.0, 20)),
        );
        ours.register_seconds("waited", "How long jobs waited", waited.0.clone());
        theirs.register_with_unit(
            "waited",
            "How long jobs waited",
            Unit::Seconds,
            waited.1.clone(),
        );
        let took = (
            Family::new(&["tenant"], || Histogram::doubling(1e-4, 20)),
            family::Family::<Labels, histogram::Histogram>::new_with_constructor(|| {
                histogram::Histogram::new(exponential_buckets(1e-4, 2.0, 20))
            }),
        );
        ours.register_seconds("took", "How long it took", took.0.clone());
        theirs.register_with_unit("took", "How long it took", Unit::Seconds, took.1.clone());
        let refused = (
            Family::new(&["lever", "step"], Counter::default),
            family::Family::<Labels, counter::Counter>::default(),
        );
        ours.register("refused", "Refused jobs", refused.0.clone());
        theirs.register("refused", "Refused jobs", refused.1.clone());
        let empty = family::Family::<Labels, counter::Counter>::default();
        ours.register("none", "Nothing", Family::new(&["kind"], Counter::default));
        theirs.register("none", "Nothing", empty);

        let text = |theirs: &registry::Registry| {
            let mut text = String::new();
            encode(&mut text, theirs).unwrap();
            text
        };
        let sorted = |text: &str| {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        // Families without members, then with one member each, where even the order is theirs.
        assert_eq!(ours.text(), text(&theirs));
        let observed = [0.0, 1e-4, 1.000_1e-4, 0.3, 1.0, 524_288.0, 1e9];
        for value in observed {
            waited.0.observe(value);
            waited.1.observe(value);
        }
        for (turn, name) in ["api", "a \"quoted\"\\ name", "two\nlines"]
            .iter()
            .enumerate()
        {
            let labels = vec![("tenant", (*name).to_owned())];
            for value in observed {
                took.0.of(&[name]).observe(value);
                took.1.get_or_create(&labels).observe(value);
            }
            refused.0.of(&[name, "apply"]).inc();
            let labels = vec![("lever", (*name).to_owned()), ("step", "apply".to_owned())];
            refused.1.get_or_create(&labels).inc();
            if turn == 0 {
                assert_eq!(ours.text(), text(&theirs));
            }
        }
        assert_eq!(sorted(&ours.text()), sorted(&text(&theirs)));
    }

    #[test]
    fn every_kind_is_printed_as_openmetrics_has_it() {
        let mut registry = Registry::default();
        let (jobs, free, share) = (Counter::default(), Gauge::default(), Ratio::default());
        let refused = Family::new(&["kind", "step"], Counter::default);
        let empty = Family::new(&["kind"], Counter::default);
        let took = Family::new(&["tenant"], || Histogram::doubling(1e-4, 2));
        registry.register("jobs", "Jobs", jobs.clone());
        registry.register("free", "Free devices", free.clone());
        registry.register("share", "A share", share.clone());
        registry.register("refused", "Refused jobs", refused.clone());
        registry.register("none", "Nothing", empty);
        registry.register_seconds("took", "How long it took", took.clone());
        jobs.inc();
        jobs.inc_by(2);
        free.set(-4);
        share.set(0.25);
        refused.of(&["a \"b\"\\\n", "two"]).inc();
        took.of(&["api"]).observe(1e-4);
        took.of(&["api"]).observe(12.0);
        let expected = r#"# HELP mapa_jobs Jobs.
# TYPE mapa_jobs counter
mapa_jobs_total 3
# HELP mapa_free Free devices.
# TYPE mapa_free gauge
mapa_free -4
# HELP mapa_share A share.
# TYPE mapa_share gauge
mapa_share 0.25
# HELP mapa_refused Refused jobs.
# TYPE mapa_refused counter
mapa_refused_total{kind="a \"b\"\\\n",step="two"} 1
# HELP mapa_took_seconds How long it took.
# TYPE mapa_took_seconds histogram
# UNIT mapa_took_seconds seconds
mapa_took_seconds_sum{tenant="api"} 12.0001
mapa_took_seconds_count{tenant="api"} 2
mapa_took_seconds_bucket{le="0.0001",tenant="api"} 1
mapa_took_seconds_bucket{le="0.0002",tenant="api"} 1
mapa_took_seconds_bucket{le="+Inf",tenant="api"} 2
# EOF
"#;
        assert_eq!(registry.text(), expected);
    }
}
