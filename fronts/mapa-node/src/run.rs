//! `mapa run`: a command on devices that it has alone.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use mapa_core::{DeviceId, Policy, Request};
use mapa_front::answer::mapa::RunAnswer;
use mapa_front::answer::node::{NodeAnswer, NodeQuery, RunQuery};
use mapa_front::answer::{Versioned, ids, names};
use mapa_front::{JobSpec, MachineSpec, Names, PolicySpec, answer, job};
use mapa_live::cgroup::{self, Cgroups};
use mapa_live::{DriverSnapshot, Live, Processes};
use serde::Serialize;

use crate::acquire::{AcquireOutcome, AcquireRequest, FIRST_COME, Granted, snapshot};
use crate::cli::RunArgs;
use crate::client::Client;
use crate::desk::{Books, Desk, keys};
use crate::error::Error;
use crate::foreign::{Stray, driver_snapshot, foreign, record_strays};
use crate::health::{self, HealthTargets};
use crate::job_environment::{JobEnvironment, bind_to, surroundings};
use crate::job_process::{Job, RunEvents, StartResult};
use crate::keeper::Keeper;
use crate::ledger::{DeviceKey, Durability, Lease, Ledger, Requester};
use crate::local_files::LocalFiles;
use crate::mark::{self, VARIABLE};
use crate::memory::user;
use crate::node::Node;
use crate::output::Output;
use crate::plan;
use crate::timed::{DECISION_TIME, Timed};

/// Exit status of a command whose time was up, as `timeout` has it.
const LATE: u8 = 124;

/// Exit status of a command that is there but cannot be run, as shells have it.
const UNUSABLE: u8 = 126;

/// Exit status of a command that is not there, as shells have it.
const MISSING: u8 = 127;

/// How long a command runs before somebody watches the health of devices beside it; and, where the kernel bears no
/// process in a group, before it gets one.
const QUIET: Duration = Duration::from_millis(200);

/// The answer of `mapa run`: printed by `--json` and `--dry-run`.
fn told(
    node: &Node,
    placement: &[DeviceId],
    decision: Option<answer::Decision>,
    around: &JobEnvironment,
) -> RunAnswer {
    let graph = node.graph();
    RunAnswer {
        lease: None,
        devices: ids(placement),
        names: names(placement, graph)
            .into_iter()
            .map(str::to_owned)
            .collect(),
        decision,
        environment: around.set.iter().cloned().collect(),
        removed: around.unset.clone(),
        numa: around.numa.clone(),
        cpus: around.cpus.clone(),
        memory: around.memory.clone(),
        nics: around.nics.clone(),
        notes: around.notes.clone(),
        expires_ns: None,
    }
}

