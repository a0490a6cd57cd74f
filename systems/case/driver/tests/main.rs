//! Programs that were never changed, over a driver that the tests make.

// The manager that the tests of the runtime play.
#[allow(dead_code, reason = "they play it in more ways")]
#[path = "../../runtime/tests/manager.rs"]
mod manager;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};

use manager::{LIMIT, Manager};
use mapa_case::message::{Op, Request};

/// How a program finds the functions of the driver.
const WAYS: [&str; 3] = ["LINKED", "DLSYM", "PROC"];

fn cc(words: &[&str]) {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let status = Command::new("cc")
        .current_dir(sources)
        .args(["-Wall", "-Wextra", "-Werror", "-pthread"])
        .args(words)
        .status();
    assert!(status.unwrap().success());
}

fn library() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    own.with_file_name("libcase_driver.so")
}

/// What the manager has granted, beside what the driver says is held.
struct Check {
    granted: Mutex<BTreeMap<(u64, u64), u64>>,
    held: PathBuf,
    objections: Mutex<Vec<String>>,
}

impl Check {
    /// A request: what remains after it must hold all that is held. Grants only raise that, so nothing is
    /// to be checked in between.
    fn see(&self, request: &Request) {
        let mut granted = self.granted.lock().unwrap();
        let key = (request.session, request.task);
        match request.op {
            Op::Begin if request.bytes <= LIMIT => {
                granted.insert(key, request.bytes);
            }
            Op::End => {
                granted.remove(&key);
            }
            _ => {}
        }
        let bytes = fs::read(&self.held).unwrap();
        let held = u64::from_ne_bytes(bytes.try_into().unwrap());
        let all: u64 = granted.values().sum();
        if held > all {
            let what = format!("{held} bytes are held, expected at most {all}: {request:?}");
            self.objections.lock().unwrap().push(what);
        }
    }
}

/// A driver, a program for each way, and a manager that checks them.
struct World {
    folder: tempfile::TempDir,
    manager: Manager,
    check: Arc<Check>,
}

impl World {
    fn new() -> Self {
        // As NVIDIA's: what it calls of its own is its own.
        Self::with("-Wl,-Bsymbolic")
    }

    /// A world whose driver is linked with this word.
    fn with(word: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["real", "front", "front/driver"] {
            fs::create_dir(at(name)).unwrap();
        }
        let driver = at("real/libcuda.so.1");
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        cc(&[
            "-shared",
            "-fPIC",
            "-Wl,-soname,libcuda.so.1",
            word,
            "-o",
            &text(&driver),
            "fake_driver.c",
        ]);
        for way in WAYS {
            let (define, to) = (format!("-D{way}"), text(&at(way)));
            let mut words = vec![&define, "program.c", "-o", &to, "-ldl"];
            let link = text(&driver);
            if way == "LINKED" {
                words.push(&link);
            }
            cc(&words);
        }
        symlink(library(), at("front/libcuda.so.1")).unwrap();
        symlink("libcuda.so.1", at("front/libcuda.so")).unwrap();
        symlink(&driver, at("front/driver/libcuda.so.1")).unwrap();
        fs::write(at("held"), [0; 8]).unwrap();
        let check = Arc::new(Check {
            granted: Mutex::default(),
            held: at("held"),
            objections: Mutex::default(),
        });
        let sees = check.clone();
        Self {
            manager: Manager::watched(move |request| sees.see(request)),
            folder,
            check,
        }
    }

    fn command(&self, way: &str, what: &str) -> Command {
        let mut command = Command::new(self.folder.path().join(way));
        command
            .arg(what)
            .env("LD_LIBRARY_PATH", self.folder.path().join("front"))
            .env("MAPA_CASE_SOCKET", self.manager.socket())
            .env("MAPA_CASE_CONNECT_TIMEOUT", "0")
            .env("FAKE_DRIVER_HELD", self.folder.path().join("held"))
            .env("FAKE_DRIVER_LIMIT", "1000000000")
            .env_remove("CUDA_VISIBLE_DEVICES");
        command
    }

