//! What `amd-smi topology` and `amd-smi xgmi` print, in their shapes, and what is refused.

use crate::common;

use std::fs;

use crate::common::dumps::{classes, graph, read_as, refused};
use mapa_core::{HardwareGraph, LinkClass};
use mapa_topologies::{HostDetail, Kind, Machine, PeerStatus, Traffic, read};
use proptest::prelude::*;

const TABLES: &str = "ACCESS TABLE:
             0000:01:00.0 0000:02:00.0 0001:01:00.0
0000:01:00.0 ENABLED      ENABLED      DISABLED
0000:02:00.0 ENABLED      ENABLED      DISABLED
0001:01:00.0 DISABLED     ENABLED      ENABLED

WEIGHT TABLE:
             0000:01:00.0 0000:02:00.0 0001:01:00.0
0000:01:00.0 0            15           72
0000:02:00.0 15           0            40
0001:01:00.0 72           40           0

HOPS TABLE:
             0000:01:00.0 0000:02:00.0 0001:01:00.0
0000:01:00.0 0            1            3
0000:02:00.0 1            0            2
0001:01:00.0 3            2            0

LINK TYPE TABLE:
             0000:01:00.0 0000:02:00.0 0001:01:00.0
0000:01:00.0 SELF         XGMI         PCIE
0000:02:00.0 XGMI         SELF         PCIE
0001:01:00.0 PCIE         PCIE         SELF

NUMA BW TABLE:
             0000:01:00.0 0000:02:00.0 0001:01:00.0
0000:01:00.0 N/A          50000-100000 N/A
0000:02:00.0 50000-100000 N/A          N/A
0001:01:00.0 N/A          N/A          N/A

CACHE COHERENCY TABLE:
             0000:01:00.0 0000:02:00.0 0001:01:00.0
0000:01:00.0 SELF         C            N/A
0000:02:00.0 C            SELF         N/A
0001:01:00.0 N/A          N/A          SELF

Legend:
  SELF = Current GPU
";

/// The same as JSON.
const LIST: &str = r#"[
    {"gpu": 0, "bdf": "0000:01:00.0", "links": [
        {"gpu": 0, "bdf": "0000:01:00.0", "weight": 0, "link_status": "ENABLED", "link_type": "SELF", "num_hops": 0, "bandwidth": "N/A"},
        {"gpu": 1, "bdf": "0000:02:00.0", "weight": 15, "link_status": "ENABLED", "link_type": "XGMI", "num_hops": 1, "bandwidth": "50000-100000"},
        {"gpu": 2, "bdf": "0001:01:00.0", "weight": 72, "link_status": "DISABLED", "link_type": "PCIE", "num_hops": 3, "bandwidth": "N/A"}]},
    {"gpu": 1, "bdf": "0000:02:00.0", "links": [
        {"gpu": 0, "bdf": "0000:01:00.0", "weight": 15, "link_status": "ENABLED", "link_type": "XGMI", "num_hops": 1, "bandwidth": "50000-100000"},
        {"gpu": 1, "bdf": "0000:02:00.0", "weight": 0, "link_status": "ENABLED", "link_type": "SELF", "num_hops": 0, "bandwidth": "N/A", "coherent": "SELF"},
        {"gpu": 2, "bdf": "0001:01:00.0", "weight": 40, "link_status": "DISABLED", "link_type": "PCIE", "num_hops": 2, "bandwidth": "N/A"}]},
    {"gpu": 2, "bdf": "0001:01:00.0", "links": [
        {"gpu": 0, "bdf": "0000:01:00.0", "weight": 72, "link_status": "DISABLED", "link_type": "PCIE", "num_hops": 3, "bandwidth": "N/A"},
        {"gpu": 1, "bdf": "0000:02:00.0", "weight": 40, "link_status": "ENABLED", "link_type": "PCIE", "num_hops": 2, "bandwidth": "N/A"},
        {"gpu": 2, "bdf": "0001:01:00.0", "weight": 0, "link_status": "ENABLED", "link_type": "SELF", "num_hops": 0, "bandwidth": "N/A"}]}
]
"#;

/// As newer releases print it: numbers for columns, readable units, states of links.
const XGMI: &str = "
LINK METRIC TABLE:
       bdf           bit_rate  max_bandwidth  link_type  GPU0         GPU1         GPU2
