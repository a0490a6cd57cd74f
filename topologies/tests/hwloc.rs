//! hwloc's XML: every real file reads to what its manifest, its siblings and its own lines say.

use crate::common;

use std::fs;

use crate::common::dumps::{cards, keeps_what_it_reads, pairs};
use mapa_core::{DeviceId, HardwareGraph, LinkClass, NodeKind};
use mapa_topologies::{Dump, Error, ErrorKind, HostDetail, Kind, Machine, read};
use proptest::prelude::*;

/// What a file says.
struct Expected {
    name: &'static str,
    /// The manifest counts the devices that NVML, CUDA or ROCm name: none where hwloc was built
    /// without these.
    manifest: usize,
    devices: usize,
    /// By device.
    numa: &'static [u32],
    /// How many pairs of devices are joined by PIX, PXB, PHB, NODE and SYS.
    host: [usize; 5],
    cards: usize,
}

const fn file(
    name: &'static str,
    manifest: usize,
    numa: &'static [u32],
    host: [usize; 5],
    cards: usize,
) -> Expected {
    Expected {
        name,
        manifest,
        devices: numa.len(),
        numa,
        host,
        cards,
    }
}

/// GPUs below one switch of each socket of a POWER9 node.
const AC922: [usize; 5] = [2, 0, 0, 0, 4];

const SAMPLES: [Expected; 18] = [
    file("coral-ea-hwloc1.xml", 0, &[0, 0, 1, 1], [0, 0, 0, 2, 4], 4),
    file("coral-lassen-hwloc1.xml", 0, &[0, 0, 8, 8], AC922, 6),
    file("coral-lassen.xml", 4, &[0, 0, 8, 8], AC922, 6),
    file("coral-rzansel-hwloc1.xml", 0, &[0, 0, 8, 8], AC922, 6),
    file("cts1-pascal.xml", 2, &[0, 0], [1, 0, 0, 0, 0], 3),
    file(
        "eas-tioga.xml",
        8,
        &[3, 3, 1, 1, 0, 0, 2, 2],
        [0, 0, 0, 4, 24],
        5,
    ),
    file(
        "epyc-corona-p2.xml",
        8,
        &[0, 0, 0, 0, 1, 1, 1, 1],
        [0, 0, 0, 12, 16],
        3,
    ),
    file("flux_butte.xml", 0, &[0, 0, 8, 8], AC922, 10),
    // One device by CUDA, another by OpenCL alone.
    file(
        "flux_chimera_mixed_gpus.xml",
        1,
        &[0, 2],
        [0, 0, 0, 0, 1],
        3,
    ),
    // By OpenCL alone.
    file("flux_corona11.xml", 0, &[1, 2, 5, 7], [0, 0, 0, 0, 6], 3),
    file("flux_lassen.xml", 4, &[0, 0, 8, 8], AC922, 6),
    file(
        "flux_rsmi_corona240.xml",
        8,
        &[0, 0, 0, 0, 1, 1, 1, 1],
        [0, 0, 0, 12, 16],
        3,
    ),
    file("flux_sierra.xml", 0, &[0, 0, 8, 8], AC922, 10),
    // PCI bridges were left out, so no switch is in view.
    file("flux_sierra2.xml", 4, &[0, 0, 8, 8], [0, 0, 2, 0, 4], 6),
    file(
        "g4dnmetal.xml",
        8,
        &[0, 0, 0, 0, 1, 1, 1, 1],
        [0, 0, 4, 8, 16],
        2,
    ),
    file(
        "hwloc_24em64t-2n6c2t-pci.xml",
        0,
        &[0, 1, 1],
        [0, 0, 1, 0, 2],
        3,
    ),
    // Its only graphics are the board's own.
    file("hwloc_96em64t-4n4d3ca2co-pci.xml", 0, &[], [0; 5], 8),
    file(
        "hwloc_nvidiaDGX2.xml",
        16,
        &[0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1],
        [8, 16, 0, 32, 64],
        0,
    ),
];

fn sample(test: &str, name: &str) -> Option<Dump> {
    let data = common::data(test)?;
    Some(read(&fs::read(data.join("samples/hwloc_xml").join(name)).unwrap()).unwrap())
}

