//! Slurm's `gres.conf` and what slurmd prints, in their shapes, what is refused, and the writer.

use crate::common;

use std::fs;

use crate::common::dumps::{classes, graph, read_as, refused, warnings};
use mapa_core::{DeviceId, DeviceInfo, Fabric, FabricNode, LinkClass, NodeKind};
use mapa_topologies::{Dump, ErrorKind, HostDetail, Kind, Labels, Machine, catalogue, named, read};
use proptest::prelude::*;

/// Two pairs; each pair shares cores.
const PLAIN: &str = "Name=gpu Type=v100 File=/dev/nvidia0 Cores=0-19 Links=-1,2,1,0
Name=gpu Type=v100 File=/dev/nvidia1 Cores=0-19 Links=2,-1,0,1
Name=gpu Type=v100 File=/dev/nvidia2 Cores=20-39 Links=1,0,-1,2
Name=gpu Type=v100 File=/dev/nvidia3 Cores=20-39 Links=0,1,2,-1
";

fn dump(text: &str) -> Dump {
    read_as(Kind::SlurmGres, text)
}

/// Direct links of all devices, 0 where there are none.
fn links(machine: &Machine) -> Vec<Vec<u8>> {
    let graph = machine.graph().unwrap();
    let ids = || (0..machine.fabric.device_count() as u32).map(DeviceId);
    let count = |a, b| match graph.pair(a, b).direct.class {
        LinkClass::Direct(n) if a != b => n,
        _ => 0,
    };
    ids()
        .map(|a| ids().map(|b| count(a, b)).collect())
        .collect()
}

fn same(text: &str) {
    let (ours, plain) = (dump(text), dump(PLAIN));
    assert_eq!(ours.machine.fabric, plain.machine.fabric, "{text}");
    assert_eq!(
        (ours.says, warnings(&ours.machine)),
        (plain.says, Vec::new()),
        "{text}"
    );
}

#[test]
fn links_cores_and_types_read() {
    let dump = dump(PLAIN);
    let graph = graph(&dump);
    assert_eq!(graph.len(), 4);
    assert_eq!(
        classes(&graph, 0, 1),
        (LinkClass::Direct(2), LinkClass::Node)
    );
    assert_eq!(
        classes(&graph, 0, 2),
        (LinkClass::Direct(1), LinkClass::Sys)
    );
    assert_eq!(classes(&graph, 0, 3), (LinkClass::None, LinkClass::Sys));
    assert_eq!(graph.pair(0.into(), 1.into()).direct.gbps, 50.0);
    let device = graph.device(DeviceId(3));
    assert_eq!(
        (device.product.as_deref(), device.numa, device.index),
        (Some("v100"), None, None)
    );
    let says = dump.says;
    assert!(says.every_device && says.direct && says.direct_gbps && !says.host_gbps);
    assert_eq!(says.host, HostDetail::Classes);
}

#[test]
fn keys_in_any_case_comments_spaces_and_continued_lines_read_the_same() {
    same(
        &PLAIN
            .replace("Name=", "NAME=")
            .replace("Links", "links")
            .replace("File", "FILE"),
    );
    same(&PLAIN.replace("Type=v100", "Type = v100"));
    same(&format!(
        "# the first node\n\n{}",
        PLAIN.replace('\n', " # a comment, Links=0\n")
    ));
    same(
        &PLAIN
            .replace(" Cores", " \\\n   Cores")
            .replace('\n', "\r\n"),
    );
    same(&PLAIN.replace("Name=gpu", "NodeName=n[01-16] Name=gpu"));
    same(&format!("{PLAIN}Name=mps Count=400 File=/dev/nvidia0\n"));
    same(&PLAIN.replace("Cores=", "CPUs="));
    same(&PLAIN.replace("Links=", "Flags=nvidia_gpu_env Links="));
}

#[test]
fn lines_that_a_terminal_broke_are_put_together() {
    same(
        &PLAIN
            .replace("Links=-1,2,1,0", "Links=-1,2\n,1,0")
            .replace("Links=2,-1,0,1", "Links=2,\n-1,0,1"),
    );
    same(&PLAIN.replace(" Links", "\nLinks"));
}

