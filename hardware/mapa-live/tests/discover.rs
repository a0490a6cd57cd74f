//! Discovery by a command or KFD's files, what is kept of it, and commands that fail or hang.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use mapa_live::{Live, Source, discover};
use mapa_topologies::{HostDetail, read};

use crate::common::{Machine, TOPO, unkept, write_kfd};

/// What a refusal says of the command; the folder of the test is called FOLDER.
fn of_command(machine: &Machine, live: &Live) -> String {
    let text = machine.refusal(live);
    let (_, command) = text.split_once("nvidia-smi (").unwrap();
    let (command, _) = command.split_once("; kfd (").unwrap();
    command.replace(&machine.path("").display().to_string(), "FOLDER/")
}

#[test]
fn where_there_is_nothing_the_error_says_what_was_looked_for_and_where() {
    let machine = Machine::new();
    let text = machine.refusal(&machine.live());
    assert!(text.starts_with("no accelerators found: nvml ("), "{text}");
    let place = |path: &str| machine.path(path).display().to_string();
    for (source, place, why) in [
        (
            "nvml",
            place("libnvidia-ml.so.1"),
            if cfg!(feature = "nvml") {
                "cannot be loaded: "
            } else {
                "not in this build"
            },
        ),
        ("nvidia-smi", place("nvidia-smi"), "no such command; "),
        (
            "kfd",
            place("sys/class/kfd/kfd/topology/nodes"),
            "no such folder",
        ),
    ] {
        assert!(
            text.contains(&format!("{source} ({place}): {why}")),
            "{text}"
        );
    }
    // A name instead of a path is looked for where the system looks.
    let mut live = machine.live();
    live.nvidia_smi = "no-such-nvidia-smi".into();
    insta::assert_snapshot!(of_command(&machine, &live), @"no-such-nvidia-smi): not in PATH");
}

#[test]
fn what_the_command_prints_is_read_as_if_it_were_pasted() {
    let machine = Machine::new().with_command();
    let found = machine.discover();
    let mut pasted = read(TOPO.as_bytes()).unwrap().into_machine().unwrap();
    pasted.name = "node7".to_owned();
    assert_eq!(found.machine, pasted);
    assert_eq!(
        (found.by, found.cached, found.driver.as_deref()),
        (Source::NvidiaSmi, false, Some("550.54.15"))
    );
    assert_eq!(found.says.host, HostDetail::Classes);
    assert!(found.state.is_some() && found.file.is_none());
    let tried: Vec<_> = found
        .tried
        .iter()
        .map(|attempt| (attempt.source, attempt.failure.is_none()))
        .collect();
    assert_eq!(tried, [(Source::Nvml, false), (Source::NvidiaSmi, true)]);
    assert!(found.at.elapsed().unwrap() < Duration::from_secs(60));
}

#[test]
fn a_command_that_hangs_is_killed() {
    let machine = Machine::new();
    machine.script(r#"echo $$ > "$here/pid"; exec sleep 600"#);
    let mut live = machine.live();
    live.time_limit = Duration::from_millis(500);
    let start = Instant::now();
    let text = of_command(&machine, &live);
    assert!(
        start.elapsed() < Duration::from_secs(20),
        "{:?}",
        start.elapsed()
    );
    // It is asked nothing else.
    insta::assert_snapshot!(text, @"FOLDER/nvidia-smi): topo -m: no answer within 500ms: killed");
    let pid = fs::read_to_string(machine.path("pid")).unwrap();
    assert!(
        !Path::new("/proc").join(pid.trim()).exists(),
        "process {pid} is still there"
    );
}

#[test]
fn what_a_command_that_hangs_has_started_is_killed_with_it() {
    let machine = Machine::new();
    machine.script(r#"sleep 600 & echo $! > "$here/pid"; wait"#);
    let mut live = machine.live();
    live.time_limit = Duration::from_secs(1);
    let start = Instant::now();
    insta::assert_snapshot!(
        of_command(&machine, &live),
        @"FOLDER/nvidia-smi): topo -m: no answer within 1s: killed"
    );
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "{:?}",
        start.elapsed()
    );
    let pid = fs::read_to_string(machine.path("pid")).unwrap();
    // Whoever adopts it may not have asked yet how it ended.
    let runs = || {
        let stat = fs::read_to_string(Path::new("/proc").join(pid.trim()).join("stat"));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    };
    while runs() && start.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!runs(), "process {pid} is still there");
}