GPU0   0000:05:00.0  32 Gb/s   512 Gb/s       XGMI
 Read                                                    N/A          1.5 MB       N/A
 Write                                                   N/A          3 KB         N/A
GPU1   0000:26:00.0  32 Gb/s   512 Gb/s       XGMI
 Read                                                    7 KB         N/A          0 KB
 Write                                                   2 B          N/A          1 PB
GPU2   0000:46:00.0  32 Gb/s   512 Gb/s       XGMI
 Read                                                    N/A          1 KB         N/A
 Write                                                   N/A          1 KB         N/A

GPU LINK PORT STATUS:
       bdf           port_num
GPU0   0000:05:00.0  U  U  D  X  N/A  N/A  N/A  N/A

XGMI LINK STATUS:
       bdf           GPU0          GPU1          GPU2
GPU0   0000:05:00.0  SELF          U/U           N/A
GPU1   0000:26:00.0  U/U           SELF          U/D
GPU2   0000:46:00.0  N/A           U/D           SELF

Legend:
  SELF = Current GPU
";

fn addresses(graph: &HardwareGraph) -> Vec<Option<&str>> {
    graph
        .devices()
        .iter()
        .map(|device| device.pci.as_deref())
        .collect()
}

#[test]
fn tables_read() {
    let dump = read_as(Kind::AmdSmiTopology, TABLES);
    let graph = graph(&dump);
    assert_eq!(
        addresses(&graph),
        [
            Some("0000:01:00.0"),
            Some("0000:02:00.0"),
            Some("0001:01:00.0")
        ]
    );
    // Without NUMA nodes the path beneath a direct link is not told.
    assert_eq!(
        classes(&graph, 0, 1),
        (LinkClass::Direct(2), LinkClass::Sys)
    );
    assert_eq!(graph.pair(0.into(), 1.into()).direct.gbps, 100.0);
    assert_eq!(classes(&graph, 0, 2), (LinkClass::None, LinkClass::Sys));
    assert_eq!(classes(&graph, 1, 2), (LinkClass::None, LinkClass::Node));
    assert!(dump.says.direct && dump.says.direct_gbps && dump.says.host == HostDetail::Nothing);
    let reach = |from: u32, to: u32| {
        let access = dump
            .peer_access
            .iter()
            .find(|access| (access.from.0, access.to.0) == (from, to));
        access.unwrap().status
    };
    assert_eq!(
        (reach(0, 1), reach(1, 2), reach(2, 1)),
        (PeerStatus::Ok, PeerStatus::NotSupported, PeerStatus::Ok)
    );
    assert_eq!(dump.peer_access.len(), 6);
}

#[test]
fn json_tells_the_same_as_the_tables() {
    let (json, tables) = (
        read_as(Kind::AmdSmiTopology, LIST),
        read_as(Kind::AmdSmiTopology, TABLES),
    );
    assert_eq!(graph(&json), graph(&tables));
    assert_eq!(
        (json.says, json.peer_access),
        (tables.says, tables.peer_access)
    );
}

#[test]
fn either_spelling_of_a_table_and_numbers_for_columns_read() {
    let plain = graph(&read_as(Kind::AmdSmiTopology, TABLES));
    assert_eq!(
        graph(&read_as(
            Kind::AmdSmiTopology,
            &TABLES.replace("COHERENCY", "COHERANCY")
        )),
        plain
    );
    let mut numbered = TABLES.replace(
        "             0000:01:00.0 0000:02:00.0 0001:01:00.0",
        "       bdf           GPU0         GPU1         GPU2",
    );
    for (i, address) in ["0000:01:00.0", "0000:02:00.0", "0001:01:00.0"]
        .iter()
        .enumerate()
    {
        numbered = numbered.replace(&format!("\n{address} "), &format!("\nGPU{i} {address} "));
    }
    assert_eq!(graph(&read_as(Kind::AmdSmiTopology, &numbered)), plain);
}

#[test]
fn access_alone_names_devices_and_no_links() {
    let dump = read_as(Kind::AmdSmiTopology, TABLES.split("WEIGHT").next().unwrap());
    assert_eq!(
        (graph(&dump).len(), dump.peer_access.len(), dump.says.direct),
        (3, 6, false)
    );
}

