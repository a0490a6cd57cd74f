//! Questions that people asked in public about this very job, and what MAPA answers. The texts are others' and are
//! read from `MAPA_DATA`; what is expected of each stands here.
//!
//! A report that is not answered as expected is in [`NOT_YET`], and not among these rows.

use std::fs;
use std::path::{Path, PathBuf};

use mapa_topologies::products;
use serde_json::Value;

use crate::common::command;
use crate::real_data::real_data;

/// The report, the words with `FILE` for its text, where the answer is looked at, and what is expected there: a key of
/// the JSON object, or `error`, `warning` and `refused` for a part of such a line.
const ROWS: &[(&str, &str, &str, &str)] = &[
    (
        "B01",
        "allocate --machine FILE --gpus 2",
        "/devices",
        "[0,2]",
    ),
    (
        "B01",
        "allocate --machine FILE --gpus 2 --busy 0,1",
        "/devices",
        "[4,5]",
    ),
    (
        "B01",
        "allocate --machine FILE --gpus 2 --busy 0,3",
        "/devices",
        "[4,5]",
    ),
    (
        "B01",
        "allocate --machine FILE --gpus 1 --busy 0,5",
        "/devices",
        "[2]",
    ),
    (
        "B03",
        "allocate --machine FILE --gpus 2 --p2p off",
        "/devices",
        "[0,2]",
    ),
    (
        "B05",
        "topo --machine FILE",
        "/devices/0/direct_links",
        "18",
    ),
    ("B05", "topo --machine FILE", "/devices/0/switched", "false"),
    (
        "B04",
        "allocate --machine FILE --gpus 2",
        "/bandwidth_in_domain",
        "false",
    ),
    (
        "B04",
        "allocate --machine FILE --gpus 2",
        "/assumed_link_gbps",
        "25.0",
    ),
    (
        "B04",
        "allocate --machine FILE --gpus 2 --gpu-name GB200",
        "/nominal_gbps",
        "900.0",
    ),
    (
        "B09",
        "allocate --machine FILE --pattern tp=2,pp=2",
        "/devices",
        "[0,2,1,3]",
    ),
    (
        "B05",
        "allocate --machine FILE --gpus 2",
        "/bandwidth_gbps",
        "150.0",
    ),
    // Half of the rate of 16 lanes: the text has no width of slots.
    (
        "B02",
        "allocate --machine FILE --gpus 2 --pcie-gbps 31.5",
        "/nominal_gbps",
        "31.5",
    ),
    (
        "B02",
        "allocate --machine FILE --gpus 2 --gpu-name RTX-PRO-6000",
        "/notes/1",
        "\"PCIe slots assumed to have all lanes of the product: --machine with `lspci -vv` tells, or --pcie-gbps\"",
    ),
    (
        "B02",
        "allocate --machine FILE --gpus 2",
        "/assumed_host_gbps",
        "12.0",
    ),
    (
        "B10",
        "allocate --machine FILE --gpus 2 --gpu-name RTX4090",
        "/devices",
        "[0,4]",
    ),
    (
        "B10",
        "allocate --machine FILE --gpus 2",
        "/notes/0",
        "\"P2P assumed on: --machine with `nvidia-smi topo -p2p r` tells, or --p2p on|off\"",
    ),
    (
        "B52",
        "allocate --machine FILE --gpus 2 --gpu-name RTX3090",
        "warning",
        "GPU1: 3 of 4 direct links are up",
    ),
    (
        "B52",
        "allocate --machine FILE --gpus 2 --gpu-name RTX3090",
        "/nominal_gbps",
        "42.1875",
    ),
    (
        "B07",
        "allocate --machine FILE --gpus 2",
        "/devices",
        "[0,1]",
    ),
    ("B08", "topo --machine FILE", "/devices/0/switched", "true"),
    ("B08", "topo --machine FILE", "/devices/7/numa", "1"),
    ("B11", "topo --machine FILE", "/devices/7/numa", "null"),
    ("B12", "topo --machine FILE", "/devices/0/numa", "null"),
    ("B13", "topo --machine FILE", "/devices/7/switched", "true"),
    ("B13", "topo --machine FILE", "/devices/7/numa", "1"),
    ("B15", "topo --machine FILE", "/devices/7/switched", "true"),
    ("B15", "topo --machine FILE", "/devices/7/numa", "3"),
    ("B16", "topo --machine FILE", "/devices/7/switched", "true"),
    (
        "B16",
        "topo --machine FILE",
        "warning",
        "the matrix ends without the rows of GPU5, GPU6, GPU7",
    ),
    (
        "B17",
        "topo --machine FILE",
        "warning",
        "nvidia-smi topo -mp leaves NVLink out",
    ),
    (
        "B19",
        "topo --machine FILE",
        "/source",
        "\"nvidia-smi topo -m; nvidia-smi topo -p2p\"",
    ),
    (
        "B21",
        "topo --machine FILE",
        "error",
        "an error of `nvidia-smi topo -m`",
    ),
    (
        "B23",
        "allocate --machine FILE --gpus 2",
        "/bandwidth_gbps",
        "50.0",
    ),
    (
        "B24",
        "allocate --machine FILE --gpus 2",
        "/devices",
        "[0,1]",
    ),
    (
        "B24",
        "allocate --machine FILE --gpus 2",
        "/bandwidth_gbps",
        "200.0",
    ),
    ("B25", "topo --machine FILE", "/devices/3/numa", "0"),
    ("B25", "topo --machine FILE", "/devices/4/numa", "1"),
    ("B25", "topo --machine FILE", "/devices/7/numa", "1"),
    ("B27", "topo --machine FILE", "/devices/0/direct_links", "8"),
    ("B27", "topo --machine FILE", "/devices/0/switched", "true"),
    (
        "B28",
        "topo --machine FILE",
        "error",
        "`mx-smi` of MetaX devices",
    ),
    (
        "B29",
        "topo --machine FILE",
        "error",
        "`npu-smi` of Ascend devices",
    ),
    (
        "B30",
        "topo --machine FILE",
        "error",
        "`xpu-smi` of Intel devices",
    ),
    (
        "B31",
        "topo --machine FILE",
        "error",
        "such as the whole `rocm-smi --showtopo`",
    ),
    ("B34", "topo --machine FILE", "/devices/0/direct_links", "1"),
    (
        "B37",
        "allocate --machine FILE --gpus 2",
        "/devices",
        "[0,1]",
    ),
    (
        "B38",
        "allocate --machine FILE --gpus 2 --p2p off",
        "/devices",
        "[0,4]",
    ),
    (
        "B38",
        "allocate --machine FILE --gpus 4 --p2p off",
        "/devices",
        "[0,2,4,6]",
    ),
    (
        "B39",
        "topo --machine FILE",
        "error",
        "such as `nvidia-smi topo -m`",
    ),
    (
        "B40",
        "topo --machine FILE",
        "warning",
        "does not say which devices have direct links",
    ),
    ("B46", "allocate --machine FILE --gpus 1", "refused", "busy"),
    (
        "B46",
        "allocate --machine FILE --gpus 1 --slice 1g.10gb",
        "/names",
        "[\"GPU0/1g.10gb@0\"]",
    ),
    (
        "B47",
        "topo --machine FILE",
        "/devices/0/product",
        "\"NVIDIA L20\"",
    ),
    (
        "B48",
        "allocate --machine FILE --gpus 2",
        "/devices",
        "[0,1]",
    ),
    (
        "B50",
        "allocate --machine FILE --gpus 2",
        "/devices",
        "[0,1]",
    ),
    (
        "B51",
        "allocate --machine FILE --machine tests/field/four-a40.txt --gpus 2",
        "/devices",
        "[0,1]",
    ),
    (
        "B51",
        "allocate --machine FILE --machine tests/field/four-a40.txt --gpus 2",
        "/nominal_gbps",
        "56.25",
    ),
    (
        "B55",
        "topo --machine FILE",
        "error",
        "`mapa-bench measured add` takes",
    ),
    (
        "B57",
        "allocate --machine FILE --gpus 2",
        "/devices",
        "[1,2]",
    ),
    (
        "B57",
        "allocate --machine FILE --gpus 2 --like any",
        "/devices",
        "[0,1]",
    ),
    ("B59", "topo --machine FILE", "/devices/0/direct_links", "6"),
    (
        "B62",
        "simulate --machine dgx-a100 --trace FILE",
        "/machine",
        "\"dgx-a100\"",
    ),
    (
        "B64",
        "topo --machine FILE",
        "error",
        "a list of jobs by Slurm's `sacct`",
    ),
];

