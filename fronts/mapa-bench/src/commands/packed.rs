//! The answer of `score` for a packing: ring by ring, tree by tree, or the bandwidth of each pair.

use mapa_core::{HardwareGraph, LinkClass, Placement};

use mapa_cli::Failure;
use mapa_cli::Output;
use mapa_front::answer::{label, labels};
use mapa_front::commands::PackedLinks;
use mapa_front::text::{gbps, table};

/// Prints a packing on these devices.
pub(super) fn print(
    packed: &PackedLinks,
    devices: &Placement,
    graph: &HardwareGraph,
    output: &mut Output,
) -> Result<(), Failure> {
    print_rings(packed, devices, graph, output)?;
    print_trees(packed, graph, output)?;
    if let Some(pair) = packed.of_pair() {
        output.line(format_args!(
            "each pair {} GB/s in each direction, all pairs at once",
            gbps(pair)
        ))?;
    }
    let bound = match (packed.is_imitated(), packed.found.is_exact()) {
        // The imitation has no bound of its own: this one is that of ring packing.
        (true, _) => format!(
            "found by an imitated search; no packing exceeds {}",
            gbps(packed.at_most)
        ),
        // Rates are measured on one pair of devices or taken from NCCL's table, so other links may do better.
        (false, true) if packed.is_rated => {
            "exact at these rates; what is measured may lie above".to_owned()
        }
        (false, true) => "no packing is better".to_owned(),
        (false, false) => format!("at most {}", gbps(packed.at_most)),
    };
    output.line(format_args!(
        "bandwidth {} GB/s: {bound}",
        gbps(packed.found.gbps)
    ))?;
    if packed.found.over_host {
        let path = if over_network(devices, graph) {
            "over the network"
        } else {
            "through the host"
        };
        output.line(format_args!(
            "note      the traffic goes {path}: direct links between these devices carry no more"
        ))?;
    }
    Ok(())
}

/// Whether the devices are on more than one server.
fn over_network(devices: &Placement, graph: &HardwareGraph) -> bool {
    // All pairs are tried: the devices are those that a user has named, and few.
    devices.iter().any(|&a| {
        devices
            .iter()
            .any(|&b| a != b && graph.link(a, b).class == LinkClass::Network)
    })
}

fn print_rings(
    packed: &PackedLinks,
    devices: &Placement,
    graph: &HardwareGraph,
    output: &mut Output,
) -> Result<(), Failure> {
    if packed.found.rings.is_empty() {
        return Ok(());
    }
    let mut rows = table(["ring", "GB/s"], [1]);
    for (ring, each) in &packed.found.rings {
        rows.add_row([labels(ring, graph), gbps(*each)]);
    }
    rows.add_row(["sum".to_owned(), gbps(packed.found.gbps)]);
    output.line("")?;
    output.line(rows)?;
    match packed.is_imitated() {
        // The channels of the imitation are directed, and each takes its speed from one direction of a link.
        true => output.line("Each ring carries traffic in one direction.")?,
        false if devices.len() > 2 => {
            output.line("Half of each ring's traffic goes in each direction.")?
        }
        false => output.line("The ring's traffic goes in both directions.")?,
    }
    output.line("")
}

fn print_trees(
    packed: &PackedLinks,
    graph: &HardwareGraph,
    output: &mut Output,
) -> Result<(), Failure> {
    if packed.trees.is_empty() {
        return Ok(());
    }
    let mut rows = table(["tree", "GB/s"], [1]);
    for (tree, each) in &packed.trees {
        let edges: Vec<String> = tree
            .iter()
            .map(|&(a, b)| format!("{}-{}", label(a, graph), label(b, graph)))
            .collect();
        rows.add_row([edges.join(","), gbps(*each)]);
    }
    // This is not `found.gbps`, which is the bus bandwidth: the line below the table has the factor.
    let sum: f64 = packed.trees.iter().map(|(_, each)| each).sum();
    rows.add_row(["sum".to_owned(), gbps(sum)]);
    output.line("")?;
    output.line(rows)?;
    output.line("GB/s of a tree: data reduced per second. The bus bandwidth is 2(n-1)/n of the sum for n devices.")?;
    output.line("")
}
