//! Answers name the assumed rates that they stand on, and no others; links that are down count.

use serde_json::{Value, json};

use crate::common::{Folder, error, text};

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

/// Three GPUs at NVSwitches, and the list of their links: so many of eighteen are up on each.
fn at_switches(folder: &Folder, up: [usize; 3]) -> String {
    let matrix =
        "\tGPU0\tGPU1\tGPU2\nGPU0\tX\tNV18\tNV18\nGPU1\tNV18\tX\tNV18\nGPU2\tNV18\tNV18\tX\n";
    let mut list = String::new();
    for (gpu, up) in up.into_iter().enumerate() {
        list += &format!("GPU {gpu}: NVIDIA H100 80GB HBM3 (UUID: GPU-0000000{gpu})\n");
        for link in 0..18 {
            let state = if link < up {
                "26.562 GB/s"
            } else {
                "<inactive>"
            };
            list += &format!("\t Link {link}: {state}\n");
        }
    }
    let (matrix, list) = (
        folder.write("topo.txt", matrix),
        folder.write("nvlink.txt", list),
    );
    format!("--machine {matrix} --machine {list}")
}

#[test]
fn links_that_are_down_are_reported_and_count() {
    let folder = Folder::new();
    let machine = at_switches(&folder, [16, 18, 18]);
    let output = folder.run(&format!("allocate {machine} --gpus 2 --json"));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["devices"], json!([1, 2]));
    let warnings = String::from_utf8(output.stderr).unwrap();
    let down: Vec<&str> = warnings
        .lines()
        .filter(|line| line.contains("are up"))
        .collect();
    assert_eq!(down.len(), 1, "{warnings}");
    assert!(
        down[0].ends_with("GPU0: 16 of 18 direct links are up"),
        "{warnings}"
    );
    let links = folder.answer(&format!("topo {machine}"))["links"].clone();
    assert_eq!(
        (&links[0][1], &links[1][2]),
        (&json!("NV16"), &json!("NV18"))
    );
}

#[test]
fn a_set_with_all_links_is_said_to_be_taken_where_links_are_down() {
    let folder = Folder::new();
    let notes = |machine: &str, words: &str| {
        let answer = folder.answer(&format!("allocate {machine} --gpus 2 {words}"));
        let notes = answer["notes"].as_array().unwrap().clone();
        let notes = notes
            .into_iter()
            .filter(|note| note.to_string().contains("links up"));
        notes.collect::<Vec<_>>()
    };
    let note = "GPU0 has 16 of 18 links up: the set GPU1, GPU2 with all links is taken";
    let machine = at_switches(&folder, [16, 18, 18]);
    assert_eq!(notes(&machine, ""), [note]);
    let printed = folder.text(&format!("allocate {machine} --gpus 2"));
    assert!(printed.contains(note), "{printed}");
    // It is in use, or avoided anyhow; or the job gets it all the same.
    for words in [
        "--busy 0",
        "--avoid 0",
        "--must-include 0",
        "--policy lowest-id",
    ] {
        assert_eq!(notes(&machine, words), [""; 0], "{words}");
    }
    // What has the highest id would not have been chosen with all links either.
    let machine = at_switches(&folder, [18, 18, 16]);
    assert_eq!(notes(&machine, ""), [""; 0]);
    // Both that are left have links down.
    let machine = at_switches(&folder, [16, 16, 18]);
    assert_eq!(notes(&machine, ""), [""; 0]);
}

/// Two GPUs and the host between them.
const PCIE: &str = "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity
GPU0\t X \tNODE\t0-7\t0
GPU1\tNODE\t X \t0-7\t0
";

