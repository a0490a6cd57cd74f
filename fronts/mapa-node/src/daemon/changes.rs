//! Which changes an action needs on this machine, which changes a job has, and
//! what became of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use mapa_core::DeviceId;
use mapa_core::mig::Layout;
use mapa_live::levers::{
    BlockDevice, BlockIoLimits, CgroupPath, Controller, Holder, LeverChange, LeverEvent, Lifetime,
    MigInstanceSpec, MigLayout, MpsServer, Version,
};
use mapa_live::{Cpus, Interrupts, ProcessId, Roots, low_interrupt_cpus};
use mapa_sched::{JobId, JobLimit};

use super::config::{Lever, LeversConfig};
use crate::node::Node;

/// A kind of limit on a job, whatever its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LimitKind {
    /// Block I/O.
    BlockIo,
    /// PCIe.
    Pcie,
    /// MPS.
    Mps,
    /// Cores.
    Cores,
}

/// What a guard asks for: the kind, and whether it is set or lifted.
pub(super) fn kind(guard: JobLimit) -> Option<(LimitKind, bool)> {
    Some(match guard {
        JobLimit::BlockIoMbPerS(limit) => (LimitKind::BlockIo, limit.is_some()),
        JobLimit::PcieMbPerS(limit) => (LimitKind::Pcie, limit.is_some()),
        JobLimit::MpsPercent(limit) => (LimitKind::Mps, limit.is_some()),
        JobLimit::AvoidInterruptCores(avoid) => (LimitKind::Cores, avoid),
        _ => return None,
    })
}

/// The holder of the changes of a limit on a job.
pub(super) fn holder(job: JobId, kind: LimitKind) -> Holder {
    let what = match kind {
        LimitKind::BlockIo => "block-io",
        LimitKind::Pcie => "pcie",
        LimitKind::Mps => "mps",
        LimitKind::Cores => "affinity",
    };
    Holder::new(name(job), what)
}

/// A job as the holder of changes.
pub(super) fn name(job: JobId) -> String {
    format!("job {}", job.0)
}

/// What a limit is put on.
#[derive(Clone, Debug)]
pub(super) struct LimitTarget {
    /// The processes of the job.
    pub processes: Vec<ProcessId>,
    /// The control group in which its block I/O is limited.
    pub group: CgroupPath,
    /// Whether the processes must be put there first. Not into the lease's own group: all are there.
    pub enrol: bool,
}

/// The control group in which the block I/O of a lease is limited, and whether its processes must be put
/// there first: its own, where that can be limited, else one of this daemon, named after the lease.
///
/// # Errors
/// The configured group is none; the kernel does not say which version of control groups there is.
pub(super) fn group(
    own: Option<&Path>,
    name: &str,
    levers: &LeversConfig,
    roots: &Roots,
) -> Result<(CgroupPath, bool), String> {
    if let (Some(own), Some(root)) = (own, second(roots)?)
        && own.join("io.max").is_file()
        && let Some(path) = own.strip_prefix(root).ok().and_then(Path::to_str)
    {
        let group = CgroupPath::new(path).map_err(|error| error.to_string())?;
        return Ok((group, false));
    }
    let group = CgroupPath::new(format!("{}/{name}", levers.group));
    Ok((group.map_err(|error| error.to_string())?, true))
}

/// The folder of a group if block I/O is limited by version 2 of control groups: a process that is put
/// there leaves the group in which it was.
///
/// # Errors
/// The kernel does not say which version there is.
pub(super) fn moves_to(group: &CgroupPath, roots: &Roots) -> Result<Option<PathBuf>, String> {
    Ok(second(roots)?.map(|root| root.join(group.path())))
}

/// Where version 2 of control groups is, if it is that one which limits block I/O.
fn second(roots: &Roots) -> Result<Option<PathBuf>, String> {
    match Controller::BlockIo.hierarchy(roots) {
        Ok(Some((Version::V2, root))) => Ok(Some(root)),
        Ok(_) => Ok(None),
        Err(error) => Err(format!("control groups: {error}")),
    }
}

