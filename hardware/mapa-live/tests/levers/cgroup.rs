//! Control groups over files: what is written, read and refused on each version.

use std::fs;
use std::path::Path;

use mapa_live::levers::{
    BlockIo, BlockIoLimits, Bounds, CgroupOps, CgroupTree, Controller, Cpusets, LeverChange,
    LeverEvent, LeverManager, LeverSet, Lifetime, MemoryJournal,
};
use mapa_live::{Live, ProcessId, Roots};

use super::group;

struct Tree(tempfile::TempDir);

impl Tree {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.0.path().join(path)).unwrap()
    }

    /// A machine with cgroup v2 alone, and a group with an I/O limit on another disk.
    fn v2() -> Self {
        let tree = Self::new();
        let root = "sys/fs/cgroup";
        tree.write(
            &format!("{root}/cgroup.controllers"),
            "cpuset cpu io memory\n",
        );
        tree.write(&format!("{root}/cgroup.subtree_control"), "\n");
        tree.write(&format!("{root}/cpuset.cpus.effective"), "0-7\n");
        tree.write(&format!("{root}/cpuset.mems.effective"), "0-1\n");
        tree.write(
            &format!("{root}/etl/io.max"),
            "8:0 rbps=5 wbps=max riops=max wiops=max\n",
        );
        tree.write(&format!("{root}/etl/cpuset.cpus"), "\n");
        tree.write(&format!("{root}/etl/cpuset.mems"), "\n");
        tree.write(&format!("{root}/etl/cgroup.procs"), "");
        tree.write(&format!("{root}/etl/cgroup.subtree_control"), "\n");
        tree
    }

    /// A hybrid machine: block I/O and cpuset on v1, the core of v2 beside them.
    fn v1() -> Self {
        let tree = Self::new();
        let root = "sys/fs/cgroup";
        tree.write(&format!("{root}/unified/cgroup.controllers"), "\n");
        for controller in ["blkio", "cpuset"] {
            for group in ["", "/etl"] {
                let folder = format!("{root}/{controller}{group}");
                tree.write(&format!("{folder}/cgroup.procs"), "");
                tree.write(&format!("{folder}/notify_on_release"), "0\n");
            }
        }
        for file in ["read_bps", "write_bps", "read_iops", "write_iops"] {
            tree.write(
                &format!("{root}/blkio/etl/blkio.throttle.{file}_device"),
                "",
            );
        }
        for (file, text) in [("cpuset.cpus", "0-3\n"), ("cpuset.mems", "0\n")] {
            tree.write(&format!("{root}/cpuset/{file}"), text);
            tree.write(&format!("{root}/cpuset/etl/{file}"), text);
        }
        tree
    }

    fn process(&self, pid: i32, cgroup: &str) -> ProcessId {
        let fields = "0 ".repeat(18);
        self.write(
            &format!("proc/{pid}/stat"),
            &format!("{pid} (a) b) S {fields}42 0 0\n"),
        );
        self.write(&format!("proc/{pid}/cgroup"), cgroup);
        ProcessId { pid, start: 42 }
    }

    fn roots(&self) -> Roots {
        Roots::below(self.0.path())
    }

    fn tree(&self) -> CgroupTree {
        CgroupTree::new(&self.roots())
    }

    fn levers(&self) -> LeverSet {
        let mut live = Live::default();
        live.roots = self.roots();
        LeverSet::by_command(&live, Bounds::default())
    }

    fn shown(&self, text: &str) -> String {
        text.replace(&self.0.path().display().to_string(), "")
    }
}

#[test]
fn v2_writes_one_line_for_a_device_and_reads_it_back() {
    let machine = Tree::v2();
    let mut levers = machine.levers();
    let change = LeverChange::BlockIo {
        group: group("etl"),
        device: "254:0".parse().unwrap(),
        limits: BlockIoLimits::mb_s(200),
    };
    let plan = levers.plan(&change).unwrap();
    assert_eq!(
        machine.shown(&plan.to_string()),
        "echo '254:0 rbps=200000000 wbps=200000000 riops=max wiops=max' > /sys/fs/cgroup/etl/io.max\n"
    );
    levers.apply(&plan).unwrap();
    assert_eq!(
        machine.read("sys/fs/cgroup/etl/io.max"),
        "254:0 rbps=200000000 wbps=200000000 riops=max wiops=max"
    );
    assert!(levers.plan(&change).unwrap().is_empty());
    assert!(
        levers
            .plan(&change)
            .unwrap()
            .to_string()
            .contains("nothing to do")
    );
    levers.revert(&plan).unwrap();
    let device = "254:0".parse().unwrap();
    assert_eq!(
        machine.tree().limits(&group("etl"), device).unwrap(),
        BlockIoLimits::NONE
    );
}

