//! Steps, reverted. A step may have been carried out, in part, or not at all: a value is put back only if it is as the
//! step has set it, and what somebody else has changed since stays. What is there or not, such as an instance, a daemon or
//! a program, is made or ended again.

use super::apply;
use super::block_io::{BlockDevice, BlockIoLimits};
use super::cpuset::Cpuset;
use super::error::LeverError;
use super::group::{CgroupPath, Controller};
use super::lever_set::LeverSet;
use super::mps::{Mps, MpsScope, MpsServer};
use super::step::Step;
use crate::kernel::{Cpus, ProcessId};

/// How often the members of a group are listed until no new one turns up.
const MOST_ROUNDS: usize = 16;

/// Takes steps back, the last one first. A step that cannot be reverted does not keep the others from it.
pub(crate) fn take_back(levers: &mut LeverSet, steps: &[Step]) -> Vec<LeverError> {
    let mut left = Vec::new();
    for step in steps.iter().rev() {
        left.extend(back(levers, step, steps).err());
    }
    left
}

fn back(levers: &mut LeverSet, step: &Step, all: &[Step]) -> Result<(), LeverError> {
    match step {
        Step::MakeGroup { controller, group } => {
            if !levers.groups.exists(*controller, group)? {
                return Ok(());
            }
            levers.groups.remove(*controller, group)
        }
        Step::PassOn { controller, group } => keep_from_below(levers, *controller, group),
        Step::Join {
            controller,
            process,
            from,
            to,
        } => leave_or_empty(levers, (*controller, *process), from, to, all),
        Step::Limits {
            group,
            device,
            from,
            to,
        } => match unlimit(levers, group, *device, *from, *to) {
            Err(LeverError::Missing { .. })
                if !levers.groups.exists(Controller::BlockIo, group)? =>
            {
                Ok(())
            }
            other => other,
        },
        Step::Cpuset { group, from, to } => match reset_cpuset(levers, group, from, to) {
            Err(LeverError::Missing { .. })
                if !levers.groups.exists(Controller::Cpuset, group)? =>
            {
                Ok(())
            }
            other => other,
        },
        Step::Affinity { process, from, to } => match free_threads(levers, *process, from, to) {
            // So it has ended, and has nothing to be put back.
            Err(LeverError::Missing { .. }) => Ok(()),
            other => other,
        },
        Step::MpsPercent {
            server,
            scope,
            from,
            to,
        } => {
            let get = |mps: &dyn Mps, scope| mps.percent(server, scope);
            let set = |mps: &mut dyn Mps, scope| mps.set_percent(server, scope, *from);
            reset_mps(levers, (server, *scope), all, to, &get, &set)
        }
        Step::MpsPinned {
            server,
            scope,
            device,
            from,
            to,
        } => {
            let get = |mps: &dyn Mps, scope| mps.pinned(server, scope, *device);
            let set = |mps: &mut dyn Mps, scope| mps.set_pinned(server, scope, *device, *from);
            reset_mps(levers, (server, *scope), all, to, &get, &set)
        }
        Step::MpsDaemon { server, to: true } => levers.mps.quit(server),
        Step::MpsDaemon { server, to: false } => levers.mps.start(server),
        Step::MigMode { device, to } => reset_mig_mode(levers, device, *to),
        Step::Create { device, place } => levers.mig.destroy(device, place),
        Step::Destroy { device, place } => levers.mig.create(device, place),
        Step::Start { program } => levers.programs.stop(program),
        Step::Stop { program } => apply::start(levers, program),
        Step::Route { file, from, to } => {
            // Another program may have sent the requests elsewhere since.
            if levers.programs.route(file)?.as_ref() == Some(to) {
                levers.programs.set_route(file, from.as_deref())
            } else {
                Ok(())
            }
        }
    }
}

/// Passes a controller on to the groups below no more, if it still is and nobody has come to need it.
fn keep_from_below(
    levers: &mut LeverSet,
    controller: Controller,
    group: &CgroupPath,
) -> Result<(), LeverError> {
    if !levers.groups.exists(controller, group)?
        || !levers.groups.is_passed_on(controller, group)?
        // Somebody else's groups have come to need it: they would lose what they were set to.
        || levers.groups.has_below(controller, group)?
    {
        return Ok(());
    }
    levers.groups.pass_on(controller, group, false)
}

/// Puts a process back into the group in which it was: all processes of the group, if these steps have made it.
fn leave_or_empty(
    levers: &mut LeverSet,
    (controller, process): (Controller, ProcessId),
    from: &CgroupPath,
    to: &CgroupPath,
    all: &[Step],
) -> Result<(), LeverError> {
    let made = Step::MakeGroup {
        controller,
        group: to.clone(),
    };
    if all.contains(&made) {
        return empty(levers, controller, from, to);
    }
    // A missing file is fine only if the process or the group has gone with it. For any
    // other reason the step was not reverted.
    match leave(levers, controller, process, from, to) {
        Err(LeverError::Missing { .. })
            if has_ended(levers, process)? || !levers.groups.exists(controller, to)? =>
        {
            Ok(())
        }
        other => other,
    }
}

/// Sets MIG mode back, unless somebody has done so or has come to need it.
fn reset_mig_mode(levers: &mut LeverSet, device: &str, to: bool) -> Result<(), LeverError> {
    let has = levers.mig.state(device)?;
    // Another program has set it back, or the plan never came to this step.
    if has.enabled != to {
        return Ok(());
    }
    // What this plan has made is gone by now.
    if !has.instances.is_empty() {
        return Err(LeverError::busy(
            format!("MIG on {device}"),
            "it has instances of somebody else",
        ));
    }
    levers.mig.set_mode(device, !to)
}

