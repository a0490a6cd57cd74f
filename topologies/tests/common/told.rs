//! What was read, as text: everything that a [`Dump`] and the machine made of it have, each fact on
//! a line of its own. Expectations of the corpus are such texts.

use std::collections::{BTreeMap, HashMap};
use std::fmt::{Display, Write};

use mapa_core::{
    DeviceId, Fabric, FabricWire, HardwareGraph, LinkClass, NodeId, NodeKind, PeerAccess, Unit,
};
use mapa_topologies::{Dump, Error, ErrorKind, Labels, Machine, mig};

/// An error with its kind, which the message does not have.
pub(crate) fn error(error: &Error) -> String {
    match error.kind() {
        ErrorKind::Malformed => format!("error: {error}\n"),
        kind => format!("error, {kind:?}: {error}\n"),
    }
}

/// What reading a text gave.
pub(crate) fn reading(reading: Result<Dump, Error>) -> String {
    match reading {
        Ok(read) => dump(&read),
        Err(failed) => error(&failed),
    }
}

/// Everything that a dump has, and the machine that it makes.
pub(crate) fn dump(dump: &Dump) -> String {
    let (mut text, machine) = (String::new(), &dump.machine);
    let mut line = |what: std::fmt::Arguments<'_>| writeln!(text, "{what}").unwrap();
    line(format_args!("kind: {}", dump.kind.name()));
    let says = dump.says;
    let words = [
        (says.every_device, "every device"),
        (says.direct, "direct links"),
        (says.direct_gbps, "their GB/s"),
        (says.host_gbps, "the host's GB/s"),
    ];
    let words: Vec<&str> = words
        .iter()
        .filter(|(is, _)| *is)
        .map(|word| word.1)
        .collect();
    line(format_args!(
        "says: {}; host: {:?}",
        words.join(", "),
        says.host
    ));
    line(format_args!("name: {}", machine.name));
    for (key, value) in [("title", &machine.title), ("source", &machine.source)] {
        if !value.is_empty() {
            line(format_args!("{key}: {value}"));
        }
    }
    if machine.labels != Labels::default() {
        line(format_args!(
            "labels: {} {}",
            machine.labels.direct, machine.labels.sys
        ));
    }
    remarks(&mut text, machine, 0, 0);
    fabric(&mut text, machine);
    facts_beside(&mut text, dump);
    match dump.clone().into_machine() {
        Err(failed) => {
            text += &format!("no machine: {}", error(&failed));
            matrix(&mut text, machine);
        }
        Ok(made) => {
            text += "machine:\n";
            remarks(
                &mut text,
                &made,
                machine.notes.len(),
                machine.warnings.len(),
            );
            known(&mut text, &made.fabric);
            matrix(&mut text, &made);
        }
    }
    text
}

/// Notes and warnings from these on.
fn remarks(text: &mut String, machine: &Machine, notes: usize, warnings: usize) {
    for note in machine.notes.iter().skip(notes) {
        *text += &format!("note: {note}\n");
    }
    for warning in machine.warnings.iter().skip(warnings) {
        *text += &format!("warning: {warning}\n");
    }
}

/// Components with their parents, and links in groups of equal ones.
fn fabric(text: &mut String, machine: &Machine) {
    let fabric = &machine.fabric;
    let places: HashMap<NodeId, usize> = fabric
        .nodes()
        .enumerate()
        .map(|(at, (id, _))| (id, at))
        .collect();
    let name = |id: NodeId| fabric.node(id).name.as_str();
    let mut up: HashMap<NodeId, String> = HashMap::new();
    let mut links: BTreeMap<String, Vec<(usize, usize, String)>> = BTreeMap::new();
    for (a, b, wire) in fabric.wires() {
        match wire {
            FabricWire::Up { gbps } => {
                up.insert(a, format!(", below {} at {gbps}", name(b)));
            }
            FabricWire::Link(link) => {
                let (a, b) = if places[&a] < places[&b] {
                    (a, b)
                } else {
                    (b, a)
                };
                let key = format!("{} {}", machine.labels.print(link.class), link.gbps);
                let pair = (places[&a], places[&b], format!("{}-{}", name(a), name(b)));
                links.entry(key).or_default().push(pair);
            }
        }
    }
    for (id, node) in fabric.nodes() {
        let kind = match &node.kind {
            NodeKind::Device(info) => {
                let offer = info.mig.as_ref().map(|model| match mig::recognise(model) {
                    Some((gpu, offer)) => format!("{} {offer:?}", gpu.name),
                    None => model.name().to_owned(),
                });
                let mut words = String::from("device");
                word(&mut words, "index", info.index);
                word(&mut words, "product", info.product.as_ref());
                word(&mut words, "uuid", info.uuid.as_ref());
                word(&mut words, "pci", info.pci.as_ref());
                word(&mut words, "numa", info.numa);
                word(&mut words, "bytes", info.memory_bytes);
                word(&mut words, "mig", offer);
                word(&mut words, "cores", fabric.cores(id));
                word(&mut words, "slot", fabric.slot_gbps(id));
                words
            }
            other => format!("{other:?}"),
        };
        *text += &format!(
            "{}: {kind}{}\n",
            node.name,
            up.get(&id).map_or("", String::as_str)
        );
    }
    for (link, mut pairs) in links {
        pairs.sort();
        let pairs: Vec<String> = pairs.into_iter().map(|pair| pair.2).collect();
        *text += &format!("{link}: {}\n", pairs.join(" "));
    }
    known(text, fabric);
}

