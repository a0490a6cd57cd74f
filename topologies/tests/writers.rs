//! What writers write: pictures that show what they should where it can be seen, graphs that other
//! tools read, and Koordinator's table.

use crate::common::real_data;
use std::collections::{BTreeMap, BTreeSet};

use mapa_core::testing::{cut_machines, free_sets, machines, patterns};
use mapa_core::{
    DeviceId, DeviceSet, FabricWire, HardwareGraph, Link, LinkClass, NodeKind, Pattern, Policy,
    Request, lowest_id, preserve,
};
use mapa_topologies::{ErrorKind, Machine, Picture, catalogue, named, read};
use proptest::prelude::*;
use roxmltree::{Document, Node};
use serde_json::Value;

/// A machine of a graph's fabric.
fn of(graph: &HardwareGraph) -> Machine {
    Machine {
        name: "random".to_owned(),
        title: "A <random> & \"odd\" machine".to_owned(),
        source: "proptest".to_owned(),
        notes: Vec::new(),
        vendor: None,
        labels: mapa_topologies::Labels::default(),
        fabric: graph.fabric().clone(),
        warnings: Vec::new(),
    }
}

/// Devices behind one link switch, four to a tray.
fn rack(devices: usize) -> Machine {
    let mut text =
        String::from("format = 'mapa-machine'\nversion = 1\nname = 'rack'\ntitle = 'a rack'\n");
    text += "nodes = [{ name = 'fabric', kind = 'link-switch' },\n";
    for tray in 0..devices.div_ceil(4) {
        text += &format!(
            "{{ name = 'tray{tray}', kind = 'machine' }}, {{ name = 'cpu{tray}', kind = 'numa', number = {tray}, up = 'tray{tray}' }},\n"
        );
    }
    text += "]\ndevices = [\n";
    (0..devices).for_each(|id| text += &format!("{{ name = 'GPU{id}', up = 'cpu{}' }},\n", id / 4));
    text += "]\nlinks = [\n";
    (0..devices).for_each(|id| {
        text += &format!("{{ ends = ['GPU{id}', 'fabric'], class = 'NV18', gbps = 900.0 }},\n")
    });
    Machine::from_toml(&(text + "]\n")).unwrap()
}

#[derive(Clone, Copy, Debug)]
struct Rect {
    x: f64,
    y: f64,
    w: f64,
    h: f64,
}

impl Rect {
    fn of(node: Node<'_, '_>) -> Self {
        let number = |name| node.attribute(name).unwrap().parse().unwrap();
        Self {
            x: number("x"),
            y: number("y"),
            w: number("width"),
            h: number("height"),
        }
    }

    /// The rectangle without a margin on each side.
    fn inset(self, by: f64) -> Self {
        Self {
            x: self.x + by,
            y: self.y + by,
            w: self.w - 2.0 * by,
            h: self.h - 2.0 * by,
        }
    }

    fn meets(self, other: Self) -> bool {
        self.x < other.x + other.w
            && other.x < self.x + self.w
            && self.y < other.y + other.h
            && other.y < self.y + self.h
    }

    fn holds(self, (x, y): (f64, f64)) -> bool {
        (self.x..=self.x + self.w).contains(&x) && (self.y..=self.y + self.h).contains(&y)
    }
}

fn with_class<'a, 'i>(
    document: &'a Document<'i>,
    class: &'a str,
) -> impl Iterator<Item = Node<'a, 'i>> {
    document.descendants().filter(move |node| {
        node.attribute("class")
            .is_some_and(|c| c.split(' ').any(|c| c == class))
    })
}

/// What a picture shows of a device: its card, its class and its ranks.
type Card = (Rect, String, Vec<usize>);

fn cards(document: &Document<'_>) -> BTreeMap<usize, Card> {
    let mut cards = BTreeMap::new();
    for group in with_class(document, "device") {
        let id: usize = group.attribute("data-device").unwrap().parse().unwrap();
        let rect = group
            .children()
            .find(|node| node.attribute("class") == Some("card"))
            .unwrap();
        let ranks = group.attribute("data-rank").unwrap_or_default();
        let ranks = ranks
            .split_whitespace()
            .map(|rank| rank.parse().unwrap())
            .collect();
        let class = group.attribute("class").unwrap().to_owned();
        assert!(
            cards.insert(id, (Rect::of(rect), class, ranks)).is_none(),
            "device {id} is drawn twice"
        );
    }
    cards
}