#[test]
fn what_has_left_the_group_of_a_command_that_hangs_is_killed_too() {
    let machine = Machine::new();
    // Its parent ends at once, so nothing but its environment says whose it is.
    machine
        .script(r#"(setsid sh -c 'echo $$ > "$1/pid"; exec sleep 600' - "$here" &) ; sleep 600"#);
    let mut live = machine.live();
    live.time_limit = Duration::from_secs(1);
    insta::assert_snapshot!(
        of_command(&machine, &live),
        @"FOLDER/nvidia-smi): topo -m: no answer within 1s: killed"
    );
    let pid = fs::read_to_string(machine.path("pid")).unwrap();
    let start = Instant::now();
    let runs = || {
        let stat = fs::read_to_string(Path::new("/proc").join(pid.trim()).join("stat"));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    };
    while runs() && start.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!runs(), "process {pid} is still there");
}

#[test]
fn a_command_whose_child_holds_the_pipe_is_not_waited_for() {
    let machine = Machine::new();
    machine.script("sleep 20 & exit 0");
    let mut live = machine.live();
    live.time_limit = Duration::from_millis(500);
    let start = Instant::now();
    insta::assert_snapshot!(
        of_command(&machine, &live),
        @"FOLDER/nvidia-smi): topo -m: no answer within 500ms: killed"
    );
    assert!(
        start.elapsed() < Duration::from_secs(15),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn a_command_that_prints_without_end_is_stopped() {
    let machine = Machine::new();
    machine.script("exec yes");
    let text = machine.refusal(&machine.live());
    assert!(
        text.contains("topo -m: signal: 13 (SIGPIPE)") || text.contains("topo -m: 16777217 bytes"),
        "{text}"
    );
}

#[test]
fn a_command_that_fails_is_quoted() {
    let machine = Machine::new();
    machine.script(
        "echo 'NVIDIA-SMI has failed because it could not reach the driver.'; echo 'more'; exit 9",
    );
    insta::assert_snapshot!(
        of_command(&machine, &machine.live()),
        @"FOLDER/nvidia-smi): topo -m: exit status: 9: NVIDIA-SMI has failed because it could not reach the driver., -L: exit status: 9: NVIDIA-SMI has failed because it could not reach the driver., nvlink -s: exit status: 9: NVIDIA-SMI has failed because it could not reach the driver., nvlink -R: exit status: 9: NVIDIA-SMI has failed because it could not reach the driver."
    );
    machine.script("echo 'No devices were found'");
    insta::assert_snapshot!(
        of_command(&machine, &machine.live()),
        @"FOLDER/nvidia-smi): topo -m: it says `No devices were found`: this is an error message of nvidia-smi: expected its output with a working driver, -L: it says `No devices were found`: this is an error message of nvidia-smi: expected its output with a working driver, nvlink -s: it says `No devices were found`: this is an error message of nvidia-smi: expected its output with a working driver, nvlink -R: it says `No devices were found`: this is an error message of nvidia-smi: expected its output with a working driver"
    );
    machine.script("exit 0");
    insta::assert_snapshot!(
        of_command(&machine, &machine.live()),
        @"FOLDER/nvidia-smi): it prints nothing"
    );
}

#[test]
fn what_a_lesser_question_leaves_open_is_only_a_warning() {
    let machine = Machine::new();
    machine.write("topo.txt", TOPO);
    machine.script(
        r#"[ "$1" = topo ] && exec cat "$here/topo.txt"; [ "$1" = -L ] && exit 0; echo 'no such word' >&2; exit 3"#,
    );
    let found = machine.discover();
    assert_eq!(found.machine.fabric.device_count(), 4);
    let warnings: Vec<&str> = found
        .machine
        .warnings
        .iter()
        .map(|warning| warning.what.as_str())
        .collect();
    let why = "exit status: 3: no such word";
    assert_eq!(
        warnings,
        [
            format!("nvidia-smi nvlink -s: {why}"),
            format!("nvidia-smi nvlink -R: {why}")
        ]
    );
}

#[test]
fn amd_devices_are_found_where_nvidia_has_none() {
    let machine = Machine::new();
    machine.write("sys/module/amdgpu/version", "6.8.5\n");
    write_kfd(&machine);
    let found = discover(&machine.cached()).unwrap();
    assert_eq!(
        (found.by, found.driver.as_deref(), found.tried.len()),
        (Source::Kfd, Some("6.8.5"), 3)
    );
    assert_eq!(found.machine.name, "node7");
    let graph = found.machine.graph().unwrap();
    assert_eq!(graph.len(), 2);
    assert_eq!(graph.pair(0.into(), 1.into()).direct.gbps, 50.0);
    let kept = discover(&machine.cached()).unwrap();
    assert_eq!(
        (kept.cached, kept.by, &kept.machine),
        (true, Source::Kfd, &found.machine)
    );
    machine.write("sys/module/amdgpu/version", "6.10.5\n");
    assert!(
        !discover(&machine.cached()).unwrap().cached,
        "another driver"
    );
    // NVIDIA's devices come first.
    let both = discover(&machine.with_command().cached()).unwrap();
    assert!(!both.cached, "the command was not there before");
    assert_eq!(both.by, Source::NvidiaSmi);
}

#[test]
fn a_tree_without_devices_is_no_machine() {
    let machine = Machine::new();
    machine.write("sys/class/kfd/kfd/topology/nodes/0/gpu_id", "0\n");
    machine.write(
        "sys/class/kfd/kfd/topology/nodes/0/properties",
        "cpu_cores_count 64\nsimd_count 0\n",
    );
    let text = machine.refusal(&machine.live());
    assert!(!text.contains("no such folder"), "{text}");
}

#[test]
fn a_second_call_does_not_ask() {
    let machine = Machine::new().with_command();
    let first = discover(&machine.cached()).unwrap();
    let second = discover(&machine.cached()).unwrap();
    assert_eq!(machine.asked(), 1);
    assert_eq!((first.cached, second.cached), (false, true));
    assert_eq!(
        (&first.machine, first.says, first.by),
        (&second.machine, second.says, second.by)
    );
    assert_eq!((&first.driver, &first.file), (&second.driver, &second.file));
    assert_eq!(second.file.as_deref(), Some(machine.kept().as_path()));
    assert!(
        second.state.is_none() && second.tried.is_empty(),
        "what may have changed is not kept"
    );
    let since = |at: SystemTime| at.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    assert_eq!(since(first.at), since(second.at));
}

#[test]
fn warnings_are_kept_with_the_machine() {
    let machine = Machine::new();
    machine.write("topo.txt", TOPO);
    let list: String = (0..4)
        .map(|i| format!("GPU {i}: Tesla V100 (UUID: GPU-hidden)\n"))
        .collect();
    machine.write("list.txt", &list);
    machine
        .script(r#"[ "$1" = topo ] && exec cat "$here/topo.txt"; [ "$1" = -L ] && exec cat "$here/list.txt"; exit 0"#);
    let first = discover(&machine.cached()).unwrap();
    let second = discover(&machine.cached()).unwrap();
    assert!(second.cached && !second.machine.warnings.is_empty());
    assert_eq!(first.machine.warnings, second.machine.warnings);
}

#[test]
fn an_answer_that_lacks_a_question_is_not_kept_and_says_so() {
    let machine = Machine::new();
    machine.write("topo.txt", TOPO);
    machine.script(
        r#"[ "$1" = topo ] && exec cat "$here/topo.txt"; [ "$1" = -L ] && exec sleep 600; exit 0"#,
    );
    let mut live = machine.cached();
    live.time_limit = Duration::from_secs(1);
    assert_eq!(unkept(&live), "nvidia-smi -L: no answer within 1s: killed");
    machine
        .script(r#"[ "$1" = topo ] && exec cat "$here/topo.txt"; [ "$1" = -L ] && exit 3; exit 0"#);
    assert_eq!(unkept(&machine.cached()), "nvidia-smi -L: exit status: 3");
    // It has recovered.
    let machine = machine.with_command();
    assert!(discover(&machine.cached()).unwrap().file.is_some());
    assert!(discover(&machine.cached()).unwrap().cached);
}

#[test]
fn the_answer_of_who_stands_in_for_a_source_that_failed_is_not_kept() {
    let machine = Machine::new();
    write_kfd(&machine);
    machine.script("echo 'the driver restarts'; exit 9");
    let why = unkept(&machine.cached());
    assert!(
        why.starts_with("nvidia-smi: topo -m: exit status: 9: the driver restarts"),
        "{why}"
    );
    fs::remove_file(machine.path("nvidia-smi")).unwrap();
    assert!(
        discover(&machine.cached()).unwrap().file.is_some(),
        "who is not there has not failed"
    );
}

#[test]
fn refreshing_asks_and_keeps_the_answer() {
    let machine = Machine::new().with_command();
    discover(&machine.cached()).unwrap();
    machine.write("topo.txt", &TOPO.replace("NV2", "NV1"));
    let mut live = machine.cached();
    live.refresh = true;
    let fresh = discover(&live).unwrap();
    assert_eq!((machine.asked(), fresh.cached), (2, false));
    let kept = discover(&machine.cached()).unwrap();
    assert_eq!(
        (machine.asked(), kept.cached, kept.machine),
        (2, true, fresh.machine)
    );
}

#[test]
fn another_boot_driver_machine_view_or_place_asks_anew() {
    let machine = Machine::new().with_command();
    discover(&machine.cached()).unwrap();
    let changes = [
        (
            "proc/sys/kernel/random/boot_id",
            "99999999-2222-3333-4444-555555555555",
        ),
        (
            "proc/driver/nvidia/version",
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  560.35.03  Fri",
        ),
        ("sys/module/amdgpu/version", "6.8.5"),
        ("proc/sys/kernel/osrelease", "6.1.0"),
        // A job of a batch system, which may have been given some of the devices.
        (
            "proc/self/cgroup",
            "0::/system.slice/slurmstepd.scope/job_17/step_0",
        ),
        (
            "proc/self/cgroup",
            "12:devices:/slurm/uid_1000/job_18/step_0\n0::/",
        ),
        // A container with a device of its own.
        ("dev/nvidia0", ""),
        ("dev/dri/renderD128", ""),
    ];
    for (i, (path, text)) in changes.iter().enumerate() {
        machine.write(path, text);
        assert!(!discover(&machine.cached()).unwrap().cached, "{path}");
        assert!(
            discover(&machine.cached()).unwrap().cached,
            "{path}, the second time"
        );
        assert_eq!(machine.asked(), i + 2);
        machine.kept();
    }
    let mut elsewhere = machine.cached();
    elsewhere.kfd = Some(machine.path("kfd"));
    assert!(!discover(&elsewhere).unwrap().cached);
    // Nodes that are no devices' say nothing, nor does the session of a user.
    assert!(discover(&elsewhere).unwrap().cached);
    machine.write("dev/nvidiactl", "");
    assert!(discover(&elsewhere).unwrap().cached);
    // Another machine that shares the folder has a file of its own.
    machine.write("etc/machine-id", "fedcba9876543210fedcba9876543210");
    assert!(!discover(&elsewhere).unwrap().cached);
    assert_eq!(fs::read_dir(machine.path("cache")).unwrap().count(), 2);
}

#[test]
fn sessions_of_a_user_share_what_is_kept() {
    let machine = Machine::new().with_command();
    discover(&machine.cached()).unwrap();
    machine.write(
        "proc/self/cgroup",
        "0::/user.slice/user-1000.slice/session-4.scope\n",
    );
    assert!(discover(&machine.cached()).unwrap().cached);
}

#[test]
fn a_broken_file_is_overwritten() {
    let machine = Machine::new().with_command();
    discover(&machine.cached()).unwrap();
    let whole = fs::read_to_string(machine.kept()).unwrap();
    let breaks = [
        String::new(),
        "{".to_owned(),
        whole[..whole.len() / 2].to_owned(),
        whole.replace("\"mapa-live\"", "\"mapa-dead\""),
        whole.replace("\"version\": 3", "\"version\": 4"),
        whole.replace("\"nvidia-smi\"", "\"rumour\""),
        whole.replace("mapa-machine", "mapa-toaster"),
        whole.replace("\"at\"", "\"when\""),
        "\u{0}".repeat(4096),
    ];
    for (i, broken) in breaks.iter().enumerate() {
        assert_ne!(*broken, whole, "{i}");
        fs::write(machine.kept(), broken).unwrap();
        assert!(!discover(&machine.cached()).unwrap().cached, "{broken}");
        assert_eq!(machine.asked(), i + 2);
        assert!(discover(&machine.cached()).unwrap().cached, "{broken}");
    }
}

#[test]
fn a_file_that_others_may_have_written_is_not_believed() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    let machine = Machine::new().with_command();
    discover(&machine.cached()).unwrap();
    let kept = machine.kept();
    assert_eq!(fs::metadata(&kept).unwrap().mode() & 0o777, 0o600);
    let whole = fs::read(&kept).unwrap();
    let is_cached = || discover(&machine.cached()).unwrap().cached;
    for mode in [0o666, 0o644, 0o620] {
        fs::set_permissions(&kept, fs::Permissions::from_mode(mode)).unwrap();
        assert!(!is_cached(), "{mode:o}");
        assert!(is_cached() && fs::metadata(&kept).unwrap().mode() & 0o777 == 0o600);
    }
    // Another user's file, which only root can make.
    if std::os::unix::fs::chown(&kept, Some(65534), None).is_ok() {
        assert!(!is_cached());
        assert!(is_cached());
    }
    // A link to a file that would be believed by itself.
    let elsewhere = machine.path("elsewhere.json");
    fs::write(&elsewhere, &whole).unwrap();
    fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o600)).unwrap();
    fs::remove_file(&kept).unwrap();
    symlink(&elsewhere, &kept).unwrap();
    assert!(!is_cached());
    assert!(fs::symlink_metadata(&kept).unwrap().is_file() && is_cached());
    assert_eq!(fs::read(&elsewhere).unwrap(), whole);
    // A FIFO is not waited for.
    fs::remove_file(&kept).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&kept).status();
    assert!(made.unwrap().success());
    assert!(!is_cached());
    assert!(is_cached());
}

