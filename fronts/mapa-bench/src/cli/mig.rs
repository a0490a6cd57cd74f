//! The command line of `mig`.

use clap::Args;

pub(crate) const HELP: &str = "\
Examples:
  mapa-bench mig
  mapa-bench mig --gpu a100-40gb --layouts
  mapa-bench mig --gpu h100-80gb --fit 3g,2g,1g,1g
  mapa-bench mig --gpu b200 --fit 1g.45gb,1g.23gb+me,3g --double-memory --media
  mapa-bench mig --parted config.yaml --gpu a100-40gb
  mapa-bench mig --parted config.yaml --config all-balanced --machine dgx-a100";

#[derive(Args)]
pub(crate) struct MigArgs {
    /// The GPU: a name that `mig` lists, such as a100-40gb.
    #[arg(long, value_name = "NAME")]
    pub(crate) gpu: Option<String>,
    /// Draw every maximal layout (one to which no instance can be added) on the grid of memory
    /// slices.
    #[arg(long, requires = "gpu")]
    pub(crate) layouts: bool,
    /// Check whether these instances can exist at once, and where: profiles (3g.20gb, or 3g for
    /// short), separated by commas.
    #[arg(long, value_name = "PROFILES", requires = "gpu")]
    pub(crate) fit: Option<String>,
    /// Include the profiles with a different share of media engines, or with graphics: +me, +me.all, -me, +gfx.
    #[arg(long, requires = "gpu")]
    pub(crate) media: bool,
    /// Include the profiles of one compute slice with two memory slices.
    #[arg(long, requires = "gpu")]
    pub(crate) double_memory: bool,
    /// Check a file of NVIDIA's mig-parted, and show what its configurations do to which GPU.
    #[arg(long, value_name = "FILE|-", conflicts_with_all = ["layouts", "fit", "media", "double_memory"])]
    pub(crate) parted: Option<String>,
    /// One configuration of that file [default: all].
    #[cfg(feature = "parted")]
    #[arg(long, value_name = "NAME", requires = "parted")]
    pub(crate) config: Option<String>,
    /// The machine that the file is for, as in `topo` [default: the GPUs that the file names, of --gpu].
    #[cfg(feature = "parted")]
    // Not named `machine`: the default machine is added to commands with an argument of that name.
    #[arg(long = "machine", value_name = "NAME|FILE|-", requires = "parted")]
    pub(crate) parted_machine: Vec<String>,
    /// The PCI id of the GPUs, 0x20B010DE, for lines with a device-filter.
    #[cfg(feature = "parted")]
    #[arg(long, value_name = "ID", requires = "parted")]
    pub(crate) pci_id: Option<String>,
}