#[test]
fn what_slurmd_prints_reads_the_same() {
    let printed: String = PLAIN
        .lines()
        .enumerate()
        .map(|(i, line)| {
            format!("slurmd: Gres {line} Count=1 Index={i} ID=7696487 Flags=HAS_FILE,HAS_TYPE,ENV_NVML\n,ENV_RSMI\n")
        })
        .collect();
    same(&printed);
    let logged: String = PLAIN
        .lines()
        .rev()
        .map(|line| {
            let words = line
                .replace("Name=gpu ", "")
                .replace("Cores=", "Cores(40)=")
                .replace('=', ":");
            format!(
                "[2022-08-23T15:24:51.390]     GRES[gpu] {words} Count:1 Flags:HAS_FILE,ENV_NVML\n"
            )
        })
        .collect();
    same(&logged);
}

#[test]
fn devices_stand_in_the_order_of_their_places_in_links() {
    let reversed: String = PLAIN
        .lines()
        .rev()
        .map(|line| format!("{line}\n"))
        .collect();
    same(&reversed);
    let renamed = dump(&PLAIN.replace("nvidia0", "nvidia7"));
    let graph = graph(&renamed);
    assert_eq!(
        (
            graph.device(DeviceId(0)).name.as_str(),
            graph.device(DeviceId(0)).index
        ),
        ("GPU7", Some(7))
    );
}

#[test]
fn ranges_of_files_and_counts_are_devices_without_links() {
    let names = |text: &str| {
        let dump = dump(text);
        assert!(!dump.says.direct);
        graph(&dump)
            .devices()
            .iter()
            .map(|device| device.name.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        names("Name=gpu File=/dev/nvidia[0-2]"),
        ["GPU0", "GPU1", "GPU2"]
    );
    assert_eq!(
        names("Name=gpu Count=2 File=/dev/nvidia[4,6]"),
        ["GPU4", "GPU6"]
    );
    assert_eq!(
        names("Name=gpu File=/dev/nvidia1,/dev/nvidia0\n"),
        ["GPU1", "GPU0"]
    );
    assert_eq!(
        names("Name=gpu Type=tesla Count=3"),
        ["GPU0", "GPU1", "GPU2"]
    );
    assert_eq!(
        names("Name=gpu Type=mi250 File=/dev/dri/renderD[128-129]"),
        ["GPU0", "GPU1"]
    );
    assert_eq!(
        names("Name=gpu MultipleFiles=/dev/nvidia0,/dev/nvidia1"),
        ["GPU0"]
    );
    let error = dump("Name=gpu File=/dev/nvidia[0-2]")
        .into_machine()
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Incomplete);
    // Cores alone say who shares a NUMA node.
    let cores =
        dump("Name=gpu File=/dev/nvidia[0-1] Cores=0-7\nName=gpu File=/dev/nvidia2 Cores=8-15\n");
    assert_eq!(
        classes(&graph(&cores), 0, 1),
        (LinkClass::None, LinkClass::Node)
    );
    assert_eq!(
        classes(&graph(&cores), 1, 2),
        (LinkClass::None, LinkClass::Sys)
    );
    assert!(cores.says.host == HostDetail::Classes && cores.into_machine().is_ok());
}

#[test]
fn a_short_text_that_names_a_thousand_devices_makes_no_pairs() {
    let dump = dump("Name=gpu File=/dev/nvidia[0-1023] Cores=0-7");
    assert_eq!(dump.machine.fabric.device_count(), 1024);
    assert_eq!(dump.machine.fabric.wires().count(), 0);
    assert_eq!(dump.says.host, HostDetail::Nothing);
    refused(
        "Name=gpu File=/dev/nvidia[0-99999999]",
        "line 1: more than 1024 devices: expected at most that many",
    );
    refused(
        "Name=gpu Count=2K",
        "line 1: more than 1024 devices: expected at most that many",
    );
}

#[test]
fn a_switched_fabric_is_inferred_from_more_links_than_a_device_has() {
    let row = |a: usize| {
        let links: Vec<String> = (0..8)
            .map(|b| {
                if a == b {
                    "-1".to_owned()
                } else {
                    "12".to_owned()
                }
            })
            .collect();
        format!(
            "Name=gpu Type=a100 File=/dev/nvidia{a} Links={}\n",
            links.join(",")
        )
    };
    let text: String = (0..8).map(row).collect();
    let port = graph(&dump(&text)).device(DeviceId(0)).switch_port;
    assert_eq!(
        port.map(|port| (port.class, port.gbps)),
        Some((LinkClass::Direct(12), 300.0))
    );
    // AMD has no such switch.
    let amd = text
        .replace("a100", "mi999")
        .replace("/dev/nvidia", "/dev/dri/renderD12")
        .replace("D128", "D138")
        .replace("D129", "D139");
    let amd: String = amd
        .lines()
        .enumerate()
        .map(|(i, line)| {
            let (before, after) = line.split_once("File=").unwrap();
            let (_, links) = after.split_once(' ').unwrap();
            format!("{before}File=/dev/dri/renderD{} {links}\n", 128 + i)
        })
        .collect();
    let dump = dump(&amd);
    assert_eq!(graph(&dump).device(DeviceId(0)).switch_port, None);
    assert_eq!(dump.machine.labels.print(LinkClass::Direct(12)), "XGMI12");
    assert!(!dump.says.direct_gbps);
}