#[test]
fn tables_that_are_cut_or_disagree_are_refused_by_line() {
    let cut = |text: &str| {
        text.lines()
            .take(11)
            .map(|line| format!("{line}\n"))
            .collect::<String>()
    };
    assert!(read(cut(TABLES).as_bytes()).is_ok());
    let shorter: String = TABLES
        .lines()
        .take(10)
        .map(|line| format!("{line}\n"))
        .collect();
    refused(
        &shorter,
        "line 10: the matrix ends, but row 0001:01:00.0 is missing: expected a row for every column",
    );
    refused(
        &TABLES.replacen("72           40 ", "72 ", 1),
        "line 11: row 0001:01:00.0 has 2 cells: expected 3",
    );
    refused(
        &TABLES.replacen("0001:01:00.0 72", "0001:01:00.0 52", 1),
        "line 11: row 0001:01:00.0, column 0000:01:00.0 has 52, but row 0000:01:00.0, column 0001:01:00.0 72: expected a symmetric matrix",
    );
    let (access, others) = TABLES.split_at(TABLES.find("WEIGHT").unwrap());
    refused(
        &format!("{access}{}", others.replace("0000:01:00.0", "0000:09:00.0")),
        "line 8: the columns are 0000:09:00.0 0000:02:00.0 0001:01:00.0, but those above 0000:01:00.0 0000:02:00.0 0001:01:00.0: expected the same devices",
    );
    refused(
        &TABLES.replace("50000-100000", "fast"),
        "line 28: row 0000:02:00.0, column 0000:01:00.0: `fast`: expected min-max in MB/s, or N/A",
    );
    refused(
        &TABLES.replace("HOPS TABLE", "WEIGHT TABLE"),
        "line 13: this table appears a second time: expected the output for one machine",
    );
}

#[test]
fn lists_that_are_cut_or_disagree_are_refused_by_line_or_element() {
    let cut = read(&LIST.as_bytes()[..700]).unwrap_err();
    assert_eq!(cut.line(), Some(8), "{cut}");
    refused(
        &LIST.replacen("\"weight\": 72", "\"weight\": \"heavy\"", 1),
        "[0].links[2].weight: `heavy`: expected a number",
    );
    refused(
        &LIST.replacen("\"weight\": 72", "\"weight\": 52", 1),
        "[2].links[0]: differs from the entry in the list of 0000:01:00.0: expected the same in both directions",
    );
    refused(
        &LIST.replacen(
            "\"bdf\": \"0000:02:00.0\", \"weight\"",
            "\"bdf\": \"0000:09:00.0\", \"weight\"",
            1,
        ),
        "[0].links[1].bdf: `0000:09:00.0`: expected the address of a listed device",
    );
    refused(
        &LIST.replacen(
            "\"gpu\": 1, \"bdf\": \"0000:02:00.0\", \"links\"",
            "\"gpu\": 1, \"bdf\": \"0000:01:00.0\", \"links\"",
            1,
        ),
        "[1].bdf: 0000:01:00.0 is listed twice: expected each device once",
    );
    refused(
        &LIST.replacen(
            "\"gpu\": 1, \"bdf\": \"0000:02:00.0\", \"links\"",
            "\"gpu\": 0, \"bdf\": \"0000:02:00.0\", \"links\"",
            1,
        ),
        "[1].gpu: 0 is listed twice: expected each device once",
    );
    refused(
        &LIST.replacen("DISABLED", "MAYBE", 1),
        "[0].links[2].link_status: `MAYBE`: expected ENABLED or DISABLED",
    );
    let one = r#"[{"gpu": 0, "bdf": "0000:01:00.0", "links": []}, {"gpu": 1, "bdf": "0000:02:00.0", "links": [{"bdf": "0000:01:00.0", "link_type": "PCIE"}]}]"#;
    refused(one, "[0].links: 0 links: expected one to each of 2 devices");
}

