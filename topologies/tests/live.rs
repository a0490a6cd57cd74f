//! The drivers of machines that are not there: a command that is a script, a library that is made for the test, a folder.

#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime};

use mapa_topologies::live::{Discovered, Live, Source, discover};
use mapa_topologies::{ErrorKind, HostDetail, read};

const TOPO: &str = "\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity
GPU0\t X \tNV2\tSYS\tSYS\t0-15\t0
GPU1\tNV2\t X \tSYS\tSYS\t0-15\t0
GPU2\tSYS\tSYS\t X \tNV2\t16-31\t1
GPU3\tSYS\tSYS\tNV2\t X \t16-31\t1
";

/// A folder that goes when the test does, with a machine's files and nothing that could be asked.
struct Machine(PathBuf);

impl Machine {
    fn new() -> Self {
        static MACHINES: AtomicU32 = AtomicU32::new(0);
        let number = MACHINES.fetch_add(1, Ordering::Relaxed);
        let name = format!("live-{}-{number}", std::process::id());
        let machine = Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name));
        machine.write("etc/machine-id", "0123456789abcdef0123456789abcdef\n");
        machine.write("proc/sys/kernel/random/boot_id", "11111111-2222-3333-4444-555555555555\n");
        machine.write("proc/sys/kernel/hostname", "node7\n");
        machine.write(
            "proc/driver/nvidia/version",
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue\nGCC\n",
        );
        machine.write("proc/self/cgroup", "0::/user.slice/user-1000.slice/session-3.scope\n");
        machine
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    fn write(&self, path: &str, text: &str) {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        fs::write(self.path(path), text).unwrap();
    }

    /// A command of this text; where it is run, `$here` is this folder. Another process writes it: one that this process
    /// had open while a second test starts a command could not be run.
    fn script(&self, text: &str) {
        self.write("script.txt", &format!("#!/bin/sh\nhere='{}'\n{text}\n", self.0.display()));
        let mut copy = Command::new("install");
        copy.args(["-m", "755"]).arg(self.path("script.txt")).arg(self.path("nvidia-smi"));
        assert!(copy.status().unwrap().success());
    }

    /// A command that prints the matrix, counts how often it is asked for it, and has nothing else to say.
    fn with_command(self) -> Self {
        self.write("topo.txt", TOPO);
        self.script(r#"[ "$1" = topo ] && { echo asked >> "$here/asked"; cat "$here/topo.txt"; }; exit 0"#);
        self
    }

    fn asked(&self) -> usize {
        fs::read_to_string(self.path("asked")).map_or(0, |text| text.lines().count())
    }

    /// Without a cache.
    fn live(&self) -> Live {
        let mut live = Live::default();
        live.nvml = self.path("libnvidia-ml.so.1");
        live.nvidia_smi = self.path("nvidia-smi");
        live.kfd = self.path("sys/class/kfd/kfd/topology/nodes");
        live.root = self.0.clone();
        live.cache = None;
        live.time_limit = Duration::from_secs(30);
        live
    }

    fn cached(&self) -> Live {
        let mut live = self.live();
        live.cache = Some(self.path("cache"));
        live
    }

    fn discover(&self) -> Discovered {
        discover(&self.live()).unwrap()
    }

    /// Why there is no machine.
    fn refusal(&self, live: &Live) -> String {
        let error = discover(live).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        error.to_string()
    }

    /// The one file of the cache.
    fn kept(&self) -> PathBuf {
        let files: Vec<PathBuf> =
            fs::read_dir(self.path("cache")).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(files.len(), 1, "{files:?}");
        files[0].clone()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
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
            if cfg!(feature = "nvml") { "cannot be loaded: " } else { "not in this build" },
        ),
        ("nvidia-smi", place("nvidia-smi"), "no such command; "),
        ("kfd", place("sys/class/kfd/kfd/topology/nodes"), "no such folder"),
    ] {
        assert!(text.contains(&format!("{source} ({place}): {why}")), "{text}");
    }
    // A name instead of a path is looked for where the system looks.
    let mut live = machine.live();
    live.nvidia_smi = "no-such-nvidia-smi".into();
    assert!(machine.refusal(&live).contains("nvidia-smi (no-such-nvidia-smi): not in PATH; "));
}

