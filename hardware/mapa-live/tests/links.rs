//! Links that go down and come up while the machine is in the cache.

use std::path::PathBuf;

use fake_nvml::{Code, Config, Fake, Fault, built_library, install};
use mapa_core::{DeviceId, HardwareGraph, LinkClass};
use mapa_live::{Discovered, Live, discover, driver_snapshot};

use crate::common::Machine;

/// A machine whose drivers can be changed, and whose description is kept.
struct Server {
    files: Machine,
    fake: Fake,
    library: PathBuf,
}

impl Server {
    fn new(machine: &str) -> Self {
        let files = Machine::new();
        let config = Config::new(machine).with_state(files.path("state"));
        let folder = files.path("driver");
        install(&built_library().unwrap(), &folder, &config).unwrap();
        let fake = Fake::open(&config).unwrap();
        Self {
            library: folder.join("libnvidia-ml.so.1"),
            files,
            fake,
        }
    }

    fn live(&self) -> Live {
        let mut live = self.files.cached();
        live.nvml.clone_from(&self.library);
        live
    }

    fn found(&self) -> Discovered {
        discover(&self.live()).unwrap()
    }

    fn refreshed(&self) -> Discovered {
        let mut live = self.live();
        live.refresh = true;
        discover(&live).unwrap()
    }

    /// Takes all links of a device down, or up again.
    fn set_links(&self, device: u32, up: bool) {
        (0..6).for_each(|link| self.fake.set_link(device, link, up).unwrap());
    }
}

fn graph(found: &Discovered) -> HardwareGraph {
    found.machine.graph().unwrap()
}

/// The direct links that a device has to the others.
fn links(graph: &HardwareGraph, device: u32) -> Vec<LinkClass> {
    let others = (0..graph.len() as u32).filter(|&other| other != device);
    others
        .map(|other| graph.pair(DeviceId(device), DeviceId(other)).direct.class)
        .collect()
}

/// How many links of each device are up, of those where some are down.
fn down(graph: &HardwareGraph) -> Vec<(u32, u32, u32)> {
    let devices = graph.fabric().links_up();
    devices
        .map(|(id, links)| (id.0, links.up, links.all))
        .collect()
}

#[test]
fn links_go_down_and_come_up_in_a_machine_of_the_cache() {
    let server = Server::new("dgx-1v");
    let whole = graph(&server.found());
    assert_eq!(down(&whole), []);
    server.set_links(2, false);
    let kept = server.found();
    assert!(kept.cached);
    let reduced = graph(&kept);
    assert_eq!(links(&reduced, 2), [LinkClass::None; 7]);
    assert_eq!(down(&reduced)[..2], [(0, 5, 6), (1, 4, 6)]);
    assert!(down(&reduced).contains(&(2, 0, 6)));
    assert!(
        kept.machine
            .notes
            .contains(&"GPU2 has 0 of 6 direct links up.".to_owned()),
        "{:?}",
        kept.machine.notes
    );
    // What is asked anew says the same, and remembers what was up.
    assert_eq!(graph(&server.refreshed()), reduced);
    server.set_links(2, true);
    let again = server.found();
    assert!(again.cached, "it remembers where the links lead");
    assert_eq!(graph(&again), whole);
}

#[test]
fn links_that_were_down_when_the_machine_was_first_seen_are_found_when_they_come_up() {
    let server = Server::new("dgx-1v");
    server.set_links(2, false);
    let first = server.found();
    // A board joins all devices of a product.
    assert!(down(&graph(&first)).contains(&(2, 0, 6)));
    assert!(server.found().cached);
    server.set_links(2, true);
    let whole = server.found();
    assert!(!whole.cached);
    assert_eq!(down(&graph(&whole)), []);
    assert!(links(&graph(&whole), 2).contains(&LinkClass::Direct(2)));
    assert!(server.found().cached);
}

#[test]
fn a_device_at_a_switch_has_as_many_links_there_as_are_up() {
    let server = Server::new("dgx-a100");
    let port = |found: &Discovered| {
        let graph = graph(found);
        graph.device(DeviceId(1)).switch_port.unwrap()
    };
    let before = port(&server.found());
    (0..4).for_each(|link| server.fake.set_link(1, link, false).unwrap());
    let found = server.found();
    assert_eq!(port(&found).class, LinkClass::Direct(8));
    assert!((port(&found).gbps - before.gbps * 8.0 / 12.0).abs() < 1e-6);
    assert_eq!(down(&graph(&found)), [(1, 8, 12)]);
    assert_eq!(graph(&server.refreshed()), graph(&found));
}