#[test]
fn link_rates_counters_and_states_read() {
    let dump = read_as(Kind::AmdSmiXgmi, XGMI);
    let graph = graph(&dump);
    let direct = |a: u32, b: u32| graph.pair(a.into(), b.into()).direct;
    assert_eq!(
        (direct(0, 1).class, direct(0, 1).gbps),
        (LinkClass::Direct(2), 128.0)
    );
    assert_eq!(
        (direct(1, 2).class, direct(1, 2).gbps),
        (LinkClass::Direct(1), 64.0)
    );
    assert_eq!(direct(0, 2).class, LinkClass::None);
    assert_eq!(
        addresses(&graph),
        [
            Some("0000:05:00.0"),
            Some("0000:26:00.0"),
            Some("0000:46:00.0")
        ]
    );
    assert!(dump.says.direct && dump.says.direct_gbps && dump.says.host == HostDetail::Nothing);
    let warned: Vec<String> = dump
        .machine
        .warnings
        .iter()
        .map(ToString::to_string)
        .collect();
    let down = "1 XGMI links of 0000:46:00.0 are down or disabled: they are left out";
    assert_eq!(warned[1], format!("line 10: {down}"));
    assert_eq!(warned.len(), 2);
    let ports: Vec<_> = dump
        .ports
        .iter()
        .map(|port| (port.device.0, port.link, port.active))
        .collect();
    let up = |device, link| (device, link, Some(true));
    assert_eq!(
        ports,
        [
            up(0, 0),
            up(0, 1),
            up(1, 0),
            up(1, 1),
            up(1, 2),
            (1, 3, Some(false)),
            up(2, 0),
            (2, 1, Some(false))
        ]
    );
    assert_eq!(
        dump.ports[0].remote,
        Some(("0000:26:00.0".to_owned(), None))
    );
    assert_eq!(dump.ports[0].gbps, Some(64.0));
}

#[test]
fn counters_become_bytes() {
    let metrics = XGMI.split("GPU LINK PORT").next().unwrap();
    let dump = read_as(Kind::AmdSmiXgmi, metrics);
    let traffic: Vec<_> = dump
        .ports
        .iter()
        .map(|port| port.traffic.unwrap())
        .collect();
    let bytes = |sent, received| Traffic { sent, received };
    let expected = [
        bytes(3072, 3 << 19),
        bytes(2, 7168),
        bytes(1 << 50, 0),
        bytes(1024, 1024),
    ];
    assert_eq!(traffic, expected);
    assert!(dump.machine.notes[0].contains("how many XGMI links"));
}

#[test]
fn xgmi_lists_tell_the_same_as_the_table() {
    let device = |i: usize, bdf: &str, links: &[(&str, Option<u32>)]| {
        let link = |(bdf, kb): &(&str, Option<u32>)| {
            let count = kb.map_or("\"N/A\"".to_owned(), |kb| {
                format!("{{\"value\": {kb}, \"unit\": \"KB\"}}")
            });
            format!("{{\"gpu\": 0, \"bdf\": \"{bdf}\", \"read\": {count}, \"write\": {count}}}")
        };
        let links = links.iter().map(link).collect::<Vec<_>>().join(", ");
        format!(
            "{{\"gpu\": {i}, \"bdf\": \"{bdf}\", \"link_metrics\": {{\"bit_rate\": {{\"value\": 32, \"unit\": \"Gb/s\"}}, \
             \"max_bandwidth\": {{\"value\": 512, \"unit\": \"Gb/s\"}}, \"link_type\": \"XGMI\", \"links\": [{links}]}}}}"
        )
    };
    let (a, b) = ("0000:05:00.0", "0000:26:00.0");
    let json = format!(
        "[{}, {}]",
        device(0, a, &[(a, None), (b, Some(2))]),
        device(1, b, &[(a, Some(2)), (b, None)])
    );
    let dump = read_as(Kind::AmdSmiXgmi, &json);
    let direct = graph(&dump).pair(0.into(), 1.into()).direct;
    assert_eq!((direct.class, direct.gbps), (LinkClass::Direct(1), 64.0));
    assert_eq!(
        dump.ports[1].traffic,
        Some(Traffic {
            sent: 2048,
            received: 2048
        })
    );
    refused(
        &json.replacen("512, \"unit\": \"Gb/s\"", "512, \"unit\": \"miles\"", 1),
        "[0].link_metrics.max_bandwidth: `512 miles`: expected a number with its unit, or N/A",
    );
    refused(
        &json.replacen("{\"value\": 2, \"unit\": \"KB\"}", "\"N/A\"", 2),
        "[1]: 0000:26:00.0 has 1 links to 0000:05:00.0, which has 0 links back: expected the same number",
    );
}