#[test]
fn another_command_in_the_place_of_the_one_that_was_asked_is_asked() {
    let machine = Machine::new().with_command();
    discover(&machine.cached()).unwrap();
    assert!(discover(&machine.cached()).unwrap().cached);
    // The same text, in another file.
    let machine = machine.with_command();
    assert!(!discover(&machine.cached()).unwrap().cached);
    assert_eq!(machine.asked(), 2);
}

#[test]
fn what_cannot_be_kept_is_still_found() {
    let machine = Machine::new().with_command();
    machine.write("cache", "a file, not a folder");
    let found = discover(&machine.cached()).unwrap();
    assert!(!found.cached && found.file.is_none());
    let warnings = &found.machine.warnings;
    assert!(
        warnings.len() == 1 && warnings[0].what.starts_with("not kept for the next call: "),
        "{warnings:?}"
    );
}

#[test]
fn nothing_is_kept_where_nothing_tells_of_a_restart() {
    let machine = Machine::new().with_command();
    fs::remove_file(machine.path("proc/sys/kernel/random/boot_id")).unwrap();
    let found = discover(&machine.cached()).unwrap();
    assert!(found.file.is_none() && !machine.path("cache").exists());
}

#[test]
fn a_failure_is_not_kept() {
    let machine = Machine::new();
    machine.refusal(&machine.cached());
    assert!(!machine.path("cache").exists());
    let machine = machine.with_command();
    assert!(!discover(&machine.cached()).unwrap().cached);
}