/// The coordinates along a path of lines and curves, closely enough.
fn points(path: &str) -> Vec<(f64, f64)> {
    let mut words = path.split_whitespace().peekable();
    let mut points: Vec<(f64, f64)> = Vec::new();
    while let Some(word) = words.next() {
        let (letter, first) = word.split_at(1);
        let mut numbers = vec![first.parse::<f64>().unwrap()];
        while let Some(number) = words.peek().and_then(|word| word.parse::<f64>().ok()) {
            numbers.push(number);
            words.next();
        }
        let ends: Vec<(f64, f64)> = numbers.chunks(2).map(|pair| (pair[0], pair[1])).collect();
        if letter == "M" {
            points.push(ends[0]);
            continue;
        }
        let controls: Vec<(f64, f64)> = points.last().copied().into_iter().chain(ends).collect();
        points.extend((1..=64).map(|i| bezier(&controls, f64::from(i) / 64.0)));
    }
    points
}

/// De Casteljau's algorithm, of any degree.
fn bezier(controls: &[(f64, f64)], t: f64) -> (f64, f64) {
    if let [only] = controls {
        return *only;
    }
    let between =
        |(a, b): (&(f64, f64), &(f64, f64))| (a.0 + (b.0 - a.0) * t, a.1 + (b.1 - a.1) * t);
    bezier(
        &controls
            .iter()
            .zip(&controls[1..])
            .map(between)
            .collect::<Vec<_>>(),
        t,
    )
}

/// Everything that must hold of any picture.
fn check(machine: &Machine, picture: &Picture) -> String {
    let svg = machine.to_svg(picture).unwrap();
    assert_eq!(
        machine.to_svg(picture).unwrap(),
        svg,
        "the same machine, another text"
    );
    let document = Document::parse(&svg).unwrap();
    let root = document.root_element();
    assert_eq!(
        root.first_element_child().unwrap().tag_name().name(),
        "title"
    );
    let view: Vec<f64> = root
        .attribute("viewBox")
        .unwrap()
        .split(' ')
        .map(|n| n.parse().unwrap())
        .collect();
    let view = Rect {
        x: view[0],
        y: view[1],
        w: view[2],
        h: view[3],
    };
    let cards = cards(&document);
    assert_eq!(cards.len(), machine.fabric.device_count());
    let rects: Vec<Rect> = cards.values().map(|card| card.0).collect();
    for (i, a) in rects.iter().enumerate() {
        assert!(
            rects[i + 1..].iter().all(|b| !a.meets(*b)),
            "cards overlap at {a:?}"
        );
    }
    for rect in document
        .descendants()
        .filter(|node| node.has_tag_name("rect") && node.attribute("x").is_some())
    {
        let rect = Rect::of(rect);
        let corners = [(rect.x, rect.y), (rect.x + rect.w, rect.y + rect.h)];
        assert!(
            rect.w > 0.0 && rect.h > 0.0 && corners.iter().all(|corner| view.holds(*corner)),
            "{rect:?} in {view:?}"
        );
    }
    for text in document
        .descendants()
        .filter(|node| node.has_tag_name("text"))
    {
        let number = |name| text.attribute(name).unwrap().parse::<f64>().unwrap();
        assert!(view.holds((number("x"), number("y") + 3.0)), "{text:?}");
    }
    for path in document
        .descendants()
        .filter(|node| node.has_tag_name("path"))
    {
        for (x, y) in points(path.attribute("d").unwrap()) {
            assert!(view.holds((x, y)), "{path:?} leaves the picture");
            let behind = rects.iter().any(|card| card.inset(0.2).holds((x, y)));
            assert!(!behind, "{path:?} passes behind a card at {x}, {y}");
        }
    }
    // The legend has what is drawn: every kind of direct link, and host paths that a job uses.
    let [direct, host] = kinds(machine, &machine.graph().unwrap());
    let legend = legend(&document);
    assert!(direct.is_subset(&legend), "{direct:?}, {legend:?}");
    let rest: BTreeSet<_> = legend.difference(&direct).cloned().collect();
    assert!(rest.is_subset(&host), "{rest:?}, {host:?}");
    let dashed = with_class(&document, "used").any(|path| path.has_attribute("stroke-dasharray"));
    assert_eq!(!rest.is_empty(), dashed, "{rest:?}");
    svg
}