#[test]
fn devices_without_xgmi_have_no_links() {
    for rates in [
        "65535 Gb/s4294967295 Gb/sN/A",
        "N/A       N/A             N/A",
    ] {
        let text = format!(
            "LINK METRIC TABLE:\n       bdf           bit_rate  max_bandwidth  link_type  GPU0         GPU1\n\
             GPU0   0000:08:00.0  {rates}\n Read   N/A  N/A\n Write  N/A  N/A\n\
             GPU1   0000:44:00.0  {rates}\n Read   N/A  N/A\n Write  N/A  N/A\n"
        );
        let dump = read_as(Kind::AmdSmiXgmi, &text);
        assert_eq!(
            classes(&graph(&dump), 0, 1),
            (LinkClass::None, LinkClass::Sys)
        );
        assert!(dump.ports.is_empty() && !dump.says.direct_gbps);
    }
}

#[test]
fn xgmi_tables_that_are_cut_or_disagree_are_refused_by_line() {
    let metrics = XGMI.split("\nGPU LINK PORT").next().unwrap();
    let upto = |n: usize| {
        metrics
            .lines()
            .take(n)
            .map(|line| format!("{line}\n"))
            .collect::<String>()
    };
    refused(
        &upto(9),
        "line 9: the table ends, but GPU2 is missing: expected three lines for every column",
    );
    refused(
        &upto(8),
        "line 8: the table ends within a device: expected its lines Read and Write",
    );
    refused(
        &upto(2),
        "line 2: no header follows: expected bdf, bit_rate, max_bandwidth, link_type, devices",
    );
    refused(
        &metrics.replace("1.5 MB       N/A", "1.5 MB"),
        "line 5: 2 counters: expected 3",
    );
    refused(
        &metrics.replace("1.5 MB", "1.5 XB"),
        "line 5: `1.5 XB`: expected a counter such as 2 KB, or N/A",
    );
    refused(
        &metrics.replacen("512 Gb/s", "512 Gigs", 1),
        "line 4: GPU0: `512`: expected a rate such as 32 Gb/s",
    );
    refused(
        &metrics.replacen("XGMI\n", "FIBRE\n", 1),
        "line 4: GPU0: `FIBRE`: expected the type of link, XGMI or PCIE",
    );
    refused(
        &metrics
            .replacen("7 KB ", "N/A  ", 1)
            .replacen("2 B", "N/A", 1),
        "line 7: 0000:26:00.0 has 0 links to 0000:05:00.0, which has 1 links back: expected the same number",
    );
    refused(
        &XGMI.replace("U/D", "U/Q"),
        "line 21: row GPU1, column GPU2: `U/Q`: expected U, D or X for each link, N/A or SELF",
    );
    refused(
        &XGMI.replacen(
            "SELF          U/U           N/A\nGPU1   0000:26",
            "SELF          U/U           N/A\nGPU1   0000:27",
            1,
        ),
        "line 19: the devices differ from those above: expected the output for one machine",
    );
}

#[test]
fn states_alone_name_devices_and_links() {
    let states = &XGMI[XGMI.find("XGMI LINK STATUS").unwrap()..];
    let dump = read_as(Kind::AmdSmiXgmi, states);
    let graph = graph(&dump);
    assert_eq!(
        classes(&graph, 0, 1),
        (LinkClass::Direct(2), LinkClass::Sys)
    );
    assert!(!dump.says.direct_gbps);
    assert_eq!(
        addresses(&graph),
        [
            Some("0000:05:00.0"),
            Some("0000:26:00.0"),
            Some("0000:46:00.0")
        ]
    );
}

