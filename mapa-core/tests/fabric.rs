//! Lowering: the pairs that follow from the host tree and the links, and descriptions that are
//! rejected.

use mapa_core::{DeviceId, Error, Fabric, FabricNode, HardwareGraph, LinkClass, NodeId, NodeKind};

use crate::common::gpus;

fn add(fabric: &mut Fabric, name: &str, kind: NodeKind) -> NodeId {
    fabric
        .add(FabricNode {
            name: name.to_owned(),
            kind,
        })
        .unwrap()
}

fn class(graph: &HardwareGraph, a: u32, b: u32) -> LinkClass {
    graph.pair(DeviceId(a), DeviceId(b)).host.class
}

fn check<T>(result: Result<T, Error>, message: &str) {
    assert_eq!(
        result.err().map(|error| error.to_string()).as_deref(),
        Some(message)
    );
}

#[test]
fn host_classes_follow_from_where_the_ways_up_meet() {
    let mut f = Fabric::new();
    let machine = add(&mut f, "machine", NodeKind::Machine);
    let [cpu0, cpu1] = [0, 1].map(|i| f.add_numa(format!("cpu{i}"), i).unwrap());
    let [bridge0, bridge1] = ["b0", "b1"].map(|name| add(&mut f, name, NodeKind::HostBridge));
    let upstream = add(&mut f, "sw", NodeKind::PcieSwitch);
    let [left, right] = ["sw0", "sw1"].map(|name| add(&mut f, name, NodeKind::PcieSwitch));
    let gpus = gpus(&mut f, 6);
    for (child, parent, gbps) in [
        (cpu0, machine, 32.0),
        (cpu1, machine, 32.0),
        (bridge0, cpu0, 30.0),
        (bridge1, cpu0, 30.0),
        (upstream, bridge0, 16.0),
        (left, upstream, 15.0),
        (right, upstream, 14.0),
        (gpus[0], left, 12.0),
        (gpus[1], left, 12.0),
        (gpus[2], right, 12.5),
        (gpus[3], bridge0, 13.0),
        (gpus[4], bridge1, 13.0),
        (gpus[5], cpu1, 20.0),
    ] {
        f.attach(child, parent, gbps).unwrap();
    }
    let g = f.lower().unwrap();
    assert_eq!(class(&g, 0, 1), LinkClass::Pix);
    assert_eq!(class(&g, 0, 2), LinkClass::Pxb);
    assert_eq!(class(&g, 0, 3), LinkClass::Phb);
    assert_eq!(class(&g, 3, 4), LinkClass::Node);
    assert_eq!(class(&g, 0, 5), LinkClass::Sys);
    // The narrowest hop counts.
    assert_eq!(g.link(DeviceId(0), DeviceId(2)).gbps, 12.0);
    assert_eq!(g.link(DeviceId(2), DeviceId(3)).gbps, 12.5);
    assert_eq!(g.device(DeviceId(0)).numa, Some(0));
    assert_eq!(g.device(DeviceId(5)).numa, Some(1));
    assert_eq!(class(&g, 4, 3), LinkClass::Node, "symmetric");
    assert_eq!(class(&g, 2, 2), LinkClass::None, "the diagonal is empty");
}

#[test]
fn a_link_switch_joins_all_with_the_capacity_of_their_ports() {
    let mut f = Fabric::new();
    let switch = add(&mut f, "nvswitch", NodeKind::LinkSwitch);
    for (i, links) in [12u8, 12, 8].into_iter().enumerate() {
        let gpu = f.add_device(format!("GPU{i}")).unwrap();
        f.link(
            gpu,
            switch,
            LinkClass::Direct(links),
            25.0 * f64::from(links),
        )
        .unwrap();
    }
    let g = f.lower().unwrap();
    let direct = |a, b| g.pair(DeviceId(a), DeviceId(b)).direct;
    assert_eq!(
        (direct(0, 1).class, direct(0, 1).gbps),
        (LinkClass::Direct(12), 300.0)
    );
    assert_eq!(
        (direct(0, 2).class, direct(0, 2).gbps),
        (LinkClass::Direct(8), 200.0)
    );
    let port = g.device(DeviceId(0)).switch_port.unwrap();
    assert_eq!(
        (port.class, port.gbps),
        (LinkClass::Direct(12), 300.0),
        "twelve links in all, whatever the peers"
    );
}

