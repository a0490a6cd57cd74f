//! The bandwidths of links by generation: the table `links.toml`, and lookups in it.

use std::sync::LazyLock;

use mapa_core::{FabricWire, Link, LinkClass, NodeKind, Rates};
use serde::Deserialize;

use crate::machine::Machine;

/// The bandwidth of one direct link of unknown generation, GB/s per direction: that of NVLink 2 to
/// 4.
pub const ASSUMED_DIRECT_GBPS: f64 = 25.0;

/// The bandwidth of a path through the host of unknown generation, GB/s per direction: the paper's
/// figure for PCIe 3.
pub const ASSUMED_HOST_GBPS: f64 = 12.0;

/// The bandwidth of one link of a generation.
///
/// # Examples
/// ```
/// let fifth = mapa_topologies::link_speeds().find(|speed| speed.generation == "NVLink 5").unwrap();
/// assert_eq!(fifth.gbps, 50.0);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LinkSpeed {
    /// The generation's name.
    pub generation: &'static str,
    /// GB/s per direction: of one direct link, or of sixteen PCIe lanes.
    pub gbps: f64,
    /// The rates that `nvidia-smi nvlink -s` prints for one link, GB/s; none of other links.
    pub printed: &'static [f64],
    /// Devices with links of this generation.
    pub devices: Vec<&'static str>,
    /// Where the figure comes from.
    pub source: &'static str,
}

/// Every known generation of links: NVLink, Infinity Fabric, PCIe.
pub fn link_speeds() -> impl Iterator<Item = LinkSpeed> {
    let devices = |devices: &'static [String]| devices.iter().map(String::as_str).collect();
    let nvlink = TABLE.nvlink.iter().map(move |link| LinkSpeed {
        generation: &link.generation,
        gbps: link.gbps,
        printed: &link.printed,
        devices: devices(&link.devices),
        source: &link.source,
    });
    let xgmi = TABLE.xgmi.iter().map(move |link| LinkSpeed {
        generation: &link.generation,
        gbps: link.gbps,
        printed: &[],
        devices: devices(&link.devices),
        source: &link.source,
    });
    let pcie = TABLE.pcie.iter().map(|link| LinkSpeed {
        generation: &link.generation,
        gbps: link.gbps(16),
        printed: &[],
        devices: Vec::new(),
        source: &link.source,
    });
    nvlink.chain(xgmi).chain(pcie)
}

/// The bandwidth that NCCL assumes between two sockets.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SocketSpeed {
    /// The CPUs.
    pub cpu: &'static str,
    /// GB/s per direction.
    pub gbps: f64,
    /// Where the figure comes from.
    pub source: &'static str,
}

/// The bandwidths that NCCL assumes between sockets, by CPU. No description of a machine names its
/// CPU, so callers choose one for [`Rates::between_sockets`](mapa_core::Rates).
pub fn socket_speeds() -> impl Iterator<Item = SocketSpeed> {
    let rows = TABLE.between_sockets.iter();
    rows.map(|row| SocketSpeed {
        cpu: &row.cpu,
        gbps: row.gbps,
        source: &row.source,
    })
}

/// The share of the nominal bandwidth that NCCL or RCCL assumes for a machine's direct links: for
/// example 0.8 for NVLink 2, which NCCL counts as 20 of 25 GB/s.
///
/// The generation is that of the first device's product, else that of a product in the machine's
/// title, else the one whose links have the same bandwidth. `None` if several generations have this
/// bandwidth and the library counts them differently, or if the library has no figure. Without
/// direct links, only paths through the host are counted: those at the speed of PCIe links. The bandwidths
/// in the library's own log are counted already: all of them are kept.
///
/// # Examples
/// ```
/// use mapa_topologies::{collective_rates, named};
///
/// assert_eq!(collective_rates(&named("dgx-1v")?).unwrap().direct, 0.8);
/// assert_eq!(collective_rates(&named("dgx-1p")?).unwrap().direct, 0.9);
/// # Ok::<(), mapa_topologies::Error>(())
/// ```
#[must_use]
pub fn collective_rates(machine: &Machine) -> Option<Rates> {
    if is_counted(machine) {
        return Some(Rates::NOMINAL);
    }
    if direct_gbps(machine).is_none() {
        return Some(Rates {
            host: counted_host(machine, 1.0),
            ..Rates::NOMINAL
        });
    }
    let row = row_of(machine, |a, b| a.counted == b.counted)?;
    let direct = row.counted? / row.gbps;
    Some(Rates {
        direct,
        host: counted_host(machine, direct),
        ..Rates::NOMINAL
    })
}

