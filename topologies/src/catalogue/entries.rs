//! The catalogue: one machine file each.

use crate::error::Error;
use crate::machine::Machine;

/// A machine of the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name by which [`named`](crate::named) finds it.
    pub name: &'static str,
    /// The family of machines: `NVIDIA DGX and HGX`, `AMD Instinct`, `Azure`, ...
    pub family: &'static str,
    text: &'static str,
}

impl Entry {
    /// Reads the machine.
    ///
    /// # Errors
    /// None for the entries of this crate: a test reads them all.
    pub fn machine(&self) -> Result<Machine, Error> {
        Machine::from_toml(self.text)
    }

    /// The text of the machine file.
    #[must_use]
    pub fn toml(&self) -> &'static str {
        self.text
    }
}

/// The entries of each family, in a row.
macro_rules! entries {
    ($($family:literal: $($name:literal)+;)+) => {
        &[$($(Entry {
            name: $name,
            family: $family,
            text: include_str!(concat!("../../machines/", $name, ".toml")),
        }),+),+]
    };
}

const ENTRIES: &[Entry] = entries! {
    "NVIDIA DGX and HGX":
        "dgx-1p" "dgx-1v" "dgx-2" "dgx-2h" "dgx-station-v100" "dgx-a100" "dgx-station-a100" "hgx-a100-4"
        "ncsa-delta-a100x4" "hgx-a800" "hgx-h100" "hgx-h100-4" "dgx-h100" "hgx-h800" "hgx-h200" "dgx-b200" "hgx-b300";
    "NVIDIA Grace": "gh200" "gh200-nvl2" "gh200-x4" "gb200-tray" "gb200-nvl72";
    "NVIDIA cards, bridged":
        "a100-pcie-4-bridged" "a100-pcie-8-bridged" "h100-nvl-4" "h200-nvl-8" "rtx-2080ti-x2" "rtx-3090-x2"
        "rtx-a6000-x2" "rtx-a6000-x3";
    "NVIDIA cards, PCIe alone":
        "p40-x8" "p100-pcie-x8" "rtx-4090-x2" "rtx-5090-x2" "rtx-6000-ada-x4" "l20-x16" "l40s-x4" "l40s-x8";
    "IBM POWER, NVIDIA": "s822lc" "ac922" "summit";
    "AMD Instinct":
        "mi50-x4" "mi50-x8" "mi100-x4" "mi100-x8" "mi210-x4" "mi250-x8" "mi250-x16" "frontier" "mi300a-x4" "mi300x-x8"
        "mi355x-x8";
    "AWS":
        "aws-p3-8xlarge" "aws-p3-16xlarge" "aws-p3dn-24xlarge" "aws-p4d-24xlarge" "aws-p4de-24xlarge" "aws-p5-48xlarge"
        "aws-g4dn-metal" "aws-g5-12xlarge" "aws-g5-48xlarge";
    "Azure": "azure-ndv2" "azure-ndv4" "azure-ndv5" "azure-ncv4";
    "OCI": "oci-gpu-b4-8" "oci-gpu-h100-8";
    "hypothetical": "torus-2d" "torus-2d-released" "cube-mesh-16" "cube-mesh-16-released";
};

/// Every machine of the catalogue, family by family.
#[must_use]
pub fn catalogue() -> &'static [Entry] {
    ENTRIES
}

/// The entry with this name, case-insensitively.
pub(super) fn entry(name: &str) -> Option<&'static Entry> {
    ENTRIES
        .iter()
        .find(|entry| entry.name.eq_ignore_ascii_case(name))
}
