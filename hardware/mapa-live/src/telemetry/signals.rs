//! What a sample says of a path that devices share, and of a NUMA node. Who asks puts it into the terms of its
//! controller. A counter that is missing stays `None`.

use std::collections::BTreeSet;

use super::gpu::GpuUse;
use super::sampler::Sample;
use crate::kernel::Cpus;

/// The use of a path by the devices on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathUse {
    /// What they move over PCIe, both ways, MB/s.
    pub pcie_mb_s: Option<u32>,
    /// How often PCIe repeats what was spoiled on the way, each second.
    pub pcie_retries: Option<u32>,
    /// The share of time in which the busiest one computes, percent.
    pub sm_percent: Option<u32>,
    /// The share of time in which the memory of the busiest one is read or written, percent.
    pub memory_percent: Option<u32>,
}

/// The use of a NUMA node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeUse {
    /// The block I/O of its disks, MB/s.
    pub block_io_mb_s: Option<u32>,
    /// The traffic of its network devices, both ways, MB/s.
    pub nic_mb_s: Option<u32>,
    /// The interrupts at the cores that were asked after, each second.
    pub interrupts_per_s: Option<u32>,
}

/// The use of a path by `devices`, named by UUID, without those that the asker has alone. The traffic of others over a
/// device that it shares with them cannot be separated from its own by any counter, and is left out.
///
/// O(devices of the sample).
#[must_use]
pub fn path_use(sample: &Sample, devices: &BTreeSet<String>, alone: &BTreeSet<String>) -> PathUse {
    let others: Vec<&GpuUse> = sample
        .gpus
        .iter()
        .filter(|gpu| {
            let uuid = gpu.uuid.as_ref();
            uuid.is_some_and(|uuid| devices.contains(uuid) && !alone.contains(uuid))
        })
        .collect();
    // A sum without one of its parts is too little, and so not known.
    let known = others.len() == devices.difference(alone).count();
    let sum = |of: fn(&GpuUse) -> Option<f64>| -> Option<u32> {
        let parts: Option<Vec<f64>> = others.iter().map(|gpu| of(gpu)).collect();
        Some(whole(parts.filter(|_| known)?.iter().sum()))
    };
    // Unlike a sum, the most of the known values says something without the others.
    let most = |of: fn(&GpuUse) -> Option<f64>| -> Option<u32> {
        let parts = others.iter().filter_map(|gpu| of(gpu));
        parts.reduce(f64::max).map(whole)
    };
    PathUse {
        pcie_mb_s: sum(|gpu| Some(gpu.pcie_receive_mb_s? + gpu.pcie_send_mb_s?)),
        pcie_retries: sum(|gpu| gpu.pcie_retries_per_s),
        sm_percent: most(|gpu| gpu.sm_percent),
        memory_percent: most(|gpu| gpu.memory_percent),
    }
}

/// The use of the NUMA node of this number, with the interrupts at `cores`.
///
/// O(disks, network devices and CPUs of the sample).
#[must_use]
pub fn node_use(sample: &Sample, node: u32, cores: &Cpus) -> NodeUse {
    // On a machine with one node the kernel does not say where a disk is: it is there.
    let here = |numa: Option<u32>| numa.is_none_or(|numa| numa == node);
    let sum = |parts: Vec<Option<f64>>| -> Option<u32> {
        let known: Vec<f64> = parts.into_iter().flatten().collect();
        (!known.is_empty()).then(|| whole(known.iter().sum()))
    };
    let disks = sample.disks.iter().filter(|disk| here(disk.numa));
    let nics = sample.nics.iter().filter(|nic| here(nic.numa));
    let beside = sample.interrupts_per_s.iter();
    let beside: Vec<f64> = beside
        .filter(|(cpu, _)| cores.has(**cpu))
        .map(|(_, rate)| *rate)
        .collect();
    NodeUse {
        block_io_mb_s: sum(disks
            .flat_map(|disk| [disk.read_mb_s, disk.write_mb_s])
            .collect()),
        nic_mb_s: sum(nics
            .flat_map(|nic| [nic.receive_mb_s, nic.send_mb_s])
            .collect()),
        interrupts_per_s: (!beside.is_empty()).then(|| whole(beside.iter().sum())),
    }
}

/// A value in whole numbers.
fn whole(value: f64) -> u32 {
    // A cast of a float saturates.
    value.round() as u32
}