/// GPUs by nothing but the lines of the text: addresses of PCI devices that are followed by a
/// library's name, or, if none is, of the class of 3D and display controllers of NVIDIA and AMD.
fn devices_by_line(text: &str) -> Vec<String> {
    let value = |line: &str, name: &str| {
        let value = line
            .split(&format!(" {name}=\""))
            .nth(1)
            .and_then(|rest| rest.split('"').next());
        value.unwrap_or_default().to_owned()
    };
    let (mut named, mut classed, mut place) = (Vec::new(), Vec::new(), String::new());
    for (line, next) in text.lines().zip(text.lines().skip(1).chain([""])) {
        if line.contains("type=\"PCIDev\"") {
            place = value(line, "pci_busid");
            let kind = value(line, "pci_type");
            if ["0302 [10de", "0302 [1002", "0380 [1002"]
                .iter()
                .any(|gpu| kind.starts_with(gpu))
            {
                classed.push(place.clone());
            }
        } else if line.contains("type=\"OSDev\"") {
            let name = value(line, "name");
            let gpu = ["cuda", "nvml", "rsmi", "opencl"]
                .iter()
                .any(|library| name.starts_with(library));
            if gpu && !named.contains(&place) && !next.contains("CPU") {
                named.push(place.clone());
            }
        }
    }
    let mut found = if named.is_empty() { classed } else { named };
    found.sort();
    found
}

