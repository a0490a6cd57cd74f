//! The order of the crates: which crate may depend on which, which room of a crate may use which,
//! and what the core must not contain.

mod faults;
mod floors;
mod source;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use self::faults::faults;
use self::floors::{FLOORS, Floors};
use self::source::{Crate, Sources};

/// From each crate of the workspace, the arrows that may leave it. They point down; a new one is
/// argued for in docs/decisions.
const ARROWS: [(&str, &[&str]); 24] = [
    ("mapa-core", &[]),
    ("mapa-table", &[]),
    // The catalogue is for its tests and examples.
    (
        "mapa-regress",
        &["mapa-core", "mapa-table", "mapa-topologies"],
    ),
    // Counters are read by its readers, and matched to peers by the machine.
    ("mapa-patterns", &["mapa-core", "mapa-topologies"]),
    ("mapa-sched", &["mapa-core"]),
    // The catalogue is for its tests.
    (
        "mapa-sim",
        &["mapa-core", "mapa-sched", "mapa-table", "mapa-topologies"],
    ),
    ("mapa-topologies", &["mapa-core"]),
    // One published system: its schedulers, then its simulations. The catalogue is for its tests.
    ("mapa-system-case", &["mapa-core", "mapa-sched"]),
    (
        "mapa-system-case-sim",
        &[
            "mapa-core",
            "mapa-sched",
            "mapa-sim",
            "mapa-system-case",
            "mapa-topologies",
        ],
    ),
    // Training; what is trained is evaluated below.
    ("mapa-rl", &["mapa-sched", "mapa-sim"]),
    // What the drivers answer is text, which has its readers. Telemetry is told to controllers in their words.
    // `fake-nvml` is for its tests.
    (
        "mapa-live",
        &["fake-nvml", "mapa-core", "mapa-sched", "mapa-topologies"],
    ),
    // These four lie in systems/case. Users build, link and load them by these names, so the packages keep theirs.
    // What processes link that share instances. Its messages are the manager's too.
    // Its program runs others over the runtime that checks them.
    // `case-driver` is for the tests of its program.
    ("mapa-case", &["case-driver", "fake-cudart"]),
    ("case-driver", &["mapa-case"]),
    ("fake-cudart", &[]),
    ("case-preload", &["mapa-case"]),
    // Discovery is for its tests.
    ("fake-nvml", &["mapa-core", "mapa-live", "mapa-topologies"]),
    // What fronts share: requests, names and answers, in words.
    (
        "mapa-front",
        &[
            "mapa-core",
            "mapa-patterns",
            "mapa-regress",
            "mapa-sched",
            "mapa-sim",
            "mapa-system-case",
            "mapa-system-case-sim",
            "mapa-table",
            "mapa-topologies",
        ],
    ),
    // Experiments, and processes in place of GPUs.
    (
        "mapa-lab",
        &[
            // A real process, to be timed.
            "mapa-case",
            "mapa-core",
            "mapa-front",
            "mapa-patterns",
            "mapa-regress",
            "mapa-rl",
            "mapa-sched",
            "mapa-sim",
            "mapa-system-case",
            "mapa-system-case-sim",
            "mapa-topologies",
        ],
    ),
    // What commands share, those that systems bring too.
    (
        "mapa-cli",
        &["mapa-core", "mapa-front", "mapa-live", "mapa-topologies"],
    ),
    (
        "mapa-bench",
        &[
            "mapa-cli",
            "mapa-core",
            "mapa-front",
            "mapa-lab",
            "mapa-live",
            "mapa-patterns",
            "mapa-regress",
            "mapa-rl",
            "mapa-sched",
            "mapa-sim",
            "mapa-table",
            "mapa-topologies",
        ],
    ),
    // Leases on this machine, and the command `mapa`.
    (
        "mapa-node",
        &[
            // For its tests.
            "case-driver",
            "fake-nvml",
            "mapa-case",
            "mapa-core",
            "mapa-front",
            "mapa-live",
            "mapa-sched",
            "mapa-system-case",
            "mapa-topologies",
        ],
    ),
    // A re-export of the libraries.
    (
        "mapa",
        &[
            "mapa-core",
            "mapa-front",
            "mapa-live",
            "mapa-patterns",
            "mapa-regress",
            "mapa-sched",
            "mapa-sim",
            "mapa-system-case",
            "mapa-system-case-sim",
            "mapa-topologies",
        ],
    ),
    (
        "mapa-benches",
        &[
            "mapa-core",
            "mapa-patterns",
            "mapa-regress",
            "mapa-rl",
            "mapa-sched",
            "mapa-sim",
            "mapa-system-case",
            "mapa-topologies",
        ],
    ),
    (
        "mapa-examples",
        &[
            "mapa-core",
            "mapa-patterns",
            "mapa-regress",
            "mapa-sched",
            "mapa-sim",
            "mapa-topologies",
        ],
    ),
];

