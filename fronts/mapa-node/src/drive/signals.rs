//! What the host has done lately, as schedulers are told.
//!
//! What a machine does not show is missing, and not zero: a scheduler that needs it holds still.

use std::collections::BTreeMap;
use std::fs;

use mapa_live::telemetry::{Sample, Watched};
use mapa_live::{Cpus, Live, telemetry};
use mapa_sched::Signals;

use super::facts::MACHINE;
use crate::node::Node;

/// The counters that the kernel and the drivers have.
pub(crate) struct Host {
    sampler: telemetry::Sampler,
    /// The CPUs of each NUMA node; empty if the machine does not say.
    cpus: BTreeMap<u32, Cpus>,
    is_live: bool,
}

impl Host {
    /// The counters of this machine.
    pub(crate) fn new(live: &Live) -> Self {
        Self {
            sampler: telemetry::Sampler::new(live.clone(), Watched::default()),
            cpus: cpus(live),
            is_live: true,
        }
    }
}

/// The CPUs of each NUMA node.
fn cpus(live: &Live) -> BTreeMap<u32, Cpus> {
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

impl Host {
    /// What was done since the last sample; none for the first one.
    pub(super) fn sample(&mut self, node: &Node, at_ms: u64) -> Option<Signals> {
        if self.is_live != node.is_live() {
            // A machine that is only described has no devices to be asked.
            self.is_live = node.is_live();
            self.sampler.watched().gpus = self.is_live;
        }
        let sample = self.sampler.sample(at_ms);
        sample.interval_ms?;
        Some(signals(&sample, node, &self.cpus))
    }
}

/// A sample as a fact. A value is told in whole numbers: casts of floats saturate.
fn signals(sample: &Sample, node: &Node, cpus: &BTreeMap<u32, Cpus>) -> Signals {
    let mut told = Signals {
        machine: MACHINE,
        ..Signals::default()
    };
    let add = |own: &mut u32, rate: f64| *own = own.saturating_add(rate.round() as u32);
    for disk in &sample.disks {
        let moved = disk.read_mb_s.zip(disk.write_mb_s);
        if let Some((read, written)) = moved {
            // On a machine with one node the kernel does not say where a disk is: it is there.
            let own = told.block_io_mb_s.entry(disk.numa.unwrap_or(0));
            add(own.or_default(), read + written);
        }
    }
    for (&cpu, &rate) in &sample.interrupts_per_s {
        let at = cpus.iter().find(|(_, own)| own.has(cpu));
        let own = told.interrupts.entry(at.map_or(0, |(node, _)| *node));
        add(own.or_default(), rate);
    }
    let graph = node.graph();
    for gpu in &sample.gpus {
        let device = gpu.uuid.as_ref().and_then(|uuid| graph.find(uuid).ok());
        let port = device.and_then(|id| graph.device(id).port);
        let moved = gpu.pcie_receive_mb_s.zip(gpu.pcie_send_mb_s);
        if let Some((port, (received, sent))) = port.zip(moved) {
            add(told.pcie_mb_s.entry(port).or_default(), received + sent);
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use mapa_front::MachineSpec;
    use mapa_live::telemetry::{DiskUse, GpuUse};

    use super::*;
    use crate::disk::Disk;

    #[test]
    fn counters_are_told_by_node_and_port_and_what_is_missing_is_not_told() {
        let loaded = MachineSpec::named("dgx-a100")
            .load(&Disk, &mut |_| {})
            .unwrap();
        let node = Node::new(loaded, true);
        let disk = |numa, read| DiskUse {
            name: "vda".to_owned(),
            device: "254:0".to_owned(),
            numa,
            read_mb_s: read,
            write_mb_s: Some(1.4),
            busy_percent: None,
        };
        let sample = Sample {
            disks: vec![
                disk(None, Some(2.0)),
                disk(Some(1), Some(7.6)),
                disk(Some(1), None),
            ],
            interrupts_per_s: [(0, 10.0), (1, 20.0), (2, 1e12)].into(),
            gpus: vec![GpuUse {
                uuid: Some("GPU-of-nobody".to_owned()),
                pcie_receive_mb_s: Some(1.0),
                pcie_send_mb_s: Some(1.0),
                ..GpuUse::default()
            }],
            ..Sample::default()
        };
        let cpus = [(0, "0-1".parse().unwrap()), (1, "2".parse().unwrap())].into();
        let told = signals(&sample, &node, &cpus);
        assert_eq!(told.block_io_mb_s, [(0, 3), (1, 9)].into());
        assert_eq!(told.interrupts, [(0, 30), (1, u32::MAX)].into());
        assert!(told.pcie_mb_s.is_empty());
    }
}
