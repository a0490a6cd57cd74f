//! Sweeps: the same bits however they are run, nothing finished lost, nothing half-finished
//! believed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, SystemTime};

use crate::common::{Folder, stderr};
use serde_json::{Value, json};

/// A folder with the sweep file `night.toml`.
struct Night(Folder);

impl Night {
    fn new() -> Self {
        Self(Folder::new())
    }

    fn with(file: &str) -> Self {
        let night = Self::new();
        night.write("night.toml", file);
        night
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.at(name)
    }

    fn write(&self, name: &str, text: &str) {
        self.0.write(name, text);
    }

    /// `mapa-bench sweep night.toml` and these words, run here.
    fn command(&self, words: &str) -> Command {
        self.0.command(&format!("sweep night.toml {words}"))
    }

    fn run(&self, words: &str) -> Output {
        self.command(words).output().unwrap()
    }

    /// What a sweep that ends well says with `--json`.
    fn answer(&self, words: &str) -> Value {
        self.0.answer(&format!("sweep night.toml {words}"))
    }

    /// What a sweep that does not end well says on standard error.
    fn error(&self, words: &str) -> String {
        stderr(words, self.run(words))
    }

    /// The files of finished cells in a folder, and when they were written.
    fn cells(&self, folder: &str) -> BTreeMap<PathBuf, SystemTime> {
        let Ok(listed) = fs::read_dir(self.at(folder).join("cells")) else {
            return BTreeMap::new();
        };
        let paths = listed.map(|entry| entry.unwrap().path());
        let cells = paths.filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "cell")
        });
        cells
            .map(|path| {
                (
                    path.clone(),
                    fs::metadata(&path).unwrap().modified().unwrap(),
                )
            })
            .collect()
    }

    /// The bytes of the files in a folder.
    fn results(&self, folder: &str) -> BTreeMap<String, Vec<u8>> {
        results(&self.at(folder))
    }
}

fn results(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let files = entries.filter(|entry| entry.file_type().unwrap().is_file());
    files
        .map(|file| {
            (
                file.file_name().into_string().unwrap(),
                fs::read(file.path()).unwrap(),
            )
        })
        .collect()
}

const SMALL: &str = r#"
machines = ["dgx-1v", "summit"]
policies = ["lowest-id", "preserve"]
executions = ["effective-bandwidth", "fixed"]
generate = ["mapa,jobs=20"]
seeds = [3, 1]
jobs = ["own.csv"]
"#;

const JOBS: &str =
    "2,ring,0,10,1,VGG-16\n4,ring,1,20,1,AlexNet\n1,ring,1,5,0,GMM\n6,ring,2,7,0,Jacobi\n";

fn small() -> Night {
    let folder = Night::with(SMALL);
    folder.write("own.csv", JOBS);
    folder
}

#[test]
fn results_are_the_same_bits_on_any_number_of_threads_and_in_parts() {
    let folder = small();
    let whole = folder.answer("--into whole --rows --threads 1");
    assert_eq!(
        (&whole["cells"], &whole["ran"], &whole["missing"]),
        (&json!(24), &json!(24), &json!(0))
    );
    assert_eq!(whole["results"].as_array().unwrap().len(), 6);
    folder.answer("--into threads --rows --threads 4");
    for part in 1..=3 {
        let part = folder.answer(&format!(
            "--into part{part} --rows --shard {part}/3 --threads 2"
        ));
        assert_eq!(
            (&part["ran"], &part["missing"], &part["results"]),
            (&json!(8), &json!(16), &json!([]))
        );
    }
    let error = folder.error("--into merged --rows --merge part1 part3");
    insta::assert_snapshot!(
        error,
        @"error: 8 cells are in none of the folders: 1, 4, 7, 10, 13, 16, 19, 22; expected all, so that the results can be written"
    );
    let merged = folder.answer("--into merged --rows --merge part2 part1 part3");
    assert_eq!(
        (&merged["there"], &merged["taken_over"], &merged["missing"]),
        (&json!(16), &json!(8), &json!(0))
    );
    let expected = folder.results("whole");
    assert_eq!(expected.len(), 6);
    assert!(expected == folder.results("threads") && expected == folder.results("merged"));
}