/// The crates that may contain `unsafe` code, the folders of each that may, and why. ARCHITECTURE.md
/// has the same list.
const UNSAFE: [(&str, &str, &str); 7] = [
    (
        "systems/case/driver",
        "src/c",
        "C programs call it in place of the CUDA driver",
    ),
    (
        "systems/case/preload",
        "src/c",
        "C programs call it in place of the CUDA runtime",
    ),
    (
        "systems/case/fake-cudart",
        "src/c",
        "C programs call it in place of the CUDA runtime, and hand it pointers",
    ),
    (
        "hardware/fake-nvml",
        "src/c",
        "C programs call it, and hand it pointers",
    ),
    (
        "systems/case/runtime",
        "src/c",
        "C programs call it, it calls their CUDA runtime, and it maps shared memory",
    ),
    (
        "hardware/mapa-live",
        "src/nvml/mig",
        "NVML's calls for MIG, which its wrapper lacks",
    ),
    (
        "fronts/mapa-node",
        "src/memory",
        "Linux is told the policy of memory, and asked who is at the other end of a socket; a process waits between `fork` and `exec`",
    ),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn dependencies_between_crates_point_down() {
    let metadata = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--no-deps",
            "--format-version",
            "1",
            "--offline",
        ])
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let names: Vec<&str> = packages
        .iter()
        .filter_map(|package| package["name"].as_str())
        .collect();
    assert_eq!(
        names.len(),
        ARROWS.len(),
        "every crate has its arrows here: {names:?}"
    );
    for package in packages {
        let name = package["name"].as_str().unwrap();
        let (_, allowed) = ARROWS.iter().find(|(known, _)| *known == name).expect(name);
        for dependency in package["dependencies"].as_array().unwrap() {
            let to = dependency["name"].as_str().unwrap();
            // A crate may use its own test features in its tests.
            let inside = names.contains(&to) && to != name;
            assert!(
                !inside || allowed.contains(&to),
                "{name} must not depend on {to}"
            );
        }
    }
}

/// Source lines outside comments and tests.
fn code(folder: &Path, lines: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            code(&path, lines);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let code = text
                .split("#[cfg(test)]\nmod tests")
                .next()
                .unwrap_or_default();
            let code = code
                .lines()
                .map(|line| line.split("//").next().unwrap_or_default());
            lines.extend(code.map(|line| (path.clone(), line.to_owned())));
        }
    }
}

/// Fails if a crate's code contains one of these words.
fn check_words(folder: &str, foreign: &[&str]) {
    let mut lines = Vec::new();
    code(&root().join(folder), &mut lines);
    assert!(lines.len() > 1000);
    // The names of generations in the table of shares are keys that the core compares and never interprets.
    let table = Path::new("score/expected/shipped.rs");
    for (path, line) in lines.iter().filter(|(path, _)| !path.ends_with(table)) {
        if let Some(word) = foreign.iter().find(|word| line.contains(**word)) {
            panic!("{}: `{word}` in: {line}", path.display());
        }
    }
}

/// What a crate without I/O, clock or unsafe code does not contain.
const OUTSIDE: [&str; 12] = [
    "std::fs",
    "std::io",
    "std::net",
    "std::env",
    "std::process",
    "Instant",
    "SystemTime",
    "println!",
    "print!",
    "unsafe",
    "todo!",
    "unimplemented!",
];

#[test]
fn the_core_does_no_io_reads_no_clock_draws_no_random_number_and_knows_no_vendor() {
    check_words("mapa-core/src", &OUTSIDE);
    let foreign = [
        "std::time",
        "rand::",
        "nvidia",
        "NVLink",
        "XGMI",
        "\"NV",
        "CUDA",
    ];
    check_words("mapa-core/src", &foreign);
}

#[test]
fn machines_are_read_from_text_without_io() {
    check_words("topologies/src", &OUTSIDE);
    // Paths are names here. These methods of theirs look at the file system.
    let looks = [
        "is_dir()",
        "is_file()",
        "metadata()",
        "read_dir()",
        "canonicalize()",
    ];
    check_words("topologies/src", &looks);
}

/// The folders of the workspace's crates, as its manifest names them.
fn members() -> Vec<String> {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let list = manifest.split("members = [").nth(1).unwrap();
    let list = list.split(']').next().unwrap();
    let names = list.split('"').skip(1).step_by(2);
    names.map(str::to_owned).collect()
}

#[test]
fn unsafe_code_is_in_the_rooms_of_the_list_alone_and_every_block_says_why() {
    let architecture = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let members = members();
    assert!(
        members.len() > 10
            && UNSAFE
                .iter()
                .all(|(of, ..)| members.iter().any(|own| own == of))
    );
    for member in members {
        let manifest = fs::read_to_string(root().join(&member).join("Cargo.toml")).unwrap();
        let own: Vec<_> = UNSAFE.iter().filter(|(of, ..)| *of == member).collect();
        if own.is_empty() {
            // The lints of the workspace forbid it, and what is forbidden cannot be allowed again.
            let forbids = ["[lints]\nworkspace = true", "unsafe_code = \"forbid\""];
            assert!(forbids.iter().any(|own| manifest.contains(own)), "{member}");
            continue;
        }
        for lint in [
            "unsafe_code = \"deny\"",
            "unsafe_op_in_unsafe_fn = \"deny\"",
            "undocumented_unsafe_blocks = \"deny\"",
        ] {
            assert!(manifest.contains(lint), "{member}: {lint}");
        }
        for (_, room, why) in &own {
            let row = format!("`{member}/{room}` | {why} |");
            assert!(architecture.contains(&row), "{row}");
        }
        let mut lines = Vec::new();
        code(&root().join(&member).join("src"), &mut lines);
        let rooms: Vec<PathBuf> = (own.iter())
            .map(|(_, room, _)| root().join(&member).join(room))
            .collect();
        for (path, line) in lines {
            let inside = rooms.iter().any(|room| path.starts_with(room));
            let outside = !inside && line.contains("unsafe");
            assert!(!outside, "{}: {line}", path.display());
        }
    }
}