#[test]
fn a_virtual_machine_is_told_what_p2p_over_pcie_needs() {
    let folder = Folder::new();
    let file = |name: &str, matrix: &str| {
        let matrix = folder.write("topo.txt", matrix);
        let toml = folder.text(&format!("topo --machine {matrix} --toml"));
        folder.write(
            name,
            toml.replacen("version = 1", "version = 1\nvirtual_machine = true", 1),
        )
    };
    let told = "P2P assumed on, though over PCIe it works in a virtual machine only where the host allows it (ACS off, or \
                ATS): --machine with `nvidia-smi topo -p2p r` tells, or --p2p on|off";
    let notes = |machine: &str, words: &str| {
        let answer = folder.answer(&format!("allocate --machine {machine} --gpus 2 {words}"));
        let notes = answer["notes"].as_array().unwrap().clone();
        let notes = notes
            .into_iter()
            .filter(|note| note.to_string().contains("P2P"));
        notes.collect::<Vec<_>>()
    };
    let machine = file("pcie.toml", PCIE);
    assert_eq!(notes(&machine, ""), [told]);
    assert_eq!(notes(&machine, "--p2p off"), [""; 0]);
    let access = folder.write("p2p.txt", P2P);
    assert_eq!(notes(&machine, &format!("--machine {access}")), [""; 0]);
    let score = folder.text(&format!(
        "score --machine {machine} --devices 0,1 --model expected"
    ));
    assert!(score.contains(told), "{score}");
    // Direct links need nothing of the host.
    let bridged = file("bridged.toml", BRIDGED);
    assert_eq!(notes(&bridged, ""), [""; 0]);
    // A real machine is told as before.
    let real = folder.write("real.txt", PCIE);
    assert_eq!(
        notes(&real, ""),
        ["P2P assumed on: --machine with `nvidia-smi topo -p2p r` tells, or --p2p on|off"]
    );
}

#[test]
fn instances_are_answered_alike_on_one_gpu_and_on_two() {
    let folder = Folder::new();
    let one = folder.write("one.txt", "\tGPU0\nGPU0\tX\n");
    let two = folder.write("two.txt", BRIDGED);
    let cut = "--mig a100-40gb=3g,2g,1g,1g --gpus 2 --slice 1g.5gb";
    let answer =
        |file: &str, more: &str| folder.answer(&format!("allocate --machine {file} {cut} {more}"));
    let [alone, beside] = [&one, &two].map(|file| answer(file, ""));
    for key in ["names", "links", "bandwidth_gbps", "notes"] {
        assert_eq!(alone[key], beside[key], "{key}");
    }
    let notes = alone["notes"].to_string();
    assert!(notes.contains("NCCL_MULTI_RANK_GPU_ENABLE=1"), "{notes}");
    let apart = answer(&one, "--pattern independent")["notes"].to_string();
    assert!(!apart.contains("NCCL"), "{apart}");
}

#[test]
fn direct_links_are_not_printed_as_used_with_p2p_off() {
    let shown = text("allocate --machine dgx-a100 --gpus 4 --p2p off", "");
    let links = shown
        .lines()
        .find(|line| line.starts_with("links"))
        .unwrap();
    assert!(
        !links.contains("NV12") && links.ends_with("direct links are not used, as P2P is off"),
        "{links}"
    );
}

#[test]
fn no_line_says_that_a_rate_is_assumed_which_an_option_tells() {
    let folder = Folder::new();
    let matrix = folder.write("topo.txt", BRIDGED);
    let notes = |words: &str| {
        let printed = folder.text(&format!("topo --machine {matrix} {words}"));
        let lines = printed.lines().filter(|line| line.contains("unless set"));
        lines.map(str::trim).collect::<Vec<_>>().join("\n")
    };
    let link = "The text gives no bandwidth of direct links: unless set, each counts 25 GB/s.";
    let path = "The text gives no bandwidth of host paths: unless set, each counts 12 GB/s.";
    assert_eq!(notes(""), format!("{path}\n{link}"));
    assert_eq!(notes("--gpu-name RTX3090"), path);
    assert_eq!(notes("--nvlink-gbps 14"), path);
    assert_eq!(notes("--pcie-gbps 20"), link);
    assert_eq!(notes("--pcie-gbps 20 --nvlink-gbps 14"), "");
}