/// Runs a command on devices that it has alone. Returns the exit status.
///
/// # Errors
/// The request is malformed or refused, or the ledger or the system failed.
pub(crate) fn run(
    args: &RunArgs,
    (books, path): (Books, PathBuf),
    node: Node,
    (machine, live): (&MachineSpec, &Live),
    output: Output,
) -> Result<u8, Error> {
    let node = Rc::new(node);
    if args.command.is_empty() && !args.dry_run {
        return Err(Error::malformed(
            "no command: expected -- COMMAND ARGUMENTS.., or --dry-run",
        ));
    }
    let names = Names::built_in();
    let spec = args.spec();
    let work = spec.job(&LocalFiles)?;
    if work.ranks == 0 {
        return Err(Error::malformed("-n 0: expected at least one device"));
    }
    let chosen = args.policy();
    let model = chosen.model(&names, &LocalFiles)?;
    let policy = chosen.policy(&names, model.as_ref(), Some(&work))?;
    let limit = args.time_limit.map_or(Some(DECISION_TIME), |limit| limit.0);
    let policy = Timed::new(policy, limit);
    let request = spec.request(&work, node.graph())?;
    let scheduler = args.scheduler.as_deref().unwrap_or(FIRST_COME);
    let lasting_policy = checked_policy(chosen, &names, scheduler)?;
    let processes = Processes::new()?;
    let drivers = || {
        if args.no_driver_check {
            return Ok(DriverSnapshot::default());
        }
        driver_snapshot(&node, live)
    };
    // The ledger keeps policy and request in a form that other programs can read, since any of them may decide
    // for this job.
    let asker = Requester {
        tenant: args.tenant.clone().unwrap_or_else(user),
        uid: rustix::process::geteuid().as_raw(),
        process: processes.own()?,
        command: words(&args.command),
        policy: to_json(&lasting_policy),
        spec: to_json(&lasting(spec, &work)),
    };
    let query = RunQuery {
        tenant: args.tenant.clone(),
        command: asker.command.clone(),
        machine: node.loaded().machine.name.clone(),
        policy: asker.policy.clone(),
        spec: asker.spec.clone(),
        scheduler: scheduler.to_owned(),
        seconds: args.time.map(|length| length.0),
        wait: args.wait,
        dry_run: args.dry_run,
        check_drivers: !args.no_driver_check,
        again: false,
    };
    if args.dry_run {
        let (placement, decision) = match books {
            Books::File(mut ledger) => {
                let of = (&request, &policy as &dyn Policy);
                choose(&mut ledger, of, (&node, &processes), &drivers, &asker)?
            }
            Books::Daemon(client) => chosen_by_daemon(client, query, &node, output)?,
        };
        let around = surroundings(&node, &placement, None, args.parts());
        show(&told(&node, &placement, Some(decision), &around), output);
        return Ok(0);
    }

    // Signals are caught before there is anything to lose.
    let happenings = RunEvents::new(&processes)?;
    let reload = || Node::load(machine, live, &mut |_| {});
    let mut desk = Desk {
        books,
        path,
        node: node.clone(),
        reload: &reload,
        processes: &processes,
        drivers: &drivers,
        output,
    };
    let want = AcquireRequest {
        asker: &asker,
        request: &request,
        policy: &policy,
        scheduler,
        wait: args.wait,
        seconds: args.time.map(|length| length.0),
    };
    let asked = desk.acquire(&want, &query, &happenings, &mut |waiting| {
        output.aside(format!(
            "waiting at position {} of {}: {}",
            waiting.position, waiting.queue_length, waiting.reason
        ));
    })?;
    let (granted, mark) = match asked {
        (AcquireOutcome::Granted(granted), mark) => (granted, mark.unwrap_or_default()),
        (AcquireOutcome::Signal(number), _) => {
            return Ok(u8::try_from(128 + number).unwrap_or(u8::MAX));
        }
    };
    run_granted(
        args,
        &mut desk,
        (&granted, &mark),
        (machine, live),
        &happenings,
        output,
    )
}

/// Starts a command on the devices that it was granted, waits for its end and frees them. Returns the exit status.
///
/// # Errors
/// The machine or the system failed, or the ledger cannot be written.
fn run_granted(
    args: &RunArgs,
    desk: &mut Desk<'_>,
    (granted, mark): (&Granted, &str),
    (machine, live): (&MachineSpec, &Live),
    happenings: &RunEvents,
    output: Output,
) -> Result<u8, Error> {
    // The time begins before the command does: `expires` in the ledger counts from the grant.
    let until = granted.lease.deadline;
    // The keeper ends the command in time if this program is killed. It costs a process, so only commands with a time have one.
    // A daemon keeps the time itself.
    let _keeper = until.and_then(|_| {
        let Books::File(ledger) = &desk.books else {
            return None;
        };
        let keeper = Keeper::start(ledger, granted.lease.id);
        let told = |error: &io::Error| {
            output.aside(format!("no keeper: if mapa is killed, the time of the command is not kept until the next mapa runs: {error}"));
        };
        keeper.inspect_err(told).ok()
    });
    let of = (granted, mark);
    let started = start_or_free(args, desk, of, (machine, live), happenings, output)?;
    let (job, group) = match started {
        Ok(started) => started,
        Err(status) => return Ok(status),
    };
    let (node, processes) = (desk.node.clone(), desk.processes);
    let lease = &granted.lease;
    match &desk.books {
        Books::File(ledger) if node.is_live() && !args.no_driver_check => {
            monitor_beside((machine, live), ledger, lease, output);
        }
        // A daemon watches devices, and tells the owners of leases.
        _ => desk.listen(happenings),
    }
    let hear = &mut || desk.hear(happenings);
    let (ended, late) = job.wait(happenings, processes, until, hear);
    let why = if late {
        output.aside(format!(
            "the time of --time was up, and the command {ended}"
        ));
        format!("its time was up, and it {ended}")
    } else {
        format!("it {ended}")
    };
    // The group goes first, empty as it is: recovery looks for groups of leases alone.
    group.remove();
    // The status is the command's, whatever becomes of the ledger: the next poll of any job releases the devices.
    let status = if late { LATE } else { ended.exit_status() };
    if let Err(error) = desk.free(lease, &why, Some(status)) {
        output.aside(format!(
            "lease {} is freed later, by the daemon or the next mapa: {error}",
            lease.id
        ));
    }
    Ok(status)
}

