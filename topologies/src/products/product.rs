//! A product: what a row of the table has.

use crate::links::{direct_generations, pcie_gbps, pcie_rate};
use crate::vendor::Vendor;

/// A product: what is known of one device, as tools number devices.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Product {
    /// Its name in short: `A100 PCIe`. A text names the product if it has all of these words.
    pub name: &'static str,
    /// Other names of the same facts.
    pub(super) also: &'static [&'static str],
    /// The vendor.
    pub vendor: Vendor,
    /// The vendor's name of the architecture: `Ampere`.
    pub architecture: &'static str,
    /// NVIDIA's compute capability, major and minor.
    pub capability: Option<(u32, u32)>,
    /// AMD's name of the instruction set: `gfx942`.
    pub gfx: Option<&'static str>,
    /// The names that tools print, most usual first; at least one.
    pub printed: &'static [&'static str],
    /// Its direct links to other devices: see [`links`](Self::links).
    pub(super) links: RowLinks,
    /// Its own interface to the host, where known.
    pub pcie: Option<PcieInterface>,
    /// The sizes of memory with which it came, GB as data sheets count, in ascending order.
    pub memory_gb: &'static [u32],
    /// The tables of [`mig`](crate::mig): one for each size of memory, or one for all.
    pub(super) mig: &'static [&'static str],
    /// Whether devices reach each other's memory over PCIe, where known.
    pub peers: Option<bool>,
    /// Where the figures come from.
    pub source: &'static str,
}

/// The direct links of a row, whose generation is looked up in `links.toml`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowLinks {
    Unknown,
    Without,
    With {
        count: Option<u8>,
        generation: &'static str,
        is_bridged: bool,
    },
}

/// Whether a product has direct links.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DirectLinks {
    /// No source tells.
    Unknown,
    /// It has none.
    Without,
    /// It has these.
    With(ProductLinks),
}

/// The direct links of a product.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ProductLinks {
    /// How many one device has to other devices, where known. On hosts whose CPUs have such links, some of them go there.
    pub count: Option<u8>,
    /// GB/s per direction of one link.
    pub gbps_per_link: f64,
    /// The generation, as in [`link_speeds`](crate::link_speeds): `NVLink 4`.
    pub generation: &'static str,
    /// Whether bridges between cards join devices, and a machine may lack them; else the board does.
    pub is_bridged: bool,
}

impl ProductLinks {
    /// GB/s per direction of all links of a device together, where their number is known.
    #[must_use]
    pub fn gbps(&self) -> Option<f64> {
        self.count
            .map(|count| f64::from(count) * self.gbps_per_link)
    }
}

/// The PCIe interface of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PcieInterface {
    /// 1 to 6.
    pub generation: u8,
    /// The number of lanes.
    pub lanes: u32,
}

impl PcieInterface {
    /// GB/s per direction.
    #[must_use]
    pub fn gbps(&self) -> Option<f64> {
        pcie_gbps(pcie_rate(self.generation)?, self.lanes)
    }
}

impl Product {
    /// Its direct links to other devices.
    #[must_use]
    pub fn links(&self) -> DirectLinks {
        let RowLinks::With {
            count,
            generation,
            is_bridged,
        } = self.links
        else {
            return match self.links {
                RowLinks::Without => DirectLinks::Without,
                _ => DirectLinks::Unknown,
            };
        };
        let known = direct_generations().find(|known| known.name == generation);
        known.map_or(DirectLinks::Unknown, |known| {
            DirectLinks::With(ProductLinks {
                count,
                gbps_per_link: known.gbps,
                generation: known.name,
                is_bridged,
            })
        })
    }

    /// The name of the table of [`mig`](crate::mig) for a device with this memory: that of the nearest size, of two the
    /// smaller. None if the product cannot be partitioned, or no table describes it.
    #[must_use]
    pub fn mig(&self, memory_bytes: u64) -> Option<&'static str> {
        if let [table] = self.mig {
            return Some(table);
        }
        let off = |gb: u32| (u64::from(gb) << 30).abs_diff(memory_bytes);
        let sizes = self.memory_gb.iter().zip(self.mig);
        let (_, table) = sizes.min_by_key(|(gb, _)| off(**gb))?;
        Some(table)
    }

    /// The names of all its tables of [`mig`](crate::mig).
    pub fn mig_tables(&self) -> impl Iterator<Item = &'static str> {
        self.mig.iter().copied()
    }

    /// The most words of one of its names that are all in a text; none if the text does not name it.
    pub(super) fn match_in(&self, text: &[String]) -> Option<usize> {
        let names = std::iter::once(&self.name).chain(self.also);
        let words = |name: &'static str| name.split(|c: char| !c.is_ascii_alphanumeric());
        let is_there = |word: &str| text.iter().any(|other| other.eq_ignore_ascii_case(word));
        let named = names.filter(|name| words(name).all(is_there));
        named.map(|name| words(name).count()).max()
    }
}
