//! Discovery by a library that is compiled for each test.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use mapa_core::{DeviceId, LinkClass};
use mapa_live::{Discovered, Live, Source, discover};
use mapa_topologies::{HostDetail, PeerStatus, named};

use crate::common::{Machine, unkept};

/// The file in which a library that counts logs its uses in this run.
fn log(library: &Path) -> PathBuf {
    library.with_extension(format!("{}.log", std::process::id()))
}

/// A library that answers for one machine, compiled once a run.
fn library(cfgs: &[&str]) -> PathBuf {
    static MADE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
    let name: String = cfgs
        .concat()
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let library = folder.join(format!("fake-nvml-{name}.so"));
    let mut made = MADE.lock().unwrap();
    if !made.contains(&library) {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake-nvml/lib.rs");
        // The compiler beside the cargo that runs the tests.
        let beside =
            std::env::var_os("CARGO").map(|cargo| PathBuf::from(cargo).with_file_name("rustc"));
        let rustc = beside
            .filter(|rustc| rustc.exists())
            .unwrap_or_else(|| PathBuf::from("rustc"));
        // Another run of the tests may use the last one.
        let draft = folder.join(format!("fake-nvml-{name}-{}.so", std::process::id()));
        let mut command = Command::new(rustc);
        command.args([
            "--edition",
            "2024",
            "--crate-type",
            "cdylib",
            "--cap-lints",
            "allow",
            "-C",
            "debuginfo=0",
        ]);
        command.args(cfgs.iter().flat_map(|cfg| ["--cfg", cfg]));
        command.env("FAKE_NVML_LOG", log(&library));
        let output = command.arg("-o").arg(&draft).arg(source).output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        fs::rename(draft, &library).unwrap();
        made.push(library.clone());
    }
    library
}

impl Machine {
    fn with_library(&self, cfgs: &[&str]) -> Live {
        let mut live = self.live();
        live.nvml = library(cfgs);
        live
    }
}

fn ids(n: u32) -> impl Iterator<Item = (DeviceId, DeviceId)> {
    (0..n).flat_map(move |a| (0..n).map(move |b| (DeviceId(a), DeviceId(b))))
}

#[test]
fn a_dgx_1v_is_the_one_of_the_catalogue() {
    let machine = Machine::new();
    let found = discover(&machine.with_library(&["machine=\"dgx-1v\""])).unwrap();
    assert_eq!(
        (found.by, found.driver.as_deref()),
        (Source::Nvml, Some("550.54.15"))
    );
    assert_eq!(found.machine.warnings, []);
    let (here, known) = (
        found.machine.graph().unwrap(),
        named("dgx-1v").unwrap().graph().unwrap(),
    );
    assert_eq!(here.len(), known.len());
    for (a, b) in ids(8) {
        let (here, known) = (here.pair(a, b), known.pair(a, b));
        assert_eq!(
            (here.direct, here.host.class),
            (known.direct, known.host.class),
            "{a} - {b}"
        );
    }
    assert_eq!(here.host_tree(), known.host_tree());
    let device = here.device(DeviceId(5));
    assert_eq!(device.name, "GPU5");
    assert_eq!(device.product.as_deref(), Some("Tesla V100-SXM2-16GB"));
    assert_eq!(
        device.uuid.as_deref(),
        Some("GPU-00000000-0000-0000-0000-000000000006")
    );
    assert_eq!(device.pci.as_deref(), Some("0000:15:00.0"));
    assert_eq!(
        (device.index, device.numa, device.memory_bytes),
        (None, Some(1), Some(16 << 30))
    );
    let host = here.pair(DeviceId(0), DeviceId(7)).host.gbps;
    assert!(
        (host - 15.75).abs() < 0.01,
        "sixteen lanes of PCIe 3: {host}"
    );
    let says = found.says;
    assert!(says.every_device && says.direct && says.direct_gbps && !says.host_gbps);
    assert_eq!(says.host, HostDetail::Classes);
}