/// The source of a machine whose bandwidths are those that the collective library counts.
pub(crate) const COUNTED_SOURCE: &str = "NCCL_DEBUG_SUBSYS=GRAPH";

/// Whether a machine's bandwidths are those that the collective library counts. Another generation's nominal
/// bandwidth may be equal (20 GB/s is NVLink 2 as counted, and NVLink 1), so they tell no generation.
fn is_counted(machine: &Machine) -> bool {
    machine.source == COUNTED_SOURCE
}

/// What NCCL counts of sixteen lanes of PCIe 3 (`PCI_BW`), GB/s; other rates in proportion.
const NCCL_PCIE_3_GBPS: f64 = 12.0;

/// The share of the nominal bandwidth that NCCL counts for a machine's paths through the host. A
/// path at the bandwidth that NCCL counts, or that is no PCIe link, stays as it is. A device that
/// direct links join to its CPU has these at the share of direct links.
fn counted_host(machine: &Machine, direct: f64) -> f64 {
    let hops = machine
        .fabric
        .wires()
        .filter_map(|(child, _, wire)| match wire {
            FabricWire::Up { gbps } => {
                let is_device = matches!(machine.fabric.node(child).kind, NodeKind::Device(_));
                is_device.then_some(gbps)
            }
            FabricWire::Link(link) if link.class.is_host() => Some(link.gbps),
            FabricWire::Link(_) => None,
        });
    let Some(fastest) = hops.reduce(f64::max) else {
        return 1.0;
    };
    let three = pcie_gbps(8.0, 16).unwrap_or(NCCL_PCIE_3_GBPS);
    let link = direct_gbps(machine).unwrap_or(f64::INFINITY);
    let bonds = fastest / link;
    if pcie_of(fastest).is_some() {
        NCCL_PCIE_3_GBPS / three
    } else if bonds > 1.5 && (bonds - bonds.round()).abs() < 1e-6 {
        direct
    } else {
        1.0
    }
}

/// The generation of a machine's direct links: `NVLink 4`. That of the first device's product, else
/// that of a product in the machine's title, else the one whose links have the same bandwidth.
/// `None` if there are no direct links, or if several generations have this bandwidth.
///
/// # Examples
/// ```
/// use mapa_topologies::{link_generation, named};
///
/// assert_eq!(link_generation(&named("dgx-1v")?), Some("NVLink 2"));
/// assert_eq!(link_generation(&named("l40s-x8")?), None);
/// # Ok::<(), mapa_topologies::Error>(())
/// ```
#[must_use]
pub fn link_generation(machine: &Machine) -> Option<&'static str> {
    row_of(machine, |a, b| a.generation == b.generation).map(|row| row.generation)
}

/// The bandwidth of one direct link of a machine, GB/s per direction.
fn direct_gbps(machine: &Machine) -> Option<f64> {
    machine.fabric.wires().find_map(|(.., wire)| match wire {
        FabricWire::Link(Link {
            class: LinkClass::Direct(n),
            gbps,
        }) => Some(gbps / f64::from(n)),
        _ => None,
    })
}

/// One generation of direct links.
struct LinkRow {
    generation: &'static str,
    devices: &'static [String],
    gbps: f64,
    /// What the collective library counts, GB/s.
    counted: Option<f64>,
}

/// The generation of a machine's direct links; none if generations that are not `alike` have their
/// bandwidth.
fn row_of(machine: &Machine, alike: impl Fn(&LinkRow, &LinkRow) -> bool) -> Option<LinkRow> {
    let product = machine
        .fabric
        .nodes()
        .find_map(|(_, node)| match &node.kind {
            NodeKind::Device(info) => Some(info.product.clone()),
            _ => None,
        });
    let link = direct_gbps(machine)?;
    let rows = || {
        let nvlink = TABLE.nvlink.iter().map(|row| LinkRow {
            generation: &row.generation,
            devices: &row.devices,
            gbps: row.gbps,
            counted: Some(row.nccl_gbps),
        });
        nvlink.chain(TABLE.xgmi.iter().map(|row| LinkRow {
            generation: &row.generation,
            devices: &row.devices,
            gbps: row.gbps,
            counted: row.rccl_gbps,
        }))
    };
    let of_name = |name: &str| rows().find(|row| is_named(name, row.devices));
    let named = product.flatten().and_then(|name| of_name(&name));
    named.or_else(|| of_name(&machine.title)).or_else(|| {
        if is_counted(machine) {
            return None;
        }
        let mut same = rows().filter(|row| (row.gbps - link).abs() < 0.01);
        let row = same.next()?;
        same.all(|other| alike(&row, &other)).then_some(row)
    })
}

