//! The shapes in which `nvidia-smi topo -m` gets pasted, and what is refused.

use mapa_core::{DeviceId, HardwareGraph, LinkClass};
use mapa_topologies::{Error, ErrorKind, Machine};
use proptest::prelude::*;

/// A DGX-1V's corner in the plainest form: every other form here must read the same.
const PLAIN: &str = "\tGPU0\tGPU1\tGPU2\tmlx5_0\tCPU Affinity\tNUMA Affinity
GPU0\t X \tNV1\tNV2\tPIX\t0-19\t0
GPU1\tNV1\t X \tSYS\tPIX\t0-19\t0
GPU2\tNV2\tSYS\t X \tSYS\t20-39\t1
mlx5_0\tPIX\tPIX\tSYS\t X \t\t
";

fn read(bytes: &[u8]) -> Result<Machine, Error> {
    mapa_topologies::read(bytes)?.into_machine()
}

fn graph(text: &str) -> HardwareGraph {
    let machine = read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(machine.warnings, [], "{text}");
    machine.graph().unwrap()
}

fn same(text: &str) {
    assert_eq!(graph(text), graph(PLAIN), "{text}");
}

fn refused(text: &str, message: &str) {
    let error = read(text.as_bytes()).expect_err(text);
    assert_eq!(error.to_string(), message, "{text}");
}

#[test]
fn the_plain_form_reads() {
    let graph = graph(PLAIN);
    assert_eq!(graph.len(), 3);
    let pair = |a, b| graph.pair(DeviceId(a), DeviceId(b));
    assert_eq!(
        (pair(0, 1).direct.class, pair(0, 1).host.class),
        (LinkClass::Direct(1), LinkClass::Pix)
    );
    assert_eq!(
        (pair(0, 2).direct.gbps, pair(0, 2).host.class),
        (50.0, LinkClass::Sys)
    );
    assert_eq!(
        (pair(1, 2).direct.class, pair(1, 2).host.gbps),
        (LinkClass::None, 12.0)
    );
    assert_eq!(graph.device(DeviceId(2)).numa, Some(1));
}

#[test]
fn spaces_instead_of_tabs() {
    same(
        "        GPU0    GPU1    GPU2    mlx5_0  CPU Affinity    NUMA Affinity
GPU0     X      NV1     NV2     PIX     0-19            0
GPU1    NV1      X      SYS     PIX     0-19            0
GPU2    NV2     SYS      X      SYS     20-39           1
mlx5_0  PIX     PIX     SYS      X
",
    );
}

#[test]
fn carriage_returns_and_no_newline_at_the_end() {
    same(PLAIN.replace('\n', "\r\n").trim_end());
}

#[test]
fn a_byte_order_mark() {
    same(&format!("\u{feff}{PLAIN}"));
}

#[test]
fn mixed_tabs_and_spaces() {
    same(
        &PLAIN
            .replace("GPU1\t", "GPU1 \t   ")
            .replace("NV1", "\tNV1 "),
    );
}

#[test]
fn colour_codes() {
    // The escape character may have been lost, or spelled out, by what the text was pasted through.
    for escape in ["\u{1b}", "", "^[", "\\033", "\\e", "\\x1b", "\u{241b}"] {
        let (on, off) = (
            format!("{escape}[4mGPU0"),
            format!("NUMA Affinity{escape}[0m"),
        );
        same(
            &PLAIN
                .replacen("GPU0", &on, 1)
                .replacen("NUMA Affinity", &off, 1),
        );
    }
    same(&PLAIN.replace("NV1", "\u{1b}[1;32mNV1\u{1b}[m"));
}

#[test]
fn a_prompt_a_legend_and_more_output_around_it() {
    same(&format!(
        "user@gpu01:~$ nvidia-smi topo -m\n{PLAIN}
Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
  NV#  = Connection traversing a bonded set of # NVLinks

user@gpu01:~$ "
    ));
}

