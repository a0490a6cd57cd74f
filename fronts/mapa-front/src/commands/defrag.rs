//! `defrag`: the loss to fragmentation, and which jobs to move.

use mapa_core::{
    Allocator, Decision, DeviceId, LeaseId, Limits, MachineId, Objective, Pattern, Request,
    aggregate_gbps, effective_gbps, ring_packing_gbps,
};
use mapa_sched::{Defrag as Search, Defragmented};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::answer::defrag::{Defrag, Wanted};
use crate::error::Error;
use crate::files::{FileKind, Files};
use crate::job::pattern;
use crate::machine::{Loaded, MachineSpec};
use crate::request::{DeviceName, with_busy};

/// A request for the loss to fragmentation, and for moves that make room.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct DefragRequest {
    /// The machine. Whoever computes the answer has loaded it by this.
    pub machine: MachineSpec,
    /// The number of servers like this one, from 1 on. A job can move to another server.
    pub servers: u32,
    /// Running jobs, `ID=[SERVER/]DEVICES[:SHAPE]` each.
    pub jobs: Vec<String>,
    /// A file of running jobs: a JSON object whose key `held` lists them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Devices of server 0 that are in use by something that cannot move.
    pub busy: Vec<DeviceName>,
    /// Jobs that must not move.
    pub pin: Vec<String>,
    /// The placement to make room for, `[SHAPE:]K`. Without it, only the loss to fragmentation is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub want: Option<String>,
    /// The score that the wanted placement must reach, GB/s; its score on the idle machine if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// How placements are scored.
    pub score: DefragScore,
    /// The share of its own score that a job may lose by moving, from 0 to 1.
    pub may_lose: f64,
    /// The search stops after this many sets of devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_nodes: Option<u64>,
}

impl Default for DefragRequest {
    fn default() -> Self {
        Self {
            machine: MachineSpec::default(),
            servers: 1,
            jobs: Vec::new(),
            state: None,
            busy: Vec::new(),
            pin: Vec::new(),
            want: None,
            at_least: None,
            score: DefragScore::default(),
            may_lose: 0.0,
            max_nodes: None,
        }
    }
}

/// How placements are scored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum DefragScore {
    /// Bandwidth of a packing of rings, with links at nominal bandwidth.
    #[default]
    RingPacking,
    /// Bandwidth predicted by Eq. 2, for the machines and sizes that it was fitted to.
    Effective,
    /// Sum of link bandwidths, Eq. 1.
    Aggregate,
}

impl DefragScore {
    fn objective(self) -> Objective<'static> {
        match self {
            Self::Effective => effective_gbps(),
            Self::RingPacking => ring_packing_gbps(),
            Self::Aggregate => aggregate_gbps(),
        }
    }
}

/// The machines with their running jobs, and the moves that were found.
pub struct DefragOutcome {
    /// The machines with their jobs.
    pub jobs: RunningJobs,
    /// The moves; none if the request wants no placement.
    pub found: Option<Defragmented>,
    /// The answer. It has a refusal if there are no moves that make room.
    pub answer: Defrag,
}

/// Machines with their running jobs, and the names of the jobs.
pub struct RunningJobs {
    /// The servers.
    pub machines: Vec<Allocator>,
    names: Vec<(String, (MachineId, LeaseId))>,
}

/// The loss to fragmentation and the moves that make room, as `mapa-bench defrag --json` answers: with a refusal in it
/// if nothing makes room.
///
/// # Errors
/// If the request cannot be read, contradicts itself, or the machine is too large to be searched.
pub fn defrag(
    files: &dyn Files,
    loaded: &Loaded,
    request: &DefragRequest,
) -> Result<Defrag, Error> {
    Ok(request.outcome(files, loaded)?.answer)
}

/// The most devices of a server. The search over sets of devices takes too long for more.
const MOST: usize = 16;

/// The most servers.
// Each server costs two decisions for every size of ring, besides the search for moves.
const SERVERS: u32 = 1024;

impl DefragRequest {
    /// What the answer is made of.
    ///
    /// # Errors
    /// As [`defrag`].
    pub fn outcome(&self, files: &dyn Files, loaded: &Loaded) -> Result<DefragOutcome, Error> {
        let graph = loaded.graph();
        if !(1..=SERVERS).contains(&self.servers) {
            return Err(Error::malformed(format_args!(
                "--servers {}: expected 1 to {SERVERS}",
                self.servers
            )));
        }
        let jobs = RunningJobs::new(self, loaded, files)?;
        // No range contains NaN, so NaN is refused here too.
        if !(0.0..=1.0).contains(&self.may_lose) {
            return Err(Error::malformed(format_args!(
                "--may-lose {}: expected a share from 0 to 1",
                self.may_lose
            )));
        }
        if graph.wholes().len() > MOST {
            return Err(Error::malformed(format_args!(
                "{} has {} devices: expected a server of at most {MOST}, as the search goes over sets of devices; for \
                 several servers, use --servers",
                loaded.machine.name,
                graph.wholes().len()
            )));
        }
        // Nothing compares with NaN, so no placement would ever reach it.
        if self.at_least.is_some_and(f64::is_nan) {
            return Err(Error::malformed("--at-least: expected a number, GB/s"));
        }
        let objective = self.score.objective();
        let mut search = Search::new(objective.clone()).may_lose(self.may_lose);
        if let Some(nodes) = self.max_nodes {
            search = search.limits(Limits::NONE.nodes(nodes));
        }
        for id in &self.pin {
            let (machine, lease) = jobs.find(id)?;
            search = search.pin(machine, lease);
        }
        let machines = &jobs.machines[..];
        // One device has no ring.
        let lost =
            (2..=graph.wholes().len()).map(|k| (k, search.reach(machines, &Pattern::ring(k))));
        let mut answer = Defrag::new(objective.name(), self.servers, lost);
        let mut found = None;
        if let Some(word) = &self.want {
            let (pattern, wanted) = want(word, self.at_least, &search, machines, files)?;
            let plan = search.plan(machines, &pattern, wanted.least());
            answer = answer.wanting(wanted, pattern.len(), &plan, machines, |job| jobs.name(job));
            found = Some(plan);
        }
        Ok(DefragOutcome {
            jobs,
            found,
            answer,
        })
    }
}