/// The policy in a form that lasts. A malformed policy is an error before the job waits.
///
/// # Errors
/// As [`lasting_policy`]; the scheduler is unknown, or does not go with the policy.
fn checked_policy(chosen: PolicySpec, names: &Names, scheduler: &str) -> Result<PolicySpec, Error> {
    let policy = lasting_policy(chosen, names, scheduler)?;
    if scheduler != FIRST_COME {
        known_scheduler(names, scheduler)?;
        plan::scheduler(scheduler, &policy, &LocalFiles)?;
    }
    Ok(policy)
}

/// A command as one line.
fn words(command: &[OsString]) -> String {
    let words: Vec<_> = command.iter().map(|text| text.to_string_lossy()).collect();
    words.join(" ")
}

/// The devices that a job would get now. A dry run ignores the queue: it shows what would be chosen if it were this job's turn.
///
/// # Errors
/// The refusal; the ledger or the drivers cannot be used.
pub(crate) fn choose(
    ledger: &mut Ledger,
    (request, policy): (&Request, &dyn Policy),
    (node, processes): (&Node, &Processes),
    drivers: &dyn Fn() -> Result<DriverSnapshot, Error>,
    asker: &Requester,
) -> Result<(Vec<DeviceId>, answer::Decision), Error> {
    let drivers = drivers()?;
    let seen = ledger.change(Durability::Boot, |books| {
        snapshot(books, node, processes, &asker.audited(), &drivers)
    })?;
    let decision = policy.decide(request, &seen.state.allocator.view())?;
    let placement = decision.placement().iter().copied().collect();
    let decision = answer::Decision::new(&decision, node.graph(), Some(node.vendor()));
    Ok((placement, decision))
}

/// The devices that a job would get now, as the daemon says.
fn chosen_by_daemon(
    mut client: Client,
    query: RunQuery,
    node: &Node,
    output: Output,
) -> Result<(Vec<DeviceId>, answer::Decision), Error> {
    let query = NodeQuery::Run {
        request: Box::new(query),
    };
    let asked = client.ask(&query, &mut |text| output.aside(text));
    match asked.map_err(|error| error.told_at(client.socket()))? {
        NodeAnswer::Chosen { devices, decision } => {
            let known = |key: &DeviceKey| {
                let known = node.device(key);
                known.ok_or_else(|| Error::at(key, "this machine does not have it"))
            };
            let placement: Result<_, _> = keys(devices).iter().map(known).collect();
            Ok((placement?, *decision))
        }
        _ => Err(client.unexpected()),
    }
}

/// Starts the command. If it does not run, frees the lease: from the grant on, each way out does. Returns the
/// job, or the exit status without one.
///
/// # Errors
/// The machine or the system failed, or the ledger cannot be written.
fn start_or_free(
    args: &RunArgs,
    desk: &mut Desk<'_>,
    (granted, mark): (&Granted, &str),
    machine: (&MachineSpec, &Live),
    happenings: &RunEvents,
    output: Output,
) -> Result<Result<(Job, Group), u8>, Error> {
    let of = (granted, mark);
    let started = start(args, desk, of, machine, happenings, output);
    let lease = &granted.lease;
    let mut free = |why: String| desk.free(lease, &why, None);
    match started {
        Ok((StartResult::Runs(job, unbound), group)) => {
            unbound.into_iter().for_each(|text| output.aside(text));
            Ok(Ok((job, group)))
        }
        Ok((StartResult::Signal(number), _)) => {
            free(format!("signal {number} came before it started"))?;
            Ok(Err(u8::try_from(128 + number).unwrap_or(u8::MAX)))
        }
        Ok((StartResult::Not(error), _)) => {
            free(format!("it could not be started: {error}"))?;
            let program = args.command.first().map(|text| text.to_string_lossy());
            output.aside(format!("{}: {error}", program.unwrap_or_default()));
            let is_missing = error.kind() == io::ErrorKind::NotFound;
            Ok(Err(if is_missing { MISSING } else { UNUSABLE }))
        }
        Err(error) => {
            free(format!("it could not be started: {error}"))?;
            Err(error)
        }
    }
}

