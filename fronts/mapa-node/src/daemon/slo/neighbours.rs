//! What neighbours do: how much they read and write, and whether they are there at all.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use mapa_live::cgroup;
use mapa_live::levers::{CgroupPath, Controller};
use mapa_live::{Identity, Liveness, ProcessId, ProcessTree, Processes, Roots};
use mapa_sched::JobId;
use mapa_system_slo::{CounterSnapshot, NumaCounters, PlaceCounters};

use super::config::{Neighbour, NeighbourRole, SloConfig};
use crate::daemon::driver::NodeDriver;
use crate::ledger::Lease;

/// How much later than its file a process may have started: file systems and the kernel count coarsely.
const COARSE: Duration = Duration::from_secs(2);

/// The leases that a neighbour is, if it is a tenant.
pub(super) fn leases<'d>(
    neighbour: &'d Neighbour,
    driver: &'d NodeDriver<'_>,
) -> impl Iterator<Item = (JobId, &'d Lease)> {
    let all = driver.leases.iter().map(|(job, (lease, _))| (*job, lease));
    all.filter(|(_, lease)| neighbour.tenant.as_ref() == Some(&lease.asker.tenant))
}

/// The processes of a neighbour. Who has started whom is read once for all neighbours.
pub(super) fn processes(
    neighbour: &Neighbour,
    driver: &NodeDriver<'_>,
    families: &OnceCell<ProcessTree>,
) -> Vec<ProcessId> {
    let of_leases = leases(neighbour, driver).flat_map(|(_, lease)| driver.processes_of(lease));
    let mut found: Vec<ProcessId> = of_leases.collect();
    let (roots, all) = (&driver.live.roots, driver.processes);
    found.extend(outside_leases(neighbour, roots, all, families));
    found
}

/// The processes of a neighbour that holds no lease: that of its file and what that has started, or those of its group.
fn outside_leases(
    neighbour: &Neighbour,
    roots: &Roots,
    all: &Processes,
    families: &OnceCell<ProcessTree>,
) -> Vec<ProcessId> {
    let found: Vec<Identity> = match (&neighbour.pid_file, &neighbour.group) {
        (Some(file), _) => {
            let Some(first) = named(file, all) else {
                return Vec::new();
            };
            let families = families.get_or_init(|| all.families());
            // If it has ended meanwhile, its number may be another's, and so is what is below that.
            if all.life(&first) != Liveness::Runs {
                return Vec::new();
            }
            // Of one that has come since nobody's children are known.
            let is_known = families.has(&first);
            let below = is_known.then(|| families.below(first.id.pid));
            let below = below.unwrap_or_default();
            std::iter::once(first).chain(below).collect()
        }
        (None, Some(group)) => all.listed(|| members(roots, group)),
        (None, None) => Vec::new(),
    };
    found.iter().map(|identity| identity.id).collect()
}

/// The process that a file names. A process that started after its file was written is another one, which
/// has the number by now.
fn named(file: &Path, all: &Processes) -> Option<Identity> {
    let process = all.identity(fs::read_to_string(file).ok()?.trim().parse().ok()?)?;
    let written = fs::metadata(file)
        .and_then(|metadata| metadata.modified())
        .ok()?;
    (all.started(&process) <= written + COARSE).then_some(process)
}

/// The processes of a control group and of those below it, where block I/O is limited.
fn members(roots: &Roots, group: &CgroupPath) -> Vec<i32> {
    let Ok(Some((_, root))) = Controller::BlockIo.hierarchy(roots) else {
        return Vec::new();
    };
    cgroup::members(&root.join(group.path())).unwrap_or_default()
}

/// The bytes of block I/O of a process so far; `None` if the kernel does not tell them to us.
fn moved(proc: &Path, process: ProcessId) -> Option<u64> {
    let text = fs::read_to_string(proc.join(process.pid.to_string()).join("io")).ok()?;
    let of = |key: &str| -> Option<u64> {
        let mut lines = text.lines();
        lines.find_map(|line| line.strip_prefix(key)?.trim().parse().ok())
    };
    Some(of("read_bytes:")?.saturating_add(of("write_bytes:")?))
}

/// What a neighbour did in the last tick.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct NeighbourActivity {
    /// Whether any process of it runs.
    pub is_running: bool,
    /// Its block I/O, MB/s; `None` if that is unknown.
    pub mb_s: Option<f64>,
}

/// Watches neighbours.
#[derive(Debug, Default)]
pub(super) struct NeighbourMonitor {
    /// By neighbour: the bytes of each of its processes.
    before: BTreeMap<String, BTreeMap<ProcessId, u64>>,
    at_ms: Option<u64>,
}

