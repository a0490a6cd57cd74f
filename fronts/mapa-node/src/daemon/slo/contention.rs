//! Who is beside a tenant, inferred from counters: on a host that hides which devices share a path, nobody can name
//! the neighbours there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use mapa_live::telemetry::{Sample, node_use, path_use};
use mapa_live::{Cpus, Live};
use mapa_system_slo::replay::{Sensor, SensorSettings};
use mapa_system_slo::{CounterSnapshot, NumaCounters, PlaceCounters, Settings};
use tracing::{info, warn};

use super::config::{ContentionSource, SloConfig};
use super::controller::TenantController;
use crate::daemon::sampling::cpus;
use crate::error::Error;
use crate::path_visibility::PathVisibility;

/// How it is known who is beside the tenants.
pub(super) struct ContentionDetectors {
    by_tenant: BTreeMap<String, ContentionDetector>,
    /// The NUMA nodes, and the CPUs of each.
    numa: BTreeMap<u32, Cpus>,
    tick_ms: u64,
    /// Drivers that had not answered, and are asked again.
    asked: Option<TopologyQuery>,
}

/// How long after a failure drivers are asked again.
const ASK_AGAIN: Duration = Duration::from_secs(5);

/// Asks for the topology until drivers have answered, on a thread of its own: they may take their time.
struct TopologyQuery {
    answer: Receiver<PathVisibility>,
    /// The thread ends once this is gone.
    _stop: Sender<()>,
}

impl TopologyQuery {
    /// # Errors
    /// The thread cannot be started.
    fn begin(live: &Live, every: Duration) -> Result<Self, Error> {
        let (to, answer) = channel();
        let (_stop, stopped) = channel::<()>();
        let live = live.clone();
        let work = move || {
            while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                let topology = PathVisibility::of(&live);
                if topology.unanswered.is_none() {
                    let _ = to.send(topology);
                    return;
                }
            }
        };
        thread::Builder::new()
            .name("topology".to_owned())
            .spawn(work)
            .map_err(|error| Error::at("topology", error))?;
        Ok(Self { answer, _stop })
    }
}

/// One tenant whose contention is inferred.
struct ContentionDetector {
    /// Its devices and those that share their path, by place.
    places: Vec<Devices>,
    settings: Settings,
    sensor: Sensor,
    /// What the last sample came to, and when its counters were read.
    last: Option<(CounterSnapshot, Instant)>,
    /// What was logged last: copies, trains.
    logged: Option<(bool, bool)>,
}

/// The devices of a place.
struct Devices {
    own: BTreeSet<String>,
    /// `None` if the drivers list no devices by which to know: all that a sample has.
    beside: Option<BTreeSet<String>>,
    numa: Option<u32>,
}

/// A snapshot for a tenant.
pub(super) struct ContentionReport {
    /// The last snapshot for its controller.
    pub snapshot: CounterSnapshot,
    /// Whether contention was inferred from counters.
    pub is_inferred: bool,
}

impl ContentionDetectors {
    /// By the configuration, and by what this machine shows. The log says which. While drivers do not answer,
    /// contention is that of the neighbours that are named, and they are asked again.
    ///
    /// # Errors
    /// Settings that are out of their bounds; devices that this machine does not have; no thread for drivers that do
    /// not answer.
    pub(super) fn new(config: &SloConfig, live: &Live) -> Result<Self, Error> {
        Self::asking(config, live, ASK_AGAIN)
    }

    /// The same, with how long after a failure drivers are asked again.
    fn asking(config: &SloConfig, live: &Live, every: Duration) -> Result<Self, Error> {
        let mut detectors = Self {
            by_tenant: BTreeMap::new(),
            numa: BTreeMap::new(),
            tick_ms: config.settings.tick_ms.0,
            asked: None,
        };
        let has_devices = config
            .tenants
            .values()
            .any(|tenant| !tenant.devices.is_empty());
        if config.contention == ContentionSource::Named || !has_devices {
            info!("contention is that of the neighbours that are named");
            return Ok(detectors);
        }
        let topology = PathVisibility::of(live);
        if let Some(why) = &topology.unanswered {
            warn!(
                why,
                "the topology is not known yet: until drivers answer, contention is that of the neighbours that are named"
            );
            detectors.asked = Some(TopologyQuery::begin(live, every)?);
            return Ok(detectors);
        }
        detectors.know(config, live, &topology)?;
        Ok(detectors)
    }