#[test]
fn comment_marks_time_stamps_and_list_indents_before_rows() {
    let legend = "\nLegend:\n\n  X    = Self\n  SYS  = Connection traversing PCIe\n  NV#  = Connection of # NVLinks\n";
    for before in [
        "#",
        "##",
        "> ",
        "    ",
        "2025/05/21 09:40:05 s114",
        "2025-05-21 09:40:05 ",
        "[12.5] node1:",
        "//",
        ";",
        "%",
        "REM",
        " *",
        "--",
        "+",
        "[rank0]:",
        "user@host:~$ ",
        "gpu01:",
        "* ",
    ] {
        let text: String = PLAIN
            .lines()
            .chain(legend.lines())
            .map(|line| format!("{before} {line}\n"))
            .collect();
        same(&text);
    }
    same(
        &PLAIN
            .lines()
            .map(|line| format!("+{line}\n"))
            .collect::<String>(),
    );
}

#[test]
fn a_markdown_table() {
    same(
        "| | GPU0 | GPU1 | GPU2 | mlx5_0 | CPU Affinity | NUMA Affinity |
|---|:--:|---|---|---|---|---|
| GPU0 | X | NV1 | NV2 | PIX | 0-19 | 0 |
| GPU1 | NV1 | X | SYS | PIX | 0-19 | 0 |
| GPU2 | NV2 | SYS | X | SYS | 20-39 | 1 |
| mlx5_0 | PIX | PIX | SYS | X | | |
",
    );
}

#[test]
fn bars_left_over_from_a_web_page() {
    let text: String = PLAIN.lines().map(|line| format!("{line} | |\n")).collect();
    same(&text);
}

#[test]
fn a_bold_markdown_table_and_a_small_x() {
    same(
        &PLAIN
            .replace("GPU", "**GPU")
            .replace("NV", "*NV")
            .replace(" X ", "x"),
    );
}

#[test]
fn host_paths_follow_from_each_other_until_no_more_do() {
    // 1 to 2 is open at first; 0 to 1 and 0 to 3 follow from 2 and 1, and then so does 1 to 3.
    let graph = graph(
        "GPU0 GPU1 GPU2 GPU3\nGPU0 X NV1 PHB NV1\nGPU1 NV1 X PHB NV1\nGPU2 PHB PHB X NV1\nGPU3 NV1 NV1 NV1 X\n",
    );
    assert_eq!(
        graph.pair(DeviceId(0), DeviceId(1)).host.class,
        LinkClass::Phb
    );
    // A virtual machine: each device of one half is printed PHB to three of the other half, and
    // nothing else.
    let cube = "GPU0 X NV1 NV1 NV2 NV2 PHB PHB PHB\nGPU1 NV1 X NV2 NV1 PHB NV2 PHB PHB\nGPU2 NV1 NV2 X NV2 PHB PHB NV1 PHB\n\
                GPU3 NV2 NV1 NV2 X PHB PHB PHB NV1\nGPU4 NV2 PHB PHB PHB X NV1 NV1 NV2\nGPU5 PHB NV2 PHB PHB NV1 X NV2 NV1\n\
                GPU6 PHB PHB NV1 PHB NV1 NV2 X NV2\nGPU7 PHB PHB PHB NV1 NV2 NV1 NV2 X\n";
    let graph = self::graph(cube);
    assert!(
        (0..8).all(|b| (0..b).all(|a| graph.pair(a.into(), b.into()).host.class == LinkClass::Phb))
    );
}

#[test]
fn a_header_glued_together() {
    same(&PLAIN.replacen("GPU0\tGPU1\tGPU2\tmlx5_0", "    GPU0GPU1GPU2mlx5_0", 1));
}

#[test]
fn a_header_without_its_leading_tab() {
    same(PLAIN.trim_start());
}