#[test]
fn processes_that_share_a_folder_do_each_other_no_harm() {
    let folder = small();
    folder.answer("--into alone");
    let spawn = |_| folder.command("--into shared --threads 2").spawn().unwrap();
    let processes: Vec<_> = (0..4).map(spawn).collect();
    for process in processes {
        let output = process.wait_with_output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    assert!(folder.results("alone") == folder.results("shared"));
    assert_eq!(fs::read_dir(folder.at("shared/cells")).unwrap().count(), 24);
}

/// A sweep of two cells a seed that was killed once three cells were there, or was over before.
fn killed_with(seeds: usize) -> Night {
    let words = "machines = [\"dgx-1v\"]\npolicies = [\"topo-aware\", \"preserve\"]\ngenerate = [\"mapa\"]\nseeds = ";
    let folder = Night::with(&format!("{words}\"1..{seeds}\""));
    let mut killed = folder.command("--into night --threads 2").spawn().unwrap();
    while folder.cells("night").len() < 3 && killed.try_wait().unwrap().is_none() {
        thread::sleep(Duration::from_millis(1));
    }
    // One that has ended cannot be killed.
    let _ = killed.kill();
    killed.wait().unwrap();
    folder
}

#[test]
fn a_killed_sweep_goes_on_and_runs_no_finished_cell_again() {
    // A host may be so fast that all is over before it is killed: then with more cells.
    let (mut all, mut folder) = (30, killed_with(15));
    while folder.cells("night").len() == all && all < 500 {
        all *= 4;
        folder = killed_with(all / 2);
    }
    let finished = folder.cells("night");
    match finished.len() == all {
        true => println!(
            "all {all} cells were there before the sweep could be killed: only that none is run again is tested"
        ),
        false => assert!(folder.results("night").is_empty()),
    }
    // What a process may leave that is killed while it writes.
    fs::write(folder.at("night/cells/000029-0.1-0.draft"), "mapa-bench sw").unwrap();
    let went_on = folder.answer("--into night");
    assert_eq!(went_on["there"], json!(finished.len()));
    assert_eq!(went_on["ran"], json!(all - finished.len()));
    let after = folder.cells("night");
    assert!(
        finished
            .iter()
            .all(|(path, written)| after[path] == *written),
        "a finished cell was written again"
    );
    folder.answer("--into at-once");
    assert!(folder.results("night") == folder.results("at-once"));
}

#[test]
fn cells_that_are_cut_off_or_changed_are_run_again() {
    let folder = small();
    folder.answer("--into night");
    let before = folder.results("night");
    let paths: Vec<PathBuf> = folder.cells("night").into_keys().collect();
    let bytes = fs::read(&paths[0]).unwrap();
    let mut changed = bytes.clone();
    let at = changed.iter().rposition(u8::is_ascii_digit).unwrap();
    changed[at] ^= 1;
    let damaged: [&[u8]; 7] = [
        b"",
        &bytes[..20],
        &bytes[..bytes.len() / 2],
        &bytes[..bytes.len() - 1],
        &changed,
        b"\xff\x00garbage\nmore",
        // Whole, and of another cell.
        &bytes,
    ];
    for (path, bytes) in paths[1..].iter().zip(damaged) {
        fs::write(path, bytes).unwrap();
    }
    let merge = folder.error("--into other --merge night");
    // The names of the files have sums of what the cells are made of.
    insta::assert_snapshot!(
        merge.lines().last().unwrap(),
        @"error: 7 cells are in none of the folders: 1, 2, 3, 4, 5, 6, 7; expected all, so that the results can be written"
    );
    let output = folder.run("--into night --json");
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&answer["damaged"], &answer["ran"], &answer["there"]),
        (&json!(7), &json!(7), &json!(17))
    );
    let warnings = String::from_utf8(output.stderr).unwrap();
    assert!(
        warnings.contains("its checksum does not match: truncated or changed: run again"),
        "{warnings}"
    );
    assert!(
        warnings.contains("contains another cell than its name says"),
        "{warnings}"
    );
    assert!(before == folder.results("night"));
}