/// The classes and bandwidths in the legend.
fn legend(document: &Document<'_>) -> BTreeSet<(String, String)> {
    let entries: Vec<(String, String)> = with_class(document, "link")
        .map(|entry| {
            [entry.attribute("data-class"), entry.attribute("data-gbps")]
                .map(|value| value.unwrap().to_owned())
        })
        .map(|[class, gbps]| (class, gbps))
        .collect();
    let set: BTreeSet<_> = entries.iter().cloned().collect();
    assert_eq!(set.len(), entries.len(), "{entries:?}");
    set
}

/// The kinds of the machine's direct links, and those of host paths where they are the best.
fn kinds(machine: &Machine, graph: &HardwareGraph) -> [BTreeSet<(String, String)>; 2] {
    let direct = machine
        .fabric
        .wires()
        .filter_map(|(_, _, wire)| match wire {
            FabricWire::Link(link) if link.class.is_direct() => Some(link),
            _ => None,
        });
    let wholes = graph.wholes();
    let pairs = wholes
        .iter()
        .flat_map(|b| (0..b.0).map(move |a| (DeviceId(a), b)));
    let host = pairs
        .map(|(a, b)| graph.link(a, b))
        .filter(|link| link.class.is_host());
    let printed = |link: Link| (machine.labels.print(link.class), link.gbps.to_string());
    [direct.map(printed).collect(), host.map(printed).collect()]
}

#[test]
fn every_machine_of_the_catalogue_can_be_drawn() {
    for entry in catalogue() {
        let machine = named(entry.name).unwrap();
        let svg = check(&machine, &Picture::new());
        let document = Document::parse(&svg).unwrap();
        assert!(
            cards(&document)
                .values()
                .all(|(_, class, ranks)| class == "device free" && ranks.is_empty())
        );
        assert!(with_class(&document, "used").next().is_none());
    }
}

#[test]
fn a_job_is_drawn_on_its_devices_and_links() {
    let machine = named("dgx-1v").unwrap();
    let graph = machine.graph().unwrap();
    let busy = DeviceSet::from([0, 3]);
    let free = &graph.all() - &busy;
    let decision = preserve()
        .decide(
            &Request::new(Pattern::ring(4)).sensitive(true),
            &graph.with_free(&free),
        )
        .unwrap();
    let picture = Picture::new()
        .title("a & b")
        .subtitle("<c>")
        .job(decision.pattern(), decision.placement());
    let svg = check(&machine, &picture.busy(busy.clone()));
    let document = Document::parse(&svg).unwrap();
    for (id, (_, class, ranks)) in cards(&document) {
        let expected: Vec<usize> = decision
            .placement()
            .iter()
            .enumerate()
            .filter(|(_, device)| device.index() == id)
            .map(|(rank, _)| rank)
            .collect();
        assert_eq!(ranks, expected, "GPU{id}");
        let state = if !expected.is_empty() {
            "chosen"
        } else if busy.contains((id as u32).into()) {
            "busy"
        } else {
            "free"
        };
        assert_eq!(class, format!("device {state}"));
    }
    assert_eq!(
        with_class(&document, "used")
            .filter(|node| node.has_tag_name("path"))
            .count(),
        4
    );
    let drawn = with_class(&document, "links")
        .next()
        .unwrap()
        .children()
        .filter(Node::is_element)
        .count();
    let direct = decision.pattern().edges().iter().filter(|edge| {
        let [a, b] = [edge.a, edge.b].map(|rank| decision.placement()[usize::from(rank)]);
        graph.link(a, b).class.is_direct()
    });
    assert_eq!(drawn + direct.count(), 16);
    let texts: Vec<_> = document
        .descendants()
        .filter_map(|node| node.text())
        .collect();
    assert!(
        texts.contains(&"a & b") && texts.contains(&"<c>"),
        "{texts:?}"
    );
}

