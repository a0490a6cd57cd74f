//! From what is asked and what is, to steps. Bounds are checked here, before anything is changed.

use super::block_io::{BlockDevice, BlockIoLimits};
use super::cpuset::Cpuset;
use super::error::LeverError;
use super::group::{CgroupOp, CgroupPath, Controller};
use super::launch::{ProgramSpec, ReadinessProbe, RouteFile};
use super::lever_set::LeverSet;
use super::mig::{self, MigOp};
use super::mps::{MpsControlCommand, MpsScope, MpsServer, PinnedMib, is_told_exactly};
use super::step::{LeverChange, Plan, Step};
use crate::kernel::{Cpus, ProcessId};

/// Plans a change. The steps of `before` count as carried out, though the machine does not show them: groups that they
/// make are there.
pub(crate) fn plan(
    levers: &LeverSet,
    before: &[&Step],
    change: &LeverChange,
) -> Result<Plan, LeverError> {
    let mut warnings = Vec::new();
    let steps = steps(levers, before, change, &mut warnings)?;
    Ok(Plan {
        lever: change.lever().to_owned(),
        words: steps.iter().map(|step| commands(levers, step)).collect(),
        steps,
        warnings,
    })
}

fn steps(
    levers: &LeverSet,
    before: &[&Step],
    change: &LeverChange,
    warnings: &mut Vec<String>,
) -> Result<Vec<Step>, LeverError> {
    match change {
        LeverChange::BlockIo {
            group,
            device,
            limits,
        } => limit_block_io(levers, before, group, *device, *limits),
        LeverChange::Cpuset { group, cpus, mems } => cpuset(levers, group, cpus, mems.as_ref()),
        LeverChange::Affinity { process, cpus } => affinity(levers, *process, cpus),
        LeverChange::AssignCgroup {
            process,
            group,
            controllers,
        } => assign_cgroup(levers, before, *process, group, controllers),
        LeverChange::MpsPercent { server, percent } => {
            set_mps_percent(levers, server, *percent, warnings)
        }
        LeverChange::MpsPinned {
            server,
            device,
            mib,
        } => set_mps_pinned(levers, server, *device, *mib, warnings),
        LeverChange::MpsDaemon { server, running } => {
            let runs = levers.mps.is_running(server)?;
            Ok(only_if(runs != *running, || Step::MpsDaemon {
                server: server.clone(),
                to: *running,
            }))
        }
        LeverChange::Layout { device, layout } => {
            warnings.extend(levers.reconcilers.iter().cloned());
            partition(levers, device, layout)
        }
        LeverChange::Run { program } => {
            check_program(levers, program)?;
            let runs = levers.programs.running(&program.id)?.is_some();
            Ok(only_if(!runs, || Step::Start {
                program: program.clone(),
            }))
        }
        LeverChange::Stop { program } => {
            check_program(levers, program)?;
            let runs = levers.programs.running(&program.id)?.is_some();
            Ok(only_if(runs, || Step::Stop {
                program: program.clone(),
            }))
        }
        LeverChange::HandOver {
            old,
            new,
            route,
            warm,
        } => hand_over(levers, (old, new), route.as_ref(), *warm),
    }
}

fn limit_block_io(
    levers: &LeverSet,
    before: &[&Step],
    group: &CgroupPath,
    device: BlockDevice,
    limits: BlockIoLimits,
) -> Result<Vec<Step>, LeverError> {
    limits.check(&levers.bounds)?;
    not_root(group, "limited")?;
    // A group gets its files when it is made, or when the one above passes the controller on.
    let is_new = before.iter().any(|step| match step {
        Step::MakeGroup {
            controller: Controller::BlockIo,
            group: made,
        } => made == group,
        Step::PassOn {
            controller: Controller::BlockIo,
            group: above,
        } => group.above().last() == Some(above),
        _ => false,
    });
    let from = match levers.block_io.limits(group, device) {
        Err(LeverError::Missing { .. }) if is_new => {
            levers.block_io.check_new_group()?;
            BlockIoLimits::NONE
        }
        found => found?,
    };
    Ok(only_if(from != limits, || Step::Limits {
        group: group.clone(),
        device,
        from,
        to: limits,
    }))
}

fn set_mps_percent(
    levers: &LeverSet,
    server: &MpsServer,
    percent: u32,
    warnings: &mut Vec<String>,
) -> Result<Vec<Step>, LeverError> {
    levers
        .bounds
        .mps_percent
        .check("mps_percent", u64::from(percent), "percent")?;
    let to = percent.saturating_mul(1000);
    let mut steps = Vec::new();
    for scope in levers.mps.scopes(server)? {
        let from = levers.mps.percent(server, scope)?;
        steps.push(Step::MpsPercent {
            server: server.clone(),
            scope,
            from,
            to,
        });
    }
    let steps = mps(
        steps,
        |step| matches!(step, Step::MpsPercent { from, to, .. } if from != to),
    );
    warnings.push("MPS clients that run keep the share that they started with".to_owned());
    Ok(steps)
}

