//! What the daemon tells of itself: counters, its present state, and its log.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mapa_core::{DeviceId, HardwareGraph};
#[cfg(feature = "slo")]
use mapa_front::answer::node::TenantLatency;
use mapa_front::answer::node::{RecentError, Status, UnreadSignal};
use mapa_sched::{Action, DriverView};
use tracing::{debug, info, warn};

use super::events::MACHINE;
use super::metrics::Metrics;
use crate::ledger::{DeviceFault, DeviceKey, FaultKind, Lease, now};
use crate::node::Node;

/// How many errors are remembered.
const ERRORS: usize = 32;

/// What threads of the daemon share.
#[derive(Debug)]
pub(crate) struct SharedStatus {
    /// The counters.
    pub metrics: Metrics,
    /// The present state.
    pub status: Mutex<Status>,
}

impl SharedStatus {
    /// The present state.
    pub(crate) fn status(&self) -> Status {
        let status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        status.clone()
    }

    /// What could not be read last.
    pub(crate) fn missing(&self, missing: Vec<UnreadSignal>) {
        self.metrics.missing.set(missing.len() as i64);
        let mut status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        status.missing = missing;
    }
}

/// What the driver tells.
pub(crate) struct Reporter {
    shared: Arc<SharedStatus>,
    /// The last error of each component: the same error again is counted, and not logged.
    last: BTreeMap<String, String>,
    /// Pings the watchdog of systemd.
    watchdog: Option<Duration>,
    pinged: Instant,
    events: u64,
    /// The events and turns of earlier runs of this daemon.
    earlier: (u64, u64),
    /// The devices that were free last, and what that came to.
    fragmentation: (BTreeSet<DeviceId>, f64),
    /// The faults of links at the last poll: by device and kind, in words.
    degraded: BTreeMap<(String, String), String>,
}

impl Reporter {
    /// Tells by these.
    pub(crate) fn new(shared: Arc<SharedStatus>, watchdog: Option<Duration>) -> Self {
        Self {
            shared,
            last: BTreeMap::new(),
            // Half of the time, as systemd's documentation asks.
            watchdog: watchdog.map(|duration| duration / 2),
            pinged: Instant::now(),
            events: 0,
            earlier: (0, 0),
            fragmentation: (BTreeSet::new(), 0.0),
            degraded: BTreeMap::new(),
        }
    }

    /// How much is remembered.
    #[cfg(test)]
    pub(super) fn entries(&self) -> usize {
        lock(&self.shared).errors.len() + self.last.len()
    }

    pub(super) fn metrics(&self) -> &Metrics {
        &self.shared.metrics
    }

    /// A component failed. The same error again is counted, and not logged.
    pub(crate) fn error(&mut self, component: &str, error: &str) {
        self.metrics().error(component);
        if self.last.get(component).is_some_and(|last| last == error) {
            return;
        }
        self.last.insert(component.to_owned(), error.to_owned());
        warn!(component, error, "component error");
        let errors = &mut lock(&self.shared).errors;
        if errors.len() >= ERRORS {
            errors.remove(0);
        }
        errors.push(RecentError {
            time_ns: now(),
            component: component.to_owned(),
            error: error.to_owned(),
        });
    }

    /// Reports the faults of links in the ledger. Each change is logged once.
    pub(crate) fn degraded(&mut self, node: &Node, faults: &[DeviceFault]) {
        let of_links = faults
            .iter()
            .filter(|fault| FaultKind::is_of_links(&fault.kind));
        let now: BTreeMap<(String, String), String> = of_links
            .map(|fault| {
                let device = node.name(&DeviceKey::whole(&fault.device));
                ((device, fault.kind.clone()), fault.detail.clone())
            })
            .collect();
        let down = node.graph().fabric().links_up();
        let down: u32 = down
            .map(|(_, links)| links.all.saturating_sub(links.up))
            .sum();
        self.metrics().links_down.set(down.into());
        let devices: BTreeSet<&String> = now.keys().map(|(device, _)| device).collect();
        self.metrics().degraded.set(devices.len() as i64);
        if now == self.degraded {
            return;
        }
        for ((device, kind), what) in &now {
            if self.degraded.get(&(device.clone(), kind.clone())) != Some(what) {
                warn!(device, what, "degraded");
            }
        }
        for ((device, kind), what) in &self.degraded {
            if !now.contains_key(&(device.clone(), kind.clone())) {
                info!(device, was = what, "restored");
            }
        }
        self.degraded = now;
    }

    /// Another run begins: its record counts from 0.
    pub(crate) fn begin_anew(&mut self) {
        let status = lock(&self.shared);
        self.earlier = (status.events, status.turns);
        drop(status);
        self.events = 0;
        self.fragmentation = (BTreeSet::new(), 0.0);
    }

    /// What the queue and the leases are.
    pub(crate) fn queue(&mut self, waits: usize, leases: usize) {
        self.metrics().queue.set(waits as i64);
        self.metrics().leases.set(leases as i64);
        let mut status = lock(&self.shared);
        status.waiting = waits;
        status.leases = leases;
    }

    /// A job got its devices.
    pub(crate) fn placed(&mut self, lease: &Lease) {
        let devices: Vec<String> = lease.devices.iter().map(ToString::to_string).collect();
        info!(
            lease = lease.id,
            ticket = lease.ticket,
            tenant = lease.asker.tenant,
            devices = devices.join(" "),
            "placed"
        );
    }

    /// A job waited so long.
    pub(crate) fn waited(&mut self, length: Duration) {
        self.metrics().waited(length);
    }

