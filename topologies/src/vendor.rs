//! The vendor of a machine's devices, and the environment in which a process sees them.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The vendor of a machine's devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Vendor {
    /// NVIDIA.
    Nvidia,
    /// AMD.
    Amd,
    /// Intel.
    Intel,
}

impl Vendor {
    /// The vendor's name as it is read and written: `nvidia`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Nvidia => "nvidia",
            Self::Amd => "amd",
            Self::Intel => "intel",
        }
    }

    /// The variables that show a process the devices with these numbers, in this order, and no others. Numbers are
    /// those of the vendor's tools (`nvidia-smi`, `rocm-smi`), which follow the PCI addresses.
    ///
    /// # Examples
    /// ```
    /// use mapa_topologies::Vendor;
    ///
    /// assert_eq!(Vendor::Amd.environment("2,3"), [("ROCR_VISIBLE_DEVICES", "2,3".to_owned())]);
    /// ```
    #[must_use]
    pub fn environment(self, numbers: &str) -> Vec<(&'static str, String)> {
        let shown = (self.visible_devices(), numbers.to_owned());
        // Without it the library gives the fastest device the lowest number.
        let order = match self {
            Self::Nvidia => Some(("CUDA_DEVICE_ORDER", "PCI_BUS_ID".to_owned())),
            Self::Intel => Some(("ZE_ENABLE_PCI_ID_DEVICE_ORDER", "1".to_owned())),
            Self::Amd => None,
        };
        order.into_iter().chain([shown]).collect()
    }

    /// The variable that lists the devices which a process sees. AMD's is that of ROCr, below HIP, so that every library
    /// on it heeds it.
    #[must_use]
    pub fn visible_devices(self) -> &'static str {
        match self {
            Self::Nvidia => "CUDA_VISIBLE_DEVICES",
            Self::Amd => "ROCR_VISIBLE_DEVICES",
            Self::Intel => "ZE_AFFINITY_MASK",
        }
    }

    /// The command that prints which devices have direct links, in backquotes; those of all vendors if the vendor is not
    /// known, or prints nothing that is read.
    #[must_use]
    pub fn matrix_command(vendor: Option<Self>) -> &'static str {
        match vendor {
            Some(Self::Nvidia) => "`nvidia-smi topo -m`",
            Some(Self::Amd) => "`rocm-smi --showtopo`",
            _ => "`nvidia-smi topo -m` or `rocm-smi --showtopo`",
        }
    }

    /// The word for the vendor's direct links in matrices: `NV` in `NV2`.
    pub(crate) fn direct_label(self) -> &'static str {
        match self {
            Self::Nvidia => "NV",
            Self::Amd => "XGMI",
            Self::Intel => "XE",
        }
    }

    /// The number that identifies the vendor on PCI.
    #[must_use]
    pub fn pci_id(self) -> u32 {
        match self {
            Self::Nvidia => 0x10de,
            Self::Amd => 0x1002,
            Self::Intel => 0x8086,
        }
    }

    pub(crate) fn of_pci(id: u32) -> Option<Self> {
        [Self::Nvidia, Self::Amd, Self::Intel]
            .into_iter()
            .find(|vendor| vendor.pci_id() == id)
    }

    /// The vendor that all of these are, as far as each is known; none if two differ, or none is known.
    pub(crate) fn one_of(vendors: impl IntoIterator<Item = Option<Self>>) -> Option<Self> {
        let known: BTreeSet<Self> = vendors.into_iter().flatten().collect();
        known.first().copied().filter(|_| known.len() == 1)
    }
}

impl fmt::Display for Vendor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nvidia => "NVIDIA",
            Self::Amd => "AMD",
            Self::Intel => "Intel",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vendors_number_on_pci_is_its_own() {
        for vendor in [Vendor::Nvidia, Vendor::Amd, Vendor::Intel] {
            assert_eq!(Vendor::of_pci(vendor.pci_id()), Some(vendor));
        }
        assert_eq!(Vendor::of_pci(0x15b3), None);
    }
}