impl NeighbourMonitor {
    /// The activity of each neighbour since the last sample.
    pub(super) fn sample(
        &mut self,
        config: &SloConfig,
        driver: &NodeDriver<'_>,
        at_ms: u64,
    ) -> BTreeMap<String, NeighbourActivity> {
        let past = self.at_ms.and_then(|was| at_ms.checked_sub(was));
        let seconds = past.filter(|past| *past > 0).map(|past| past as f64 / 1e3);
        self.at_ms = Some(at_ms);
        let mut seen = BTreeMap::new();
        let families = OnceCell::new();
        for (name, neighbour) in &config.neighbours {
            let processes = processes(neighbour, driver, &families);
            let before = self.before.remove(name).unwrap_or_default();
            let now: BTreeMap<ProcessId, u64> = processes
                .iter()
                .filter_map(|&process| Some((process, moved(&driver.live.roots.proc, process)?)))
                .collect();
            let is_told = now.len() == processes.len() && !processes.is_empty();
            // A process that is new has moved all that it has since it came.
            let delta: u64 = now
                .iter()
                .map(|(process, bytes)| {
                    bytes.saturating_sub(before.get(process).copied().unwrap_or(0))
                })
                .sum();
            let is_second = !before.is_empty();
            let mb_s = seconds
                .filter(|_| is_told && is_second)
                .map(|seconds| delta as f64 / 1e6 / seconds);
            seen.insert(
                name.clone(),
                NeighbourActivity {
                    is_running: !processes.is_empty(),
                    mb_s,
                },
            );
            self.before.insert(name.clone(), now);
        }
        seen
    }
}

/// The counters of `places` places for a controller.
pub(super) fn snapshot(
    config: &SloConfig,
    seen: &BTreeMap<String, NeighbourActivity>,
    places: usize,
) -> CounterSnapshot {
    let place = |at: usize| {
        let (mut heavy, mut training, mut mb_s) = (0, false, 0.0);
        for (name, neighbour) in &config.neighbours {
            let Some(seen) = seen.get(name).filter(|_| neighbour.is_beside(at as u32)) else {
                continue;
            };
            let moves = seen
                .mb_s
                .is_some_and(|own_mb_s| own_mb_s >= neighbour.active_above_mb_s.0 as f64);
            match neighbour.activity {
                NeighbourRole::Copy => heavy += u32::from(moves),
                NeighbourRole::Train => training |= seen.is_running,
            }
            mb_s += seen.mb_s.unwrap_or_default();
        }
        PlaceCounters {
            heavy: Some(heavy),
            training: Some(training),
            numa: Some(0),
            largest: Some(0),
            pcie_mb_s: Some(mb_s as u32),
            ..PlaceCounters::default()
        }
    };
    let places: Vec<PlaceCounters> = (0..places.max(1)).map(place).collect();
    let block_io_mb_s = places.first().and_then(|place| place.pcie_mb_s);
    CounterSnapshot {
        age_ticks: 0,
        places,
        numa: vec![NumaCounters {
            block_io_mb_s,
            ..NumaCounters::default()
        }],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::parse_toml;

    #[test]
    fn a_neighbour_is_all_of_its_control_group_also_what_runs_below_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut roots = Roots::below(folder.path());
        roots.proc = "/proc".into();
        let own_pid = std::process::id() as i32;
        for (file, text) in [
            ("blkio/notify_on_release", "0".to_owned()),
            ("blkio/etl/cgroup.procs", String::new()),
            ("blkio/etl/worker/cgroup.procs", format!("{own_pid}\n")),
            // A group of version 2, which has no such controller here.
            ("cgroup.controllers", "cpu".to_owned()),
            ("etl/cgroup.procs", "1\n".to_owned()),
        ] {
            let path = roots.cgroup.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        // A slash at the start, as `/proc/PID/cgroup` has it, changes nothing.
        let neighbour = "activity = \"copy\"\ngroup = \"/etl\"\n";
        let neighbour: Neighbour = parse_toml(neighbour).unwrap();
        let all = Processes::new().unwrap();
        let found = outside_leases(&neighbour, &roots, &all, &OnceCell::new());
        assert_eq!(
            found.iter().map(|process| process.pid).collect::<Vec<_>>(),
            [own_pid]
        );
    }

    #[test]
    fn a_file_that_is_older_than_the_process_of_its_number_names_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pid");
        let own_pid = std::process::id() as i32;
        fs::write(&file, format!("{own_pid}\n")).unwrap();
        let neighbour = format!("activity = \"copy\"\npid_file = {file:?}\n");
        let neighbour: Neighbour = parse_toml(&neighbour).unwrap();
        let all = Processes::new().unwrap();
        let found = || outside_leases(&neighbour, &Roots::default(), &all, &OnceCell::new());
        let first = found()[0];
        assert_eq!(first, all.own().unwrap().id);
        // As if a program had written it and ended, and this process had got the number.
        let handle = fs::File::options().write(true).open(&file).unwrap();
        let before = all.started(&all.own().unwrap()) - Duration::from_secs(60);
        handle.set_modified(before).unwrap();
        assert_eq!(found(), []);
    }
}