#[test]
fn ports_and_peer_access_are_reported_one_by_one() {
    let machine = Machine::new();
    let state = discover(&machine.with_library(&["machine=\"dgx-1v\""]))
        .unwrap()
        .state
        .unwrap();
    assert_eq!(state.ports.len(), 8 * 6);
    let port = &state.ports[2];
    assert_eq!(
        (port.device, port.link, port.active, port.gbps),
        (DeviceId(0), 2, Some(true), Some(25.0))
    );
    assert_eq!(port.remote, Some(("0000:13:00.0".to_owned(), None)));
    assert_eq!(state.peer_access.len(), 8 * 7);
    let status = |a, b| {
        let access = state
            .peer_access
            .iter()
            .find(|access| (access.from, access.to) == (DeviceId(a), DeviceId(b)));
        access.map(|access| access.status)
    };
    assert_eq!(status(0, 3), Some(PeerStatus::Ok));
    assert_eq!(status(0, 5), Some(PeerStatus::TopologyNotSupported));
    assert_eq!(state.mig_instances, []);
}

#[test]
fn devices_behind_switches_bring_their_ports() {
    let machine = Machine::new();
    // However it is learnt that the other ends are switches: by counts of links, by what sysfs
    // says of the addresses, or since the devices reach each other.
    let by_count = discover(&machine.with_library(&["machine=\"hgx-h100\""])).unwrap();
    let by_reach =
        discover(&machine.with_library(&["machine=\"hgx-h100\"", "lacks=\"fields\""])).unwrap();
    for address in [
        "0000:05:00.0",
        "0000:06:00.0",
        "0000:07:00.0",
        "0000:08:00.0",
    ] {
        machine.write(
            &format!("sys/bus/pci/devices/{address}/class"),
            "0x068000\n",
        );
    }
    let by_class =
        discover(&machine.with_library(&["machine=\"hgx-h100\"", "lacks=\"fields\""])).unwrap();
    for found in [&by_count, &by_reach, &by_class] {
        assert_eq!(found.machine.warnings, []);
        assert!(found.says.direct && found.says.direct_gbps);
        let graph = found.machine.graph().unwrap();
        let port = graph.device(DeviceId(0)).switch_port.unwrap();
        // Of the rate that is printed, 26.562 GB/s, 25 are for data; the version of its links
        // would give 50.
        assert_eq!((port.class, port.gbps), (LinkClass::Direct(18), 450.0));
        // One of its links is down.
        let port = graph.device(DeviceId(7)).switch_port.unwrap();
        assert_eq!((port.class, port.gbps), (LinkClass::Direct(17), 425.0));
        let pair = |a, b| graph.pair(DeviceId(a), DeviceId(b));
        assert_eq!(
            (pair(0, 6).direct.class, pair(0, 7).direct.class),
            (LinkClass::Direct(18), LinkClass::Direct(17))
        );
        assert_eq!(
            (pair(0, 3).host.class, pair(0, 4).host.class),
            (LinkClass::Node, LinkClass::Sys)
        );
        assert!((pair(0, 4).host.gbps - 63.0).abs() < 0.1);
    }
    let ports = by_count.state.unwrap().ports;
    assert_eq!(ports.len(), 8 * 18);
    let down: Vec<_> = ports
        .iter()
        .filter(|port| port.active == Some(false))
        .collect();
    assert_eq!(
        down.iter()
            .map(|port| (port.device, port.link, port.gbps))
            .collect::<Vec<_>>(),
        [(DeviceId(7), 5, None)]
    );
}

#[test]
fn questions_that_a_library_does_not_know_leave_facts_open() {
    let machine = Machine::new();
    let found =
        discover(&machine.with_library(&["machine=\"dgx-1v\"", "lacks=\"facts\""])).unwrap();
    let (here, known) = (
        found.machine.graph().unwrap(),
        named("dgx-1v").unwrap().graph().unwrap(),
    );
    for (a, b) in ids(8) {
        assert_eq!(here.pair(a, b).direct, known.pair(a, b).direct, "{a} - {b}");
    }
    let device = here.device(DeviceId(0));
    assert_eq!(
        (
            &device.product,
            &device.uuid,
            device.memory_bytes,
            device.numa
        ),
        (&None, &None, None, None)
    );
    assert!(found.says.direct && !found.says.direct_gbps && found.driver.is_none());
    assert_eq!(here.pair(DeviceId(0), DeviceId(7)).host.gbps, 12.0);
    let notes = found.machine.notes.join("\n");
    assert!(notes.contains("25 GB/s for each, unless set"), "{notes}");
    let unsaid = "NVML does not provide: products, UUIDs, memory, NUMA nodes, PCIe connections, peer access.";
    assert!(notes.contains(unsaid), "{notes}");
    let state = found.state.unwrap();
    assert!(state.peer_access.is_empty() && state.mig_instances.is_empty());
    assert!(state.ports.iter().all(|port| port.gbps.is_none()));
}

