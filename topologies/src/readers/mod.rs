//! Readers of machine descriptions, one module for each kind, and the table by which a text is
//! recognised.

mod amd;
mod amd_smi_topology;
mod amd_smi_xgmi;
pub(crate) mod escaped;
mod headings;
mod hwloc;
pub(crate) mod infer;
mod kfd;
mod lspci;
mod nccl_graph;
mod nccl_log;
mod nccl_topology;
mod nccl_tree;
mod nvidia_smi_list;
mod nvidia_smi_mig;
mod nvidia_smi_nvlink;
mod nvidia_smi_p2p;
mod nvidia_smi_topo;
mod pairs;
mod rocm_smi;
pub(crate) mod sections;
mod slurm_gres;
mod text;
mod unsupported;
mod xml;

use crate::dump::Dump;
use crate::error::{Error, ErrorKind};
use crate::kind::Kind;
use crate::machine::Machine;

pub use kfd::KfdTree;

/// The most bytes that a description may have: 16 MiB, some hundred times the largest that is
/// known.
pub const MAX_BYTES: usize = 16 << 20;

/// The most bytes of a description that is a table or a configuration of devices, which is split into words as a whole: 1 MiB,
/// some ten times the largest that is known. Logs, lists of devices and XML may have [`MAX_BYTES`].
pub const MAX_TABLE_BYTES: usize = 1 << 20;

/// One kind of description: how it is recognised and read.
struct ReaderRow {
    kind: Kind,
    is: fn(&str) -> bool,
    read: fn(&str) -> Result<Dump, Error>,
}

/// The readers, in the order in which a text is tested. `topo -m` accepts any matrix with devices, so it
/// comes behind the other outputs of `nvidia-smi`. The log of a job is last: it may print any of the others.
const READERS: [ReaderRow; 16] = [
    ReaderRow {
        kind: Kind::MachineFile,
        is: is_machine_file,
        read: read_machine_file,
    },
    ReaderRow {
        kind: Kind::NcclTopology,
        is: nccl_topology::is,
        read: nccl_topology::read,
    },
    ReaderRow {
        kind: Kind::NcclGraph,
        is: nccl_graph::is,
        read: nccl_graph::read,
    },
    ReaderRow {
        kind: Kind::Hwloc,
        is: hwloc::is,
        read: hwloc::read,
    },
    ReaderRow {
        kind: Kind::SlurmGres,
        is: slurm_gres::is,
        read: slurm_gres::read,
    },
    ReaderRow {
        kind: Kind::Kfd,
        is: kfd::is,
        read: kfd::read,
    },
    ReaderRow {
        kind: Kind::AmdSmiXgmi,
        is: amd_smi_xgmi::is,
        read: amd_smi_xgmi::read,
    },
    ReaderRow {
        kind: Kind::AmdSmiTopology,
        is: amd_smi_topology::is,
        read: amd_smi_topology::read,
    },
    ReaderRow {
        kind: Kind::RocmSmi,
        is: rocm_smi::is,
        read: rocm_smi::read,
    },
    ReaderRow {
        kind: Kind::Lspci,
        is: lspci::is,
        read: lspci::read,
    },
    ReaderRow {
        kind: Kind::NvidiaSmiMig,
        is: nvidia_smi_mig::is,
        read: nvidia_smi_mig::read,
    },
    ReaderRow {
        kind: Kind::NvidiaSmiP2p,
        is: nvidia_smi_p2p::is,
        read: nvidia_smi_p2p::read,
    },
    ReaderRow {
        kind: Kind::NvidiaSmiNvlink,
        is: nvidia_smi_nvlink::is,
        read: nvidia_smi_nvlink::read,
    },
    ReaderRow {
        kind: Kind::NvidiaSmiList,
        is: nvidia_smi_list::is,
        read: nvidia_smi_list::read,
    },
    ReaderRow {
        kind: Kind::NvidiaSmiTopo,
        is: nvidia_smi_topo::is,
        read: nvidia_smi_topo::read,
    },
    ReaderRow {
        kind: Kind::NcclLog,
        is: nccl_log::is,
        read: nccl_log::read,
    },
];

