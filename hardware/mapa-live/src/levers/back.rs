//! Steps, taken back. A step may have been carried out, in part, or not at all: only what is as the step
//! has set it is put back, and what somebody else has changed since stays.

use super::block_io::Limits;
use super::error::LeverError;
use super::forth;
use super::hands::Hands;
use super::step::Step;
use crate::kernel::{Cpus, ProcessId};

/// Takes steps back, the last one first. A step that cannot be taken back does not keep the others from it.
pub(crate) fn take_back(hands: &mut Hands, steps: &[Step]) -> Vec<LeverError> {
    let mut left = Vec::new();
    for step in steps.iter().rev() {
        left.extend(back(hands, step).err());
    }
    left
}

fn back(hands: &mut Hands, step: &Step) -> Result<(), LeverError> {
    match step {
        Step::MakeGroup { controller, group } => {
            if !hands.groups.exists(*controller, group)? {
                return Ok(());
            }
            match hands.groups.remove(*controller, group) {
                // Somebody else works there now. It is theirs.
                Err(LeverError::Busy { .. }) => Ok(()),
                other => other,
            }
        }
        Step::PassOn { controller, group } => {
            if !hands.groups.exists(*controller, group)?
                || !hands.groups.is_passed_on(*controller, group)?
            {
                return Ok(());
            }
            match hands.groups.pass_on(*controller, group, false) {
                // A group further below has come to need it.
                Err(LeverError::Busy { .. }) => Ok(()),
                other => other,
            }
        }
        Step::Join {
            controller,
            process,
            from,
            to,
        } => gone_is_fine(leave(hands, *controller, *process, from, to)),
        Step::Limits {
            group,
            device,
            from,
            to,
        } => gone_is_fine(unlimit(hands, group, *device, *from, *to)),
        Step::Cpuset { group, from, to } => {
            gone_is_fine(hands.cpusets.cpuset(group).and_then(|has| {
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
            }))
        }
        Step::Affinity { process, from, to } => {
            gone_is_fine(free_threads(hands, *process, from, to))
        }
        Step::MpsPercent {
            server,
            scope,
            from,
            to,
        } => {
            // A daemon or server that has ended has forgotten its share.
            if !hands.mps.is_running(server) {
                return Ok(());
            }
            gone_is_fine(hands.mps.percent(server, *scope).and_then(|has| {
                if has == *to {
                    hands.mps.set_percent(server, *scope, *from)
                } else {
                    Ok(())
                }
            }))
        }
        Step::MpsPinned {
            server,
            scope,
            device,
            from,
            to,
        } => {
            if !hands.mps.is_running(server) {
                return Ok(());
            }
            gone_is_fine(hands.mps.pinned(server, *scope, *device).and_then(|has| {
                if has == *to {
                    hands.mps.set_pinned(server, *scope, *device, *from)
                } else {
                    Ok(())
                }
            }))
        }
        Step::MpsDaemon { server, to: true } => hands.mps.quit(server),
        Step::MpsDaemon { server, to: false } => hands.mps.start(server),
        Step::MigMode { device, to } => hands.mig.set_mode(device, !to),
        Step::Create { device, place } => hands.mig.destroy(device, place),
        Step::Destroy { device, place } => hands.mig.create(device, place),
        Step::Start { program } => hands.programs.stop(program),
        Step::Stop { program } => forth::start(hands, program),
        Step::Route { file, from, to } => {
            if hands.programs.route(file)?.as_ref() == Some(to) {
                hands.programs.set_route(file, from.as_deref())
            } else {
                Ok(())
            }
        }
    }
}

/// What has ended, or was removed, has nothing to be put back.
fn gone_is_fine(outcome: Result<(), LeverError>) -> Result<(), LeverError> {
    match outcome {
        Err(LeverError::Missing { .. }) => Ok(()),
        other => other,
    }
}

fn leave(
    hands: &mut Hands,
    controller: super::group::Controller,
    process: ProcessId,
    from: &super::group::Group,
    to: &super::group::Group,
) -> Result<(), LeverError> {
    if hands.groups.group_of(controller, process)? != *to {
        return Ok(());
    }
    hands.groups.join(controller, process, from)
}

fn unlimit(
    hands: &mut Hands,
    group: &super::group::Group,
    device: super::block_io::BlockDevice,
    from: Limits,
    to: Limits,
) -> Result<(), LeverError> {
    let has = hands.block_io.limits(group, device)?;
    let mut parts = has.parts();
    for ((part, was), set) in parts.iter_mut().zip(from.parts()).zip(to.parts()) {
        if *part == set {
            *part = was;
        }
    }
    let back = Limits::of_parts(parts);
    if back == has {
        return Ok(());
    }
    hands.block_io.set_limits(group, device, back)
}

fn free_threads(
    hands: &mut Hands,
    process: ProcessId,
    from: &[(u32, Cpus)],
    to: &Cpus,
) -> Result<(), LeverError> {
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
            let its = from.iter().find(|(own, _)| *own == thread);
            let cpus = its.map_or(usual, |(_, cpus)| cpus);
            if has != *cpus {
                hands.affinity.set_thread(process, thread, cpus)?;
            }
        }
    }
    Ok(())
}
