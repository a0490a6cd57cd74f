//! Block I/O: of disks by `/proc/diskstats`, of groups by `io.stat` (cgroup v2) or `blkio` (v1).

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::missing::{MOST, MissingSignal};
use crate::kernel::cgroup::{Version, hierarchy};
use crate::kernel::files;
use crate::roots::Roots;

/// The block I/O of a disk since the last sample. Partitions are part of their disk and not listed, and neither is what
/// the kernel makes of disks: arrays, logical volumes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskUse {
    /// The kernel's name: `nvme0n1`.
    pub name: String,
    /// Its numbers: `259:0`.
    pub device: String,
    /// The NUMA node that it is at, if the kernel says so.
    pub numa: Option<u32>,
    /// MB/s (10^6 bytes) read; `None` in the first sample, or if the counter began anew.
    pub read_mb_s: Option<f64>,
    /// MB/s written; `None` as for reads.
    pub write_mb_s: Option<f64>,
    /// The share of time in which it had something to do, percent.
    pub busy_percent: Option<f64>,
}

/// The block I/O of a control group since the last sample, over all devices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupIo {
    /// The path of the group below the root of its hierarchy.
    pub group: String,
    /// MB/s (10^6 bytes) read.
    pub read_mb_s: Option<f64>,
    /// MB/s written.
    pub write_mb_s: Option<f64>,
}

/// The counters of a disk so far.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DiskCounters {
    pub(crate) name: String,
    pub(crate) device: String,
    pub(crate) numa: Option<u32>,
    pub(crate) read_bytes: u64,
    pub(crate) write_bytes: u64,
    pub(crate) busy_ms: u64,
}

/// The disks of the machine that have ever been used.
pub(crate) fn disks(roots: &Roots) -> Result<Vec<DiskCounters>, MissingSignal> {
    let path = roots.proc.join("diskstats");
    let text = files::read(&path)
        .map_err(|error| MissingSignal::new("disks", format!("{}: {error}", path.display())))?;
    let whole = |name: &str| {
        // A partition has a folder below its disk's and none here; what is made of disks has no device of its own.
        // Without sysfs all are listed.
        let block = roots.sys.join("block");
        !block.is_dir() || block.join(name.replace('/', "!")).join("device").exists()
    };
    let mut disks = Vec::new();
    for line in text.lines().take(MOST) {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let disk = fields.get(..13).and_then(|fields| {
            // Sectors have 512 bytes here, whatever the disk's are.
            let bytes = |at: usize| Some(fields[at].parse::<u64>().ok()?.saturating_mul(512));
            Some(DiskCounters {
                name: fields[2].to_owned(),
                device: format!("{}:{}", fields[0], fields[1]),
                // sysfs writes `!` for the `/` of a name such as `cciss/c0d0`.
                numa: numa_of(
                    &roots
                        .sys
                        .join("block")
                        .join(fields[2].replace('/', "!"))
                        .join("device"),
                ),
                read_bytes: bytes(5)?,
                write_bytes: bytes(9)?,
                busy_ms: fields[12].parse().ok()?,
            })
        });
        disks.extend(disk.filter(|disk| {
            (disk.read_bytes, disk.write_bytes) != (0, 0)
                // The name becomes part of a path.
                && !disk.name.contains("..")
                && whole(&disk.name)
        }));
    }
    Ok(disks)
}

/// The NUMA node of a device, or of the first one above it that has one.
pub(crate) fn numa_of(device: &Path) -> Option<u32> {
    let mut folder = fs::canonicalize(device).ok()?;
    for _ in 0..16 {
        if let Ok(text) = files::read(&folder.join("numa_node")) {
            // The kernel writes -1 where it does not know.
            return text.trim().parse().ok();
        }
        if !folder.pop() {
            break;
        }
    }
    None
}

/// The bytes that a group has read and written so far.
pub(crate) fn group_bytes(roots: &Roots, group: &str) -> Result<(u64, u64), MissingSignal> {
    let missing = |why: String| MissingSignal::new(format!("block I/O of group {group}"), why);
    let found = hierarchy(&roots.cgroup, "blkio", "io");
    let found = found.map_err(|error| missing(format!("{}: {error}", roots.cgroup.display())))?;
    let (version, root) =
        found.ok_or_else(|| missing("expected cgroup v1 blkio or v2 io".to_owned()))?;
    let path = root.join(group).join(match version {
        Version::V1 => "blkio.throttle.io_service_bytes",
        Version::V2 => "io.stat",
    });
    let text = files::read(&path);
    let text = text.map_err(|error| missing(format!("{}: {error}", path.display())))?;
    Ok(match version {
        Version::V1 => v1_bytes(&text),
        Version::V2 => v2_bytes(&text),
    })
}

/// Lines such as `254:0 Read 4096`, then `Write`, `Sync` and so on; a last line `Total`.
fn v1_bytes(text: &str) -> (u64, u64) {
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        if let [_, what, bytes] = fields[..]
            && let Ok(bytes) = bytes.parse::<u64>()
        {
            let sum = sums.entry(what).or_default();
            *sum = sum.saturating_add(bytes);
        }
    }
    let of = |what: &str| sums.get(what).copied().unwrap_or(0);
    (of("Read"), of("Write"))
}

/// Lines such as `254:0 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0`.
fn v2_bytes(text: &str) -> (u64, u64) {
    let mut sums = (0u64, 0u64);
    for word in text.split_ascii_whitespace() {
        let value = |key: &str| word.strip_prefix(key)?.parse::<u64>().ok();
        sums.0 = sums.0.saturating_add(value("rbytes=").unwrap_or(0));
        sums.1 = sums.1.saturating_add(value("wbytes=").unwrap_or(0));
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_whose_name_has_a_slash_has_its_numa_node() {
        let folder = tempfile::tempdir().unwrap();
        let roots = Roots::below(folder.path());
        let device = roots.sys.join("block/cciss!c0d0/device");
        fs::create_dir_all(&device).unwrap();
        fs::write(device.join("numa_node"), "1\n").unwrap();
        fs::create_dir_all(&roots.proc).unwrap();
        let line = "104 0 cciss/c0d0 9 0 8 0 9 0 8 0 0 5 0\n";
        fs::write(roots.proc.join("diskstats"), line).unwrap();
        let found: Vec<_> = disks(&roots)
            .unwrap()
            .into_iter()
            .map(|disk| (disk.name, disk.numa))
            .collect();
        assert_eq!(found, [("cciss/c0d0".to_owned(), Some(1))]);
    }
}