#[test]
fn cells_of_changed_files_and_of_other_sweeps_are_refused_until_they_are_discarded() {
    let folder = small();
    folder.answer("--into night");
    folder.write("own.csv", &JOBS.replace("1,20,1", "1,21,1"));
    // The name of the file has a sum of what the cell is made of.
    let contains = |error: String| error.split_once(".cell ").unwrap().1.to_owned();
    let error = contains(folder.error("--into night"));
    insta::assert_snapshot!(
        error,
        @"contains dgx-1v, own.csv, fifo, effective-bandwidth, lowest-id, and its machine, jobs or version have changed since; 8 such files: expected cells of this sweep only, another folder, or --discard to delete those"
    );
    assert_eq!(contains(folder.error("--into other --merge night")), error);
    let answer = folder.answer("--into night --discard");
    assert_eq!((&answer["there"], &answer["ran"]), (&json!(16), &json!(8)));
    folder.answer("--into fresh");
    assert!(folder.results("night") == folder.results("fresh"));
    folder.write("night.toml", &SMALL.replace("[3, 1]", "[4, 1]"));
    insta::assert_snapshot!(
        contains(folder.error("--into night")),
        @"contains dgx-1v, mapa,jobs=20 seed 3, fifo, effective-bandwidth, lowest-id, and the sweep's cell of this number is dgx-1v, mapa,jobs=20 seed 4, fifo, effective-bandwidth, lowest-id; 8 such files: expected cells of this sweep only, another folder, or --discard to delete those"
    );
}

#[test]
fn rows_of_jobs_are_worked_out_where_they_are_not_there_yet() {
    let folder = small();
    folder.answer("--into night");
    assert_eq!(folder.answer("--into night --rows")["ran"], json!(24));
    assert_eq!(folder.answer("--into night")["there"], json!(24));
    let rows = String::from_utf8(folder.results("night").remove("rows.csv").unwrap()).unwrap();
    assert!(
        rows.starts_with("cell,machine,workload,seed,scheduler,execution,policy,"),
        "{rows}"
    );
    let results: Value = serde_json::from_slice(&folder.results("night")["results.json"]).unwrap();
    let finished = |cell: &Value| cell["finished"].as_u64().unwrap() as usize;
    let finished: usize = results["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(finished)
        .sum();
    assert_eq!(rows.lines().count(), 1 + finished);
}

#[test]
fn a_cell_that_fails_says_so_in_its_row_and_stops_no_other() {
    let file = "machines = [\"dgx-1v\"]\npolicies = [\"lowest-id\"]\nexecutions = [\"fixed\", \"effective-bandwidth\"]\n\
                jobs = [\"long.csv\", \"own.csv\"]";
    let folder = Night::with(file);
    // Over the slowest links it would end beyond the last moment there is.
    folder.write("long.csv", "2,ring,0,18400000000,1,VGG-16\n");
    folder.write("own.csv", JOBS);
    let output = folder.run("--into night --json");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    insta::assert_snapshot!(stderr, @"error: 1 of 4 cells failed: see column `error`");
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&answer["ran"], &answer["failed"][0]["cell"]),
        (&json!(4), &json!(1))
    );
    let results: Value = serde_json::from_slice(&folder.results("night")["results.json"]).unwrap();
    let rows = results["results"].as_array().unwrap();
    assert!(
        rows.iter()
            .map(|row| row["error"].is_null())
            .eq([true, false, true, true]),
        "{rows:?}"
    );
    assert!(
        rows[1]["finished"].is_null() && rows[2]["finished"] == json!(4),
        "{rows:?}"
    );
    let again = folder.run("--into night");
    assert_eq!(again.status.code(), Some(2));
    assert!(
        String::from_utf8(again.stdout)
            .unwrap()
            .contains("4 existed, 0 are new, 0 missing\ncell 1 (dgx-1v, long")
    );
}