/// Reports with a text whose expected answer is not given, or not looked at here, and why.
const NOT_YET: &[(&str, &str)] = &[
    ("B41", "looked at in the tests of NCCL's topology"),
    ("B43", "looked at in the tests of NCCL's topology"),
    (
        "B44",
        "profiles of MIG by their shape: tests of the reader of `nvidia-smi mig`",
    ),
    (
        "B45",
        "looked at in the tests of the reader of `nvidia-smi mig`",
    ),
    (
        "B58",
        "partitions of a machine file: looked at in the tests of policies",
    ),
];

/// Returns the value at the place that a row names, or what the program printed instead.
pub(crate) fn found(words: &str, place: &str, expected: &str) -> String {
    let is_line = ["error", "warning", "refused"].contains(&place);
    let words = if is_line {
        words.to_owned()
    } else {
        format!("{words} --json")
    };
    let output = command(&words).output().unwrap();
    let text = String::from_utf8([output.stdout.clone(), output.stderr].concat()).unwrap();
    if is_line {
        let mut lines = text.lines().filter(|line| line.starts_with(place));
        let line = lines.find(|line| line.contains(expected));
        return line.map_or(text.clone(), |_| expected.to_owned());
    }
    match serde_json::from_slice::<Value>(&output.stdout) {
        Ok(object) => object.pointer(place).unwrap_or(&Value::Null).to_string(),
        Err(_) => text,
    }
}

