//! What a controller is told besides latencies: every signal that the paper names, with its place.

use serde::{Deserialize, Serialize};

use super::settings::Settings;

/// The counters of one tick, over all places where the tenant could be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CounterSnapshot {
    /// How many ticks ago the counters were read.
    pub age_ticks: u32,
    /// The places, by id. A place that is not listed is never chosen.
    pub places: Vec<PlaceCounters>,
    /// The NUMA nodes of all hosts, by id. Empty if not known.
    #[serde(default)]
    pub numa: Vec<NumaCounters>,
}

/// The counters of one place: a PCIe switch, or whatever the host shows of it.
///
/// A counter that cannot be read is `None`. On a host with an opaque topology `heavy` and `training`
/// are `None` too; they are then inferred from traffic and from the use of multiprocessors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PlaceCounters {
    /// The host.
    pub host: u32,
    /// The NUMA node, as an index into [`CounterSnapshot::numa`].
    #[serde(default)]
    pub numa: Option<u32>,
    /// How many neighbours copy over the same path now, where the topology is known.
    #[serde(default)]
    pub heavy: Option<u32>,
    /// Whether a neighbour trains on the same switch now, where the topology is known.
    #[serde(default)]
    pub training: Option<bool>,
    /// The largest profile that fits here, the tenant's own slice counted as free; `None`: none.
    pub largest: Option<u8>,
    /// Whether a newcomer here would break the promise of another tenant.
    #[serde(default)]
    pub closed: bool,
    /// Traffic of others over the path, MB/s.
    #[serde(default)]
    pub pcie_mb_s: Option<u32>,
    /// PCIe retries a second.
    #[serde(default)]
    pub pcie_retries: Option<u32>,
    /// Use of the multiprocessors by others, percent.
    #[serde(default)]
    pub sm_percent: Option<u32>,
    /// Use of the memory bandwidth by others, percent.
    #[serde(default)]
    pub memory_percent: Option<u32>,
}

/// The counters of a NUMA node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NumaCounters {
    /// Block I/O, MB/s.
    #[serde(default)]
    pub block_io_mb_s: Option<u32>,
    /// Network traffic, MB/s.
    #[serde(default)]
    pub nic_mb_s: Option<u32>,
    /// Interrupts a second on the cores beside the tenant's.
    #[serde(default)]
    pub interrupts_per_s: Option<u32>,
}

/// Who shares a place with the tenant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contention {
    /// How many neighbours copy.
    pub heavy: u32,
    /// Whether one trains.
    pub training: bool,
}

impl PlaceCounters {
    /// Who is here: as told, or inferred from counters. A counter that is missing says that
    /// nobody is.
    #[must_use]
    pub fn contention(&self, settings: &Settings) -> Contention {
        let busy = |number: Option<u32>, from: u32| number.is_some_and(|number| number >= from);
        Contention {
            heavy: self
                .heavy
                .unwrap_or_else(|| u32::from(busy(self.pcie_mb_s, settings.heavy_mb_s))),
            training: self
                .training
                .unwrap_or_else(|| busy(self.sm_percent, settings.training_percent)),
        }
    }

    /// Whether a profile fits here.
    #[must_use]
    pub fn fits(&self, profile: u8) -> bool {
        self.largest.is_some_and(|largest| profile <= largest)
    }
}

impl CounterSnapshot {
    /// Who shares a place with the tenant; nobody at a place that is not listed.
    #[must_use]
    pub fn contention(&self, place: u32, settings: &Settings) -> Contention {
        let own = self.places.get(place as usize);
        own.map_or_else(Contention::default, |place| place.contention(settings))
    }

    /// Whether the counters are too old to act on.
    #[must_use]
    pub fn is_stale(&self, settings: &Settings) -> bool {
        self.age_ticks > settings.stale_ticks
    }

    /// The placement score of every place for a tenant, less is better. The paper's terms: (i) who
    /// shares the PCIe path, (ii) block I/O on the NUMA node, (iii) interrupts on adjacent cores.
    ///
    /// A throttle ends within half a minute, so a score does not count on one.
    #[must_use]
    pub fn score(&self, place: u32, profile: u8, from: u32, settings: &Settings) -> f64 {
        let Some(own) = self.places.get(place as usize) else {
            return f64::INFINITY;
        };
        let weights = &settings.weights;
        let who = own.contention(settings);
        let transfer = settings
            .model
            .slowdown(profile, who.heavy, who.training, false)
            .transfer;
        let mut score = weights.transfer * (transfer - 1.0);
        if who.training {
            score += weights.training;
        }
        let home = self.places.get(from as usize).map(|place| place.host);
        if home.is_some_and(|home| home != own.host) {
            score += weights.other_host;
        }
        if let Some(numa) = own.numa.and_then(|at| self.numa.get(at as usize)) {
            let block = f64::from(numa.block_io_mb_s.unwrap_or(0)) / 1e3;
            let interrupts = f64::from(numa.interrupts_per_s.unwrap_or(0)) / 1e5;
            score += weights.block_io * block + weights.interrupts * interrupts;
        }
        score
    }
}
