//! A step, carried out.

use super::error::LeverError;
use super::launch::ProgramSpec;
use super::lever_set::LeverSet;
use super::step::Step;
use crate::kernel::{Cpus, ProcessId};

/// How often the threads of a process are listed until no new one turns up.
const MOST_ROUNDS: usize = 16;

pub(crate) fn act(levers: &mut LeverSet, step: &Step) -> Result<(), LeverError> {
    match step {
        Step::MakeGroup { controller, group } => levers.groups.make(*controller, group),
        Step::PassOn { controller, group } => levers.groups.pass_on(*controller, group, true),
        Step::Join {
            controller,
            process,
            to,
            ..
        } => levers.groups.join(*controller, *process, to),
        Step::Limits {
            group, device, to, ..
        } => {
            levers.block_io.set_limits(group, *device, *to)?;
            let has = levers.block_io.limits(group, *device)?;
            taken(
                || levers.block_io.commands(group, *device, *to),
                &has.parts(),
                &to.parts(),
            )
        }
        Step::Cpuset { group, to, .. } => {
            levers.cpusets.set_cpuset(group, to)?;
            let has = levers.cpusets.cpuset(group)?;
            taken(|| levers.cpusets.commands(group, to), &has, to)
        }
        Step::Affinity { process, to, .. } => set_threads(levers, *process, to),
        // These levers read back what they set by themselves: see `Mps`.
        Step::MpsPercent {
            server, scope, to, ..
        } => levers.mps.set_percent(server, *scope, *to),
        Step::MpsPinned {
            server,
            scope,
            device,
            to,
            ..
        } => levers.mps.set_pinned(server, *scope, *device, *to),
        Step::MpsDaemon { server, to: true } => levers.mps.start(server),
        Step::MpsDaemon { server, to: false } => levers.mps.quit(server),
        Step::MigMode { device, to } => levers.mig.set_mode(device, *to),
        Step::Create { device, place } => levers.mig.create(device, place),
        Step::Destroy { device, place } => levers.mig.destroy(device, place),
        Step::Start { program } => start(levers, program),
        Step::Stop { program } => levers.programs.stop(program),
        Step::Route { file, to, .. } => levers.programs.set_route(file, Some(to)),
    }
}

/// The kernel may take a value and keep another, so what was set is read back.
fn taken<T: PartialEq + std::fmt::Debug>(
    what: impl FnOnce() -> String,
    has: &T,
    asked: &T,
) -> Result<(), LeverError> {
    if has == asked {
        return Ok(());
    }
    Err(LeverError::NotApplied {
        what: what(),
        asked: format!("{asked:?}"),
        has: format!("{has:?}"),
    })
}

/// Sets the CPUs of all threads. A thread that is born meanwhile has those of its parent, which may be the
/// old ones, so the list is read until it has nothing new.
fn set_threads(levers: &mut LeverSet, process: ProcessId, cpus: &Cpus) -> Result<(), LeverError> {
    for _ in 0..MOST_ROUNDS {
        let threads = levers.affinity.threads(process)?;
        let mut changed = false;
        for (thread, has) in threads {
            if has != *cpus {
                levers.affinity.set_thread(process, thread, cpus)?;
                changed = true;
            }
        }
        if !changed {
            return Ok(());
        }
    }
    Err(LeverError::NotApplied {
        what: format!("CPUs of process {}", process.pid),
        asked: cpus.to_string(),
        has: "threads with others, which it starts or sets again and again".to_owned(),
    })
}

/// Starts a program and waits until it is ready.
pub(crate) fn start(levers: &mut LeverSet, program: &ProgramSpec) -> Result<(), LeverError> {
    let begin = std::time::Instant::now();
    let limit = std::time::Duration::from_secs(program.ready_s);
    levers.programs.start(program)?;
    loop {
        if levers.programs.is_ready(program)? {
            return Ok(());
        }
        if begin.elapsed() >= limit {
            return Err(LeverError::failed(
                format!("program {}", program.id),
                format!("it was not ready within {} s", program.ready_s),
            ));
        }
        levers.programs.pause();
    }
}