#[test]
fn a_part_answers_for_its_own_cells_and_counts_them() {
    let file = "machines = [\"dgx-1v\"]\npolicies = [\"lowest-id\"]\nexecutions = [\"fixed\", \"effective-bandwidth\"]\n\
                jobs = [\"long.csv\", \"own.csv\"]";
    let folder = Night::with(file);
    folder.write("long.csv", "2,ring,0,18400000000,1,VGG-16\n");
    folder.write("own.csv", JOBS);
    // Cell 1 fails: it is of part 2, which has run all the same.
    let part = folder.run("--into night --shard 2/2");
    assert_eq!(part.status.code(), Some(0));
    insta::assert_snapshot!(
        String::from_utf8(part.stderr).unwrap(),
        @"warning: 1 of 2 cells failed: see column `error`"
    );
    let told = String::from_utf8(part.stdout).unwrap();
    let counts = "2 cells of this part: 0 existed, 2 are new\n4 cells of all parts: 2 exist, 2 missing\ncell 1 ";
    assert!(told.starts_with(counts), "{told}");
    let other = folder.answer("--into night --shard 1/2");
    assert_eq!(
        (&other["of_part"], &other["ran"], &other["failed"]),
        (&json!(2), &json!(2), &json!([]))
    );
    assert_eq!(other["results"].as_array().unwrap().len(), 3);
    insta::assert_snapshot!(
        folder.error("--into night"),
        @"error: 1 of 4 cells failed: see column `error`"
    );
}

#[test]
fn a_sweep_that_grows_keeps_its_cells_under_their_new_numbers() {
    let words = |policies: &str, seeds: &str| {
        format!(
            "machines = [\"dgx-1v\"]\npolicies = [{policies}]\ngenerate = [\"mapa,jobs=20\"]\nseeds = {seeds}"
        )
    };
    let folder = Night::with(&words("\"greedy\", \"preserve\"", "[1, 2]"));
    folder.answer("--into night");
    folder.write("night.toml", &words("\"paper\"", "[3, 2, 1]"));
    let part = folder.answer("--into night --shard 1/3");
    assert_eq!(part["older_results"].as_array().unwrap().len(), 3);
    assert_eq!(folder.answer("--into night")["missing"], json!(0));
    assert_eq!(folder.cells("night").len(), 12);
    folder.answer("--into fresh");
    assert!(folder.results("night") == folder.results("fresh"));
    let written: Vec<PathBuf> = folder.cells("night").into_keys().collect();
    assert!(
        written
            .iter()
            .zip(folder.cells("fresh").keys())
            .all(|(a, b)| a.file_name() == b.file_name())
    );
    let before = folder.cells("night");
    folder.write("night.toml", &words("\"paper\"", "[4, 3, 2, 1]"));
    let grown = folder.answer("--into night");
    assert_eq!((&grown["there"], &grown["ran"]), (&json!(12), &json!(4)));
    assert_eq!(before.len(), 12);
}

