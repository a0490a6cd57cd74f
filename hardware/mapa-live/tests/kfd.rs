//! KFD's tree where it lies in a folder.

use std::fs;

use mapa_live::read_kfd;
use mapa_topologies::{Dump, ErrorKind, Kind};

use crate::common::{Machine, write_kfd};

const NODES: &str = "sys/class/kfd/kfd/topology/nodes";

/// What `grep -r ""` prints of the tree.
fn grepped(machine: &Machine) -> Dump {
    let output = std::process::Command::new("grep")
        .args(["-r", ""])
        .arg(machine.path(NODES))
        .output()
        .unwrap();
    Kind::Kfd
        .read(&String::from_utf8(output.stdout).unwrap())
        .unwrap()
}

#[test]
fn the_tree_reads_in_place_as_from_text() {
    let machine = Machine::new();
    write_kfd(&machine);
    // Memory, and a third GPU that only PCIe joins to the others.
    let bank = "heap_type 1\nsize_in_bytes 68719476736\n";
    machine.write(&format!("{NODES}/1/mem_banks/0/properties"), bank);
    let third = "cpu_cores_count 0\nsimd_count 416\nio_links_count 0\ngfx_target_version 90010\n\
                 location_id 768\ndomain 0\nunique_id 3\n";
    machine.write(&format!("{NODES}/3/properties"), third);
    for gpu in 1..=2 {
        for (from, to, number) in [(gpu, 3, 0), (3, gpu, gpu - 1)] {
            let link = format!(
                "type 2\nnode_from {from}\nnode_to {to}\nweight 40\nmin_bandwidth 0\nmax_bandwidth 0\n"
            );
            machine.write(
                &format!("{NODES}/{from}/p2p_links/{number}/properties"),
                &link,
            );
        }
    }
    let plain = grepped(&machine);
    assert!(!plain.peer_access.is_empty());
    for folder in ["sys/class/kfd/kfd", "sys/class/kfd/kfd/topology", NODES] {
        let dump = read_kfd(&machine.path(folder)).unwrap();
        assert_eq!(
            (&dump.machine, dump.says, &dump.peer_access),
            (&plain.machine, plain.says, &plain.peer_access)
        );
    }
}

#[test]
fn a_folder_or_file_that_cannot_be_read_is_unavailable_and_named() {
    let machine = Machine::new();
    for folder in [machine.path("nothing/here"), machine.path("etc")] {
        let error = read_kfd(&folder).unwrap_err();
        assert!(error.is_unavailable(), "{error}");
        let folder = folder.display().to_string();
        assert!(error.to_string().contains(&folder), "{error}");
    }
    // A file that is a folder cannot be read.
    fs::create_dir_all(machine.path(NODES).join("0/properties")).unwrap();
    let error = read_kfd(&machine.path(NODES)).unwrap_err();
    assert!(error.is_unavailable(), "{error}");
    assert!(error.to_string().contains("0/properties"), "{error}");
}

#[test]
fn errors_in_a_file_name_it() {
    let machine = Machine::new();
    write_kfd(&machine);
    let file = format!("{NODES}/1/io_links/1/properties");
    machine.write(&file, "type eleven\n");
    let error = read_kfd(&machine.path(NODES)).unwrap_err();
    let rejected = error.rejected().expect("an error of the reader");
    assert_eq!(rejected.kind(), ErrorKind::Malformed);
    assert_eq!(
        error.to_string(),
        format!(
            "{}: type `eleven`: expected a whole number",
            machine.path(&file).display()
        )
    );
}

#[test]
fn a_folder_with_too_many_nodes_is_too_large() {
    let machine = Machine::new();
    for node in 0..=2 * mapa_core::MAX_DEVICES {
        fs::create_dir_all(machine.path(NODES).join(node.to_string())).unwrap();
    }
    let error = read_kfd(&machine.path(NODES)).unwrap_err();
    assert!(error.is_too_large(), "{error}");
}

#[test]
fn links_of_the_file_system_are_not_followed_forever() {
    use std::os::unix::fs::symlink;
    let machine = Machine::new();
    write_kfd(&machine);
    let plain = grepped(&machine);
    let nodes = machine.path(NODES);
    fs::create_dir_all(nodes.join("1/mem_banks")).unwrap();
    symlink(&nodes, nodes.join("1/mem_banks/9")).unwrap();
    symlink("12", nodes.join("12")).unwrap();
    let error = read_kfd(&nodes).unwrap_err();
    assert!(error.is_unavailable(), "{error}");
    assert!(error.to_string().contains("12/properties"), "{error}");
    fs::remove_file(nodes.join("12")).unwrap();
    assert_eq!(read_kfd(&nodes).unwrap().machine, plain.machine);
}

#[test]
fn processes_with_memory_on_a_device_use_it_by_kfds_folders() {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let file = folder.path().join("sys/class/kfd/kfd").join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    };
    // A processor, and two devices at 0000:c1:00.0 and 0001:03:01.2.
    write("topology/nodes/0/gpu_id", "0\n");
    write("topology/nodes/0/properties", "location_id 0\n");
    write("topology/nodes/1/gpu_id", "51110\n");
    write(
        "topology/nodes/1/properties",
        "simd_count 1216\nlocation_id 49408\ndomain 0\n",
    );
    write("topology/nodes/2/gpu_id", "7\n");
    write("topology/nodes/2/properties", "location_id 778\ndomain 1\n");
    // A process that only reads has files too, with no bytes in them.
    write("proc/100/vram_51110", "4096\n");
    write("proc/100/vram_7", "0\n");
    write("proc/200/vram_7", "1\n");
    write("proc/200/vram_999", "1\n");
    write("proc/200/pasid", "32770\n");
    let mut live = mapa_live::Live::default();
    live.roots = mapa_live::Roots::below(folder.path());
    live.nvml = folder.path().join("no-such-library");
    let found: Vec<(u32, Option<String>)> = mapa_live::driver_snapshot(&live)
        .unwrap()
        .uses
        .into_iter()
        .map(|process| (process.pid, process.pci))
        .collect();
    let at = |pid, pci: &str| (pid, Some(pci.to_owned()));
    assert_eq!(found, [at(100, "0000:c1:00.0"), at(200, "0001:03:01.2")]);
}
