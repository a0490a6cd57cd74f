//! `allocate --batch`: a stream of requests, one JSON object a line. The machine's state is kept between lines.

use std::collections::BTreeMap;

use mapa_core::{Allocator, LeaseId};
use mapa_topologies::Machine;
use serde::Deserialize;
use serde_json::Value;

use super::allocate::Question;
use crate::answer::allocate::{Allocation, Held, Line as Answer, NotDone, StreamEvent};
use crate::answer::{Refusal, ids};
use crate::error::Error;
use crate::files::Files;
use crate::job::is_file;
use crate::machine::Loaded;
use crate::model::Model;
use crate::names::{ModelSpec, Names, PolicySpec};
use crate::request::{DeviceName, JobSpec, Like, NicFor, devices, ring};

#[derive(Deserialize)]
#[serde(
    tag = "op",
    rename_all = "lowercase",
    deny_unknown_fields,
    expecting = "expected an object with \"op\": allocate, release, reset or show"
)]
enum Line {
    Allocate(Box<Asked>),
    Release { id: DeviceName },
    Reset {},
    Show {},
}

/// A job and its policy, with the name of the lease.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
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
    like: Option<Like>,
    #[serde(default)]
    same_numa: bool,
    slice: Option<String>,
    nics: Option<u8>,
    nic_within: Option<String>,
    nic_for: Option<NicFor>,
    model: Option<ModelSpec>,
}

impl Asked {
    /// The job as a request describes it.
    fn spec(&self, files: &dyn Files) -> Result<JobSpec, Error> {
        // Degrees and files imply the number of ranks; a shape does not.
        if self.gpus.is_none() && !self.pattern.contains('=') && !is_file(&self.pattern, files) {
            return Err(Error::malformed(
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
            nics: self.nics,
            nic_within: self.nic_within.clone(),
            nic_for: self.nic_for,
            must_include: self.must_include.clone(),
            avoid: self.avoid.clone(),
            min_link: self.min_link.clone(),
            like: self.like,
            same_numa: self.same_numa,
            ..JobSpec::default()
        })
    }
}

/// A machine and its leases between the lines of a stream.
pub struct Batch<'a> {
    names: &'a Names,
    files: &'a dyn Files,
    /// The state that `reset` restores.
    idle: Allocator,
    allocator: Allocator,
    /// Leases by name as text: 1 and "1" are the same name.
    held: BTreeMap<String, (DeviceName, LeaseId)>,
    /// Models by name or file. Each is made once.
    models: BTreeMap<ModelSpec, Model>,
    /// The machine's description.
    machine: Machine,
}

impl<'a> Batch<'a> {
    /// The machine, idle.
    #[must_use]
    pub fn new(names: &'a Names, files: &'a dyn Files, loaded: Loaded) -> Self {
        Self {
            names,
            files,
            allocator: loaded.idle.clone(),
            idle: loaded.idle,
            held: BTreeMap::new(),
            models: BTreeMap::new(),
            machine: loaded.machine,
        }
    }

    /// Answers a line: with devices, with what else was asked for, or with why not. `number` is that of the line,
    /// from 1, for messages.
    pub fn answer(&mut self, number: usize, line: &[u8]) -> Answer {
        // Some editors begin a file with a byte order mark.
        let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        self.try_answer(line).unwrap_or_else(|error| {
            // Even the answer to a malformed line has the line's id, if that can be read.
            let said: Value = serde_json::from_slice(line).unwrap_or_default();
            let id = said.get("id").cloned();
            Answer::NotDone(match error {
                Error::Refused(why) => NotDone::Refused {
                    refusal: Refusal::from(&why),
                    id,
                },
                other => NotDone::Malformed {
                    op: said.get("op").cloned(),
                    ok: false,
                    error: format!("line {number}: {other}"),
                    id,
                },
            })
        })
    }

    fn try_answer(&mut self, line: &[u8]) -> Result<Answer, Error> {
        match serde_json::from_slice(line).map_err(|error| malformed(&error))? {
            Line::Allocate(asked) => Ok(Answer::Allocation(Box::new(self.allocate(*asked)?))),
            Line::Release { id } => {
                // The allocator has the same leases as `held`, so the release below does not fail.
                let Some((_, lease)) = self.held.remove(&id.to_string()) else {
                    return Err(Error::malformed(format_args!(
                        "`{id}` has no lease: it was never allocated, or has been released"
                    )));
                };
                let lease = self.allocator.release(lease)?;
                Ok(Answer::Done(StreamEvent::Release {
                    ok: true,
                    id: value(&id),
                    released: ids(&lease.placement),
                }))
            }
            Line::Reset {} => {
                // The models stay: they depend on no lease.
                self.allocator = self.idle.clone();
                self.held.clear();
                Ok(Answer::Done(StreamEvent::Reset { ok: true }))
            }
            Line::Show {} => Ok(Answer::Done(self.show())),
        }
    }

    fn allocate(&mut self, asked: Asked) -> Result<Allocation, Error> {
        if self.held.contains_key(&asked.id.to_string()) {
            return Err(Error::malformed(format_args!(
                "`{}` has a lease already: release it first",
                asked.id
            )));
        }
        let graph = self.allocator.graph().clone();
        // A stream may name the same coefficient file in each line.
        if let Some(spec) = &asked.model
            && !self.models.contains_key(spec)
        {
            let model = spec.load(self.names, None, self.files)?;
            self.models.insert(spec.clone(), model);
        }
        let named = PolicySpec {
            policy: asked.policy.clone().unwrap_or(PolicySpec::default().policy),
            model: asked.model.clone(),
            ..PolicySpec::default()
        };
        let model = asked.model.as_ref().and_then(|spec| self.models.get(spec));
        let spec = asked.spec(self.files)?;
        let job = spec.job(self.files)?;
        let policy = named.policy(self.names, model, Some(&job))?;
        let request = spec.request(&job, &graph)?;
        let view = self.allocator.view();
        let free = match &asked.available {
            None => view.free().clone(),
            // A device that is available makes its instances available too.
            Some(available) => view.free() & &graph.with_parts(&devices(available, &graph)?),
        };
        let question = Question {
            names: self.names,
            job,
            request,
            policy: &*policy,
            model,
        };
        let outcome = question.decide(&view.limited_to(&free), &self.machine)?;
        let mut answer = outcome.answer(&graph);
        answer.id = Some(value(&asked.id));
        // The commit comes last: after it nothing may fail, or the devices would be in use without a name.
        let lease = self.allocator.commit(outcome.decision)?;
        self.held.insert(asked.id.to_string(), (asked.id, lease.id));
        Ok(answer)
    }

    fn show(&self) -> StreamEvent {
        let free = self.allocator.view().free().iter().map(|id| id.0).collect();
        let mut held = Vec::new();
        for (name, id) in self.held.values() {
            let lease = self.allocator.leases().find(|lease| lease.id == *id);
            held.push(Held {
                id: value(name),
                placement: lease.map(|lease| ids(&lease.placement)),
            });
        }
        StreamEvent::Show {
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
fn malformed(error: &serde_json::Error) -> Error {
    Error::Malformed(
        error
            .to_string()
            .replace(" at line 1 column ", ", at column "),
    )
}
