//! From a sample to what the controllers of `mapa_sched::slo` are told.
//!
//! The names are theirs. Where the topology is known, the caller says who shares a place (`heavy`, `training`).
//! Where the host hides it, both are `None`, and the controller infers contention from `pcie_mb_s` and
//! `sm_percent` (`Settings::heavy_mb_s`, `Settings::training_percent`). A counter that is missing stays `None`.

use std::collections::BTreeSet;

use mapa_sched::slo::{Numa, Place, Snapshot};

use super::gpu::GpuUse;
use super::sampler::Sample;
use crate::kernel::Cpus;

/// A place where a tenant could be: what the caller knows of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SloPlace {
    /// The host.
    pub host: u32,
    /// The NUMA node, as an index into the list of [`SloNuma`].
    pub numa: Option<u32>,
    /// The devices on the path, by UUID.
    pub devices: BTreeSet<String>,
    /// Those that the tenant has alone: their traffic and use is its own.
    pub own: BTreeSet<String>,
    /// How many neighbours copy here, where that is known.
    pub heavy: Option<u32>,
    /// Whether a neighbour trains here, where that is known.
    pub training: Option<bool>,
    /// The largest profile that fits here.
    pub largest: Option<u8>,
    /// Whether a newcomer here would break another promise.
    pub closed: bool,
}

/// A NUMA node: what the caller knows of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SloNuma {
    /// The kernel's number.
    pub node: u32,
    /// The cores beside the tenant's: those of the node without its own.
    pub beside: Cpus,
}

/// The counters as the controllers are told them. `age_ticks` is how many ticks ago the sample was taken.
///
/// Traffic and use are those of the devices on the path that are not the tenant's own. The traffic of others over a
/// device that the tenant shares cannot be told from its own by any counter, and is left out.
#[must_use]
pub fn snapshot(
    sample: &Sample,
    age_ticks: u32,
    places: &[SloPlace],
    numa: &[SloNuma],
) -> Snapshot {
    Snapshot {
        age_ticks,
        places: places.iter().map(|own| place(sample, own)).collect(),
        numa: numa.iter().map(|own| node(sample, own)).collect(),
    }
}

/// A value that is told in whole numbers.
fn whole(value: f64) -> u32 {
    // A cast of a float saturates.
    value.round() as u32
}

fn place(sample: &Sample, own: &SloPlace) -> Place {
    let others: Vec<&GpuUse> = sample
        .gpus
        .iter()
        .filter(|gpu| {
            let uuid = gpu.uuid.as_ref();
            uuid.is_some_and(|uuid| own.devices.contains(uuid) && !own.own.contains(uuid))
        })
        .collect();
    // A sum without one of its parts is too little, and so not known.
    let known = others.len() == own.devices.difference(&own.own).count();
    let sum = |of: fn(&GpuUse) -> Option<f64>| -> Option<u32> {
        let parts: Option<Vec<f64>> = others.iter().map(|gpu| of(gpu)).collect();
        Some(whole(parts.filter(|_| known)?.iter().sum()))
    };
    // The busiest one says whether somebody trains.
    let most = |of: fn(&GpuUse) -> Option<f64>| -> Option<u32> {
        let parts = others.iter().filter_map(|gpu| of(gpu));
        parts.reduce(f64::max).map(whole)
    };
    Place {
        host: own.host,
        numa: own.numa,
        heavy: own.heavy,
        training: own.training,
        largest: own.largest,
        closed: own.closed,
        pcie_mb_s: sum(|gpu| Some(gpu.pcie_receive_mb_s? + gpu.pcie_send_mb_s?)),
        pcie_retries: sum(|gpu| gpu.pcie_retries_per_s),
        sm_percent: most(|gpu| gpu.sm_percent),
        memory_percent: most(|gpu| gpu.memory_percent),
    }
}

fn node(sample: &Sample, own: &SloNuma) -> Numa {
    // On a machine with one node the kernel does not say where a disk is: it is there.
    let here = |numa: Option<u32>| numa.is_none_or(|numa| numa == own.node);
    let sum = |parts: Vec<Option<f64>>| -> Option<u32> {
        let known: Vec<f64> = parts.into_iter().flatten().collect();
        (!known.is_empty()).then(|| whole(known.iter().sum()))
    };
    let disks = sample.disks.iter().filter(|disk| here(disk.numa));
    let nics = sample.nics.iter().filter(|nic| here(nic.numa));
    let beside = sample.interrupts_per_s.iter();
    let beside: Vec<f64> = beside
        .filter(|(cpu, _)| own.beside.has(**cpu))
        .map(|(_, rate)| *rate)
        .collect();
    Numa {
        block_io_mb_s: sum(disks
            .flat_map(|own| [own.read_mb_s, own.write_mb_s])
            .collect()),
        nic_mb_s: sum(nics
            .flat_map(|own| [own.receive_mb_s, own.send_mb_s])
            .collect()),
        interrupts_per_s: (!beside.is_empty()).then(|| whole(beside.iter().sum())),
    }
}
