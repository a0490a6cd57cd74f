//! Reader for the tree in which AMD's kernel driver KFD describes a machine:
//! `/sys/class/kfd/kfd/topology/nodes`.
//!
//! Every processor and every GPU is a node, with its properties, its memory banks, its links to
//! neighbours (`io_links`) and its paths over PCIe to peers (`p2p_links`). The tree has more
//! information than any tool that reads it: the links of each pair and their bandwidth, the
//! processor of each GPU, and memory. The tree is read file by file ([`KfdTree`]), or from the
//! output of `grep -r "" /sys/class/kfd/kfd/topology/nodes`. The folder may have any name.
//!
//! [`tree`] makes a map of the files from either source, and [`machine`] builds a machine from the
//! map.

mod machine;
mod tree;

use std::path::PathBuf;

use crate::dump::Dump;
use crate::error::Error;
use tree::KfdFiles;

/// Whether a text has a line of the properties of a node or link.
pub(super) fn is(text: &str) -> bool {
    const KEYS: [&str; 5] = [
        "cpu_cores_count",
        "simd_count",
        "gfx_target_version",
        "node_from",
        "node_to",
    ];
    text.lines()
        .any(|line| tree::entry(line).is_some_and(|entry| KEYS.contains(&entry.key)))
}

/// Reads the output of `grep -r "" /sys/class/kfd/kfd/topology/nodes`.
///
/// Devices are the nodes with compute units, in the order of the nodes, as AMD's libraries number
/// them. Processors are NUMA nodes with the number of their node. A pair's bandwidth and number of
/// links are the driver's. If the driver gives none for any pair, each pair gets one link of the
/// architecture's rate. A path through the host is as fast as the slower of the two links to
/// processors.
///
/// # Errors
/// A file that appears twice; a value that is not a number; a link that is cut off, or leads to a
/// node that is cut off; two ends of a link that disagree. The message names the line.
pub(super) fn read(text: &str) -> Result<Dump, Error> {
    machine::build(&KfdFiles::from_text(text)?)
}

/// The topology tree of AMD's kernel driver KFD, filled file by file. The caller reads the files.
///
/// This crate does no I/O: `mapa_live::read_kfd` walks a folder and passes its files to this type.
/// To read the output of `grep -r ""` for the tree, use [`read`](crate::read).
///
/// # Examples
/// ```
/// use mapa_topologies::KfdTree;
///
/// let mut tree = KfdTree::new("/sys/class/kfd/kfd/topology/nodes");
/// tree.add_file("0/properties", "cpu_cores_count 64\nsimd_count 0\n")?;
/// tree.add_file("1/properties", "cpu_cores_count 0\nsimd_count 416\nio_links_count 0\n")?;
/// let dump = tree.read()?;
/// assert_eq!(dump.machine.fabric.device_count(), 1);
/// # Ok::<(), mapa_topologies::Error>(())
/// ```
#[derive(Debug)]
pub struct KfdTree(KfdFiles);

impl KfdTree {
    /// An empty tree. `root` is the folder of the nodes, which error messages name.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self(KfdFiles::in_folder(root.into()))
    }

    /// Adds a file by its path below the root, such as `2/io_links/0/properties`. A file without
    /// information about the machine, such as `2/caches/0/properties`, is ignored.
    ///
    /// # Errors
    /// A value that is not a number; a file that was added before; too many files
    /// ([`ErrorKind::TooLarge`](crate::ErrorKind::TooLarge)). The message names the file.
    pub fn add_file(&mut self, path: &str, text: &str) -> Result<(), Error> {
        self.0.add_file(path, text)
    }

    /// Records that a file exists which this user may not read. The machine then has a warning.
    pub fn add_hidden(&mut self, path: &str) {
        self.0.add_hidden(path);
    }

    /// Whether no file with information about the machine was added.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.files.is_empty() && self.0.hidden.is_empty()
    }

    /// Reads the machine that the files describe.
    ///
    /// # Errors
    /// A link that is cut off, or leads to a node that is cut off; two ends of a link that
    /// disagree. The message names the file.
    pub fn read(self) -> Result<Dump, Error> {
        machine::build(&self.0)
    }
}