    /// Takes what drivers have answered meanwhile. Whether the counters of devices are needed from now on.
    pub(super) fn learn(&mut self, config: &SloConfig, live: &Live) -> bool {
        let answer = self
            .asked
            .as_ref()
            .and_then(|topology_query| topology_query.answer.try_recv().ok());
        let Some(topology) = answer else {
            return false;
        };
        self.asked = None;
        if let Err(error) = self.know(config, live, &topology) {
            // At a start it is refused. What runs goes on.
            self.by_tenant.clear();
            warn!(%error, "contention is that of the neighbours that are named");
        }
        self.needs_devices()
    }

    /// Decides by a topology about which drivers will report no more.
    fn know(
        &mut self,
        config: &SloConfig,
        live: &Live,
        topology: &PathVisibility,
    ) -> Result<(), Error> {
        // The traffic of a device that is not recognised as the tenant's would be a neighbour's.
        for (name, tenant) in &config.tenants {
            let mut devices = tenant.devices.iter().flatten();
            if let Some(other) = devices.find(|device| topology.has(device) == Some(false)) {
                return Err(Error::malformed(format_args!(
                    "slo.tenants.{name}.devices: this machine has no `{other}`: expected UUIDs of whole devices"
                )));
            }
        }
        let is_placed = config
            .neighbours
            .values()
            .any(|neighbour| !neighbour.places.is_empty());
        if config.contention == ContentionSource::Auto && (topology.hidden.is_none() || is_placed) {
            let why = if is_placed {
                "the configuration says which places neighbours are beside"
            } else {
                "the topology is known"
            };
            info!(why, "contention is that of the neighbours that are named");
            return Ok(());
        }
        let why = match &topology.hidden {
            Some(why) => format!("the topology is hidden: {why}"),
            None => "the configuration says so".to_owned(),
        };
        self.numa = cpus(live);
        for (name, tenant) in &config.tenants {
            if tenant.devices.is_empty() {
                let hint = "expected `devices`";
                info!(
                    tenant = name,
                    hint, "contention is that of the neighbours that are named"
                );
                continue;
            }
            let beside = ContentionDetector::new(
                config.settings_of(name).map_err(Error::malformed)?,
                &tenant.devices,
                topology,
            );
            for (place, devices) in beside.places.iter().enumerate() {
                let others = devices.beside.as_ref().map(BTreeSet::len);
                info!(
                    tenant = name,
                    place, others, why, "contention is inferred from the counters of devices"
                );
                if others == Some(0) {
                    warn!(tenant = name, place, "no other device shares its path");
                }
            }
            self.by_tenant.insert(name.clone(), beside);
        }
        Ok(())
    }

    /// Whether drivers are asked still, so that it is not known yet whether the counters of devices are needed.
    pub(super) fn is_asking(&self) -> bool {
        self.asked.is_some()
    }

    /// Whether the counters of devices are needed.
    pub(super) fn needs_devices(&self) -> bool {
        !self.by_tenant.is_empty()
    }