/// What is known of pairs and sets of devices beside their links.
fn known(text: &mut String, fabric: &Fabric) {
    let mut peers: BTreeMap<PeerAccess, Vec<String>> = BTreeMap::new();
    for ((a, b), access) in fabric.peer_access() {
        peers.entry(access).or_default().push(format!("{a}-{b}"));
    }
    let word = |access: PeerAccess| {
        format!(
            "{} {:?}",
            if access.on { "on" } else { "off" },
            access.source
        )
    };
    for (access, pairs) in peers {
        *text += &format!("p2p {}: {}\n", word(access), pairs.join(" "));
    }
    if fabric.peer_access_elsewhere() != PeerAccess::default() {
        *text += &format!("p2p {} elsewhere\n", word(fabric.peer_access_elsewhere()));
    }
    for set in fabric.offered().unwrap_or_default() {
        *text += &format!("offered: {set}\n");
    }
}

fn word(text: &mut String, name: &str, value: Option<impl Display>) {
    if let Some(value) = value {
        *text += &format!(", {name} {value}");
    }
}

/// What a fabric cannot hold: ports, peer access, instances, profiles, channels.
fn facts_beside(text: &mut String, dump: &Dump) {
    for port in &dump.ports {
        let mut words = String::new();
        word(&mut words, "up", port.active);
        word(&mut words, "GB/s", port.gbps);
        let remote = port.remote.as_ref();
        word(&mut words, "to", remote.map(|(end, _)| end));
        word(&mut words, "link", remote.and_then(|(_, link)| *link));
        word(&mut words, "peer to peer", port.peer_to_peer);
        word(&mut words, "sent", port.traffic.map(|traffic| traffic.sent));
        word(
            &mut words,
            "received",
            port.traffic.map(|traffic| traffic.received),
        );
        word(
            &mut words,
            "counter",
            port.counted.map(|counted| counted.counter),
        );
        let lines = port
            .counted
            .map(|counted| (counted.sent_line, counted.received_line));
        word(&mut words, "sent in line", lines.and_then(|lines| lines.0));
        word(
            &mut words,
            "received in line",
            lines.and_then(|lines| lines.1),
        );
        *text += &format!("port {} {}{words}\n", port.device, port.link);
    }
    let mut access: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for peer_access in &dump.peer_access {
        let partial = if peer_access.partial { " partial" } else { "" };
        let links = if peer_access.by_links {
            " by links"
        } else {
            ""
        };
        let status = format!("{}{partial}{links}", peer_access.status.word());
        access
            .entry(status)
            .or_default()
            .push(format!("{}>{}", peer_access.from, peer_access.to));
    }
    for (status, ways) in access {
        *text += &format!("access {status}: {}\n", ways.join(" "));
    }
    for mig_instance in &dump.mig_instances {
        let mut words = String::new();
        word(&mut words, "profile", mig_instance.profile_id);
        word(&mut words, "id", mig_instance.instance_id);
        word(
            &mut words,
            "at",
            mig_instance
                .placement
                .map(|(start, size)| format!("{start}:{size}")),
        );
        word(&mut words, "uuid", mig_instance.uuid.as_ref());
        *text += &format!(
            "instance {} {}{words}\n",
            mig_instance.device, mig_instance.profile
        );
    }
    for mig_profile in &dump.mig_profiles {
        let mut words = String::new();
        word(&mut words, "name", mig_profile.name.as_ref());
        word(
            &mut words,
            "free",
            mig_profile
                .free_of_total
                .map(|(free, all)| format!("{free}/{all}")),
        );
        word(&mut words, "GiB", mig_profile.memory_gib);
        let places = mig_profile.placements.as_ref();
        word(
            &mut words,
            "at",
            places.map(|(starts, size)| format!("{starts:?}:{size}")),
        );
        *text += &format!("profile {} {}{words}\n", mig_profile.device, mig_profile.id);
    }
    for channel in &dump.channels {
        *text += &format!(
            "channel {} {}: devices {:?}, cards {:?}, GB/s inside {}, between {}\n",
            channel.graph,
            channel.pattern,
            channel.devices,
            channel.cards,
            channel.intra_gbps,
            channel.inter_gbps
        );
    }
    match dump.layouts() {
        Ok(layouts) => {
            for (device, layout) in layouts {
                *text += &format!("layout {device}: {:?}\n", layout.instances());
            }
        }
        Err(failed) => *text += &format!("no layouts: {}", error(&failed)),
    }
}

