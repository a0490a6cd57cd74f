//! `allocate`: devices for one job.

use mapa_core::{Allocator, Decision, HardwareGraph, Policy, Request, View};
use mapa_topologies::{Machine, Vendor};
use serde::{Deserialize, Serialize};

use crate::answer::allocate::{Allocation, RunnerUp};
use crate::answer::{self, Bandwidth, ModelChoice, Withheld};
use crate::error::Error;
use crate::files::Files;
use crate::job::{Job, Step};
use crate::machine::{Loaded, MachineSpec};
use crate::model::{Model, choose_model};
use crate::names::{Names, PolicySpec};
use crate::notes::{note_on_links_down, note_on_rates, notes, withheld};
use crate::request::{DeviceName, JobSpec, with_busy};

/// A request for devices.
///
/// # Examples
/// ```
/// use mapa_front::commands::{AllocateRequest, allocate};
/// use mapa_front::{InMemory, Names};
///
/// let request: AllocateRequest = serde_json::from_str(
///     r#"{ "machine": { "machine": ["dgx-1v"] }, "job": { "gpus": 4, "sensitive": true }, "busy": ["GPU0"] }"#,
/// )?;
/// let (names, files) = (Names::built_in(), InMemory::default());
/// let loaded = request.machine.load(&files, &mut |_| {})?;
/// let answer = allocate(&names, &files, &loaded, &request)?;
/// assert_eq!(answer.decision.scored.devices.len(), 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct AllocateRequest {
    /// The machine. Whoever computes the answer has loaded it by this.
    pub machine: MachineSpec,
    /// The job.
    pub job: JobSpec,
    /// The policy that chooses.
    pub policy: PolicySpec,
    /// Devices and instances in use.
    pub busy: Vec<DeviceName>,
    /// How many sets of devices to list, of which the chosen one is the first; from 1 on. None are listed if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top: Option<usize>,
}

/// The devices that a job gets, and what that follows from.
pub struct AllocateOutcome {
    /// The job, with the contents of its pattern file if it has one.
    pub job: Job,
    /// What was requested of the machine.
    pub request: Request,
    /// The placement that the policy chose, and whether its search was complete.
    pub decision: Decision,
    /// The model by which the bandwidth is reported.
    pub model_choice: ModelChoice,
    /// What the devices carry.
    pub bandwidth: Bandwidth,
    /// Better devices that the job does not get.
    pub withheld: Option<Withheld>,
    /// Reasons to doubt the decision, and hints.
    pub notes: Vec<String>,
    /// The communication time of a job whose bytes are known.
    pub step: Option<Step>,
    /// The vendor of the devices.
    vendor: Option<Vendor>,
    /// Whether the runners-up are part of the answer.
    lists: bool,
}

/// The devices that a job gets on this machine, as `mapa-bench allocate --json` answers.
///
/// # Errors
/// If the request cannot be read, contradicts itself, or is refused.
pub fn allocate(
    names: &Names,
    files: &dyn Files,
    loaded: &Loaded,
    request: &AllocateRequest,
) -> Result<Allocation, Error> {
    let (outcome, state) = request.outcome(names, files, loaded)?;
    Ok(outcome.answer(state.graph()))
}

impl AllocateRequest {
    /// What the answer is made of, and the machine with the devices in use.
    ///
    /// # Errors
    /// As [`allocate`].
    pub fn outcome(
        &self,
        names: &Names,
        files: &dyn Files,
        loaded: &Loaded,
    ) -> Result<(AllocateOutcome, Allocator), Error> {
        let graph = loaded.graph();
        let job = self.job.job(files)?;
        let model = self.policy.model(names, files)?;
        let policy = self.policy.policy(names, model.as_ref(), Some(&job))?;
        let request = self.job.request(&job, graph)?;
        let state = with_busy(&loaded.idle, &self.busy)?;
        // The chosen set is the first of the list, so the search keeps one set less.
        let Some(runners_up) = self.top.unwrap_or(1).checked_sub(1) else {
            return Err(Error::malformed(
                "--top 0 lists nothing: expected 1 or more",
            ));
        };
        let question = Question {
            names,
            job,
            request: request.runners_up(runners_up),
            policy: &*policy,
            model: model.as_ref(),
        };
        let mut outcome = question.decide(&state.view(), &loaded.machine)?;
        // What the pattern file says comes behind the better devices, and before all else.
        let at = usize::from(outcome.withheld.is_some());
        let verdict = outcome.job.verdict(self.job.sensitive);
        outcome.notes.splice(at..at, verdict);
        // `--top 1` asks for a list too, of the chosen set alone. An absent option asks for none.
        outcome.lists = self.top.is_some();
        Ok((outcome, state))
    }
}

/// A request for devices, read and checked, with all that answers it.
pub(super) struct Question<'a> {
    pub(super) names: &'a Names,
    pub(super) job: Job,
    pub(super) request: Request,
    pub(super) policy: &'a dyn Policy,
    pub(super) model: Option<&'a Model>,
}

impl Question<'_> {
    /// Chooses among the free devices of a view.
    pub(super) fn decide(
        self,
        view: &View<'_>,
        machine: &Machine,
    ) -> Result<AllocateOutcome, Error> {
        let (names, request) = (self.names, self.request);
        let decision = view.decide(self.policy, &request)?;
        let choice = choose_model(self.model, &request.pattern, view.graph());
        let bandwidth = Bandwidth::of_decision(&choice, &decision, view);
        let better = withheld(names, &decision, &request, view, &choice, &machine.labels);
        let (withheld, note) = better.unzip();
        let mut notes = notes(names, &decision, &request, view, self.model, machine.vendor);
        notes.extend(note_on_links_down(&decision, &request, view, self.policy));
        let rates = note_on_rates(&bandwidth, &decision, view.graph(), machine.vendor);
        notes.extend(rates);
        notes.extend(self.job.assumed.clone());
        // Better devices that the job does not get come before all other notes.
        notes.splice(0..0, note);
        let step = Step::of(&self.job, &decision, view.graph());
        Ok(AllocateOutcome {
            job: self.job,
            request,
            decision,
            model_choice: choice,
            bandwidth,
            withheld,
            notes,
            step,
            vendor: machine.vendor,
            lists: false,
        })
    }
}

impl AllocateOutcome {
    /// The answer.
    #[must_use]
    pub fn answer(&self, graph: &HardwareGraph) -> Allocation {
        Allocation {
            decision: answer::Decision::new(&self.decision, graph, self.vendor),
            bandwidth: self.bandwidth.clone(),
            withheld: self.withheld.clone(),
            notes: self.notes.clone(),
            times: self.step.as_ref().map(Step::times).unwrap_or_default(),
            runners_up: self.lists.then(|| RunnerUp::of(&self.decision, graph)),
            id: None,
        }
    }
}