fn set_mps_pinned(
    levers: &LeverSet,
    server: &MpsServer,
    device: u32,
    mib: PinnedMib,
    warnings: &mut Vec<String>,
) -> Result<Vec<Step>, LeverError> {
    if let Some(mib) = mib {
        check_pinned(levers, mib)?;
    }
    let mut steps = Vec::new();
    for scope in levers.mps.scopes(server)? {
        let from = levers.mps.pinned(server, scope, device)?;
        steps.push(Step::MpsPinned {
            server: server.clone(),
            scope,
            device,
            from,
            to: mib,
        });
    }
    // A limit that is printed as 1 GiB may be one of 1.5: it is set in any case.
    let whole = mib.is_some_and(|mib| mib >= 1024);
    let steps = mps(steps, |step| {
        whole || matches!(step, Step::MpsPinned { from, to, .. } if from != to)
    });
    let is_whole =
        |step: &Step| matches!(step, Step::MpsPinned { from: Some(mib), .. } if *mib >= 1024);
    if steps.iter().any(is_whole) {
        warnings.push(
            "MPS tells limits from 1 GiB on in whole GiB: one of a fraction more is put back without it"
                .to_owned(),
        );
    }
    warnings.push("MPS clients that run keep the limit that they started with".to_owned());
    Ok(steps)
}

/// Checks a limit on pinned memory: within the bounds, and one that MPS tells back as it was set.
fn check_pinned(levers: &LeverSet, mib: u64) -> Result<(), LeverError> {
    levers
        .bounds
        .mps_pinned_mib
        .check("mps_pinned_mib", mib, "MiB")?;
    if mib == 0 {
        return Err(LeverError::infeasible(
            "a limit of 0 MiB",
            "expected one above 0, or none: MPS takes 0 for no limit",
        ));
    }
    if !is_told_exactly(mib) {
        return Err(LeverError::Infeasible {
            what: format!("a limit of {mib} MiB"),
            why: "expected whole GiB, or less than one: MPS tells no others, so it could not be \
                  seen that the limit holds"
                .to_owned(),
        });
    }
    Ok(())
}

/// From one program to another. In a warm hand-over both run for a while, so that requests always have a program to
/// go to.
fn hand_over(
    levers: &LeverSet,
    (old, new): (&ProgramSpec, &ProgramSpec),
    route: Option<&RouteFile>,
    warm: bool,
) -> Result<Vec<Step>, LeverError> {
    check_program(levers, old)?;
    check_program(levers, new)?;
    if old.id == new.id {
        return Err(LeverError::infeasible(
            format!("a hand-over from {} to itself", old.id),
            "expected another id, by which the two are told apart",
        ));
    }
    let stop = Step::Stop {
        program: old.clone(),
    };
    let mut steps = Vec::new();
    let (starts, stops) = (
        levers.programs.running(&new.id)?.is_none(),
        levers.programs.running(&old.id)?.is_some(),
    );
    if stops && !warm {
        steps.push(stop.clone());
    }
    if starts {
        steps.push(Step::Start {
            program: new.clone(),
        });
    }
    // After the new program is ready, and in a warm hand-over before the old one ends.
    if let Some(route) = route {
        let from = levers.programs.route(&route.file)?;
        if from.as_ref() != Some(&route.text) {
            steps.push(Step::Route {
                file: route.file.clone(),
                from,
                to: route.text.clone(),
            });
        }
    }
    if stops && warm {
        steps.push(stop);
    }
    Ok(steps)
}

/// The steps of a value of MPS. If that of the daemon changes, all of them: a server without one is known to have come
/// later and to have its value from the daemon. The daemon's is the last, so that no part of the steps has it alone.
fn mps(mut steps: Vec<Step>, changes: impl Fn(&Step) -> bool) -> Vec<Step> {
    steps.sort_by_key(|step| step.mps_scope() == Some(MpsScope::Daemon));
    if !steps.last().is_some_and(&changes) {
        steps.retain(changes);
    }
    steps
}

fn only_if(changes: bool, step: impl FnOnce() -> Step) -> Vec<Step> {
    changes.then(step).into_iter().collect()
}

fn not_root(group: &CgroupPath, what: &str) -> Result<(), LeverError> {
    if group.is_root() {
        return Err(LeverError::infeasible(
            format!("group {group}"),
            format!("expected a group below the root, which cannot be {what}"),
        ));
    }
    Ok(())
}