#[test]
fn a_switched_fabric_has_a_line_for_each_port() {
    for (machine, ports) in [
        (named("dgx-2").unwrap(), 16),
        (named("hgx-h100").unwrap(), 8),
        (rack(72), 72),
        (rack(5), 5),
    ] {
        let graph = machine.graph().unwrap();
        let decision = lowest_id()
            .decide(
                &Request::new(Pattern::ring(5)),
                &graph.with_free(&graph.all()),
            )
            .unwrap();
        let svg = check(
            &machine,
            &Picture::new().job(decision.pattern(), decision.placement()),
        );
        let document = Document::parse(&svg).unwrap();
        assert_eq!(with_class(&document, "port").count(), ports);
        assert_eq!(with_class(&document, "switch").count(), 1);
        assert!(
            with_class(&document, "links")
                .next()
                .unwrap()
                .first_element_child()
                .is_none()
        );
    }
}

#[test]
fn planes_of_equal_ports_are_one_bar() {
    let mut text = String::from("format = 'mapa-machine'\nversion = 1\nname = 'planes'\n");
    text +=
        "nodes = [{ name = 's0', kind = 'link-switch' }, { name = 's1', kind = 'link-switch' }]\n";
    text += "devices = [{ name = 'a' }, { name = 'b' }, { name = 'c' }]\nlinks = [\n";
    for device in ["a", "b", "c"] {
        text += &format!(
            "{{ ends = ['{device}', 's0'], class = 'NV2' }}, {{ ends = ['{device}', 's1'], class = 'NV2' }},\n"
        );
    }
    let machine = Machine::from_toml(&(text + "]\n")).unwrap();
    let svg = check(&machine, &Picture::new());
    let document = Document::parse(&svg).unwrap();
    assert_eq!(
        (
            with_class(&document, "switch").count(),
            with_class(&document, "port").count()
        ),
        (1, 3)
    );
    assert!(
        svg.contains("2 × NV2") && svg.contains("s0 to s1: 2 switches"),
        "{svg}"
    );
}

