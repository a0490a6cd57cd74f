//! `pattern from-nvlink`: from counters of links to an allocation.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::common::{Folder, answer, error, no, text};

/// As the paper's Fig. 9b prints it.
const FIG_9B: &str = include_str!("../../../mapa-patterns/tests/readings/fig-9b.txt");

fn payload(forth: u64, back: u64) -> String {
    format!(
        "GPU 0: V100 (UUID: GPU-0a)\n\t Link 0: Data Tx: {forth} KiB\n\t Link 0: Data Rx: {back} KiB\n\
         GPU 1: V100 (UUID: GPU-0b)\n\t Link 0: Data Tx: {back} KiB\n\t Link 0: Data Rx: {forth} KiB\n"
    )
}

#[test]
fn the_papers_example_becomes_a_file_that_allocate_takes() {
    let room = Folder::of_programs();
    let reading = room.write("fig9b.txt", FIG_9B);
    let (pattern, dot) = (
        room.at("job.toml").display().to_string(),
        room.at("job.dot").display().to_string(),
    );
    let found = answer(&format!(
        "pattern from-nvlink {reading} --machine dgx-1p --output {pattern} --dot {dot}"
    ));
    let bytes = 6_417_636_280.0 * 1024.0;
    assert_eq!(found["edges"], json!([[0, 1, bytes]]));
    assert_eq!(
        (&found["labels"], &found["unit"], &found["notes"]),
        (&json!(["GPU5", "GPU6"]), &json!("bytes"), &json!([]))
    );
    assert!(fs::read_to_string(dot).unwrap().contains("GPU5"));
    let alone = text(&format!("pattern from-nvlink {reading}"), "");
    assert!(
        alone.contains("inferred from counters") && alone.contains("6.6 TB"),
        "{alone}"
    );
    let placed = answer(&format!("allocate --machine dgx-1p --pattern {pattern}"));
    assert_eq!(placed["devices"].as_array().unwrap().len(), 2, "{placed}");
    // From standard input, with ranks in an order of their own.
    let turned: Value = serde_json::from_str(&text(
        "pattern from-nvlink - --devices GPU6,5 --json",
        FIG_9B,
    ))
    .unwrap();
    assert_eq!(turned["labels"], json!(["GPU6", "GPU5"]));
}

#[test]
fn two_readings_are_compared_and_what_is_wrong_names_file_and_line() {
    let room = Folder::of_programs();
    let before = room.write("before.txt", payload(1000, 500));
    let after = room.write("after.txt", payload(9000, 2500));
    let reset = room.write("reset.txt", payload(900, 2500));
    assert_eq!(
        answer(&format!("pattern from-nvlink {before} {after}"))["edges"],
        json!([[0, 1, 8000.0 * 1024.0]])
    );
    insta::assert_snapshot!(
        error(&format!("pattern from-nvlink {before} {reset}")),
        @"error: FOLDER/reset.txt: line 3: GPU0 link 0 sent 921600 and received 2560000 bytes, but sent 1024000 and received 512000 bytes in the earlier reading: its counters were reset between the readings (or have wrapped, at a width that is not documented): expected two readings without a reset between them, or --resets to count from the reset"
    );
    insta::assert_snapshot!(
        error(&format!("pattern from-nvlink {after} {before}")),
        @"error: FOLDER/before.txt: line 3: GPU0 link 0 sent 1024000 and received 512000 bytes, but sent 9216000 and received 2560000 bytes in the earlier reading: no counter ran forwards: expected the earlier reading first"
    );
    let counted = answer(&format!("pattern from-nvlink {before} {reset} --resets"));
    assert_eq!(counted["edges"], json!([[0, 1, 2500.0 * 1024.0]]));
    insta::assert_snapshot!(
        error(&format!("pattern from-nvlink {before} {after} {after}")),
        @"error: unexpected value 'FOLDER/after.txt' for '[READING]...' found; no more were expected"
    );
    let (object, status) = no(&format!("pattern from-nvlink {before} {reset} --json"));
    assert_eq!((status, object["error"].is_null()), (2, false), "{object}");
    insta::assert_snapshot!(error("pattern from-nvlink"), @"
    error: the following required arguments were not provided:
      --machine <NAME|FILE|->
      <READING>...
    ");
    insta::assert_snapshot!(
        error(&format!("pattern from-nvlink {before} --noise 80")),
        @"error: --noise 80: expected a percentage from 0 to 50"
    );
    insta::assert_snapshot!(
        error(&format!("pattern from-nvlink {before} --tolerance 80")),
        @"error: --tolerance 80: expected a percentage from 0 to 50"
    );
    insta::assert_snapshot!(
        error(&format!("pattern from-nvlink {before} --devices 0,99")),
        @"error: FOLDER/before.txt: --devices 99: device `99` is not in the reading: expected one of GPU0, GPU1"
    );
    insta::assert_snapshot!(
        error(&format!("pattern from-nvlink {before} --machine no-such-machine")),
        @"error: no machine is called `no-such-machine`: expected a name that `mapa-bench machines` lists, or complete:N, ring:N[@GB/s], torus:A[xB[xC]][@GB/s], mesh:A[xB[xC]][@GB/s], hypercube:D[@GB/s], fleet:K[@GB/s]xMACHINE, a file, or - for standard input"
    );
    insta::assert_snapshot!(
        error(&format!("pattern from-nvlink {before} --pcie {after}")),
        @"error: FOLDER/after.txt: line 1: expected the output of `nvidia-smi dmon -s t`, with its line `# gpu rxpci txpci`"
    );
}

#[test]
#[cfg(target_os = "linux")]
fn a_live_machine_is_read_twice() {
    let room = Folder::of_programs();
    let place = room.root().display();
    let topo = "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tNV1\t0-15\t0\nGPU1\tNV1\t X \t0-15\t0\n";
    room.write("topo.txt", topo);
    room.write("first.txt", payload(10, 20));
    room.write("later.txt", payload(5010, 7020));
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in\n'topo -m') cat {place}/topo.txt;;\n'nvlink -gt d') if [ -e {place}/asked ]; then cat \
         {place}/later.txt; else touch {place}/asked; cat {place}/first.txt; fi;;\nesac\nexit 0\n"
    );
    let script = room.write("script.txt", &script);
    let command = room.at("nvidia-smi");
    // Written by another process: one that this process had open while another test starts a
    // command could not be run.
    assert!(
        Command::new("install")
            .args(["-m", "755"])
            .arg(script)
            .arg(&command)
            .status()
            .unwrap()
            .success()
    );
    let words = format!(
        "pattern from-nvlink --live --no-cache --for 0.05 --nvml {place}/none.so --kfd {place}/none --nvidia-smi {}",
        command.display()
    );
    let found = answer(&words);
    assert_eq!(found["edges"], json!([[0, 1, 7000.0 * 1024.0]]), "{found}");
    assert!(
        found["source"]
            .as_str()
            .unwrap()
            .starts_with("two readings")
    );
    insta::assert_snapshot!(
        error(&words.replace("--for 0.05", "--for 0")),
        @"error: --for 0: expected seconds, at most 86400"
    );
}
