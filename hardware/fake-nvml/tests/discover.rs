//! What MAPA's discovery finds over the library is the machine that the library was made from.

use mapa_core::{DeviceId, LinkClass};
use mapa_live::{Live, Roots, Source, discover};
use mapa_topologies::{PeerStatus, catalogue, named};

use crate::common::Machine;

/// Asks the library alone: neither the files of this system nor a cache.
fn live(machine: &Machine) -> Live {
    let mut live = Live::default();
    live.nvml = machine.library().to_owned();
    live.nvidia_smi = machine.path().join("no-nvidia-smi");
    live.roots = Roots::below(machine.path());
    live.cache = None;
    live
}

fn check(name: &str) {
    let machine = Machine::new(name);
    let found = discover(&live(&machine)).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(found.by, Source::Nvml, "{name}");
    assert_eq!(found.machine.warnings, [], "{name}");
    let known = named(name).unwrap();
    let here = found.machine.graph().unwrap();
    let there = known.graph().unwrap();
    assert_eq!(here.len(), there.len(), "{name}");
    let ids = || (0..there.len() as u32).map(DeviceId);
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-3 * a.max(b);
    for a in ids() {
        for b in ids().filter(|&b| b != a) {
            let (pair, its) = (here.pair(a, b), there.pair(a, b));
            assert_eq!(pair.direct.class, its.direct.class, "{name}: {a} - {b}");
            assert!(
                near(pair.direct.gbps, its.direct.gbps),
                "{name}: {a} - {b}: {pair:?} {its:?}"
            );
            assert_eq!(pair.host.class, its.host.class, "{name}: {a} - {b}");
        }
        let (device, its) = (here.device(a), there.device(a));
        assert_eq!(device.numa, its.numa, "{name}: {a}");
        if its.product.is_some() {
            assert_eq!(device.product, its.product, "{name}: {a}");
        }
        if its.memory_bytes.is_some() {
            assert_eq!(device.memory_bytes, its.memory_bytes, "{name}: {a}");
        }
        let port = |port: Option<mapa_core::Link>| port.map(|port| port.class);
        assert_eq!(
            port(device.switch_port),
            port(its.switch_port),
            "{name}: {a}"
        );
    }
    assert_eq!(here.host_tree(), there.host_tree(), "{name}");
    assert_eq!(here.numa_nodes(), there.numa_nodes(), "{name}");
}

#[test]
fn a_dgx_1v_with_single_and_double_links() {
    check("dgx-1v");
}

#[test]
fn a_dgx_a100_behind_switches_with_numa_nodes_out_of_order() {
    check("dgx-a100");
}

#[test]
fn servers_with_pcie_alone_and_with_bridges() {
    check("l40s-x8");
    check("a100-pcie-8-bridged");
}

#[test]
fn every_nvidia_machine_of_the_catalogue_that_is_one_host() {
    for entry in catalogue() {
        // A rack is many hosts. The others are no NVIDIA machines.
        let one = entry.name != "gb200-nvl72";
        if one && !["AMD Instinct", "hypothetical"].contains(&entry.family) {
            check(entry.name);
        }
    }
}

#[test]
fn links_that_are_down_and_peers_that_are_not_reached_are_seen() {
    let machine = Machine::new("dgx-1v");
    let fake = machine.fake();
    // Devices 0 and 3 have two links, and 0 and 1 have one.
    fake.set_link(0, 2, false).unwrap();
    fake.set_link(0, 0, false).unwrap();
    let found = discover(&live(&machine)).unwrap();
    let graph = found.machine.graph().unwrap();
    let direct = |a, b| graph.pair(DeviceId(a), DeviceId(b)).direct.class;
    assert_eq!(
        (direct(0, 1), direct(0, 3)),
        (LinkClass::None, LinkClass::Direct(1))
    );
    let down = found
        .state
        .unwrap()
        .ports
        .into_iter()
        .filter(|port| port.active == Some(false));
    // Both ends of both.
    assert_eq!(down.count(), 4);

    let gaming = Machine::new("rtx-4090-x2");
    let state = discover(&live(&gaming)).unwrap().state.unwrap();
    let access: Vec<PeerStatus> = state.peer_access.iter().map(|pair| pair.status).collect();
    assert_eq!(access, [PeerStatus::GpuNotSupported; 2]);
}

#[test]
fn instances_and_lost_devices_are_seen() {
    let machine = Machine::new("dgx-a100");
    let fake = machine.fake();
    fake.set_mig(1, true).unwrap();
    fake.create_instance(1, "3g.20gb", Some(4)).unwrap();
    fake.create_instance(1, "1g.5gb", None).unwrap();
    fake.lose(6).unwrap();
    let found = discover(&live(&machine)).unwrap();
    assert_eq!(found.machine.fabric.device_count(), 7);
    let warnings: Vec<String> = found
        .machine
        .warnings
        .iter()
        .map(|warning| warning.what.clone())
        .collect();
    assert!(
        warnings
            .iter()
            .any(|what| what.starts_with("GPU6 is left out: ")),
        "{warnings:?}"
    );
    let instances = found.state.unwrap().mig_instances;
    let told: Vec<(u32, &str)> = instances
        .iter()
        .map(|instance| (instance.device.0, instance.profile.as_str()))
        .collect();
    assert_eq!(told, [(1, "3g.20gb"), (1, "1g.5gb")]);
    assert!(
        instances
            .iter()
            .all(|instance| instance.uuid.as_ref().unwrap().starts_with("MIG-"))
    );
}

#[test]
fn a_machine_file_and_a_printed_matrix_are_machines_too() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("two.toml");
    let text = r#"
format = "mapa-machine"
version = 1
name = "two"
nodes = [{ name = "cpu", kind = "numa", number = 5 }]
devices = [
    { name = "A", product = "NVIDIA H100 80GB HBM3", memory_bytes = 85520809984, pci = "0000:3b:00.0", up = "cpu", cores = "8-11" },
    { name = "B", product = "NVIDIA H100 80GB HBM3", memory_bytes = 85520809984, up = "cpu", uuid = "GPU-b" },
]
links = [{ ends = ["A", "B"], class = "NV4" }]
"#;
    std::fs::write(&file, text).unwrap();
    let machine = Machine::new(file.to_str().unwrap());
    let graph = discover(&live(&machine)).unwrap().machine.graph().unwrap();
    let device = graph.device(DeviceId(0));
    assert_eq!(
        (device.pci.as_deref(), device.numa),
        (Some("0000:3b:00.0"), Some(5))
    );
    assert_eq!(graph.device(DeviceId(1)).uuid.as_deref(), Some("GPU-b"));
    assert_eq!(
        graph.pair(DeviceId(0), DeviceId(1)).direct.class,
        LinkClass::Direct(4)
    );

    let file = folder.path().join("topo.txt");
    let text = "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tNV2\t0-15\t0\nGPU1\tNV2\t X \t0-15\t0\n";
    std::fs::write(&file, text).unwrap();
    let machine = Machine::new(file.to_str().unwrap());
    let graph = discover(&live(&machine)).unwrap().machine.graph().unwrap();
    assert_eq!(
        graph.pair(DeviceId(0), DeviceId(1)).direct.class,
        LinkClass::Direct(2)
    );
}