#[test]
fn v1_writes_a_file_for_each_limit_and_zero_lifts_it() {
    let machine = Tree::v1();
    let mut levers = machine.levers();
    let change = LeverChange::BlockIo {
        group: group("etl"),
        device: "254:0".parse().unwrap(),
        limits: BlockIoLimits::mb_s(100),
    };
    let plan = levers.plan(&change).unwrap();
    let shown = machine.shown(&plan.to_string());
    assert_eq!(shown.lines().count(), 4, "{shown}");
    assert!(
        shown.starts_with(
            "echo '254:0 100000000' > /sys/fs/cgroup/blkio/etl/blkio.throttle.read_bps_device\n"
        ),
        "{shown}"
    );
    levers.apply(&plan).unwrap();
    let file = "sys/fs/cgroup/blkio/etl/blkio.throttle.write_bps_device";
    assert_eq!(machine.read(file), "254:0 100000000");
    levers.revert(&plan).unwrap();
    assert_eq!(machine.read(file), "254:0 0");
}

#[test]
fn a_file_that_cannot_be_written_leaves_no_half_of_the_limits() {
    let machine = Tree::v1();
    // The third file is a folder: the kernel would say no to a write, as this does.
    let third = machine
        .0
        .path()
        .join("sys/fs/cgroup/blkio/etl/blkio.throttle.read_iops_device");
    let mut levers = machine.levers();
    let change = LeverChange::BlockIo {
        group: group("etl"),
        device: "254:0".parse().unwrap(),
        limits: BlockIoLimits::mb_s(100),
    };
    let plan = levers.plan(&change).unwrap();
    fs::remove_file(&third).unwrap();
    let failure = levers.apply(&plan).unwrap_err();
    assert_eq!(failure.why.reason(), "missing", "{failure}");
    // The limits cannot even be read without the file. The group is there, so they may hold, and that is told.
    assert_eq!(failure.left.len(), 1, "{failure}");
    fs::write(&third, "").unwrap();
    levers.revert(&plan).unwrap();
    let device = "254:0".parse().unwrap();
    assert_eq!(
        machine.tree().limits(&group("etl"), device).unwrap(),
        BlockIoLimits::NONE
    );
}

#[test]
fn what_cannot_be_read_is_not_taken_for_what_is_gone() {
    let machine = Tree::v2();
    let mut levers = machine.levers();
    let limits = LeverChange::BlockIo {
        group: group("etl"),
        device: "254:0".parse().unwrap(),
        limits: BlockIoLimits::mb_s(100),
    };
    let plan = levers.plan(&limits).unwrap();
    levers.apply(&plan).unwrap();
    // A folder in place of a file cannot be read, by root neither.
    let controllers = machine.0.path().join("sys/fs/cgroup/cgroup.controllers");
    fs::remove_file(&controllers).unwrap();
    fs::create_dir(&controllers).unwrap();
    let left = levers.revert(&plan).unwrap_err();
    assert_eq!(left[0].reason(), "failed", "{left:?}");
    fs::remove_dir(&controllers).unwrap();
    // A machine that has lost the controller says nothing of the group either.
    assert_eq!(levers.revert(&plan).unwrap_err()[0].reason(), "missing");
    machine.write("sys/fs/cgroup/cgroup.controllers", "io\n");
    fs::remove_dir_all(machine.0.path().join("sys/fs/cgroup/etl")).unwrap();
    levers.revert(&plan).unwrap();
    // Nor is a process whose file cannot be read one that has ended.
    let process = machine.process(7, "0::/\n");
    let stat = machine.0.path().join("proc/7/stat");
    fs::remove_file(&stat).unwrap();
    fs::create_dir(&stat).unwrap();
    let error = machine.tree().group_of(Controller::BlockIo, process);
    assert_eq!(error.unwrap_err().reason(), "failed");
    fs::remove_dir(&stat).unwrap();
    let error = machine.tree().group_of(Controller::BlockIo, process);
    assert_eq!(error.unwrap_err().reason(), "missing");
}

#[test]
fn a_controller_stays_passed_on_where_other_groups_lie_below() {
    let machine = Tree::v2();
    let mut levers = machine.levers();
    let plan = levers
        .plan(&LeverChange::AssignCgroup {
            process: None,
            group: group("etl/deep"),
            controllers: vec![Controller::BlockIo],
        })
        .unwrap();
    let control = "sys/fs/cgroup/cgroup.subtree_control";
    machine.write("sys/fs/cgroup/etl/deep/cgroup.procs", "");
    machine.write(control, "io\n");
    levers.revert(&plan).unwrap_err();
    fs::remove_dir_all(machine.0.path().join("sys/fs/cgroup/etl/deep")).unwrap();
    // As the kernel shows it.
    machine.write("sys/fs/cgroup/etl/cgroup.subtree_control", "io\n");
    levers.revert(&plan).unwrap();
    assert_eq!(
        machine.read("sys/fs/cgroup/etl/cgroup.subtree_control"),
        "-io"
    );
    assert_eq!(
        machine.read(control),
        "io\n",
        "/etl is there, and keeps its limits"
    );
}