#[test]
fn no_file_uses_what_lies_on_a_higher_floor_and_no_files_run_in_a_circle() {
    let mut all = Vec::new();
    for floors in &FLOORS {
        let sources = source::sources(&root().join(floors.source));
        assert!(sources.len() > 3, "{}", floors.source);
        all.extend(faults(floors, &sources));
    }
    assert!(all.is_empty(), "{} faults:\n{}", all.len(), all.join("\n"));
}

/// A file of a room, and a name that the file defines.
fn inhabitant(parsed: &Crate, sources: &Sources, room: &str) -> (PathBuf, String) {
    let within = |file: &&PathBuf| source::module_of(file).join("::") == room;
    let file = sources.keys().find(within).expect(room).clone();
    let names = parsed.defined(&source::module_of(&file));
    (file, names.first().cloned().unwrap_or_default())
}

#[test]
fn an_upward_use_is_found_in_every_crate_by_crate_and_by_super_paths() {
    for floors in &FLOORS {
        let sources = source::sources(&root().join(floors.source));
        let parsed = Crate::parse(&sources);
        assert_eq!(faults(floors, &sources), Vec::<String>::new());
        // The file of the lowest room, and the highest room whose own file defines something.
        let low = inhabitant(&parsed, &sources, floors.rooms[0]).0;
        let of_rooms = floors
            .rooms
            .iter()
            .rev()
            .map(|room| (room, inhabitant(&parsed, &sources, room)));
        let (room, (_, name)) = of_rooms
            .into_iter()
            .find(|(_, (_, name))| !name.is_empty())
            .expect("a room that defines something");
        let up = "super::".repeat(source::module_of(&low).len());
        let planted = [
            format!("use crate::{room}::{name};"),
            format!("use {up}{room}::{{{name} as Planted}};"),
            format!("fn planted() {{ println!(\"{{}}\", {up}{room}::{name}::default()); }}"),
            format!(
                "use crate::{room}; fn planted(_: {}::{name}) {{}}",
                room.rsplit("::").next().unwrap()
            ),
        ];
        for line in planted {
            let mut sources = sources.clone();
            sources.get_mut(&low).unwrap().push_str(&line);
            let found = faults(floors, &sources);
            let expected = format!("is on a higher floor, in `{room}`");
            assert!(
                found.iter().any(|fault| fault.contains(&expected)),
                "{}: {line} in {}: {found:?}",
                floors.name,
                low.display()
            );
        }
    }
}

#[test]
fn a_circle_of_files_in_one_room_is_found_and_a_parent_s_re_export_is_no_arrow() {
    let floors = Floors {
        name: "a crate",
        source: "",
        rooms: &["room"],
    };
    let with = |a: &str| -> Sources {
        let files = [
            ("lib.rs", "mod room; pub use room::{A, B};"),
            ("room/mod.rs", "mod a; mod b; pub use a::A; pub use b::B;"),
            ("room/a.rs", a),
            ("room/b.rs", "use super::A; pub struct B(A);"),
        ];
        files
            .map(|(path, text)| (PathBuf::from(path), text.to_owned()))
            .into()
    };
    assert_eq!(
        faults(&floors, &with("pub struct A;")),
        Vec::<String>::new()
    );
    let found = faults(
        &floors,
        &with("use crate::B;\npub struct A(Option<Box<B>>);"),
    );
    assert_eq!(
        found,
        [
            "a crate: a circle of 2 files\n    room::a line 1: crate::B in room::b\n    room::b line 1: \
          super::A in room::a"
        ]
    );
}

#[test]
fn every_file_of_tests_is_in_the_one_binary() {
    for manifest in [
        "mapa-core",
        "topologies",
        "hardware/fake-nvml",
        "hardware/mapa-live",
        "lab/mapa-rl",
        "mapa-patterns",
        "mapa-regress",
        "mapa-sched",
        "mapa-sim",
        "mapa-table",
        "systems/case/sched",
        "fronts/mapa-bench",
    ] {
        let folder = root().join(manifest).join("tests");
        let main = fs::read_to_string(folder.join("main.rs")).unwrap();
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap();
            let is_module =
                path.extension().is_some_and(|extension| extension == "rs") && name != "main";
            assert!(
                !is_module || main.contains(&format!("mod {name};")),
                "{} is not in tests/main.rs",
                path.display()
            );
        }
    }
}
