//! Questions that people asked in public about this very job, and what MAPA answers. The texts are others' and are
//! read from `MAPA_DATA`; what is expected of each stands here.
//!
//! A report that is not answered as expected is in [`NOT_YET`], and not among these rows.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::{answer, command};
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
        "B05",
        "allocate --machine FILE --gpus 2",
        "/bandwidth_gbps",
        "150.0",
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
    (
        "B02",
        "PCIe slots of 8 lanes are not told from those of 16 by the product's name",
    ),
    (
        "B04",
        "links of an unknown generation count 25 GB/s, and the answer does not say so",
    ),
    (
        "B09",
        "kinds of parallelism have no default share of the traffic",
    ),
    (
        "B10",
        "a bare matrix does not show that the GPUs are GeForce, so P2P is assumed on, with a note",
    ),
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
        "B52",
        "three of four links are up, and no answer reports it",
    ),
    (
        "B58",
        "partitions of a machine file: looked at in the tests of policies",
    ),
];

/// Returns the value at the place that a row names.
fn found(words: &str, place: &str, expected: &str) -> String {
    match place {
        "error" | "warning" | "refused" => {
            let output = command(words).output().unwrap();
            let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
            let mut lines = text.lines().filter(|line| line.starts_with(place));
            let line = lines.find(|line| line.contains(expected));
            line.map_or(text.clone(), |_| expected.to_owned())
        }
        pointer => answer(words)
            .pointer(pointer)
            .unwrap_or(&Value::Null)
            .to_string(),
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
