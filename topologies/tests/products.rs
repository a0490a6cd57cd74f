//! The table of products is whole: whatever names a product elsewhere has a row, and no other list of products exists.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use mapa_core::{FabricWire, Link, LinkClass, NodeId, NodeKind};
use mapa_topologies::products::{
    DirectLinks, Product, links, memory, pcie, product, products, vendor,
};
use mapa_topologies::{Machine, Vendor, catalogue, link_generation, link_speeds, mig, named, read};
use proptest::prelude::*;

use crate::common::real_data;
use crate::corpus::READERS;

#[test]
fn every_row_is_whole_and_is_found_by_its_names() {
    let mut names = BTreeSet::new();
    for row in products() {
        let name = &row.name;
        assert!(names.insert(*name), "{name}: two rows");
        assert!(row.source.len() > 10, "{name}: no source");
        assert!(!row.printed.is_empty(), "{name}: no printed name");
        for text in row.printed.iter().chain([name]) {
            let found = product(text).map(|found| &found.name);
            assert_eq!(found, Some(name), "{text}");
        }
        assert!(!row.memory_gb.is_empty(), "{name}: no memory");
        assert!(row.memory_gb.is_sorted(), "{name}: {:?}", row.memory_gb);
        let chip = (row.vendor, row.capability.is_some(), row.gfx.is_some());
        let is_whole = matches!(
            chip,
            (Vendor::Nvidia, true, false) | (Vendor::Amd, false, true)
        );
        assert!(is_whole, "{name}: {chip:?}");
        if let DirectLinks::With(links) = row.links() {
            let speed = link_speeds().find(|speed| speed.generation == links.generation);
            assert_eq!(
                speed.map(|speed| speed.gbps),
                Some(links.gbps_per_link),
                "{name}"
            );
        }
    }
}

#[test]
fn tables_of_mig_and_products_name_each_other() {
    let tables: BTreeSet<&str> = mig::catalogue().iter().map(|entry| entry.name).collect();
    let mut of_products = BTreeSet::new();
    for row in products() {
        let named: Vec<&str> = row.mig_tables().collect();
        let (count, sizes) = (named.len(), row.memory_gb.len());
        assert!(
            count <= 1 || count == sizes,
            "{}: one for each size",
            row.name
        );
        for gb in row.memory_gb {
            let table = mig::of_product(row.name, u64::from(*gb) << 30);
            assert_eq!(table.is_some(), count > 0, "{} with {gb} GB", row.name);
        }
        of_products.extend(named);
    }
    assert_eq!(of_products, tables);
}

/// The products of a machine's devices, and for each the most direct links of one such device.
fn products_of(machine: &Machine) -> BTreeMap<String, u32> {
    let mut count: BTreeMap<NodeId, u32> = BTreeMap::new();
    for (a, b, wire) in machine.fabric.wires() {
        if let FabricWire::Link(Link {
            class: LinkClass::Direct(n),
            ..
        }) = wire
        {
            for end in [a, b] {
                *count.entry(end).or_default() += u32::from(n);
            }
        }
    }
    let mut found = BTreeMap::new();
    for (id, node) in machine.fabric.nodes() {
        if let NodeKind::Device(info) = &node.kind
            && let Some(product) = &info.product
        {
            let most: &mut u32 = found.entry(product.clone()).or_default();
            *most = (*most).max(count.get(&id).copied().unwrap_or_default());
        }
    }
    found
}

#[test]
fn products_of_the_catalogue_have_rows_that_agree_with_its_machines() {
    for entry in catalogue() {
        let machine = named(entry.name).unwrap();
        for (name, most) in products_of(&machine) {
            let place = format!("{}: {name}", entry.name);
            let row = product(&name).unwrap_or_else(|| panic!("{place} has no row"));
            let count = links(&name).map_or(0, |links| links.count.map_or(255, u32::from));
            assert!(
                most <= count,
                "{place}: {most} links, the table has {count}"
            );
            assert!(row.pcie.is_some(), "{place}: no slot");
            if let (Some(generation), Some(links)) = (link_generation(&machine), links(&name)) {
                assert_eq!(generation, links.generation, "{place}");
            }
        }
    }
}

/// The products that a text names as tools print them: a vendor's words, and a number.
fn products_in(bytes: &[u8]) -> BTreeSet<String> {
    let Ok(machine) = read(bytes).and_then(|dump| dump.into_machine()) else {
        return BTreeSet::new();
    };
    let is_printed = |name: &String| {
        let vendors = ["NVIDIA", "Tesla", "GeForce", "Quadro", "AMD Instinct"];
        vendors.iter().any(|vendor| name.starts_with(vendor))
            && name.bytes().any(|byte| byte.is_ascii_digit())
    };
    products_of(&machine)
        .into_keys()
        .filter(is_printed)
        .collect()
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
    found.sort();
}

