//! `compare`: the choices of all policies for one request.

use mapa_core::{
    Allocator, Candidate, Decision, ModelUse, Objective, Policy, Refusal, Request,
    ring_packing_gbps,
};
use mapa_topologies::Vendor;
use serde::{Deserialize, Serialize};

use crate::answer::compare::{Chosen, Compared, Comparison};
use crate::answer::{self, Bandwidth, ModelChoice, is_defined};
use crate::error::Error;
use crate::files::Files;
use crate::job::{Job, Step};
use crate::machine::{Loaded, MachineSpec};
use crate::model::choose_model;
use crate::names::{Choice, ModelSpec, Names};
use crate::request::{DeviceName, JobSpec, with_busy};

/// A request for the choices of all policies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct CompareRequest {
    /// The machine. Whoever computes the answer has loaded it by this.
    pub machine: MachineSpec,
    /// The job.
    pub job: JobSpec,
    /// The model by which policies that take one predict bandwidth, and by which every choice is told besides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelSpec>,
    /// Devices and instances in use.
    pub busy: Vec<DeviceName>,
}

/// The choices of all policies, and what they follow from.
pub struct CompareOutcome {
    /// The job, with the contents of its pattern file if it has one.
    pub job: Job,
    /// What was requested of the machine.
    pub request: Request,
    /// The machine with the devices in use.
    pub state: Allocator,
    /// The vendor of the devices.
    pub vendor: Option<Vendor>,
    /// The model by which bandwidths are told.
    pub model_choice: ModelChoice,
    /// Whether the communication time of the job is known.
    pub knows_time: bool,
    /// The policies, in the order of the registry.
    pub policies: Vec<ComparedPolicy>,
}

/// A policy, and what it chose.
pub struct ComparedPolicy {
    /// The name of the policy, as requests write it.
    pub policy: String,
    /// The choice, or why there is none.
    pub choice: Result<PolicyChoice, Refusal>,
}

/// The devices that a policy chose.
pub struct PolicyChoice {
    /// The placement that the policy chose, and whether its search was complete.
    pub decision: Decision,
    /// What the devices carry.
    pub bandwidth: Bandwidth,
    /// The bandwidth of a packing of rings on these devices, GB/s; none for one device.
    pub ring_packing_gbps: Option<f64>,
    /// The prediction of the model that the request names, GB/s, none for one device; none if the request names no
    /// model.
    pub model_gbps: Option<Option<f64>>,
    /// The communication time of a job whose bytes are known.
    pub step: Option<Step>,
}

/// The choices of all policies for one job, as `mapa-bench compare --json` answers.
///
/// # Errors
/// If the request cannot be read, or contradicts itself. What a policy refuses is part of the answer.
pub fn compare(
    names: &Names,
    files: &dyn Files,
    loaded: &Loaded,
    request: &CompareRequest,
) -> Result<Comparison, Error> {
    Ok(request.outcome(names, files, loaded)?.answer())
}

impl CompareRequest {
    /// What the answer is made of.
    ///
    /// # Errors
    /// As [`compare`].
    pub fn outcome(
        &self,
        names: &Names,
        files: &dyn Files,
        loaded: &Loaded,
    ) -> Result<CompareOutcome, Error> {
        let spec = &self.job;
        let job = spec.job(files)?;
        let wanted = spec.request(&job, loaded.graph())?;
        let state = with_busy(&loaded.idle, &self.busy)?;
        let model = self.model.as_ref();
        let model = model
            .map(|spec| spec.load(names, None, files))
            .transpose()?;
        // One model rates all choices, so that they can be compared. The request's own model is an extra
        // column.
        let model_choice = choose_model(None, &wanted.pattern, loaded.graph());
        let knows_time = job.fastest().is_some();
        // For whole devices that are not shared, the policies for instances have no preference.
        let all = spec.slice.is_some() || spec.shared;
        let rows = names.policies.iter();
        // A policy that minimises communication time has nothing to go by if no bytes are known.
        let rows =
            rows.filter(|row| (all || !row.for_instances) && (knows_time || !row.needs_traffic));
        let mut policies: Vec<Box<dyn Policy>> = Vec::new();
        for row in rows {
            let choice = Choice {
                // A policy that takes no model refuses one.
                model: model.as_ref().filter(|_| row.model != ModelUse::Never),
                job: Some(&job),
                ..Choice::default()
            };
            policies.push(names.policy(&row.name, &choice)?);
        }
        let rings = ring_packing_gbps();
        let view = state.view();
        let choice = |decision: Decision| {
            let placement = decision.best().placement();
            let candidate = Candidate {
                view,
                pattern: decision.pattern(),
                placement,
            };
            let by = |objective: &Objective<'_>| {
                is_defined(objective.name(), placement).then(|| objective.score(&candidate))
            };
            PolicyChoice {
                bandwidth: Bandwidth::of_decision(&model_choice, &decision, &view),
                ring_packing_gbps: by(&rings),
                model_gbps: model.as_ref().map(|model| by(&model.objective)),
                step: Step::of(&job, &decision, view.graph()),
                decision,
            }
        };
        let policies = policies
            .iter()
            .map(|policy| ComparedPolicy {
                policy: policy.name().to_owned(),
                // A refusal is part of the answer: another policy may find devices.
                choice: policy.decide(&wanted, &view).map(&choice),
            })
            .collect();
        Ok(CompareOutcome {
            job,
            request: wanted,
            model_choice,
            knows_time,
            policies,
            state,
            vendor: loaded.machine.vendor,
        })
    }
}

impl CompareOutcome {
    /// The answer.
    #[must_use]
    pub fn answer(&self) -> Comparison {
        let graph = self.state.graph();
        let of = |policy: &ComparedPolicy| match &policy.choice {
            Ok(choice) => Compared::Chosen(Box::new(Chosen {
                decision: answer::Decision::new(&choice.decision, graph, self.vendor),
                bandwidth: choice.bandwidth.clone(),
                ring_packing_gbps: choice.ring_packing_gbps,
                model_gbps: choice.model_gbps,
                times: choice.step.as_ref().map(Step::times).unwrap_or_default(),
            })),
            Err(why) => Compared::Refused {
                policy: policy.policy.clone(),
                refusal: answer::Refusal::from(why),
            },
        };
        Comparison {
            policies: self.policies.iter().map(of).collect(),
        }
    }
}
