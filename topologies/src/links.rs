//! The bandwidths of links by generation: the table `links.toml`, and lookups in it.

use std::sync::LazyLock;

use serde::Deserialize;

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
    /// Where the figure comes from.
    pub source: &'static str,
}

/// Every known generation of links: NVLink, Infinity Fabric, PCIe.
pub fn link_speeds() -> impl Iterator<Item = LinkSpeed> {
    let nvlink = TABLE.nvlink.iter().map(|link| LinkSpeed {
        generation: &link.generation,
        gbps: link.gbps,
        printed: &link.printed,
        source: &link.source,
    });
    let xgmi = TABLE.xgmi.iter().map(|link| LinkSpeed {
        generation: &link.generation,
        gbps: link.gbps,
        printed: &[],
        source: &link.source,
    });
    let pcie = TABLE.pcie.iter().map(|link| LinkSpeed {
        generation: &link.generation,
        gbps: link.gbps(16),
        printed: &[],
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

/// One generation of direct links.
pub(crate) struct DirectGeneration {
    pub(crate) name: &'static str,
    /// GB/s per direction of one link.
    pub(crate) gbps: f64,
    /// What the collective library counts a link as, GB/s per direction.
    pub(crate) counted: Option<f64>,
}

/// Every generation of direct links: NVLink, Infinity Fabric.
pub(crate) fn direct_generations() -> impl Iterator<Item = DirectGeneration> {
    let nvlink = TABLE.nvlink.iter().map(|link| DirectGeneration {
        name: &link.generation,
        gbps: link.gbps,
        counted: Some(link.nccl_gbps),
    });
    let xgmi = TABLE.xgmi.iter().map(|link| DirectGeneration {
        name: &link.generation,
        gbps: link.gbps,
        counted: link.rccl_gbps,
    });
    nvlink.chain(xgmi)
}

/// The rate of PCIe of a generation, GT/s.
pub(crate) fn pcie_rate(generation: u8) -> Option<f64> {
    let at = usize::from(generation).checked_sub(1)?;
    TABLE.pcie.get(at).map(|link| link.gt_per_s)
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

/// A compute capability whose NVLinks have this bandwidth (GB/s per direction): that of this
/// generation, if its links have it.
pub(crate) fn sm_of_nvlink(gbps: f64, generation: Option<&str>) -> Option<u32> {
    let alike = || {
        TABLE
            .nvlink
            .iter()
            .filter(|link| (link.gbps - gbps).abs() < 0.01)
    };
    alike()
        .find(|link| generation == Some(&link.generation))
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
    between_sockets: Vec<BetweenSockets>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BetweenSockets {
    cpu: String,
    gbps: f64,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NvLinkRow {
    generation: String,
    gbps: f64,
    nccl_gbps: f64,
    printed: Vec<f64>,
    sm: [u32; 2],
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Xgmi {
    generation: String,
    gbps: f64,
    rccl_gbps: Option<f64>,
    gfx: Vec<String>,
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
        assert!(
            (pcie_gbps(8.0, 16).unwrap() - 15.75).abs() < 0.01
                && (pcie_gbps(64.0, 16).unwrap() - 121.0).abs() < 0.1
        );
        assert_eq!((pcie_gbps(7.0, 16), pcie_gbps(8.0, 0)), (None, None));
        assert_eq!(
            [0, 1, 6, 7].map(pcie_rate),
            [None, Some(2.5), Some(64.0), None]
        );
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
                sm_of_nvlink(25.0, Some("NVLink 4"))
            ),
            (Some(70), Some(90))
        );
        assert_eq!(
            (
                sm_of_nvlink(20.0, Some("NVLink 4")),
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
