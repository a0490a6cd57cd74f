//! What every command answers is valid by its schema in `docs/schema`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::common::{Folder, command, feed, objects};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema")
}

/// The schema of this name, of the general answers or of those of a system.
fn schema(name: &str) -> Validator {
    let systems = fs::read_dir(folder().join("../../systems")).unwrap();
    let of_systems = systems.map(|system| system.unwrap().path().join("docs/schema"));
    let text = [folder()]
        .into_iter()
        .chain(of_systems)
        .find_map(|folder| fs::read_to_string(folder.join(format!("{name}.json"))).ok())
        .unwrap();
    jsonschema::validator_for(&serde_json::from_str(&text).unwrap()).unwrap()
}

/// What is wrong with an answer.
fn faults(schema: &Validator, answer: &Value) -> Vec<String> {
    let fault =
        |error: jsonschema::ValidationError<'_>| format!("{}: {error}", error.instance_path());
    schema.iter_errors(answer).map(fault).collect()
}

/// Asserts that an answer is valid by the schema of this name.
pub(crate) fn assert_valid(name: &str, answer: &Value) {
    assert_eq!(
        faults(&schema(name), answer),
        Vec::<String>::new(),
        "{name}"
    );
}

/// Commands, and the schema of what they answer. Files are those of the test's folder.
const COMMANDS: [(&str, &str); 39] = [
    ("machines", "machines"),
    ("topo --machine dgx-1v", "topo"),
    (
        "topo --machine dgx-a100 --mig a100-40gb=3g,2g,1g,1g",
        "topo",
    ),
    ("topo --machine summit", "topo"),
    ("read jobs.csv nothing.txt", "read"),
    ("match --machine dgx-1v --gpus 3 --list 2 --top 2", "match"),
    ("match --machine torus:4x4 --gpus 4 --max-nodes 10", "match"),
    (
        "match --pattern-file ring.txt --target-file ring.txt --list 1",
        "match-files",
    ),
    ("allocate --machine dgx-1v --gpus 4 --sensitive", "allocate"),
    ("allocate --machine dgx-1v --gpus 1", "allocate"),
    (
        "allocate --machine dgx-1v --gpus 4 --sensitive --explain --model tree",
        "allocate",
    ),
    (
        "allocate --machine fleet:2xdgx-1v --gpus 10 --policy lowest-id",
        "allocate",
    ),
    (
        "allocate --machine dgx-1v --pattern tp=4,pp=2 --policy min-step-time",
        "allocate",
    ),
    (
        "allocate --machine dgx-a100 --mig a100-40gb=3g,2g,1g,1g --slice 1g --gpus 2 --policy packed",
        "allocate",
    ),
    ("allocate --machine dgx-1v --gpus 9", "refusal"),
    (
        "allocate --machine dgx-1v --gpus 4 --busy 0,1,2,3,4",
        "refusal",
    ),
    (
        "allocate --machine dgx-1v --gpus 2 --policy greedy --model tree",
        "error",
    ),
    ("topo --machine no-such-machine", "error"),
    (
        "compare --machine dgx-1v --gpus 3 --sensitive --model tree",
        "compare",
    ),
    ("compare --machine dgx-1v --pattern tp=2,pp=2", "compare"),
    (
        "compare --machine dgx-1v --gpus 4 --busy 0,1,2,3,4",
        "compare",
    ),
    ("score --machine dgx-1v --devices 0,1,2", "score"),
    (
        "score --machine dgx-1v --devices 0,1,2 --model ring-packing",
        "score",
    ),
    (
        "score --machine dgx-1v --devices 0,1,2 --model tree",
        "score",
    ),
    (
        "score --machine dgx-1v --devices 0,1,2 --model all-to-all",
        "score",
    ),
    ("score --machine dgx-1v --devices 0", "score"),
    ("mig", "mig"),
    ("mig --gpu a100-40gb", "mig-gpu"),
    ("mig --gpu a100-40gb --fit 3g,2g,1g,1g --layouts", "mig-fit"),
    ("mig --gpu a100-40gb --fit 3g,3g,1g", "mig-fit"),
    ("pattern from-parallelism tp=2,pp=2", "pattern"),
    ("pattern show ring --gpus 4", "pattern"),
    ("sensitivity --published", "sensitivity-published"),
    (
        "sensitivity --fast-seconds 10 --slow-seconds 14",
        "sensitivity",
    ),
    (
        "simulate --machine dgx-1v --generate mapa,jobs=20",
        "simulate",
    ),
    (
        "simulate --servers 2xdgx-1v,dgx-2 --network 25 --policy greedy --jobs jobs.csv",
        "simulate",
    ),
    ("sweep sweep.toml --into cells --list", "sweep-list"),
    ("sweep sweep.toml --into cells", "sweep"),
    (
        "defrag --machine dgx-1v --job a=0,5 --job b=3 --want 4",
        "defrag",
    ),
];

