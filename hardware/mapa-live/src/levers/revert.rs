//! Steps, taken back. A step may have been carried out, in part, or not at all: a value is put back only if it is as the
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

/// Takes steps back, the last one first. A step that cannot be taken back does not keep the others from it.
pub(crate) fn take_back(hands: &mut LeverSet, steps: &[Step]) -> Vec<LeverError> {
    let mut left = Vec::new();
    for step in steps.iter().rev() {
        left.extend(back(hands, step, steps).err());
    }
    left
}

fn back(hands: &mut LeverSet, step: &Step, all: &[Step]) -> Result<(), LeverError> {
    match step {
        Step::MakeGroup { controller, group } => {
            if !hands.groups.exists(*controller, group)? {
                return Ok(());
            }
            hands.groups.remove(*controller, group)
        }
        Step::PassOn { controller, group } => keep_from_below(hands, *controller, group),
        Step::Join {
            controller,
            process,
            from,
            to,
        } => leave_or_empty(hands, (*controller, *process), from, to, all),
        Step::Limits {
            group,
            device,
            from,
            to,
        } => match unlimit(hands, group, *device, *from, *to) {
            Err(LeverError::Missing { .. })
                if !hands.groups.exists(Controller::BlockIo, group)? =>
            {
                Ok(())
            }
            other => other,
        },
        Step::Cpuset { group, from, to } => match reset_cpuset(hands, group, from, to) {
            Err(LeverError::Missing { .. })
                if !hands.groups.exists(Controller::Cpuset, group)? =>
            {
                Ok(())
            }
            other => other,
        },
        Step::Affinity { process, from, to } => match free_threads(hands, *process, from, to) {
            Err(LeverError::Missing { .. }) if has_ended(hands, *process)? => Ok(()),
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
            reset_mps(hands, (server, *scope), all, to, &get, &set)
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
            reset_mps(hands, (server, *scope), all, to, &get, &set)
        }
        Step::MpsDaemon { server, to: true } => hands.mps.quit(server),
        Step::MpsDaemon { server, to: false } => hands.mps.start(server),
        Step::MigMode { device, to } => reset_mig_mode(hands, device, *to),
        Step::Create { device, place } => hands.mig.destroy(device, place),
        Step::Destroy { device, place } => hands.mig.create(device, place),
        Step::Start { program } => hands.programs.stop(program),
        Step::Stop { program } => apply::start(hands, program),
        Step::Route { file, from, to } => {
            // Another program may have sent the requests elsewhere since.
            if hands.programs.route(file)?.as_ref() == Some(to) {
                hands.programs.set_route(file, from.as_deref())
            } else {
                Ok(())
            }
        }
    }
}

/// Passes a controller on to the groups below no more, if it still is and nobody has come to need it.
fn keep_from_below(
    hands: &mut LeverSet,
    controller: Controller,
    group: &CgroupPath,
) -> Result<(), LeverError> {
    if !hands.groups.exists(controller, group)?
        || !hands.groups.is_passed_on(controller, group)?
        // Somebody else's groups have come to need it: they would lose what they were set to.
        || hands.groups.has_below(controller, group)?
    {
        return Ok(());
    }
    hands.groups.pass_on(controller, group, false)
}

/// Puts a process back into the group in which it was: all processes of the group, if these steps have made it.
fn leave_or_empty(
    hands: &mut LeverSet,
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
        return empty(hands, controller, from, to);
    }
    // A missing file is fine only if the process or the group has gone with it. For any
    // other reason the step was not reverted.
    match leave(hands, controller, process, from, to) {
        Err(LeverError::Missing { .. })
            if has_ended(hands, process)? || !hands.groups.exists(controller, to)? =>
        {
            Ok(())
        }
        other => other,
    }
}

/// Sets MIG mode back, unless somebody has done so or has come to need it.
fn reset_mig_mode(hands: &mut LeverSet, device: &str, to: bool) -> Result<(), LeverError> {
    let has = hands.mig.state(device)?;
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
    hands.mig.set_mode(device, !to)
}

