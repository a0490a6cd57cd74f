//! Readers, one file each, and the one table by which a text is recognised.

mod amd;
mod amd_smi_topology;
mod amd_smi_xgmi;
mod headings;
mod hwloc;
pub(crate) mod infer;
mod kfd;
mod nccl_graph;
mod nccl_topology;
mod nvidia_smi_list;
mod nvidia_smi_mig;
mod nvidia_smi_nvlink;
mod nvidia_smi_p2p;
mod nvidia_smi_topo;
mod pairs;
mod rocm_smi;
mod slurm_gres;
mod text;
mod unsupported;
mod xml;

use crate::dump::Dump;
use crate::error::{self, Error, ErrorKind};
use crate::machine::Machine;

pub use kfd::read_kfd;

/// The most bytes that a description may have: 16 MiB, some hundred times the largest that is known.
pub const MAX_BYTES: usize = 16 << 20;

/// The kinds of description that [`read`] recognises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// MAPA's own machine file.
    MachineFile,
    /// `nvidia-smi topo -m`: what joins every two devices.
    NvidiaSmiTopo,
    /// `nvidia-smi topo -p2p`: which devices reach each other's memory.
    NvidiaSmiP2p,
    /// `nvidia-smi nvlink -s`, `-c`, `-R` or `-g`: links one by one.
    NvidiaSmiNvlink,
    /// `nvidia-smi -L`: devices, their names and UUIDs, their MIG instances.
    NvidiaSmiList,
    /// `nvidia-smi mig -lgip`, `-lgipp` or `-lgi`: MIG profiles, placements or instances.
    NvidiaSmiMig,
    /// NCCL's or RCCL's topology, XML.
    NcclTopology,
    /// NCCL's or RCCL's graphs, XML: the rings and trees it found.
    NcclGraph,
    /// hwloc's XML, of 1.x or 2.x.
    Hwloc,
    /// `rocm-smi --showtopo` and its parts.
    RocmSmi,
    /// `amd-smi topology`, text or JSON.
    AmdSmiTopology,
    /// `amd-smi xgmi`: link speeds and counters.
    AmdSmiXgmi,
    /// Slurm's `gres.conf`, or what `slurmd -G` prints.
    SlurmGres,
    /// Several dumps of one machine, [merged](crate::merge); no text is recognised as this.
    Merged,
    /// AMD KFD's tree in sysfs, as `grep -r "" /sys/class/kfd/kfd/topology/nodes` prints it.
    Kfd,
}

struct Reader {
    kind: Kind,
    name: &'static str,
    is: fn(&str) -> bool,
    read: fn(&str) -> Result<Dump, Error>,
}

/// In the order in which they are asked. The last, `topo -m`, takes any matrix with devices.
const READERS: [Reader; 14] = [
    Reader { kind: Kind::MachineFile, name: "a machine file", is: is_machine_file, read: read_machine_file },
    Reader { kind: Kind::NcclTopology, name: "NCCL topology XML", is: nccl_topology::is, read: nccl_topology::read },
    Reader { kind: Kind::NcclGraph, name: "NCCL graph XML", is: nccl_graph::is, read: nccl_graph::read },
    Reader { kind: Kind::Hwloc, name: "hwloc XML", is: hwloc::is, read: hwloc::read },
    Reader { kind: Kind::SlurmGres, name: "Slurm gres.conf or slurmd -G", is: slurm_gres::is, read: slurm_gres::read },
    Reader { kind: Kind::Kfd, name: "the KFD tree of sysfs", is: kfd::is, read: kfd::read },
    Reader { kind: Kind::AmdSmiXgmi, name: "amd-smi xgmi", is: amd_smi_xgmi::is, read: amd_smi_xgmi::read },
    Reader {
        kind: Kind::AmdSmiTopology,
        name: "amd-smi topology",
        is: amd_smi_topology::is,
        read: amd_smi_topology::read,
    },
    Reader { kind: Kind::RocmSmi, name: "rocm-smi --showtopo", is: rocm_smi::is, read: rocm_smi::read },
    Reader { kind: Kind::NvidiaSmiMig, name: "nvidia-smi mig", is: nvidia_smi_mig::is, read: nvidia_smi_mig::read },
    Reader {
        kind: Kind::NvidiaSmiP2p,
        name: "nvidia-smi topo -p2p",
        is: nvidia_smi_p2p::is,
        read: nvidia_smi_p2p::read,
    },
    Reader {
        kind: Kind::NvidiaSmiNvlink,
        name: "nvidia-smi nvlink",
        is: nvidia_smi_nvlink::is,
        read: nvidia_smi_nvlink::read,
    },
    Reader { kind: Kind::NvidiaSmiList, name: "nvidia-smi -L", is: nvidia_smi_list::is, read: nvidia_smi_list::read },
    Reader {
        kind: Kind::NvidiaSmiTopo,
        name: "nvidia-smi topo -m",
        is: nvidia_smi_topo::is,
        read: nvidia_smi_topo::read,
    },
];

