//! `mapa run`: a command on devices that it has alone.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

use mapa_core::DeviceId;
use mapa_front::answer::{ids, names};
use mapa_front::{JobSpec, Names, answer, job};
use mapa_live::Live;
use serde::Serialize;

use crate::child::{Happenings, Job};
use crate::cli::RunArgs;
use crate::disk::Disk;
use crate::error::Error;
use crate::ledger::{Asker, Ledger, Moment, Sync};
use crate::node::Node;
use crate::others::others;
use crate::output::Output;
use crate::process::Processes;
use crate::queue::{Asked, Desk, FIRST_COME, Granted, Want, see};
use crate::surroundings::{Surroundings, bind_to, surroundings};

/// Exit status of a command whose time was up, as `timeout` has it.
const LATE: u8 = 124;

/// The answer of `mapa run`: printed by `--json` and `--dry-run`.
#[derive(Debug, Serialize)]
pub(crate) struct Answer {
    /// The lease; none by `--dry-run`.
    pub lease: Option<i64>,
    /// The ids of the devices, in rank order.
    pub devices: Vec<u32>,
    /// The names of the devices, in rank order.
    pub names: Vec<String>,
    /// The decision, with its scores; none if a scheduler made it for the whole queue.
    pub decision: Option<answer::Decision>,
    /// The variables that the command gets.
    pub environment: BTreeMap<String, String>,
    /// The variables that the command does not inherit.
    pub removed: Vec<String>,
    /// The NUMA nodes beside the devices.
    pub numa: Vec<u32>,
    /// The cores to which the command is bound; empty if it is not.
    pub cpus: Vec<usize>,
    /// The nearest network cards.
    pub nics: Vec<String>,
    /// What could not be had, and why.
    pub notes: Vec<String>,
    /// When the lease ends at the latest, nanoseconds since 1970.
    pub expires: Option<Moment>,
}

impl Answer {
    fn new(
        node: &Node,
        placement: &[DeviceId],
        decision: Option<&mapa_core::Decision>,
        around: &Surroundings,
    ) -> Self {
        let graph = node.graph();
        Self {
            lease: None,
            devices: ids(placement),
            names: names(placement, graph)
                .into_iter()
                .map(str::to_owned)
                .collect(),
            decision: decision.map(|own| answer::Decision::new(own, graph)),
            environment: around.set.iter().cloned().collect(),
            removed: around.unset.clone(),
            numa: around.numa.clone(),
            cpus: around.cpus.clone(),
            nics: around.nics.clone(),
            notes: around.notes.clone(),
            expires: None,
        }
    }
}

