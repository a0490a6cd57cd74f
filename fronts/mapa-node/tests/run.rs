//! `mapa run` and its fellows: what a command is given, what comes back, what is refused.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use mapa_node::Ledger;
use serde_json::Value;

use super::common::{LOCK, Place, error, text};

#[test]
fn a_command_gets_its_devices_in_rank_order_and_its_status_comes_back() {
    let place = Place::new();
    let words = ["run", "-n", "4", "--pattern", "ring", "--", "sh", "-c"];
    let script = "echo $CUDA_DEVICE_ORDER $CUDA_VISIBLE_DEVICES $MAPA_DEVICES; exit 7";
    let output = place.run(&[&words[..], &[script]].concat());
    assert_eq!(text(&output), "PCI_BUS_ID 0,1,2,3 GPU0,GPU1,GPU2,GPU3");
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(place.leases(), [0i64; 0]);
    let kinds: Vec<Value> = place
        .log()
        .iter()
        .map(|value| value["kind"].clone())
        .collect();
    assert_eq!(kinds, ["machine", "grant", "release"]);

    // The ring is put where it is fastest, which is not where ids are lowest.
    let place = Place::of("dgx-1v");
    let placed = place.json(&["run", "-n", "3", "--avoid", "1", "--sensitive", "--dry-run"]);
    let devices: Vec<String> = placed["devices"]
        .as_array()
        .unwrap()
        .iter()
        .map(Value::to_string)
        .collect();
    let environment = &placed["environment"];
    assert_eq!(environment["CUDA_VISIBLE_DEVICES"], devices.join(","));
    assert!(!devices.contains(&"1".to_owned()) && placed["lease"].is_null());
    assert!(placed["decision"]["scores"].is_object(), "{placed}");
}

#[test]
fn each_part_of_the_surroundings_can_be_left_out() {
    let place = Place::new();
    let all = place.json(&["run", "-n", "1", "--dry-run"]);
    assert_eq!(all["environment"]["CUDA_DEVICE_ORDER"], "PCI_BUS_ID");
    let less = place.json(&[
        "run",
        "-n",
        "1",
        "--dry-run",
        "--no-device-order",
        "--no-cpus",
        "--no-memory",
        "--no-nics",
    ]);
    assert!(
        less["environment"].get("CUDA_DEVICE_ORDER").is_none(),
        "{less}"
    );
    assert_eq!(
        (
            less["cpus"].as_array().unwrap().len(),
            less["notes"].as_array().unwrap().len()
        ),
        (0, 0)
    );
}

#[test]
fn amds_devices_are_named_to_rocr_and_nobody_else_chooses_among_them() {
    let place = Place::of("mi300x-x8");
    let placed = place.json(&["run", "-n", "2", "--dry-run"]);
    assert_eq!(placed["environment"]["ROCR_VISIBLE_DEVICES"], "0,1");
    assert!(placed["environment"].get("CUDA_VISIBLE_DEVICES").is_none());
    let removed = placed["removed"].to_string();
    assert!(removed.contains("HIP_VISIBLE_DEVICES") && removed.contains("CUDA_VISIBLE_DEVICES"));
}

