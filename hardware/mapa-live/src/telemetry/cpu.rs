//! `/proc/stat`, `/proc/loadavg` and the processes that are watched.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::missing::MissingSignal;
use crate::kernel::{ProcessId, Stat, files};

/// The use of all CPUs since the last sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuUse {
    /// The share of time in which CPUs were busy, percent of all CPUs.
    pub busy_percent: Option<f64>,
    /// The share in which they waited for block I/O, percent.
    pub waiting_percent: Option<f64>,
    /// The mean number of processes that ran or wanted to, over a minute.
    pub load: Option<f64>,
}

/// The use of the CPU by one process since the last sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessUse {
    /// The process, which is one of those that are watched.
    pub process: ProcessId,
    /// The share of one CPU, percent: 200 are two CPUs.
    pub cpu_percent: Option<f64>,
    /// Resident memory, pages of the system.
    pub resident_pages: Option<u64>,
}

/// The times of all CPUs so far, in ticks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CpuTimes {
    pub(crate) all: u64,
    pub(crate) idle: u64,
    pub(crate) waiting: u64,
}

pub(crate) fn times(proc: &Path) -> Result<CpuTimes, MissingSignal> {
    let path = proc.join("stat");
    let text = files::read(&path)
        .map_err(|error| MissingSignal::new("cpu", format!("{}: {error}", path.display())))?;
    let line = text.lines().find(|line| line.starts_with("cpu "));
    let fields: Vec<u64> = line
        .into_iter()
        .flat_map(|line| line.split_ascii_whitespace().skip(1))
        .map_while(|field| field.parse().ok())
        .collect();
    // User, nice, system, idle, iowait, irq, softirq, steal. What guests take is in user already.
    let [first, .., idle, waiting] = fields.get(..5).unwrap_or_default() else {
        let why = format!(
            "{}: expected a line `cpu` with five numbers",
            path.display()
        );
        return Err(MissingSignal::new("cpu", why));
    };
    let _ = first;
    Ok(CpuTimes {
        all: fields
            .iter()
            .take(8)
            .fold(0, |sum, ticks| sum.saturating_add(*ticks)),
        idle: *idle,
        waiting: *waiting,
    })
}

pub(crate) fn load(proc: &Path) -> Option<f64> {
    let text = files::read(&proc.join("loadavg")).ok()?;
    let load: f64 = text.split_ascii_whitespace().next()?.parse().ok()?;
    load.is_finite().then_some(load)
}

/// The shares of time since `before`.
pub(crate) fn since(before: CpuTimes, now: CpuTimes) -> (Option<f64>, Option<f64>) {
    let all = now.all.checked_sub(before.all).filter(|all| *all > 0);
    let share = |part: Option<u64>| Some(100.0 * part? as f64 / all? as f64);
    // Waiting goes back at times: the kernel counts it where the process last ran.
    let waiting = now.waiting.saturating_sub(before.waiting);
    let idle = now.idle.saturating_sub(before.idle);
    let busy = all.map(|all| all.saturating_sub(idle).saturating_sub(waiting));
    (share(busy), share(Some(waiting.min(all.unwrap_or(0)))))
}

/// The ticks of CPU that a process took so far, and its resident pages; `None` if it has ended.
pub(crate) fn process(proc: &Path, process: ProcessId) -> Option<(u64, u64)> {
    let stat = Stat::of(proc, process.pid).ok()??;
    // Another process may have the number by now.
    (stat.start == process.start).then_some((stat.ticks?, stat.resident_pages?))
}
