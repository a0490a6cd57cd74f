//! Behind a switch a device has the links of its port, not a link for each of its peers, whoever
//! describes the machine.

use crate::common::real_data;
use std::fs;

use mapa_core::{Fabric, FabricWire, LinkClass, NodeKind};
use mapa_topologies::{Kind, Machine, named, read};

/// That every device hangs from a link switch by so many links of so much each, and none is linked
/// to another.
fn switched(machine: &Machine, devices: usize, links: u8, each: f64) {
    let fabric: &Fabric = &machine.fabric;
    let is_device = |id| matches!(fabric.node(id).kind, NodeKind::Device(_));
    let pairwise = fabric.wires().filter(|&(a, b, wire)| {
        is_device(a)
            && is_device(b)
            && matches!(wire, FabricWire::Link(link) if link.class.is_direct())
    });
    assert_eq!(pairwise.count(), 0, "{}", machine.name);
    let graph = machine.graph().unwrap();
    assert_eq!(graph.wholes().len(), devices, "{}", machine.name);
    for id in graph.wholes().iter() {
        let port = graph
            .device(id)
            .switch_port
            .unwrap_or_else(|| panic!("{}: {id} has no port", machine.name));
        assert_eq!(
            (port.class, port.gbps),
            (LinkClass::Direct(links), f64::from(links) * each),
            "{}",
            machine.name
        );
        for other in graph.wholes().iter().filter(|&other| other != id) {
            let direct = graph.pair(id, other).direct;
            assert_eq!(
                (direct.class, direct.gbps),
                (port.class, port.gbps),
                "{}: every pair has the port",
                machine.name
            );
        }
    }
}

/// What `nvidia-smi topo -m` prints of so many devices at one switch.
fn topo(devices: usize, links: u8) -> String {
    let header: String = (0..devices).map(|i| format!("\tGPU{i}")).collect();
    let cell = |a, b| {
        if a == b {
            "X".to_owned()
        } else {
            format!("NV{links}")
        }
    };
    let row = |a| {
        format!(
            "GPU{a}{}",
            (0..devices)
                .map(|b| format!("\t{}", cell(a, b)))
                .collect::<String>()
        )
    };
    let rows: Vec<String> = (0..devices).map(row).collect();
    format!("{header}\n{}\n", rows.join("\n"))
}

#[test]
fn the_catalogue_has_port_capacities() {
    for (name, devices, links, each) in [
        ("dgx-2", 16, 6, 25.0),
        ("dgx-a100", 8, 12, 25.0),
        ("hgx-h100", 8, 18, 25.0),
        ("dgx-b200", 8, 18, 50.0),
        ("gb200-tray", 4, 18, 50.0),
        ("gb200-nvl72", 72, 18, 50.0),
    ] {
        switched(&named(name).unwrap(), devices, links, each);
    }
}

#[test]
fn so_has_what_topo_prints_and_what_is_written_for_nccl_and_slurm() {
    for (name, devices, links) in [
        ("dgx-2", 16, 6),
        ("dgx-a100", 8, 12),
        ("hgx-h100", 8, 18),
        ("gb200-nvl72", 72, 18),
    ] {
        let printed = read(topo(devices, links).as_bytes()).unwrap();
        assert_eq!(printed.kind, Kind::NvidiaSmiTopo);
        switched(&printed.into_machine().unwrap(), devices, links, 25.0);
        let machine = named(name).unwrap();
        let each = machine.graph().unwrap().link(0.into(), 1.into()).gbps / f64::from(links);
        let again = |text: &str| read(text.as_bytes()).unwrap().into_machine().unwrap();
        switched(
            &again(&machine.to_slurm_gres().unwrap()),
            devices,
            links,
            if name == "gb200-nvl72" { each } else { 25.0 },
        );
        // Eighteen trays have no host in common, which NCCL's file of one machine cannot say.
        if name != "gb200-nvl72" {
            switched(
                &again(&machine.to_nccl_xml().unwrap()),
                devices,
                links,
                each,
            );
        }
    }
}

#[test]
fn few_devices_with_all_their_links_to_each_other_need_no_switch() {
    for (devices, links) in [(4, 4), (4, 6), (2, 12), (2, 18), (3, 6)] {
        let machine = read(topo(devices, links).as_bytes())
            .unwrap()
            .into_machine()
            .unwrap();
        let switches = machine
            .fabric
            .nodes()
            .filter(|(_, node)| node.kind == NodeKind::LinkSwitch);
        assert_eq!(switches.count(), 0, "{devices} x NV{links}");
    }
}

#[test]
fn real_dumps_of_switched_machines_have_port_capacities() {
    let Some(data) = real_data() else {
        return;
    };
    for (file, devices, links, each) in [
        ("nvidia_smi_topo/dgx_a100_mlx12.txt", 8, 12, 25.0),
        ("nvidia_smi_topo/stas_h100x8_nv18.txt", 8, 18, 25.0),
        (
            "nvidia_smi_topo/princeton_h200_x8_nic6_emptycpu.txt",
            8,
            18,
            25.0,
        ),
        (
            "nccl_xml/oracle-quickstart_oci-hpc_H100-topology.xml",
            8,
            18,
            25.0,
        ),
        ("nccl_xml/zy-uestc_yccl_topo_h800.xml", 8, 8, 25.0),
        ("hwloc_xml/hwloc_nvidiaDGX2.xml", 16, 6, 25.0),
    ] {
        let dump = read(&fs::read(data.join("samples").join(file)).unwrap()).unwrap();
        switched(&dump.into_machine().unwrap(), devices, links, each);
    }
}