impl Kind {
    /// Every kind, in the order in which a text is held against them.
    pub fn all() -> impl Iterator<Item = Self> {
        READERS.iter().map(|reader| reader.kind)
    }

    /// The command or format that it is, in the words of its vendor.
    #[must_use]
    pub fn name(self) -> &'static str {
        READERS.iter().find(|reader| reader.kind == self).map_or("several dumps", |reader| reader.name)
    }

    /// Reads a text as this kind, whatever it looks like.
    ///
    /// # Errors
    /// As [`read`].
    pub fn read(self, text: &str) -> Result<Dump, Error> {
        check_size(text.len())?;
        let reader = READERS.iter().find(|reader| reader.kind == self);
        reader.map_or_else(|| Err(Error::new("several dumps are merged, not read")), |reader| (reader.read)(text))
    }
}

/// Reads any description of a machine, after [recognising](recognise) what it is.
///
/// # Errors
/// Bytes that are no text; a text of no known kind, or of one that is not read; one that is malformed: the message names
/// the line or element and what was expected there; more than [`MAX_BYTES`].
pub fn read(bytes: &[u8]) -> Result<Dump, Error> {
    check_size(bytes.len())?;
    let text = error::utf8(bytes)?;
    recognise(text)?.read(text)
}

/// Which kind of description a text is.
///
/// # Errors
/// [`ErrorKind::Unsupported`]: a kind that is known and not read; [`ErrorKind::Unknown`]: none that is known.
pub fn recognise(text: &str) -> Result<Kind, Error> {
    if let Some(reader) = READERS.iter().find(|reader| (reader.is)(text)) {
        return Ok(reader.kind);
    }
    if text.trim().is_empty() {
        return Err(Error::of_kind(ErrorKind::Unknown, "the text is empty: expected what a vendor's tool prints"));
    }
    if text.trim_start().starts_with('<') && text.contains("<!ENTITY") {
        let what = "XML with entities is not read: expected plain elements and attributes";
        return Err(Error::of_kind(ErrorKind::TooLarge, what));
    }
    if let Some(what) = unsupported::advice(text) {
        return Err(Error::of_kind(ErrorKind::Unsupported, what));
    }
    let known: Vec<&str> = READERS.iter().map(|reader| reader.name).collect();
    let what = format!("no description of a machine that is known: expected the text of one of {}", known.join(", "));
    Err(Error::of_kind(ErrorKind::Unknown, what))
}

fn check_size(bytes: usize) -> Result<(), Error> {
    if bytes > MAX_BYTES {
        let what = format!("{bytes} bytes: expected at most {MAX_BYTES}, far more than any machine's description has");
        return Err(Error::of_kind(ErrorKind::TooLarge, what));
    }
    Ok(())
}

/// A machine file has a line that begins with `format =`.
fn is_machine_file(text: &str) -> bool {
    let setting =
        |line: &str| line.trim_start().strip_prefix("format").is_some_and(|rest| rest.trim_start().starts_with('='));
    text.lines().any(setting)
}

fn read_machine_file(text: &str) -> Result<Dump, Error> {
    Machine::from_toml(text).map(Dump::from)
}