#[test]
fn more_devices_than_can_be_read_are_refused() {
    let error = rack(73).to_svg(&Picture::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    insta::assert_snapshot!(
        error.to_string(),
        @"73 devices: expected at most 72, as more cannot be read in a picture"
    );
}

#[test]
fn ids_and_ranks_that_are_not_there_are_refused() {
    let machine = named("summit").unwrap();
    let job = |ids: &[u32]| {
        let placement: Vec<DeviceId> = ids.iter().map(|&id| DeviceId(id)).collect();
        machine
            .to_svg(&Picture::new().job(&Pattern::ring(3), &placement))
            .map(drop)
            .map_err(|error| error.to_string())
    };
    assert_eq!(job(&[0, 1, 2]), Ok(()));
    assert!(job(&[0, 1, 6]).unwrap_err().contains('6'));
    insta::assert_snapshot!(
        job(&[0, 1]).unwrap_err(),
        @"the job has an edge 1-2 but a placement of 2 ranks: expected a device for each rank"
    );
}

#[test]
fn instances_are_drawn_on_their_slices() {
    let mut machine = named("dgx-a100").unwrap();
    let model = mapa_topologies::mig::named("a100-40gb")
        .unwrap()
        .model(mapa_topologies::mig::Offer::PLAIN)
        .unwrap();
    machine.fabric.set_mig(Some(&model));
    let graph = machine.graph().unwrap();
    let instance = |name: &str| graph.find(name).unwrap();
    let placement = [instance("GPU1/1g.5gb@3"), instance("GPU2/3g.20gb@0")];
    let busy: DeviceSet = [instance("GPU1/3g.20gb@4")].into_iter().collect();
    let svg = check(
        &machine,
        &Picture::new()
            .job(&Pattern::independent(2), &placement)
            .busy(busy),
    );
    let document = Document::parse(&svg).unwrap();
    let shown: Vec<(String, String)> = with_class(&document, "instance")
        .map(|node| {
            (
                node.attribute("class").unwrap().to_owned(),
                node.attribute("data-device").unwrap().to_owned(),
            )
        })
        .collect();
    let expected = [
        ("chosen", placement[0]),
        ("busy", instance("GPU1/3g.20gb@4")),
        ("chosen", placement[1]),
    ];
    assert_eq!(
        shown,
        expected.map(|(state, id)| (format!("instance {state}"), id.to_string()))
    );
}

const CLASSES: &str =
    "        GPU0    GPU1    GPU2    GPU3    NIC0    CPU Affinity    NUMA Affinity
GPU0     X      NV2     SYS     SYS     PIX     0-15            0
GPU1    NV2      X      SYS     SYS     PHB     0-15            0
GPU2    SYS     SYS      X      PIX     SYS     16-31           1
GPU3    SYS     SYS     PIX      X      SYS     16-31           1
NIC0    PIX     PHB     SYS     SYS      X
";

#[test]
fn classes_alone_give_the_boxes() {
    let machine = read(CLASSES.as_bytes()).unwrap().into_machine().unwrap();
    let svg = check(&machine, &Picture::new());
    let document = Document::parse(&svg).unwrap();
    let boxes: Vec<&str> = with_class(&document, "box")
        .filter_map(|node| node.first_element_child()?.text())
        .collect();
    assert_eq!(
        boxes,
        [
            "NUMA 0 · host bridge",
            "NUMA 1 · PCIe switch",
            "PCIe switch"
        ]
    );
    assert_eq!(with_class(&document, "nic").count(), 1);
}

#[test]
fn real_dumps_can_be_drawn_and_written() {
    let Some(data) = real_data() else {
        return;
    };
    let mut drawn = 0;
    let mut files: Vec<_> = std::fs::read_dir(data.join("samples/nvidia_smi_topo"))
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    files.sort();
    for file in files {
        let Ok(dump) = read(&std::fs::read(&file).unwrap()) else {
            continue;
        };
        let Ok(machine) = dump.into_machine() else {
            continue;
        };
        check(&machine, &Picture::new());
        check_dot(&machine);
        check_json_graph(&machine);
        drawn += 1;
    }
    assert!(drawn > 30, "{drawn}");
}

#[test]
fn names_cannot_break_out() {
    let mut text = String::from(
        "format = 'mapa-machine'\nversion = 1\nname = '<n>\"'\ntitle = '</title><script>'\n",
    );
    text += "source = '&amp; ]]>'\nnodes = [{ name = '<b>\\', kind = 'numa', number = 0 }]\n";
    text += "devices = [{ name = '\"><g>', up = '<b>\\' }, { name = 'a device of a name that is much too long for its card' }]\n";
    let machine = Machine::from_toml(&text).unwrap();
    let svg = check(&machine, &Picture::new());
    assert!(!svg.contains("<script>") && svg.contains("&lt;script&gt;"));
    check_dot(&machine);
    check_json_graph(&machine);
}

#[test]
fn a_host_of_absurd_depth_can_be_drawn() {
    let mut text = String::from(
        "format = 'mapa-machine'\nversion = 1\nname = 'deep'\nnodes = [{ name = 's0', kind = 'pcie-switch' },\n",
    );
    (1..3000).for_each(|i| {
        text += &format!(
            "{{ name = 's{i}', kind = 'pcie-switch', up = 's{}' }},\n",
            i - 1
        )
    });
    text += "{ name = 'card', kind = 'nic', up = 's2998' }]\ndevices = [{ name = 'a', up = 's2999' }, { name = 'b', up = 's1' }]\n";
    let machine = Machine::from_toml(&text).unwrap();
    check(&machine, &Picture::new());
    check_dot(&machine);
}

/// Machines up to the most that can be drawn, few of them large.
fn any_machine() -> impl Strategy<Value = HardwareGraph> {
    prop_oneof![6 => machines(1..=10), 2 => machines(11..=24), 1 => machines(60..=72), 3 => cut_machines(1..=6)]
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(64))]

    #[test]
    fn any_machine_and_job_can_be_drawn(
        graph in any_machine(),
        pattern in patterns(1..=6),
        seats in prop::collection::vec(any::<prop::sample::Index>(), 6),
        busy in free_sets(10),
        present in free_sets(60),
    ) {
        let machine = of(&graph);
        let graph = machine.graph().unwrap();
        let placement: Vec<DeviceId> = seats[..pattern.len()].iter().map(|seat| DeviceId(seat.index(graph.len()) as u32)).collect();
        let busy = busy.iter().filter(|id| id.index() < graph.len()).collect();
        let picture = Picture::new().job(&pattern, &placement).busy(busy).present(present);
        let svg = machine.to_svg(&picture).unwrap();
        prop_assert!(svg.len() < 4 << 20);
        check(&machine, &Picture::new());
        check_with_job(&machine, &picture);
    }

    #[test]
    fn any_machine_is_a_graph(graph in any_machine()) {
        let machine = of(&graph);
        check_dot(&machine);
        check_json_graph(&machine);
    }

    #[test]
    fn partitions_are_those_of_the_best_ring(graph in machines(1..=7), size in 1usize..=5) {
        check_koordinator(&of(&graph), size);
    }
}