/// How often a program looks whether its command computes on devices that its lease does not have.
const STRAY_INTERVAL: Duration = Duration::from_secs(2);

/// Notes in the ledger what becomes of devices while the command runs, and tells it. The thread ends with
/// the program. Short commands end before it has begun.
fn monitor_beside(
    (machine, live): (&MachineSpec, &Live),
    ledger: &Ledger,
    lease: &Lease,
    output: Output,
) {
    let (machine, live) = (machine.clone(), live.clone());
    let (ledger, lease) = (ledger.path().to_owned(), lease.clone());
    thread::spawn(move || {
        thread::sleep(QUIET);
        let Ok(node) = Node::load(&machine, &live, &mut |_| {}) else {
            return;
        };
        let (devices, owner) = (HealthTargets::new(&node), lease.asker.audited());
        let next = Cell::new(Instant::now());
        let told = RefCell::new(BTreeSet::new());
        let look = || {
            if next.get() <= Instant::now() {
                next.set(Instant::now() + STRAY_INTERVAL);
                // A driver or a ledger that does not answer now may do so at the next poll.
                for stray in strays_of(&node, &live, &ledger, &lease).unwrap_or_default() {
                    if told.borrow_mut().insert(stray.clone()) {
                        output.aside(format!("{}: others do not get this device", stray.why));
                    }
                }
            }
            true
        };
        let tell = |what| output.aside(what);
        // Devices that no monitor watches are checked at each decision.
        let _ = health::monitor(&live, &devices, &ledger, &owner, look, tell);
        loop {
            look();
            thread::sleep(STRAY_INTERVAL);
        }
    });
}

/// The processes of a lease that compute where the lease has nothing, which the audit has afterwards.
fn strays_of(node: &Node, live: &Live, ledger: &Path, own: &Lease) -> Result<Vec<Stray>, Error> {
    let (drivers, processes) = (driver_snapshot(node, live)?, Processes::new()?);
    let mut ledger = Ledger::open(ledger)?;
    let leases = ledger.read(|books| books.leases())?;
    let (_, mut strays) = foreign(node, &drivers, &leases, &processes, |lease| {
        ledger.mark(lease)
    });
    strays.retain(|stray| stray.lease == own.id);
    if strays.is_empty() {
        return Ok(strays);
    }
    ledger.change(Durability::Boot, |books| {
        record_strays(books, node, &own.asker.audited(), &strays)
    })?;
    Ok(strays)
}

/// The machine and the devices of a lease, if a daemon has partitioned devices since this program came:
/// the instances that it gives are new.
///
/// # Errors
/// The drivers do not answer, or the machine does not have a device of the lease.
fn partitioned_since(
    node: &Node,
    granted: &Granted,
    (machine, live): (&MachineSpec, &Live),
) -> Result<Option<(Node, Vec<DeviceId>)>, Error> {
    let devices = &granted.lease.devices;
    if devices.iter().all(|device| node.device(device).is_some()) {
        return Ok(None);
    }
    // The cache describes the machine before it was partitioned.
    let mut live = live.clone();
    live.refresh = true;
    let node = Node::load(machine, &live, &mut |_| {})?;
    let placement: Result<Vec<DeviceId>, Error> = devices
        .iter()
        .map(|device| {
            let known = node.device(device);
            known.ok_or_else(|| Error::at(device, "this machine does not have it any more"))
        })
        .collect();
    let placement = placement?;
    Ok(Some((node, placement)))
}