#[test]
fn samples_read_to_what_they_show() {
    let Some(data) = common::data("samples_read_to_what_they_show") else {
        return;
    };
    let manifest = fs::read_to_string(data.join("samples/MANIFEST.tsv")).unwrap();
    let names = manifest
        .lines()
        .filter_map(|row| row.split('\t').next()?.strip_prefix("rocm_topo/"));
    let seen = names.filter(|name| !name.starts_with("rocm_smi_")).count();
    assert_eq!(seen, 4, "an expectation for every sample");
    let text = |name: &str| fs::read_to_string(data.join("samples/rocm_topo").join(name)).unwrap();

    let pcie = read_as(Kind::AmdSmiTopology, &text("amd_smi_topology_2x_pcie.txt"));
    assert_eq!(
        addresses(&graph(&pcie)),
        [Some("0000:03:00.0"), Some("0000:0c:00.0")]
    );
    assert_eq!(
        classes(&graph(&pcie), 0, 1),
        (LinkClass::None, LinkClass::Node)
    );
    assert!(
        pcie.peer_access
            .iter()
            .all(|access| access.status == PeerStatus::NotSupported)
    );
    assert_eq!(pcie.says.host, HostDetail::Classes);

    let access = read_as(
        Kind::AmdSmiTopology,
        &text("amd_smi_topology_access_type_json.json"),
    );
    assert_eq!(
        addresses(&graph(&access)),
        [Some("0000:08:00.0"), Some("0000:44:00.0")]
    );
    assert_eq!(
        classes(&graph(&access), 0, 1),
        (LinkClass::None, LinkClass::Sys)
    );
    assert_eq!(access.peer_access.len(), 2);

    // Elided with "..." in the changelog it is from: no JSON.
    let elided = read(text("amd_smi_topology_new_json.json").as_bytes()).unwrap_err();
    assert_eq!(elided.line(), Some(14), "{elided}");

    let xgmi = read_as(Kind::AmdSmiXgmi, &text("amd_smi_xgmi.txt"));
    let eight = graph(&xgmi);
    assert_eq!((eight.len(), xgmi.ports.len()), (8, 56));
    for b in 0..8 {
        for a in 0..b {
            let direct = eight.pair(a.into(), b.into()).direct;
            assert_eq!((direct.class, direct.gbps), (LinkClass::Direct(1), 64.0));
        }
    }
    let port = |device, link| {
        xgmi.ports
            .iter()
            .find(|port| (port.device.0, port.link) == (device, link))
            .unwrap()
    };
    assert_eq!(
        port(0, 0).traffic,
        Some(Traffic {
            sent: 1024,
            received: 2048
        })
    );
    assert_eq!(port(7, 6).remote, Some(("0000:bf:00.0".to_owned(), None)));
    assert_eq!(xgmi.machine.warnings, []);

    for dump in [pcie, access, xgmi] {
        let again = Machine::from_toml(&dump.machine.to_toml().unwrap()).unwrap();
        assert_eq!(again, dump.machine);
    }
}

proptest! {
    #[test]
    fn a_text_that_is_cut_reads_to_the_same_links_or_is_refused(at in 0usize..2000) {
        for (kind, whole) in [(Kind::AmdSmiTopology, TABLES), (Kind::AmdSmiTopology, LIST), (Kind::AmdSmiXgmi, XGMI)] {
            let Ok(cut) = kind.read(&whole[..at.min(whole.len())]) else { continue };
            let (ours, plain) = (graph(&cut), graph(&read_as(kind, whole)));
            prop_assert_eq!(addresses(&ours), addresses(&plain));
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "(?s).{0,300}") {
        let _ = Kind::AmdSmiTopology.read(&text);
        let _ = Kind::AmdSmiXgmi.read(&text);
    }

    #[test]
    fn any_words_are_read_or_refused(words in proptest::collection::vec(proptest::sample::select(vec![
        "LINK TYPE TABLE:\n", "WEIGHT TABLE:\n", "NUMA BW TABLE:\n", "ACCESS TABLE:\n", "LINK METRIC TABLE:\n",
        "XGMI LINK STATUS:\n", "bdf bit_rate max_bandwidth link_type", "bdf", "GPU0", "GPU1", "0000:01:00.0", "0000:02:00.0",
        "32 Gb/s 512 Gb/s XGMI\n", "Read", "Write", "N/A", "1 KB", "U/U", "X", "XGMI", "PCIE", "SELF", "15", "0-0", "ENABLED",
        "\n", "\n", "Legend:\n", "[", "]", "{", "}", "\"bdf\":", "\"links\":", ",",
    ]), 0..40)) {
        for kind in [Kind::AmdSmiTopology, Kind::AmdSmiXgmi] {
            if let Ok(dump) = kind.read(&words.join(" ")) {
                prop_assert!(!dump.machine.graph().unwrap().is_empty());
            }
        }
    }
}
