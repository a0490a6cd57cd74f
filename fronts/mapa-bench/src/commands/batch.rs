//! `allocate --batch`: a stream of requests, one JSON object a line. The machine's state is kept
//! between lines.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};

use mapa_core::{Allocator, LeaseId, Policy};
use serde::Deserialize;
use serde_json::Value;

use crate::names::NAMES;
use mapa_cli::Failure;
use mapa_cli::Output;
use mapa_cli::files::Disk;
use mapa_front::answer::allocate::{Allocation, Done, Held, Line as Answer, NotDone};
use mapa_front::answer::{Bandwidth, Decision, Refusal, ids};
use mapa_front::job::is_file;
use mapa_front::request::{devices, ring};
use mapa_front::{
    DeviceName, JobSpec, Model, ModelSpec, PolicySpec, Step, notes, told_by, withheld,
};
use mapa_topologies::Labels;

#[derive(Deserialize)]
#[serde(
    tag = "op",
    rename_all = "lowercase",
    deny_unknown_fields,
    expecting = "expected an object with \"op\": allocate, release, reset or show"
)]
enum Line {
    Allocate(Box<Job>),
    Release { id: DeviceName },
    Reset {},
    Show {},
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Job {
    id: DeviceName,
    gpus: Option<usize>,
    #[serde(default = "ring")]
    pattern: String,
    bytes: Option<String>,
    policy: Option<String>,
    sensitive: Option<bool>,
    available: Option<Vec<DeviceName>>,
    #[serde(default)]
    must_include: Vec<DeviceName>,
    #[serde(default)]
    avoid: Vec<DeviceName>,
    min_link: Option<String>,
    #[serde(default)]
    same_numa: bool,
    slice: Option<String>,
    model: Option<ModelSpec>,
}

impl Job {
    /// The job as a request describes it.
    fn spec(&self) -> Result<JobSpec, Failure> {
        if self.gpus.is_none() && !self.pattern.contains('=') && !is_file(&self.pattern, &Disk) {
            return Err(Failure::malformed(
                "missing field `gpus`: expected how many devices the job needs, unless the pattern implies it, such \
                 as tp=4,pp=2 or a file",
            ));
        }
        Ok(JobSpec {
            gpus: self.gpus,
            pattern: self.pattern.clone(),
            bytes: self.bytes.clone(),
            sensitive: self.sensitive,
            slice: self.slice.clone(),
            must_include: self.must_include.clone(),
            avoid: self.avoid.clone(),
            min_link: self.min_link.clone(),
            same_numa: self.same_numa,
            ..JobSpec::default()
        })
    }
}

/// Answers every line that is not blank with exactly one line. Malformed lines are answered too,
/// and make the exit status 2.
pub(super) fn batch(
    source: &str,
    idle: Allocator,
    labels: Labels,
    output: &mut Output,
) -> Result<(), Failure> {
    let wrong = |error: io::Error| Failure::at(source, error);
    let input: Box<dyn BufRead> = if source == "-" {
        Box::new(io::stdin().lock())
    } else {
        Box::new(BufReader::new(File::open(source).map_err(wrong)?))
    };
    let mut server = Server {
        allocator: idle.clone(),
        idle,
        held: BTreeMap::new(),
        models: BTreeMap::new(),
        labels,
    };
    let mut malformed = 0;
    for (i, line) in input.split(b'\n').enumerate() {
        let line = line.map_err(wrong)?;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&line);
        let answer = match server.answer(line) {
            Ok(answer) => answer,
            Err(failure) => {
                // Even the answer to a malformed line has the line's id, if that can be read.
                let said: Value = serde_json::from_slice(line).unwrap_or_default();
                let id = said.get("id").cloned();
                Answer::NotDone(match failure {
                    Failure::Refused(why) => NotDone::Refused {
                        refusal: Refusal::from(&why),
                        id,
                    },
                    Failure::Malformed(what) => {
                        malformed += 1;
                        NotDone::Malformed {
                            op: said.get("op").cloned(),
                            ok: false,
                            error: format!("line {}: {what}", i + 1),
                            id,
                        }
                    }
                    written @ (Failure::Closed | Failure::Answered(_) | Failure::NoFit(_)) => {
                        return Err(written);
                    }
                })
            }
        };
        output.object(&answer)?;
        output.finish()?;
    }
    match malformed {
        0 => Ok(()),
        n => Err(Failure::Answered(format!(
            "{source}: {n} of the requests were malformed"
        ))),
    }
}

