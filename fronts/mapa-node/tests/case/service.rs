//! The manager as a service: sessions over its socket, its death, its lease in the ledger.

use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use mapa_case::{Declared, Error};

use super::world::{Node, UNIT, wait_until};

#[test]
fn a_task_waits_for_another_and_both_are_told_the_same_instance() {
    let node = Node::new(&[60], &["--context", "300000000"]);
    let first = node.session(Declared::default());
    assert_eq!(first.begin(1, 30 * UNIT, 4, 0).unwrap().instance, 1);
    let instance = first.describe(1).unwrap();
    assert_eq!(
        (&*instance.visible, &*instance.pipe),
        ("MIG-0", "/run/mps-0")
    );
    let (told, heard) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(|| {
            let second = node.session(Declared::default());
            second.begin(1, 30 * UNIT, 4, 0).unwrap();
            told.send(()).unwrap();
            second.end(1).unwrap();
        });
        assert!(heard.recv_timeout(Duration::from_millis(200)).is_err());
        first.end(1).unwrap();
        heard.recv_timeout(Duration::from_secs(20)).unwrap();
    });
    // Only instances that a process has are described to it.
    assert!(first.describe(2).is_err());
}

#[test]
fn a_thread_that_waits_keeps_no_other_from_giving_back() {
    let node = Node::new(&[60], &["--context", "0"]);
    let session = node.session(Declared {
        largest: 50 * UNIT,
        grows: true,
        isolated: false,
    });
    let other = node.session(Declared::default());
    session.begin(1, 20 * UNIT, 1, 0).unwrap();
    other.begin(1, 20 * UNIT, 1, 0).unwrap();
    thread::scope(|scope| {
        let grows = scope.spawn(|| session.extend(1, 30 * UNIT, 1));
        wait_until("the request waits", || !grows.is_finished());
        thread::sleep(Duration::from_millis(50));
        assert!(!grows.is_finished());
        // The same session, from this thread.
        assert!(matches!(
            session.begin(2, 59 * UNIT, 1, 0),
            Err(Error::OutOfMemory)
        ));
        other.end(1).unwrap();
        grows.join().unwrap().unwrap();
    });
}

#[test]
fn calls_survive_the_death_of_the_manager() {
    let mut node = Node::new(&[60, 60], &[]);
    let session = node.session(Declared::default());
    let bound = session.begin(1, 30 * UNIT, 1, 0).unwrap().instance;
    node.kill();
    // Its instances are not free: the process goes on.
    let look = mapa(&node, &["ps"]);
    assert!(look.contains("mapa-node case"), "{look}");
    thread::scope(|scope| {
        let asks = scope.spawn(|| session.extend(1, 10 * UNIT, 1));
        thread::sleep(Duration::from_millis(50));
        node.start();
        assert_eq!(asks.join().unwrap().unwrap().instance, bound);
    });
    let held = || {
        node.entries()
            .iter()
            .filter(|own| !own.is_session)
            .map(|own| own.bytes)
            .sum::<u64>()
    };
    assert_eq!(held(), 40 * UNIT);
    session.end(1).unwrap();
    assert_eq!(held(), 0);
    drop(session);
}

#[test]
fn an_isolated_job_is_alone_until_its_process_dies() {
    let node = Node::new(&[60], &[]);
    let marker = node.path().join("go-on");
    let mut alone = Command::new(mapa_case())
        .args(["run", "--socket"])
        .arg(node.socket())
        .args(["--isolated", "--bytes", "2000000000", "--", "sh", "-c"])
        .arg(format!(
            "echo $CUDA_VISIBLE_DEVICES:$MAPA_CASE_SOCKET; while [ ! -e {} ]; do sleep 0.01; done",
            marker.display()
        ))
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("it has its instance", || {
        node.entries().iter().any(|own| own.instance == 1)
    });
    let session = node.session(Declared::default());
    thread::scope(|scope| {
        let asks = scope.spawn(|| session.begin(1, UNIT, 1, 0));
        thread::sleep(Duration::from_millis(100));
        assert!(!asks.is_finished());
        std::fs::write(&marker, "").unwrap();
        asks.join().unwrap().unwrap();
    });
    assert!(alone.wait().unwrap().success());
    let mut said = String::new();
    std::io::Read::read_to_string(&mut alone.stdout.take().unwrap(), &mut said).unwrap();
    assert_eq!(said, "MIG-0:\n");
}

#[test]
fn a_dead_process_leaves_nothing_behind() {
    let node = Node::new(&[60], &["--context", "0"]);
    // A process that holds all and a grandchild that has inherited its socket.
    let mut holder = super::crowd::client(&node, "hold", 1, 0);
    wait_until("it holds", || {
        node.entries().iter().any(|own| !own.is_session)
    });
    holder.kill().unwrap();
    holder.wait().unwrap();
    let session = node.session(Declared::default());
    session.begin(1, 59 * UNIT, 1, 0).unwrap();
    session.end(1).unwrap();
    assert_eq!(node.entries().len(), 1);
}

#[test]
fn instances_that_processes_share_are_given_to_nobody_else() {
    let mut node = Node::new(&[60], &[]);
    // A second manager of the same tasks.
    let second = node.command().output().unwrap();
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert_eq!(second.status.code(), Some(125));
    assert!(said.contains("serves these tasks"), "{said}");
    // Another, of the same instances.
    let mut command = node.command();
    command.arg("--tasks").arg(node.path().join("others"));
    let said = String::from_utf8_lossy(&command.output().unwrap().stderr).into_owned();
    assert!(said.contains("MIG-0: lease 1"), "{said}");
    assert!(mapa(&node, &["ps"]).contains("MIG-0"));
    node.stop();
    assert!(!mapa(&node, &["ps"]).contains("MIG-0"));
    node.start();
    assert!(mapa(&node, &["ps"]).contains("MIG-0"));
}

#[test]
fn a_wrong_file_of_instances_is_named() {
    let node = Node::new(&[60], &[]);
    for (text, expected) in [
        ("", "missing field `instance`"),
        ("[[instance]]\nvisible = \"MIG\"\n", "memory"),
        (
            "[[instance]]\nvisible = \"MIG\"\nmemory = 0\n",
            "expected memory in bytes",
        ),
        (
            "[[instance]]\nvisible = \"MIG\"\nmemory = 1\n[[instance]]\nvisible = \"MIG\"\nmemory = 1\n",
            "MIG",
        ),
    ] {
        let file = node.path().join("wrong.toml");
        std::fs::write(&file, text).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_mapa-node"));
        let command = command.arg("--ledger").arg(node.path().join("other.db"));
        let command = command.args(["case", "--instances"]).arg(&file);
        let output = command
            .arg("--socket")
            .arg(node.path().join("x"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(
            said.contains("wrong.toml") && said.contains(expected),
            "{said}"
        );
    }
}

fn mapa(node: &Node, words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_mapa"))
        .args(["--machine", "dgx-a100", "--ledger"])
        .arg(node.path().join("ledger.db"))
        .args(words)
        .output()
        .unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

/// The program `mapa-case`, which lies beside those of this package where the workspace is tested.
pub(crate) fn mapa_case() -> std::path::PathBuf {
    let own = std::path::Path::new(env!("CARGO_BIN_EXE_mapa-node"));
    let path = own.with_file_name("mapa-case");
    if !path.exists() {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let built = Command::new(cargo)
            .args(["build", "--offline", "-p", "mapa-case"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status();
        assert!(built.unwrap().success(), "expected mapa-case to build");
    }
    path
}
