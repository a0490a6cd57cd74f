//! What is assumed of links is said, and only where an answer stands on it.

use serde_json::{Value, json};

use crate::common::{Folder, error};

const BRIDGED: &str = "\
\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity
GPU0\t X \tNV4\t0-7\t0
GPU1\tNV4\t X \t0-7\t0
";

const P2P: &str = "\tGPU0\tGPU1\nGPU0\tX\tOK\nGPU1\tOK\tX\n";

fn rates(folder: &Folder, words: &str) -> [Value; 3] {
    let answer = folder.answer(&format!("allocate --gpus 2 {words}"));
    ["bandwidth_gbps", "assumed_link_gbps", "assumed_host_gbps"].map(|key| answer[key].clone())
}

#[test]
fn the_name_of_a_file_names_no_product() {
    let folder = Folder::new();
    let matrix = folder.write("rtx3090.txt", BRIDGED);
    let access = folder.write("v100-p2p.txt", P2P);
    assert_eq!(
        rates(&folder, &format!("--machine {matrix} --machine {access}")),
        [json!(100.0), json!(25.0), json!(null)]
    );
}

#[test]
fn links_that_are_not_used_are_not_assumed() {
    let folder = Folder::new();
    let matrix = folder.write("topo.txt", BRIDGED);
    assert_eq!(
        rates(&folder, &format!("--machine {matrix} --p2p off")),
        [json!(12.0), json!(null), json!(12.0)]
    );
    let told = rates(
        &folder,
        &format!("--machine {matrix} --p2p off --pcie-gbps 20"),
    );
    assert_eq!(told[1..], [json!(null), json!(null)]);
    // The bandwidth is of the set, whatever the pattern.
    assert_eq!(
        rates(
            &folder,
            &format!("--machine {matrix} --pattern independent")
        )[1],
        json!(25.0)
    );
}

#[test]
fn a_product_that_the_text_contradicts_is_refused() {
    let folder = Folder::new();
    let matrix = folder.write("topo.txt", BRIDGED);
    let said = ["RTX4090", "MI300X", "abacus"]
        .map(|name| error(&format!("topo --machine {matrix} --gpu-name {name}")));
    insta::assert_snapshot!(said.join("\n"), @r#"
    error: --gpu-name: "RTX4090" has 0 direct links, and the text has 4 between two devices: expected another product
    error: --gpu-name: "MI300X" is of another vendor than the text: expected a product of NVIDIA
    error: --gpu-name: "abacus" is no product that is known: expected one of docs/products.md, such as "NVIDIA GeForce RTX 3090"
    "#);
    let named = rates(&folder, &format!("--machine {matrix} --gpu-name RTX3090"));
    assert_eq!(named[1..], [json!(null), json!(null)]);
}