#[test]
fn no_header_at_all() {
    let rows: String = PLAIN
        .lines()
        .skip(1)
        .map(|line| format!("{line}\n"))
        .collect();
    let machine = read(rows.as_bytes()).unwrap();
    assert_eq!(machine.graph().unwrap().len(), 3);
    // The affinity columns have lost their names, so host paths follow from the card alone.
    assert_eq!(
        machine
            .graph()
            .unwrap()
            .pair(DeviceId(0), DeviceId(1))
            .host
            .class,
        LinkClass::Pix
    );
}

#[test]
fn cards_before_devices_and_in_any_order_of_rows() {
    same(
        "\tmlx5_0\tGPU0\tGPU1\tGPU2\tCPU Affinity\tNUMA Affinity
mlx5_0\t X \tPIX\tPIX\tSYS\t\t
GPU2\tSYS\tNV2\tSYS\t X \t20-39\t1
GPU0\tPIX\t X \tNV1\tNV2\t0-19\t0
GPU1\tPIX\tNV1\t X \tSYS\t0-19\t0
",
    );
}

#[test]
fn cards_between_devices() {
    same(
        "\tGPU0\tmlx5_0\tGPU1\tGPU2\tCPU Affinity\tNUMA Affinity
GPU0\t X \tPIX\tNV1\tNV2\t0-19\t0
mlx5_0\tPIX\t X \tPIX\tSYS\t\t
GPU1\tNV1\tPIX\t X \tSYS\t0-19\t0
GPU2\tNV2\tSYS\tSYS\t X \t20-39\t1
",
    );
}

#[test]
fn empty_affinity_cells() {
    // With tabs the tool prints one empty cell before the GPU's NUMA id.
    let tabs = PLAIN
        .replace("NUMA Affinity", "NUMA Affinity\tGPU NUMA ID")
        .replace("\t0-19\t0", "\t\t0\t\tN/A")
        .replace("\t20-39\t1", "\t\t1\t\tN/A");
    same(&tabs);
    // With spaces only the place in the line tells.
    same(
        "        GPU0    GPU1    GPU2    mlx5_0  CPU Affinity    NUMA Affinity   GPU NUMA ID
GPU0     X      NV1     NV2     PIX                     0               N/A
GPU1    NV1      X      SYS     PIX                     0               N/A
GPU2    NV2     SYS      X      SYS                     1               N/A
mlx5_0  PIX     PIX     SYS      X
",
    );
}

#[test]
fn numa_lists_mean_their_first_node_and_ranges_none() {
    let numa = |cell: &str| {
        graph(&PLAIN.replace("20-39\t1", &format!("20-39\t{cell}")))
            .device(DeviceId(2))
            .numa
    };
    assert_eq!(
        (numa("1"), numa("0-1"), numa("1,13-19"), numa("N/A")),
        (Some(1), None, Some(1), None)
    );
}

#[test]
fn old_soc_is_sys_and_is_printed_as_it_was() {
    let machine = read(PLAIN.replace("SYS", "SOC").as_bytes()).unwrap();
    assert_eq!(machine.graph().unwrap(), graph(PLAIN));
    assert_eq!(machine.labels.print(LinkClass::Sys), "SOC");
}

#[test]
fn every_bond_from_nv1_to_nv18() {
    for n in 1..=18u8 {
        let graph = graph(&format!("GPU0 GPU1\nGPU0 X NV{n}\nGPU1 NV{n} X"));
        let direct = graph.pair(DeviceId(0), DeviceId(1)).direct;
        assert_eq!(
            (direct.class, direct.gbps),
            (LinkClass::Direct(n), 25.0 * f64::from(n))
        );
    }
}