    /// A job was refused.
    pub(crate) fn refused(&mut self, kind: &str) {
        self.metrics().refused(kind);
    }

    /// The scheduler returned an action.
    pub(crate) fn action(&mut self, action: &Action) {
        self.metrics().action(kind(action));
        if !matches!(action, Action::Wake { .. }) {
            debug!(action = ?action, "action");
        }
    }

    /// An action could not be carried out.
    pub(crate) fn action_failed(&mut self, action: &Action, reason: &str) {
        let kind = kind(action);
        self.metrics().action_failed(kind);
        *lock(&self.shared)
            .action_failures
            .entry(kind.to_owned())
            .or_default() += 1;
        self.error(kind, reason);
    }

    /// A lever failed.
    pub(crate) fn lever_failed(&mut self, lever: &str, step: &str) {
        self.metrics().lever_failed(lever, step);
    }

    /// What a dry run would do.
    pub(crate) fn dry_run(&mut self, plan: &str) {
        for line in plan.lines() {
            info!(plan = line, "dry run");
        }
    }

    /// A request was answered.
    pub(crate) fn latency(&mut self, tenant: &str, took: Duration) {
        self.metrics().latency(tenant, took);
    }

    /// A report was dropped: it is not from the user of the tenant's lease.
    pub(crate) fn dropped_report(&mut self) {
        self.metrics().dropped("not_owner");
    }

    /// A request took longer than its tenant was promised.
    #[cfg(feature = "slo")]
    pub(super) fn late(&mut self, tenant: &str) {
        self.metrics().late(tenant);
    }

    /// A controller of latency has ordered something.
    #[cfg(feature = "slo")]
    pub(super) fn controlled(&mut self, tenant: &str, kind: &str) {
        self.metrics().controlled(tenant, kind);
    }

    /// How the tenants are whose latency is controlled.
    #[cfg(feature = "slo")]
    pub(super) fn latencies(&mut self, latencies: Vec<TenantLatency>) {
        for latency in &latencies {
            self.metrics()
                .throttling(&latency.tenant, latency.throttling);
        }
        lock(&self.shared).latency = latencies;
    }

    /// The present state, as the socket answers it.
    #[cfg(all(test, feature = "slo"))]
    pub(super) fn status(&self) -> Status {
        self.shared.status()
    }

    /// Tells systemd that the daemon lives, if a watchdog is set and a ping is due.
    pub(crate) fn ping_watchdog(&mut self) {
        let Some(every) = self.watchdog else {
            return;
        };
        if self.pinged.elapsed() >= every {
            self.pinged = Instant::now();
            // Without systemd nobody listens.
            let _ = sd_notify::notify(&[sd_notify::NotifyState::Watchdog]);
        }
    }

    /// A turn of the scheduler is over.
    pub(crate) fn settled(&mut self, node: &Node, seen: DriverView<'_>, took: Duration) {
        let events = seen.record.events();
        self.metrics().events(events - self.events);
        self.events = events;
        self.metrics().turn(took);
        self.present(node, seen);
    }

    /// The state of the machine, as the scheduler knows it.
    pub(crate) fn present(&mut self, node: &Node, seen: DriverView<'_>) {
        let Ok(machine) = seen.fleet.machine(MACHINE) else {
            return;
        };
        let view = machine.view();
        let graph = node.graph();
        let wholes = graph.wholes();
        let free = wholes.iter().filter(|&id| view.free().contains(id));
        let free: BTreeSet<DeviceId> = free.collect();
        if self.fragmentation.0 != free {
            let share = fragmentation(graph, &free);
            self.fragmentation = (free.clone(), share);
        }
        let fragmentation = self.fragmentation.1;
        let devices = graph.wholes().len();
        self.metrics().free.set(free.len() as i64);
        self.metrics().devices.set(devices as i64);
        self.metrics().fragmentation.set(fragmentation);
        let mut status = lock(&self.shared);
        status.turns = self.earlier.1 + seen.record.instants();
        status.events = self.earlier.0 + seen.record.events();
        status.free = free.len();
        status.devices = devices;
        status.fragmentation = fragmentation;
    }
}

fn lock(shared: &SharedStatus) -> std::sync::MutexGuard<'_, Status> {
    shared.status.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The name of an action's kind.
fn kind(action: &Action) -> &'static str {
    match action {
        Action::Launch { .. } => "launch",
        Action::Place { .. } => "place",
        Action::Move { .. } => "move",
        Action::Suspend { .. } => "suspend",
        Action::Repartition { .. } => "repartition",
        Action::Throttle { .. } => "throttle",
        Action::Reject { .. } => "reject",
        Action::Wake { .. } => "wake",
        _ => "other",
    }
}

/// The share of free devices outside the largest group of them that direct links join: 0 if a job
/// can have all of them over direct links, and if none is free.
fn fragmentation(graph: &HardwareGraph, free: &BTreeSet<DeviceId>) -> f64 {
    let mut left = free.clone();
    let mut largest = 0;
    while let Some(first) = left.pop_first() {
        let (mut group, mut open) = (1, vec![first]);
        while let Some(device) = open.pop() {
            let joined: Vec<DeviceId> = left
                .iter()
                .copied()
                .filter(|&other| graph.pair(device, other).direct.exists())
                .collect();
            for other in joined {
                left.remove(&other);
                group += 1;
                open.push(other);
            }
        }
        largest = largest.max(group);
    }
    if free.is_empty() {
        return 0.0;
    }
    1.0 - f64::from(largest) / free.len() as f64
}
