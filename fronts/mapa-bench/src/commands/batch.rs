//! `allocate --batch`: a stream of requests, one JSON object a line. The machine's state is kept
//! between lines.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader};

use mapa_core::{Allocator, DeviceId, DeviceSet, HardwareGraph, LeaseId, Policy, Request};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};

use crate::answer::{decision as decision_json, ids};
use crate::cli::Preserved;
use crate::failure::{Failure, refusal};
use crate::job::{self, Step};
use crate::model::Model;
use crate::notes::notes;
use crate::output::Output;
use crate::policy::policy_for;
use crate::request::{min_link, slice};

#[derive(Deserialize)]
#[serde(
    tag = "op",
    rename_all = "lowercase",
    deny_unknown_fields,
    expecting = "expected an object with \"op\": allocate, release, reset or show"
)]
enum Line {
    Allocate(Box<Job>),
    Release { id: Name },
    Reset {},
    Show {},
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Job {
    id: Name,
    gpus: Option<usize>,
    #[serde(default = "ring")]
    pattern: String,
    bytes: Option<String>,
    #[serde(default = "preserve")]
    policy: String,
    sensitive: Option<bool>,
    available: Option<Vec<Name>>,
    #[serde(default)]
    must_include: Vec<Name>,
    #[serde(default)]
    avoid: Vec<Name>,
    min_link: Option<String>,
    #[serde(default)]
    same_numa: bool,
    slice: Option<String>,
    model: Option<String>,
}

impl Job {
    /// The job that its pattern, bytes and number of devices describe.
    fn work(&self) -> Result<job::Job, Failure> {
        if self.gpus.is_none() && !self.pattern.contains('=') && !job::is_file(&self.pattern) {
            return Err(Failure::malformed(
                "missing field `gpus`: expected how many devices the job needs, unless the pattern implies it, such \
                 as tp=4,pp=2 or a file",
            ));
        }
        job::job(&self.pattern, self.bytes.as_deref(), self.gpus)
    }
}

fn ring() -> String {
    "ring".to_owned()
}

fn preserve() -> String {
    "preserve".to_owned()
}

/// The name of a lease or device: a string or an integer.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a string or an integer, not below 0")]
enum Name {
    Number(u64),
    Text(String),
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => number.serialize(serializer),
            Self::Text(text) => text.serialize(serializer),
        }
    }
}

/// The devices in a list: numbers are ids, as in answers.
fn set(list: &[Name], graph: &HardwareGraph) -> Result<DeviceSet, Failure> {
    let mut devices = DeviceSet::new();
    for name in list {
        devices.insert(match name {
            Name::Number(number) => {
                let id = DeviceId(u32::try_from(*number).unwrap_or(u32::MAX));
                graph.check(id).map(|()| id)?
            }
            Name::Text(text) => graph.find(text)?,
        });
    }
    Ok(devices)
}

/// Answers every line that is not blank with exactly one line. Malformed lines are answered too,
/// and make the exit status 2.
pub(super) fn batch(source: &str, idle: Allocator, output: &mut Output) -> Result<(), Failure> {
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
    };
    let mut malformed = 0;
    for (i, line) in input.split(b'\n').enumerate() {
        let line = line.map_err(wrong)?;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&line);
        let answer = server.answer(line).or_else(|failure| {
            // Even the answer to a malformed line has the line's id, if that can be read.
            let said: Value = serde_json::from_slice(line).unwrap_or_default();
            let mut answer = match failure {
                Failure::Refused(why) => refusal(&why),
                Failure::Malformed(what) => {
                    malformed += 1;
                    json!({ "op": said.get("op"), "ok": false, "error": format!("line {}: {what}", i + 1) })
                }
                written @ (Failure::Closed | Failure::Answered(_) | Failure::NoFit(_) | Failure::NoPlan(_)) => {
                    return Err(written);
                }
            };
            if let Some(id) = said.get("id") {
                answer["id"] = id.clone();
            }
            Ok(answer)
        })?;
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
    held: BTreeMap<String, (Name, LeaseId)>,
    /// Models by name or file. Each is made once.
    models: BTreeMap<String, Model>,
}

impl Server {
    fn answer(&mut self, line: &[u8]) -> Result<Value, Failure> {
        match serde_json::from_slice(line).map_err(|error| malformed(&error))? {
            Line::Allocate(job) => self.allocate(job),
            Line::Release { id } => {
                let Some((_, lease)) = self.held.remove(&id.to_string()) else {
                    return Err(Failure::malformed(format_args!(
                        "`{id}` has no lease: it was never allocated, or has been released"
                    )));
                };
                let lease = self.allocator.release(lease)?;
                Ok(
                    json!({ "op": "release", "ok": true, "id": id, "released": ids(&lease.placement) }),
                )
            }
            Line::Reset {} => {
                self.allocator = self.idle.clone();
                self.held.clear();
                Ok(json!({ "op": "reset", "ok": true }))
            }
            Line::Show {} => Ok(self.show()),
        }
    }

    fn allocate(&mut self, job: Box<Job>) -> Result<Value, Failure> {
        if self.held.contains_key(&job.id.to_string()) {
            return Err(Failure::malformed(format_args!(
                "`{}` has a lease already: release it first",
                job.id
            )));
        }
        let graph = self.allocator.graph().clone();
        if let Some(word) = job
            .model
            .as_ref()
            .filter(|word| !self.models.contains_key(*word))
        {
            self.models.insert(word.clone(), Model::named(word, None)?);
        }
        let model = job.model.as_ref().and_then(|word| self.models.get(word));
        let work = job.work()?;
        let policy = policy_for(&work, &job.policy, model, Preserved::All)?;
        let wants = slice(job.slice.as_deref(), &graph)?;
        let request = Request::new(work.pattern.clone().each(wants))
            .sensitive(work.is_sensitive(job.sensitive))
            .must_include(set(&job.must_include, &graph)?)
            .avoid(set(&job.avoid, &graph)?)
            .min_link(min_link(job.min_link.as_deref())?)
            .same_numa(job.same_numa);
        request.check(&graph)?;
        let view = self.allocator.view();
        let free = match &job.available {
            None => view.free().clone(),
            Some(available) => view.free() & &graph.with_parts(&set(available, &graph)?),
        };
        let decision = policy.decide(&request, &view.limited_to(&free))?;
        let mut object = decision_json(&decision, &graph);
        object.insert(
            "notes".to_owned(),
            json!(notes(&decision, &request, &view.limited_to(&free), model)),
        );
        if let Some(step) = Step::of(&work, &decision, &graph) {
            step.insert_into(&mut object);
        }
        let lease = self.allocator.commit(decision)?;
        object.insert("id".to_owned(), json!(job.id));
        self.held.insert(job.id.to_string(), (job.id, lease.id));
        Ok(Value::Object(object))
    }

    fn show(&self) -> Value {
        let free: Vec<u32> = self.allocator.view().free().iter().map(|id| id.0).collect();
        let mut held = Vec::new();
        for (name, id) in self.held.values() {
            let lease = self.allocator.leases().find(|lease| lease.id == *id);
            let placement = lease.map(|lease| ids(&lease.placement));
            held.push(json!({ "id": name, "placement": placement }));
        }
        json!({ "op": "show", "ok": true, "free": free, "held": held })
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