/// Cards for games that have no bridge: not in the table.
const LEFT_OUT: [&str; 1] = ["GeForce GTX 1070"];

#[test]
fn products_of_the_readers_texts_have_rows() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut texts = Vec::new();
    for (folder, _) in READERS {
        files(&corpus.join(folder), &mut texts);
    }
    if let Some(data) = real_data() {
        files(&data.join("samples"), &mut texts);
        files(&data.join("field/inputs"), &mut texts);
    }
    let mut named = 0;
    for path in texts {
        for name in products_in(&fs::read(&path).unwrap()) {
            named += 1;
            let is_known = product(&name).is_some() || LEFT_OUT.contains(&name.as_str());
            assert!(is_known, "{}: `{name}` has no row", path.display());
        }
    }
    assert!(named > 30, "{named} names");
}

#[test]
fn products_of_public_measurements_have_rows() {
    let rows = include_str!("../../mapa-regress/data/measured.tsv").lines();
    let names: BTreeSet<&str> = { rows.skip(1) }
        .filter_map(|row| row.split('\t').nth(3))
        .collect();
    // Cards for games, without links to each other that are used.
    let left_out = ["RX 9070 XT", "3x Vega 64 + Radeon VII"];
    for name in names.iter().filter(|name| !left_out.contains(name)) {
        assert!(product(name).is_some(), "`{name}` has no row");
        assert!(vendor(name).is_some(), "{name}");
    }
    assert!(names.len() > 30);
}

/// The literals of a Rust source, without comments and tests.
fn literals(source: &str) -> Vec<String> {
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = code.lines().map(str::trim_start);
    let lines = lines.filter(|line| !line.starts_with("//"));
    let quoted = lines.flat_map(|line| line.split('"').skip(1).step_by(2));
    quoted.map(str::to_owned).collect()
}

#[test]
fn no_source_has_a_list_of_products_of_its_own() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut sources = Vec::new();
    for folder in [
        "topologies/src",
        "mapa-core/src",
        "mapa-regress/src",
        "hardware",
        "fronts",
    ] {
        files(&workspace.join(folder), &mut sources);
    }
    let is_source = |path: &PathBuf| {
        path.extension().is_some_and(|end| end == "rs")
            && path.components().all(|part| part.as_os_str() != "tests")
            && !path.ends_with("products/rows.rs")
    };
    // Machines and tables of MIG, which are lists of their own, may be called by their products.
    let machines = catalogue().iter().map(|entry| entry.name);
    let tables = mig::catalogue().iter();
    let tables = tables.flat_map(|entry| std::iter::once(&entry.name).chain(entry.aliases));
    let others: BTreeSet<&str> = machines.chain(tables.copied()).collect();
    let mut lists = Vec::new();
    for path in sources.iter().filter(|path| is_source(path)) {
        let literals = literals(&fs::read_to_string(path).unwrap());
        let literals = literals
            .iter()
            .filter(|text| !others.contains(text.as_str()) && !text.ends_with(".txt"));
        let named = literals.filter_map(|text| product(text));
        let named: BTreeSet<&str> = named.map(|product| product.name).collect();
        if named.len() > 2 {
            lists.push(format!("{}: {named:?}", path.display()));
        }
    }
    assert!(lists.is_empty(), "{}", lists.join("\n"));
    let links = include_str!("../links.toml");
    let tables: toml::Table = links.parse().unwrap();
    let keys: Vec<&String> = tables.keys().collect();
    assert_eq!(
        keys,
        ["between_sockets", "nvlink", "pcie", "xgmi"],
        "generations, not products"
    );
}