/// The machine and its leases between lines.
struct Server {
    /// The state that `reset` restores.
    idle: Allocator,
    allocator: Allocator,
    /// Leases by name as text: 1 and "1" are the same name.
    held: BTreeMap<String, (DeviceName, LeaseId)>,
    /// Models by name or file. Each is made once.
    models: BTreeMap<ModelSpec, Model>,
    /// How the machine's tools name its links.
    labels: Labels,
}

impl Server {
    fn answer(&mut self, line: &[u8]) -> Result<Answer, Failure> {
        match serde_json::from_slice(line).map_err(|error| malformed(&error))? {
            Line::Allocate(job) => Ok(Answer::Allocation(Box::new(self.allocate(job)?))),
            Line::Release { id } => {
                let Some((_, lease)) = self.held.remove(&id.to_string()) else {
                    return Err(Failure::malformed(format_args!(
                        "`{id}` has no lease: it was never allocated, or has been released"
                    )));
                };
                let lease = self.allocator.release(lease)?;
                Ok(Answer::Done(Done::Release {
                    ok: true,
                    id: value(&id),
                    released: ids(&lease.placement),
                }))
            }
            Line::Reset {} => {
                self.allocator = self.idle.clone();
                self.held.clear();
                Ok(Answer::Done(Done::Reset { ok: true }))
            }
            Line::Show {} => Ok(Answer::Done(self.show())),
        }
    }

    fn allocate(&mut self, job: Box<Job>) -> Result<Allocation, Failure> {
        if self.held.contains_key(&job.id.to_string()) {
            return Err(Failure::malformed(format_args!(
                "`{}` has a lease already: release it first",
                job.id
            )));
        }
        let graph = self.allocator.graph().clone();
        if let Some(own) = job
            .model
            .as_ref()
            .filter(|own| !self.models.contains_key(*own))
        {
            self.models
                .insert(own.clone(), own.load(&NAMES, None, &Disk)?);
        }
        let chosen = PolicySpec {
            policy: job.policy.clone().unwrap_or(PolicySpec::default().policy),
            model: job.model.clone(),
            ..PolicySpec::default()
        };
        let model = job.model.as_ref().and_then(|own| self.models.get(own));
        let spec = job.spec()?;
        let work = spec.job(&Disk)?;
        let policy = chosen.policy(&NAMES, model, Some(&work))?;
        let request = spec.request(&work, &graph)?;
        let view = self.allocator.view();
        let free = match &job.available {
            None => view.free().clone(),
            Some(available) => view.free() & &graph.with_parts(&devices(available, &graph)?),
        };
        let decision = policy.decide(&request, &view.limited_to(&free))?;
        let view = view.limited_to(&free);
        let told = told_by(model, &request.pattern, view.graph());
        let better = withheld(&NAMES, &decision, &request, &view, &told, &self.labels);
        let (withheld, note) = better.unzip();
        let mut notes = notes(&NAMES, &decision, &request, &view, model);
        notes.splice(0..0, note);
        let answer = Allocation {
            decision: Decision::new(&decision, &graph),
            bandwidth: Bandwidth::of_decision(&told, &decision, &view),
            withheld,
            notes,
            times: Step::of(&work, &decision, &graph)
                .map(|step| step.times())
                .unwrap_or_default(),
            runners_up: None,
            id: Some(value(&job.id)),
        };
        let lease = self.allocator.commit(decision)?;
        self.held.insert(job.id.to_string(), (job.id, lease.id));
        Ok(answer)
    }

    fn show(&self) -> Done {
        let free = self.allocator.view().free().iter().map(|id| id.0).collect();
        let mut held = Vec::new();
        for (name, id) in self.held.values() {
            let lease = self.allocator.leases().find(|lease| lease.id == *id);
            held.push(Held {
                id: value(name),
                placement: lease.map(|lease| ids(&lease.placement)),
            });
        }
        Done::Show {
            ok: true,
            free,
            held,
        }
    }
}

/// A name as it was given: a number or a text.
fn value(name: &DeviceName) -> Value {
    match name {
        DeviceName::Id(id) => Value::from(*id),
        DeviceName::Text(text) => Value::from(text.as_str()),
    }
}

/// A syntax error in a line. The parser sees one line at a time, so only its column is kept.
fn malformed(error: &serde_json::Error) -> Failure {
    Failure::Malformed(
        error
            .to_string()
            .replace(" at line 1 column ", ", at column "),
    )
}