/// The changes that a guard on the processes of a job is, each with how long it holds at most.
///
/// # Errors
/// Why there is no such lever here.
pub(super) fn limit_changes(
    guard: JobLimit,
    target: &LimitTarget,
    levers: &LeversConfig,
    roots: &Roots,
    quiet: &mut InterruptSampler,
    now_ms: u64,
) -> Result<Vec<(LeverChange, Lifetime)>, String> {
    let until = Lifetime::Until {
        ms: now_ms + levers.max_duration_s.0 * 1000,
    };
    match guard {
        JobLimit::BlockIoMbPerS(Some(mb_s)) => {
            is_on(Lever::BlockIo, levers)?;
            if target.processes.is_empty() {
                return Err("no process of the job is known".to_owned());
            }
            block_io(target, mb_s, until, levers, roots)
        }
        JobLimit::PcieMbPerS(Some(_)) => Err(
            "nothing on this machine limits the PCIe traffic of a process; block I/O is limited by its own order"
                .to_owned(),
        ),
        JobLimit::MpsPercent(Some(percent)) => {
            Ok(vec![(mps(percent.into(), levers)?, until)])
        }
        JobLimit::AvoidInterruptCores(true) => {
            is_on(Lever::Affinity, levers)?;
            let keep = levers.min_cpus.0 as usize;
            let cpus = quiet.cpus(roots, keep, levers.max_interrupts_per_s.0)?;
            if target.processes.is_empty() {
                return Err("no process of the job is known".to_owned());
            }
            let change = |&process: &ProcessId| {
                let cpus = cpus.clone();
                (LeverChange::Affinity { process, cpus }, Lifetime::Session)
            };
            Ok(target.processes.iter().map(change).collect())
        }
        _ => Ok(Vec::new()),
    }
}

/// # Errors
/// The lever is switched off.
fn is_on(lever: Lever, levers: &LeversConfig) -> Result<(), String> {
    if levers.enabled.contains(&lever) {
        return Ok(());
    }
    let name = serde_json::to_string(&lever).unwrap_or_default();
    Err(format!(
        "the lever {name} is off: expected it in `levers.enabled`"
    ))
}

/// The changes that limit the block I/O of a target on every disk. `lifetime` is that of the limits: processes that must be
/// put into a group for it stay there until no limit needs that.
///
/// # Errors
/// Why there is no such lever here.
pub(super) fn block_io(
    target: &LimitTarget,
    mb_s: u32,
    lifetime: Lifetime,
    levers: &LeversConfig,
    roots: &Roots,
) -> Result<Vec<(LeverChange, Lifetime)>, String> {
    is_on(Lever::BlockIo, levers)?;
    let group = &target.group;
    let mut changes: Vec<(LeverChange, Lifetime)> = Vec::new();
    for &process in target.processes.iter().filter(|_| target.enrol) {
        let change = LeverChange::AssignCgroup {
            process: Some(process),
            group: group.clone(),
            controllers: vec![Controller::BlockIo],
        };
        changes.push((change, Lifetime::Session));
    }
    let disks = disks_of(levers, roots);
    if disks.is_empty() {
        return Err("no disk is known: expected one in `levers.block_devices`".to_owned());
    }
    for device in disks {
        let change = LeverChange::BlockIo {
            group: group.clone(),
            device,
            limits: BlockIoLimits::mb_s(mb_s),
        };
        changes.push((change, lifetime));
    }
    Ok(changes)
}

/// The change that limits the share of multiprocessors of all clients of the MPS daemon.
///
/// # Errors
/// The lever is switched off.
pub(super) fn mps(percent: u32, levers: &LeversConfig) -> Result<LeverChange, String> {
    is_on(Lever::Mps, levers)?;
    Ok(LeverChange::MpsPercent {
        server: MpsServer(levers.mps_pipe.clone()),
        percent,
    })
}

/// The disks on which block I/O is limited.
pub(super) fn disks_of(levers: &LeversConfig, roots: &Roots) -> Vec<BlockDevice> {
    match levers.block_devices.as_slice() {
        [] => disks(&roots.sys),
        own => own.to_vec(),
    }
}

/// The whole disks of the machine that have a device behind them: no loops and no memory disks.
fn disks(sys: &Path) -> Vec<BlockDevice> {
    let Ok(entries) = fs::read_dir(sys.join("block")) else {
        return Vec::new();
    };
    let number = |path: std::path::PathBuf| {
        if !path.join("device").exists() {
            return None;
        }
        fs::read_to_string(path.join("dev"))
            .ok()?
            .trim()
            .parse()
            .ok()
    };
    let mut disks: Vec<BlockDevice> = entries
        .flatten()
        .filter_map(|entry| number(entry.path()))
        .collect();
    disks.sort_unstable();
    disks
}

/// Which CPUs serve few interrupts: the difference of two readings.
#[derive(Debug, Default)]
pub(crate) struct InterruptSampler {
    before: Option<(std::time::Instant, Interrupts)>,
    rates: BTreeMap<u32, u64>,
}

