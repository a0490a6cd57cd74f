//! The generation of a machine's direct links, and what the collective library counts them as.

use mapa_core::{FabricWire, Link, LinkClass, NodeKind, Rates};

use crate::links::{DirectGeneration, direct_generations, pcie_gbps, pcie_of};
use crate::machine::Machine;
use crate::products;

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
    row_of(machine, |a, b| a.name == b.name).map(|row| row.name)
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

/// The generation of a machine's direct links; none if generations that are not `alike` have their
/// bandwidth.
fn row_of(
    machine: &Machine,
    alike: impl Fn(&DirectGeneration, &DirectGeneration) -> bool,
) -> Option<DirectGeneration> {
    let product = machine
        .fabric
        .nodes()
        .find_map(|(_, node)| match &node.kind {
            NodeKind::Device(info) => Some(info.product.clone()),
            _ => None,
        });
    let link = direct_gbps(machine)?;
    let of_name = |name: &str| {
        let generation = products::links(name)?.generation;
        direct_generations().find(|row| row.name == generation)
    };
    let named = product.flatten().and_then(|name| of_name(&name));
    named.or_else(|| of_name(machine.own_title())).or_else(|| {
        if is_counted(machine) {
            return None;
        }
        let mut same = direct_generations().filter(|row| (row.gbps - link).abs() < 0.01);
        let row = same.next()?;
        same.all(|other| alike(&row, &other)).then_some(row)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
    }
}