/// The control group of a command: its processes are found there, whatever they do to their variables.
enum Group {
    /// None: it was not asked for.
    No,
    /// Made before the command, which was born in it.
    At(PathBuf),
    /// Made while the command runs.
    Later(Arc<Mutex<Made>>),
}

/// What has become of a control group that is made while the command runs.
enum Made {
    Not,
    At(PathBuf),
    /// The command has ended, so none is made any more.
    Never,
}

impl Group {
    /// Puts the command and all that it has started into a group once it has run for a while, and notes the
    /// group in the ledger. Nothing happens where the kernel does not let this user. Until it is noted, recovery
    /// looks for a group of the lease's name.
    fn beside(place: &Path, (lease, mark): (i64, &str), processes: &Processes) -> Self {
        let made = Arc::new(Mutex::new(Made::Not));
        let (place, mark) = (place.to_owned(), mark.to_owned());
        let (processes, slot) = (processes.clone(), made.clone());
        thread::spawn(move || {
            thread::sleep(QUIET);
            // The lock is held while the group is made, so `remove` waits for it and leaves none behind.
            let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
            if matches!(*slot, Made::Never) {
                return;
            }
            let all = || {
                let below = processes.below(std::process::id() as i32);
                below.into_iter().map(|identity| identity.id.pid).collect()
            };
            let Some(group) = Cgroups::default().hold(&mark::name_of(&mark), all) else {
                return;
            };
            if let (Some(folder), Ok(mut books)) = (group.to_str(), Books::open(&place)) {
                // A group that is not noted is looked for.
                let _ = books.set_group(lease, folder);
            }
            *slot = Made::At(group);
        });
        Self::Later(made)
    }

    /// Removes the group: the command has ended.
    fn remove(self) {
        match self {
            Self::No => {}
            Self::At(group) => {
                cgroup::remove(&group);
            }
            Self::Later(made) => {
                let mut slot = made.lock().unwrap_or_else(PoisonError::into_inner);
                if let Made::At(group) = std::mem::replace(&mut *slot, Made::Never) {
                    cgroup::remove(&group);
                }
            }
        }
    }
}

/// Starts the command in its surroundings.
fn start(
    args: &RunArgs,
    desk: &mut Desk<'_>,
    (granted, mark): (&Granted, &str),
    machine: (&MachineSpec, &Live),
    happenings: &RunEvents,
    output: Output,
) -> Result<(StartResult, Group), Error> {
    let loaded = desk.node.clone();
    let again = partitioned_since(&loaded, granted, machine)?;
    let node = again.as_ref().map_or(&*loaded, |row| &row.0);
    let placement = again
        .as_ref()
        .map_or(granted.placement.as_slice(), |row| &row.1);
    let mut around = surroundings(node, placement, Some(mark), args.parts());
    // A `mapa` of the command uses the same ledger; and a ledger that is made anew in this place is noticed.
    let path = desk.path.display().to_string();
    around.set.push((VARIABLE.to_owned(), path));
    if output.json {
        output.object_aside(&Versioned::of_node(RunAnswer {
            lease: Some(granted.lease.id),
            expires_ns: granted.lease.expires,
            ..told(node, placement, granted.decision.clone(), &around)
        }));
    }
    // The thread that spawns the command inherits these cores, and the command inherits them from it. A job
    // that runs a little slower is better than one that does not run.
    if let Err(error) = bind_to(&around.cpus) {
        output.aside(format!("the command is not bound to cores: {error}"));
    }
    let Some((program, arguments)) = args.command.split_first() else {
        return Err(Error::malformed(
            "no command: expected -- COMMAND ARGUMENTS..",
        ));
    };
    let mut command = Command::new(program);
    command
        .args(arguments)
        .envs(around.set.iter().map(|(name, value)| (name, value)))
        // As it is, also where it is no UTF-8.
        .env(VARIABLE, &desk.path);
    for name in &around.unset {
        command.env_remove(name);
    }
    let lease = granted.lease.id;
    let made = if args.no_cgroup {
        None
    } else {
        Cgroups::default().make(&mark::name_of(mark))
    };
    let folder = made.as_ref().map(|(_, folder)| folder.as_fd());
    let mut is_grouped = false;
    let place = (around.memory.as_slice(), folder);
    let processes = desk.processes;
    let started = Job::start(command, place, (processes, happenings), |child, grouped| {
        is_grouped = grouped;
        let path = made.as_ref().filter(|_| grouped);
        // The ledger keeps text alone; a group whose path is no text is found by its name.
        let path = path.and_then(|(path, _)| path.to_str());
        desk.note_command(lease, child, path)
    });
    let group = made.map_or(Group::No, |(path, _)| Group::At(path));
    let group = match &started {
        Ok(StartResult::Runs(..)) if is_grouped || args.no_cgroup => group,
        // The kernel bears none in a group: the command moves once it has run for a while.
        Ok(StartResult::Runs(..)) => {
            group.remove();
            Group::beside(&desk.path, (lease, mark), processes)
        }
        _ => {
            group.remove();
            Group::No
        }
    };
    started.map(|started| (started, group))
}

