//! Levers of this kernel, for real: they need root, and skip where something is missing.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use mapa_live::levers::{
    BlockDevice, BlockIo, BlockIoLimits, Bound, Bounds, CgroupOps, CgroupTree, Controller, Cpusets,
    LeverChange, LeverSet, ProgramSpec, Programs, SystemPrograms,
};
use mapa_live::{Cpus, Live, ProcessId, Roots};

use super::group;

/// Says why a test is skipped. Where nothing may be skipped, it fails.
fn skipped(why: &str) {
    assert!(std::env::var_os("MAPA_SKIP_NOTHING").is_none(), "{why}");
    eprintln!("skipped: {why}");
}

fn root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A group of this test alone, which is removed with it.
struct Own {
    path: String,
    levers: LeverSet,
    plan: mapa_live::levers::Plan,
}

impl Own {
    /// None where this machine has no such controller, or will not make a group.
    fn new(name: &str, controller: Controller) -> Option<Self> {
        if !root() {
            skipped("not root");
            return None;
        }
        let path = format!("mapa-test-{}/{name}", std::process::id());
        let bounds = Bounds {
            io_mb_s: Bound::new(1, 500),
            ..Bounds::default()
        };
        let mut levers = LeverSet::by_command(&Live::default(), bounds);
        let change = LeverChange::AssignCgroup {
            process: None,
            group: group(&path),
            controllers: vec![controller],
        };
        let made = levers
            .plan(&change)
            .map_err(|error| error.to_string())
            .and_then(|plan| {
                levers.apply(&plan).map_err(|error| error.to_string())?;
                Ok(plan)
            });
        match made {
            Ok(plan) => Some(Self { path, levers, plan }),
            Err(why) => {
                skipped(&why);
                None
            }
        }
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let reverted = self.levers.revert(&self.plan);
        if !std::thread::panicking() {
            reverted.unwrap();
            let tree = CgroupTree::new(&Roots::default());
            for controller in [Controller::BlockIo, Controller::Cpuset] {
                assert!(!tree.exists(controller, &group(&self.path)).unwrap_or(false));
            }
        }
    }
}

/// The disk of a file, or the one that a file of `/dev` is; none if the kernel throttles no disk there.
fn disk_of(path: &Path) -> Option<BlockDevice> {
    let found = fs::metadata(path).ok()?;
    let device = match found.file_type().is_block_device() {
        true => found.rdev(),
        false => found.dev(),
    };
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let mut folder = fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    if folder.join("partition").exists() {
        folder.pop();
    }
    fs::read_to_string(folder.join("dev"))
        .ok()?
        .trim()
        .parse()
        .ok()
}

/// Reads a file past the page cache within a group; MB/s.
fn read_direct(file: &Path, folder: &Path, in_group: &str, megabytes: u64) -> f64 {
    let done = folder.join("done");
    let _ = fs::remove_file(&done);
    let id = format!("mapa-test-{}-dd", std::process::id());
    let mut launch = ProgramSpec::new(id, ["sh", "-c"]);
    launch.command.push(format!(
        "dd if={0} of=/dev/null bs=1M iflag=direct count={megabytes} 2>{1}.tmp && mv {1}.tmp {1}; sleep 100",
        file.display(),
        done.display()
    ));
    launch.groups.push((Controller::BlockIo, group(in_group)));
    launch.stop_s = 1;
    let mut programs = SystemPrograms::new(&Roots::default());
    let begin = Instant::now();
    programs.start(&launch).unwrap();
    while !done.exists() {
        assert!(begin.elapsed() < Duration::from_secs(120), "no end");
        std::thread::sleep(Duration::from_millis(5));
    }
    programs.stop(&launch).unwrap();
    // `8388608 bytes (8.4 MB, 8.0 MiB) copied, 1.6 s, 5.2 MB/s`
    let said = fs::read_to_string(&done).unwrap();
    let seconds = said
        .split("copied, ")
        .nth(1)
        .unwrap()
        .split(' ')
        .next()
        .unwrap();
    let seconds: f64 = seconds.parse().unwrap();
    megabytes as f64 * 1.048_576 / seconds
}

