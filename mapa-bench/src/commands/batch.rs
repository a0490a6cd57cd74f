//! `allocate --batch`: a stream of requests, one JSON object a line, with the state kept between them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::sync::Arc;

use mapa_core::{Allocator, BuiltIn, DeviceSet, HardwareGraph, LeaseId, Policy, Request};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::answer::{decision as decision_json, ids, refusal};
use crate::failure::Failure;
use crate::output::Output;
use crate::request::{devices, min_link, pattern};

#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "lowercase", deny_unknown_fields)]
enum Line {
    Allocate(Job),
    Release { id: Name },
    Reset {},
    Show {},
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Job {
    id: Name,
    gpus: usize,
    #[serde(default = "ring")]
    pattern: String,
    #[serde(default = "preserve")]
    policy: String,
    #[serde(default)]
    sensitive: bool,
    available: Option<Vec<Name>>,
    #[serde(default)]
    must_include: Vec<Name>,
    #[serde(default)]
    avoid: Vec<Name>,
    min_link: Option<String>,
    #[serde(default)]
    same_numa: bool,
}

fn ring() -> String {
    "ring".to_owned()
}

fn preserve() -> String {
    "preserve".to_owned()
}

/// A text, or a number standing for one.
#[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(from = "TextOrNumber")]
struct Name(String);

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a text or a whole number")]
enum TextOrNumber {
    Number(u64),
    Text(String),
}

impl From<TextOrNumber> for Name {
    fn from(value: TextOrNumber) -> Self {
        match value {
            TextOrNumber::Number(number) => Self(number.to_string()),
            TextOrNumber::Text(text) => Self(text),
        }
    }
}

impl AsRef<str> for Name {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// Answers every line that is not blank with exactly one. What is malformed is answered too, and counted: the exit
/// status is 2 if there was any.
pub(super) fn batch(source: &str, graph: HardwareGraph, output: &mut Output) -> Result<(), Failure> {
    let wrong = |error: io::Error| Failure::malformed(format_args!("{source}: {error}"));
    let input: Box<dyn BufRead> = if source == "-" {
        Box::new(io::stdin().lock())
    } else {
        Box::new(BufReader::new(File::open(source).map_err(wrong)?))
    };
    let mut server = Server { allocator: Allocator::new(Arc::new(graph)), held: BTreeMap::new() };
    let mut malformed = 0;
    for (i, line) in input.split(b'\n').enumerate() {
        let line = line.map_err(wrong)?;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let answer = server.answer(&line).or_else(|failure| match failure {
            Failure::Refused(why) => Ok(refusal(&why)),
            Failure::Malformed(what) => {
                malformed += 1;
                let op = serde_json::from_slice::<Value>(&line).ok().and_then(|line| line.get("op").cloned());
                Ok(json!({ "op": op, "ok": false, "error": format!("line {}: {what}", i + 1) }))
            }
            closed @ Failure::Closed => Err(closed),
        })?;
        output.object(&answer)?;
        output.finish()?;
    }
    match malformed {
        0 => Ok(()),
        n => Err(Failure::malformed(format_args!("{source}: {n} of the requests were malformed"))),
    }
}

struct Server {
    allocator: Allocator,
    held: BTreeMap<Name, LeaseId>,
}

impl Server {
    fn answer(&mut self, line: &[u8]) -> Result<Value, Failure> {
        match serde_json::from_slice(line).map_err(|error| malformed(&error))? {
            Line::Allocate(job) => self.allocate(job),
            Line::Release { id } => {
                let lease = self.held.remove(&id).ok_or_else(|| not_held(&id))?;
                let lease = self.allocator.release(lease)?;
                Ok(json!({ "op": "release", "ok": true, "id": id.0, "released": ids(&lease.placement) }))
            }
            Line::Reset {} => {
                self.allocator = Allocator::new(self.allocator.graph().clone());
                self.held.clear();
                Ok(json!({ "op": "reset", "ok": true }))
            }
            Line::Show {} => Ok(self.show()),
        }
    }

    fn allocate(&mut self, job: Job) -> Result<Value, Failure> {
        if self.held.contains_key(&job.id) {
            return Err(Failure::malformed(format_args!("`{}` is held already: release it first", job.id.0)));
        }
        let graph = self.allocator.graph().clone();
        let policy = BuiltIn::named(&job.policy)?;
        let request = Request::new(pattern(&job.pattern, job.gpus, &graph)?)
            .sensitive(job.sensitive)
            .must_include(devices(&job.must_include, &graph)?)
            .avoid(devices(&job.avoid, &graph)?)
            .min_link(min_link(job.min_link.as_deref())?)
            .same_numa(job.same_numa);
        request.check(&graph)?;
        let view = self.allocator.view();
        let free = match &job.available {
            None => view.free().clone(),
            Some(available) => view.free() & &devices(available, &graph)?,
        };
        let decision = policy.decide(&request, &view.limited_to(&free))?;
        let mut object = decision_json(&decision, &graph);
        let lease = self.allocator.commit(decision)?;
        object.insert("id".to_owned(), json!(job.id.0));
        self.held.insert(job.id, lease.id);
        Ok(Value::Object(object))
    }

    fn show(&self) -> Value {
        let free = |set: &DeviceSet| set.iter().map(|device| device.0).collect::<Vec<_>>();
        let placement = |id: LeaseId| self.allocator.leases().find(|lease| lease.id == id).map(|l| ids(&l.placement));
        let held = self.held.iter().map(|(name, &id)| json!({ "id": name.0, "placement": placement(id) }));
        let held: Vec<Value> = held.collect();
        json!({ "op": "show", "ok": true, "free": free(self.allocator.view().free()), "held": held })
    }
}

/// The line is counted by us, so that only the column is left to say.
fn malformed(error: &serde_json::Error) -> Failure {
    Failure::Malformed(error.to_string().replace(" at line 1 column ", ", at column "))
}

fn not_held(id: &Name) -> Failure {
    Failure::malformed(format_args!("nothing is held as `{}`: it was never allocated or is released already", id.0))
}