#[test]
fn what_the_command_prints_is_read_as_if_it_were_pasted() {
    let machine = Machine::new().with_command();
    let found = machine.discover();
    let mut pasted = read(TOPO.as_bytes()).unwrap().into_machine().unwrap();
    pasted.name = "node7".to_owned();
    assert_eq!(found.machine, pasted);
    assert_eq!((found.by, found.cached, found.driver.as_deref()), (Source::NvidiaSmi, false, Some("550.54.15")));
    assert_eq!(found.says.host, HostDetail::Classes);
    assert!(found.state.is_some() && found.file.is_none());
    let tried: Vec<_> = found.tried.iter().map(|attempt| (attempt.source, attempt.failure.is_none())).collect();
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
    let text = machine.refusal(&live);
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    assert!(text.contains("topo -m: no answer within 500ms: killed; kfd ("), "asked no further: {text}");
    let pid = fs::read_to_string(machine.path("pid")).unwrap();
    assert!(!Path::new("/proc").join(pid.trim()).exists(), "process {pid} is still there");
}

#[test]
fn what_a_command_that_hangs_has_started_is_killed_with_it() {
    let machine = Machine::new();
    machine.script(r#"sleep 600 & echo $! > "$here/pid"; wait"#);
    let mut live = machine.live();
    live.time_limit = Duration::from_secs(1);
    let start = Instant::now();
    assert!(machine.refusal(&live).contains("topo -m: no answer within 1s: killed"));
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
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
fn a_command_whose_child_holds_the_pipe_is_not_waited_for() {
    let machine = Machine::new();
    machine.script("sleep 20 & exit 0");
    let mut live = machine.live();
    live.time_limit = Duration::from_millis(500);
    let start = Instant::now();
    assert!(machine.refusal(&live).contains("topo -m: no answer within 500ms"));
    assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
}

#[test]
fn a_command_that_prints_without_end_is_stopped() {
    let machine = Machine::new();
    machine.script("exec yes");
    let text = machine.refusal(&machine.live());
    assert!(text.contains("topo -m: signal: 13 (SIGPIPE)") || text.contains("topo -m: 16777217 bytes"), "{text}");
}

#[test]
fn a_command_that_fails_is_quoted() {
    let machine = Machine::new();
    machine.script("echo 'NVIDIA-SMI has failed because it could not reach the driver.'; echo 'more'; exit 9");
    let text = machine.refusal(&machine.live());
    assert!(
        text.contains("topo -m: exit status: 9: NVIDIA-SMI has failed because it could not reach the driver., -L: "),
        "{text}"
    );
    machine.script("echo 'No devices were found'");
    let text = machine.refusal(&machine.live());
    assert!(text.contains("topo -m: it says `No devices were found`: "), "{text}");
    machine.script("exit 0");
    assert!(machine.refusal(&machine.live()).contains("nvidia-smi): it prints nothing"));
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
    let warnings: Vec<&str> = found.machine.warnings.iter().map(|warning| warning.what.as_str()).collect();
    let why = "exit status: 3: no such word";
    assert_eq!(warnings, [format!("nvidia-smi nvlink -s: {why}"), format!("nvidia-smi nvlink -R: {why}")]);
}

/// Files of KFD: a processor and two GPUs with one link of Infinity Fabric between them.
fn write_kfd(machine: &Machine) {
    let write = |path: &str, text: &str| machine.write(&format!("sys/class/kfd/kfd/topology/nodes/{path}"), text);
    let link = |path: &str, wire: u32, from: u32, to: u32, mbps: u32| {
        let text = format!(
            "type {wire}\nnode_from {from}\nnode_to {to}\nweight 15\nmin_bandwidth {mbps}\nmax_bandwidth {mbps}\n"
        );
        write(&format!("{from}/io_links/{path}/properties"), &text);
    };
    write("0/gpu_id", "0\n");
    write("0/properties", "cpu_cores_count 64\nsimd_count 0\nio_links_count 2\n");
    (1..=2).for_each(|gpu| link(&(gpu - 1).to_string(), 2, 0, gpu, 32_000));
    for gpu in 1..=2u32 {
        write(&format!("{gpu}/gpu_id"), &format!("{}\n", 1000 + gpu));
        let location = gpu << 8;
        let properties = format!(
            "cpu_cores_count 0\nsimd_count 416\nio_links_count 2\ngfx_target_version 90010\nlocation_id {location}\ndomain 0\nunique_id {gpu}\n"
        );
        write(&format!("{gpu}/properties"), &properties);
        link("0", 2, gpu, 0, 32_000);
        link("1", 11, gpu, 3 - gpu, 50_000);
    }
}

#[test]
fn amd_devices_are_found_where_nvidia_has_none() {
    let machine = Machine::new();
    machine.write("sys/module/amdgpu/version", "6.8.5\n");
    write_kfd(&machine);
    let found = discover(&machine.cached()).unwrap();
    assert_eq!((found.by, found.driver.as_deref(), found.tried.len()), (Source::Kfd, Some("6.8.5"), 3));
    assert_eq!(found.machine.name, "node7");
    let graph = found.machine.graph().unwrap();
    assert_eq!(graph.len(), 2);
    assert_eq!(graph.pair(0.into(), 1.into()).direct.gbps, 50.0);
    let kept = discover(&machine.cached()).unwrap();
    assert_eq!((kept.cached, kept.by, &kept.machine), (true, Source::Kfd, &found.machine));
    machine.write("sys/module/amdgpu/version", "6.10.5\n");
    assert!(!discover(&machine.cached()).unwrap().cached, "another driver");
    // NVIDIA's devices come first.
    let both = discover(&machine.with_command().cached()).unwrap();
    assert!(both.cached, "who was not there is not looked for until asked");
}

#[test]
fn a_tree_without_devices_is_no_machine() {
    let machine = Machine::new();
    machine.write("sys/class/kfd/kfd/topology/nodes/0/gpu_id", "0\n");
    machine.write("sys/class/kfd/kfd/topology/nodes/0/properties", "cpu_cores_count 64\nsimd_count 0\n");
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
    assert_eq!((&first.machine, first.says, first.by), (&second.machine, second.says, second.by));
    assert_eq!((&first.driver, &first.file), (&second.driver, &second.file));
    assert_eq!(second.file.as_deref(), Some(machine.kept().as_path()));
    assert!(second.state.is_none() && second.tried.is_empty(), "what may have changed is not kept");
    let since = |at: SystemTime| at.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    assert_eq!(since(first.at), since(second.at));
}

#[test]
fn warnings_are_kept_with_the_machine() {
    let machine = Machine::new();
    machine.write("topo.txt", TOPO);
    let list: String = (0..4).map(|i| format!("GPU {i}: Tesla V100 (UUID: GPU-hidden)\n")).collect();
    machine.write("list.txt", &list);
    machine
        .script(r#"[ "$1" = topo ] && exec cat "$here/topo.txt"; [ "$1" = -L ] && exec cat "$here/list.txt"; exit 0"#);
    let first = discover(&machine.cached()).unwrap();
    let second = discover(&machine.cached()).unwrap();
    assert!(second.cached && !second.machine.warnings.is_empty());
    assert_eq!(first.machine.warnings, second.machine.warnings);
}

/// Why an answer was not kept; the next call asks.
fn unkept(live: &Live) -> String {
    let found = discover(live).unwrap();
    assert!(!found.cached && found.file.is_none(), "{:?}", found.file);
    let why = found.machine.warnings.last().unwrap().what.strip_prefix("not kept for the next call: ");
    why.unwrap().to_owned()
}

#[test]
fn an_answer_that_lacks_a_question_is_not_kept_and_says_so() {
    let machine = Machine::new();
    machine.write("topo.txt", TOPO);
    machine.script(r#"[ "$1" = topo ] && exec cat "$here/topo.txt"; [ "$1" = -L ] && exec sleep 600; exit 0"#);
    let mut live = machine.cached();
    live.time_limit = Duration::from_secs(1);
    assert_eq!(unkept(&live), "nvidia-smi -L: no answer within 1s: killed");
    machine.script(r#"[ "$1" = topo ] && exec cat "$here/topo.txt"; [ "$1" = -L ] && exit 3; exit 0"#);
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
    assert!(why.starts_with("nvidia-smi: topo -m: exit status: 9: the driver restarts"), "{why}");
    fs::remove_file(machine.path("nvidia-smi")).unwrap();
    assert!(discover(&machine.cached()).unwrap().file.is_some(), "who is not there has not failed");
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
    assert_eq!((machine.asked(), kept.cached, kept.machine), (2, true, fresh.machine));
}

#[test]
fn another_boot_driver_machine_view_or_place_asks_anew() {
    let machine = Machine::new().with_command();
    discover(&machine.cached()).unwrap();
    let changes = [
        ("proc/sys/kernel/random/boot_id", "99999999-2222-3333-4444-555555555555"),
        ("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  560.35.03  Fri"),
        ("sys/module/amdgpu/version", "6.8.5"),
        ("proc/sys/kernel/osrelease", "6.1.0"),
        // A job of a batch system, which may have been given some of the devices.
        ("proc/self/cgroup", "0::/system.slice/slurmstepd.scope/job_17/step_0"),
        ("proc/self/cgroup", "12:devices:/slurm/uid_1000/job_18/step_0\n0::/"),
        // A container with a device of its own.
        ("dev/nvidia0", ""),
        ("dev/dri/renderD128", ""),
    ];
    for (i, (path, text)) in changes.iter().enumerate() {
        machine.write(path, text);
        assert!(!discover(&machine.cached()).unwrap().cached, "{path}");
        assert!(discover(&machine.cached()).unwrap().cached, "{path}, the second time");
        assert_eq!(machine.asked(), i + 2);
        machine.kept();
    }
    let mut elsewhere = machine.cached();
    elsewhere.kfd = machine.path("kfd");
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
    machine.write("proc/self/cgroup", "0::/user.slice/user-1000.slice/session-4.scope\n");
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
        whole.replace("\"version\": 1", "\"version\": 2"),
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
fn what_cannot_be_kept_is_still_found() {
    let machine = Machine::new().with_command();
    machine.write("cache", "a file, not a folder");
    let found = discover(&machine.cached()).unwrap();
    assert!(!found.cached && found.file.is_none());
    let warnings = &found.machine.warnings;
    assert!(warnings.len() == 1 && warnings[0].what.starts_with("not kept for the next call: "), "{warnings:?}");
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

#[cfg(feature = "nvml")]
mod nvml {
    use std::sync::Mutex;

    use mapa_core::{DeviceId, LinkClass};
    use mapa_topologies::{PeerStatus, named};

    use super::*;

    /// A library that answers for one machine, made once a run.
    fn library(cfgs: &[&str]) -> PathBuf {
        static MADE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
        let name: String = cfgs.concat().chars().filter(char::is_ascii_alphanumeric).collect();
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let library = folder.join(format!("fake-nvml-{name}.so"));
        let mut made = MADE.lock().unwrap();
        if !made.contains(&library) {
            let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake-nvml/lib.rs");
            // The compiler beside the cargo that runs the tests.
            let beside = std::env::var_os("CARGO").map(|cargo| PathBuf::from(cargo).with_file_name("rustc"));
            let rustc = beside.filter(|rustc| rustc.exists()).unwrap_or_else(|| PathBuf::from("rustc"));
            // Another run of the tests may use the last one.
            let draft = folder.join(format!("fake-nvml-{name}-{}.so", std::process::id()));
            let mut command = Command::new(rustc);
            command.args(["--edition", "2024", "--crate-type", "cdylib", "--cap-lints", "allow", "-C", "debuginfo=0"]);
            command.args(cfgs.iter().flat_map(|cfg| ["--cfg", cfg]));
            let output = command.arg("-o").arg(&draft).arg(source).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            fs::rename(draft, &library).unwrap();
            made.push(library.clone());
        }
        library
    }

    impl Machine {
        fn with_library(&self, cfgs: &[&str]) -> Live {
            let mut live = self.live();
            live.nvml = library(cfgs);
            live
        }
    }

    fn ids(n: u32) -> impl Iterator<Item = (DeviceId, DeviceId)> {
        (0..n).flat_map(move |a| (0..n).map(move |b| (DeviceId(a), DeviceId(b))))
    }

    #[test]
    fn a_dgx_1v_is_the_one_of_the_catalogue() {
        let machine = Machine::new();
        let found = discover(&machine.with_library(&["machine=\"dgx-1v\""])).unwrap();
        assert_eq!((found.by, found.driver.as_deref()), (Source::Nvml, Some("550.54.15")));
        assert_eq!(found.machine.warnings, []);
        let (here, known) = (found.machine.graph().unwrap(), named("dgx-1v").unwrap().graph().unwrap());
        assert_eq!(here.len(), known.len());
        for (a, b) in ids(8) {
            let (here, known) = (here.pair(a, b), known.pair(a, b));
            assert_eq!((here.direct, here.host.class), (known.direct, known.host.class), "{a} - {b}");
        }
        assert_eq!(here.host_tree(), known.host_tree());
        let device = here.device(DeviceId(5));
        assert_eq!(device.name, "GPU5");
        assert_eq!(device.product.as_deref(), Some("Tesla V100-SXM2-16GB"));
        assert_eq!(device.uuid.as_deref(), Some("GPU-00000000-0000-0000-0000-000000000006"));
        assert_eq!(device.pci.as_deref(), Some("0000:15:00.0"));
        assert_eq!((device.index, device.numa, device.memory_bytes), (None, Some(1), Some(16 << 30)));
        let host = here.pair(DeviceId(0), DeviceId(7)).host.gbps;
        assert!((host - 15.75).abs() < 0.01, "sixteen lanes of PCIe 3: {host}");
        let says = found.says;
        assert!(says.every_device && says.direct && says.direct_gbps && !says.host_gbps);
        assert_eq!(says.host, HostDetail::Classes);
    }

    #[test]
    fn ports_and_peer_access_are_told_one_by_one() {
        let machine = Machine::new();
        let state = discover(&machine.with_library(&["machine=\"dgx-1v\""])).unwrap().state.unwrap();
        assert_eq!(state.ports.len(), 8 * 6);
        let port = &state.ports[2];
        assert_eq!((port.device, port.link, port.active, port.gbps), (DeviceId(0), 2, Some(true), Some(25.0)));
        assert_eq!(port.remote, Some(("0000:13:00.0".to_owned(), None)));
        assert_eq!(state.peer_access.len(), 8 * 7);
        let status = |a, b| {
            let access = state.peer_access.iter().find(|access| (access.from, access.to) == (DeviceId(a), DeviceId(b)));
            access.map(|access| access.status)
        };
        assert_eq!(status(0, 3), Some(PeerStatus::Ok));
        assert_eq!(status(0, 5), Some(PeerStatus::TopologyNotSupported));
        assert_eq!(state.mig_instances, []);
    }

    #[test]
    fn devices_behind_switches_bring_their_ports() {
        let machine = Machine::new();
        // However it is learnt that the other ends are switches: by counts of links, by what sysfs says of the addresses,
        // or since the devices reach each other.
        let by_count = discover(&machine.with_library(&["machine=\"hgx-h100\""])).unwrap();
        let by_reach = discover(&machine.with_library(&["machine=\"hgx-h100\"", "lacks=\"fields\""])).unwrap();
        for address in ["0000:05:00.0", "0000:06:00.0", "0000:07:00.0", "0000:08:00.0"] {
            machine.write(&format!("sys/bus/pci/devices/{address}/class"), "0x068000\n");
        }
        let by_class = discover(&machine.with_library(&["machine=\"hgx-h100\"", "lacks=\"fields\""])).unwrap();
        for found in [&by_count, &by_reach, &by_class] {
            assert_eq!(found.machine.warnings, []);
            assert!(found.says.direct && found.says.direct_gbps);
            let graph = found.machine.graph().unwrap();
            let port = graph.device(DeviceId(0)).switch_port.unwrap();
            // Of the rate that is printed, 26.562 GB/s, 25 are for data; the version of its links would give 50.
            assert_eq!((port.class, port.gbps), (LinkClass::Direct(18), 450.0));
            // One of its links is down.
            let port = graph.device(DeviceId(7)).switch_port.unwrap();
            assert_eq!((port.class, port.gbps), (LinkClass::Direct(17), 425.0));
            let pair = |a, b| graph.pair(DeviceId(a), DeviceId(b));
            assert_eq!(
                (pair(0, 6).direct.class, pair(0, 7).direct.class),
                (LinkClass::Direct(18), LinkClass::Direct(17))
            );
            assert_eq!((pair(0, 3).host.class, pair(0, 4).host.class), (LinkClass::Node, LinkClass::Sys));
            assert!((pair(0, 4).host.gbps - 63.0).abs() < 0.1);
        }
        let ports = by_count.state.unwrap().ports;
        assert_eq!(ports.len(), 8 * 18);
        let down: Vec<_> = ports.iter().filter(|port| port.active == Some(false)).collect();
        assert_eq!(
            down.iter().map(|port| (port.device, port.link, port.gbps)).collect::<Vec<_>>(),
            [(DeviceId(7), 5, None)]
        );
    }

    #[test]
    fn questions_that_a_library_does_not_know_leave_facts_open() {
        let machine = Machine::new();
        let found = discover(&machine.with_library(&["machine=\"dgx-1v\"", "lacks=\"facts\""])).unwrap();
        let (here, known) = (found.machine.graph().unwrap(), named("dgx-1v").unwrap().graph().unwrap());
        for (a, b) in ids(8) {
            assert_eq!(here.pair(a, b).direct, known.pair(a, b).direct, "{a} - {b}");
        }
        let device = here.device(DeviceId(0));
        assert_eq!((&device.product, &device.uuid, device.memory_bytes, device.numa), (&None, &None, None, None));
        assert!(found.says.direct && !found.says.direct_gbps && found.driver.is_none());
        assert_eq!(here.pair(DeviceId(0), DeviceId(7)).host.gbps, 12.0);
        let notes = found.machine.notes.join("\n");
        assert!(notes.contains("unless set, one counts 25 GB/s"), "{notes}");
        let unsaid = "NVML does not tell: products, UUIDs, memory, NUMA nodes, PCIe connections, peer access.";
        assert!(notes.contains(unsaid), "{notes}");
        let state = found.state.unwrap();
        assert!(state.peer_access.is_empty() && state.mig_instances.is_empty());
        assert!(state.ports.iter().all(|port| port.gbps.is_none()));
    }

    #[test]
    fn paths_through_the_host_are_assumed_where_only_links_are_told() {
        let machine = Machine::new();
        let found = discover(&machine.with_library(&["machine=\"dgx-1v\"", "lacks=\"ancestors\""])).unwrap();
        assert_eq!((found.says.host, found.says.direct), (HostDetail::Numa, true));
        let graph = found.machine.graph().unwrap();
        let host = |a, b| graph.pair(DeviceId(a), DeviceId(b)).host.class;
        assert_eq!((host(0, 3), host(0, 4)), (LinkClass::Node, LinkClass::Sys));
        assert!(found.machine.notes.iter().any(|note| note.contains("are assumed")), "{:?}", found.machine.notes);
    }

    #[test]
    fn a_library_that_does_not_say_what_joins_devices_is_passed_over() {
        let machine = Machine::new().with_command();
        let live = machine.with_library(&["machine=\"dgx-1v\"", "lacks=\"links\""]);
        let found = discover(&live).unwrap();
        assert_eq!((found.by, found.machine.fabric.device_count()), (Source::NvidiaSmi, 4));
        let why = found.tried[0].failure.as_deref().unwrap();
        let expected = "it names 8 devices but not what joins them; it does not tell: PCI addresses, NVLinks, \
            what joins devices through the host";
        assert_eq!(why, expected);
    }

    #[test]
    fn sysfs_knows_numa_nodes_that_the_library_does_not() {
        let machine = Machine::new();
        for device in 0..8 {
            machine.write(&format!("sys/bus/pci/devices/0000:{:02x}:00.0/numa_node", 0x10 + device), "3\n");
        }
        machine.write("sys/bus/pci/devices/0000:17:00.0/numa_node", "-1\n");
        let found = discover(&machine.with_library(&["machine=\"dgx-1v\"", "lacks=\"facts\""])).unwrap();
        let graph = found.machine.graph().unwrap();
        assert_eq!((graph.device(DeviceId(0)).numa, graph.device(DeviceId(7)).numa), (Some(3), None));
    }

    #[test]
    fn links_to_devices_that_are_not_visible_are_no_switch() {
        let machine = Machine::new();
        let live = machine.with_library(&["machine=\"two-of-dgx-1v\""]);
        let here = |found: &Discovered| found.machine.graph().unwrap();
        let open = discover(&live).unwrap();
        let graph = here(&open);
        assert_eq!(graph.pair(DeviceId(0), DeviceId(1)).direct.class, LinkClass::Direct(1));
        assert_eq!(graph.device(DeviceId(0)).switch_port, None);
        let warning = &open.machine.warnings[0].what;
        assert_eq!(warning, "GPU0: 5 active links lead nobody knows where: left out");
        assert!(!open.says.direct, "what is left out may matter");
        for device in 2..8 {
            machine.write(&format!("sys/bus/pci/devices/0000:{:02x}:00.0/class", 0x10 + device), "0x030200\n");
        }
        let told = discover(&live).unwrap();
        assert_eq!(here(&told).device(DeviceId(0)).switch_port, None);
        let warning = &told.machine.warnings[0].what;
        assert_eq!(warning, "GPU0: 5 active links lead to devices that are not visible here: left out");
        assert!(told.says.direct);
    }

    #[test]
    fn links_that_only_one_end_has_do_not_count() {
        let machine = Machine::new();
        let found = discover(&machine.with_library(&["machine=\"one-sided\""])).unwrap();
        let warnings: Vec<&str> = found.machine.warnings.iter().map(|warning| warning.what.as_str()).collect();
        assert_eq!(warnings, ["GPU0 has 1 active links to GPU3, which has 2 to GPU0: counted as 1"]);
        let graph = found.machine.graph().unwrap();
        assert_eq!(graph.pair(DeviceId(0), DeviceId(3)).direct.class, LinkClass::Direct(1));
    }

    #[test]
    fn a_device_that_is_lost_is_left_out_and_the_others_keep_their_numbers() {
        let machine = Machine::new();
        let found = discover(&machine.with_library(&["machine=\"broken\""])).unwrap();
        assert!(!found.says.every_device);
        let warnings: Vec<&str> = found.machine.warnings.iter().map(|warning| warning.what.as_str()).collect();
        assert!(warnings[0].starts_with("GPU2 is left out: "), "{warnings:?}");
        let graph = found.machine.graph().unwrap();
        assert_eq!(graph.len(), 7);
        let device = graph.device(DeviceId(2));
        assert_eq!((device.name.as_str(), device.index), ("GPU3", Some(3)));
        let to_neighbour = graph.pair(DeviceId(2), DeviceId(0)).direct.class;
        assert_eq!(to_neighbour, LinkClass::Direct(2));
    }

    #[test]
    fn instances_are_told_and_never_kept() {
        let machine = Machine::new();
        let mut live = machine.with_library(&["machine=\"mig\""]);
        live.cache = Some(machine.path("cache"));
        let found = discover(&live).unwrap();
        let instances = found.state.unwrap().mig_instances;
        let told: Vec<_> = instances.iter().map(|instance| (instance.device, instance.profile.as_str())).collect();
        assert_eq!(told, [(DeviceId(0), "3g.20gb"), (DeviceId(0), "1g.5gb")]);
        assert_eq!(instances[1].uuid.as_deref(), Some("MIG-00000000-0000-0000-0000-000000001002"));
        assert!(found.says.direct, "devices without NVLink have no direct links");
        let kept = discover(&live).unwrap();
        assert!(kept.cached && kept.state.is_none());
        assert!(!fs::read_to_string(machine.kept()).unwrap().contains("3g.20gb"));
    }

    #[test]
    fn a_device_that_is_lost_or_a_library_that_hangs_is_not_kept() {
        let machine = Machine::new().with_command();
        let mut live = machine.with_library(&["machine=\"broken\""]);
        live.cache = Some(machine.path("cache"));
        assert!(unkept(&live).starts_with("nvml: devices: "));
        live.nvml = library(&["machine=\"dgx-1v\"", "hangs"]);
        live.time_limit = Duration::from_secs(2);
        assert_eq!(unkept(&live), "nvml: no answer within 2s");
    }

    #[test]
    fn what_a_library_does_not_know_it_will_not_know_the_next_time() {
        let machine = Machine::new();
        let mut live = machine.with_library(&["machine=\"dgx-1v\"", "lacks=\"facts\""]);
        live.cache = Some(machine.path("cache"));
        assert!(discover(&live).unwrap().file.is_some());
        assert!(discover(&live).unwrap().cached);
    }

    #[test]
    fn a_library_that_hangs_is_left_alone() {
        let machine = Machine::new().with_command();
        let mut live = machine.with_library(&["machine=\"dgx-1v\"", "hangs"]);
        live.time_limit = Duration::from_secs(2);
        let found = discover(&live).unwrap();
        assert_eq!(found.by, Source::NvidiaSmi);
        assert_eq!(found.tried[0].failure.as_deref(), Some("no answer within 2s"));
    }

    #[test]
    fn what_is_no_library_is_passed_over() {
        let machine = Machine::new();
        machine.write("libnvidia-ml.so.1", "not a library");
        assert!(machine.refusal(&machine.live()).contains("libnvidia-ml.so.1): cannot be loaded: "));
    }
}