#[test]
fn instances_belong_to_the_device_of_their_file() {
    let text = "Name=gpu Type=a100 File=/dev/nvidia0 Links=-1,0,0,4
Name=gpu Type=nvidia_a100_3g.20gb File=/dev/nvidia1,/dev/nvidia-caps/nvidia-cap30 Links=0,-1,0,0
Name=gpu Type=1g.5gb+me File=/dev/nvidia1,/dev/nvidia-caps/nvidia-cap40 UniqueId=MIG-17 Links=0,0,-1,0
Name=gpu Type=a100 File=/dev/nvidia1 Links=4,0,0,-1
";
    let dump = dump(text);
    assert_eq!(links(&dump.machine), [[0, 4], [4, 0]]);
    let instances: Vec<_> = dump
        .mig_instances
        .iter()
        .map(|it| (it.device.0, it.profile.as_str(), it.uuid.as_deref()))
        .collect();
    assert_eq!(
        instances,
        [(1, "3g.20gb", None), (1, "1g.5gb+me", Some("MIG-17"))]
    );
    // Without a record of its own the device follows from its instances.
    let alone = self::dump(
        "Name=gpu Type=a100_1g.5gb File=/dev/nvidia2,/dev/nvidia-caps/nvidia-cap3 Cores=0-3",
    );
    assert_eq!(graph(&alone).devices()[0].name, "GPU2");
    assert_eq!(graph(&alone).devices()[0].product.as_deref(), Some("a100"));
    // Of slurmd's log: no type, so no profile.
    let untold = self::dump(
        "GRES[gpu] Type:(null) Count:1 Links:-1 File:/dev/nvidia1,/dev/nvidia-caps/nvidia-cap111 UniqueId:MIG-GPU-1/11/0",
    );
    assert_eq!(
        warnings(&untold.machine),
        ["line 1: an instance of device 1: its profile is unknown, so it is left out"]
    );
    assert_eq!((graph(&untold).len(), untold.mig_instances.len()), (1, 0));
}

#[test]
fn several_nodes_read_if_they_are_alike() {
    let on = |node: &str| PLAIN.replace("Name=gpu", &format!("NodeName={node} Name=gpu"));
    same(&(on("n1") + &on("n2")));
    refused(
        &(on("n1")
            + &on("n2")
                .replace("Links=-1,2,1,0", "Links=-1,2,0,0")
                .replace("Links=1,0,-1,2", "Links=0,0,-1,2")),
        "line 5: node n2 begins here, with other devices than node n1: expected the records of one node",
    );
    refused(
        &(on("n1") + "NodeName=n[2-4] Name=gpu File=/dev/nvidia0\n"),
        "line 5: node n[2-4] begins here, with other devices than node n1: expected the records of one node",
    );
}

#[test]
fn what_is_no_record_is_a_warning() {
    let text = format!(
        "$ cat gres.conf\n{PLAIN}Include /etc/slurm/more.conf\nName=gpu Colour=red Count=0\n"
    );
    assert_eq!(
        warnings(&dump(&text).machine),
        [
            "line 1: neither a record nor a part of the previous one: ignored",
            "line 6: the included file is not read",
            "line 7: `Colour=red`: unknown key, ignored",
        ]
    );
}

#[test]
fn links_that_do_not_fit_are_refused_by_line() {
    let three: String = PLAIN
        .lines()
        .take(3)
        .map(|line| format!("{line}\n"))
        .collect();
    refused(
        &three,
        "line 1: Links has 4 numbers, but the node has records of 3 devices: expected a record and a number for every device",
    );
    refused(
        &PLAIN.replace("Links=2,-1,0,1", "Links=2,-1,,0,1"),
        "line 2: `` among the Links: expected -1 for the device itself, or a number of links",
    );
    refused(
        &PLAIN.replace("Links=2,-1,0,1", "Links=2,-1,0,300"),
        "line 2: `300` among the Links: expected -1 for the device itself, or a number of links",
    );
    refused(
        &PLAIN.replace("Links=2,-1,0,1", "Links=2,-1,0,-1"),
        "line 2: expected one -1 among its links, for the device itself",
    );
    refused(
        &PLAIN.replace("Links=2,-1,0,1", "Links=-1,2,0,1"),
        "line 2: -1 is at place 0, as in line 1: expected a different place for each device",
    );
    refused(
        &PLAIN.replace("Links=2,-1,0,1", "Links=3,-1,0,1"),
        "line 2: 3 links to the device of line 1, which has 2 links back: expected the same number",
    );
    refused(
        &PLAIN.replace("Links=2,-1,0,1", "Links=(null)"),
        "line 2: no Links, but other devices have them: expected Links for all devices or none",
    );
    refused(
        &PLAIN.replace("nvidia1 ", "nvidia[1-2] "),
        "line 2: one record has Links for 2 devices: expected a record for each",
    );
}

