//! What vendors' tools print: said what it is, merged, and written for others.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// A folder of this test's own.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("dumps-{test}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn run(folder: &Path, words: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mapa-bench")).current_dir(folder).args(words.split(' ')).output().unwrap()
}

fn text(folder: &Path, words: &str) -> String {
    let output = run(folder, words);
    assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn json(folder: &Path, words: &str) -> Value {
    serde_json::from_str(&text(folder, &format!("{words} --json"))).unwrap()
}

const TOPO: &str = "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity
GPU0\tX\tNV4\t0-7\t0
GPU1\tNV4\tX\t0-7\t0
";

const STATUS: &str = "GPU 0: NVIDIA GeForce RTX 3090 (UUID: GPU-00000000-0000-0000-0000-00000000000a)
\t Link 0: 14.062 GB/s
\t Link 1: 14.062 GB/s
\t Link 2: 14.062 GB/s
\t Link 3: 14.062 GB/s
GPU 1: NVIDIA GeForce RTX 3090 (UUID: GPU-00000000-0000-0000-0000-00000000000b)
\t Link 0: 14.062 GB/s
\t Link 1: 14.062 GB/s
\t Link 2: 14.062 GB/s
\t Link 3: 14.062 GB/s
";

#[test]
fn dumps_given_together_are_one_machine() {
    let folder = folder("together");
    fs::write(folder.join("topo.txt"), TOPO).unwrap();
    fs::write(folder.join("status.txt"), STATUS).unwrap();
    let machine = json(&folder, "topo --machine topo.txt --machine status.txt");
    assert_eq!(machine["bandwidth_gbps"][0][1], 56.25, "four links of 14.0625, which topo -m does not say");
    assert_eq!(machine["devices"][1]["product"], "NVIDIA GeForce RTX 3090");
    let chosen = text(&folder, "allocate --machine topo.txt --machine status.txt --gpus 2");
    assert!(chosen.contains("CUDA_VISIBLE_DEVICES=0,1"), "{chosen}");
    let alone = run(&folder, "topo --machine status.txt");
    assert_eq!(alone.status.code(), Some(2));
    let error = String::from_utf8(alone.stderr).unwrap();
    assert!(error.contains("nvidia-smi nvlink names devices but not what joins them: merge it with"), "{error}");
}

#[test]
fn what_dumps_do_not_agree_on_is_said() {
    let folder = folder("differ");
    fs::write(folder.join("old.txt"), TOPO).unwrap();
    fs::write(folder.join("new.txt"), TOPO.replace("NV4", "NV2")).unwrap();
    let output = run(&folder, "topo --machine old.txt --machine new.txt");
    assert!(output.status.success());
    let said = "warning: GPU0 - GPU1, direct links: old says NV4, new says NV2; old is followed\n";
    assert_eq!(String::from_utf8(output.stderr).unwrap(), said);
}

const INSTANCES: &str = "+-------------------------------------------------------+
| GPU instances:                                        |
| GPU   Name             Profile  Instance   Placement  |
|                          ID       ID       Start:Size |
|=======================================================|
|   0  MIG 3g.20gb          9        2          4:4     |
+-------------------------------------------------------+
|   0  MIG 1g.5gb          19        9          2:1     |
+-------------------------------------------------------+
";

#[test]
fn instances_that_exist_are_what_jobs_are_put_on() {
    let folder = folder("instances");
    let toml = text(&folder, "topo --machine dgx-a100 --toml")
        .replace("name = \"GPU0\"", "name = \"GPU0\"\nmig = \"a100-40gb\"");
    fs::write(folder.join("a100.toml"), toml).unwrap();
    fs::write(folder.join("lgi.txt"), INSTANCES).unwrap();
    let machine = json(&folder, "topo --machine a100.toml --machine lgi.txt");
    assert_eq!(
        machine["devices"][0]["layout"],
        serde_json::json!([{"profile": "1g.5gb", "start": 2}, {"profile": "3g.20gb", "start": 4}])
    );
    let chosen = json(
        &folder,
        "allocate --machine a100.toml --machine lgi.txt --gpus 1 --slice 3g --pattern independent --policy packed",
    );
    assert_eq!(chosen["names"], serde_json::json!(["GPU0/3g.20gb@4"]), "{chosen}");
}

#[test]
fn what_is_written_for_others_reads_back() {
    let folder = folder("written");
    for machine in ["dgx-1v", "hgx-h100", "frontier", "a100-pcie-8-bridged"] {
        let census = |of: &str| json(&folder, &format!("topo --machine {of}"))["census"].clone();
        fs::write(folder.join("nccl.xml"), text(&folder, &format!("topo --machine {machine} --write nccl"))).unwrap();
        let classes = |census: &Value| {
            // NCCL has one host bridge a socket: NODE becomes PHB.
            let link = |row: &Value| row["link"].as_str().unwrap().replace("NODE", "PHB");
            let pair = |row: &Value| (link(row), row["pairs"].clone());
            census.as_array().unwrap().iter().map(pair).collect::<Vec<_>>()
        };
        assert_eq!(classes(&census("nccl.xml")), classes(&census(machine)), "{machine}: NCCL keeps the links");
        fs::write(folder.join("gres.conf"), text(&folder, &format!("topo --machine {machine} --write slurm"))).unwrap();
        let direct = |of: &str| {
            let devices = json(&folder, &format!("topo --machine {of}"))["devices"].clone();
            devices.as_array().unwrap().iter().map(|device| device["direct_links"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(direct("gres.conf"), direct(machine), "{machine}: Slurm keeps the direct links");
    }
}

#[test]
fn read_says_what_files_are() {
    let folder = folder("read");
    fs::create_dir(folder.join("more")).unwrap();
    fs::write(folder.join("topo.txt"), TOPO).unwrap();
    fs::write(folder.join("cut.txt"), &TOPO[..TOPO.len() - 12]).unwrap();
    fs::write(folder.join("more/status.txt"), STATUS).unwrap();
    fs::write(folder.join("more/smi.txt"), "| NVIDIA-SMI 535.54.03  Driver Version: 535.54.03 |").unwrap();
    fs::write(folder.join("more/notes.txt"), "hello").unwrap();
    let read = json(&folder, "read .");
    let files: Vec<(&str, &str)> = read["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| (file["file"].as_str().unwrap(), file["outcome"].as_str().unwrap()))
        .collect();
    let expected = [
        ("./cut.txt", "refused"),
        ("./more/notes.txt", "not recognised"),
        ("./more/smi.txt", "known, not read"),
        ("./more/status.txt", "part of a machine"),
        ("./topo.txt", "machine"),
    ];
    assert_eq!(files, expected);
    let text = text(&folder, "read topo.txt");
    assert!(
        text.contains("| topo.txt | nvidia-smi topo -m |       2 | 4                 | classes | machine |"),
        "{text}"
    );
    let missing = json(&folder, "read topo.txt nowhere");
    assert_eq!(missing["files"][1]["outcome"], "refused", "one file that is not there does not hide the others");
}

#[test]
fn the_table_of_kinds_and_outcomes_is_what_the_command_says() {
    let Some(data) = std::env::var_os("MAPA_DATA").map(PathBuf::from) else { return };
    let data = if data.is_relative() { Path::new("..").join(data) } else { data };
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let said = text(here, &format!("read --summary {}", data.join("samples").display()));
    let page = fs::read_to_string(here.join("../docs/bring-your-machine.md")).unwrap();
    assert!(page.contains(&said), "docs/bring-your-machine.md does not have\n{said}");
}