#[test]
fn paths_through_the_host_are_assumed_where_only_links_are_reported() {
    let machine = Machine::new();
    let found =
        discover(&machine.with_library(&["machine=\"dgx-1v\"", "lacks=\"ancestors\""])).unwrap();
    assert_eq!(
        (found.says.host, found.says.direct),
        (HostDetail::Numa, true)
    );
    let graph = found.machine.graph().unwrap();
    let host = |a, b| graph.pair(DeviceId(a), DeviceId(b)).host.class;
    assert_eq!((host(0, 3), host(0, 4)), (LinkClass::Node, LinkClass::Sys));
    assert!(
        found
            .machine
            .notes
            .iter()
            .any(|note| note.contains("are assumed")),
        "{:?}",
        found.machine.notes
    );
}

#[test]
fn a_library_that_does_not_say_what_joins_devices_is_passed_over() {
    let machine = Machine::new().with_command();
    let live = machine.with_library(&["machine=\"dgx-1v\"", "lacks=\"links\""]);
    let found = discover(&live).unwrap();
    assert_eq!(
        (found.by, found.machine.fabric.device_count()),
        (Source::NvidiaSmi, 4)
    );
    let why = found.tried[0].failure.as_deref().unwrap();
    let expected = "it names 8 devices but not what joins them; unknown: PCI addresses, NVLinks, \
        what joins devices through the host";
    assert_eq!(why, expected);
}

#[test]
fn sysfs_knows_numa_nodes_that_the_library_does_not() {
    let machine = Machine::new();
    for device in 0..8 {
        machine.write(
            &format!(
                "sys/bus/pci/devices/0000:{:02x}:00.0/numa_node",
                0x10 + device
            ),
            "3\n",
        );
    }
    machine.write("sys/bus/pci/devices/0000:17:00.0/numa_node", "-1\n");
    let found =
        discover(&machine.with_library(&["machine=\"dgx-1v\"", "lacks=\"facts\""])).unwrap();
    let graph = found.machine.graph().unwrap();
    assert_eq!(
        (
            graph.device(DeviceId(0)).numa,
            graph.device(DeviceId(7)).numa
        ),
        (Some(3), None)
    );
}

#[test]
fn links_to_devices_that_are_not_visible_are_no_switch() {
    let machine = Machine::new();
    let live = machine.with_library(&["machine=\"two-of-dgx-1v\""]);
    let here = |found: &Discovered| found.machine.graph().unwrap();
    let open = discover(&live).unwrap();
    let graph = here(&open);
    assert_eq!(
        graph.pair(DeviceId(0), DeviceId(1)).direct.class,
        LinkClass::Direct(1)
    );
    assert_eq!(graph.device(DeviceId(0)).switch_port, None);
    let warning = &open.machine.warnings[0].what;
    assert_eq!(
        warning,
        "GPU0: 5 active links have an unknown other end: left out"
    );
    assert!(!open.says.direct, "what is left out may matter");
    for device in 2..8 {
        machine.write(
            &format!("sys/bus/pci/devices/0000:{:02x}:00.0/class", 0x10 + device),
            "0x030200\n",
        );
    }
    let told = discover(&live).unwrap();
    assert_eq!(here(&told).device(DeviceId(0)).switch_port, None);
    let warning = &told.machine.warnings[0].what;
    assert_eq!(
        warning,
        "GPU0: 5 active links lead to devices that are not visible here: left out"
    );
    assert!(told.says.direct);
}

#[test]
fn links_that_only_one_end_has_do_not_count() {
    let machine = Machine::new();
    let found = discover(&machine.with_library(&["machine=\"one-sided\""])).unwrap();
    let warnings: Vec<&str> = found
        .machine
        .warnings
        .iter()
        .map(|warning| warning.what.as_str())
        .collect();
    assert_eq!(
        warnings,
        ["GPU0 has 1 active links to GPU3, which has 2 to GPU0: counted as 1"]
    );
    let graph = found.machine.graph().unwrap();
    assert_eq!(
        graph.pair(DeviceId(0), DeviceId(3)).direct.class,
        LinkClass::Direct(1)
    );
}