#[test]
fn sets_of_cpus_are_those_of_the_group_above_at_most() {
    for machine in [Tree::v1(), Tree::v2()] {
        let mut levers = machine.levers();
        let before = machine.tree().cpuset(&group("etl")).unwrap();
        let change = LeverChange::Cpuset {
            group: group("etl"),
            cpus: "1-2".parse().unwrap(),
            mems: None,
        };
        let plan = levers.plan(&change).unwrap();
        assert!(plan.to_string().contains("echo '1-2' > "), "{plan}");
        levers.apply(&plan).unwrap();
        let now = machine.tree().cpuset(&group("etl")).unwrap();
        assert_eq!(now.cpus.to_string(), "1-2");
        levers.revert(&plan).unwrap();
        assert_eq!(machine.tree().cpuset(&group("etl")).unwrap(), before);
        let refused = levers.plan(&LeverChange::Cpuset {
            group: group("etl"),
            cpus: "9".parse().unwrap(),
            mems: None,
        });
        assert_eq!(super::bound(&refused.unwrap_err()), "cpus");
    }
}

#[test]
fn a_process_joins_and_leaves_and_one_that_has_ended_is_missing() {
    let v2 = Tree::v2();
    let process = v2.process(7, "0::/\n");
    let plan = v2
        .levers()
        .plan(&LeverChange::AssignCgroup {
            process: Some(process),
            group: group("etl"),
            controllers: vec![Controller::BlockIo, Controller::Cpuset],
        })
        .unwrap();
    let shown = v2.shown(&plan.to_string());
    // One hierarchy, but each step is of its controller.
    assert!(
        shown.contains("echo '+io' > /sys/fs/cgroup/cgroup.subtree_control"),
        "{shown}"
    );
    assert!(
        shown.contains("echo '7' > /sys/fs/cgroup/etl/cgroup.procs"),
        "{shown}"
    );
    let v1 = Tree::v1();
    let process = v1.process(7, "8:pids:/\n7:blkio:/old\n3:cpuset:/\n0::/\n");
    let mut tree = v1.tree();
    let of = |controller| v1.tree().group_of(controller, process);
    assert_eq!(of(Controller::BlockIo).unwrap(), group("old"));
    assert_eq!(of(Controller::Cpuset).unwrap(), group(""));
    tree.join(Controller::BlockIo, process, &group("etl"))
        .unwrap();
    assert_eq!(v1.read("sys/fs/cgroup/blkio/etl/cgroup.procs"), "7");
    let reused = ProcessId {
        start: 43,
        ..process
    };
    for error in [
        tree.join(Controller::BlockIo, reused, &group("etl"))
            .unwrap_err(),
        tree.group_of(Controller::BlockIo, reused).unwrap_err(),
    ] {
        assert_eq!(error.reason(), "missing", "{error}");
    }
}

/// What the kernel does in groups that were made, and with controllers that were passed on.
fn as_the_kernel(root: &Path, has_limits: bool) {
    let control = root.join("cgroup.subtree_control");
    if let Ok(text) = fs::read_to_string(&control) {
        fs::write(&control, text.replace('+', "")).unwrap();
    }
    let passes_on = fs::read_to_string(&control).is_ok_and(|text| text.contains("io"));
    let is_v1 = root.join("notify_on_release").exists();
    for entry in fs::read_dir(root).unwrap().flatten() {
        if !entry.file_type().unwrap().is_dir() {
            continue;
        }
        let below = entry.path();
        let mut files = vec!["cgroup.procs"];
        if is_v1 {
            files.push("notify_on_release");
        } else {
            files.push("cgroup.subtree_control");
        }
        if is_v1 && has_limits {
            files.extend(V1_FILES);
        } else if passes_on {
            files.push("io.max");
        }
        for file in files.iter().map(|file| below.join(file)) {
            if !file.exists() {
                fs::write(file, "").unwrap();
            }
        }
        as_the_kernel(&below, has_limits);
    }
}

const V1_FILES: [&str; 4] = [
    "blkio.throttle.read_bps_device",
    "blkio.throttle.write_bps_device",
    "blkio.throttle.read_iops_device",
    "blkio.throttle.write_iops_device",
];