#[test]
fn a_throttle_of_block_io_holds_past_the_page_cache_and_is_lifted() {
    let Some(mut scope) = Own::new("io", Controller::BlockIo) else {
        return;
    };
    // A machine without disks names one to be read.
    let named = std::env::var_os("MAPA_TEST_DISK");
    let folder = match named {
        Some(_) => tempfile::tempdir(),
        None => tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")),
    };
    let folder = folder.unwrap();
    let file = match &named {
        Some(disk) => disk.into(),
        None => folder.path().join("data"),
    };
    if named.is_none() {
        fs::write(&file, vec![7; 32 << 20]).unwrap();
        fs::File::open(&file).unwrap().sync_all().unwrap();
    }
    let Some(device) = disk_of(&file) else {
        return skipped("the folder of the build is on no disk");
    };
    let read = |group: &str, megabytes| read_direct(&file, folder.path(), group, megabytes);
    let free = read(&scope.path, 32);
    let change = LeverChange::BlockIo {
        group: group(&scope.path),
        device,
        limits: BlockIoLimits::mb_s(10),
    };
    let plan = scope.levers.plan(&change).unwrap();
    scope.levers.apply(&plan).unwrap();
    assert!(
        scope.levers.plan(&change).unwrap().is_empty(),
        "the kernel has it"
    );
    let throttled = read(&scope.path, 16);
    scope.levers.revert(&plan).unwrap();
    let lifted = read(&scope.path, 32);
    eprintln!(
        "block I/O: {free:.1} MB/s free, {throttled:.1} at a limit of 10, {lifted:.1} lifted"
    );
    // How fast the disk is without a limit depends on who else uses it.
    assert!(throttled < 13.0, "{throttled}");
    let tree = CgroupTree::new(&Roots::default());
    let limits = tree.limits(&group(&scope.path), device).unwrap();
    assert_eq!(limits, BlockIoLimits::NONE);
}

struct Sleeper(Child);

impl Sleeper {
    fn new() -> Self {
        Self(Command::new("sleep").arg("100000").spawn().unwrap())
    }

    fn id(&self) -> ProcessId {
        ProcessId::of("/proc".as_ref(), self.0.id().cast_signed())
            .unwrap()
            .unwrap()
    }

    fn allowed(&self) -> String {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        line.unwrap().trim().to_owned()
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The first two CPUs on which a process may run.
fn two_cpus(process: &Sleeper) -> Option<[u32; 2]> {
    let cpus: Cpus = process.allowed().parse().unwrap();
    let mut cpus = cpus.iter();
    let two = cpus.next().zip(cpus.next());
    if two.is_none() {
        skipped("one CPU");
    }
    two.map(|(first, second)| [first, second])
}

#[test]
fn a_cpuset_confines_the_processes_of_a_group_and_is_reverted() {
    let victim = Sleeper::new();
    let Some([_, cpu]) = two_cpus(&victim) else {
        return;
    };
    let Some(mut scope) = Own::new("cpus", Controller::Cpuset) else {
        return;
    };
    let before = victim.allowed();
    let enrol = LeverChange::AssignCgroup {
        process: Some(victim.id()),
        group: group(&scope.path),
        controllers: vec![Controller::Cpuset],
    };
    let joined = scope.levers.plan(&enrol).unwrap();
    scope.levers.apply(&joined).unwrap();
    let tree = CgroupTree::new(&Roots::default());
    let was = tree.cpuset(&group(&scope.path)).unwrap();
    let change = LeverChange::Cpuset {
        group: group(&scope.path),
        cpus: [cpu].into_iter().collect(),
        mems: None,
    };
    let plan = scope.levers.plan(&change).unwrap();
    scope.levers.apply(&plan).unwrap();
    assert_eq!(victim.allowed(), cpu.to_string());
    assert!(scope.levers.plan(&change).unwrap().is_empty());
    scope.levers.revert(&plan).unwrap();
    let now = tree.cpuset(&group(&scope.path)).unwrap();
    // The kernel does not empty the set of a group of v2 that has processes: it has that of the group above then.
    let above = tree.allowed(&group(&scope.path)).unwrap();
    assert!(
        now == was || (was.cpus.is_empty() && now.cpus == above.cpus),
        "{now:?}"
    );
    assert_eq!(victim.allowed(), before);
    scope.levers.revert(&joined).unwrap();
    let left = tree.group_of(Controller::Cpuset, victim.id()).unwrap();
    assert_ne!(left, group(&scope.path));
}

#[test]
fn affinity_is_set_for_all_threads_and_reverted() {
    let victim = Sleeper::new();
    let Some([busy, cpu]) = two_cpus(&victim) else {
        return;
    };
    let before = victim.allowed();
    let mut levers = LeverSet::by_command(&Live::default(), Bounds::default());
    // Away from the CPU that takes the interrupts.
    let took = [(busy, 100_000), (cpu, 10)].into();
    let quiet = mapa_live::low_interrupt_cpus(&[busy, cpu].into_iter().collect(), &took, 1, 100);
    let change = LeverChange::Affinity {
        process: victim.id(),
        cpus: quiet,
    };
    let plan = levers.plan(&change).unwrap();
    let words = format!("taskset --pid --cpu-list {cpu} ");
    assert!(plan.to_string().contains(&words), "{plan}");
    levers.apply(&plan).unwrap();
    assert_eq!(victim.allowed(), cpu.to_string());
    levers.revert(&plan).unwrap();
    assert_eq!(victim.allowed(), before);
    let gone = victim.id();
    drop(victim);
    levers.revert(&plan).unwrap();
    let error = levers
        .plan(&LeverChange::Affinity {
            process: gone,
            cpus: [cpu].into_iter().collect(),
        })
        .unwrap_err();
    assert_eq!(error.reason(), "missing", "{error}");
}