#[test]
fn the_three_refusals_and_what_never_starts_have_statuses_of_their_own() {
    let place = Place::new();
    let status = |words: &[&str]| {
        let output = place.run(words);
        (output.status.code().unwrap(), error(&output))
    };
    let (code, said) = status(&["run", "-n", "9", "--", "true"]);
    assert_eq!(code, 69, "{said}");
    assert!(
        said.contains("infeasible") && said.contains("allow 8"),
        "{said}"
    );
    let (code, said) = status(&[
        "run",
        "-n",
        "6",
        "--pattern",
        "ring",
        "--policy",
        "case",
        "--max-nodes",
        "1",
        "--",
        "true",
    ]);
    assert_eq!(code, 70, "{said}");
    let mut holder = place
        .mapa(&[
            "run",
            "-n",
            "8",
            "--",
            "sh",
            "-c",
            "echo >>$LOCKS/there; sleep 600",
        ])
        .spawn()
        .unwrap();
    place.await_lines("there", 1);
    let (code, said) = status(&["run", "-n", "1", "--", "true"]);
    assert_eq!(code, 75);
    assert!(
        said.contains("busy") && said.contains("0 of the 8 allowed are free"),
        "{said}"
    );
    // Impossible stays impossible while the machine is busy.
    assert_eq!(status(&["run", "-n", "9", "--wait", "--", "true"]).0, 69);
    let lease = place.leases()[0].to_string();
    assert!(place.run(&["release", &lease]).status.success());
    assert_eq!(holder.wait().unwrap().code(), Some(128 + 15));

    let (code, said) = status(&["run", "-n", "1", "--", "/no/such/command"]);
    assert_eq!(code, 127, "{said}");
    assert_eq!(status(&["run", "-n", "1", "--", "/"]).0, 126);
    let (code, said) = status(&["run", "-n", "1", "--policy", "no-such", "--", "true"]);
    assert_eq!(code, 2);
    assert!(
        said.contains("no policy is called `no-such`") && said.contains("expected one of"),
        "{said}"
    );
    let (code, said) = status(&["run", "-n", "1"]);
    assert_eq!(
        (code, said.contains("expected -- COMMAND")),
        (2, true),
        "{said}"
    );
    assert_eq!(status(&["release", "999"]).0, 2);
    assert_eq!(
        place.leases(),
        [0i64; 0],
        "what never started holds nothing"
    );
}

#[test]
fn signals_are_passed_on_and_their_end_is_reported_as_by_a_shell() {
    let place = Place::new();
    let script = "trap 'echo got >>$LOCKS/got; exit 3' USR1; echo >>$LOCKS/there; while :; do sleep 0.02; done";
    let mut job = place
        .mapa(&["run", "-n", "1", "--", "sh", "-c", script])
        .spawn()
        .unwrap();
    place.await_lines("there", 1);
    signal(job.id(), "USR1");
    assert_eq!(job.wait().unwrap().code(), Some(3));
    assert_eq!(place.text("got"), "got\n");

    let mut job = place
        .mapa(&[
            "run",
            "-n",
            "1",
            "--",
            "sh",
            "-c",
            "echo >>$LOCKS/there; exec sleep 600",
        ])
        .spawn()
        .unwrap();
    place.await_lines("there", 2);
    signal(job.id(), "TERM");
    assert_eq!(job.wait().unwrap().code(), Some(128 + 15));
    let output = place.run(&["run", "-n", "1", "--", "sh", "-c", "kill -9 $$"]);
    assert_eq!(output.status.code(), Some(128 + 9));
    assert_eq!(place.leases(), [0i64; 0]);
}

/// The signals that a batch system or an operator sends beside those of terminals.
#[test]
fn signals_of_clocks_limits_and_real_time_are_passed_on() {
    let place = Place::new();
    let names = ["ALRM", "VTALRM", "PROF", "XCPU", "XFSZ", "35", "64"];
    let traps: Vec<String> = names
        .iter()
        .map(|name| format!("trap 'echo {name} >>$LOCKS/got' {name}"))
        .collect();
    let script = format!(
        "{}; trap 'exit 4' USR2; echo >>$LOCKS/there; while :; do sleep 0.02; done",
        traps.join("; ")
    );
    // The shell of Debian knows no signals of real time by number.
    let words = ["run", "-n", "1", "--", "bash", "-c", &script];
    let mut job = place.mapa(&words).spawn().unwrap();
    place.await_lines("there", 1);
    for (count, name) in (1..).zip(names) {
        signal(job.id(), name);
        place.await_lines("got", count);
    }
    signal(job.id(), "USR2");
    assert_eq!(job.wait().unwrap().code(), Some(4));
    assert_eq!(place.text("got").lines().collect::<Vec<_>>(), names);
}