    /// Runs a program, which must succeed, and leave nothing.
    fn run(&self, command: &mut Command) -> String {
        let output = succeeds(command);
        let objections = self.check.objections.lock().unwrap();
        assert!(objections.is_empty(), "{command:?}: {objections:#?}");
        let granted = self.check.granted.lock().unwrap();
        assert!(granted.is_empty(), "{command:?}: {granted:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The bytes of each lease that was asked for since the last call.
    fn asked(&self) -> Vec<u64> {
        let begun = self.manager.requests(Op::Begin);
        self.manager.heard.lock().unwrap().clear();
        begun.iter().map(|begin| begin.bytes).collect()
    }
}

fn succeeds(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    output
}

/// What the programs ask for, who take memory in each way. cuInit binds; a request above all sizes does
/// not reach the manager, and one for nothing does.
#[rustfmt::skip]
const EACH: [u64; 24] = [
    0, 1001, 1002, 1003, 1536, 3072, 1004, 1005, 1006, 1007, 800, 44, 500, 1008, 1016, 1009, 1010, 1011, 1012,
    1013, 1014, 1015, 1 << 40, 0,
];

#[test]
fn each_way_to_take_memory_asks_once_however_the_driver_is_found() {
    let world = World::new();
    asks_once(&world);
}

#[test]
fn a_driver_that_calls_its_own_functions_by_name_asks_once() {
    // In a program that is linked with it, the loader sends such calls to our library.
    asks_once(&World::with("-Wl,-z,lazy"));
}

fn asks_once(world: &World) {
    for way in WAYS {
        let said = world.run(&mut world.command(way, "each"));
        assert_eq!(said, "MIG-7\n", "{way}");
        assert_eq!(world.asked(), EACH, "{way}");
    }
}

#[test]
fn names_are_bound_at_once_too() {
    let world = World::new();
    world.run(world.command("LINKED", "each").env("LD_BIND_NOW", "1"));
}

#[test]
fn functions_at_addresses_without_a_symbol_are_known_by_name_and_version() {
    let world = World::new();
    world.run(world.command("PROC", "each").env("FAKE_DRIVER_HIDDEN", "1"));
    let asked = world.asked();
    assert_eq!(asked, EACH);
}

#[test]
fn threads_never_hold_more_than_was_granted() {
    let world = World::new();
    for way in WAYS {
        world.run(&mut world.command(way, "threads"));
        assert!(world.asked().len() > 8, "{way}");
    }
}

#[test]
fn thousands_of_allocations_need_fewer_leases_than_a_session_has() {
    let world = World::new();
    world.run(&mut world.command("DLSYM", "many"));
    let asked = world.asked();
    assert!(asked.len() > 32 && asked.len() <= 64, "{}", asked.len());
}

#[test]
fn a_forked_child_is_a_process_of_its_own() {
    let world = World::new();
    for way in WAYS {
        world.run(&mut world.command(way, "fork"));
        let sessions = world.manager.requests(Op::Init);
        assert_eq!(sessions.len(), 2, "{way}: {sessions:?}");
        assert_eq!(world.asked(), [0, 77, 0, 88], "{way}");
    }
}

#[test]
fn a_program_that_opens_the_driver_again_has_the_session_that_it_had() {
    let world = World::new();
    for way in ["DLSYM", "PROC"] {
        world.run(&mut world.command(way, "reopen"));
        let sessions = world.manager.requests(Op::Init);
        assert_eq!(sessions.len(), 1, "{way}: {sessions:?}");
        assert_eq!(world.asked(), [0], "{way}");
    }
}

#[test]
fn what_the_driver_refuses_is_given_back() {
    let world = World::new();
    for way in WAYS {
        world.run(
            world
                .command(way, "refused")
                .env("FAKE_DRIVER_LIMIT", "2000"),
        );
        assert_eq!(world.asked(), [0, 3000, 1000], "{way}");
    }
}

#[test]
fn without_a_manager_that_answers_nothing_reaches_the_driver() {
    let world = World::new();
    for way in WAYS {
        let nowhere = world.folder.path().join("nowhere");
        let mut command = world.command(way, "nobody");
        world.run(command.env("MAPA_CASE_SOCKET", nowhere));
        assert_eq!(fs::read(world.folder.path().join("held")).unwrap(), [0; 8]);
    }
}

#[test]
fn without_a_manager_in_the_environment_the_driver_is_as_it_was() {
    let world = World::new();
    for way in WAYS {
        let mut command = world.command(way, "threads");
        let said = world.run(command.env_remove("MAPA_CASE_SOCKET"));
        assert_eq!(said, "all\n", "{way}");
        assert_eq!(world.asked(), [0; 0], "{way}");
    }
}

/// A library in the process that asks for itself, as `libcase_preload.so` and `libmapa_case.so` do.
#[test]
fn where_another_library_asks_this_one_does_not() {
    let world = World::new();
    let other = world.folder.path().join("other.so");
    fs::write(
        world.folder.path().join("other.c"),
        "int case_task_begin(void) { return 0; }\n",
    )
    .unwrap();
    let source = world.folder.path().join("other.c");
    cc(&[
        "-shared",
        "-fPIC",
        "-o",
        other.to_str().unwrap(),
        source.to_str().unwrap(),
    ]);
    for way in WAYS {
        let said = world.run(world.command(way, "many").env("LD_PRELOAD", &other));
        assert_eq!(said, "all\n", "{way}");
        assert_eq!(world.asked(), [0; 0], "{way}");
    }
}

#[test]
fn the_library_exports_what_stands_in_front_and_nothing_else() {
    let output = succeeds(
        Command::new("nm")
            .args(["-D", "--defined-only", "--format=posix"])
            .arg(library()),
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let names: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert_eq!(names.len(), 35, "{names:?}");
    assert!(names.iter().all(|name| name.starts_with("cu")), "{names:?}");
}