/// Whether a process has ended: then it has nothing to be put back.
fn has_ended(hands: &LeverSet, process: ProcessId) -> Result<bool, LeverError> {
    match hands.affinity.threads(process) {
        Ok(_) => Ok(false),
        Err(LeverError::Missing { .. }) => Ok(true),
        Err(error) => Err(error),
    }
}

/// Whether a daemon or server of MPS has ended: then it has forgotten what it was set to.
fn has_forgotten(
    hands: &LeverSet,
    server: &MpsServer,
    scope: MpsScope,
) -> Result<bool, LeverError> {
    Ok(!hands.mps.is_running(server)? || !hands.mps.scopes(server)?.contains(&scope))
}

/// Puts a value of MPS back. That of the daemon was passed on to every server that it has started since, so those
/// get it back too: the plan has a step for each server that was there before.
fn reset_mps<T: PartialEq>(
    hands: &mut LeverSet,
    (server, scope): (&MpsServer, MpsScope),
    all: &[Step],
    to: &T,
    get: &dyn Fn(&dyn Mps, MpsScope) -> Result<T, LeverError>,
    set: &dyn Fn(&mut dyn Mps, MpsScope) -> Result<(), LeverError>,
) -> Result<(), LeverError> {
    let reset = |hands: &mut LeverSet, scope| {
        let outcome = match get(&*hands.mps, scope) {
            Ok(has) if has == *to => set(&mut *hands.mps, scope),
            other => other.map(drop),
        };
        match outcome {
            Err(LeverError::Missing { .. }) if has_forgotten(hands, server, scope)? => Ok(()),
            other => other,
        }
    };
    reset(hands, scope)?;
    if scope != MpsScope::Daemon || !hands.mps.is_running(server)? {
        return Ok(());
    }
    for scope in hands.mps.scopes(server)? {
        if !all.iter().any(|step| step.mps_scope() == Some(scope)) {
            reset(hands, scope)?;
        }
    }
    Ok(())
}

fn leave(
    hands: &mut LeverSet,
    controller: Controller,
    process: ProcessId,
    from: &CgroupPath,
    to: &CgroupPath,
) -> Result<(), LeverError> {
    // The process was moved to another group since, and stays there.
    if hands.groups.group_of(controller, process)? != *to {
        return Ok(());
    }
    hands.groups.join(controller, process, from)
}

/// Moves all members of a group that the same plan has made: what the process has started meanwhile is there too, and
/// would keep the group.
fn empty(
    hands: &mut LeverSet,
    controller: Controller,
    from: &CgroupPath,
    to: &CgroupPath,
) -> Result<(), LeverError> {
    for _ in 0..MOST_ROUNDS {
        if !hands.groups.exists(controller, to)? {
            return Ok(());
        }
        let members = hands.groups.members(controller, to)?;
        if members.is_empty() {
            return Ok(());
        }
        for process in members {
            match hands.groups.join(controller, process, from) {
                Err(LeverError::Missing { .. }) if has_ended(hands, process)? => {}
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
    hands: &mut LeverSet,
    group: &CgroupPath,
    from: &Cpuset,
    to: &Cpuset,
) -> Result<(), LeverError> {
    let has = hands.cpusets.cpuset(group)?;
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
    hands.cpusets.set_cpuset(group, &back)
}

fn unlimit(
    hands: &mut LeverSet,
    group: &CgroupPath,
    device: BlockDevice,
    from: BlockIoLimits,
    to: BlockIoLimits,
) -> Result<(), LeverError> {
    let has = hands.block_io.limits(group, device)?;
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
    hands.block_io.set_limits(group, device, back)
}

fn free_threads(
    hands: &mut LeverSet,
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
        for (thread, has) in hands.affinity.threads(process)? {
            if has != *to {
                continue;
            }
            let its = from.iter().find(|(tid, _)| *tid == thread);
            let cpus = its.map_or(usual, |(_, cpus)| cpus);
            if has != *cpus {
                hands.affinity.set_thread(process, thread, cpus)?;
            }
        }
    }
    Ok(())
}
