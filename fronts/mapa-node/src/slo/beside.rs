//! Who is beside a tenant, inferred from counters: on a host that hides which devices share a path, nobody can name
//! the neighbours there.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use mapa_live::Live;
use mapa_live::telemetry::{self, Sample, SloNuma, SloPlace};
use mapa_sched::slo::replay::{Sensor, SensorSettings};
use mapa_sched::slo::{Settings, Snapshot};
use tracing::{info, warn};

use super::config::{Config, Contention};
use super::mind::Mind;
use crate::drive::sampling::cpus;
use crate::error::Error;
use crate::topology::Topology;

/// How it is known who is beside the tenants.
pub(super) struct Besides {
    by_tenant: BTreeMap<String, Beside>,
    numa: Vec<SloNuma>,
    tick_ms: u64,
}

/// One tenant whose contention is inferred.
struct Beside {
    /// Its devices and those that share their path, by place.
    places: Vec<Devices>,
    settings: Settings,
    sensor: Sensor,
    /// What the last sample came to, and when its counters were read.
    last: Option<(Snapshot, Instant)>,
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
pub(super) struct Judged {
    /// What its controller is told.
    pub snapshot: Snapshot,
    /// Whether contention was inferred from counters.
    pub is_inferred: bool,
}

impl Besides {
    /// By the configuration, and by what this machine shows. The log says which.
    ///
    /// # Errors
    /// Settings that are out of their bounds.
    pub(super) fn new(config: &Config, live: &Live) -> Result<Self, Error> {
        let mut own = Self {
            by_tenant: BTreeMap::new(),
            numa: Vec::new(),
            tick_ms: config.settings.tick_ms.0,
        };
        let has_devices = config.tenants.values().any(|own| !own.devices.is_empty());
        if config.contention == Contention::Named || !has_devices {
            info!("contention is that of the neighbours that are named");
            return Ok(own);
        }
        let topology = Topology::of(live);
        let is_placed = config.neighbours.values().any(|own| !own.places.is_empty());
        if config.contention == Contention::Auto && (topology.hidden.is_none() || is_placed) {
            let why = if is_placed {
                "the configuration says which places neighbours are beside"
            } else {
                "the topology is known"
            };
            info!(why, "contention is that of the neighbours that are named");
            return Ok(own);
        }
        let why = match &topology.hidden {
            Some(why) => format!("the topology is hidden: {why}"),
            None => "the configuration says so".to_owned(),
        };
        let nodes = cpus(live);
        own.numa = nodes
            .into_iter()
            .map(|(node, beside)| SloNuma { node, beside })
            .collect();
        for (name, tenant) in &config.tenants {
            if tenant.devices.is_empty() {
                let hint = "expected `devices`";
                info!(
                    tenant = name,
                    hint, "contention is that of the neighbours that are named"
                );
                continue;
            }
            let beside = Beside::new(config.settings_of(name)?, &tenant.devices, &topology);
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
            own.by_tenant.insert(name.clone(), beside);
        }
        Ok(own)
    }

    /// Whether the counters of devices are needed.
    pub(super) fn needs_devices(&self) -> bool {
        !self.by_tenant.is_empty()
    }

    /// What a tenant's controller is told. `named` is what the named neighbours come to; `news` a sample that was not
    /// seen yet.
    pub(super) fn judge(
        &mut self,
        tenant: &str,
        mind: &Mind,
        named: Snapshot,
        news: Option<&(Sample, Instant)>,
    ) -> Judged {
        let Some(own) = self.by_tenant.get_mut(tenant) else {
            return Judged {
                snapshot: named,
                is_inferred: false,
            };
        };
        if let Some((sample, read)) = news {
            let told = own.told(sample, &self.numa, mind, &named);
            own.log(tenant, &told, mind.place());
            own.last = Some((told, *read));
        }
        let Some((last, read)) = &own.last else {
            return Judged {
                snapshot: named,
                is_inferred: false,
            };
        };
        // Counters that stay away grow stale, and the controller holds.
        let age = read.elapsed().as_millis() / u128::from(self.tick_ms.max(1));
        Judged {
            snapshot: Snapshot {
                age_ticks: u32::try_from(age).unwrap_or(u32::MAX),
                ..last.clone()
            },
            is_inferred: true,
        }
    }
}

impl Beside {
    fn new(settings: Settings, devices: &[BTreeSet<String>], topology: &Topology) -> Self {
        let place = |own: &BTreeSet<String>| {
            let beside: Option<Vec<Vec<String>>> =
                own.iter().map(|uuid| topology.beside(uuid)).collect();
            Devices {
                own: own.clone(),
                beside: beside.map(|all| {
                    let others = all.into_iter().flatten();
                    others.filter(|uuid| !own.contains(uuid)).collect()
                }),
                numa: own.iter().find_map(|uuid| topology.numa(uuid)),
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

    /// What a sample comes to.
    fn told(
        &mut self,
        sample: &Sample,
        numa: &[SloNuma],
        mind: &Mind,
        named: &Snapshot,
    ) -> Snapshot {
        let here = mind.place() as usize;
        let all = || sample.gpus.iter().filter_map(|gpu| gpu.uuid.clone());
        let place = |(at, devices): (usize, &Devices)| {
            let beside = devices.beside.clone().unwrap_or_else(|| all().collect());
            SloPlace {
                numa: numa
                    .iter()
                    .position(|own| Some(own.node) == devices.numa)
                    .map(|at| at as u32),
                devices: beside.union(&devices.own).cloned().collect(),
                // Elsewhere a device of its own may be used by somebody else.
                own: if at == here {
                    devices.own.clone()
                } else {
                    BTreeSet::new()
                },
                largest: Some(0),
                ..SloPlace::default()
            }
        };
        let places: Vec<SloPlace> = self.places.iter().enumerate().map(place).collect();
        let mut told = telemetry::snapshot(sample, 0, &places, numa);
        let throttled = mind.is_throttling().then(|| mind.place());
        self.sensor.judge(&mut told, &self.settings, throttled);
        // Where a counter is not told, the neighbours that are named are all that is known.
        for (own, named) in told.places.iter_mut().zip(&named.places) {
            if own.pcie_mb_s.is_none() {
                own.heavy = named.heavy;
            }
            if own.sm_percent.is_none() {
                own.training = named.training;
            }
        }
        told
    }

    /// Logs what is inferred of a place, if that is new.
    fn log(&mut self, tenant: &str, told: &Snapshot, place: u32) {
        let Some(own) = told.places.get(place as usize) else {
            return;
        };
        let now = (own.heavy.unwrap_or(0) > 0, own.training == Some(true));
        if self.logged.replace(now) == Some(now) {
            return;
        }
        info!(
            tenant,
            place,
            copies = now.0,
            trains = now.1,
            pcie_mb_s = own.pcie_mb_s,
            sm_percent = own.sm_percent,
            "contention, inferred from counters"
        );
    }
}
