//! The manager as a service: sessions over its socket, its death, its lease in the ledger.

use std::io;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use mapa_case::message::{Reply, Request};
use mapa_case::{Declared, Error, Session, Socket, Transport};
use rustix::process::{Pid, Signal, kill_process};

use super::world::{Node, UNIT, wait_until};

#[test]
fn a_task_waits_for_another_and_both_get_the_same_instance() {
    let node = Node::new(&[60], &["--context-bytes", "300000000"]);
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
        heard.recv_timeout(Duration::from_secs(120)).unwrap();
    });
    // Only instances that a process has are described to it.
    assert!(first.describe(2).is_err());
}

#[test]
fn a_thread_that_waits_keeps_no_other_from_giving_back() {
    let node = Node::new(&[60], &["--context-bytes", "0"]);
    let sent = Arc::new(AtomicUsize::new(0));
    let count = sent.clone();
    let declared = Declared {
        largest: 50 * UNIT,
        grows: true,
        isolated: false,
    };
    let session = Session::over(node.socket(), declared, move |path| {
        Ok(Arc::new(Counted(Socket::connect(path)?, count.clone())))
    });
    let other = node.session(Declared::default());
    session.begin(1, 20 * UNIT, 1, 0).unwrap();
    other.begin(1, 20 * UNIT, 1, 0).unwrap();
    thread::scope(|scope| {
        let before = sent.load(Ordering::SeqCst);
        let grows = scope.spawn(|| session.extend(1, 30 * UNIT, 1));
        wait_until("the request is sent", || {
            sent.load(Ordering::SeqCst) > before
        });
        // The same session, from this thread. Its request is behind the other, which waits.
        assert!(matches!(
            session.begin(2, 59 * UNIT, 1, 0),
            Err(Error::OutOfMemory)
        ));
        assert!(!grows.is_finished());
        other.end(1).unwrap();
        grows.join().unwrap().unwrap();
    });
}

/// Counts what is sent.
struct Counted(Socket, Arc<AtomicUsize>);

impl Transport for Counted {
    fn send(&self, request: &Request) -> io::Result<()> {
        self.0.send(request)?;
        self.1.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    fn receive(&self) -> io::Result<(Reply, String)> {
        self.0.receive()
    }
}

#[test]
fn calls_survive_the_death_of_the_manager() {
    let mut node = Node::new(&[60, 60], &[]);
    let session = node.session(Declared::default());
    let bound = session.begin(1, 30 * UNIT, 1, 0).unwrap().instance;
    node.kill();
    // Its instances are not free: the process goes on.
    let output = mapa(&node, &["ps"]);
    assert!(output.contains("mapa-case manager"), "{output}");
    thread::scope(|scope| {
        let asks = scope.spawn(|| session.extend(1, 10 * UNIT, 1));
        thread::sleep(Duration::from_millis(50));
        node.start();
        assert_eq!(asks.join().unwrap().unwrap().instance, bound);
    });
    let held = || {
        node.entries()
            .iter()
            .filter(|entry| !entry.is_session)
            .map(|entry| entry.bytes)
            .sum::<u64>()
    };
    assert_eq!(held(), 40 * UNIT);
    session.end(1).unwrap();
    assert_eq!(held(), 0);
    drop(session);
}

#[test]
fn a_manager_of_another_ledger_does_not_take_the_socket() {
    let node = Node::new(&[60], &[]);
    let mut second = Command::new(env!("CARGO_BIN_EXE_mapa-case"));
    let second = second
        .args(["manager", "--ledger"])
        .arg(node.path().join("other.db"));
    let second = second.arg("--instances");
    let second = second.arg(node.path().join("instances.toml"));
    let output = second.arg("--socket").arg(node.socket()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{said}");
    assert!(said.contains("somebody answers there"), "{said}");
    // The first serves on.
    let session = node.session(Declared::default());
    session.begin(1, 30 * UNIT, 1, 0).unwrap();
    session.end(1).unwrap();
}

#[test]
fn an_isolated_job_is_alone_until_its_process_dies() {
    let node = Node::new(&[60], &[]);
    let marker = node.path().join("go-on");
    let mut alone = Command::new(env!("CARGO_BIN_EXE_mapa-case"))
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
        node.entries().iter().any(|entry| entry.instance == 1)
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
    let node = Node::new(&[60], &["--context-bytes", "0"]);
    // A process that holds all, and a grandchild that has inherited its connection.
    let mut holder = super::crowd::client(&node, "hold", 1, 0);
    let file = node.path().join("grandchild");
    let grandchild = || {
        let pid = std::fs::read_to_string(&file).ok()?.parse().ok()?;
        Pid::from_raw(pid)
    };
    wait_until("it holds, and has a child", || grandchild().is_some());
    let grandchild = grandchild().unwrap();
    let sockets = || {
        let folder = format!("/proc/{}/fd", grandchild.as_raw_nonzero());
        let all = std::fs::read_dir(folder).unwrap();
        let all = all.filter_map(|result| std::fs::read_link(result.unwrap().path()).ok());
        all.filter(|path| path.to_string_lossy().starts_with("socket:"))
            .count()
    };
    assert!(sockets() > 0);
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert!(sockets() > 0);
    let session = node.session(Declared::default());
    session.begin(1, 59 * UNIT, 1, 0).unwrap();
    session.end(1).unwrap();
    assert_eq!(node.entries().len(), 1);
    kill_process(grandchild, Signal::KILL).unwrap();
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
    command.arg("--task-file").arg(node.path().join("others"));
    let said = String::from_utf8_lossy(&command.output().unwrap().stderr).into_owned();
    assert!(said.contains("MIG-0: lease 1"), "{said}");
    assert!(mapa(&node, &["ps"]).contains("MIG-0"));
    node.stop();
    assert!(!mapa(&node, &["ps"]).contains("MIG-0"));
    node.start();
    assert!(mapa(&node, &["ps"]).contains("MIG-0"));
}

/// A file, a link or a FIFO in place of the socket stays, and so does a file in place of the tasks; no lease is left behind.
#[test]
fn what_is_no_socket_and_no_file_of_tasks_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("file"), "precious").unwrap();
    std::os::unix::fs::symlink("file", at("link")).unwrap();
    let made = Command::new("mkfifo").arg(at("fifo")).status();
    assert!(made.unwrap().success());
    let machine = ["--machine", "dgx-a100", "--mig", "a100-40gb=3g,2g,1g,1g"];
    for (socket, tasks) in [
        ("file", "tasks"),
        ("link", "tasks"),
        ("fifo", "tasks"),
        ("socket", "file"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mapa-case"));
        command
            .arg("manager")
            .args(machine)
            .arg("--ledger")
            .arg(at("l.db"));
        command
            .arg("--socket")
            .arg(at(socket))
            .arg("--task-file")
            .arg(at(tasks));
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(125), "{socket}: {said}");
        assert!(said.contains("expected"), "{said}");
        assert_eq!(std::fs::read(at("file")).unwrap(), b"precious");
        assert!(at("link").is_symlink() && at("fifo").exists());
        let mut run = Command::new(super::mapa());
        run.args(machine).arg("--ledger").arg(at("l.db"));
        let run = run
            .args(["run", "-n", "1", "--slice", "3g", "--", "true"])
            .output();
        let run = run.unwrap();
        assert!(
            run.status.success(),
            "{}",
            String::from_utf8_lossy(&run.stderr)
        );
    }
}