/// The rate (GT/s) and the lanes of a product's PCIe slot.
pub(crate) fn slot_of_product(name: &str) -> Option<(f64, u32)> {
    let slots = TABLE.slot.iter();
    let slot = { slots }.find(|slot| is_named(name, &slot.devices))?;
    let link = TABLE
        .pcie
        .iter()
        .find(|link| link.generation == slot.generation)?;
    Some((link.gt_per_s, slot.lanes))
}

/// Whether a product does not reach its peers' memory over PCIe.
pub(crate) fn is_without_peers(name: &str) -> bool {
    let words = words(name);
    let number = |word: &str| {
        let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        digits.parse::<u32>().ok().filter(|_| digits.len() == 4)
    };
    let has = |word: &str| words.contains(&format!(" {word} "));
    let series = words.split(' ').filter_map(number);
    let gaming = { series }
        .any(|number| matches!(number / 1000, 3..=5) && number % 1000 >= 50 && number % 1000 <= 90);
    // Cards for workstations have numbers of the same form: RTX PRO 4000, RTX A5000, RTX 5000 Ada.
    has("rtx") && gaming && !has("pro") && !has("ada") && !has("quadro")
}

/// Whether one of these products is in a name, word by word.
fn is_named(name: &str, devices: &[String]) -> bool {
    let name = words(name);
    devices.iter().any(|device| name.contains(&words(device)))
}

/// The words of a name in lower case, each between two spaces.
fn words(name: &str) -> String {
    name.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .fold(" ".to_owned(), |words, word| {
            words + &word.to_ascii_lowercase() + " "
        })
}

/// GB/s per direction of one NVLink of a GPU of this compute capability (`90` for 9.0).
#[must_use]
pub fn nvlink_gbps_of_sm(sm: u32) -> Option<f64> {
    TABLE
        .nvlink
        .iter()
        .find(|link| (link.sm[0]..=link.sm[1]).contains(&sm))
        .map(|link| link.gbps)
}

/// The data bandwidth of one NVLink, GB/s per direction, from the rate that `nvidia-smi nvlink -s`
/// prints. A rate that is not in the table is returned unchanged.
#[must_use]
pub fn nvlink_gbps_of_printed(gbps: f64) -> f64 {
    let is = |printed: &f64| (printed - gbps).abs() < 0.01;
    TABLE
        .nvlink
        .iter()
        .find(|link| link.printed.iter().any(is))
        .map_or(gbps, |link| link.gbps)
}

/// GB/s per direction of one Infinity Fabric link between devices of this architecture (`gfx90a`).
pub(crate) fn xgmi_of_gfx(gfx: &str) -> Option<f64> {
    TABLE
        .xgmi
        .iter()
        .find(|link| link.gfx.iter().any(|name| name == gfx))
        .map(|link| link.gbps)
}

/// GB/s per direction of one direct link of a product, by the words of its name:
/// `nvidia_h100_80gb_hbm3`, `AMD Instinct MI300X`. None if it is not in the table.
pub(crate) fn of_product(name: &str) -> Option<f64> {
    let has = |devices: &[String]| is_named(name, devices);
    let nvlink = TABLE
        .nvlink
        .iter()
        .filter(|link| has(&link.devices))
        .map(|link| link.gbps);
    let xgmi = TABLE
        .xgmi
        .iter()
        .filter(|link| has(&link.devices))
        .map(|link| link.gbps);
    nvlink.chain(xgmi).next()
}