/// The policy in a form that another program can read elsewhere: the path of a model's file is whole.
fn lasting_policy(
    mut policy: PolicySpec,
    names: &Names,
    scheduler: &str,
) -> Result<PolicySpec, Error> {
    let Some(model) = policy.model.as_ref().map(ToString::to_string) else {
        return Ok(policy);
    };
    if model == "-" && scheduler != FIRST_COME {
        return Err(Error::malformed(
            "--model -: others who wait by this scheduler cannot read it: expected a file",
        ));
    }
    let is_name = names.models.get(&model).is_some();
    // The name of a model is no path, even where a file is called so.
    if !is_name && Path::new(&model).is_file() {
        let path = std::path::absolute(&model).map_err(|error| Error::at(&model, error))?;
        // The conversion cannot fail: the error's type is `Infallible`.
        let Ok(whole) = path.display().to_string().parse();
        policy.model = Some(whole);
    }
    Ok(policy)
}

/// Checks the name of a scheduler before anybody waits by it.
fn known_scheduler(names: &Names, words: &str) -> Result<(), Error> {
    let name = words.split(',').next().unwrap_or_default();
    if names.schedulers.get(name).is_some() {
        return Ok(());
    }
    Err(Error::malformed(format_args!(
        "no scheduler is called `{name}`{}: expected {}, or none",
        names.schedulers.hint(name),
        names.schedulers.list()
    )))
}

/// The request in a form that another program can read elsewhere: a pattern file becomes its edges.
fn lasting(spec: JobSpec, work: &mapa_front::Job) -> JobSpec {
    let gpus = Some(work.ranks);
    if !job::is_file(&spec.pattern, &LocalFiles) {
        return JobSpec { gpus, ..spec };
    }
    let edges = work.pattern.edges().iter();
    let edges: Vec<String> = edges
        // Edges with their traffic say all that a policy reads of a pattern file, but for its sensitivity,
        // which is kept below.
        .map(|edge| format!("{}-{}:{}", edge.a, edge.b, edge.traffic))
        .collect();
    let pattern = if edges.is_empty() {
        "independent".to_owned()
    } else {
        edges.join(",")
    };
    JobSpec {
        gpus,
        pattern,
        sensitive: work.sensitivity(spec.sensitive).known(),
        ..spec
    }
}

fn to_json(spec: &impl Serialize) -> String {
    serde_json::to_string(spec).unwrap_or_default()
}

fn show(answer: &RunAnswer, output: Output) {
    if output.json {
        output.object(&Versioned::of_node(answer.clone()));
        return;
    }
    output.line(format!("devices  {}", answer.names.join(", ")));
    for (name, value) in &answer.environment {
        output.line(format!("set      {name}={value}"));
    }
    for name in &answer.removed {
        output.line(format!("unset    {name}"));
    }
    if !answer.cpus.is_empty() {
        let cpus: Vec<String> = answer.cpus.iter().map(usize::to_string).collect();
        output.line(format!("cores    {}", cpus.join(",")));
    }
    if !answer.memory.is_empty() {
        let nodes: Vec<String> = answer.memory.iter().map(u32::to_string).collect();
        output.line(format!("memory   of NUMA node {}", nodes.join(",")));
    }
    for note in &answer.notes {
        output.line(format!("note     {note}"));
    }
}
