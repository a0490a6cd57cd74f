//! The programs of the shared data are placed as their table says.

use crate::program::{LEVELS, cc, compile, folder};
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

struct Row {
    files: &'static [&'static str],
    /// Whether everything is static.
    is_static: bool,
    /// Arguments, and what happens.
    runs: &'static [(&'static str, &'static str)],
}

const fn row(
    files: &'static [&'static str],
    is_static: bool,
    runs: &'static [(&'static str, &'static str)],
) -> Row {
    Row {
        files,
        is_static,
        runs,
    }
}

#[rustfmt::skip]
const TABLE: &[Row] = &[
    row(&["01_vecadd.cu"], true, &[("", "begin 12000 32, end"), ("500", "begin 6000 16, end")]),
    row(&["02_pipeline.cu"], true, &[("", "begin 65536 128, end")]),
    row(&["03_two_tasks.cu"], true, &[("", "begin 1024 2, end, begin 2048 6, end")]),
    row(&["05_loop_inside.cu"], true, &[
        ("", "begin 1024 4, end, begin 2048 8, end, begin 3072 12, end"),
        ("0", ""),
        ("1", "begin 1024 4, end"),
        ("5", "begin 1024 4, end, begin 2048 8, end, begin 3072 12, end, begin 4096 16, end, begin 5120 20, end"),
    ]),
    row(&["06_loop_around.cu"], true, &[
        ("", "begin 64 4, end"), ("0", "begin 0 0, end"), ("1", "begin 4 1, end"), ("5", "begin 100 5, end"),
    ]),
    row(&["07_early_return.cu"], true, &[
        ("", "begin 4096 0, end, begin 8192 64, end"),
        ("x", "exit 3, begin 8192 0, end, begin 8192 64, end"),
        ("x y", "exit 3, begin 12288 0, end, begin 8192 64, end"),
        // The first cudaMalloc fails: the edge on which `work` returns 2 ends its task.
        ("fail=1", "exit 255, begin 4096 0, end, begin 8192 64, end"),
    ]),
    row(&["09_helper.cu"], true, &[("", "begin 7680 20, end")]),
    row(&["10_units_a.cu", "10_units_b.cu"], false, &[("", "begin 4000 16, end")]),
    row(&["11_late_size.cu"], false, &[("", "begin 14096 1, end")]),
    row(&["13_container.cu"], false, &[("", "begin 1536 1, end"), ("5", "begin 3840 1, end")]),
    row(&["14_streams.cu"], true, &[("", "begin 4352 2, end")]),
    row(&["15_recursive.cu"], true, &[("", "begin 8192 0, end")]),
    row(&["17_early_touch.cu"], true, &[("", "begin 1024 2, end")]),
    row(&["19_global_size.cu"], true, &[("", "begin 2000 4, end"), ("x", "exit 1")]),
    row(&["20_opaque.cu"], false, &[("", "begin 8192 1, extend 1000 3, end")]),
    row(&["21_no_launch.cu"], true, &[("", "begin 1048576 0, end")]),
    row(&["22_never_freed.cu"], true, &[("", "begin 8192 16, end")]),
];

/// The library of program 20, which takes memory of its own.
const LIBRARY: &str = r#"
__global__ void gemm(float *p) {}
extern "C" int lib_gemm(void *, int, const float *, float *) {
  float *own;
  cudaMalloc(&own, 1000);
  gemm<<<3, 32>>>(own);
  cudaFree(own);
  return 0;
}
"#;

/// The folder of the programs; none, and a word on standard error, if `MAPA_DATA` is unset.
fn data() -> Option<PathBuf> {
    let Some(data) = std::env::var_os("MAPA_DATA").map(PathBuf::from) else {
        // Not `eprintln`, which the test harness keeps to itself.
        let _ = writeln!(
            std::io::stderr(),
            "shared programs: skipped, MAPA_DATA is not set"
        );
        return None;
    };
    // Tests run in their package's folder, people set it relative to the workspace's.
    let data = if data.is_relative() {
        folder().join("../../..").join(data)
    } else {
        data
    };
    Some(data.join("case/programs"))
}