/// As [`check`], but for the legend: jobs may put links in it that are no device's best.
fn check_with_job(machine: &Machine, picture: &Picture) {
    let svg = machine.to_svg(picture).unwrap();
    let document = Document::parse(&svg).unwrap();
    let rects: Vec<Rect> = cards(&document).values().map(|card| card.0).collect();
    for path in document
        .descendants()
        .filter(|node| node.has_tag_name("path"))
    {
        for (x, y) in points(path.attribute("d").unwrap()) {
            let behind = rects.iter().any(|card| card.inset(0.2).holds((x, y)));
            assert!(!behind, "{path:?} passes behind a card at {x}, {y}");
        }
    }
}

/// The text outside quotes, and what is quoted.
fn unquoted(text: &str) -> (String, Vec<String>) {
    let (mut outside, mut quoted) = (String::new(), Vec::new());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '"' {
            outside.push(c);
            continue;
        }
        let mut name = String::new();
        loop {
            match chars.next().expect("quotes are closed") {
                '"' => break,
                '\\' => name.push(chars.next().expect("something is escaped")),
                c => name.push(c),
            }
        }
        outside.push('§');
        quoted.push(name);
    }
    (outside, quoted)
}

fn check_dot(machine: &Machine) {
    let dot = machine.to_dot();
    let (outside, _) = unquoted(&dot);
    let mut depth = 0;
    for c in outside.chars() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        assert!(depth >= 0, "{dot}");
    }
    assert_eq!(depth, 0, "{dot}");
    let is_statement = |line: &&str| {
        unquoted(line).0.trim_start().starts_with('§') && !unquoted(line).0.contains("--")
    };
    let mut named: Vec<String> = dot
        .lines()
        .filter(is_statement)
        .map(|line| unquoted(line).1[0].clone())
        .collect();
    named.sort();
    let is_node = |kind: &NodeKind| {
        matches!(
            kind,
            NodeKind::Device(_) | NodeKind::Nic | NodeKind::LinkSwitch
        )
    };
    let nodes = machine
        .fabric
        .nodes()
        .filter(|(_, node)| is_node(&node.kind))
        .map(|(_, node)| node.name.clone());
    let mut expected: Vec<String> = nodes.collect();
    expected.sort();
    // NUMA nodes without devices are named beside them.
    let empty: Vec<&String> = named
        .iter()
        .filter(|name| !expected.contains(name))
        .collect();
    let is_numa = |name: &&String| {
        machine
            .fabric
            .nodes()
            .any(|(_, node)| node.name == ***name && matches!(node.kind, NodeKind::Numa(_)))
    };
    assert!(empty.iter().all(is_numa), "{empty:?}");
    named.retain(|name| expected.contains(name));
    assert_eq!(named, expected, "{dot}");
    let direct = machine
        .fabric
        .wires()
        .filter(|(_, _, wire)| matches!(wire, FabricWire::Link(link) if link.class.is_direct()));
    assert_eq!(outside.matches("--").count(), direct.count());
}