/// The machine of the cache has all devices; one that is asked anew would lack it.
#[test]
fn a_device_that_is_lost_stays_in_the_machine_and_its_neighbours_lose_their_links_to_it() {
    let server = Server::new("dgx-1v");
    let whole = graph(&server.found());
    server.set_links(5, false);
    server.fake.lose(5).unwrap();
    let found = server.found();
    assert!(found.cached && found.machine.warnings.is_empty());
    assert_eq!(graph(&found).len(), 8);
    assert_eq!(links(&graph(&found), 5), [LinkClass::None; 7]);
    // A link comes up that nobody knows, while the device is lost.
    server.fake.reset(5).unwrap();
    server.set_links(5, true);
    assert_eq!(graph(&server.found()), whole);
}

#[test]
fn a_driver_that_does_not_answer_leaves_the_links_as_they_were() {
    let server = Server::new("dgx-1v");
    let whole = graph(&server.found());
    let fault = Fault::new("nvmlDeviceGetCount_v2", Code::Unknown);
    server.fake.inject(fault).unwrap();
    assert_eq!(graph(&server.found()), whole);
    assert!(driver_snapshot(&server.live()).is_err());
}

#[test]
fn lanes_of_pcie_that_are_missing_make_paths_slower() {
    let server = Server::new("dgx-1v");
    let gbps = |found: &Discovered, a: u32, b: u32| {
        let pair = graph(found);
        pair.pair(DeviceId(a), DeviceId(b)).host.gbps
    };
    let whole = gbps(&server.found(), 0, 1);
    server
        .fake
        .set_counters(1, |counters| counters.pcie_lanes = 4)
        .unwrap();
    let found = server.found();
    assert!(found.cached);
    assert!((gbps(&found, 0, 1) - whole / 4.0).abs() < 1e-9);
    assert!((gbps(&found, 0, 2) - whole).abs() < 1e-9);
    let note = "GPU1 has 4 of 16 PCIe lanes.".to_owned();
    assert!(found.machine.notes.contains(&note));
    assert_eq!(graph(&server.refreshed()), graph(&found));
}

#[test]
fn an_idle_device_says_nothing_of_its_generation() {
    let server = Server::new("dgx-1v");
    let set = |busy: u32| {
        let change = |counters: &mut fake_nvml::Counters| {
            (counters.pcie_generation, counters.gpu_utilization) = (1, busy);
        };
        server.fake.set_counters(3, change).unwrap();
    };
    let generation = || {
        let devices = driver_snapshot(&server.live()).unwrap().devices.unwrap();
        let links = devices[3].links.clone().unwrap();
        links.pcie_generation.map(|level| (level.now, level.most))
    };
    set(0);
    assert_eq!(generation(), None);
    set(80);
    assert_eq!(generation(), Some((1, 3)));
    // The path is as fast as the device can make it: whether it can is known only now and then.
    let status = |found: &Discovered| found.links[3].clone();
    assert!(status(&server.found()).joins_as(&status(&server.refreshed())));
}

#[test]
fn a_snapshot_tells_the_links_that_a_machine_was_described_with() {
    for name in ["dgx-1v", "dgx-a100", "dgx-h100"] {
        let server = Server::new(name);
        server.fake.set_link(0, 1, false).unwrap();
        for found in [server.found(), server.found(), server.refreshed()] {
            let devices = driver_snapshot(&server.live()).unwrap().devices.unwrap();
            let links: Vec<_> = devices
                .into_iter()
                .map(|device| device.links.unwrap())
                .collect();
            assert_eq!(links, found.links, "{name}");
            assert_eq!(links[0].up() as usize, links[0].direct.len() - 1);
        }
    }
}

/// The links of a device in MIG mode may be off, and its instances do not use them.
#[test]
fn links_of_a_device_in_mig_mode_are_not_said_to_be_down() {
    let server = Server::new("dgx-a100");
    server.fake.set_mig(3, true).unwrap();
    (0..12).for_each(|link| server.fake.set_link(3, link, false).unwrap());
    for found in [server.found(), server.found()] {
        assert_eq!(down(&graph(&found)), []);
        let devices = driver_snapshot(&server.live()).unwrap().devices.unwrap();
        let links = devices[3].links.clone().unwrap();
        assert!(links.direct.is_empty() && links.joins_as(&found.links[3]));
    }
    server.fake.set_mig(3, false).unwrap();
    assert_eq!(down(&graph(&server.found())), [(3, 0, 12)]);
    (0..12).for_each(|link| server.fake.set_link(3, link, true).unwrap());
    let whole = server.found();
    assert_eq!(down(&graph(&whole)), []);
    // Which links are up is known of the time before.
    server.fake.set_mig(3, true).unwrap();
    (0..12).for_each(|link| server.fake.set_link(3, link, false).unwrap());
    assert_eq!(graph(&server.found()), graph(&whole));
}
