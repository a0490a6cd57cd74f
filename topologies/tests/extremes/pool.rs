//! Extreme values of the types of machines and of what vendors' tools print.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use mapa_core::Fabric;
use mapa_topologies::mig::{Figure, Gpu, Offer, ProfileFacts, ProfileKind};
use mapa_topologies::mig_parted::{PartedDevice, PartedFile, PartedSpec};
use mapa_topologies::products::{PcieInterface, Product, ProductLinks, products};
use mapa_topologies::*;

use crate::shared::{Extreme, values};

values!(Dump: DUMPS.clone());
values!(Machine: MACHINES.clone());
values!(Error: ["", "x", "GPU0", "<", "{"].into_iter().filter_map(|text| read(text.as_bytes()).err()));
values!(Kind: Kind::all().chain([Kind::Merged]));
values!(Labels: [Labels::default(), Labels { direct: String::new(), sys: String::new() }]);
values!(KfdTree: ["", "\0", "/sys/class/kfd/kfd/topology/nodes"].map(KfdTree::new));
values!(PeerStatus: [PeerStatus::Ok, PeerStatus::Disabled, PeerStatus::Unknown]);
values!(Picture: [Picture::new(), Picture::new().title("\u{202e}<x>"), Picture::new().busy([70_000].into()).present([3].into())]);
values!(Vendor: [Vendor::Nvidia, Vendor::Amd, Vendor::Intel]);
values!(Entry: catalogue().iter().copied().take(2));
values!(mig::Entry: mig::catalogue().iter().copied().take(2));
values!(Figure: [Figure::Id, Figure::Starts, Figure::MemoryGib]);
values!(Gpu: [1, 3].into_iter().filter_map(|at| mig::catalogue().get(at)?.gpu().ok()));
values!(Offer: Offer::EVERY);
values!(ProfileFacts: Gpu::values().into_iter().flat_map(|gpu| gpu.offered(Offer::ALL).cloned().collect::<Vec<_>>()));
values!(ProfileKind: [ProfileKind::Plain, ProfileKind::DoubleMemory, ProfileKind::Media]);
values!(PartedFile: [PARTED].into_iter().filter_map(|text| PartedFile::read(text).ok()));
values!(PartedSpec: PartedFile::values().into_iter().flat_map(|file| file.specs("all-1g.5gb").unwrap_or_default().to_vec()));
values!(PartedDevice: [(0, None), (u32::MAX, Some(u32::MAX))].map(|(index, pci_id)| PartedDevice { index, pci_id }));
values!(PcieInterface: ["NVIDIA A100-SXM4-40GB", "NVIDIA H100 PCIe"].into_iter().filter_map(products::pcie));
values!(Product: products().take(3).cloned());
values!(ProductLinks: ["NVIDIA A100-SXM4-40GB", "NVIDIA GeForce RTX 3090"].into_iter().filter_map(products::links));

const PARTED: &str = "version: v1\nmig-configs:\n  all-1g.5gb:\n    - devices: all\n      mig-enabled: true\n      mig-devices:\n        1g.5gb: 7\n";

/// A dump of each kind of text: the first of the corpus that can be read.
static DUMPS: LazyLock<Vec<Dump>> = LazyLock::new(|| {
    // Other crates have these values too.
    let folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let mut corpora = folders.map(|folder| folder.join("topologies/tests/corpus"));
    let corpus = corpora.find(|corpus| corpus.exists());
    let kinds = fs::read_dir(corpus.expect("the corpus")).expect("the corpus");
    let mut kinds: Vec<_> = kinds.map(|kind| kind.expect("a kind").path()).collect();
    kinds.sort();
    let texts = kinds.into_iter().filter_map(|kind| {
        let mut files: Vec<_> = fs::read_dir(kind).ok()?.flatten().collect();
        files.sort_by_key(fs::DirEntry::path);
        let mut read = files
            .iter()
            .filter_map(|file| read(&fs::read(file.path()).ok()?).ok());
        read.next()
    });
    texts.collect()
});

/// Some of the catalogue, those of dumps that are complete, and one without anything.
static MACHINES: LazyLock<Vec<Machine>> = LazyLock::new(|| {
    let names = ["dgx-1-v100", "torus:1x1", "ring:64"];
    let mut machines: Vec<Machine> = names
        .into_iter()
        .filter_map(|name| named(name).ok())
        .collect();
    machines.extend(
        DUMPS
            .iter()
            .filter_map(|dump| dump.clone().into_machine().ok()),
    );
    machines.push(Machine {
        name: "\0".to_owned(),
        title: "\u{202e}".repeat(1000),
        source: String::new(),
        notes: vec![String::new()],
        vendor: None,
        labels: Labels::default(),
        fabric: Fabric::new(),
        warnings: Vec::new(),
    });
    machines
});