/// Two processes are put into a group that must be made for them, which is limited then.
#[test]
fn a_rehearsal_says_what_a_real_run_does_on_each_version_of_control_groups() {
    let hybrid = |has_limits: bool| {
        let machine = Tree::v1();
        machine.write("sys/fs/cgroup/unified/cgroup.controllers", "cpu io\n");
        for file in V1_FILES.iter().filter(|_| has_limits) {
            machine.write(&format!("sys/fs/cgroup/blkio/{file}"), "");
        }
        machine
    };
    let second = || {
        let machine = Tree::new();
        let root = "sys/fs/cgroup/unified";
        machine.write(&format!("{root}/cgroup.controllers"), "cpu io\n");
        machine.write(&format!("{root}/cgroup.subtree_control"), "\n");
        machine
    };
    type Make<'a> = &'a dyn Fn() -> Tree;
    let machines: [(&str, Make<'_>, &str, bool); 4] = [
        ("v2", &Tree::v2, "", true),
        ("v2 beside v1", &second, "unified", true),
        ("v1", &|| hybrid(true), "blkio", true),
        ("v1 without limits", &|| hybrid(false), "blkio", false),
    ];
    for (name, machine, root, has_limits) in machines {
        let run = |is_real: bool| {
            let machine = machine();
            let processes = [7, 8].map(|pid| machine.process(pid, "7:blkio:/\n0::/\n"));
            let journal = MemoryJournal::default();
            let (mut manager, _) = LeverManager::open(machine.levers(), journal, 0).unwrap();
            if !is_real {
                manager = manager.rehearse();
            }
            let put = |process, path| LeverChange::AssignCgroup {
                process,
                group: group(path),
                controllers: vec![Controller::BlockIo],
            };
            let limits = LeverChange::BlockIo {
                group: group("mapa/job"),
                device: "254:0".parse().unwrap(),
                limits: BlockIoLimits::mb_s(200),
            };
            let mut said = Vec::new();
            for change in [
                put(None, "mapa"),
                put(None, "mapa/job"),
                put(Some(processes[0]), "mapa/job"),
                put(Some(processes[1]), "mapa/job"),
                limits.clone(),
                limits,
            ] {
                let event = manager.apply(&change, Lifetime::Session, 0);
                if let LeverEvent::Refused { lever, why } = &event {
                    said.push(format!("{lever}: {}", why.reason()));
                }
                if is_real {
                    as_the_kernel(
                        &machine.0.path().join("sys/fs/cgroup").join(root),
                        has_limits,
                    );
                }
            }
            let plans = manager
                .active()
                .map(|entry| machine.shown(&entry.plan.to_string()));
            said.extend(plans.collect::<Vec<_>>());
            let is_made = machine
                .0
                .path()
                .join("sys/fs/cgroup")
                .join(root)
                .join("mapa")
                .exists();
            assert_eq!(is_made, is_real, "{name}");
            said
        };
        let real = run(true);
        assert_eq!(run(false), real, "{name}");
        let refused = real
            .iter()
            .filter(|text| text.ends_with(": missing"))
            .count();
        assert_eq!(refused, if has_limits { 0 } else { 2 }, "{name}: {real:?}");
    }
}

#[test]
fn a_machine_without_a_controller_says_what_it_lacks() {
    let machine = Tree::new();
    machine.write("sys/fs/cgroup/cgroup.controllers", "memory pids\n");
    let error = machine
        .tree()
        .limits(&group("etl"), "254:0".parse().unwrap());
    let error = error.unwrap_err();
    assert_eq!(error.reason(), "missing");
    insta::assert_snapshot!(
        error.to_string().replace(machine.0.path().to_str().unwrap(), "FOLDER"),
        @"cgroup controller io is missing: expected blkio on v1, or `io` in cgroup.controllers on v2, below FOLDER/sys/fs/cgroup"
    );
    let none = Tree::v2();
    let error = none.tree().limits(&group("none"), "254:0".parse().unwrap());
    assert_eq!(error.unwrap_err().reason(), "missing");
}

#[test]
fn warnings_tell_of_other_programs_that_set_layouts() {
    let machine = Tree::new();
    assert!(mapa_live::levers::reconcilers(&machine.roots()).is_empty());
    machine.write("proc/77/comm", "nvidia-mig-mana\n");
    machine.write("proc/78/comm", "bash\n");
    machine.write("etc/nvidia-mig-manager/config.yaml", "version: v1\n");
    let unit = "etc/systemd/system/multi-user.target.wants/nvidia-mig-manager.service";
    fs::create_dir_all(machine.0.path().join(Path::new(unit).parent().unwrap())).unwrap();
    std::os::unix::fs::symlink("/lib/x.service", machine.0.path().join(unit)).unwrap();
    let found = mapa_live::levers::reconcilers(&machine.roots());
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found[0].contains("process 77"), "{found:?}");
}