/// Whether a process has ended: then it has nothing to be put back.
fn has_ended(levers: &LeverSet, process: ProcessId) -> Result<bool, LeverError> {
    match levers.affinity.threads(process) {
        Ok(_) => Ok(false),
        Err(LeverError::Missing { .. }) => Ok(true),
        Err(error) => Err(error),
    }
}

/// Whether a daemon or server of MPS has ended: then it has forgotten what it was set to.
fn has_forgotten(
    levers: &LeverSet,
    server: &MpsServer,
    scope: MpsScope,
) -> Result<bool, LeverError> {
    Ok(!levers.mps.is_running(server)? || !levers.mps.scopes(server)?.contains(&scope))
}

/// Puts a value of MPS back. That of the daemon was passed on to every server that it has started since, so those
/// get it back too: the plan has a step for each server that was there before.
fn reset_mps<T: PartialEq>(
    levers: &mut LeverSet,
    (server, scope): (&MpsServer, MpsScope),
    all: &[Step],
    to: &T,
    get: &dyn Fn(&dyn Mps, MpsScope) -> Result<T, LeverError>,
    set: &dyn Fn(&mut dyn Mps, MpsScope) -> Result<(), LeverError>,
) -> Result<(), LeverError> {
    let reset = |levers: &mut LeverSet, scope| {
        let outcome = match get(&*levers.mps, scope) {
            Ok(has) if has == *to => set(&mut *levers.mps, scope),
            other => other.map(drop),
        };
        match outcome {
            Err(LeverError::Missing { .. }) if has_forgotten(levers, server, scope)? => Ok(()),
            other => other,
        }
    };
    reset(levers, scope)?;
    if scope != MpsScope::Daemon || !levers.mps.is_running(server)? {
        return Ok(());
    }
    for scope in levers.mps.scopes(server)? {
        if !all.iter().any(|step| step.mps_scope() == Some(scope)) {
            reset(levers, scope)?;
        }
    }
    Ok(())
}

fn leave(
    levers: &mut LeverSet,
    controller: Controller,
    process: ProcessId,
    from: &CgroupPath,
    to: &CgroupPath,
) -> Result<(), LeverError> {
    // The process was moved to another group since, and stays there.
    if levers.groups.group_of(controller, process)? != *to {
        return Ok(());
    }
    levers.groups.join(controller, process, from)
}

/// Moves all members of a group that the same plan has made: what the process has started meanwhile is there too, and
/// would keep the group.
fn empty(
    levers: &mut LeverSet,
    controller: Controller,
    from: &CgroupPath,
    to: &CgroupPath,
) -> Result<(), LeverError> {
    for _ in 0..MOST_ROUNDS {
        if !levers.groups.exists(controller, to)? {
            return Ok(());
        }
        let members = levers.groups.members(controller, to)?;
        if members.is_empty() {
            return Ok(());
        }
        for process in members {
            match levers.groups.join(controller, process, from) {
                Err(LeverError::Missing { .. }) if has_ended(levers, process)? => {}
                other => other?,
            }
        }
    }
    Err(LeverError::busy(
        format!("group {to}"),
        format!("processes begin in it faster than they are moved to {from}"),
    ))
}

fn reset_cpuset(
    levers: &mut LeverSet,
    group: &CgroupPath,
    from: &Cpuset,
    to: &Cpuset,
) -> Result<(), LeverError> {
    let has = levers.cpusets.cpuset(group)?;
    // The two files are written one after the other, so each is compared by itself.
    let mut back = has.clone();
    if has.cpus == to.cpus {
        back.cpus = from.cpus.clone();
    }
    if has.mems == to.mems {
        back.mems = from.mems.clone();
    }
    if back == has {
        return Ok(());
    }
    levers.cpusets.set_cpuset(group, &back)
}

fn unlimit(
    levers: &mut LeverSet,
    group: &CgroupPath,
    device: BlockDevice,
    from: BlockIoLimits,
    to: BlockIoLimits,
) -> Result<(), LeverError> {
    let has = levers.block_io.limits(group, device)?;
    let mut parts = has.parts();
    for ((part, was), set) in parts.iter_mut().zip(from.parts()).zip(to.parts()) {
        if *part == set {
            *part = was;
        }
    }
    let back = BlockIoLimits::of_parts(parts);
    if back == has {
        return Ok(());
    }
    levers.block_io.set_limits(group, device, back)
}

fn free_threads(
    levers: &mut LeverSet,
    process: ProcessId,
    from: &[(i32, Cpus)],
    to: &Cpus,
) -> Result<(), LeverError> {
    // A thread that began after the step has no value from before, so it gets that of the main
    // thread.
    let first = from.iter().find(|(thread, _)| *thread == process.pid);
    let Some((_, usual)) = first.or(from.first()) else {
        return Ok(());
    };
    // Twice: a thread that was born of a bound one while the others were freed is found in the second round.
    for _ in 0..2 {
        for (thread, has) in levers.affinity.threads(process)? {
            if has != *to {
                continue;
            }
            let its = from.iter().find(|(tid, _)| *tid == thread);
            let cpus = its.map_or(usual, |(_, cpus)| cpus);
            if has != *cpus {
                levers.affinity.set_thread(process, thread, cpus)?;
            }
        }
    }
    Ok(())
}