fn check_json_graph(machine: &Machine) {
    let json: Value = serde_json::from_str(&machine.to_json_graph().unwrap()).unwrap();
    let graph = &json["graph"];
    let (nodes, edges) = (
        graph["nodes"].as_object().unwrap(),
        graph["edges"].as_array().unwrap(),
    );
    assert_eq!(nodes.len(), machine.fabric.nodes().count());
    assert_eq!(edges.len(), machine.fabric.wires().count());
    for edge in edges {
        assert!(
            ["source", "target"]
                .iter()
                .all(|end| nodes.contains_key(edge[end].as_str().unwrap())),
            "{edge}"
        );
        let gbps = edge["metadata"]["gbps"].as_f64().unwrap();
        assert!(
            gbps > 0.0 && ["up", "direct", "host"].contains(&edge["relation"].as_str().unwrap())
        );
    }
    // The schema allows no other keys.
    let keys: Vec<&String> = graph.as_object().unwrap().keys().collect();
    assert!(keys.iter().all(|key| {
        [
            "id", "type", "label", "directed", "metadata", "nodes", "edges",
        ]
        .contains(&key.as_str())
    }));
}

/// Every order of a few ids, slowly.
fn orders(ids: &[u32]) -> Vec<Vec<u32>> {
    if ids.len() <= 1 {
        return vec![ids.to_vec()];
    }
    let rest = |i: usize| {
        ids.iter()
            .enumerate()
            .filter(|(j, _)| *j != i)
            .map(|(_, id)| *id)
            .collect::<Vec<_>>()
    };
    let with = |i: usize| {
        orders(&rest(i))
            .into_iter()
            .map(move |order| [vec![ids[i]], order].concat())
    };
    (0..ids.len()).flat_map(with).collect()
}

/// The slowest link of the best ring, by trying every order.
fn ring(graph: &HardwareGraph, set: &[u32]) -> f64 {
    let speed = |a: u32, b: u32| graph.link(a.into(), b.into()).gbps;
    let slowest = |order: Vec<u32>| {
        (0..order.len())
            .map(|i| speed(order[i], order[(i + 1) % order.len()]))
            .fold(f64::MAX, f64::min)
    };
    orders(set).into_iter().map(slowest).fold(0.0, f64::max)
}

fn subsets(n: u32, size: usize) -> Vec<Vec<u32>> {
    let of = |bits: u32| {
        (0..n)
            .filter(move |i| bits >> i & 1 == 1)
            .collect::<Vec<_>>()
    };
    (0..1u32 << n)
        .map(of)
        .filter(|set| set.len() == size)
        .collect()
}