impl Kind {
    /// All kinds of descriptions, in the order in which a text is tested for them.
    pub fn all() -> impl Iterator<Item = Self> {
        READERS.iter().map(|reader| reader.kind)
    }

    /// Reads a text as this kind, without recognising it first.
    ///
    /// # Errors
    /// - If the text has more than [`MAX_BYTES`]; for a table, more than [`MAX_TABLE_BYTES`].
    /// - If the text is malformed. The message names the line or element and the expected form.
    /// - If the kind is that of merged dumps, which has no text.
    pub fn read(self, text: &str) -> Result<Dump, Error> {
        let is_table = matches!(
            self,
            Self::AmdSmiTopology
                | Self::AmdSmiXgmi
                | Self::NvidiaSmiP2p
                | Self::NvidiaSmiTopo
                | Self::RocmSmi
                | Self::SlurmGres
        );
        check_size_of(
            text.len(),
            if is_table { MAX_TABLE_BYTES } else { MAX_BYTES },
        )?;
        let reader = READERS.iter().find(|reader| reader.kind == self);
        reader.map_or_else(
            || {
                Err(Error::new(
                    "merged dumps have no text: expected another kind",
                ))
            },
            |reader| (reader.read)(text),
        )
    }
}

/// Recognises the kind of a description.
///
/// # Errors
/// - [`ErrorKind::Unsupported`]: a known kind that has no reader. The message names what to use
///   instead.
/// - [`ErrorKind::TooLarge`]: XML with entities.
/// - [`ErrorKind::Unknown`]: no known kind.
pub fn recognise(text: &str) -> Result<Kind, Error> {
    if let Some(reader) = READERS.iter().find(|reader| (reader.is)(text)) {
        // A whole machine file may name other vendors' tools.
        let is_table = [Kind::NvidiaSmiTopo, Kind::RocmSmi].contains(&reader.kind);
        return match unsupported::other_vendor(text).filter(|_| is_table) {
            Some(what) => Err(Error::of_kind(ErrorKind::Unsupported, what)),
            None => Ok(reader.kind),
        };
    }
    if text.trim().is_empty() {
        return Err(Error::of_kind(
            ErrorKind::Unknown,
            "the text is empty: expected the output of a vendor's tool",
        ));
    }
    if text.trim_start().starts_with('<') && text.contains("<!ENTITY") {
        let what = "XML with entities is not read: expected plain elements and attributes";
        return Err(Error::of_kind(ErrorKind::TooLarge, what));
    }
    if let Some(what) = unsupported::advice(text) {
        return Err(Error::of_kind(ErrorKind::Unsupported, what));
    }
    let known: Vec<&str> = Kind::all().map(Kind::name).collect();
    let what = format!(
        "no known description of a machine: expected the text of one of {}",
        known.join(", ")
    );
    Err(Error::of_kind(ErrorKind::Unknown, what))
}

/// Whether a text has an output of this kind, perhaps among others.
fn has(kind: Kind, text: &str) -> bool {
    let reader = READERS.iter().find(|reader| reader.kind == kind);
    reader.is_some_and(|reader| (reader.is)(text))
}

pub(crate) fn check_size(bytes: usize) -> Result<(), Error> {
    check_size_of(bytes, MAX_BYTES)
}

fn check_size_of(bytes: usize, most: usize) -> Result<(), Error> {
    mapa_core::check_size(bytes, most).map_err(|what| {
        let what = format!("{what}, far more than any machine's description has");
        Error::of_kind(ErrorKind::TooLarge, what)
    })
}

/// Whether a text is a machine file: one of its lines begins with `format =`.
fn is_machine_file(text: &str) -> bool {
    text.lines()
        .filter_map(|line| line.trim_start().strip_prefix("format"))
        .any(|rest| rest.trim_start().starts_with('='))
}

fn read_machine_file(text: &str) -> Result<Dump, Error> {
    Machine::from_toml(text).map(Dump::from)
}