#[test]
fn a_pair_keeps_its_direct_links_and_the_host_path_that_was_read_off() {
    let mut f = Fabric::new();
    let socket = f.add_numa("cpu0", 0).unwrap();
    let [a, b] = ["a", "b"].map(|name| f.add_device(name).unwrap());
    f.attach(a, socket, 12.0).unwrap();
    f.attach(b, socket, 12.0).unwrap();
    f.link(b, a, LinkClass::Phb, 10.0).unwrap();
    f.link(a, b, LinkClass::Direct(2), 50.0).unwrap();
    let pair = f.lower().unwrap().pair(DeviceId(0), DeviceId(1));
    assert_eq!(
        (pair.direct.class, pair.direct.gbps),
        (LinkClass::Direct(2), 50.0)
    );
    assert_eq!((pair.host.class, pair.host.gbps), (LinkClass::Phb, 10.0));
    assert_eq!(pair.best(), pair.direct);
}

#[test]
fn devices_are_found_by_id_name_uuid_and_address() {
    let mut f = Fabric::new();
    let info = mapa_core::DeviceInfo {
        index: Some(5),
        uuid: Some("GPU-0a1b".to_owned()),
        pci: Some("0000:1B:00.0".to_owned()),
        ..Default::default()
    };
    add(&mut f, "GPU5", NodeKind::Device(info));
    f.add_device("GPU6").unwrap();
    let g = f.lower().unwrap();
    for text in [
        "0",
        "5",
        " gpu5",
        "gpu-0A1B",
        "0000:1b:00.0",
        "00000000:1B:00.0",
        "1b:00.0",
    ] {
        assert_eq!(g.find(text).unwrap(), DeviceId(0), "{text}");
    }
    assert_eq!(g.find("1").unwrap(), DeviceId(1));
    check(
        g.find("6"),
        "no single device is called `6`: expected an id below 2, or a name, UUID or PCI address",
    );
    check(
        g.find("1b:00.1"),
        "no single device is called `1b:00.1`: expected an id below 2, or a name, UUID or PCI address",
    );
    check(
        g.find(""),
        "no single device is called ``: expected an id below 2, or a name, UUID or PCI address",
    );
}

#[test]
fn a_number_that_means_two_devices_is_refused() {
    let mut f = Fabric::new();
    for (name, index) in [("GPU0", None), ("GPU2", Some(2)), ("GPU5", Some(5))] {
        add(
            &mut f,
            name,
            NodeKind::Device(mapa_core::DeviceInfo {
                index,
                ..Default::default()
            }),
        );
    }
    let g = f.lower().unwrap();
    check(
        g.find("2"),
        "`2` can mean id 2 (GPU5) or the vendor's number 2 (GPU2): expected a name",
    );
    assert_eq!(
        (
            g.find("0").unwrap(),
            g.find("1").unwrap(),
            g.find("5").unwrap()
        ),
        (0.into(), 1.into(), 2.into())
    );
}

#[test]
fn identities_are_not_shared() {
    let mut f = Fabric::new();
    let info = |index, uuid: &str| mapa_core::DeviceInfo {
        index,
        uuid: Some(uuid.to_owned()),
        ..Default::default()
    };
    let mut device = |name: &str, info| {
        f.add(FabricNode {
            name: name.to_owned(),
            kind: NodeKind::Device(info),
        })
    };
    device("a", info(Some(1), "u")).unwrap();
    check(
        device("b", info(Some(1), "v")),
        "`b` has number 1, as another component has: expected one of its own",
    );
    check(
        device("b", info(None, "v")),
        "`b` has number 1, as another component has: expected one of its own",
    );
    check(
        device("b", info(Some(2), "U")),
        "`b` has UUID u, as another component has: expected one of its own",
    );
    let bad = |name| {
        format!(
            "`{name}` cannot be a name: expected some text and, for a device, more than a number"
        )
    };
    check(device("", info(Some(2), "v")), &bad(""));
    check(device("3", info(Some(2), "v")), &bad("3"));
    f.add_numa("n", 4).unwrap();
    check(
        f.add_numa("m", 4),
        "`m` has NUMA number 4, as another component has: expected one of its own",
    );
    let mut f = Fabric::new();
    let node = f.add_numa("n", 1).unwrap();
    let kind = NodeKind::Device(mapa_core::DeviceInfo {
        numa: Some(0),
        ..Default::default()
    });
    let gpu = add(&mut f, "GPU0", kind);
    f.attach(gpu, node, 12.0).unwrap();
    check(
        f.lower().map(|_| ()),
        "`GPU0` is said to be on NUMA node 0, but hangs below node 1",
    );
}

