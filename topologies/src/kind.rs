//! The kinds of descriptions of a machine. `readers` recognises and reads each kind.

/// The kinds of description that [`read`](crate::read) recognises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// MAPA's own machine file.
    MachineFile,
    /// `nvidia-smi topo -m`: the class of the link or path between any two devices.
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
    /// NCCL's or RCCL's graphs, XML: the rings and trees that the library found.
    NcclGraph,
    /// The tree of a machine in NCCL's or RCCL's log, with `NCCL_DEBUG=INFO` and `NCCL_DEBUG_SUBSYS=GRAPH`.
    NcclLog,
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
    /// `lspci -vv`: the speeds of PCIe slots.
    Lspci,
    /// Several dumps of one machine, [merged](crate::merge); no text is recognised as this.
    Merged,
    /// AMD KFD's tree in sysfs, as `grep -r "" /sys/class/kfd/kfd/topology/nodes` prints it.
    Kfd,
}

impl Kind {
    /// The name of the command or format, in the words of its vendor.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::MachineFile => "a machine file",
            Self::NcclTopology => "NCCL topology XML",
            Self::NcclGraph => "NCCL graph XML",
            Self::NcclLog => "NCCL log",
            Self::Hwloc => "hwloc XML",
            Self::SlurmGres => "Slurm gres.conf or slurmd -G",
            Self::Kfd => "the KFD tree of sysfs",
            Self::AmdSmiXgmi => "amd-smi xgmi",
            Self::AmdSmiTopology => "amd-smi topology",
            Self::RocmSmi => "rocm-smi --showtopo",
            Self::NvidiaSmiMig => "nvidia-smi mig",
            Self::NvidiaSmiP2p => "nvidia-smi topo -p2p",
            Self::NvidiaSmiNvlink => "nvidia-smi nvlink",
            Self::NvidiaSmiList => "nvidia-smi -L",
            Self::NvidiaSmiTopo => "nvidia-smi topo -m",
            Self::Lspci => "lspci -vv",
            Self::Merged => "several dumps",
        }
    }
}
