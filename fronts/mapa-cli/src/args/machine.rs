//! The machine that a command reads.

use std::path::PathBuf;

use clap::Args;
use mapa_front::{MachineSpec, P2p};

/// The machine that a command is about, and what is said of it besides.
#[derive(Args, Debug)]
pub struct MachineArgs {
    /// The machine: a name of the catalogue or a formula such as torus:4x4 or fleet:4xdgx-1v (see
    /// `machines`), a file (the output of a vendor's tool, XML or a machine file: see `read`), or
    /// `-` for standard input. Several descriptions of one machine are merged [default: `MAPA_MACHINE`, else
    /// `machine` in mapa/config.toml of the user's configuration folder].
    #[arg(long, value_name = "NAME|FILE|-", required_unless_present = "live")]
    pub machine: Vec<String>,
    /// In place of --machine, the machine that this program runs on: read from its drivers (NVML,
    /// `nvidia-smi` or AMD's KFD), or from the cache of an earlier call.
    #[arg(long, conflicts_with = "machine", help_heading = LIVE)]
    pub live: bool,
    // `requires` alone is not enough: it is waived where `--live` would conflict.
    /// Query the drivers even if the cache has an answer, and cache the new one.
    #[arg(long, hide_short_help = true, requires = "live", conflicts_with = "machine", help_heading = LIVE)]
    pub refresh: bool,
    /// Query the drivers, and neither read nor write the cache [default: answers are cached in
    /// $XDG_CACHE_HOME/mapa or ~/.cache/mapa until the machine is restarted].
    #[arg(long, hide_short_help = true, requires = "live", conflicts_with_all = ["machine", "refresh"], help_heading = LIVE)]
    pub no_cache: bool,
    /// The NVML library [default: libnvidia-ml.so.1, where the loader finds it].
    #[arg(long, hide_short_help = true, value_name = "PATH", requires = "live", conflicts_with = "machine", help_heading = LIVE)]
    pub nvml: Option<PathBuf>,
    /// The command `nvidia-smi` [default: the one in PATH].
    #[arg(long, hide_short_help = true, value_name = "PATH", requires = "live", conflicts_with = "machine", help_heading = LIVE)]
    pub nvidia_smi: Option<PathBuf>,
    /// The folder of AMD KFD nodes [default: /sys/class/kfd/kfd/topology/nodes].
    #[arg(long, hide_short_help = true, value_name = "DIR", requires = "live", conflicts_with = "machine", help_heading = LIVE)]
    pub kfd: Option<PathBuf>,
    /// The product of devices that the machine's description does not name, such as "NVIDIA GeForce RTX
    /// 3090": it tells the rates of links and slots.
    #[arg(long, hide_short_help = true, value_name = "PRODUCT")]
    pub gpu_name: Option<String>,
    /// Bandwidth of paths through the host and of PCIe slots, GB/s per direction [default: as the
    /// machine's description says, mostly 12].
    #[arg(long, hide_short_help = true, value_name = "GB/s")]
    pub pcie_gbps: Option<f64>,
    /// Whether devices reach each other's memory (P2P) [default: as told, else guessed, else on].
    #[arg(long, value_name = "on|off")]
    pub p2p: Option<P2p>,
    /// Bandwidth of every NVLink (or other direct link), GB/s per direction [default: as the
    /// machine's description says; 25 for `nvidia-smi topo -m`, which has no bandwidths].
    #[arg(long, hide_short_help = true, value_name = "GB/s")]
    pub nvlink_gbps: Option<f64>,
    /// Give every device the MIG profiles of this GPU (see `mig`). With a list of profiles,
    /// partition every device into these instances: a100-40gb=3g,2g,1g,1g. Lists with `/` between
    /// them are for one device each: a100-40gb=7g/4g,3g [default: as the machine file says; else not
    /// partitioned].
    #[arg(long, value_name = "GPU[=PROFILES]")]
    pub mig: Option<String>,
}

impl MachineArgs {
    /// The machine as a request names it.
    pub fn spec(&self) -> MachineSpec {
        MachineSpec {
            machine: self.machine.clone(),
            gpu_name: self.gpu_name.clone(),
            pcie_gbps: self.pcie_gbps,
            nvlink_gbps: self.nvlink_gbps,
            p2p: self.p2p,
            mig: self.mig.clone(),
        }
    }
}

const LIVE: &str = "This machine";