#[test]
fn malformed_fabrics_are_refused_by_name() {
    check(
        Fabric::new().lower().map(|_| ()),
        "the machine has no devices",
    );
    let mut f = Fabric::new();
    let [a, b, c] = ["a", "b", "c"].map(|name| f.add_device(name).unwrap());
    let [s, t] = ["s", "t"].map(|name| add(&mut f, name, NodeKind::PcieSwitch));
    check(
        f.add_device("a"),
        "two components are named `a`: expected a name of its own for each",
    );
    check(
        f.link(a, a, LinkClass::Sys, 12.0),
        "`a` is linked to itself: expected two components",
    );
    check(
        f.link(a, b, LinkClass::Sys, f64::NAN),
        "a - b: bandwidth NaN GB/s: expected a positive number, at most 1e9",
    );
    check(
        f.attach(a, s, 0.0),
        "a: bandwidth 0 GB/s: expected a positive number, at most 1e9",
    );
    f.link(a, b, LinkClass::Sys, 12.0).unwrap();
    let twice = "`b` and `a` are joined twice: expected one host path and one bundle of direct links at most";
    check(f.link(b, a, LinkClass::Pix, 12.0), twice);
    f.link(a, b, LinkClass::Direct(1), 25.0).unwrap();
    check(f.link(b, a, LinkClass::Direct(2), 50.0), twice);
    assert!(
        f.link(a, s, LinkClass::Direct(1), 25.0).is_err(),
        "a PCIe switch has no direct links"
    );
    assert!(f.link(a, c, LinkClass::None, 1.0).is_err());
    assert!(f.link(a, c, LinkClass::Direct(0), 1.0).is_err());
    check(
        f.attach(s, a, 12.0),
        "`s` cannot hang below `a`: expected a machine, NUMA node, host bridge or PCIe switch",
    );
    f.attach(t, s, 12.0).unwrap();
    check(f.attach(s, t, 12.0), "`s` hangs below itself");
    f.attach(a, t, 12.0).unwrap();
    check(f.attach(a, s, 12.0), "`a` has two parents: expected one");
    let mut other = Fabric::new();
    let alone = other.add_device("alone").unwrap();
    let foreign = "a component of another fabric: expected ids that `add` of this one gave";
    check(other.link(alone, t, LinkClass::Sys, 1.0), foreign);
    check(other.attach(alone, t, 1.0), foreign);
    let mut many = Fabric::new();
    for i in 0..mapa_core::MAX_DEVICES {
        many.add_device(format!("GPU{i}")).unwrap();
    }
    check(
        many.add_device("one more"),
        "a machine has at most 1024 devices, this one has at least 1025",
    );
}

#[test]
fn the_fingerprint_tells_machines_apart() {
    let machine = |name: &str, gbps| {
        let mut f = Fabric::new();
        let [a, b] = [name, "b"].map(|name| f.add_device(name).unwrap());
        f.link(a, b, LinkClass::Direct(1), gbps).unwrap();
        f.lower().unwrap().fingerprint()
    };
    assert_eq!(machine("a", 25.0), machine("a", 25.0));
    assert_ne!(machine("a", 25.0), machine("a", 20.0));
    assert_ne!(machine("a", 25.0), machine("c", 25.0));
}