impl InterruptSampler {
    /// Reads the counters once more.
    pub(super) fn sample(&mut self, roots: &Roots) {
        let Ok(text) = fs::read_to_string(roots.proc.join("interrupts")) else {
            return;
        };
        let Ok(now) = Interrupts::read(&text) else {
            return;
        };
        let at = std::time::Instant::now();
        if let Some((then, before)) = &self.before {
            let seconds = at.duration_since(*then).as_secs_f64().max(1e-3);
            let rate = |count: u64| (count as f64 / seconds) as u64;
            self.rates = now
                .since(before)
                .into_iter()
                .map(|(cpu, number)| (cpu, rate(number)))
                .collect();
        }
        self.before = Some((at, now));
    }

    fn cpus(&mut self, roots: &Roots, keep: usize, least: u64) -> Result<Cpus, String> {
        let file = roots.sys.join("devices/system/cpu/online");
        let text =
            fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let online: Cpus = text.trim().parse()?;
        if self.rates.is_empty() {
            return Err("the interrupts of this machine were not counted yet".to_owned());
        }
        let quiet = low_interrupt_cpus(&online, &self.rates, keep, least);
        if quiet.len() == online.len() {
            return Err("no core serves many more interrupts than others".to_owned());
        }
        Ok(quiet)
    }
}

/// A layout in the words of the MIG lever.
///
/// # Errors
/// The device has no MIG profiles, or no UUID.
pub(super) fn layout_change(
    node: &Node,
    whole: DeviceId,
    layout: &Layout,
) -> Result<LeverChange, String> {
    let graph = node.graph();
    let name = &graph.device(whole).name;
    let Some(uuid) = node.uuid(whole) else {
        return Err(format!("{name} has no UUID that is known"));
    };
    let Some(model) = graph.model(whole) else {
        return Err(format!("{name} has no MIG profiles"));
    };
    let wish = |instance: &mapa_core::mig::Instance| MigInstanceSpec {
        start: Some(instance.start.into()),
        ..MigInstanceSpec::of(model.profile(instance.profile).name.clone())
    };
    Ok(LeverChange::Layout {
        device: uuid.to_owned(),
        layout: MigLayout {
            enabled: !layout.is_whole(),
            instances: layout.instances().iter().map(wish).collect(),
        },
    })
}

/// The outcome of a change: done, or why it failed.
pub(super) fn outcome(event: &LeverEvent) -> Result<(), String> {
    match event {
        LeverEvent::Refused { why, .. } => Err(why.to_string()),
        LeverEvent::Failed { failure, .. } => Err(failure.to_string()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, Roots) {
        let folder = tempfile::tempdir().unwrap();
        for (file, text) in files {
            let path = folder.path().join("sys/fs/cgroup").join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let roots = Roots::below(folder.path());
        (folder, roots)
    }

    /// Processes leave no group by which recovery finds them, if that group can be limited; and if they
    /// must leave it, it is known to where.
    #[test]
    fn a_lease_is_limited_in_its_own_group_where_that_can_be() {
        let levers = LeversConfig::default();
        for (files, expected, moves) in [
            (
                vec![
                    ("cgroup.controllers", "cpu io pids"),
                    ("user/mapa-a-1/io.max", ""),
                ],
                ("/user/mapa-a-1", false),
                true,
            ),
            (
                vec![
                    ("unified/cgroup.controllers", "io"),
                    ("unified/user/mapa-a-1/io.max", ""),
                ],
                ("/user/mapa-a-1", false),
                true,
            ),
            (
                vec![
                    ("cgroup.controllers", "cpu io pids"),
                    ("user/mapa-a-1/cgroup.procs", ""),
                ],
                ("/mapa/mapa-a-1", true),
                true,
            ),
            (
                vec![
                    ("blkio/notify_on_release", "0"),
                    ("pids/user/mapa-a-1/cgroup.procs", ""),
                ],
                ("/mapa/mapa-a-1", true),
                false,
            ),
            // Both are there, and version 1 has the controller.
            (
                vec![
                    ("blkio/notify_on_release", "0"),
                    ("unified/cgroup.controllers", "cpu io"),
                    ("unified/user/mapa-a-1/io.max", ""),
                ],
                ("/mapa/mapa-a-1", true),
                false,
            ),
        ] {
            let (_folder, roots) = tree(&files);
            let lease_group = ["user", "unified/user", "pids/user"]
                .map(|text| roots.cgroup.join(text).join("mapa-a-1"));
            let lease_group = lease_group
                .iter()
                .find(|path| path.exists())
                .map(PathBuf::as_path);
            let (group, enrol) = super::group(lease_group, "mapa-a-1", &levers, &roots).unwrap();
            assert_eq!((group.to_string().as_str(), enrol), expected, "{files:?}");
            let to = moves_to(&group, &roots).unwrap();
            assert_eq!(to.is_some(), moves, "{files:?}");
        }
    }
}