#[test]
fn many_writers_at_once_leave_a_whole_file() {
    let machine = Machine::new().with_command();
    let mut live = machine.cached();
    live.refresh = true;
    discover(&live).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..5).for_each(|_| assert!(discover(&live).unwrap().file.is_some())));
        }
        // Whoever reads meanwhile sees one writing or another, never half of one.
        (0..200).for_each(|_| assert!(discover(&machine.cached()).unwrap().cached));
    });
    machine.kept();
    assert_eq!(machine.asked(), 21);
}

#[test]
fn a_virtual_machine_is_known_by_its_firmware_or_its_processor() {
    let is_virtual = |files: &[(&str, &str)]| {
        let machine = Machine::new().with_command();
        files
            .iter()
            .for_each(|(path, text)| machine.write(path, text));
        let live = machine.cached();
        let first = discover(&live).unwrap();
        let kept = discover(&live).unwrap();
        assert!(kept.cached);
        assert_eq!(
            first.machine.fabric.is_virtual(),
            kept.machine.fabric.is_virtual()
        );
        kept.machine.fabric.is_virtual()
    };
    assert!(!is_virtual(&[]));
    let vendor = ("sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
    assert!(is_virtual(&[
        vendor,
        ("sys/class/dmi/id/product_name", "p4d.24xlarge\n")
    ]));
    assert!(!is_virtual(&[
        vendor,
        ("sys/class/dmi/id/product_name", "g4dn.metal\n")
    ]));
    let flags = |flags: &str| {
        format!("processor\t: 0\nmodel name\t: a processor\nflags\t\t: fpu {flags} sse2\n")
    };
    assert!(is_virtual(&[("proc/cpuinfo", &flags("hypervisor"))]));
    assert!(!is_virtual(&[("proc/cpuinfo", &flags("vme"))]));
}