#[test]
fn a_switched_fabric_is_inferred_from_more_links_than_a_device_has() {
    let full = |n: usize, link: &str| {
        let header: String = (0..n).map(|i| format!("\tGPU{i}")).collect();
        let cell = |a, b| {
            if a == b {
                "\tX".to_owned()
            } else {
                format!("\t{link}")
            }
        };
        let row = |a| format!("GPU{a}{}\n", (0..n).map(|b| cell(a, b)).collect::<String>());
        graph(&format!(
            "{header}\n{}",
            (0..n).map(row).collect::<String>()
        ))
    };
    // DGX A100: 7 x 12 links a row, where a device has 12.
    let switched = full(8, "NV12");
    assert_eq!(
        switched
            .device(DeviceId(0))
            .switch_port
            .map(|port| port.class),
        Some(LinkClass::Direct(12))
    );
    assert_eq!(
        switched.link(DeviceId(0), DeviceId(7)).class,
        LinkClass::Direct(12)
    );
    // HGX A100 with four GPUs: 3 x 4 links are all there are, wired pair by pair.
    assert_eq!(full(4, "NV4").device(DeviceId(0)).switch_port, None);
    assert_eq!(full(2, "NV18").device(DeviceId(0)).switch_port, None);
    assert_eq!(
        full(16, "NV6")
            .device(DeviceId(0))
            .switch_port
            .map(|port| port.gbps),
        Some(150.0)
    );
}

#[test]
fn cards_are_called_as_the_legend_says() {
    let text = "\tGPU0\tNIC0\nGPU0\tX\tPIX\nNIC0\tPIX\tX\n\nNIC Legend:\n\n  NIC0: mlx5_7\n";
    let machine = read(text.as_bytes()).unwrap();
    assert!(
        machine
            .fabric
            .nodes()
            .any(|(_, node)| node.name == "mlx5_7")
    );
}

#[test]
fn missing_or_broken_rows_of_cards_are_warnings() {
    let warned = |text: &str, message: &str| {
        let machine = read(text.as_bytes()).unwrap();
        let said: Vec<String> = machine.warnings.iter().map(ToString::to_string).collect();
        assert_eq!(said, [message], "{text}");
        let (ours, plain) = (machine.graph().unwrap(), graph(PLAIN));
        assert_eq!(ours.len(), plain.len());
        assert!((0..3).all(|a| {
            (0..3).all(|b| ours.link(a.into(), b.into()) == plain.link(a.into(), b.into()))
        }));
    };
    warned(
        &PLAIN.replace("mlx5_0\tPIX\tPIX\tSYS\t X \t\t\n", ""),
        "line 4: row mlx5_0 is missing: the links are taken from the devices' rows",
    );
    warned(
        &PLAIN.replace("mlx5_0\tPIX\tPIX\tSYS\t X \t\t\n", "mlx5_0\tPIX\n"),
        "line 5: row mlx5_0 is cut short: some links of network cards are missing",
    );
    warned(
        &PLAIN.replace("GPU1\tNV1\t X \tSYS\tPIX\t0-19\t0", "GPU1\tNV1\t X \tSYS"),
        "line 3: row GPU1 is cut short: some links of network cards are missing",
    );
    warned(
        &PLAIN.replace("mlx5_0\tPIX\tPIX", "mlx5_0\tPXB\tPIX"),
        "line 5: mlx5_0 is joined to GPU0 by PXB, but GPU0 to mlx5_0 by PIX: expected a symmetric matrix",
    );
}

#[test]
fn rows_without_the_affinity_that_the_header_promises_are_a_warning() {
    let machine =
        read(b"GPU0 GPU1 CPU Affinity NUMA Affinity\nGPU0 X SYS 0-7 0\nGPU1 SYS X\n8-15 1\n")
            .unwrap();
    let said: Vec<String> = machine.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        ["line 1: no affinity in the rows of GPU1: their NUMA nodes are unknown"]
    );
}

