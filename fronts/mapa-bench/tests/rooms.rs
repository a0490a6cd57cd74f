//! The order of the crates: which crate may depend on which, which room of a crate may use which,
//! and what the core must not contain. Each crate states its own part in its `Cargo.toml`, so that any can be
//! taken away.

mod crates;
mod faults;
mod project;
mod source;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use self::faults::{circles, faults};
use self::project::{Package, packages, root};
use self::source::{Crate, Sources};

#[test]
fn dependencies_between_crates_point_down() {
    let packages = packages();
    assert!(packages.len() > 10);
    // Those outside the workspace are among them.
    assert!(packages.iter().any(|package| package.name == "mapa-fuzz"));
    let found = crates::faults(&packages);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The source of a crate, with its tests, but not that of crates in its folder.
fn all_sources(package: &Package, packages: &[Package]) -> Sources {
    let folder = package.folder();
    let is_other = |path: &Path| packages.iter().any(|other| other.folder() == path);
    let mut found = Sources::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        let inner = project::folders_in(&next).into_iter();
        folders.extend(inner.filter(|path| !is_other(path)));
        found.extend(source::files_in(&next, folder));
    }
    found
}

#[test]
fn no_crate_s_source_names_another_system_and_a_general_one_s_names_any_in_registries_alone() {
    let packages = packages();
    let mut found = Vec::new();
    for package in &packages {
        let sources = all_sources(package, &packages);
        assert!(!sources.is_empty(), "{}", package.name);
        found.extend(crates::foreign_names(package, &sources, &packages));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_crate_that_holds_more_than_rows_of_a_system_does_so() {
    let packages = packages();
    for package in &packages {
        for system in &package.facts().unfinished {
            let mut changed = packages.clone();
            let own = changed
                .iter_mut()
                .find(|candidate| candidate.name == package.name);
            let facts = own.unwrap().facts_mut();
            facts.unfinished.retain(|other| other != system);
            let own = changed
                .iter()
                .find(|candidate| candidate.name == package.name)
                .unwrap();
            let sources = all_sources(own, &changed);
            let mut found = crates::faults(&changed);
            found.extend(crates::foreign_names(own, &sources, &changed));
            let name = &package.name;
            assert!(
                !found.is_empty(),
                "{name} has done with the system `{system}`, which is no longer `unfinished` in its Cargo.toml"
            );
        }
    }
}

#[test]
fn a_registry_and_the_parts_of_a_system_are_there() {
    for package in packages() {
        let facts = package.facts();
        let named = facts.parts.values().flatten().chain(&facts.registry);
        for path in named {
            assert!(
                package.folder().join(path).exists(),
                "{}: no {}",
                package.name,
                path.display()
            );
        }
    }
}

/// A crate that is not there, at a place in the repository.
fn planted(name: &str, place: &str, facts: Value) -> Package {
    let package = json!({
        "name": name,
        "manifest_path": root().join(place).join("Cargo.toml"),
        "dependencies": [],
        "features": {},
        "targets": [{"kind": ["lib"], "name": name.replace('-', "_"), "src_path": "src/lib.rs"}],
        "metadata": {"mapa": facts},
    });
    serde_json::from_value(package).unwrap()
}

fn dependency(name: &str, kind: Option<&str>, optional: bool) -> project::Dependency {
    let (name, kind) = (name.to_owned(), kind.map(str::to_owned));
    project::Dependency {
        name,
        kind,
        optional,
        rename: None,
    }
}

/// The project with two systems, each with a scheduler and an experiment.
fn with_systems() -> Vec<Package> {
    let mut packages = packages();
    for system in ["one", "two"] {
        let name = format!("mapa-system-{system}");
        let place = format!("systems/{system}/sched");
        let facts = json!({"layer": "sched", "uses": ["mapa-core", "mapa-sched"]});
        let mut scheduler = planted(&name, &place, facts);
        let used = ["mapa-core", "mapa-sched"].map(|used| dependency(used, None, false));
        scheduler.dependencies.extend(used);
        let place = format!("systems/{system}/lab");
        let facts = json!({"layer": "lab", "uses": [&name, "mapa-lab"]});
        let mut experiment = planted(&format!("{name}-lab"), &place, facts);
        let used = [&name, "mapa-lab"].map(|used| dependency(used, None, false));
        experiment.dependencies.extend(used);
        packages.extend([scheduler, experiment]);
    }
    packages
}

/// Fails unless one change to the project with two systems makes exactly this fault.
fn check_crates(in_crate: &str, change: impl Fn(&mut Package), expected: &str) {
    let mut packages = with_systems();
    let before = crates::faults(&packages);
    let mut all = packages.iter_mut();
    change(
        all.find(|package| package.name == in_crate)
            .expect(in_crate),
    );
    let expected: Vec<&str> = Some(expected)
        .filter(|text| !text.is_empty())
        .into_iter()
        .collect();
    let mut found = crates::faults(&packages);
    found.retain(|fault| !before.contains(fault));
    assert_eq!(found, expected);
}

/// The change that adds a dependency, which the crate says it uses.
fn uses(name: &str) -> impl Fn(&mut Package) {
    move |package: &mut Package| {
        package.facts_mut().uses.push(name.to_owned());
        package.dependencies.push(dependency(name, None, false));
    }
}

#[test]
fn a_dependency_on_another_system_or_of_a_general_crate_on_a_system_is_found() {
    check_crates("mapa-core", |_| {}, "");
    check_crates(
        "mapa-system-one-lab",
        uses("mapa-system-two"),
        "mapa-system-one-lab of the system `one` must not depend on mapa-system-two, of the system `two`",
    );
    check_crates(
        "mapa-sim",
        |package| {
            let planted = dependency("mapa-system-one", None, false);
            package.dependencies.push(planted);
        },
        "mapa-sim must not depend on mapa-system-one, of the system `one`: it is no registry",
    );
    check_crates(
        "mapa-sim",
        |package| {
            let planted = dependency("mapa-system-one", Some("dev"), false);
            package.dependencies.push(planted);
        },
        "mapa-sim must not depend on mapa-system-one, of the system `one`: it is no registry",
    );
    check_crates(
        "mapa-front",
        uses("mapa-system-one"),
        "mapa-front must not have mapa-system-one in `uses`, from where the system `one` could not be taken away",
    );
}

/// The change that registers a system.
fn registers(feature: &str, entry: &str, optional: bool) -> impl Fn(&mut Package) {
    move |package: &mut Package| {
        package.facts_mut().registry.push("src/systems.rs".into());
        let entries = vec![entry.to_owned()];
        package.features.insert(feature.to_owned(), entries);
        let planted = dependency("mapa-system-one-lab", None, optional);
        package.dependencies.push(planted);
    }
}

#[test]
fn a_registry_depends_on_a_system_by_the_feature_of_that_name_alone() {
    let entry = "dep:mapa-system-one-lab";
    let only =
        "mapa-bench must not depend on mapa-system-one-lab but as optional, by its feature `one`";
    check_crates("mapa-bench", registers("one", entry, true), "");
    check_crates("mapa-bench", registers("one-lab", entry, true), "");
    check_crates("mapa-bench", registers("one", entry, false), only);
    check_crates("mapa-bench", registers("one", "dep:kuva", true), only);
    check_crates("mapa-bench", registers("two", entry, true), only);
    check_crates(
        "mapa-bench",
        |package| {
            registers("one", entry, true)(package);
            let entries = vec!["mapa-system-one-lab/plots".to_owned()];
            package.features.insert("more".to_owned(), entries);
        },
        "mapa-bench: the feature `more` must not name mapa-system-one-lab, which `one` does",
    );
    // A weak name turns on a feature of what the system's own feature has turned on, and nothing else.
    check_crates(
        "mapa-bench",
        |package| {
            registers("one", entry, true)(package);
            let entries = vec!["mapa-system-one-lab?/plots".to_owned()];
            package.features.insert("more".to_owned(), entries);
        },
        "",
    );
    // An experiment is above what all fronts share.
    check_crates(
        "mapa-front",
        registers("one", entry, true),
        "mapa-front of the layer `front` must not depend on mapa-system-one-lab, of `lab` above it",
    );
    let planted = |package: &mut Package| {
        let planted = dependency("mapa-system-one-lab", Some("dev"), false);
        package.dependencies.push(planted);
    };
    check_crates(
        "mapa-benches",
        planted,
        "mapa-benches must not depend on mapa-system-one-lab, of the system `one`: it is no registry",
    );
    check_crates(
        "mapa-benches",
        |package| {
            let parts = vec!["benches/one.rs".into()];
            package.facts_mut().parts.insert("one".to_owned(), parts);
            planted(package);
        },
        "",
    );
}

#[test]
fn an_upward_dependency_is_found_outside_the_workspace_too() {
    for (low, high, expected) in [
        (
            "mapa-table",
            "mapa-sched",
            "mapa-table of the layer `core` must not depend on mapa-sched, of `sched` above it",
        ),
        (
            "mapa-sim",
            "mapa-front",
            "mapa-sim of the layer `sim` must not depend on mapa-front, of `front` above it",
        ),
        (
            "mapa-system-one",
            "mapa-sim",
            "mapa-system-one of the layer `sched` must not depend on mapa-sim, of `sim` above it",
        ),
    ] {
        check_crates(low, uses(high), expected);
    }
    check_crates(
        "mapa-fuzz",
        |package| {
            package
                .dependencies
                .push(dependency("mapa-cli", None, false))
        },
        "mapa-fuzz must not depend on mapa-cli, which is not among what it uses",
    );
    check_crates(
        "mapa-fuzz",
        |package| package.facts_mut().uses.push("mapa-lab".to_owned()),
        "mapa-fuzz says it uses mapa-lab, and does not",
    );
}

#[test]
fn a_name_of_another_system_and_one_outside_a_registry_is_found_in_source() {
    let line = "use mapa_system_one_lab::run;";
    let mut packages = with_systems();
    let bench = packages
        .iter_mut()
        .find(|package| package.name == "mapa-bench");
    let facts = bench.unwrap().facts_mut();
    facts.registry = vec!["src/systems.rs".into()];
    let parts = |path: &str| vec![PathBuf::from(path)];
    facts.parts = BTreeMap::from([
        ("one".to_owned(), parts("tests/one")),
        ("two".to_owned(), parts("tests/two.rs")),
    ]);
    let found = |in_crate: &str, path: &str, line: &str| {
        let package = packages
            .iter()
            .find(|package| package.name == in_crate)
            .unwrap();
        let sources = Sources::from([(path.into(), line.to_owned())]);
        crates::foreign_names(package, &sources, &packages)
    };
    let fault = |in_crate: &str, path: &str| {
        vec![format!(
            "{in_crate}: {path} names `mapa_system_one_lab`, of the system `one`"
        )]
    };
    let none = Vec::<String>::new();
    for (in_crate, path) in [
        ("mapa-sched", "src/lib.rs"),
        ("mapa-bench", "src/main.rs"),
        ("mapa-bench", "tests/two.rs"),
        ("mapa-fuzz", "src/lib.rs"),
        ("mapa-system-two", "src/systems.rs"),
    ] {
        assert_eq!(found(in_crate, path, line), fault(in_crate, path));
    }
    for (in_crate, path) in [
        ("mapa-bench", "src/systems.rs"),
        ("mapa-bench", "tests/one/kept.rs"),
        ("mapa-system-one", "src/lib.rs"),
    ] {
        assert_eq!(found(in_crate, path, line), none);
    }
    let comment = format!("// {line}");
    assert_eq!(found("mapa-sched", "src/lib.rs", &comment), none);
    assert_eq!(
        found("mapa-sched", "src/lib.rs", "mapa_system_ones()"),
        none
    );
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

#[test]
fn unsafe_code_is_in_the_folders_that_a_crate_names_alone_and_every_block_says_why() {
    let architecture = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for package in packages() {
        let (place, facts) = (package.place(), package.facts());
        let manifest = fs::read_to_string(&package.manifest_path).unwrap();
        if facts.unsafe_folders.is_empty() {
            // The lints of the workspace forbid it, and what is forbidden cannot be allowed again.
            let forbids = ["[lints]\nworkspace = true", "unsafe_code = \"forbid\""];
            assert!(
                forbids.iter().any(|forbid| manifest.contains(forbid)),
                "{place}"
            );
            continue;
        }
        for lint in [
            "unsafe_code = \"deny\"",
            "unsafe_op_in_unsafe_fn = \"deny\"",
            "undocumented_unsafe_blocks = \"deny\"",
        ] {
            assert!(manifest.contains(lint), "{place}: {lint}");
        }
        for unsafe_folder in &facts.unsafe_folders {
            let row = format!(
                "`{place}/{}` | {} |",
                unsafe_folder.folder.display(),
                unsafe_folder.why
            );
            assert!(architecture.contains(&row), "{row}");
        }
        let mut lines = Vec::new();
        code(&package.folder().join("src"), &mut lines);
        for (path, line) in lines {
            let mut folders = facts.unsafe_folders.iter();
            let inside =
                folders.any(|folder| path.starts_with(package.folder().join(&folder.folder)));
            let outside = !inside && line.contains("unsafe");
            assert!(!outside, "{}: {line}", path.display());
        }
    }
}

/// Every crate with modules below `src`, its source, and the source of its programs beside it.
fn with_rooms() -> Vec<(Package, Sources)> {
    let source_of = |package: Package| {
        let source = package.folder().join("src");
        source.is_dir().then(|| (package, source::sources(&source)))
    };
    packages().into_iter().filter_map(source_of).collect()
}

#[test]
fn no_file_uses_what_lies_on_a_higher_floor_and_no_files_run_in_a_circle() {
    let mut all = Vec::new();
    for (package, sources) in with_rooms() {
        all.extend(faults(&package.name, &package.facts().rooms, &sources));
    }
    // Programs that lie beside `src` have no rooms.
    for package in packages() {
        let programs =
            (package.targets.iter()).filter(|target| target.kind.contains(&"bin".to_owned()));
        let folders = programs.map(|program| program.src_path.parent().unwrap().to_owned());
        let mut folders: Vec<PathBuf> = folders.filter(|folder| !folder.ends_with("src")).collect();
        folders.dedup();
        for folder in folders {
            let parsed = Crate::parse(&source::sources(&folder));
            let name = format!("{}, {}", package.name, folder.display());
            all.extend(circles(&name, &parsed.arrows()));
        }
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
    let mut names = Vec::new();
    for (package, sources) in with_rooms() {
        let (name, rooms) = (&package.name, &package.facts().rooms);
        if rooms.len() < 2 {
            continue;
        }
        names.push(name.clone());
        let parsed = Crate::parse(&sources);
        assert_eq!(faults(name, rooms, &sources), Vec::<String>::new());
        // The file of the lowest room, and the highest room whose own file defines something.
        let low = inhabitant(&parsed, &sources, &rooms[0]).0;
        let of_rooms = rooms
            .iter()
            .rev()
            .map(|room| (room, inhabitant(&parsed, &sources, room)));
        let (room, (_, defined)) = of_rooms
            .into_iter()
            .find(|(_, (_, defined))| !defined.is_empty())
            .expect("a room that defines something");
        let up = "super::".repeat(source::module_of(&low).len());
        let planted = [
            format!("use crate::{room}::{defined};"),
            format!("use {up}{room}::{{{defined} as Planted}};"),
            format!("fn planted() {{ println!(\"{{}}\", {up}{room}::{defined}::default()); }}"),
            format!(
                "use crate::{room}; fn planted(_: {}::{defined}) {{}}",
                room.rsplit("::").next().unwrap()
            ),
        ];
        // Where a file has a child module of that name, no other module may be imported by it.
        let mut child = source::module_of(&low);
        child.extend(room.rsplit("::").next().map(str::to_owned));
        let has_child = sources.keys().any(|path| source::module_of(path) == child);
        for line in &planted[..planted.len() - usize::from(has_child)] {
            let mut sources = sources.clone();
            sources.get_mut(&low).unwrap().push_str(line);
            let found = faults(name, rooms, &sources);
            let expected = format!("is on a higher floor, in `{room}`");
            assert!(
                found.iter().any(|fault| fault.contains(&expected)),
                "{name}: {line} in {}: {found:?}",
                low.display()
            );
        }
    }
    for expected in ["mapa-core", "mapa-node"] {
        assert!(
            names.iter().any(|name| name == expected),
            "{expected}: {names:?}"
        );
    }
}

#[test]
fn a_circle_of_files_in_one_room_is_found_and_a_parent_s_re_export_is_no_arrow() {
    let found = |sources: &Sources| faults("a crate", &["room".to_owned()], sources);
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
    assert_eq!(found(&with("pub struct A;")), Vec::<String>::new());
    assert_eq!(
        found(&with("use crate::B;\npub struct A(Option<Box<B>>);")),
        [
            "a crate: a circle of 2 files\n    room::a line 1: crate::B in room::b\n    room::b line 1: \
          super::A in room::a"
        ]
    );
}

#[test]
fn every_file_of_tests_is_in_the_one_binary() {
    for package in packages() {
        let folder = package.folder().join("tests");
        let Ok(main) = fs::read_to_string(folder.join("main.rs")) else {
            continue;
        };
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