/// GB/s per direction of `lanes` PCIe lanes at this rate (GT/s); `None` if no generation has this
/// rate, or if `lanes` is not between 1 and 64.
#[must_use]
pub fn pcie_gbps(gt_per_s: f64, lanes: u32) -> Option<f64> {
    let link = TABLE
        .pcie
        .iter()
        .find(|link| (link.gt_per_s - gt_per_s).abs() < 0.1)?;
    (1..=64).contains(&lanes).then(|| link.gbps(lanes))
}

/// The generation and the lanes that give this bandwidth (GB/s per direction), in short: `Gen4 x16`; none
/// if no PCIe link has it.
///
/// # Examples
/// ```
/// assert_eq!(mapa_topologies::pcie_words(31.5).as_deref(), Some("Gen4 x16"));
/// assert_eq!(mapa_topologies::pcie_words(12.0), None);
/// ```
#[must_use]
pub fn pcie_words(gbps: f64) -> Option<String> {
    let (rate, lanes) = pcie_of(gbps)?;
    let number = TABLE
        .pcie
        .iter()
        .position(|link| (link.gt_per_s - rate).abs() < 0.1)?;
    Some(format!("Gen{} x{lanes}", number + 1))
}

/// The rate (GT/s) and the number of lanes that give this bandwidth (GB/s per direction). Of
/// several, the widest of at most 16 lanes; 32 lanes only if no other fits; none if there is none.
pub(crate) fn pcie_of(gbps: f64) -> Option<(f64, u32)> {
    let lanes = [16, 8, 4, 2, 1, 32].into_iter();
    let links = lanes.flat_map(|lanes| TABLE.pcie.iter().map(move |link| (link, lanes)));
    let found = { links }.find(|(link, lanes)| (link.gbps(*lanes) / gbps - 1.0).abs() < 0.002);
    found.map(|(link, lanes)| (link.gt_per_s, lanes))
}

/// A compute capability whose NVLinks have this bandwidth (GB/s per direction): that of the
/// product, if the product's links have it.
pub(crate) fn sm_of_nvlink(gbps: f64, product: Option<&str>) -> Option<u32> {
    let alike = || {
        TABLE
            .nvlink
            .iter()
            .filter(|link| (link.gbps - gbps).abs() < 0.01)
    };
    let is = |link: &&NvLinkRow| {
        product.is_some_and(|product| link.devices.iter().any(|device| product.contains(device)))
    };
    alike()
        .find(is)
        .or_else(|| alike().next())
        .map(|link| link.sm[0])
}