fn cpuset(
    levers: &LeverSet,
    group: &CgroupPath,
    cpus: &Cpus,
    mems: Option<&Cpus>,
) -> Result<Vec<Step>, LeverError> {
    not_root(group, "given CPUs")?;
    let from = levers.cpusets.cpuset(group)?;
    let allowed = levers.cpusets.allowed(group)?;
    let to = Cpuset {
        cpus: cpus.clone(),
        mems: mems.unwrap_or(&from.mems).clone(),
    };
    within("cpus", &to.cpus, &allowed.cpus)?;
    // On v2 an empty set of nodes is that of the group above.
    if mems.is_some() || !to.mems.is_empty() {
        within("mems", &to.mems, &allowed.mems)?;
    }
    Ok(only_if(from != to, || Step::Cpuset {
        group: group.clone(),
        from,
        to,
    }))
}

/// Refuses a set that is empty, or has what is not allowed.
fn within(bound: &str, set: &Cpus, allowed: &Cpus) -> Result<(), LeverError> {
    if !set.is_empty() && set.is_within(allowed) {
        return Ok(());
    }
    Err(LeverError::OutOfBounds {
        bound: bound.to_owned(),
        value: format!("{bound} `{set}`"),
        expected: format!("at least one of {allowed} and none else"),
    })
}

fn affinity(levers: &LeverSet, process: ProcessId, cpus: &Cpus) -> Result<Vec<Step>, LeverError> {
    within("cpus", cpus, &levers.affinity.online()?)?;
    let from = levers.affinity.threads(process)?;
    let changes = from.iter().any(|(_, has)| has != cpus);
    Ok(only_if(changes, || Step::Affinity {
        process,
        from,
        to: cpus.clone(),
    }))
}

fn assign_cgroup(
    levers: &LeverSet,
    before: &[&Step],
    process: Option<ProcessId>,
    group: &CgroupPath,
    controllers: &[Controller],
) -> Result<Vec<Step>, LeverError> {
    let mut steps: Vec<Step> = Vec::new();
    let mut add = |step: Step| {
        // On v2 both controllers share one hierarchy, so the second asks for what the first has planned.
        if !steps.contains(&step) {
            steps.push(step);
        }
    };
    for &controller in controllers {
        let mut path = group.above();
        path.push(group.clone());
        for (at, group) in path.iter().enumerate() {
            let make = Step::MakeGroup {
                controller,
                group: group.clone(),
            };
            let exists = before.contains(&&make) || levers.groups.exists(controller, group)?;
            if !exists {
                add(make);
            }
            let pass_on = Step::PassOn {
                controller,
                group: group.clone(),
            };
            let last = at + 1 == path.len();
            let passes = last
                || before.contains(&&pass_on)
                || levers.groups.is_passed_on(controller, group)?;
            if !passes {
                add(pass_on);
            }
        }
    }
    for &controller in controllers {
        // The process moves last, when every group is there and has its controllers.
        let Some(process) = process else { break };
        let joined = before.iter().rev().find_map(|step| match step {
            Step::Join {
                controller: of,
                process: who,
                to,
                ..
            } if (*of, *who) == (controller, process) => Some(to.clone()),
            _ => None,
        });
        let from = match joined {
            Some(group) => group,
            None => levers.groups.group_of(controller, process)?,
        };
        if from != *group {
            add(Step::Join {
                controller,
                process,
                from,
                to: group.clone(),
            });
        }
    }
    Ok(steps)
}

fn partition(
    levers: &LeverSet,
    device: &str,
    layout: &mig::MigLayout,
) -> Result<Vec<Step>, LeverError> {
    let state = levers.mig.state(device)?;
    let offers = if layout.enabled && !layout.instances.is_empty() {
        if !state.enabled {
            // A driver tells the profiles of a device only in MIG mode, so there is nothing to plan with.
            return Err(LeverError::missing(
                format!("the MIG profiles of {device}"),
                "MIG is off: expected a layout with MIG on and no instances before this one",
            ));
        }
        levers.mig.offers(device)?
    } else {
        Vec::new()
    };
    let changes = mig::changes(&state, layout, &offers)?;
    let device = || device.to_owned();
    let mode = changes.mode.map(|to| Step::MigMode {
        device: device(),
        to,
    });
    let destroy = changes.destroy.into_iter().map(|place| Step::Destroy {
        device: device(),
        place,
    });
    let create = changes.create.into_iter().map(|place| Step::Create {
        device: device(),
        place,
    });
    // MIG is turned on before instances are made, and off after they are destroyed.
    let (first, last) = match mode {
        Some(Step::MigMode { to: true, .. }) => (mode, None),
        other => (None, other),
    };
    Ok(first
        .into_iter()
        .chain(destroy)
        .chain(create)
        .chain(last)
        .collect())
}

