//! `defrag`: the loss to fragmentation, and which jobs to move.

use mapa_core::{
    Allocator, Decision, DeviceId, HardwareGraph, LeaseId, MachineId, Pattern, Request,
};
use mapa_front::answer::defrag::{Defrag as Answer, Wanted};
use mapa_sched::{Defrag, Defragmented, Plan, Target};
use serde::Deserialize;
use serde_json::Value;

use crate::cli::DefragArgs;
use mapa_cli::Failure;
use mapa_cli::Output;
use mapa_cli::files::{Disk, text};
use mapa_cli::load;
use mapa_front::answer::{is_defined, labels};
use mapa_front::job::pattern;
use mapa_front::request::with_busy;
use mapa_front::text::{counted, gbps, table};
use mapa_front::{DeviceName, Loaded};

/// Running jobs, in the form of the answer to `show` of `allocate --batch`.
#[derive(Deserialize)]
struct Held {
    held: Vec<Job>,
}

#[derive(Deserialize)]
struct Job {
    id: Value,
    placement: Vec<Value>,
    #[serde(default = "ring")]
    pattern: String,
    #[serde(default)]
    server: u32,
}

fn ring() -> String {
    "ring".to_owned()
}

/// A name: a string, or the text of another JSON value.
fn word(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

impl Job {
    /// Parses `ID=[SERVER/]DEVICES[:SHAPE]`.
    fn parse(text: &str) -> Result<Self, Failure> {
        let wrong = || {
            Failure::malformed(format_args!(
                "job `{text}`: expected ID=[SERVER/]DEVICES[:SHAPE]"
            ))
        };
        let (id, place) = text.split_once('=').ok_or_else(wrong)?;
        let (server, place) = match place.split_once('/') {
            Some((server, place)) => (server.parse().map_err(|_| wrong())?, place),
            None => (0, place),
        };
        // A PCI address has colons too, but what follows its last colon starts with a digit.
        let (list, shape) = match place.rsplit_once(':') {
            Some((list, shape)) if shape.starts_with(|first: char| first.is_ascii_alphabetic()) => {
                (list, shape)
            }
            _ => (place, "ring"),
        };
        let placement = list.split(',').map(|device| device.trim().into()).collect();
        Ok(Self {
            id: id.trim().into(),
            placement,
            pattern: shape.to_owned(),
            server,
        })
    }
}

/// The machines with their running jobs, and the names of the jobs.
struct State {
    machines: Vec<Allocator>,
    names: Vec<(String, (MachineId, LeaseId))>,
}

impl State {
    fn new(args: &DefragArgs, loaded: &Loaded) -> Result<Self, Failure> {
        let busy = with_busy(&loaded.idle, &DeviceName::of_texts(&args.busy))?;
        let mut machines = vec![busy];
        for server in 1..args.servers {
            machines.push(Allocator::restore(
                MachineId(server),
                loaded.graph().clone(),
                loaded.idle.snapshot(),
            )?);
        }
        let mut state = Self {
            machines,
            names: Vec::new(),
        };
        for text in &args.job {
            state.run(&Job::parse(text)?)?;
        }
        if let Some(file) = &args.state {
            let held: Held =
                serde_json::from_str(&text(file)?).map_err(|error| Failure::at(file, error))?;
            for job in &held.held {
                state.run(job)?;
            }
        }
        Ok(state)
    }

    /// Adds a running job.
    fn run(&mut self, job: &Job) -> Result<(), Failure> {
        let id = word(&job.id);
        if self.names.iter().any(|(known, _)| *known == id) {
            return Err(Failure::malformed(format_args!(
                "job `{id}` is given twice: expected distinct names"
            )));
        }
        let servers = self.machines.len();
        let Some(machine) = self.machines.get_mut(job.server as usize) else {
            return Err(Failure::malformed(format_args!(
                "job `{id}`: there is no server {}: expected 0 to {}",
                job.server,
                servers - 1
            )));
        };
        let graph = machine.graph().clone();
        let mut placement: Vec<DeviceId> = Vec::new();
        for device in &job.placement {
            placement.push(match device.as_u64() {
                Some(number) => {
                    let id = DeviceId(u32::try_from(number).unwrap_or(u32::MAX));
                    graph.check(id).map(|()| id)?
                }
                None => graph.find(&word(device))?,
            });
        }
        let request = Request::new(pattern(&job.pattern, placement.len(), &Disk)?);
        let decision = Decision::checked("runs", &request, &machine.view(), placement)
            .map_err(|refusal| Failure::at(format_args!("job `{id}`"), refusal))?;
        let lease = machine.commit(decision)?;
        self.names.push((id, (machine.id(), lease.id)));
        Ok(())
    }

    fn name(&self, job: (MachineId, LeaseId)) -> &str {
        self.names
            .iter()
            .find(|(_, known)| *known == job)
            .map_or("?", |(name, _)| name)
    }

    fn find(&self, id: &str) -> Result<(MachineId, LeaseId), Failure> {
        match self.names.iter().find(|(known, _)| known == id.trim()) {
            Some((_, job)) => Ok(*job),
            None => Err(Failure::malformed(format_args!(
                "--pin {id}: no job has this name"
            ))),
        }
    }
}

/// The devices of a placement, preceded by its server if there are several.
fn place(target: &Target, graph: &HardwareGraph, servers: u32) -> String {
    let devices = labels(&target.placement, graph);
    if servers > 1 {
        format!("{}/{devices}", target.machine)
    } else {
        devices
    }
}

/// The most devices of a server. The search over sets of devices takes too long for more.
const MOST: usize = 16;

pub(crate) fn defrag(args: &DefragArgs, output: &mut Output) -> Result<(), Failure> {
    let loaded = load(&args.machine, output)?;
    let graph = loaded.graph();
    let state = State::new(args, &loaded)?;
    if !(0.0..=1.0).contains(&args.may_lose) {
        return Err(Failure::malformed(format_args!(
            "--may-lose {}: expected a share from 0 to 1",
            args.may_lose
        )));
    }
    if graph.wholes().len() > MOST {
        return Err(Failure::malformed(format_args!(
            "{} has {} devices: expected a server of at most {MOST}, as the search goes over sets of devices; for \
             several servers, use --servers",
            loaded.machine.name,
            graph.wholes().len()
        )));
    }
    if args.at_least.is_some_and(f64::is_nan) {
        return Err(Failure::malformed("--at-least: expected a number, GB/s"));
    }
    let objective = args.score.objective();
    let mut defrag = Defrag::new(objective.clone()).may_lose(args.may_lose);
    if let Some(nodes) = args.max_nodes {
        defrag = defrag.limits(mapa_core::Limits::NONE.nodes(nodes));
    }
    for id in &args.pin {
        let (machine, lease) = state.find(id)?;
        defrag = defrag.pin(machine, lease);
    }
    let lost =
        (2..=graph.wholes().len()).map(|k| (k, defrag.reach(&state.machines, &Pattern::ring(k))));
    let mut answer = Answer::new(objective.name(), args.servers, lost);
    let mut found = None;
    if let Some(word) = &args.want {
        let (pattern, wanted) = want(word, args.at_least, &defrag, &state.machines)?;
        let plan = defrag.plan(&state.machines, &pattern, wanted.least());
        let (ranks, machines) = (pattern.len(), &state.machines[..]);
        answer = answer.wanting(wanted, ranks, &plan, machines, |job| state.name(job));
        found = Some(plan);
    }
    if output.json && answer.refusal.is_none() {
        return output.object(&answer);
    }
    if output.json {
        return Err(Failure::no_fit(&answer));
    }
    let free: usize = state
        .machines
        .iter()
        .map(|machine| (&graph.wholes() & machine.view().free()).len())
        .sum();
    let servers = if args.servers > 1 {
        format!("{} servers, ", args.servers)
    } else {
        String::new()
    };
    output.line(format_args!(
        "machine  {}: {servers}{} jobs, {free} devices free",
        loaded.machine.name,
        state.names.len()
    ))?;
    print_lost(&answer, args.score.words(), output)?;
    let Some((want, found)) = answer.wanted.as_ref().zip(found) else {
        return Ok(());
    };
    output.line(format_args!(
        "\nwanted   {}: at least {} GB/s; now {}, idle {}",
        want.pattern,
        gbps(want.at_least),
        reached(want.now),
        reached(want.idle)
    ))?;
    match found {
        Defragmented::Already(target) => output.line(format_args!(
            "Nothing to move: {} on {}.",
            gbps(target.score),
            place(&target, graph, args.servers)
        )),
        Defragmented::By(plan) => {
            let gain = answer.gain_per_move.unwrap_or_default();
            print_plan(&plan, gain, (&state, graph, args.servers), output)
        }
        _ => Err(Failure::no_fit(&answer.refused())),
    }
}

/// The best score of a pattern; `no room` if it has no placement.
fn reached(score: Option<f64>) -> String {
    score.map_or("no room".to_owned(), gbps)
}

/// Parses `[SHAPE:]K`: the pattern, and the score that its placement must reach.
fn want(
    word: &str,
    at_least: Option<f64>,
    defrag: &Defrag<'_>,
    machines: &[Allocator],
) -> Result<(Pattern, Wanted), Failure> {
    let (shape, k) = word.split_once(':').unwrap_or(("ring", word));
    let k = k
        .parse()
        .map_err(|_| Failure::malformed(format_args!("--want {word}: expected [SHAPE:]K")))?;
    let pattern = pattern(shape, k, &Disk)?;
    let reach = defrag.reach(machines, &pattern);
    let Some(at_least) = at_least.or(reach.idle) else {
        return Err(Failure::malformed(format_args!(
            "--want {word}: even the idle machine has no room for it: expected fewer devices or another shape"
        )));
    };
    let wanted = Wanted::new(format!("{shape} of {k}"), at_least, reach);
    Ok((pattern, wanted))
}

fn print_lost(answer: &Answer, score: &str, output: &mut Output) -> Result<(), Failure> {
    let mut rows = table(["ring of", "now, GB/s", "idle, GB/s", "kept"], 0..=3);
    for ring in &answer.rings {
        let kept = match (ring.now, ring.idle) {
            (Some(now), Some(idle)) if idle > 0.0 => format!("{:.0} %", 100.0 * now / idle),
            _ => "-".to_owned(),
        };
        rows.add_row([
            ring.devices.to_string(),
            reached(ring.now),
            reached(ring.idle),
            kept,
        ]);
    }
    output.line(format_args!(
        "{rows}\nThe best ring on the devices that are free now, and on the idle machine, by {score}."
    ))
}

fn print_plan(
    plan: &Plan,
    gain: f64,
    (state, graph, servers): (&State, &HardwareGraph, u32),
    output: &mut Output,
) -> Result<(), Failure> {
    let mut rows = table(
        [
            "step",
            "job",
            "from",
            "to",
            "before, GB/s",
            "after",
            "then wanted",
        ],
        [0, 4, 5, 6],
    );
    for (i, step) in plan.moves.iter().enumerate() {
        let aside = if step.aside { " (steps aside)" } else { "" };
        rows.add_row([
            (i + 1).to_string(),
            state.name(step.job).to_owned(),
            place(&step.from, graph, servers),
            place(&step.to, graph, servers) + aside,
            own_score(&step.from),
            own_score(&step.to),
            reached(step.reach),
        ]);
    }
    output.line(rows)?;
    output.line("Before and after: the bandwidth of the job's own placement.")?;
    output.line(format_args!(
        "Room on {}: {}, a gain of {} per move; {}, {}, {}.{}",
        place(&plan.target, graph, servers),
        gbps(plan.target.score),
        gbps(gain),
        counted(plan.jobs, "job"),
        counted(plan.moves.len(), "move"),
        counted(plan.devices, "device"),
        if plan.complete {
            ""
        } else {
            " The search stopped early: a better plan may exist."
        }
    ))
}

/// The score of a job's own placement; `-` for one device, which has no collective bandwidth.
fn own_score(target: &Target) -> String {
    if is_defined("ring_packing_gbps", &target.placement) {
        gbps(target.score)
    } else {
        "-".to_owned()
    }
}
