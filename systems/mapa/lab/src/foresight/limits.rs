//! What no policy can reach.

use std::collections::BTreeMap;

use mapa_core::{DeviceId, HardwareGraph};

use super::setting::{MACHINES, graph};
use mapa_front::Error;
use mapa_lab::claim::{Claim, EXACT, Verdict};
use mapa_lab::report::Section;

/// Whether the graph of direct links is bipartite: devices fall into two classes, and every direct
/// link joins devices of different classes.
///
/// # Complexity
/// O(n²) for n devices.
fn is_bipartite(graph: &HardwareGraph) -> bool {
    let devices: Vec<DeviceId> = graph.wholes().iter().collect();
    let mut class: Vec<Option<bool>> = vec![None; graph.len()];
    for &start in &devices {
        if class[start.index()].is_some() {
            continue;
        }
        class[start.index()] = Some(false);
        let mut open = vec![start];
        while let Some(device) = open.pop() {
            let own = class[device.index()];
            for &other in devices
                .iter()
                .filter(|&&other| graph.link(device, other).class.is_direct())
            {
                match class[other.index()] {
                    None => {
                        class[other.index()] = own.map(|flag| !flag);
                        open.push(other);
                    }
                    known if known == own => return false,
                    _ => {}
                }
            }
        }
    }
    true
}

pub(super) fn section() -> Result<Section, Error> {
    let mut section = Section::new("limits", "Where nothing can be had").text(
        "If links join only devices of two different classes, no ring with an odd number of devices lies on them. On such a machine every \
         job of three or five devices sends over the host under every policy. By ring packing these are half of the jobs of several \
         devices, so the minimum and the 25th percentile are always 12 GB/s.",
    );
    for machine in MACHINES {
        let bipartite = is_bipartite(&*graph(machine)?);
        let (what, claimed) = if machine == "torus-2d" {
            (
                "direct links join only devices of two classes, so that no ring of three or five closes",
                true,
            )
        } else {
            ("direct links close rings of odd length", false)
        };
        let told = if bipartite {
            "two classes"
        } else {
            "no two classes"
        };
        let claim = Claim::new(format!("{machine}: {what}"), "exact", &[]);
        section =
            section.claims([claim.found(told, None, EXACT, Verdict::of(bipartite == claimed))]);
        section.insert(
            machine.to_owned(),
            BTreeMap::from([("bipartite", bipartite)]),
        );
    }
    Ok(section)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mapa_core::{Fabric, LinkClass};

    fn ring(devices: usize) -> HardwareGraph {
        let mut fabric = Fabric::new();
        let ids: Vec<_> = (0..devices)
            .map(|at| fabric.add_device(format!("GPU{at}")).unwrap())
            .collect();
        for at in 0..devices {
            fabric
                .link(ids[at], ids[(at + 1) % devices], LinkClass::Direct(1), 25.0)
                .unwrap();
        }
        fabric.lower().unwrap()
    }

    #[test]
    fn rings_of_even_length_have_two_classes() {
        assert_eq!(
            [3, 4, 5, 6].map(|devices| is_bipartite(&ring(devices))),
            [false, true, false, true]
        );
    }
}
