//! hwloc's XML: every real file reads to what its manifest, its siblings and its own lines say.

use crate::common;
use crate::common::real_data;

use std::fs;

use crate::common::dumps::{cards, pairs};
use mapa_core::testing::scaled;
use mapa_core::{DeviceId, HardwareGraph, LinkClass};
use mapa_topologies::{Dump, ErrorKind, HostDetail, Kind, Machine, read};

/// What a file has.
struct Expected {
    name: &'static str,
    manifest: usize,
    /// By device.
    numa: Vec<u32>,
    /// How many pairs of devices are joined by PIX, PXB, PHB, NODE and SYS.
    host: Vec<usize>,
    cards: usize,
}

fn samples() -> Vec<Expected> {
    fn numbers<T: std::str::FromStr>(cell: &str) -> Vec<T> {
        cell.split_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect()
    }
    let rows = common::rows(include_str!("facts/hwloc-samples.csv"));
    let expected = rows.map(|row| Expected {
        name: row[0],
        manifest: row[1].parse().unwrap(),
        numa: numbers(row[2]),
        host: numbers(row[3]),
        cards: row[4].parse().unwrap(),
    });
    expected.collect()
}

fn sample(name: &str) -> Option<Dump> {
    let data = real_data()?;
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
    let Some(data) = real_data() else {
        return;
    };
    let manifest = fs::read_to_string(data.join("samples/MANIFEST.tsv")).unwrap();
    let (mut seen, samples) = (0, samples());
    for row in manifest.lines().filter(|row| row.starts_with("hwloc_xml/")) {
        seen += 1;
        let columns: Vec<&str> = row.split('\t').collect();
        let name = columns[0].rsplit('/').next().unwrap();
        let expected = samples
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
        samples.len(),
        "as many as the manifest had when this was written"
    );
}

fn check_sample(expected: &Expected, text: &str, dump: &Dump) {
    let (name, machine) = (expected.name, &dump.machine);
    assert_eq!(dump.kind, Kind::Hwloc, "{name}");
    assert_eq!(machine.fabric.device_count(), expected.numa.len(), "{name}");
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
    if expected.numa.is_empty() {
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
    assert_eq!(classes.to_vec(), expected.host, "{name}");
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
    let Some(dump) = sample("hwloc_nvidiaDGX2.xml") else {
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
    let Some(recent) = sample("coral-lassen.xml") else {
        return;
    };
    for older in [
        "coral-lassen-hwloc1.xml",
        "flux_lassen.xml",
        "flux_sierra.xml",
    ] {
        let older = sample(older).unwrap().machine.graph().unwrap();
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
    let Some(dump) = sample("eas-tioga.xml") else {
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

fn host_bridge(objects: &str) -> String {
    format!(
        "<object type=\"Bridge\" bridge_type=\"0-1\" bridge_pci=\"0000:[00-ff]\">{objects}</object>"
    )
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

#[test]
fn more_devices_than_any_machine_has_are_refused() {
    let one = |number: u32| {
        let name = format!("<object type=\"OSDev\" name=\"nvml{number}\"/>");
        format!("<object type=\"PCIDev\" pci_busid=\"{number:x}:00:00.0\">{name}</object>")
    };
    let many: String = (0..1025).map(one).collect();
    let error = Kind::Hwloc.read(&topology(&many)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
}

#[test]
fn the_largest_files_are_read_or_refused_in_time() {
    let filled = |part: &str| part.repeat(((scaled(14) as usize) << 20) / part.len());
    let ends: Vec<u64> = (0..u64::from(scaled(1600))).collect();
    let values = vec![25_000; ends.len() * ends.len()];
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

/// The firmware's words in an hwloc file of two devices.
#[test]
fn a_machine_is_virtual_if_its_firmware_says_so() {
    let is_virtual = |vendor: &str, product: &str| {
        let info = |name: &str, value: &str| format!("<info name=\"{name}\" value=\"{value}\"/>");
        let words = info("DMISysVendor", vendor) + &info("DMIProductName", product);
        let devices = host_bridge(&(gpu(0, "15.75") + &gpu(1, "15.75")));
        let dump = read(topology(&(words + &devices)).as_bytes()).unwrap();
        let merged = mapa_topologies::merge(vec![dump.clone()]).unwrap().dump;
        let [alone, merged] = [dump, merged].map(|dump| dump.into_machine().unwrap());
        assert_eq!(alone.fabric.is_virtual(), merged.fabric.is_virtual());
        let read_back = mapa_topologies::Machine::from_toml(&alone.to_toml().unwrap()).unwrap();
        assert_eq!(alone.fabric.is_virtual(), read_back.fabric.is_virtual());
        alone.fabric.is_virtual()
    };
    assert!(is_virtual("QEMU", "Standard PC (Q35 + ICH9, 2009)"));
    assert!(is_virtual("Microsoft Corporation", "Virtual Machine"));
    assert!(is_virtual("Amazon EC2", "g5.48xlarge"));
    assert!(!is_virtual("Amazon EC2", "g4dn.metal"));
    assert!(!is_virtual("NVIDIA", "NVIDIA DGX-2H"));
}