/// Running jobs, in the form of the answer to `show` of `allocate --batch`.
#[derive(Deserialize)]
// Keys that are not listed are passed over, unlike in requests: the answer to `show` has `ok` and `free` too.
struct HeldJobs {
    held: Vec<HeldJob>,
}

#[derive(Deserialize)]
struct HeldJob {
    id: Value,
    placement: Vec<Value>,
    #[serde(default = "crate::request::ring")]
    pattern: String,
    #[serde(default)]
    server: u32,
}

/// A name: a string, or the text of another JSON value.
fn word(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

impl HeldJob {
    /// Parses `ID=[SERVER/]DEVICES[:SHAPE]`.
    fn parse(text: &str) -> Result<Self, Error> {
        let wrong = || {
            Error::malformed(format_args!(
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

impl RunningJobs {
    fn new(request: &DefragRequest, loaded: &Loaded, files: &dyn Files) -> Result<Self, Error> {
        let busy = with_busy(&loaded.idle, &request.busy)?;
        let mut machines = vec![busy];
        for server in 1..request.servers {
            // Other servers are copies of the idle machine: devices in use can only be named on server 0.
            machines.push(Allocator::restore(
                MachineId(server),
                loaded.graph().clone(),
                loaded.idle.snapshot(),
            )?);
        }
        let mut jobs = Self {
            machines,
            names: Vec::new(),
        };
        for text in &request.jobs {
            jobs.run(&HeldJob::parse(text)?, files)?;
        }
        if let Some(file) = &request.state {
            let held: HeldJobs = serde_json::from_str(&files.text(file, FileKind::Settings)?)
                .map_err(|error| Error::at(file, error))?;
            for job in &held.held {
                let run = jobs.run(job, files);
                run.map_err(|error| error.within(file))?;
            }
        }
        Ok(jobs)
    }

    /// How many jobs run.
    #[must_use]
    pub fn count(&self) -> usize {
        self.names.len()
    }

    /// Adds a running job.
    fn run(&mut self, job: &HeldJob, files: &dyn Files) -> Result<(), Error> {
        let id = word(&job.id);
        if self.names.iter().any(|(known, _)| *known == id) {
            return Err(Error::malformed(format_args!(
                "job `{id}` is given twice: expected distinct names"
            )));
        }
        let servers = self.machines.len();
        let Some(machine) = self.machines.get_mut(job.server as usize) else {
            return Err(Error::malformed(format_args!(
                "job `{id}`: there is no server {}: expected 0 to {}",
                job.server,
                servers - 1
            )));
        };
        let graph = machine.graph().clone();
        let mut placement: Vec<DeviceId> = Vec::new();
        for device in &job.placement {
            let found = match device.as_u64() {
                Some(number) => {
                    // A number that is too large becomes an id that `check` refuses in the usual words.
                    let id = DeviceId(u32::try_from(number).unwrap_or(u32::MAX));
                    graph.check(id).map(|()| id)
                }
                None => graph.find(&word(device)),
            };
            placement.push(found.map_err(|error| Error::at(format_args!("job `{id}`"), error))?);
        }
        let pattern = pattern(&job.pattern, placement.len(), files)
            .map_err(|error| error.within(format_args!("job `{id}`")))?;
        let request = Request::new(pattern).unlike(true);
        // A running job is checked like a new decision, so two jobs on one device are an error.
        let decision = Decision::checked("runs", &request, &machine.view(), placement)
            .map_err(|refusal| Error::at(format_args!("job `{id}`"), refusal))?;
        let lease = machine.commit(decision)?;
        self.names.push((id, (machine.id(), lease.id)));
        Ok(())
    }

    /// The name of a job; `?` if it is not among these.
    #[must_use]
    pub fn name(&self, job: (MachineId, LeaseId)) -> &str {
        self.names
            .iter()
            .find(|(_, known)| *known == job)
            .map_or("?", |(name, _)| name)
    }

    fn find(&self, id: &str) -> Result<(MachineId, LeaseId), Error> {
        match self.names.iter().find(|(known, _)| known == id.trim()) {
            Some((_, job)) => Ok(*job),
            None => Err(Error::malformed(format_args!(
                "--pin {id}: no job has this name"
            ))),
        }
    }
}

/// Parses `[SHAPE:]K`: the pattern, and the score that its placement must reach.
fn want(
    word: &str,
    at_least: Option<f64>,
    search: &Search<'_>,
    machines: &[Allocator],
    files: &dyn Files,
) -> Result<(Pattern, Wanted), Error> {
    let (shape, k) = word.split_once(':').unwrap_or(("ring", word));
    let k = k
        .parse()
        .map_err(|_| Error::malformed(format_args!("--want {word}: expected [SHAPE:]K")))?;
    let pattern = pattern(shape, k, files)?;
    let reach = search.reach(machines, &pattern);
    // The score on the idle machine is the most that moves can lead to, so it is what is wanted unless a lower one is
    // named.
    let Some(at_least) = at_least.or(reach.idle) else {
        return Err(Error::malformed(format_args!(
            "--want {word}: even the idle machine has no room for it: expected fewer devices or another shape"
        )));
    };
    let wanted = Wanted::new(format!("{shape} of {k}"), at_least, reach);
    Ok((pattern, wanted))
}