#[test]
fn ways_to_the_host_end_at_the_nearest_numa_node_and_are_shared_behind_switches() {
    let mut f = Fabric::new();
    let machine = add(&mut f, "machine", NodeKind::Machine);
    let cpu = f.add_numa("cpu0", 0).unwrap();
    let [bridge, lone] = ["b0", "b1"].map(|name| add(&mut f, name, NodeKind::HostBridge));
    let switch = add(&mut f, "sw", NodeKind::PcieSwitch);
    let gpus = gpus(&mut f, 5);
    for (child, parent, gbps) in [
        (cpu, machine, 20.0),
        (bridge, cpu, 60.0),
        (switch, bridge, 31.5),
        (gpus[0], switch, 31.0),
        (gpus[1], switch, 30.0),
        (gpus[2], bridge, 15.0),
        (lone, machine, 64.0),
        (gpus[3], lone, 16.0),
    ] {
        f.attach(child, parent, gbps).unwrap();
    }
    f.link(gpus[3], gpus[4], LinkClass::Phb, 9.0).unwrap();
    f.link(gpus[0], gpus[4], LinkClass::Sys, 8.0).unwrap();
    let with_host = f.clone().lower_with_host().unwrap();
    let g = f.lower().unwrap();
    assert_eq!(g.host_links(), with_host.host_links());
    let links = g.host_links();
    let path = |id: u32| {
        let hop = |&hop: &u32| {
            format!(
                "{} {}",
                links.names()[hop as usize],
                links.capacities()[hop as usize]
            )
        };
        links
            .path(DeviceId(id))
            .unwrap_or_default()
            .iter()
            .map(hop)
            .collect::<Vec<_>>()
            .join(", ")
    };
    assert_eq!(
        path(0),
        "GPU0 31, sw 31.5, b0 60",
        "not the way between sockets"
    );
    assert_eq!(path(1), "GPU1 30, sw 31.5, b0 60");
    assert_eq!(path(2), "GPU2 15, b0 60");
    assert_eq!(
        path(3),
        "GPU3 16, b1 64",
        "to the root, where no NUMA node is above"
    );
    assert_eq!(
        path(4),
        "GPU4 9",
        "no place in the tree: one hop, as fast as its fastest path"
    );
    let together: Vec<String> = (0..5)
        .map(|id| links.together(DeviceId(id)).to_string())
        .collect();
    assert_eq!(together, ["0,1,2", "0,1,2", "0,1,2", "3", "4"]);
    assert_eq!(
        (links.path(DeviceId(9)), links.together(DeviceId(9)).len()),
        (None, 0)
    );
}

#[test]
fn machines_that_differ_in_a_way_to_the_host_alone_are_different() {
    let machine = |gbps: f64| {
        let mut f = Fabric::new();
        let cpu = f.add_numa("cpu0", 0).unwrap();
        let gpu = f.add_device("GPU0").unwrap();
        f.attach(gpu, cpu, gbps).unwrap();
        f.lower().unwrap()
    };
    assert_eq!(machine(16.0), machine(16.0));
    assert_ne!(machine(16.0), machine(32.0));
    let mut alone = Fabric::new();
    alone.add_device("GPU0").unwrap();
    assert_eq!(
        alone.lower().unwrap().host_links().path(DeviceId(0)),
        None,
        "nobody says how it reaches the host"
    );
}

#[test]
fn with_all_links_each_link_is_as_wide_as_its_ends_could_make_it() {
    use mapa_core::LinksUp;
    let mut fabric = Fabric::new();
    let ids = super::common::gpus(&mut fabric, 4);
    for (a, b, n) in [(0, 1, 4), (2, 3, 2)] {
        let class = LinkClass::Direct(n);
        fabric
            .link(ids[a], ids[b], class, 10.0 * f64::from(n))
            .unwrap();
    }
    fabric.link(ids[1], ids[2], LinkClass::Node, 12.0).unwrap();
    let whole = fabric.with_all_links();
    assert_eq!(whole.links_up().count(), 0);
    // Both ends lack two links: the pair lacks two, not four.
    for at in [2, 3] {
        fabric
            .set_links_up(ids[at], LinksUp { up: 2, all: 4 })
            .unwrap();
    }
    assert_eq!(
        fabric.links_up().map(|(id, _)| id).collect::<Vec<_>>(),
        [2.into(), 3.into()]
    );
    let as_is = fabric.clone().lower().unwrap();
    let whole = fabric.with_all_links().lower().unwrap();
    let direct = |graph: &mapa_core::HardwareGraph, a: u32, b: u32| {
        let link = graph.pair(a.into(), b.into()).direct;
        (link.class, link.gbps)
    };
    assert_eq!(direct(&as_is, 2, 3), (LinkClass::Direct(2), 20.0));
    assert_eq!(direct(&whole, 2, 3), (LinkClass::Direct(4), 40.0));
    assert_eq!(direct(&whole, 0, 1), direct(&as_is, 0, 1));
    assert_eq!(
        whole.pair(1.into(), 2.into()).host,
        as_is.pair(1.into(), 2.into()).host
    );
    let foreign = Fabric::new().add_device("GPU0").unwrap();
    assert!(
        Fabric::new()
            .set_links_up(foreign, LinksUp { up: 1, all: 2 })
            .is_err()
    );
}
