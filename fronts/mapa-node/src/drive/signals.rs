//! What the host has done lately, as schedulers are told.
//!
//! What a machine does not show is missing, and not zero: a scheduler that needs it holds still.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Instant;

use mapa_live::{Cpus, Roots};
use mapa_sched::Signals;

use super::facts::MACHINE;
use crate::node::Node;

/// Counters of a machine.
pub(crate) trait Sampler {
    /// What was done since the last sample; none for the first one. `interrupts` are those of each
    /// CPU a second.
    fn sample(&mut self, node: &Node, interrupts: &BTreeMap<u32, u64>) -> Option<Signals>;
}

/// The counters that the kernel has: of disks and of interrupts.
#[derive(Debug)]
pub(crate) struct Host {
    roots: Roots,
    before: Option<(Instant, BTreeMap<String, u64>)>,
}

impl Host {
    /// The counters below these roots.
    pub(crate) fn new(roots: Roots) -> Self {
        Self {
            roots,
            before: None,
        }
    }

    /// The NUMA node of a disk; 0 if the machine does not say.
    fn node_of(&self, disk: &str) -> u32 {
        let file = self
            .roots
            .sys
            .join("block")
            .join(disk)
            .join("device/numa_node");
        let text = fs::read_to_string(file).unwrap_or_default();
        text.trim().parse().unwrap_or(0)
    }

    /// The CPUs of each NUMA node; all CPUs on node 0 if the machine does not say.
    fn cpus(&self) -> BTreeMap<u32, Cpus> {
        let folder = self.roots.sys.join("devices/system/node");
        let Ok(entries) = fs::read_dir(&folder) else {
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
}

impl Sampler for Host {
    fn sample(&mut self, _: &Node, interrupts: &BTreeMap<u32, u64>) -> Option<Signals> {
        let text = fs::read_to_string(self.roots.proc.join("diskstats")).ok()?;
        let (at, now) = (Instant::now(), bytes(&text, &self.roots.sys));
        let (then, before) = self.before.replace((at, now.clone()))?;
        let seconds = at.duration_since(then).as_secs_f64().max(1e-3);
        let mut signals = Signals {
            machine: MACHINE,
            ..Signals::default()
        };
        for (disk, bytes) in &now {
            // A disk that is new has counted since it came.
            let moved = bytes.saturating_sub(before.get(disk).copied().unwrap_or(*bytes));
            let own = signals.block_io_mb_s.entry(self.node_of(disk)).or_default();
            *own = own.saturating_add((moved as f64 / 1e6 / seconds) as u32);
        }
        let cpus = self.cpus();
        for (&cpu, &rate) in interrupts {
            let node = cpus.iter().find(|(_, own)| own.has(cpu));
            let own = signals
                .interrupts
                .entry(node.map_or(0, |(node, _)| *node))
                .or_default();
            *own = own.saturating_add(u32::try_from(rate).unwrap_or(u32::MAX));
        }
        Some(signals)
    }
}

/// The bytes that whole disks have read and written, by name.
fn bytes(diskstats: &str, sys: &Path) -> BTreeMap<String, u64> {
    let disk = |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let name = *fields.get(2)?;
        // Partitions are parts of disks, and have no folder of their own.
        sys.join("block").join(name).exists().then_some(())?;
        // Sectors are of 512 bytes, whatever the disk's are.
        let sectors = |at: usize| fields.get(at)?.parse::<u64>().ok();
        Some((
            name.to_owned(),
            sectors(5)?.saturating_add(sectors(9)?).saturating_mul(512),
        ))
    };
    diskstats.lines().filter_map(disk).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_are_counted_and_partitions_are_not() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("block/vda")).unwrap();
        let text = " 254 0 vda 10 0 100 5 20 0 300 7 0 1 2\n 254 1 vda1 10 0 90 5 20 0 300 7 0 1 2\n 1 0\n";
        let found = bytes(text, folder.path());
        assert_eq!(found, BTreeMap::from([("vda".to_owned(), 400 * 512)]));
    }
}