fn written() -> Folder {
    let folder = Folder::new();
    folder.write(
        "jobs.csv",
        "3,ring,120,17,1,vgg16.sh\n2,ring,130,17,0,x.sh\n9,ring,1,1,1,y.sh\n",
    );
    folder.write("nothing.txt", "nothing that is known\n");
    folder.write("ring.txt", "3 3\n0 1\n1 2\n2 0\n");
    folder.write(
        "sweep.toml",
        "machines = [\"dgx-1v\"]\npolicies = [\"greedy\"]\ngenerate = [\"mapa,jobs=10\"]\nseeds = [1]\n",
    );
    folder
}

#[test]
fn what_every_command_answers_is_valid_by_its_schema() {
    let folder = written();
    let (mut used, mut wrong) = (BTreeSet::new(), Vec::new());
    for (words, name) in COMMANDS {
        let output = folder.run(&format!("{words} --json"));
        let schema = schema(name);
        let answers = objects(&output);
        assert!(
            !answers.is_empty(),
            "{words}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        for answer in answers {
            let faults = faults(&schema, &answer);
            wrong.extend((!faults.is_empty()).then(|| format!("{words}: {}", faults.join("\n"))));
        }
        used.insert(name.to_owned());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    let lines = [
        r#"{"op":"allocate","id":"a","gpus":3}"#,
        r#"{"op":"allocate","id":7,"gpus":9}"#,
        r#"{"op":"allocate","id":"b","gpus":"three"}"#,
        r#"{"op":"show"}"#,
        r#"{"op":"release","id":"a"}"#,
        r#"{"op":"reset"}"#,
        "no JSON",
    ];
    let output = feed(
        &mut command("allocate --machine dgx-1v --batch -"),
        &lines.join("\n"),
    );
    let batch = schema("allocate-batch");
    let answers = objects(&output);
    assert_eq!(answers.len(), lines.len());
    for answer in &answers {
        assert_eq!(faults(&batch, answer), Vec::<String>::new(), "{answer}");
    }
    used.insert("allocate-batch".to_owned());
    // These need measurements, take long, or are a daemon's: the tests of their commands validate what they answer.
    for name in [
        "drive-record",
        "drive-replay",
        "fit",
        "mapa-cordon",
        "mapa-free",
        "mapa-log",
        "mapa-ps",
        "mapa-recover",
        "mapa-release",
        "mapa-run",
        "mapa-tenants",
        "mapa-uncordon",
        "measured-add",
        "mig-parted",
        "node-answer",
        "node-doctor",
        "node-query",
        "reproduce",
        "reproduce-list",
    ] {
        used.insert(name.to_owned());
    }
    let known: BTreeSet<String> = fs::read_dir(self::folder())
        .unwrap()
        .map(|entry| {
            entry
                .unwrap()
                .path()
                .file_stem()
                .unwrap()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    assert_eq!(used, known, "every schema is tried");
}

#[test]
fn a_key_that_no_schema_names_is_found() {
    let allocate = schema("allocate");
    let output = command("allocate --machine dgx-1v --gpus 2 --json")
        .output()
        .unwrap();
    let mut answer = objects(&output).remove(0);
    assert_eq!(faults(&allocate, &answer), Vec::<String>::new());
    answer["planted"] = json!(1);
    assert!(!faults(&allocate, &answer).is_empty(), "at the top");
    answer.as_object_mut().unwrap().remove("planted");
    answer["links"]["planted"] = json!(1);
    assert!(!faults(&allocate, &answer).is_empty(), "below");
    answer["links"].as_object_mut().unwrap().remove("planted");
    answer["complete"] = json!("yes");
    assert!(!faults(&allocate, &answer).is_empty(), "of another kind");
    answer.as_object_mut().unwrap().remove("complete");
    assert!(!faults(&allocate, &answer).is_empty(), "missing");
}

/// The numbers of each report that is kept: of systems, each beside its own, and of no system.
fn kept_numbers() -> Vec<PathBuf> {
    let root = folder().join("../..");
    let below = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).collect()
    };
    let systems = below(&root.join("systems"));
    let folders = systems.into_iter().map(|system| system.join("report"));
    folders
        .chain([root.join("docs/reproduction")])
        .flat_map(|folder| below(&folder))
        .map(|report| report.join("results.json"))
        .filter(|file| file.exists())
        .collect()
}

#[test]
fn kept_reports_are_valid_by_their_schema() {
    let report = schema("reproduce");
    let kept = kept_numbers();
    assert!(!kept.is_empty());
    for file in kept {
        let numbers: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        let faults = faults(&report, &numbers);
        assert_eq!(faults, Vec::<String>::new(), "{}", file.display());
    }
    if cfg!(feature = "experiments") {
        let list = command("reproduce --list --json").output().unwrap();
        let faults = faults(&schema("reproduce-list"), &objects(&list)[0]);
        assert_eq!(faults, Vec::<String>::new());
    }
}