#[test]
fn records_that_are_garbled_are_refused_by_line() {
    refused(
        &PLAIN.replace("nvidia1 ", "nvidia0 "),
        "line 2: device 0 appears a second time: expected each once",
    );
    refused(
        &PLAIN.replacen("Type=v100", "Type=v100 Type=a100", 1),
        "line 1: a second type in one record: expected each once",
    );
    refused(
        &PLAIN.replacen("Type=v100", "v100", 1),
        "line 1: `v100`: expected Key=value",
    );
    refused(
        "Name=gpu Count=2 File=/dev/nvidia[0-2]",
        "line 1: Count=2, but File has 3 names: expected the same number",
    );
    refused("Name=gpu Count=few", "line 1: Count=few: expected a number");
    for file in ["/dev/nvidia[0-", "/dev/nvidia[3-1]", "/dev/nvidia[a]"] {
        let message = format!(
            "line 1: File `{file}`: expected names such as /dev/nvidia0 or /dev/nvidia[0-3]"
        );
        refused(&format!("Name=gpu File={file}"), &message);
    }
    let detected = read(b"AutoDetect=nvml\n").unwrap_err();
    assert_eq!(detected.kind(), ErrorKind::Incomplete);
    let long = format!("Name=gpu Type={} Count=2", "a".repeat(300));
    refused(
        &long,
        "line 1: a type of 300 characters: expected at most 256",
    );
}

#[test]
fn samples_read_to_what_they_show_or_are_refused_by_line() {
    let Some(data) = common::data("samples_read_to_what_they_show_or_are_refused_by_line") else {
        return;
    };
    let manifest = fs::read_to_string(data.join("samples/MANIFEST.tsv")).unwrap();
    let seen = manifest
        .lines()
        .filter(|row| row.starts_with("slurm_gres/"))
        .count();
    assert_eq!(seen, 3, "an expectation for every sample");
    let text = |name: &str| fs::read_to_string(data.join("samples/slurm_gres").join(name)).unwrap();

    let quads = dump(&text("gres_conf_a100_8_links44.txt"));
    let four = |a: usize, b: usize| if a != b && a / 4 == b / 4 { 4 } else { 0 };
    let expected: Vec<Vec<u8>> = (0..8)
        .map(|a| (0..8).map(|b| four(a, b)).collect())
        .collect();
    assert_eq!(links(&quads.machine), expected);
    assert_eq!(
        classes(&graph(&quads), 0, 1),
        (LinkClass::Direct(4), LinkClass::Sys)
    );
    assert_eq!(graph(&quads).pair(0.into(), 1.into()).direct.gbps, 100.0);
    assert!(quads.says.direct && quads.says.host == HostDetail::Nothing);
    assert_eq!(warnings(&quads.machine), [] as [&str; 0]);

    refused(
        &text("gres_conf_gb200_tray.txt"),
        "line 1: Links has 4 numbers, but the node has records of 1 devices: expected a record and a number for every device",
    );

    let mig = dump(&text("slurmd_G_h100_mig.txt"));
    assert_eq!(graph_names(&mig), ["GPU0", "GPU1"]);
    assert_eq!(
        warnings(&mig.machine),
        ["line 5: instance 4g.40gb: its file does not name the device, so it is left out"]
    );
    assert!(!mig.says.direct && mig.mig_instances.is_empty());
    assert_eq!(
        mig.into_machine().unwrap_err().kind(),
        ErrorKind::Incomplete
    );
}

fn graph_names(dump: &Dump) -> Vec<String> {
    graph(dump)
        .devices()
        .iter()
        .map(|device| device.name.clone())
        .collect()
}

fn read_back(machine: &Machine) -> Dump {
    let text = machine.to_slurm_gres().unwrap();
    let again = dump(&text);
    assert_eq!(warnings(&again.machine), [] as [&str; 0], "{text}");
    assert_eq!(links(&again.machine), links(machine), "{text}");
    again
}