#[test]
fn samples_read_to_their_manifest() {
    let Some(data) = common::data("samples_read_to_their_manifest") else {
        return;
    };
    let manifest = fs::read_to_string(data.join("samples/MANIFEST.tsv")).unwrap();
    let mut seen = 0;
    for row in manifest.lines().filter(|row| row.starts_with("hwloc_xml/")) {
        seen += 1;
        let columns: Vec<&str> = row.split('\t').collect();
        let name = columns[0].rsplit('/').next().unwrap();
        let expected = SAMPLES
            .iter()
            .find(|sample| sample.name == name)
            .unwrap_or_else(|| panic!("{name}: new"));
        assert_eq!(
            columns[3].parse::<usize>().unwrap(),
            expected.manifest,
            "{name}"
        );
        let text = fs::read_to_string(data.join("samples").join(columns[0])).unwrap();
        let dump = read(text.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
        check_sample(expected, &text, &dump);
    }
    assert_eq!(
        seen,
        SAMPLES.len(),
        "as many as the manifest had when this was written"
    );
}

fn check_sample(expected: &Expected, text: &str, dump: &Dump) {
    let (name, machine) = (expected.name, &dump.machine);
    assert_eq!(dump.kind, Kind::Hwloc, "{name}");
    assert_eq!(machine.fabric.device_count(), expected.devices, "{name}");
    assert_eq!(
        (cards(machine), &machine.warnings[..]),
        (expected.cards, &[][..]),
        "{name}"
    );
    assert_eq!(
        (dump.says.host, dump.says.every_device),
        (HostDetail::Tree, true),
        "{name}"
    );
    if expected.devices == 0 {
        assert_eq!(
            dump.clone().into_machine().unwrap_err().kind(),
            ErrorKind::Incomplete,
            "{name}"
        );
        return;
    }
    let graph = machine.graph().unwrap();
    let numa: Vec<u32> = graph
        .devices()
        .iter()
        .map(|device| device.numa.unwrap())
        .collect();
    assert_eq!(numa, expected.numa, "{name}");
    let mut places: Vec<String> = graph
        .devices()
        .iter()
        .map(|device| device.pci.clone().unwrap())
        .collect();
    places.sort();
    assert_eq!(places, devices_by_line(text), "{name}");
    let joined = |wanted| {
        pairs(&graph)
            .iter()
            .filter(|&&(a, b)| graph.pair(a, b).host.class == wanted)
            .count()
    };
    let classes = [
        LinkClass::Pix,
        LinkClass::Pxb,
        LinkClass::Phb,
        LinkClass::Node,
        LinkClass::Sys,
    ]
    .map(joined);
    assert_eq!(classes, expected.host, "{name}");
    let switched = graph
        .devices()
        .iter()
        .filter(|device| device.switch_port.is_some())
        .count();
    assert_eq!(
        (dump.says.direct, switched),
        if name.contains("DGX2") {
            (true, 16)
        } else {
            (false, 0)
        },
        "{name}"
    );
    let again = Machine::from_toml(&machine.to_toml().unwrap()).unwrap();
    assert_eq!(again, *machine, "{name}: through the machine file");
}

#[test]
fn a_dgx_2_is_that_of_the_catalogue() {
    let Some(dump) = sample("a_dgx_2_is_that_of_the_catalogue", "hwloc_nvidiaDGX2.xml") else {
        return;
    };
    let ours = dump.machine.graph().unwrap();
    let known = mapa_topologies::named("dgx-2").unwrap().graph().unwrap();
    for (a, b) in pairs(&known) {
        let (x, y) = (ours.pair(a, b), known.pair(a, b));
        assert_eq!(
            (x.host.class, x.direct),
            (y.host.class, y.direct),
            "{a}-{b}"
        );
    }
    let ports = |graph: &HardwareGraph| {
        graph
            .devices()
            .iter()
            .map(|device| device.switch_port)
            .collect::<Vec<_>>()
    };
    assert_eq!(ports(&ours), ports(&known));
}

#[test]
fn versions_of_one_machine_agree() {
    let Some(recent) = sample("versions_of_one_machine_agree", "coral-lassen.xml") else {
        return;
    };
    for older in [
        "coral-lassen-hwloc1.xml",
        "flux_lassen.xml",
        "flux_sierra.xml",
    ] {
        let older = sample("versions_of_one_machine_agree", older)
            .unwrap()
            .machine
            .graph()
            .unwrap();
        let recent = recent.machine.graph().unwrap();
        for (a, b) in pairs(&recent) {
            assert_eq!(older.pair(a, b).host.class, recent.pair(a, b).host.class);
        }
        let places = |graph: &HardwareGraph| {
            graph
                .devices()
                .iter()
                .map(|d| (d.pci.clone(), d.numa))
                .collect::<Vec<_>>()
        };
        assert_eq!(places(&older), places(&recent));
    }
    let graph = recent.machine.graph().unwrap();
    let first = graph.device(DeviceId(0));
    assert_eq!(first.product.as_deref(), Some("Tesla V100-SXM2-16GB"));
    assert!(
        first
            .uuid
            .as_deref()
            .is_some_and(|uuid| uuid.starts_with("GPU-") && uuid.len() == 40)
    );
    assert_eq!(first.memory_bytes, Some(16_515_072 * 1024));
    // Eight gigatransfers over two lanes, whatever NVML says a V100 could do.
    assert!((graph.pair(DeviceId(0), DeviceId(1)).host.gbps - 1.969).abs() < 0.001);
    assert!(
        !recent.says.host_gbps
            && recent
                .machine
                .notes
                .iter()
                .any(|note| note.contains("different speeds"))
    );
}

#[test]
fn what_a_driver_says_alike_of_all_pairs_of_a_hive_is_not_read_as_links() {
    let Some(dump) = sample("what_a_driver_says_alike_of_all_pairs", "eas-tioga.xml") else {
        return;
    };
    assert!(
        !dump.says.direct
            && dump
                .machine
                .notes
                .iter()
                .any(|note| note.starts_with("XGMIBandwidth exceeds or does not fit"))
    );
    assert_eq!(
        dump.machine
            .graph()
            .unwrap()
            .device(DeviceId(0))
            .memory_bytes,
        Some(67_092_480 * 1024)
    );
}

/// A file of version 2 around these objects.
fn topology(objects: &str) -> String {
    format!(
        "<topology version=\"2.0\">\n<object type=\"Machine\" os_index=\"0\">{objects}</object></topology>"
    )
}

fn package(numa: u32, objects: &str) -> String {
    let memory = format!(
        "<object type=\"NUMANode\" os_index=\"{numa}\" cpuset=\"0x1\" gp_index=\"{}\"/>",
        900 + numa
    );
    format!(
        "<object type=\"Package\" gp_index=\"{}\">{memory}{objects}</object>",
        800 + numa
    )
}

fn host_bridge(objects: &str) -> String {
    format!(
        "<object type=\"Bridge\" bridge_type=\"0-1\" bridge_pci=\"0000:[00-ff]\">{objects}</object>"
    )
}

fn pci_bridge(place: &str, speed: &str, objects: &str) -> String {
    let attributes = format!("pci_busid=\"0000:{place}:00.0\" pci_link_speed=\"{speed}\"");
    format!("<object type=\"Bridge\" bridge_type=\"1-1\" {attributes}>{objects}</object>")
}

/// A V100 with this number, at PCI address `0000:0NUMBER:00.0`.
fn gpu(number: u32, speed: &str) -> String {
    format!(
        "<object type=\"PCIDev\" gp_index=\"{}\" pci_busid=\"0000:{:02x}:00.0\" pci_type=\"0302 [10de:1db1] [10de:1212] a1\" \
         pci_link_speed=\"{speed}\"><object type=\"OSDev\" gp_index=\"{}\" name=\"nvml{number}\" osdev_type=\"1\">\
         <info name=\"GPUModel\" value=\"Tesla V100-SXM2-16GB\"/><info name=\"NVIDIAUUID\" value=\"GPU-{number}\"/></object></object>",
        200 + number,
        number + 1,
        100 + number
    )
}

fn matrix(name: &str, ends: &[u64], values: &[u64]) -> String {
    let words = |numbers: &[u64]| numbers.iter().map(|n| format!("{n} ")).collect::<String>();
    let (n, indexes, values) = (ends.len(), words(ends), words(values));
    format!(
        "<distances2 type=\"OSDev\" nbobjs=\"{n}\" kind=\"9\" name=\"{name}\" indexing=\"gp\"><indexes>{indexes}</indexes>\
         <u64values>{values}</u64values></distances2></topology>"
    )
}

fn with_matrix(objects: &str, name: &str, ends: &[u64], values: &[u64]) -> String {
    topology(objects).replace("</topology>", &matrix(name, ends, values))
}

fn dump(text: &str) -> Dump {
    Kind::Hwloc
        .read(text)
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn graph(text: &str) -> HardwareGraph {
    let machine = dump(text).into_machine().unwrap();
    assert_eq!(machine.warnings, [], "{text}");
    machine.graph().unwrap()
}

fn refused(text: &str) -> Error {
    Kind::Hwloc.read(text).expect_err(text)
}

#[test]
fn root_ports_and_downstream_ports_are_no_switches() {
    let port = |place: &str, objects: &str| pci_bridge(place, "15.75", objects);
    let below = port(
        "a1",
        &port(
            "a2",
            &[port("a3", &gpu(0, "15.75")), port("a4", &gpu(1, "15.75"))].concat(),
        ),
    );
    let nested = port("a5", &port("a6", &gpu(2, "15.75")));
    let cascade = port(
        "b1",
        &port("b2", &[port("b3", &gpu(3, "15.75")), nested].concat()),
    );
    let alone = port("c1", &gpu(4, "15.75"));
    let text = topology(
        &[
            package(
                0,
                &[host_bridge(&(below + &alone)), host_bridge(&cascade)].concat(),
            ),
            package(1, &host_bridge(&gpu(5, "0"))),
        ]
        .concat(),
    );
    let graph = graph(&text);
    let class = |a, b| graph.pair(DeviceId(a), DeviceId(b)).host.class;
    assert_eq!((class(0, 1), class(2, 3)), (LinkClass::Pix, LinkClass::Pxb));
    assert_eq!(
        (class(0, 4), class(0, 3), class(0, 5)),
        (LinkClass::Phb, LinkClass::Node, LinkClass::Sys)
    );
    assert_eq!(
        (
            graph.device(DeviceId(0)).numa,
            graph.device(DeviceId(5)).numa
        ),
        (Some(0), Some(1))
    );
}

#[test]
fn a_hop_is_as_wide_as_the_slower_of_its_ends_and_12_if_neither_is_told() {
    let two = |port: &str, own: &str| {
        let one = |number| pci_bridge("a1", port, &gpu(number, own));
        dump(&topology(&package(0, &host_bridge(&(one(0) + &one(1))))))
    };
    for (port, own, gbps, told) in [
        ("15.75", "15.75", 15.75, true),
        ("0.000000", "7.8", 7.8, true),
        ("2.0", "15.75", 2.0, false),
        ("0", "0", 12.0, false),
    ] {
        let dump = two(port, own);
        assert_eq!(
            dump.machine
                .graph()
                .unwrap()
                .pair(DeviceId(0), DeviceId(1))
                .host
                .gbps,
            gbps,
            "{port} {own}"
        );
        assert_eq!(dump.says.host_gbps, told, "{port} {own}");
    }
    for speed in ["-1", "inf", "NaN", "fast"] {
        let text = topology(&package(0, &gpu(0, speed)));
        assert_eq!(refused(&text).line(), Some(2), "{speed}");
    }
}

#[test]
fn numa_nodes_are_above_in_version_1_and_beside_since() {
    let old =
        |objects: &str| format!("<topology><object type=\"Machine\">{objects}</object></topology>");
    let node = |number: u32, objects: &str| {
        format!("<object type=\"NUMANode\" os_index=\"{number}\" cpuset=\"0x1\">{objects}</object>")
    };
    let numa = |text: &str| graph(text).device(DeviceId(0)).numa;
    assert_eq!(
        numa(&old(
            &[node(0, ""), node(3, &host_bridge(&gpu(0, "0")))].concat()
        )),
        Some(3)
    );
    // Beside two nodes nothing tells which is nearer; since version 2 memory beside each other is
    // equally near.
    let group = |objects: &str| format!("<object type=\"Group\">{objects}</object>");
    let beside = [node(4, ""), node(2, ""), host_bridge(&gpu(0, "0"))].concat();
    assert_eq!(numa(&old(&group(&beside))), None);
    assert_eq!(numa(&topology(&group(&beside))), Some(2));
    assert_eq!(numa(&topology(&beside)), None);
    let cached = format!(
        "<object type=\"MemCache\">{}</object>{}",
        node(5, ""),
        host_bridge(&gpu(0, "0"))
    );
    assert_eq!(numa(&topology(&group(&cached))), Some(5));
    // Memory without processors, such as a GPU's own, is not drawn.
    let memory = node(255, "").replace("0x1", "0x0");
    let machine = dump(&topology(
        &(memory + &package(0, &host_bridge(&gpu(0, "0")))),
    ))
    .machine;
    assert!(
        machine
            .fabric
            .nodes()
            .all(|(_, part)| part.kind != NodeKind::Numa(255))
    );
    let twice = [package(0, ""), package(0, "")].concat();
    assert!(
        refused(&topology(&twice))
            .to_string()
            .contains("NUMA number 0")
    );
}

#[test]
fn devices_are_what_libraries_name_or_else_what_the_class_says() {
    let device = |place: u32, kind: &str, names: &str| {
        let busid = format!("0000:{place:02x}:00.0");
        format!(
            "<object type=\"PCIDev\" pci_busid=\"{busid}\" pci_type=\"{kind} [0000:0000] a1\">{names}</object>"
        )
    };
    let name = |name: &str, kind: &str| {
        let info = format!("<info name=\"OpenCLDeviceType\" value=\"{kind}\"/>");
        format!("<object type=\"OSDev\" name=\"{name}\" osdev_type=\"1\">{info}</object>")
    };
    let found = |devices: &[String]| {
        let machine = dump(&topology(&package(0, &host_bridge(&devices.concat())))).machine;
        let place = |part: &mapa_core::FabricNode| match &part.kind {
            NodeKind::Device(info) => Some((
                part.name.clone(),
                info.pci.clone().unwrap()[5..7].to_owned(),
            )),
            _ => None,
        };
        machine
            .fabric
            .nodes()
            .filter_map(|(_, part)| place(part))
            .map(|(name, place)| format!("{name}={place}"))
            .collect::<Vec<_>>()
    };
    // By class: not a board's own graphics, nor what is neither.
    let classes = [
        "0302 [10de:1db1]",
        "0300 [10de:1b81]",
        "0300 [1a03:2000]",
        "0380 [1002:7408]",
        "1200 [1002:74a1]",
        "0380 [8086:0bd5]",
        "0380 [8086:1234]",
        "0200 [15b3:1013]",
        "cut",
    ];
    let bare: Vec<String> = (0u32..)
        .zip(classes)
        .map(|(place, class)| device(place, class, ""))
        .collect();
    assert_eq!(found(&bare), ["GPU0=00", "GPU1=03", "GPU2=04", "GPU3=05"]);
    // One name is enough, and only names count then.
    let mut named = bare.clone();
    named.push(device(0x20, "0300 [10de:1b81]", &name("cuda0", "")));
    assert_eq!(found(&named), ["GPU0=20"]);
    // NVML's numbers count before CUDA's; a processor seen by OpenCL is no device.
    let both = [
        device(
            1,
            "0302 [10de:1db1]",
            &(name("cuda0", "") + &name("nvml3", "")),
        ),
        device(
            2,
            "0302 [10de:1db1]",
            &(name("cuda1", "") + &name("nvml1", "")),
        ),
        device(3, "1200 [10de:1db1]", &name("opencl0d0", "CPU")),
    ];
    assert_eq!(found(&both), ["GPU1=02", "GPU3=01"]);
    // Numbers of several libraries that do not tell devices apart are no numbers.
    let mixed = [
        device(1, "0300 [1002:6863]", &name("opencl0d0", "GPU")),
        device(2, "0300 [10de:1b81]", &name("nvml0", "")),
        device(3, "0380 [8086:0bd5]", &name("ze0", "")),
    ];
    assert_eq!(found(&mixed), ["GPU0=02", "GPU1=03", "GPU2=01"]);
}

#[test]
fn cards_are_verbs_before_interfaces_in_all_versions() {
    let card = |verbs: u32, network: u32| {
        let name = |name: &str, kind: u32| {
            format!("<object type=\"OSDev\" name=\"{name}\" osdev_type=\"{kind}\"/>")
        };
        let names = name("ib0", network)
            + &name("mlx5_0", verbs)
            + &name("sda", if verbs == 3 { 0 } else { 1 });
        format!(
            "<object type=\"PCIDev\" pci_busid=\"0000:90:00.0\">{names}</object>{}",
            gpu(0, "0")
        )
    };
    let names = |text: &str| {
        let machine = dump(text).machine;
        let cards = machine
            .fabric
            .nodes()
            .filter(|(_, part)| part.kind == NodeKind::Nic);
        cards.map(|(_, part)| part.name.clone()).collect::<Vec<_>>()
    };
    let text = topology(&package(0, &host_bridge(&card(3, 2))));
    assert_eq!(names(&text), ["mlx5_0"]);
    assert_eq!(
        names(&topology(&package(0, &host_bridge(&card(48, 16)))).replace("\"2.0\"", "\"3.0\"")),
        ["mlx5_0"]
    );
    assert_eq!(names(&text.replace("mlx5_0", "")), ["ib0"]);
    let class = dump(&text).machine.graph_with_host().unwrap();
    assert_eq!(
        class
            .pair(DeviceId(0), class.find("mlx5_0").unwrap())
            .host
            .class,
        LinkClass::Phb
    );
}

#[test]
fn nvlink_bandwidth_is_links_of_the_generation() {
    let gpus = package(
        0,
        &host_bridge(
            &(0..3)
                .map(|number| gpu(number, "15.75"))
                .collect::<String>(),
        ),
    );
    let text = with_matrix(
        &gpus,
        "NVLinkBandwidth",
        &[100, 101, 102],
        &[9, 50_000, 25_000, 50_000, 9, 0, 25_000, 0, 9],
    );
    let dump = dump(&text);
    assert!(dump.says.direct && dump.says.direct_gbps);
    let direct = |text: &str, a, b| graph(text).pair(DeviceId(a), DeviceId(b)).direct;
    assert_eq!(
        (direct(&text, 0, 1).class, direct(&text, 0, 1).gbps),
        (LinkClass::Direct(2), 50.0)
    );
    assert_eq!(
        (direct(&text, 0, 2).class, direct(&text, 1, 2).class),
        (LinkClass::Direct(1), LinkClass::None)
    );
    // Half a matrix, and one by the PCI devices' numbers in a matrix of several types.
    assert_eq!(
        direct(&text.replace("50000 25000 50000", "50000 25000 0"), 0, 1).class,
        LinkClass::Direct(2)
    );
    let typed = text
        .replace("100 101 102", "OSDev:100 PCIDev:201 OSDev:102")
        .replace("distances2", "distances2hetero");
    assert_eq!(direct(&typed, 0, 1).class, LinkClass::Direct(2));
    // P100: 20 GB/s a link.
    let pascal = text
        .replace("V100", "P100")
        .replace("50000", "40000")
        .replace("25000", "20000");
    assert_eq!(
        (direct(&pascal, 0, 1).class, direct(&pascal, 0, 2).gbps),
        (LinkClass::Direct(2), 20.0)
    );
    let odd = self::dump(&text.replace("50000", "60001"));
    assert!(
        odd.machine.warnings[0]
            .to_string()
            .contains("not a multiple of a known link's")
    );
    assert_eq!(
        odd.machine
            .graph()
            .unwrap()
            .pair(DeviceId(0), DeviceId(1))
            .direct
            .class,
        LinkClass::Direct(2)
    );
    for (from, to, what) in [
        (
            "50000 25000 50000",
            "50000 25000 75000",
            "but 75000 from row 1",
        ),
        ("nbobjs=\"3\"", "nbobjs=\"4\"", "expected 4 and 4 x 4"),
        (
            "nbobjs=\"3\"",
            "nbobjs=\"99999999999\"",
            "expected 99999999999",
        ),
        ("nbobjs=\"3\"", "", "no attribute `nbobjs`"),
        (
            "50000 25000 50000",
            "50000 fast 50000",
            "`fast`: expected a number",
        ),
        (
            "indexing=\"gp\"",
            "indexing=\"os\"",
            "expected indexing=\"gp\"",
        ),
        (
            "50000 25000 50000",
            "9000000000 25000 9000000000",
            "expected at most 255",
        ),
    ] {
        let error = refused(&text.replace(from, to));
        assert!(
            error.to_string().contains(what) && error.line() == Some(2),
            "{error}"
        );
    }
    let gone = self::dump(&text.replace("100 101 102", "100 101 999"));
    assert!(
        gone.machine.warnings[0]
            .to_string()
            .contains("not in the file")
    );
}

#[test]
fn switches_are_one_and_links_to_the_cpu_lead_to_the_host() {
    let switch = |number: u32| {
        format!(
            "<object type=\"PCIDev\" gp_index=\"{number}\" subtype=\"NVSwitch\" pci_busid=\"0000:{number}:00.0\"/>"
        )
    };
    let parts = [gpu(0, "15.75"), gpu(1, "15.75"), switch(50), switch(51)].concat();
    // Each device has a switch of its own, and the second reaches the CPU too.
    let values = [
        [0, 0, 75_000, 0, 0],
        [0, 0, 0, 50_000, 75_000],
        [75_000, 0, 0, 0, 0],
        [0, 50_000, 0, 0, 0],
        [0, 75_000, 0, 0, 0],
    ]
    .concat();
    let graph = graph(&with_matrix(
        &package(0, &host_bridge(&parts)),
        "NVLinkBandwidth",
        &[100, 101, 50, 51, 800],
        &values,
    ));
    let both: Vec<u64> = [
        [0, 5_000_000, 2_500_000],
        [5_000_000, 0, 2_500_000],
        [2_500_000, 2_500_000, 0],
    ]
    .concat();
    let text = with_matrix(
        &package(0, &host_bridge(&parts)),
        "NVLinkBandwidth",
        &[100, 101, 50],
        &both,
    );
    assert!(refused(&text).to_string().contains("300 links"));
    let port = |id| graph.device(DeviceId(id)).switch_port.unwrap();
    assert_eq!((port(0).class, port(1).gbps), (LinkClass::Direct(3), 50.0));
    let pair = graph.pair(DeviceId(0), DeviceId(1));
    assert_eq!(
        (pair.direct.class, pair.host.gbps),
        (LinkClass::Direct(2), 15.75)
    );
}

#[test]
fn xgmi_is_read_where_it_can_be_true() {
    let gpus = (0..4)
        .map(|number| gpu(number, "0").replace("Tesla V100-SXM2-16GB", "AMD Instinct MI250X"))
        .collect::<String>();
    let ends = [100, 101, 102, 103];
    let hops = [[0, 1, 1, 2], [1, 0, 2, 1], [1, 2, 0, 1], [2, 1, 1, 0]].concat();
    let values = [
        [0, 200, 50, 50],
        [200, 0, 50, 100],
        [50, 50, 0, 200],
        [50, 100, 200, 0],
    ]
    .concat();
    let values: Vec<u64> = values.iter().map(|gbps| gbps * 1000).collect();
    let bandwidth = with_matrix(&package(0, &gpus), "XGMIBandwidth", &ends, &values);
    let text = bandwidth.replacen("</topology>", &matrix("XGMIHops", &ends, &hops), 1);
    let dump = dump(&text);
    assert!(dump.says.direct && dump.machine.labels.direct == "XGMI");
    let graph = dump.machine.graph().unwrap();
    let direct = |a, b| graph.pair(DeviceId(a), DeviceId(b)).direct.class;
    assert_eq!(
        (direct(0, 1), direct(0, 2), direct(1, 3)),
        (
            LinkClass::Direct(4),
            LinkClass::Direct(1),
            LinkClass::Direct(2)
        )
    );
    // Two hops apart is not joined directly.
    assert_eq!(
        (direct(0, 3), direct(1, 2)),
        (LinkClass::None, LinkClass::None)
    );
    let not_read = |text: &str| {
        let dump = self::dump(text);
        assert!(
            !dump.says.direct
                && dump
                    .machine
                    .notes
                    .iter()
                    .any(|note| note.contains("XGMIBandwidth")),
            "{text}"
        );
    };
    not_read(&bandwidth);
    not_read(&text.replace("MI250X", "unheard of"));
    not_read(&text.replace("200000", "450000"));
}

#[test]
fn what_is_malformed_is_refused_with_its_line() {
    for (text, line) in [
        ("<topology>\n<object type=\"Machine\">\n", 2),
        ("<topology>\n\n<object type=\"NUMANode\"/></topology>", 3),
        (
            "<topology>\n<object type=\"NUMANode\" os_index=\"one\"/></topology>",
            2,
        ),
        (
            "<topology>\n<object type=\"PCIDev\" pci_type=\"0302 [10de:1] [0:0] 00\"/></topology>",
            2,
        ),
        ("<topologies/>", 1),
        ("<topology>&x;</topology>", 1),
    ] {
        assert_eq!(refused(text).line(), Some(line), "{text}");
    }
    let twice = [gpu(0, "0"), gpu(0, "0")].concat();
    assert!(
        refused(&topology(&twice))
            .to_string()
            .contains("PCI address 0000:01:00.0")
    );
    let place = |number: u32| format!("pci_busid=\"{number:x}:00:00.0\"");
    let one = |number: u32| {
        format!(
            "<object type=\"PCIDev\" {}><object type=\"OSDev\" name=\"nvml{number}\"/></object>",
            place(number)
        )
    };
    let many: String = (0..1025).map(one).collect();
    assert_eq!(refused(&topology(&many)).kind(), ErrorKind::TooLarge);
    assert_eq!(
        dump("<topology version=\"2.0\"/>").says.host,
        HostDetail::Nothing
    );
}

#[test]
fn the_largest_files_are_read_or_refused_in_time() {
    let filled = |part: &str| part.repeat((14 << 20) / part.len());
    let ends: Vec<u64> = (0..1600).collect();
    let values = vec![25_000; 1600 * 1600];
    let start = std::time::Instant::now();
    for text in [
        topology(&filled("<object type=\"NUMANode\" os_index=\"0\"/>")),
        topology(&filled("<object type=\"OSDev\" name=\"nvml0\"/>")),
        topology(&filled(
            "<object type=\"PCIDev\" pci_busid=\"0:1.0\"><object type=\"OSDev\" name=\"a\" osdev_type=\"2\"/></object>",
        )),
        topology(&filled(&host_bridge(""))),
        topology(&format!(
            "<object type=\"PCIDev\" pci_busid=\"0:1.0\">{}</object>",
            filled("<info name=\"a\" value=\"b\"/>")
        )),
        topology(&(gpu(0, "0") + &filled("<object type=\"Group\" gp_index=\"1\"/>"))),
        with_matrix(
            &(0..9).map(|number| gpu(number, "0")).collect::<String>(),
            "NVLinkBandwidth",
            &ends,
            &values,
        ),
    ] {
        let _ = Kind::Hwloc.read(&text);
    }
    assert!(start.elapsed().as_secs() < 120, "{:?}", start.elapsed());
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        keeps_what_it_reads(Kind::Hwloc, &String::from_utf8_lossy(&bytes));
        keeps_what_it_reads(Kind::Hwloc, &topology(&String::from_utf8_lossy(&bytes)));
    }

    #[test]
    fn any_objects_are_read_or_refused(pieces in proptest::collection::vec(proptest::sample::select(vec![
        "<object type=\"Package\">",
        "<object type=\"NUMANode\" os_index=\"0\" cpuset=\"0x1\">",
        "<object type=\"NUMANode\" os_index=\"1\" gp_index=\"3\"/>",
        "<object type=\"Bridge\" bridge_type=\"0-1\">",
        "<object type=\"Bridge\" bridge_type=\"1-1\" pci_busid=\"0:1.0\" pci_link_speed=\"1.0\">",
        "<object type=\"PCIDev\" gp_index=\"1\" pci_busid=\"0:2.0\" pci_type=\"0302 [10de:1db1] [0:0] 00\">",
        "<object type=\"PCIDev\" gp_index=\"2\" pci_busid=\"0:3.0\" pci_link_speed=\"2.0\">",
        "<object type=\"OSDev\" name=\"nvml0\" gp_index=\"4\"/>",
        "<object type=\"OSDev\" name=\"cuda1\"/>",
        "<object type=\"OSDev\" name=\"eth0\" osdev_type=\"2\"/>",
        "<info name=\"CUDAGlobalMemorySize\" value=\"18446744073709551615\"/>",
        "</object>",
        "</object></object>",
    ]), 0..24), values in proptest::collection::vec(0u64..300_000, 9)) {
        keeps_what_it_reads(Kind::Hwloc, &topology(&pieces.concat()));
        keeps_what_it_reads(Kind::Hwloc, &with_matrix(&pieces.concat(), "NVLinkBandwidth", &[1, 2, 3], &values));
        let closed = pieces.concat() + &"</object>".repeat(pieces.iter().filter(|piece| !piece.contains('/')).count());
        keeps_what_it_reads(Kind::Hwloc, &with_matrix(&closed, "NVLinkBandwidth", &[1, 4, 3], &values));
    }

    /// Cut anywhere, or with any byte changed, a file is read or refused.
    #[test]
    fn damaged_files_are_read_or_refused(cut in any::<prop::sample::Index>(), byte in any::<u8>(), at in any::<prop::sample::Index>()) {
        let parts = pci_bridge("a1", "2", &pci_bridge("a2", "2", &(gpu(0, "1") + &gpu(1, "4"))));
        let text = with_matrix(&package(0, &host_bridge(&parts)), "NVLinkBandwidth", &[100, 101], &[0, 50_000, 50_000, 0]);
        keeps_what_it_reads(Kind::Hwloc, &text[..cut.index(text.len())]);
        let mut bytes = text.into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        keeps_what_it_reads(Kind::Hwloc, &String::from_utf8_lossy(&bytes));
    }
}