#[test]
fn a_wrong_file_of_instances_is_named() {
    let node = Node::new(&[60], &[]);
    for (text, expected) in [
        ("", "missing field `instance`"),
        ("[[instance]]\ncuda_visible_devices = \"MIG\"\n", "memory"),
        (
            "[[instance]]\ncuda_visible_devices = \"MIG\"\nmemory = 0\n",
            "expected memory in bytes",
        ),
        (
            "[[instance]]\ncuda_visible_devices = \"MIG\"\nmemory = 1\n[[instance]]\ncuda_visible_devices = \"MIG\"\nmemory = 1\n",
            "expected each part of a device once",
        ),
        // The same under other names; a part of a whole; two parts that overlap.
        (
            "[[instance]]\ncuda_visible_devices = \"MIG\"\nmemory = 1\ndevice = \"A\"\nmig_instance = \"1g@0\"\n[[instance]]\ncuda_visible_devices = \"MIG\"\nmemory = 1\ndevice = \"A\"\nmig_instance = \"1g@1\"\n",
            "`MIG` (A/1g@0) and `MIG` (A/1g@1)",
        ),
        (
            "[[instance]]\ncuda_visible_devices = \"A\"\nmemory = 1\n[[instance]]\ncuda_visible_devices = \"MIG\"\nmemory = 1\ndevice = \"A\"\nmig_instance = \"1g@1\"\n",
            "expected each part of a device once",
        ),
        (
            "[[instance]]\ncuda_visible_devices = \"M\"\nmemory = 1\ndevice = \"A\"\nmig_instance = \"2g@0\"\nslices = 2\n[[instance]]\ncuda_visible_devices = \"MIG\"\nmemory = 1\ndevice = \"A\"\nmig_instance = \"1g@1\"\n",
            "expected each part of a device once",
        ),
    ] {
        let file = node.path().join("wrong.toml");
        std::fs::write(&file, text).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_mapa-case"));
        let command = command
            .args(["manager", "--ledger"])
            .arg(node.path().join("other.db"));
        let command = command.arg("--instances").arg(&file);
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
    let output = Command::new(crate::mapa())
        .args(["--machine", "dgx-a100", "--ledger"])
        .arg(node.path().join("ledger.db"))
        .args(words)
        .output()
        .unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}