/// An architecture whose Infinity Fabric links have this bandwidth (GB/s per direction).
pub(crate) fn gfx_of_xgmi(gbps: f64) -> Option<&'static str> {
    let link = TABLE
        .xgmi
        .iter()
        .find(|link| (link.gbps - gbps).abs() < 0.01)?;
    link.gfx.first().map(String::as_str)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkTable {
    nvlink: Vec<NvLinkRow>,
    xgmi: Vec<Xgmi>,
    pcie: Vec<PcieRow>,
    slot: Vec<SlotRow>,
    between_sockets: Vec<BetweenSockets>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BetweenSockets {
    cpu: String,
    gbps: f64,
    source: String,
}

/// The PCIe slot of some products.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SlotRow {
    generation: String,
    lanes: u32,
    devices: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NvLinkRow {
    generation: String,
    gbps: f64,
    nccl_gbps: f64,
    printed: Vec<f64>,
    sm: [u32; 2],
    devices: Vec<String>,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Xgmi {
    generation: String,
    gbps: f64,
    rccl_gbps: Option<f64>,
    gfx: Vec<String>,
    devices: Vec<String>,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PcieRow {
    generation: String,
    gt_per_s: f64,
    encoding: [u32; 2],
    source: String,
}

impl PcieRow {
    fn gbps(&self, lanes: u32) -> f64 {
        let [data, line] = self.encoding;
        self.gt_per_s * f64::from(lanes) * f64::from(data) / f64::from(line) / 8.0
    }
}

static TABLE: LazyLock<LinkTable> = LazyLock::new(|| {
    // A test reads the table; an empty one makes every figure an assumed one.
    toml::from_str(include_str!("../links.toml")).unwrap_or(LinkTable {
        nvlink: Vec::new(),
        xgmi: Vec::new(),
        pcie: Vec::new(),
        slot: Vec::new(),
        between_sockets: Vec::new(),
    })
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_reads_and_has_the_known_figures() {
        assert!(link_speeds().count() >= 16);
        assert!(link_speeds().all(|speed| speed.gbps > 0.0 && !speed.source.is_empty()));
        assert_eq!(
            (
                nvlink_gbps_of_sm(60),
                nvlink_gbps_of_sm(90),
                nvlink_gbps_of_sm(103)
            ),
            (Some(20.0), Some(25.0), Some(50.0))
        );
        assert_eq!(
            (
                nvlink_gbps_of_printed(25.781),
                nvlink_gbps_of_printed(26.562),
                nvlink_gbps_of_printed(31.0)
            ),
            (25.0, 25.0, 31.0)
        );
        assert_eq!(xgmi_of_gfx("gfx942"), Some(64.0));
        assert_eq!(
            (
                of_product("nvidia_h100_80gb_hbm3"),
                of_product("AMD Instinct MI250X")
            ),
            (Some(25.0), Some(50.0))
        );
        assert_eq!(
            (
                of_product("gb200"),
                of_product("GeForce RTX 3090"),
                of_product("l40s")
            ),
            (Some(50.0), Some(14.0625), None)
        );
        assert!(
            (pcie_gbps(8.0, 16).unwrap() - 15.75).abs() < 0.01
                && (pcie_gbps(64.0, 16).unwrap() - 121.0).abs() < 0.1
        );
        assert_eq!((pcie_gbps(7.0, 16), pcie_gbps(8.0, 0)), (None, None));
    }

    #[test]
    fn what_libraries_count_links_as_is_known_by_product_title_or_bandwidth() {
        let direct =
            |name: &str| collective_rates(&crate::named(name).unwrap()).map(|rates| rates.direct);
        for (name, counted, nominal) in [
            ("dgx-1p", 18.0, 20.0),
            ("dgx-1v", 20.0, 25.0),
            ("dgx-a100", 20.0, 25.0),
            ("rtx-a6000-x2", 12.0, 14.0625),
            ("hgx-h100", 20.6, 25.0),
            ("gb200-nvl72", 40.1, 50.0),
            ("frontier", 36.0, 50.0),
            ("mi300x-x8", 48.0, 64.0),
        ] {
            assert_eq!(direct(name), Some(counted / nominal), "{name}");
        }
        assert_eq!(direct("mi355x-x8"), None, "RCCL's figure is not known");
        let host = collective_rates(&crate::named("l40s-x8").unwrap()).unwrap();
        assert_eq!(
            (host.direct, host.host),
            (1.0, 12.0 / pcie_gbps(8.0, 16).unwrap())
        );
        assert_eq!(
            direct("ring:4"),
            None,
            "25 GB/s are NVLink 2, 3 or 4, which are counted differently"
        );
        assert_eq!(direct("ring:4@20"), Some(0.9));
        assert!(socket_speeds().any(|speed| speed.cpu.contains("Skylake") && speed.gbps == 10.0));
        assert!(socket_speeds().all(|speed| speed.gbps > 0.0 && !speed.source.is_empty()));
    }

    #[test]
    fn what_carries_a_bandwidth_is_found_again() {
        for rate in [2.5, 5.0, 8.0, 16.0, 32.0, 64.0] {
            for lanes in [1, 4, 16] {
                let gbps = pcie_gbps(rate, lanes).unwrap();
                let (rate, lanes) = pcie_of(gbps).unwrap();
                assert!(
                    (pcie_gbps(rate, lanes).unwrap() / gbps - 1.0).abs() < 0.002,
                    "{gbps}"
                );
            }
        }
        assert_eq!(
            (pcie_of(15.753_846), pcie_of(12.0), pcie_of(0.0)),
            (Some((8.0, 16)), None, None)
        );
        assert_eq!(
            (
                sm_of_nvlink(25.0, None),
                sm_of_nvlink(25.0, Some("NVIDIA H100"))
            ),
            (Some(70), Some(90))
        );
        assert_eq!(
            (
                sm_of_nvlink(20.0, Some("NVIDIA H100")),
                sm_of_nvlink(21.0, None)
            ),
            (Some(60), None)
        );
        assert_eq!(
            (gfx_of_xgmi(50.0), gfx_of_xgmi(51.0)),
            (Some("gfx90a"), None)
        );
    }
}