#[test]
fn catalogue_machines_are_written_and_read_back() {
    for entry in catalogue() {
        let machine = named(entry.name).unwrap();
        let again = read_back(&machine);
        let ports = |machine: &Machine| {
            let graph = machine.graph().unwrap();
            let devices = (0..machine.fabric.device_count() as u32).map(DeviceId);
            devices
                .map(|id| graph.device(id).switch_port.map(|port| port.class))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            ports(&again.machine),
            ports(&machine),
            "{}: switches are inferred again",
            entry.name
        );
    }
}

#[test]
fn the_written_form_is_stable() {
    let text = named("dgx-1v").unwrap().to_slurm_gres().unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].starts_with("# dgx-1v: ") && lines[1].starts_with("# Source: "),
        "{text}"
    );
    assert_eq!(lines.len(), 10);
    assert!(
        lines[2].ends_with(" File=/dev/nvidia0 Links=-1,1,1,2,2,0,0,0"),
        "{text}"
    );
}

fn machine(counts: &[u8], n: usize, indices: bool, product: Option<&str>, amd: bool) -> Machine {
    let mut fabric = Fabric::new();
    let ids: Vec<_> = (0..n)
        .map(|i| {
            let index = indices.then_some(2 * i as u32 + 1);
            let info = DeviceInfo {
                index,
                product: product.map(str::to_owned),
                ..DeviceInfo::default()
            };
            fabric
                .add(FabricNode {
                    name: format!("dev-{i}"),
                    kind: NodeKind::Device(info),
                })
                .unwrap()
        })
        .collect();
    for b in 0..n {
        for a in 0..b {
            let links = counts[b * (b - 1) / 2 + a];
            if links > 0 {
                fabric
                    .link(ids[a], ids[b], LinkClass::Direct(links), f64::from(links))
                    .unwrap();
            }
        }
    }
    let direct = if amd { "XGMI" } else { "NV" };
    Machine {
        name: "random".to_owned(),
        title: "a machine\nName=gpu".to_owned(),
        source: "a test".to_owned(),
        notes: Vec::new(),
        labels: Labels {
            direct: direct.to_owned(),
            ..Labels::default()
        },
        fabric,
        warnings: Vec::new(),
    }
}

proptest! {
    #[test]
    fn any_machine_is_written_and_read_back_with_its_links(
        n in 1usize..9,
        counts in proptest::collection::vec(prop_oneof![Just(0u8), 1u8..20, Just(255)], 36),
        indices in any::<bool>(),
        product in proptest::option::of(prop::sample::select(vec!["Tesla V100", "A100 4g.40gb", "x\ny", " ", "(null)", "#1", "é"])),
        amd in any::<bool>(),
    ) {
        let machine = machine(&counts, n, indices, product, amd);
        let again = read_back(&machine);
        let numbers = |machine: &Machine| {
            let graph = machine.graph().unwrap();
            let devices = graph.devices().iter().enumerate();
            devices.map(|(id, device)| device.index.unwrap_or(id as u32)).collect::<Vec<_>>()
        };
        prop_assert_eq!(numbers(&again.machine), numbers(&machine));
    }

    #[test]
    fn a_text_that_is_cut_has_no_other_links(at in 0usize..PLAIN.len()) {
        if let Ok(dump) = Kind::SlurmGres.read(&PLAIN[..at]) {
            let alone = dump.machine.fabric.device_count() == 1;
            prop_assert!(!dump.says.direct || alone || at >= PLAIN.len() - 2);
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "(?s).{0,300}") {
        let _ = Kind::SlurmGres.read(&text);
    }

    #[test]
    fn any_words_are_read_or_refused(words in proptest::collection::vec(proptest::sample::select(vec![
        "Name=gpu", "NodeName=a", "NodeName=b", "Type=a100", "Type=1g.5gb", "File=/dev/nvidia0", "File=/dev/nvidia[0-3]",
        "File=/dev/nvidia1", "Count=2", "Links=-1", "Links=-1,2", "Links=2,-1", "Links=(null)", "Cores=0-3", "AutoDetect=nvml",
        "\n", "\n", "\\\n", ",", "#", "=", "Gres Name=gpu", "GRES[gpu]", "Index=1", "Include x\n", "é",
    ]), 0..40)) {
        if let Ok(dump) = Kind::SlurmGres.read(&words.join(" ")) {
            prop_assert!(!dump.machine.graph().unwrap().is_empty());
        }
    }
}