#[test]
fn known_figures_of_products_are_found() {
    let of = |name: &str| links(name).and_then(|links| links.gbps());
    for (name, gbps) in [
        ("NVIDIA A40", 56.25),
        ("NVIDIA RTX A4500", 56.25),
        ("NVIDIA RTX A5000", 56.25),
        ("NVIDIA RTX A5500", 56.25),
        ("NVIDIA RTX A6000", 56.25),
        ("NVIDIA GeForce RTX 3090 Ti", 56.25),
        ("GeForce RTX 2080 Ti", 50.0),
        ("NVIDIA A30", 100.0),
        ("NVIDIA A800-SXM4-80GB", 200.0),
        ("NVIDIA A100-PCIE-40GB", 300.0),
        ("NVIDIA H100 PCIe", 300.0),
        ("NVIDIA H100 NVL", 300.0),
        ("NVIDIA H100 80GB HBM3", 450.0),
        ("NVIDIA H20", 450.0),
        ("NVIDIA H20-3e", 450.0),
        ("NVIDIA GB300", 900.0),
        ("AMD Instinct MI325X", 448.0),
        ("AMD Instinct MI355X", 535.5),
        ("Tesla P100-SXM2-16GB", 80.0),
    ] {
        assert_eq!(of(name), Some(gbps), "{name}");
    }
    for without in [
        "NVIDIA L40S",
        "Tesla V100-PCIE-16GB",
        "NVIDIA A10",
        "NVIDIA RTX 6000 Ada Generation",
        "NVIDIA GeForce RTX 4090",
    ] {
        assert_eq!(
            product(without).map(|row| row.links()),
            Some(DirectLinks::Without),
            "{without}"
        );
    }
    let slot = |name: &str| pcie(name).map(|pcie| (pcie.generation, pcie.lanes));
    assert_eq!(
        slot("NVIDIA RTX PRO 6000 Blackwell Server Edition"),
        Some((5, 16))
    );
    assert_eq!(slot("NVIDIA A2"), Some((4, 8)));
    assert_eq!(slot("NVIDIA GeForce RTX 4060 Ti"), Some((4, 8)));
    assert_eq!(memory("NVIDIA A40"), Some(48));
    assert_eq!(
        product("MI308X").map(|row| row.links()),
        Some(DirectLinks::Unknown)
    );
    let peers = |name: &str| product(name).and_then(|row| row.peers);
    assert_eq!(
        [peers("GeForce RTX 4090 D"), peers("rtx3090ti")],
        [Some(false); 2]
    );
    assert_eq!(
        [
            peers("NVIDIA RTX A5000"),
            peers("RTX 5000 Ada"),
            peers("RTX PRO 4000")
        ],
        [None; 3]
    );
}

/// A row of the page: what is known of a product, and what is not.
fn line(row: &Product) -> String {
    let links = match row.links() {
        DirectLinks::Unknown => ["?", "?", "", ""].map(str::to_owned),
        DirectLinks::Without => ["none", "", "", ""].map(str::to_owned),
        DirectLinks::With(links) => [
            links
                .count
                .map_or("?".to_owned(), |count| count.to_string()),
            links.gbps_per_link.to_string(),
            links.generation.to_owned(),
            if links.is_bridged { "bridge" } else { "board" }.to_owned(),
        ],
    };
    let pcie = row.pcie.map_or("?".to_owned(), |pcie| {
        format!("{} x{}", pcie.generation, pcie.lanes)
    });
    let memory: Vec<String> = row.memory_gb.iter().map(u32::to_string).collect();
    let tables: Vec<&str> = row.mig_tables().collect();
    let cells = [
        row.name.to_owned(),
        links.join(" | "),
        pcie,
        memory.join(", "),
        tables.join(", "),
    ];
    format!("| {} |", cells.join(" | "))
}

#[test]
fn the_page_lists_every_product() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/products.md");
    let page = fs::read_to_string(&path).unwrap();
    let mut written = Vec::new();
    for vendor in [Vendor::Nvidia, Vendor::Amd] {
        written.push(format!("## {vendor}\n"));
        written.push(
            "| product | links | GB/s a link | generation | by | PCIe | GB | MIG tables |"
                .to_owned(),
        );
        written.push("|---|---|---|---|---|---|---|---|".to_owned());
        written.extend(products().filter(|row| row.vendor == vendor).map(line));
        written.push(String::new());
    }
    let top = page.split("## NVIDIA").next().unwrap_or_default();
    let expected = top.to_owned() + written.join("\n").trim_end() + "\n";
    if std::env::var_os("MAPA_BLESS").is_some() {
        fs::write(&path, &expected).unwrap();
    } else {
        assert_eq!(page, expected, "MAPA_BLESS=1 writes what the table has");
    }
}

/// A name as another tool writes it: in another case, with other signs between its words, and others around it.
fn written(name: &str, upper: bool, sign: char, around: &str) -> String {
    let name = if upper {
        name.to_ascii_uppercase()
    } else {
        name.to_ascii_lowercase()
    };
    let name: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { sign })
        .collect();
    format!("{around} {name} {around}")
}

proptest! {
    #[test]
    fn the_lookup_is_total_and_deterministic(text in any::<String>(), words in "[ -~]{0,60}") {
        for text in [text, words] {
            let found = product(&text);
            prop_assert_eq!(found, product(&text));
            prop_assert_eq!(links(&text).is_some(), found.is_some_and(|row| matches!(row.links(), DirectLinks::With(_))));
            prop_assert_eq!(pcie(&text), found.and_then(|row| row.pcie));
            prop_assert!(memory(&text).is_none_or(|gb| found.is_some_and(|row| row.memory_gb.contains(&gb))));
        }
    }

    #[test]
    fn names_are_found_however_they_are_written(
        row in 0..products().count(),
        upper: bool,
        sign in prop::sample::select(vec![' ', '-', '_', '.', '/']),
        around in "[g-k]{0,3}",
    ) {
        let row = products().nth(row).unwrap();
        for name in row.printed {
            let text = written(name, upper, sign, &around);
            prop_assert_eq!(product(&text).map(|found| &found.name), Some(&row.name), "{}", text);
        }
    }
}