    /// The counters for a tenant's controller. `named` are those of the named neighbours; `fresh` is a sample that was not
    /// seen yet.
    pub(super) fn judge(
        &mut self,
        tenant: &str,
        controller: &TenantController,
        named: CounterSnapshot,
        fresh: Option<&(Sample, Instant)>,
    ) -> ContentionReport {
        let Some(detector) = self.by_tenant.get_mut(tenant) else {
            return ContentionReport {
                snapshot: named,
                is_inferred: false,
            };
        };
        if let Some((sample, read)) = fresh {
            let snapshot = detector.snapshot(sample, &self.numa, controller, &named);
            detector.log(tenant, &snapshot, controller.place());
            detector.last = Some((snapshot, *read));
        }
        let Some((last, read)) = &detector.last else {
            return ContentionReport {
                snapshot: named,
                is_inferred: false,
            };
        };
        // Counters that stay away grow stale, and the controller holds.
        let age = read.elapsed().as_millis() / u128::from(self.tick_ms.max(1));
        ContentionReport {
            snapshot: CounterSnapshot {
                age_ticks: u32::try_from(age).unwrap_or(u32::MAX),
                ..last.clone()
            },
            is_inferred: true,
        }
    }
}

impl ContentionDetector {
    fn new(settings: Settings, devices: &[BTreeSet<String>], topology: &PathVisibility) -> Self {
        let place = |values: &BTreeSet<String>| {
            let beside: Option<Vec<Vec<String>>> = values
                .iter()
                .map(|uuid| topology.devices_sharing_path(uuid))
                .collect();
            Devices {
                own: values.clone(),
                beside: beside.map(|all| {
                    let others = all.into_iter().flatten();
                    others.filter(|uuid| !values.contains(uuid)).collect()
                }),
                numa: values.iter().find_map(|uuid| topology.numa(uuid)),
            }
        };
        Self {
            places: devices.iter().map(place).collect(),
            settings,
            sensor: Sensor::new(SensorSettings::default()),
            last: None,
            logged: None,
        }
    }

    /// The counters of a sample, by place.
    fn snapshot(
        &mut self,
        sample: &Sample,
        numa: &BTreeMap<u32, Cpus>,
        controller: &TenantController,
        named: &CounterSnapshot,
    ) -> CounterSnapshot {
        let here = controller.place() as usize;
        let all = || sample.gpus.iter().filter_map(|gpu| gpu.uuid.clone());
        let place = |(at, devices): (usize, &Devices)| {
            let beside = devices.beside.clone().unwrap_or_else(|| all().collect());
            let path = beside.union(&devices.own).cloned().collect();
            // Elsewhere a device of its own may be used by somebody else.
            let nobody = BTreeSet::new();
            let alone = if at == here { &devices.own } else { &nobody };
            let usage = path_use(sample, &path, alone);
            PlaceCounters {
                numa: numa
                    .keys()
                    .position(|key| Some(*key) == devices.numa)
                    .map(|at| at as u32),
                // Who is there is not known: the sensor judges it by the counters.
                heavy: None,
                training: None,
                largest: Some(0),
                pcie_mb_s: usage.pcie_mb_s,
                pcie_retries: usage.pcie_retries,
                sm_percent: usage.sm_percent,
                memory_percent: usage.memory_percent,
                ..PlaceCounters::default()
            }
        };
        let node = |(node, cores): (&u32, &Cpus)| {
            let usage = node_use(sample, *node, cores);
            NumaCounters {
                block_io_mb_s: usage.block_io_mb_s,
                nic_mb_s: usage.nic_mb_s,
                interrupts_per_s: usage.interrupts_per_s,
            }
        };
        let mut snapshot = CounterSnapshot {
            age_ticks: 0,
            places: self.places.iter().enumerate().map(place).collect(),
            numa: numa.iter().map(node).collect(),
        };
        let throttled = controller.is_throttling().then(|| controller.place());
        self.sensor.judge(&mut snapshot, &self.settings, throttled);
        // Without a counter, only the named neighbours are known.
        for (place, named) in snapshot.places.iter_mut().zip(&named.places) {
            if place.pcie_mb_s.is_none() {
                place.heavy = named.heavy;
            }
            if place.sm_percent.is_none() {
                place.training = named.training;
            }
        }
        snapshot
    }