#[test]
fn cells_are_listed_in_their_order_and_nothing_runs() {
    let folder = small();
    let list = folder.answer("--list");
    let cells = list["listed"].as_array().unwrap();
    assert_eq!((&list["cells"], cells.len()), (&json!(24), 24));
    let word = |cell: usize, key: &str| cells[cell][key].as_str().unwrap().to_owned();
    assert_eq!(
        [word(0, "policy"), word(1, "policy"), word(2, "policy")],
        ["lowest-id", "preserve", "lowest-id"]
    );
    assert_eq!(
        [word(1, "execution"), word(2, "execution")],
        ["effective-bandwidth", "fixed"]
    );
    assert_eq!(
        [&cells[3]["seed"], &cells[4]["seed"], &cells[8]["seed"]],
        [&json!(3), &json!(1), &Value::Null]
    );
    assert_eq!(
        [word(11, "machine"), word(12, "machine")],
        ["dgx-1v", "summit"]
    );
    let part = folder.answer("--dry-run --shard 2/5");
    let numbers: Vec<u64> = part["listed"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| cell["cell"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, [1, 6, 11, 16, 21]);
    assert_eq!(fs::read_dir(folder.0.root()).unwrap().count(), 2);
}

#[test]
fn shards_are_counted_from_one() {
    let folder = small();
    let said = ["0/4", "5/4", "x", "1/0", "1", "/", "1/4/4", "-1/4"]
        .map(|shard| folder.error(&format!("--into night --shard={shard}")));
    insta::assert_snapshot!(said.join("\n"), @"
    error: invalid value '0/4' for '--shard <I/N>': expected I/N, from 1/N to N/N, such as 1/4
    error: invalid value '5/4' for '--shard <I/N>': expected I/N, from 1/N to N/N, such as 1/4
    error: invalid value 'x' for '--shard <I/N>': expected I/N, from 1/N to N/N, such as 1/4
    error: invalid value '1/0' for '--shard <I/N>': expected I/N, from 1/N to N/N, such as 1/4
    error: invalid value '1' for '--shard <I/N>': expected I/N, from 1/N to N/N, such as 1/4
    error: invalid value '/' for '--shard <I/N>': expected I/N, from 1/N to N/N, such as 1/4
    error: invalid value '1/4/4' for '--shard <I/N>': expected I/N, from 1/N to N/N, such as 1/4
    error: invalid value '-1/4' for '--shard <I/N>': expected I/N, from 1/N to N/N, such as 1/4
    ");
    assert!(!folder.at("night").exists());
}

#[test]
fn sweep_files_that_make_no_sense_are_refused_with_the_key_and_what_was_expected() {
    let folder = Night::new();
    folder.write("own.csv", "0,ring,0,10,1,x\n");
    let plain = [
        ("machines", "[\"summit\"]"),
        ("policies", "[\"greedy\"]"),
        ("generate", "[\"mapa\"]"),
        ("seeds", "[1]"),
    ];
    let cases = [
        ("machines", "[]"),
        ("machines", "3"),
        ("machines", "[\"dgx-9\"]"),
        ("machines", "[\"-\"]"),
        ("policies", "[\"best\"]"),
        ("policies", "[\"greedy\", 1]"),
        ("policies", "[\"greedy\", \"greedy\"]"),
        ("mig", "\"a100\""),
        ("mig", "\"a100-40gb=4g,4g\""),
        ("pcie_gbps", "-1.0"),
        ("p2p", "\"maybe\""),
        ("policies", "[]"),
        ("schedulers", "[\"easy-backfill,speed=1\"]"),
        ("schedulers", "[\"lifo\"]"),
        ("executions", "[\"magic\"]"),
        ("generate", "[\"nobody\"]"),
        ("seeds", "\"9..1\""),
        ("seeds", "\"0..99999999999\""),
        ("seeds", "[-1]"),
        ("seeds", "[]"),
        ("seeds", "\"1..999999\"\nschedulers = [\"fifo\", \"b\"]"),
        ("jobs", "[\"none.csv\"]"),
        ("jobs", "[\"own.csv\"]"),
        ("traces", "[\"none.csv\"]"),
        ("select", "\"first=1\""),
        ("polices", "[\"greedy\"]"),
    ];
    let said = cases.map(|(key, value)| {
        let mut keys: BTreeMap<&str, &str> = plain.into();
        keys.insert(key, value);
        let mut text: Vec<String> = keys
            .iter()
            .map(|(key, value)| format!("{key} = {value}"))
            .collect();
        text.sort_by_key(|line| !line.starts_with(key));
        folder.write("night.toml", &text.join("\n"));
        format!("{key} = {value}\n{}", folder.error("--into night"))
    });
    insta::assert_snapshot!(said.join("\n"), @r#"
    machines = []
    error: night.toml: `machines` is empty: expected at least one word
    machines = 3
    error: night.toml: line 1, `machines = 3`: integer: expected a list of words, such as ["one", "two"]
    machines = ["dgx-9"]
    error: night.toml: `machines`: no machine is called `dgx-9` (did you mean dgx-2, dgx-1p or dgx-1v?): expected a name that `mapa-bench machines` lists, or complete:N, ring:N[@GB/s], torus:A[xB[xC]][@GB/s], mesh:A[xB[xC]][@GB/s], hypercube:D[@GB/s], fleet:K[@GB/s]xMACHINE, a file, or - for standard input
    machines = ["-"]
    error: night.toml: `machines`: standard input cannot be read twice: expected a file
    policies = ["best"]
    error: night.toml: `policies`: no policy is called `best`: expected one of auto, lowest-id, topo-aware, ..
    policies = ["greedy", 1]
    error: night.toml: line 1, `policies = ["greedy", 1]`: `1`: expected a list of words, such as ["one", "two"]
    policies = ["greedy", "greedy"]
    error: night.toml: line 1, `policies = ["greedy", "greedy"]`: `greedy` is listed twice: expected each word once
    mig = "a100"
    error: night.toml: `mig`: no GPU with MIG is called `a100`: expected a30, a100-40gb, a100-80gb, ..
    mig = "a100-40gb=4g,4g"
    error: night.toml: `mig`: 2 of 4g.20gb are wanted, at most 1 may exist; at most 1 of the 2 can exist at once, as in 4g.20gb@0
    pcie_gbps = -1.0
    error: night.toml: `pcie_gbps`: paths through the host: bandwidth -1 GB/s: expected a positive number, at most 1e9
    p2p = "maybe"
    error: night.toml: line 1, `p2p = "maybe"`: unknown variant `maybe`, expected `on` or `off`
    policies = []
    error: night.toml: `policies`: expected at least one word, as fifo has no policy of its own
    schedulers = ["easy-backfill,speed=1"]
    error: night.toml: `schedulers`: scheduler `easy-backfill,speed=1`: `speed=1`: no setting is called `speed`: expected the name alone, as this scheduler has no settings
    schedulers = ["lifo"]
    error: night.toml: `schedulers`: no scheduler is called `lifo` (did you mean fifo?): expected fifo, easy-backfill, conservative-backfill, ..
    executions = ["magic"]
    error: night.toml: `executions`: no execution model is called `magic`
    generate = ["nobody"]
    error: night.toml: `generate`: generator `nobody`: no generator is called `nobody`
    seeds = "9..1"
    error: night.toml: line 1, `seeds = "9..1"`: `9..1`: expected a range such as "1..60", both ends included, or a list of integers, none below 0
    seeds = "0..99999999999"
    error: night.toml: line 1, `seeds = "0..99999999999"`: `0..99999999999`: expected a range such as "1..60", both ends included, or a list of integers, none below 0
    seeds = [-1]
    error: night.toml: line 1, `seeds = [-1]`: `-1`: expected a range such as "1..60", both ends included, or a list of integers, none below 0
    seeds = []
    error: night.toml: `seeds` is empty: expected at least one
    seeds = "1..999999"
    schedulers = ["fifo", "b"]
    error: night.toml: 1999998 cells: expected at most 1000000
    jobs = ["none.csv"]
    error: night.toml: `jobs`: none.csv: No such file or directory (os error 2)
    jobs = ["own.csv"]
    error: night.toml: `jobs`: own.csv: line 1: numGpus `0`: expected a number of devices from 1 to 1024
    traces = ["none.csv"]
    error: night.toml: `traces`: none.csv: No such file or directory (os error 2)
    select = "first=1"
    error: night.toml: `select` is for `traces`: expected traces = ["KIND=FILE"] too
    polices = ["greedy"]
    error: night.toml: line 1, `polices = ["greedy"]`: unknown field `polices`, expected one of `machines`, `mig`, `pcie_gbps`, ..
    "#);
    folder.write(
        "night.toml",
        "machines = [\"summit\"]\npolicies = [\"greedy\"]",
    );
    insta::assert_snapshot!(
        folder.error("--into night"),
        @"error: night.toml: no workload: expected `generate` with `seeds`, `jobs` or `traces`"
    );
    folder.write(
        "night.toml",
        "machines = [\"summit\"]\npolicies = [\"greedy\"]\ngenerate = [\"mapa\"]",
    );
    insta::assert_snapshot!(
        folder.error("--into night"),
        @r#"error: night.toml: `generate` without `seeds`: expected seeds = "1..60", say"#
    );
    folder.write(
        "night.toml",
        "policies = [\"greedy\"]\ngenerate = [\"mapa\"]",
    );
    insta::assert_snapshot!(
        folder.error("--into night"),
        @r#"error: night.toml: line 1, `policies = ["greedy"]`: missing field `machines`"#
    );
    folder.write(
        "night.toml",
        "machines = [\"summit\"]\npolicies = []\ngenerate = [\"mapa\"]\nseeds = [1]",
    );
    insta::assert_snapshot!(
        folder.error("--into night"),
        @"error: night.toml: `policies`: expected at least one word, as fifo has no policy of its own"
    );
    assert!(!folder.at("night").exists());
}

/// What stands between ```KIND and ``` on the page, by order.
fn blocks(page: &str, kind: &str) -> Vec<String> {
    let begin = format!("```{kind}\n");
    page.split(&begin)
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap().to_owned())
        .collect()
}

/// Runs a line of a script as a cluster would, `mapa-bench` being in the path.
fn shell(shell: &str, line: &str, folder: &Night, variables: &[(&str, String)]) {
    let programs = Path::new(env!("CARGO_BIN_EXE_mapa-bench"))
        .parent()
        .unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(shell);
    command
        .args(["-c", line])
        .current_dir(folder.0.root())
        .env("PATH", path);
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{line}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[cfg(unix)]
#[test]
fn the_pages_example_runs_and_its_scripts_run_every_part() {
    let page = include_str!("../../../docs/sweeps.md");
    let example = &blocks(page, "toml")[0];
    let alone = Night::with(example);
    assert_eq!(alone.answer("--into night")["ran"], json!(24));
    let expected = alone.results("night");

    let script = &blocks(page, "bash")[0];
    assert!(script.contains("#SBATCH --array=1-4\n"));
    let slurm = Night::with(example);
    for task in 1..=4 {
        let variables = [
            ("SLURM_SUBMIT_DIR", slurm.0.root().display().to_string()),
            ("SLURM_CPUS_PER_TASK", "2".to_owned()),
            ("SLURM_ARRAY_TASK_ID", task.to_string()),
            ("SLURM_ARRAY_TASK_COUNT", "4".to_owned()),
        ];
        assert_eq!(slurm.cells("night").len(), 6 * (task - 1));
        shell("bash", script, &slurm, &variables);
    }
    assert!(expected == slurm.results("night"));

    let manifest = &blocks(page, "yaml")[0];
    assert!(manifest.contains("completionMode: Indexed\n  completions: 4\n"));
    let argument = manifest
        .lines()
        .skip_while(|line| line.trim() != "args:")
        .nth(1)
        .unwrap();
    let argument = argument.trim().strip_prefix("- ").unwrap();
    let pods = Night::with(example);
    for index in 0..4 {
        assert_eq!(pods.cells("night").len(), 6 * index);
        shell(
            "sh",
            argument,
            &pods,
            &[("JOB_COMPLETION_INDEX", index.to_string())],
        );
    }
    assert!(expected == pods.results("night"));
}

#[cfg(feature = "pcie")]
#[test]
fn settings_of_a_system_that_make_no_sense_are_refused() {
    let folder = Night::new();
    let plain =
        "machines = [\"summit\"]\npolicies = [\"greedy\"]\ngenerate = [\"mapa\"]\nseeds = [1]\n";
    let said = [
        "executions = [\"pcie-equal-share,gbps=x\"]",
        "schedulers = [\"pcie-aware,speed=1\"]",
    ]
    .map(|line| {
        folder.write("night.toml", &format!("{plain}{line}\n"));
        folder.error("--into night")
    });
    insta::assert_snapshot!(said.join("\n"), @"
    error: night.toml: `executions`: pcie-equal-share,gbps=x: `gbps=x`: expected GB/s above 0
    error: night.toml: `schedulers`: scheduler `pcie-aware,speed=1`: `speed=1`: no setting is called `speed`: expected delay=FACTOR|none, wait=SECONDS|none, gbps=GB/s
    ");
}

#[cfg(feature = "pcie")]
#[test]
fn schedulers_with_a_policy_of_their_own_run_beside_others_by_that_alone() {
    let folder = Night::with(
        "machines = [\"a100-pcie-4-bridged\"]\nmig = \"a100-40gb=1g,1g,1g,1g,1g,1g,1g\"\n\
         policies = [\"lowest-id\", \"pcie-aware\"]\n\
         schedulers = [\"fifo\", \"pcie-aware\", \"pcie-aware,delay=1\", \"first-gpu\"]\n\
         executions = [\"pcie-equal-share\", \"pcie-max-min\"]\njobs = [\"own.csv\"]\n",
    );
    let jobs = "1,50,1g.1m,17.65,1.07\n".repeat(9);
    folder.write(
        "own.csv",
        &format!("gpus,duration_s,slice,pcie_gbps,pcie_alpha\n{jobs}"),
    );
    assert_eq!(folder.answer("--into night")["ran"], json!(10));
    let results: Value = serde_json::from_slice(&folder.results("night")["results.json"]).unwrap();
    let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    let cells = results["results"].as_array().unwrap().iter();
    let cells: Vec<_> = cells
        .map(|row| ["scheduler", "execution", "policy"].map(|key| text(row, key)))
        .collect();
    let by = |scheduler: &str, policies: &[&str]| {
        let of = |execution| {
            policies
                .iter()
                .map(move |policy| [scheduler, execution, policy].map(str::to_owned))
        };
        ["pcie-equal-share", "pcie-max-min"]
            .into_iter()
            .flat_map(of)
            .collect::<Vec<_>>()
    };
    let mut expected = by("fifo", &["lowest-id", "pcie-aware"]);
    expected.extend(by("pcie-aware", &["pcie-aware"]));
    expected.extend(by("pcie-aware,delay=1", &["pcie-aware"]));
    expected.extend(by("first-gpu", &["lowest-id"]));
    assert_eq!(cells, expected);
    let makespans = results["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["makespan_s"].as_f64().unwrap());
    let makespans: Vec<f64> = makespans.collect();
    // Jobs that are alike, and each GPU on a port of its own: both physics say the same.
    assert!(
        (makespans[6] - 150.0).abs() < 1e-6 && makespans[4] < makespans[8],
        "{makespans:?}"
    );
    // Without a list of policies too, if no scheduler needs one.
    folder.write(
        "night.toml",
        "machines = [\"a100-pcie-4-bridged\"]\nmig = \"a100-40gb=2g,2g,1g\"\npcie_gbps = 30.08\nschedulers = [\"pcie-aware\"]\nexecutions = [\"pcie-max-min\"]\njobs = [\"own.csv\"]\n",
    );
    assert_eq!(folder.answer("--into other")["ran"], json!(1));
}

/// A single word needs no list; a scheduler may be a table; and no policy means the default.
#[test]
fn a_sweep_file_takes_a_word_for_a_list_and_a_table_for_settings() {
    let night = Night::with(
        "machines = \"dgx-1v\"\ngenerate = \"mapa,jobs=5\"\nseeds = [1]\n\
         schedulers = [\"fifo\", { name = \"conservative-backfill\", depth = 3 }]",
    );
    let listed: Value = night.answer("--list");
    let cells: Vec<(&str, &str)> = listed["listed"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| {
            (
                cell["scheduler"].as_str().unwrap(),
                cell["policy"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        cells,
        [("fifo", "auto"), ("conservative-backfill,depth=3", "auto")]
    );
    night.write(
        "night.toml",
        "machines = \"dgx-1v\"\npolicies = \"all\"\ngenerate = \"mapa,jobs=5\"\nseeds = [1]",
    );
    let all: Value = night.answer("--list");
    assert!(all["listed"].as_array().unwrap().len() > 8, "{all}");
}

/// Without peer access, `auto` puts the same jobs on other devices.
#[test]
fn a_sweep_says_whether_devices_reach_each_other() {
    let topo = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../mapa-regress/data/topologies/wrx90-2sw.txt");
    let of = |p2p: &str| {
        let night = Night::with(&format!(
            "machines = [{topo:?}]\npcie_gbps = 63.0\np2p = \"{p2p}\"\ngenerate = [\"mapa\"]\nseeds = [1]\n"
        ));
        night.answer("--into night --rows");
        night.results("night")
    };
    let (on, off) = (of("on"), of("off"));
    assert_eq!(on, of("on"));
    assert_ne!(on, off);
}