/// The matrix of a machine's graph: direct links before paths through the host. GB/s stand below,
/// or in the cell where a class has several.
fn matrix(text: &mut String, machine: &Machine) {
    let graph = match machine.graph_with_host() {
        Ok(graph) => graph,
        Err(failed) => return *text += &format!("no graph: {}", error(&failed)),
    };
    let ids = || (0..graph.len() as u32).map(DeviceId);
    let shown = |id: &DeviceId| matches!(graph.device(*id).unit, Unit::Whole | Unit::Nic);
    let shown: Vec<DeviceId> = ids().filter(shown).collect();
    let slices = ids()
        .filter(|&id| graph.device(id).unit.instance().is_some())
        .count();
    if slices > 0 {
        *text += &format!("instances that can exist: {slices}\n");
    }
    word_line(text, "links", graph.link_generation());
    let rates = rates(&graph, &shown);
    let cell = |class: LinkClass, gbps: f64| match rates.get(&class) {
        _ if class == LinkClass::None => String::new(),
        Some(all) if all.len() > 1 => format!("{}:{gbps}", machine.labels.print(class)),
        _ => machine.labels.print(class),
    };
    let mut rows = vec![vec![String::new()]];
    rows[0].extend(shown.iter().map(|&id| graph.device(id).name.clone()));
    for &a in &shown {
        let device = graph.device(a);
        let mut row = vec![device.name.clone()];
        for &b in &shown {
            let pair = graph.pair(a, b);
            let words = [
                cell(pair.direct.class, pair.direct.gbps),
                cell(pair.host.class, pair.host.gbps),
            ];
            row.push(if a == b {
                "X".to_owned()
            } else if words.iter().all(String::is_empty) {
                "-".to_owned()
            } else {
                words
                    .into_iter()
                    .filter(|word| !word.is_empty())
                    .collect::<Vec<_>>()
                    .join("/")
            });
        }
        if let Some(numa) = device.numa {
            row.push(format!("numa {numa}"));
        }
        if let Some(port) = device.switch_port {
            row.push(format!(
                "port {} {}",
                machine.labels.print(port.class),
                port.gbps
            ));
        }
        rows.push(row);
    }
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |at: usize| {
        rows.iter()
            .filter_map(|row| row.get(at))
            .map(|word| word.chars().count())
            .max()
    };
    let widths: Vec<usize> = (0..columns).filter_map(width).collect();
    for row in &rows {
        let cells = row
            .iter()
            .zip(&widths)
            .map(|(word, &width)| format!("{word:width$}"));
        *text += &format!("{}\n", cells.collect::<Vec<_>>().join(" ").trim_end());
    }
    for (class, all) in rates.iter().filter(|(_, all)| all.len() == 1) {
        *text += &format!("{}: {} GB/s\n", machine.labels.print(*class), all[0]);
    }
}

fn word_line(text: &mut String, name: &str, value: Option<&str>) {
    if let Some(value) = value {
        *text += &format!("{name}: {value}\n");
    }
}

/// The rates that the links and paths of each class have, each once.
fn rates(graph: &HardwareGraph, shown: &[DeviceId]) -> BTreeMap<LinkClass, Vec<f64>> {
    let mut rates: BTreeMap<LinkClass, Vec<f64>> = BTreeMap::new();
    for (at, &a) in shown.iter().enumerate() {
        for &b in &shown[..at] {
            let pair = graph.pair(a, b);
            for link in [pair.direct, pair.host]
                .into_iter()
                .filter(|link| link.exists())
            {
                let all = rates.entry(link.class).or_default();
                if !all.contains(&link.gbps) {
                    all.push(link.gbps);
                }
            }
        }
    }
    rates
}