    /// Logs what is inferred of a place, if that is new.
    fn log(&mut self, tenant: &str, snapshot: &CounterSnapshot, place: u32) {
        let Some(seen) = snapshot.places.get(place as usize) else {
            return;
        };
        let now = (seen.heavy.unwrap_or(0) > 0, seen.training == Some(true));
        if self.logged.replace(now) == Some(now) {
            return;
        }
        info!(
            tenant,
            place,
            copies = now.0,
            trains = now.1,
            pcie_mb_s = seen.pcie_mb_s,
            sm_percent = seen.sm_percent,
            "contention, inferred from counters"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::parse_toml;

    /// A machine with drivers, whose topology is known.
    fn machine() -> (tempfile::TempDir, fake_nvml::Fake, Live) {
        let folder = tempfile::tempdir().unwrap();
        let config = fake_nvml::Config::new("dgx-a100").with_state(folder.path().join("state"));
        let library = fake_nvml::built_library().unwrap();
        fake_nvml::install(&library, folder.path(), &config).unwrap();
        let fake = fake_nvml::Fake::open(&config).unwrap();
        let mut live = Live::default();
        live.nvml = folder.path().join("libnvidia-ml.so.1");
        live.nvidia_smi = folder.path().join("none");
        live.cache = None;
        (folder, fake, live)
    }

    fn config(contention: &str, device: &str) -> SloConfig {
        let text = format!(
            "contention = \"{contention}\"\n[tenants.api]\nlatency_slo_ms = 15\ndevices = [[\"{device}\"]]\n"
        );
        parse_toml(&text).unwrap()
    }

    const EVERY: Duration = Duration::from_millis(5);

    /// Asks until drivers have answered.
    fn learn(own: &mut ContentionDetectors, config: &SloConfig, live: &Live) -> bool {
        let begun = Instant::now();
        while own.asked.is_some() {
            assert!(begun.elapsed() < Duration::from_secs(60), "no answer");
            if own.learn(config, live) {
                return true;
            }
            thread::sleep(EVERY);
        }
        false
    }

    #[test]
    fn a_driver_that_fails_at_the_start_hides_nothing_and_is_asked_again() {
        let (_folder, fake, live) = machine();
        for call in [
            "nvmlDeviceGetTopologyCommonAncestor",
            "nvmlDeviceGetCount_v2",
        ] {
            let fails = fake_nvml::Fault::new(call, fake_nvml::Code::Unknown);
            for (contention, is_by_counters) in [("auto", false), ("counters", true)] {
                let config = config(contention, fake.uuid(0).unwrap());
                fake.inject(fails.clone()).unwrap();
                let mut detectors = ContentionDetectors::asking(&config, &live, EVERY).unwrap();
                assert!(detectors.asked.is_some(), "{call}");
                thread::sleep(4 * EVERY);
                assert!(!detectors.learn(&config, &live), "{call}");
                assert!(
                    !detectors.needs_devices(),
                    "{call}: the named ones, until it is known"
                );
                fake.clear_faults().unwrap();
                assert_eq!(
                    learn(&mut detectors, &config, &live),
                    is_by_counters,
                    "{call}"
                );
                assert_eq!(detectors.needs_devices(), is_by_counters, "{call}");
            }
        }
    }

    #[test]
    fn a_device_of_a_tenant_that_the_machine_does_not_have_is_refused() {
        let (_folder, fake, live) = machine();
        let uuid = fake.uuid(0).unwrap().to_owned();
        for contention in ["auto", "counters"] {
            let refused = |device: &str| {
                let detectors =
                    ContentionDetectors::asking(&config(contention, device), &live, EVERY);
                detectors.err().map(|error| error.to_string())
            };
            assert_eq!(refused(&uuid), None);
            // Samples name devices by UUIDs alone.
            for other in ["GPU-0", "GPU0", &format!("{uuid}0")] {
                let error = refused(other).unwrap();
                let expected = format!("slo.tenants.api.devices: this machine has no `{other}`");
                assert!(error.contains(&expected), "{error}");
            }
        }
    }
}
