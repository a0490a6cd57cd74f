//! Programs that take memory piece by piece: none hangs, and each is told when there is no more.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use mapa_case::{Declared, Session};

use super::world::{Node, UNIT, wait_until};

/// Compiles `grow.c` with the library and a runtime whose device is the host.
fn compile(folder: &Path) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let case = here.join("../runtime");
    let libraries = std::env::current_exe().unwrap();
    let libraries = libraries.parent().unwrap();
    let cc = |words: &[&str]| {
        let output = Command::new("cc")
            .current_dir(folder)
            .arg("-I")
            .arg(case.join("include"))
            .args(["-L", ".", "-L"])
            .arg(libraries)
            .args(words)
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{errors}");
    };
    let [runtime, program] = [
        case.join("tests/c/fake_cudart.c"),
        here.join("tests/grow.c"),
    ];
    let [runtime, program] = [&runtime, &program].map(|path| path.to_str().unwrap());
    cc(&["-shared", "-fPIC", "-o", "libcudart.so", runtime]);
    let needed = ["-lmapa_case", "-Wl,--no-as-needed", "-lcudart"];
    cc(&[&["-o", "grow", program], &needed[..]].concat());
}

fn grow(node: &Node, bytes: u64, rounds: u32) -> Child {
    let libraries = std::env::current_exe().unwrap();
    let libraries = libraries.parent().unwrap().display().to_string();
    let path = format!("{}:{libraries}", node.path().display());
    // One that hangs is ended, and its status says so.
    Command::new("timeout")
        .arg("300")
        .arg(node.path().join("grow"))
        .args([bytes.to_string(), rounds.to_string()])
        .env("LD_LIBRARY_PATH", path)
        .env("MAPA_CASE_SOCKET", node.socket())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The lines that a program has said, without those of the runtime.
fn said(child: Child) -> Vec<String> {
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", output.status);
    let said = String::from_utf8(output.stdout).unwrap();
    let lines = said.lines().filter(|line| line.contains("then"));
    lines.map(str::to_owned).collect()
}

#[test]
fn programs_that_grow_past_the_instance_get_an_error_when_memory_is_out_and_none_hangs() {
    let node = Node::new(&[60], &["--processes-per-slice", "16"]);
    compile(node.path());
    // One program that does not grow is bound there, and goes on beginning and ending tasks.
    let still = Session::new(node.socket(), Declared::default());
    still.begin(1, 15 * UNIT, 1, 0).unwrap();
    still.end(1).unwrap();
    let mut all: Vec<Child> = (0..4).map(|_| grow(&node, 10 * UNIT, 8)).collect();
    let mut task = 2;
    let ended = |all: &mut Vec<Child>| {
        let mut states = all
            .iter_mut()
            .map(|child| child.try_wait().unwrap().is_some());
        states.all(|state| state)
    };
    while !ended(&mut all) {
        still.begin(task, 15 * UNIT, 1, 0).unwrap();
        still.end(task).unwrap();
        task += 1;
    }
    for child in all {
        // Of 60 units two contexts of 3 are taken, so 5 pieces of 10 fit: the sixth is refused, never
        // waited for, and never given beside what others hold.
        assert_eq!(said(child), ["5, then 2"; 8]);
    }
    wait_until("all is given back", || {
        node.entries()
            .iter()
            .filter(|entry| !entry.is_session)
            .count()
            == 0
    });
}