/// Runs a command on devices that it has alone. Returns the exit status.
///
/// # Errors
/// The request is malformed or refused, or the ledger or the system failed.
pub(crate) fn run(
    args: &RunArgs,
    ledger: &mut Ledger,
    node: &Node,
    live: &Live,
    output: Output,
) -> Result<u8, Error> {
    if args.command.is_empty() && !args.dry_run {
        return Err(Error::malformed(
            "no command: expected -- COMMAND ARGUMENTS.., or --dry-run",
        ));
    }
    let names = Names::built_in();
    let spec = args.spec();
    let work = spec.job(&Disk)?;
    let chosen = args.policy();
    let model = chosen.model(&names, &Disk)?;
    let policy = chosen.policy(&names, model.as_ref(), Some(&work))?;
    let request = spec.request(&work, node.graph())?;
    let scheduler = args.scheduler.as_deref().unwrap_or(FIRST_COME);
    if scheduler != FIRST_COME {
        known_scheduler(&names, scheduler)?;
    }
    let processes = Processes::new()?;
    let uses = || {
        if args.no_look {
            return Ok(Vec::new());
        }
        others(node, live)
    };
    let asker = Asker {
        tenant: args.tenant.clone().unwrap_or_else(user),
        uid: rustix::process::geteuid().as_raw(),
        process: processes.own()?,
        command: args.command.join(" "),
        policy: to_json(&chosen),
        spec: to_json(&lasting(spec, &work)),
    };
    if args.dry_run {
        let uses = uses()?;
        let seen = ledger.change(Sync::Boot, |books| {
            see(books, node, &processes, &asker.tenant, &uses)
        })?;
        let decision = policy.decide(&request, &seen.state.allocator.view())?;
        let placement: Vec<DeviceId> = decision.placement().iter().copied().collect();
        let around = surroundings(node, &placement, None, args.parts());
        show(
            &Answer::new(node, &placement, Some(&decision), &around),
            output,
        );
        return Ok(0);
    }

    // Signals are caught before there is anything to lose.
    let happenings = Happenings::new(&processes)?;
    let mut desk = Desk {
        ledger,
        node,
        processes: &processes,
        uses: &uses,
    };
    let want = Want {
        asker: &asker,
        request: &request,
        policy: &policy,
        scheduler,
        wait: args.wait,
        seconds: args.time.map(|own| own.0),
    };
    let asked = desk.ask(&want, &happenings, &mut |waiting| {
        output.aside(format!(
            "waiting at position {} of {}: {}",
            waiting.position, waiting.of, waiting.reason
        ));
    })?;
    let granted = match asked {
        Asked::Granted(granted) => granted,
        Asked::Signal(number) => return Ok(u8::try_from(128 + number).unwrap_or(u8::MAX)),
    };
    let lease = &granted.lease;
    let until = args
        .time
        .map(|own| Instant::now() + Duration::from_secs(own.0));
    // A signal that came after the grant has nobody else to go to.
    while let Some(happening) = happenings.next(Duration::ZERO) {
        if let Some(number) = Happenings::ends(happening) {
            desk.free(
                &asker.tenant,
                lease,
                &format!("signal {number} came before it started"),
            )?;
            return Ok(u8::try_from(128 + number).unwrap_or(u8::MAX));
        }
    }
    let started = start(args, &mut desk, &granted, output);
    let job = match started {
        Ok(job) => job,
        Err(error) => {
            desk.free(
                &asker.tenant,
                lease,
                &format!("it could not be started: {error}"),
            )?;
            return Err(error);
        }
    };
    let (ended, late) = job.wait(&happenings, &processes, until);
    let why = if late {
        format!("its time was up, and it {ended}")
    } else {
        format!("it {ended}")
    };
    // The status is the command's, whatever becomes of the ledger: the next look frees the devices.
    if let Err(error) = desk.free(&asker.tenant, lease, &why) {
        output.aside(format!("lease {} is not freed yet: {error}", lease.id));
    }
    Ok(if late { LATE } else { ended.exit_status() })
}

/// Starts the command in its surroundings.
fn start(
    args: &RunArgs,
    desk: &mut Desk<'_>,
    granted: &Granted,
    output: Output,
) -> Result<Job, Error> {
    let mark = desk.ledger.mark(granted.lease.id);
    let around = surroundings(desk.node, &granted.placement, Some(&mark), args.parts());
    if output.json {
        output.object_aside(&Answer {
            lease: Some(granted.lease.id),
            expires: granted.lease.expires,
            ..Answer::new(
                desk.node,
                &granted.placement,
                granted.decision.as_ref(),
                &around,
            )
        });
    }
    // A job that runs a little slower is better than one that does not run.
    if let Err(error) = bind_to(&around.cpus) {
        output.aside(format!("the command is not bound to cores: {error}"));
    }
    let Desk {
        ledger, processes, ..
    } = desk;
    Job::start(
        &args.command,
        processes,
        |command: &mut Command| {
            command.envs(around.set.iter().map(|(name, value)| (name, value)));
            for name in &around.unset {
                command.env_remove(name);
            }
        },
        |child| ledger.change(Sync::Boot, |books| books.started(granted.lease.id, child)),
    )
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
    if !job::is_file(&spec.pattern, &Disk) {
        return JobSpec { gpus, ..spec };
    }
    let edges = work.pattern.edges().iter();
    let edges: Vec<String> = edges
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

fn to_json(own: &impl Serialize) -> String {
    serde_json::to_string(own).unwrap_or_default()
}

/// The user, by name if the environment says it.
pub(crate) fn user() -> String {
    let uid = rustix::process::geteuid().as_raw();
    let named = std::env::var("USER").ok().filter(|name| !name.is_empty());
    // The variable is what somebody has set; the number is what the kernel says.
    named.map_or_else(|| uid.to_string(), |name| format!("{name}({uid})"))
}

fn show(answer: &Answer, output: Output) {
    if output.json {
        output.object(answer);
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
    for note in &answer.notes {
        output.line(format!("note     {note}"));
    }
}
