//! `topo`: a machine as a matrix of links, or in another format.

use std::collections::BTreeMap;

use comfy_table::{CellAlignment, Table, presets};
use mapa_core::{Allocator, DeviceId, DeviceInfo, HardwareGraph, NodeKind};
use mapa_topologies::{Error, Labels, Machine, Picture};

use crate::cli::{TopoArgs, TopoFormat};
use mapa_cli::Discovery;
use mapa_cli::Failure;
use mapa_cli::Output;
use mapa_cli::find;
use mapa_front::commands::{self, direct_links, link_census, network_cards};
use mapa_front::text::{gbps, table};

pub(crate) fn topo(args: &TopoArgs, output: &mut Output) -> Result<(), Failure> {
    let (loaded, discovery) = find(&args.machine, output)?;
    let (machine, idle, graph) = (&loaded.machine, &loaded.idle, loaded.graph());
    if let Some(format) = args.write.or(args.toml.then_some(TopoFormat::Toml)) {
        let text = write(format, machine, idle, output).map_err(Failure::malformed)?;
        return output.document(text.trim_end());
    }
    if output.json {
        let mut answer = commands::topo(&loaded);
        answer.discovery = discovery.as_ref().map(Discovery::answer);
        return output.object(&answer);
    }
    output.line(format_args!("{}: {}", machine.name, machine.title))?;
    for note in &machine.notes {
        output.line(format_args!("  {note}"))?;
    }
    for line in discovery.iter().flat_map(Discovery::lines) {
        output.line(format_args!("  {line}"))?;
    }
    for line in parts(machine) {
        output.line(format_args!("  {line}"))?;
    }
    output.line("")?;
    output.line(matrix(&machine.labels, graph))?;
    output.line("")?;
    output.line(census(&machine.labels, graph))?;
    output.line("")?;
    output.line(totals(idle))
}

/// Lines that list the products among the devices, and the network cards.
fn parts(machine: &Machine) -> Vec<String> {
    let mut products: BTreeMap<String, usize> = BTreeMap::new();
    let cards = network_cards(machine);
    for (_, node) in machine.fabric.nodes() {
        let NodeKind::Device(DeviceInfo {
            product,
            memory_bytes,
            ..
        }) = &node.kind
        else {
            continue;
        };
        let memory =
            memory_bytes.map(|bytes| format!("{} GiB", gbps(bytes as f64 / f64::from(1 << 30))));
        let words: Vec<String> = product.clone().into_iter().chain(memory).collect();
        if !words.is_empty() {
            *products.entry(words.join(", ")).or_default() += 1;
        }
    }
    let mut lines: Vec<String> = products
        .into_iter()
        .map(|(product, n)| format!("{n} x {product}"))
        .collect();
    if !cards.is_empty() {
        lines.push(format!("Network cards: {}.", cards.join(", ")));
    }
    lines
}

/// The machine in another format. Warns of what the format cannot express.
fn write(
    format: TopoFormat,
    machine: &Machine,
    idle: &Allocator,
    output: &Output,
) -> Result<String, Error> {
    let is_partitioned = ids(idle.graph()).any(|id| !idle.view().layout_of(id).is_whole());
    if format != TopoFormat::Svg && is_partitioned {
        output.warn("only pictures show the MIG layout of devices: it is left out");
    }
    match format {
        TopoFormat::Toml => machine.to_toml(),
        TopoFormat::Svg => machine.to_svg(&Picture::new().present(idle.view().present().clone())),
        TopoFormat::Dot => Ok(machine.to_dot()),
        TopoFormat::JsonGraph => machine.to_json_graph(),
        TopoFormat::Nccl => {
            let text = machine.to_nccl_xml()?;
            // The file starts with comments on what the format cannot express.
            for comment in text
                .lines()
                .map_while(|line| line.strip_prefix("<!--")?.strip_suffix("-->"))
            {
                output.warn(comment.trim());
            }
            Ok(text)
        }
        TopoFormat::Slurm => machine.to_slurm_gres(),
        TopoFormat::Koordinator => machine.to_koordinator(&SIZES),
    }
}

/// The sizes of partitions that Koordinator itself knows. The table has those that fit on the
/// machine.
const SIZES: [usize; 4] = [1, 2, 4, 8];

/// The whole devices. Instances have no links of their own to show.
fn ids(graph: &HardwareGraph) -> impl Iterator<Item = DeviceId> + use<> {
    // Whole devices have the lowest ids.
    (0..graph.wholes().len() as u32).map(DeviceId)
}

/// The matrix of the link classes between all pairs of devices.
fn matrix(labels: &Labels, graph: &HardwareGraph) -> Table {
    let mut table = Table::new();
    // The matrix has no frame, as that of `nvidia-smi topo -m`.
    table.load_style(presets::NOTHING);
    table
        .set_header(std::iter::once("").chain(ids(graph).map(|id| graph.device(id).name.as_str())));
    for a in ids(graph) {
        let mut row = vec![graph.device(a).name.clone()];
        for b in ids(graph) {
            row.push(if a == b {
                "X".to_owned()
            } else {
                labels.print(graph.link(a, b).class)
            });
        }
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Center);
    }
    table
}

/// The number of pairs with each class of link, best first, and the bandwidth of one link.
fn census(labels: &Labels, graph: &HardwareGraph) -> Table {
    let mut rows = table(["link", "pairs", "GB/s each"], [1, 2]);
    for (class, pairs, each) in link_census(graph) {
        rows.add_row([labels.print(class), pairs.to_string(), gbps(each)]);
    }
    rows
}

/// The links and bandwidth of each device.
fn totals(idle: &Allocator) -> Table {
    let graph = idle.graph();
    let has_mig = ids(graph).any(|id| graph.model(id).is_some());
    let header = [
        "id",
        "device",
        "NUMA",
        "direct links",
        "direct GB/s",
        "all pairs GB/s",
    ];
    let mut rows = table(
        header.into_iter().chain(has_mig.then_some("MIG")),
        [0, 2, 3, 4, 5],
    );
    for a in ids(graph) {
        let device = graph.device(a);
        let (links, direct) = direct_links(graph, a);
        let all: f64 = ids(graph).map(|b| graph.link(a, b).gbps).sum();
        let numa = device.numa.map_or("-".to_owned(), |numa| numa.to_string());
        let mut row = vec![
            a.to_string(),
            device.name.clone(),
            numa,
            links.to_string(),
            gbps(direct),
            gbps(all),
        ];
        let mig = graph.model(a).map(|model| {
            format!(
                "{}: {}",
                model.name(),
                model.print(&idle.view().layout_of(a))
            )
        });
        row.extend(has_mig.then(|| mig.unwrap_or_else(|| "-".to_owned())));
        rows.add_row(row);
    }
    rows
}