/// A program that is stopped stops its command, and both go on together.
#[test]
fn a_stop_is_passed_on_and_so_is_what_continues_it() {
    let place = Place::new();
    let script = "echo $$ >$LOCKS/pid; echo >>$LOCKS/there; while :; do sleep 0.02; done";
    let words = ["run", "-n", "1", "--", "sh", "-c", script];
    // A group of its own, as shells give to jobs: the kernel stops nobody in a group without a shell.
    let mut job = place.mapa(&words).process_group(0).spawn().unwrap();
    place.await_lines("there", 1);
    let state = |pid: &str| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let (_, rest) = stat.rsplit_once(") ").unwrap();
        rest.chars().next().unwrap()
    };
    let (program, command) = (job.id().to_string(), place.text("pid").trim().to_owned());
    let is_stopped = |wanted: bool| {
        let begun = std::time::Instant::now();
        while [&program, &command]
            .iter()
            .any(|pid| (state(pid) == 'T') != wanted)
        {
            assert!(begun.elapsed() < Duration::from_secs(30), "{wanted}");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    signal(job.id(), "TSTP");
    is_stopped(true);
    signal(job.id(), "CONT");
    is_stopped(false);
    signal(job.id(), "TERM");
    assert_eq!(job.wait().unwrap().code(), Some(128 + 15));
}

#[test]
fn what_a_command_leaves_behind_ends_before_its_devices_are_free() {
    let place = Place::new();
    // The grandchild leaves its session, ignores SIGHUP and holds the lock.
    let script = format!("{LOCK} setsid nohup sleep 300 >/dev/null 2>&1 & sleep 0.1; exit 0");
    let output = place.run(&["run", "-n", "2", "--", "sh", "-c", &script]);
    assert_eq!(output.status.code(), Some(0));
    let output = place.run(&["run", "-n", "2", "--", "sh", "-c", LOCK]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(place.text("faults"), "");
}

#[test]
fn a_command_whose_time_is_up_is_ended() {
    let place = Place::new();
    let output = place.run(&["run", "-n", "1", "--time", "1", "--", "sleep", "60"]);
    assert_eq!(output.status.code(), Some(124));
    let log = place.log();
    assert!(
        log.last().unwrap()["reason"]
            .as_str()
            .unwrap()
            .contains("time was up"),
        "{log:?}"
    );
    assert!(
        !place
            .run(&["run", "-n", "1", "--time", "1w", "--", "true"])
            .status
            .success()
    );
}

#[test]
fn a_cordoned_device_is_not_given_until_it_is_uncordoned_or_its_time_is_up() {
    let place = Place::new();
    let free = || place.json(&["free"])["free"].as_i64().unwrap();
    assert!(
        place
            .run(&["cordon", "GPU0", "3", "--reason", "fan"])
            .status
            .success()
    );
    assert_eq!(free(), 6);
    let placed = place.json(&["run", "-n", "2", "--dry-run"]);
    let given = placed["names"].to_string();
    assert!(
        !given.contains("GPU0") && !given.contains("GPU3"),
        "{given}"
    );
    let refused = place.run(&["run", "-n", "8", "--", "true"]);
    assert_eq!(refused.status.code(), Some(75));
    assert!(error(&refused).contains("fan"), "{}", error(&refused));
    assert!(place.run(&["uncordon", "0", "GPU3"]).status.success());
    assert_eq!(place.run(&["uncordon", "0"]).status.code(), Some(2));
    let cordon = |length: &str| {
        let done = place.run(&["cordon", "--all", "--duration", length]);
        assert!(done.status.success(), "{}", error(&done));
    };
    cordon("1h");
    assert_eq!(free(), 0);
    // The shorter one takes the place of the longer one, and ends by itself.
    cordon("1s");
    std::thread::sleep(Duration::from_millis(1100));
    assert_eq!(free(), 8);
}

#[test]
fn a_typing_error_makes_no_ledger() {
    let place = Place::new();
    let told = |words: &[&str], status: i32| {
        let output = place.run(words);
        assert_eq!(output.status.code(), Some(status), "{words:?}");
        assert!(!place.ledger().exists(), "{words:?}");
        let told = error(&output);
        assert!(told.contains("ledger.db: no ledger yet"), "{told}");
        told
    };
    for words in ["ps", "tenants", "log", "recover"] {
        told(&[words], 0);
    }
    let free = told(&["release", "1"], 2);
    assert!(free.contains("lease 1"), "{free}");
    // Who asks for devices begins one.
    assert!(place.run(&["free"]).status.success());
    assert_eq!(error(&place.run(&["ps"])), "");
}

#[test]
fn a_ledger_is_of_one_machine() {
    let mut place = Place::new();
    assert!(place.run(&["free"]).status.success());
    place = place.on("dgx-1v");
    let output = place.run(&["free"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        error(&output).contains("expected --machine dgx-a100"),
        "{}",
        error(&output)
    );
}

#[test]
fn waiting_job_prints_position_and_reason_and_a_signal_dequeues_it() {
    let place = Place::new();
    let mut holder = place
        .mapa(&[
            "run",
            "-n",
            "8",
            "--",
            "sh",
            "-c",
            "echo >>$LOCKS/there; sleep 600",
        ])
        .spawn()
        .unwrap();
    place.await_lines("there", 1);
    let wait = || {
        place
            .mapa(&["run", "-n", "2", "--wait", "--", "true"])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let queued = |count: usize| {
        let begun = std::time::Instant::now();
        loop {
            let queue = place.json(&["ps"])["queue"].as_array().unwrap().clone();
            if queue.len() == count {
                return queue;
            }
            assert!(begun.elapsed() < Duration::from_secs(30), "{queue:?}");
        }
    };
    let first = wait();
    queued(1);
    let second = wait();
    let queue = queued(2);
    assert!(
        queue[1]["reason"]
            .as_str()
            .unwrap()
            .contains("1 job waits before this one"),
        "{queue:?}"
    );
    // A shell that runs the tests in the background has them ignore SIGINT.
    signal(first.id(), "TERM");
    let output = first.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(128 + 15));
    assert!(
        error(&output).contains("position 1 of 1"),
        "{}",
        error(&output)
    );
    queued(1);
    // Nobody overtakes, and an order cannot be mixed with another.
    assert_eq!(
        place.run(&["run", "-n", "1", "--", "true"]).status.code(),
        Some(75)
    );
    let other = place.run(&[
        "run",
        "-n",
        "1",
        "--wait",
        "--scheduler",
        "easy-backfill",
        "--",
        "true",
    ]);
    assert_eq!(
        (
            other.status.code(),
            error(&other).contains("ordered by first-come")
        ),
        (Some(2), true)
    );
    signal(holder.id(), "KILL");
    drop(holder.wait());
    // The holder is gone, but its command lives on: the lease is adopted until that ends too.
    let adopted = place.json(&["ps"])["leases"][0].clone();
    assert_eq!(adopted["adopted"], true, "{adopted}");
    signal(
        u32::try_from(adopted["pid"].as_i64().unwrap()).unwrap(),
        "KILL",
    );
    // Either this command releases it, or the poll of another process was faster: then there is no such lease.
    let freed = place.run(&["release", &adopted["lease"].to_string()]);
    let code = freed.status.code();
    assert!(
        code == Some(0) || code == Some(2) && error(&freed).contains("no lease"),
        "{}",
        error(&freed)
    );
    assert_eq!(second.wait_with_output().unwrap().status.code(), Some(0));
}

#[test]
fn a_queue_can_be_ordered_by_a_scheduler() {
    let place = Place::new();
    let mut holder = place
        .mapa(&[
            "run",
            "-n",
            "6",
            "--time",
            "60",
            "--",
            "sh",
            "-c",
            "echo >>$LOCKS/there; while [ ! -e $LOCKS/order ]; do sleep .05; done",
        ])
        .spawn()
        .unwrap();
    place.await_lines("there", 1);
    let run = |n: &str, time: &str, name: &str| {
        let script = format!("echo {name} >>$LOCKS/order");
        place
            .mapa(&[
                "run",
                "-n",
                n,
                "--wait",
                "--scheduler",
                "easy-backfill",
                "--time",
                time,
                "--",
                "sh",
                "-c",
                &script,
            ])
            .spawn()
            .unwrap()
    };
    // The large one came first and cannot start; the small one ends before the holder's time is up,
    // so it delays nobody.
    let mut large = run("8", "60", "large");
    let begun = std::time::Instant::now();
    while place.json(&["ps"])["queue"].as_array().unwrap().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(30));
    }
    let mut small = run("2", "5", "small");
    for job in [&mut small, &mut large, &mut holder] {
        assert!(job.wait().unwrap().success());
    }
    assert_eq!(place.text("order"), "small\nlarge\n");
}

#[test]
fn nobody_waits_for_what_no_end_of_another_job_can_bring() {
    let place = Place::new().with(&["--mig", "a100-40gb"]);
    let words = [
        "run", "-n", "1", "--slice", "1g.5gb", "--wait", "--", "true",
    ];
    let output = place.run(&words);
    assert_eq!(output.status.code(), Some(75), "{}", error(&output));
    let said = error(&output);
    assert!(said.contains("waiting does not help"), "{said}");
    assert!(said.contains("repartitioned"), "{said}");
}

fn signal(pid: u32, name: &str) {
    let done = std::process::Command::new("kill")
        .args([&format!("-{name}"), &pid.to_string()])
        .status();
    assert!(done.unwrap().success());
}

#[test]
fn a_wait_for_the_lease_in_which_it_runs_is_refused() {
    let place = Place::new();
    let bin = super::mapa().display().to_string();
    let machine = place.machine().to_owned();
    let script = format!(
        "{bin} --machine {machine} run -n 3 --wait -- true 2>$LOCKS/said; echo $? >$LOCKS/status"
    );
    let output = place.run(&["run", "-n", "6", "--", "sh", "-c", &script]);
    assert!(output.status.success(), "{}", error(&output));
    let said = place.text("said");
    assert_eq!(place.text("status").trim(), "75", "{said}");
    assert!(
        said.contains("lease 1, in which this command runs"),
        "{said}"
    );
    // What the others leave it gets.
    let script = format!("{bin} --machine {machine} run -n 2 --wait -- true");
    let output = place.run(&["run", "-n", "6", "--", "sh", "-c", &script]);
    assert!(output.status.success(), "{}", error(&output));
}

#[test]
fn a_job_of_no_devices_is_a_malformed_request() {
    let output = Place::new().run(&["run", "-n", "0", "--", "true"]);
    assert_eq!(output.status.code(), Some(2), "{}", error(&output));
}

/// A ledger that was removed, or emptied, while a job holds devices by it.
#[test]
fn a_ledger_that_vanished_is_noticed_by_the_processes_that_hold_devices() {
    for is_emptied in [false, true] {
        let place = Place::new();
        let script = "echo >>$LOCKS/there; while [ ! -e $LOCKS/end ]; do sleep .02; done";
        let mut job = place.mapa(&["run", "-n", "8", "--", "sh", "-c", script]);
        let mut job = job.stderr(Stdio::null()).spawn().unwrap();
        place.await_lines("there", 1);
        for end in ["db-wal", "db-shm"] {
            drop(std::fs::remove_file(place.ledger().with_extension(end)));
        }
        if is_emptied {
            std::fs::write(place.ledger(), "").unwrap();
        } else {
            std::fs::remove_file(place.ledger()).unwrap();
        }
        let output = place.run(&["run", "-n", "8", "--", "true"]);
        assert_eq!(output.status.code(), Some(2), "{}", error(&output));
        assert!(
            error(&output).contains("earlier one in its place"),
            "{}",
            error(&output)
        );
        std::fs::write(place.path().join("end"), "").unwrap();
        // It frees its lease in the file that it has open.
        job.wait().unwrap();
        let output = place.run(&["run", "-n", "8", "--", "true"]);
        assert!(output.status.success(), "{}", error(&output));
    }
}

/// The log of a ledger that was removed, or emptied, while a job holds devices by a lease that is in the log alone.
#[test]
fn a_log_that_vanished_is_noticed_by_the_processes_that_hold_devices() {
    for is_emptied in [false, true] {
        let place = Place::new();
        drop(Ledger::open(place.ledger()).unwrap());
        let database = rusqlite::Connection::open(place.ledger()).unwrap();
        let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
        (database.query_row(checkpoint, [], |_| Ok(()))).unwrap();
        drop(database);
        let script = "echo >>$LOCKS/there; while [ ! -e $LOCKS/end ]; do sleep .02; done";
        let mut job = place.mapa(&["run", "-n", "8", "--", "sh", "-c", script]);
        let mut job = job.stderr(Stdio::null()).spawn().unwrap();
        place.await_lines("there", 1);
        std::fs::remove_file(place.ledger().with_extension("db-shm")).unwrap();
        let log = place.ledger().with_extension("db-wal");
        if is_emptied {
            std::fs::write(&log, "").unwrap();
        } else {
            std::fs::remove_file(&log).unwrap();
        }
        // Not only by the first that looks.
        for _ in 0..2 {
            let output = place.run(&["run", "-n", "8", "--", "true"]);
            assert_eq!(output.status.code(), Some(2), "{}", error(&output));
            assert!(
                error(&output).contains("the log of the ledger is gone"),
                "{}",
                error(&output)
            );
        }
        std::fs::write(place.path().join("end"), "").unwrap();
        job.wait().unwrap();
        let output = place.run(&["run", "-n", "8", "--", "true"]);
        assert!(output.status.success(), "{}", error(&output));
    }
}

/// Where users share no ledger, two of them could get one device.
#[test]
fn without_a_ledger_that_all_share_the_machine_itself_is_not_given() {
    if std::path::Path::new("/var/lib/mapa").is_dir() {
        eprintln!("skipped: this machine has a ledger that all share");
        return;
    }
    let machine = super::common::Machine::of("dgx-1v");
    let state = machine.path().join("home");
    let run = |words: &[&str]| {
        let mut command = Command::new(super::mapa());
        command
            .arg("--nvml")
            .arg(machine.path().join("driver/libnvidia-ml.so.1"))
            .args(words)
            .env("XDG_STATE_HOME", &state)
            .env("XDG_CACHE_HOME", machine.path().join("cache"))
            .env_remove("MAPA_LEDGER");
        command.output().unwrap()
    };
    let output = run(&["run", "-n", "1", "--", "true"]);
    assert_eq!(output.status.code(), Some(2), "{}", error(&output));
    let said = error(&output);
    assert!(
        said.contains("install -d -m 2770 -g mapa /var/lib/mapa"),
        "{said}"
    );
    assert!(said.contains("--private"), "{said}");
    assert!(!state.exists(), "no ledger was made");
    let output = run(&["--private", "run", "-n", "1", "--", "true"]);
    assert!(output.status.success(), "{}", error(&output));
    assert!(state.join("mapa/ledger.db").exists());
    // A machine that is only described is nobody's to share.
    let described = state.with_file_name("described");
    let output = Command::new(super::mapa())
        .args(["--machine", "dgx-1v", "run", "-n", "1", "--", "true"])
        .env("XDG_STATE_HOME", &described)
        .env_remove("MAPA_LEDGER")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", error(&output));
    assert!(described.join("mapa/ledger.db").exists());
}

#[test]
fn a_tenant_has_a_name_of_some_length() {
    let place = Place::new();
    for name in ["", &"x".repeat(257)] {
        let output = place.run(&["run", "-n", "1", "--tenant", name, "--", "true"]);
        assert!(!output.status.success());
        let said = error(&output);
        assert!(said.contains("expected a name of 1 to 256 bytes"), "{said}");
    }
    let longest = "x".repeat(256);
    let output = place.run(&["run", "-n", "1", "--tenant", &longest, "--", "true"]);
    assert!(output.status.success(), "{}", error(&output));
}