#[test]
fn a_device_that_is_lost_is_left_out_and_the_others_keep_their_numbers() {
    let machine = Machine::new();
    let found = discover(&machine.with_library(&["machine=\"broken\""])).unwrap();
    assert!(!found.says.every_device);
    let warnings: Vec<&str> = found
        .machine
        .warnings
        .iter()
        .map(|warning| warning.what.as_str())
        .collect();
    assert!(
        warnings[0].starts_with("GPU2 is left out: "),
        "{warnings:?}"
    );
    let graph = found.machine.graph().unwrap();
    assert_eq!(graph.len(), 7);
    let device = graph.device(DeviceId(2));
    assert_eq!((device.name.as_str(), device.index), ("GPU3", Some(3)));
    let to_neighbour = graph.pair(DeviceId(2), DeviceId(0)).direct.class;
    assert_eq!(to_neighbour, LinkClass::Direct(2));
}

#[test]
fn instances_are_reported_and_never_kept() {
    let machine = Machine::new();
    let mut live = machine.with_library(&["machine=\"mig\""]);
    live.cache = Some(machine.path("cache"));
    let found = discover(&live).unwrap();
    let instances = found.state.unwrap().mig_instances;
    let told: Vec<_> = instances
        .iter()
        .map(|instance| (instance.device, instance.profile.as_str()))
        .collect();
    assert_eq!(told, [(DeviceId(0), "3g.20gb"), (DeviceId(0), "1g.5gb")]);
    assert_eq!(
        instances[1].uuid.as_deref(),
        Some("MIG-00000000-0000-0000-0000-000000001002")
    );
    assert!(
        found.says.direct,
        "devices without NVLink have no direct links"
    );
    let kept = discover(&live).unwrap();
    assert!(kept.cached && kept.state.is_none());
    assert!(
        !fs::read_to_string(machine.kept())
            .unwrap()
            .contains("3g.20gb")
    );
}

#[test]
fn a_device_that_is_lost_or_a_library_that_hangs_is_not_kept() {
    let machine = Machine::new().with_command();
    let mut live = machine.with_library(&["machine=\"broken\""]);
    live.cache = Some(machine.path("cache"));
    assert!(unkept(&live).starts_with("nvml: devices: "));
    live.nvml = library(&["machine=\"dgx-1v\"", "hangs"]);
    live.time_limit = Duration::from_secs(2);
    assert_eq!(unkept(&live), "nvml: no answer within 2s");
}

#[test]
fn what_a_library_does_not_know_it_will_not_know_the_next_time() {
    let machine = Machine::new();
    let mut live = machine.with_library(&["machine=\"dgx-1v\"", "lacks=\"facts\""]);
    live.cache = Some(machine.path("cache"));
    assert!(discover(&live).unwrap().file.is_some());
    assert!(discover(&live).unwrap().cached);
}

#[test]
fn a_library_that_hangs_is_left_alone() {
    let machine = Machine::new().with_command();
    let mut live = machine.with_library(&["machine=\"dgx-1v\"", "hangs"]);
    live.time_limit = Duration::from_secs(2);
    let found = discover(&live).unwrap();
    assert_eq!(found.by, Source::NvidiaSmi);
    assert_eq!(
        found.tried[0].failure.as_deref(),
        Some("no answer within 2s")
    );
}

#[test]
fn what_is_no_library_is_passed_over() {
    let machine = Machine::new();
    machine.write("libnvidia-ml.so.1", "not a library");
    assert!(
        machine
            .refusal(&machine.live())
            .contains("libnvidia-ml.so.1): cannot be loaded: ")
    );
}

#[test]
fn one_handle_serves_all_questions_of_the_process() {
    let machine = Machine::new();
    let live = machine.with_library(&["machine=\"dgx-1v\"", "counts"]);
    let first = discover(&live).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(discover(&live).unwrap().machine, first.machine));
        }
    });
    let uses = fs::read_to_string(log(&live.nvml)).unwrap();
    fs::remove_file(log(&live.nvml)).unwrap();
    assert_eq!(uses, "init\n");
}

#[test]
fn after_a_driver_failed_the_library_is_loaded_anew() {
    let machine = Machine::new();
    let live = machine.with_library(&["machine=\"broken\"", "counts"]);
    for _ in 0..2 {
        assert!(!discover(&live).unwrap().says.every_device);
    }
    // The answer comes before the handle is released.
    let uses = || fs::read_to_string(log(&live.nvml)).unwrap();
    let start = std::time::Instant::now();
    while uses().lines().count() < 4 && start.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(uses(), "init\nshutdown\ninit\nshutdown\n");
    fs::remove_file(log(&live.nvml)).unwrap();
}