fn check_program(levers: &LeverSet, program: &ProgramSpec) -> Result<(), LeverError> {
    let named = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if program.id.is_empty() || program.id.len() > 128 || !program.id.bytes().all(named) {
        let start: String = program.id.chars().take(80).collect();
        return Err(LeverError::infeasible(
            format!("program `{start}`"),
            "expected an id of 1 to 128 letters, digits, `-`, `_` and `.`",
        ));
    }
    if program.command.first().is_none_or(String::is_empty) {
        return Err(LeverError::infeasible(
            format!("program {}", program.id),
            "expected a command: a program and its arguments",
        ));
    }
    if let ReadinessProbe::Http { url } = &program.ready
        && !url.starts_with("http://")
    {
        return Err(LeverError::infeasible(
            format!("program {}: {url}", program.id),
            "expected a URL that begins with http://",
        ));
    }
    let bounds = &levers.bounds;
    bounds.ready_s.check("ready_s", program.ready_s, "s")?;
    bounds.stop_s.check("stop_s", program.stop_s, "s")
}

/// The exact commands and writes of a step.
fn commands(levers: &LeverSet, step: &Step) -> String {
    match step {
        Step::MakeGroup { controller, group } => {
            levers.groups.commands(CgroupOp::Make(*controller, group))
        }
        Step::PassOn { controller, group } => {
            levers.groups.commands(CgroupOp::PassOn(*controller, group))
        }
        Step::Join {
            controller,
            process,
            to,
            ..
        } => levers
            .groups
            .commands(CgroupOp::Join(*controller, *process, to)),
        Step::Limits {
            group, device, to, ..
        } => levers.block_io.commands(group, *device, *to),
        Step::Cpuset { group, to, .. } => levers.cpusets.commands(group, to),
        Step::Affinity { process, from, to } => {
            let of = |(thread, _): &(i32, Cpus)| format!("taskset --pid --cpu-list {to} {thread}");
            let lines: Vec<String> = from.iter().filter(|(_, has)| has != to).map(of).collect();
            format!(
                "# all threads of process {}\n{}",
                process.pid,
                lines.join("\n")
            )
        }
        Step::MpsPercent {
            server, scope, to, ..
        } => levers
            .mps
            .commands(server, &MpsControlCommand::Percent(*scope, *to)),
        Step::MpsPinned {
            server,
            scope,
            device,
            to,
            ..
        } => levers
            .mps
            .commands(server, &MpsControlCommand::Pinned(*scope, *device, *to)),
        Step::MpsDaemon { server, to: true } => {
            levers.mps.commands(server, &MpsControlCommand::Start)
        }
        Step::MpsDaemon { server, to: false } => {
            levers.mps.commands(server, &MpsControlCommand::Quit)
        }
        Step::MigMode { device, to } => levers.mig.commands(MigOp::Mode(device, *to)),
        Step::Create { device, place } => levers.mig.commands(MigOp::Create(device, place)),
        Step::Destroy { device, place } => levers.mig.commands(MigOp::Destroy(device, place)),
        Step::Start { program } => start_command(program),
        Step::Stop { program } => format!(
            "kill -TERM the processes of MAPA_LAUNCH={}, after {} s kill -KILL",
            program.id, program.stop_s
        ),
        Step::Route { file, to, .. } => {
            format!("replace {} by {}", file.display(), quoted(to))
        }
    }
}

/// How a shell would start a program, and what is waited for.
fn start_command(program: &ProgramSpec) -> String {
    let ready = match &program.ready {
        ReadinessProbe::Runs => "until it runs".to_owned(),
        ReadinessProbe::Tcp { address } => format!("until {address} takes connections"),
        ReadinessProbe::Http { url } => format!("until {url} answers 200 to 299"),
        ReadinessProbe::File { path } => format!("until {} exists", path.display()),
    };
    let mut line = format!("env MAPA_LAUNCH={}", program.id);
    for (key, value) in &program.env {
        line += &format!(" {}", quoted(&format!("{key}={value}")));
    }
    if let Some(cpus) = &program.cpus {
        line += &format!(" taskset --cpu-list {cpus}");
    }
    for word in &program.command {
        line += &format!(" {}", quoted(word));
    }
    let folder = program.folder.iter();
    let cd: String = folder
        .map(|path| format!("cd {} && ", quoted(&path.display().to_string())))
        .collect();
    let groups: Vec<String> = program
        .groups
        .iter()
        .map(|(controller, group)| format!(", in {} {group}", controller.v2()))
        .collect();
    format!(
        "{cd}{line} &\n# wait {ready}, at most {} s{}",
        program.ready_s,
        groups.concat()
    )
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