#[test]
fn what_is_wrong_with_a_device_is_an_error_that_names_the_line() {
    for text in ["", "hello\nworld\n"] {
        assert_eq!(
            mapa_topologies::read(text.as_bytes()).unwrap_err().kind(),
            ErrorKind::Unknown,
            "{text}"
        );
    }
    refused(
        "GPU0 GPU1\nGPU0 X NV1\n",
        "line 2: the matrix ends, but row GPU1 is missing: expected a row for every column",
    );
    refused(
        "GPU0 GPU1\nGPU0 X NV1\nGPU1 NV1\n",
        "line 3: row GPU1, column GPU1: the row ends here: expected a link",
    );
    refused(
        "GPU0 GPU1\nGPU0 X NV1\nGPU1\n",
        "line 3: row GPU1, column GPU0: the row ends here: expected a link",
    );
    let unknown = "unknown link `FOO`: expected NV#, PIX, PXB, PHB, NODE or SYS";
    refused(
        "GPU0 GPU1\nGPU0 X FOO\nGPU1 FOO X\n",
        &format!("line 2: row GPU0, column GPU1: {unknown}"),
    );
    let broken = "unknown link `NV0`: expected NV#, PIX, PXB, PHB, NODE or SYS";
    refused(
        "GPU0 GPU1\nGPU0 X SYS\nGPU1 NV0 X\n",
        &format!("line 3: row GPU1, column GPU0: {broken}"),
    );
    refused(
        "GPU0 GPU1 NIC0\nGPU0 X SYS FOO\nGPU1 SYS X SYS\n",
        &format!("line 2: row GPU0, column NIC0: {unknown}"),
    );
    refused(
        "GPU0 GPU1\nGPU0 FOO SYS\nGPU1 SYS X\n",
        "line 2: row GPU0, column GPU0: `FOO`: expected X on the diagonal",
    );
    refused(
        "GPU0 GPU1\nGPU0 X X\nGPU1 SYS X\n",
        "line 2: row GPU0, column GPU1: X off the diagonal: expected a link",
    );
    refused(
        "GPU0 GPU1\nGPU0 X NV1\nGPU1 NV2 X\n",
        "line 3: GPU1 is joined to GPU0 by NV2, but GPU0 to GPU1 by NV1: expected a symmetric matrix",
    );
    refused(
        "GPU0 GPU0\nGPU0 X NV1\n",
        "line 1: two columns are called GPU0: expected each once",
    );
    refused(
        "GPU0 GPU1\nGPU0 X NV1\nGPU0 X NV1\nGPU1 NV1 X\n",
        "line 3: a second row is called GPU0: expected each once",
    );
    refused(
        "GPU0 GPU1\nGPU0 X NV1\nGPU1 NV1 X\nGPU2 SYS SYS X\n",
        "line 4: row GPU2 has no column of that name in the header",
    );
    refused(
        &format!("{PLAIN}{PLAIN}"),
        "line 6: a second matrix begins here: expected the output for one machine",
    );
    refused(
        "GPU7 NV8 NV8 NV8 NV8 NV8 NV8 NV8 X SYS 32-63 1\nNIC0 PXB PXB NODE X\n",
        "line 1: without a header, row GPU7 must have its X in column 1, but it is in column 8: expected a header, or all rows in order",
    );
    let error = read(b"GPU0\nGPU0 \xff X").unwrap_err();
    assert_eq!(
        (error.to_string().as_str(), error.line()),
        ("line 2: not UTF-8 text", Some(2))
    );
}

