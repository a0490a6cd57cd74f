//! `defrag`: the loss to fragmentation, and which jobs to move.

use mapa_core::{
    Allocator, Decision, DeviceId, HardwareGraph, LeaseId, MachineId, Objective, Pattern, Request,
};
use mapa_sched::{Defrag, Defragmented, Plan, Reach, Target};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::cli::DefragArgs;
use crate::failure::Failure;
use crate::files::{Disk, text};
use crate::machine::load;
use crate::output::Output;
use mapa_front::answer::{ids, is_defined, labels};
use mapa_front::job::pattern;
use mapa_front::request::with_busy;
use mapa_front::text::{gbps, table};
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
        let placement = list.split(',').map(|device| json!(device.trim())).collect();
        Ok(Self {
            id: json!(id.trim()),
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

/// Half of the last printed digit, GB/s. With this tolerance, a rounded score that a user copies
/// from an answer as --at-least still accepts the placement that had it.
const SHOWN: f64 = 0.005;

/// The placement to make room for.
struct Wanted {
    word: String,
    pattern: Pattern,
    reach: Reach,
    at_least: f64,
}

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
    let wanted = match &args.want {
        Some(word) => Some(want(word, args.at_least, &defrag, &state.machines)?),
        None => None,
    };
    let lost: Vec<(usize, Reach)> = (2..=graph.wholes().len())
        .map(|k| (k, defrag.reach(&state.machines, &Pattern::ring(k))))
        .collect();
    let answer = wanted
        .as_ref()
        .map(|want| defrag.plan(&state.machines, &want.pattern, want.at_least - SHOWN));
    if output.json {
        return in_json(args, &state, &lost, wanted.zip(answer), &objective, output);
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
    print_lost(&lost, &objective, output)?;
    let Some((want, answer)) = wanted.zip(answer) else {
        return Ok(());
    };
    output.line(format_args!(
        "\nwanted   {}: at least {}; now {}, idle {}",
        want.word,
        gbps(want.at_least),
        reached(want.reach.now),
        reached(want.reach.idle)
    ))?;
    match answer {
        Defragmented::Already(target) => output.line(format_args!(
            "Nothing to move: {} on {}.",
            gbps(target.score),
            place(&target, graph, args.servers)
        )),
        Defragmented::By(plan) => print_plan(&plan, &want, (&state, graph, args.servers), output),
        other => Err(Failure::no_fit(&no(&other, &want, &state))),
    }
}

/// The best score of a pattern; `no room` if it has no placement.
fn reached(score: Option<f64>) -> String {
    score.map_or("no room".to_owned(), gbps)
}

/// Parses `[SHAPE:]K`, and determines the score that the wanted placement must reach.
fn want(
    word: &str,
    at_least: Option<f64>,
    defrag: &Defrag<'_>,
    machines: &[Allocator],
) -> Result<Wanted, Failure> {
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
    Ok(Wanted {
        word: format!("{shape} of {k}"),
        pattern,
        reach,
        at_least,
    })
}

fn print_lost(
    lost: &[(usize, Reach)],
    objective: &Objective<'_>,
    output: &mut Output,
) -> Result<(), Failure> {
    let mut rows = table(["ring of", "now", "idle", "kept"], 0..=3);
    for (k, reach) in lost {
        let kept = match (reach.now, reach.idle) {
            (Some(now), Some(idle)) if idle > 0.0 => format!("{:.0} %", 100.0 * now / idle),
            _ => "-".to_owned(),
        };
        rows.add_row([k.to_string(), reached(reach.now), reached(reach.idle), kept]);
    }
    output.line(format_args!(
        "{rows}\nBest score on the devices that are free now, and on the idle machine: {}.",
        objective.name()
    ))
}

fn print_plan(
    plan: &Plan,
    want: &Wanted,
    (state, graph, servers): (&State, &HardwareGraph, u32),
    output: &mut Output,
) -> Result<(), Failure> {
    let mut rows = table(
        [
            "step",
            "job",
            "from",
            "to",
            "before",
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
    output.line("Before and after: the score of the job's own placement.")?;
    output.line(format_args!(
        "Room on {}: {}, a gain of {} per move; {}, {}, {}.{}",
        place(&plan.target, graph, servers),
        gbps(plan.target.score),
        gbps(gain(plan, want)),
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

fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// The gain in the score of the wanted placement per move. Having no room counts as a score of 0.
fn gain(plan: &Plan, want: &Wanted) -> f64 {
    (plan.target.score - want.reach.now.unwrap_or(0.0)) / plan.moves.len() as f64
}

/// Why there is no plan, with the keys of other refusals.
fn no(answer: &Defragmented, want: &Wanted, state: &State) -> Map<String, Value> {
    let free = |machine: &Allocator| (&machine.graph().wholes() & machine.view().free()).len();
    let most = state.machines.iter().map(free).max().unwrap_or(0);
    let all: usize = state.machines.iter().map(free).sum();
    let (k, one) = (want.pattern.len(), state.machines.len() == 1);
    let (refusal, reason) = match answer {
        Defragmented::Impossible { .. } if want.reach.idle.is_none_or(|idle| idle < want.at_least - SHOWN) => {
            ("infeasible", "not even the idle machine has such a placement".to_owned())
        }
        Defragmented::Impossible { .. } if (if one { most } else { all }) < k => {
            ("infeasible", format!("{k} devices are wanted and {all} are free; moving jobs frees no devices"))
        }
        Defragmented::Impossible { .. } if !one => (
            "limit_reached",
            "no plan was found that moves jobs of one server only and lowers no job's score by more than it may lose; \
             plans over several servers were not searched"
                .to_owned(),
        ),
        Defragmented::Impossible { but_for_room: true } => (
            "infeasible",
            "jobs would have to exchange devices, and too few are free to move one job at a time".to_owned(),
        ),
        Defragmented::LimitReached(stopped) => {
            ("limit_reached", format!("no plan was found, and {}", stopped.because()))
        }
        _ => (
            "infeasible",
            "no moves of the jobs that may move make room without lowering a job's score by more than it may lose"
                .to_owned(),
        ),
    };
    Map::from_iter([
        ("refusal".to_owned(), json!(refusal)),
        ("reason".to_owned(), json!(reason)),
    ])
}

fn target(target: &Target) -> Value {
    json!({ "server": target.machine.0, "devices": ids(&target.placement), "score": target.score })
}

fn in_json(
    args: &DefragArgs,
    state: &State,
    lost: &[(usize, Reach)],
    wanted: Option<(Wanted, Defragmented)>,
    objective: &Objective<'_>,
    output: &mut Output,
) -> Result<(), Failure> {
    let mut object = Map::new();
    let rings = lost
        .iter()
        .map(|(k, reach)| json!({ "devices": k, "now": reach.now, "idle": reach.idle }));
    object.insert("score".to_owned(), json!(objective.name()));
    object.insert("servers".to_owned(), json!(args.servers));
    object.insert("rings".to_owned(), rings.collect());
    let Some((want, answer)) = wanted else {
        return output.object(&object);
    };
    let reach = want.reach;
    object.insert(
        "wanted".to_owned(),
        json!({ "pattern": want.word, "at_least": want.at_least, "now": reach.now, "idle": reach.idle }),
    );
    match &answer {
        Defragmented::Already(there) => {
            object.extend([
                ("moves".to_owned(), json!([])),
                ("target".to_owned(), target(there)),
            ]);
        }
        Defragmented::By(plan) => {
            let moves = plan.moves.iter().map(|step| {
                json!({ "id": state.name(step.job), "from": target(&step.from), "to": target(&step.to), "aside": step.aside, "then": step.reach })
            });
            object.insert("moves".to_owned(), moves.collect());
            object.insert("target".to_owned(), target(&plan.target));
            object.insert("jobs_moved".to_owned(), json!(plan.jobs));
            object.insert("devices_moved".to_owned(), json!(plan.devices));
            object.insert("gain_per_move".to_owned(), json!(gain(plan, &want)));
            object.insert("complete".to_owned(), json!(plan.complete));
        }
        other => {
            object.extend(no(other, &want, state));
            return Err(Failure::no_fit(&object));
        }
    }
    output.object(&object)
}