#[test]
fn questions_that_people_asked_get_the_expected_answer() {
    let Some(data) = real_data() else {
        return;
    };
    let inputs = data.join("field/inputs");
    let mut wrong = Vec::new();
    for (report, words, place, expected) in ROWS {
        let file = inputs.join(format!("{report}.txt"));
        let words = words.replace("FILE", file.to_str().unwrap());
        let found = found(&words, place, expected);
        if found != *expected {
            wrong.push(format!(
                "{report}, {words}, {place}: expected {expected}, found {found}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_report_with_a_text_is_looked_at() {
    let Some(data) = real_data() else {
        return;
    };
    let known = |report: &str| {
        ROWS.iter().any(|row| row.0 == report) || NOT_YET.iter().any(|row| row.0 == report)
    };
    for entry in fs::read_dir(data.join("field/inputs")).unwrap() {
        let name = entry.unwrap().file_name();
        let name = Path::new(&name);
        let report = name.file_stem().unwrap().to_str().unwrap();
        // A machine file of an adversary is in the tests of the host's network.
        let is_report = name.extension().is_some_and(|end| end == "txt");
        assert!(!is_report || known(report), "{report}: no expected answer");
    }
}

/// The files below a folder.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_below(&path));
        } else {
            found.push(path);
        }
    }
    found
}

/// Why an answer's bandwidth cannot be, if it cannot.
fn objection(chosen: &Value, machine: &Value) -> Option<String> {
    let bandwidth = chosen["nominal_gbps"]
        .as_f64()
        .or(chosen["bandwidth_gbps"].as_f64())?;
    let is_assumed = chosen["assumed_link_gbps"].is_f64() || chosen["assumed_host_gbps"].is_f64();
    let device = &machine["devices"][chosen["devices"][0].as_u64()? as usize];
    let Some(product) = device["product"].as_str() else {
        // A bare matrix counts links, and has no rate of any.
        let is_bare = machine["source"] == "nvidia-smi topo -m";
        return (is_bare && !is_assumed).then(|| "nothing is said to be assumed".to_owned());
    };
    let most = products::links(product)
        .and_then(|links| links.gbps())
        .into_iter()
        .chain(products::pcie(product).and_then(|pcie| pcie.gbps()))
        .reduce(f64::max)?;
    (bandwidth > most * 1.001).then(|| format!("{bandwidth} GB/s of {product}, which has {most}"))
}

#[test]
fn no_bandwidth_is_above_what_the_products_links_carry_or_assumed_in_silence() {
    let Some(data) = real_data() else {
        return;
    };
    let mut texts = files_below(&data.join("field/inputs"));
    texts.extend(files_below(&data.join("samples")));
    texts.sort();
    let (mut answered, mut wrong) = (0, Vec::new());
    for text in texts {
        let file = text.to_str().unwrap();
        let object = |words: &str| {
            let output = command(&format!("{words} --machine {file} --json"))
                .output()
                .unwrap();
            let is_answer = output.status.success();
            is_answer.then(|| serde_json::from_slice::<Value>(&output.stdout).unwrap())
        };
        let Some((chosen, machine)) = object("allocate --gpus 2").zip(object("topo")) else {
            continue;
        };
        answered += 1;
        wrong.extend(objection(&chosen, &machine).map(|why| format!("{file}: {why}")));
    }
    assert!(answered > 120, "{answered}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
