//! Every product that MAPA knows: NVIDIA's and AMD's for data centres and workstations, GeForce cards with bridges, and GeForce
//! cards that do not reach their peers' memory. This is the only list of products. It is Rust, not a file that is parsed,
//! because every command that reads a machine looks products up: parsing took more instructions than a decision.
//!
//! What a row leaves out is not known, and never guessed. Fields are described at [`Product`].

// A row is some four lines, with what belongs together on one.
#![cfg_attr(rustfmt, rustfmt_skip)]

use super::product::{PcieInterface, Product, RowLinks};
use crate::vendor::Vendor;

/// A product of NVIDIA's of which nothing else is known.
const NVIDIA: Product = Product {
    name: "",
    also: &[],
    vendor: Vendor::Nvidia,
    architecture: "",
    capability: None,
    gfx: None,
    printed: &[],
    links: RowLinks::Unknown,
    pcie: None,
    memory_gb: &[],
    mig: &[],
    peers: None,
    source: "",
};

/// A product of AMD's of which nothing else is known.
const AMD: Product = Product {
    vendor: Vendor::Amd,
    ..NVIDIA
};

/// No direct links.
const WITHOUT: RowLinks = RowLinks::Without;

/// Direct links over bridges between cards: how many, and their generation in `links.toml`, which has the rate.
const fn bridge(count: Option<u8>, generation: &'static str) -> RowLinks {
    RowLinks::With {
        count,
        generation,
        is_bridged: true,
    }
}

/// Direct links on a board with its switches.
const fn board(count: Option<u8>, generation: &'static str) -> RowLinks {
    RowLinks::With {
        count,
        generation,
        is_bridged: false,
    }
}

const fn pcie(generation: u8, lanes: u32) -> Option<PcieInterface> {
    Some(PcieInterface { generation, lanes })
}

