//! Reader for the tree in which AMD's kernel driver KFD describes a machine: `/sys/class/kfd/kfd/topology/nodes`.
//!
//! Every processor and every GPU is a node, with its properties, its memory banks, its links to neighbours (`io_links`)
//! and its ways over PCIe to peers (`p2p_links`). It says more than any tool that is fed by it: the links of each pair
//! and their bandwidth, the processor each GPU hangs from, memory. The tree is read in place ([`read_kfd`]), or from
//! what `grep -r "" /sys/class/kfd/kfd/topology/nodes` prints, from whatever folder.
//!
//! The steps: [`tree`] makes a map of the files of either; [`machine`] makes a machine of the map.

mod machine;
mod tree;

use std::path::Path;

use crate::dump::Dump;
use crate::error::Error;
use tree::Tree;

/// A line of a node's properties, or of a link's.
pub(super) fn is(text: &str) -> bool {
    const KEYS: [&str; 5] = ["cpu_cores_count", "simd_count", "gfx_target_version", "node_from", "node_to"];
    text.lines().any(|line| tree::entry(line).is_some_and(|entry| KEYS.contains(&entry.key)))
}

/// Reads what `grep -r "" /sys/class/kfd/kfd/topology/nodes` prints.
///
/// Devices are the nodes with compute units, in their order, as AMD's libraries number them; processors are NUMA nodes
/// by their number. A pair's bandwidth and number of links are the driver's; where it gives none for any pair, one link
/// of the architecture's rate. A path through the host is as fast as the slower of two links to processors.
///
/// # Errors
/// A file that is there twice; numbers that are none; links that are cut off or lead to nodes that are; two ends of a
/// link that disagree. The message names the line.
pub(super) fn read(text: &str) -> Result<Dump, Error> {
    machine::build(&Tree::from_text(text)?)
}

/// Reads the tree of AMD's kernel driver KFD as it lies in sysfs: `/sys/class/kfd/kfd/topology/nodes`, a copy of it, or
/// a folder above that has `topology/nodes` or `nodes` in it.
///
/// With [`live::discover`](crate::live::discover), the one function of this crate that reads files. It reads at most 4 KiB of
/// each, and at most 200,000 of them. What the kernel hides from a container is left out, with a warning.
///
/// ```no_run
/// let dump = mapa_topologies::read_kfd("/sys/class/kfd/kfd/topology/nodes".as_ref())?;
/// println!("{}", dump.machine.title);
/// # Ok::<(), mapa_topologies::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable): no such folder, or a file in it that cannot be read. Else
/// as for the text that `grep` prints of it; the message names the file.
pub fn read_kfd(root: &Path) -> Result<Dump, Error> {
    machine::build(&Tree::from_folder(root)?)
}