#[test]
fn shared_programs_are_placed_as_their_table_says() {
    let Some(folder) = data() else { return };
    let own = tempfile::tempdir().unwrap();
    let library = own.path().join("library.cu");
    fs::write(&library, LIBRARY).unwrap();
    for row in TABLE {
        let mut sources: Vec<PathBuf> = row.files.iter().map(|f| folder.join(f)).collect();
        if row.files[0].starts_with("20") {
            sources.push(library.clone());
        }
        for level in LEVELS {
            let program = compile(&sources, &[level]);
            let own = |r: &&String| !r.contains("library.cu");
            let lazy = program
                .remarks
                .iter()
                .filter(own)
                .any(|r| r.contains(": lazy:"));
            assert_eq!(
                !lazy, row.is_static,
                "{:?} {level}: {:?}",
                row.files, program.remarks
            );
            for (arguments, expected) in row.runs {
                let words = arguments.split_whitespace();
                let (failing, words): (Vec<&str>, Vec<&str>) =
                    words.partition(|w| w.starts_with("fail="));
                let failing = failing.first().map_or("", |f| &f["fail=".len()..]);
                let got = program.trace(&words, failing);
                assert_eq!(&got, expected, "{:?} {level} {arguments:?}", row.files);
            }
        }
    }
}

#[test]
fn files_that_are_lazy_apart_are_static_together() {
    let Some(folder) = data() else { return };
    let sources = ["10_units_a.cu", "10_units_b.cu"].map(|f| folder.join(f));
    for level in LEVELS {
        let program = compile(&sources, &["--lto", level]);
        assert!(
            program.remarks.iter().all(|r| r.contains(": static:")),
            "{:?}",
            program.remarks
        );
        assert_eq!(program.trace(&[], ""), "begin 4000 16, end", "{level}");
    }
}

/// Where begin and end stand among the calls of `main`, in the order of its code. What is left out: launches, and the
/// program whose paths part, which the runs above take one by one.
#[rustfmt::skip]
const CALLS: &[(&str, &str)] = &[
    ("01_vecadd", "begin Malloc Malloc Malloc Memcpy Memcpy Memcpy Free Free Free end"),
    ("02_pipeline", "begin Malloc Memset Malloc Free Malloc DeviceSynchronize Free Free end"),
    ("03_two_tasks", "begin Malloc Free end begin Malloc Free end"),
    ("05_loop_inside", "begin Malloc DeviceSynchronize Free end"),
    ("06_loop_around", "begin Malloc Memcpy Free end"),
    ("09_helper", "begin Malloc Malloc Memset Free Free end"),
    ("14_streams", "begin StreamCreate MallocManaged MallocAsync MemcpyAsync FreeAsync StreamSynchronize Free end StreamDestroy"),
    ("15_recursive", "begin Malloc Malloc Free Free end"),
    ("17_early_touch", "begin GetDeviceCount SetDevice DeviceSynchronize Malloc Free end"),
    ("19_global_size", "scanf begin Malloc Malloc Memcpy Free Free end"),
    ("21_no_launch", "begin Malloc Memcpy Free end"),
    // It ends with its process.
    ("22_never_freed", "begin Malloc DeviceSynchronize"),
];

/// The calls of `main` in LLVM's text.
fn calls(code: &str) -> String {
    let main = code
        .split("\ndefine ")
        .find(|f| f.lines().next().is_some_and(|l| l.contains("@main(")));
    let body = main.unwrap().split("\n}").next().unwrap();
    let mut all = Vec::new();
    for line in body.lines() {
        let Some(name) = line
            .split_once("call ")
            .and_then(|(_, l)| l.split_once('@')?.1.split('(').next())
        else {
            continue;
        };
        match name {
            "case_task_begin" => all.push("begin"),
            "case_task_end" => all.push("end"),
            "cudaLaunchKernel" => {}
            _ if name.ends_with("scanf") => all.push("scanf"),
            _ => all.extend(name.strip_prefix("cuda")),
        }
    }
    all.join(" ")
}

#[test]
fn begins_and_ends_stand_where_the_table_says() {
    let Some(folder) = data() else { return };
    let own = tempfile::tempdir().unwrap();
    let code = own.path().join("code.ll");
    for (name, expected) in CALLS {
        let source = folder.join(format!("{name}.cu"));
        for level in LEVELS {
            let [source, code] = [&source, &code].map(|p| p.to_str().unwrap());
            let (done, errors) = cc(&["-S", "-emit-llvm", level, source, "-o", code]);
            assert!(done, "{errors}");
            let text = fs::read_to_string(code).unwrap();
            assert_eq!(&calls(&text), expected, "{name} {level}");
        }
    }
}