fn minors(partition: &Value) -> Vec<u32> {
    partition["minors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|minor| minor.as_u64().unwrap() as u32)
        .collect()
}

fn quantity(gbps: f64) -> String {
    if gbps.fract() == 0.0 {
        format!("{gbps}G")
    } else {
        format!("{}M", gbps * 1000.0)
    }
}

fn check_koordinator(machine: &Machine, size: usize) {
    let graph = machine.graph().unwrap();
    let table: Value = serde_json::from_str(&machine.to_koordinator(&[size]).unwrap()).unwrap();
    if size > graph.len() {
        assert_eq!(table, serde_json::json!({}));
        return;
    }
    let listed = table[size.to_string()].as_array().unwrap();
    let sets = subsets(graph.len() as u32, size);
    let best = sets.iter().map(|set| ring(&graph, set)).fold(0.0, f64::max);
    let expected: BTreeSet<Vec<u32>> = sets
        .into_iter()
        .filter(|set| size == 1 || ring(&graph, set) == best)
        .collect();
    assert_eq!(listed.iter().map(minors).collect::<BTreeSet<_>>(), expected);
    let left = |partition: &Value| {
        let chosen: DeviceSet = minors(partition).into_iter().map(DeviceId).collect();
        graph.bandwidth_within(&(&graph.all() - &chosen), |_| true)
    };
    for (a, b) in listed.iter().zip(&listed[1..]) {
        assert!(
            left(a) >= left(b) && a["allocationScore"].as_u64() >= b["allocationScore"].as_u64()
        );
    }
    for partition in listed {
        let known = (size > 1 && best > 0.0).then(|| quantity(best));
        assert_eq!(partition["ringBusBandwidth"].as_str(), known.as_deref());
        assert!(partition["allocationScore"].as_u64().unwrap() >= 1);
    }
}

#[test]
fn koordinator_gets_the_pairs_and_rings_of_a_dgx_1v() {
    let machine = named("dgx-1v").unwrap();
    for size in [1, 2, 3, 4, 8] {
        check_koordinator(&machine, size);
    }
    let table: Value =
        serde_json::from_str(&machine.to_koordinator(&[1, 2, 4, 8, 16]).unwrap()).unwrap();
    assert_eq!(
        table.as_object().unwrap().keys().collect::<Vec<_>>(),
        ["1", "2", "4", "8"]
    );
    let bandwidth = |size: &str| table[size][0]["ringBusBandwidth"].clone();
    assert_eq!(
        (bandwidth("1"), bandwidth("2"), bandwidth("8")),
        (Value::Null, "50G".into(), "50G".into())
    );
    let doubles = [
        (0, 3),
        (0, 4),
        (1, 2),
        (1, 5),
        (2, 3),
        (4, 7),
        (5, 6),
        (6, 7),
    ];
    let pairs: BTreeSet<Vec<u32>> = table["2"].as_array().unwrap().iter().map(minors).collect();
    assert_eq!(pairs, doubles.iter().map(|&(a, b)| vec![a, b]).collect());
    assert!(
        table["2"]
            .as_array()
            .unwrap()
            .iter()
            .all(|partition| partition["gpuLinkType"] == "NVLink")
    );
}

#[test]
fn behind_a_switch_partitions_keep_to_the_host() {
    let table: Value = serde_json::from_str(
        &named("dgx-2")
            .unwrap()
            .to_koordinator(&[1, 2, 4, 8])
            .unwrap(),
    )
    .unwrap();
    let first = |size: &str, n: usize| {
        table[size]
            .as_array()
            .unwrap()
            .iter()
            .take(n)
            .map(minors)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        first("2", 8),
        (0..8).map(|i| vec![2 * i, 2 * i + 1]).collect::<Vec<_>>()
    );
    assert_eq!(
        first("4", 4),
        (0..4)
            .map(|i| (4 * i..4 * i + 4).collect())
            .collect::<Vec<Vec<u32>>>()
    );
    assert_eq!(
        first("8", 2),
        [(0..8).collect::<Vec<u32>>(), (8..16).collect()]
    );
    assert_eq!(table["8"].as_array().unwrap().len(), 64);
    assert!(table["8"][1]["allocationScore"].as_u64() > table["8"][2]["allocationScore"].as_u64());
}

#[test]
fn koordinator_is_not_given_more_than_it_can_hold() {
    let refused =
        |machine: &Machine, sizes: &[usize]| machine.to_koordinator(sizes).unwrap_err().to_string();
    insta::assert_snapshot!(
        refused(&rack(72), &[1]),
        @"GPU63 has the number 63: expected at most 62, the largest that koordinator can hold"
    );
    insta::assert_snapshot!(
        refused(&rack(40),
        &[8]),
        @"40 devices have 76904685 sets of 8: expected at most 1000000; choose a smaller size"
    );
    insta::assert_snapshot!(refused(&rack(20), &[0]), @"partitions of 0 devices: expected 1 to 16");
    insta::assert_snapshot!(
        refused(&rack(20), &[17]),
        @"partitions of 17 devices: expected 1 to 16"
    );
    assert!(rack(40).to_koordinator(&[1, 2]).is_ok());
}

#[test]
fn direct_links_are_told_apart_without_colour() {
    let machine = named("dgx-1v").unwrap();
    let svg = machine.to_svg(&Picture::new()).unwrap();
    let document = Document::parse(&svg).unwrap();
    let width = |class: &'static str| {
        let lines = with_class(&document, class).filter(|node| node.has_tag_name("path"));
        let widths: BTreeSet<String> = lines
            .map(|node| node.attribute("stroke-width").unwrap().to_owned())
            .collect();
        assert_eq!(widths.len(), 1);
        widths.first().unwrap().parse::<f64>().unwrap()
    };
    assert!(width("NV2") >= 2.0 * width("NV1"));
    assert_eq!(machine.labels.print(LinkClass::Direct(2)), "NV2");
}