pub(super) static ROWS: &[Product] = &[
    Product {
        name: "K80", architecture: "Kepler", capability: Some((3, 7)), printed: &["Tesla K80"], links: WITHOUT, pcie: pcie(3, 16),
        memory_gb: &[12], source: "NVIDIA Tesla K80 board specification BD-07317-001: two GPUs of 12 GB a card",
        ..NVIDIA
    },
    Product {
        name: "M40", architecture: "Maxwell", capability: Some((5, 2)), printed: &["Tesla M40", "Tesla M40 24GB"], links: WITHOUT,
        pcie: pcie(3, 16), memory_gb: &[12, 24], source: "NVIDIA Tesla M40 product brief PB-07520-001",
        ..NVIDIA
    },
    Product {
        name: "M60", architecture: "Maxwell", capability: Some((5, 2)), printed: &["Tesla M60"], links: WITHOUT, pcie: pcie(3, 16),
        memory_gb: &[8], source: "NVIDIA Tesla M60 product brief PB-07568-001: two GPUs of 8 GB a card",
        ..NVIDIA
    },
    Product {
        name: "P4", architecture: "Pascal", capability: Some((6, 1)), printed: &["Tesla P4"], links: WITHOUT, pcie: pcie(3, 16),
        memory_gb: &[8], source: "NVIDIA Tesla P4 data sheet",
        ..NVIDIA
    },
    Product {
        name: "P40", architecture: "Pascal", capability: Some((6, 1)), printed: &["Tesla P40"], links: WITHOUT, pcie: pcie(3, 16),
        memory_gb: &[24], source: "NVIDIA Tesla P40 data sheet",
        ..NVIDIA
    },
    Product {
        name: "P100", architecture: "Pascal", capability: Some((6, 0)), printed: &["Tesla P100-SXM2-16GB"],
        links: board(Some(4), "NVLink 1"), pcie: pcie(3, 16), memory_gb: &[16],
        source: "NVIDIA Tesla P100 white paper WP-08019-001: four links, 160 GB/s both ways",
        ..NVIDIA
    },
    Product {
        name: "P100 PCIe", architecture: "Pascal", capability: Some((6, 0)), printed: &["Tesla P100-PCIE-16GB", "Tesla P100-PCIE-12GB"],
        links: WITHOUT, pcie: pcie(3, 16), memory_gb: &[12, 16], source: "NVIDIA Tesla P100 for PCIe data sheet: no NVLink",
        ..NVIDIA
    },
    Product {
        name: "V100", architecture: "Volta", capability: Some((7, 0)),
        printed: &["Tesla V100-SXM2-16GB", "Tesla V100-SXM2-32GB", "Tesla V100-SXM3-32GB"], links: board(Some(6), "NVLink 2"),
        pcie: pcie(3, 16), memory_gb: &[16, 32], source: "NVIDIA V100 data sheet (January 2020): SXM2, 300 GB/s both ways",
        ..NVIDIA
    },
    Product {
        name: "V100 DGXS", architecture: "Volta", capability: Some((7, 0)), printed: &["Tesla V100-DGXS-16GB", "Tesla V100-DGXS-32GB"],
        links: board(None, "NVLink 2"), pcie: pcie(3, 16), memory_gb: &[16, 32],
        source: "NVIDIA DGX Station data sheet: NVLink of four GPUs; the number of links is not told",
        ..NVIDIA
    },
    Product {
        name: "V100 PCIe", architecture: "Volta", capability: Some((7, 0)), printed: &["Tesla V100-PCIE-16GB", "Tesla V100-PCIE-32GB"],
        links: WITHOUT, pcie: pcie(3, 16), memory_gb: &[16, 32],
        source: "NVIDIA V100 data sheet (January 2020): PCIe, 32 GB/s both ways and no NVLink",
        ..NVIDIA
    },
    Product {
        name: "V100 FHHL", architecture: "Volta", capability: Some((7, 0)), printed: &["Tesla V100-FHHL-16GB"], links: WITHOUT,
        pcie: pcie(3, 16), memory_gb: &[16], source: "NVIDIA Tesla V100 FHHL product brief",
        ..NVIDIA
    },
    Product {
        name: "V100S", architecture: "Volta", capability: Some((7, 0)), printed: &["Tesla V100S-PCIE-32GB"], links: WITHOUT,
        pcie: pcie(3, 16), memory_gb: &[32], source: "NVIDIA V100 data sheet (January 2020): V100S PCIe, no NVLink",
        ..NVIDIA
    },
    Product {
        name: "T4", also: &["T4G"], architecture: "Turing", capability: Some((7, 5)), printed: &["Tesla T4"], links: WITHOUT,
        pcie: pcie(3, 16), memory_gb: &[16], source: "NVIDIA T4 data sheet: PCIe 3 x16",
        ..NVIDIA
    },
    Product {
        name: "A2", architecture: "Ampere", capability: Some((8, 6)), printed: &["NVIDIA A2"], links: WITHOUT, pcie: pcie(4, 8),
        memory_gb: &[16], source: "NVIDIA A2 data sheet: PCIe 4 x8",
        ..NVIDIA
    },
    Product {
        name: "A10", architecture: "Ampere", capability: Some((8, 6)), printed: &["NVIDIA A10"], links: WITHOUT, pcie: pcie(4, 16),
        memory_gb: &[24], source: "NVIDIA A10 data sheet: PCIe 4, 64 GB/s both ways",
        ..NVIDIA
    },
    Product {
        name: "A10G", also: &["A10M"], architecture: "Ampere", capability: Some((8, 6)), printed: &["NVIDIA A10G"], links: WITHOUT,
        pcie: pcie(4, 16), memory_gb: &[24], source: "AWS EC2 G5 (A10G, 24 GB); techpowerup.com A10G: PCIe 4 x16",
        ..NVIDIA
    },
    Product {
        name: "A16", architecture: "Ampere", capability: Some((8, 6)), printed: &["NVIDIA A16"], links: WITHOUT, pcie: pcie(4, 16),
        memory_gb: &[16], source: "NVIDIA A16 data sheet: four GPUs of 16 GB on a card of PCIe 4 x16",
        ..NVIDIA
    },
    Product {
        name: "A30", architecture: "Ampere", capability: Some((8, 0)), printed: &["NVIDIA A30"], links: bridge(Some(4), "NVLink 3"),
        pcie: pcie(4, 16), memory_gb: &[24], mig: &["a30"],
        source: "NVIDIA A30 data sheet: bridge, 200 GB/s both ways; PCIe 4, 64 GB/s both ways",
        ..NVIDIA
    },
    Product {
        name: "A40", architecture: "Ampere", capability: Some((8, 6)), printed: &["NVIDIA A40"],
        links: bridge(Some(4), "NVLink 3, bridge"), pcie: pcie(4, 16), memory_gb: &[48],
        source: "NVIDIA A40 product brief PB-09976-001 and data sheet: bridge, 112.5 GB/s both ways; Ampere GA102 white paper: four links of 14.0625 GB/s one way",
        ..NVIDIA
    },
    Product {
        name: "A100", architecture: "Ampere", capability: Some((8, 0)), printed: &["NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-80GB"],
        links: board(Some(12), "NVLink 3"), pcie: pcie(4, 16), memory_gb: &[40, 80], mig: &["a100-40gb", "a100-80gb"],
        source: "NVIDIA A100 data sheet: SXM, 600 GB/s both ways; PCIe 4, 64 GB/s both ways",
        ..NVIDIA
    },
    Product {
        name: "A100 PCIe", also: &["A100X"], architecture: "Ampere", capability: Some((8, 0)),
        printed: &["NVIDIA A100-PCIE-40GB", "NVIDIA A100 80GB PCIe"], links: bridge(Some(12), "NVLink 3"), pcie: pcie(4, 16),
        memory_gb: &[40, 80], mig: &["a100-40gb", "a100-80gb"],
        source: "NVIDIA A100 data sheet: PCIe, bridges of two GPUs, 600 GB/s both ways",
        ..NVIDIA
    },
    Product {
        name: "A800", architecture: "Ampere", capability: Some((8, 0)), printed: &["NVIDIA A800-SXM4-80GB", "NVIDIA A800-SXM4-40GB"],
        links: board(Some(8), "NVLink 3"), pcie: pcie(4, 16), memory_gb: &[40, 80], mig: &["a100-40gb", "a100-80gb"],
        source: "NVIDIA A800 data sheet: 400 GB/s both ways; nvidia-smi topo -m of an A800 server (vllm-project/vllm issue 8410): NV8",
        ..NVIDIA
    },
    Product {
        name: "A800 PCIe", architecture: "Ampere", capability: Some((8, 0)), printed: &["NVIDIA A800 80GB PCIe", "NVIDIA A800-PCIE-40GB"],
        links: bridge(Some(8), "NVLink 3"), pcie: pcie(4, 16), memory_gb: &[40, 80], mig: &["a100-40gb", "a100-80gb"],
        source: "NVIDIA A800 data sheet: PCIe, bridges of two GPUs, 400 GB/s both ways",
        ..NVIDIA
    },
    Product {
        name: "A800 Active", architecture: "Ampere", capability: Some((8, 0)), printed: &["NVIDIA A800 40GB Active"],
        links: bridge(Some(8), "NVLink 3"), pcie: pcie(4, 16), memory_gb: &[40], mig: &["a100-40gb"],
        source: "NVIDIA A800 40GB Active data sheet: bridges, 400 GB/s both ways; PCIe 4 x16",
        ..NVIDIA
    },
    Product {
        name: "L4", architecture: "Ada", capability: Some((8, 9)), printed: &["NVIDIA L4"], links: WITHOUT, pcie: pcie(4, 16),
        memory_gb: &[24], source: "NVIDIA L4 data sheet: PCIe 4 x16, 64 GB/s both ways; no NVLink",
        ..NVIDIA
    },
    Product {
        name: "L20", architecture: "Ada", capability: Some((8, 9)), printed: &["NVIDIA L20"], links: WITHOUT, pcie: pcie(4, 16),
        memory_gb: &[48], source: "techpowerup.com L20: PCIe 4 x16; nvidia-smi topo -m of sixteen L20: no NVLink",
        ..NVIDIA
    },
    Product {
        name: "L40", also: &["L40G"], architecture: "Ada", capability: Some((8, 9)), printed: &["NVIDIA L40"], links: WITHOUT,
        pcie: pcie(4, 16), memory_gb: &[48], source: "NVIDIA L40 data sheet: PCIe 4 x16, 64 GB/s both ways; no NVLink",
        ..NVIDIA
    },
    Product {
        name: "L40S", architecture: "Ada", capability: Some((8, 9)), printed: &["NVIDIA L40S"], links: WITHOUT, pcie: pcie(4, 16),
        memory_gb: &[48], source: "NVIDIA L40S data sheet: PCIe 4 x16, 64 GB/s both ways; no NVLink",
        ..NVIDIA
    },
    Product {
        name: "H20", architecture: "Hopper", capability: Some((9, 0)), printed: &["NVIDIA H20"], links: board(Some(18), "NVLink 4"),
        pcie: pcie(5, 16), memory_gb: &[96],
        source: "NVIDIA MIG User Guide, supported GPUs: 96 GB; willitrunai.com H20: NVLink 4, 900 GB/s both ways; SemiAnalysis, November 2023: PCIe 5 x16",
        ..NVIDIA
    },
    Product {
        name: "H20-3e", architecture: "Hopper", capability: Some((9, 0)), printed: &["NVIDIA H20-3e"], links: board(Some(18), "NVLink 4"),
        pcie: pcie(5, 16), memory_gb: &[141],
        source: "H20 with 141 GB of HBM3e: links and slot as the H20; nvidia-smi of H20-3e servers (sgl-project/sglang issues): 141 GB, NV18",
        ..NVIDIA
    },
    Product {
        name: "H100", architecture: "Hopper", capability: Some((9, 0)), printed: &["NVIDIA H100 80GB HBM3"],
        links: board(Some(18), "NVLink 4"), pcie: pcie(5, 16), memory_gb: &[80, 94, 96], mig: &["h100-80gb", "h100-94gb", "h100-96gb"],
        source: "NVIDIA H100 data sheet: SXM, 900 GB/s both ways; PCIe 5, 128 GB/s both ways",
        ..NVIDIA
    },
    Product {
        name: "H100 PCIe", architecture: "Hopper", capability: Some((9, 0)), printed: &["NVIDIA H100 PCIe"],
        links: bridge(Some(12), "NVLink 4"), pcie: pcie(5, 16), memory_gb: &[80], mig: &["h100-80gb"],
        source: "NVIDIA H100 PCIe product brief PB-11133-001: three bridges, 600 GB/s both ways; PCIe 5 x16",
        ..NVIDIA
    },
    Product {
        name: "H100 NVL", also: &["H100L"], architecture: "Hopper", capability: Some((9, 0)), printed: &["NVIDIA H100 NVL"],
        links: bridge(Some(12), "NVLink 4"), pcie: pcie(5, 16), memory_gb: &[94], mig: &["h100-94gb"],
        source: "NVIDIA H100 NVL product brief PB-11773-001: three bridges, 600 GB/s both ways; PCIe 5 x16",
        ..NVIDIA
    },
    Product {
        name: "H800", architecture: "Hopper", capability: Some((9, 0)), printed: &["NVIDIA H800"], links: board(Some(8), "NVLink 4"),
        pcie: pcie(5, 16), memory_gb: &[80], mig: &["h100-80gb"],
        source: "NVIDIA H800 data sheet: 400 GB/s both ways; nvidia-smi nvlink -s of an H800: eight links",
        ..NVIDIA
    },
    Product {
        name: "H800 PCIe", architecture: "Hopper", capability: Some((9, 0)), printed: &["NVIDIA H800 PCIe"],
        links: bridge(Some(8), "NVLink 4"), pcie: pcie(5, 16), memory_gb: &[80], mig: &["h100-80gb"],
        source: "NVIDIA H800 data sheet: PCIe, bridges of two GPUs, 400 GB/s both ways",
        ..NVIDIA
    },
    Product {
        name: "H200", architecture: "Hopper", capability: Some((9, 0)), printed: &["NVIDIA H200"], links: board(Some(18), "NVLink 4"),
        pcie: pcie(5, 16), memory_gb: &[141], mig: &["h200"],
        source: "NVIDIA H200 data sheet: SXM, 900 GB/s both ways; PCIe 5, 128 GB/s both ways",
        ..NVIDIA
    },
    Product {
        name: "H200 NVL", architecture: "Hopper", capability: Some((9, 0)), printed: &["NVIDIA H200 NVL"],
        links: bridge(Some(18), "NVLink 4"), pcie: pcie(5, 16), memory_gb: &[141], mig: &["h200"],
        source: "NVIDIA H200 data sheet: NVL, bridges of two or four GPUs, 900 GB/s a GPU both ways",
        ..NVIDIA
    },
    Product {
        name: "GH200", architecture: "Hopper", capability: Some((9, 0)),
        printed: &["NVIDIA GH200 480GB", "NVIDIA GH200 120GB", "NVIDIA GH200 144G HBM3e"], links: board(Some(18), "NVLink 4"),
        pcie: pcie(5, 16), memory_gb: &[96, 144], mig: &["h100-96gb", "gh200"],
        source: "NVIDIA GH200 data sheet: eighteen links of NVLink 4, 900 GB/s both ways; NVLink-C2C to the CPU; 96 or 144 GB (names tell the CPU's memory)",
        ..NVIDIA
    },
    Product {
        name: "B200", architecture: "Blackwell", capability: Some((10, 0)), printed: &["NVIDIA B200"], links: board(Some(18), "NVLink 5"),
        pcie: pcie(5, 16), memory_gb: &[180], mig: &["b200"],
        source: "NVIDIA DGX B200 data sheet: 1.8 TB/s both ways, 180 GB; NVIDIA HGX page: PCIe 5",
        ..NVIDIA
    },
    Product {
        name: "B300", architecture: "Blackwell", capability: Some((10, 3)), printed: &["NVIDIA B300 SXM6 AC"],
        links: board(Some(18), "NVLink 5"), pcie: pcie(6, 16), memory_gb: &[288],
        source: "NVIDIA technical blog Inside NVIDIA Blackwell Ultra: 1.8 TB/s both ways, PCIe 6 x16, 288 GB",
        ..NVIDIA
    },
    Product {
        name: "GB200", architecture: "Blackwell", capability: Some((10, 0)), printed: &["NVIDIA GB200"],
        links: board(Some(18), "NVLink 5"), pcie: pcie(5, 16), memory_gb: &[186], mig: &["gb200"],
        source: "NVIDIA GB200 NVL72 data sheet: 1.8 TB/s both ways, NVLink-C2C to the CPU; NVIDIA MIG User Guide: 186 GB",
        ..NVIDIA
    },
    Product {
        name: "GB300", architecture: "Blackwell", capability: Some((10, 3)), printed: &["NVIDIA GB300"],
        links: board(Some(18), "NVLink 5"), pcie: pcie(6, 16), memory_gb: &[288],
        source: "NVIDIA technical blog Inside NVIDIA Blackwell Ultra: 1.8 TB/s both ways, PCIe 6 x16, 288 GB",
        ..NVIDIA
    },
    Product {
        name: "Quadro GP100", architecture: "Pascal", capability: Some((6, 0)), printed: &["Quadro GP100"],
        links: bridge(Some(4), "NVLink 1"), pcie: pcie(3, 16), memory_gb: &[16],
        source: "NVIDIA Quadro GP100 data sheet: two bridges, 160 GB/s both ways",
        ..NVIDIA
    },
    Product {
        name: "Quadro GV100", architecture: "Volta", capability: Some((7, 0)), printed: &["Quadro GV100"],
        links: bridge(Some(4), "NVLink 2"), pcie: pcie(3, 16), memory_gb: &[32],
        source: "NVIDIA Quadro GV100 data sheet: two bridges, 200 GB/s both ways",
        ..NVIDIA
    },
    Product {
        name: "Quadro P6000", architecture: "Pascal", capability: Some((6, 1)), printed: &["Quadro P6000"], links: WITHOUT,
        pcie: pcie(3, 16), memory_gb: &[24], source: "NVIDIA Quadro P6000 data sheet: no NVLink",
        ..NVIDIA
    },
    Product {
        name: "Quadro RTX 4000", architecture: "Turing", capability: Some((7, 5)), printed: &["Quadro RTX 4000"], links: WITHOUT,
        pcie: pcie(3, 16), memory_gb: &[8], source: "NVIDIA Quadro RTX 4000 data sheet: no NVLink",
        ..NVIDIA
    },
    Product {
        name: "Quadro RTX 5000", architecture: "Turing", capability: Some((7, 5)), printed: &["Quadro RTX 5000"],
        links: bridge(Some(1), "NVLink 2"), pcie: pcie(3, 16), memory_gb: &[16],
        source: "NVIDIA Quadro RTX 5000 data sheet: bridge, 50 GB/s both ways",
        ..NVIDIA
    },
    Product {
        name: "Quadro RTX 6000", architecture: "Turing", capability: Some((7, 5)), printed: &["Quadro RTX 6000"],
        links: bridge(Some(2), "NVLink 2"), pcie: pcie(3, 16), memory_gb: &[24],
        source: "NVIDIA Quadro RTX 6000 data sheet: bridge, 100 GB/s both ways",
        ..NVIDIA
    },
    Product {
        name: "Quadro RTX 8000", architecture: "Turing", capability: Some((7, 5)), printed: &["Quadro RTX 8000"],
        links: bridge(Some(2), "NVLink 2"), pcie: pcie(3, 16), memory_gb: &[48],
        source: "NVIDIA Quadro RTX 8000 data sheet: bridge, 100 GB/s both ways",
        ..NVIDIA
    },
    Product {
        name: "RTX A2000", architecture: "Ampere", capability: Some((8, 6)), printed: &["NVIDIA RTX A2000", "NVIDIA RTX A2000 12GB"],
        links: WITHOUT, pcie: pcie(4, 16), memory_gb: &[6, 12], source: "NVIDIA RTX A2000 data sheet: PCIe 4 x16; no NVLink",
        ..NVIDIA
    },
    Product {
        name: "RTX A4000", architecture: "Ampere", capability: Some((8, 6)), printed: &["NVIDIA RTX A4000"], links: WITHOUT,
        pcie: pcie(4, 16), memory_gb: &[16], source: "NVIDIA RTX A4000 data sheet: PCIe 4 x16; no NVLink",
        ..NVIDIA
    },
    Product {
        name: "RTX A4500", architecture: "Ampere", capability: Some((8, 6)), printed: &["NVIDIA RTX A4500"],
        links: bridge(Some(4), "NVLink 3, bridge"), pcie: pcie(4, 16), memory_gb: &[20],
        source: "NVIDIA RTX A4500 data sheet: bridge, 112.5 GB/s both ways; PCIe 4 x16",
        ..NVIDIA
    },
    Product {
        name: "RTX A5000", architecture: "Ampere", capability: Some((8, 6)), printed: &["NVIDIA RTX A5000"],
        links: bridge(Some(4), "NVLink 3, bridge"), pcie: pcie(4, 16), memory_gb: &[24],
        source: "NVIDIA RTX A5000 data sheet: bridge, 112.5 GB/s both ways; PCIe 4 x16",
        ..NVIDIA
    },
    Product {
        name: "RTX A5500", architecture: "Ampere", capability: Some((8, 6)), printed: &["NVIDIA RTX A5500"],
        links: bridge(Some(4), "NVLink 3, bridge"), pcie: pcie(4, 16), memory_gb: &[24],
        source: "NVIDIA RTX A5500 data sheet: bridge, 112.5 GB/s both ways; PCIe 4 x16",
        ..NVIDIA
    },
    Product {
        name: "RTX A6000", architecture: "Ampere", capability: Some((8, 6)), printed: &["NVIDIA RTX A6000"],
        links: bridge(Some(4), "NVLink 3, bridge"), pcie: pcie(4, 16), memory_gb: &[48],
        source: "NVIDIA RTX A6000 data sheet: bridge, 112.5 GB/s both ways; PCIe 4 x16",
        ..NVIDIA
    },
    Product {
        name: "RTX 2000 Ada", architecture: "Ada", capability: Some((8, 9)), printed: &["NVIDIA RTX 2000 Ada Generation"], links: WITHOUT,
        pcie: pcie(4, 8), memory_gb: &[16], source: "NVIDIA RTX 2000 Ada Generation data sheet: PCIe 4 x8; no NVLink",
        ..NVIDIA
    },
    Product {
        name: "RTX 4000 Ada", architecture: "Ada", capability: Some((8, 9)), printed: &["NVIDIA RTX 4000 Ada Generation"], links: WITHOUT,
        pcie: pcie(4, 16), memory_gb: &[20], source: "NVIDIA RTX 4000 Ada Generation data sheet: PCIe 4 x16; no NVLink",
        ..NVIDIA
    },
    Product {
        name: "RTX 4500 Ada", architecture: "Ada", capability: Some((8, 9)), printed: &["NVIDIA RTX 4500 Ada Generation"], links: WITHOUT,
        pcie: pcie(4, 16), memory_gb: &[24], source: "NVIDIA RTX 4500 Ada Generation data sheet: PCIe 4 x16; no NVLink",
        ..NVIDIA
    },
    Product {
        name: "RTX 5000 Ada", architecture: "Ada", capability: Some((8, 9)), printed: &["NVIDIA RTX 5000 Ada Generation"], links: WITHOUT,
        pcie: pcie(4, 16), memory_gb: &[32], source: "NVIDIA RTX 5000 Ada Generation data sheet: PCIe 4 x16; no NVLink",
        ..NVIDIA
    },
    Product {
        name: "RTX 5880 Ada", architecture: "Ada", capability: Some((8, 9)), printed: &["NVIDIA RTX 5880 Ada Generation"], links: WITHOUT,
        pcie: pcie(4, 16), memory_gb: &[48], source: "NVIDIA RTX 5880 Ada Generation data sheet: PCIe 4 x16; no NVLink",
        ..NVIDIA
    },
    Product {
        name: "RTX 6000 Ada", architecture: "Ada", capability: Some((8, 9)), printed: &["NVIDIA RTX 6000 Ada Generation"], links: WITHOUT,
        pcie: pcie(4, 16), memory_gb: &[48], source: "NVIDIA RTX 6000 Ada Generation data sheet: PCIe 4 x16; no NVLink",
        ..NVIDIA
    },
    Product {
        name: "RTX PRO 2000", architecture: "Blackwell", capability: Some((12, 0)), printed: &["NVIDIA RTX PRO 2000 Blackwell"],
        links: WITHOUT, pcie: pcie(5, 8), memory_gb: &[16], source: "NVIDIA RTX PRO 2000 Blackwell data sheet: PCIe 5 x8; no NVLink",
        ..NVIDIA
    },
    Product {
        name: "RTX PRO 4000", architecture: "Blackwell", capability: Some((12, 0)), printed: &["NVIDIA RTX PRO 4000 Blackwell"],
        links: WITHOUT, pcie: pcie(5, 16), memory_gb: &[24], source: "NVIDIA RTX PRO 4000 Blackwell data sheet: PCIe 5 x16; no NVLink",
        ..NVIDIA
    },
    Product {
        name: "RTX PRO 4000 SFF", architecture: "Blackwell", capability: Some((12, 0)),
        printed: &["NVIDIA RTX PRO 4000 Blackwell SFF Edition"], links: WITHOUT, pcie: pcie(5, 8), memory_gb: &[24],
        source: "NVIDIA RTX PRO 4000 Blackwell SFF Edition data sheet: PCIe 5 x8; no NVLink",
        ..NVIDIA
    },
    Product {
        name: "RTX PRO 4500", architecture: "Blackwell", capability: Some((12, 0)), printed: &["NVIDIA RTX PRO 4500 Blackwell"],
        links: WITHOUT, pcie: pcie(5, 16), memory_gb: &[32], source: "NVIDIA RTX PRO 4500 Blackwell data sheet: PCIe 5 x16; no NVLink",
        ..NVIDIA
    },
    Product {
        name: "RTX PRO 5000", architecture: "Blackwell", capability: Some((12, 0)), printed: &["NVIDIA RTX PRO 5000 Blackwell"],
        links: WITHOUT, pcie: pcie(5, 16), memory_gb: &[48, 72], source: "NVIDIA RTX PRO 5000 Blackwell data sheet: PCIe 5 x16; no NVLink",
        ..NVIDIA
    },
    Product {
        name: "RTX PRO 6000", architecture: "Blackwell", capability: Some((12, 0)),
        printed: &["NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "NVIDIA RTX PRO 6000 Blackwell Server Edition", "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition"],
        links: WITHOUT, pcie: pcie(5, 16), memory_gb: &[96], mig: &["rtx-pro-6000"],
        source: "NVIDIA RTX PRO 6000 Blackwell data sheets and NVIDIA MIG User Guide: PCIe 5 x16, 96 GB; no NVLink",
        ..NVIDIA
    },
    Product {
        name: "TITAN V", architecture: "Volta", capability: Some((7, 0)), printed: &["NVIDIA TITAN V"], links: WITHOUT, pcie: pcie(3, 16),
        memory_gb: &[12], source: "NVIDIA TITAN V product page: PCIe 3 x16; no NVLink",
        ..NVIDIA
    },
    Product {
        name: "TITAN RTX", architecture: "Turing", capability: Some((7, 5)), printed: &["NVIDIA TITAN RTX"],
        links: bridge(Some(2), "NVLink 2"), pcie: pcie(3, 16), memory_gb: &[24],
        source: "NVIDIA TITAN RTX product page: bridge, 100 GB/s both ways",
        ..NVIDIA
    },
    Product {
        name: "RTX 2070 SUPER", architecture: "Turing", capability: Some((7, 5)), printed: &["NVIDIA GeForce RTX 2070 SUPER"],
        links: bridge(Some(1), "NVLink 2"), pcie: pcie(3, 16), memory_gb: &[8],
        source: "NVIDIA GeForce RTX 2070 SUPER product page and techpowerup.com: PCIe 3 x16; bridge, 50 GB/s both ways",
        ..NVIDIA
    },
    Product {
        name: "RTX 2080", architecture: "Turing", capability: Some((7, 5)), printed: &["NVIDIA GeForce RTX 2080"],
        links: bridge(Some(1), "NVLink 2"), pcie: pcie(3, 16), memory_gb: &[8],
        source: "NVIDIA GeForce RTX 2080 product page and techpowerup.com: PCIe 3 x16; bridge, 50 GB/s both ways",
        ..NVIDIA
    },
    Product {
        name: "RTX 2080 Ti", architecture: "Turing", capability: Some((7, 5)), printed: &["NVIDIA GeForce RTX 2080 Ti"],
        links: bridge(Some(2), "NVLink 2"), pcie: pcie(3, 16), memory_gb: &[11],
        source: "NVIDIA GeForce RTX 2080 Ti product page and techpowerup.com: PCIe 3 x16; bridge, 100 GB/s both ways",
        ..NVIDIA
    },
    Product {
        name: "RTX 3050", architecture: "Ampere", capability: Some((8, 6)), printed: &["NVIDIA GeForce RTX 3050"], links: WITHOUT,
        pcie: pcie(4, 8), memory_gb: &[6, 8], peers: Some(false),
        source: "NVIDIA GeForce RTX 3050 product page and techpowerup.com: PCIe 4 x8; no NVLink",
        ..NVIDIA
    },
    Product {
        name: "RTX 3060", architecture: "Ampere", capability: Some((8, 6)), printed: &["NVIDIA GeForce RTX 3060"], links: WITHOUT,
        pcie: pcie(4, 16), memory_gb: &[8, 12], peers: Some(false),
        source: "NVIDIA GeForce RTX 3060 product page and techpowerup.com: PCIe 4 x16; no NVLink",
        ..NVIDIA
    },
    Product {
        name: "RTX 3070", architecture: "Ampere", capability: Some((8, 6)), printed: &["NVIDIA GeForce RTX 3070"], links: WITHOUT,
        pcie: pcie(4, 16), memory_gb: &[8], peers: Some(false),
        source: "NVIDIA GeForce RTX 3070 product page and techpowerup.com: PCIe 4 x16; no NVLink",
        ..NVIDIA
    },
    Product {
        name: "RTX 3080", architecture: "Ampere", capability: Some((8, 6)), printed: &["NVIDIA GeForce RTX 3080"], links: WITHOUT,
        pcie: pcie(4, 16), memory_gb: &[10, 12], peers: Some(false),
        source: "NVIDIA GeForce RTX 3080 product page and techpowerup.com: PCIe 4 x16; no NVLink",
        ..NVIDIA
    },
    Product {
        name: "RTX 3090", architecture: "Ampere", capability: Some((8, 6)), printed: &["NVIDIA GeForce RTX 3090"],
        links: bridge(Some(4), "NVLink 3, bridge"), pcie: pcie(4, 16), memory_gb: &[24], peers: Some(false),
        source: "NVIDIA GeForce RTX 3090 product page and techpowerup.com: PCIe 4 x16; bridge, 112.5 GB/s both ways",
        ..NVIDIA
    },
    Product {
        name: "RTX 4050", architecture: "Ada", capability: Some((8, 9)), printed: &["NVIDIA GeForce RTX 4050"], links: WITHOUT,
        pcie: pcie(4, 8), memory_gb: &[6], peers: Some(false),
        source: "NVIDIA GeForce RTX 4050 product page and techpowerup.com: PCIe 4 x8; no NVLink",
        ..NVIDIA
    },
    Product {
        name: "RTX 4060", architecture: "Ada", capability: Some((8, 9)), printed: &["NVIDIA GeForce RTX 4060"], links: WITHOUT,
        pcie: pcie(4, 8), memory_gb: &[8, 16], peers: Some(false),
        source: "NVIDIA GeForce RTX 4060 product page and techpowerup.com: PCIe 4 x8; no NVLink",
        ..NVIDIA
    },
    Product {
        name: "RTX 4070", architecture: "Ada", capability: Some((8, 9)), printed: &["NVIDIA GeForce RTX 4070"], links: WITHOUT,
        pcie: pcie(4, 16), memory_gb: &[12, 16], peers: Some(false),
        source: "NVIDIA GeForce RTX 4070 product page and techpowerup.com: PCIe 4 x16; no NVLink",
        ..NVIDIA
    },
    Product {
        name: "RTX 4080", architecture: "Ada", capability: Some((8, 9)), printed: &["NVIDIA GeForce RTX 4080"], links: WITHOUT,
        pcie: pcie(4, 16), memory_gb: &[16], peers: Some(false),
        source: "NVIDIA GeForce RTX 4080 product page and techpowerup.com: PCIe 4 x16; no NVLink",
        ..NVIDIA
    },
    Product {
        name: "RTX 4090", architecture: "Ada", capability: Some((8, 9)), printed: &["NVIDIA GeForce RTX 4090"], links: WITHOUT,
        pcie: pcie(4, 16), memory_gb: &[24], peers: Some(false),
        source: "NVIDIA GeForce RTX 4090 product page and techpowerup.com: PCIe 4 x16; no NVLink",
        ..NVIDIA
    },
    Product {
        name: "RTX 5050", architecture: "Blackwell", capability: Some((12, 0)), printed: &["NVIDIA GeForce RTX 5050"], links: WITHOUT,
        pcie: pcie(5, 8), memory_gb: &[8], peers: Some(false),
        source: "NVIDIA GeForce RTX 5050 product page and techpowerup.com: PCIe 5 x8; no NVLink",
        ..NVIDIA
    },
    Product {
        name: "RTX 5060", architecture: "Blackwell", capability: Some((12, 0)), printed: &["NVIDIA GeForce RTX 5060"], links: WITHOUT,
        pcie: pcie(5, 8), memory_gb: &[8, 16], peers: Some(false),
        source: "NVIDIA GeForce RTX 5060 product page and techpowerup.com: PCIe 5 x8; no NVLink",
        ..NVIDIA
    },
    Product {
        name: "RTX 5070", architecture: "Blackwell", capability: Some((12, 0)), printed: &["NVIDIA GeForce RTX 5070"], links: WITHOUT,
        pcie: pcie(5, 16), memory_gb: &[12, 16], peers: Some(false),
        source: "NVIDIA GeForce RTX 5070 product page and techpowerup.com: PCIe 5 x16; no NVLink",
        ..NVIDIA
    },
    Product {
        name: "RTX 5080", architecture: "Blackwell", capability: Some((12, 0)), printed: &["NVIDIA GeForce RTX 5080"], links: WITHOUT,
        pcie: pcie(5, 16), memory_gb: &[16], peers: Some(false),
        source: "NVIDIA GeForce RTX 5080 product page and techpowerup.com: PCIe 5 x16; no NVLink",
        ..NVIDIA
    },
    Product {
        name: "RTX 5090", architecture: "Blackwell", capability: Some((12, 0)), printed: &["NVIDIA GeForce RTX 5090"], links: WITHOUT,
        pcie: pcie(5, 16), memory_gb: &[32], peers: Some(false),
        source: "NVIDIA GeForce RTX 5090 product page and techpowerup.com: PCIe 5 x16; no NVLink",
        ..NVIDIA
    },
    Product {
        name: "MI25", architecture: "Vega 10", gfx: Some("gfx900"), printed: &["Radeon Instinct MI25"], links: WITHOUT, pcie: pcie(3, 16),
        memory_gb: &[16], source: "AMD Radeon Instinct MI25 data sheet: PCIe 3 x16",
        ..AMD
    },
    Product {
        name: "MI50", architecture: "Vega 20", gfx: Some("gfx906"), printed: &["AMD Instinct MI50"],
        links: bridge(Some(2), "Infinity Fabric 1"), pcie: pcie(4, 16), memory_gb: &[16, 32],
        source: "AMD Radeon Instinct MI50 data sheet: two links; PCIe 4 x16",
        ..AMD
    },
    Product {
        name: "MI60", architecture: "Vega 20", gfx: Some("gfx906"), printed: &["AMD Instinct MI60"],
        links: bridge(Some(2), "Infinity Fabric 1"), pcie: pcie(4, 16), memory_gb: &[32],
        source: "AMD Radeon Instinct MI60 data sheet: two links; PCIe 4 x16",
        ..AMD
    },
    Product {
        name: "MI100", architecture: "CDNA", gfx: Some("gfx908"), printed: &["AMD Instinct MI100"],
        links: bridge(Some(3), "Infinity Fabric 2"), pcie: pcie(4, 16), memory_gb: &[32],
        source: "AMD Instinct MI100 data sheet: three links, hives of two or four; PCIe 4 x16",
        ..AMD
    },
    Product {
        name: "MI210", architecture: "CDNA 2", gfx: Some("gfx90a"), printed: &["AMD Instinct MI210"],
        links: bridge(Some(3), "Infinity Fabric 3"), pcie: pcie(4, 16), memory_gb: &[64],
        source: "AMD Instinct MI210 data sheet: three links, 300 GB/s both ways; PCIe 4 x16",
        ..AMD
    },
    Product {
        name: "MI250", architecture: "CDNA 2", gfx: Some("gfx90a"), printed: &["AMD Instinct MI250"],
        links: board(Some(7), "Infinity Fabric 3"), pcie: pcie(4, 16), memory_gb: &[64],
        source: "AMD, rocm.docs.amd.com MI250 microarchitecture: a GCD has eight links, one of which goes to the host; a device is a GCD, with half of 128 GB",
        ..AMD
    },
    Product {
        name: "MI250X", architecture: "CDNA 2", gfx: Some("gfx90a"), printed: &["AMD Instinct MI250X"],
        links: board(Some(7), "Infinity Fabric 3"), pcie: pcie(4, 16), memory_gb: &[64],
        source: "AMD, rocm.docs.amd.com MI250 microarchitecture: a GCD has eight links, one of which goes to the host; OLCF Frontier user guide",
        ..AMD
    },
    Product {
        name: "MI300A", architecture: "CDNA 3", gfx: Some("gfx942"), printed: &["AMD Instinct MI300A"],
        links: board(Some(6), "Infinity Fabric 4"), pcie: pcie(5, 16), memory_gb: &[128],
        source: "AMD Instinct MI300A data sheet; LLNL El Capitan hardware: two links to each of three others, 256 GB/s both ways",
        ..AMD
    },
    Product {
        name: "MI300X", architecture: "CDNA 3", gfx: Some("gfx942"), printed: &["AMD Instinct MI300X"],
        links: board(Some(7), "Infinity Fabric 4"), pcie: pcie(5, 16), memory_gb: &[192],
        source: "AMD Instinct MI300X data sheet: seven links of 128 GB/s both ways; PCIe 5 x16",
        ..AMD
    },
    Product {
        name: "MI308X", architecture: "CDNA 3", gfx: Some("gfx942"), printed: &["AMD Instinct MI308X"], memory_gb: &[192],
        source: "rocm.docs.amd.com GPU specifications list gfx942 and the memory; links and slot are not published",
        ..AMD
    },
    Product {
        name: "MI325X", architecture: "CDNA 3", gfx: Some("gfx942"), printed: &["AMD Instinct MI325X"],
        links: board(Some(7), "Infinity Fabric 4"), pcie: pcie(5, 16), memory_gb: &[256],
        source: "AMD Instinct MI325X data sheet: seven links of 128 GB/s both ways; PCIe 5 x16",
        ..AMD
    },
    Product {
        name: "MI350X", architecture: "CDNA 4", gfx: Some("gfx950"), printed: &["AMD Instinct MI350X"],
        links: board(Some(7), "Infinity Fabric 4, MI350"), pcie: pcie(5, 16), memory_gb: &[288],
        source: "AMD Instinct MI350X data sheet: seven links of 153 GB/s both ways; PCIe 5 x16",
        ..AMD
    },
    Product {
        name: "MI355X", architecture: "CDNA 4", gfx: Some("gfx950"), printed: &["AMD Instinct MI355X"],
        links: board(Some(7), "Infinity Fabric 4, MI350"), pcie: pcie(5, 16), memory_gb: &[288],
        source: "AMD Instinct MI355X data sheet: seven links of 153 GB/s both ways; PCIe 5 x16",
        ..AMD
    },
];
