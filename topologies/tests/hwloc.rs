//! x
mod common;
use mapa_core::*;
#[test]
fn show() {
    let data = common::data("x").unwrap();
    let mut files: Vec<_> = std::fs::read_dir(data.join("samples/hwloc_xml")).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    for f in files {
        let d = mapa_topologies::read(&std::fs::read(&f).unwrap()).unwrap_or_else(|e| panic!("{f:?} {e}"));
        println!("== {} {:?} {:?} {:?}", f.file_name().unwrap().to_str().unwrap(), d.says, d.machine.notes, d.machine.warnings);
        println!("   cards {:?}", d.machine.fabric.nodes().filter(|(_, n)| n.kind == NodeKind::Nic).map(|(_, n)| n.name.clone()).collect::<Vec<_>>());
        println!("   numa {:?}", d.machine.fabric.nodes().filter(|(_, n)| matches!(n.kind, NodeKind::Numa(_))).map(|(_, n)| n.name.clone()).collect::<Vec<_>>());
        let Ok(g) = d.machine.graph() else { println!("none"); continue };
        for x in g.devices() { println!("   {} {:?} {:?} {:?} {:?} numa {:?} {:?} port {:?}", x.name, x.index, x.pci, x.product, x.uuid, x.numa, x.memory_bytes, x.switch_port); }
        let n = g.len() as u32;
        for a in 0..n { println!("   {}", (0..n).map(|b| format!("{:?}/{:?}/{:.1} ", g.pair(a.into(), b.into()).host.class, g.pair(a.into(), b.into()).direct.class, g.pair(a.into(), b.into()).host.gbps)).collect::<String>()); }
    }
}