#[test]
fn missing_rows_and_cells_are_noticed_without_a_header_and_by_their_tabs() {
    refused(
        "GPU0 X NV1 NV1 NV2 0-15\nGPU1 NV1 X NV2 NV1 0-15\nGPU2 NV1 NV2 X NV1 0-15\n",
        "line 1: row GPU0 has more links than the matrix has columns: expected 3",
    );
    refused(
        "GPU0 GPU1\nGPU0 X SYS NODE PIX\nGPU1 SYS X NODE PIX\n",
        "line 2: row GPU0 has more links than the matrix has columns: expected 2",
    );
    let empty = "row GPU0, column GPU1: the cell is empty: expected a link";
    refused(
        "\tGPU0\tGPU1\tNIC0\nGPU0\t X \t\tSYS\t0-7\nGPU1\tSYS\t X \tSYS\t0-7\n",
        &format!("line 2: {empty}"),
    );
    refused(
        "| | GPU0 | GPU1 | NIC0 |\n|---|---|---|---|\n| GPU0 | X | | PIX |\n| GPU1 | PIX | X | PIX |\n",
        &format!("line 3: {empty}"),
    );
    refused(
        "GPU0 GPU1\nGPU0 X NET\nGPU1 NET X\n",
        "line 2: row GPU0, column GPU1: `NET` does not join devices of one machine: expected a link",
    );
}

#[test]
fn prose_around_the_matrix_is_passed_over() {
    same(&format!(
        "on gpu0 sys is slow, and the GPUs 0 and 1 are X\n{PLAIN}\nso gpu0 nv1 is what we have\n"
    ));
}

#[test]
fn ids_follow_the_header_and_numbers_are_kept() {
    let machine = read(b"GPU2 GPU5\nGPU2 X SYS\nGPU5 SYS X\n").unwrap();
    let graph = machine.graph().unwrap();
    assert_eq!(graph.find("GPU5").unwrap(), DeviceId(1));
    assert_eq!(
        graph.devices().iter().map(|d| d.index).collect::<Vec<_>>(),
        [Some(2), Some(5)]
    );
}

proptest! {
    /// Any machine the tool could print reads back to itself, however cells are separated.
    #[test]
    fn printed_matrices_read_back(
        n in 1usize..9,
        cells in proptest::collection::vec(0usize..8, 36),
        separator in proptest::sample::select(vec!["\t", " ", "  \t", " | "]),
        crlf in any::<bool>(),
    ) {
        let words = ["NV1", "NV2", "SYS", "NODE", "PHB", "PXB", "PIX", "NV4"];
        let word = |a: usize, b: usize| {
            let (lo, hi) = (a.min(b), a.max(b));
            if a == b { "X" } else { words[cells[hi * (hi - 1) / 2 + lo]] }
        };
        let mut text = (0..n).map(|i| format!("{separator}GPU{i}")).collect::<String>() + "\n";
        for a in 0..n {
            text += &format!("GPU{a}{}\n", (0..n).map(|b| format!("{separator}{}", word(a, b))).collect::<String>());
        }
        if n == 1 {
            text = text.replacen("GPU0", "GPU0 CPU Affinity", 1).trim_end().to_owned() + " 0-3\n";
        }
        if crlf {
            text = text.replace('\n', "\r\n");
        }
        let machine = read(text.as_bytes()).unwrap();
        let graph = machine.graph().unwrap();
        for a in 0..n {
            for b in 0..n {
                let link = graph.link((a as u32).into(), (b as u32).into());
                prop_assert!(a == b || machine.labels.print(link.class) == word(a, b));
            }
        }
        let again = Machine::from_toml(&machine.to_toml().unwrap()).unwrap();
        prop_assert_eq!(again, machine);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&bytes);
    }

    #[test]
    fn any_words_are_read_or_refused(words in proptest::collection::vec(
        proptest::sample::select(vec![
            "GPU0", "GPU1", "GPU2", "GPU", "NIC0", "mlx5_0", "X", "NV1", "SYS", "PIX", "CPU", "Affinity", "NUMA", "ID",
            "N/A", "0-1", "\n", "\n", "\t", "|", "#", "FOO", "GPU0GPU1", "NIC0:", "\u{1b}[4m", "é",
        ]), 0..40)) {
        if let Ok(machine) = read(words.join(" ").as_bytes()) {
            prop_assert!(!machine.graph().unwrap().is_empty());
        }
    }
}
