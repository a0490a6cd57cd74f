//! What the kernel is told for a command: memory, a control group; and arguments that are no UTF-8.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::process::Stdio;

use mapa_live::cgroup::Cgroups;
use mapa_node::{Durability, Ledger, Processes, recover};

use super::common::{Place, error, text};

/// A machine whose only device is beside the system's first NUMA node.
fn place() -> Place {
    let place = Place::new();
    let machine = r#"format = "mapa-machine"
version = 1
name = "one"
nodes = [{ name = "machine", kind = "machine" }, { name = "numa0", kind = "numa", number = 0, up = "machine" }]
devices = [{ name = "GPU0", up = "numa0" }, { name = "GPU1", up = "numa0" }]
links = []
[gbps]
direct = 25.0
host = 12.0
"#;
    let file = place.path().join("one.toml");
    std::fs::write(&file, machine).unwrap();
    let file = file.to_str().unwrap().to_owned();
    place.on(&file)
}

/// Why this process may not bind memory to the first node, if that is what was said.
fn not_bound(said: &str) -> Option<String> {
    let line = said
        .lines()
        .find(|line| line.contains("memory is not bound"))?;
    // Containers forbid the call: EPERM, or ENOSYS where a filter says that there is none.
    let is_forbidden = ["(os error 1)", "(os error 38)"]
        .iter()
        .any(|text| line.contains(text));
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let nodes = status
        .lines()
        .find_map(|line| line.strip_prefix("Mems_allowed_list:"));
    let is_outside = nodes.is_some_and(|node| !node.trim().starts_with('0'));
    (is_forbidden || is_outside).then(|| format!("{line}; nodes allowed: {nodes:?}"))
}

#[test]
fn memory_is_bound_to_the_nodes_beside_the_devices_if_wanted() {
    if !std::path::Path::new("/sys/devices/system/node/has_memory").exists() {
        eprintln!("skipped: this kernel has no NUMA nodes");
        return;
    }
    let place = place();
    // Every mapping of the command shows its policy.
    let script = "grep -c bind:0 /proc/self/numa_maps";
    let bound = place.run(&["run", "-n", "1", "--", "sh", "-c", script]);
    if let Some(why) = not_bound(&error(&bound)) {
        eprintln!("skipped: {why}");
        return;
    }
    let maps = text(&bound);
    assert!(
        maps.trim().parse::<u32>().unwrap() > 3,
        "{maps} {}",
        error(&bound)
    );
    let free = place.run(&["run", "-n", "1", "--no-memory", "--", "sh", "-c", script]);
    assert_eq!(text(&free).trim(), "0");
    let placed = place.json(&["run", "-n", "1", "--dry-run"]);
    assert_eq!(placed["memory"].to_string(), "[0]", "{placed}");
}

#[test]
fn a_command_may_have_arguments_that_are_no_utf_8() {
    let place = Place::new();
    let mut command = place.mapa(&["run", "-n", "1", "--", "printf", "%s"]);
    let output = command.arg(OsStr::from_bytes(b"a\xffb")).output().unwrap();
    assert_eq!(output.stdout, b"a\xffb", "{}", error(&output));
}

#[test]
fn what_has_cleared_its_variables_is_found_by_its_control_group() {
    let Some(home) = Cgroups::default().home() else {
        eprintln!("skipped: no hierarchy of control groups is mounted");
        return;
    };
    if rustix::fs::access(&home, rustix::fs::Access::WRITE_OK).is_err() {
        eprintln!("skipped: {} may not be written", home.display());
        return;
    }
    // Whether a process can be born in a group here.
    let probe = Cgroups::default().make("mapa-probe-of-a-test");
    let is_second = probe.is_some();
    drop(probe.map(|(group, _)| std::fs::remove_dir(group)));
    let place = Place::new();
    // The command ends at once; what it leaves in the background has no mark and no parent.
    let script = "env -i sleep 60 & echo $! >$LOCKS/left; echo >>$LOCKS/there; wait";
    let job = place.mapa(&["run", "-n", "3", "--", "sh", "-c", script]);
    let mut job = { job }
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    place.await_lines("there", 1);
    // On version 2 the command was born in its group; elsewhere it moves there once it has run for a while.
    let mut ledger = Ledger::open(place.ledger()).unwrap();
    let begun = std::time::Instant::now();
    let mut noted = || {
        ledger.read(|books| books.leases()).unwrap()[0]
            .cgroup
            .clone()
    };
    if is_second {
        assert!(noted().is_some(), "it began before its group was noted");
    }
    while noted().is_none() {
        assert!(begun.elapsed().as_secs() < 30);
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let ps = place.json(&["ps"]);
    let shell = ps["leases"][0]["command_pid"].to_string();
    job.kill().unwrap();
    job.wait().unwrap();
    let kill = |pid: &str| {
        let done = std::process::Command::new("kill")
            .args(["-9", pid])
            .status();
        assert!(done.unwrap().success());
    };
    kill(&shell);
    let begun = std::time::Instant::now();
    let left: i64 = place.text("left").trim().parse().unwrap();
    let ps = loop {
        let ps = place.json(&["ps"]);
        if ps["leases"][0]["pid"] == left {
            break ps;
        }
        assert!(begun.elapsed().as_secs() < 10, "{ps} {left}");
    };
    assert_eq!(ps["leases"][0]["adopted"], true, "{ps}");
    assert_eq!(place.json(&["free"])["free"], 5);
    kill(&left.to_string());
    let freed = place.json(&["recover"]);
    assert_eq!(place.json(&["free"])["free"], 8, "{freed}");
    // Nothing of the group is left.
    let name = format!("mapa-{}", ledger.mark(1).replace(':', "-"));
    assert!(!home.join(&name).exists(), "{name}");
    // Without a group the same command would be lost.
    let found = ledger
        .change(Durability::Boot, |books| {
            recover(books, &Processes::new()?, "test")
        })
        .unwrap();
    assert!(found.is_clean());
}
